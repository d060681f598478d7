"""The definitions, slow and obvious. Useful only for testing."""

import numpy as np


def softmax(z):
    """One row at a time, in float128 where there is one."""
    z = np.asarray(z, dtype=np.longdouble)
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def ranked_classes(values):
    """The classes of each row, best first; equal values by index."""
    return [sorted(range(len(row)), key=lambda k: (-row[k], k)) for row in np.asarray(values)]


def event(view, values):
    """The set of classes that each row of a view is about."""
    kind, _, number = view.rpartition("-")
    r = int(number)
    if kind == "class":
        return [{r} for _ in values]
    if kind == "top":
        return [{ranks[r - 1]} for ranks in ranked_classes(values)]
    return [set(ranks[:r]) for ranks in ranked_classes(values)]


def scores_and_hits(view, values, probabilities, labels):
    """A view, read aloud."""
    events = event(view, values)
    scores = [sum(p[k] for k in event) for event, p in zip(events, probabilities, strict=True)]
    hits = [label in event for event, label in zip(events, labels, strict=True)]
    return np.array(scores, dtype=float), np.array(hits)


def gap_at(t, scores, hits, weights=None):
    """Cumulative hits minus cumulative score of the rows with a score up to t."""
    w = np.ones(len(scores)) if weights is None else np.asarray(weights, dtype=float)
    upto = np.asarray(scores) <= t
    return float(np.sum(w * upto * (np.asarray(hits, dtype=float) - scores)) / w.sum())


def ks(scores, hits, weights=None):
    """The largest gap over all scores. O(n^2)."""
    return max(abs(gap_at(t, scores, hits, weights)) for t in scores)


def l1_gap(scores, hits, weights=None):
    """The mean over rows of the |gap| of their group of equal scores."""
    scores, hits = np.asarray(scores), np.asarray(hits, dtype=float)
    w = np.ones(len(scores)) if weights is None else np.asarray(weights, dtype=float)
    groups = (np.abs(np.sum((w * (hits - scores))[scores == t])) for t in set(scores.tolist()))
    return float(sum(groups) / w.sum())


def dense_spline_fit(knots, runout, edges, values):
    """Least squares of a cubic spline to a piecewise linear function, from a tall dense matrix.

    Gauss points on every straight part between knots make the integral a finite sum that is
    exact for the products of cubics that occur in it.
    """
    from scipy.interpolate import CubicSpline as Reference

    nodes, weights = np.polynomial.legendre.leggauss(4)
    cuts = np.union1d(edges, knots)
    half = np.diff(cuts)[:, None] / 2
    x = (cuts[:-1, None] + half * (1 + nodes)).ravel()
    w = (half * weights).ravel()
    h = np.interp(x, edges, values)
    columns = []
    for unit in np.eye(len(knots)):
        if runout == "natural":
            columns.append(Reference(knots, unit, bc_type="natural")(x))
        elif runout == "cubic" and len(knots) > 3:
            columns.append(Reference(knots, unit, bc_type="not-a-knot")(x))
        else:
            columns.append(parabolic_spline(knots, unit)(x))
    A = np.stack(columns, axis=1)
    root = np.sqrt(w)
    return np.linalg.lstsq(A * root[:, None], h * root, rcond=None)[0]


def parabolic_spline(knots, values):
    """The cubic spline with equal second derivatives at the first two and last two knots."""
    from scipy.interpolate import CubicSpline as Reference

    def mismatch(ends):
        s = Reference(knots, values, bc_type=((2, ends[0]), (2, ends[1])))
        return np.array([s(knots[0], 2) - s(knots[1], 2), s(knots[-1], 2) - s(knots[-2], 2)])

    zero = mismatch((0.0, 0.0))  # linear in the two end values: solve it by its columns
    slope = np.stack([mismatch((1.0, 0.0)) - zero, mismatch((0.0, 1.0)) - zero], axis=1)
    if len(knots) == 3:  # both conditions are about the one inner knot
        ends = np.linalg.lstsq(slope, -zero, rcond=None)[0]
    else:
        ends = np.linalg.solve(slope, -zero)
    return Reference(knots, values, bc_type=((2, ends[0]), (2, ends[1])))


# Calibrators of whole matrices ----------------------------------------------------------------


def temperature_loss(b, log_values, labels, weights=None):
    """The weighted sum of −log softmax(b z)[label], one row at a time."""
    total = np.longdouble(0.0)
    for i, (row, label) in enumerate(zip(log_values, labels, strict=True)):
        z = b * (np.asarray(row, dtype=np.longdouble) - np.max(row))
        w = 1.0 if weights is None else weights[i]
        total += w * (np.log(np.exp(z).sum()) - z[label])
    return total


def temperature(log_values, labels, weights=None, low=1e-6, high=1e6):
    """1/T by golden sections on a logarithmic scale: the loss has one valley."""
    ratio = (np.sqrt(5.0) - 1.0) / 2.0
    a, d = np.log(low), np.log(high)
    while d - a > 1e-7:
        b, c = d - ratio * (d - a), a + ratio * (d - a)
        left = temperature_loss(np.exp(b), log_values, labels, weights)
        if left <= temperature_loss(np.exp(c), log_values, labels, weights):
            d = c
        else:
            a = b
    return float(np.exp((a + d) / 2))


def matrix_loss(W, b, x, labels, strength=0.0, offset_strength=0.0, weights=None):
    """Mean cross-entropy of softmax(W x + b), and the two penalties of ODIR."""
    w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=float)
    total = 0.0
    for i, (row, label) in enumerate(zip(x, labels, strict=True)):
        total -= w[i] * np.log(softmax([W @ row + b])[0][label])
    off = sum(W[i, j] ** 2 for i in range(len(W)) for j in range(len(W)) if i != j)
    return float(total / w.sum() + strength * off + offset_strength * np.sum(np.square(b)))


# Curve methods ------------------------------------------------------------------------------


def platt(eta, hits):
    """Platt's targets, and a general optimiser: intercept and slope."""
    from scipy.optimize import minimize

    eta, hits = np.asarray(eta, dtype=float), np.asarray(hits, dtype=bool)
    target = np.where(hits, (hits.sum() + 1) / (hits.sum() + 2), 1 / ((~hits).sum() + 2))

    def loss(theta):
        z = theta[0] + theta[1] * eta
        return np.sum(np.logaddexp(0, z) - target * z)

    return minimize(loss, [0.0, 1.0], method="BFGS", options={"gtol": 1e-9}).x


def isotonic(values, weights):
    """The max-min formula: max over starts of min over ends of the mean between. O(n^3)."""
    values, weights = np.asarray(values, dtype=float), np.asarray(weights, dtype=float)

    def mean(i, j):
        return np.average(values[i : j + 1], weights=weights[i : j + 1])

    m = len(values)
    return np.array(
        [max(min(mean(i, j) for j in range(g, m)) for i in range(g + 1)) for g in range(m)]
    )


def width_histogram(scores, hits, bins, at):
    """The share of hits in the bin (k/B, (k + 1)/B] of `at`; the middle of an empty bin."""
    edges = np.arange(bins + 1) / bins
    k = next(k for k in range(bins) if at <= edges[k + 1])
    inside = [
        h
        for s, h in zip(scores, hits, strict=True)
        if s <= edges[k + 1] and (s > edges[k] or k == 0)
    ]
    return np.mean(inside) if inside else (k + 0.5) / bins
