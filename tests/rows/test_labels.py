"""Which column is which class: one rule, at every door that takes arrays."""

import warnings

import numpy as np
import pytest

import ogive
from ogive.errors import GuessedLabels, InvalidInput, InvalidType
from ogive.rows.labels import LabelSet, resolve_classes

NAMES = np.array(["barolo", "barbera", "grignolino"])  # not sorted


@pytest.fixture
def wines(rng):
    """Probabilities of a model that is right in four of five rows, and the number of the class."""
    y = rng.integers(0, 3, 600)
    z = rng.normal(size=(600, 3)) + 3.0 * np.eye(3)[y]
    return np.exp(z) / np.exp(z).sum(axis=1, keepdims=True), y


def measured(values, labels, **how):
    return ogive.measure(values, labels, kind="probs", **how).accuracy


def predictions(values, labels, **how):
    return ogive.measure(ogive.Predictions(values, labels, kind="probs", **how)).accuracy


def estimator(values, labels, **how):
    cal = ogive.PlattCalibrator(kind="probs", **how).fit(values, labels)
    return float((cal.predict(values) == np.asarray(labels)).mean())


def calibrated(values, labels, **how):
    found, _ = ogive.calibrate(values, labels, kind="probs", method="temperature", **how)
    classes = how.get("classes", getattr(found, "columns", np.unique(labels)))
    best = np.asarray(classes)[np.asarray(found).argmax(axis=1)]
    return float((np.char.replace(best.astype(str), "prob_", "") == np.asarray(labels, str)).mean())


DOORS = pytest.mark.parametrize("door", [measured, predictions, estimator, calibrated])


@DOORS
@pytest.mark.parametrize("stem", ["", "prob_"])
def test_names_that_are_the_labels_put_columns_in_order(door, stem, wines):
    pd = pytest.importorskip("pandas")
    p, y = wines
    frame = pd.DataFrame(p, columns=[stem + name for name in NAMES])
    assert door(frame, NAMES[y]) == np.mean(p.argmax(axis=1) == y)
    other = frame[frame.columns[[2, 0, 1]]]
    assert door(other, NAMES[y]) == np.mean(p.argmax(axis=1) == y)


@DOORS
def test_numbers_of_columns_are_names_too(door, wines):
    pd = pytest.importorskip("pandas")
    p, y = wines
    for stem in ("", "prob_", "class_"):
        names = [f"{stem}{k}" for k in (2, 0, 1)]
        frame = pd.DataFrame(p[:, [2, 0, 1]], columns=names)
        if door is calibrated:
            found, _ = ogive.calibrate(frame, y, kind="probs", method="temperature")
            assert list(found.columns) == names
            best = np.array([2, 0, 1])[found.to_numpy().argmax(axis=1)]
            np.testing.assert_array_equal(best, p.argmax(axis=1))
        else:
            assert door(frame, y) == np.mean(p.argmax(axis=1) == y)


@DOORS
def test_names_that_are_no_labels_are_no_names(door, wines):
    pd = pytest.importorskip("pandas")
    p, y = wines
    with pytest.warns(GuessedLabels, match="named low, mid, high: label 0 is taken for the first"):
        door(pd.DataFrame(p, columns=["low", "mid", "high"]), y)
    if door is not calibrated:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            right = door(pd.DataFrame(p, columns=["p1", "p2", "p3"]), y)
        assert right == np.mean(p.argmax(axis=1) == y)
    with pytest.raises(InvalidInput, match="numbered 3, 1, 2, and the labels are not those"):
        door(pd.DataFrame(p, columns=["p3", "p1", "p2"]), y)


@DOORS
def test_text_that_is_no_name_is_refused(door, wines):
    pd = pytest.importorskip("pandas")
    p, y = wines
    labels = np.where(y == 0, "Barolo", NAMES[y])
    with pytest.raises(InvalidInput, match=r"'Barolo' is no name of a column .*classes=\["):
        door(pd.DataFrame(p, columns=NAMES), labels)


@DOORS
def test_labels_from_1_whose_last_class_is_missing_are_refused(door, wines):
    p, y = wines
    few = y < 2
    with pytest.raises(InvalidInput, match=r"no label is 0.*classes=range\(1, 4\)"):
        door(p[few], y[few] + 1)
    some = y > 0  # column numbers: the first class is missing
    if door is not calibrated:
        assert door(p[some], y[some]) > 0.8


@DOORS
def test_a_mark_of_rows_without_a_label_is_no_class(door, wines):
    p, y = wines
    with pytest.raises(InvalidInput, match=r"numbers of columns but 255, and 2 is missing"):
        door(p, np.where(y == 2, 255, y).astype(np.uint8))


def test_digits_as_text_sort_as_words(rng):
    y = np.tile(np.arange(11), 20)
    p = rng.dirichlet(np.ones(11), 220)
    for door in (measured, predictions):
        with pytest.raises(InvalidInput, match=r"digits as text, which sort as words.*classes=\["):
            door(p, y.astype(str))
    with pytest.warns(GuessedLabels, match="digits as text: .* as scikit-learn has it"):
        cal = ogive.PlattCalibrator(kind="probs").fit(p, y.astype(str))
    assert cal.classes_.tolist() == sorted(map(str, range(11)))


