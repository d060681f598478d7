"""Measurements of docs/faq.md: `python -m benchmarks.faq [--write PAGE] [--only NAME]`.

They need no files: data come with scikit-learn (digits, breast cancer, diabetes) and with ogive
(the LeNet-5 on Fashion-MNIST), or are drawn from a known truth. Ten minutes on one core.
"""

from __future__ import annotations

import argparse
import warnings
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, PredefinedSplit, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ogive
from benchmarks.tables import lines, show
from ogive.calibrators.identity import fit_identity
from ogive.errors import OgiveWarning

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import BoolArray, FloatArray

SPLITS = 10  # random splits of each bundled data set
MODELS = {
    "naive Bayes": GaussianNB(),
    "random forest": RandomForestClassifier(100, random_state=0),
    "boosted trees": HistGradientBoostingClassifier(max_iter=60, random_state=0),
    "network": make_pipeline(StandardScaler(), MLPClassifier((32,), max_iter=60, random_state=0)),
}


def bundled() -> dict[str, tuple[FloatArray, BoolArray]]:
    """Return data sets that come with scikit-learn, with two classes each."""
    digits, cancer, diabetes = (
        load(return_X_y=True) for load in (load_digits, load_breast_cancer, load_diabetes)
    )
    return {
        "digits (5 to 9?)": (digits[0], digits[1] >= 5),
        "breast cancer": (cancer[0], cancer[1] == 0),
        "diabetes (worse than most?)": (diabetes[0], diabetes[1] > np.median(diabetes[1])),
    }


def errors(q: FloatArray, outcomes: BoolArray) -> tuple[float, float]:
    """Return the KS error in percent, and the log loss."""
    q = np.clip(q, 1e-7, 1 - 1e-7)
    return 100.0 * ogive.ks_error(q, outcomes), float(log_loss(outcomes, q))


def calibrated(p_cal: FloatArray, y_cal: BoolArray, p: FloatArray) -> FloatArray:
    return ogive.fit_spline(ogive.Curve.from_scores(p_cal, y_cal))(p)


def on_which_rows() -> str:
    """Calibrate one model on its training rows, on validation rows, and by cross-validation."""
    ways = ("not at all", "training rows", "validation rows", "cross-validated", "new rows")
    rows = []
    for data, (X, y) in bundled().items():
        found: dict[str, list] = {name: [] for name in MODELS}
        for split in range(SPLITS):
            X_train, X_rest, y_train, y_rest = half(X, y, split)
            X_new, X_test, y_new, y_test = half(X_rest, y_rest, split)
            for name, model in MODELS.items():
                fitted = clone(model).fit(X_train, y_train)
                seen, new, p = (fitted.predict_proba(x)[:, 1] for x in (X_train, X_new, X_test))
                folds = ogive.CalibratedClassifier(clone(model), cv=5).fit(X_train, y_train)
                results = (
                    p,
                    calibrated(seen, y_train, p),
                    chosen(model, (X_train, y_train), (X_new, y_new), X_test),
                    folds.predict_proba(X_test)[:, 1],
                    calibrated(new, y_new, p),
                )
                found[name].append([errors(q, y_test) for q in results])
        for name, cells in found.items():
            means = [f"{ks:.1f} / {loss:.3f}" for ks, loss in np.mean(cells, axis=0)]
            rows.append([data, name, *means])
    return lines(["data", "model", *ways], rows)


def half(X: FloatArray, y: BoolArray, split: int) -> list:
    return train_test_split(X, y, train_size=0.5, random_state=split, stratify=y)


#: What the validation rows choose, model by model.
GRIDS = {
    "GaussianNB": {"var_smoothing": [1e-9, 1e-6, 1e-3, 1e-1]},
    "RandomForestClassifier": {"max_depth": [3, 6, None], "max_features": ["sqrt", 0.5]},
    "HistGradientBoostingClassifier": {"max_leaf_nodes": [4, 15, 31]},
    "Pipeline": {"mlpclassifier__alpha": [1e-4, 1e-2, 1.0]},
}


