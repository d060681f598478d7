r"""The shares of three classes or more in new data without labels, from calibrated vectors.

A calibrator fitted where the classes have the shares π₀ gives q. With :math:`a_k = q_k / \pi_{0k}`
the likelihood of shares π is :math:`\prod_i \sum_k \pi_k a_{ik}`, concave in π; its maximum is
where the EM algorithm of Saerens, Latinne and Decaestecker (2002) ends, found here by EM and Newton
steps.

**Interval.** That of `base_rate` for each class against the mixture of the others, its variance
larger by the ratio of the information with known and with unknown shares of the others.

**Bins** are the most probable class and a range of its probability: in them the calibrator's own
uncertainty is counted, and the misfit test compares new rows with mixtures of the classes'
calibration rows, and the shares of the nearest mixture with the estimate (see `base_rate`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._numerics.covariance import multinomial
from ogive.errors import InvalidInput
from ogive.studies.base_rate import MIN_ROWS_IN_A_BIN, BaseRate, Bins, Mixture

if TYPE_CHECKING:
    from ogive._typing import FloatArray, IntArray
    from ogive.export.artifact import FittedOn

LEVELS = 4  # ranges of the probability of each most probable class
#: The table of bins grows with the square of the classes: 7,200 numbers here.
MAX_CLASSES_IN_BINS = 30
_STEPS = 500
_CONVERGED = 1e-12  # change of a share
_LEAST_SHARE = 1e-9  # shares below this count as 0


class ClassScores(NamedTuple):
    """Calibrated vectors of the calibration set, counted in bins.

    edges : (levels − 1,) probabilities of the most probable class
    rows : (K, K levels) rows of each class
    variance : (K, K levels) sums of q_k (1 − q_k)
    """

    edges: FloatArray
    rows: FloatArray
    variance: FloatArray


def class_scores(q: FloatArray, labels: IntArray, count: FloatArray) -> dict[str, Any] | None:
    """Return calibrated vectors counted in bins, as plain lists; None if a class has no row."""
    K = q.shape[1]
    total = np.bincount(labels, count, minlength=K)
    if K > MAX_CLASSES_IN_BINS or not (total > 0).all():
        return None
    edges = np.unique(np.quantile(q.max(axis=1), np.arange(1, LEVELS) / LEVELS))
    bins, size = _bins(q, edges), K * (edges.size + 1)
    rows = [np.bincount(bins[labels == k], count[labels == k], minlength=size) for k in range(K)]
    spread = [np.bincount(bins, count * p * (1.0 - p), minlength=size) for p in q.T]
    found = {"edges": edges, "rows": np.array(rows), "variance": np.array(spread)}
    return {name: np.asarray(x, dtype=np.float64).tolist() for name, x in found.items()}


def class_scores_in(info: FittedOn) -> ClassScores | None:
    """Return the binned vectors that an artifact carries."""
    if info.class_scores is None:
        return None
    return ClassScores(**{k: np.array(v, dtype=np.float64) for k, v in info.class_scores.items()})


def _bins(q: FloatArray, edges: FloatArray) -> IntArray:
    """Return the bin of each row: its most probable class, and the range of its probability."""
    bins: IntArray = q.argmax(axis=1) * (edges.size + 1) + np.searchsorted(edges, q.max(axis=1))
    return bins


def estimate_base_rates(
    q: FloatArray, count: FloatArray, trained_at: FloatArray, known: ClassScores | None = None
) -> BaseRate:
    """Estimate the shares of the classes in new rows.

    Parameters
    ----------
    q, count : (N, K) and (N,) arrays
        Vectors calibrated at the shares `trained_at`, (K,), and how many rows each counts for.
    known : ClassScores, optional
        Without it the interval has no uncertainty of the calibrator, and there is no misfit test.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> q = rng.dirichlet([0.5, 0.5, 0.5], 6000)      # calibrated where all three are as frequent
    >>> y = (q.cumsum(axis=1) < rng.random((6000, 1))).sum(axis=1)
    >>> new = np.concatenate([q[y == 0][:1200], q[y == 1][:600], q[y == 2][:200]])
    >>> estimate_base_rates(new, np.ones(2000), np.full(3, 1 / 3)).low[0] < 0.6
    True
    """
    if q.shape[0] == 0 or not count.sum() > 0:
        msg = "the new data has no rows: give a log with probabilities."
        raise InvalidInput(msg)
    a = q / trained_at
    rates = _most_likely(a, count, trained_at)
    D = a @ rates
    information = (a * (count / D**2)[:, None]).T @ a
    ends = [
        _interval(k, a, D, count, rates, information, float(trained_at[k]), _of_class(q, known, k))
        for k in range(rates.size)
    ]
    low, high = map(list, zip(*ends, strict=True))
    misfit = None if known is None else _misfit(q, count, rates, known)
    return BaseRate(rates.tolist(), low, high, misfit)


def _of_class(q: FloatArray, known: ClassScores | None, k: int) -> Bins | None:
    if known is None:
        return None
    return Bins(_bins(q, known.edges), known.variance[k], float(known.rows.sum()))


def _most_likely(a: FloatArray, count: FloatArray, start: FloatArray) -> FloatArray:
    """Return the shares of the largest likelihood."""
    rates, n = start.copy(), float(count.sum())
    for _ in range(_STEPS):
        D = a @ rates
        g = a.T @ (count / D)
        new = rates * g / n  # a step of EM, which never leaves the simplex
        better = _newton(a, count, D, g, rates)
        if better is not None and _likelihood(a, count, better) >= _likelihood(a, count, new):
            new = better
        change, rates = float(np.abs(new - rates).max()), new
        if change < _CONVERGED:
            break
    rates = np.where(rates < _LEAST_SHARE, 0.0, rates)
    result: FloatArray = rates / rates.sum()
    return result


def _likelihood(a: FloatArray, count: FloatArray, rates: FloatArray) -> float:
    return float(count @ np.log(a @ rates))


def _newton(
    a: FloatArray, count: FloatArray, D: FloatArray, g: FloatArray, rates: FloatArray
) -> FloatArray | None:
    """Return the shares after a Newton step along the simplex; None if it leaves it."""
    free = rates >= _LEAST_SHARE
    Z = _along(int(free.sum()))
    own = a[:, free]
    H = Z.T @ ((own * (count / D**2)[:, None]).T @ own) @ Z
    step = Z @ np.linalg.lstsq(H, Z.T @ g[free], rcond=None)[0]
    new = rates.copy()
    new[free] += step
    return new if (new >= 0.0).all() else None


def _along(K: int) -> FloatArray:
    """Return a basis of the changes of K shares whose sum is 0, (K, K − 1)."""
    return np.eye(K)[:, 1:] - np.eye(K)[:, :1]


def _interval(  # noqa: PLR0917 - internal
    k: int,
    a: FloatArray,
    D: FloatArray,
    count: FloatArray,
    rates: FloatArray,
    information: FloatArray,
    trained_at: float,
    bins: Bins | None,
) -> tuple[float, float]:
    """Return the interval of one share."""
    rate = float(rates[k])
    if rate > 1.0 - _LEAST_SHARE:
        return 0.0, 1.0  # the caller refuses a single class
    others = (D - rate * a[:, k]) / (1.0 - rate)
    along = rates > 0.0
    along[k] = True
    Z = _along(int(along.sum()))
    inside = Z @ np.linalg.pinv(Z.T @ information[np.ix_(along, along)] @ Z) @ Z.T
    place = int(along[:k].sum())
    alone = float(count @ ((a[:, k] - others) / D) ** 2)
    wider = max(float(inside[place, place]) * alone, 1.0)
    return Mixture(a[:, k], others, count, trained_at, bins, wider).interval(rate)


def _misfit(
    q: FloatArray, count: FloatArray, rates: FloatArray, known: ClassScores
) -> float | None:
    """Return the p-value of "other shares explain the new rows"; None with too few bins."""
    from scipy.stats import chi2  # noqa: PLC0415 - slow to load

    new = np.bincount(_bins(q, known.edges), count, minlength=known.rows.shape[1])
    table = _with_enough_rows(np.vstack([new, known.rows]))
    if table.shape[1] <= rates.size:
        return None
    n = table.sum(axis=1)
    share, *classes = (table + 0.5) / (n + 0.5 * table.shape[1])[:, None]
    covariance = multinomial(rates @ np.array(classes)) / n[0]
    for rate, f, rows in zip(rates, classes, n[1:], strict=True):
        covariance = covariance + rate**2 * multinomial(f) / rows
    inverse = np.linalg.inv(covariance[1:, 1:])
    F = (np.array(classes[1:]) - classes[0])[:, 1:].T
    gap = (share - classes[0])[1:]
    information = F.T @ inverse @ F
    nearest = np.linalg.lstsq(information, F.T @ inverse @ gap, rcond=None)[0]
    left, off = gap - F @ nearest, nearest - rates[1:]
    shape = float(chi2.sf(left @ inverse @ left, table.shape[1] - rates.size))
    same = float(chi2.sf(off @ information @ off, rates.size - 1))
    return min(2.0 * min(shape, same), 1.0)


def _with_enough_rows(table: FloatArray) -> FloatArray:
    """Return new rows and those of the classes in bins, small bins joined."""
    old = table[1:].sum(axis=0)
    expected = old * (table[0].sum() / old.sum())
    small = np.minimum(old, np.maximum(expected, table[0])) < MIN_ROWS_IN_A_BIN
    joined = table[:, small].sum(axis=1, keepdims=True)
    kept = table[:, ~small]
    return np.hstack([kept, joined]) if joined[1:].sum() + joined[0, 0] > 0 else kept
