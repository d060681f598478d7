"""Coverage of intervals of decisions, and the regret of thresholds: `python -m` prints the tables.

Log-odds of the true probability are normal; the model gives them distorted. Truths are integrals
over the quantiles of that normal distribution.
"""

import sys
import warnings
from itertools import product

import numpy as np
from scipy.special import expit, ndtri

import ogive
from ogive import Curve
from ogive.metrics.decision_curves import cost_curve, net_benefit
from ogive.studies.acting.events import Costs, by_folds, by_map, judge

#: Mean of the log-odds, whose spread is 1.5: base rates of about 50 %, 10 % and 1 %.
MEANS = {"50 %": 0.0, "10 %": -3.0, "1 %": -5.6}
SPREAD = 1.5
#: What the model makes of the true log-odds.
MODELS = {
    "calibrated": lambda e: e,
    "too extreme": lambda e: 2.0 * e,
    "too low": lambda e: e - 1.0,
    "curved": lambda e: e + 0.15 * (e + 2.0) * np.abs(e + 2.0),
}
COSTS = {"50 %": (1.0, 1.0), "10 %": (10.0, 1.0), "1 %": (100.0, 1.0)}
SIZES = (200, 1000, 5000)
#: What is added to the logits of three classes, and the costs of actions.
ACTIONS = {
    "even": ((0, 0, 0), np.array([[0, 10, 5], [1, 0, 1], [3, 3, 0], [1, 1, 1]])),
    "rare": ((0, -1, -5.2), np.array([[0, 2, 100], [2, 0, 100], [1, 1, 0]])),
}
ETA = SPREAD * ndtri((np.arange(20_000) + 0.5) / 20_000)


class World:
    """A population: its true probabilities, and the scores of a model."""

    def __init__(self, rate, model):
        self.mean, self.model = MEANS[rate], MODELS[model]
        self.p = expit(ETA + self.mean)
        self.score = expit(self.model(ETA + self.mean))

    def draw(self, rng, n):
        e = self.mean + SPREAD * rng.standard_normal(n)
        return Curve.from_scores(expit(self.model(e)), rng.random(n) < expit(e))

    def cost(self, act, miss, alarm):
        return float(np.mean(np.where(act, (1 - self.p) * alarm, self.p * miss)))

    def benefit(self, t):
        act = self.score >= t
        return float(np.mean(act * (self.p - (1 - self.p) * t / (1 - t))))

    def normalised(self, x, t):
        act = self.score >= t
        misses = np.mean(~act * self.p) / self.p.mean()
        alarms = np.mean(act * (1 - self.p)) / (1 - self.p).mean()
        return misses * x + alarms * (1 - x)


def fitted(curve):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ogive.fit_spline(curve)


def inside(low, value, high):
    return low - 1e-12 <= value <= high + 1e-12


def coverage(rate, model, n, runs, seed=0, cross=True):
    """Shares of runs in which intervals hold the truth, by what they are of."""
    rng, world = np.random.default_rng(seed), World(rate, model)
    miss, alarm = COSTS[rate]
    t = alarm / (miss + alarm)
    given = fitted(world.draw(np.random.default_rng(1), 2000))
    truths = [world.cost(s >= t, miss, alarm) for s in (world.score, given(world.score))]
    found = {}
    for _ in range(runs):
        curve = world.draw(rng, n)
        if not 0 < curve.total_hits < n:
            continue
        points = np.array([0.5 * t, t, min(2.0 * t, 0.9)])
        benefit, costs = net_benefit(curve, thresholds=points), cost_curve(curve, x=[0.3, 0.5, 0.7])
        for i in range(3):
            truth = world.benefit(points[i])
            add(found, "net benefit", inside(benefit.low[i], truth, benefit.high[i]))
            truth = world.normalised(costs.x[i], costs.threshold[i])
            add(found, "cost curve", inside(costs.low[i], truth, costs.high[i]))
        one = judge(by_map(curve, given), Costs(miss, alarm), None, "score", ("", ""))
        add(found, "cost before", inside(one.before.low, truths[0], one.before.high))
        add(found, "cost after, given", inside(one.after.low, truths[1], one.after.high))
        add(found, "saved, given", inside(one.low, truths[0] - truths[1], one.high))
        if cross:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows, final = by_folds(curve, "spline", 5, 0)
            two = judge(rows, Costs(miss, alarm), None, "score", ("", ""))
            after = world.cost(final(world.score) >= t, miss, alarm)
            add(found, "cost after, cross-validated", inside(two.after.low, after, two.after.high))
            add(found, "saved, cross-validated", inside(two.low, truths[0] - after, two.high))
    return {name: float(np.mean(values)) for name, values in found.items()}


