"""Random calibration sets for the invariance suite: every method, way, container and hard shape.

A case is a few words and numbers from which the rows follow, so that its `repr` reproduces it.
Logits lie on a grid of powers of two: shifting and scaling them by powers of two loses no digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec

import numpy as np
from scipy.special import expit, softmax

from ogive.calibrators import METHODS, MULTICLASS

GRID = 1024.0
FRESH_ROWS = 12  # ordinary rows that were not fitted on
SHOWN_ROWS = 30  # rows of the fit whose answers are compared
ODIR = ("ms-odir", "dir-odir")

#: What the rows are like. "tied": equal rows and scores, but no two equal values in a row;
#: "tied-classes": also equal values in a row, where the class of the lower index is ranked first.
SHAPES = (
    "ordinary",
    "all-correct",
    "all-wrong",
    "one-class",
    "one-unseen",
    "saturated",
    "tied",
    "tied-classes",
    "constant",
    "zeros",
    "tiny",
    "huge",
)
WEIGHTS = ("none", "repetition", "fractional", "sampling")
DTYPES = ("float64", "float32", "float16")
CONTAINERS = tuple(
    name
    for name in ("numpy", "pandas", "list", "fortran", "strided", "estimator")
    if name != "pandas" or find_spec("pandas")  # the tests' own extra does without it
)
CURVES = ("scores", "predictions", "merged", "weighted", "summarised", "stream")


def table():
    """Return all pairs of a method and a way; "score" is a curve, "matrix" reads whole vectors."""
    pairs = []
    for name, method in METHODS.items():
        if method.reads == "predictions":
            pairs.append((name, "matrix"))
            continue
        pairs.append((name, "score"))
        # "free" is for the spline only; "keep" of other methods is "ranks".
        pairs += [
            (name, way) for way in MULTICLASS if name == "spline" or way not in {"keep", "free"}
        ]
    return pairs


@dataclass(frozen=True)
class Case:
    """A calibration set, and what is fitted to it; K = 1 is one column."""

    method: str
    way: str
    shape: str = "ordinary"
    n: int = 50
    K: int = 3
    kind: str = "logits"
    dtype: str = "float64"
    container: str = "numpy"
    weighting: str = "none"
    seed: int = 0

    @property
    def name(self):
        size = "few" if self.n < 40 else "some" if self.n < 400 else "many"
        return f"{self.method}.{self.way}/{self.shape}/{self.kind}/{self.weighting}/{size}"

    @property
    def classes(self):
        """How many classes there are: two for one column."""
        return max(self.K, 2)

    @property
    def weight_kind(self):
        return "sampling" if self.weighting == "sampling" else "repetition"

    @cached_property
    def _drawn(self):
        """The values (n + FRESH_ROWS, K), and the labels of the first n."""
        rng = np.random.default_rng(self.seed)
        n, K = self.n, self.classes
        z = np.round(GRID * rng.uniform(0.5, 4.0) * rng.normal(size=(n + FRESH_ROWS, K))) / GRID
        if self.shape == "tied":
            few = np.round(GRID * np.cumsum(rng.uniform(0.1, 2.0, K))) / GRID
            z = rng.permuted(np.tile(few, (z.shape[0], 1)), axis=1)
        elif self.shape == "tied-classes":
            z = np.round(z)
        elif self.shape == "constant":
            z[:] = z[0]
        elif self.shape == "saturated":
            z *= 64.0
        noise = rng.gumbel(size=z.shape)
        labels = (rng.uniform(0.2, 1.5) * z + rng.normal(size=K) + noise)[:n].argmax(axis=1)
        if self.shape in {"tiny", "huge"}:
            z *= 2.0**-20 if self.shape == "tiny" else 2.0**20
        return self._as_given(z, rng), self._relabelled(labels, z, rng)

    def _relabelled(self, labels, z, rng):
        if self.shape == "all-correct":
            return z[: self.n].argmax(axis=1)
        if self.shape == "all-wrong":
            return z[: self.n].argmin(axis=1)
        if self.shape == "one-class":
            return np.full(self.n, int(rng.integers(self.classes)))
        if self.shape == "one-unseen":
            gone = int(rng.integers(self.classes))
            return np.where(labels == gone, (gone + 1) % self.classes, labels)
        return labels

    def _rounded(self, values):
        """Return values of the type, the largest where they would overflow."""
        largest = float(np.finfo(self.dtype).max)
        finite = np.where(np.isinf(values), values, np.clip(values, -largest, largest))
        return finite.astype(self.dtype).astype(np.float64)

    def _as_given(self, z, rng):
        """Return logits or probabilities, one column or K, to the digits of the type."""
        zeros = self.shape == "zeros"
        if self.K == 1:
            z = z[:, 1] - z[:, 0]
            given = z if self.kind == "logits" else expit(z)
            if zeros:
                at = rng.random(z.shape) < 0.2
                given[at] = -np.inf if self.kind == "logits" else rng.integers(0, 2, at.sum())
            return self._rounded(given)
        K, rows, top = self.K, np.arange(z.shape[0]), z.argmax(axis=1)
        if zeros:
            lost = rng.random(z.shape) < 0.3
            lost[rows, top] = False
            z = np.where(lost, -np.inf, z)
        if self.kind == "logits":
            return self._rounded(z)
        if self.shape == "tied":  # shares of a power of two: equal in exact arithmetic
            rank = z.argsort(axis=1).argsort(axis=1)
            share = np.arange(1.0, K + 1.0)
            share[-1] += GRID - share.sum()
            return share[rank] / GRID
        return softmax(z, axis=1).astype(self.dtype).astype(np.float64)

    @property
    def given(self):
        return self._drawn[0][: self.n]

    @property
    def labels(self):
        return self._drawn[1]

    @property
    def shown(self):
        """Rows whose answers are compared: some of the fit, and fresh ones."""
        return np.concatenate([self.given[:SHOWN_ROWS], self._drawn[0][self.n :]])

    @cached_property
    def weights(self):
        rng = np.random.default_rng([self.seed, 1])
        if self.weighting == "none":
            return None
        if self.weighting == "repetition":
            w = rng.integers(0, 4, self.n).astype(float)
        else:
            w = rng.uniform(0.25, 3.0, self.n) * (rng.random(self.n) < 0.8)
        w[int(rng.integers(self.n))] = 2.0
        return w


def extreme_rows(case):
    """Return rows far beyond anything seen, of the case's kind and number of columns."""
    K = case.classes
    if case.kind == "probs":
        column = np.array([0.0, 1.0, 0.5, 5e-324, 1.0 - 2.0**-53, 1e-300, 1e-16])
        if case.K == 1:
            return column
        rest = (1.0 - column)[:, None] / (K - 1)
        first = np.concatenate([column[:, None], np.repeat(rest, K - 1, axis=1)], axis=1)
        return np.concatenate([first, np.eye(K), np.full((1, K), 1.0 / K)])
    if case.K == 1:
        return np.array([0.0, 1e30, -1e30, -np.inf, 745.0, -745.0, 37.0, 5e-324])
    rows = [np.zeros(K), np.full(K, 1e30), np.full(K, -1e30)]
    for far in (1e30, -1e30, 800.0, -800.0, -np.inf):
        rows += [np.eye(K)[0] * far if np.isfinite(far) else np.array([far] + [0.0] * (K - 1))]
    rows += [np.linspace(-1e30, 1e30, K), np.array([0.0] + [-np.inf] * (K - 1))]
    return np.stack(rows)


def draw(rng, pair=None):
    """Draw one case from a generator of random numbers; a pair fixes the method and the way."""
    pairs = table()
    method, way = pairs[rng.integers(len(pairs))] if pair is None else pair

    def one(of):
        return str(of[rng.integers(len(of))])

    sizes = [(1, 9), (10, 40), (40, 120), (180, 420), (1000, 5001)]
    low, high = sizes[rng.choice(5, p=[0.3, 0.3, 0.2, 0.17, 0.03])]
    odir, few, many = method in ODIR, [2, 3, 4], [1, 2, 3, 4, 5, 10, 20]
    return Case(
        method=method,
        way=way,
        shape=one(SHAPES),
        n=int(rng.integers(min(low, 40), 61) if odir else rng.integers(low, high)),
        K=1 if way == "score" else int(rng.choice(few if odir else many)),
        kind=one(("logits", "probs")),
        dtype=one(DTYPES),
        container=one(CURVES if way == "score" else CONTAINERS),
        weighting=one(WEIGHTS),
        seed=int(rng.integers(2**31)),
    )