def chosen(
    model: object,
    train: tuple[FloatArray, BoolArray],
    validation: tuple[FloatArray, BoolArray],
    X_test: FloatArray,
) -> FloatArray:
    """Choose the model's parameters on validation rows, then calibrate on the same rows."""
    (X, y), (X_val, y_val) = train, validation
    rows = np.r_[np.full(len(X), -1), np.zeros(len(X_val))]
    search = GridSearchCV(
        clone(model),
        GRIDS[type(model).__name__],
        scoring="neg_log_loss",
        cv=PredefinedSplit(rows),
        refit=False,
    ).fit(np.vstack([X, X_val]), np.r_[y, y_val])
    best = clone(model).set_params(**search.best_params_).fit(X, y)
    p_val, p = (best.predict_proba(x)[:, 1] for x in (X_val, X_test))
    return calibrated(p_val, y_val, p)


def lenet() -> tuple[ogive.Predictions, ogive.Predictions]:
    with as_file(files("ogive") / "data" / "fmnist_lenet5.npz") as path:
        return ogive.read(path, "cal"), ogive.read(path, "test")


def rows_of(preds: ogive.Predictions, view: str) -> tuple[FloatArray, BoolArray]:
    """Return the scores and outcomes of a view."""
    rows = ogive.score_rows(preds, view)
    return rows.score, rows.hit


#: Methods, and how they make full vectors; methods of a score, whose AUC is shown.
WAYS = [
    ("none", "keep"), ("temperature", "keep"), ("vector", "free"), ("spline", "keep"),
    ("spline", "free"), ("isotonic", "ovr"), ("histogram", "ovr"),
]  # fmt: skip
AUC_OF = ("none", "spline", "isotonic", "histogram")


def decisions_and_ranks() -> str:
    """Accuracy of full vectors, and AUC of one class, before and after."""
    cal, test = lenet()
    curve = ogive.Curve.from_predictions(cal, view="class-6")
    p, shirt = rows_of(test, "class-6")
    decision = test.probabilities().argmax(axis=1)
    rows = []
    for method, how in WAYS:
        q = ogive.fit_multiclass(cal, method, multiclass=how)(test).argmax(axis=1)
        auc = ""
        if method in AUC_OF:
            fit = getattr(ogive, f"fit_{method}", fit_identity)
            auc = f"{roc_auc_score(shirt, fit(curve)(p)):.5f}"
        right = f"{100 * (q == test.labels).mean():.2f} %"
        rows.append([f"{method} ({how})", right, f"{(q != decision).sum():,}", auc])
    return lines(["method", "accuracy", "decisions changed of 10,000", "AUC of class 6"], rows)


def base_rates() -> str:
    """Calibrate on balanced rows, and use at the base rate of 10 %: in which order?"""
    cal, test = lenet()
    p_cal, y_cal = rows_of(cal, "class-6")
    p, y = rows_of(test, "class-6")
    found = []
    for draw in range(20):
        rng = np.random.default_rng(draw)
        rare = np.flatnonzero(y_cal)
        kept = rng.choice(np.flatnonzero(~y_cal), rare.size, replace=False)
        at = np.r_[rare, kept]  # as many of class 1 as of class 0
        balanced = ogive.fit_spline(ogive.Curve.from_scores(p_cal[at], y_cal[at]))
        identity = fit_identity(ogive.Curve.from_scores(p_cal[at], y_cal[at]))
        few = rng.choice(y_cal.size, 200, replace=False)
        ways = {
            "nothing": p,
            "calibrate on balanced rows, no shift": balanced(p),
            "shift the base rate, no calibration": identity.with_base_rate(
                y.mean(), trained_at=0.5
            )(p),
            "calibrate on balanced rows, then shift": balanced.with_base_rate(
                y.mean(), trained_at=0.5
            )(p),
            "calibrate on 200 rows with the new base rate": calibrated(p_cal[few], y_cal[few], p),
            "calibrate on 5,000 rows with the new base rate": calibrated(p_cal, y_cal, p),
        }
        found.append([errors(q, y) for q in ways.values()])
    rows = [
        [name, f"{ks:.2f}", f"{loss:.4f}"]
        for name, (ks, loss) in zip(ways, np.mean(found, axis=0), strict=True)
    ]
    return lines(["what is done", "KS %", "log loss"], rows)


DAYS, ROWS, CHANGES = 180, 300, 60


