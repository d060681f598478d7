import numpy as np
import pytest

from ogive.curve import Curve
from ogive.errors import InvalidInput
from ogive.metrics.significance import ks_test
from ogive.studies.gate import gate
from tests.simulate import expit


def too_high(rng, n, shift=0.5):
    eta = rng.normal(0.0, 1.5, n)
    return Curve.from_scores(expit(eta), rng.random(n) < expit(eta - shift))


def test_the_interval_is_that_of_the_ks_test(rng):
    curve = too_high(rng, 500)
    found, test = gate(curve, max_ks=0.05).deciding, ks_test(curve)
    assert found.interval == pytest.approx((test.low, test.high), abs=1e-9)
    assert found.value == test.value
    assert found.surely == found.interval[0]


def test_so_it_is_with_few_outcomes_and_equal_scores(rng):
    """There the null of the test is simulated, and 0 is in the interval by it."""
    for _ in range(40):
        p = expit(rng.normal(-4.5, 1.0, 150)).round(2)
        curve = Curve.from_scores(p, rng.random(150) < 2.0 * p)
        found, test = gate(curve, max_ks=0.05).deciding, ks_test(curve)
        assert found.interval == (test.low, test.high)


@pytest.mark.parametrize("limit", ["max_ks", "max_ece", "max_log_loss_gain"])
def test_a_gate_passes_fails_or_says_how_many_rows_it_needs(rng, limit):
    curve = too_high(rng, 3000)
    value = gate(curve, **{limit: 0.5}).deciding.value
    assert gate(curve, **{limit: 0.9}).verdict == "pass"
    assert gate(curve, **{limit: value / 50}).verdict == "fail"
    undecided = gate(curve, **{limit: value * 1.001})
    assert undecided.verdict == "undecided"
    assert undecided.deciding.rows_needed is None or undecided.deciding.rows_needed > curve.n
    assert [undecided.exit_code(how) for how in (None, "pass", "fail")] == [4, 0, 3]


def test_the_number_of_rows_decides_it(rng):
    found = gate(too_high(rng, 400, shift=0.2), max_ks=0.1).deciding
    assert found.verdict == "undecided"
    rows = found.rows_needed
    decided = [gate(too_high(rng, 2 * rows, shift=0.2), max_ks=0.1).verdict for _ in range(20)]
    assert decided.count("pass") >= 15


def test_every_group_must_keep_the_limit_and_many_groups_are_tested_together(rng):
    good = {f"g{k}": too_high(rng, 2000, shift=0.0) for k in range(20)}
    assert gate(good, max_ks=0.1).verdict == "pass"
    one = gate({**good, "bad": too_high(rng, 2000, shift=1.5)}, max_ks=0.1)
    assert (one.verdict, one.deciding.group) == ("fail", "bad")
    assert one.deciding.surely < one.deciding.interval[0]
    assert "'bad'" in str(one)


def test_a_sentence_speaks_percent_and_json_fractions(rng):
    curve = too_high(rng, 3000)
    for limit in ("max_ks", "max_ece"):
        found = gate(curve, **{limit: 0.02})
        assert f" {100 * found.deciding.value:.2f} %; its 95 % interval, " in str(found)
        assert str(found).endswith(" is above the limit, 2.00 %.")
        assert found.to_dict()["limit"] == 0.02
    assert "the limit, 0.0010 %" in str(gate(curve, max_ks=0.00001))
    found = gate(curve, max_log_loss_gain=0.5)
    assert str(found).startswith("Gate: pass. Log loss per row that calibrating could save 0.0")
    assert str(found).endswith(" is below the limit, 0.5000.")


def test_an_interval_above_its_limit_can_be_undecided_among_many(rng):
    many = {f"g{k}": too_high(rng, 500, shift=0.0) for k in range(30)}
    curve = too_high(rng, 800, shift=0.4)
    low = gate(curve, max_ks=0.5).deciding.interval[0]
    found = gate({**many, "one": curve}, max_ks=0.98 * low)
    assert (found.verdict, found.deciding.group) == ("undecided", "one")
    assert "is above the limit" in str(found)
    assert "which among several can be chance" in str(found)


def test_one_broken_limit_of_two_fails(rng):
    found = gate(too_high(rng, 3000), max_ks=0.5, max_ece=0.001)
    assert found.verdict == "fail"
    assert found.deciding.measure == "ece"
    assert [one["verdict"] for one in found.to_dict()["limits"]] == ["pass", "fail"]


def test_weights_of_two_are_rows_twice(rng):
    scores, outcomes = rng.random(200), rng.random(200) < 0.5
    weighted = Curve.from_scores(scores, outcomes, sample_weight=np.full(200, 2.0))
    twice = Curve.from_scores(np.tile(scores, 2), np.tile(outcomes, 2))
    for limit in ("max_ks", "max_ece"):
        a, b = (gate(curve, **{limit: 0.1}).deciding for curve in (weighted, twice))
        assert a.interval == pytest.approx(b.interval, abs=1e-12)


@pytest.mark.parametrize("limit", [0.0, 1.0, 2.0, -0.1, float("nan")])
def test_a_limit_is_a_fraction(limit):
    with pytest.raises(InvalidInput, match=r"write 2 % as 0.02"):
        gate(Curve.from_scores([0.5], [1]), max_ks=limit)


def test_a_gate_needs_a_limit():
    with pytest.raises(InvalidInput, match="needs a limit"):
        gate(Curve.from_scores([0.5], [1]))


def test_an_undecided_gate_asks_for_more_clusters(rng):
    """More rows of the same clusters would not decide it."""
    of = np.repeat(np.arange(60), 20)
    s = rng.uniform(0.2, 0.8, 1200)
    shared = np.where(rng.random(1200) < 0.6, rng.random(60)[of], rng.random(1200))
    curve = Curve.from_scores(s, shared < s - 0.03, clusters=of)
    found = gate(curve, max_ks=0.05)
    assert found.verdict == "undecided"
    rows = found.deciding.rows_needed
    assert f"About {rows:,} rows in {-(-rows // 20):,} clusters would decide it" in str(found)
