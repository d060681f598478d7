"""The same numbers as other libraries, on data where those are right, and where they differ.

Skipped where they are not installed. Run with netcal 1.4.0, torchmetrics 1.9.0,
uncertainty-calibration 0.1.4, relplot 1.0.3, MAPIE 1.6.0, KDEpy 1.1.12.
docs/theory/differences.md tells the differences in words.
"""

import numpy as np
import pytest

from ogive import (
    Curve,
    Predictions,
    ece,
    ks_error,
    ks_test,
    kuiper_error,
    kuiper_test,
    mce,
    smooth_ece,
    spiegelhalter,
)
from ogive.metrics.binned import debiased_ece2
from ogive.metrics.classwise import classwise_ece
from ogive.metrics.kde import kde_error
from ogive.metrics.onepass import read
from ogive.metrics.smooth import ResidualReader

pytestmark = pytest.mark.filterwarnings("ignore")  # theirs


@pytest.fixture
def sample(rng):
    """Overconfident scores without ties, zeros or ones: (scores, hits, curve)."""
    p = rng.beta(2, 1, 3000)
    y = (rng.random(3000) < p**1.2).astype(int)
    return p, y, Curve.from_scores(p, y)


@pytest.fixture
def matrix(rng):
    logits = rng.normal(0, 2, (2000, 4))
    labels = (logits / 1.5 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    preds = Predictions(logits, labels, kind="logits")
    return preds.probabilities(), labels, preds


def test_netcal_ece_and_mce(sample):
    metrics = pytest.importorskip("netcal.metrics")
    p, y, curve = sample
    assert ece(curve, 15) == pytest.approx(metrics.ECE(15).measure(p, y), abs=1e-12)
    assert mce(curve, 15) == pytest.approx(metrics.MCE(15).measure(p, y), abs=1e-12)


def test_torchmetrics_norms(sample):
    torch = pytest.importorskip("torch")
    functional = pytest.importorskip("torchmetrics.functional.classification")
    p, y, curve = sample
    for norm in ("l1", "l2", "max"):
        theirs = functional.binary_calibration_error(
            torch.tensor(p), torch.tensor(y), n_bins=15, norm=norm
        )
        assert ece(curve, norm=norm) == pytest.approx(float(theirs), abs=1e-12)


def test_torchmetrics_top_label(matrix):
    torch = pytest.importorskip("torch")
    functional = pytest.importorskip("torchmetrics.functional.classification")
    p, labels, preds = matrix
    theirs = functional.multiclass_calibration_error(
        torch.tensor(p), torch.tensor(labels), num_classes=4, n_bins=15
    )
    assert ece(Curve.from_predictions(preds)) == pytest.approx(float(theirs), abs=1e-6)  # float32


def test_torchmetrics_has_a_bin_for_one(rng):
    torch = pytest.importorskip("torch")
    functional = pytest.importorskip("torchmetrics.functional.classification")
    p, y = [0.95, 1.0], [1, 0]
    theirs = functional.binary_calibration_error(
        torch.tensor(p, dtype=torch.float64), torch.tensor(y), n_bins=10
    )
    assert ece(Curve.from_scores(p, y), 10) == pytest.approx(0.475)
    assert float(theirs) == pytest.approx(0.525)


def test_uncertainty_calibration(sample, matrix):
    utils = pytest.importorskip("calibration.utils")
    p, y, curve = sample
    rows = list(zip(p, y, strict=True))
    mass = utils.bin(rows, utils.get_equal_bins(list(p), 15))
    assert debiased_ece2(curve) == pytest.approx(utils.unbiased_l2_ce(mass), abs=1e-12)
    assert ece(curve, spacing="mass", norm="l2") == pytest.approx(utils.plugin_ce(mass), abs=1e-12)
    vectors, labels, preds = matrix
    theirs = utils.get_ece(vectors, labels, num_bins=15, mode="top-label")
    assert ece(Curve.from_predictions(preds)) == pytest.approx(theirs, abs=1e-12)
    marginal = utils._get_ce(
        vectors, labels, 1, False, 15, utils.get_equal_prob_bins, mode="marginal"
    )
    assert classwise_ece(preds) == pytest.approx(marginal, abs=1e-12)


def test_relplot_smooth_ece(sample):
    metrics = pytest.importorskip("relplot.metrics")
    p, y, curve = sample
    reader = ResidualReader()
    read(curve, reader)
    for sigma in (0.02, 0.05, 0.2):  # theirs is on a grid of 1,000 points
        theirs = metrics.smECE_sigma(p, y, sigma=sigma)
        assert reader.smoother().error(sigma) == pytest.approx(theirs, abs=1e-3)
    assert smooth_ece(curve) == pytest.approx(metrics.smECE(p, y), abs=1.5e-3)


def _kde_ece(p, y):
    """KDE-ECE by KDEpy's densities, as Zhang et al. call them: value and bandwidth."""
    kde = pytest.importorskip("KDEpy").FFTKDE
    x, bw = np.linspace(-0.6, 1.6, 2**14), np.std(p[y]) * (2 * len(p)) ** -0.2

    def density(s):
        mirrored = np.concatenate([-s[s < 0.5], s, 2 - s[s >= 0.5]])
        return 2 * kde(bw=bw, kernel="triweight").fit(mirrored).evaluate(x)

    f, f1, inside = density(p), density(p[y]), (x >= 0) & (x <= 1)
    seen = inside & (np.maximum(f, f1) > 1e-6)
    gap = np.zeros(x.size)
    gap[seen] = np.abs(x[seen] - np.minimum(y.mean() * f1[seen] / f[seen], 1)) * f[seen]
    return np.trapezoid(gap[inside], x[inside]) / np.trapezoid(f[inside], x[inside]), bw


@pytest.mark.parametrize("rows", [30, 3000])
def test_kdepy(sample, rows):
    p, y = sample[0][:rows], sample[1][:rows] > 0
    found = kde_error(Curve.from_scores(p, y))
    assert (found.value, found.bandwidth) == pytest.approx(_kde_ece(p, y), abs=1e-7)


@pytest.mark.parametrize(
    ("name", "value"),
    [("torchvision_densenet161", 0.0493), ("torchvision_resnet101", 0.0427)],
)
def test_kdepy_on_the_scores_of_networks(arena, name, value):
    of = arena(name)
    p, y = of["test_scores"].astype(float), of["test_outcomes"] > 0
    found = kde_error(Curve.from_scores(p, y)).value
    assert found == pytest.approx(_kde_ece(p, y)[0], abs=1e-6)
    assert round(found, 4) == value


def test_mapie_statistics(sample):
    theirs = pytest.importorskip("mapie.metrics.calibration")
    p, y, curve = sample
    ks, kuiper, z = ks_test(curve), kuiper_test(curve), spiegelhalter(curve)
    unit = curve.n / ks.sigma  # they report in units of sigma / N, after a jitter of 1e-8
    assert ks.value * unit == pytest.approx(theirs.kolmogorov_smirnov_statistic(y, p), abs=1e-5)
    # They leave out the start of the gap, where it is 0: their range is at most ours.
    gap = curve.gap
    assert np.ptp(gap) * unit == pytest.approx(theirs.kuiper_statistic(y, p), abs=1e-5)
    assert kuiper.value * unit >= theirs.kuiper_statistic(y, p) - 1e-5
    assert z.z == pytest.approx(theirs.spiegelhalter_statistic(y, p), abs=1e-9)


def test_mapie_p_values(rng):
    theirs = pytest.importorskip("mapie.metrics.calibration")
    p = rng.beta(2, 1, 3000)
    y = (rng.random(3000) < p).astype(int)
    curve = Curve.from_scores(p, y)
    assert ks_test(curve).pvalue == pytest.approx(theirs.kolmogorov_smirnov_p_value(y, p), abs=1e-5)
    assert kuiper_test(curve).pvalue == pytest.approx(theirs.kuiper_p_value(y, p), abs=0.05)
    one_sided = theirs.spiegelhalter_p_value(y, p)  # theirs asks whether z is too large
    assert spiegelhalter(curve).pvalue == pytest.approx(2 * min(one_sided, 1 - one_sided))


def test_mapie_counts_edges_instead_of_bins(sample):
    theirs = pytest.importorskip("mapie.metrics.calibration")
    p, y, curve = sample
    found = theirs.expected_calibration_error(y, p, num_bins=16, split_strategy="uniform")
    assert ece(curve, 15) == pytest.approx(found, abs=1e-12)


def test_mapie_depends_on_the_order_inside_ties(rng):
    theirs = pytest.importorskip("mapie.metrics.calibration")
    p, y = np.full(200, 0.7), (np.arange(200) < 140).astype(int)
    curve = Curve.from_scores(p, y)
    assert ks_error(curve) == pytest.approx(0.0, abs=1e-12)
    assert kuiper_error(curve) == pytest.approx(0.0, abs=1e-12)
    assert theirs.kolmogorov_smirnov_statistic(y, p) > 0.1
