"""Plain calls: arrays, lists and frames go in as they are."""

import numpy as np
import pytest

import ogive
from ogive.errors import InvalidInput, InvalidType, PermutedLabels
from ogive.studies.measure import measure as of_predictions

MEASURES = [
    ogive.ks_error, ogive.kuiper_error, ogive.largest_gap, ogive.ks_test, ogive.kuiper_test,
    ogive.ece, ogive.mce, ogive.kde_ece, ogive.smooth_ece, ogive.brier, ogive.nll,
    ogive.spiegelhalter, ogive.decompose,
]  # fmt: skip


@pytest.fixture
def scores(rng):
    truth = rng.random(600)
    return truth**0.5, (rng.random(600) < truth).astype(int)


@pytest.fixture
def matrix(rng):
    y = rng.integers(0, 3, 600)
    return rng.normal(size=(600, 3)) + 2.0 * np.eye(3)[y], y


@pytest.mark.parametrize("measure", MEASURES, ids=lambda f: f.__name__)
def test_every_measure_takes_a_curve_or_scores_and_outcomes(measure, scores):
    s, y = scores
    expected = measure(ogive.Curve.from_scores(s, y))
    assert measure(s, y) == expected
    assert measure(s.tolist(), y.tolist()) == expected
    with pytest.raises((InvalidInput, InvalidType)):
        measure(s)
    with pytest.raises(InvalidInput, match=r"\[0, 1\]"):
        measure(100 * s, y)


def test_the_second_argument_after_a_curve_is_as_it_was(scores):
    curve = ogive.Curve.from_scores(*scores)
    assert ogive.ece(curve, 5) == ogive.ece(curve, bins=5) == ogive.ece(*scores, 5)
    assert ogive.mce(curve, 5) == ogive.mce(*scores, bins=5)
    assert ogive.decompose(curve, "nll") == ogive.decompose(*scores, score="nll")


def test_measure_of_plain_arrays(scores, matrix):
    s, y = scores
    expected = of_predictions(ogive.Predictions(s, y, kind="probs")).to_dict()
    assert ogive.measure(s, y).to_dict() == expected
    assert ogive.measure(s.tolist(), y.tolist()).to_dict() == expected
    z, labels = matrix
    preds = ogive.Predictions(z, labels, kind="logits")
    assert ogive.measure(z, labels, kind="logits").to_dict() == ogive.measure(preds).to_dict()
    one = ogive.measure(z, labels, view="top-2", kind="logits")
    assert one.to_dict() == ogive.measure(preds, "top-2").to_dict()
    every = ogive.measure_all(z, labels, kind="logits")
    assert ogive.measure_all(preds).to_dict() == every.to_dict()
    with pytest.raises(InvalidInput, match="call measure_all"):
        ogive.measure(preds, "all")
    with pytest.raises(InvalidInput, match="matrix of 3 columns: pass kind='probs'"):
        ogive.measure(z, labels)
    with pytest.raises(InvalidType, match=r"measure\(scores, outcomes\)"):
        ogive.measure(s)
    with pytest.raises(InvalidType, match="Say which word counts as 1"):
        ogive.measure(s, np.where(y, "yes", "no"))
    with pytest.warns(PermutedLabels, match="may be permuted"):
        ogive.measure(z, (labels + 1) % 3, kind="logits")


def test_frames_name_their_classes_and_keep_their_index(matrix, scores):
    pd = pytest.importorskip("pandas")
    z, y = matrix
    names = np.array(["owl", "cat", "dog"])  # not sorted
    index = np.arange(600)[::-1]
    for columns in (names, [f"logit_{name}" for name in names]):
        frame = pd.DataFrame(z, columns=columns, index=index)
        labels = pd.Series(names[y], index=index)
        one = ogive.measure(frame, labels, kind="logits")
        assert one.ks == ogive.measure(z, y, kind="logits").ks
        found, _ = ogive.calibrate(frame, labels, kind="logits", method="temperature")
        assert found.index.equals(frame.index)
        assert list(found.columns) == list(frame.columns)
    s, outcomes = scores
    series = pd.Series(s, index=index, name="p")
    found, _ = ogive.calibrate(series, outcomes)
    assert found.index.equals(series.index)
    assert found.name == "p"
    with pytest.raises(InvalidInput, match="same index labels, in another order"):
        ogive.measure(series, pd.Series(outcomes))


def test_polars_frames_go_in(matrix):
    pl = pytest.importorskip("polars")
    z, y = matrix
    names = np.array(["owl", "cat", "dog"])
    frame = pl.DataFrame({name: z[:, k] for k, name in enumerate(names)})
    one = ogive.measure(frame, pl.Series(names[y].tolist()), kind="logits")
    assert one.ks == ogive.measure(z, y, kind="logits").ks


@pytest.mark.parametrize("method", ["spline", "platt", "isotonic"])
def test_calibrate_is_fit_and_apply(scores, method):
    s, y = scores
    found, gamma = ogive.calibrate(s[:400], y[:400], s[400:], method=method)
    expected = getattr(ogive, f"fit_{method}")(ogive.Curve.from_scores(s[:400], y[:400]))
    assert gamma == expected
    np.testing.assert_array_equal(found, expected(s[400:]))


def test_calibrate_matrices(matrix, tmp_path):
    z, y = matrix
    found, gamma = ogive.calibrate(z[:400], y[:400], z[400:], kind="logits")
    assert found.shape == (200, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(found.argmax(axis=1), z[400:].argmax(axis=1))
    ogive.save(gamma, tmp_path / "cal.json")
    one, _ = ogive.calibrate(z[:, :1], y > 0, kind="logits", method="platt")
    assert one.shape == (600, 1)
    with pytest.raises(InvalidInput, match="both must be of one model"):
        ogive.calibrate(z, y, z[:, :2], kind="logits")


def test_compare_of_plain_arrays(scores):
    s, y = scores
    pairs = (s[:300], y[:300]), (s[300:], y[300:])
    preds = [ogive.Predictions(*pair, kind="probs") for pair in pairs]
    methods = ["none", "platt"]
    plain, built = ogive.compare(*pairs, methods), ogive.compare(*preds, methods)
    assert [row.nll for row in plain.methods] == [row.nll for row in built.methods]
    one = ogive.compare(s, y, methods, split=0.25)
    assert (one.n_cal, one.n_test) == (150, 450)
    with pytest.raises(InvalidType, match=r"`test` must be Predictions or a pair"):
        ogive.compare(pairs[0], s)


def test_report_of_plain_arrays(scores, tmp_path):
    pytest.importorskip("jinja2")
    s, y = scores
    page = ogive.report(
        s[:300], y[:300], cal=(s[300:], y[300:]), output=tmp_path / "r.html", methods=["platt"]
    )
    assert page.view == "score"
    assert "<html" in (tmp_path / "r.html").read_text()
    assert ogive.report.build_report  # still a package
