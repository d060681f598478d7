r"""A gate for pipelines: an error is below its limit, above it, or these rows cannot tell.

An error has the interval [low, high]. The gate says

* ``"pass"`` if high <= limit: with an error above the limit this happens in at most 5 % of samples;
* ``"fail"`` if low > limit: with an error below the limit this happens in at most 5 % of samples;
* ``"undecided"`` otherwise, with the number of rows that would decide it.

**KS.** The interval is that of `ogive.ks_test`.

**ECE.** With :math:`g_b` the true gap of bin b times its share of the rows, and :math:`e_b` its
noise, normal with the deviation :math:`s_b`, the estimate is :math:`\sum_b |g_b + e_b|`. It lies
between :math:`\sum |g_b| + \sum \mathrm{sign}(g_b)\, e_b` and :math:`\sum |g_b| + \sum |e_b|`. So

.. math:: \hat e - q \le \text{ECE} \le \hat e + z \bigl(\textstyle\sum_b s_b^2\bigr)^{1/2} ,

z and q the quantiles of the normal and of :math:`\sum |e_b|`. The lower end is far from the
estimate because noise alone makes an ECE positive.

**Log loss.** What perfect calibration would save, `ogive.studies.saving`.

**Several limits, or several groups.** To pass, all must be below their limit, which needs no
correction. To fail, one must be above, and with m of them each is tested at 5 % / m.

**Clusters.** The noise of the gap and of the bins is that of clusters (`ogive.metrics.clustered`),
and the log loss counts as many rows as the clusters are worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, inf, log10, sqrt
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from ogive._html import text_form
from ogive._numerics.brownian import EXPECTED_KS, supremum_tail
from ogive._numerics.mean_interval import LEVEL
from ogive._wording import percent
from ogive.curve import Curve
from ogive.errors import InvalidInput
from ogive.metrics.binned import BINS, bin_rows
from ogive.metrics.clustered import ClusterNoise
from ogive.metrics.onepass import read
from ogive.metrics.significance import (
    LEAST_ABOVE_ZERO,
    TestReader,
    interval_of,
    ks_of,
)
from ogive.studies.fitting import VECTOR
from ogive.studies.saving import saving

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ogive._typing import ArrayLike, FloatArray
    from ogive.rows.predictions import Predictions

GateVerdict: TypeAlias = Literal["pass", "fail", "undecided"]

#: The measures that can have a limit, and how a sentence calls them.
MEASURES = {
    "ks": "KS error",
    "ece": "ECE",
    "log_loss_gain": "Log loss per row that calibrating could save",
}
DRAWS = 20_000  # of the noise of the bins: its 95 % quantile is then good to 0.5 %
MOST_ROWS_NAMED = 10**9  # where more rows would be needed, no sample decides it


class Estimate(NamedTuple):
    """A measure of a curve: its value, its interval at a level, and what noise alone would show."""

    value: float
    low: float
    high: float
    noise: float


@dataclass(frozen=True, slots=True)
class Limit:
    """One measure of one curve beside its limit.

    Attributes
    ----------
    measure : {"ks", "ece", "log_loss_gain"}
    group : str or None
    n : float
    limit, value : float
    interval : (float, float)
        The 95 % interval. The limit is kept if its upper end is at most the limit.
    surely : float
        The lower end where all limits of the gate are tested together at 5 %. The limit is broken
        if it is above the limit.
    noise : float
        What the measure would show on average if the scores were perfectly calibrated.
    clusters : int or None
        How many clusters the rows are in, if they are not independent.
    """

    measure: str
    group: str | None
    n: float
    limit: float
    value: float
    interval: tuple[float, float]
    surely: float
    noise: float
    clusters: int | None = None

    @property
    def verdict(self) -> GateVerdict:
        """Whether the error is below the limit, above it, or neither can be said."""
        if self.interval[1] <= self.limit:
            return "pass"
        return "fail" if self.surely > self.limit else "undecided"

    @property
    def rows_needed(self) -> int | None:
        """How many rows would decide it, if the error is what it seems; None if no number would.

        Both ends of the interval come nearer to the error as 1 / √n.
        """
        if self.verdict != "undecided":
            return None
        without_noise = sqrt(max(self.value * abs(self.value) - self.noise**2, 0.0))
        distance = abs(self.limit - without_noise)
        below = without_noise <= self.limit
        half = self.interval[1] - self.value if below else self.value - self.surely
        rows = self.n * (half / distance) ** 2 if distance > 0.0 else inf
        return max(ceil(rows), int(self.n) + 1) if rows <= MOST_ROWS_NAMED else None

    def __str__(self) -> str:
        value, low, high = (self._number(x) for x in (self.value, *self.interval))
        what = MEASURES[self.measure] + (f" of {self.group!r}" if self.group is not None else "")
        limit, chance = self._number(self.limit), ""
        where = {"pass": "is below", "fail": "is above", "undecided": "holds"}[self.verdict]
        if self.verdict == "undecided" and self.interval[0] > self.limit:
            where, chance = "is above", ", which among several can be chance"
        interval = f"its 95 % interval, {low} to {high},"
        return f"{what} {value}; {interval} {where} the limit, {limit}{chance}"

    def _number(self, value: float) -> str:
        """Return it in percent, log loss as it is; two digits of the limit are shown."""
        share = self.measure != "log_loss_gain"
        digits = max(2 if share else 4, 1 - floor(log10(self.limit * (100.0 if share else 1.0))))
        return percent(value, digits) if share else f"{value:.{digits}f}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "measure": self.measure,
            "group": self.group,
            "limit": self.limit,
            "value": self.value,
            "verdict": self.verdict,
            "interval": list(self.interval),
            "rows_needed": self.rows_needed,
        }


@dataclass(frozen=True, slots=True)
class Gate:
    """All limits together: pass if all are kept, fail if one is broken, else undecided."""

    limits: tuple[Limit, ...]

    _repr_html_ = text_form

    @property
    def verdict(self) -> GateVerdict:
        """The verdict of the limit that decides."""
        return self.deciding.verdict

    @property
    def deciding(self) -> Limit:
        """The limit that decides: one that is broken, else one that is undecided."""
        worst = {"fail": 0, "undecided": 1, "pass": 2}
        return min(self.limits, key=lambda one: (worst[one.verdict], one.limit - one.value))

    def exit_code(self, undecided: Literal["pass", "fail"] | None = None) -> int:
        """Return 0 for pass, 3 for fail and 4 for undecided, unless that counts as one of them."""
        verdict = undecided or "undecided" if self.verdict == "undecided" else self.verdict
        return {"pass": 0, "fail": 3, "undecided": 4}[verdict]

    def __str__(self) -> str:
        one = self.deciding
        if self.verdict != "undecided":
            return f"Gate: {self.verdict}. {one}."
        rows = one.rows_needed
        more = "No number of rows decides it"
        if rows:  # more rows of the same clusters would not
            many = one.clusters and ceil(rows / one.n * one.clusters)
            of = f" in {many:,} clusters" if many else ""
            more = f"About {rows:,} rows{of} would decide it"
        return (
            f"Gate: undecided with {one.n:,.0f} rows. {one}. {more}, if the error is what it seems."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what the command line prints under ``"gate"``."""
        head = self.deciding.to_dict()
        return head | {"limits": [one.to_dict() for one in self.limits]}


