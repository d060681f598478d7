"""Learning curves of docs/arena.md: `python -m benchmarks.learning DIR [--write PAGE]`.

For growing numbers n of calibration rows, methods are fitted on rows drawn at random from the
calibration part of every file, and their log loss is measured on up to 2,000 rows of its test
part. The tables give the mean over draws, relative to temperature scaling (whole vectors) or to
Platt's method (one dimension: the top class, or the scores of the file), as a mean over files and,
with its standard error, for the worst file. About ten minutes on one core.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.tables import lines, show
from ogive import Curve, Predictions
from ogive.calibrators.identity import fit_identity
from ogive.calibrators.multiclass.compose import fit_multiclass
from ogive.calibrators.platt import fit_platt
from ogive.calibrators.scaling.temperature import fit_temperature
from ogive.calibrators.spline import fit_spline
from ogive.errors import OgiveWarning
from ogive.studies.arena.files import find_experiments

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import FloatArray

    #: Fits on calibration rows; returns the probability of what came true in each test row.
    Method = Callable[[Predictions, Predictions], FloatArray]

#: Calibration rows, and how many times they are drawn. With few rows a single error decides: 12
#: draws of 30 rows have a standard error of 7 % where the model is right in 99.3 % of the rows.
DRAWS = {10: 60, 20: 60, 30: 100, 50: 60, 100: 40, 200: 20, 500: 8, 1000: 4, 2000: 2, 5000: 1}
TEST_ROWS = 2000
MOST_CLASSES = 100  # a fit with 1,000 classes takes a minute
SMALLEST = 1e-7  # probability, as in the arena


def of_label(q: FloatArray, test: Predictions) -> FloatArray:
    """Return the probability of each row's true class."""
    return q[np.arange(test.n), test.labels]


def vectors(fit: Callable[[Predictions], Callable[[Predictions], FloatArray]]) -> Method:
    return lambda cal, test: of_label(fit(cal)(test), test)


def scores(fit: Callable[[Curve], Callable[[FloatArray], FloatArray]]) -> Method:
    def work(cal: Predictions, test: Predictions) -> FloatArray:
        q = fit(Curve.from_predictions(cal))(test.probabilities()[:, 1])
        return np.where(test.labels == 1, q, 1.0 - q)

    return work


VECTORS: dict[str, Method] = {
    "temperature": vectors(fit_temperature),
    "none": vectors(lambda _: Predictions.probabilities),
    "spline (keep)": vectors(partial(fit_multiclass, multiclass="keep")),
    "spline (free)": vectors(partial(fit_multiclass, multiclass="free")),
}
SCORES: dict[str, Method] = {
    "platt": scores(fit_platt),
    "none": scores(fit_identity),
    "spline": scores(fit_spline),
}


def some(preds: Predictions, at: FloatArray) -> Predictions:
    """Return some of the rows; files have no weights."""
    return Predictions(preds.values[at], preds.labels[at], kind=preds.kind)


def top(preds: Predictions) -> Predictions:
    """Return the score of the top class, and whether it is the true one."""
    if preds.one_column:
        return preds
    best = preds.choice(slice(0, preds.n))
    return Predictions(preds.probabilities().max(axis=1), best == preds.labels, kind="probs")


def curve(cal: Predictions, test: Predictions, methods: dict[str, Method]) -> dict[int, FloatArray]:
    """Return the log loss (draws, methods) for each n that the file has rows for."""
    rng = np.random.default_rng(0)
    test = some(test, rng.permutation(test.n)[:TEST_ROWS])
    found = {}
    for n, draws in DRAWS.items():
        if n > cal.n:
            break
        losses = np.empty((draws, len(methods)))
        for draw in range(draws):
            rows = some(cal, np.random.default_rng([n, draw]).permutation(cal.n)[:n])
            for i, method in enumerate(methods.values()):
                losses[draw, i] = -np.log(np.maximum(method(rows, test), SMALLEST)).mean()
        found[n] = losses
    return found


def more_than_first(losses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return by how many percent each other method's mean loss exceeds the first's, and the error.

    With r the ratio of the means, it is the standard error of the mean of loss − r first. One draw
    has none (NaN).
    """
    mean = losses.mean(axis=0)
    ratio = mean / mean[0]
    apart = losses - ratio * losses[:, :1]
    draws = len(losses)
    error = apart.std(axis=0, ddof=1) / np.sqrt(draws) if draws > 1 else np.full(mean.size, np.nan)
    return 100.0 * (ratio[1:] - 1.0), 100.0 * error[1:] / mean[0]


def table(curves: dict[str, dict[int, FloatArray]], methods: dict[str, Method]) -> str:
    """Return the table: a row for each n."""
    first, *others = methods
    worst = [f"{name}, worst file" for name in others[1:]]
    head = ["rows", "files", f"{first}: log loss", *(f"{name} %" for name in others), *worst]

    def row(n: int) -> list[str]:
        names = [name for name, curve in curves.items() if n in curve]
        first_loss = np.mean([curves[name][n][:, 0].mean() for name in names])
        more, error = np.swapaxes([more_than_first(curves[name][n]) for name in names], 0, 1)
        ends = []
        for i in range(1, len(others)):
            at = more[:, i].argmax()
            chance = "" if np.isnan(error[at, i]) else f" ± {error[at, i]:.1f}"
            ends.append(f"{more[at, i]:+.1f}{chance} ({names[at]})")
        means = [f"{mean:+.1f}" for mean in more.mean(axis=0)]
        return [f"{n:,}", f"{len(names)}", f"{first_loss:.4f}", *means, *ends]

    return lines(head, [row(n) for n in DRAWS if any(n in one for one in curves.values())])


def tables(folder: Path) -> dict[str, str]:
    """Return both tables of a folder of experiments."""
    of_vectors, of_scores = {}, {}
    for experiment in find_experiments(folder)[0]:
        cal, test = experiment.parts()
        if cal.K <= MOST_CLASSES:
            of_scores[experiment.name] = curve(top(cal), top(test), SCORES)
            if not cal.one_column:
                of_vectors[experiment.name] = curve(cal, test, VECTORS)
    return {
        "learning-vectors": table(of_vectors, VECTORS),
        "learning-scores": table(of_scores, SCORES),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OgiveWarning)  # few rows: that is the point
        found = tables(asked.folder)
    show(found, asked.write)


if __name__ == "__main__":
    main()
