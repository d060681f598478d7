"""The definitions, slow and obvious. Useful only for testing."""

import gzip
import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import expit, log_softmax, logit
from scipy.stats import beta as beta_distribution
from scipy.stats import chi2
from scipy.stats import gamma as gamma_distribution
from scipy.stats import t as student


def csv_records(text, separator=","):
    """The records of CSV, letter by letter: a quote opens and closes, two of them are one."""
    found, row, cell, quoted, was_quote = [], [], "", False, False
    for letter in text.replace("\r\n", "\n") + "\n":
        if was_quote and letter == '"':
            cell, quoted, was_quote = cell + '"', True, False
            continue
        was_quote = False
        if quoted:
            if letter == '"':
                quoted, was_quote = False, True
            else:
                cell += letter
        elif letter == '"':
            quoted = True
        elif letter == separator:
            row, cell = [*row, cell], ""
        elif letter == "\n":
            row, cell = [*row, cell], ""
            found += [row] if row != [""] else []  # a blank line is no record
            row = []
        else:
            cell += letter
    return found


def records(path):
    """How many records a file of predictions holds, counted by what its format says alone."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if path.suffix == ".npz":
        return len(np.load(path)["scores"])
    if path.suffix == ".parquet":
        return sum(1 for _ in pq.read_table(path).to_pylist())
    text = data.decode("utf-8-sig")
    if ".jsonl" in path.name:
        return sum(1 for line in text.split("\n") if line.strip())
    return len(csv_records(text)) - 1


def softmax(z):
    """One row at a time, in float128 where there is one."""
    z = np.asarray(z, dtype=np.longdouble)
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def at_base_rates(row, trained_at, base_rate):
    """Bayes' rule: probabilities of classes whose shares change, everything else alike."""
    likelihood = [Fraction(q) / Fraction(old) for q, old in zip(row, trained_at, strict=True)]
    joint = [x * Fraction(new) for x, new in zip(likelihood, base_rate, strict=True)]
    return [float(x / sum(joint)) for x in joint]


def em_base_rate(q, trained_at, steps=20_000):
    """Saerens' EM: shift all probabilities to the rate, take their mean as the rate, again."""
    rate = trained_at
    for _ in range(steps):
        odds = rate / (1 - rate) * (1 - trained_at) / trained_at
        rate = np.mean(q * odds / (q * odds + 1 - q))
    return rate


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


def event_log_odds(view, values, scores):
    """Log-odds of a view's event, ranked by values, where classes have the masses exp(scores)."""
    found = []
    for inside, row in zip(event(view, values), scores, strict=True):
        masses = [math.exp(s - max(row)) for s in row]
        own = sum(m for k, m in enumerate(masses) if k in inside)
        rest = sum(m for k, m in enumerate(masses) if k not in inside)
        found.append(math.log(own) - math.log(rest))
    return found


def scores_and_hits(view, values, probabilities, labels):
    """A view, read aloud."""
    events = event(view, values)
    scores = [sum(p[k] for k in event) for event, p in zip(events, probabilities, strict=True)]
    hits = [label in event for event, label in zip(events, labels, strict=True)]
    return np.array(scores, dtype=float), np.array(hits)


def exact_tail(view, row, kind):
    """The side (score > ½) and the tail min(score, 1 − score) of one row, from the given numbers.

    Of probabilities they are exact; rows whose sum is 1 but for rounding are not divided by it.
    Of logits the tail has 60 digits.
    """
    (chosen,) = event(view, [row])
    rest = set(range(len(row))) - chosen
    if kind == "logits":
        with localcontext() as context:
            context.prec = 80
            top = Decimal(float(max(row)))
            mass = [(Decimal(float(x)) - top).exp() if x > -np.inf else Decimal(0) for x in row]
            a, b = (sum(mass[k] for k in part) for part in (chosen, rest))
            tail = min(a, b) / (a + b)
            context.prec = 60
            return a > b, Fraction(+tail)
    p = [Fraction(float(x)) for x in row]
    score, total = sum(p[k] for k in chosen), sum(p)
    in_half = all(float(np.float16(x)) == float(x) for x in row)
    if abs(total - 1) > Fraction(len(row) + 2, 2**24) and not in_half:
        score /= total
    return score > Fraction(1, 2), min(score, 1 - min(score, 1))


def exact_groups(view, values, kind):
    """The rows of each exact score, in order of score: ((side, tail), rows)."""
    groups = {}
    for i, row in enumerate(values):
        groups.setdefault(exact_tail(view, row, kind), set()).add(i)
    return sorted(groups.items(), key=lambda item: (item[0][0], item[0][1] * (1 - 2 * item[0][0])))


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


def centred(logits):
    """Each row less the mean of its finite logits."""
    return np.array([row - row[np.isfinite(row)].mean() for row in np.asarray(logits, float)])


def matrix_loss(W, b, x, labels, strength=0.0, offset_strength=0.0, weights=None):
    """Mean cross-entropy of softmax(W x + b), and the two penalties of ODIR."""
    w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=float)
    total = 0.0
    for i, (row, label) in enumerate(zip(x, labels, strict=True)):
        total -= w[i] * np.log(softmax([W @ row + b])[0][label])
    off = sum(W[i, j] ** 2 for i in range(len(W)) for j in range(len(W)) if i != j)
    return float(total / w.sum() + strength * off + offset_strength * np.sum(np.square(b)))


def matrix_minimum(x, labels, strength, offset_strength):
    """W and b that minimise `matrix_loss`, by SciPy's L-BFGS from the identity on."""
    K, off, truth = x.shape[1], 1.0 - np.eye(x.shape[1]), np.eye(x.shape[1])[labels]

    def value_and_gradient(theta):
        W, b = theta[: K * K].reshape(K, K), theta[K * K :]
        a = log_softmax(x @ W.T + b, axis=1)
        rest = (np.exp(a) - truth) / len(x)
        value = -np.sum(a * truth) / len(x) + strength * np.sum(off * W**2)
        slopes = rest.T @ x + 2.0 * strength * off * W, rest.sum(axis=0) + 2 * offset_strength * b
        return value + offset_strength * np.sum(b**2), np.concatenate([s.ravel() for s in slopes])

    theta = np.concatenate([np.eye(K).ravel(), np.zeros(K)])
    for _ in range(3):  # a new start forgets what the last steps remembered
        options = {"maxiter": 10_000, "maxfun": 50_000, "ftol": 1e-16, "gtol": 1e-11, "maxcor": 50}
        theta = minimize(value_and_gradient, theta, jac=True, method="L-BFGS-B", options=options).x
    return theta[: K * K].reshape(K, K), theta[K * K :]


# Curve methods ------------------------------------------------------------------------------


