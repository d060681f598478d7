"""From logits: the top-1 curve against memcpy, class-wise KS against sorting the columns, fits.

The front end (check, softmax, rank) is nearly all of the time from logits to a fitted map, so
its limit, reading the logits once, is the limit of the fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

import ogive
from benchmarks import samples
from benchmarks.race import Budget, Race

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COPY, SOFTMAX = "memcpy (the limit)", "scipy: softmax and argmax"
CURVE, SPLINE = "ogive: top-1 curve", "ogive: spline"
TEMPERATURE, THEIRS = "ogive: temperature", "scikit-learn: temperature"
PORT = "probmetrics: the paper's spline"
PAPER = "the paper's way: ranked row by row, probmetrics' spline"
SORTS, CLASSWISE = "np.sort of each column (the limit)", "ogive: class-wise KS"
SHAPES = ((5_000, 10), (5_000, 100), (25_000, 1_000))


def races() -> Iterator[Race]:
    """Yield the races of each shape."""
    for n, K in SHAPES:
        yield _front(n, K)
        yield _fits(n, K)
        yield _classwise(n, K)


def _front(n: int, K: int) -> Race:
    values, labels = samples.logits(n, K)
    copy = np.empty_like(values)

    def scipys() -> tuple[np.ndarray, np.ndarray]:
        p = softmax(values, axis=1)
        top = p.argmax(axis=1)
        return p[np.arange(n), top], top == labels

    def check(entry: str, result: object) -> None:
        if entry == CURVE:
            score, hits = scipys()
            expected = ogive.Curve.from_scores(score, hits)
            assert result.total_hits == expected.total_hits  # type: ignore[attr-defined]
            assert abs(ogive.ks_error(result) - ogive.ks_error(expected)) < 1e-6  # type: ignore[arg-type]

    large = K == 1_000
    return Race(
        "front",
        f"Top-1 curve from {n:,} x {K:,} float32 logits",
        {
            COPY: lambda: np.copyto(copy, values),
            SOFTMAX: scipys,
            CURVE: lambda: _curve(values, labels),
        },
        (Budget(CURVE, COPY, most=6), Budget(CURVE, SOFTMAX, faster=2.5))
        if large
        else (Budget(CURVE, SOFTMAX, most=1),),
        check,
        memory=values.nbytes,
    )


def _curve(values: np.ndarray, labels: np.ndarray) -> ogive.Curve:
    return ogive.Curve.from_predictions(ogive.Predictions(values, labels, kind="logits"))


def _fits(n: int, K: int) -> Race:
    values, labels = samples.logits(n, K)
    model = FrozenEstimator(samples.HandsOn(K))
    preds = ogive.Predictions(values, labels, kind="logits")

    def theirs() -> object:
        return CalibratedClassifierCV(model, method="temperature", cv=2, ensemble=False).fit(
            values, labels
        )

    def check(entry: str, result: object) -> None:
        if entry == SPLINE:
            assert ogive.ks_error(_calibrated_curve(result, preds)) < 0.02
        if entry == TEMPERATURE:  # the truth is 2, but for the rows that give every class its two
            assert abs(result.temperature - 2.0) < 0.3, result  # type: ignore[attr-defined]

    large = K == 1_000
    return Race(
        "fit-logits",
        f"Fits from {n:,} x {K:,} logits",
        {
            "ogive: top-1 curve": lambda: _curve(values, labels),
            SPLINE: lambda: ogive.fit_spline(_curve(values, labels)),
            "ogive: paper's spline": lambda: ogive.fit_paper_spline(_curve(values, labels)),
            TEMPERATURE: lambda: ogive.fit_temperature(
                ogive.Predictions(values, labels, kind="logits")
            ),
            THEIRS: theirs,
        }
        | _paper_s_way(values, labels),
        (
            Budget(SPLINE, THEIRS, faster=50),
            Budget(TEMPERATURE, THEIRS, faster=10),
            Budget(SPLINE, PAPER, faster=5),
        )
        if large
        else (),
        check,
        seconds=60.0,
    )


def _paper_s_way(values: np.ndarray, labels: np.ndarray) -> dict[str, Callable[[], object]]:
    """Return the way of the paper's code, if its port is installed: softmax, top score, spline.

    Its code is no package. It ranks each row on its own, so that from logits to scores it takes
    twice as long as SciPy's softmax and argmax, with which the port runs beside.
    """
    try:
        from probmetrics.calibrators.splines import CDFSplineCalibrator  # noqa: PLC0415
    except ImportError:
        return {}

    def fit(top_of: Callable[[np.ndarray], np.ndarray]) -> object:
        p = softmax(values, axis=1)
        top = top_of(p)
        score = p[np.arange(top.size), top]
        hit = (top == labels).astype(np.int64)
        return CDFSplineCalibrator().fit(np.stack([1 - score, score], axis=1), hit)

    def row_by_row(p: np.ndarray) -> np.ndarray:
        return np.fromiter((row.argpartition(-1)[-1] for row in p), np.intp, p.shape[0])

    return {PORT: lambda: fit(lambda p: p.argmax(axis=1)), PAPER: lambda: fit(row_by_row)}


def _calibrated_curve(gamma: object, preds: ogive.Predictions) -> ogive.Curve:
    curve = ogive.Curve.from_predictions(preds)
    rows = np.repeat(np.arange(curve.score.size), curve.count.astype(int))
    hits = np.concatenate(
        [np.arange(c) < h for c, h in zip(curve.count.astype(int), curve.hits, strict=True)]
    )
    return ogive.Curve.from_scores(gamma(curve.score)[rows], hits)  # type: ignore[operator]


def _classwise(n: int, K: int) -> Race:
    values, labels = samples.logits(n, K)
    preds = ogive.Predictions(values, labels, kind="logits")
    columns = np.random.default_rng(2).integers(0, 2**63, (K, n), dtype=np.uint64)

    def sorts() -> None:
        for column in columns:
            np.sort(column)

    def check(entry: str, result: object) -> None:
        if entry == CLASSWISE:
            expected = ogive.ks_error(ogive.Curve.from_predictions(preds, "class-1"))
            assert abs(result[1] - expected) < 1e-12  # type: ignore[index]

    return Race(
        "classwise",
        f"Class-wise KS of {n:,} x {K:,} logits",
        {SORTS: sorts, CLASSWISE: lambda: ogive.classwise_ks(preds)},
        (Budget(CLASSWISE, SORTS, most=3),),
        check,
        seconds=40.0,
    )
