"""Level and coverage with clusters, by simulation: `pytest tests/slow -m slow`."""

import pytest

from tests.slow import cluster_simulations as simulations

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ogive.errors.FewClusters")]


@pytest.mark.parametrize("icc", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("clusters", [10, 20, 50, 200])
def test_level_of_the_tests(clusters, icc):
    """400 samples: the standard error of 5 % is 1.1 %."""
    *found, plain = simulations.level(clusters, icc, 400)
    assert max(found) <= 0.085
    assert plain > 1.5 * max(found)


@pytest.mark.parametrize("icc", [0.1, 0.5])
@pytest.mark.parametrize("clusters", [20, 50, 200])
def test_coverage_of_the_intervals(clusters, icc):
    """300 samples: the standard error of 95 % is 1.3 %."""
    ks, ece, log_loss, plain = simulations.coverage(clusters, icc, 300)
    assert min(ks, ece) >= 0.93
    assert log_loss >= 0.93
    assert plain < ks


@pytest.mark.parametrize("icc", [0.1, 0.5])
@pytest.mark.parametrize("clusters", [10, 20, 50, 200])
def test_coverage_of_oe_ratio_intercept_and_slope(clusters, icc):
    """300 samples: the standard error of 95 % is 1.3 %."""
    found = simulations.numbers(clusters, icc, 300)
    assert min(found[:3]) >= 0.91
    assert max(found[3:]) < 0.92
    assert max(found[:3]) <= 0.995


@pytest.mark.parametrize("normal", [False, True])
@pytest.mark.parametrize(("clusters", "icc"), [(20, 0.3), (50, 0.1), (50, 0.3), (50, 0.5)])
def test_level_with_rare_outcomes_and_uneven_clusters(clusters, icc, normal):
    *found, _ = simulations.rare(clusters, icc, 200, normal=normal)
    assert max(found) <= 0.07


@pytest.mark.parametrize("shift", [-0.7, 0.7])
def test_wrong_scores_are_found_with_rare_outcomes_and_many_clusters(shift):
    *found, _ = simulations.rare(200, 0.1, 50, shift=shift)
    assert min(found) >= 0.8


@pytest.mark.parametrize("icc", [0.1, 0.5])
def test_the_decision_to_calibrate(icc):
    clustered, plain = simulations.decisions(50, icc, 100)
    assert clustered <= 0.30
    assert plain > clustered
    assert simulations.decisions(50, icc, 50, factor=2.0)[0] >= 0.8


@pytest.mark.parametrize("icc", [0.1, 0.5])
def test_costs_of_few_clusters(icc):
    """300 samples: the standard error of 94 % is 1.4 %."""
    *found, plain = simulations.costs(20, icc, 300)
    assert min(found) >= 0.92
    assert plain < 0.9


@pytest.mark.parametrize("icc", [0.1, 0.5])
@pytest.mark.parametrize("clusters", [10, 20, 50, 200])
def test_level_of_paired_differences(clusters, icc):
    clustered, plain = simulations.paired(clusters, icc, 2000)
    assert clustered <= 0.085
    assert plain > clustered
