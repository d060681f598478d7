r"""One test of calibration: six ways of being miscalibrated, and one honest p-value.

No single test will do: the KS error hardly sees plain overconfidence, Spiegelhalter's z does not
see a shift. Six parts are tested, each with a p-value of its own. With S the surplus of outcomes
over scores of a cell, v its variance under calibration and :math:`\eta` its log-odds,

* **ks, kuiper**: the largest gap and the range of the gap (`ogive.metrics.significance`);
* **shift**: all log-odds too low or too high, :math:`U = \sum S`;
* **temperature**: too extreme or not extreme enough, :math:`U = \sum \eta S`;
* **shape**: any smooth shape: chi-squared with six degrees of freedom, the squares of the
  projections of S on 1, :math:`\eta` and the powers 2 to 5 of a clock, made orthonormal in v. The
  clock is the mean of the share of rows and of the share of variance so far;
* **steps**: the same with powers up to 9, ten degrees of freedom, for truths that go up in steps.

Shift and temperature are score tests at the identity: nothing is fitted. With
:math:`Z = U / \sqrt I`, I the variance of U and :math:`\kappa` its third cumulant, they use the
root of the likelihood ratio to second order, :math:`Z (1 - \kappa Z / 6 I^{3/2})`. Without it the
test of a temperature below 1 (scores not extreme enough, which vary less) loses power.

**One p-value.** The statistic is the least p-value over its weight (`WEIGHTS`). Its null
distribution is simulated for this curve: outcomes are drawn in the cells from the scores, and all
parts are computed as for the data, so that their dependence, ties, few outcomes and sampling
weights are in it. Draws stop at 1,000 if 30 of them reach the data's value, else at 5,000. Below
0.5 %, where few draws reach, the p-value is proportional to the statistic (each part's own law
holds there) unless single outcomes can move a part by more than a third of its deviation: then it
is the share of the 5,000 draws.

**Cells.** Rows are joined until they hold 1/128 of the variance or span half a unit of log-odds;
a group of equal scores is never split. Scores nearer to 0 or 1 than 1e-7 count as 1e-7, as in the
log loss: a score of exactly 1 that is wrong once in ten million rows is not impossible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.special import chdtrc, ndtr

from ogive._coarse import coarse
from ogive.curve import check_curve
from ogive.metrics.null import Null, summed
from ogive.metrics.proper import CLIP

if TYPE_CHECKING:
    from ogive._typing import FloatArray, IntArray
    from ogive.curve import Curve

Part: TypeAlias = Literal["ks", "kuiper", "shift", "temperature", "shape", "steps"]

#: A part's p-value counts divided by its weight. Chosen so that the loss of power to the best of
#: KS, Kuiper, Hosmer-Lemeshow and Spiegelhalter is even over lines, shifts, bends, steps and tails.
WEIGHTS: dict[Part, float] = {
    "ks": 1.6,
    "kuiper": 1.0,
    "shift": 1.0,
    "temperature": 1.7,
    "shape": 1.2,
    "steps": 1.0,
}

MIN_ROWS_FOR_COARSE_COPY = 200_000  # a copy with a few thousand rows serves as well, and is quicker
CELLS = 128  # with twice as many the power changes by less than 0.01
CELLS_PER_LOG_ODDS = 2.0
POWERS = range(2, 10)  # of the clock, in "steps"
SMOOTH = 6  # the first of all components, in "shape"
FIRST_DRAWS, MOST_DRAWS = 1000, 5000
ENOUGH_REACHED = 30  # of the first draws: the p-value is 3 % or more
LEAST_SIMULATED = 0.005  # a p-value below this is extrapolated, where the parts' laws hold
CLEAR = 1e-5  # a statistic below this needs no further draws where the laws hold
LARGEST_JUMP = 1.0 / 3.0  # of one outcome, in deviations of a part, for its law to hold in the tail
_NORMAL = 10.0  # a binomial of this variance is taken to be normal
_HEAVY = 60.0  # rows whose squared weight exceeds the variance over this are drawn apart
_DEPENDENT = 1e-9  # of a column's squared length: less is left of it only by rounding


@dataclass(frozen=True, slots=True)
class OmnibusTest:
    """Whether the scores are calibrated, by one test of many alternatives.

    Attributes
    ----------
    pvalue : float
        How often perfectly calibrated scores would look as bad or worse.
    strongest : {"ks", "kuiper", "shift", "temperature", "shape", "steps"}
        The part that spoke loudest against calibration.
    parts : dict
        The p-value of each part by itself, not corrected for there being six.
    draws : int
        How many samples of calibrated outcomes were simulated.
    """

    pvalue: float
    strongest: Part
    parts: dict[Part, float]
    draws: int


def calibration_test(curve: Curve, *, seed: int = 0) -> OmnibusTest:
    """Test whether scores are calibrated, against shifts, slopes, bends, steps and tails at once.

    At 5 % it rejects calibrated scores in 5 % of samples, and its power is close to the best of the
    usual tests on each kind of miscalibration: see ``docs/theory/significance.md``.

    Parameters
    ----------
    curve : Curve
    seed : int
        Of the simulated null distribution.

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
    check_curve(curve)
    cells = _Cells(coarse(curve) if curve.n > MIN_ROWS_FOR_COARSE_COPY else curve)
    parts = cells.pvalues(cells.surplus[None])
    observed = float(_least(parts)[0])
    pvalue, draws = _simulated(cells, observed, np.random.default_rng(seed))
    strongest = min(WEIGHTS, key=lambda name: float(parts[name][0]) / WEIGHTS[name])
    return OmnibusTest(pvalue, strongest, {name: float(p[0]) for name, p in parts.items()}, draws)


