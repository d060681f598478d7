"""Full vectors made of one map for each column: a class, or a rank.

Every column has its own curve, fitted by the same method. Columns on which that method cannot
work (only one outcome, too few scores) get Platt's map instead, with one warning for all. The
spline works on every column: its average over maps near the identity is also right for a column
whose outcomes are all equal, where Platt's shift would move a score of 0.9 to 0.02.

A probability of exactly 0 is often one that was rounded away: for the maps, a mass of 0 is lifted
to the *floor*, half the smallest positive mass of the calibration rows. Impossible classes get 0
in the end (`impossible`).
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._numerics.blocks import for_each_block
from ogive.calibrators import find_method
from ogive.calibrators.identity import fit_identity
from ogive.calibrators.impossible import impossible_in
from ogive.calibrators.log_values import rescaled, with_weight
from ogive.calibrators.maps import Map
from ogive.calibrators.matrix_map import MatrixMap
from ogive.calibrators.platt import fit_platt, no_slope_reason, shifted
from ogive.calibrators.scaling.temperature import careful_factor
from ogive.curve import Curve
from ogive.errors import FallbackWarning, InvalidInput, NotEnoughData
from ogive.rows.predictions import Predictions, labelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ogive._typing import BoolArray, FloatArray, IntArray

_NUMBERS_PER_BLOCK = 1 << 20  # long columns, so that one call for each column costs little
_SMALLEST_LOG = -690.0
_BITS_OF_FACTOR = 32


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ColumnsMap(MatrixMap):
    """One map for each column of log-odds.

    Attributes
    ----------
    maps : tuple of Map
    floor : float
        What a mass of 0 is lifted to.
    factor : float
        What logits are multiplied by first: see `scaled`.
    """

    maps: tuple[Map, ...]
    floor: float
    factor: float = 1.0  # artifacts from before have none

    def _calibrated(self, preds: Predictions, n_jobs: int | None) -> FloatArray:
        scaled = rescaled(preds, self.factor)
        result = np.empty((preds.n, self.K))
        step = max(1, _NUMBERS_PER_BLOCK // self.K)
        pieces = [slice(i, min(i + step, preds.n)) for i in range(0, preds.n, step)]

        def work(piece: slice) -> None:
            for at in pieces[piece]:
                block = self._block(scaled, at)
                # One map for two classes gives whole vectors.
                whole = len(self.maps) < self.K
                result[at] = block if whole else self._normalised(block, preds, at)

        for_each_block(work, len(pieces), width=1 << 30, n_jobs=n_jobs)  # a piece at a time
        return result

    def _applied(self, high: BoolArray, tail: FloatArray) -> FloatArray:
        """Return each map's probabilities of its column, (rows, columns)."""
        columns = zip(self.maps, np.asfortranarray(high).T, np.asfortranarray(tail).T, strict=True)
        calibrated = np.empty(tail.shape, order="F")
        for k, (gamma, side, far) in enumerate(columns):
            calibrated[:, k] = gamma.from_tails(side, far)
        return calibrated

    def _normalised(self, values: FloatArray, preds: Predictions, at: slice) -> FloatArray:
        """Divide each row by the sum of its possible classes; if all are 0 it stays as it is."""
        zero = impossible_in(preds, at, self.impossible)
        if zero is None:
            return normalised(values)
        values[zero] = 0.0
        empty = zero.any(axis=1) & (values.sum(axis=1) <= 0.0)
        normalised(values)
        values[empty] = 0.0
        return values

    @abstractmethod
    def _block(self, preds: Predictions, at: slice) -> FloatArray:
        """Return what the maps give to some rows of scaled logits, (rows, K)."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        maps = [nested(gamma) for gamma in self.maps]
        return {**vars(self), "maps": maps}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ColumnsMap:
        """Rebuild a map from `to_dict`."""
        return cls(**{**values, "maps": tuple(unnested(inner) for inner in values["maps"])})


def nested(calibrator: Map) -> dict[str, Any]:
    """Return a map inside another one as plain JSON values."""
    return {"method": calibrator.method, "map": calibrator.to_dict()}


def unnested(values: dict[str, Any]) -> Map:
    """Rebuild a map from `nested`."""
    gamma = find_method(values["method"]).map.from_dict(values["map"])
    assert isinstance(gamma, Map)  # noqa: S101 - only maps are nested
    return gamma


class Scaled(NamedTuple):
    """Rows whose columns can be read: logits times `factor`, and masses of 0 lifted to `floor`."""

    preds: Predictions
    labels: IntArray
    factor: float
    floor: float


def scaled(preds: Predictions, method: str, *, rescale: bool, n_jobs: int | None) -> Scaled:
    """Check that a method reads curves, and scale labelled predictions for it."""
    _check_curve_method(method)
    preds = with_weight(preds)
    labels = labelled(preds)
    factor = _scale_factor(preds, method, rescale=rescale, n_jobs=n_jobs)
    preds = rescaled(preds, factor)
    return Scaled(preds, labels, factor, _smallest_mass(preds, n_jobs=n_jobs))


def _scale_factor(
    preds: Predictions, method: str, *, rescale: bool, n_jobs: int | None = None
) -> float:
    """Return the factor for a matrix of logits before its columns are read: 1 / temperature.

    So logits of any scale give the same columns, and the same result. Probabilities and the
    log-odds of one column have a scale, and stay as they are given; so do predictions that are not
    calibrated ("none").
    """
    if not rescale or method == "none" or preds.kind == "probs" or preds.one_column:
        return 1.0
    # Without its last digits, which depend on the order of rows and on the unit of weights: scaled
    # scores that are equal stay so.
    digits, exponent = np.frexp(careful_factor(preds, n_jobs=n_jobs))
    return float(np.ldexp(np.rint(np.ldexp(digits, _BITS_OF_FACTOR)), exponent - _BITS_OF_FACTOR))


def class_log_odds(masses: FloatArray) -> FloatArray:
    """Return the log-odds of each class against all others, (rows, K), from masses above 0.

    Rows of the same masses have the same log-odds, in whatever order their classes are.
    """
    log_odds: FloatArray = np.log(masses) - np.log(_rest(masses))
    return log_odds


def ordered_sum(masses: FloatArray) -> FloatArray:
    """Return the sum of each row, to the last bit whatever the order of its columns."""
    total: FloatArray = np.sort(masses, axis=1).sum(axis=1)
    return total


def class_tails(masses: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Return the side and the tail of each class's probability, (rows, K) each."""
    rest = _rest(masses)
    tail = np.minimum(masses, rest)
    tail /= masses + rest
    return (masses > rest) & (tail < 0.5), tail  # noqa: PLR2004 - a tail of ½ has no side


