"""What a drawing is made of: a panel with axes and marks, for any way of putting it on paper.

Marks are in the units of the axes and have a *role* instead of a colour. How a role looks on
paper and on a dark screen is the business of those who draw: `plotting.axes` (matplotlib) and
`report.svg`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Literal, TypeAlias

from ogive._wording import MINUS

if TYPE_CHECKING:
    from ogive._typing import FloatArray

Role: TypeAlias = Literal["score", "hits", "before", "after", "reference", "band", "density"]

#: Okabe and Ito's palette, which people with any colour vision can tell apart.
COLOURS: dict[Role, str] = {
    "score": "#0072B2",
    "hits": "#D55E00",
    "before": "#D55E00",
    "after": "#0072B2",
    "reference": "#6b6b6b",
    "band": "#8a8a8a",
    "density": "#b5b5b5",
}


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A line through points."""

    x: FloatArray
    y: FloatArray
    role: Role
    dashed: bool = False
    width: float = 1.8


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """The area between two lines."""

    x: FloatArray
    low: FloatArray
    high: FloatArray
    role: Role


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Columns that stand on the lower axis."""

    left: FloatArray
    right: FloatArray
    height: FloatArray
    role: Role


@dataclass(frozen=True, slots=True)
class Segment:
    """A straight piece from one point to another; `ends` draws a dot at the second."""

    x: tuple[float, float]
    y: tuple[float, float]
    role: Role
    dashed: bool = False
    ends: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Dots:
    """Points with an interval, upright (`low`, `high`) or along x (`left`, `right`)."""

    x: FloatArray
    y: FloatArray
    role: Role
    low: FloatArray | None = None
    high: FloatArray | None = None
    left: FloatArray | None = None
    right: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """Words beside a point; `rise` lifts them by lines of text."""

    x: float
    y: float
    text: str
    role: Role
    align: Literal["start", "middle", "end"] = "start"
    rise: float = 0.0
    bold: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Unit squares coloured by a number in [−1, 1]: the role ``hits`` below 0, ``score`` above.

    x, y : (c,) lower left corners; value : (c,) numbers; text : what each says; framed : (c,)
    """

    x: FloatArray
    y: FloatArray
    value: FloatArray
    text: tuple[str, ...]
    framed: FloatArray


Mark: TypeAlias = Line | Band | Bars | Segment | Dots | Label | Cells


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: its name, its ends, and its ticks as (place, text)."""

    name: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Panel:
    """One graph, ready to be drawn.

    title : above it, may be empty; alt : the graph in words, for those who cannot see it
    shape : height over width of the whole; names : widest text of the y ticks, in letters
    """

    title: str
    alt: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    shape: float = 0.75
    names: int = 5
    frame: bool = True


def axis(name: str, low: float, high: float, *, percent: bool = False, most: int = 5) -> Axis:
    """Return an axis with round ticks between its ends.

    >>> axis("score", 0.0, 1.0).ticks
    ((0.0, '0'), (0.2, '0.2'), (0.4, '0.4'), (0.6, '0.6'), (0.8, '0.8'), (1.0, '1'))
    >>> [text for _, text in axis("gap", -0.013, 0.002, percent=True).ticks]
    ['−1 %', '−0.5 %', '0 %']
    """
    step = _round_step((high - low) / most)
    places = [k * step for k in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]
    scale, unit = (100.0, " %") if percent else (1.0, "")
    ticks = tuple((round(at, 12), plain(at * scale) + unit) for at in places)
    return Axis(name, low, high, ticks)


def plain(value: float) -> str:
    """Return a short number with a real minus sign."""
    text = f"{round(value, 9):.4g}"
    return "0" if text in {"0", "-0"} else text.replace("-", MINUS)


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten that is not below `least`."""
    power = 10.0 ** floor(log10(least))
    return next(k * power for k in (1.0, 2.0, 5.0, 10.0) if k * power >= least * (1 - 1e-9))
