"""Calibrators of whole matrices against scikit-learn: `python -m benchmarks.matrix [part ...]`.

Parts: `temperature` (25,000 x 1,000 and smaller, scikit-learn's in turn with ours), `odir`
(the whole cross-validation at 5,000 x 10 and 5,000 x 100), `vector`. Candidates run in turn,
round after round; the medians and the median of the ratios within a round are printed.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from ogive import Predictions, fit_dir_odir, fit_ms_odir, fit_temperature, fit_vector

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5


class Logits(ClassifierMixin, BaseEstimator):
    """A model whose decision function is its input: what scikit-learn needs to calibrate one."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Logits:  # noqa: ARG002
        self.classes_ = np.arange(X.shape[1])
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return X

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X.argmax(axis=1)


def sample(n: int, K: int, T: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    logits = (2.0 * T * rng.standard_normal((n, K), dtype=np.float32)).astype(np.float32)
    labels = np.empty(n, dtype=np.intp)
    for i in range(0, n, 1000):  # Gumbel noise on the true logits draws from their softmax
        block = logits[i : i + 1000]
        labels[i : i + 1000] = (block / T + rng.gumbel(size=block.shape)).argmax(axis=1)
    return logits, labels


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def temperature() -> None:
    from sklearn.calibration import CalibratedClassifierCV  # noqa: PLC0415
    from sklearn.frozen import FrozenEstimator  # noqa: PLC0415

    print("temperature, seconds: median of", ROUNDS, "rounds in turn")
    for n, K in ((5_000, 10), (5_000, 100), (25_000, 1_000)):
        logits, labels = sample(n, K)
        model = FrozenEstimator(Logits().fit(logits, labels))

        def ours(z: np.ndarray = logits, y: np.ndarray = labels) -> object:
            return fit_temperature(Predictions(z, y, kind="logits"))

        def theirs(z: np.ndarray = logits, y: np.ndarray = labels, m: object = model) -> object:
            return CalibratedClassifierCV(m, method="temperature").fit(z, y)

        times = np.array([[seconds(ours), seconds(theirs)] for _ in range(ROUNDS)])
        ratio = times[:, 1] / times[:, 0]
        a, b = np.median(times, axis=0)
        spread = f"{np.median(ratio):.1f} ({ratio.min():.1f}-{ratio.max():.1f})"
        print(f"{n:7,} x {K:5,}   ours {a:7.3f}   scikit-learn {b:7.3f}   ratio {spread}")


def vector() -> None:
    for n, K in ((5_000, 10), (5_000, 100), (25_000, 1_000)):
        preds = Predictions(*sample(n, K), kind="logits")
        wall, used = time.perf_counter(), time.process_time()
        fit_vector(preds)
        wall, used = time.perf_counter() - wall, time.process_time() - used
        print(f"vector {n:,} x {K:,}: {wall:.2f} s ({used:.2f} s of processor time)", flush=True)


def odir() -> None:
    for K in (10, 100):
        preds = Predictions(*sample(5_000, K), kind="logits")
        for fit in (fit_dir_odir, fit_ms_odir):
            wall, used = time.perf_counter(), time.process_time()
            gamma = fit(preds)
            wall, used = time.perf_counter() - wall, time.process_time() - used
            print(
                f"{fit.__name__} 5,000 x {K}, whole cross-validation: {wall:.1f} s "
                f"({used:.1f} s of processor time), chose {gamma}",
                flush=True,
            )


def main(parts: list[str]) -> None:
    for name, part in {"temperature": temperature, "vector": vector, "odir": odir}.items():
        if not parts or name in parts:
            part()


if __name__ == "__main__":
    main(sys.argv[1:])
