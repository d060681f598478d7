"""Which label is which column: once for a file, and in its calibrator."""

import json
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import ogive
from ogive.errors import (
    FileFormatError,
    InvalidInput,
    OgiveError,
    PermutedLabels,
)
from ogive.export.artifact import load_fitted_on
from ogive.readers.multi_file import read_together
from ogive.readers.source import Columns
from ogive.rows.labels import Classes

NAMES = np.array(["cat", "dog", "owl"])


@pytest.fixture
def good(rng):
    """Logits of a model that is right most of the time, with its labels."""
    y = rng.integers(0, 3, 600)
    return rng.normal(size=(600, 3)) + 3.0 * np.eye(3)[y], y


def wide(z, names, **columns):
    return pa.table({name: z[:, k] for k, name in enumerate(names)} | columns)


def test_one_based_labels_are_the_same_columns_in_all_parts(tmp_path, good):
    """A part in which the last class is missing was read as if its labels began at 0."""
    z, y = good
    cal = y < 2
    parts = {"cal_logits": z[cal], "cal_labels": y[cal] + 1}
    np.savez(tmp_path / "a.npz", test_logits=z[~cal], test_labels=y[~cal] + 1, **parts)
    with pytest.raises(InvalidInput, match=r"labels 1, 2, 3 to the columns logits\[0\].*1,2,3"):
        ogive.read(tmp_path / "a.npz", part="cal")
    preds = ogive.read(tmp_path / "a.npz", part="cal", classes=[1, 2, 3])
    assert preds.classes.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(preds.labels, y[cal])
    assert ogive.measure(preds).accuracy > 0.8


def test_names_of_labels_are_refused_and_given(tmp_path, good):
    z, y = good
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(wide(z, ["prob_0", "prob_1", "prob_2"], label=NAMES[y]), path)
    with pytest.raises(InvalidInput, match="`probs` must be >= 0"):
        ogive.read(path, classes=NAMES)
    pa.parquet.write_table(wide(z, ["logit_0", "logit_1", "logit_2"], label=NAMES[y]), path)
    words = "labels 'cat', 'dog', 'owl' to the columns logit_0, logit_1, logit_2"
    with pytest.raises(InvalidInput, match=f"{words}.*--classes cat,dog,owl"):
        ogive.read(path)
    with pytest.warns(PermutedLabels):
        given = ogive.read(path, classes=["owl", "cat", "dog"])
    np.testing.assert_array_equal(given.labels, (y + 1) % 3)
    with pytest.raises(InvalidInput, match=r"label 'owl' .*known classes: 'cat', 'dog', 'x'"):
        ogive.read(path, classes=["cat", "dog", "x"])


def test_columns_named_after_classes(tmp_path, good):
    z, y = good
    path = tmp_path / "a.parquet"
    names = ["logit_owl", "logit_cat", "logit_dog"]
    table = wide(z[:, [2, 0, 1]], names, label=NAMES[y], logit_note=["x"] * 600)
    pa.parquet.write_table(table.drop_columns("logit_note"), path)
    preds = ogive.read(path)
    assert preds.classes.tolist() == ["owl", "cat", "dog"]
    assert preds.classes[preds.labels].tolist() == NAMES[y].tolist()
    pa.parquet.write_table(wide(z, ["logit_1", "logit_2", "logit_3"], label=y + 1), path)
    np.testing.assert_array_equal(ogive.read(path).labels, y)
    pa.parquet.write_table(wide(z, names, label=y), path)
    with pytest.raises(InvalidInput, match=r"labels are numbers, but the columns are named owl"):
        ogive.read(path)
    with pytest.warns(PermutedLabels):
        assert ogive.read(path, classes=[2, 0, 1]).classes.tolist() == [2, 0, 1]


def test_a_score_beside_other_columns_stays_a_score(tmp_path):
    table = pa.table({"score": [0.2, 0.7], "outcome": [0, 1], "prob_a": ["x", "y"]})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    assert ogive.read(tmp_path / "a.parquet").one_column
    more = table.append_column("prob_b", pa.array(["x", "y"]))
    pa.parquet.write_table(more, tmp_path / "a.parquet")
    assert ogive.read(tmp_path / "a.parquet").one_column


def test_parts_that_differ_are_refused(tmp_path, good):
    z, y = good
    cal = np.arange(600) < 300
    labels = np.where(cal, y % 2, np.where(y == 0, 1, 3))  # 0 and 1; 1 and 3: three, one too high
    part = np.where(cal, "cal", "test")
    names = ["logit_0", "logit_1", "logit_2"]
    pa.parquet.write_table(wide(z, names, label=labels, part=part), tmp_path / "a.parquet")
    with pytest.raises(InvalidInput, match=r"cannot match the labels 0, 1, 3 to the columns"):
        ogive.read(tmp_path / "a.parquet", part="cal")


