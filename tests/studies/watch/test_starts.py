"""The bets: fair under calibration, whatever the maps, the summaries and the starts dropped."""

import itertools

import numpy as np
import pytest

from ogive import Curve, Watch
from ogive.studies.watch.starts import (
    GROWTH_FOR_NEW_FIT,
    MIN_OUTCOMES_TO_BET,
    day_of,
    first_bet,
    kept,
    past_of,
    saved_by,
)
from ogive.studies.where_off import spline_of
from tests import naive


def days_of(rng, sizes, power=1.0):
    for size in sizes:
        scores = rng.uniform(0.02, 0.98, size)
        yield scores, (rng.random(size) < scores**power).astype(int)


def test_the_evidence_is_that_of_the_definition(rng):
    days = list(days_of(rng, [60, 45, 80, 10, 70, 65, 50], power=1.3))

    def fit(rows):
        gamma = spline_of(past_of(Curve.from_scores(*zip(*rows, strict=True))))
        return lambda score: float(gamma([score])[0])

    rows = [list(zip(*day, strict=True)) for day in days]
    wanted = naive.watch(rows, fit, growth=GROWTH_FOR_NEW_FIT, fewest=MIN_OUTCOMES_TO_BET)
    watch = Watch()
    for number, day in enumerate(days):
        watch = watch.update(Curve.from_scores(*day), number)
    found = [day.log_e for day in watch.days]
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    assert abs(found[-1]) > 0.1


@pytest.mark.parametrize("days", [4, 13])
def test_the_evidence_is_a_martingale_also_when_starts_are_dropped(rng, days):
    watch = Watch(alpha=1e-12)  # no alarm: after one no start before it is dropped
    for number, day in enumerate(days_of(rng, [50] * days, power=1.5)):
        watch = watch.update(Curve.from_scores(*day), number)
    dropped = len(watch.starts) < days
    scores = rng.uniform(0.1, 0.9, 4)
    mean = 0.0
    for outcomes in itertools.product([0, 1], repeat=4):
        after = watch.update(Curve.from_scores(scores, outcomes), 99).days[-1]
        chance = np.prod(np.where(outcomes, scores, 1 - scores))
        mean += chance * np.exp(after.log_e)
    np.testing.assert_allclose(mean, np.exp(watch.log_e), rtol=1e-9)
    assert dropped == (days > 9)
    assert abs(watch.log_e) > 0.05


@pytest.mark.parametrize("bits", [4, 52])
def test_a_bet_is_fair_on_scores_and_no_better_on_a_summary(rng, bits):
    scores, outcomes = next(days_of(rng, [500], power=2.0))
    gamma = spline_of(Curve.from_scores(scores, outcomes))
    day = np.array([0.5, 0.501, 0.506, 0.51, 0.512, 0.3, 0.9, 0.0, 1.0])
    mean = 0.0
    for outcomes in itertools.product([0, 1], repeat=day.size):
        chance = np.prod(np.where(outcomes, day, 1 - day))
        curve = Curve.from_scores(day, outcomes).summarised(bits)
        mean += chance * np.exp(saved_by(gamma, curve)) if chance else 0.0
    certain = gamma([0.0, 1.0])  # outcomes that cannot differ: each costs what the map takes off
    expected = (1 - certain[0]) * certain[1]
    assert mean <= expected * (1 + 1e-6)
    assert mean == pytest.approx(expected, rel=1e-6 if bits == 52 else 1e-3)


@pytest.mark.parametrize("bits", [4, 52])
def test_the_first_bet_is_fair_on_scores_and_no_better_on_a_summary(bits):
    day = np.array([0.5, 0.501, 0.506, 0.51, 0.512, 0.3, 0.9, 1e-9])
    mean = 0.0
    for outcomes in itertools.product([0, 1], repeat=day.size):
        chance = np.prod(np.where(outcomes, day, 1 - day))
        mean += chance * np.exp(first_bet(Curve.from_scores(day, outcomes).summarised(bits)))
    assert mean == pytest.approx(1.0, rel=1e-9 if bits == 52 else 1e-3)
    assert mean <= 1.0 + 1e-9


def test_a_large_change_is_found_on_its_first_day(rng):
    watch = Watch()
    for number, (scores, outcomes) in enumerate(days_of(rng, [2000] * 6)):
        watch = watch.update(Curve.from_scores(scores, outcomes), number)
    assert not watch.alarm
    assert watch.update(Curve.from_scores(*next(days_of(rng, [2000], power=2.0))), 6).alarm


@pytest.mark.thorough
def test_few_starts_are_kept_and_no_row_is_lost(rng):
    watch, starts = Watch(), []
    for number, day in enumerate(days_of(rng, [12] * 70), start=1):
        curve = Curve.from_scores(*day)
        watch = watch.update(curve, number)
        starts = [start.number for start in watch.starts]
        assert starts[0] == 1
        assert starts[-1] == number
        assert sum(start.rows.n for start in watch.starts) == 12 * number
    assert len(starts) <= 25
    ages = 70 - np.array(starts)
    assert (np.diff(-ages) <= np.maximum(1, ages[:-1] / 2)).all()
    assert kept(watch.starts, 70) == list(watch.starts)


def test_an_impossible_outcome_counts_once_as_one_in_ten_million():
    gamma = spline_of(Curve.from_scores(np.repeat([0.2, 0.5, 0.6, 0.8], 50), [0, 1] * 100))
    wrong = Curve.from_scores([1.0], [0])
    assert 0.0 < saved_by(gamma, wrong) < -np.log(1e-7)


def test_a_long_day_is_summarised_and_loses_next_to_nothing(rng):
    days = [Curve.from_scores(*day) for day in days_of(rng, [20_000] * 2, power=1.05)]
    watch = Watch()
    for number, day in enumerate(days):
        watch = watch.update(day, number)
    gamma = spline_of(past_of(days[0]))
    exact = saved_by(gamma, days[1])
    found = watch.starts[0].log_e - first_bet(day_of(days[0]))
    assert found == pytest.approx(exact, abs=0.05)
    assert found <= exact + 1e-3
    assert first_bet(day_of(days[0])) == pytest.approx(first_bet(days[0]), abs=0.05)
    assert exact > 1
