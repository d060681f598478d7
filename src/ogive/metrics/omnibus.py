r"""One test of calibration against shifts, slopes, bends, steps and tails, with one p-value.

No usual test is enough: KS hardly detects plain overconfidence, Spiegelhalter's z does not
detect a shift. The statistic is an average likelihood ratio: how much likelier the outcomes are if
the log-odds are wrong in some way than if the scores are right, averaged over ways and sizes. An
average over alternatives loses little against the test that knows which of them is true.

**Ways of being wrong.** With S the surplus of outcomes over scores of a cell
(`ogive.metrics.cells`) and d an error of its log-odds, the likelihood ratio is
:math:`\exp \sum (S d - K(d))`, where :math:`K(d) = \log E \exp(S d)` under calibration: exact,
however few the outcomes. An error's *size* is :math:`\sqrt{\sum v d^2}` with v the variance of S:
how many standard deviations it is away from calibration.
`FAMILIES` gives the weight of each family:

* **shift, temperature**: log-odds wrong by a constant; too extreme or not extreme enough. Sizes 2
  and 3 with both signs, as in the next two;
* **ranges, tails**: wrong by a constant in a range of scores: between eighths of a clock; in its
  first and last 1/4 to 1/32. The clock is the mean of the share of rows and of the share of
  variance so far;
* **groups**: ten groups of equally many rows (as in Hosmer and Lemeshow's test), each wrong by a
  normal amount with deviation 1.1 of its own, by a Gauss-Hermite rule of four points: together
  about 3.5, where Hosmer and Lemeshow's test has a power of 0.65;
* **shape**: normal coefficients with deviation 1.5 of the six components 1, :math:`\eta` and the
  powers 2 to 5 of the clock, made orthonormal in v:
  :math:`\prod (1 + \tau^2)^{-1/2} \exp(\tfrac12 \tau^2 Z^2 / (1 + \tau^2))`. Here Z is the root of
  the likelihood ratio to second order, :math:`Z (1 - \kappa Z / 6)`, with :math:`\kappa` the third
  cumulant of Z.

**One p-value.** The average's null distribution is simulated for this curve: outcomes are drawn
in the cells from the scores, so that ties, few outcomes and sampling weights are in it. There are
250 draws if 30 of them reach the data's value; else 1,000 if 80 of them do, or if the average
exceeds 1,000; else 5,000. Below 0.5 %, where few draws reach, the p-value is inversely proportional
to the average (a likelihood ratio exceeds m with probability 1/m at most, and its tail falls
faster), unless single outcomes can move a line by more than a third of its deviation: then it is
the share of the 5,000 draws, or 2 / m where that is smaller, m the average over all families but
shape: those likelihood ratios are exact, so that m is exceeded with probability 1 / m at most. The
draws are not made where 2 / m is below 1e-6.

**Scores of a calibrator.** A map fitted on n rows is never exact, and a test on m other rows finds
that once m is large. If its family holds the truth, the map's error is to first order a projection
of the noise of its n rows, whose covariance is at most that of the noise itself. So the surpluses
have at most the covariance of calibrated ones times 1 + m/n; and by Anderson's inequality a
symmetric convex set, as of errors that are not rejected, is left most often at that largest
covariance. The test with all surpluses divided by :math:`\sqrt{1 + m/n}` therefore rejects at most
5 % of such maps, whatever the family; with sampling weights m is Kish's number of rows.

**Clusters.** The null is that of random signs of whole clusters (`ogive.metrics.clustered`), and
every linear term of the average is divided by the root of the design effect of its direction
(at least 1), which no sign changes. Signs do not know outcomes so rare that no cluster shows them.
So the p-value is never below that of as many independent rows as the clusters are worth (all
surpluses divided by the root of the design effect), nor below that of clusters whose rows share
draws (`ogive.metrics.shared_draws`).

**Parts.** Six separate tests, each with its own null distribution, show what is wrong: KS,
Kuiper, shift, temperature, shape (chi-squared, six components) and steps (ten).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import chdtrc

from ogive._html import record_form
from ogive._numerics.brownian import range_tails, supremum_tails
from ogive.curve.coarse import coarse
from ogive.curve.curve import as_curve
from ogive.metrics.cells import GROUPS, Cells
from ogive.metrics.clustered import ClusterNoise

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, FloatArray, WeightKind
    from ogive.curve import Curve

Part: TypeAlias = Literal["ks", "kuiper", "shift", "temperature", "shape", "steps"]

#: The weight of each family in the average: about where the largest loss of power to the best of
#: the usual tests is least, see docs/theory/significance.md. Those nearest to a usual test have
#: most: temperature (Spiegelhalter), shift and ranges (KS, Kuiper), groups (Hosmer-Lemeshow).
FAMILIES = {
    "shift": 1.4,
    "temperature": 2.5,
    "ranges": 2.4,
    "tails": 0.3,
    "groups": 3.2,
    "shape": 1.0,
}
OVERCONFIDENT = 0.55  # share of the weight of "temperature": scores are more often too extreme
SIZES = np.array([2.0, 3.0])  # about as large as an error must be to be found half of the time
GROUP_SPREAD = 1.1  # the deviation of the error of each of the groups
SHAPE_SPREAD = 1.5  # the deviation of the coefficients in "shape"
SMOOTH = 6  # components in "shape"
EDGES = np.array([0, 1, 2, *range(4, 32, 4), 30, 31, 32])  # of ranges, in 1/32 of the clock
TAILS = [(0, k) for k in (1, 2, 4, 8)] + [(32 - k, 32) for k in (1, 2, 4, 8)]
RANGES = [(4 * a, 4 * b) for a in range(8) for b in range(a + 1, 9)]
#: Which pieces between edges belong to each range, (ranges, pieces).
INSIDE = {
    name: np.array([(EDGES[:-1] >= a) & (EDGES[1:] <= b) for a, b in ranges], dtype=np.float64)
    for name, ranges in (("ranges", RANGES), ("tails", TAILS))
}
MIN_ROWS_FOR_COARSE_COPY = 200_000  # a copy with a few thousand rows gives the same, faster
DRAWS = (250, 750, 4000)  # in turn, until enough have reached the data's value
ENOUGH_REACHED = (30, 80, 0)  # after each: p-values of 12 % and 8 %, clearly above 5 %
LEAST_SIMULATED = 0.005  # a smaller p-value is extrapolated, where the null's tail is smooth
CLUSTER_DRAWS = 1999  # signs of clusters: the least p-value is 1 / 2,000
OUT_OF_REACH = 1e-6  # bound of the p-value, below which none of 5,000 draws is made
CLEAR = np.log(1e3)  # an average above 1,000 has p < 1e-3 for certain: 1,000 draws are enough


@dataclass(frozen=True, slots=True)
class OmnibusTest:
    """Whether the scores are calibrated, by one test of many alternatives.

    Attributes
    ----------
    pvalue : float
        How often perfectly calibrated scores would look as bad or worse.
    strongest : {"ks", "kuiper", "shift", "temperature", "shape", "steps"}
        The part with the least p-value: what kind of miscalibration it looks like.
    parts : dict
        The p-value of each part by itself, not corrected for six tests.
    draws : int
        How many samples of calibrated outcomes were simulated: 0 if none of 5,000 could reach the
        data's value.
    log_likelihood_ratio : float
        The logarithm of the average likelihood ratio, miscalibrated over calibrated.
    """

    pvalue: float
    strongest: Part
    parts: dict[Part, float]
    draws: int
    log_likelihood_ratio: float

    _repr_html_ = record_form


def calibration_test(
    curve: Curve | ArrayLike,
    outcomes: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: WeightKind = "repetition",
    clusters: ArrayLike | None = None,
    random_state: int = 0,
    fitted_on: float | None = None,
) -> OmnibusTest:
    """Test whether scores are calibrated, against shifts, slopes, bends, steps and tails at once.

    At 5 % it rejects calibrated scores in 5 % of samples, and its power is close to the best of the
    usual tests on each kind of miscalibration: see ``docs/theory/significance.md``.

    Parameters
    ----------
    curve, outcomes, sample_weight, weight_kind, clusters
        A curve; or scores with their outcomes, weights and clusters as in `Curve.from_scores`.
    random_state : int
        Of the simulated null distribution.
    fitted_on : float, optional
        Of calibrated scores: how many other rows the calibrator was fitted on. The test then
        allows for the noise of those rows too, and rejects only a larger error.

    >>> import numpy as np
    >>> from ogive import Curve
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.uniform(size=1000)
    >>> test = calibration_test(Curve.from_scores(scores, rng.uniform(size=1000) < scores))
    >>> test.pvalue > 0.05
    True
    >>> test = calibration_test(Curve.from_scores(scores, rng.uniform(size=1000) < scores**2))
    >>> test.pvalue < 0.001, test.strongest
    (True, 'ks')
    """
    how: Any = {"weight_kind": weight_kind, "clusters": clusters}
    curve = as_curve(curve, outcomes, sample_weight=sample_weight, **how)
    long = curve.n > MIN_ROWS_FOR_COARSE_COPY and curve.clusters is None
    cells = Cells(coarse(curve) if long else curve)
    if fitted_on is not None:
        cells.surplus = cells.surplus / noise_ratio(curve, fitted_on)
    average = Average(cells)
    alike = 1.0 if curve.clusters is None else np.sqrt(curve.clusters.design_effect)
    terms = average.terms(cells.surplus[None] / alike)
    observed = float(log_sum(terms)[0])
    pvalue, draws = _simulated(average, terms[0], np.random.default_rng(random_state))
    parts = _parts(cells)
    if curve.clusters is not None:
        noise = ClusterNoise(curve.clusters, cells.cell)
        average = Average(cells, noise.covariance)
        observed = float(average(cells.surplus[None])[0])
        with_signs, parts, draws = _flipped(average, noise, np.random.default_rng(random_state))
        pvalue = max(pvalue, with_signs)
    strongest = min(parts, key=lambda name: parts[name])
    return OmnibusTest(pvalue, strongest, parts, draws, observed)


def _flipped(
    average: Average, noise: ClusterNoise, rng: np.random.Generator
) -> tuple[float, dict[Part, float], int]:
    """Return the p-value of the average and of the parts with signs of clusters, and the draws."""
    cells = average.cells
    found: dict[Any, float] = {}
    for draws in (noise.flips(rng, CLUSTER_DRAWS), noise.shared(rng, CLUSTER_DRAWS)):
        steps = np.concatenate([cells.surplus[None], draws])
        sizes: dict[Any, FloatArray] = {"average": average(steps), **_part_sizes(cells, steps)}
        for name, size in sizes.items() if draws.size else ():
            pvalue = float((size >= size[0] - 1e-9 * (1.0 + abs(size[0]))).mean())
            found[name] = max(pvalue, found.get(name, 0.0))
    return found.pop("average"), found, CLUSTER_DRAWS


def noise_ratio(curve: Curve, fitted_on: float) -> float:
    """Return the factor by which the calibrator's own noise enlarges that of the scores.

    See "Scores of a calibrator" above.

    >>> from ogive import Curve
    >>> noise_ratio(Curve.from_scores([0.2, 0.5, 0.8], [0, 1, 1]), 1)
    2.0
    """
    rows = curve.n**2 / float(curve.square.sum())
    return float(np.sqrt(1.0 + rows / fitted_on))


def _simulated(average: Average, terms: FloatArray, rng: np.random.Generator) -> tuple[float, int]:
    """Return how often draws reach the sum of the terms, or its extrapolation, and the draws."""
    cells, observed = average.cells, float(log_sum(terms[None])[0])
    threshold = observed - 1e-9 * (1.0 + abs(observed))  # equal outcomes may round differently
    clear = observed > CLEAR and cells.laws_hold
    exact = float(log_sum(terms[None, :2])[0])
    bound = 1.0 if cells.laws_hold else min(2.0 * float(np.exp(-exact)), 1.0)
    if bound < OUT_OF_REACH:
        return bound, 0
    values: FloatArray = np.empty(0)
    for draws, enough in list(zip(DRAWS, ENOUGH_REACHED, strict=True))[: 2 if clear else 3]:
        more = [average(cells.draw(rng, min(draws, 1000))) for _ in range(-(-draws // 1000))]
        values = np.concatenate([values, *more])
        if (values >= threshold).sum() >= enough:
            break
    pvalue = float(1 + (values >= threshold).sum()) / (1 + values.size)
    if pvalue < LEAST_SIMULATED and cells.laws_hold:
        at = float(np.quantile(values, 1.0 - LEAST_SIMULATED))
        pvalue = LEAST_SIMULATED * float(np.exp(min(at - observed, 0.0)))
    return min(pvalue, bound), values.size


class Average:
    """The logarithm of the average likelihood ratio, for surpluses of the cells."""

    def __init__(self, cells: Cells, covariance: FloatArray | None = None) -> None:
        """Prepare the ways; covariance : (c, c) of the surpluses of cells that have clusters."""
        self.cells = cells
        self._covariance = covariance
        self._shapes = cells.shapes[:, :SMOOTH]
        self._bent = -(cells.third @ self._shapes**3) / 6.0
        self._share = FAMILIES["shape"] / sum(FAMILIES.values())
        self._shrinkage = SHAPE_SPREAD**2 / (1.0 + SHAPE_SPREAD**2)
        piece = np.searchsorted(EDGES[1:-1], 16.0 * (cells.clock + 1.0), side="right")
        self._basis = np.concatenate([cells.shapes[:, :2], np.eye(EDGES.size - 1)[piece]], axis=1)
        tilts, prior = self._directions()
        self._tilts = np.concatenate([size * tilts for size in SIZES], axis=1)
        prior = np.tile(prior / SIZES.size / sum(FAMILIES.values()), SIZES.size)
        self._offset = cells.cumulant(self._basis @ self._tilts).sum(axis=0) - np.log(prior)
        self._set_groups()
        self._of_tilts = self._scale(self._basis @ self._tilts)
        self._of_members = self._scale(self._member)
        self._of_shapes = self._scale(self._shapes)

    def _scale(self, directions: FloatArray) -> FloatArray | float:
        """Return 1 over the root of the design effects of directions, (k,); 1 without clusters."""
        if self._covariance is None:
            return 1.0
        clustered = np.einsum("ck,ck->k", directions, self._covariance @ directions)
        alone = self.cells.variance @ directions**2
        result: FloatArray = np.sqrt(alone / np.maximum(clustered, alone))
        return result

    def _directions(self) -> tuple[FloatArray, FloatArray]:
        """Return errors of size 1 on the basis, with both signs, (b, k), and their weights (k,)."""
        cells, b = self.cells, self._basis.shape[1]
        lines = b - EDGES.size + 1  # one if all scores are equal, else two
        variance = cells.variance @ self._basis[:, lines:]
        blocks, weights = [], []
        slope = (cells.variance * cells.eta) @ self._basis[:, :lines]
        for name, vector in (("shift", np.eye(1, lines)[0]), ("temperature", slope)):
            length = float(np.sqrt(vector @ vector))
            if length > 0.0:
                blocks.append(np.append(vector / length, np.zeros(b - lines))[None])
                share = OVERCONFIDENT if name == "temperature" else 0.5
                weights += [FAMILIES[name] * (1.0 - share), FAMILIES[name] * share]
        for name, inside in INSIDE.items():
            size = inside @ variance
            some = inside[size > 0.0] / np.sqrt(size[size > 0.0, None])
            blocks.append(np.hstack([np.zeros((len(some), lines)), some]))
            weights += [FAMILIES[name] / 2 / len(some)] * (2 * len(some)) if len(some) else []
        both = np.repeat(np.concatenate(blocks), 2, axis=0)
        both[1::2] *= -1.0
        return both.T, np.array(weights)

    def _set_groups(self) -> None:
        """Prepare the groups: which cells, and a rule of four errors for each."""
        cells = self.cells
        group = np.unique(np.floor(cells.by_rows * GROUPS), return_inverse=True)[1]
        self._member = np.eye(int(group.max()) + 1)[group]
        nodes, weights = _hermite_rule()
        errors = GROUP_SPREAD * nodes[:, None] / np.sqrt(cells.variance @ self._member)
        cumulant = cells.cumulant((errors @ self._member.T).T).T @ self._member
        self._errors = errors
        self._costs = cumulant - np.log(weights / weights.sum())[:, None]
        self._of_groups = FAMILIES["groups"] / sum(FAMILIES.values())

    def __call__(self, surplus: FloatArray) -> FloatArray:
        """Return the logarithm of the average for surpluses (draws, cells), (draws,)."""
        return log_sum(self.terms(surplus))

    def terms(self, surplus: FloatArray) -> FloatArray:
        """Return the logarithms of its parts, (draws, 3): directions, groups and shape."""
        directed = log_sum(surplus @ self._basis @ self._tilts * self._of_tilts - self._offset)
        members = surplus @ self._member * self._of_members
        in_groups = members[:, None] * self._errors - self._costs
        groups = log_sum(in_groups, axis=1).sum(axis=1) + np.log(self._of_groups)
        z = surplus @ self._shapes * self._of_shapes
        square = (z * np.exp(np.clip(self._bent * z, -0.5, 0.5))) ** 2
        shape = 0.5 * (self._shrinkage * square + np.log1p(-self._shrinkage)).sum(axis=1)
        shape += np.log(self._share)
        return np.stack([directed, groups, shape], axis=1)


@cache
def _hermite_rule() -> tuple[FloatArray, FloatArray]:
    """Return the four nodes of the Gauss-Hermite rule, and their weights."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(4)
    return nodes, weights


