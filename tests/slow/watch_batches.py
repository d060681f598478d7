"""Many quiet runs of a watch at once: three distinct scores, and every run a row of an array.

With three distinct scores the default spline is a line, averaged over the size of its prior and
with Platt's. `LineBets` computes just that for all runs together, step by step as the library
does, so that 2,000 runs of 1,000 days take minutes. A test compares it with `ogive.Watch`.
"""

from copy import copy
from typing import NamedTuple

import numpy as np

from ogive._numerics.binomial import GAIN, RIDGE
from ogive._numerics.evidence import DROP
from ogive.calibrators.spline import ROWS_WORTH_PLATT, SHIFT, _prior
from ogive.calibrators.spline_problem import PATH_SHIFT, WITHOUT_INFORMATION
from ogive.studies.watch.starts import (
    DIRECTIONS_OF_FIRST_BET,
    ERRORS_OF_FIRST_BET,
    GROWTH_FOR_NEW_FIT,
    MAX_MOVE_OF_FIRST_BET,
    MIN_OUTCOMES_TO_BET,
    SHARE_OF_FIRST_BET,
    _spacing,
)

PRECISION = PATH_SHIFT**-2
SHIFT_WEIGHT = _prior(1, again=False).shift_weight
MAX_HALVINGS = 60
MAX_NEWTON_STEPS = 100
MAX_STEP_OF_PLATT = 2.0  # in log-odds: whole steps may overshoot and never return


def expit(x):
    return 1.0 / (1.0 + np.exp(-x))


class Point(NamedTuple):
    """The log-likelihood at coefficients, its gradient and its information, (R,) each."""

    value: np.ndarray
    score: tuple
    info: tuple  # aa, ab, bb

    def step(self, a, b, precision):
        """The Newton step, and the gain it promises."""
        right = self.score[0] - precision * a, self.score[1] - precision * b
        aa, ab, bb = self.info[0] + precision, self.info[1], self.info[2] + precision
        scale = 1.0 / (aa * bb - ab * ab)
        one = (bb * right[0] - ab * right[1]) * scale
        two = (aa * right[1] - ab * right[0]) * scale
        return one, two, right[0] * one + right[1] * two


class Lines:
    """The binomial likelihood of lines l = eta + a + b x at three scores; arrays are (3, R)."""

    def __init__(self, eta, count, hits, share):
        self.eta, self.count = eta[:, None], count
        self.centre = np.clip(eta @ share, eta[0], eta[-1])
        self.unit = np.minimum(1.0, np.maximum(eta[-1] - self.centre, self.centre - eta[0]))
        self.x = (self.eta - self.centre) / self.unit
        self.hit = hits.sum(0), (hits * self.x).sum(0)
        self.at_zero = eta @ hits

    def line(self, intercept, slope):
        change = slope - 1.0
        return intercept + change * self.centre, change * self.unit

    def odds(self, a, b):
        return np.exp(self.eta + a[..., None, :] + b[..., None, :] * self.x)

    def value(self, a, b, odds=None):
        odds = self.odds(a, b) if odds is None else odds
        lost = (self.count * np.log(1.0 + odds)).sum(-2)
        return self.at_zero + self.hit[0] * a + self.hit[1] * b - lost

    def point(self, a, b):
        odds = self.odds(a, b)
        p = odds / (1.0 + odds)
        expected = self.count * p
        weight = expected * (1.0 - p)
        along = weight * self.x
        aa, bb = weight.sum(0), (along * self.x).sum(0)
        ridge = RIDGE * np.maximum(aa, bb)
        score = self.hit[0] - expected.sum(0), self.hit[1] - (expected * self.x).sum(0)
        return Point(self.value(a, b, odds), score, (aa + ridge, along.sum(0), bb + ridge))

    def ascend(self, a, b):
        """Newton's method with step halving, as in `ogive._numerics.binomial`."""
        moving = np.ones(a.shape, dtype=bool)
        while True:
            at = self.point(a, b)
            one, two, gain = at.step(a, b, PRECISION)
            moving &= gain >= GAIN
            if not moving.any():
                return a, b, at
            old = at.value - 0.5 * PRECISION * (a * a + b * b)
            worse = moving.copy()
            for _ in range(MAX_HALVINGS):
                c, d = a + one, b + two
                worse &= self.value(c, d) - 0.5 * PRECISION * (c * c + d * d) <= old
                if not worse.any():
                    break
                one, two = np.where(worse, one / 2, one), np.where(worse, two / 2, two)
            moving &= ~worse
            a, b = np.where(moving, a + one, a), np.where(moving, b + two, b)


