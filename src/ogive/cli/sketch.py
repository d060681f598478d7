"""A small picture in the terminal: lines drawn with braille dots, two by four to a character."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ogive._typing import FloatArray

#: A character without dots.
BLANK = "\u2800"
#: The bit of each dot, by row and column within a character.
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def sketch(
    lines: list[tuple[FloatArray, FloatArray]], *, width: int = 64, height: int = 10
) -> list[list[str]]:
    """Draw lines y(x), x in [0, 1], on one scale; return for each line its rows of characters.

    >>> import numpy as np
    >>> x = np.linspace(0, 1, 50)
    >>> print(chr(10).join(sketch([(x, x)], width=8, height=2)[0]))
    ⠀⠀⠀⠀⣀⠤⠔⠊
    ⡠⠔⠒⠉⠀⠀⠀⠀
    """
    low = min(0.0, *(float(y.min()) for _, y in lines))
    high = max(0.0, *(float(y.max()) for _, y in lines))
    return [_draw(x, (y - low) / ((high - low) or 1.0), width, height) for x, y in lines]


def _draw(x: FloatArray, level: FloatArray, width: int, height: int) -> list[str]:
    """Draw one line whose values are scaled to [0, 1]."""
    columns, rows = 2 * width, 4 * height
    at = (np.arange(columns) + 0.5) / columns
    heights = np.interp(at, x, level)
    cells = np.full((height, width), ord(BLANK))
    for column, value in enumerate(heights):
        row = round((1.0 - float(value)) * (rows - 1))
        cells[row // 4, column // 2] |= _DOTS[row % 4][column % 2]
    return ["".join(map(chr, line)) for line in cells]