def laplace(at, free, precision):
    """Return the log evidence at a mode, mean and covariance (d,), (d, d), degrees of freedom.

    free : which coefficients are not held at 0; precision : (d,) of their prior N(0, 1 / precision)
    """
    size = at.coef.size
    A, held = at.info[np.ix_(free, free)], np.diag(precision[free])
    q = at.info @ at.coef + at.score
    H = np.linalg.inv(A + held)
    log_z = (
        at.value - at.score @ at.coef - at.coef @ at.info @ at.coef / 2 + q[free] @ H @ q[free] / 2
    )
    log_z += (np.linalg.slogdet(held)[1] - np.linalg.slogdet(A + held)[1]) / 2
    mean, covariance = np.zeros(size), np.zeros((size, size))
    mean[free] = H @ q[free]
    covariance[np.ix_(free, free)] = H
    return log_z, mean, covariance, np.trace(H @ A)


def mixture(weight, means, covariances):
    """Return mean and covariance of a mixture of (k,) normals."""
    weight = np.asarray(weight) / np.sum(weight)
    mean = sum(w * m for w, m in zip(weight, means, strict=True))
    parts = zip(weight, means, covariances, strict=True)
    return mean, sum(w * (C + np.outer(m - mean, m - mean)) for w, m, C in parts)


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


# Measures: each by its definition, row after row.


def _weights(scores, weights):
    return np.ones(len(scores)) if weights is None else np.asarray(weights, dtype=float)


def kuiper(scores, hits, weights=None):
    """The range of the gap, which starts at 0."""
    gaps = [0.0] + [gap_at(t, scores, hits, weights) for t in scores]
    return max(gaps) - min(gaps)


def brier(scores, hits, weights=None):
    w = _weights(scores, weights)
    return sum(wi * (s - y) ** 2 for s, y, wi in zip(scores, hits, w, strict=True)) / w.sum()


def nll(scores, hits, weights=None):
    from math import log

    w = _weights(scores, weights)
    total = 0.0
    for s, y, wi in zip(scores, hits, w, strict=True):
        p = float(s) if y else 1 - float(s)  # of what came true
        total -= wi * log(max(p, 2.0**-52))
    return total / w.sum()


def spiegelhalter(scores, hits, weights=None, kind="repetition"):
    """The sum of (y − p)(1 − 2p) and its variance under calibration."""
    w = _weights(scores, weights)
    p = np.asarray(scores, dtype=float)
    square = w * w if kind == "sampling" else w
    top = np.sum(w * (hits - p) * (1 - 2 * p))
    return top, np.sum(square * (1 - 2 * p) ** 2 * p * (1 - p))


def bin_of(score, edges):
    """The bin whose left edge is below and whose right edge is not: 0 is in the first."""
    for b in range(len(edges) - 1):
        if score <= edges[b + 1]:
            return b
    raise AssertionError


def binned(scores, hits, edges, weights=None):
    """Rows, share of hits and mean score of each bin that is not empty."""
    w = _weights(scores, weights)
    cells = {}
    for s, y, wi in zip(scores, hits, w, strict=True):
        cells.setdefault(bin_of(s, edges), []).append((s, y, wi))
    result = []
    for rows in cells.values():
        n = sum(wi for _, _, wi in rows)
        if n > 0:
            rate = sum(wi * y for _, y, wi in rows) / n
            result.append((n, rate, sum(wi * s for s, _, wi in rows) / n))
    return result


def ece(scores, hits, edges, weights=None, norm="l1"):
    cells = binned(scores, hits, edges, weights)
    n = sum(cell[0] for cell in cells)
    gaps = [(m / n, abs(rate - mean)) for m, rate, mean in cells]
    if norm == "max":
        return max(gap for _, gap in gaps)
    if norm == "l1":
        return sum(share * gap for share, gap in gaps)
    return sum(share * gap**2 for share, gap in gaps) ** 0.5


def debiased_ece2(scores, hits, edges):
    """Kumar, Liang, Ma (2019): the noise of each bin is subtracted from its square."""
    cells = binned(scores, hits, edges)
    n = sum(cell[0] for cell in cells)
    total = 0.0
    for m, rate, mean in cells:
        noise = rate * (1 - rate) / (m - 1) if m > 1 else 0.0
        total += m / n * ((rate - mean) ** 2 - noise)
    return max(total, 0.0) ** 0.5


def equal_mass_edges(scores, bins):
    """The smallest scores up to which there are at least j / bins of the rows."""
    from fractions import Fraction

    s = sorted(scores)
    inner = [
        next(s[i] for i in range(len(s)) if Fraction(i + 1, len(s)) >= Fraction(j, bins))
        for j in range(1, bins)
    ]
    return [0.0, *sorted({x for x in inner if 0 < x < 1}), 1.0]


def isotonic_by_score(scores, hits, weights=None):
    """The isotonic regression of the hits: one value for each distinct score."""
    w = _weights(scores, weights)
    t = sorted({float(s) for s, wi in zip(scores, w, strict=True) if wi > 0})
    n = [sum(wi for s, wi in zip(scores, w, strict=True) if s == x) for x in t]
    k = [sum(wi * y for s, y, wi in zip(scores, hits, w, strict=True) if s == x) for x in t]
    return dict(zip(t, isotonic(np.array(k) / n, n), strict=True))


def corp(scores, hits, weights=None):
    """MCB, DSC and UNC of the Brier score."""
    fit = isotonic_by_score(scores, hits, weights)
    w = _weights(scores, weights)
    kept = w > 0
    s, y, w = np.asarray(scores, dtype=float)[kept], np.asarray(hits)[kept], w[kept]
    base = np.full(len(s), np.sum(w * y) / w.sum())
    best = brier([fit[x] for x in s], y, w)
    return brier(s, y, w) - best, brier(base, y, w) - best, brier(base, y, w)


def kde_ece(scores, hits, weights=None):
    """As Zhang et al. (2020) define it, as a sum over rows at each point of the grid.

    KDEpy scales a kernel to the standard deviation h; scores have one image, at the nearer end.
    """
    w = _weights(scores, weights)
    s, hit = np.asarray(scores, dtype=float), np.asarray(hits, dtype=bool)
    wh = w * hit
    if wh.sum() == 0:
        return None
    mean = np.sum(wh * s) / wh.sum()
    h = np.sqrt(np.sum(wh * (s - mean) ** 2) / wh.sum()) * (2 * w.sum()) ** -0.2
    triweight = 35 / 32 * np.polynomial.Polynomial([1, 0, -1]) ** 3
    moment = (triweight * np.polynomial.Polynomial([0, 0, 1])).integ()
    reach = h / np.sqrt(moment(1) - moment(-1))
    x = np.linspace(-0.6, 1.6, 2**14)
    if reach < x[1] - x[0]:
        return None
    x = x[(x >= 0) & (x <= 1)]

    def density(weight):
        total = np.zeros(x.size)
        for si, wi in zip(s, weight, strict=True):
            for image in (si, -si if si < 0.5 else 2 - si):
                u = (x - image) / reach
                total += wi * np.where(np.abs(u) < 1, triweight(u), 0)
        return total / weight.sum() / reach

    f, f1 = density(w), density(wh)
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.minimum(wh.sum() / w.sum() * f1 / f, 1)
        gap = np.where(np.maximum(f, f1) > 1e-6, np.abs(x - rate) * f, 0)
    return np.trapezoid(gap, x) / np.trapezoid(f, x)


