"""What other packages measure of N scores, where they are installed, and what is right."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

import ogive

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Measuring:
    """A peer's measure of some scores, and what it should be, within a tolerance."""

    work: Callable[[], object]
    right: Callable[[], float]
    tolerance: float = 1e-6

    def check(self, result: object) -> None:
        """Raise AssertionError if the peer's number is not ours."""
        value = float(np.asarray(result).reshape(-1)[0])
        assert abs(value - self.right()) <= self.tolerance, (value, self.right())


def measuring_peers(scores: np.ndarray, hits: np.ndarray) -> dict[str, Measuring]:
    """Return the installed peers' measures of these scores."""
    curve = ogive.Curve.from_scores(scores, hits)
    found: dict[str, Measuring] = {}
    for package, make in _PEERS.items():
        if find_spec(package) is None:
            continue
        with contextlib.suppress(ImportError):
            for name, peer in make(scores, hits, curve).items():
                found[f"{name}"] = peer
    return found


def _sklearn(scores: np.ndarray, hits: np.ndarray, curve: ogive.Curve) -> dict[str, Measuring]:
    from sklearn.calibration import calibration_curve  # noqa: PLC0415

    def largest() -> float:
        rate, score = calibration_curve(hits, scores, n_bins=15)
        return float(np.abs(rate - score).max())

    return {"scikit-learn: calibration_curve": Measuring(largest, lambda: ogive.mce(curve))}


def _netcal(scores: np.ndarray, hits: np.ndarray, curve: ogive.Curve) -> dict[str, Measuring]:
    from netcal.metrics import ECE  # noqa: PLC0415

    labels = hits.astype(np.int64)
    return {
        "netcal: ECE": Measuring(
            lambda: ECE(15).measure(scores, labels), lambda: ogive.ece(curve, 15), 1e-4
        )
    }


def _torchmetrics(scores: np.ndarray, hits: np.ndarray, curve: ogive.Curve) -> dict[str, Measuring]:
    import torch  # noqa: PLC0415
    from torchmetrics.functional.classification import binary_calibration_error  # noqa: PLC0415

    p, y = torch.from_numpy(scores), torch.from_numpy(hits.astype(np.int64))
    return {
        "torchmetrics: ECE": Measuring(
            lambda: binary_calibration_error(p, y, n_bins=15), lambda: ogive.ece(curve, 15), 1e-4
        )
    }


def _probmetrics(scores: np.ndarray, hits: np.ndarray, curve: ogive.Curve) -> dict[str, Measuring]:
    import torch  # noqa: PLC0415
    from probmetrics.metrics import KolmogorovSmirnovCalibrationMetric  # noqa: PLC0415

    p = torch.from_numpy(np.stack([1 - scores, scores], axis=1))
    y = torch.from_numpy(hits.astype(np.int64))
    metric = KolmogorovSmirnovCalibrationMetric()
    return {
        "probmetrics: KS": Measuring(
            lambda: metric.compute_from_labels_probs(y, p),
            lambda: ogive.ks_error(curve),
            2e-3,  # it adds up in float32, and reads inside ties
        )
    }


def _relplot(scores: np.ndarray, hits: np.ndarray, curve: ogive.Curve) -> dict[str, Measuring]:
    from relplot import smECE  # noqa: PLC0415

    labels = hits.astype(np.int64)
    return {
        "relplot: smECE": Measuring(
            lambda: smECE(scores, labels),
            lambda: ogive.smooth_ece(curve),
            1e-2,  # its grid of 1,000 points blurs scores near 1
        )
    }


_PEERS = {
    "sklearn": _sklearn,
    "netcal": _netcal,
    "torchmetrics": _torchmetrics,
    "probmetrics": _probmetrics,
    "relplot": _relplot,
}