def gate(
    data: Curve | Mapping[str, Curve],
    *,
    max_ks: float | None = None,
    max_ece: float | None = None,
    max_log_loss_gain: float | None = None,
    bins: ArrayLike | int = BINS,
    random_state: int = 0,
) -> Gate:
    """Say whether errors are below their limits.

    Parameters
    ----------
    data : Curve, or mapping of curves
        One curve, or one for each group: then every group must keep every limit.
    max_ks, max_ece, max_log_loss_gain : float, optional
        Limits, as fractions; at least one. The last is log loss per row (natural logarithm).
    bins : int or array-like
        Bins of the ECE.
    random_state : int
        Of simulated quantiles.

    Examples
    --------
    >>> from ogive import Curve
    >>> scores = (np.arange(4000) + 0.5) / 4000
    >>> curve = Curve.from_scores(scores, np.random.default_rng(0).random(4000) < scores**1.5)
    >>> gate(curve, max_ks=0.02).verdict, gate(curve, max_ks=0.2).verdict
    ('fail', 'pass')
    """
    asked = {"ks": max_ks, "ece": max_ece, "log_loss_gain": max_log_loss_gain}
    limits = {name: _as_limit(limit, name) for name, limit in asked.items() if limit is not None}
    if not limits:
        msg = "a gate needs a limit: max_ks, max_ece or max_log_loss_gain."
        raise InvalidInput(msg)
    curves: Mapping[Any, Curve] = {None: data} if isinstance(data, Curve) else data
    together = LEVEL / (len(curves) * len(limits))
    found = []
    for group, curve in curves.items():
        estimates = _Estimates(curve, bins, random_state)
        for name, limit in limits.items():
            one, surely = (getattr(estimates, name)(level) for level in (LEVEL, together))
            ends, size = (
                (one.low, one.high),
                None if curve.clusters is None else curve.clusters.size,
            )
            found.append(
                Limit(name, group, curve.n, limit, one.value, ends, surely.low, one.noise, size)
            )
    return Gate(tuple(found))


