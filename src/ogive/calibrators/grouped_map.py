r"""The map of `fit_groups`: the default spline for all rows, and what each group adds to it.

Let L be the log-odds that the spline of all rows gives to a score. In group g they become

.. math:: L + a_g + d_g\,z + b_g\,q(z), \qquad z = \frac{L - c}{u},

a shift, a change of slope and a bend. c and u are the mean and the deviation of L over all rows,
weighted by their information n p (1 − p), and q is :math:`\sqrt{1 + z^2}` made orthogonal to 1 and
z and scaled to a root mean square of 1, in the same weights: a, d and b are log-odds of a typical
row. q is nearly straight for large z, so that a bend does not explode; and beyond the L that
were seen, the change of a group stays what it is there. A group that was not seen gets L.

**Interval.** With h half the band of L, moved as the group moves L, and e the posterior deviations
of a, d and b, half the interval of a group is

.. math:: \sqrt{h^2 + 4 (e_a + e_d |z| + e_b |q|)^2} ,

as if what is common and what the group adds erred independently. How a, d and b err together is not
kept: their sum deviates by no more than the sum of their deviations. A group's own rows make up
for an error of L, so that the interval of a group with many of the rows is rather too wide. A group
that was not seen has the mean sizes of effects for e.

G groups show the sizes of effects only so well. The part of a deviation that its group's own rows
leave to the sizes, :math:`r = \min(e / \text{size}, 1)^2`, is therefore longer as in Student's law:
e is multiplied by :math:`1 + r (t / 1.96 - 1)`, t of G degrees of freedom: the map of all rows
takes one, and the prior of the sizes counts as one group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._numerics.logistic import expit, log_odds_of_tails, logit
from ogive._numerics.mean_interval import HALF_WIDTH_95, TAIL
from ogive.calibrators.group_summary import GroupSummary
from ogive.calibrators.maps import Fitted, bad_log_odds
from ogive.calibrators.spline_map import BAND, LIMIT, SplineMap
from ogive.errors import DoesNotApply, InvalidInput, InvalidType
from ogive.rows.check import as_floats, bad_scores, check_length, is_missing, on_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray
    from ogive.calibrators.maps import Band

EFFECTS = 3  # shift, slope, bend
#: Between the values of several columns in the name of a group, and what stands for any value.
JOIN, ANY = " | ", "*"
NO_GROUP = "(none)"  # the group of rows without a value in that column


def group_name(value: Any) -> str:  # noqa: ANN401 - any scalar
    """Return the name of the group that a value stands for; None, NaN and "" stand for none.

    >>> group_name("BR"), group_name(7), group_name(float("nan"))
    ('BR', '7', '(none)')
    """
    return NO_GROUP if is_missing(value) or value == "" else str(value)


def value_columns(groups: Sequence[Any] | ArrayLike) -> list[AnyArray]:
    """Return the columns of groups, (N,) each: one of N values, k of N rows of k values.

    Values may be missing, so that they are not read as numbers are.
    """
    if isinstance(groups, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(groups)
        groups = groups.data.astype(object)
        groups[masked] = None
    listed = isinstance(groups, list | tuple)
    array = np.asarray(on_host(groups), dtype=object if listed else None)
    ragged = array.ndim == 1 and any(isinstance(x, list | tuple) for x in array[:1])
    if array.ndim not in {1, 2} or ragged:
        msg = "`groups` must be one value per row, or as many values in each row as columns."
        raise InvalidInput(msg)
    return [array] if array.ndim == 1 else list(array.T)


def distinct_names(column: AnyArray) -> tuple[list[str], IntArray]:
    """Return the names of the groups of a column, and the place of each row's, (N,).

    Values are read as text; None, NaN and empty text are the group of rows without a value.

    >>> distinct_names(np.array(["US", None, "US", ""], dtype=object))
    (['US', '(none)', '(none)'], array([0, 1, 0, 2]))
    """
    if column.dtype.kind != "O":
        values, index = np.unique(column, return_inverse=True)
        return [group_name(value) for value in values.tolist()], index
    place: dict[Any, int] = {}
    try:
        index = np.array([place.setdefault(value, len(place)) for value in column.tolist()])
    except TypeError as error:
        msg = f"`groups` must be text or numbers: {error}."
        raise InvalidType(msg) from error
    return [group_name(value) for value in place], index.astype(np.int64)


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


class GroupTable(NamedTuple):
    """The effects as they are looked up, by the place of each value among those of its column.

    values : the values of each column
    main : of each column (m, 3), what its values have by themselves
    steps : for each column after the first, the combinations seen of the columns up to it, as
        rising numbers: (place of the combination before it) · m + (place of the value)
    effect : (cells, 3), of the combinations of the last step
    """

    values: list[list[str]]
    main: list[FloatArray]
    steps: list[IntArray]
    effect: FloatArray

    def effects(self, codes: IntArray) -> FloatArray:
        """Return shift, slope and bend of rows of places (N, k), −1 for a value not seen; (N, 3).

        A combination that was not seen has the sum of what its values have by themselves.
        """
        nothing = np.zeros((1, EFFECTS))
        total = sum(
            np.concatenate([m, nothing])[c] for m, c in zip(self.main, codes.T, strict=True)
        )
        cell, found = codes[:, 0], np.asarray(total)
        for keys, values, code in zip(self.steps, self.values[1:], codes.T[1:], strict=True):
            key = np.where((cell >= 0) & (code >= 0), cell * len(values) + code, -1)
            at = np.minimum(np.searchsorted(keys, key), keys.size - 1)
            cell = np.where(keys[at] == key, at, -1)
        if self.steps:
            seen = cell >= 0
            found[seen] = self.effect[cell[seen]]
        return found

    @classmethod
    def of(cls, rows: list[list[str]], effect: FloatArray) -> GroupTable:
        """Return the table of names, split by columns; those with only one value are main."""
        width = len(rows[0])
        if width == 1:
            none: list[IntArray] = []
            return cls([[name for (name,) in rows]], [effect], none, np.zeros((0, EFFECTS)))
        values = [sorted({row[c] for row in rows} - {ANY}) for c in range(width)]
        places = [{value: i for i, value in enumerate(column)} for column in values]
        main = [np.zeros((len(column), EFFECTS)) for column in values]
        cells: list[int] = []
        for i, row in enumerate(rows):
            own = [c for c in range(width) if row[c] != ANY]
            if len(own) == 1:
                main[own[0]][places[own[0]][row[own[0]]]] = effect[i]
            elif len(own) == width:
                cells.append(i)
        codes = np.array([[p[v] for p, v in zip(places, rows[i], strict=True)] for i in cells])
        codes = codes.reshape(-1, width).astype(np.int64)
        cell, steps = codes[:, 0], []
        for c in range(1, width):
            keys, cell = np.unique(cell * len(values[c]) + codes[:, c], return_inverse=True)
            steps.append(keys)
        inner = np.zeros((steps[-1].size, EFFECTS))
        inner[cell] = effect[cells]
        return cls(values, main, steps, inner)


def _log_odds(q: FloatArray) -> FloatArray:
    eta: FloatArray = np.clip(logit(q), -LIMIT, LIMIT)
    return eta


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
    instead_of_a_band = (
        "the ends of a band of groups are no calibrators, and cannot be exported. Use `apply "
        "--band` or `band`, or fit the method 'spline' to the rows of a group"
    )

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
        s = self._checked(scores)
        return self.from_tails(s > 0.5, np.minimum(s, 1.0 - s), groups)  # noqa: PLR2004

    @staticmethod
    def _checked(scores: ArrayLike) -> FloatArray:
        s = as_floats(np.atleast_1d(scores), "scores", ndim=(1,), empty=True)
        s = s.astype(np.float64, copy=False)
        if not ((s >= 0.0) & (s <= 1.0)).all():
            raise bad_scores(s)
        return s

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
        eta = np.clip(log_odds_of_tails(high, tail), self.overall.lowest, self.overall.highest)
        L = self.overall.log_odds_at(eta)
        L[high & (tail == 0.0)] = self.log_odds_at_one
        return self._moved(L, groups)

    def _moved(self, L: FloatArray, groups: Sequence[Any] | ArrayLike) -> FloatArray:
        """Return the probability of calibrated log-odds (N,), moved as their groups ask."""
        codes = self.codes(groups)
        check_length(codes[:, 0], "groups", L.size, "scores")
        effects = self.table.effects(codes)
        L = np.clip(L, -LIMIT, LIMIT)
        seen = (effects != 0.0).any(axis=1)
        L[seen] += np.einsum("dm,md->m", self.axis.columns(L[seen]), effects[seen])
        return expit(np.clip(L, -LIMIT, LIMIT))

    def band(self, scores: ArrayLike, groups: Sequence[Any] | ArrayLike) -> Band:
        """Return the ends of the 95 % interval at scores in [0, 1], (N,) each, given their groups.

        It is pointwise, and rather too wide for a group that has many of the rows.
        """
        s = self._checked(scores)
        return self.band_from_tails(s > 0.5, np.minimum(s, 1.0 - s), groups)  # noqa: PLR2004

    def band_from_tails(
        self, high: BoolArray, tail: FloatArray, groups: Sequence[Any] | ArrayLike
    ) -> Band:
        """Return the ends of the 95 % interval of scores given as side and tail, (N,) each."""
        codes = self.codes(groups)
        check_length(codes[:, 0], "groups", tail.size, "scores")
        effects, errors = self.table.effects(codes), self._errors.effects(codes)
        errors[codes.min(axis=1) < 0] = self._few_groups * self.size  # a value that was not seen
        maps = (self.overall, *self.overall.band_ends())
        common = [_log_odds(gamma.from_tails(high, tail)) for gamma in maps]
        columns = [self.axis.columns(L) for L in common]
        middle, low, top = (
            L + np.einsum("dm,md->m", c, effects) for L, c in zip(common, columns, strict=True)
        )
        own = BAND * np.einsum("dm,md->m", np.abs(columns[0]), errors)
        below, above = (np.hypot(np.maximum(x, 0.0), own) for x in (middle - low, top - middle))
        return expit(middle - below), expit(middle + above)

    def check_band(self, *, simultaneous: bool = False) -> None:
        """Refuse simultaneous intervals: those of groups are pointwise."""
        if simultaneous:
            msg = "calibrators of groups have pointwise intervals alone: leave `simultaneous` out."
            raise DoesNotApply(msg)

    @cached_property
    def _errors(self) -> GroupTable:
        """The deviations of the effects, longer for few groups; looked up as the effects are."""
        rows = [name.split(JOIN) if self.width > 1 else [name] for name in self.groups]
        size = np.maximum(self.size, np.finfo(float).tiny)
        left = np.minimum(self.error / size, 1.0) ** 2
        return GroupTable.of(rows, self.error * (1.0 + left * (self._few_groups - 1.0)))

    @property
    def _few_groups(self) -> float:
        """How much longer deviations are whose size the groups have taught alone."""
        from scipy.special import stdtrit  # noqa: PLC0415 - heavy, and only bands need it

        return float(stdtrit(len(self.groups), 1.0 - TAIL)) / HALF_WIDTH_95

    @property
    def log_odds_at_one(self) -> float:
        """The log-odds of a score of exactly 1, before a group moves them."""
        return float(np.clip(logit(self.overall.at_one), -LIMIT, LIMIT))

    @cached_property
    def width(self) -> int:
        """The number of columns that name a group: more than 1 if there are main effects."""
        sizes = {name.count(JOIN) for name in self.groups}
        crossed = len(sizes) == 1 and any(ANY in name.split(JOIN) for name in self.groups)
        return sizes.pop() + 1 if crossed else 1

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of groups: those of `by`, or group, group_2, ..."""
        names = (self.by or "",) if self.width == 1 else tuple((self.by or "").split(","))
        names = tuple(name.strip() for name in names)
        if len(names) == self.width and all(names):
            return names
        return tuple("group" if c == 0 else f"group_{c + 1}" for c in range(self.width))

    @cached_property
    def table(self) -> GroupTable:
        """The effects by value and combination."""
        rows = [name.split(JOIN) if self.width > 1 else [name] for name in self.groups]
        return GroupTable.of(rows, self.effect)

    def cells(self) -> list[tuple[str, ...]]:
        """Return the values of each combination in ``table.effect``; none of one column."""
        table = self.table
        rows: list[tuple[str, ...]] = [(value,) for value in table.values[0]]
        for keys, values in zip(table.steps, table.values[1:], strict=True):
            rows = [(*rows[key // len(values)], values[key % len(values)]) for key in keys.tolist()]
        return rows if table.steps else []

    def codes(self, groups: Sequence[Any] | ArrayLike) -> IntArray:
        """Return the place of each value in ``table.values``, (N, columns); −1 if it is not there.

        Rows of several columns may also be named in one text, such as ``"BR | mobile"``.
        """
        found = [distinct_names(column) for column in self._chosen(groups)]
        if len(found) == 1 < self.width:
            names, index = found[0]
            split = [name.split(JOIN) for name in names]
            rows = [row if len(row) == self.width else [ANY] * self.width for row in split]
            found = [([row[c] for row in rows], index) for c in range(self.width)]
        if len(found) != self.width:
            msg = f"`groups` must have {self.width} columns ({self.by}), not {len(found)}."
            raise InvalidInput(msg)
        codes = [
            np.array([place.get(name, -1) for name in names], dtype=np.int64)[index]
            for place, (names, index) in zip(self._places, found, strict=True)
        ]
        return np.stack(codes, axis=1)

    def _chosen(self, groups: Any) -> list[AnyArray]:  # noqa: ANN401 - rows, or a table of columns
        """Return the columns of groups: of a table that has them, those of the fit by name."""
        names = groups if isinstance(groups, Mapping) else getattr(groups, "columns", ())
        missing = [name for name in self.columns if name not in names]
        if missing and isinstance(groups, Mapping):
            msg = f"`groups` has no column {missing[0]!r}, but the calibrator was fitted with it."
            raise InvalidInput(msg)
        if missing:
            return value_columns(groups)
        return [value_columns(groups[name])[0] for name in self.columns]

    @cached_property
    def _places(self) -> list[dict[str, int]]:
        return [{v: i for i, v in enumerate(values)} for values in self.table.values]

    def summary(self) -> GroupSummary:
        """Tell how much the groups differ, and which differ most."""
        cells = [i for i, name in enumerate(self.groups) if ANY not in name.split(JOIN)]
        kept = cells if self.width > 1 else list(range(len(self.groups)))
        return GroupSummary.of(self, kept)

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
