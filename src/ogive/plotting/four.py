"""The paper's four panels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive._wording import percent
from ogive.plotting.marks import Axis, Band, Line, Mark, Panel, Segment, axis
from ogive.plotting.panels import (
    FRACTILE,
    difference_words,
    legend,
    reliability_panel,
    with_headroom,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import FloatArray, IntArray
    from ogive.diagrams import FourPanel
    from ogive.plotting.marks import Role

_LETTER = 0.026  # width of a letter as a share of a panel's axis
#: The scores are wider than the outcomes: where both agree, the line of two colours shows it.
_WIDE, _THIN = 3.2, 1.4


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
    warped = axis("cumulative score", 0.0, float(t.cumulative_score[-1]) or 1.0)
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
            ("b  each row as wide as its score",
             "The same against the cumulative score, which so is a straight line.",
             t.cumulative_score, warped),
        )
    ]  # fmt: skip
    return (
        panels[0],
        panels[1],
        _against_fractile(f, top),
        reliability_panel(
            f.reliability, (0.0, top), title="d  probability by score", letter=_LETTER
        ),
    )


def _cumulative(f: FourPanel, x: FloatArray, x_axis: Axis, y_axis: Axis) -> list[Mark]:
    d, t = f.difference, f.difference.summary.trace
    score, hits = t.cumulative_score, t.cumulative_hits
    marks: list[Mark] = []
    words: list[tuple[str, Role]] = [
        ("— score", "score"),
        ("— outcomes", "hits"),
        (f"| gap {percent(d.summary.ks.value)}", "reference"),
    ]
    if d.half_width is not None:
        at = _every(x)
        low, high = (score - d.half_width)[at], (score + d.half_width)[at]
        marks.append(Band(x[at], low, high, "band"))
        known = "if calibrated" if d.fitted_on is None else f"after {d.fitted_on:,} rows"
        words.append((f"▮ 95 % {known}", "band"))
    marks += [Line(x, score, "score", width=_WIDE), Line(x, hits, "hits", width=_THIN)]
    where, ends = float(x[t.peak]), (float(score[t.peak]), float(hits[t.peak]))
    marks.append(Segment((where, where), ends, "reference"))
    # The panel beside the first has less room, and the same band and gap.
    shown = words if x is t.fractile else words[:2]
    return marks + legend(shown, x_axis, y_axis, marks, _LETTER)


def _every(x: FloatArray) -> IntArray:
    """Return places of at most 300 points, evenly spread: enough for the edge of a band."""
    return np.unique(np.linspace(0, x.size - 1, min(x.size, 300)).astype(np.intp))


def _against_fractile(f: FourPanel, top: float) -> Panel:
    t = f.difference.summary.trace
    marks: list[Mark] = []
    if f.low is not None and f.high is not None:
        at = _every(t.fractile)
        marks.append(Band(t.fractile[at], f.low[at], f.high[at], "hits"))
    marks += [
        Line(t.fractile, t.score, "score", width=_WIDE),
        Line(t.fractile, f.probability, "hits", width=_THIN),
    ]
    x, y = axis(FRACTILE, 0.0, 1.0), with_headroom("probability", 0.0, top)
    words: list[tuple[str, Role]] = [("— score", "score"), ("— outcomes", "hits")]
    marks += legend(words, x, y, marks, _LETTER)
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