def map_of(eta, count, hits):
    """What the default spline makes of three scores, (3, R), from counts and hits (3, R)."""
    rows, zero = count.sum(0), np.zeros(count.shape[1])
    first = Lines(eta, count, hits, count / rows)
    a, b, _ = first.ascend(zero, zero)
    odds = first.odds(a, b)
    info = count * odds / (1.0 + odds) ** 2 + WITHOUT_INFORMATION * count
    slope = b / first.unit
    intercept, slope = a - slope * first.centre, 1.0 + slope
    like = Lines(eta, count, hits, info / info.sum(0))
    mean = _averaged(like, *like.ascend(*like.line(intercept, slope)))
    total = hits.sum(0)
    share = ROWS_WORTH_PLATT / (ROWS_WORTH_PLATT + np.minimum(total, rows - total))
    platt = _platt(like, count, hits, *mean)
    odds = like.odds(*(m + share * (p - m) for m, p in zip(mean, platt, strict=True)))
    return odds / (1.0 + odds)


def _averaged(like, a, b, at):
    """The mean over the sizes o of the prior, weighted by their evidence."""
    aa, ab, bb = at.info
    pulled = aa * a + ab * b, ab * a + bb * b
    angle = np.arctan2(2 * ab, aa - bb) / 2
    c, s = np.cos(angle), np.sin(angle)
    cross = 2 * ab * c * s
    eigen = np.maximum([aa * c * c + cross + bb * s * s, aa * s * s - cross + bb * c * c], 0.0)
    q = pulled[0] + at.score[0], pulled[1] + at.score[1]
    pull = np.array([q[0] * c + q[1] * s, q[1] * c - q[0] * s])
    square = SHIFT[:, None, None] ** 2
    variance = square / (1 + square * eigen)  # (o, 2, R)
    log_weight = 0.5 * (variance * pull**2 - np.log1p(square * eigen)).sum(1)
    log_weight += at.value - (at.score[0] + 0.5 * pulled[0]) * a
    log_weight -= (at.score[1] + 0.5 * pulled[1]) * b
    log_weight += np.log(SHIFT_WEIGHT)[:, None]
    u, v = (variance * pull).swapaxes(0, 1)
    means = u * c - v * s, u * s + v * c  # (o, R)
    x, y = means[0] - a, means[1] - b
    quadratic = at.value + x * at.score[0] + y * at.score[1]
    quadratic -= 0.5 * (aa * x * x + 2 * ab * x * y + bb * y * y)
    change = like.value(*means) - quadratic
    done = np.zeros(log_weight.shape, dtype=bool)
    while (now := ~done & (log_weight > log_weight.max(0) - DROP)).any():
        log_weight = np.where(now, log_weight + change, log_weight)
        done |= now
    weight = np.exp(log_weight - log_weight.max(0))
    weight /= weight.sum(0)
    return (weight * means[0]).sum(0), (weight * means[1]).sum(0)