def smoothed_residual(scores, hits, sigma, t, weights=None):
    """The mean residual under a Gaussian kernel reflected at 0 and 1, by its images."""
    w = _weights(scores, weights)
    total = np.zeros(len(t))
    for s, y, wi in zip(scores, hits, w, strict=True):
        for k in range(-4, 5):
            for image in (2 * k + s, 2 * k - s):
                kernel = np.exp(-(((t - image) / sigma) ** 2) / 2) / sigma / np.sqrt(2 * np.pi)
                total += wi * (y - s) * kernel
    return total / w.sum()


def smooth_error(scores, hits, sigma, weights=None, cells=2**13):
    """The integral of its absolute value."""
    t = np.arange(cells + 1) / cells
    return np.trapezoid(np.abs(smoothed_residual(scores, hits, sigma, t, weights)), t)


def null_extremes(scores, rng, draws, weights=None):
    """The lowest and highest point of N times the gap, for hits drawn from the scores."""
    order = np.argsort(scores)
    p, w = scores[order], (np.ones(scores.size) if weights is None else weights)[order]
    last = np.append(p[1:] != p[:-1], True)  # of a group of equal scores
    result = []
    for _ in range(draws):
        gap = np.cumsum(w * ((rng.random(p.size) < p) - p))[last]
        result.append((min(0.0, *gap), max(0.0, *gap)))
    return np.array(result)


def calibration_parts(scores, hits):
    """The p-values of the parts of the omnibus test, row by row."""
    from ogive._numerics.brownian import range_tail, supremum_tail

    order = np.argsort(scores, kind="stable")
    p, y = scores[order], np.asarray(hits)[order]
    eta, v, n = np.log(p) - np.log1p(-p), p * (1 - p), p.size
    last = np.append(p[1:] != p[:-1], True)
    gap = np.append(0.0, np.cumsum(y - p)[last]) / np.sqrt(v.sum())
    clock = np.empty(n)  # of equal scores: the middle of their rows, and of their variance
    for score in np.unique(p):
        same, below = p == score, p < score
        by_rows = (below.sum() + same.sum() / 2) / n
        by_variance = (v[below].sum() + v[same].sum() / 2) / v.sum()
        clock[same] = by_rows + by_variance - 1
    parts = {}
    for name, last_power in (("shape", 5), ("steps", 9)):
        columns = np.stack([np.ones(n), eta, *(clock**k for k in range(2, last_power + 1))], 1)
        U, information = columns.T @ (y - p), columns.T @ (v[:, None] * columns)
        parts[name] = chi2.sf(U @ np.linalg.solve(information, U), last_power + 1)
    for name, t in (("shift", np.ones(n)), ("temperature", eta)):
        z = t @ (y - p) / np.sqrt(t**2 @ v)
        skew = t**3 @ (v * (1 - 2 * p)) / (t**2 @ v) ** 1.5
        parts[name] = chi2.sf((z * np.exp(np.clip(-skew * z / 6, -0.5, 0.5))) ** 2, 1)
    parts["ks"] = supremum_tail(np.abs(gap).max())
    parts["kuiper"] = range_tail(gap.max() - gap.min())
    return parts


def average_likelihood_ratio(scores, hits):
    """The logarithm of the omnibus test's average, row by row from Bernoulli likelihoods."""
    order = np.argsort(scores, kind="stable")
    p, y = scores[order], np.asarray(hits)[order]
    eta, v, n = np.log(p) - np.log1p(-p), p * (1 - p), p.size
    by_rows, clock = np.empty(n), np.empty(n)
    for score in np.unique(p):
        same, below = p == score, p < score
        by_rows[same] = (below.sum() + same.sum() / 2) / n
        clock[same] = (by_rows[same] + (v[below].sum() + v[same].sum() / 2) / v.sum()) / 2

    def ratio(error, rows=slice(None)):
        q = 1 / (1 + np.exp(-eta - error))
        return np.prod(np.where(y, q / p, (1 - q) / (1 - p))[rows])

    def of_sizes(shape, up=0.5):
        error = shape / np.sqrt(v @ shape**2)
        return np.mean([up * ratio(t * error) + (1 - up) * ratio(-t * error) for t in (2, 3)])

    def of_ranges(ranges):
        inside = [np.where((clock >= low) & (clock < high), 1.0, 0.0) for low, high in ranges]
        return np.mean([of_sizes(shape) for shape in inside if shape.any()])

    columns = [np.ones(n), eta, *((2 * clock - 1) ** k for k in range(2, 6))]
    z, known, bent = [], [], []
    for column in columns:
        rest = column
        for _ in range(2):
            for other in known:
                rest = rest - (v @ (other * rest)) * other
        known.append(rest / np.sqrt(v @ rest**2))
        z.append(known[-1] @ (y - p))
        bent.append(-(known[-1] ** 3 @ (v * (1 - 2 * p))) / 6)
    z = np.array(z) * np.exp(np.clip(np.array(bent) * z, -0.5, 0.5))
    eighths = [(a / 8, b / 8) for a in range(8) for b in range(a + 1, 9)]
    tails = [side for t in (1 / 4, 1 / 8, 1 / 16, 1 / 32) for side in ((0, t), (1 - t, 1))]
    groups, (nodes, weights) = 1.0, np.polynomial.hermite_e.hermegauss(4)
    for g in range(10):
        rows = np.floor(by_rows * 10) == g
        if rows.any():
            each = [ratio(1.1 * x / np.sqrt(v[rows].sum()), rows) for x in nodes]
            groups *= each @ weights / weights.sum()
    average = (
        1.4 * of_sizes(np.ones(n))
        + 2.5 * of_sizes(eta, up=0.45)
        + 2.4 * of_ranges(eighths)
        + 0.3 * of_ranges(tails)
        + 3.2 * groups
        + 1.0 * np.prod(np.exp(0.5 * z**2 * 2.25 / 3.25) / np.sqrt(3.25))
    )
    return np.log(average / 10.8)


def holm(pvalues, level=0.05):
    """Reject the smallest while it is below level / (hypotheses left)."""
    left = sorted(range(len(pvalues)), key=lambda i: pvalues[i])
    rejected = set()
    while left and pvalues[left[0]] <= level / len(left):
        rejected.add(left.pop(0))
    return [i in rejected for i in range(len(pvalues))]


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