def test_files_read_together_have_one_mapping(tmp_path, good):
    z, y = good
    for name, at in (("a", y < 2), ("b", y > 0)):
        np.savez(tmp_path / f"{name}.npz", logits=z[at], labels=y[at] + 1)
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    with pytest.raises(InvalidInput, match="2 files: cannot match the labels 1, 2, 3"):
        read_together(files, None, None, None, default="test")
    given = Columns(classes=("1", "2", "3"))
    preds = read_together(files, given, None, None, default="test")
    np.testing.assert_array_equal(preds.labels, np.concatenate([y[y < 2], y[y > 0]]))


def test_many_classes_are_not_all_named():
    words = Classes(np.arange(1, 101), tuple(f"prob_{k}" for k in range(100)), "sorted").words
    assert words == "labels 1, 2, 3, …, 100 → columns prob_0, prob_1, prob_2, …, prob_99, sorted"


def test_permuted_labels_are_suspected(rng, good):
    z, y = good
    with pytest.warns(PermutedLabels, match=r"file: only \d\.\d % of the rows .* may be permuted"):
        assert ogive.Predictions(z, (y + 1) % 3, kind="logits", name="the file").mismatched
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not ogive.Predictions(z, y, kind="logits").mismatched
        for _ in range(200):  # a model that knows nothing and says so, of skewed classes
            labels = rng.choice(3, size=300, p=[0.7, 0.2, 0.1])
            ogive.Predictions(0.3 * rng.normal(size=(300, 3)), labels, kind="logits")
    with pytest.warns(PermutedLabels, match="at random would have 33"):  # sure, and at chance
        ogive.Predictions(4.0 * z, rng.integers(0, 3, 600), kind="logits")


def test_the_variance_of_right_rows_is_that_of_permutations(rng):
    a, b = rng.choice(3, 60, p=[0.6, 0.3, 0.1]), rng.choice(3, 60, p=[0.2, 0.5, 0.3])
    right = [int((a == rng.permutation(b)).sum()) for _ in range(20_000)]
    n, x, y = 60.0, *(np.bincount(c, minlength=3).astype(float) for c in (a, b))
    m = (x * y).sum() / n
    variance = (m**2 - (x * y * (x + y)).sum() / n + (x * y).sum()) / (n - 1)
    assert np.mean(right) == pytest.approx(m, rel=0.02)
    assert np.var(right) == pytest.approx(variance, rel=0.05)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npz"])
