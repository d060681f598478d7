"""The default spline on known truths: `python -m tests.slow.spline_simulations [beyond|cut|alike]`.

Prints the tables of docs/theory/spline.md: how often its band covers and how wide it is, and the
spline's log loss on few rows against Platt's; with `beyond`, its log loss beyond the scores of
the fit; with `cut`, the coverage of its band without and with the cut; with `alike`, that band
where all outcomes agree. The tests beside it assert bounds.
"""

import sys
import warnings
from dataclasses import replace

import numpy as np
from scipy.special import logit
from scipy.stats import norm

from ogive import Curve, fit_platt, fit_spline
from ogive.errors import FallbackWarning


def expit(x):
    return 1.0 / (1.0 + np.exp(-x))


#: Place and spread of normal log-odds, and the true log-odds there.
TRUTHS = {
    "right": (0.0, 2.0, lambda e: e),
    "overconfident": (0.0, 3.0, lambda e: 0.5 * e),
    "too high": (0.0, 1.5, lambda e: e - 0.7),
    "top-1": (3.0, 2.0, lambda e: 0.5 * e + 0.3),
    "hinge": (0.0, 2.0, lambda e: e - 0.8 * np.maximum(e, 0.0)),
    "parabola": (0.0, 1.5, lambda e: e - 0.3 * e * e),
    "slow wave": (0.0, 2.0, lambda e: 0.8 * e + 0.7 * np.sin(e)),
    "wave": (0.5, 2.0, lambda e: 0.6 * e + np.sin(1.5 * e)),
    "fast wave": (0.0, 2.0, lambda e: 0.8 * e + 0.5 * np.sin(2.5 * e)),
    "plateau": (1.0, 2.0, lambda e: np.minimum(e, 1.5)),
    "tail": (3.0, 2.0, lambda e: np.minimum(e, 4.0 + 0.1 * (e - 4.0))),
    "steep tails": (0.0, 1.5, lambda e: 0.5 * e + 0.12 * e**3),
    "step": (0.0, 2.0, lambda e: 0.7 * e + np.where(e > 0.5, 0.8, -0.8)),
}
JUMP = {"step": 0.5}
LINES = ("right", "overconfident", "too high", "top-1")
#: Truths on which no constant of the band was chosen, though a bump set its last term.
OTHERS = {
    "low wave": (0.0, 2.0, lambda e: 0.8 * e + 0.28 * np.sin(2.5 * e)),
    "faster wave": (0.0, 2.0, lambda e: e + 0.4 * np.sin(3.5 * e)),
    "both ends level": (0.0, 2.0, lambda e: 3.0 * np.tanh(e / 2.0)),
    "bump": (0.0, 2.0, lambda e: 0.8 * e + 0.8 * np.exp(-0.5 * ((e - 1.0) / 0.5) ** 2)),
    "narrow bump": (0.0, 2.0, lambda e: 0.8 * e + 0.8 * np.exp(-0.5 * (e / 0.25) ** 2)),
}
OTHER_SIZES = (300, 1000, 5000)
SIZES = {100: 200, 300: 200, 1000: 150, 5000: 80}  # and how many samples of each
SHARES = np.linspace(0.02, 0.98, 25)  # of the scores: the places looked at

FEW_ROWS = {
    "right": TRUTHS["right"],
    "overconfident": TRUTHS["overconfident"],
    "underconfident": (0.0, 1.0, lambda e: 2.0 * e),
    "too high": (0.0, 1.5, lambda e: e - 1.5),
    "saturated": (9.0, 4.0, lambda e: 0.3 * e),
    "wave": TRUTHS["wave"],
    "plateau": (2.0, 2.0, lambda e: np.minimum(e, 1.5)),
    "rare, right": (-6.5, 0.8, lambda e: e),
    "rare, too high": (-4.5, 0.8, lambda e: e - 2.0),
    "rare, too low": (-8.5, 0.8, lambda e: e + 2.0),
    "rare, 1 in 100": (-5.0, 1.5, lambda e: 0.7 * e - 1.0),
    "two groups": (None, 0.5, lambda e: 0.4 * e),
    "inverted": (0.0, 2.0, lambda e: -0.7 * e),
}
#: And how many samples of each: the limit is 3 % of the log loss from 30 rows on.
FEW_SIZES = {10: 300, 30: 500, 100: 200, 300: 100, 1000: 60}


#: Log-odds of the fit, the truth (a probability), log-odds used.
BEYOND = {
    "plateau": ((-1.0, 1.0), lambda e: 0.15 + 0.7 * expit(2.0 * e), (2.0, 1.5)),
    "line": ((-1.0, 1.0), expit, (2.0, 1.5)),
    "line, far": ((-3.0, 1.0), expit, (2.0, 2.0)),
    "label noise 2 %, far": ((0.0, 1.5), lambda e: 0.02 + 0.96 * expit(e), (6.0, 2.0)),
}
BEYOND_SIZES = {100: 200, 1000: 200, 10_000: 200}