def power_of_others(rows, labels, ranks):
    """The power of the masses after the first ranks that is likeliest, with the prior N(1, 1)."""

    def loss(power):
        total = (power - 1) ** 2 / 2
        for row, label, order in zip(rows, labels, ranked_classes(rows), strict=True):
            others = order[ranks:]
            if label in others:
                total -= np.log(row[label] ** power / sum(row[k] ** power for k in others))
        return total

    return minimize_scalar(loss, (0.5, 2.0), tol=1e-7).x


def one_against_rest(eta_columns, maps):
    """A map for each class, and the row divided by its sum."""
    q = np.stack([g.from_log_odds(eta) for g, eta in zip(maps, eta_columns, strict=True)], axis=1)
    return np.array(
        [row / row.sum() if row.sum() > 0 else np.full(len(row), 1 / len(row)) for row in q]
    )


# Summaries: buckets of the place of a score, in Python's own integers.


def place(score):
    """The key without the hit: the bits of the tail, counted from the other end above ½."""
    import struct

    tail = min(score, 1.0 - score) + 0.0
    bits = struct.unpack("<Q", struct.pack("<d", tail))[0]
    return (1 << 63) - 1 - bits if score > 0.5 else bits


def summary(scores, hits, bits):
    """For each bucket: n, hits, sum of offsets, of the hits' offsets, smallest, largest place."""
    found = {}
    for score, hit in zip(scores, hits, strict=True):
        where = place(score)
        bucket, offset = where >> (52 - bits), where & ((1 << (52 - bits)) - 1)
        n, k, total, of_hits, first, last = found.get(bucket, (0, 0, 0, 0, where, where))
        found[bucket] = (
            n + 1,
            k + int(hit),
            total + offset,
            of_hits + offset * int(hit),
            min(first, where),
            max(last, where),
        )
    return found


def benjamini_hochberg(pvalues):
    """The smallest level at which each hypothesis is rejected, straight from the definition."""
    m = len(pvalues)
    ranked = sorted(pvalues)
    return [
        min(min(1.0, p * m / (j + 1)) for j, p in enumerate(ranked) if p >= own) for own in pvalues
    ]


def false_discovery(pvalues, families):
    """Benjamini and Hochberg within each family, times the number of families."""
    pvalues, families = np.asarray(pvalues, float), np.asarray(families)
    adjusted = np.empty(pvalues.size)
    for family in set(families.tolist()):
        own = np.flatnonzero(families == family)
        adjusted[own] = benjamini_hochberg(pvalues[own])
    return np.minimum(adjusted * len(set(families.tolist())), 1.0)


def worse_groups(names, rise, weights):
    """Groups of one column or both whose mean rise is above 0 by a t test; name -> mean rise."""
    found, families = {}, []
    for family, chosen in enumerate([(0,), (1,), (0, 1)]):
        for key in sorted({tuple(row[c] for c in chosen) for row in names.tolist()}):
            rows = np.array([tuple(row[c] for c in chosen) == key for row in names.tolist()])
            d, w = rise[rows], weights[rows]
            mean, n = np.sum(w * d) / w.sum(), w.sum() ** 2 / np.sum(w**2)
            error = np.sqrt(np.sum(w**2 * (d - mean) ** 2) * n / (n - 1)) / w.sum()
            values = dict(zip(chosen, key, strict=True))
            name = " | ".join(values.get(c, "*") for c in range(2))
            found[name] = (mean, student.sf(mean / error, n - 1))
            families.append(family)
    adjusted = false_discovery([p for _, p in found.values()], families)
    worse = {
        name: mean
        for (name, (mean, _)), p in zip(found.items(), adjusted, strict=True)
        if p <= 0.05 and mean > 0
    }
    return dict(sorted(worse.items(), key=lambda pair: -pair[1]))


def multicalibration_error(scores, outcomes, columns, depth, kind, weights=None):
    """The largest error of a group in units of its noise, and the error of that group.

    Groups: all rows, every value of a column, every combination of values of up to `depth` columns.
    Noise: the standard deviation of the summed outcomes under calibration, over the total weight.
    """
    scores, outcomes = np.asarray(scores, float), np.asarray(outcomes, float)
    weights = np.ones(scores.size) if weights is None else np.asarray(weights, float)
    best = (-1.0, 0.0)
    for size in range(depth + 1):
        for chosen in itertools.combinations(range(len(columns)), size):
            keys = [tuple(str(columns[c][i]) for c in chosen) for i in range(scores.size)]
            for key in set(keys):
                rows = np.array([k == key for k in keys])
                gaps = [0.0]
                for score in sorted(set(scores[rows].tolist())):
                    below = rows & (scores <= score)
                    gaps.append(float(np.sum((weights * (outcomes - scores))[below])))
                total = weights[rows].sum()
                error = max(map(abs, gaps)) if kind == "ks" else max(gaps) - min(gaps)
                noise = np.sqrt(np.sum((weights**2 * scores * (1 - scores))[rows]))
                best = max(best, (error / noise, error / total))
    return best


# The arena ------------------------------------------------------------------------------------


def left_out_gain(scores, hits, fit, clip=2.0**-52):
    """The mean log loss saved on each row by a map fitted to all others, and its error."""
    saved = []
    for i in range(len(scores)):
        others = np.arange(len(scores)) != i
        p = min(max(scores[i], clip), 1 - clip)
        q = float(fit(scores[others], hits[others])(scores[i]))
        q = min(max(q, clip), 1 - clip)
        saved.append(np.log(q / p) if hits[i] else np.log((1 - q) / (1 - p)))
    return np.mean(saved), np.std(saved) / np.sqrt(len(saved))


def places(row):
    """The place of each value, 1 for the least; equal ones share the mean of their places."""
    order = sorted(row)
    return [np.mean([i + 1 for i, x in enumerate(order) if x == value]) for value in row]


def shared_wins(table):
    """How often each column is the least of its row, shared where several are."""
    wins = [0.0] * len(table[0])
    for row in table:
        first = [m for m, x in enumerate(row) if x == min(row)]
        for m in first:
            wins[m] += 1 / len(first)
    return wins


def mean_of_drawn(table, family, drawn):
    """Column means over the rows of the families drawn, each as often as its family was."""
    rows = [row for name in drawn for row, of in zip(table, family, strict=True) if of == name]
    return np.mean(rows, axis=0)


def means_without_each(table, family):
    """Column means without each family in turn."""
    rest = [
        [r for r, of in zip(table, family, strict=True) if of != name]
        for name in sorted(set(family))
    ]
    return [np.mean(rows, axis=0) for rows in rest]


# --- the class structure: full vectors that know of classes -------------------------------------


