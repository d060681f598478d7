from dataclasses import replace

import numpy as np
import pytest

from ogive import Curve, calibration_test
from ogive._numerics.brownian import range_tail, range_tails, supremum_tail, supremum_tails
from ogive.errors import InvalidType
from ogive.metrics import omnibus
from ogive.metrics.cells import LEAST_TAIL, Cells
from ogive.metrics.omnibus import Average, _parts, log_sum
from tests import naive, simulate


def logit(p):
    return np.log(p) - np.log1p(-p)


def test_the_laws_are_those_of_the_single_tests():
    x = np.linspace(0.9, 6.0, 30)
    assert supremum_tails(x) == pytest.approx([supremum_tail(v) for v in x], abs=1e-9)
    assert range_tails(x) == pytest.approx([range_tail(v) for v in x], abs=1e-9)


def grid_of_scores(rng, n=600):
    """Scores on a grid coarse enough that every one of them is a cell."""
    places = np.linspace(-4.0, 4.2, 16)
    scores = 1 / (1 + np.exp(-rng.choice(places, n)))
    return scores, rng.random(n) < 1 / (1 + np.exp(-logit(scores) / 1.3))


def test_parts_equal_their_definitions(rng):
    scores, hits = grid_of_scores(rng)
    found = _parts(Cells(Curve.from_scores(scores, hits)))
    assert found == pytest.approx(naive.calibration_parts(scores, hits), rel=1e-6)


def test_the_average_equals_its_definition(rng):
    scores, hits = grid_of_scores(rng)
    found = calibration_test(Curve.from_scores(scores, hits)).log_likelihood_ratio
    assert found == pytest.approx(naive.average_likelihood_ratio(scores, hits), rel=1e-6)


def test_the_average_of_likelihood_ratios_is_one_under_calibration(rng, monkeypatch):
    """Errors half as large, so that the mean of the draws is near the expectation."""
    monkeypatch.setattr(omnibus, "SIZES", np.array([0.5, 1.0]))
    monkeypatch.setattr(omnibus, "GROUP_SPREAD", 0.3)
    monkeypatch.setattr(omnibus, "SHAPE_SPREAD", 0.3)
    p = rng.beta(1.0, 4.0, 300)
    for weights in (None, rng.exponential(size=300)):
        rows = {"sample_weight": weights, "weight_kind": "sampling"}
        cells = Cells(Curve.from_scores(p, rng.random(300) < p, **rows))
        ratios = np.exp(Average(cells)(cells.draw(rng, 8000)))
        assert ratios.mean() == pytest.approx(1.0, abs=5 * ratios.std() / np.sqrt(8000) + 0.005)


def test_groups_are_tenths_of_the_rows(rng):
    """No cell lies in two of them, so that errors that alternate between groups are not blurred."""
    scores = np.sort(1.0 / (1.0 + np.exp(-rng.normal(0.5, 1.5, 1000))))
    cells = Cells(Curve.from_scores(scores, scores > 0.5))
    tenth = np.arange(1000) // 100
    for cell in range(cells.variance.size):
        assert np.unique(tenth[cells.cell == cell]).size == 1
    members = np.unique(np.floor(cells.by_rows * 10), return_inverse=True)[1]
    assert np.array_equal(members[cells.cell], tenth)


@pytest.mark.parametrize("kind", ["exact", "merged", "summarised", "weight 1", "sampling"])
def test_all_forms_of_a_curve_agree(kind, rng):
    scores, hits, _ = simulate.overconfident(rng, 900, factor=1.3)
    rows = {"sample_weight": np.full(900, 2.5), "weight_kind": "sampling"}
    whole = Curve.from_scores(scores, hits)
    other = {
        "exact": lambda: Curve.from_scores(scores[::-1], hits[::-1]),
        "merged": lambda: Curve.from_scores(scores[:300], hits[:300]).merge(
            Curve.from_scores(scores[300:], hits[300:])
        ),
        "summarised": whole.summarised,
        "weight 1": lambda: Curve.from_scores(scores, hits, sample_weight=np.ones(900)),
        "sampling": lambda: Curve.from_scores(scores, hits, **rows),
    }[kind]()
    a, b = calibration_test(whole), calibration_test(other)
    assert a.strongest == b.strongest
    assert a.parts == pytest.approx(b.parts, rel=0.02, abs=1e-12)
    assert a.pvalue == pytest.approx(b.pvalue, rel=0.1, abs=2e-3)


@pytest.mark.parametrize(
    ("truth", "strongest"),
    [
        (lambda e: e / 1.6, {"temperature", "shape"}),
        (lambda e: e + 0.5, {"ks", "kuiper", "shift"}),
        (lambda e: e + 1.2 * np.sin(3 * e), {"shape", "steps"}),
    ],
)
def test_the_strongest_part_names_the_alternative(truth, strongest, rng):
    e = rng.normal(0.5, 1.5, 3000)
    curve = Curve.from_scores(1 / (1 + np.exp(-e)), rng.random(3000) < 1 / (1 + np.exp(-truth(e))))
    test = calibration_test(curve)
    assert test.pvalue < 1e-4
    assert test.strongest in strongest
    assert set(test.parts) == {"ks", "kuiper", "shift", "temperature", "shape", "steps"}


