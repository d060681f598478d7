"""The report's graphs: panels with a title, a caption, and the numbers behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._wording import percent
from ogive.diagrams import CostLines, DecisionCurve
from ogive.plotting.figures import panels_of
from ogive.plotting.four import cumulative_top, four_panels
from ogive.plotting.panels import score_range
from ogive.studies.graphs import method_diagrams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import FloatArray, IntArray
    from ogive.curve import Curve
    from ogive.diagrams import BinnedReliability, CumulativeDifference, FourPanel
    from ogive.plotting.marks import Panel
    from ogive.studies.compare import Comparison

_ROWS = 24  # of a table behind a graph


@dataclass(frozen=True, slots=True)
class Table:
    """Words in rows and columns; the first column names the row."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Graph:
    """One graph of the page: its panels, and the table behind them.

    `name` is unique on the page, `title` is short, `caption` says how to read it.
    """

    name: str
    title: str
    panels: tuple[Panel, ...]
    caption: str
    table: Table | None


def bins_graph(binned: BinnedReliability) -> Graph:
    """Return the share of 1s in bins of equal width."""
    return Graph(
        "bins",
        "In bins of equal width",
        panels_of(binned),
        f"{binned.score.size} bins that hold rows, before calibration; the intervals are Wilson's.",
        _bin_table(binned),
    )


def four_graphs(name: str, diagrams: Sequence[FourPanel]) -> tuple[Graph, ...]:
    """Return the paper's four panels for each diagram, with the same scales."""
    top, tall = score_range([d.reliability for d in diagrams])[1], cumulative_top(diagrams)
    return tuple(
        Graph(
            f"{name}-{i}",
            d.difference.title[:1].upper() + d.difference.title[1:],
            four_panels(d, top, tall),
            "",
            trace_table(d.difference, d),
        )
        for i, d in enumerate(diagrams)
    )


def method_graphs(comparison: Comparison) -> tuple[Graph, ...]:
    """Return how far each method is from the best, and their ranks."""
    if len(comparison.methods) < 2:  # noqa: PLR2004 - nothing to compare
        return ()
    differences, ranks = method_diagrams(comparison)
    return (
        Graph(
            "losses",
            "How much each method loses to the best",
            panels_of(differences),
            "Log loss, row by row on the test part. An interval that holds 0 is noise.",
            None,
        ),
        Graph(
            "ranks",
            "Ranks by three measures",
            panels_of(ranks),
            "Ranks on one file say which comes first, not by how much.",
            None,
        ),
    )


def decision_graphs(curve: Curve, after: Curve | None, *, in_sample: bool) -> tuple[Graph, ...]:
    """Return the decision curve and the cost curve; nothing where one outcome is missing."""
    if not 0.0 < float(curve.total_hits) < float(curve.n):
        return ()
    benefit = DecisionCurve.from_curves(curve, after, in_sample=in_sample)
    cost = CostLines.from_curves(curve, after, in_sample=in_sample)
    lines = (benefit.before, benefit.after), (cost.before, cost.after)
    tables = (
        _line_table(("threshold", "net benefit"), benefit.before.threshold, lines[0], in_sample),
        _line_table(("share of misses", "normalised cost"), cost.before.x, lines[1], in_sample),
    )
    return (
        Graph(
            "decision",
            "Net benefit (decision curve)",
            panels_of(benefit),
            "True positives minus false positives, each false one counted at the odds of the "
            "threshold, per row. The higher line is better; below 0, acting on none is better.",
            tables[0],
        ),
        Graph(
            "cost",
            "Cost of decisions (cost curve)",
            panels_of(cost),
            "The cost of acting at the threshold for each ratio of costs, as a share of the "
            "largest cost, that of a wrong decision on every row. The lower line is better; the "
            "thin line is the best that any threshold has on these very rows.",
            tables[1],
        ),
    )


def _line_table(
    names: tuple[str, str], at: FloatArray, lines: tuple[Any, Any], in_sample: bool
) -> Table:
    """Return points of a line with its interval, and of the line after calibration."""
    before, after = lines
    head = (*names, *(() if in_sample else ("95 % from", "to")))
    columns = [at, before.value, *(() if in_sample else (before.low, before.high))]
    if after is not None:
        head, columns = (*head, "calibrated"), [*columns, after.value]
    rows = tuple(tuple(percent(float(x[i])) for x in columns) for i in spread(at.size))
    return Table(head, rows)


def spread(size: int, *also: int) -> IntArray:
    """Return about `_ROWS` places spread over `size`, with others that must be among them."""
    even = np.linspace(0, size - 1, min(_ROWS, size)).round().astype(np.intp)
    return np.unique([*even, *also])


def trace_table(d: CumulativeDifference, four: FourPanel | None = None) -> Table:
    """Return points of the cumulative gap, with the fitted probability of a four-panel diagram."""
    t = d.summary.trace
    # Even steps of the fractile, and the row of the largest gap.
    places = np.unique([*np.searchsorted(t.fractile, np.linspace(0, 1, _ROWS)), t.peak])
    at = np.minimum(places, len(t) - 1)
    head = ("share of rows", "score", "cumulative score", "cumulative outcomes", "gap")
    score, total, hits = t.score, t.cumulative_score, t.cumulative_hits
    rows = [
        (percent(t.fractile[i]), f"{100 * score[i]:.6g} %",
         *(percent(float(v), 3) for v in (total[i], hits[i], t.gap[i])))
        for i in at
    ]  # fmt: skip
    note = f"{at.size} of {len(t):,} points drawn, of {d.summary.n:,} rows."
    if four is None:
        return Table(head, tuple(rows), note)
    more = [percent(float(four.probability[i]), 3) for i in at]
    return Table(
        (*head, "probability"), tuple((*r, m) for r, m in zip(rows, more, strict=True)), note
    )


def _bin_table(b: BinnedReliability) -> Table:
    head = ("bin", "rows", "mean score", "mean outcome", "95 % from", "to")
    rows = tuple(
        (
            f"{100 * left:.1f} to {percent(right, 1)}",
            f"{n:,.6g}",
            *(percent(float(v)) for v in rest),
        )
        for left, right, n, *rest in zip(
            b.left, b.right, b.count, b.score, b.share, b.low, b.high, strict=True
        )
    )
    return Table(head, rows)