def class_scores(a, theta, V_A, V_p):
    """Scores of one row of log-probabilities, term by term; theta holds v, u, c, M_A and M_p."""
    K, r = V_A.shape
    v, u, c = theta[:, 0], theta[:, 1], theta[:, 2]
    M_A, M_p = theta[:, 3 : 3 + r], theta[:, 3 + r :]
    scores = []
    for k in range(K):
        s = a[k] + v[k] * a[k] + u[k] * np.exp(a[k]) + c[k]
        for j in range(r):
            s += M_A[k, j] * sum(V_A[m, j] * a[m] for m in range(K))
            s += M_p[k, j] * sum(V_p[m, j] * np.exp(a[m]) for m in range(K))
        scores.append(s)
    return np.array(scores)


def pooled(p, a):
    """The vector nearest to p in which class a is no smaller than any other."""
    others = sorted((p[k] for k in range(len(p)) if k != a), reverse=True)
    level = max(
        [p[a]] + [(p[a] + sum(others[:c])) / (c + 1) for c in range(1, len(p))]
        if p[a] < others[0]
        else [p[a]]
    )
    return np.array([level if k == a else min(p[k], level) for k in range(len(p))])


def csv_lines(text):
    """The line, from 1, on which each record of a CSV text begins; empty lines are none.

    Letter by letter: a quote opens at the beginning of a cell, and closes unless it is doubled.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines, line, at, new_record, new_cell, quoted = [], 1, 0, True, True, False
    while at < len(text):
        letter = text[at]
        if new_record and letter != "\n":
            lines.append(line)
            new_record = False
        if quoted and text[at : at + 2] == '""':
            at += 1
        elif letter == '"' and (quoted or new_cell):
            quoted = not quoted
        new_cell = not quoted and letter in ",\n"
        if letter == "\n":
            line += 1
            new_record = not quoted
        at += 1
    return lines


def group_mode(offset, columns, hits, group, sizes):
    """Effects (d,) of each group and the log evidence of their sizes, all in one dense system.

    The log-odds of row i are offset + x'(T (u_g + m)), and u and m have the prior N(0, 1).
    """
    offset, X, hits = np.asarray(offset), np.asarray(columns).T * sizes, np.asarray(hits)
    names = sorted(set(group))
    d = X.shape[1]
    blocks = [X * (np.asarray(group) == name)[:, None] for name in names]
    design = np.hstack([*blocks, X])  # u of each group, then m
    coef = np.zeros(design.shape[1])

    def value(coef):
        logit = offset + design @ coef
        return hits @ logit - np.logaddexp(0.0, logit).sum() - 0.5 * coef @ coef

    for _ in range(200):
        p = 1.0 / (1.0 + np.exp(-(offset + design @ coef)))
        second = (design.T * (p * (1 - p))) @ design + np.eye(coef.size)
        step = np.linalg.solve(second, design.T @ (hits - p) - coef)
        while value(coef + step) < value(coef) and np.abs(step).max() > 1e-12:
            step /= 2
        coef = coef + step
    u, m = coef[:-d].reshape(-1, d), coef[-d:]
    without = hits @ offset  # the library leaves out what no size changes
    evidence = value(coef) - without - 0.5 * np.linalg.slogdet(second)[1]
    return dict(zip(names, (u + m) * sizes, strict=True)), evidence


def watch(days, fit, *, growth, fewest):
    """The bets of all starts, row by row: log of the mixture after each day.

    days : lists of (score, outcome); fit : from such a list to a map of one score
    growth, fewest : when a map is fitted again, and outcomes of both kinds that a first one needs
    """
    evidence, maps, found = [], [], []
    for today, rows in enumerate(days, start=1):
        for s in range(today - 1):
            past = [row for day in days[s : today - 1] for row in day]
            ones = sum(y for _, y in past)
            if maps[s] is None or len(past) >= growth * maps[s][1]:
                enough = min(ones, len(past) - ones) >= fewest
                maps[s] = (fit(past), len(past)) if enough else None
            for score, y in rows if maps[s] is not None else ():
                q = maps[s][0](score)
                evidence[s] *= q / score if y else (1 - q) / (1 - score)
        evidence.append(first_bet(rows))
        maps.append(None)
        weights = [1 / (s * (s + 1)) for s in range(1, today + 1)]
        born = sum(w * e for w, e in zip(weights, evidence, strict=True))
        found.append(np.log(born + 1 - sum(weights)))
    return found


def first_bet(rows):
    """What a start gains on its own first day: 0.9, and a tenth on eight lines of 3 errors."""
    eta = [np.log(p / (1 - p)) for p, _ in rows]
    info = [p * (1 - p) for p, _ in rows]
    centre = np.average(eta, weights=info)
    spread = sum(v * (e - centre) ** 2 for v, e in zip(info, eta, strict=True)) or 1.0
    products = []
    for k in range(8):
        product = 1.0
        for (p, y), e in zip(rows, eta, strict=True):
            along = np.sin(k * np.pi / 4) * (e - centre) / np.sqrt(spread)
            move = 3 * (np.cos(k * np.pi / 4) / np.sqrt(sum(info)) + along)
            move = min(max(move, -5.0), 5.0)
            q = 1 / (1 + np.exp(-e - move))
            product *= q / p if y else (1 - q) / (1 - p)
        products.append(product)
    return 0.9 + 0.1 * np.mean(products)


def gamma_ends(total, variance, unit):
    """The 95 % interval of a sum's mean: a gamma distribution, with half a row added (Jeffreys)."""
    if total == 0:
        return 0.0, unit * gamma_distribution.ppf(0.975, 1.0)  # Garwood's exact interval of none
    scale = max(variance, unit**2) / total
    shape = total / scale + 0.5
    return tuple(gamma_distribution.ppf(level, shape, scale=scale) for level in (0.025, 0.975))


def _hits_ends(rows, residuals, clusters=None):
    """The interval of the weight of outcomes 1: from ones and from zeros, by how rare they are."""
    n = sum(w for _, _, w, _ in rows)
    hits = sum(w for _, y, w, _ in rows if y)
    unit = sum(v for *_, v in rows) / n
    variance = sum(v * r**2 for (*_, v), r in zip(rows, residuals, strict=True))
    if clusters is not None:
        w = np.array([w for _, _, w, _ in rows])
        own = [clusters == name for name in set(clusters)]
        sums = np.array([(w * residuals)[at].sum() for at in own])
        variance *= few_clusters(sums, np.array([w[at].sum() for at in own]))
    ones = [min(end, n) for end in gamma_ends(hits, variance, unit)]
    zeros = [min(end, n) for end in gamma_ends(n - hits, variance, unit)]
    rare = 1 - hits / n
    low, high = (rare * a + (1 - rare) * (n - b) for a, b in zip(ones, zeros[::-1], strict=True))
    return min(low, hits), max(high, hits)


def _rows(scores, hits, weights, kind, times=1.0):
    """Rows of score, outcome, weight and what its square counts."""
    w = _weights(scores, weights)
    square = times * (w**2 if kind == "sampling" else w)
    return list(zip(scores, hits, w, square, strict=True))


