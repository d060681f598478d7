"""What the benchmarks run on: made-up predictions of overconfident models."""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


@cache
def scores(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n scores of a model that is overconfident with a bend, and their outcomes."""
    rng = np.random.default_rng(0)
    eta = rng.gamma(2.0, 3.0, n) - 1.5
    hits = rng.random(n) < 1 / (1 + np.exp(-0.5 * eta - 0.3 * np.sin(eta)))
    return 1 / (1 + np.exp(-eta)), hits


@cache
def logits(n: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    """Return float32 logits that are twice too large, and labels; every class is seen."""
    rng = np.random.default_rng(0)
    values = 4.0 * rng.standard_normal((n, K), dtype=np.float32)
    labels = np.empty(n, dtype=np.intp)
    for i in range(0, n, 1000):  # Gumbel noise on the true logits draws from their softmax
        block = values[i : i + 1000]
        labels[i : i + 1000] = (block / 2 + rng.gumbel(size=block.shape)).argmax(axis=1)
    labels[: 2 * K] = np.repeat(np.arange(K), 2)[:n]  # scikit-learn needs every class
    return values, labels


class HandsOn(ClassifierMixin, BaseEstimator):
    """A fitted model whose decision function is its input: what scikit-learn can calibrate."""

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
