"""How close any test can come to the best of four: `python -m tests.slow.bound_simulations`.

The four single tests are those of `omnibus_simulations`. The bound is that of Neyman and Pearson:
for given weights of alternatives no test of level 5 % has a larger mean power than the test of
their mean likelihood ratio, and the worst loss of a test is at least its mean loss.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, chndtr, gammaln, ive

from tests.slow.omnibus_simulations import LAWS, SINGLE, expit

VALUES, GROUPS = 100, 10
SLOPE, SPHERE = "slope", "ten groups"
#: The least favourable weights found for uniform scores, with other random numbers: by
#: multiplicative weights over slopes, the shifts of all 55 ranges between tenths of the rows, and
#: errors of the ten groups. (a, b) is a shift of the scores from the a-th tenth to the b-th.
WEIGHTS = {
    SLOPE: 0.40,
    SPHERE: 0.25,
    (0, 10): 0.10,
    (0, 9): 0.09,
    (0, 8): 0.08,
    (2, 7): 0.03,
    (3, 8): 0.03,
    (2, 9): 0.02,
}
#: The size of each error, in deviations from calibration, and the single test that finds it best.
#: The sizes are such that this test has a power of about 0.57.
SIZES = {
    SLOPE: (2.13, "Spiegelhalter"),
    SPHERE: (3.25, "Hosmer-Lemeshow"),
    (0, 10): (2.20, "KS"),
    (0, 9): (2.20, "KS"),
    (0, 8): (2.20, "KS"),
    (2, 7): (2.37, "Kuiper"),
    (3, 8): (2.37, "Kuiper"),
    (2, 9): (2.26, "Kuiper"),
}


class Limit:
    """Many rows with scores of 100 different values, the percentiles of a law.

    z are their surpluses in standard deviations, (samples, 100): N(0, 1) if the scores are right,
    N(mean, 1) if their log-odds are wrong by mean / deviation.
    """

    def __init__(self, law):
        at = (np.arange(VALUES) + 0.5) / VALUES
        e = np.quantile(LAWS[law](np.random.default_rng(0), 1_000_000), at)
        self.p = expit(e)
        self.deviation = np.sqrt(self.p * (1.0 - self.p))
        member = np.eye(GROUPS)[np.arange(VALUES) * GROUPS // VALUES]
        variance = self.deviation**2 @ member
        self._groups = self.deviation[:, None] * member / np.sqrt(variance)
        mean = self.p @ member / (VALUES // GROUPS)
        self._weight = variance / (VALUES // GROUPS * mean * (1.0 - mean))
        self._slope = unit((1.0 - 2.0 * self.p) * self.deviation)
        lines = np.stack([self.deviation, e * self.deviation], axis=1)
        # Errors that are constant in each group, without those that lines in log-odds explain.
        every = np.linalg.qr(np.hstack([self._groups.T @ lines, np.eye(GROUPS)]))[0]
        self.rest = self._groups @ every[:, 2:]

    def tests(self, z):
        """The statistics of the four single tests, {name: (samples,)}."""
        walk = np.cumsum(z * self.deviation, axis=1)
        high, low = np.maximum(walk.max(axis=1), 0.0), np.minimum(walk.min(axis=1), 0.0)
        groups = (z @ self._groups) ** 2 @ self._weight
        found = np.maximum(high, -low), high - low, groups, np.abs(z @ self._slope)
        return dict(zip(SINGLE, found, strict=True))

    def draw(self, name, samples, rng):
        """Surpluses if the scores are wrong in the named way."""
        z, size = rng.standard_normal((samples, VALUES)), SIZES[name][0]
        if name != SPHERE:
            return z + size * self.direction(name)
        u = rng.standard_normal((samples, self.rest.shape[1]))
        return z + size * (u / np.linalg.norm(u, axis=1, keepdims=True)) @ self.rest.T

    def direction(self, name):
        """The mean of the surpluses, of length 1."""
        if name == SLOPE:
            return self._slope
        tenth = np.arange(VALUES) * GROUPS // VALUES
        return unit(self.deviation * ((tenth >= name[0]) & (tenth < name[1])))

    def ratio(self, name, z):
        """The likelihood ratio of an error of either sign; of "ten groups", of any direction."""
        size = SIZES[name][0]
        if name != SPHERE:
            return np.cosh(size * (z @ self.direction(name))) * np.exp(-(size**2) / 2)
        return sphere_ratio(z @ self.rest, size)


def unit(x):
    return x / np.linalg.norm(x)


def sphere_ratio(z, size):
    """The mean likelihood ratio of normal means of a size in all directions, (samples,)."""
    order, x = z.shape[1] / 2 - 1, size * np.linalg.norm(z, axis=1)
    return np.exp(gammaln(order + 1) + order * np.log(2 / x) + x - size**2 / 2) * ive(order, x)


def loss_of_any_test(law="uniform", batches=10, samples=30_000, seed=0):
    """The mean loss of the test of the mean likelihood ratio, and its standard error.

    Also {alternative: (power of the single test, loss of the test of the mean ratio)}.
    """
    limit, losses = Limit(law), []
    for batch in range(batches):
        rng = np.random.default_rng([seed, batch])
        parts = [rng.standard_normal((samples, VALUES)) for _ in range(3)]
        ratio = np.concatenate([mean_ratio(limit, z) for z in parts])
        single = [limit.tests(z) for z in parts]
        least = np.quantile(ratio, 0.95)
        found = []
        for name in WEIGHTS:
            z, test = limit.draw(name, samples, rng), SIZES[name][1]
            alone = np.quantile(np.concatenate([rows[test] for rows in single]), 0.95)
            power = np.mean(limit.tests(z)[test] > alone)
            found.append((power, power - np.mean(mean_ratio(limit, z) > least)))
        losses.append(found)
    table = np.array(losses)
    each = table[:, :, 1] @ np.array(list(WEIGHTS.values()))
    rows = dict(zip(WEIGHTS, table.mean(axis=0), strict=True))
    return each.mean(), each.std(ddof=1) / np.sqrt(batches), rows


def mean_ratio(limit, z):
    return sum(weight * limit.ratio(name, z) for name, weight in WEIGHTS.items())


OTHER_LAWS = ("wide", "heavy tails", "two humps", "confident")
POWER = 0.65  # of the bounds beside the best test of each of some directions


def distance(freedom):
    """How far a normal mean is from 0 if the chi-square test finds it with POWER at 5 %."""
    limit = chdtri(freedom, 0.05)
    return np.sqrt(brentq(lambda x: 1.0 - chndtr(limit, freedom, x) - POWER, 0.01, 99.0))


def loss_beside_directions(k, samples=100_000, seed=0):
    """What any test loses beside the best tests of k orthogonal directions and Hosmer-Lemeshow's.

    z is N(mu, 1) in ten dimensions; mu is along one of k axes, or anywhere on a sphere.
    """
    rng, radius = np.random.default_rng(seed), distance(GROUPS)
    means = distance(1) * np.eye(GROUPS)[:k]
    heights = np.exp(-(means**2).sum(axis=1) / 2)

    def ratios(z):
        return np.column_stack([heights * np.cosh(z @ means.T), sphere_ratio(z, radius)])

    def losses(weights):
        z, u = rng.standard_normal((2, samples, GROUPS))
        u *= radius / np.linalg.norm(u, axis=1, keepdims=True)
        limit = np.quantile(ratios(z) @ weights, 0.95)
        return POWER - np.array([np.mean(ratios(z + mu) @ weights >= limit) for mu in (*means, u)])

    weights = np.full(k + 1, 1.0 / (k + 1))
    for step in range(30):
        lost = losses(weights)
        weights = weights * np.exp(3.0 * (lost - lost.mean()) / (1.0 + step / 5))
        weights /= weights.sum()
    return float(np.mean([weights @ losses(weights) for _ in range(5)]))


def print_bounds():
    loss, error, rows = loss_of_any_test()
    for name, (power, lost) in rows.items():
        way = name if isinstance(name, str) else f"shift from {name[0]}/10 to {name[1]}/10"
        size, test = SIZES[name]
        print(f"| {way} | {WEIGHTS[name]:.2f} | {size:.2f} | {test} {power:.2f} | {lost:.2f} |")
    print(f"any test loses at least {loss:.4f} ± {error:.4f} somewhere", flush=True)
    for law in OTHER_LAWS:
        loss, error, _ = loss_of_any_test(law)
        print(f"{law} scores, the same weights: {loss:.4f} ± {error:.4f}", flush=True)
    for k in (2, 3, 4):
        print(f"beside {k} directions: {loss_beside_directions(k):.2f}", flush=True)


if __name__ == "__main__":
    print_bounds()
