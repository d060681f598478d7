"""Fitted maps: frozen plain numbers that turn scores into probabilities.

A map is evaluated by side and tail, like the keys of a curve, so that it takes scores and
log-odds alike and log-odds do not saturate. A score of exactly 1.0 stands for every row whose
score rounds to 1, so its probability is the mean over those rows of the fit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np

from ogive._html import square, table
from ogive._numerics.blocks import for_each_block
from ogive._numerics.logistic import HALF, ONE, ZERO
from ogive.errors import DoesNotApply, InvalidInput, rows_that
from ogive.rows.check import as_floats, bad_scores
from ogive.rows.views import score_rows

if TYPE_CHECKING:
    from ogive._typing import AnyArray, ArrayLike, BoolArray, FloatArray
    from ogive.rows.predictions import Predictions

Band: TypeAlias = "tuple[FloatArray, FloatArray]"  # the low and the high ends

_ANY_SHAPE = tuple(range(1, 9))
_BLOCKS_AT_ONCE = 4  # with shorter pieces of work, threads wait for each other


def plain_fields(fitted: Any) -> dict[str, Any]:  # noqa: ANN401 - a dataclass
    """Return the fields of a dataclass, its arrays as lists."""
    values = {field.name: getattr(fitted, field.name) for field in fields(fitted)}
    arrays = {name: x.tolist() for name, x in values.items() if isinstance(x, np.ndarray)}
    return values | arrays


def with_arrays(values: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with arrays in place of lists."""
    arrays = {
        name: np.array(x, dtype=np.float64) for name, x in values.items() if isinstance(x, list)
    }
    return values | arrays


def last_of(places: list[float], count: int) -> BoolArray:
    """Return a mask of the last `count` places: those above ½."""
    return np.arange(len(places)) >= len(places) - count