def draw(rng, n, place, spread):
    """Log-odds: normal, or in two groups around −4 and 4."""
    if place is None:
        return np.where(rng.random(n) < 0.5, -4.0, 4.0) + rng.normal(0.0, spread, n)
    return rng.normal(place, spread, n)


def fitted(fit, curve):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        return fit(curve)


def coverage(kind, n, draws, *, simultaneous=False, **changed):
    """How often the band holds the truth, at each place; not next to a jump.

    With `simultaneous`: how often the simultaneous band holds it at all places at once. `changed`:
    fields of the map, such as `cut=None` for the band without the cut.
    """
    place, spread, truth = (TRUTHS | OTHERS)[kind]
    at = place + spread * norm.ppf(SHARES)
    at = at[np.abs(at - JUMP.get(kind, np.inf)) > 0.5]
    held = np.zeros(at.size)
    for low, high in bands(place, spread, truth, n, draws, at, simultaneous, **changed):
        inside = (low <= expit(truth(at))) & (expit(truth(at)) <= high)
        held += inside.all() if simultaneous else inside
    return held / draws


def half_width(kind, n, draws):
    """The mean half width of the band in log-odds, over samples and places."""
    place, spread, truth = TRUTHS[kind]
    at = place + spread * norm.ppf(SHARES)
    found = bands(place, spread, truth, n, draws, at, simultaneous=False)
    return np.mean([(logit(high) - logit(low)).mean() / 2.0 for low, high in found])


def bands(place, spread, truth, n, draws, at, simultaneous, **changed):
    """The ends of the bands of some samples, at the log-odds `at`."""
    for seed in range(draws):
        rng = np.random.default_rng([n, seed])
        eta = draw(rng, n, place, spread)
        curve = Curve.from_scores(expit(eta), rng.random(n) < expit(truth(eta)))
        gamma = replace(fitted(fit_spline, curve), **changed)
        yield gamma.band_from_log_odds(at, simultaneous=simultaneous)


def loss_over_platt(kind, n, draws):
    """Mean log loss of the spline over Platt's, minus 1, and its standard error."""
    place, spread, truth = FEW_ROWS[kind]
    new = draw(np.random.default_rng(0), 2000, place, spread)
    p = expit(truth(new))
    loss = np.empty((draws, 2))
    for seed in range(draws):
        rng = np.random.default_rng([n, seed, 1])
        eta = draw(rng, n, place, spread)
        curve = Curve.from_scores(expit(eta), rng.random(n) < expit(truth(eta)))
        for i, fit in enumerate((fit_spline, fit_platt)):
            q = np.clip(fitted(fit, curve)(expit(new)), 1e-7, 1 - 1e-7)
            loss[seed, i] = -np.mean(p * np.log(q) + (1 - p) * np.log1p(-q))
    ours, platts = loss.mean(axis=0)
    ratio = ours / platts
    error = np.std(loss[:, 0] - ratio * loss[:, 1], ddof=1) / np.sqrt(draws) / platts
    return ratio - 1.0, error


def loss_beyond(kind, n, draws):
    """Log loss above the entropy, as a share of it, and standard errors, of three maps.

    They are the map as it goes on straight, as it levels out whatever the outcomes say, and as
    it is.
    """
    (place, spread), truth, (there, wide) = BEYOND[kind]
    at = there + wide * norm.ppf((np.arange(2000) + 0.5) / 2000)
    p = truth(at)
    entropy = -np.mean(p * np.log(p) + (1 - p) * np.log1p(-p))
    more = np.empty((draws, 3))
    for seed in range(draws):
        rng = np.random.default_rng([n, seed])
        eta = rng.normal(place, spread, n)
        gamma = fit_spline(Curve.from_scores(expit(eta), rng.random(n) < truth(eta)))
        straight = replace(gamma, tau=None, lowest=-745.0, highest=745.0)
        for i, each in enumerate((straight, replace(gamma, linear=0.0), gamma)):
            q = each.from_log_odds(at)
            more[seed, i] = -np.mean(p * np.log(q) + (1 - p) * np.log1p(-q)) / entropy - 1.0
    return more.mean(axis=0), more.std(axis=0, ddof=1) / np.sqrt(draws)


def print_beyond():
    print("| truth | rows | straight | level at once | spline |")
    for kind in BEYOND:
        for n, draws in BEYOND_SIZES.items():
            found = zip(*loss_beyond(kind, n, draws), strict=True)
            cells = [f"{100 * more:.1f} ± {100 * error:.1f}" for more, error in found]
            print(f"| {kind} | {n:,} | " + " | ".join(cells) + " |", flush=True)


