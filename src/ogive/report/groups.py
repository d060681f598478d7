"""The report's section on groups: how far off each is, before and after, the worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive._wording import percent
from ogive.calibrators.grouped_map import value_columns
from ogive.engines.grouping import combined
from ogive.report.contents import SIGNS, Section
from ogive.report.figure import worst_graph
from ogive.report.graphs import Table
from ogive.report.series import MAX_SUBJECTS_IN_DETAIL, Subject, series_of
from ogive.rows.views import score_rows
from ogive.studies.compare import compare_rows
from ogive.studies.compare_groups import GROUPS, by_group
from ogive.studies.fitting import Rows, curve_of
from ogive.studies.group_curves import grouping_of
from ogive.studies.losses import scores_of
from ogive.studies.where_off import way_off

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ogive.rows.predictions import Predictions
    from ogive.studies.compare_groups import ByGroup, GroupsOf

MAX_GROUPS_SHOWN = 1000  # more would make the page slow
_WORDS = {"none": "before", "spline": "one map", GROUPS: "by group"}


def group_section(
    groups: GroupsOf, cal: Predictions | None, test: Predictions, view: str
) -> tuple[Section, tuple[Subject, ...]]:
    """Measure the groups of the test part; with rows to fit on, also after calibration."""
    rows: Mapping[str, Rows]
    fitted_on = None
    if cal is None or groups.cal is None:
        given = score_rows(test, view)
        rows = {"none": Rows(given.score, given.hit, tail=given.tail)}
        _, losses = scores_of(rows["none"], test, view)
        found = by_group(groups, test, rows, {"none": losses})
    else:
        methods = ["none", "spline"]
        compared, rows = compare_rows(cal, test, methods, view, score_only=True, groups=groups)
        assert compared.by_group is not None  # noqa: S101 - there are groups
        found, fitted_on = compared.by_group, float(cal.n)
    subjects = _subjects(found, groups, rows, test, view, fitted_on)
    graph = worst_graph("group-errors", "group", subjects)
    return Section(tuple(_words(found)), graph, _table(found, subjects)), subjects


def _subjects(  # noqa: PLR0917 - internal
    found: ByGroup,
    groups: GroupsOf,
    rows: Mapping[str, Rows],
    test: Predictions,
    view: str,
    fitted_on: float | None,
) -> tuple[Subject, ...]:
    """Return the lines of each group, in the order of the table."""
    columns = [grouping_of(column) for column in value_columns(groups.test)]
    cells = combined(columns, range(len(columns)), test.n)
    places = {name: cells.order[at] for name, at in cells.segments()}
    shown = found.rows[:MAX_GROUPS_SHOWN]
    detailed = len(shown) <= MAX_SUBJECTS_IN_DETAIL
    subjects = []
    for row in shown:
        at = np.sort(places[row.group])
        lines = (
            series_of(
                curve_of(rows[name], test, view, at),
                name,
                detailed=detailed,
                fitted_on=None if name == "none" else fitted_on,
                tested=not test.fitted_rows,
            )
            for name in found.shown
        )
        subjects.append(Subject("group", row.group, tuple(lines), detailed))
    return tuple(subjects)


def _table(found: ByGroup, subjects: tuple[Subject, ...]) -> Table:
    names = found.shown
    head = [f"{what} {_WORDS[name]}" for what in ("signed KS", "log loss") for name in names]
    rows = []
    for row, subject in zip(found.rows, subjects, strict=False):
        first = subject.series[0]
        way = way_off(first.mean, first.rate, abs(first.signed))
        means = (percent(first.mean), percent(first.rate))
        errors = (percent(line.signed) for line in subject.series)
        losses = (f"{row.nll[name]:.4f}" for name in names)
        rows.append((row.group, f"{row.n:,.6g}", *means, *errors, *losses, SIGNS[way]))
    more = len(found.rows) - len(subjects)
    note = f"The first {len(subjects):,} of {len(found.rows):,}." if more > 0 else ""
    head = ["group", "rows", "mean score", "base rate", *head, "scores were"]
    return Table(tuple(head), tuple(rows), note)


def _words(found: ByGroup) -> list[str]:
    """Say what happens to groups, in sentences."""
    many = f"{len(found.rows):,} groups of {found.by} in the test part"
    if len(found.shown) == 1:
        return [f"{many}; the one farthest off, for its number of rows, is first."]
    worse = [row for row in found.rows if row.nll["spline"] > row.nll["none"]]
    better = [row for row in found.rows if row.ks[GROUPS] < row.ks["spline"]]
    order = f"{many}; the one that one map leaves farthest off, for its number of rows, is first."
    harm = (
        f"One map for all rows raises the log loss of {len(worse):,} of {len(found.rows):,} groups "
        "above what it was before calibration. A map that knows the group of each row (by group) "
        f"has a smaller KS error than one map in {len(better):,} of them."
    )
    return [order, harm, found.note] if found.note else [order, harm]
