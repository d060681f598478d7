"""The same rows give the same numbers through different doors.

What is not so yet is expected to fail, with the item of the issue that asks for it.
"""

import numpy as np
import pyarrow as pa
import pytest

import ogive
from tests.formats import N, as_log, rows_of_scores, store

CURVES = ["Spline", "PaperSpline", "Platt", "Isotonic", "Beta", "Histogram", "VennAbers"]


def wanted(item, what):
    """Mark a case that fails today: the item asks for it."""
    return pytest.mark.xfail(strict=True, reason=f"38.{item} {what}")


@pytest.fixture
def rows():
    return rows_of_scores()


# A log and a file; weights ----------------------------------------------------------------------

#: What a log cannot know, or says besides.
OF_ONE = {"skipped", "approximate", "brackets", "ks_bracket", "kuiper_bracket"}


def assert_alike(found, other, rel=1e-9):
    """Every number that both have is the same."""
    both = [key for key in found.keys() & other.keys() - OF_ONE if isinstance(found[key], float)]
    assert len(both) > 10
    assert {k: found[k] for k in both} == pytest.approx({k: other[k] for k in both}, rel=rel)


@pytest.mark.parametrize("words", [(), ("--more",), ("--weight", "w"), ("--cluster", "c")])
def test_a_log_is_measured_as_one_file(words, rows, measured, tmp_path):
    file = store("csv", rows, tmp_path / "file")
    log = as_log("csv", rows, tmp_path / "log")
    assert_alike(measured(file, *words), measured(log, *words))


@pytest.mark.parametrize("method", ["spline", "platt", "isotonic"])
def test_a_log_is_fitted_as_one_file(method, rows, run, tmp_path):
    found = []
    for path in (store("csv", rows, tmp_path / "f"), as_log("parquet", rows, tmp_path / "log")):
        cal = tmp_path / f"{path.name}.json"
        code, _, err = run("fit", path, "-o", cal, "--method", method)
        assert code == 0, err
        found.append(ogive.load(cal)(np.linspace(0.01, 0.99, 50)))
    np.testing.assert_allclose(*found, rtol=1e-9)


def test_a_weight_counts_alike_at_every_door(rows, measured, tmp_path):
    names = {**rows, "weight": rows["w"]}
    asked = measured(store("csv", rows, tmp_path / "w"), "--weight", "w")
    same = measured(store("parquet", names, tmp_path / "weight"), "--weight", "weight")
    again = {key: np.repeat(values, rows["w"]).tolist() for key, values in rows.items()}
    repeated = measured(store("csv", again, tmp_path / "again"))
    call = ogive.measure(rows["score"], rows["outcome"], sample_weight=rows["w"]).to_dict()
    for other in (same, repeated, call):
        assert_alike(asked, other)


@wanted(6, "a column called weight is taken for weights unasked")
def test_a_weight_that_is_not_asked_for_is_none(rows, measured, tmp_path):
    named = {**rows, "weight": rows["w"]}
    assert measured(store("csv", named, tmp_path / "in"))["n"] == N