def test_text_outcomes(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    data = {"score": [0.2, 0.7, 0.9], "outcome": ["no", "yes", "yes"]}
    if suffix == ".npz":
        np.savez(path, scores=data["score"], outcomes=data["outcome"])
    elif suffix == ".csv":
        path.write_text("score,outcome\n0.2,no\n0.7,yes\n0.9,yes\n")
    else:
        pa.parquet.write_table(pa.table(data), path)
    assert ogive.read(path, positive="yes").labels.tolist() == [0, 1, 1]
    assert ogive.read(path, positive="no").labels.tolist() == [1, 0, 0]
    with pytest.raises(InvalidInput, match="must be 'Yes' or one other value, but is no, yes"):
        ogive.read(path, positive="Yes")
    with pytest.raises(OgiveError, match="--positive"):
        ogive.read(path)


def test_positive_and_renormalise_that_do_not_apply_are_refused(tmp_path, good):
    z, y = good
    np.savez(tmp_path / "a.npz", logits=z, labels=y)
    with pytest.raises(FileFormatError, match="--positive is for scores"):
        ogive.read(tmp_path / "a.npz", positive="yes")
    with pytest.raises(FileFormatError, match="--renormalise is for rows of probabilities"):
        ogive.read(tmp_path / "a.npz", renormalise=True)
    np.savez(tmp_path / "s.npz", scores=[0.5], outcomes=[1])
    with pytest.raises(FileFormatError, match="scores have no classes"):
        ogive.read(tmp_path / "s.npz", classes=["a", "b"])


def test_rounded_probabilities(tmp_path, rng):
    p = rng.dirichlet(np.ones(8), 400).round(2)
    np.savez(tmp_path / "a.npz", probs=p, labels=rng.integers(0, 8, 400))
    with pytest.raises(InvalidInput, match=r"Rounded\? Say renormalise=True \(--renormalise\)"):
        ogive.read(tmp_path / "a.npz")
    preds = ogive.read(tmp_path / "a.npz", renormalise=True)
    np.testing.assert_allclose(preds.probabilities(), p / p.sum(axis=1, keepdims=True), rtol=1e-12)
    np.savez(tmp_path / "a.npz", probs=100 * p, labels=rng.integers(0, 8, 400))
    with pytest.raises(InvalidInput, match=r"Percent\? Divide them by 100"):
        ogive.read(tmp_path / "a.npz")
    with pytest.raises(InvalidInput, match=r"Percent\? Divide them by 100"):
        ogive.Curve.from_scores([12.0, 97.5], [0, 1])


def save_wide(folder, z, y, names):
    folder.mkdir()
    half = y.size // 2
    for name, at in (("a", slice(None, half)), ("b", slice(half, None))):
        pa.parquet.write_table(wide(z[at], names, label=NAMES[y[at]]), folder / f"{name}.parquet")


def test_the_artifact_has_the_classes_and_checks_them(tmp_path, good, run):
    z, y = good
    file, cal = tmp_path / "a.parquet", tmp_path / "cal.json"
    pa.parquet.write_table(wide(z, ["logit_cat", "logit_dog", "logit_owl"], label=NAMES[y]), file)
    code, _, err = run("fit", file, "-o", cal, "--folds", "0")
    assert code == 0, err
    assert "labels 'cat', 'dog', 'owl' → columns logit_cat, logit_dog, logit_owl, by name" in err
    info = load_fitted_on(cal)
    assert info.classes == ("cat", "dog", "owl")
    assert info.K == 3
    assert run("apply", cal, file, "-o", tmp_path / "out.parquet")[0] == 0
    other = wide(z, ["logit_dog", "logit_cat", "logit_owl"], label=NAMES[y])
    pa.parquet.write_table(other, file)
    code, _, err = run("apply", cal, file, "-o", tmp_path / "out2.parquet")
    assert code == 1
    assert "fitted on columns of the classes cat, dog, owl" in err
    assert "has dog, cat, owl" in err
    np.savez(tmp_path / "two.npz", logits=z[:, :2])
    code, _, err = run("apply", cal, tmp_path / "two.npz", "-o", tmp_path / "out.npz")
    assert code == 1
    assert "fitted on 3 classes" in err


def test_a_log_of_named_columns_is_measured_fitted_and_applied(tmp_path, good, run):
    z, y = good
    save_wide(tmp_path / "log", z, y, ["logit_cat", "logit_dog", "logit_owl"])
    code, out, err = run("measure", tmp_path / "log", "--json")
    assert code == 0, err
    whole = ogive.measure(ogive.Predictions(z, y, kind="logits"))
    assert json.loads(out)["ks"] == pytest.approx(whole.ks_test.value)
    cal = tmp_path / "cal.json"
    assert run("fit", tmp_path / "log", "-o", cal, "--view", "top-1")[0] == 0
    assert load_fitted_on(cal).classes == ("cat", "dog", "owl")
    assert run("apply", cal, tmp_path / "log", "-o", tmp_path / "out")[0] == 0
    save_wide(tmp_path / "other", z, y, ["logit_0", "logit_1", "logit_2"])
    code, _, err = run("measure", tmp_path / "other")
    assert code == 1
    assert "--classes" in err
    code, out, err = run("measure", tmp_path / "other", "--classes", "cat,dog,owl", "--json")
    assert code == 0, err
    assert json.loads(out)["ks"] == pytest.approx(whole.ks_test.value)
    code, _, err = run("apply", cal, tmp_path / "other", "-o", tmp_path / "out2")
    assert code == 1
    assert "--classes cat,dog,owl" in err


def test_a_log_with_text_outcomes_and_rounded_probabilities(tmp_path, rng, run):
    folder = tmp_path / "log"
    folder.mkdir()
    s = rng.random(200).round(3)
    outcome = np.where(rng.random(200) < s, "yes", "no")
    for k, at in enumerate((slice(None, 90), slice(90, None))):
        table = pa.table({"score": s[at], "outcome": outcome[at]})
        pa.parquet.write_table(table, folder / f"{k}.parquet")
    code, out, err = run("measure", folder, "--positive", "yes", "--json")
    assert code == 0, err
    assert json.loads(out)["ks"] == pytest.approx(ogive.ks_error(s, outcome == "yes"))
    code, _, err = run("measure", folder, "--positive", "maybe")
    assert code == 1
    assert "must be 'maybe' or one other value" in err
    folder = tmp_path / "rounded"
    folder.mkdir()
    p, y = rng.dirichlet(np.ones(4), 200).round(2), rng.integers(0, 4, 200)
    for k, at in enumerate((slice(None, 90), slice(90, None))):
        table = wide(p[at], [f"prob_{i}" for i in range(4)], label=y[at])
        pa.parquet.write_table(table, folder / f"{k}.parquet")
    code, _, err = run("measure", folder)
    assert code == 1
    assert "--renormalise" in err
    code, out, err = run("measure", folder, "--renormalise", "--json")
    assert code == 0, err
    whole = ogive.Predictions(p, y, kind="probs", renormalise=True)
    assert json.loads(out)["ks"] == pytest.approx(ogive.measure(whole).ks_test.value)


def test_cal_and_test_of_other_classes_are_not_compared(good):
    z, y = good
    cal = ogive.Predictions(z[y < 2], y[y < 2] + 1, kind="logits", classes=[0, 1, 2])
    test = ogive.Predictions(z, y + 1, kind="logits")
    with pytest.raises(InvalidInput, match="the columns are 1, 2, 3 in one set and 0, 1, 2"):
        ogive.compare(cal, test, ["none"])


def test_a_long_name_is_not_a_class(tmp_path):
    columns = {"logit_0": [1.0, 2.0], "logit_1": [0.0, 1.0], "label": ["a", "b" * 10**6]}
    pa.parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(FileFormatError, match="a name of 1,000,000 characters"):
        ogive.read(tmp_path / "a.parquet")