def add(found, name, value):
    found.setdefault(name, []).append(value)


def regret(rate, model, n, runs, seed=0):
    """Mean excess of the cost over that of an oracle: calibrated threshold, raw as is, tuned."""
    rng, world = np.random.default_rng(seed), World(rate, model)
    miss, alarm = COSTS[rate]
    t = alarm / (miss + alarm)
    oracle = world.cost(world.p >= t, miss, alarm)
    found = []
    for _ in range(runs):
        curve = world.draw(rng, n)
        gamma = fitted(curve)
        tuned = ogive.best_threshold(curve, miss=miss, alarm=alarm)
        acts = gamma(world.score) >= t, world.score >= t, world.score >= tuned
        found.append([world.cost(act, miss, alarm) / oracle - 1 for act in acts])
    return np.mean(found, axis=0)


def actions(classes, n, runs, scale=2.0, seed=0):
    """Coverage of the intervals of a matrix of costs, for three classes.

    classes : of `ACTIONS`; scale : what the model multiplies the true logits with
    """
    rng, (shift, matrix) = np.random.default_rng(seed), ACTIONS[classes]
    many = shift + 1.5 * np.random.default_rng(1).standard_normal((100_000, 3))
    p, population = _softmax(many), ogive.Predictions(scale * many, kind="logits")
    gamma = ogive.fit_temperature(
        ogive.Predictions(scale * many[:2000], _labels(rng, many[:2000]), kind="logits")
    )

    def cost(q):
        return float(np.mean(np.sum(p * matrix[(q @ matrix.T).argmin(axis=1)], axis=1)))

    found, before, after = {}, cost(_softmax(scale * many)), cost(gamma(population))
    for _ in range(runs):
        z = shift + 1.5 * rng.standard_normal((n, 3))
        preds = ogive.Predictions(scale * z, _labels(rng, z), kind="logits")
        one = ogive.decide(preds, costs=matrix, calibrator=gamma)
        add(found, "cost before", inside(one.before.low, before, one.before.high))
        add(found, "cost after, given", inside(one.after.low, after, one.after.high))
        add(found, "saved, given", inside(one.low, before - after, one.high))
        two = ogive.decide(preds, costs=matrix, method="temperature")
        final = cost(ogive.fit_temperature(preds)(population))
        add(found, "cost after, cross-validated", inside(two.after.low, final, two.after.high))
        add(found, "saved, cross-validated", inside(two.low, before - final, two.high))
    return {name: float(np.mean(values)) for name, values in found.items()}


def _softmax(z):
    e = np.exp(z)
    return e / e.sum(axis=1, keepdims=True)


def _labels(rng, z):
    return (rng.random((len(z), 1)) > _softmax(z).cumsum(axis=1)).sum(axis=1)


if __name__ == "__main__":
    what, runs = sys.argv[1], int(sys.argv[2])
    for rate, model, n in product(MEANS, MODELS, SIZES):
        if what == "coverage":
            found = coverage(rate, model, n, runs, cross=len(sys.argv) > 3).values()
            shares = " | ".join(f"{100 * x:.1f}" for x in found)
            print(f"| {rate} | {model} | {n:,} | {shares} |", flush=True)
        elif what == "regret" and n == SIZES[-1]:
            found = " | ".join(f"{100 * x:.2f} %" for x in regret(rate, model, n, runs))
            print(f"| {rate} | {model} | {found} |", flush=True)
    for classes, scale, n in product(ACTIONS, (1.0, 2.0), SIZES) if what == "actions" else ():
        shares = " | ".join(f"{100 * x:.1f}" for x in actions(classes, n, runs, scale).values())
        print(f"| {classes} | x {scale:g} | {n:,} | {shares} |", flush=True)
