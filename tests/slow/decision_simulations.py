"""How often verdicts and gates decide wrongly: `python -m tests.slow.decision_simulations`."""

import numpy as np

from ogive import Curve, Predictions, calibration_test, fit_spline, ks_test, measure_groups
from ogive.calibrators import METHODS
from ogive.studies.deciding import decide, judge_fit
from ogive.studies.fitted_on import fitted_on
from ogive.studies.fitting import fit
from ogive.studies.gate import _Estimates
from ogive.studies.verdict import allowed_ks, judge_curve
from tests.slow import omnibus_simulations as omnibus
from tests.slow.omnibus_simulations import expit
from tests.slow.simulations import KINDS, true_ks

#: Truths of a gate, as log-odds of scores with the log-odds e.
GATE_TRUTHS = {
    "calibrated": lambda e: e,
    "shift 0.25": lambda e: e - 0.25,
    "temperature 1.3": lambda e: e / 1.3,
    "temperature 2": lambda e: e / 2.0,
    "temperature 0.7": lambda e: e / 0.7,
}
GATE_MEASURES = ("ks", "ece", "log_loss_gain")
#: Rows of each group, groups, samples.
GATE_SIZES = ((200, 1, 1000), (2_000, 1, 500), (300, 5, 400))


def true_errors(eta, truth, bins=15):
    """The KS error, the ECE and the log loss that could be saved, of expected outcomes."""
    p, q = expit(eta), expit(truth(eta))
    share = np.bincount((p * bins).astype(int), q - p, bins) / p.size
    loss = q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p))
    return {"ks": true_ks(p, q), "ece": np.abs(share).sum(), "log_loss_gain": loss.mean()}


def gate_errors(truth, n, draws, groups=1, measures=GATE_MEASURES):
    """How often a gate whose limit is the true error decides wrongly: at most 5 % each.

    {measure: (passes, fails)}. It must not fail where all groups are at the limit, the largest
    error of them, and must not pass where one group is above it and all others are calibrated.
    (Calibrated groups are below every limit, so that they cannot pass wrongly.)
    """
    rng = np.random.default_rng([n, groups, len(truth)])
    found = {name: np.zeros(2) for name in measures}
    for _ in range(draws):
        etas = rng.normal(0.5, 1.5, (groups, n))
        true = [true_errors(eta, GATE_TRUTHS[truth]) for eta in etas]
        off, fine = (
            [
                _Estimates(Curve.from_scores(expit(eta), rng.random(n) < expit(law(eta))), 15, 0)
                for eta in etas
            ]
            for law in (GATE_TRUTHS[truth], GATE_TRUTHS["calibrated"])
        )
        for name in measures:
            limit = max(one[name] for one in true) + 1e-9
            fails = any(getattr(one, name)(0.05 / groups).low > limit for one in off)
            limit, curves = true[0][name] - 1e-9, [off[0], *fine[1:]]
            passes = all(getattr(one, name)(0.05).high <= limit for one in curves)
            found[name] += (passes, fails)
    return {name: counts / draws for name, counts in found.items()}


def gate_errors_of_kind(kind, n, draws):
    """The same of the log loss saved, for other scores: (fails calibrated, passes, fails).

    The last two for log-odds divided by 1.5, and lower by 0.6 if outcomes are rare.
    """
    rng, found = np.random.default_rng([n, len(kind)]), np.zeros(3)
    for _ in range(draws):
        scores = KINDS[kind](rng, n)
        p = scores.clip(1e-7, 1 - 1e-7)
        q = expit(omnibus.logit(p) / 1.5 - 0.6 * (kind == "rare"))
        fine, off = (
            _Estimates(Curve.from_scores(scores, rng.random(n) < truth), 15, 0).log_loss_gain(0.05)
            for truth in (scores, q)
        )
        true = np.mean(q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p)))
        found += [fine.low > 0.0, off.high < true, off.low > true]
    return found / draws


