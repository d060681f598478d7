"""A watch: immutable, rings when it should, and says since when and how."""

import datetime as dt

import numpy as np
import pytest

from ogive import Curve, Watch
from ogive.errors import InvalidInput

FIRST = dt.date(2026, 4, 1)


def logit(p):
    return np.log(p / (1 - p))


def expit(x):
    return 1 / (1 + np.exp(-x))


CHANGES = {
    "base rate": lambda p: expit(logit(p) - 0.6),
    "slope": lambda p: expit(0.5 * logit(p)),
    "shape": lambda p: p + 0.12 * np.sin(2 * np.pi * p),
}


def watched(rng, days=20, change=12, truth=lambda p: p, rows=1500, **rule):
    watch = Watch(**rule)
    for day in range(days):
        scores = rng.uniform(0.01, 0.99, rows)
        chance = truth(scores) if day >= change else scores
        curve = Curve.from_scores(scores, rng.random(rows) < chance)
        watch = watch.update(curve, FIRST + dt.timedelta(day))
    return watch


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_is_found_with_its_day_and_its_kind(rng, kind):
    watch = watched(rng, truth=CHANGES[kind])
    change = watch.change
    assert watch.alarm
    assert change.kind == kind
    assert change.since_low <= "2026-04-13" <= change.since_high
    assert change.since_low <= change.since <= change.since_high
    assert abs(dt.date.fromisoformat(change.since) - dt.date(2026, 4, 13)) <= dt.timedelta(2)
    assert "2026-04-13" <= watch.alarm_day.time <= "2026-04-16"
    assert watch.verdict.startswith(f"Calibrated until {change.until}; since then ")
    assert f"Refit on data from {change.since} on: ogive fit" in watch.verdict
    assert watch.days[-1].saved > 0


@pytest.mark.thorough
def test_the_day_of_a_change_is_still_known_months_later(rng):
    watch = watched(rng, days=120, change=40, truth=CHANGES["base rate"], rows=300)
    assert watch.alarm_day.time <= "2026-05-20"
    change = watch.change
    assert change.since_low <= "2026-05-11" <= change.since_high
    near = [dt.date.fromisoformat(day) for day in (change.since_low, change.since_high)]
    assert near[1] - near[0] <= dt.timedelta(7)
    assert len(watch.starts) <= 50


def test_quiet_days_stay_quiet_and_cost_little(rng):
    watch = watched(rng, days=25, rows=300)
    assert not watch.alarm
    assert watch.change is None
    assert -4 < watch.log_e < np.log(20)
    assert "No miscalibration found from 2026-04-01 to 2026-04-25" in watch.verdict
    assert watch.to_dict()["since"] is None


def test_scores_that_are_off_from_the_first_day(rng):
    watch = watched(rng, days=5, change=0, truth=CHANGES["base rate"])
    assert watch.change.since == "2026-04-01"
    assert watch.change.until is None
    assert watch.verdict.startswith("Not calibrated since the first day, 2026-04-01: ")
    assert "are too high (a score of " in watch.verdict


def test_update_returns_another_watch(rng):
    curve = Curve.from_scores(rng.random(50), rng.random(50) < 0.5)
    none = Watch()
    one = none.update(curve, "2026-05-03")
    assert (len(none.days), len(one.days)) == (0, 1)
    assert none.verdict == "No days yet."
    with pytest.raises(AttributeError):
        one.days = ()
    assert one.days[0].log_e > 2.0  # the outcomes do not depend on the scores
    assert one.days[0].saved == 0.0


@pytest.mark.parametrize("when", ["2026-05-03", dt.date(2026, 5, 3), np.datetime64("2026-05-03")])
def test_a_day_counts_once_and_in_order(rng, when):
    curve = Curve.from_scores(rng.random(50), rng.random(50) < 0.5)
    watch = Watch().update(curve, "2026-05-03")
    with pytest.raises(InvalidInput, match="2026-05-03 was counted already"):
        watch.update(curve, when)
    with pytest.raises(InvalidInput, match="2026-05-02 comes after 2026-05-03 was counted"):
        watch.update(curve, "2026-05-02")
    with pytest.raises(InvalidInput, match="all numbers or all dates"):
        watch.update(curve, 7)
    assert watch.update(curve, "2026-05-04").days[-1].time == "2026-05-04"


