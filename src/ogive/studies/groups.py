"""Groups: the same measurement for each country, client or day, and which of them are off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._validate import as_array, check_length
from ogive.curve import Curve
from ogive.errors import InvalidInput, InvalidType
from ogive.metrics.binned import BINS, BinReader, as_edges
from ogive.metrics.bracket import ks_bracket
from ogive.metrics.many import benjamini_hochberg
from ogive.metrics.onepass import read
from ogive.metrics.proper import MeanReader, NllReader
from ogive.metrics.significance import LEVEL, TestReader, ks_of
from ogive.predictions import Predictions
from ogive.studies.layout import percent
from ogive.studies.wording import judge_many, way_off
from ogive.views import rate_name

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, FloatArray

#: A calibrator is taken to be smooth over log-odds of this width, in as many cells around 0.
CELL_WIDTH, CELLS_OF_LOG_ODDS = 0.5, 80
NOISE_OF_FIT = " that allow for the noise of a calibrator fitted on {:,.0f} rows"


@dataclass(frozen=True, slots=True)
class GroupMeasurement:
    """The measurement of one group; `pvalue` is of the KS error, and adjusted for all groups.

    `base_rate` is the share of outcomes that are 1 (`accuracy` of top-r views is the same number).
    `direction` says whether the scores are "too high", "too low" or "mixed" on average.
    `ks_bracket` contains the KS error of all rows for certain, where the curve is a summary.
    """

    group: str
    n: float
    accuracy: float
    base_rate: float
    mean_score: float
    ks: float
    ks_bracket: tuple[float, float]
    ks_low: float
    ks_high: float
    ks_expected: float
    direction: str
    ece: float
    brier: float
    nll: float
    pvalue: float
    pvalue_adjusted: float


@dataclass(frozen=True, slots=True, repr=False)
class GroupMeasurements:
    """Measurements of all groups, the largest KS error first.

    Attributes
    ----------
    by : str
        What the groups are.
    view : str
    groups : tuple of GroupMeasurement
    skipped : int or None
        Rows of a log that were left out.
    fitted_on : float or None
        Of calibrated scores, how many other rows their calibrator was fitted on: p-values and
        intervals then allow for the noise of that fit too.
    """

    by: str
    view: str
    groups: tuple[GroupMeasurement, ...]
    skipped: int | None = None
    fitted_on: float | None = None

    @property
    def off(self) -> tuple[GroupMeasurement, ...]:
        """The groups that are off at a false discovery rate of 5 %."""
        return tuple(one for one in self.groups if one.pvalue_adjusted <= LEVEL)

    @property
    def verdict(self) -> str:
        """Which groups are miscalibrated, in words."""
        off = {one.group for one in self.off}
        ways = [one.direction if one.group in off else "" for one in self.groups]
        fit = "" if self.fitted_on is None else NOISE_OF_FIT.format(self.fitted_on)
        tests = f"groups (KS tests{fit}, false discovery rate 5 %, Benjamini-Hochberg)"
        return judge_many([one.group for one in self.groups], ways, tests)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers under the keys of ``ogive measure --by COL --json``."""
        found = {
            "by": self.by,
            "view": self.view,
            "groups": [asdict(one) for one in self.groups],
            "verdict": self.verdict,
        }
        more = {"skipped": self.skipped, "fitted_on": self.fitted_on}
        return found | {key: value for key, value in more.items() if value is not None}

    def __repr__(self) -> str:
        rate = rate_name(self.view)
        head = (
            f"{self.by:<16}{'n':>12}{'KS':>10}{'p':>9}{'adjusted':>10}{'mean score':>12}{rate:>12}"
        )
        lines = [
            f"{one.group:<16}{one.n:>12,}{percent(one.ks):>10}{one.pvalue:>9.2g}"
            f"{one.pvalue_adjusted:>10.2g}{percent(one.mean_score):>12}{percent(one.base_rate):>12}"
            for one in self.groups
        ]
        return "\n".join([head, *lines, self.verdict])


def measure_groups(
    data: Mapping[str, Curve] | Predictions,
    by: ArrayLike | str | None = None,
    view: str | None = None,
    *,
    bins: ArrayLike | int = BINS,
    random_state: int = 0,
    fitted_on: float | None = None,
) -> GroupMeasurements:
    """Measure groups of rows, with p-values corrected for how many groups there are.

    Parameters
    ----------
    data : mapping of curves, or Predictions
        A curve for each group, as ``ogive.engines.local.group_curves(log, "country")`` gives them;
        or labelled predictions.
    by : array-like, (N,), or str
        The group of each row of predictions; of curves, what the groups are called.
    view : str, optional
        Of predictions.
    bins : int or array-like
        Bins of ECE.
    random_state : int
        Of simulated p-values.
    fitted_on : float, optional
        Of calibrated scores: how many other rows the calibrator was fitted on (default: what the
        predictions know). The tests then allow for the noise of that fit: see `_noise_ratios`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores, country = rng.random(4000), rng.choice(["DE", "FR"], 4000)
    >>> hits = rng.random(4000) < np.where(country == "FR", scores**2, scores)
    >>> preds = Predictions(scores, hits, kind="probs")
    >>> [one.group for one in measure_groups(preds, country).off]
    ['FR']
    """
    curves = _curves(data, by, view)
    if not curves:
        msg = "there are no groups to measure."
        raise InvalidInput(msg)
    if fitted_on is None and isinstance(data, Predictions):
        fitted_on = data.calibrated_on
    noise = _noise_ratios(curves, fitted_on)
    rows = [
        _measured(name, curve, bins, random_state + i, tests=len(curves), noise=noise[name])
        for i, (name, curve) in enumerate(sorted(curves.items()))
    ]
    adjusted = benjamini_hochberg([row["pvalue"] for row in rows])
    groups = [
        GroupMeasurement(**row, pvalue_adjusted=float(p))
        for row, p in zip(rows, adjusted, strict=True)
    ]
    groups.sort(key=lambda one: (-one.ks, one.group))
    name = by if isinstance(by, str) else "group"
    view = next(iter(curves.values())).view
    return GroupMeasurements(name, view, tuple(groups), fitted_on=fitted_on)


