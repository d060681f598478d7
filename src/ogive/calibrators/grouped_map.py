r"""The map of `fit_groups`: the default spline for all rows, and what each group adds to it.

Let L be the log-odds that the spline of all rows gives to a score. In group g they become

.. math:: L + a_g + d_g\,z + b_g\,q(z), \qquad z = \frac{L - c}{u},

a shift, a change of slope and a bend. c and u are the mean and the deviation of L over all rows,
weighted by their information n p (1 − p), and q is :math:`\sqrt{1 + z^2}` made orthogonal to 1 and
z and scaled to a root mean square of 1, in the same weights: a, d and b are log-odds of a typical
row. q is nearly straight for large z, so that a bend does not explode; and beyond the L that
were seen, the change of a group stays what it is there. A group that was not seen gets L.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._numerics.logistic import expit
from ogive._validate import as_array, as_floats, bad_scores, check_length
from ogive.calibrators.maps import Fitted, bad_log_odds
from ogive.calibrators.spline_map import LIMIT, SplineMap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import AnyArray, ArrayLike, BoolArray, FloatArray

EFFECTS = 3  # shift, slope, bend
#: Between the values of several columns in the name of a group, and what stands for any value.
JOIN, ANY = " | ", "*"


def joined_names(groups: Sequence[Any] | ArrayLike) -> AnyArray:
    """Return the name of each row's group as text, (N,); of several columns (N, k) joined.

    >>> joined_names([("BR", "mobile"), ("US", "desktop")]).tolist()
    ['BR | mobile', 'US | desktop']
    """
    names = as_array(groups, "groups").astype(np.str_)
    if names.ndim == 2:  # noqa: PLR2004 - rows and columns
        names = np.array([JOIN.join(row) for row in names.tolist()], dtype=np.str_)
    return names


def main_name(values: Sequence[str], column: int) -> str:
    """Return the name of the main effect of one column.

    >>> main_name(["BR", "mobile"], 0)
    'BR | *'
    """
    return JOIN.join(value if i == column else ANY for i, value in enumerate(values))


class GroupAxis(NamedTuple):
    """The coordinates of group effects; see the head of this file."""

    centre: float
    unit: float
    first: float  # L below is taken as this, for the change of a group
    last: float
    bend_mean: float  # q(z) = (√(1 + z²) − bend_mean − bend_slope z) / bend_unit
    bend_slope: float
    bend_unit: float

    def columns(self, L: FloatArray) -> FloatArray:
        """Return what shift, slope and bend count at calibrated log-odds (m,), (3, m)."""
        z = (np.clip(L, self.first, self.last) - self.centre) / self.unit
        q = (np.sqrt(1.0 + z * z) - self.bend_mean - self.bend_slope * z) / self.bend_unit
        return np.stack([np.ones_like(z), z, q])


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class GroupedMap(Fitted):
    """A calibrator that knows the group of each row: call it on scores and their groups.

    Attributes
    ----------
    by : str or None
        What the groups are called, such as the column they come from.
    overall : SplineMap
        The default spline of all rows; groups that were not seen get it.
    groups : tuple of str
        The groups that were seen, in order. Of several columns ``"BR | mobile"`` is a pair, and
        ``"BR | *"`` what Brazil has by itself, for pairs that were not seen.
    rows : (G,) array
        The rows of each group, or the sum of their weights.
    effect : (G, 3) array
        Shift, slope and bend of each group, in log-odds.
    error : (G, 3) array
        Their posterior standard deviations.
    size : (3,) array
        Mean size of shifts, slopes and bends over the groups, as the data give it.
    none : (3,) array
        Posterior weight of "groups do not differ" in shift, slope and bend.
    axis : GroupAxis
    """

    method = "groups"

    by: str | None
    overall: SplineMap
    groups: tuple[str, ...]
    rows: FloatArray
    effect: FloatArray
    error: FloatArray
    size: FloatArray
    none: FloatArray
    axis: GroupAxis

    def __call__(self, scores: ArrayLike, groups: Sequence[Any] | ArrayLike) -> FloatArray:
        """Return the calibrated probability of each score in [0, 1], (N,), given its group.

        Groups of several columns are given as (N, k) values, one column each.
        """
        s = as_floats(np.atleast_1d(scores), "scores", ndim=(1,), empty=True)
        s = s.astype(np.float64, copy=False)
        if not ((s >= 0.0) & (s <= 1.0)).all():
            raise bad_scores(s)
        return self.from_tails(s > 0.5, np.minimum(s, 1.0 - s), groups)  # noqa: PLR2004

    def from_log_odds(self, log_odds: ArrayLike, groups: Sequence[Any] | ArrayLike) -> FloatArray:
        """Return the calibrated probability of each log-odds, (N,), given its group."""
        eta = as_floats(np.atleast_1d(log_odds), "log_odds", ndim=(1,), empty=True)
        eta = eta.astype(np.float64, copy=False)
        if np.isnan(eta).any():
            raise bad_log_odds(eta)
        low, high = self.overall.lowest, self.overall.highest
        return self._moved(self.overall.log_odds_at(np.clip(eta, low, high)), groups)

    def from_tails(
        self, high: BoolArray, tail: FloatArray, groups: Sequence[Any] | ArrayLike
    ) -> FloatArray:
        """Return the calibrated probability of scores given as side and tail."""
        with np.errstate(divide="ignore"):
            eta = np.log(tail) - np.log1p(-tail)
        eta = np.clip(np.where(high, -eta, eta), self.overall.lowest, self.overall.highest)
        L = self.overall.log_odds_at(eta)
        one = self.overall.at_one
        L[high & (tail == 0.0)] = np.log(one) - np.log1p(-one)
        return self._moved(L, groups)

    def _moved(self, L: FloatArray, groups: Sequence[Any] | ArrayLike) -> FloatArray:
        """Return the probability of calibrated log-odds (N,), moved as their groups ask."""
        names = joined_names(groups)
        check_length(names, "groups", L.size, "scores")
        distinct, index = np.unique(names, return_inverse=True)
        effects = np.array([self.effect_of(str(name)) for name in distinct]).reshape(-1, EFFECTS)
        L = np.clip(L, -LIMIT, LIMIT)
        seen = (effects != 0.0).sum(axis=1)[index] > 0
        L[seen] += np.einsum("dm,md->m", self.axis.columns(L[seen]), effects[index[seen]])
        return expit(np.clip(L, -LIMIT, LIMIT))

    def effect_of(self, name: str) -> FloatArray:
        """Return shift, slope and bend of a group, (3,); 0 if nothing was seen of it.

        A pair of values that was not seen together has the sum of what each has by itself.
        """
        place = self._places.get(name)
        if place is not None:
            found: FloatArray = self.effect[place]
            return found
        total, values = np.zeros(EFFECTS), name.split(JOIN)
        for column in range(len(values) if len(values) > 1 else 0):
            place = self._places.get(main_name(values, column))
            total = total if place is None else total + self.effect[place]
        return total

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.groups)}

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return super().to_dict() | {
            "overall": self.overall.to_dict(),
            "groups": list(self.groups),
            "axis": self.axis._asdict(),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> GroupedMap:
        """Rebuild a map from `to_dict`."""
        names = ("rows", "effect", "error", "size", "none")
        arrays = {name: np.array(values[name], dtype=np.float64) for name in names}
        own = {
            "overall": SplineMap.from_dict(values["overall"]),
            "groups": tuple(values["groups"]),
            "axis": GroupAxis(**values["axis"]),
        }
        return cls(**{**values, **arrays, **own})
