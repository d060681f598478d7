"""Full vectors: fits against their front end, `predict_proba` against scikit-learn's."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

import ogive
import ogive.errors
from benchmarks import samples
from benchmarks.race import Budget, Race
from ogive.calibrators import MULTICLASS
from ogive.calibrators.multiclass.compose import fit_multiclass

if TYPE_CHECKING:
    from collections.abc import Iterator

FRONT, THEIRS = "ogive: the top-1 curve", "scikit-learn: isotonic"
#: By ranks: the fast way to full vectors that keep the decision.
RANKS = "ranks" if "ranks" in MULTICLASS else "keep"


def races() -> Iterator[Race]:
    """Yield the races of fitting and of applying."""
    warnings.simplefilter("ignore", ogive.errors.OgiveWarning)
    yield _fits()
    yield _applying()


def _fits() -> Race:
    values, labels = samples.logits(5_000, 100)

    def preds() -> ogive.Predictions:
        return ogive.Predictions(values, labels, kind="logits")

    def entry(method: str, vector: str) -> object:
        return lambda: fit_multiclass(preds(), method, multiclass=vector)

    ours = f"ogive: multiclass='{RANKS}', spline"
    return Race(
        "vectors-fit",
        "Full vectors fitted at 5,000 x 100",
        {
            FRONT: lambda: ogive.Curve.from_predictions(preds()),
            ours: entry("spline", RANKS),
            f"ogive: multiclass='{RANKS}', platt": entry("platt", RANKS),
            f"ogive: multiclass='{RANKS}', isotonic": entry("isotonic", RANKS),
        },  # type: ignore[arg-type]
        (Budget(ours, FRONT, most=10),),
    )


def _applying() -> Race:
    values, labels = samples.logits(25_000, 1_000)
    model = samples.HandsOn(1_000)
    theirs = CalibratedClassifierCV(
        FrozenEstimator(model), method="isotonic", cv=2, ensemble=False
    ).fit(values, labels)
    entries = {THEIRS: lambda: theirs.predict_proba(values)}
    budgets = []
    for vector in dict.fromkeys(["keep", RANKS]):
        ours = ogive.CalibratedClassifier(model, cv="prefit", multiclass=vector).fit(values, labels)
        name = f"ogive: multiclass='{vector}', spline"
        entries[name] = lambda ours=ours: ours.predict_proba(values)
        budgets.append(Budget(name, THEIRS, faster=5))
    ovr = ogive.CalibratedClassifier(model, method="isotonic", cv="prefit", multiclass="ovr")
    ovr.fit(values, labels)
    entries["ogive: multiclass='ovr', isotonic"] = lambda: ovr.predict_proba(values)

    def check(entry: str, result: object) -> None:
        assert np.abs(np.sum(result, axis=1) - 1).max() < 1e-6, entry  # type: ignore[arg-type]

    return Race(
        "vectors-apply",
        "predict_proba of 25,000 x 1,000",
        entries,
        tuple(budgets),
        check,
        seconds=40.0,
    )
