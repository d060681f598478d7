r"""Bootstrap intervals for any measure of a curve.

Rows are drawn with replacement from the curve: how often each row is drawn, in the order of the
scores, so that a resample is a sorted curve without sorting. Unweighted rows are drawn by number;
a group of total weight W and sum of squared weights V gets a Poisson number of mean W² / V,
times V / W, which has the mean and the variance of drawing its rows one by one.

**When the bootstrap is wrong.** Errors that cannot be negative (KS, Kuiper, ECE, MCE, the
binning-free errors, MCB) are positive by noise alone. A resample holds that noise twice, once
from the sample and once from the draw, so that near perfect calibration the percentile interval
lies above the true value: for KS near 0 it covered the truth in none of the simulations. For KS and
Kuiper use `ogive.ks_test`, `ogive.kuiper_test`, whose intervals come from the noise of the gap
itself. The bootstrap is fair for errors that are several times what perfect calibration would
show. The interval of an error is *shifted*: the mean of the resamples minus the value estimates the
bias, which the resamples hold twice, so that twice of it is subtracted from both ends, which are
then cut at 0. That repairs much of it, not all: `docs/theory/resample.md` has the coverage.

**Means** (accuracy, mean score, Brier, log loss) of rare outcomes come from few rows with a large
part of the sum, which resamples do not know if they were not drawn: with two outcomes 1 among 200
rows percentile intervals held the log loss in 82 %. Their ends are therefore those of a count of
rows times a size, for outcomes 1 and 0 together (`ogive._numerics.mean_interval`), which allow for
clusters; resamples are still returned.

**Clusters** are drawn whole, as many as there are. Ends of measures that are no means are moved
away from the mean of the resamples by the factor :math:`t / z \sqrt{G / (G - 1)}`, t the quantile
of Student's law with one less than Kish's number of clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._html import record_form
from ogive._numerics.mean_interval import COVERAGE, ByCluster, Part, mean_interval
from ogive.curve.curve import Curve, as_curve
from ogive.curve.keys import pack
from ogive.curve.ties import Groups
from ogive.errors import InvalidInput, UnknownName
from ogive.metrics.shared_draws import warn_if_few_decide
from ogive.rows.tails import outcome_losses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ogive._typing import ArrayLike, FloatArray, Progress, WeightKind
    from ogive.curve.clusters import Clusters

#: What a row of each score adds to a mean, by its outcome: (1, 0).
_OF_A_ROW: dict[str, Callable[[Curve], tuple[FloatArray, FloatArray]]] = {
    "accuracy": lambda c: (np.ones(c.score.size), np.zeros(c.score.size)),
    "mean_score": lambda c: (c.score, c.score),
    "brier": lambda c: ((1.0 - c.score) ** 2, c.score**2),
    "nll": lambda c: outcome_losses(c.high, c.tail),
}
#: Means, whose bootstrap needs no correction; everything else is treated as an error >= 0.
MEANS = frozenset({"accuracy", "mean_score", "brier", "nll", "spiegelhalter"})


#: Means that are at most 1.
_SHARES = frozenset({"accuracy", "mean_score", "brier"})


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """A bootstrap interval.

    Attributes
    ----------
    value : float
        The measure of the curve itself.
    low, high : float
        The interval.
    level : float
        The nominal coverage.
    bias : float
        Mean of the resamples minus `value`.
    corrected : bool
        Whether twice the bias was subtracted from both ends.
    values : (resamples,) array
        The measure of each resample.
    """

    value: float
    low: float
    high: float
    level: float
    bias: float
    corrected: bool
    values: FloatArray

    _repr_html_ = record_form


def bootstrap(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | str | Callable[[Curve], float] | None = None,
    measure: str | Callable[[Curve], float] = "ks",
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
    clusters: ArrayLike | None = None,
    resamples: int = 1000,
    level: float = 0.95,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Interval:
    """Return a bootstrap interval of a measure; the module's docstring says when it is wrong.

    Parameters
    ----------
    curve : Curve, or array-like (N,)
        A curve, or scores in [0, 1].
    outcomes : array-like (N,), optional
        The outcomes of scores. After a curve, which has its own, the second argument is `measure`.
    measure : str or function of a curve
        A key of `ogive.metrics.MEASURES`, or any function. A function's interval is a plain
        percentile interval; that of a mean counts rows. Errors are corrected for their bias.
    sample_weight, weight_kind, clusters : optional
        Of scores, as in `Curve.from_scores`. Clusters are drawn whole.
    resamples : int
    level : float
        In (0, 1).
    random_state : int
    progress : function of (what, done, total), optional
        Called after each resample.

    >>> from ogive import Curve
    >>> curve = Curve.from_scores([0.9, 0.8, 0.6, 0.7] * 50, [1, 0, 1, 1] * 50)
    >>> result = bootstrap(curve, "accuracy", resamples=200)
    >>> result.value, result.low < 0.75 < result.high
    (0.75, True)
    """
    if isinstance(outcomes, str) or callable(outcomes):  # after a curve
        measure, outcomes = outcomes, None
    how: Any = {"weight_kind": weight_kind, "clusters": clusters}
    curve = as_curve(curve, outcomes, sample_weight=sample_weight, **how)
    _check(resamples, level)
    of, corrected = _named(measure)
    values = np.empty(resamples)
    for i, sample in enumerate(resampled(curve, resamples, random_state=random_state)):
        values[i] = of(sample)
        if progress is not None:
            progress("resampling", i + 1, resamples)
    ends = mean_ends(curve, measure, level)
    how = {"level": level, "corrected": corrected, "clusters": curve.clusters}
    return interval(of(curve), values, **how, ends=ends)


def interval(
    value: float,
    values: FloatArray,
    *,
    level: float = 0.95,
    corrected: bool,
    clusters: Clusters | None = None,
    ends: tuple[float, float] | None = None,
) -> Interval:
    """Turn the measure of the sample and of its resamples into an interval.

    ends : those of `mean_ends`, if there are any
    """
    low, high = np.quantile(values, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    if ends is not None:
        low, high = ends
    elif clusters is not None:
        wider = _wider(clusters, level)
        centre = float(values.mean())
        low, high = centre + wider * (low - centre), centre + wider * (high - centre)
    bias = float(values.mean()) - value
    if corrected:
        low, high = max(low - 2.0 * bias, 0.0), max(high - 2.0 * bias, 0.0)
    return Interval(value, float(low), float(high), level, bias, corrected, values)


def mean_ends(curve: Curve, measure: object, level: float = COVERAGE) -> tuple[float, float] | None:
    """Return the ends of the interval of a mean, and None for anything else.

    What outcomes 1 add and what outcomes 0 add are two parts of the mean, each a number of rows
    times a size.
    """
    clusters = curve.clusters
    if not isinstance(measure, str) or measure not in _OF_A_ROW:
        return None
    of_hit, of_miss = _OF_A_ROW[measure](curve)
    by_cluster = None
    if clusters is not None:
        warn_if_few_decide(clusters)
        by_cluster = ByCluster(clusters.sums(of_hit, of_miss), clusters.weight)
    misses, square_misses = curve.count - curve.hits, curve.square - curve.square_hits
    rows = (curve.hits, curve.square_hits), (misses, square_misses)
    parts = [
        (1.0, Part(float(w @ x), float(square @ (x * x)), float(curve.count @ x) / float(curve.n)))
        for x, (w, square) in zip((of_hit, of_miss), rows, strict=True)
    ]
    n = float(curve.n), float(curve.effective_n)
    _, low, high = map(float, mean_interval(parts, *n, clusters=by_cluster, level=level))
    return max(low, 0.0), min(high, 1.0) if measure in _SHARES else high


def _wider(clusters: Clusters, level: float) -> float:
    """Return by how much an interval of so few clusters is wider than its quantiles."""
    from scipy.special import ndtri, stdtrit  # noqa: PLC0415 - only clusters need them

    freedom, share = max(clusters.effective - 1.0, 1.0), (1.0 + level) / 2.0
    return float(stdtrit(freedom, share) / ndtri(share) * np.sqrt(1.0 + 1.0 / freedom))


def resampled(curve: Curve, resamples: int, *, random_state: int = 0) -> Iterator[Curve]:
    """Yield curves of rows drawn with replacement; nothing is sorted again."""
    rng = np.random.default_rng(random_state)
    cell = np.empty(curve.tail.size, dtype=np.uint64)
    pack(curve.tail, curve.high, np.zeros(cell.size, dtype=np.bool_), cell)
    draw = _by_number(curve, rng) if _whole(curve) else _by_weight(curve, rng)
    if curve.clusters is not None:
        draw = _by_cluster(curve.clusters, rng)
    for _ in range(resamples):
        sums = next(draw)
        kept = sums[0] > 0.0
        yield Curve(groups=Groups(cell[kept], *(column[kept] for column in sums)), view=curve.view)


def _whole(curve: Curve) -> bool:
    """Return whether the curve counts whole rows, few enough to list one by one."""
    same = curve.square is curve.count or np.array_equal(curve.square, curve.count)
    return bool(same and (curve.count % 1.0 == 0.0).all() and curve.n <= 1 << 27)


def _by_cluster(clusters: Clusters, rng: np.random.Generator) -> Iterator[tuple[FloatArray, ...]]:
    """Draw as many clusters as there are."""
    for drawn in _drawn_clusters(clusters.size, rng):
        yield clusters.drawn(drawn)


def _drawn_clusters(size: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield how often each cluster is drawn, (G,)."""
    while True:
        yield np.bincount(rng.integers(0, size, size), minlength=size).astype(np.float64)


