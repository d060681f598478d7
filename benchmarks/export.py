"""Artifacts of 1,000 classes, and one score in plain Python: `python -m benchmarks.export`."""

from __future__ import annotations

import runpy
import statistics
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import ogive
from ogive.calibrators.multiclass.ranks import fit_ranks
from ogive.export.to_python import write

K = 1000
ROUNDS = 9


def main() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(5000, K)) * 3
    labels = (0.6 * logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    preds = ogive.Predictions(logits, labels, kind="logits")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "cal.json"
        for name, gamma in (
            ("temperature", ogive.fit_temperature(preds)),
            ("vector", ogive.fit_vector(preds)),
            *((f"keep {m}", fit_ranks(preds, m)) for m in ("spline", "paper-spline", "isotonic")),
        ):
            ogive.save(gamma, path)
            seconds = statistics.median(timed(lambda: ogive.load(path)) for _ in range(ROUNDS))
            print(
                f"{name:20} {path.stat().st_size / 1e6:6.3f} MB  loads in {1e3 * seconds:5.1f} ms"
            )
    curve = ogive.Curve.from_predictions(preds)
    scores = rng.random(10_000).tolist()
    for method in ("spline", "paper-spline", "platt", "isotonic", "beta", "histogram", "none"):
        gamma = ogive.calibrators.METHODS[method].fit(curve)
        calibrate = function_of(write(gamma))
        each = statistics.median(
            timed(lambda f=calibrate: [f(s) for s in scores]) for _ in range(ROUNDS)
        )
        print(f"{method:20} {1e6 * each / len(scores):6.2f} us for one score in plain Python")


def function_of(text: str):  # noqa: ANN201
    """Return the function of a written file, as whoever imports it has it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calibrator.py"
        path.write_text(text)
        return runpy.run_path(str(path))["calibrate"]


def timed(work) -> float:  # noqa: ANN001
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
