"""The figure that the page is about, and that of the worst classes and groups."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ogive._wording import percent
from ogive.diagrams import BeforeAfter
from ogive.plotting.figures import panels_of
from ogive.plotting.marks import Axis, Band, Bars, Dots, Label, Line, Panel, Segment, axis
from ogive.plotting.panels import legend
from ogive.plotting.tables import short_name
from ogive.report.graphs import Graph, Table, spread, trace_table
from ogive.report.series import MIN_ROWS_TO_SHOW_A_RATE, THRESHOLDS, enough_rows, rows_near

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import BoolArray
    from ogive.diagrams import CumulativeDifference
    from ogive.plotting.marks import Mark, Role
    from ogive.report.series import Series, Subject

MAX_SUBJECTS_DRAWN = 20  # more rows would not fit on a screen
MAX_NAME_LENGTH = 16  # of a label of the graph; the table has the whole name
_NAMES: tuple[str, ...] = ("before", "after")
_ROLES: tuple[Role, ...] = ("before", "after")


def main_graph(
    before: CumulativeDifference, after: CumulativeDifference | None, lines: Sequence[Series]
) -> Graph:
    """Return the figure that the page is about: reliability, and the cumulative gap.

    lines : before calibration, and after it if there is one, with fitted curves
    """
    gap = panels_of(before if after is None else BeforeAfter(before, after))
    caption = (
        "Left: how often the outcome is 1 at each score, with a 95 % band; below the diagonal the "
        "scores are too high, above it too low; dashed where fewer than "
        f"{MIN_ROWS_TO_SHOW_A_RATE} rows have such scores. Grey columns: the square root of how "
        "many rows have which score. Right: cumulative outcomes minus scores, the lowest scores "
        "first. Where the line falls, the scores are too high; where it rises, too low; its "
        "largest distance from 0 is the KS error."
    )
    half = (before if after is None else after).half_width
    if half is not None:
        fit = "A" if after is None else f"After a good fit on {after.fitted_on or 0:,} rows, a"
        caption += f" {fit} perfectly calibrated line stays inside the grey band 19 times in 20."
    rows = [(_NAMES[i], *row) for i, one in enumerate(lines) for row in _line_rows(one)]
    head = ("part", "score", "share of 1s", "95 % from", "to", "rows nearby")
    title = "Before and after calibration" if after is not None else "Outcomes against scores"
    panels = (_reliability(lines), *gap)
    return Graph("calibration", title, panels, caption, Table(head, tuple(rows)))


def gap_table(before: CumulativeDifference, after: CumulativeDifference | None) -> Table:
    """Return points of the cumulative gap, before and after."""
    tables = [trace_table(one) for one in (before, after) if one is not None]
    rows = [(_NAMES[i], *row) for i, table in enumerate(tables) for row in table.rows]
    return Table(("part", *tables[0].head), tuple(rows))


def _line_rows(one: Series) -> list[tuple[str, ...]]:
    score, share, low, high = one.line
    near = rows_near(one, score)
    ends = ["", ""] if low is None or high is None else [low, high]
    return [
        (percent(float(score[i])), percent(float(share[i])),
         *("" if isinstance(end, str) else percent(float(end[i])) for end in ends),
         f"{near[i]:,.6g}")
        for i in spread(score.size)
    ]  # fmt: skip


def _reliability(lines: Sequence[Series]) -> Panel:
    """Draw the share of 1s against the score, before and after, and where the rows are."""
    shown = [(one, enough_rows(one)) for one in lines]
    ends = [np.append(one.line[0][ok], one.line[1][ok]) for one, ok in shown]
    seen = np.concatenate(ends) if any(end.size for end in ends) else np.array([0.0, 1.0])
    low, high = np.floor(10.0 * seen.min() + 1e-9) / 10.0, np.ceil(10.0 * seen.max() - 1e-9) / 10.0
    low, high = (float(low), float(high)) if high - low >= 0.1 else (0.0, 1.0)  # noqa: PLR2004
    marks: list[Mark] = [
        _density(lines[0], low, high),
        Segment((low, high), (low, high), "reference", dashed=True),
    ]
    words: list[tuple[str, Role]] = []
    for (one, ok), role in zip(shown, _ROLES, strict=False):
        inside = (one.line[0] >= low) & (one.line[0] <= high)
        inside &= ok | ((one.line[1] >= low) & (one.line[1] <= high))  # a hint stays on the graph
        score, share, bottom, top = (None if a is None else a[inside] for a in one.line)
        assert score is not None and share is not None  # noqa: S101, PT018
        for at, rows in _runs(ok[inside]):
            if bottom is not None and top is not None and rows:
                marks.append(Band(score[at], bottom[at], top[at], role))
            marks.append(Line(score[at], share[at], role, dashed=not rows))
        words.append((f"— {_NAMES[_ROLES.index(role)]}" if len(lines) > 1 else "— outcomes", role))
    words += [("- - perfect calibration", "reference"), ("▮ rows, by square root", "band")]
    x = axis("score", low, high, percent=True)
    y = axis("share of outcomes that are 1", low, high + 0.02 * (high - low), percent=True)
    marks += legend(words, x, y, marks)
    names = _NAMES if len(lines) > 1 else ("",)
    alt = " ".join(_reliability_words(one, name) for one, name in zip(lines, names, strict=True))
    return Panel("", f"Share of outcomes that are 1 against the score. {alt}", x, y, tuple(marks))


def _reliability_words(one: Series, part: str) -> str:
    score, share = one.line[:2]
    words = ", ".join(
        f"{percent(float(share[i]), 1)} at score {percent(float(score[i]), 1)}"
        for i in np.unique([0, score.size // 2, score.size - 1])
    )
    return f"{part}: {words}.".removeprefix(": ").capitalize()


def _runs(enough: BoolArray) -> list[tuple[slice, bool]]:
    """Return stretches of points with and without rows; each begins where the last one ended."""
    cuts = [0, *(np.flatnonzero(np.diff(enough)) + 1).tolist(), enough.size]
    found = []
    for first, last in pairwise(cuts):
        rows = bool(enough[first])
        found.append(
            (slice(first if rows else max(first - 1, 0), last if rows else last + 1), rows)
        )
    return found


def _density(one: Series, low: float, high: float) -> Bars:
    """Columns of a fiftieth along the lower axis, the highest a sixth of the panel.

    By the square root of the number of rows, so that few rows are seen beside many.
    """
    edges = np.linspace(0.0, 1.0, 51)
    above = np.interp(edges, THRESHOLDS, one.above)
    count = np.sqrt(-np.diff(np.append(above[:-1], 0.0)))
    height = low + (high - low) / 6.0 * count / (float(count.max()) or 1.0)
    inside = (edges[1:] > low) & (edges[:-1] < high)
    left, right = np.maximum(edges[:-1], low), np.minimum(edges[1:], high)
    return Bars(left[inside], right[inside], height[inside], "density")


def worst_graph(name: str, what: str, subjects: Sequence[Subject]) -> Graph:
    """Return the signed KS error of classes or groups, before and after, as they come."""
    shown = subjects[:MAX_SUBJECTS_DRAWN]
    more = len(subjects) - len(shown)
    caption = (
        "Signed KS error: left of 0 the scores are too high up to the largest gap, right of 0 too "
        "low."
    )
    caption += f" The first {len(shown)} of {len(subjects):,}; the table has all." if more else ""
    title = f"Signed KS error of each {what}, the worst first"
    return Graph(name, title, (_pairs_panel(what, shown),), caption, None)


def _pairs_panel(what: str, subjects: Sequence[Subject]) -> Panel:
    """Draw a tick for the error before calibration and a dot for that after it."""
    m = len(subjects)
    names = tuple(short_name(one.name, MAX_NAME_LENGTH) for one in subjects)
    errors = np.array([[line.signed for line in one.series] for one in subjects])
    before, after = errors[:, 0], errors[:, -1] if errors.shape[1] > 1 else None
    end = 1.15 * (float(np.abs(errors).max()) or 1e-3)
    y = np.arange(m, 0.0, -1.0)
    marks: list[Mark] = [Segment((-end, end), (at, at), "density") for at in y]
    marks.append(Segment((0.0, 0.0), (0.4, m + 0.6), "reference"))
    if after is None:
        marks.append(Dots(before, y, "before"))
    else:
        for i, at in enumerate(y.tolist()):
            tick = (float(before[i]), float(before[i]))
            marks.append(Segment(tick, (at - 0.32, at + 0.32), "before"))
            marks.append(Segment((tick[0], float(after[i])), (at, at), "after", ends=True))
        marks.append(Label(-end, m + 1.75, "| before", "before"))
        marks.append(Label(-0.55 * end, m + 1.75, "● after", "after"))
    marks.append(Label(-end, m + 0.8, "◀ scores too high", "reference"))
    marks.append(Label(end, m + 0.8, "scores too low ▶", "reference", "end"))
    words = "; ".join(
        f"{one.name} {' to '.join(percent(line.signed) for line in one.series)}" for one in subjects
    )
    ticks = tuple((float(at), name) for at, name in zip(y, names, strict=True))
    return Panel(
        title="",
        alt=f"Signed KS error of {m} ({what}), before to after calibration: {words}.",
        x=axis("signed KS error", -end, end, percent=True),
        y=Axis("", 0.4, m + 2.4, ticks),
        marks=tuple(marks),
        shape=0.16 + 0.062 * max(m + 2, 4),
        names=max(map(len, names)),
    )