def _by_number(curve: Curve, rng: np.random.Generator) -> Iterator[tuple[FloatArray, ...]]:
    """Draw as many rows as there are."""
    both = np.stack([curve.count - curve.hits, curve.hits], axis=1).astype(np.int64)
    kind = np.repeat(np.arange(both.size, dtype=np.int32), both.reshape(-1))  # 2 group + hit
    while True:
        drawn = np.bincount(kind[rng.integers(0, kind.size, kind.size)], minlength=both.size)
        misses, hits = drawn.astype(np.float64).reshape(-1, 2).T
        count = misses + hits
        yield count, hits, count, hits


def _by_weight(curve: Curve, rng: np.random.Generator) -> Iterator[tuple[FloatArray, ...]]:
    """Draw Poisson numbers of the rows that each group stands for."""
    total = np.stack([curve.count - curve.hits, curve.hits])
    square = np.stack([curve.square - curve.square_hits, curve.square_hits])
    unit = np.divide(square, total, out=np.zeros(total.shape), where=total > 0.0)
    rows = np.divide(total, unit, out=np.zeros(total.shape), where=unit > 0.0)
    sampling = not np.array_equal(curve.square, curve.count)
    while True:
        drawn = rng.poisson(rows)
        if not drawn.any():  # a sample of a row or two may come out empty: draw again
            continue
        weight = drawn * unit
        squares = weight * unit if sampling else weight
        yield weight.sum(axis=0), weight[1], squares.sum(axis=0), squares[1]


def _named(measure: str | Callable[[Curve], float]) -> tuple[Callable[[Curve], float], bool]:
    """Return the function, and whether its interval is corrected."""
    from ogive.metrics import MEASURES  # noqa: PLC0415 - the table lists the other measures

    if callable(measure):
        return measure, False
    if measure not in MEASURES:
        raise UnknownName.among("measure", measure, MEASURES)
    return MEASURES[measure], measure not in MEANS


def _check(resamples: int, level: float) -> None:
    if not isinstance(resamples, int | np.integer) or resamples < 1:
        msg = f"`resamples` must be a whole number of at least 1, not {resamples!r}."
        raise InvalidInput(msg)
    if not 0.0 < level < 1.0:
        msg = f"`level` must lie strictly between 0 and 1, not {level!r}. 95 % is 0.95."
        raise InvalidInput(msg)
