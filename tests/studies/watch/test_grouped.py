"""Groups watched side by side: averages of e-values, the groups by name, and saved."""

import itertools

import numpy as np
import pytest

from ogive import Curve, GroupWatch, Watch
from ogive.errors import InvalidInput


def rows_of(rng, n, power=1.0):
    scores = rng.uniform(0.01, 0.99, n)
    return Curve.from_scores(scores, rng.random(n) < scores**power)


def watched(rng, powers, days=12, change=6, rows=400, **rule):
    watch = GroupWatch(**rule)
    for day in range(days):
        curves = {
            name: rows_of(rng, rows, power if day >= change else 1.0)
            for name, power in powers.items()
        }
        watch = watch.update(curves, day)
    return watch


def test_one_group_that_changed_is_named_with_its_day(rng):
    watch = watched(rng, {"a": 1.0, "b": 1.8, "c": 1.0})
    change = watch.change
    assert (watch.alarm, watch.named, change.kind) == (True, ("b",), "one group")
    assert change.since_low <= 6 <= change.since_high
    assert watch.verdict.startswith("Group b: Calibrated until ")
    assert "The other 2 groups show no change. Refit on data from" in watch.verdict
    assert "--by COL" in watch.verdict
    found = watch.to_dict()
    assert [(one["group"], one["named"]) for one in found["groups"]] == [
        ("a", False), ("b", True), ("c", False)]  # fmt: skip
    assert found["groups"][1]["kind"] in {"base rate", "slope", "shape"}
    assert found["groups"][0]["since"] is None


def test_a_change_of_all_groups_is_not_that_of_one(rng):
    watch = watched(rng, {"a": 1.8, "b": 1.8, "c": 1.8})
    assert set(watch.named) == {"a", "b", "c"}
    assert watch.change.kind != "one group"
    assert "3 of 3 groups are off: " in watch.verdict


def test_quiet_groups_stay_quiet(rng):
    watch = watched(rng, dict.fromkeys("abcd", 1.0), rows=150)
    assert not watch.alarm
    assert (watch.named, watch.change) == ((), None)
    assert "rows of 4 groups)" in watch.verdict


def test_the_evidence_is_the_average_of_its_definition(rng):
    """Half for all rows; 0.9 of the rest for groups of the first day, 0.05 for the next."""
    watch, whole, a, b = GroupWatch(), Watch(), Watch(), Watch()
    for day in range(9):
        one, two = rows_of(rng, 200, 1.4), rows_of(rng, 150)
        both = {"a": one} if day < 3 else {"a": one, "b": two}
        watch = watch.update(both, day)
        whole = whole.update(one if day < 3 else one.merge(two), day)
        a = a.update(one, day)
        b = b.update(two, day) if day >= 3 else b
        of_groups = 0.9 * np.exp(a.log_e) + (0.05 * np.exp(b.log_e) if day >= 3 else 0.0)
        rest = 0.05 if day >= 3 else 0.1
        wanted = 0.5 * np.exp(whole.log_e) + 0.5 * (of_groups + rest)
        assert watch.log_e == pytest.approx(np.log(wanted), abs=1e-9)
    assert watch.shares == pytest.approx({"a": 0.9, "b": 0.05})
    assert abs(watch.log_e) > 0.2


def test_weights_of_new_groups_never_sum_to_more_than_1(rng):
    watch = GroupWatch()
    for day in range(12):
        watch = watch.update({f"g{i}": rows_of(rng, 5) for i in range(day // 2 + 1)}, day)
    total = sum(watch.shares.values())
    assert 0.9 < total < 1.0
    assert list(watch.shares.values()) == sorted(watch.shares.values(), reverse=True)
    assert watch.shares["g5"] == pytest.approx(0.1 / (5 * 6))


def test_the_overall_evidence_is_a_martingale(rng):
    watch = watched(rng, {"a": 1.5, "b": 1.0}, days=5, change=0, rows=50)
    scores = rng.uniform(0.1, 0.9, 4)
    mean = 0.0
    for outcomes in itertools.product([0, 1], repeat=4):
        curves = {
            name: Curve.from_scores(scores[at], np.array(outcomes)[at])
            for name, at in (("a", slice(0, 2)), ("new", slice(2, 4)))
        }
        after = watch.update(curves, 9).days[-1]
        mean += np.prod(np.where(outcomes, scores, 1 - scores)) * np.exp(after.log_e)
    assert mean == pytest.approx(np.exp(watch.log_e), rel=1e-9)


def test_e_bh_names_more_groups_together_than_alone(rng):
    """With k groups at w M >= 1 / (alpha k), none of which would be named by itself."""
    from dataclasses import replace

    watch = watched(rng, dict.fromkeys("abcd", 1.0), days=3, rows=20)

    def at(watch, log_e):
        return replace(watch, days=(*watch.days[:-1], replace(watch.days[-1], log_e=log_e)))

    share = watch.shares["a"]
    high = dict.fromkeys("ab", np.log(1 / (0.05 * 2 * share)) + 1e-9)
    logs = {"c": -1.0, "d": -1.0} | high
    groups = {name: at(one, logs[name]) for name, one in watch.groups.items()}
    rang = replace(watch.days[-1], log_e=4.0)
    both = replace(watch, groups=groups, days=(*watch.days[:-1], rang))
    assert set(both.named) == {"a", "b"}
    alone = replace(both, groups=groups | {"b": at(groups["b"], 0.0)})
    assert alone.named == ()
    assert "No single group stands out among 4." in alone.verdict


def test_groups_go_on_from_their_file(rng, tmp_path):
    path = tmp_path / "state.json"
    watch = watched(rng, {"a": 1.0, "Ünïcode, \x1b[31m\n": 1.7}, rows=100)
    watch.save(path)
    again = GroupWatch.load(path)
    assert again.to_dict() == watch.to_dict()
    curves = {"a": rows_of(rng, 90), "new": rows_of(rng, 70)}
    assert again.update(curves, 99).to_dict() == watch.update(curves, 99).to_dict()
    with pytest.raises(InvalidInput, match=r"ogive\.GroupWatch\.load reads it"):
        Watch.load(path)
    Watch().save(path)
    with pytest.raises(InvalidInput, match=r"ogive\.Watch\.load reads it"):
        GroupWatch.load(path)


def test_what_is_no_day_of_groups_is_refused(rng):
    with pytest.raises(InvalidInput, match="`curves` must be a dict"):
        GroupWatch().update({}, 1)
    with pytest.raises(InvalidInput, match="`curves` must be a dict"):
        GroupWatch().update(rows_of(rng, 10), 1)
    with pytest.raises(InvalidInput, match="`alpha` must lie"):
        GroupWatch(alpha=5)
    watch = GroupWatch().update({"a": rows_of(rng, 10)}, 1)
    with pytest.raises(InvalidInput, match="counted already"):
        watch.update({"b": rows_of(rng, 10)}, 1)
