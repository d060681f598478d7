"""What is said of a summary: exact, in a bracket, or approximate with a tested error."""

import numpy as np
import pytest

import ogive
from ogive import Curve, measure

ERRORS = {  # how far a measure of a summary of 12 bits may be from that of all rows
    "mce": 2e-3, "ece_l2": 1e-4, "ece_debiased": 1e-4, "kde_ece": 1e-5, "smooth_ece": 1e-5,
    "mcb": 1e-5, "dsc": 1e-5, "spiegelhalter": 1e-3, "spiegelhalter_pvalue": 1e-3,
    "ks_pvalue": 1e-2, "ks_low": 1e-4, "ks_high": 1e-4, "ks_expected": 1e-4,
    "kuiper_pvalue": 1e-2, "kuiper_low": 1e-4, "kuiper_high": 1e-4, "kuiper_expected": 1e-4,
}  # fmt: skip


def curves():
    rng = np.random.default_rng(0)
    n = 100_000
    for mean, spread, slope in ((0, 2, 0.8), (0, 2, 1.0), (-6, 2, 0.9), (5, 4, 0.6)):
        eta = rng.normal(mean, spread, n)
        hits = rng.random(n) < 1 / (1 + np.exp(-slope * eta))
        yield Curve.from_scores(1 / (1 + np.exp(-eta)), hits)


@pytest.mark.parametrize("curve", list(curves()), ids=["over", "calibrated", "rare", "saturated"])
def test_a_summary_tells_what_is_certain(curve):
    want, got = measure(curve).to_dict(), measure(curve.summarised()).to_dict()
    assert set(got) - set(want) == {"ks_bracket", "brackets", "approximate"}
    for key in ("n", "accuracy", "mean_score", "unc"):
        assert got[key] == pytest.approx(want[key], rel=1e-13)
    for key, (low, high) in got["brackets"].items():
        assert low <= want[key] <= high, key
        assert low <= got[key] <= high, key
    assert got["ks_bracket"] == got["brackets"]["ks"]
    assert set(got["approximate"]) <= set(ERRORS)
    for key in got["approximate"]:
        assert got[key] == pytest.approx(want[key], abs=ERRORS[key], rel=1e-3), key


@pytest.mark.parametrize("method", ["spline", "paper_spline", "platt", "beta", "isotonic"])
@pytest.mark.parametrize(
    "curve", list(curves())[:1] + list(curves())[3:], ids=["over", "saturated"]
)
def test_fits_from_a_summary_are_those_of_all_rows(curve, method):
    fit = getattr(ogive, f"fit_{method}")
    scores = 1 / (1 + np.exp(-np.linspace(-4, 6, 400)))
    error = np.abs(fit(curve)(scores) - fit(curve.summarised())(scores))
    steps = method == "isotonic"  # a step's edge moves by a bucket
    assert error.mean() < (1e-3 if steps else 1e-5)
    assert error.max() < (2e-2 if steps else 1e-4)


def test_a_histogram_from_a_summary():
    curve = next(curves())
    scores = np.linspace(0.01, 0.99, 300)
    error = np.abs(
        ogive.fit_histogram(curve)(scores) - ogive.fit_histogram(curve.summarised())(scores)
    )
    assert np.median(error) < 1e-3


def test_a_curve_of_all_scores_is_exact_in_any_form():
    curve = next(curves())
    got = measure(curve.summarised(52))
    assert got.approximate == ()
    assert got.ks == pytest.approx(measure(curve).ks, abs=1e-14)
    assert "summary" not in repr(got)
    told = repr(measure(curve.summarised(6)))
    assert "Computed from a summary of the log. The KS error lies between " in told


@pytest.mark.parametrize("bits", [4, 8])
def test_a_wide_bucket_is_no_tie(bits):
    rng = np.random.default_rng(3)
    scores = 0.7 + 0.01 * rng.random(20_000)  # a few buckets hold everything
    curve = Curve.from_scores(scores, rng.random(20_000) < scores)
    want, got = (ogive.ks_test(one) for one in (curve, curve.summarised(bits)))
    assert want.method == got.method == "brownian"
    tied = Curve.from_scores(np.round(scores, 3), rng.random(20_000) < scores)
    assert ogive.ks_test(tied.summarised(12)).method == ogive.ks_test(tied).method == "simulation"