def refitting() -> str:
    """Half a year in which the world changes on day 60, under four rules of refitting."""
    rules: dict[str, Callable[[int], int | None] | None] = {
        "never": lambda _: None,
        "every 30 days, on the last 30": lambda day: day - 30 if day % 30 == 0 else None,
        "every 7 days, on the last 7": lambda day: day - 7 if day % 7 == 0 else None,
        "when `Watch` raises an alarm, on the rows since the change": None,
    }
    found: dict[str, list] = {name: [] for name in rules}
    for draw in range(4):
        rng = np.random.default_rng(draw)
        s = rng.beta(2, 5, (DAYS, ROWS))
        late = np.arange(DAYS)[:, None] >= CHANGES
        y = rng.random(s.shape) < np.where(late, s**1.4, s)
        for name, rule in rules.items():
            q, refits = lived(s, y, rule)
            late_ks = 100 * ogive.ks_error(q[CHANGES:].ravel(), y[CHANGES:].ravel())
            early_ks = 100 * ogive.ks_error(q[:CHANGES].ravel(), y[:CHANGES].ravel())
            found[name].append((early_ks, late_ks, log_loss(y.ravel(), q.ravel()), refits))
    rows = [
        [name, *(f"{x:.{d}f}" for x, d in zip(np.mean(cells, axis=0), (2, 2, 4, 1), strict=True))]
        for name, cells in found.items()
    ]
    return lines(
        ["refit", f"KS % before day {CHANGES}", "KS % after", "log loss of all days", "refits"],
        rows,
    )


def lived(
    s: FloatArray, y: BoolArray, rule: Callable[[int], int | None] | None
) -> tuple[FloatArray, int]:
    """Return the probabilities given day by day, and how often the calibrator was fitted."""
    q, now, watch, refits = np.empty_like(s), None, ogive.Watch(), 0
    for day in range(len(s)):
        since = None
        if day and rule is not None:
            since = rule(day)
        elif day and watch.alarm:
            since, watch = int(watch.change.since), ogive.Watch()
        if since is not None:
            rows = slice(max(since, 0), day)
            now = ogive.fit_spline(ogive.Curve.from_scores(s[rows].ravel(), y[rows].ravel()))
            refits += 1
        q[day] = s[day] if now is None else now(s[day])
        if rule is None:
            watch = watch.update(ogive.Curve.from_scores(q[day], y[day]), day)
    return q, refits


def small_tests() -> str:
    """What a calibrated model shows on n rows, and the smallest error that n rows can show."""
    rng = np.random.default_rng(0)
    rows = []
    for n in (50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000):
        one, many = [], max(5, min(400, 1_000_000 // n))
        for _ in range(many):
            s = rng.beta(5, 1, n)  # scores of a good classifier: 83 % on average
            y = rng.random(n) < s
            one.append((ogive.ks_error(s, y), ogive.ece(s, y), np.quantile(s, 0)))
        ks, ece, _ = np.mean(one, axis=0)
        sigma = np.sqrt((5 / 6) * (1 / 6) - 5 / 252)  # root of the mean p(1 − p) of Beta(5, 1)
        rows.append(
            [
                f"{n:,}",
                f"{100 * ks:.2f}",
                f"{100 * ece:.2f}",
                f"{100 * 2.24 * sigma / np.sqrt(n):.2f}",
            ]
        )
    return lines(
        ["test rows", "KS %", "ECE % (15 bins)", "KS % that 5 % of calibrated models exceed"], rows
    )


def bins() -> str:
    """ECE and KS of the same rows, by number of bins: a calibrated model and the LeNet-5."""
    rng = np.random.default_rng(0)
    s = rng.beta(5, 1, 2000)
    right = s, rng.random(2000) < s
    _, test = lenet()
    off = rows_of(test, "top-1")
    rows = []
    for name, (score, outcome) in {
        "calibrated, 2,000 rows": right,
        "LeNet-5, 10,000 rows": off,
    }.items():
        values = [100 * ogive.ece(score, outcome, bins=k) for k in (5, 15, 50, 200)]
        rows.append(
            [name, *(f"{x:.2f}" for x in values), f"{100 * ogive.ks_error(score, outcome):.2f}"]
        )
    return lines(["scores", *(f"ECE %, {k} bins" for k in (5, 15, 50, 200)), "KS %"], rows)


TABLES = {
    "which-rows": on_which_rows,
    "decisions": decisions_and_ranks,
    "base-rates": base_rates,
    "refitting": refitting,
    "small-tests": small_tests,
    "bins": bins,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path)
    parser.add_argument("--only", choices=TABLES, action="append")
    asked = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("ignore", OgiveWarning)
        found = {name: TABLES[name]() for name in asked.only or TABLES}
    show(found, asked.write)


if __name__ == "__main__":
    main()