def test_level_and_seed(rng):
    rejected = 0
    for i in range(120):
        p = rng.random(300)
        curve = Curve.from_scores(p, rng.random(300) < p)
        rejected += calibration_test(curve, random_state=i).pvalue <= 0.05
    assert rejected <= 14
    assert calibration_test(curve, random_state=3) == calibration_test(curve, random_state=3)


@pytest.mark.parametrize(
    ("scores", "hits"),
    [([0.3], [1]), ([0.5, 0.5], [1, 0]), ([0.0, 1.0], [0, 1]), ([0.2] * 9, [0] * 9)],
)
def test_few_rows_are_never_enough(scores, hits):
    test = calibration_test(Curve.from_scores(scores, hits))
    assert 0.05 < test.pvalue <= 1.0


def test_a_certain_score_that_is_wrong():
    """It counts as a score of 1 - 1e-7."""
    test = calibration_test(
        Curve.from_scores([1.0] * 50 + [0.4] * 50, [0] + [1] * 49 + [0, 1] * 25)
    )
    assert test.pvalue < 1e-3
    assert LEAST_TAIL == 1e-7


def test_p_values_go_on_below_what_is_simulated(rng):
    e = rng.normal(0.5, 1.5, 4000)
    found = []
    for shift in (0.25, 0.5, 1.0):
        y = rng.random(4000) < 1 / (1 + np.exp(-e - shift))
        test = calibration_test(Curve.from_scores(1 / (1 + np.exp(-e)), y))
        assert test.pvalue >= min(test.parts.values())  # many alternatives cost something
        found.append(test.pvalue)
    assert found[0] > found[1] > found[2]
    assert found[1] < 1e-8


def test_draws_stop_early_where_more_would_not_change_the_answer(rng):
    e = rng.normal(0.5, 1.5, 2000)
    p = 1 / (1 + np.exp(-e))
    clear = calibration_test(Curve.from_scores(p, rng.random(2000) < 1 / (1 + np.exp(-e - 1.0))))
    assert clear.draws == 1000
    assert clear.pvalue < 1e-9
    outcomes = (np.arange(2000) * 0.61803398875) % 1.0 < np.sort(
        p
    )  # spread more evenly than chance
    even = calibration_test(Curve.from_scores(np.sort(p), outcomes))
    assert even.draws == 250
    assert even.pvalue > 0.3


def test_draws_are_left_out_where_none_could_reach(rng, monkeypatch):
    eta = rng.gamma(2.0, 3.0, 4_000) - 1.5
    curve = Curve.from_scores(
        1 / (1 + np.exp(-eta)), rng.random(4_000) < 1 / (1 + np.exp(-eta / 2))
    )
    found = calibration_test(curve)
    assert not Cells(curve).laws_hold
    assert found.draws == 0
    assert found.pvalue < 1e-6  # not 1 in 5,001, the least share of draws
    monkeypatch.setattr(omnibus, "OUT_OF_REACH", 0.0)
    assert calibration_test(curve) == replace(found, draws=5000)


@pytest.mark.parametrize("heavy", [1.0, 30.0, 1000.0])
def test_the_exact_likelihood_ratios_exceed_m_in_one_of_m_draws_at_most(rng, heavy):
    scores = np.concatenate([rng.random(300), np.full(40, 1e-3)])
    weight = np.where(scores == 1e-3, heavy, 1.0)
    how = {"sample_weight": weight, "weight_kind": "sampling"}
    average = Average(Cells(Curve.from_scores(scores, rng.random(340) < scores, **how)))
    exact = log_sum(average.terms(average.cells.draw(rng, 4000))[:, :2])
    for share in (0.5, 0.1, 0.02):
        assert np.mean(exact >= np.log(1.0 / share)) <= share + 3.0 * np.sqrt(share / 4000)


def test_the_noise_of_a_fit_is_allowed_for(rng):
    """Surpluses of calibrated scores are divided by the root of 1 + m/n, with Kish's m."""
    scores = rng.random(2000)
    outcomes = rng.random(2000) < scores + 0.28 * scores * (1.0 - scores)
    curve = Curve.from_scores(scores, outcomes)
    plain, small, large = (calibration_test(curve, fitted_on=n).pvalue for n in (None, 500.0, 1e12))
    assert plain < 0.05 < small
    assert large == pytest.approx(plain, abs=1e-6)
    assert omnibus.noise_ratio(curve, 500.0) == pytest.approx(np.sqrt(5.0))
    heavy = Curve.from_scores(
        scores, outcomes, sample_weight=np.full(2000, 7.0), weight_kind="sampling"
    )
    assert omnibus.noise_ratio(heavy, 500.0) == pytest.approx(np.sqrt(5.0))


def test_anything_but_a_curve_is_refused():
    with pytest.raises(InvalidType, match="build it with"):
        calibration_test([0.5])
