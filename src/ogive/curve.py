r"""The cumulative curve: what every metric and every calibrator starts from.

Let :math:`s_1 < \dots < s_m` be the distinct scores, :math:`n_j` the number of rows with score
:math:`s_j` and :math:`k_j` how many of them were hits. With :math:`N = \sum_j n_j` the *gap*
after the j-th score (the paper's :math:`h_i - \tilde h_i` at the end of a group of equal
scores) is

.. math:: D_j = \frac{1}{N} \sum_{i \le j} (k_i - n_i s_i).

Sorting, ties, weights and merging are settled here and nowhere else.

How a row is stored is told in `ogive._keys`.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ogive._groups import (
    Groups,
    Place,
    distinct,
    frozen,
    groups_of_keys,
    groups_of_weighted,
    joined,
)
from ogive._html import curve_form
from ogive._keys import (
    EVEN,
    HIGH,
    ONE,
    ROUNDS_TO_ONE,
    Run,
    pack,
    place_of_certain,
    runs_of_keys,
    tail_of,
)
from ogive._numerics.blocks import blocks, for_each_block
from ogive._validate import as_floats, as_hits, as_weight_kind, as_weights, bad_scores
from ogive.errors import InvalidInput, InvalidType
from ogive.predictions import Predictions
from ogive.views import View, check_view, score_block

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import ArrayLike, BoolArray, FloatArray, KeyArray, WeightKind


class Curve:
    """Distinct scores, with how often each was given and how often it came true.

    Build it with `from_scores` or `from_predictions`; join two with `merge`. A curve is
    immutable, and nothing in it depends on the order of the rows it was built from.

    It holds either the sorted keys of single rows, or grouped rows (once there were weights).
    Everything else is derived on first use and then kept; `runs` gives the rows piece by piece
    without keeping anything.

    Attributes
    ----------
    view : str
        The name of the view the scores are of.
    n : int or float
        N, the number of rows: the sum of the weights (an int if it is whole).
    total_hits : float
        How many of them were hits.
    score : (m,) array
        The distinct scores, rising; equal neighbours only where two tails round to one score.
    tail, high : (m,) arrays
        min(score, 1 − score), and whether the score exceeds ½: the score without rounding.
    log_odds : (m,) array
        log(p / (1 − p)) from the tail; always finite, see `log_odds`.
    count, hits : (m,) arrays
        Rows and hits at each score.
    square, square_hits : (m,) arrays
        Sums of squared weights of rows and hits: equal to `count` and `hits`, except for
        sampling weights.
    fractile : (m,) array
        The share of rows with this score or a smaller one: 1 at the end.
    gap : (m,) array
        D of the module's docstring.

    Examples
    --------
    >>> curve = Curve.from_scores([0.9, 0.2, 0.9, 0.6], [1, 0, 0, 1])
    >>> curve.score, curve.count, curve.hits
    (array([0.2, 0.6, 0.9]), array([1., 1., 2.]), array([0., 1., 1.]))
    >>> curve.gap.round(3)
    array([-0.05,  0.05, -0.15])
    """

    def __init__(
        self, *, keys: KeyArray | None = None, groups: Groups | None = None, view: str
    ) -> None:
        """Wrap sorted keys or grouped rows that are known to be right (private use)."""
        self.view = view
        self._keys = keys
        self._grouped = groups

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        hits: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        weight_kind: WeightKind = "repetition",
        view: str = "score",
    ) -> Curve:
        """Build the curve of N forecasts in [0, 1] and their outcomes, 0 or 1.

        Parameters
        ----------
        scores, hits : array-like, (N,)
        weights : array-like, (N,), optional
        weight_kind : {"repetition", "sampling"}
            See `Predictions`.
        view : str
            What the scores are, if they are not the probability of a binary event.
        """
        s = as_floats(scores, "scores", ndim=(1,))
        hit = as_hits(hits, s.size)
        keys = np.empty(s.size, dtype=np.uint64)
        for at in blocks(s.size):
            block = s[at].astype(np.float64, copy=False)
            tail = np.minimum(block, 1.0 - block)  # exact: 1 − s is, from ½ up
            if not tail.min() >= 0.0:  # negative outside [0, 1], NaN for NaN
                raise bad_scores(s)
            pack(tail, block > 0.5, hit[at], keys[at])  # noqa: PLR2004
        w = as_weights(weights, s.size, of="scores")
        return cls._from_keys(keys, w, as_weight_kind(weight_kind), view)

    @classmethod
    def from_predictions(
        cls, preds: Predictions, view: str | View | None = None, *, threads: int | None = None
    ) -> Curve:
        """Build the curve of a view of labelled predictions.

        Parameters
        ----------
        preds : Predictions
        view : str or view
            ``"top-r"``, ``"within-top-r"``, ``"class-k"`` (k from 0) or ``"score"``. Default:
            ``"top-1"``, or ``"score"`` for one-column predictions.
        threads : int, optional
        """
        if not isinstance(preds, Predictions):
            msg = (
                f"`preds` must be Predictions, not {type(preds).__name__}; "
                "for 1-D arrays use Curve.from_scores."
            )
            raise InvalidType(msg)
        chosen = check_view(view, preds)
        if preds.labels is None:
            msg = "`preds` has no labels, and a curve needs to know what came true. Give labels."
            raise InvalidInput(msg)
        keys = np.empty(preds.n, dtype=np.uint64)

        def pack_block(at: slice) -> None:
            rows = score_block(preds, chosen, at)
            assert rows.hit is not None  # noqa: S101 - there are labels
            pack(rows.tail, rows.high, rows.hit, keys[at])

        one = 1 if preds.one_column else None  # too little work per row to share
        for_each_block(pack_block, preds.n, width=preds.width, threads=one or threads)
        return cls._from_keys(keys, preds.weights, preds.weight_kind, chosen.name)

    @classmethod
    def _from_keys(
        cls, keys: KeyArray, weights: FloatArray | None, kind: WeightKind, view: str
    ) -> Curve:
        """Sort fresh keys in place, or group them if they carry weights."""
        if weights is None:
            keys.sort()
            return cls(keys=keys, view=view)
        return cls(groups=groups_of_weighted(keys, weights, kind), view=view)

    def merge(self, other: Curve) -> Curve:
        """Return the curve of both samples together.

        Exact, associative and commutative: shards may be merged in any order. (With fractional
        weights the sums agree to rounding.)

        >>> a = Curve.from_scores([0.9, 0.2], [1, 0])
        >>> b = Curve.from_scores([0.9], [0])
        >>> a.merge(b) == Curve.from_scores([0.9, 0.2, 0.9], [1, 0, 0])
        True
        """
        if not isinstance(other, Curve):
            msg = f"`other` must be a Curve, not {type(other).__name__}."
            raise InvalidType(msg)
        if self.view != other.view:
            msg = f"curves of different views do not add up: {self.view!r} and {other.view!r}."
            raise InvalidInput(msg)
        if self._keys is not None and other._keys is not None:
            keys = np.concatenate([self._keys, other._keys])
            keys.sort()
            return Curve(keys=keys, view=self.view)
        return Curve(groups=joined(self._groups, other._groups), view=self.view)

    def runs(self) -> Iterator[Run]:
        """Yield all rows in order of score, in pieces that fit the cache."""
        if self._keys is not None:
            yield from runs_of_keys(self._keys)
            return
        cell, sums = self._groups.cell, self._groups.sums
        middle = int(np.searchsorted(cell, HIGH))
        for high, first, last in ((False, 0, middle), (True, middle, cell.size)):
            for at in blocks(last, start=first):
                yield Run(high, tail_of(cell[at], high), *(column[at] for column in sums))

    def everywhere(self) -> Place:
        """Return all rows, in order of score."""
        before = np.concatenate([[0.0], self.fractile[:-1]])
        return Place(self.high, self.tail, before, self.fractile)

    def at_fractiles(self, fractiles: FloatArray) -> Place:
        """Return the distinct rows that hold the given rising fractiles, in order of score."""
        if self._keys is not None:
            last = self._keys.size - 1
            index = np.clip(np.ceil(fractiles * self._keys.size) - 1, 0, last).astype(np.intp)
            cell = distinct(self._keys[index] & EVEN)
            before = np.searchsorted(self._keys, cell) / self.n
            after = np.searchsorted(self._keys, cell | ONE, side="right") / self.n
        else:
            found = np.searchsorted(self.fractile, fractiles)
            index = distinct(np.minimum(found, self.fractile.size - 1))
            cell = self._groups.cell[index]
            after = self.fractile[index]
            before = np.where(index > 0, self.fractile[index - 1], 0.0)
        high = cell >= HIGH
        return Place(high, np.where(high, tail_of(cell, True), tail_of(cell, False)), before, after)

    def share_below_one(self) -> float:
        """Return the share of rows whose score does not round to 1.0 in float64."""
        first = ~(np.float64(ROUNDS_TO_ONE).view(np.uint64) << ONE | ONE)
        if self._keys is not None:
            return int(np.searchsorted(self._keys, first)) / self._keys.size
        index = int(np.searchsorted(self._groups.cell, first))
        return float(self.fractile[index - 1]) if index else 0.0

    @property
    def n(self) -> float:
        """N: the number of rows, or the sum of their weights."""
        if self._keys is not None:
            return self._keys.size
        total = float(self._groups.count.sum())
        return int(total) if total.is_integer() else total

    @property
    def effective_n(self) -> float:
        """How many unweighted rows they are worth: N, or Kish's number for sampling weights."""
        return self.n if self._keys is not None else self.n**2 / float(self.square.sum())

    @cached_property
    def total_hits(self) -> float:
        """The number of hits, or the sum of their weights."""
        if self._keys is not None:
            return float(sum(int((self._keys[at] & ONE).sum()) for at in blocks(self._keys.size)))
        return float(self._groups.hits.sum())

    @cached_property
    def _groups(self) -> Groups:
        if self._grouped is not None:
            return self._grouped
        assert self._keys is not None  # noqa: S101 - the other kind of curve
        return groups_of_keys(self._keys)

    @cached_property
    def high(self) -> BoolArray:
        """Whether the score exceeds ½, (m,)."""
        return frozen(self._groups.cell >= HIGH)

    @cached_property
    def tail(self) -> FloatArray:
        """min(score, 1 − score), (m,)."""
        cell = self._groups.cell
        return frozen(np.where(self.high, tail_of(cell, True), tail_of(cell, False)))

    @cached_property
    def score(self) -> FloatArray:
        """The distinct scores, (m,), rising."""
        return frozen(np.where(self.high, 1.0 - self.tail, self.tail))

    @cached_property
    def log_odds(self) -> FloatArray:
        """log(p / (1 − p)) of each row, (m,), rising and always finite.

        A score of exactly 1 is placed at half the smallest positive tail of its side (of the
        other side, or at 1 / (2N + 2), if there is none), and a score of exactly 0 likewise.
        """
        places = np.where(self.high, self.placed_tail(True), self.placed_tail(False))
        tail = np.maximum(self.tail, places)  # only a tail of 0 is below
        odds = np.log(tail) - np.log1p(-tail)
        return frozen(np.where(self.high, -odds, odds))

    def placed_tail(self, high: bool) -> float:
        """Return the tail at which a score of exactly 1 (`high`) or 0 is placed in log-odds."""
        if self._keys is not None:
            return place_of_certain(self._keys, high, self.n)
        return place_of_certain(self._groups.cell, high, self.effective_n)

    @property
    def count(self) -> FloatArray:
        """Rows at each score, (m,)."""
        return self._groups.count

    @property
    def hits(self) -> FloatArray:
        """Hits at each score, (m,)."""
        return self._groups.hits

    @property
    def square(self) -> FloatArray:
        """Sum of squared weights at each score, (m,); `count` unless the weights are sampling."""
        return self._groups.square

    @property
    def square_hits(self) -> FloatArray:
        """Sum of squared weights of the hits, (m,); `hits` unless the weights are sampling."""
        return self._groups.square_hits

    @cached_property
    def fractile(self) -> FloatArray:
        """The share of rows up to and with each score, (m,)."""
        total = np.cumsum(self._groups.count)
        return frozen(total / total[-1])

    @cached_property
    def gap(self) -> FloatArray:
        """Cumulative hits minus cumulative score, divided by N, (m,)."""
        steps = np.concatenate([run.surplus for run in self.runs()])
        return frozen(np.cumsum(steps) / self.n)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Curve):
            return NotImplemented
        a, b = self._groups, other._groups
        pairs = zip((a.cell, *a.sums), (b.cell, *b.sums), strict=True)
        return self.view == other.view and all(np.array_equal(x, y) for x, y in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Curve(view={self.view!r}, n={self.n:,}, hits={self.total_hits:,.6g})"

    _repr_html_ = curve_form


def check_curve(curve: object) -> Curve:
    """Return the curve, or say how to build one."""
    if not isinstance(curve, Curve):
        msg = (
            f"`curve` must be a Curve, not {type(curve).__name__}; "
            "build it with Curve.from_scores(scores, hits)."
        )
        raise InvalidType(msg)
    return curve
