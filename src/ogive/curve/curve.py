r"""The cumulative curve: the input of every metric and every calibrator.

Let :math:`s_1 < \dots < s_m` be the distinct scores, :math:`n_j` the number of rows with score
:math:`s_j` and :math:`k_j` how many have outcome 1. With :math:`N = \sum_j n_j` the *gap*
after the j-th score (the paper's :math:`h_i - \tilde h_i` at the end of a group of equal
scores) is

.. math:: D_j = \frac{1}{N} \sum_{i \le j} (k_i - n_i s_i).

Sorting, ties, weights and merging are handled here and nowhere else.

`ogive.curve.keys` explains how a row is stored.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._html import curve_form
from ogive._numerics.blocks import blocks
from ogive._numerics.sorting import sort_in_place
from ogive.curve.clusters import clusters_of
from ogive.curve.columns import Derived
from ogive.curve.keys import HIGH, Run, runs_of_keys, tail_of
from ogive.curve.packing import keys_of_scores, keys_of_view
from ogive.curve.spans import spans_of
from ogive.curve.summary import BITS, MANTISSA, added, check_bits, summarise, summary_of_groups
from ogive.curve.ties import Groups, frozen, groups_of_keys, groups_of_weighted, joined
from ogive.errors import InvalidInput, InvalidType
from ogive.rows.check import as_clusters, as_floats, as_hits, as_weight_kind, as_weights
from ogive.rows.frames import check_index
from ogive.rows.predictions import Predictions, labelled
from ogive.rows.views import View, check_view

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ogive._typing import ArrayLike, FloatArray, IntArray, KeyArray, WeightKind
    from ogive.curve.clusters import Clusters
    from ogive.curve.spans import Finer, Spans
    from ogive.curve.summary import Summary


class Curve(Derived):
    """Distinct scores, with how often each was given and how often its outcome was 1.

    Build it with `from_scores` or `from_predictions`; join two with `merge`. A curve is
    immutable, and nothing in it depends on the order of the rows it was built from.

    It holds the sorted keys of single rows, or grouped rows (with weights), or
    a summary (`summarised`, `ogive.CurveStream`, `ogive.engines`).
    Everything else is derived on first use and then kept; `runs` gives the rows piece by piece
    without keeping anything.

    Attributes
    ----------
    view : str
        The name of the view of the scores.
    n : int or float
        N, the number of rows: the sum of the weights (an int if it is whole).
    total_hits : float
        How many of them have outcome 1.
    score : (m,) array
        The distinct scores, rising; equal neighbours only where two tails round to one score.
    tail, high : (m,) arrays
        min(score, 1 − score), and whether the score exceeds ½: the score without rounding.
    log_odds : (m,) array
        log(p / (1 − p)) from the tail; always finite, see `log_odds`.
    count, hits : (m,) arrays
        Rows, and rows with outcome 1, at each score.
    square, square_hits : (m,) arrays
        Sums of squared weights of the same: equal to `count` and `hits`, except for
        sampling weights.
    fractile : (m,) array
        The share of rows with this score or a smaller one: 1 at the end.
    gap : (m,) array
        D of the module's docstring.
    cumulative : named tuple of (m + 1,) arrays
        `fractile`, `scores` and `outcomes`: the shares of rows, and the cumulative scores and
        outcomes over N, whose difference is the gap. The first is (0, 0, 0).
    clusters : Clusters or None
        Which rows belong together, where that was given; tests and intervals then allow for it.

    Examples
    --------
    >>> curve = Curve.from_scores([0.9, 0.2, 0.9, 0.6], [1, 0, 0, 1])
    >>> curve.score, curve.count, curve.hits
    (array([0.2, 0.6, 0.9]), array([1., 1., 2.]), array([0., 1., 1.]))
    >>> curve.gap.round(3)
    array([-0.05,  0.05, -0.15])
    >>> curve.cumulative.scores, curve.cumulative.outcomes
    (array([0.  , 0.05, 0.2 , 0.65]), array([0.  , 0.  , 0.25, 0.5 ]))
    """

    def __init__(
        self,
        *,
        keys: KeyArray | None = None,
        groups: Groups | None = None,
        summary: Summary | None = None,
        finer: tuple[Finer, ...] = (),
        clusters: Clusters | None = None,
        view: str,
    ) -> None:
        """Wrap valid sorted keys, grouped rows or a summary without checks (private use)."""
        held = {"_keys": keys, "_grouped": groups, "_summary": summary, "_finer": finer}
        self.__setstate__({"view": view, "clusters": clusters, **held})

    view: str
    clusters: Clusters | None = None
    _keys: KeyArray | None
    _grouped: Groups | None
    _summary: Summary | None
    _finer: tuple[Finer, ...]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the contents, also of a pickled curve, and make its arrays read-only."""
        self.__dict__.update(state)
        parts = [self._grouped, self._summary, *(finer.summary for finer in self._finer)]
        held = [getattr(part, field.name) for part in parts if part for field in fields(part)]
        for array in (self._keys, *held):
            if isinstance(array, np.ndarray):
                frozen(array)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a curve does not change (`cached_property` does not come through here)."""
        msg = f"a Curve is immutable: {name!r} cannot be set. Build another, or see `with_view`."
        raise AttributeError(msg)

    def __delattr__(self, name: str) -> None:
        """Refuse, likewise."""
        msg = f"a Curve is immutable: {name!r} cannot be deleted."
        raise AttributeError(msg)

    def with_view(self, view: str) -> Curve:
        """Return the same curve under the name of another view.

        >>> Curve.from_scores([0.9, 0.2], [1, 0]).with_view("top-1")
        Curve(view='top-1', n=2, outcomes=1)
        """
        return Curve(
            keys=self._keys,
            groups=self._grouped,
            summary=self._summary,
            finer=self._finer,
            clusters=self.clusters,
            view=view,
        )

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        outcomes: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        weight_kind: WeightKind = "repetition",
        clusters: ArrayLike | None = None,
        view: str = "score",
    ) -> Curve:
        """Build the curve of N forecasts in [0, 1] and their outcomes, 0 or 1.

        Parameters
        ----------
        scores, outcomes : array-like, (N,)
        sample_weight : array-like, (N,), optional
        weight_kind : {"repetition", "sampling"}
            See `Predictions`.
        clusters : array-like, (N,), optional
            See `Predictions`.
        view : str
            What the scores are, if they are not the probability of a binary event.
        """
        check_index(
            scores=scores, outcomes=outcomes, sample_weight=sample_weight, clusters=clusters
        )
        s = as_floats(scores, "scores", ndim=(1,))
        hit = as_hits(outcomes, s.size)
        keys = keys_of_scores(s, hit)
        kind = as_weight_kind(weight_kind)
        w = as_weights(sample_weight, s.size, of="scores", kind=kind)
        codes = as_clusters(clusters, s.size, of="scores", weights=w)
        return cls._from_keys(keys, w, kind, view, clusters=codes)

    @classmethod
    def from_predictions(
        cls, preds: Predictions, view: str | View | None = None, *, n_jobs: int | None = None
    ) -> Curve:
        """Build the curve of a view of labelled predictions.

        Parameters
        ----------
        preds : Predictions
        view : str or view
            ``"top-r"``, ``"within-top-r"``, ``"class-k"`` (k from 0) or ``"score"``. Default:
            ``"top-1"``, or ``"score"`` for one-column predictions. Scores that are equal in exact
            arithmetic on the given numbers are one row of the curve: see `Predictions`.
        n_jobs : int, optional
        """
        if not isinstance(preds, Predictions):
            msg = (
                f"`preds` must be Predictions, not {type(preds).__name__}; "
                "for 1-D arrays use Curve.from_scores."
            )
            raise InvalidType(msg)
        chosen = check_view(view, preds)
        labelled(preds)
        keys = keys_of_view(preds, chosen, n_jobs=n_jobs)
        weights, kind = preds.sample_weight, preds.weight_kind
        how: Any = {"n_jobs": n_jobs, "clusters": preds.clusters}
        return cls._from_keys(keys, weights, kind, chosen.name, **how)

    @classmethod
    def _from_keys(
        cls,
        keys: KeyArray,
        weights: FloatArray | None,
        kind: WeightKind,
        view: str,
        *,
        n_jobs: int | None = None,
        clusters: IntArray | None = None,
    ) -> Curve:
        """Sort fresh keys in place, or group them if they carry weights."""
        found = None if clusters is None else clusters_of(keys, clusters, weights, kind)
        if weights is None:
            sort_in_place(keys, n_jobs=n_jobs)
            return cls(keys=keys, clusters=found, view=view)
        return cls(groups=groups_of_weighted(keys, weights, kind), clusters=found, view=view)

    def merge(self, other: Curve) -> Curve:
        """Return the curve of both samples together.

        Exact, associative and commutative: shards may be merged in any order. (With fractional
        weights the sums agree to rounding.) With a summarised curve the result is summarised.

        >>> a = Curve.from_scores([0.9, 0.2], [1, 0])
        >>> b = Curve.from_scores([0.9], [0])
        >>> a.merge(b) == Curve.from_scores([0.9, 0.2, 0.9], [1, 0, 0])
        True
        """
        if not isinstance(other, Curve):
            msg = f"`other` must be a Curve, not {type(other).__name__}."
            raise InvalidType(msg)
        if self.view != other.view:
            msg = f"curves of different views cannot be merged: {self.view!r} and {other.view!r}."
            raise InvalidInput(msg)
        self._without_clusters("merged")
        other._without_clusters("merged")
        if self._summary is not None or other._summary is not None:
            both = [self.summary(), other.summary()]
            return Curve(summary=added(both), view=self.view)
        if self._keys is not None and other._keys is not None:
            keys = np.concatenate([self._keys, other._keys])
            sort_in_place(keys)
            return Curve(keys=keys, view=self.view)
        return Curve(groups=joined(self._groups, other._groups), view=self.view)

    def summarised(self, bits: int = BITS) -> Curve:
        """Return the curve as a summary: a few thousand rows, however many samples.

        Rows whose tails agree in side, exponent and the first `bits` bits after it are joined;
        see `ogive.curve.summary`. Merging summaries is exact, and a saved one is small.

        >>> import numpy as np
        >>> scores = np.linspace(0.25, 0.75, 100_001)
        >>> curve = Curve.from_scores(scores, np.arange(100_001) % 2)
        >>> small = curve.summarised(8)
        >>> small, small.is_exact, small.score.size
        (Curve(view='score', n=100,001, outcomes=50,000, summarised), False, 513)
        """
        return Curve(summary=self.summary().coarsened(check_bits(bits)), view=self.view)

    def summary(self) -> Summary:
        """Return the integers of a summarised curve; of any other, a row for each score."""
        self._without_clusters("summarised")
        if self._summary is not None:
            return self._summary
        if self._keys is not None:
            return summarise(self._keys.copy(), MANTISSA)
        groups = self._groups
        return summary_of_groups(groups.cell, *groups.sums)

    def _without_clusters(self, done: str) -> None:
        """Refuse to lose which rows belong together."""
        if self.clusters is not None:
            msg = (
                f"a curve with clusters cannot be {done}: rows of one cluster may be anywhere. "
                "Build one curve from all rows, in memory, or leave out `clusters`."
            )
            raise InvalidInput(msg)

    def as_independent(self) -> Curve:
        """Return a curve without clusters whose squared weights hold their design effect.

        What reads the noise of rows off their squared weights then allows for clusters.
        """
        if self.clusters is None:
            return self
        cell, sums, alike = self._groups.cell, self._groups.sums, self.clusters.design_effect
        squares = (frozen(alike * column) for column in sums[2:])
        return Curve(groups=Groups(cell, *sums[:2], *squares), view=self.view)

    def refined(self, finer: Finer) -> Curve:
        """Return a summarised curve with the rows of some ranges replaced by finer ones."""
        return Curve(summary=self.summary(), finer=(*self._finer, finer), view=self.view)

    def without_caches(self) -> Curve:
        """Return a summarised curve without its cached columns."""
        return Curve(summary=self.summary(), finer=self._finer, view=self.view)

    @property
    def bits(self) -> int:
        """Mantissa bits of the finest rows: 52 if each is one score; see `ogive.curve.summary`."""
        if self._finer:
            return self._finer[-1].summary.bits
        return MANTISSA if self._summary is None else self._summary.bits

    @cached_property
    def spans(self) -> Spans | None:
        """Where the rows of a summarised curve begin and end; None for any other."""
        return None if self._summary is None else spans_of(self._summary, self._finer)

    @property
    def is_exact(self) -> bool:
        """Whether every row is one score: always true, except for summarised curves."""
        return self.spans is None or bool((self.spans.first == self.spans.last).all())

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

    @cached_property
    def _groups(self) -> Groups:
        if self._grouped is not None:
            return self._grouped
        if self.spans is not None:
            return self.spans.groups
        assert self._keys is not None  # noqa: S101 - the other kind of curve
        return groups_of_keys(self._keys)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Curve):
            return NotImplemented
        if self._summary is not None and other._summary is not None:
            return self.view == other.view and self._summary == other._summary
        a, b = self._groups, other._groups
        pairs = zip((a.cell, *a.sums), (b.cell, *b.sums), strict=True)
        return self.view == other.view and all(np.array_equal(x, y) for x, y in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        how = "" if self._summary is None else ", summarised"
        return f"Curve(view={self.view!r}, n={self.n:,}, outcomes={self.total_hits:,.6g}{how})"

    _repr_html_ = curve_form


def merge_all(curves: Sequence[Curve]) -> Curve:
    """Return the curve of all samples together, as `Curve.merge` does one by one, but sorted once.

    >>> parts = [Curve.from_scores([0.9, 0.2], [1, 0]), Curve.from_scores([0.9], [0])]
    >>> merge_all(parts) == parts[0].merge(parts[1])
    True
    """
    keys = [curve._keys for curve in curves if curve._keys is not None]  # noqa: SLF001
    if len(keys) == len(curves) and len({curve.view for curve in curves}) == 1:
        together = np.concatenate(keys)
        sort_in_place(together)
        return Curve(keys=together, view=curves[0].view)
    found = list(curves)
    while len(found) > 1:  # two by two: each row is read log2 of their number times
        pairs = zip(found[::2], found[1::2], strict=False)
        found = [a.merge(b) for a, b in pairs] + found[len(found) // 2 * 2 :]
    return found[0]


def rescored(curve: Curve, scores: FloatArray) -> Curve:
    """Return the curve of the same rows with other scores, (m,): one for each row of the curve."""
    weights = np.concatenate([curve.hits, curve.count - curve.hits])
    some = weights > 0.0
    outcomes = np.repeat([1, 0], scores.size)[some]
    both = np.tile(scores, 2)[some]
    return Curve.from_scores(both, outcomes, sample_weight=weights[some], view=curve.view)


def as_curve(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
    clusters: ArrayLike | None = None,
) -> Curve:
    """Return the curve of a measure's arguments: a curve, or scores and outcomes.

    >>> as_curve([0.9, 0.4], [1, 0], sample_weight=[1, 2]).n
    3
    """
    if isinstance(curve, Curve) or outcomes is None:
        found = check_curve(curve)
        given = {"outcomes": outcomes, "sample_weight": sample_weight, "clusters": clusters}
        for name, value in given.items():
            if value is not None:
                msg = f"`{name}` belongs to scores, and a curve has its own. Give the curve alone."
                raise InvalidInput(msg)
        return found
    how: Any = {"weight_kind": weight_kind, "clusters": clusters}
    return Curve.from_scores(curve, outcomes, sample_weight=sample_weight, **how)


def check_curve(curve: object) -> Curve:
    """Return the curve, or raise an error that shows how to build one."""
    if not isinstance(curve, Curve):
        way = "predictions(preds)" if isinstance(curve, Predictions) else "scores(scores, outcomes)"
        msg = (
            f"`curve` must be a Curve, not {type(curve).__name__}; build it with Curve.from_{way}."
        )
        raise InvalidType(msg)
    return curve
