"""One small fitted calibrator of every method, for the tests of exports."""

import functools
import warnings

import numpy as np

from ogive.calibrators import METHODS, MULTICLASS
from ogive.calibrators.groups import fit_groups
from ogive.calibrators.multiclass.class_view import fit_view
from ogive.calibrators.multiclass.compose import fit_multiclass
from ogive.curve import Curve
from ogive.errors import FallbackWarning
from ogive.rows.predictions import Predictions
from ogive.studies.fitting import fit

CURVES = [name for name, method in METHODS.items() if method.reads == "curve"]
MATRICES = [name for name, method in METHODS.items() if method.reads == "predictions"]
VIEW_NAMES = ["classes.top-1", "classes.top-2", "classes.within-top-2"]  # given whole rows
NAMES = (
    [f"{name}.score" for name in CURVES]
    + [f"{name}.vector" for name in MATRICES]
    + [f"{name}.{way}" for way in MULTICLASS if way != "free" for name in CURVES]
    + ["spline.free", "structure.keep"]
    + [f"shifted-{name}" for name in ("spline.score", "isotonic.score")]
    + [f"shifted-{name}" for name in ("vector.vector", "temperature.vector", "spline.keep")]
    + ["spline.top-1", "spline.top-2", "spline.within-top-2", "histogram.class-1", "monotone.score"]
    + ["plateau.score"]
    + VIEW_NAMES
)
#: Of two classes, as 0.1 fits them; the exports of 0.1 with four classes are tested in full.
TWO_NAMES = [
    *(f"two-spline.{way}" for way in ("keep", "ranks", "free", "ovr", "class-0", "class-1")),
    *("two-isotonic.keep", "two-platt.ranks", "two-beta.ovr", "two-histogram.every-rank"),
    *("two-temperature.vector", "two-vector.vector", "two-structure.keep"),
    *("two-platt.class-0", "two-spline.top-1", "two-shifted-spline.keep"),
]
GROUP_NAMES = ["spline.groups"]  # given a group beside the score
CURVE_NAMES = {n for n in NAMES if n.split(".")[1] not in {"vector", *MULTICLASS}}
CURVE_NAMES -= {*VIEW_NAMES}
SQL_NAMES = CURVE_NAMES | {
    *VIEW_NAMES,
    *("temperature.vector", "vector.vector"),
    *("shifted-temperature.vector", "shifted-vector.vector"),
}


def predictions(rows=600, K=4, seed=3):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(rows, K)) * 3
    labels = (0.5 * logits + rng.gumbel(size=(rows, K))).argmax(axis=1)
    return Predictions(logits, labels, kind="logits")


def curve(rows=600, seed=4):
    rng = np.random.default_rng(seed)
    scores = rng.random(rows)
    scores[: rows // 20] = 1.0
    scores[rows // 20 : rows // 10] = 0.0
    hits = rng.random(rows) < 0.1 + 0.8 * scores**2
    return Curve.from_scores(scores, hits)


def group_curves(rows=600, seed=5):
    rng = np.random.default_rng(seed)
    scores, group = rng.random(3 * rows), rng.choice(["BR", "DE", "US"], 3 * rows)
    outcomes = rng.random(3 * rows) < np.where(group == "BR", scores**2, scores)
    return {
        name: Curve.from_scores(scores[group == name], outcomes[group == name])
        for name in ("BR", "DE", "US")
    }


def shifted(calibrator):
    """Return the calibrator at another base rate."""
    rates = {"base_rate": 0.02, "trained_at": 0.4}
    if hasattr(calibrator, "K"):
        K = calibrator.K
        shares = {2: [0.9, 0.1], 4: [0.7, 0.2, 0.09, 0.01]}
        rates = {"base_rate": shares[K], "trained_at": [1 / K] * K}
    return calibrator.with_base_rate(**rates, date="2026-11-17")


@functools.cache  # nothing changes a calibrator
def fitted(name, **sizes):  # noqa: PLR0911 - one for each kind
    """Return the calibrator of a name such as 'platt.score', 'vector.vector' or 'beta.keep'."""
    if name.startswith("two-"):
        return fitted(name.removeprefix("two-"), K=2, **sizes)
    method, way = name.split(".")
    if method.startswith("shifted-"):
        return shifted(fitted(name.removeprefix("shifted-"), **sizes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        if method == "monotone":
            from ogive import fit_spline

            return fit_spline(curve(**sizes), monotone=True)
        if method == "plateau":  # most scores of a check lie beyond those of its fit
            scores = np.random.default_rng(6).uniform(0.3, 0.6, sizes.get("rows", 600))
            hits = np.random.default_rng(7).random(scores.size) < 0.2 + 0.6 * (scores > 0.4)
            return METHODS["spline"].fit(Curve.from_scores(scores, hits))
        if way == "groups":
            return fit_groups(group_curves(**sizes), by="country")
        if way == "score":
            return METHODS[method].fit(curve(**sizes))
        if way in MULTICLASS:
            method = "spline" if method == "structure" else method  # spline.keep was by ranks
            return fit_multiclass(predictions(**sizes), method, multiclass=way)
        if "odir" in method:
            options = {"strengths": [0.1], "offset_strengths": [0.1]}
            return METHODS[method].fit(predictions(**sizes), **options)
        if method == "classes":
            return fit_view(predictions(**sizes), way)
        return fit(predictions(**sizes), method, way, score_only=method == "spline")
