"""The paper's four panels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive._wording import percent
from ogive.plotting.marks import Axis, Band, Label, Line, Mark, Panel, Segment, axis
from ogive.plotting.panels import (
    FRACTILE,
    corner,
    difference_words,
    free_corner,
    reliability_panel,
    with_headroom,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import FloatArray, IntArray
    from ogive.diagrams import FourPanel
    from ogive.plotting.marks import Role

_CROWDED = 0.07  # ticks nearer than this share of an axis would touch


def cumulative_top(diagrams: Sequence[FourPanel]) -> float:
    """Return the end of an axis that holds the cumulative scores and hits of all diagrams."""
    traces = [d.difference.summary.trace for d in diagrams]
    return 1.04 * max(float(max(t.cumulative_score[-1], t.cumulative_hits[-1])) for t in traces)


def four_panels(
    f: FourPanel, top: float = 1.0, tall: float | None = None
) -> tuple[Panel, Panel, Panel, Panel]:
    """Draw the paper's four panels.

    `top` is the highest score and probability shown, `tall` the highest cumulative one.
    """
    d, t = f.difference, f.difference.summary.trace
    tall = tall or cumulative_top([f]) or 1.0
    words = difference_words(d)
    warped = t.cumulative_score / (t.cumulative_score[-1] or 1.0)
    panels = [
        Panel(
            title,
            f"{what} {words}",
            x_axis,
            axis("cumulative", 0.0, tall),
            tuple(_cumulative(f, x, x_axis, axis("cumulative", 0.0, tall))),
        )
        for title, what, x, x_axis in (
            ("a  cumulative", "Cumulative scores and outcomes.", t.fractile, axis(FRACTILE, 0, 1)),
            ("b  axis warped by the score",
             "The same with the axis warped so that the cumulative score is a straight line.",
             warped, _warped_axis(t.fractile, warped)),
        )
    ]  # fmt: skip
    return (
        panels[0],
        panels[1],
        _against_fractile(f, top),
        reliability_panel(f.reliability, (0.0, top), title="d  probability by score"),
    )


def _cumulative(f: FourPanel, x: FloatArray, x_axis: Axis, y_axis: Axis) -> list[Mark]:
    d, t = f.difference, f.difference.summary.trace
    score, hits = t.cumulative_score, t.cumulative_hits
    marks: list[Mark] = []
    words: list[tuple[str, Role]] = [("— score", "score"), ("— outcomes", "hits")]
    if d.half_width is not None:
        at = _every(x)
        low, high = (score - d.half_width)[at], (score + d.half_width)[at]
        marks.append(Band(x[at], low, high, "band"))
        words.append(("▮ 95 % band if calibrated", "band"))
        if d.fitted_on is not None:
            words[-1] = (f"▮ 95 % after {d.fitted_on:,} rows", "band")
    marks += [Line(x, score, "score"), Line(x, hits, "hits")]
    where, ends = float(x[t.peak]), (float(score[t.peak]), float(hits[t.peak]))
    marks.append(Segment((where, where), ends, "reference"))
    text = f"gap {percent(d.summary.ks.value)}"
    if where > 0.35:  # noqa: PLR2004 - room for the words on the left of the peak, above the lines
        marks.append(Label(where - 0.02, max(ends), text, "reference", "end", 0.35))
    else:
        above = float(np.interp(0.35, x, np.maximum(score, hits)))
        marks.append(Label(0.03, above, text, "reference", "start", 0.35))
    upper = free_corner(x_axis, y_axis, (x, score), (x, hits), upper=False)
    # Where lines run through both corners, as of rare events on a warped axis, they are far apart.
    lowest = np.minimum(score, hits)[x > 0.45].min() / y_axis.high  # noqa: PLR2004
    foot = 0.62 if not upper and lowest < 0.28 else 0.24  # noqa: PLR2004
    return marks + corner(words, x_axis, y_axis, upper=upper, foot=foot)


def _every(x: FloatArray) -> IntArray:
    """Return places of at most 300 points, evenly spread: enough for the edge of a band."""
    return np.unique(np.linspace(0, x.size - 1, min(x.size, 300)).astype(np.intp))


def _warped_axis(fractile: FloatArray, warped: FloatArray) -> Axis:
    """Ticks at round fractiles, where the warp leaves room for them."""
    ticks: list[tuple[float, str]] = []
    for at in (0.0, 1.0, 0.2, 0.4, 0.6, 0.8):
        place = float(np.interp(at, fractile, warped))
        if all(abs(place - other) > _CROWDED for other, _ in ticks):
            ticks.append((place, f"{at:g}"))
    return Axis(FRACTILE, 0.0, 1.0, tuple(sorted(ticks)))


def _against_fractile(f: FourPanel, top: float) -> Panel:
    t = f.difference.summary.trace
    marks: list[Mark] = []
    if f.low is not None and f.high is not None:
        at = _every(t.fractile)
        marks.append(Band(t.fractile[at], f.low[at], f.high[at], "hits"))
    marks += [Line(t.fractile, t.score, "score"), Line(t.fractile, f.probability, "hits")]
    x, y = axis(FRACTILE, 0.0, 1.0), with_headroom("probability", 0.0, top)
    lines = (t.fractile, t.score), (t.fractile, f.probability)
    words: list[tuple[str, Role]] = [("— score", "score"), ("— outcomes", "hits")]
    marks += corner(words, x, y, upper=free_corner(x, y, *lines, upper=False))
    return Panel(
        title="c  not cumulative",
        alt=(
            "Score and fitted probability against the share of rows. The score rises from "
            f"{t.score[0]:.3g} to {t.score[-1]:.3g}, the probability from {f.probability[0]:.3g} "
            f"to {f.probability[-1]:.3g}."
        ),
        x=x,
        y=y,
        marks=tuple(marks),
    )
