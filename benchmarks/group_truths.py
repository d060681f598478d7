"""How far `fit_groups` is from known truths: `python -m benchmarks.group_truths [--write PAGE]`.

Groups of rows are drawn whose true log-odds are 0.8 η − 0.3 + a + d η / 2, a and d normal with
known sizes. Each number is an excess: the expected log loss on the same scores beyond that of the
truth, times 10,000, of the scores as they are, one map for all rows, a map for each group, and
`fit_groups`.

* groups do not differ: what groups lose in units of what one map gains (harm), and the root mean
  square distance of `fit_groups` from one map, in standard errors of that map;
* groups differ: the same fit if the sizes are known, and if the map of all rows is known too.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from benchmarks.tables import lines, show
from ogive import Curve, Predictions, fit_groups, fit_spline, ks_error, nll
from ogive._numerics.pooled_effects import GroupTrials, mode_of
from ogive.calibrators.groups import stacked_trials
from ogive.readers import open_file
from ogive.rows.views import score_rows

#: Groups, rows of each, and the sizes of shifts and slopes.
NONE = ((2, 2000), (5, 1000), (20, 500), (100, 200), (500, 50), (1000, 5))
REAL = (
    (5, 1000, 0.5, 0.0),
    (20, 500, 0.3, 0.1),
    (20, 500, 1.0, 0.5),
    (100, 200, 0.5, 0.3),
    (500, 50, 0.5, 0.3),
    (1000, 5, 0.5, 0.3),
)


MOST_SEPARATE = 100  # groups with maps of their own: many take long


class Drawn(NamedTuple):
    eta: np.ndarray  # (G, n)
    slope: np.ndarray  # (G, 1): the true log-odds are slope η + shift
    shift: np.ndarray
    hits: np.ndarray

    @property
    def true(self) -> np.ndarray:
        return self.slope * self.eta + self.shift


def draw(groups: int, n: int, shift: float, slope: float, seed: int) -> Drawn:
    rng = np.random.default_rng([groups, n, seed])
    eta = rng.normal(0.0, 2.0, (groups, n))
    a, d = shift * rng.normal(size=(groups, 1)), slope * rng.normal(size=(groups, 1))
    there = Drawn(eta, 0.8 + d / 2, a - 0.3, np.zeros_like(eta))
    return there._replace(hits=rng.random((groups, n)) < expit(there.true))


def excess(true: np.ndarray, p: np.ndarray) -> float:
    """Return the expected log loss of p beyond that of the truth."""
    q = expit(true)
    return float((q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p))).mean())


def oracle(rows: Drawn, shift: float, slope: float) -> np.ndarray:
    """Return the probabilities of the same fit by someone who knows the map of all, and sizes."""
    found, sizes = [], np.array([shift, slope]) / np.sqrt(2.0)  # u + m of one group has variance 2
    for eta, hits in zip(rows.eta, rows.hits, strict=True):
        X, offset = np.stack([np.ones(eta.size), eta / 2]), 0.8 * eta - 0.3
        trials = GroupTrials(offset, np.ones(eta.size), X, (X @ hits)[None], np.zeros(1, np.int64))
        mode = mode_of(trials, sizes)
        found.append(expit(offset + ((mode.u[0] + mode.m) * sizes) @ X))
    return np.array(found)


class Fits(NamedTuple):
    """Probabilities by group, by the map of all rows and with known sizes, (G, n) each.

    distance : of the first two in standard errors of the second
    """

    groups: np.ndarray
    one: np.ndarray
    known: np.ndarray
    distance: float


def fitted(rows: Drawn, shift: float, slope: float) -> Fits:
    """Fit the groups, also with the sizes known: shift, slope, and no bend."""
    groups, n = rows.eta.shape
    scores = expit(rows.eta)
    curves = {str(g): Curve.from_scores(scores[g], rows.hits[g]) for g in range(groups)}
    gamma = fit_groups(curves)
    names, trials, axis = stacked_trials(curves, gamma.overall)
    sizes = np.array([shift, slope * axis.unit / 1.6, 0.0])  # η / 2 is L / 1.6
    mode = mode_of(trials, sizes)
    order = [names.index(name) for name in gamma.groups]
    knows = replace(gamma, effect=((mode.u + mode.m) * sizes)[order])
    where = (scores.ravel(), np.repeat(list(curves), n))
    p, known = (f(*where).reshape(groups, n) for f in (gamma, knows))
    q = gamma.overall(scores)
    moved = np.log(p / (1 - p)) - np.log(q / (1 - q))
    error = gamma.overall.deviation(rows.eta.ravel()).reshape(groups, n)
    return Fits(p, q, known, float(np.sqrt(((moved / error) ** 2).mean())))


def separate(rows: Drawn) -> np.ndarray:
    found = []
    for eta, hits in zip(rows.eta, rows.hits, strict=True):
        found.append(fit_spline(Curve.from_scores(expit(eta), hits))(expit(eta)))
    return np.array(found)


def table(cases: tuple[tuple[float, ...], ...], draws: int) -> str:
    """Return the excess of each way to calibrate; the cases have sizes, or groups do not differ."""
    rows, real = [], len(cases[0]) > len(NONE[0])
    for groups, n, *sizes in cases:
        shift, slope = sizes or (0.0, 0.0)
        few, found = groups <= MOST_SEPARATE, []
        for seed in range(draws):
            drawn = draw(int(groups), int(n), shift, slope, seed)
            fits = fitted(drawn, shift, slope)
            ways = [
                expit(drawn.eta),
                fits.one,
                fits.groups,
                fits.known,
                oracle(drawn, shift, slope),
            ]
            ways += [separate(drawn)] if few else []
            found.append([fits.distance, *(1e4 * excess(drawn.true, p) for p in ways)])
        distance, raw, one, ours, known, all_known, *apart = np.mean(found, axis=0)
        cells = [f"{int(groups):,} x {int(n):,}", *(f"{x:g}" for x in sizes)]
        cells += [f"{x:.2f}" for x in (raw, one, *(apart or [np.nan]), ours)]
        if real:
            cells += [f"{known:.2f}", f"{ours / known:.2f}", f"{all_known:.2f}"]
        else:
            cells += [f"{100 * (ours - one) / (raw - one):.2f} %", f"{distance:.2f}"]
        rows.append([cell.replace("nan", "") for cell in cells])
    head = ["groups x rows", *["shift", "slope"] * real, "scores", "one map", "separate", "groups"]
    more = ["sizes known", "groups / sizes known", "all known"] if real else ["harm", "distance"]
    return lines([*head, *more], rows)


def by_predicted_class(folder: Path) -> str:
    """Return log loss and KS error within groups of real matrices, grouped by predicted class."""
    rows = []
    for path in sorted(folder.glob("*.npz")):
        source = open_file(path)
        if set(source.parts) != {"cal", "test"} or source.kind == "scores":
            continue
        cal, test = source.predictions("cal"), source.predictions("test")
        if cal.K > 2:
            rows.append([path.stem, *_on_test(cal, test)])
    means = np.mean([row[1:] for row in rows], axis=0)
    cells = [[name, *(_shown(i, x) for i, x in enumerate(x))] for name, *x in rows]
    mean = ["**mean**", *(f"**{_shown(i, x)}**" for i, x in enumerate(means))]
    what = ("one map", "separate", "groups")
    head = ["", *(f"log loss, {x}" for x in what), *(f"KS within, {x}" for x in what)]
    return lines(head, [*cells, mean])


def _shown(column: int, x: float) -> str:
    return f"{x:.4f}" if column < 3 else f"{100 * x:.2f} %"


def _on_test(cal: Predictions, test: Predictions) -> list[float]:
    """Return the log loss of one map, separate maps and groups, then their KS error in groups."""
    chosen, rows = cal.values.argmax(axis=1), score_rows(test, "top-1")
    curves = {
        str(k): Curve.from_predictions(_rows(cal, chosen == k), "top-1") for k in np.unique(chosen)
    }
    group = test.values.argmax(axis=1).astype(str)
    gamma = fit_groups(curves)
    one = gamma.overall.from_tails(rows.high, rows.tail)
    apart = one.copy()
    for name in np.intersect1d(group, list(curves)):
        at = group == name
        apart[at] = fit_spline(curves[name]).from_tails(rows.high[at], rows.tail[at])
    ways = [one, apart, gamma.from_tails(rows.high, rows.tail, group)]
    assert rows.hit is not None
    losses = [float(nll(Curve.from_scores(p, rows.hit))) for p in ways]
    return losses + [_ks_within(p, rows.hit, group) for p in ways]


def _rows(preds: Predictions, at: np.ndarray) -> Predictions:
    assert preds.labels is not None
    return Predictions(preds.values[at], preds.labels[at], kind=preds.kind)


def _ks_within(p: np.ndarray, hits: np.ndarray, group: np.ndarray) -> float:
    """Return the mean KS error of the groups, weighted by their rows."""
    found = [
        np.mean(group == g) * ks_error(Curve.from_scores(p[group == g], hits[group == g]))
        for g in np.unique(group)
    ]
    return float(sum(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--arena", type=Path, help="a folder of matrices: also measure these")
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # small samples fall back, as they should
    tables = {}
    if asked.draws:
        tables = {"no effects": table(NONE, asked.draws), "effects": table(REAL, asked.draws)}
    if asked.arena is not None:
        tables["predicted classes"] = by_predicted_class(asked.arena)
    show(tables, asked.write)


if __name__ == "__main__":
    main()
