"""Compare methods group by group: where one map for all rows fails, and what groups gain.

The calibrator of groups is one more method, called ``groups``, of the comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive.calibrators.grouped_map import value_columns
from ogive.curve import Curve
from ogive.engines.grouping import combined
from ogive.errors import InvalidInput
from ogive.metrics.ks import ks_error
from ogive.studies.fitting import VECTOR
from ogive.studies.group_curves import grouping_of
from ogive.studies.losses import CRITICAL_T, hall_t

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ogive._typing import AnyArray, FloatArray
    from ogive.rows.predictions import Predictions
    from ogive.studies.fitting import Rows

GROUPS = "groups"  # the name of the method, as in the artifact
_MAPS = ("none", "spline", GROUPS)  # what a table shows of each group


class GroupsOf(NamedTuple):
    """The groups of the rows of both parts, (N,) or (N, k), and what they are called."""

    cal: AnyArray | None  # None: there are no rows to fit on
    test: AnyArray
    by: str

    def columns(self) -> dict[str, AnyArray]:
        """Return the columns of the calibration part by name."""
        assert self.cal is not None  # noqa: S101 - something is fitted
        columns = value_columns(self.cal)
        names = [self.by] if len(columns) == 1 else [name.strip() for name in self.by.split(",")]
        return dict(zip(names, columns, strict=True))


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One group of the test part: its rows, and the KS error and log loss of each method."""

    group: str
    n: float
    ks: dict[str, float]
    nll: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        methods = [{"method": m, "ks": self.ks[m], "nll": self.nll[m]} for m in self.ks]
        return {"group": self.group, "n": self.n, "methods": methods}


@dataclass(frozen=True, slots=True)
class ByGroup:
    """The groups of the test part, the one that one map leaves farthest off first.

    gain : the log loss of the spline of all rows minus that of the groups' calibrator, over all
        rows; `gain_se` is its standard error. None if either was not compared.
    """

    by: str
    rows: tuple[GroupRow, ...]
    gain: float | None
    gain_se: float | None
    significant: bool

    @property
    def shown(self) -> tuple[str, ...]:
        """The methods of a table: none, the map of all rows, and that of groups."""
        return tuple(name for name in _MAPS if self.rows and name in self.rows[0].ks)

    @property
    def note(self) -> str:
        """What the groups gain, in a sentence."""
        if self.gain is None:
            return ""
        what = f"The method groups (the spline with a change for each group of {self.by})"
        size = f"{abs(self.gain):.4f} ± {self.gain_se:.4f}"
        if not self.significant:
            return f"{what} and one spline for all rows differ in log loss by {size}: noise."
        if self.gain < 0:
            return f"{what} has a log loss {size} above that of one spline for all rows."
        return (
            f"{what} has a log loss {size} below that of one spline for all rows: "
            f"ogive fit --by {self.by}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "by": self.by,
            "gain": self.gain,
            "gain_se": self.gain_se,
            "significant": self.significant,
            "groups": [row.to_dict() for row in self.rows],
        }


def check_by(view: str) -> None:
    """Refuse groups of whole vectors."""
    if view == VECTOR:
        msg = "groups are compared in one view: name it, such as top-1 (--view top-1)."
        raise InvalidInput(msg)


def by_group(
    groups: GroupsOf,
    test: Predictions,
    rows: Mapping[str, Rows],
    losses: Mapping[str, FloatArray],
) -> ByGroup:
    """Return what each method does to each group, from its calibrated rows and their losses."""
    found = [grouping_of(column) for column in value_columns(groups.test)]
    cells = combined(found, range(len(found)), test.n)
    weights = test.row_weights
    table = []
    for name, at in cells.segments():
        own = cells.order[at]
        if weights[own].sum() > 0:
            table.append(_row(name, own, test, weights, rows, losses))
    pair = losses.get("spline"), losses.get(GROUPS)
    first = "spline" if "spline" in rows else next(iter(rows))
    # a KS error in units of its noise, but for a constant
    table.sort(key=lambda row: (-row.ks[first] * row.n**0.5, row.group))
    if pair[0] is None or pair[1] is None:
        return ByGroup(groups.by, tuple(table), None, None, significant=False)
    mean, error, t = hall_t(pair[0] - pair[1], weights / weights.sum())
    return ByGroup(groups.by, tuple(table), mean, error, significant=abs(t) > CRITICAL_T)


def _row(  # noqa: PLR0917 - internal
    name: str,
    own: AnyArray,
    test: Predictions,
    weights: FloatArray,
    rows: Mapping[str, Rows],
    losses: Mapping[str, FloatArray],
) -> GroupRow:
    ks, nll = {}, {}
    for method, calibrated in rows.items():
        given = None if test.sample_weight is None else weights[own]
        hit = np.asarray(calibrated.hit)[own]
        how: Any = {"sample_weight": given, "weight_kind": test.weight_kind}
        ks[method] = ks_error(Curve.from_scores(calibrated.score[own], hit, **how))
        nll[method] = float(np.average(losses[method][own], weights=weights[own]))
    return GroupRow(name, float(weights[own].sum()), ks, nll)
