"""Level and coverage, by simulation: `pytest tests/slow -m slow`, some minutes."""

import pytest

from tests.slow import bound_simulations, decision_simulations, simulations
from tests.slow import omnibus_simulations as omnibus

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("n", simulations.SIZES)
@pytest.mark.parametrize("kind", simulations.KINDS)
def test_level_of_both_tests(kind, n):
    ks, kuiper, holds = simulations.level(kind, n, simulations.draws_of(kind, n))
    assert max(ks, kuiper) <= 0.06
    if kind not in {"rounded", "saturated"}:
        assert min(ks, kuiper) >= 0.02
    assert holds >= 0.93


@pytest.mark.parametrize("n", [100, 1000])
def test_level_with_sampling_weights(n):
    ks, kuiper, _ = simulations.level(
        "continuous", n, 3000, weights=lambda rng, m: rng.exponential(size=m)
    )
    assert min(ks, kuiper) >= 0.02
    assert max(ks, kuiper) <= 0.06


@pytest.mark.parametrize("n", simulations.VIEW_DRAWS)
def test_level_in_every_view_of_a_calibrated_model(n):
    assert simulations.level_of_views(n, simulations.VIEW_DRAWS[n]).max() <= 0.06


@pytest.mark.parametrize("factor", [1.3, 2.0])
@pytest.mark.parametrize("n", simulations.SIZES)
@pytest.mark.parametrize("kind", simulations.KINDS)
def test_coverage_of_the_interval(kind, n, factor):
    assert simulations.coverage(kind, n, 2000, factor) >= 0.93


@pytest.mark.parametrize("name", simulations.HEAVY)
def test_level_with_a_few_heavy_rows(name):
    found = simulations.level_of_heavy(name, 2000)
    assert found[:2].max() <= 0.065
    assert found[2:].max() <= 0.02


@pytest.mark.parametrize("name", simulations.TIED)
def test_level_with_weights_and_equal_scores(name):
    """2,000 samples: the standard error of 5 % is 0.5 %, of 1 % 0.2 %."""
    ours, exact, whole, expected, true = simulations.level_of_tied(name, 2000, 300)
    assert ours[:2].max() <= 0.065 + 0.01
    assert ours[2:].max() <= 0.016 + 0.005
    assert (ours >= exact - 0.03).all()
    assert whole[0] <= 0.065 + 0.025
    assert expected == pytest.approx(true, rel=0.2)


@pytest.mark.parametrize("n", [200, 600])
@pytest.mark.parametrize("kind", simulations.KINDS)
def test_level_of_the_omnibus_test(kind, n):
    """16,000 samples: the standard error of 5 % is 0.2 %."""
    at_5, at_1 = omnibus.level_of_sets(simulations.KINDS[kind], n)
    assert 0.043 <= at_5 <= 0.057
    assert 0.007 <= at_1 <= 0.013


def test_level_of_the_omnibus_test_with_sampling_weights():
    weights = lambda rng, m: rng.exponential(size=m)  # noqa: E731
    assert simulations.level_of_omnibus("continuous", 1000, 1500, weights)[0] <= 0.065


@pytest.mark.parametrize("n", omnibus.POWER_SIZES)
def test_power_of_the_omnibus_test(n):
    for found in omnibus.power_of_alternatives(n).values():
        assert found[4] >= found[:4].max() - 0.13


@pytest.mark.parametrize("which", omnibus.HELD_OUT)
def test_power_of_the_omnibus_test_on_held_out_alternatives(which):
    for law in omnibus.HELD_OUT[which][1]:
        for name, found in omnibus.power_of_held_out(which, law, 500, 1000).items():
            allowed = 0.22 if name in {"sawtooth of fifths", "alternating eighths"} else 0.18
            assert found[4] >= found[:4].max() - allowed


def test_no_test_is_within_012_of_the_best_of_four_on_all_alternatives():
    loss, error, rows = bound_simulations.loss_of_any_test()
    assert loss - 4.0 * error > 0.12
    assert sum(bound_simulations.WEIGHTS.values()) == pytest.approx(1.0)
    for power, _ in rows.values():
        assert 0.5 <= power <= 0.7  # sizes at which there is something to lose


@pytest.mark.parametrize("n", [200, 1000])
def test_calibrated_scores_are_mostly_left_alone(n):
    assert decision_simulations.decisions("calibrated", n, 200)[0] <= 0.2


@pytest.mark.parametrize(("n", "draws"), [(200, 200), (1000, 200), (5000, 60)])
def test_a_test_set_seldom_recommends_a_change_of_calibrated_scores(n, draws):
    said, lost, _ = decision_simulations.decisions_on_test("calibrated", n, draws)
    assert said <= 0.10
    assert lost <= 0.15


def test_leave_it_alone_does_not_contradict_the_test():
    assert decision_simulations.decisions("upper tail", 200, 200)[4] <= 0.01


@pytest.mark.parametrize("n", [200, 1_000])
@pytest.mark.parametrize("law", decision_simulations.LAWS)
def test_calibrated_scores_of_any_law_are_seldom_told_to_calibrate(law, n):
    """At most 15 %, and two standard errors of 150 samples; never beside a loss that rises."""
    said, lost, rises = decision_simulations.decisions_on_calibrated(law, n, 150)
    assert said <= 0.15 + 0.06
    assert lost <= 0.3
    assert rises == 0.0


@pytest.mark.parametrize(("n", "groups", "draws"), [(200, 1, 600), (1000, 1, 300), (300, 5, 100)])
@pytest.mark.parametrize("truth", decision_simulations.GATE_TRUTHS)
def test_a_gate_whose_limit_is_the_true_error_decides_in_few_samples(truth, n, groups, draws):
    for found in decision_simulations.gate_errors(truth, n, draws, groups).values():
        assert max(found) <= 0.05 + 2.5 * (0.05 * 0.95 / draws) ** 0.5


@pytest.mark.parametrize(("method", "n", "m"), [("platt", 500, 5000), ("spline", 1000, 5000)])
def test_a_correct_map_is_within_the_noise_of_its_fit(method, n, m):
    exact, allowed, ks = decision_simulations.after_calibration(method, n, m, 150)
    assert exact >= 0.3  # no fitted map is exact
    assert max(allowed, ks) <= 0.05 + 3.0 * (0.05 * 0.95 / 150) ** 0.5


@pytest.mark.parametrize("groups", decision_simulations.GROUP_MEANS)
def test_groups_of_a_correct_map_are_within_the_noise_of_its_fit(groups):
    exact, allowed, named = decision_simulations.groups_after_calibration(groups, 500, 5000, 150)
    assert exact >= 0.3
    assert max(allowed, named) <= 0.05 + 3.0 * (0.05 * 0.95 / 150) ** 0.5


@pytest.mark.parametrize(("classes", "n", "draws"), [(3, 200, 200), (3, 1000, 200), (10, 200, 100)])
def test_calibrated_matrices_are_mostly_left_alone(classes, n, draws):
    said, lost, always, _ = decision_simulations.decisions_on_matrices(classes, n, draws)
    assert said <= 0.32
    assert lost <= min(always, 0.75)


@pytest.mark.parametrize(("n", "rate"), [(200, 0.05), (1000, 0.05), (1000, 0.01)])
def test_level_of_differences_with_rare_large_losses(n, rate):
    assert max(simulations.level_of_differences(n, rate, 3000)) <= 0.04
