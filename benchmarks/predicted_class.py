"""Top-1 of real matrices: one map, groups by predicted class, separate maps, all columns.

``python -m benchmarks.predicted_class DIR --write docs/arena.md`` fits on the cal part of every
matrix of three classes or more, measures on its test part, and writes two tables.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import ogive
from benchmarks.tables import lines, show
from ogive.calibrators.multiclass.class_view import MIN_CLASSES_FOR_STRUCTURE
from ogive.calibrators.multiclass.shared_fits import shared_class_fits
from ogive.curve import Curve
from ogive.errors import NotEnoughData, OgiveWarning
from ogive.rows.views import score_rows, usual_views
from ogive.studies.arena.files import find_experiments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ogive._typing import FloatArray, IntArray
    from ogive.calibrators.maps import Map
    from ogive.rows.predictions import Predictions
    from ogive.rows.views import Scored

#: Row of the table -> what it is.
ROWS = {
    "none": "the top score as it is",
    "global": "one spline of the top score",
    "separate": "a spline of the top score for each predicted class",
    "grouped": "`fit_groups` by predicted class",
    "columns": "the default of `--view top-1`: all columns of a row",
}


class Part(NamedTuple):
    """The rows of a part in the view top-1, and the class that the model chose."""

    rows: Scored
    chosen: IntArray


def of(preds: Predictions) -> Part:
    return Part(score_rows(preds, "top-1"), preds.choice(slice(0, preds.n)))


def curves(part: Part) -> dict[int, Curve]:
    """Return the curve of each predicted class."""
    score, hit = part.rows.score, np.asarray(part.rows.hit)
    inside = ((k, part.chosen == k) for k in np.unique(part.chosen).tolist())
    return {k: Curve.from_scores(score[at], hit[at], view="top-1") for k, at in inside}


def separate(cal: Mapping[int, Curve], overall: Map, test: Part) -> FloatArray:
    """Return a map of its own for each class; classes that cannot be fitted get that of all."""
    q = np.empty(test.chosen.size)
    for k in np.unique(test.chosen).tolist():
        at = test.chosen == k
        try:
            gamma = ogive.fit_spline(cal[k])
        except (KeyError, NotEnoughData):
            gamma = overall
        q[at] = gamma.from_tails(test.rows.high[at], test.rows.tail[at])
    return q


def calibrated(cal: Predictions, test: Predictions) -> Iterator[tuple[str, FloatArray]]:
    """Yield the probability that the model's choice is right, for each row of the table."""
    inside, outside = of(cal), of(test)
    rows, by_class = outside.rows, curves(inside)
    overall = ogive.fit_view(cal, score_only=True)
    yield "none", rows.score
    yield "global", overall.from_tails(rows.high, rows.tail)
    yield "separate", separate(by_class, overall, outside)
    grouped = ogive.fit_groups({str(k): curve for k, curve in by_class.items()}, by="prediction")
    yield "grouped", grouped.from_tails(rows.high, rows.tail, outside.chosen.astype(str))
    yield "columns", ogive.fit_view(cal)(test)


def log_loss(q: FloatArray, hit: FloatArray) -> float:
    q = np.clip(q, 1e-7, 1.0 - 1e-7)
    return float(-np.mean(np.where(hit, np.log(q), np.log1p(-q))))


def ks_within(q: FloatArray, part: Part) -> float:
    """Return the mean over rows of the KS error of the rows with the same predicted class."""
    classes = np.unique(part.chosen, return_counts=True)
    hit = np.asarray(part.rows.hit)
    errors = [ogive.ks_error(q[part.chosen == k], hit[part.chosen == k]) for k in classes[0]]
    return float(np.average(errors, weights=classes[1]))


def matrices(folder: Path) -> Iterator[tuple[str, Predictions, Predictions]]:
    for one in find_experiments(folder)[0]:
        cal, test = one.parts()
        if not cal.one_column and cal.K >= MIN_CLASSES_FOR_STRUCTURE:
            yield one.name, cal, test


def of_views(cal: Predictions, test: Predictions) -> dict[str, tuple[float, float]]:
    """Return the log loss of every view, by the score alone and by all columns."""
    found = {}
    for view in usual_views(cal.K):
        rows = score_rows(test, view)
        alone = ogive.fit_view(cal, view, score_only=True).from_tails(rows.high, rows.tail)
        whole = ogive.fit_view(cal, view)(test)
        found[view] = (log_loss(alone, rows.hit), log_loss(whole, rows.hit))
    return found


def tables(folder: Path) -> dict[str, str]:
    losses: dict[str, list[float]] = {name: [] for name in ROWS}
    errors: dict[str, list[float]] = {name: [] for name in ROWS}
    views: dict[str, list[tuple[float, float]]] = {}
    files = []
    for name, cal, test in matrices(folder):
        print(name, flush=True)
        files.append(name)
        part = of(test)
        with shared_class_fits():  # one fit for all views
            for row, q in calibrated(cal, test):
                losses[row].append(log_loss(q, part.rows.hit))
                errors[row].append(ks_within(q, part))
            for view, pair in of_views(cal, test).items():
                views.setdefault(view, []).append(pair)
    first = np.array(losses["global"])
    rows = [
        (name, what, f"{np.mean(losses[name]):.4f}", f"{100 * np.mean(errors[name]):.2f}",
         "" if name == "global" else f"{int((np.array(losses[name]) < first).sum())}")
        for name, what in ROWS.items()
    ]  # fmt: skip
    head = ("", "calibrator", "log loss", "KS within classes %", "better than global")
    both = [
        (view, f"{mean[0]:.4f}", f"{mean[1]:.4f}", f"{int((pairs[:, 1] < pairs[:, 0]).sum())}")
        for view, pairs in ((view, np.array(found)) for view, found in views.items())
        for mean in [pairs.mean(axis=0)]
    ]
    count = f"{len(files)} matrices: {', '.join(files)}."
    return {
        "predicted-class": f"{count}\n\n{lines(head, rows)}",
        "views": lines(("view", "score alone", "all columns", "all columns better"), both),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", OgiveWarning)
    found = tables(asked.folder)
    show(found, asked.write)


if __name__ == "__main__":
    main()