#: Laws of calibrated scores: rare events, rare misses, and four that are neither.
LAWS = {
    "Beta(0.2, 20)": lambda rng, n: rng.beta(0.2, 20.0, n),
    "exp N(-6, 1)": lambda rng, n: np.exp(np.minimum(rng.normal(-6.0, 1.0, n), 0.0)),
    "1 - exp N(-6, 1)": lambda rng, n: 1.0 - np.exp(np.minimum(rng.normal(-6.0, 1.0, n), 0.0)),
    "uniform": lambda rng, n: rng.random(n),
    "U-shaped, Beta(0.3, 0.3)": lambda rng, n: rng.beta(0.3, 0.3, n),
    "tied, 0.05 to 0.95": lambda rng, n: rng.integers(1, 20, n) / 20,
    "log-odds N(0.5, 1.5^2)": lambda rng, n: expit(rng.normal(0.5, 1.5, n)),
}
LAW_SIZES = ((200, 300), (1_000, 300), (10_000, 150))


def decisions_on_calibrated(law, n, draws):
    """What is said of calibrated scores: (calibrate, lost, beside a loss that rises).

    Lost: log loss in total over n new rows by following the verdict. Only samples whose gain is in
    favour go on to the whole verdict: no other is told to calibrate.
    """
    rng = np.random.default_rng([n, len(law)])
    p = LAWS[law](np.random.default_rng(1), 4000)
    p = p[(p > 0.0) & (p < 1.0)]
    found = np.zeros(3)
    for _ in range(draws):
        scores = LAWS[law](rng, n)
        curve = Curve.from_scores(scores, rng.random(n) < scores)
        gamma = fit_spline(curve)
        if gamma.own_gain.leave_alone:
            continue
        verdict = judge_curve(curve, ks_test(curve), decide=True)
        r = gamma(p)
        lost = -n * np.mean(p * np.log(r / p) + (1.0 - p) * np.log((1.0 - r) / (1.0 - p)))
        rises = verdict.log_loss_after > verdict.log_loss_before
        found += bool(verdict.calibrate) * np.array([1.0, lost, rises])
    return found / draws


def print_decisions_on_calibrated():
    """Print how often calibrated scores are told to calibrate, with the standard error."""
    for law in LAWS:
        for n, draws in LAW_SIZES:
            said, lost, rises = decisions_on_calibrated(law, n, draws)
            error = np.sqrt(max(said, 1.0 / draws) * (1.0 - said) / draws)
            cells = f"{100 * said:.1f} ± {100 * error:.1f} % | {lost:.2f} | {100 * rises:.0f} %"
            print(f"| {law} | {n:,} | {draws} | {cells} |", flush=True)


DECISION_TRUTHS = (
    "calibrated",
    "shift 0.3",
    "temperature 1.5",
    "upper tail",
    "bend",
    "temperature 0.7",
)


def decisions(name, n, draws, seed=11):
    """How often to calibrate, the regret, and how often the test contradicts "leave it alone".

    Regret: log loss in total over n new rows against the better of both decisions; of this rule,
    of always calibrating and of never. Contradiction: the omnibus test has p < 0.001.
    """
    rng = np.random.default_rng([n, len(name), seed])
    truth = omnibus.ALTERNATIVES.get(name, lambda e: e)
    new = np.random.default_rng(1).normal(0.5, 1.5, 4000)
    p, q = expit(new), expit(truth(new))
    found = np.zeros(5)
    for i in range(draws):
        e = rng.normal(0.5, 1.5, n)
        curve = Curve.from_scores(expit(e), rng.random(n) < expit(truth(e)))
        gamma = fit_spline(curve)
        r = gamma(p)
        gain = n * np.mean(q * np.log(r / p) + (1 - q) * np.log((1 - r) / (1 - p)))
        leave = gamma.summary().leave_alone
        clash = leave and calibration_test(curve, random_state=i).pvalue < 0.001
        best = max(gain, 0.0)
        found += [not leave, best - gain * (not leave), best - gain, best, clash]
    return found / draws