def _platt(like, count, hits, a, b):
    """Platt's line, in the coordinates of another; the search starts from (a, b)."""
    ones, rows = hits.sum(0), count.sum(0)
    targets = hits * (ones + 1) / (ones + 2) + (count - hits) / (rows - ones + 2)
    own = copy(like)
    own.hit = targets.sum(0), (targets * like.x).sum(0)
    own.at_zero = 0.0
    for _ in range(MAX_NEWTON_STEPS):
        one, two, gain = own.point(a, b).step(a, b, 0.0)
        far = np.abs(one + two * like.x).max(0)  # of one step, in log-odds
        short = np.minimum(1.0, MAX_STEP_OF_PLATT / np.maximum(far, 1e-9))
        a, b = a + short * one, b + short * two
        if (gain < 1e-14 * rows).all():
            return a, b
    raise AssertionError("Platt's line was not found")


class LineBets:
    """A watch of many runs: `update` takes the counts and the hits of a day, (3, R) each."""

    def __init__(self, eta, runs):
        self.eta, self.p = np.asarray(eta), expit(np.asarray(eta))[:, None]
        self.today = 0
        self.total = np.zeros((2, 3, runs))  # counts and hits of all days
        self.starts = []

    def update(self, count, hits):
        """Return log M after one more day, (R,)."""
        self.today += 1
        runs = count.shape[1]
        for start in self.starts:
            self._refit(start, *(self.total - start["before"]))
            saved = (hits * start["ones"] + (count - hits) * start["zeros"]).sum(0)
            start["log_share"] += saved
        first = self._first_bet(count, hits)
        self.starts.append({
            "number": self.today, "before": self.total.copy(), "n": np.zeros(runs),
            "ones": np.zeros((3, runs)), "zeros": np.zeros((3, runs)),
            "log_share": first - np.log(self.today * (self.today + 1.0)),
        })  # fmt: skip
        self.total[0] += count
        self.total[1] += hits
        self._drop()
        unborn = np.full(runs, -np.log(self.today + 1.0))
        shares = [start["log_share"] for start in self.starts]
        return _log_sum([*shares, unborn])

    def _first_bet(self, count, hits):
        """As `ogive.studies.watch.starts.first_bet`."""
        info = count * self.p * (1 - self.p)
        x = self.eta[:, None] - (info * self.eta[:, None]).sum(0) / info.sum(0)
        spread = (info * x * x).sum(0)
        along = x / np.sqrt(np.where(spread > 0, spread, 1.0))
        logs = [np.full(count.shape[1], np.log(1 - SHARE_OF_FIRST_BET))]
        for angle in 2 * np.pi / DIRECTIONS_OF_FIRST_BET * np.arange(DIRECTIONS_OF_FIRST_BET):
            move = np.cos(angle) / np.sqrt(info.sum(0)) + np.sin(angle) * along
            limit = MAX_MOVE_OF_FIRST_BET
            move = np.clip(ERRORS_OF_FIRST_BET * move, -limit, limit)
            gain = (hits * move - count * np.log1p(self.p * np.expm1(move))).sum(0)
            logs.append(gain + np.log(SHARE_OF_FIRST_BET / DIRECTIONS_OF_FIRST_BET))
        return _log_sum(logs)

    def _refit(self, start, count, hits):
        rows, ones = count.sum(0), hits.sum(0)
        due = (start["n"] == 0) | (rows >= GROWTH_FOR_NEW_FIT * start["n"])
        due &= np.minimum(ones, rows - ones) >= MIN_OUTCOMES_TO_BET
        if due.any():
            q = map_of(self.eta, count[:, due], hits[:, due])
            start["ones"][:, due] = np.log(q / self.p)
            start["zeros"][:, due] = np.log((1 - q) / (1 - self.p))
            start["n"][due] = rows[due]

    def _drop(self):
        found = []
        for start in self.starts:
            if found and (start["number"] - 1) % _spacing(self.today - start["number"]):
                found[-1]["log_share"] = np.logaddexp(found[-1]["log_share"], start["log_share"])
            else:
                found.append(start)
        self.starts = found


def _log_sum(logs):
    logs = np.array(logs)
    top = logs.max(0)
    return top + np.log(np.exp(logs - top).sum(0))
