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


# Full vectors ---------------------------------------------------------------------------------


def stick_breaking(row, maps, power, floor, margin=1e-6):
    """One row of masses as calibrated probabilities that keep its order; ranks from the top."""
    row = [max(m, floor) for m in row]
    K, order = len(row), ranked_classes([row])[0]
    q, left, most = [0.0] * K, 1.0, 1.0
    for r, gamma in enumerate(maps):
        rest = sum(row[k] for k in order[r + 1 :])
        asked = float(gamma.from_log_odds(np.log(row[order[r]]) - np.log(rest))) * left
        gap = 3 * margin if r == 0 else margin
        least = left / (1 + (K - 1 - r) * (1 - gap))
        q[order[r]] = max(min(asked, most), least)
        left, most = max(left - q[order[r]], 0.0), q[order[r]] * (1 - margin)
    others = order[len(maps) :]
    weights = {k: row[k] ** power for k in others}
    low, high = 0.0, 1e9 * most / min(weights.values())
    for _ in range(200):  # the scale s of min(s w, cap) by halving
        s = (low + high) / 2
        low, high = (
            (s, high) if sum(min(s * w, most) for w in weights.values()) < left else (low, s)
        )
    for k, w in weights.items():
        q[k] = min(high * w, most)
    return np.array(q)


def one_against_rest(eta_columns, maps):
    """A map for each class, and the row divided by its sum."""
    q = np.stack([g.from_log_odds(eta) for g, eta in zip(maps, eta_columns, strict=True)], axis=1)
    return np.array(
        [row / row.sum() if row.sum() > 0 else np.full(len(row), 1 / len(row)) for row in q]
    )