def decisions_on_test(name, n, draws, seed=12):
    """The same for a map fitted on n rows and judged on a test set of n others.

    How often "calibrate" is said, and the log loss in total over n new rows that following the
    advice loses against leaving the scores alone (negative: it gains).
    """
    rng = np.random.default_rng([n, len(name), seed])
    truth = omnibus.ALTERNATIVES.get(name, lambda e: e)
    new = np.random.default_rng(1).normal(0.5, 1.5, 4000)
    p, q = expit(new), expit(truth(new))
    found = np.zeros(3)
    for _ in range(draws):
        cal, test = (
            Predictions(expit(e), rng.random(n) < expit(truth(e)), kind="probs")
            for e in rng.normal(0.5, 1.5, (2, n))
        )
        gamma = fit(cal, "spline", "score")
        verdict = judge_fit(cal, gamma, fitted_on(cal, gamma, cv=0), test)
        r = gamma(p)
        loss = -n * np.mean(q * np.log(r / p) + (1 - q) * np.log((1 - r) / (1 - p)))
        found += [bool(verdict.calibrate), loss * bool(verdict.calibrate), verdict.too_few_rows]
    return found / draws


#: Classes, rows and samples of the decisions on matrices.
MATRIX_SIZES = ((3, 200, 400), (3, 1_000, 400), (10, 200, 400), (10, 1_000, 100))


def decisions_on_matrices(classes, n, draws, factor=1.0):
    """How often "calibrate" is said of matrices, by cross-validated log loss of whole vectors.

    And, in total over n new rows: the log loss that following the advice loses against leaving the
    vectors alone, what always calibrating loses (negative: it gains), and what cross-validation
    says that it loses. factor : by which the logits of the model are too large.
    """
    rng = np.random.default_rng([classes, n, int(10 * factor)])
    found = np.zeros(4)
    for _ in range(draws):
        preds, _ = _matrix(rng, classes, n, factor)
        new, q = _matrix(rng, classes, 4000, factor)
        gain = decide(preds, "vector").gain
        before, after = new.probabilities(), fit(preds, "spline", "vector")(new)
        loss = -n * np.mean(np.sum(q * np.log(after / before), axis=1))
        said = not gain.leave_alone
        found += [said, said * loss, loss, -n * gain.value]
    return found / draws


def _matrix(rng, classes, n, factor):
    """Logits of deviation 1.5 with labels drawn from them, times a factor; and the truth."""
    logits = rng.normal(0.0, 1.5, (n, classes))
    truth = np.exp(logits)
    truth /= truth.sum(axis=1, keepdims=True)
    labels = (truth.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=classes - 1)
    names = list(range(classes))
    return Predictions(factor * logits, labels, kind="logits", classes=names), truth


def after_calibration(method, n, m, draws, truth=lambda e: e / 1.5 + 0.3, drift=0.0):
    """How often m fresh rows find fault with a map fitted on n rows, at 5 %.

    By the calibration test as if the map were exact, by the test that allows for the noise of the
    fit, and by the KS error alone against what is allowed for. drift : added to the true log-odds
    of the fresh rows.
    """
    rng = np.random.default_rng([n, m, len(method), int(100 * drift)])
    found = np.zeros(3)
    for i in range(draws):
        e, new = rng.normal(0.5, 1.5, n), rng.normal(0.5, 1.5, m)
        gamma = METHODS[method].fit(Curve.from_scores(expit(e), rng.random(n) < expit(truth(e))))
        curve = Curve.from_scores(gamma(expit(new)), rng.random(m) < expit(truth(new) + drift))
        exact = calibration_test(curve, random_state=i).pvalue
        allowed = calibration_test(curve, random_state=i, fitted_on=n).pvalue
        ks = ks_test(curve)
        found += [exact <= 0.05, allowed <= 0.05, ks.value > allowed_ks(curve, ks, n)]
    return found / draws


#: Mean log-odds of the groups below: alike, and with scores of their own.
GROUP_MEANS = {"alike": (0.5, 0.5, 0.5), "own scores": (-2.0, 0.5, 3.0)}