def _least(parts: dict[Part, FloatArray]) -> FloatArray:
    """Return the least p-value over its weight, (draws,)."""
    result: FloatArray = np.minimum.reduce([p / WEIGHTS[name] for name, p in parts.items()])
    return result


def _simulated(cells: _Cells, observed: float, rng: np.random.Generator) -> tuple[float, int]:
    """Return how often a draw is as small as observed, or its extrapolation, and the draws."""
    values = _least(cells.pvalues(cells.draw(rng, FIRST_DRAWS)))
    threshold = observed * (1.0 + 1e-9)  # a draw of the same outcomes may round differently
    clear = observed < CLEAR and cells.laws_hold
    if (values <= threshold).sum() < ENOUGH_REACHED and not clear:
        more = [cells.draw(rng, FIRST_DRAWS) for _ in range(MOST_DRAWS // FIRST_DRAWS - 1)]
        values = np.concatenate([values, *(_least(cells.pvalues(steps)) for steps in more)])
    pvalue = float(1 + (values <= threshold).sum()) / (1 + values.size)
    if pvalue < LEAST_SIMULATED and cells.laws_hold:
        at = float(np.quantile(values, LEAST_SIMULATED))
        pvalue = min(LEAST_SIMULATED * observed / at, LEAST_SIMULATED)
    return pvalue, values.size


class _Cells:
    """Joined rows, (c,) each: what the parts need of the data, and what draws need of the null."""

    def __init__(self, curve: Curve) -> None:
        null = Null(curve, least_tail=CLIP)
        tail = np.maximum(curve.tail, CLIP)
        eta = np.log(tail) - np.log1p(-tail)
        eta = np.where(curve.high, -eta, eta)
        cell = _cell_of(eta, summed(null.variance, null.group, eta.size))
        size = int(cell[-1]) + 1
        expected = curve.count * tail
        surplus = np.where(curve.high, curve.hits + expected - curve.count, curve.hits - expected)
        self.surplus = summed(surplus, cell, size)
        of = cell[null.group]
        self.variance = summed(null.variance, of, size)
        self.eta = summed(null.variance * eta[null.group], of, size) / self.variance
        sign = np.where(null.high, -1.0, 1.0)
        third = sign * null.variance * null.unit * (1.0 - 2.0 * null.tail)
        self.third = summed(third, of, size)
        self.heaviest = float(null.unit.max())
        count = summed(curve.count, cell, size)
        self._clock = _middle(count) + _middle(self.variance) - 1.0
        self._shapes = self._orthonormal()
        self._join(null, of)

    def _join(self, null: Null, of: IntArray) -> None:
        """Join the rows of each cell for the draws; heavy rows by themselves, by weight."""
        heavy = null.unit**2 * _HEAVY >= null.variance.sum()
        weight = np.where(heavy, np.floor(8.0 * np.log2(null.unit)), -1e6)
        order = np.lexsort((weight, of))
        new = np.diff(of[order], prepend=-1) != 0
        new |= np.diff(weight[order], prepend=-1e9) != 0
        start = np.flatnonzero(new)
        total, square, tails = (
            np.add.reduceat((null.rows * null.unit * x)[order], start)
            for x in (np.ones_like(null.unit), null.unit, null.tail)
        )
        self._of = of[order][start]
        self._tail = tails / total
        rows = total**2 / square
        self._rows = np.maximum(np.rint(rows), 1.0)
        # A number of rows by moments is rounded: their weight makes up for it in the variance.
        sign = np.where(null.high, -1.0, 1.0)[order][start]
        self._unit = sign * square / total * np.sqrt(rows / self._rows)
        self._coins = self._rows * self._tail * (1.0 - self._tail) < _NORMAL

    def draw(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """Draw surpluses of all cells under calibration, (draws, cells)."""
        coins, size = self._coins, self.variance.size
        spread = self._rows * self._tail * (1.0 - self._tail) * self._unit**2
        normal = summed(np.where(coins, 0.0, spread), self._of, size)
        steps: FloatArray = rng.standard_normal((draws, size)) * np.sqrt(normal)
        if coins.any():
            rows, tail = self._rows[coins].astype(np.int64)[:, None], self._tail[coins][:, None]
            # Cell by cell: a binomial of the same numbers as the one before is set up already.
            hits = rng.binomial(rows, tail, (rows.size, draws)) - rows * tail
            cell = self._of[coins]  # rising
            start = np.flatnonzero(np.diff(cell, prepend=-1))
            jumps = np.add.reduceat(self._unit[coins][:, None] * hits, start, axis=0)
            steps[:, cell[start]] += jumps.T
        return steps

    def pvalues(self, surplus: FloatArray) -> dict[Part, FloatArray]:
        """Return the p-values of all parts for surpluses of the cells, (draws, cells)."""
        gap = np.cumsum(surplus, axis=1) / np.sqrt(self.variance.sum())
        low, high = np.minimum(gap.min(axis=1), 0.0), np.maximum(gap.max(axis=1), 0.0)
        squares = (surplus @ self._shapes) ** 2
        size = squares.shape[1]
        return {
            "ks": supremum_tails(np.maximum(high, -low)),
            "kuiper": range_tails(high - low),
            "shift": self._along(np.ones_like(self.eta), surplus),
            "temperature": self._along(self.eta, surplus),
            "shape": chdtrc(min(SMOOTH, size), squares[:, :SMOOTH].sum(axis=1)),
            "steps": chdtrc(size, squares.sum(axis=1)),
        }

    def _along(self, direction: FloatArray, surplus: FloatArray) -> FloatArray:
        """Return the p-value of a direction in log-odds, (draws,): see the module's docstring."""
        variance = float(self.variance @ direction**2)
        if variance == 0.0:
            return np.ones(len(surplus))
        z = surplus @ direction / np.sqrt(variance)
        bent = -float(self.third @ direction**3) / (6.0 * variance**1.5)
        result: FloatArray = chdtrc(1, (z * np.exp(np.clip(bent * z, -0.5, 0.5))) ** 2)
        return result

    @property
    def laws_hold(self) -> bool:
        """Whether no single outcome can move shift or temperature far."""
        lines = np.stack([np.ones_like(self.eta), self.eta])
        deviation = np.sqrt(lines**2 @ self.variance)
        jump = self.heaviest * np.abs(lines).max(axis=1)
        return bool((jump <= LARGEST_JUMP * deviation).all())

    def _orthonormal(self) -> FloatArray:
        """Return the shapes, orthonormal in the variance, (c, up to 10)."""
        columns = [np.ones_like(self.eta), self.eta, *(self._clock**k for k in POWERS)]
        kept: list[FloatArray] = []
        for column in columns:
            rest = column
            for _ in range(2):  # twice: once leaves rounding errors of nearly parallel columns
                for other in kept:
                    rest = rest - (self.variance @ (other * rest)) * other
            length = float(self.variance @ rest**2)
            if length > _DEPENDENT * float(self.variance @ column**2):
                kept.append(rest / np.sqrt(length))
        return np.stack(kept, 1)


def _cell_of(eta: FloatArray, variance: FloatArray) -> IntArray:
    """Return the cell of each row of rising log-odds, from 0 on, (m,)."""
    by_variance = np.floor(_middle(variance) * CELLS)
    by_log_odds = np.floor(eta * CELLS_PER_LOG_ODDS)
    change = (np.diff(by_variance) != 0) | (np.diff(by_log_odds) != 0)
    result: IntArray = np.concatenate([[0], np.cumsum(change)])
    return result


def _middle(part: FloatArray) -> FloatArray:
    """Return the share of the total up to the middle of each part, (m,)."""
    result: FloatArray = (np.cumsum(part) - 0.5 * part) / part.sum()
    return result


def supremum_tails(x: FloatArray) -> FloatArray:
    """Return P(sup |W| > x), (m,); 1 where it is nearly 1."""
    x = np.maximum(x, 0.5)
    result: FloatArray = 4.0 * sum((2 - k % 4) * ndtr(-k * x) for k in range(1, 16, 2))
    return np.clip(result, 0.0, 1.0)


def range_tails(x: FloatArray) -> FloatArray:
    """Return P(max W − min W > x), (m,); 1 where it is nearly 1."""
    x = np.maximum(x, 0.5)
    result: FloatArray = 8.0 * sum((2 * (k % 2) - 1) * k * ndtr(-k * x) for k in range(1, 20))
    return np.clip(result, 0.0, 1.0)
