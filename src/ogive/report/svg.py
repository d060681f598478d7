"""Draw panels as SVG with classes instead of colours, so that the page's style decides them.

Text stays text: it can be searched and read aloud, and takes the page's font and colour. Each
picture carries its title and its description in words.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive.errors import InvalidType
from ogive.plotting.marks import Band, Bars, Cells, Dots, Label, Line, Segment

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import FloatArray, IntArray
    from ogive.plotting.marks import Mark, Panel

_WIDTH = 400.0
_FONT = 12.0
_LETTER = 6.6  # mean width of a letter at that size


class _Place(NamedTuple):
    """From the units of the axes to those of the picture."""

    x: Callable[[FloatArray], FloatArray]
    y: Callable[[FloatArray], FloatArray]


def draw_svg(panel: Panel, name: str, title: str, *, width: float = _WIDTH) -> str:
    """Return a panel as an ``<svg>`` element.

    Parameters
    ----------
    panel : Panel
    name : str
        Unique on the page: the ids of title and description begin with it.
    title : str
        A short title, for those who cannot see it.
    width : float
        In units of a twelfth of the text's height.
    """
    height = round(width * panel.shape)
    left = 14.0 + _LETTER * panel.names + (16.0 if panel.y.name else 0.0) if panel.frame else 2.0
    top = 22.0 if panel.title else 8.0
    foot = (40.0 if panel.x.name else 24.0) if panel.frame else 2.0
    right = 14.0 if panel.frame else 2.0
    if not panel.frame:
        top = 2.0
    box = (left, top, width - right, height - foot)
    place = _places(panel, box)
    head = (
        f'<svg role="img" aria-labelledby="{name}-t {name}-d" viewBox="0 0 {width:g} {height:g}" '
        f'class="graph"><title id="{name}-t">{escape(title)}</title>'
        f'<desc id="{name}-d">{escape(panel.alt)}</desc>'
    )
    parts = [head]
    parts += [_draw(mark, place) for mark in panel.marks if not isinstance(mark, Label)]
    if panel.frame:
        parts.append(_axes(panel, box, place))
    if panel.title:
        parts.append(f'<text x="{left - 2:g}" y="14" class="head">{escape(panel.title)}</text>')
    parts += [_label(mark, place) for mark in panel.marks if isinstance(mark, Label)]
    return "".join(parts) + "</svg>"


def _places(panel: Panel, box: tuple[float, float, float, float]) -> _Place:
    left, top, right, bottom = box

    def x(value: FloatArray) -> FloatArray:
        share = (np.asarray(value, dtype=float) - panel.x.low) / (panel.x.high - panel.x.low)
        return left + np.clip(share, 0.0, 1.0) * (right - left)

    def y(value: FloatArray) -> FloatArray:
        share = (np.asarray(value, dtype=float) - panel.y.low) / (panel.y.high - panel.y.low)
        return bottom - np.clip(share, 0.0, 1.0) * (bottom - top)

    return _Place(x, y)


def _draw(mark: Mark, place: _Place) -> str:
    match mark:
        case Line():
            style = " dash" if mark.dashed else " wide" if mark.width > 2.0 else ""  # noqa: PLR2004
            return f'<path class="line {mark.role}{style}" d="{_path(mark.x, mark.y, place)}"/>'
        case Band():
            upper = _path(mark.x, mark.high, place)
            lower = _path(mark.x[::-1], mark.low[::-1], place).replace("M", "L", 1)
            return f'<path class="area {mark.role}" d="{upper}{lower}Z"/>'
        case Bars():
            return _bars(mark, place)
        case Segment():
            return _segment(mark, place)
        case Dots():
            return _dots(mark, place)
        case Label():
            return _label(mark, place)
        case Cells():  # of a heat map
            msg = "heat maps are drawn by matplotlib alone."
            raise InvalidType(msg)


def _path(x: FloatArray, y: FloatArray, place: _Place) -> str:
    """Return a line as path data: two lows, a high and an end for each half unit are enough."""
    a, b = place.x(x), place.y(y)
    kept = _visible(a, b)
    points = " ".join(f"{_short(p)} {_short(q)}" for p, q in zip(a[kept], b[kept], strict=True))
    return "M" + points


def _visible(a: FloatArray, b: FloatArray) -> IntArray:
    """Return the places of the points that make a difference to the picture, in order."""
    if a.size <= 400:  # noqa: PLR2004 - few enough
        return np.arange(a.size)
    cell = np.floor(a)
    ends = np.append(np.flatnonzero(cell[1:] != cell[:-1]), a.size - 1)
    starts = np.append(0, ends[:-1] + 1)
    kept = [
        np.unique(
            [start, start + b[start : end + 1].argmin(), start + b[start : end + 1].argmax(), end]
        )
        for start, end in zip(starts, ends, strict=True)
    ]
    return np.concatenate(kept)


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _bars(mark: Bars, place: _Place) -> str:
    left, right, top = place.x(mark.left), place.x(mark.right), place.y(mark.height)
    floor = float(place.y(np.array(-np.inf)))
    path = "".join(
        f"M{_short(a)} {_short(floor)}V{_short(h)}H{_short(b)}V{_short(floor)}Z"
        for a, b, h in zip(left, right, top, strict=True)
        if floor - h > 0.05  # noqa: PLR2004 - less is not seen
    )
    return f'<path class="{mark.role} fill" d="{path}"/>'


def _segment(mark: Segment, place: _Place) -> str:
    x, y = place.x(np.array(mark.x)), place.y(np.array(mark.y))
    dash = " dash" if mark.dashed else ""
    line = (
        f'<path class="thin {mark.role}{dash}" '
        f'd="M{_short(x[0])} {_short(y[0])}L{_short(x[1])} {_short(y[1])}"/>'
    )
    dot = f'<circle class="{mark.role} fill" cx="{_short(x[1])}" cy="{_short(y[1])}" r="3.5"/>'
    return line + dot if mark.ends else line


def _dots(mark: Dots, place: _Place) -> str:
    x, y = place.x(mark.x), place.y(mark.y)
    parts = []
    if mark.low is not None and mark.high is not None:
        for a, low, high in zip(x, place.y(mark.low), place.y(mark.high), strict=True):
            parts.append(f"M{_short(a)} {_short(low)}V{_short(high)}")
    if mark.left is not None and mark.right is not None:
        for b, left, right in zip(y, place.x(mark.left), place.x(mark.right), strict=True):
            parts.append(f"M{_short(left)} {_short(b)}H{_short(right)}")
    lines = f'<path class="thin {mark.role}" d="{"".join(parts)}"/>' if parts else ""
    return lines + "".join(
        f'<circle class="{mark.role} fill" cx="{_short(a)}" cy="{_short(b)}" r="3.5"/>'
        for a, b in zip(x, y, strict=True)
    )


def _label(mark: Label, place: _Place) -> str:
    x = float(place.x(np.array(mark.x)))
    y = float(place.y(np.array(mark.y))) - mark.rise * _FONT
    bold = " bold" if mark.bold else ""
    return (
        f'<text class="word {mark.role}{bold}" x="{_short(x)}" y="{_short(y)}" '
        f'text-anchor="{mark.align}">{escape(mark.text)}</text>'
    )


def _axes(panel: Panel, box: tuple[float, float, float, float], place: _Place) -> str:
    left, top, right, bottom = box
    parts = [f'<path class="axis" d="M{left:g} {top:g}V{bottom:g}H{right:g}"/>']
    for at, text in panel.x.ticks:
        x = _short(float(place.x(np.array(at))))
        parts.append(f'<path class="axis" d="M{x} {bottom:g}v4"/>')
        parts.append(
            f'<text class="tick" x="{x}" y="{bottom + 16:g}" text-anchor="middle">'
            f"{escape(text)}</text>"
        )
    for at, text in panel.y.ticks:
        y = float(place.y(np.array(at)))
        parts.append(f'<path class="axis" d="M{left:g} {_short(y)}h-4"/>')
        parts.append(
            f'<text class="tick" x="{left - 7:g}" y="{_short(y + 4)}" text-anchor="end">'
            f"{escape(text)}</text>"
        )
    if panel.x.name:
        middle = (left + right) / 2
        parts.append(
            f'<text class="tick" x="{middle:g}" y="{bottom + 33:g}" text-anchor="middle">'
            f"{escape(panel.x.name)}</text>"
        )
    if panel.y.name:
        middle = (top + bottom) / 2
        parts.append(
            f'<text class="tick" transform="translate(12 {middle:g}) rotate(-90)" '
            f'text-anchor="middle">{escape(panel.y.name)}</text>'
        )
    return "".join(parts)