def groups_after_calibration(groups, n, m, draws, drift=0.0):
    """How often groups of fresh rows are found off, of a spline fitted on n rows of all groups.

    The share of groups with p <= 5 %, taking the map as exact and allowing for its fit, and the
    share of samples in which one of three is named. drift : of the last group's true log-odds.
    """
    rng = np.random.default_rng([n, m, len(groups), int(100 * drift)])
    means, found = np.array(GROUP_MEANS[groups]), np.zeros(3)
    for i in range(draws):
        of_fit, of_new = rng.integers(0, 3, n), rng.integers(0, 3, m)
        e, new = rng.normal(means[of_fit], 1.0), rng.normal(means[of_new], 1.0)
        gamma = fit_spline(Curve.from_scores(expit(e), rng.random(n) < expit(e / 1.5 + 0.3)))
        hits = rng.random(m) < expit(new / 1.5 + 0.3 + drift * (of_new == 2))
        preds = Predictions(gamma(expit(new)), hits, kind="probs")
        exact = measure_groups(preds, of_new, random_state=i)
        allowed = measure_groups(preds, of_new, random_state=i, fitted_on=n)
        shares = [np.mean([g.pvalue <= 0.05 for g in one.groups]) for one in (exact, allowed)]
        found += [*shares, len(allowed.off) > 0]
    return found / draws


def print_gate():
    """Print how often a gate decides wrongly."""
    print("\n| truth | N | groups | KS | ECE | log loss saved |\n|---|---|---|---|---|---|")
    for truth in GATE_TRUTHS:
        for n, groups, draws in GATE_SIZES:
            found = gate_errors(truth, n, draws, groups)
            cells = (", ".join(f"{100 * x:.1f} %" for x in found[m]) for m in GATE_MEASURES)
            print(f"| {truth} | {n:,} | {groups} | " + " | ".join(cells) + " |", flush=True)


def print_other_scores():
    """Print how often a gate of the log loss saved decides wrongly, for other scores."""
    for kind in ("rare", "saturated", "rounded"):
        for n in (200, 2_000):
            cells = (f"{100 * x:.1f} %" for x in gate_errors_of_kind(kind, n, 300))
            print(f"| {kind} | {n:,} | " + " | ".join(cells) + " |", flush=True)


def print_decisions():
    """Print how often to calibrate, and what following the advice costs."""
    for n, draws in ((200, 200), (1_000, 100), (5_000, 60)):
        for name in DECISION_TRUTHS:
            some = draws * (2 if name == "calibrated" else 1)
            cells = " | ".join(f"{x:.2f}" for x in decisions(name, n, some))
            print(f"| {name} | {n:,} | {some} | {cells} |", flush=True)
    for n, draws in ((200, 300), (1_000, 300), (5_000, 150)):
        for name in ("calibrated", "shift 0.3", "temperature 1.5"):
            cells = " | ".join(f"{x:.3f}" for x in decisions_on_test(name, n, draws))
            print(f"| {name} | {n:,} | {draws} | {cells} |", flush=True)


def print_decisions_on_matrices():
    """Print how often matrices are calibrated, and what following the advice costs."""
    for factor, share in ((1.0, 1.0), (1.3, 0.4)):
        for classes, n, draws in MATRIX_SIZES:
            some = int(share * draws)
            said, *lost = decisions_on_matrices(classes, n, some, factor)
            cells = " | ".join(f"{x:+.2f}" for x in lost)
            print(f"| {factor} | {classes} | {n:,} | {some} | {100 * said:.0f} % | {cells} |")


def print_after_calibration():
    """Print how often fresh rows find fault with a map."""
    for method in ("platt", "spline", "isotonic"):
        for n, m in ((500, 500), (500, 5_000), (2_000, 2_000), (2_000, 20_000)):
            cells = (f"{100 * x:.0f} %" for x in after_calibration(method, n, m, 120))
            print(f"| {method} | {n:,} | {m:,} | " + " | ".join(cells) + " |", flush=True)


def print_groups_after_calibration():
    """Print how often groups of fresh rows are found off."""
    for groups in GROUP_MEANS:
        for n, m, drift in ((500, 500, 0.0), (500, 5_000, 0.0), (2_000, 5_000, 0.0),
                            (2_000, 5_000, 0.5)):  # fmt: skip
            shares = groups_after_calibration(groups, n, m, 150, drift)
            cells = " | ".join(f"{100 * x:.0f} %" for x in shares)
            print(f"| {groups} | {n:,} | {m:,} | {drift} | {cells} |", flush=True)


if __name__ == "__main__":
    print_gate()
    print_other_scores()
    print_decisions_on_calibrated()
    print_decisions()
    print_decisions_on_matrices()
    print_after_calibration()
    print_groups_after_calibration()
