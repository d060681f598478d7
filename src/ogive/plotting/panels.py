"""From what a graph shows (`ogive.diagrams`) to what is drawn (`ogive.plotting.marks`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from ogive._wording import MINUS, TOO_HIGH, TOO_LOW, percent
from ogive.plotting.marks import Axis, Band, Bars, Dots, Label, Line, Mark, Panel, Segment, axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import FloatArray
    from ogive.diagrams import (
        BeforeAfter,
        BinnedReliability,
        CumulativeDifference,
        Reliability,
    )
    from ogive.metrics.binned import Bins
    from ogive.plotting.marks import Role

FRACTILE = "share of rows, lowest scores first"
_GAP = f"cumulative outcomes {MINUS} scores"
_SHARE = "share of outcomes that are 1"
HOW_TO_READ_GAPS = f"line falls: scores {TOO_HIGH}; line rises: {TOO_LOW}"
_DENSITY_HEIGHT = 0.16
_MIN_GAP_WITH_WORDS = 0.15  # a peak below this share of the axis has no room for words
_REFERENCES: tuple[tuple[str, Role], ...] = (
    ("- - perfect calibration", "reference"),
    ("▮ rows with that score", "band"),
)

Align: TypeAlias = Literal["start", "middle", "end"]


def gap_range(diagrams: Sequence[CumulativeDifference]) -> tuple[float, float]:
    """Return the ends of an axis that holds all gaps and their bands."""
    half = max((d.half_width or 0.0 for d in diagrams), default=0.0)
    low = min(-half, *(float(d.summary.trace.gap.min()) for d in diagrams))
    high = max(half, *(float(d.summary.trace.gap.max()) for d in diagrams))
    room = 0.12 * ((high - low) or 1e-3)
    return low - room, high + room


def difference_panel(d: CumulativeDifference, limits: tuple[float, float] | None = None) -> Panel:
    """Draw the cumulative difference with its band and its largest gap."""
    trace = d.summary.trace
    low, high = limits or gap_range([d])
    marks: list[Mark] = [Segment((0.0, 1.0), (0.0, 0.0), "reference")]
    ends = np.array([0.0, 1.0])
    if d.half_width is not None:
        width = np.full(2, d.half_width)
        marks.append(Band(ends, -width, width, "band"))
    marks.append(Line(trace.fractile, trace.gap, "hits"))
    marks += _peak(d, "hits", "KS", (low, high))
    if d.half_width is not None:
        marks.append(_band_label(d))
    return Panel(
        title=d.title,
        alt=difference_words(d),
        x=axis(FRACTILE, 0.0, 1.0),
        y=axis(_GAP, low, high, percent=True),
        marks=tuple(marks),
    )


def _peak(
    d: CumulativeDifference, role: Role, name: str, limits: tuple[float, float]
) -> list[Mark]:
    """Mark the largest gap and write its size: halfway up where there is room, else outside."""
    t, size = d.summary.trace, limits[1] - limits[0]
    x, y = float(t.fractile[t.peak]), float(t.gap[t.peak])
    text = f"{name} {percent(d.summary.ks.value)}"
    line = Segment((x, x), (0.0, y), role, dashed=True, ends=True)
    if abs(y) < _MIN_GAP_WITH_WORDS * size:
        edge = max(d.half_width or 0.0, float(np.abs(t.gap).max()))
        where = (-edge, -1.1) if y < 0 else (edge, 0.4)
        align: Align = "start" if x < 0.5 else "end"  # noqa: PLR2004
        return [line, Label(x, where[0], text, role, align, where[1], bold=True)]
    # Where the line is as high as the words, left and right of the peak.
    beyond = t.fractile[np.abs(t.gap) * np.sign(y * t.gap) < 0.55 * abs(y)]
    left = x - float(beyond[beyond < x].max(initial=0.0))
    right = float(beyond[beyond > x].min(initial=1.0)) - x
    side: Align = "start" if right >= left else "end"
    shift = 0.015 if right >= left else -0.015
    return [line, Label(x + shift, 0.5 * y, text, role, side, -0.3, bold=True)]


def _band_label(d: CumulativeDifference) -> Label:
    """Name the band, on the side that the line leaves free."""
    half, up = d.half_width or 0.0, d.summary.trace.gap.mean() <= 0
    words = "95 % band if calibrated"
    if d.fitted_on is not None:
        words = f"95 % band after a fit on {d.fitted_on:,} rows"
    return Label(0.01, half if up else -half, words, "reference", "start", 0.35 if up else -1.1)


def difference_words(d: CumulativeDifference) -> str:
    """Say what a graph of the gap shows, for those who cannot see it."""
    s = d.summary
    means = "right" if s.ks.direction == "none" else s.ks.direction
    words = (
        f"Cumulative outcomes minus scores against the share of rows. The largest gap is "
        f"{percent(s.ks.signed)} at score {s.ks.score:.3g}, after {percent(s.ks.fractile, 0)} of "
        f"the rows: up to there the scores are {means} on average."
    )
    if d.half_width is None:
        return words + " These rows fitted the map, so that there is no fair band."
    inside = "stays inside" if s.ks.value <= d.half_width else "leaves"
    return f"{words} The line {inside} the 95 % band of ± {percent(d.half_width)}."


def before_after_panel(pair: BeforeAfter, *, explain: bool = False) -> Panel:
    """Draw two cumulative differences on one axis; `explain`: also say how to read them."""
    before, after = pair.before, pair.after
    low, high = gap_range([before, after])
    ends = np.array([0.0, 1.0])
    marks: list[Mark] = [Segment((0.0, 1.0), (0.0, 0.0), "reference")]
    half = after.half_width
    if half is not None:
        marks.append(Band(ends, np.full(2, -half), np.full(2, half), "band"))
    for d, role in ((before, "before"), (after, "after")):
        trace = d.summary.trace
        marks.append(Line(trace.fractile, trace.gap, role))  # type: ignore[arg-type]
    marks += _peak(before, "before", "before: KS", (low, high))
    # The calibrated line hugs 0: its name goes to the side that the other line leaves free.
    up = before.summary.ks.signed <= 0
    edge = max(half or 0.0, float(np.abs(after.summary.trace.gap).max()))
    name = f"after: KS {percent(after.summary.ks.value)}"
    where = (edge, 0.4) if up else (-edge, -1.15)
    marks.append(Label(0.01, where[0], name, "after", "start", where[1], bold=True))
    if explain and half is not None:
        edge, rise = (half, -1.1) if up else (-half, 0.35)
        marks.append(Label(0.99, edge, "within noise (95 %)", "reference", "end", rise))
    return Panel(
        title=HOW_TO_READ_GAPS if explain else "",
        alt=f"Before calibration: {difference_words(before)} After it: {difference_words(after)}",
        x=axis(FRACTILE, 0.0, 1.0),
        y=axis(_GAP, low, high, percent=True),
        marks=tuple(marks),
    )


def reliability_pair_panel(before: Reliability, after: Reliability) -> Panel:
    """Draw probability against score before and after calibration, where there are rows."""
    lines: tuple[tuple[Reliability, Role], ...] = ((before, "before"), (after, "after"))
    least = min(float(min(r.score.min(), r.probability.min())) for r, _ in lines)
    low, high = float(np.floor(10.0 * least + 1e-9) / 10.0), score_range([before, after])[1]
    marks: list[Mark] = [
        *_density(before.density, low, high),
        Segment((low, high), (low, high), "reference", dashed=True),
    ]
    for r, role in lines:
        if r.low is not None and r.high is not None:
            marks.append(Band(r.score, np.clip(r.low, low, high), np.clip(r.high, low, high), role))
        marks.append(Line(r.score, r.probability, role))
    x, y = axis("score", low, high), with_headroom(_SHARE, low, high)
    names: list[tuple[str, Role]] = [
        (f"— {name}{'' if r.low is None else ', 95 % band'}", role)
        for (r, role), name in zip(lines, ("before calibration", "after"), strict=True)
    ]
    marks += legend([*names, *_REFERENCES], x, y, marks)
    words = "; ".join(
        f"{role}: {percent(float(r.probability[0]), 1)} at score {r.score[0]:.3g}, "
        f"{percent(float(r.probability[-1]), 1)} at {r.score[-1]:.3g}"
        for r, role in lines
    )
    return Panel(
        title="how often the outcome is 1, by score",
        alt=f"Probability against score, {words}. Perfect calibration is the diagonal.",
        x=x,
        y=y,
        marks=tuple(marks),
    )


def reliability_panel(
    r: Reliability,
    limits: tuple[float, float] | None = None,
    *,
    title: str = "",
    letter: float = 0.017,
) -> Panel:
    """Draw probability against score with its band, and how many rows have which score."""
    low, high = limits or score_range([r])
    marks: list[Mark] = [
        *_density(r.density, low, high),
        Segment((low, high), (low, high), "reference", dashed=True),
    ]
    if r.low is not None and r.high is not None:
        marks.append(Band(r.score, r.low, r.high, "hits"))
    marks.append(Line(r.score, r.probability, "hits"))
    words: list[tuple[str, Role]] = [("— outcomes", "hits")]
    if r.low is not None:
        words[0] = ("— outcomes, 95 % band", "hits")
    x, y = axis("score", low, high), with_headroom("probability", low, high)
    marks += legend([*words, *_REFERENCES], x, y, marks, letter)
    middle = float(np.interp(0.5 * (r.score[0] + r.score[-1]), r.score, r.probability))
    return Panel(
        title=title,
        alt=(
            f"Probability against score, fitted by {r.method}: at score {r.score[0]:.3g} it is "
            f"{percent(float(r.probability[0]), 1)}, in the middle {percent(middle, 1)}, at score "
            f"{r.score[-1]:.3g} {percent(float(r.probability[-1]), 1)}. Perfect calibration is the "
            "diagonal. Grey columns show how many rows have which score."
        ),
        x=x,
        y=y,
        marks=tuple(marks),
    )


def score_range(diagrams: Sequence[Reliability]) -> tuple[float, float]:
    """Return [0, top], top a tenth that holds all scores and probabilities."""
    top = max(max(float(r.score.max()), float(r.probability.max())) for r in diagrams)
    return 0.0, min(max(np.ceil(10.0 * top - 1e-9) / 10.0, 0.1), 1.0)


def _density(cells: Bins, low: float, high: float) -> list[Mark]:
    """Columns along the lower axis, the highest a sixth of the panel."""
    tall = float(cells.count.max()) or 1.0
    height = low + (high - low) * _DENSITY_HEIGHT * cells.count / tall
    inside = (cells.edges[:-1] < high) & (cells.edges[1:] > low)
    left = np.maximum(cells.edges[:-1][inside], low)
    return [Bars(left, cells.edges[1:][inside], height[inside], "density")]


def with_headroom(name: str, low: float, high: float) -> Axis:
    """Return an axis that leaves room for a line along its upper end."""
    return replace(axis(name, low, high), high=high + 0.02 * (high - low))


def legend(
    words: Sequence[tuple[str, Role]],
    x: Axis,
    y: Axis,
    marks: Sequence[Mark],
    letter: float = 0.017,
) -> list[Mark]:
    """Write coloured names where the marks leave most room, one to a line.

    `letter` is the width of a letter as a share of the axis. Corners are tried first.
    """
    left, right, low, high, weight = np.concatenate([_boxes(mark, x, y) for mark in marks], axis=1)
    line = 3.6 * letter
    wide = np.array([letter * len(text) for text, _ in words])
    down = line * np.arange(len(words))

    def covered(align: Align, at: float, top: float) -> float:
        first, last = (at, at + wide) if align == "start" else (at - wide, at)
        across = (left[:, None] < last + 0.02) & (right[:, None] > first - 0.02)
        up = (low[:, None] < top - down + 0.02) & (high[:, None] > top - down - line - 0.02)
        outside = max(float(np.max(last)) - 1.0, -float(np.min(first)), 0.0)
        return float(weight @ (across & up).sum(axis=1)) + 1e4 * outside

    tops = np.linspace(0.98, min(line * len(words) + 0.02, 0.98), 13)
    places: list[tuple[Align, float, float]] = []
    for inwards in (0.03, 0.2, 0.4):
        places += [("start", inwards, float(top)) for top in tops]
        places += [("end", 1.0 - inwards, float(top)) for top in tops[::-1]]
    align, at, top = min(places, key=lambda place: covered(*place))
    where = x.low + at * (x.high - x.low), y.low + top * (y.high - y.low)
    return [Label(*where, w, r, align, -1.0 - 1.2 * i) for i, (w, r) in enumerate(words)]


def _boxes(mark: Mark, x: Axis, y: Axis) -> FloatArray:
    """Return what a mark covers, as boxes in shares of the axes, and how much each matters."""
    if isinstance(mark, Bars):
        mark = Band(mark.left, np.full(mark.left.size, y.low), mark.height, mark.role)
    assert isinstance(mark, Line | Band | Segment)  # noqa: S101 - names come before other words
    ends = (mark.low, mark.high) if isinstance(mark, Band) else (mark.y, mark.y)
    places = np.linspace(0.0, len(mark.x) - 1.0, 400)
    across, lows, highs = (
        (np.interp(places, np.arange(len(mark.x)), at) - along.low) / (along.high - along.low)
        for at, along in ((mark.x, x), (ends[0], y), (ends[1], y))
    )
    bottom, top = np.minimum(lows[1:], lows[:-1]), np.maximum(highs[1:], highs[:-1])
    weight = np.full(bottom.size, 3.0 if isinstance(mark, Line) else 1.0)
    return np.array([across[:-1], across[1:], bottom, top, weight])


def binned_panel(b: BinnedReliability, *, title: str = "") -> Panel:
    """Draw the share of hits of each bin against its mean score."""
    ends = (0.0, 1.0)
    marks: list[Mark] = [
        *_density(b.density, *ends),
        Segment(ends, ends, "reference", dashed=True),
        Dots(b.score, b.share, "hits", low=b.low, high=b.high),
    ]
    x, y = axis("mean score of the bin", *ends), with_headroom(_SHARE, *ends)
    return Panel(
        title=title or "share of 1s by bin, 95 % interval",
        alt=(
            f"{_SHARE.capitalize()} against mean score in {b.score.size} bins, 95 % intervals. "
            f"Perfect calibration is the diagonal; {int((b.high < b.score).sum())} bins lie "
            f"clearly below it and {int((b.low > b.score).sum())} clearly above."
        ),
        x=x,
        y=y,
        marks=tuple(marks),
    )