def oe_ratio(scores, hits, weights=None, kind="repetition", *, clusters=None):
    """Outcomes seen over outcomes expected, with its interval."""
    alike = 1.0 if clusters is None else design_effect(scores, hits, clusters, weights, kind)
    rows = _rows(scores, hits, weights, kind, alike)
    expected = sum(w * p for p, _, w, _ in rows)
    ratio = sum(w * y for _, y, w, _ in rows) / expected
    ends = _hits_ends(rows, [y - ratio * p for p, y, _, _ in rows], clusters)
    return ratio, ends[0] / expected, ends[1] / expected


def intercept(eta, hits, weights=None, kind="repetition", *, clusters=None):
    """The shift of log-odds that makes the mean right, with its interval."""
    of = (hits, clusters, weights, kind)
    alike = 1.0 if clusters is None else design_effect(expit(eta), *of)
    rows = _rows(eta, hits, weights, kind, alike)

    def shift(wanted):
        def short(a):
            return sum(w * expit(a + x) for x, _, w, _ in rows) - wanted

        return brentq(short, -60, 60, xtol=1e-13)

    n, seen = (sum(w for _, y, w, _ in rows if y or every) for every in (True, False))
    value = shift(seen)
    low, high = _hits_ends(rows, [y - expit(value + x) for x, y, _, _ in rows], clusters)
    return value, shift(low), shift(high) if high < n else np.inf


def few_clusters(sums, sizes):
    """Student's quantile over the normal one, squared; `sums` and `sizes` of each cluster."""
    off = sums - sizes * sums.sum() / sizes.sum()
    kish = sizes.sum() ** 2 / np.sum(sizes**2)
    satterthwaite = 2 / (np.sum(off**4) / np.sum(off**2) ** 2 - 1 / len(sums))
    freedom = max(min(kish, satterthwaite) - 1, 1)
    return (student.ppf(0.975, freedom) / 1.959963984540054) ** 2


def alike_in_clusters(eta, p, w, square, clusters):
    """Moulton's correlation of the scores of a cluster, over all pairs of its rows."""
    v = p * (1 - p)
    x = eta - np.sum(w * v * eta) / np.sum(w * v)
    shares = []
    for each in (v * x, v):
        pairs = 0.0
        for name in set(clusters):
            own = clusters == name
            pairs += np.sum(np.outer((w * each)[own], (w * each)[own]))
        rows = np.sum(square * each**2)
        shares.append((pairs - rows) / rows)
    return min(max(shares[0] / shares[1], 0), 1)


def slope(eta, hits, weights=None, kind="repetition", *, clusters=None):
    """The slope of logistic regression, and all slopes whose likelihood is near enough."""
    w = _weights(eta, weights)
    square = w**2 if kind == "sampling" else w
    worth = w.sum() / square.sum()  # Kish: rows that a unit of weight is worth

    def loss(line):
        logit = line[0] + line[1] * eta
        return worth * np.sum(w * (np.logaddexp(0, logit) - hits * logit))

    def profile(b):
        return minimize_scalar(lambda a: loss((a, b)), bracket=(-1, 1), tol=1e-13).fun

    X = np.column_stack([np.ones_like(eta), eta])

    def gradient(line):
        return worth * X.T @ (w * (expit(X @ line) - hits))

    best = minimize(loss, [0.0, 1.0], jac=gradient, options={"gtol": 1e-9})
    p = expit(X @ best.x)
    inverse = np.linalg.inv((X.T * (worth * w * p * (1 - p))) @ X)
    middle = (X.T * (worth**2 * square * (hits - p) ** 2)) @ X
    robust = (inverse @ middle @ inverse)[1, 1]
    skewness = 0.0
    if clusters is not None:
        moves, sizes = [], []
        for name in set(clusters):
            rest, own = clusters != name, clusters == name
            information = (X[rest].T * (worth * w * p * (1 - p))[rest]) @ X[rest]
            step = worth * X[own].T @ (w * (hits - p))[own]
            moves.append((np.linalg.inv(information) @ step)[1])
            sizes.append(w[own].sum())
        moves = np.array(moves)
        jackknife = (len(moves) - 1) * np.mean((moves - moves.mean()) ** 2)
        jackknife *= few_clusters(moves, np.array(sizes))
        off = moves - np.array(sizes) * moves.sum() / np.sum(sizes)
        skewness = np.sum(off**3) / np.sum(off**2) ** 1.5
        factor = design_effect(expit(eta), hits, clusters, weights, kind)
        robust = max(jackknife, robust * (1 + alike_in_clusters(eta, p, w, square, clusters)
                                          * (factor - 1)))  # fmt: skip
    wider = max(robust / inverse[1, 1], 1.0)
    rarer = worth * min(np.sum(w * hits), np.sum(w * ~hits.astype(bool)))
    z, far, ends = 1.959963984540054, 30 * np.sqrt(wider * inverse[1, 1]), []
    for side in (-1, 1):
        longer = 1 + (2 * z**2 + 1) / (6 * z) * max(side * skewness, 0.0)
        edge = best.fun + wider * longer**2 * student.ppf(0.975, 4 * rarer) ** 2 / 2
        low, high = sorted((best.x[1], best.x[1] + side * far))
        ends.append(brentq(lambda b, edge=edge: profile(b) - edge, low, high))
    return best.x[1], *ends


def distances(calibrator, scores, weights=None, *, hits=None, biased=False):
    """Mean, median, 90 % quantile and maximum of |γ(p) − p| over the rows.

    hits : take Platt's line of what γ gives, which does not lean towards leaving scores alone
    biased : as large as the bias that the band of γ allows for can make each
    """
    w = _weights(scores, weights)
    line = logit(calibrator(scores))
    if hits is not None:
        intercept, slope = platt(line, hits)
        line = intercept + slope * line
    error = np.abs(expit(line) - scores)
    for side in (-1, 1) if biased else ():
        bias = np.interp(logit(scores), calibrator.knots, calibrator.bias)
        error = np.maximum(error, np.abs(expit(line + side * bias) - scores))
    rows = sorted(zip(error, w, strict=True))
    quantiles = []
    for level in (0.5, 0.9):
        passed = 0.0
        for one, weight in rows:
            passed += weight
            if passed >= level * w.sum() - 1e-9:
                quantiles.append(one)
                break
    return np.sum(w * error) / w.sum(), *quantiles, error[w > 0].max()


