"""Many classes: fits of whole vectors and what is built on them, beside SMS and scikit-learn.

Minutes each, so only when named: `python -m benchmarks --only many-classes`. Needs probmetrics
(and torch) for SMS; without it, scikit-learn's temperature is the unit.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

import ogive
from benchmarks import samples
from benchmarks.race import Budget, Race
from ogive.calibrators.multiclass.compose import fit_multiclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TEMPERATURE, SMS = "scikit-learn: temperature", "probmetrics: SMS"
DEFAULT = "ogive: SplineCalibrator"
#: Shape -> what the default may take, in units of which peer.
FITS = {(5_000, 10): (1.0, SMS), (5_000, 100): (1.0, SMS), (25_000, 1_000): (2.0, TEMPERATURE)}
MOST_CLASSES_FOR_SMS = 100  # with 1,000 it takes minutes


def races() -> Iterator[Race]:
    """Yield the races, the shortest first."""
    warnings.simplefilter("ignore", ogive.errors.OgiveWarning)
    for n, K in FITS:
        yield _fits(n, K)
    yield _one_method()
    yield _compare()


def logits(n: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Return logits of a model that is twice too sure and favours some classes, and labels."""
    rng = np.random.default_rng(0)
    values = 2.0 * rng.normal(size=(n, K))
    values[np.arange(n), rng.integers(0, K, n)] += 6.0
    truth = values / 2 + 0.5 * rng.normal(size=K)
    labels = (truth + rng.gumbel(size=(n, K))).argmax(axis=1)
    labels[: 2 * K] = np.repeat(np.arange(K), 2)[:n]  # scikit-learn needs every class
    return values.astype(np.float32), labels


def _fits(n: int, K: int) -> Race:
    values, labels = logits(n, K)
    model = FrozenEstimator(samples.HandsOn(K))

    def theirs() -> object:
        how = CalibratedClassifierCV(model, method="temperature", cv=2, ensemble=False)
        return how.fit(values, labels)

    def ours(multiclass: str) -> Callable[[], object]:
        preds = ogive.Predictions(values, labels, kind="logits")
        return lambda: fit_multiclass(preds, multiclass=multiclass)

    most, unit = FITS[n, K]
    return Race(
        "many-classes",
        f"Whole vectors fitted at {n:,} x {K:,}",
        {
            TEMPERATURE: theirs,
            **(_sms(values, labels) if K <= MOST_CLASSES_FOR_SMS else {}),
            DEFAULT: lambda: ogive.SplineCalibrator(kind="logits").fit(values, labels),
            "ogive: multiclass='keep'": ours("keep"),
            "ogive: multiclass='ranks'": ours("ranks"),
        },
        (Budget(DEFAULT, unit, most=most),),
        seconds=60.0,
        least=1 if K > MOST_CLASSES_FOR_SMS else 5,
    )


def _one_method() -> Race:
    """Return what one temperature and one factor for each class cost."""
    large = ogive.Predictions(*logits(25_000, 1_000), kind="logits")
    small = ogive.Predictions(*logits(2_500, 1_000), kind="logits")
    temperature, vector = "ogive: temperature, 25,000 rows", "ogive: vector, 2,500 rows"
    return Race(
        "many-classes",
        "One method of 1,000 classes",
        {
            temperature: lambda: ogive.fit_temperature(large),
            vector: lambda: ogive.fit_vector(small),
        },
        (Budget(temperature, seconds=0.25), Budget(vector, seconds=3.0)),
        least=1,
    )


def _compare() -> Race:
    """Return what all default methods cost together, and the report that has them."""
    values, labels = logits(5_000, 1_000)
    parts = {"cal": slice(None, 2_500), "test": slice(2_500, None)}
    cal, test = (ogive.Predictions(values[at], labels[at], kind="logits") for at in parts.values())
    arrays = {f"{name}_logits": values[at] for name, at in parts.items()}
    arrays |= {f"{name}_labels": labels[at] for name, at in parts.items()}
    compare, report = "ogive: compare", "ogive report, whole process"

    def whole_report() -> object:
        with tempfile.TemporaryDirectory() as folder:
            np.savez(Path(folder, "parts.npz"), **arrays)
            work = ["report", str(Path(folder, "parts.npz")), "--output", f"{folder}/page.html"]
            command = [sys.executable, "-c", "from ogive.cli import main; main()", *work]
            return subprocess.run(command, check=True, capture_output=True)  # noqa: S603

    return Race(
        "many-classes",
        "All default methods at 2,500 x 1,000",
        {compare: lambda: ogive.compare(cal, test), report: whole_report},
        (Budget(compare, seconds=10.0), Budget(report, seconds=15.0)),
        least=1,
    )


def _sms(values: np.ndarray, labels: np.ndarray) -> dict[str, Callable[[], object]]:
    try:
        from probmetrics.calibrators import get_calibrator  # noqa: PLC0415
    except ImportError:
        return {}
    probs = np.exp(values - values.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    return {SMS: lambda: get_calibrator("sms").fit(probs, labels)}
