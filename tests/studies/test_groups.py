"""Groups: measured one by one, and corrected for how many they are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive import Curve, Predictions, ece, ks_test, measure_groups
from ogive.errors import InvalidInput, InvalidType
from ogive.metrics.many import benjamini_hochberg
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
    assert set(a.to_dict()) == {"by", "view", "groups", "verdict"}


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
    assert _noise_ratios({"all": curve}, 500)["all"] == pytest.approx(noise_ratio(curve, 500))
    halves = {name: Curve.from_scores(scores, hits) for name in "ab"}
    assert _noise_ratios(halves, 500)["a"] == pytest.approx(noise_ratio(curve, 500))
    apart = {
        "low": Curve.from_scores(scores / 10, hits),
        "high": Curve.from_scores(1 - scores / 10, hits),
    }
    both = np.sqrt(1.0 + 2.0 * scores.size / 500)
    assert list(_noise_ratios(apart, 500).values()) == pytest.approx([both, both])
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