#: Where all outcomes agree at an end: log-odds of the fit, and the truth (log-odds).
ALIKE = {
    "saturated": ((8.0, 6.0), lambda e: e / 2.4),
    "saturated, label noise 1 %": ((8.0, 6.0), lambda e: logit(0.01 + 0.98 * expit(e / 2.4))),
    "rare": ((-5.0, 2.0), lambda e: 0.9 * e),
    "a cliff far up, to 0.9": ((8.0, 6.0), lambda e: np.where(e > 16.0, logit(0.9), e / 2.0)),
    "a dip to 0.9": ((8.0, 6.0), lambda e: np.where(abs(e - 15.0) < 0.7, logit(0.9), e / 2.0)),
}
ALIKE_SIZES = {1000: 200, 5000: 100}
FAR_SHARES = np.array([0.5, 0.8, 0.88, 0.95, 0.99])  # 0.88 is the middle of the dip


def rows_alike(y):
    """For outcomes by score: how many rows on either side have the same one, at least."""
    edges = np.flatnonzero(np.diff(y)) + 1
    first, last = np.append(0, edges), np.append(edges, y.size) - 1
    run = np.repeat(np.arange(first.size), last - first + 1)
    place = np.arange(y.size)
    return np.minimum(place - first[run], last[run] - place)


def far_end(curve, gamma):
    """The share of rows, of those with 10 rows alike on each side, whose band ends in time.

    The far end lies within the exact 97.5 % limit of a 32nd of the rows alike on both sides.
    """
    each = 2 * rows_alike(curve.hits)
    some = each >= 20
    low, high = gamma.band_from_log_odds(curve.log_odds[some])
    share = np.where(curve.hits[some] > 0, low, 1.0 - high)
    return np.mean(share >= 0.025 ** (32.0 / each[some])), some.sum()


def alike(kind, n, draws):
    """Coverage at far places, and mean width there, without the cut and with it; `far_end`."""
    (place, spread), truth = ALIKE[kind]
    at = place + np.sign(place) * spread * norm.ppf(FAR_SHARES)
    held, width, ends = np.zeros((2, at.size)), np.zeros((2, at.size)), []
    for seed in range(draws):
        rng = np.random.default_rng([n, seed, 2])
        eta = np.sort(rng.normal(place, spread, n))
        curve = Curve.from_scores(expit(eta), rng.random(n) < expit(truth(eta)))
        gamma = fit_spline(curve)
        ends.append(far_end(curve, gamma))
        for i, each in enumerate((replace(gamma, cut=None), gamma)):
            low, high = each.band_from_log_odds(at)
            held[i] += (low <= expit(truth(at))) & (expit(truth(at)) <= high)
            width[i] += high - low
    share, rows = np.array(ends).T
    return held / draws, width / draws, share @ rows / rows.sum()


def print_cut(n=1000, draws=80):
    for kind in TRUTHS | OTHERS:
        cells = []
        for simultaneous in (False, True):
            without, held = (
                coverage(kind, n, draws, simultaneous=simultaneous, **changed)
                for changed in ({"cut": None}, {})
            )
            cells += [f"{without.mean():.3f} → {held.mean():.3f}", f"{(held - without).min():+.3f}"]
        print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)


def print_alike():
    print("| truth | rows | of the rows | " + " | ".join(f"{s:g}" for s in FAR_SHARES) + " |")
    for kind in ALIKE:
        for n, draws in ALIKE_SIZES.items():
            held, width, share = alike(kind, n, draws)
            cells = [
                f"{w[0]:.3f} ({100 * h[0]:.0f} %) → {w[1]:.3f} ({100 * h[1]:.0f} %)"
                for h, w in zip(held.T, width.T, strict=True)
            ]
            print(
                f"| {kind} | {n:,} | {100 * share:.1f} % | " + " | ".join(cells) + " |", flush=True
            )


def main():
    tables = {"beyond": print_beyond, "cut": print_cut, "alike": print_alike}
    if sys.argv[1:]:
        tables[sys.argv[1]]()
        return
    print("| truth | " + " | ".join(f"N = {n:,}" for n in SIZES) + " |")
    for kind in TRUTHS:
        held = [coverage(kind, n, draws) for n, draws in SIZES.items()]
        cells = [f"{100 * h.mean():.0f} ({100 * h.min():.0f})" for h in held]
        print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)
    for kind in LINES:
        cells = [f"{half_width(kind, n, draws):.2f}" for n, draws in SIZES.items()]
        print(f"| half width, {kind} | " + " | ".join(cells) + " |", flush=True)
    for kind in OTHERS:
        held = [coverage(kind, n, SIZES[n]) for n in OTHER_SIZES]
        cells = [f"{100 * h.mean():.0f} ({100 * h.min():.0f})" for h in held]
        print(f"| {kind}, N = 300, 1,000, 5,000 | " + " | ".join(cells) + " |", flush=True)
    print("| truth | " + " | ".join(f"n = {n:,}" for n in FEW_SIZES) + " |")
    for kind in FEW_ROWS:
        found = [loss_over_platt(kind, n, draws) for n, draws in FEW_SIZES.items()]
        cells = [f"{100 * more:+.1f} ± {100 * error:.1f}" for more, error in found]
        print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
