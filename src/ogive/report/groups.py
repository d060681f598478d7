"""The report's section on groups: how far off each is, before and after, the worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ogive.report.graphs import Table
from ogive.studies.compare import compare
from ogive.studies.compare_groups import GROUPS, by_group
from ogive.studies.fitting import Rows
from ogive.studies.layout import percent
from ogive.studies.losses import scores_of
from ogive.views import score_rows

if TYPE_CHECKING:
    from ogive.predictions import Predictions
    from ogive.studies.compare_groups import ByGroup, GroupsOf

MOST_GROUPS_SHOWN = 50  # more would bury the rest of the page
_WORDS = {"none": "before", "spline": "one map", GROUPS: "by group"}


class GroupSection(NamedTuple):
    """What the page says of groups."""

    by: str
    words: tuple[str, ...]
    table: Table


def group_section(
    groups: GroupsOf, cal: Predictions | None, test: Predictions, view: str
) -> GroupSection:
    """Measure the groups of the test part; with rows to fit on, also after calibration."""
    if cal is None or groups.cal is None:
        rows = score_rows(test, view)
        given = Rows(rows.score, rows.hit)
        _, losses = scores_of(given, test, view)
        found = by_group(groups, test, {"none": given}, {"none": losses})
    else:
        compared = compare(cal, test, ["none", "spline"], view, score_only=True, groups=groups)
        assert compared.by_group is not None  # noqa: S101 - there are groups
        found = compared.by_group
    return GroupSection(found.by, tuple(_words(found)), _table(found))


def _table(found: ByGroup) -> Table:
    names = found.shown
    head = [f"{what} {_WORDS[name]}" for what in ("KS", "log loss") for name in names]
    rows = tuple(
        (
            row.group,
            f"{row.n:,.6g}",
            *(percent(row.ks[name]) for name in names),
            *(f"{row.nll[name]:.4f}" for name in names),
        )
        for row in found.rows[:MOST_GROUPS_SHOWN]
    )
    more = len(found.rows) - MOST_GROUPS_SHOWN
    note = f"The first {MOST_GROUPS_SHOWN} of {len(found.rows):,}." if more > 0 else ""
    return Table(("group", "rows", *head), rows, note)


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