def log_sum(x: FloatArray, axis: int = 1) -> FloatArray:
    """Return the logarithm of the sum of exp(x) along an axis."""
    most = x.max(axis=axis, keepdims=True)
    result: FloatArray = np.log(np.exp(x - most).sum(axis=axis)) + most.squeeze(axis)
    return result


def _parts(cells: Cells) -> dict[Part, float]:
    """Return the p-values of the six tests by their own laws."""
    gap = np.cumsum(cells.surplus) / np.sqrt(cells.variance.sum())
    low, high = min(float(gap.min()), 0.0), max(float(gap.max()), 0.0)
    squares = (cells.surplus @ cells.shapes) ** 2
    first = squares[:SMOOTH]
    return {
        "ks": float(supremum_tails(np.array(max(high, -low)))),
        "kuiper": float(range_tails(np.array(high - low))),
        "shift": _along(cells, np.ones_like(cells.eta)),
        "temperature": _along(cells, cells.eta),
        "shape": float(chdtrc(first.size, first.sum())),
        "steps": float(chdtrc(squares.size, squares.sum())),
    }


def _part_sizes(cells: Cells, steps: FloatArray) -> dict[Part, FloatArray]:
    """Return the statistics of the six tests for surpluses (draws, cells), (draws,) each."""
    gap = np.cumsum(steps, axis=1)
    low, high = np.minimum(gap.min(axis=1), 0.0), np.maximum(gap.max(axis=1), 0.0)
    squares = (steps @ cells.shapes) ** 2
    return {
        "ks": np.maximum(high, -low),
        "kuiper": high - low,
        "shift": np.abs(steps.sum(axis=1)),
        "temperature": np.abs(steps @ cells.eta),
        "shape": squares[:, :SMOOTH].sum(axis=1),
        "steps": squares.sum(axis=1),
    }


def _along(cells: Cells, direction: FloatArray) -> float:
    """Return the p-value of a direction in log-odds, by the root of the likelihood ratio."""
    variance = float(cells.variance @ direction**2)
    if variance == 0.0:
        return 1.0
    z = float(cells.surplus @ direction) / np.sqrt(variance)
    bent = -float(cells.third @ direction**3) / (6.0 * variance**1.5)
    return float(chdtrc(1, (z * np.exp(np.clip(bent * z, -0.5, 0.5))) ** 2))
