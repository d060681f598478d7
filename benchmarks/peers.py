"""The one adapter to other libraries' calibrators, for the arena and for benchmarks.

    PYTHONPATH=. ogive arena DIR --peers module:benchmarks.peers

``SCORES`` holds methods for the scores of a view, ``VECTORS`` those for whole vectors. Each is a
function ``fit(given, came_true) -> predict``: scores in [0, 1] and 0/1 hits, or an (N, K) array
of probabilities and class indices; ``predict`` takes new ones and returns calibrated ones. A method
imports its package when it is called, so whatever is not installed is left out, and said to be.

Anyone's methods can join an arena the same way: a module of one's own with such tables.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    Predict = Callable[[np.ndarray], np.ndarray]
    Fit = Callable[[np.ndarray, np.ndarray], Predict]

_EDGE = 1e-12  # log-odds of scores that are exactly 0 or 1 are cut here


def _columns(scores: np.ndarray) -> np.ndarray:
    """Return the two columns that libraries for classifiers ask for."""
    return np.stack([1.0 - scores, scores], axis=1)


def _log_odds(scores: np.ndarray) -> np.ndarray:
    inside = np.clip(scores, _EDGE, 1.0 - _EDGE)
    return np.log(inside) - np.log1p(-inside)


# scikit-learn ---------------------------------------------------------------------------------


def sklearn_isotonic(scores: np.ndarray, hits: np.ndarray) -> Predict:
    from sklearn.isotonic import IsotonicRegression  # noqa: PLC0415

    predict: Predict = IsotonicRegression(out_of_bounds="clip").fit(scores, hits).predict
    return predict


def sklearn_sigmoid(scores: np.ndarray, hits: np.ndarray) -> Predict:
    """Platt's method as scikit-learn has it, on log-odds."""
    from sklearn.calibration import _SigmoidCalibration  # noqa: PLC0415

    model = _SigmoidCalibration().fit(_log_odds(scores), hits)
    return lambda new: model.predict(_log_odds(new))


def sklearn_temperature(probs: np.ndarray, labels: np.ndarray) -> Predict:
    from sklearn.calibration import _TemperatureScaling  # noqa: PLC0415 - from 1.8 on

    model = _TemperatureScaling().fit(np.log(np.maximum(probs, _EDGE)), labels)
    return lambda new: model.predict(np.log(np.maximum(new, _EDGE)))


# betacal, splinecalib, venn-abers -------------------------------------------------------------


def betacal(scores: np.ndarray, hits: np.ndarray) -> Predict:
    from betacal import BetaCalibration  # noqa: PLC0415

    predict: Predict = BetaCalibration(parameters="abm").fit(scores, hits).predict
    return predict


def splinecalib(scores: np.ndarray, hits: np.ndarray) -> Predict:
    from splinecalib import SplineCalib  # noqa: PLC0415

    model = SplineCalib()
    model.fit(scores, hits)
    calibrate: Predict = model.calibrate
    return calibrate


def venn_abers(scores: np.ndarray, hits: np.ndarray) -> Predict:
    from venn_abers import VennAbers  # noqa: PLC0415

    model = VennAbers()
    model.fit(_columns(scores), hits)
    return lambda new: model.predict_proba(_columns(new))[0][:, 1]


# netcal ---------------------------------------------------------------------------------------


def netcal(kind: str, given: np.ndarray, came_true: np.ndarray, **options: Any) -> Predict:  # noqa: ANN401
    import netcal.binning  # noqa: PLC0415
    import netcal.scaling  # noqa: PLC0415

    room = netcal.binning if hasattr(netcal.binning, kind) else netcal.scaling
    model = getattr(room, kind)(**options)
    model.fit(given, came_true)
    return lambda new: np.asarray(model.transform(new)).reshape(new.shape)


# probmetrics ----------------------------------------------------------------------------------


def probmetrics(kind: str, given: np.ndarray, came_true: np.ndarray) -> Predict:
    from probmetrics.calibrators import get_calibrator  # noqa: PLC0415

    flat = given.ndim == 1
    model = get_calibrator(kind)
    model.fit(_columns(given) if flat else given, came_true)

    def predict(new: np.ndarray) -> np.ndarray:
        p = np.asarray(model.predict_proba(_columns(new) if flat else new))
        return p[:, 1] if flat else p

    return predict


SCORES: dict[str, Fit] = {
    "sklearn isotonic": sklearn_isotonic,
    "sklearn sigmoid": sklearn_sigmoid,
    "betacal": betacal,
    "splinecalib": splinecalib,
    "venn-abers": venn_abers,
    "netcal histogram": partial(netcal, "HistogramBinning", bins=15),
    "netcal BBQ": partial(netcal, "BBQ"),
    "probmetrics quadratic": partial(probmetrics, "quadratic-scaling"),
    "probmetrics affine": partial(probmetrics, "affine-scaling"),
}

VECTORS: dict[str, Fit] = {
    "sklearn temperature": sklearn_temperature,
    "netcal temperature": partial(netcal, "TemperatureScaling"),
    "probmetrics temperature": partial(probmetrics, "temp-scaling"),
    "probmetrics SVS": partial(probmetrics, "svs"),
    "probmetrics SMS": partial(probmetrics, "sms"),
}
