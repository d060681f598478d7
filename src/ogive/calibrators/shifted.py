r"""Calibrators moved to another base rate.

If the scores of each class are distributed as before and only the shares of the classes change
from :math:`\pi` to :math:`\pi'`, Bayes' rule (Elkan 2001; Saerens, Latinne and Decaestecker 2002)
gives the probability of class k from the old one:

.. math:: q'_k = \frac{q_k \pi'_k / \pi_k}{\sum_j q_j \pi'_j / \pi_j} .

Of two classes that is a shift of the log-odds,

.. math:: \mathrm{logit}\, q' = \mathrm{logit}\, q + \mathrm{logit}\, \pi' - \mathrm{logit}\, \pi .

Where the training data kept all rows of class 1 and the share f of the others, the shift is log f.

`ShiftedMap` wraps a map of one score, and `ShiftedVectorMap` one of whole vectors: both stay maps,
which are saved and exported like any other. Shifting again adds to the first shift.

Where the new base rate was estimated, `ShiftedMap` keeps the variance of the shift. The band is
wider by 1.96 deviations on each side: the estimate reads calibrated scores, so that both may be off
the same way. ``ogive expect`` adds the deviation of its numbers to that of the curve alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ogive._numerics.mean_interval import HALF_WIDTH_95
from ogive.calibrators.maps import Fitted, Map
from ogive.calibrators.matrix_map import MatrixMap
from ogive.calibrators.shift_summary import ShiftSummary, as_plain, summarise
from ogive.errors import DoesNotApply, InvalidInput
from ogive.rows.check import as_floats

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, BoolArray, FloatArray
    from ogive.calibrators.shift_summary import How
    from ogive.rows.predictions import Predictions

#: A shift multiplies odds by 1e-7 to 1e7. A calibrated score is rounded by 1e-16, which a factor
#: beyond that would make visible in the ninth digit, where exports are compared.
MOST_LOG_ODDS = float(np.log(1e7))
LEAST_RATE = 1e-15  # 1 minus less is 1
_TWO = 2
UNKNOWN_DEVIATION = (
    "the base rate was estimated by an older version, which did not keep how far off it may be. "
    "Estimate it again: ogive shift CAL --like LOG."
)
_PERCENT = 100.0
_ROUNDING = 1e-12  # of a sum of shares
_SUM_TOLERANCE = 1e-6  # of base rates that are given as decimals


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ShiftedMap(Map):
    """A map of one score, moved to another base rate.

    Attributes
    ----------
    inner : Map
        The map before the shift.
    log_odds : float
        What is added to its log-odds.
    trained_at, base_rate : float or None
        The base rate before and after; None where only the shift is known.
    how : {"known", "kept negatives", "estimated"}
    date : str or None
    log_odds_variance : float or None
        Of `log_odds`, where the base rate was estimated; artifacts of 0.1 do not have it.
    """

    method = "shifted"

    inner: Map
    log_odds: float
    trained_at: float | None
    base_rate: float | None
    how: How
    date: str | None = None
    log_odds_variance: float | None = None

    @property
    def odds(self) -> float:
        """What the odds of the map are multiplied by."""
        return float(np.exp(self.log_odds))

    @property
    def deviation(self) -> float | None:
        """The standard deviation of `log_odds`: 0 of a known base rate, None where not kept."""
        if self.how != "estimated":
            return 0.0
        variance = self.log_odds_variance
        return None if variance is None else float(np.sqrt(variance))

    def _of_tails(self, high: BoolArray, tail: FloatArray) -> FloatArray:
        return with_odds(self.inner._of_tails(high, tail), self.odds)  # noqa: SLF001

    def _of_log_odds_block(self, eta: FloatArray) -> FloatArray:
        return with_odds(self.inner._of_log_odds_block(eta), self.odds)  # noqa: SLF001

    def _evaluate(self, high: BoolArray, tail: FloatArray) -> FloatArray:
        return with_odds(self.inner._evaluate(high, tail), self.odds)  # noqa: SLF001

    def band_ends(self, *, simultaneous: bool = False) -> tuple[ShiftedMap, ShiftedMap]:
        """Return the ends of the band of the inner map, shifted by the ends of the shift."""
        ends = self.inner.band_ends(simultaneous=simultaneous)
        if self.deviation is None:
            raise DoesNotApply(UNKNOWN_DEVIATION)
        half = HALF_WIDTH_95 * self.deviation
        low = replace(self, inner=ends[0], log_odds=self.log_odds - half)
        return low, replace(self, inner=ends[1], log_odds=self.log_odds + half)

    def summary(self) -> ShiftSummary:
        """Tell what the shift did, and what the map under it did.

        >>> from ogive import Curve, fit_platt
        >>> calibrator = fit_platt(Curve.from_scores([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]))
        >>> calibrator.with_base_rate(0.003, trained_at=0.5).summary()
        Moved from a base rate of 50 % to 0.3 % (known).
        Log-odds moved by −5.806.
        """
        return summarise(self, self.log_odds)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        own = {"log_odds": self.log_odds}
        if self.log_odds_variance is not None:
            own["log_odds_variance"] = self.log_odds_variance
        return _plain(self) | own

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild a map from `to_dict`."""
        return cls(**_built(values))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ShiftedVectorMap(MatrixMap):
    """A map of whole vectors, moved to other shares of the classes.

    Attributes
    ----------
    inner : MatrixMap
        The map before the shift.
    log_ratio : (K,) array
        What is added to the logarithm of each class's probability; the mean is 0.
    trained_at, base_rate : (K,) arrays or None
        The shares of the classes before and after; None where only the shift is known.
    how : {"known", "kept negatives", "estimated"}
    date : str or None
    """

    method = "shifted-vector"

    inner: MatrixMap
    log_ratio: FloatArray
    trained_at: FloatArray | None
    base_rate: FloatArray | None
    how: How
    date: str | None = None

    @property
    def ratio(self) -> FloatArray:
        """What each class is multiplied by, before all are divided by the sum."""
        ratio: FloatArray = np.exp(self.log_ratio)
        return ratio

    def __call__(self, preds: Predictions, *, n_jobs: int | None = None) -> FloatArray:
        """Return the calibrated probabilities, (N, K) float64; every row sums to 1."""
        q = self.inner(preds, n_jobs=n_jobs) * self.ratio
        q /= q.sum(axis=1, keepdims=True)
        return q

    def _block(self, preds: Predictions, at: slice) -> FloatArray:
        q = self.inner._block(preds, at) * self.ratio  # noqa: SLF001
        result: FloatArray = q / q.sum(axis=1, keepdims=True)
        return result

    def band_ends(self, *, simultaneous: bool = False) -> tuple[Self, Self]:
        """Return the ends of the band of the inner map, shifted.

        Its most probable class has the band, and the others divide the rest as before, so that
        all probabilities of a shifted row are known at each end: see `MatrixMap.interval`.
        """
        self.check_band(simultaneous=simultaneous)
        low, high = self.inner.band_ends(simultaneous=simultaneous)
        return replace(self, inner=low), replace(self, inner=high)

    def check_band(self, *, simultaneous: bool = False) -> None:
        """Refuse to give intervals where the inner map has none, or the shares were estimated."""
        self.inner.check_band(simultaneous=simultaneous)
        if self.how == "estimated":
            msg = (
                "the shares of the classes were estimated, and no band allows for their error. "
                "Count the shares, and give them: ogive shift CAL --base-rate."
            )
            raise DoesNotApply(msg)

    def _class_bands(
        self, preds: Predictions, *, simultaneous: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        bands = self.inner._class_bands(preds, simultaneous=simultaneous)  # noqa: SLF001
        if bands is None:
            return None
        middle, low, high = (values * self.ratio for values in bands)
        return middle, low, high

    def summary(self) -> ShiftSummary:
        """Tell what the shift did."""
        return summarise(self, tuple(self.log_ratio.tolist()))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        own = {"K": self.K, "impossible": self.impossible, "log_ratio": self.log_ratio.tolist()}
        return _plain(self) | own

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild a map from `to_dict`."""
        arrays = {
            name: None if values[name] is None else np.array(values[name], dtype=np.float64)
            for name in ("log_ratio", "trained_at", "base_rate")
        }
        return cls(**_built(values) | arrays)


def with_odds(q: FloatArray, odds: float) -> FloatArray:
    """Return probabilities whose odds are multiplied: 0 stays 0 and 1 stays 1.

    >>> with_odds(np.array([0.0, 0.5, 1.0]), 3.0)
    array([0.  , 0.75, 1.  ])
    """
    event = odds * q
    result: FloatArray = event / (event + (1.0 - q))
    return result


def _plain(gamma: Any) -> dict[str, Any]:  # noqa: ANN401 - a shifted map
    """Return the fields that both kinds of shifted map have."""
    rates = {
        name: list(rate) if isinstance(rate := as_plain(getattr(gamma, name)), tuple) else rate
        for name in ("trained_at", "base_rate")
    }
    inner = {"method": gamma.inner.method, "map": gamma.inner.to_dict()}
    known = {name: getattr(gamma, name) for name in ("view", "n", "how", "date")}
    return {**known, **rates, "inner": inner}


def _built(values: dict[str, Any]) -> dict[str, Any]:
    from ogive.calibrators import METHODS, MULTICLASS  # noqa: PLC0415 - the table loads this file

    inner = values["inner"]
    return {**values, "inner": (METHODS | MULTICLASS)[inner["method"]].map.from_dict(inner["map"])}


def shifted(
    gamma: Fitted,
    base_rate: ArrayLike | None = None,
    *,
    trained_at: ArrayLike | None = None,
    kept_negatives: float | None = None,
    how: How | None = None,
    date: str | None = None,
    log_odds_variance: float | None = None,
) -> ShiftedMap | ShiftedVectorMap:
    """Return the calibrator for another base rate: see `Fitted.with_base_rate`.

    how, log_odds_variance : of a base rate that was estimated
    """
    classes = classes_of(gamma)
    old = gamma if isinstance(gamma, ShiftedMap | ShiftedVectorMap) else None
    if trained_at is None and old is not None:
        trained_at = old.base_rate
    before = None if trained_at is None else as_rates(trained_at, "trained_at", classes)
    # From the estimated rate to a known one the estimate cancels; any other shift adds to it.
    from_estimate = old is not None and old.how == "estimated"
    if from_estimate and before is not None and base_rate is not None:
        estimate: Any = getattr(old, "base_rate", None)
        from_estimate = not np.array_equal(before, as_rates(estimate, "trained_at", classes))
    if kept_negatives is not None:
        if base_rate is not None:
            msg = "give `base_rate` or `kept_negatives`, not both: each says the whole shift."
            raise InvalidInput(msg)
        move = np.array([0.0, np.log(_share(kept_negatives))])
        if classes > _TWO:
            msg = "`kept_negatives` is for two classes; give the shares of all as `base_rate`."
            raise DoesNotApply(msg)
        after = None if before is None else _moved(before, move)
    else:
        after, before = _both(base_rate, before, classes)
        move = np.log(after) - np.log(before)
    move = move - move.mean() + (0.0 if old is None else _ratio_of(old))
    _check_size(move)
    if old is not None and after is not None:
        before = _moved(after, -move)  # where the first shift began
    named = how or ("kept negatives" if kept_negatives is not None else "known")
    if from_estimate:
        named, log_odds_variance = "estimated", getattr(old, "log_odds_variance", None)
    inner: Any = gamma if old is None else old.inner
    known: Any = {"view": gamma.view, "n": gamma.n, "inner": inner, "how": named, "date": date}
    if isinstance(gamma, MatrixMap):
        own = {"K": gamma.K, "impossible": gamma.impossible, "log_ratio": move}
        return ShiftedVectorMap(**known, **own, trained_at=before, base_rate=after)
    ends = [None if rates is None else float(rates[1]) for rates in (before, after)]
    own = {"log_odds": float(move[1] - move[0]), "log_odds_variance": log_odds_variance}
    return ShiftedMap(**known, **own, trained_at=ends[0], base_rate=ends[1])


def _both(
    base_rate: ArrayLike | None, before: FloatArray | None, classes: int
) -> tuple[FloatArray, FloatArray]:
    """Return the rates after and before; both are needed."""
    if base_rate is None:
        msg = "give `base_rate`, the share of class 1 in the new data, or `kept_negatives`."
        raise InvalidInput(msg)
    if before is None:
        msg = (
            "`trained_at` is not known: give the base rate of the rows that the calibrator was "
            "fitted on, such as trained_at=0.5."
        )
        raise InvalidInput(msg)
    return as_rates(base_rate, "base_rate", classes), before


def classes_of(gamma: Fitted) -> int:
    """Return the number of classes; a map of a rank has no base rate."""
    if isinstance(gamma, MatrixMap):
        return gamma.K
    if not isinstance(gamma, Map) and "top" not in gamma.view:
        msg = (
            f"a calibrator of the kind {gamma.method!r} cannot be moved to another base rate: each "
            "group has its own. Fit one calibrator, such as the method 'spline'."
        )
        raise DoesNotApply(msg)
    if "top" in gamma.view:
        msg = (
            f"the calibrator is of {gamma.view!r}, whose outcome is whether the model is right: "
            "that is an accuracy, not a base rate. Fit whole vectors, or a class such as class-1."
        )
        raise DoesNotApply(msg)
    return _TWO


def as_rates(rates: ArrayLike, name: str, classes: int) -> FloatArray:
    """Return the share of each class, (classes,); of two classes a number is that of class 1."""
    array = check_rates(rates, name)
    if array.size == 1 and classes == _TWO:
        return np.array([1.0 - array[0], array[0]])
    if array.size != classes:
        shares = "1 share" if array.size == 1 else f"{array.size} shares"
        msg = (
            f"`{name}` has {shares}, but the calibrator has {classes} classes. Give the share of "
            f"{'class 1' if classes == _TWO else 'every class, in their order'}."
        )
        raise DoesNotApply(msg)
    exact = abs(array.sum() - 1.0) <= _ROUNDING  # 0.6, 0.3, 0.1 stay what they are
    result: FloatArray = array if exact else array / array.sum()
    return result


def check_rates(rates: ArrayLike, name: str) -> FloatArray:
    """Return one share, or several that sum to 1."""
    array = as_floats(np.atleast_1d(rates), name, ndim=(1,)).astype(np.float64)
    fine = (array >= LEAST_RATE) & (array < 1.0)
    if not fine.all():
        bad = float(array[~fine][0])
        why = "at 0 or 1 there is one class, and nothing to calibrate. Give a share such as 0.003."
        if 0.0 < bad < LEAST_RATE:
            why = f"the least is {LEAST_RATE:g}."
        if 1.0 < bad < _PERCENT:
            why = f"it is a share. {bad:g} % is {bad / _PERCENT:g}."
        msg = f"`{name}` must be above 0 and below 1, not {bad:g}: {why}"
        raise InvalidInput(msg)
    if array.size > 1 and abs(array.sum() - 1.0) > _SUM_TOLERANCE:
        msg = f"`{name}` must sum to 1 over the classes, not to {array.sum():.6g}."
        raise InvalidInput(msg)
    return array


def _share(kept: float) -> float:
    value = float(as_floats(np.atleast_1d(kept), "kept_negatives", ndim=(1,))[0])
    if not 0.0 < value <= 1.0:
        msg = (
            f"`kept_negatives` must be above 0 and at most 1, not {value:g}: the share of the rows "
            "of class 0 that were kept, such as 0.01."
        )
        raise InvalidInput(msg)
    return value


def _moved(rates: FloatArray, log_ratio: FloatArray) -> FloatArray:
    """Return the shares of classes multiplied by ratios."""
    new = rates * np.exp(log_ratio - log_ratio.max())
    result: FloatArray = new / new.sum()
    return result


def _ratio_of(gamma: ShiftedMap | ShiftedVectorMap) -> FloatArray:
    if isinstance(gamma, ShiftedVectorMap):
        return gamma.log_ratio
    return np.array([-0.5, 0.5]) * gamma.log_odds


def _check_size(log_ratio: FloatArray) -> None:
    span = float(np.ptp(log_ratio))
    if span > MOST_LOG_ODDS:
        msg = (
            f"the shift multiplies odds by up to 1e{np.ceil(span / np.log(10.0)):.0f} (or divides "
            "them), and at most 1e7 is exact. Fit the calibrator on rows nearer to the new base "
            "rate."
        )
        raise InvalidInput(msg)
