"""Groups share one map, and each moves as far from it as the data of all groups allow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit
from scipy.stats import norm, t

from ogive import Curve, fit_groups, fit_spline, load, save
from ogive._numerics.pooled_effects import GroupTrials, average_effects, mode_of
from ogive.calibrators.grouped_map import GroupedMap
from ogive.errors import DoesNotApply, InvalidInput, InvalidType
from tests import naive

GRID = np.linspace(0.0, 1.0, 101)


def rows_of_groups(rng, sizes, shift=0.5, slope=0.3):
    """Scores, outcomes and names of groups that differ by shifts and slopes."""
    name = np.repeat([f"g{i}" for i in range(len(sizes))], sizes)
    a, d = (np.repeat(s * rng.normal(size=len(sizes)), sizes) for s in (shift, slope))
    eta = rng.normal(0.0, 2.0, name.size)
    hit = rng.random(name.size) < 1 / (1 + np.exp(-(0.8 * eta - 0.3 + a + d * eta / 2)))
    return 1 / (1 + np.exp(-eta)), hit, name


def curves_of(scores, hits, names, **options):
    weight = options.pop("sample_weight", None)
    return {
        str(n): Curve.from_scores(
            scores[names == n],
            hits[names == n],
            sample_weight=None if weight is None else weight[names == n],
            **options,
        )
        for n in np.unique(names)
    }


def values(gamma):
    return np.stack([gamma(GRID, [name] * GRID.size) for name in [*gamma.groups, "not seen"]])


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 30))
def test_the_mode_and_its_evidence_are_those_of_one_dense_system(seed, groups, rows):
    rng = np.random.default_rng(seed)
    group = np.sort(np.concatenate([np.arange(groups), rng.integers(0, groups, rows)]))
    n = group.size
    X, offset = rng.normal(size=(3, n)), rng.normal(0, 3, n)
    hits = (rng.random(n) < 0.5).astype(float)
    sizes = rng.choice([0.0, 0.05, 0.5, 4.0], 3)
    start = np.searchsorted(group, np.arange(groups))
    hit = np.add.reduceat(X * hits, start, axis=1).T
    mode = mode_of(GroupTrials(offset, np.ones(n), X, hit, start), sizes)
    effect, evidence = naive.group_mode(offset, X, hits, group, sizes)
    found = (mode.u + mode.m) * sizes
    np.testing.assert_allclose(found, np.stack(list(effect.values())), atol=1e-6)
    # The determinant is that of the step before the last.
    assert mode.evidence == pytest.approx(evidence, abs=1e-3)


def test_the_average_over_part_of_the_grid_is_that_over_all_of_it(rng):
    scores, hits, names = rows_of_groups(rng, [40] * 12)
    group = np.unique(names, return_inverse=True)[1]
    order = np.argsort(group, kind="stable")
    eta = np.log(scores / (1 - scores))[order]
    X = np.stack([np.ones(eta.size), eta / 2])
    start = np.searchsorted(group[order], np.arange(12))
    hit = np.add.reduceat(X * hits[order], start, axis=1).T
    trials = GroupTrials(0.8 * eta - 0.3, np.ones(eta.size), X, hit, start)
    sizes = [np.array([0.0, 0.1, 0.2, 0.4, 0.8, 1.6])] * 2
    prior = [np.full(6, 1 / 6)] * 2
    total, mean = 0.0, np.zeros((12, 2))
    best = None
    for a in sizes[0]:
        for b in sizes[1]:
            mode = mode_of(trials, np.array([a, b]))
            best = mode.evidence if best is None else best
            total += np.exp(mode.evidence - best)
            mean += np.exp(mode.evidence - best) * (mode.u + mode.m) * [a, b]
    found = average_effects(trials, sizes, prior)
    np.testing.assert_allclose(found.effect, mean / total, atol=0.005)


def test_groups_that_do_not_differ_get_the_map_of_all_rows(rng):
    scores, hits, names = rows_of_groups(rng, [300] * 40, shift=0.0, slope=0.0)
    gamma = fit_groups(curves_of(scores, hits, names))
    overall = fit_spline(Curve.from_scores(scores, hits))
    assert gamma.overall == overall
    low, high = overall.band(GRID[1:-1])
    error = (high - low).max() / 4
    assert np.abs(values(gamma) - overall(GRID)).max() < error


def test_the_interval_adds_what_is_common_and_what_a_group_adds(rng):
    scores, hits, names = rows_of_groups(rng, [3000, 300, 60])
    gamma = fit_groups(curves_of(scores, hits, names))
    grid = GRID[1:-1]
    common = [logit(x) for x in (gamma.overall(grid), *gamma.overall.band(grid))]
    for name, effect, error in [
        *zip(gamma.groups, gamma.effect, gamma.error, strict=True),
        ("not seen", np.zeros(3), gamma.size),
    ]:
        middle, low, high = (x + effect @ gamma.axis.columns(x) for x in common)
        left = np.minimum(error / gamma.size, 1.0) ** 2
        error = error * (1.0 + left * (t.isf(0.025, 3) / norm.isf(0.025) - 1.0))  # noqa: PLW2901
        own = 4 * (error @ np.abs(gamma.axis.columns(common[0]))) ** 2
        found = [logit(x) for x in gamma.band(grid, [name] * grid.size)]
        np.testing.assert_allclose(found[0], middle - np.sqrt((middle - low) ** 2 + own))
        np.testing.assert_allclose(found[1], middle + np.sqrt((high - middle) ** 2 + own))
    widths = [np.mean(np.subtract(*gamma.band(grid, [n] * grid.size)[::-1])) for n in gamma.groups]
    assert widths[0] < widths[1] < widths[2]
    with pytest.raises(DoesNotApply, match="pointwise"):
        gamma.check_band(simultaneous=True)
    with pytest.raises(DoesNotApply, match="cannot be exported"):
        gamma.band_ends()


def test_real_differences_are_found_and_small_groups_borrow(rng):
    scores, hits, names = rows_of_groups(rng, [5000, 5000, 5000, 5000, 5], shift=1.0, slope=0.0)
    gamma = fit_groups(curves_of(scores, hits, names))
    overall = gamma.overall
    for name in gamma.groups[:4]:
        here = names == name
        expected = hits[here].mean()
        assert gamma(scores[here], names[here]).mean() == pytest.approx(expected, abs=0.003)
        assert abs(overall(scores[here]).mean() - expected) > 0.01
    assert (gamma.error[4, 0] > 3 * gamma.error[:4, 0]).all()


def test_a_group_that_was_not_seen_gets_the_map_of_all_rows(rng):
    gamma = fit_groups(curves_of(*rows_of_groups(rng, [400] * 3)))
    np.testing.assert_allclose(gamma(GRID, ["new"] * 101), gamma.overall(GRID), rtol=1e-12)


def test_renaming_groups_and_permuting_rows_changes_nothing(rng):
    scores, hits, names = rows_of_groups(rng, [700, 60, 5, 200])
    gamma = fit_groups(curves_of(scores, hits, names))
    order = rng.permutation(names.size)
    new = {"g0": "z", "g1": "y", "g2": "x", "g3": "w"}
    renamed = np.array([new[n] for n in names])[order]
    other = fit_groups(curves_of(scores[order], hits[order], renamed))
    for old, name in new.items():
        np.testing.assert_array_equal(gamma(GRID, [old] * 101), other(GRID, [name] * 101))


def test_weight_two_is_the_row_twice_and_shards_merge(rng):
    scores, hits, names = rows_of_groups(rng, [300, 60, 5])
    weight = rng.integers(1, 3, names.size)
    twice = np.repeat(np.arange(names.size), weight)
    weighted = fit_groups(curves_of(scores, hits, names, sample_weight=weight))
    repeated = fit_groups(curves_of(scores[twice], hits[twice], names[twice]))
    np.testing.assert_allclose(values(weighted), values(repeated), atol=1e-9)
    a, b = (curves_of(scores[i::2], hits[i::2], names[i::2]) for i in (0, 1))
    shards = fit_groups({name: a[name].merge(b[name]) for name in a})
    np.testing.assert_array_equal(
        values(shards), values(fit_groups(curves_of(scores, hits, names)))
    )


@pytest.mark.parametrize("outcome", [0, 1])
def test_a_group_of_one_outcome_and_exact_scores_stay_inside(outcome, rng):
    scores, hits, names = rows_of_groups(rng, [200, 50])
    hits[names == "g1"] = outcome
    scores[:5], scores[5:10] = 1.0, 0.0
    found = values(fit_groups(curves_of(scores, hits, names)))
    assert ((found > 0) & (found < 1)).all()


@pytest.mark.filterwarnings("ignore:the curve has")
def test_one_group_and_one_score():
    one = fit_groups({"a": Curve.from_scores([0.2, 0.7] * 30, [0, 1] * 30)})
    assert np.isfinite(values(one)).all()
    flat = fit_groups({n: Curve.from_scores([0.5] * 40, [0, 1] * 20) for n in "ab"})
    np.testing.assert_allclose(flat([0.5, 0.5], ["a", "b"]), 0.5, atol=1e-6)


def test_it_is_saved_as_it_is(rng, tmp_path):
    gamma = fit_groups(curves_of(*rows_of_groups(rng, [400] * 3)), by="country")
    save(gamma, tmp_path / "cal.json")
    again = load(tmp_path / "cal.json")
    assert isinstance(again, GroupedMap)
    assert again == gamma
    np.testing.assert_array_equal(values(again), values(gamma))


def test_what_is_no_group_is_refused():
    curve = Curve.from_scores([0.2, 0.7], [0, 1])
    with pytest.raises(InvalidType, match="must be a mapping"):
        fit_groups([curve])
    with pytest.raises(InvalidType, match="'a' is none"):
        fit_groups({"a": 3})
    with pytest.raises(InvalidInput, match="is empty"):
        fit_groups({})
    with pytest.raises(InvalidInput, match="names are read as text"):
        fit_groups({1: curve, "1": curve})
    single = Curve.from_scores([0.2], [0])
    with pytest.raises(InvalidInput, match=r"looks like an identifier. Give a coarser column"):
        fit_groups({str(i): single for i in range(30)}, by="id")


def test_a_call_checks_its_rows(rng):
    gamma = fit_groups(curves_of(*rows_of_groups(rng, [400] * 2)))
    with pytest.raises(InvalidInput, match="`groups` must have one entry per row"):
        gamma([0.2, 0.4], ["g0"])
    with pytest.raises(InvalidInput, match="Percent"):
        gamma([20.0], ["g0"])
    with pytest.raises(InvalidInput, match="NaN"):
        gamma.from_log_odds([np.nan], ["g0"])
    eta = np.log(0.3) - np.log(0.7)
    np.testing.assert_allclose(gamma.from_log_odds([eta], ["g1"]), gamma([0.3], ["g1"]))


def crossed_rows(rng, n=40_000, both=0.0):
    """Scores, outcomes, countries and devices; the country adds most, and the device some."""
    shift = {"BR": -0.9, "DE": 0.2, "US": 0.6, "IN": 0.1, "mobile": -0.4, "desktop": 0.4}
    country = rng.choice(["BR", "DE", "US", "IN"], n)
    device = rng.choice(["mobile", "desktop"], n)
    eta = rng.normal(0, 2, n)
    true = eta + np.array([shift[c] + shift[d] for c, d in zip(country, device, strict=True)])
    true += both * ((country == "DE") & (device == "mobile"))
    return eta, true, rng.random(n) < 1 / (1 + np.exp(-true)), country, device


def curves_of_two(eta, hits, country, device):
    scores = 1 / (1 + np.exp(-eta))
    cells = {(c, d) for c, d in zip(country.tolist(), device.tolist(), strict=True)}
    return {
        (c, d): Curve.from_scores(
            scores[(country == c) & (device == d)], hits[(country == c) & (device == d)]
        )
        for c, d in cells
    }


def test_two_columns_have_effects_of_their_own_and_together(rng):
    eta, true, hits, country, device = crossed_rows(rng, both=-0.8)
    gamma = fit_groups(curves_of_two(eta, hits, country, device), by="country,device")
    assert "BR | mobile" in gamma.groups
    assert "BR | *" in gamma.groups
    found = gamma.from_log_odds(eta, np.stack([country, device], axis=1))
    for c in np.unique(country):
        for d in np.unique(device):
            at = (country == c) & (device == d)
            expected = (1 / (1 + np.exp(-true[at]))).mean()
            assert found[at].mean() == pytest.approx(expected, abs=0.012)
    np.testing.assert_allclose(gamma.rows[gamma.groups.index("BR | *")], (country == "BR").sum())


def test_a_pair_that_was_not_seen_gets_what_its_values_have(rng):
    eta, true, hits, country, device = crossed_rows(rng)
    new = (country == "BR") & (device == "mobile")
    seen = ~new
    parts = (eta[seen], hits[seen], country[seen], device[seen])
    gamma = fit_groups(curves_of_two(*parts))
    found = gamma.from_log_odds(eta[new], [("BR", "mobile")] * new.sum()).mean()
    expected = (1 / (1 + np.exp(-true[new]))).mean()
    overall = gamma.overall.from_log_odds(eta[new]).mean()
    assert abs(found - expected) < 0.3 * abs(overall - expected)
    nowhere = gamma([0.3], [("FR", "watch")])
    np.testing.assert_allclose(nowhere, gamma.overall([0.3]), rtol=1e-12)


def test_names_of_several_columns_are_checked():
    curve = Curve.from_scores([0.2, 0.7], [0, 1])
    with pytest.raises(InvalidInput, match="a value of each column"):
        fit_groups({("a", "b"): curve, "c": curve})
    with pytest.raises(InvalidInput, match="stands for something else"):
        fit_groups({("a", "*"): curve})


def uneven_rows(rng, n=4000):
    """Scores, outcomes and the values of two columns, whose cells have 5 to 1,500 rows."""
    columns = np.stack(
        [
            rng.choice(["BR", "DE", "US", "FR"], n, p=[0.5, 0.3, 0.18, 0.02]),
            rng.choice(["mobile", "desktop", "tv"], n, p=[0.6, 0.3, 0.1]),
        ],
        axis=1,
    )
    eta = rng.normal(0.0, 2.0, n)
    shift = 0.6 * (columns[:, 0] == "BR") - 0.5 * (columns[:, 1] == "tv")
    return 1 / (1 + np.exp(-eta)), rng.random(n) < 1 / (1 + np.exp(-0.8 * eta - shift)), columns


def uneven_curves(scores, hits, columns, weight=None, **options):
    return {
        cell: Curve.from_scores(
            scores[at],
            hits[at],
            sample_weight=None if weight is None else weight[at],
            **options,
        )
        for cell in sorted({tuple(row) for row in columns.tolist()})
        if (at := (columns == cell).all(axis=1)).any()
    }


def test_renaming_and_permuting_changes_nothing_of_two_columns(rng):
    scores, hits, columns = uneven_rows(rng)
    gamma = fit_groups(uneven_curves(scores, hits, columns))
    order = rng.permutation(scores.size)
    new = {"BR": "z", "DE": "y", "US": "x", "FR": "a", "mobile": "1", "desktop": "3", "tv": "2"}
    renamed = np.vectorize(new.get)(columns)
    other = fit_groups(uneven_curves(scores[order], hits[order], renamed[order]))
    for cell in {tuple(row) for row in columns.tolist()}:
        there = tuple(new[value] for value in cell)
        np.testing.assert_allclose(
            gamma(GRID, [cell] * GRID.size), other(GRID, [there] * GRID.size), rtol=0, atol=1e-9
        )
    swapped = fit_groups(uneven_curves(scores, hits, columns[:, ::-1]))
    pair = gamma(GRID, [("FR", "tv")] * GRID.size)
    np.testing.assert_allclose(swapped(GRID, [("tv", "FR")] * GRID.size), pair, atol=0.02)


def test_shards_and_weights_of_two_columns(rng):
    scores, hits, columns = uneven_rows(rng)
    cells = [tuple(row) for row in columns.tolist()]
    whole = fit_groups(uneven_curves(scores, hits, columns))
    parts = [uneven_curves(scores[at], hits[at], columns[at])
             for at in (slice(0, 1500), slice(1500, None))]  # fmt: skip
    merged = {}
    for part in parts:
        for cell, curve in part.items():
            merged[cell] = merged[cell].merge(curve) if cell in merged else curve
    np.testing.assert_allclose(
        fit_groups(merged)(scores, cells), whole(scores, cells), rtol=0, atol=1e-9
    )
    weight = rng.integers(1, 3, scores.size)
    twice = np.repeat(np.arange(scores.size), weight)
    weighed = fit_groups(uneven_curves(scores, hits, columns, weight.astype(float)))
    repeated = fit_groups(uneven_curves(scores[twice], hits[twice], columns[twice]))
    np.testing.assert_allclose(weighed(scores, cells), repeated(scores, cells), rtol=0, atol=1e-9)
