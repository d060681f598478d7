"""Groups: measured one by one, and corrected for how many they are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive import Curve, Predictions, ece, ks_test, measure_groups
from ogive.errors import InvalidInput, InvalidType
from ogive.metrics.many import benjamini_hochberg, false_discovery
from ogive.metrics.omnibus import noise_ratio
from ogive.studies.groups import _noise_ratios
from tests import naive


@given(pvalues=st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.05, 1.0])), min_size=1))
def test_benjamini_hochberg_is_the_naive_one(pvalues):
    np.testing.assert_allclose(
        benjamini_hochberg(pvalues), naive.benjamini_hochberg(pvalues), rtol=1e-12, atol=0
    )


def samples(groups=5, n=2000, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, n * groups)
    scores = rng.random(group.size)
    hits = rng.random(group.size) < np.where(group == 2, scores**2, scores)
    return scores, hits, np.array([f"g{i}" for i in range(groups)])[group]


def test_each_group_is_its_own_measurement():
    scores, hits, group = samples()
    found = measure_groups(Predictions(scores, hits, kind="probs"), group)
    assert [one.ks for one in found.groups] == sorted(one.ks for one in found.groups)[::-1]
    assert found.groups[0].group == "g2"
    for one in found.groups:
        curve = Curve.from_scores(scores[group == one.group], hits[group == one.group])
        assert (one.n, one.ks) == (curve.n, ks_test(curve).value)
        assert one.ece == pytest.approx(ece(curve))
        assert one.pvalue <= one.pvalue_adjusted
    assert found.off[0].group == "g2"
    assert found.verdict.startswith(f"{len(found.off)} of 5 groups (KS tests")
    high = found.off[0].mean_score > found.off[0].base_rate
    way = "too high" if high else "too low"
    assert found.off[0].direction == way
    assert f"{way}: g2" in found.verdict
    row = found.to_dict()["groups"][0]
    assert row["base_rate"] == row["accuracy"]
    assert "base rate" in repr(found)
    assert "g2" in repr(found)


def test_curves_of_groups_are_measured_as_they_are():
    scores, hits, group = samples()
    curves = {name: Curve.from_scores(scores[group == name], hits[group == name])
              for name in np.unique(group)}  # fmt: skip
    a = measure_groups(curves, "site")
    b = measure_groups(Predictions(scores, hits, kind="probs"), group)
    assert a.groups == b.groups
    assert a.by == "site"
    keys = {"by", "view", "depth", "overall", "groups", "multicalibration", "verdict"}
    assert set(a.to_dict()) == keys


def test_of_calibrated_groups_few_are_called_off():
    wrong = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scores, group = rng.random(4000), rng.integers(0, 20, 4000)
        preds = Predictions(scores, rng.random(4000) < scores, kind="probs")
        wrong += bool(measure_groups(preds, group).off)
    assert wrong <= 4  # 5 % of 20, and chance


def test_what_is_refused():
    preds = Predictions([0.5, 0.6], [0, 1], kind="probs")
    with pytest.raises(InvalidInput, match="`by` must be given"):
        measure_groups(preds)
    with pytest.raises(InvalidInput, match="`by` must have one entry per row"):
        measure_groups(preds, ["a"])
    with pytest.raises(InvalidType, match="`data` must be Predictions or a mapping"):
        measure_groups([1])
    with pytest.raises(InvalidType, match="must map each group to a Curve, but 'a'"):
        measure_groups({"a": 1})
    with pytest.raises(InvalidInput, match="no groups"):
        measure_groups({})


def test_groups_of_a_calibrated_file_allow_for_the_noise_of_the_fit():
    """A group of all rows has the noise of the whole file; groups alike, that of their own rows."""
    scores, hits, group = samples(groups=3)
    preds = Predictions(scores, hits, kind="probs")
    curve = Curve.from_scores(scores, hits)
    assert _noise_ratios({"all": curve}, curve, 500)["all"] == pytest.approx(
        noise_ratio(curve, 500)
    )
    halves = {name: Curve.from_scores(scores, hits) for name in "ab"}
    both = halves["a"].merge(halves["b"])
    assert _noise_ratios(halves, both, 500)["a"] == pytest.approx(noise_ratio(curve, 500))
    apart = {
        "low": Curve.from_scores(scores / 10, hits),
        "high": Curve.from_scores(1 - scores / 10, hits),
    }
    ratio = np.sqrt(1.0 + 2.0 * scores.size / 500)
    both = apart["low"].merge(apart["high"])
    assert list(_noise_ratios(apart, both, 500).values()) == pytest.approx([ratio, ratio])
    exact = measure_groups(preds, group)
    preds.calibrated_on = 500.0
    found = measure_groups(preds, group)
    assert "noise of a calibrator fitted on 500 rows" in found.verdict
    assert (exact.fitted_on, found.to_dict()["fitted_on"]) == (None, 500.0)
    for a, b in zip(exact.groups, found.groups, strict=True):
        assert (a.ks, a.ece) == (b.ks, b.ece)
        assert a.pvalue <= b.pvalue
        assert b.ks_low <= a.ks_low
        assert a.ks_high <= b.ks_high
        assert (b.ks_low == 0.0) == (b.pvalue >= 0.05)
    assert [one.group for one in found.off] == ["g2"]


def crossed(n=6000, seed=0):
    """Scores, outcomes and two columns; mobile in BR is off."""
    rng = np.random.default_rng(seed)
    country, device = rng.choice(["BR", "DE", "US"], n), rng.choice(["mobile", "desktop"], n)
    scores = rng.random(n)
    off = (country == "BR") & (device == "mobile")
    return scores, rng.random(n) < np.where(off, scores**1.5, scores), country, device


def test_intersections_are_measured_up_to_a_depth():
    scores, hits, country, device = crossed()
    preds = Predictions(scores, hits, kind="probs")
    found = measure_groups(preds, {"country": country, "device": device})
    assert (found.by, found.columns, found.depth) == ("country,device", ("country", "device"), 2)
    assert len(found.groups) == 3 + 2 + 6
    by_name = {one.group: one for one in found.groups}
    for name, rows in {
        "BR | *": country == "BR",
        "* | mobile": device == "mobile",
        "DE | desktop": (country == "DE") & (device == "desktop"),
    }.items():
        test = ks_test(scores[rows], hits[rows])
        one = by_name[name]
        assert (one.n, one.ks) == (rows.sum(), pytest.approx(test.value, abs=1e-12))
        assert one.ks_sigmas == pytest.approx(test.value * rows.sum() / test.sigma)
    assert found.groups[0].group == "BR | mobile"
    assert found.overall.n == scores.size
    assert found.to_dict()["groups"][0]["where"] == {"country": "BR", "device": "mobile"}
    alone = measure_groups(preds, {"country": country, "device": device}, depth=1)
    assert {one.group for one in alone.groups} == {n for n in by_name if "*" in n}
    assert "2 choices of columns" in alone.verdict
    assert [one.ks for one in alone.groups] == [by_name[one.group].ks for one in alone.groups]


def test_arrays_tables_and_curves_say_the_same():
    scores, hits, country, device = crossed()
    preds = Predictions(scores, hits, kind="probs")
    both = np.stack([country, device], axis=1)
    a = measure_groups(preds, {"country": country, "device": device})
    b = measure_groups(preds, both)
    cells = {
        (c, d): Curve.from_scores(scores[at], hits[at])
        for c in np.unique(country)
        for d in np.unique(device)
        if (at := (country == c) & (device == d)).any()
    }
    c = measure_groups(cells, "country,device")
    assert a.groups == b.groups
    assert b.columns == ("group 1", "group 2")
    assert [one.group for one in a.groups] == [one.group for one in c.groups]
    for one, other in zip((a.overall, *a.groups), (c.overall, *c.groups), strict=True):
        assert one.ks == pytest.approx(other.ks, abs=1e-12)
        assert one.pvalue == pytest.approx(other.pvalue, abs=1e-9)


def test_the_multicalibration_error_is_the_naive_one():
    scores, hits, country, device = crossed(n=900)
    groups = [country, device]
    found = measure_groups(Predictions(scores, hits, kind="probs"), np.stack(groups, axis=1))
    for kind in ("ks", "kuiper"):
        sigmas, value = naive.multicalibration_error(scores, hits, groups, depth=2, kind=kind)
        largest = getattr(found.multicalibration, kind)
        assert largest.sigmas == pytest.approx(sigmas, rel=1e-9)
        assert largest.value == pytest.approx(value, rel=1e-9)


def test_false_discoveries_are_the_naive_ones():
    rng = np.random.default_rng(0)
    p, family = rng.random(40) ** 3, rng.integers(0, 3, 40)
    np.testing.assert_allclose(
        false_discovery(p, family), naive.false_discovery(p, family), rtol=1e-12
    )


def test_a_calibrated_group_among_others_is_found_at_its_detectable_error():
    """80 % power at an error of that size, here a shift of all outcomes of one group."""
    found = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        scores, group = 0.2 + 0.6 * rng.random(8000), rng.integers(0, 8, 8000)
        calibrated = measure_groups(
            Predictions(scores, rng.random(8000) < scores, kind="probs"), group
        )
        size = next(one.detectable for one in calibrated.groups if one.group == "3")
        hits = rng.random(8000) < scores + size * (group == 3)
        result = measure_groups(Predictions(scores, hits, kind="probs"), group)
        found += "3" in {one.group for one in result.off}
    assert 40 <= found <= 56  # 48 are expected


def test_missing_groups_are_a_group_of_their_own():
    scores, hits, country, _ = crossed(n=300)
    names = country.astype(object)
    names[:7], names[7:9] = None, np.nan
    preds = Predictions(scores, hits, kind="probs")
    found = measure_groups(preds, {"country": names})
    none = next(one for one in found.groups if one.group == "(none)")
    assert none.n == 9
    assert "9 rows have no value of country: '(none)'." in found.notes
    texts = ["", *names.tolist()[1:]]
    assert measure_groups(preds, texts).groups == measure_groups(preds, list(names)).groups


def test_what_is_refused_of_several_columns():
    scores, hits, country, device = crossed(n=300)
    preds = Predictions(scores, hits, kind="probs")
    with pytest.raises(InvalidInput, match="`depth` is 3, but the groups have 2 columns"):
        measure_groups(preds, np.stack([country, device], 1), depth=3)
    with pytest.raises(InvalidInput, match="`depth` must be a whole number from 1"):
        measure_groups(preds, country, depth=0)
    with pytest.raises(InvalidInput, match="looks like an identifier"):
        measure_groups(preds, np.arange(300))
    with pytest.raises(InvalidInput, match=r"the combination 'a,b' has .*depth=1"):
        measure_groups(preds, {"a": np.arange(300) // 15, "b": np.arange(300) % 15})
    with pytest.raises(InvalidInput, match=r"has the value '\*'"):
        measure_groups(preds, {"a": country, "b": np.where(device == "mobile", "*", device)})
    with pytest.raises(InvalidInput, match="must be one value per row"):
        measure_groups(preds, np.zeros((300, 2, 2)))
    with pytest.raises(InvalidInput, match="a value of each column"):
        measure_groups(
            {("a", "b"): Curve.from_scores(scores, hits), "a": Curve.from_scores(scores, hits)}
        )


def test_neither_order_nor_names_nor_shards_nor_weights_matter():
    scores, hits, country, device = crossed(n=500)
    rng = np.random.default_rng(1)
    country = np.where(rng.random(500) < 0.02, "XX", country)  # few rows: simulated p-values
    columns = np.stack([country, device], axis=1)
    whole = measure_groups(Predictions(scores, hits, kind="probs"), columns)
    order = rng.permutation(500)
    shuffled = measure_groups(Predictions(scores[order], hits[order], kind="probs"), columns[order])
    assert shuffled.groups == whole.groups
    other = {"BR": "z", "DE": "y", "US": "x", "XX": "w", "mobile": "m", "desktop": "d", "*": "*"}
    named = measure_groups(
        Predictions(scores, hits, kind="probs"), np.vectorize(other.get)(columns)
    )
    told = {" | ".join(other[v] for v in one.group.split(" | ")): one for one in whole.groups}
    for one in named.groups:
        twin = told[one.group]
        assert (one.ks, one.pvalue, one.detectable) == (twin.ks, twin.pvalue, twin.detectable)
        assert one.pvalue_adjusted == twin.pvalue_adjusted
    weight = rng.integers(1, 3, 500)
    twice = np.repeat(np.arange(500), weight)
    weighed = Predictions(scores, hits, kind="probs", sample_weight=weight.astype(float))
    repeated = Predictions(scores[twice], hits[twice], kind="probs")
    for one, twin in zip(
        measure_groups(weighed, columns).groups,
        measure_groups(repeated, columns[twice]).groups,
        strict=True,
    ):
        assert one.group == twin.group
        assert one.pvalue == pytest.approx(twin.pvalue, abs=1e-9)
        assert one.ks == pytest.approx(twin.ks, abs=1e-12)
    shards = {}
    for part in (slice(0, 200), slice(200, 500)):
        for cell in {tuple(row) for row in columns[part].tolist()}:
            at = (columns[part] == cell).all(axis=1)
            curve = Curve.from_scores(scores[part][at], hits[part][at])
            shards[cell] = shards[cell].merge(curve) if cell in shards else curve
    merged = {one.group: one for one in measure_groups(shards, "c,d").groups}
    for one in whole.groups:
        assert one.ks == pytest.approx(merged[one.group].ks, abs=1e-9)
        assert one.pvalue == pytest.approx(merged[one.group].pvalue, abs=1e-9)