def refinement(parts, fit, whole):
    """The log loss of rows calibrated by a fit to the other parts, row by row, and its interval."""
    hits, misses, scores = [], [], []
    for rest, part in parts:
        calibrated = fit(rest)(part.score)
        for p, n, k in zip(calibrated, part.count, part.hits, strict=True):
            hits += [-np.log(p)] * int(k)
            misses += [-np.log1p(-p)] * int(n - k)
            scores += [p] * int(n)
    n, p = len(scores), np.mean(scores)
    sums = [(sum(x), sum(y * y for y in x)) for x in (hits, misses)]
    down, up = joined_parts([(*sums[0], -np.log(p)), (*sums[1], -np.log1p(-p))], n, n)
    mean = (sum(hits) + sum(misses)) / n
    q = fit(whole)(whole.score)
    seen = -np.sum(whole.hits * np.log(q) + (whole.count - whole.hits) * np.log1p(-q)) / n
    return mean, max(mean - down - max(mean - seen, 0), 0), mean + up


def expected_cost(scores, hits, threshold, miss, alarm, weights=None):
    """Row by row: what each decision costs, averaged."""
    w = _weights(scores, weights)
    costs = []
    for score, hit in zip(scores, hits, strict=True):
        acted = score >= threshold
        costs.append(alarm if acted and not hit else miss if hit and not acted else 0.0)
    return float(np.average(costs, weights=w))


def cost_interval(scores, hits, threshold, miss, alarm, weights=None, kind="repetition"):
    """The 95 % interval of the expected cost: misses and alarms as shares of rows times a size."""
    w = _weights(scores, weights)
    square = w**2 if kind == "sampling" else w
    parts = []
    for size, of_hits in ((miss, True), (alarm, False)):
        rows = [i for i, (s, y) in enumerate(zip(scores, hits, strict=True))
                if y == of_hits and (s >= threshold) != of_hits]  # fmt: skip
        sums = size * sum(w[i] for i in rows), size**2 * sum(square[i] for i in rows)
        parts.append((*sums, size))
    down, up = joined_parts(parts, w.sum(), w.sum() ** 2 / square.sum())
    value = expected_cost(scores, hits, threshold, miss, alarm, weights)
    return value - down, value + up


def joined_parts(parts, weight, n):
    """How far below and above a mean of parts its ends are: shares of n rows times a size.

    parts : (sum of w x, sum of w² x², the size where that is 0), and a sign if not 1
    """
    ends = []
    for total, squares, size, *sign in parts:
        k = min(total**2 / squares, n) if total else 0.0
        one = total / weight / (k / n) if total else size  # the mean, if every row were one
        low = beta_distribution.ppf(0.025, k + 0.25, n - k + 0.75) if k else 0.0
        high = beta_distribution.ppf(0.975, k + 0.75, n - k + 0.25) if k < n else 1.0
        both = one * (k / n - low), one * (high - k / n)
        ends.append((k / n, *sign, *both[::-1]) if sign == [-1] else (k / n, 1, *both))
    down = up = 0.0
    for i, (p, s, *a) in enumerate(ends):
        for j, (q, t, *b) in enumerate(ends):
            full = p >= 1 or q >= 1
            odds = float(p * q > 0) if full else min(p * q / ((1 - p) * (1 - q)), 1.0)
            r = 1.0 if i == j else -s * t * np.sqrt(odds)
            down, up = down + r * a[0] * b[0], up + r * a[1] * b[1]
    return np.sqrt(max(down, 0.0)), np.sqrt(max(up, 0.0))


def mean_of_sizes(x, most, weights=None, kind="repetition"):
    """The 95 % interval of a mean: rows of one sign and of a size from 2^j to 2^(j + 1) are a part.

    most : the largest and the smallest number that a row can add; each is a part if no row adds it
    """
    w = _weights(x, weights)
    square = w**2 if kind == "sampling" else w
    parts = []
    for sign in (1, -1):
        rows = [i for i in range(len(x)) if sign * x[i] > 0]
        worst = max(0.0, *(sign * y for y in most))
        sizes = {float(np.floor(np.log2(y))) for y in [abs(x[i]) for i in rows] + [worst] if y > 0}
        for j in sizes:
            own = [i for i in rows if 2**j <= abs(x[i]) < 2 ** (j + 1)]
            total = sum(w[i] * abs(x[i]) for i in own)
            parts.append((total, sum(square[i] * x[i] ** 2 for i in own), worst, sign))
    down, up = joined_parts(parts, w.sum(), w.sum() ** 2 / square.sum())
    mean = np.average(x, weights=w)
    return mean, mean - down, mean + up


def best_cost(scores, hits, miss, alarm, weights=None):
    """The lowest cost of any threshold: all scores are tried, and one above them."""
    tried = [*scores, 2.0]
    return min(expected_cost(scores, hits, t, miss, alarm, weights) for t in tried)


def net_benefit(scores, hits, t, weights=None):
    """As dcurves has it: true positives minus false positives at the odds of the threshold."""
    w = _weights(scores, weights)
    acted, hits = np.asarray(scores) >= t, np.asarray(hits, dtype=bool)
    tp, fp = w[acted & hits].sum() / w.sum(), w[acted & ~hits].sum() / w.sum()
    everyone = w[hits].sum() / w.sum() - w[~hits].sum() / w.sum() * t / (1 - t)
    value = tp - fp * t / (1 - t)
    avoided = (value - everyone) / (t / (1 - t)) if t else np.nan
    return value, everyone, avoided


def normalised_cost(scores, hits, x, threshold, weights=None):
    """Drummond and Holte: rates of misses and alarms, each with its share of the largest cost."""
    w = _weights(scores, weights)
    acted, hits = np.asarray(scores) >= threshold, np.asarray(hits, dtype=bool)
    misses = w[hits & ~acted].sum() / w[hits].sum()
    alarms = w[~hits & acted].sum() / w[~hits].sum()
    return misses * x + alarms * (1 - x)


def limited_threshold(scores, hits, miss, alarm, capacity=None, precision=None):
    """The lowest threshold, from the best one on, at which the limits hold."""
    best = alarm / (miss + alarm)
    for t in sorted({best, *(s for s in scores if s > best), 2.0}):
        acted = [i for i, s in enumerate(scores) if s >= t]
        if capacity is not None and len(acted) > capacity:
            continue
        if precision is not None:
            if not acted:
                return None
            reached = min(np.mean([x[i] for i in acted]) for x in (scores, hits))
            if reached < precision - 1e-12:
                continue
        return acted
    return None


def expected_auc(q, weights=None):
    """The weight of pairs of outcomes 1 and 0 in order, over that of all pairs of two rows."""
    w = _weights(q, weights)
    rows = [p for p, k in zip(q, w, strict=True) for _ in range(int(k))]
    in_order = pairs = 0.0
    for i, p in enumerate(rows):
        for j, r in enumerate(rows):
            if i != j:
                pairs += p * (1 - r)
                in_order += p * (1 - r) * ((p > r) + 0.5 * (p == r))
    return in_order / pairs if pairs > np.finfo(float).tiny else np.nan  # a subnormal has no digits


def venn_abers(scores, outcomes, new, weights=None):
    """p0 and p1 at a new score: isotonic regression of the rows and the new one, with each outcome.

    The new row weighs 1.
    """
    w = np.append(_weights(scores, weights), 1.0)
    rows = np.append(scores, new)
    return tuple(isotonic_by_score(rows, np.append(outcomes, y), w)[float(new)] for y in (0, 1))