def _noise_ratios(curves: Mapping[str, Curve], fitted_on: float | None) -> dict[str, float]:
    r"""Return how much larger the noise of each group is for that of the calibrator's fit.

    Let the group have the variance v of its outcomes in a cell of log-odds, and all m rows V. The
    n rows of the fit have the variance V n / m there, so that the log-odds of the cell are off by
    a noise of variance m / (n V), and the outcomes of the group by v times that. Added up over the
    cells, with those of the group itself,

    .. math:: r^2 = 1 + \frac{m}{n} \, \frac{\sum v^2 / V}{\sum v} .

    Groups with the scores of all rows have :math:`1 + m_g / n`, a group of all rows, or one that
    is alone at its scores, :math:`1 + m / n`: `ogive.metrics.omnibus.noise_ratio`. A smooth map
    has less noise than one that is free in each cell.
    """
    if fitted_on is None:
        return dict.fromkeys(curves, 1.0)
    own = {name: _variances(curve) for name, curve in curves.items()}
    whole = np.maximum(sum(own.values()), np.finfo(float).tiny)
    n = float(sum(curve.n for curve in curves.values()))
    times = n * n / sum(float(curve.square.sum()) for curve in curves.values()) / fitted_on
    return {
        name: float(np.sqrt(1.0 + times * float(np.sum(v * v / whole)) / max(v.sum(), 1e-300)))
        for name, v in own.items()
    }


def _variances(curve: Curve) -> FloatArray:
    """Return the variance of the outcomes in each cell of log-odds."""
    spread = curve.square * curve.tail * (1.0 - curve.tail)
    half = CELLS_OF_LOG_ODDS // 2
    cell = np.clip(np.floor(curve.log_odds / CELL_WIDTH), -half, half - 1).astype(np.intp) + half
    return np.bincount(cell, spread, CELLS_OF_LOG_ODDS).astype(np.float64)


def _curves(
    data: Mapping[str, Curve] | Predictions, by: ArrayLike | str | None, view: str | None
) -> dict[str, Curve]:
    if isinstance(data, Mapping):
        wrong = [name for name, curve in data.items() if not isinstance(curve, Curve)]
        if wrong:
            msg = f"`data` must map each group to a Curve, but {wrong[0]!r} has something else."
            raise InvalidType(msg)
        return {str(name): curve for name, curve in data.items()}
    if not isinstance(data, Predictions):
        msg = f"`data` must be Predictions or a mapping of Curves, not {type(data).__name__}."
        raise InvalidType(msg)
    if by is None:
        msg = "`by` must be given: the group of each row."
        raise InvalidInput(msg)
    names = as_array(by, "by")
    check_length(names, "by", data.n, data.kind)
    distinct, index = np.unique(names, return_inverse=True)
    return {
        str(name): Curve.from_predictions(data.take(index == i), view)
        for i, name in enumerate(distinct)
    }


def _measured(
    name: str,
    curve: Curve,
    bins: ArrayLike | int,
    random_state: int,
    *,
    tests: int,
    noise: float,
) -> dict[str, Any]:
    """Measure one group of several."""
    ks, means, loss = TestReader(), MeanReader(), NllReader()
    binned = BinReader(as_edges(curve, bins))
    read(curve, ks, means, loss, binned)
    test = ks_of(curve, ks, random_state=random_state, tests=tests, noise=noise)
    mean, rate = means.score / means.n, means.hits / means.n
    return {
        "group": name,
        "n": curve.n,
        "accuracy": rate,
        "base_rate": rate,
        "mean_score": mean,
        "ks": test.value,
        "ks_bracket": _bracket(curve, test.value),
        "ks_low": test.low,
        "ks_high": test.high,
        "ks_expected": test.expected,
        "direction": way_off(mean, rate, test.value),
        "ece": binned.bins().error(),
        "brier": ks.brier.value,
        "nll": loss.value,
        "pvalue": test.pvalue,
    }


def _bracket(curve: Curve, value: float) -> tuple[float, float]:
    """Return the bracket of the KS error; of a curve of all scores, the error itself."""
    return (value, value) if curve.spans is None else ks_bracket(curve)