def test_batches_are_ordered_by_number(rng):
    curve = Curve.from_scores(rng.random(50), rng.random(50) < 0.5)
    assert [day.time for day in Watch().update(curve, "9").update(curve, 10).days] == [9, 10]


def test_what_cannot_be_watched_is_refused(rng):
    scores, outcomes = rng.random(50), rng.random(50) < 0.5
    for weights, kind in ((rng.random(50), "sampling"), (np.full(50, 2.0), "sampling")):
        curve = Curve.from_scores(scores, outcomes, sample_weight=weights, weight_kind=kind)
        with pytest.raises(InvalidInput, match="whole numbers of repetitions"):
            Watch().update(curve, 1)
    twice = Curve.from_scores(scores, outcomes, sample_weight=np.full(50, 2))
    assert Watch().update(twice, 1).days[0].n == 100
    other = Curve.from_scores(scores, outcomes, view="top-1")
    with pytest.raises(InvalidInput, match="of the view 'score', this one of 'top-1'"):
        Watch().update(twice, 1).update(other, 2)
    for when in (None, True, 1.5, "", "a\nb"):
        with pytest.raises(InvalidInput, match="`when` must be a date"):
            Watch().update(twice, when)
    for alpha in (0.0, 1.0, 5):
        with pytest.raises(InvalidInput, match="`alpha` must lie between 0 and 1"):
            Watch(alpha=alpha)


def shared_shocks(rng, days, clusters, size):
    """Calibrated rows of which those of one cluster mostly end alike, day by day."""
    code = np.repeat(np.arange(clusters), size)
    for _ in range(days):
        scores = expit(rng.normal(0, 1.5, code.size))
        alike = rng.random(code.size) < 0.8
        draw = np.where(alike, rng.random(clusters)[code], rng.random(code.size))
        yield scores, draw < scores, code


def test_clusters_that_share_a_shock_raise_no_alarm(rng):
    alone, together = Watch(), Watch()
    for day, (scores, hits, code) in enumerate(shared_shocks(rng, 15, 12, 60)):
        alone = alone.update(Curve.from_scores(scores, hits), day)
        together = together.update(Curve.from_scores(scores, hits, clusters=code), day)
    assert alone.alarm
    assert not together.alarm
    assert together.days[-1].n == alone.days[-1].n
    assert together.days[-1].ks == pytest.approx(alone.days[-1].ks)


def test_a_cluster_counts_as_one_row(rng):
    """The same row often in a cluster is that row once; rows that are clusters are rows."""
    scores = rng.uniform(0.01, 0.99, (6, 400))
    hits = rng.random(scores.shape) < scores**1.5
    watches = [Watch(), Watch(), Watch()]
    for day, (score, hit) in enumerate(zip(scores, hits, strict=True)):
        code, often = np.arange(400), rng.integers(1, 5, 400)
        rows = [(score, hit, None), (score, hit, code),
                (score.repeat(often), hit.repeat(often), code.repeat(often))]  # fmt: skip
        watches = [
            watch.update(Curve.from_scores(s, h, clusters=c), day)
            for watch, (s, h, c) in zip(watches, rows, strict=True)
        ]
    for other in watches[1:]:
        np.testing.assert_allclose(
            [day.log_e for day in other.days], [day.log_e for day in watches[0].days], atol=1e-9
        )


@pytest.mark.filterwarnings("ignore::ogive.errors.FewClusters")
def test_the_factor_of_a_cluster_has_a_mean_of_at_most_1():
    """Over both ends of a cluster whose rows all end alike; the map is that of the days before."""
    scores = np.array([0.3, 0.3, 0.3, 0.3])
    rng = np.random.default_rng(0)
    before = rng.uniform(0.1, 0.9, 500)
    watch = Watch().update(Curve.from_scores(before, rng.random(500) < before**2), 0)
    means = []
    for clusters in (None, [7, 7, 7, 8]):
        ends = [
            watch.update(Curve.from_scores(scores, [*[one] * 3, two], clusters=clusters), 1)
            for one in (0, 1)
            for two in (0, 1)
        ]
        chances = np.array([0.49, 0.21, 0.21, 0.09])
        means.append(chances @ [np.exp(end.log_e) for end in ends])
    fair = np.exp(watch.log_e)
    assert means[0] > 1.05 * fair
    assert means[1] <= (1.0 + 1e-12) * fair
