"""How many calibration rows are enough: `python -m benchmarks.rows DIR [--write PAGE]`.

Makes tables of docs/faq.md. Every method is fitted on n rows drawn at random from the
calibration part of each file of DIR, and measured on up to 5,000 rows of its test part: the KS
error of the top class (or of the score), and the log loss beside that of the probabilities as they
are. About half an hour on one core; ``--resume FILE`` keeps what is finished.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import ogive
from benchmarks.learning import SMALLEST, some, top
from benchmarks.tables import lines, show
from ogive.calibrators.identity import fit_identity
from ogive.errors import OgiveWarning
from ogive.studies.arena.files import find_experiments

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive import Predictions
    from ogive._typing import FloatArray

    #: Fits on calibration rows, and returns the probabilities (N, K) of test rows.
    Method = Callable[[Predictions, Predictions], FloatArray]

#: Calibration rows, and how many times they are drawn from each file.
DRAWS = {50: 20, 100: 20, 200: 10, 500: 6, 1000: 4, 2000: 2, 5000: 1}
DRAWS_OF_MANY_CLASSES = 6  # one file has so many classes, and each fit takes seconds
MANY_CLASSES = 1000
TEST_ROWS = 5000
#: Files are put together by their number of classes, up to each of these.
CLASSES = {20: "10 to 20 classes", 100: "100 classes", 1000: "1,000 classes"}
SCORE = "one score"


def of_score(fit: Callable[[ogive.Curve], Callable[[FloatArray], FloatArray]]) -> Method:
    def work(cal: Predictions, test: Predictions) -> FloatArray:
        q = fit(ogive.Curve.from_predictions(cal))(test.probabilities()[:, 1])
        return np.stack([1.0 - q, q], axis=1)

    return work


def of_vectors(method: str) -> Method:
    return lambda cal, test: ogive.fit_multiclass(cal, method, n_jobs=1)(test)


SCORES: dict[str, Method] = {
    "none": of_score(fit_identity),
    "platt": of_score(ogive.fit_platt),
    "beta": of_score(ogive.fit_beta),
    "isotonic": of_score(ogive.fit_isotonic),
    "histogram": of_score(ogive.fit_histogram),
    "spline": of_score(ogive.fit_spline),
}
VECTORS: dict[str, Method] = {
    "none": lambda _, test: test.probabilities(),
    "temperature": of_vectors("temperature"),
    "vector": of_vectors("vector"),
    "isotonic": of_vectors("isotonic"),
    "spline": of_vectors("spline"),
}
METHODS = ("none", "temperature", "vector", "platt", "beta", "histogram", "isotonic", "spline")


def measured(q: FloatArray, test: Predictions, *, one_score: bool) -> tuple[float, float]:
    """Return the KS error of the score or of the top class, and the log loss."""
    loss = -np.log(np.maximum(q[np.arange(test.n), test.labels], SMALLEST)).mean()
    if one_score:
        return ogive.ks_error(q[:, 1], test.labels == 1), float(loss)
    best = q.argmax(axis=1)
    return ogive.ks_error(q.max(axis=1), best == test.labels), float(loss)


def cells(cal: Predictions, test: Predictions, n: int, *, one_score: bool) -> dict[str, list]:
    """Return (KS error, log loss) of every draw of n rows, by method."""
    methods = SCORES if one_score else VECTORS
    test = some(test, np.random.default_rng(0).permutation(test.n)[:TEST_ROWS])
    draws = DRAWS[n] if cal.K < MANY_CLASSES else DRAWS_OF_MANY_CLASSES
    found: dict[str, list] = {name: [] for name in methods}
    for draw in range(draws):
        rows = some(cal, np.random.default_rng([n, draw]).permutation(cal.n)[:n])
        for name, method in methods.items():
            found[name].append(measured(method(rows, test), test, one_score=one_score))
    return found


def work(folder: Path, resume: Path | None) -> list[dict]:
    """Measure every file for every n; read finished cells from `resume`, and add to it."""
    lines_of = resume.read_text(encoding="utf-8").splitlines() if resume and resume.exists() else []
    done = [json.loads(line) for line in lines_of]
    known = {(one["file"], one["group"], one["n"]) for one in done}
    for experiment in find_experiments(folder)[0]:
        cal, test = experiment.parts()
        jobs = [(SCORE, top(cal), top(test))]
        if not cal.one_column and cal.K > 2:  # of two classes one score says all
            group = next(name for most, name in CLASSES.items() if most >= cal.K)
            jobs.append((group, cal, test))
        for group, a, b in jobs:
            for n in (n for n in DRAWS if n <= a.n and (experiment.name, group, n) not in known):
                found = cells(a, b, n, one_score=group == SCORE)
                one = {"file": experiment.name, "group": group, "n": n, "cells": found}
                done.append(one)
                if resume:
                    with resume.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(one) + "\n")
    return done


def ks_of(cells: dict[str, list], name: str) -> float:
    """Return the mean KS error, in percent."""
    return 100.0 * float(np.mean([ks for ks, _ in cells[name]]))


def worse_of(cells: dict[str, list], name: str) -> float:
    """Return the percentage of draws whose log loss is above that of no calibration."""
    return 100.0 * float(np.mean(np.array(cells[name])[:, 1] > np.array(cells["none"])[:, 1]))


def gain_of(cells: dict[str, list], name: str) -> float:
    """Return by how many percent the mean log loss changes; negative is better."""
    mean = {at: np.mean([loss for _, loss in cells[at]]) for at in (name, "none")}
    return 100.0 * float(mean[name] / mean["none"] - 1.0)


def table(done: list[dict], of: Callable[[dict[str, list], str], float], form: str) -> str:
    """Return a row for each kind of file and number of rows: the mean over files."""
    methods = METHODS if of is ks_of else METHODS[1:]
    rows = []
    for group in (SCORE, *CLASSES.values()):
        for n in DRAWS:
            here = [one["cells"] for one in done if one["group"] == group and one["n"] == n]
            if here:
                known = [name in here[0] for name in methods]
                means = [
                    format(np.mean([of(one, name) for one in here]), form) if there else ""
                    for name, there in zip(methods, known, strict=True)
                ]
                draws = len(here[0]["none"])
                rows.append([group, f"{n:,}", f"{len(here)}", f"{draws}", *means])
    return lines(["", "rows", "files", "draws", *methods], rows)


def usual(done: list[dict]) -> str:
    """Return how large KS errors are: quantiles over the files with the most calibration rows."""
    n = max(DRAWS)
    here = [one["cells"] for one in done if one["group"] == SCORE and one["n"] == n]
    rows = []
    for name in ("none", *(m for m in METHODS if m in SCORES and m != "none")):
        errors = [ks_of(cells, name) for cells in here]
        rows.append([name, *(f"{x:.2f}" for x in np.quantile(errors, [0, 0.25, 0.5, 0.75, 1]))])
    return lines(
        ["method", "smallest", "a quarter below", "half below", "three quarters below", "largest"],
        rows,
    )


def tables(done: list[dict]) -> dict[str, str]:
    """Return the tables of the page."""
    return {
        "rows-ks": table(done, ks_of, ".2f"),
        "rows-gain": table(done, gain_of, "+.1f"),
        "rows-worse": table(done, worse_of, ".0f"),
        "usual-ks": usual(done),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OgiveWarning)  # few rows: that is the point
        found = tables(work(asked.folder, asked.resume))
    show(found, asked.write)


if __name__ == "__main__":
    main()