@DOORS
def test_the_order_of_categories_is_not_lost_in_silence(door, wines):
    pd = pytest.importorskip("pandas")
    p, y = wines
    order = ["low", "mid", "high"]
    labels = pd.Series(pd.Categorical.from_codes(y, order, ordered=True))
    with pytest.raises(InvalidInput, match=r"categories low, mid, high are ordered.*classes=\["):
        door(p, labels)
    assert door(p, labels, classes=order) == np.mean(p.argmax(axis=1) == y)


def test_two_sets_are_compared_and_applied_by_name(wines):
    pd = pytest.importorskip("pandas")
    p, y = wines
    frame = pd.DataFrame(p, columns=NAMES)
    other = frame[["grignolino", "barolo", "barbera"]]
    one = ogive.compare((frame, NAMES[y]), (frame, NAMES[y]), ["none"], kind="probs")
    two = ogive.compare((frame, NAMES[y]), (other, NAMES[y]), ["none"], kind="probs")
    assert one.best.ks == two.best.ks
    how = dict(kind="probs", method="vector")
    straight, _ = ogive.calibrate(frame, NAMES[y], frame, **how)
    turned, _ = ogive.calibrate(frame, NAMES[y], other, **how)
    assert list(turned.columns) == list(other.columns)
    np.testing.assert_allclose(turned[straight.columns].to_numpy(), straight.to_numpy(), rtol=1e-12)
    renamed = other.set_axis(["grignolino", "barolo", "nebbiolo"], axis=1)
    with pytest.raises(InvalidInput, match="the columns are grignolino, barolo, nebbiolo in one"):
        ogive.calibrate(frame, NAMES[y], renamed, **how)


def test_an_estimator_keeps_sorted_classes_and_the_order_of_its_columns(wines):
    pd = pytest.importorskip("pandas")
    p, y = wines
    frame = pd.DataFrame(p, columns=NAMES)
    cal = ogive.VectorCalibrator(kind="probs").fit(frame, NAMES[y])
    assert cal.classes_.tolist() == sorted(NAMES)
    given = ogive.VectorCalibrator(kind="probs", classes=NAMES).fit(p, NAMES[y])
    np.testing.assert_allclose(
        cal.predict_proba(frame), given.predict_proba(p)[:, np.argsort(NAMES)], rtol=1e-9
    )
    with pytest.raises(ValueError, match="feature names"):
        cal.predict_proba(frame[sorted(NAMES)])


def test_levels_of_names_are_no_labels(wines):
    pd = pytest.importorskip("pandas")
    p, y = wines
    columns = pd.MultiIndex.from_tuples([("p", name) for name in NAMES])
    with pytest.raises(InvalidInput, match="is no name of a column"):
        measured(pd.DataFrame(p, columns=columns), NAMES[y])


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.eye(3)[[0, 1, 2, 0]], r"One-hot\? Pass labels.argmax"),
        (np.ones((4, 3)), r"K independent outcomes\? Measure each column by itself"),
        ([0, 1, 0.5, 2], r"Soft labels\? Repeat the row"),
    ],
)
def test_shapes_that_nobody_means_name_the_way_out(labels, words):
    with pytest.raises(InvalidInput, match=words):
        ogive.Predictions(np.full((4, 3), 1 / 3), labels, kind="probs")


def test_a_class_for_each_place_and_a_matrix_of_scores_name_the_way_out(rng):
    with pytest.raises(InvalidInput, match=r"np.moveaxis\(logits, 1, -1\).reshape\(-1, logits"):
        ogive.Predictions(np.zeros((2, 3, 4, 4)), kind="logits")
    with pytest.raises(InvalidInput, match=r"Predictions.*from_predictions"):
        ogive.ks_error(rng.dirichlet(np.ones(3), 9), np.ones(9))


def test_one_column_is_a_row_of_numbers_at_every_door(rng):
    s = rng.random(50)
    y = (rng.random(50) < s).astype(int)
    assert ogive.ks_error(s[:, None], y[:, None]) == ogive.ks_error(s, y)
    assert ogive.ece(s[:, None], y) == ogive.ece(s, y)
    one = ogive.Curve.from_scores(s[:, None], y, sample_weight=np.ones((50, 1)))
    assert one.n == 50
    assert ogive.Predictions(s[:, None], y[:, None], kind="probs").labels.tolist() == y.tolist()


def test_what_lies_under_a_mask_is_missing(rng):
    p = rng.random(40)
    y = rng.integers(0, 2, 40)
    masked = np.ma.masked_array(p, mask=p > 0.9)
    ways = [
        lambda: ogive.ks_error(masked, y),
        lambda: ogive.measure(masked, y),
        lambda: ogive.PlattCalibrator(kind="probs").fit(masked, y),
        lambda: ogive.PlattCalibrator(kind="probs").fit(p, y).predict_proba(masked),
        lambda: ogive.PlattCalibrator(kind="probs").fit(p, np.ma.masked_array(y, mask=p > 0.9)),
        lambda: ogive.ks_error(p, y, sample_weight=masked),
    ]
    for way in ways:
        with pytest.raises(InvalidType, match=r"masked entries in .* of 40 rows"):
            way()


def test_the_rule_needs_no_values_where_it_scores_nothing():
    def never():
        raise AssertionError

    found = resolve_classes([LabelSet([0, 2, 1], never)], 3)
    assert found.how == "by number"
    assert found.indices(LabelSet([2, 0], never)).tolist() == [2, 0]
