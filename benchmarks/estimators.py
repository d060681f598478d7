"""Full vectors against their front end and against scikit-learn: `python -m benchmarks.estimators`.

Two ratios. Fit at 5,000 x 100: against the front end, which is what any method must do first
(check the logits, rank, softmax, sort: the curve of the top-1 view). `predict_proba` of
25,000 x 1,000: against scikit-learn's CalibratedClassifierCV with isotonic regression, around a
model that hands on the logits it is given. Candidates run in turn, round after round.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

import ogive
import ogive.errors
from ogive.calibrators import METHODS
from ogive.calibrators.matrix.compose import fit_vector

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5


class HandsOn(ClassifierMixin, BaseEstimator):
    """A fitted model whose decision function is its input."""

    def __init__(self, K: int) -> None:
        self.K = K
        self.classes_ = np.arange(K)
        self.n_features_in_ = K

    def fit(self, X: object, y: object) -> HandsOn:  # noqa: ARG002
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return X

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X.argmax(axis=1)


def sample(n: int, K: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Logits that are twice too sure, and labels."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, K)) * 2.5
    labels = (logits / 2 + rng.gumbel(size=(n, K))).argmax(axis=1)
    return (logits).astype(np.float32), labels


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(title: str, work: dict[str, Callable[[], object]]) -> None:
    """Print the median time of each, and its ratio to the first within a round."""
    times = np.array([[seconds(task) for task in work.values()] for _ in range(ROUNDS)])
    ratios = times / times[:, :1]
    print(f"\n{title}, {ROUNDS} interleaved rounds")
    for name, ms, ratio in zip(work, 1e3 * np.median(times, axis=0), ratios.T, strict=True):
        spread = f"{np.median(ratio):.3f} ({ratio.min():.3f}-{ratio.max():.3f})"
        print(f"{name:44}{ms:10.1f} ms{spread:>26}")


def main(method: str | None = None) -> None:
    method = method or ("spline" if "spline" in METHODS else "beta")
    warnings.simplefilter("ignore", ogive.errors.FallbackWarning)
    X, y = sample(5000, 100)

    def front() -> ogive.Curve:
        return ogive.Curve.from_predictions(ogive.Predictions(X, y, kind="logits"))

    def fit(name: str) -> object:
        return fit_vector(ogive.Predictions(X, y, kind="logits"), name)

    compare(
        "Fit at 5,000 x 100, times the front end",
        {
            "front end: the curve of the top-1 view": front,
            f"vector='keep', {method}": lambda: fit(method),
            "vector='keep', platt": lambda: fit("platt"),
            "vector='keep', isotonic": lambda: fit("isotonic"),
        },
    )
    X, y = sample(25_000, 1000)
    y[:2000] = np.repeat(np.arange(1000), 2)  # scikit-learn needs every class
    theirs = CalibratedClassifierCV(
        FrozenEstimator(HandsOn(1000)), method="isotonic", cv=2, ensemble=False
    ).fit(X, y)
    ours = ogive.CalibratedClassifier(HandsOn(1000), method=method, cv="prefit").fit(X, y)
    isotonic = ogive.CalibratedClassifier(
        HandsOn(1000), method="isotonic", cv="prefit", vector="ovr"
    ).fit(X, y)
    compare(
        "predict_proba of 25,000 x 1,000, times scikit-learn's",
        {
            "scikit-learn, isotonic": lambda: theirs.predict_proba(X),
            f"vector='keep', {method}": lambda: ours.predict_proba(X),
            "vector='ovr', isotonic": lambda: isotonic.predict_proba(X),
        },
    )


if __name__ == "__main__":
    main(*sys.argv[1:2])