def clustered(seed, clusters=12, rows=8, icc=0.4, factor=1.0):
    """Scores, outcomes and clusters; outcomes of one cluster are alike, and the scores right.

    A row takes the draw of its cluster with the probability √icc, else its own.
    """
    rng = np.random.default_rng(seed)
    code = np.repeat(np.arange(clusters), rows)
    eta = 0.5 + rng.normal(size=clusters)[code] + rng.normal(size=code.size)
    shared = rng.random(code.size) < np.sqrt(icc)
    draw = np.where(shared, rng.random(clusters)[code], rng.random(code.size))
    return 1 / (1 + np.exp(-factor * eta)), draw < 1 / (1 + np.exp(-eta)), code


def design_effect(scores, hits, clusters, weights=None, kind="repetition"):
    """The variance of the mean residual with whole clusters, over that of single rows."""
    w = np.ones(len(scores)) if weights is None else np.asarray(weights, dtype=float)
    names = sorted(set(clusters))
    ranges = min(max(len(names) // 10, 1), 10)
    total = {s: w[scores == s].sum() for s in sorted(set(scores))}
    before, place = 0.0, {}
    for score, size in total.items():
        place[score] = min(int(ranges * (before + size / 2) / w.sum()), ranges - 1)
        before += size
    of = np.array([place[s] for s in scores])
    residual = hits - np.asarray(scores, dtype=float)
    for r in range(ranges):
        inside = of == r
        if inside.any():
            residual[inside] -= np.average(residual[inside], weights=w[inside])
    between = sum(sum((w * residual)[np.asarray(clusters) == name]) ** 2 for name in names)
    alone = sum((w**2 if kind == "sampling" else w) * residual**2)
    return max(len(names) / (len(names) - 1) * between / alone, 1.0)


def sign_flip_pvalue(scores, hits, clusters, *, kuiper=False):
    """The share of all 2^G signs of clusters whose error is at least the observed one."""
    names, steps = sorted(set(clusters)), []
    for name in names:
        own = np.asarray(clusters) == name
        steps.append([(hits - scores)[own & (scores <= t)].sum() for t in sorted(set(scores))])
    steps = np.array(steps)

    def size(walk):
        low, high = min(walk.min(), 0.0), max(walk.max(), 0.0)
        return high - low if kuiper else max(high, -low)

    signs = 1 - 2 * ((np.arange(2 ** len(names))[:, None] >> np.arange(len(names))) & 1)
    sizes = np.array([size(row @ steps) for row in signs])
    return np.mean(sizes >= size(steps.sum(axis=0)) - 1e-9)


def shared_draw_likelihood(scores, hits, clusters, share):
    """The log-likelihood if rows take the draw of their cluster with the probability `share`."""
    total = 0.0
    for name in set(clusters):
        p, y = scores[clusters == name], hits[clusters == name]
        ends = np.concatenate([[0.0], np.sort(p), [1.0]])
        likelihood = 0.0
        for low, high in itertools.pairwise(ends):
            rate = share * (p > (low + high) / 2) + (1 - share) * p  # given the cluster's draw
            likelihood += (high - low) * np.prod(np.where(y, rate, 1 - rate))
        total += np.log(likelihood)
    return total


def clustered_error(values, clusters, weights=None):
    """The standard error of a weighted mean whose rows come in clusters."""
    w = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    off = w * (values - np.average(values, weights=w)) / w.sum()
    sums = [off[clusters == name].sum() for name in set(clusters)]
    size = [w[clusters == name].sum() / w.sum() for name in set(clusters)]
    kish = 1 / np.sum(np.square(size))
    return np.sqrt(kish / (kish - 1) * np.sum(np.square(sums)))


def base_rates_by_em(q, trained_at, steps=2000):
    """Saerens, Latinne and Decaestecker (2002): reweigh the vectors, average, and again."""
    rates = np.array(trained_at, dtype=float)
    for _ in range(steps):
        rates = np.mean([row / row.sum() for row in q * (rates / trained_at)], axis=0)
    return rates


def hat_limits(knots, k, eta, hits, line, most):
    """How far below and above `line` a hat at knot k may move it, by likelihood."""
    hat = np.interp(eta, knots, np.eye(len(knots))[k])

    def deviance(t):
        p = expit(line + t * hat)
        return -2 * sum(
            math.log(max(q if y else 1 - q, 1e-300)) for q, y in zip(p, hits, strict=True)
        )

    best = minimize_scalar(deviance, bounds=(-72, 72), method="bounded", options={"xatol": 1e-9})
    limit = min(best.fun, deviance(-72), deviance(72)) + most
    ends = []
    for side in (-1, 1):
        if deviance(side * 72) <= limit:
            ends.append(72.0)
        else:
            ends.append(max(side * brentq(lambda t: deviance(t) - limit, best.x, side * 72), 0.0))
    return ends


def spline_deviation(gamma, eta):
    """The posterior standard deviation of l, with that of the slope beyond the ends."""
    ends = gamma._ends
    seen = eta if ends is None else np.clip(eta, *ends.place)
    rows = gamma._spline.basis(seen)
    variance = np.einsum("ij,jk,ik->i", rows, gamma.covariance, rows)
    if ends is not None:
        width = gamma.knots[-1] - gamma.knots[0]
        for side, place, slope in zip((-1.0, 1.0), ends.place, ends.slope, strict=True):
            row = np.diff(gamma._spline.basis(np.array([place, place + side * width])), axis=0)[0]
            row /= side * width  # the spline is straight there
            cut = row @ gamma.values - slope
            spread = row @ gamma.covariance @ row + cut**2 + ((gamma.rise or 0.0) / 2.0) ** 2
            variance += np.maximum(side * (eta - place), 0.0) ** 2 * spread
    return np.sqrt(np.maximum(variance, 0.0))


def spline_half_width(gamma, eta, side):
    """How far the pointwise band of a spline reaches on a side: 2 √(variance + bias²), or cut."""
    factor = 2.24 if gamma.bias is None else 2.0
    bias = 0.0 if gamma.bias is None else np.interp(eta, gamma.knots, gamma.bias)
    half = factor * np.hypot(spline_deviation(gamma, eta), bias)
    if gamma.cut is None or gamma._ends is None:
        return half
    seen = np.clip(eta, *gamma._ends.place)
    bias = 0.0 if gamma.bias is None else np.interp(seen, gamma.knots, gamma.bias)
    at_end = factor * np.hypot(spline_deviation(gamma, seen), bias)
    left = np.minimum(at_end, np.interp(seen, gamma.knots, gamma.cut[0, int(side > 0)]))
    return np.sqrt(np.maximum(left**2 + half**2 - at_end**2, 0.0))