def curve_of(data: Predictions | Curve, view: str | None) -> Curve:
    """Return the curve whose errors have limits; of whole vectors, that of the top class."""
    if isinstance(data, Curve):
        return data
    return Curve.from_predictions(data, None if view == VECTOR else view)


def _as_limit(limit: float, name: str) -> float:
    if not 0.0 < limit < 1.0:
        msg = f"`max_{name}` must lie between 0 and 1, not {limit!r}: write 2 % as 0.02."
        raise InvalidInput(msg)
    return float(limit)


class _Estimates(NamedTuple):
    """The measures of a curve, each with an interval at a level."""

    curve: Curve
    bins: ArrayLike | int
    random_state: int

    def ks(self, level: float) -> Estimate:
        """Return the KS error; at 5 % its interval is that of `ogive.ks_test`.

        As there, it holds 0 if the test does not reject, also by a simulated null.
        """
        reader = TestReader()
        read(self.curve, reader)
        test = ks_of(self.curve, reader, random_state=self.random_state)
        critical = brentq(lambda x: supremum_tail(x) - level, 0.5, 10.0)
        low, high = interval_of(reader, test.value, critical)
        noise = EXPECTED_KS * sqrt(reader.variance.variance) / reader.brier.n
        least = min(LEAST_ABOVE_ZERO, test.value)
        if self.curve.clusters is not None and test.sigma > 0.0:
            seen = reader.noise(self.curve).seen(self.random_state, kuiper=False)
            low, high = seen.interval(test.value, low, high, n=reader.brier.n, level=level)
            noise = max(noise, float(seen.flips.mean()) / reader.brier.n)
        return Estimate(test.value, 0.0 if test.pvalue >= level else low or least, high, noise)

    def ece(self, level: float) -> Estimate:
        """Return the ECE; see the module's docstring.

        The variance of a bin with the rate r is at most that of as many rows with the rate r
        each. Half an outcome of each kind is added, so that a bin without hits has noise too.
        """
        found = bin_rows(self.curve, self.bins)
        some = found.count > 0
        count, square = found.count[some], found.square[some]
        size = count * count / square
        rate = (found.hits[some] / count * size + 0.5) / (size + 1.0)
        deviation = np.sqrt(square * rate * (1.0 - rate)) / found.count.sum()
        normal = np.random.default_rng(self.random_state).standard_normal((DRAWS, size.size))
        draws = np.abs(normal) @ deviation
        value = found.error()
        below = float(np.quantile(draws, 1.0 - level / 2.0))
        above = float(norm.isf(level / 2.0)) * sqrt(float(deviation @ deviation))
        noise = float(draws.mean())
        if self.curve.clusters is not None:
            off, sign = self._off(found.edges), np.sign(found.surplus[some])
            below = max(below, float(np.quantile(np.abs(off).sum(axis=1), 1.0 - level / 2.0)))
            above = max(above, float(np.quantile(off @ sign, 1.0 - level / 2.0)))
            noise = max(noise, float(np.abs(off).sum(axis=1).mean()))
        return Estimate(value, max(value - below, 0.0), min(value + above, 1.0), noise)

    def _off(self, edges: FloatArray) -> FloatArray:
        """Draw what the gaps of bins with rows, times their share, are off by with clusters."""
        assert self.curve.clusters is not None  # noqa: S101 - asked of those only
        bins = np.searchsorted(edges[1:-1], self.curve.score)
        noise = ClusterNoise(self.curve.clusters, np.unique(bins, return_inverse=True)[1])
        return noise.noise(np.random.default_rng(self.random_state), DRAWS) / self.curve.n

    def log_loss_gain(self, level: float) -> Estimate:
        """Return the log loss per row that perfect calibration would save."""
        return Estimate(*saving(self.curve, level), 0.0)