def _rest(masses: FloatArray) -> FloatArray:
    """Return the mass of all other classes, (rows, K).

    It is the sum without the class's own, but for the largest, where that could cancel: its
    others are added up.
    """
    ordered = np.sort(masses, axis=1)  # so that the sums do not depend on the order of classes
    others = ordered[:, :-1].sum(axis=1)
    rest: FloatArray = (others + ordered[:, -1])[:, None] - masses
    rest[np.arange(masses.shape[0]), masses.argmax(axis=1)] = others
    return rest


def _smallest_mass(preds: Predictions, *, n_jobs: int | None = None) -> float:
    """Return half the smallest positive mass: the floor."""
    found: dict[int, float] = {}

    def work(at: slice) -> None:
        if preds.kind == "probs" or preds.one_column:
            masses = preds.masses(at)
            found[at.start] = float(np.log(masses[masses > 0].min()))
            return
        logs = preds.log_masses(at)  # no exponential needed
        smallest = float(logs.min())
        if smallest < _SMALLEST_LOG:
            smallest = float(logs[logs >= _SMALLEST_LOG].min())
        found[at.start] = smallest

    for_each_block(work, preds.n, width=preds.K, n_jobs=n_jobs)
    return float(np.exp(max(min(found.values()), _SMALLEST_LOG))) / 2


def all_log_odds(preds: Predictions, floor: float, *, n_jobs: int | None = None) -> FloatArray:
    """Return the log-odds of each class in each row, (N, K), with contiguous columns."""
    result = np.empty((preds.n, preds.K), order="F")

    def work(at: slice) -> None:
        result[at] = class_log_odds(np.maximum(preds.masses(at), floor))

    for_each_block(work, preds.n, width=preds.K, n_jobs=n_jobs)
    return result


def column_curve(
    preds: Predictions,
    log_odds: FloatArray,
    hit: BoolArray,
    view: str,
    rows: BoolArray | None = None,
) -> Curve:
    """Return the curve of a column of log-odds (of some rows), with the predictions' weights."""
    weights = preds.sample_weight
    if rows is not None:
        log_odds, hit = log_odds[rows], hit[rows]
        weights = None if weights is None else weights[rows]
    column = Predictions(
        log_odds, hit, kind="logits", sample_weight=weights, weight_kind=preds.weight_kind
    )
    return Curve.from_predictions(column).with_view(view)


def fit_column(curve: Curve, method: str, options: Mapping[str, Any]) -> tuple[Map, bool]:
    """Fit a method to the curve of a column; also return whether Platt's was used instead."""
    if method == "none":
        return fit_identity(curve), False
    if method != "spline" and no_slope_reason(curve):
        return shifted(curve), True
    try:
        gamma = find_method(method).fit(curve, **options)
    except NotEnoughData:
        return fit_platt(curve), True
    assert isinstance(gamma, Map)  # noqa: S101 - checked by _check_curve_method
    return gamma, False


def fit_columns(
    curves: Iterable[Curve],
    method: str,
    options: Mapping[str, Any],
    what: str,
    of: int,
    *,
    first: int = 0,
) -> tuple[Map, ...]:
    """Fit a method to the curve of each column, and warn of those that fell back to Platt's.

    The warning calls `of` columns `what`, and counts them from `first`.
    """
    fits = [fit_column(curve, method, options) for curve in curves]
    failed = [i for i, (_, fell_back) in enumerate(fits, first) if fell_back]
    warn_of(failed, method, what, of, stacklevel=4)  # whoever called the fit
    return tuple(gamma for gamma, _ in fits)


def _check_curve_method(method: str) -> None:
    """Check that the method reads a curve: others give full vectors by themselves."""
    if find_method(method).reads != "curve":
        msg = f"`method` {method!r} calibrates whole vectors by itself: fit it to the predictions."
        raise InvalidInput(msg)


def warn_of(failed: list[int], method: str, what: str, of: int, *, stacklevel: int = 3) -> None:
    """Warn once about the columns that the method could not fit."""
    if failed:
        warnings.warn(
            f"{len(failed)} of {of} {what} (the first: {failed[0]}) have only one outcome, or "
            f"too few scores for {method!r}: 'platt' is fitted for them.",
            FallbackWarning,
            stacklevel=stacklevel,
        )


def normalised(values: FloatArray) -> FloatArray:
    """Divide each row by its sum, in place; a row of zeros becomes uniform, as in scikit-learn."""
    total = values.sum(axis=1, keepdims=True)
    empty = total[:, 0] <= 0.0
    if empty.any():
        values[empty] = 1.0
        total = values.sum(axis=1, keepdims=True)
    values /= total
    return values