@dataclass(frozen=True, eq=False, kw_only=True)
class Fitted(ABC):
    """The base of every fitted calibrator: plain numbers, and what they were fitted on.

    Immutable, picklable, and safe to share between threads.

    Attributes
    ----------
    view : str
        The view it was fitted to, or ``"vector"`` for whole vectors.
    n : float
        How many rows it was fitted to.
    """

    method: ClassVar[str]
    instead_of_a_band: ClassVar[str] = "fit the method 'spline', or 'venn-abers'"

    view: str
    n: float

    @property
    def words(self) -> str:
        """The method with the options that differ from the usual, as `method=` takes them."""
        return self.method

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return plain_fields(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild from `to_dict`."""
        return cls(**with_arrays(values))

    def with_base_rate(
        self,
        base_rate: ArrayLike | None = None,
        *,
        trained_at: ArrayLike | None = None,
        kept_negatives: float | None = None,
        date: str | None = None,
    ) -> Any:  # noqa: ANN401 - a ShiftedMap or a ShiftedVectorMap
        """Return the calibrator for data with another base rate.

        It is right where the scores within each class are distributed as before.

        Parameters
        ----------
        base_rate : float, or (K,) array-like
            The share of class 1 in the new data, or that of every class.
        trained_at : float, or (K,) array-like
            The base rate of the rows that the calibrator was fitted on, or that of every class.
            It is needed, except after a shift: then the default is the base rate of that.
        kept_negatives : float, optional
            Instead of `base_rate`: the share of the rows of class 0 that were kept for the fit, if
            all rows of class 1 were.
        date : str, optional
            Kept in the artifact as it is given.

        Examples
        --------
        >>> from ogive import Curve, fit_platt
        >>> gamma = fit_platt(Curve.from_scores([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]))
        >>> gamma.with_base_rate(0.003, trained_at=0.5)(0.5).round(6)
        np.float64(0.003)
        """
        from ogive.calibrators.shifted import shifted  # noqa: PLC0415 - it reads this file

        return shifted(
            self, base_rate, trained_at=trained_at, kept_negatives=kept_negatives, date=date
        )

    def band_ends(self, *, simultaneous: bool = False) -> tuple[Any, Any]:  # noqa: ARG002
        """Return the lower and the upper end of the 95 % band, as calibrators.

        Parameters
        ----------
        simultaneous : bool
            Whether the band holds the whole curve in 95 of 100 samples; by default it holds each
            place by itself.
        """
        msg = f"{self.method!r} has no band: {self.instead_of_a_band}."
        raise DoesNotApply(msg)

    def check_band(self, *, simultaneous: bool = False) -> None:
        """Refuse to give intervals where the calibrator has none."""
        self.band_ends(simultaneous=simultaneous)

    def __eq__(self, other: object) -> bool:
        """Two are equal if all their numbers are."""
        if type(other) is not type(self):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(view={self.view!r}, n={self.n:,})"

    def _repr_html_(self) -> str:
        return table(f"{self.method} of {self.view}", {"fitted on": f"{self.n:,.10g} rows"})


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Map(Fitted):
    """A fitted calibration map of one score: call it on scores, or use `from_log_odds`."""

    def __call__(self, scores: ArrayLike) -> FloatArray:
        """Return the calibrated probability of each score in [0, 1]: float64, of the same shape."""
        array = as_floats(np.atleast_1d(scores), "scores", ndim=_ANY_SHAPE, empty=True)
        flat = array.reshape(-1)
        result = np.empty(flat.size)

        def work(at: slice) -> None:
            s = flat[at].astype(np.float64, copy=False)
            least, most = s.min(), s.max()
            if not (least >= ZERO and most <= ONE):  # NaN is neither
                raise bad_scores(flat)
            result[at] = self._of_scores(s, certain=bool(least == ZERO or most == ONE))

        for_each_block(work, flat.size, together=_BLOCKS_AT_ONCE)
        return result.reshape(array.shape) if np.ndim(scores) else result[0]

    def from_log_odds(self, log_odds: ArrayLike) -> FloatArray:
        """Return the calibrated probability of each log-odds log(p / (1 − p)); ±inf are allowed."""
        array = as_floats(np.atleast_1d(log_odds), "log_odds", ndim=_ANY_SHAPE, empty=True)
        flat = array.reshape(-1)
        result = np.empty(flat.size)

        def work(at: slice) -> None:
            eta = flat[at].astype(np.float64, copy=False)
            if np.isnan(eta).any():
                raise bad_log_odds(flat)
            result[at] = self._of_log_odds_block(eta)

        for_each_block(work, flat.size, together=_BLOCKS_AT_ONCE)
        return result.reshape(array.shape) if np.ndim(log_odds) else result[0]

    def from_tails(self, high: BoolArray, tail: FloatArray) -> FloatArray:
        """Return the calibrated probability of scores given as side and tail, as a view has them.

        The arrays are not checked: each tail is min(score, 1 − score).
        """
        sides, tails = high.reshape(-1), tail.reshape(-1)
        result = np.empty(tails.size)

        def work(at: slice) -> None:
            result[at] = self._of_tails(sides[at], tails[at])

        for_each_block(work, tails.size, together=_BLOCKS_AT_ONCE)
        return result.reshape(tail.shape)

    def band(self, scores: ArrayLike, *, simultaneous: bool = False) -> Band:
        """Return the ends of the 95 % band at scores in [0, 1], each of their shape.

        At each score, the true probability lies in the band in about 95 of 100 samples; with
        `simultaneous` it does so at all scores that were seen at once. See `band_ends`.
        """
        low, high = self.band_ends(simultaneous=simultaneous)
        return low(scores), high(scores)

    def band_from_log_odds(self, log_odds: ArrayLike, *, simultaneous: bool = False) -> Band:
        """Return the ends of the 95 % band at log-odds, each of their shape."""
        low, high = self.band_ends(simultaneous=simultaneous)
        return low.from_log_odds(log_odds), high.from_log_odds(log_odds)

    def interval(self, preds: Predictions, *, simultaneous: bool = False) -> Band:
        """Return the ends of the 95 % band at the scores of predictions, (N,) each."""
        rows = score_rows(preds, self.view)
        low, high = self.band_ends(simultaneous=simultaneous)
        return low.from_tails(rows.high, rows.tail), high.from_tails(rows.high, rows.tail)

    def _of_scores(self, s: FloatArray, *, certain: bool) -> FloatArray:  # noqa: ARG002
        """Return the probability of a block of scores, (m,); `certain`: some are exactly 0 or 1."""
        return self._of_tails(s > HALF, np.minimum(s, ONE - s))

    def _of_tails(self, high: BoolArray, tail: FloatArray) -> FloatArray:
        """Return the probability of a block of scores given as side and tail, (m,)."""
        result, certain = self._evaluate(high, tail), tail == ZERO
        return self._at_one(result, high & certain) if np.count_nonzero(certain) else result

    def _of_log_odds_block(self, eta: FloatArray) -> FloatArray:
        """Return the probability of a block of log-odds, (m,)."""
        odds = np.exp(-np.abs(eta))
        return self._of_tails(eta > 0, odds / (1.0 + odds))

    def _at_one(self, result: FloatArray, certain: BoolArray) -> FloatArray:  # noqa: ARG002
        """Correct the result where the score is exactly 1; nothing to do unless overridden."""
        return result

    @abstractmethod
    def _evaluate(self, high: BoolArray, tail: FloatArray) -> FloatArray:
        """Return the probability of checked rows, a fresh array."""

    def _repr_html_(self) -> str:
        scores = np.linspace(0.0, 1.0, 101)
        picture = square(scores, self(scores), f"Probability against score, by {self.method}")
        rows = {"fitted on": f"{self.n:,.10g} rows"}
        rows |= {f"{s:g} becomes": f"{float(self([s])[0]):.4f}" for s in (0.1, 0.5, 0.9)}
        return table(f"{self.method} of {self.view}", rows, picture=picture)


def bad_log_odds(log_odds: AnyArray) -> InvalidInput:
    """Return the error for log-odds, (m,), that are NaN."""
    bad = np.isnan(log_odds)
    return InvalidInput(f"`log_odds` must not be NaN: {rows_that(bad)}. Drop those rows.")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PiecewiseMap(Map):
    """A map given by nodes: straight between them, constant beyond the ends, then cut to [0, 1].

    Attributes
    ----------
    high, tail : (m,) arrays
        The nodes' scores as side and tail, rising in score.
    value : (m,) array
        What the fit gives at each node. It may leave [0, 1]: the cut comes after interpolation,
        so that a kink at 0 or 1 lies where the fit crosses it, not at the next node.
    at_one : float or None
        The probability of a score of exactly 1.0, where rows of the fit rounded to it.
    thinning_error : float
        No row of the fit was moved by more than this by leaving out nodes.
    """

    high: BoolArray
    tail: FloatArray
    value: FloatArray
    at_one: float | None = None
    thinning_error: float = 0.0

    @cached_property
    def _sides(self) -> tuple[tuple[FloatArray, FloatArray], ...]:
        """The nodes of the low and of the high side, by rising tail, both with a node at ½."""
        low, high = ~self.high, self.high
        middle = np.interp(0.5, np.where(high, 1.0 - self.tail, self.tail), self.value)
        tail, value = self.tail[low], self.value[low]
        high_tail, high_value = self.tail[high][::-1], self.value[high][::-1]
        return (
            (np.append(tail, 0.5), np.append(value, middle)),
            (np.append(high_tail, 0.5), np.append(high_value, middle)),
        )

    def _evaluate(self, high: BoolArray, tail: FloatArray) -> FloatArray:
        result = _interpolated(tail, *self._sides[0])
        if high.any():
            result[high] = _interpolated(tail[high], *self._sides[1], falling=True)
        return np.clip(result, 0.0, 1.0, out=result)

    def _at_one(self, result: FloatArray, certain: BoolArray) -> FloatArray:
        if self.at_one is not None:
            result[certain] = self.at_one
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return super().to_dict() | {"high": int(self.high.sum())}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild a map from `to_dict`."""
        return super().from_dict(values | {"high": last_of(values["tail"], values["high"])})


def _interpolated(
    at: FloatArray, nodes: FloatArray, values: FloatArray, *, falling: bool = False
) -> FloatArray:
    """Return `np.interp`; between nodes so near that their slope overflows, a jump.

    There the value is that of the node with the lower score: as `falling` nodes are tails of high
    scores, that is the node above.
    """
    result: FloatArray = np.interp(at, nodes, values)
    if not np.isfinite(result.sum()):  # in one pass, and none is so large that the sum overflows
        steep = ~np.isfinite(result)
        above = np.searchsorted(nodes, at[steep], side="left" if falling else "right")
        result[steep] = values[above if falling else above - 1]
    return result