# Columns of a matrix ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def matrix():
    """Return a frame of probabilities with a column for each label, in order, and its labels."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    names = ["barbera", "barolo", "grignolino"]
    values = rng.dirichlet([1, 1, 1], N)
    labels = [names[k] for k in (values.cumsum(axis=1) < rng.random((N, 1))).sum(axis=1)]
    return pd.DataFrame(values, columns=names), np.array(labels)


OTHER_ORDER = ["grignolino", "barbera", "barolo"]


def by_predictions(frame, labels):
    return ogive.measure(ogive.Predictions(frame, labels, kind="probs")).to_dict()


def by_function(frame, labels):
    return ogive.measure(frame, labels, kind="probs").to_dict()


def by_estimator(frame, labels, name="Spline"):
    import pandas as pd

    fitted = getattr(ogive, f"{name}Calibrator")(kind="probs").fit(frame, labels)
    found = pd.DataFrame(fitted.predict_proba(frame), columns=fitted.classes_)
    return {"probs": found[sorted(found)].to_numpy()}


def by_calibrate(frame, labels):
    ordered = frame[sorted(frame)]
    found = ogive.calibrate(ordered, labels, kind="probs", new=frame)
    return {"probs": found.probabilities[sorted(frame)].to_numpy()}


def by_compare(frame, labels):
    ordered = ogive.Predictions(frame[sorted(frame)], labels, kind="probs")
    test = ogive.Predictions(frame, labels, kind="probs")
    found = ogive.compare(ordered, test, ["temperature", "none"])
    return {row["method"]: row["nll"] for row in found.to_dict()["methods"]}


def by_arrow(frame, labels):
    return ogive.measure(pa.Table.from_pandas(frame), labels, kind="probs").to_dict()


@pytest.mark.parametrize(
    "door",
    [
        by_function,
        by_predictions,
        by_estimator,
        by_calibrate,
        by_compare,
        by_arrow,
    ],
)
def test_the_order_of_named_columns_does_not_matter(door, matrix):
    frame, labels = matrix
    ordered, permuted = door(frame, labels), door(frame[OTHER_ORDER], labels)
    for key, value in ordered.items():
        if isinstance(value, float | np.ndarray):
            np.testing.assert_allclose(permuted[key], value, rtol=1e-9)


@pytest.mark.parametrize("name", ["csv", "jsonl", "parquet"])
def test_the_order_of_columns_of_a_file_does_not_matter(name, matrix, measured, tmp_path):
    frame, labels = matrix
    found = []
    for order in (list(frame), OTHER_ORDER):
        columns = {f"prob_{k}": frame[k].tolist() for k in order} | {"label": labels.tolist()}
        found.append(measured(store(name, columns, tmp_path / order[0])))
    assert_alike(*found)


# Two classes are one score ----------------------------------------------------------------------


@pytest.fixture
def pair(rows):
    score = np.array(rows["score"])
    return score, np.column_stack([1 - score, score]), np.array(rows["outcome"])


def test_two_columns_are_measured_as_the_score_of_class_1(rows, pair, measured, tmp_path):
    _, both, outcome = pair
    one = measured(store("csv", rows, tmp_path / "one"))
    columns = {"prob_0": both[:, 0].tolist(), "prob_1": both[:, 1].tolist()}
    two = store("csv", {**columns, "label": outcome.tolist()}, tmp_path / "two")
    assert_alike(one, measured(two, "--view", "class-1"))
    assert_alike(one, ogive.measure(both, outcome, "class-1", kind="probs").to_dict())


@wanted(3, "a matrix of two columns is measured as top-1")
def test_two_columns_are_measured_as_one(rows, pair, measured, tmp_path):
    _, both, outcome = pair
    columns = {"prob_0": both[:, 0].tolist(), "prob_1": both[:, 1].tolist()}
    two = store("csv", {**columns, "label": outcome.tolist()}, tmp_path / "two")
    assert_alike(measured(store("csv", rows, tmp_path / "one")), measured(two))


@wanted(3, "two columns keep a cut at one half")
@pytest.mark.parametrize("name", CURVES)
def test_two_columns_are_fitted_as_one(name, pair):
    score, both, outcome = pair
    estimator = getattr(ogive, f"{name}Calibrator")
    one = estimator(kind="probs").fit(score[:, None], outcome).predict_proba(score[:, None])
    two = estimator(kind="probs").fit(both, outcome).predict_proba(both)
    np.testing.assert_allclose(two, one, rtol=1e-12)


@pytest.mark.parametrize("name", CURVES)
def test_one_column_is_fitted_as_scores_alone(name, pair):
    score, _, outcome = pair
    estimator = getattr(ogive, f"{name}Calibrator")
    column = estimator(kind="probs").fit(score[:, None], outcome).predict_proba(score[:, None])
    alone = estimator(kind="probs").fit(score, outcome).predict_proba(score)
    np.testing.assert_array_equal(column, alone)
