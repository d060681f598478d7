import pickle

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import ogive
from ogive.errors import FileFormatError, InvalidInput, OgiveError, UnknownName
from ogive.readers import open_file
from ogive.readers.multi_file import expand, read_together, two_parts, write_like
from ogive.readers.source import Calibrated
from tests.readers.bad_files import BAD_FILES

h5py = pytest.importorskip("h5py")


@pytest.fixture
def logits(rng):
    return rng.normal(size=(40, 3)).astype(np.float32), rng.integers(0, 3, 40)


def write_table(table, path):
    writer = {".parquet": pa.parquet.write_table, ".csv": pa.csv.write_csv}
    writer[path.suffix](table, path)


TABLES = [".parquet", ".csv"]


def test_npz_of_each_kind(tmp_path, logits):
    z, y = logits
    np.savez(tmp_path / "a.npz", logits=z, labels=y, weights=np.ones(40))
    preds = ogive.read(tmp_path / "a.npz")
    np.testing.assert_array_equal(preds.values, z)
    np.testing.assert_array_equal(preds.labels, y)
    assert preds.sample_weight.sum() == 40
    p = preds.probabilities()
    np.savez(tmp_path / "b.npz", probs=p, labels=y)
    assert ogive.read(tmp_path / "b.npz").kind == "probs"
    np.savez(tmp_path / "c.npz", cal_scores=p[:, 1], cal_outcomes=y == 1, test_scores=p[:9, 1])
    assert ogive.read(tmp_path / "c.npz", part="cal").n == 40
    assert ogive.read(tmp_path / "c.npz", part="test").labels is None
    assert ogive.read(tmp_path / "c.npz", part="all").n == 49


@pytest.mark.parametrize("suffix", TABLES)
def test_tables_of_scores(tmp_path, suffix, rng):
    s = rng.random(20)
    table = pa.table({"id": list(range(20)), "score": s, "outcome": (s > 0.5).astype(np.int8)})
    write_table(table, tmp_path / f"t{suffix}")
    preds = ogive.read(tmp_path / f"t{suffix}")
    np.testing.assert_array_equal(preds.values, s)
    assert preds.labels.tolist() == (s > 0.5).astype(int).tolist()
    named = table.rename_columns(["id", "p", "y"])
    write_table(named, tmp_path / f"n{suffix}")
    again = ogive.read(tmp_path / f"n{suffix}", score="p", outcome="y", weight="id")
    np.testing.assert_array_equal(again.values, s)
    assert again.sample_weight.tolist() == list(range(20))


@pytest.mark.parametrize("suffix", TABLES)
def test_tables_of_wide_logits_and_parts(tmp_path, suffix, logits):
    z, y = logits
    columns = {f"logit_{k}": z[:, k].astype(float) for k in (2, 0, 1)}
    names = np.array(["cat", "dog", "owl"])[y]
    part = ["cal" if i % 2 else "test" for i in range(40)]
    write_table(pa.table({**columns, "label": names, "part": part}), tmp_path / f"w{suffix}")
    classes = ["cat", "dog", "owl"]
    with pytest.raises(InvalidInput, match=r"'cat', 'dog', 'owl' to the .*--classes cat,dog,owl"):
        ogive.read(tmp_path / f"w{suffix}", part="test")
    preds = ogive.read(tmp_path / f"w{suffix}", part="test", classes=classes)
    np.testing.assert_allclose(preds.values, z[::2], rtol=1e-6)
    assert preds.classes[preds.labels].tolist() == names[::2].tolist()
    with pytest.raises(FileFormatError, match="has parts: cal and test"):
        ogive.read(tmp_path / f"w{suffix}", classes=classes)
    with pytest.raises(UnknownName, match="Did you mean 'test'"):
        ogive.read(tmp_path / f"w{suffix}", part="tests", classes=classes)


def test_tables_with_a_list_column(tmp_path, logits):
    z, y = logits
    table = pa.table({"logits": z.tolist(), "label": pa.array(y).dictionary_encode()})
    write_table(table, tmp_path / "l.parquet")
    preds = ogive.read(tmp_path / "l.parquet")
    np.testing.assert_allclose(preds.values, z, rtol=1e-7)
    np.testing.assert_array_equal(preds.labels, y)


def test_the_paper_s_pickles_of_every_protocol(tmp_path, logits):
    z, y = logits
    content = ((z[:30], y[:30, None]), (z[30:], y[30:, None]))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        path = tmp_path / f"probs_{protocol}_logits.p"
        path.write_bytes(pickle.dumps(content, protocol=protocol))
        cal, test = (ogive.read(path, part=part) for part in ("cal", "test"))
        np.testing.assert_array_equal(cal.values, z[:30])
        np.testing.assert_array_equal(test.labels, y[30:])


def test_a_pickle_of_python_2(tmp_path):
    # What Python 2 and an old NumPy wrote for ((a, b), (a, b)), a = array([[1.]], '<f4'),
    # b = array([[0]], '<i8'), protocol 0; the older module name and text instead of bytes.
    def array(code, shape, numbers):
        return (
            b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR(I1\n"
            + shape
            + b"cnumpy\ndtype\n(S'"
            + code
            + b"'\nI0\nI1\ntR(I3\nS'<'\nNNNI-1\nI-1\nI0\ntbI00\nS'"
            + numbers
            + b"'\ntb"
        )

    shape = b"(I1\nI1\nt"
    a = array(b"f4", shape, b"\\x00\\x00\\x80?")
    b = array(b"i8", shape, b"\\x00" * 8)
    pair = b"(" + a + b + b"t"
    path = tmp_path / "old.p"
    path.write_bytes(b"(" + pair + pair + b"t.")
    part = open_file(path).part("test")
    assert part.values.tolist() == [[1.0]]
    assert part.labels.tolist() == [0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1, 2, 3], "is not \\(\\(cal_logits"),
        ((np.ones(3), np.ones(3)), "is not \\(\\(cal_logits"),
        (((np.array(["a"]), 1), (2, 3)), "asks for an array of type 'U1'"),
        (print, "asks for builtins.print"),
        (ogive.Curve.from_scores([0.5], [1]), "asks for ogive.curve.curve.Curve"),
    ],
)
def test_other_pickles_are_refused(tmp_path, content, message):
    path = tmp_path / "x.pkl"
    path.write_bytes(pickle.dumps(content))
    with pytest.raises(FileFormatError, match=message):
        open_file(path)


def test_calarena_files(tmp_path, logits):
    z, y = logits
    p = ogive.Predictions(z, y, kind="logits").probabilities()
    with h5py.File(tmp_path / "arena.h5", "w") as file:
        for name in ("adult/tree", "wine/forest"):
            for part in ("cal", "test"):
                file[f"{name}/probas_{part}"] = p
                file[f"{name}/labels_{part}"] = y
    preds = ogive.read(tmp_path / "arena.h5", part="cal", experiment="wine/forest")
    np.testing.assert_array_equal(preds.values, p)
    with pytest.raises(FileFormatError, match=r"2 experiments\. Name one: adult/tree"):
        ogive.read(tmp_path / "arena.h5", part="cal")
    with pytest.raises(UnknownName, match="Did you mean 'wine/forest'"):
        ogive.read(tmp_path / "arena.h5", part="cal", experiment="wine/forrest")


@pytest.mark.parametrize(("name", "write", "message"), BAD_FILES, ids=[b[0] for b in BAD_FILES])
def test_bad_files_are_refused_in_words(tmp_path, name, write, message):
    path = tmp_path / name
    write(path)
    with pytest.raises(OgiveError, match=message) as caught:
        ogive.read(path)
    assert str(path) in str(caught.value)
    assert not (tmp_path / "proof-that-it-ran").exists()


TABLE_FAULTS = [
    ({"score": [0.1, None], "outcome": [0, 1]}, "`score` has no value in 1 of 2 rows"),
    ({"score": ["a", "b"], "outcome": [0, 1]}, "`score` must be numbers"),
    ({"p": [0.1], "y": [0]}, "no known columns"),
    ({"logit_0": [0.1], "logit_2": [0.2], "label": [0]}, "without a gap"),
    ({"logits": [[0.1, 0.2], [0.3]], "label": [0, 1]}, "one number for each class"),
    ({"score": [0.1], "outcome": [0], "part": ["train"]}, "`part` must be cal or test.*'train'"),
    ({"score": pa.array([], pa.float64())}, "no rows"),
]


@pytest.mark.parametrize(("columns", "message"), TABLE_FAULTS)
def test_faults_of_tables(tmp_path, columns, message):
    write_table(pa.table(columns), tmp_path / "t.parquet")
    with pytest.raises(OgiveError, match=message):
        ogive.read(tmp_path / "t.parquet")


def test_a_misspelt_column_names_the_nearest(tmp_path):
    write_table(pa.table({"probability": [0.1], "y": [1]}), tmp_path / "t.parquet")
    with pytest.raises(UnknownName, match="Did you mean 'probability'"):
        ogive.read(tmp_path / "t.parquet", score="probabilty")


def test_suffixes_and_folders(tmp_path, rng):
    with pytest.raises(FileFormatError, match=r"end in '\.txt' cannot be read"):
        ogive.read(tmp_path / "x.txt")
    with pytest.raises(FileFormatError, match="log: no such file or folder"):
        ogive.read(tmp_path / "log")
    with pytest.raises(FileFormatError, match="is a folder"):
        open_file(_folder(tmp_path / "f.npz"))
    folder = _folder(tmp_path / "log")
    for day in range(3):
        s = rng.random(10)
        write_table(pa.table({"score": s, "outcome": s > 0.5}), folder / f"{day}.parquet")
    (folder / "README").write_text("not data")
    assert len(expand([folder])) == len(expand([folder / "*.parquet"])) == 3
    assert read_together([folder], None, None, None, default="test").n == 30
    with pytest.raises(FileFormatError, match="no files of predictions"):
        expand([_folder(tmp_path / "void")])
    np.savez(folder / "z.npz", logits=np.eye(3) * 4, labels=[0, 1, 2])
    with pytest.raises(FileFormatError, match="must hold the same kind"):
        read_together([folder], None, None, None, default="test")


def _folder(path):
    path.mkdir()
    return path


def test_two_parts_or_a_split(tmp_path, rng):
    s = rng.random(100)
    np.savez(tmp_path / "a.npz", scores=s, outcomes=s > 0.5)
    source = open_file(tmp_path / "a.npz")
    with pytest.raises(FileFormatError, match=r"--split 0\.5"):
        two_parts(source)
    cal, test = two_parts(source, 0.3, random_state=1)
    assert (cal.n, test.n) == (30, 70)
    assert sorted([*cal.values, *test.values]) == sorted(s)
    np.savez(tmp_path / "b.npz", cal_scores=s, cal_outcomes=s > 0.5)
    with pytest.raises(FileFormatError, match="has no test part"):
        two_parts(open_file(tmp_path / "b.npz"))


@pytest.mark.parametrize("suffix", TABLES)
def test_a_table_is_written_with_its_other_columns_in_its_order(tmp_path, suffix, rng):
    s = rng.random(8)
    part = ["cal", "test"] * 4
    table = pa.table({"id": list("abcdefgh"), "score": s, "outcome": s > 0.5, "part": part})
    write_table(table, tmp_path / f"t{suffix}")
    source = open_file(tmp_path / f"t{suffix}")
    write_like(
        source,
        tmp_path / f"out{suffix}",
        {"cal": Calibrated(s[::2] / 2), "test": Calibrated(s[1::2] / 2)},
    )
    again = open_file(tmp_path / f"out{suffix}")
    assert again.rest.table.column_names == ["id", "score", "outcome", "part"]
    scores = again.rest.table["score"].cast(pa.float64())  # of CSV it is text
    np.testing.assert_allclose(scores.to_numpy(), s / 2)
    assert again.rest.table["id"].to_pylist() == list("abcdefgh")


def test_a_view_s_scores_and_vectors_take_the_place_of_logits(tmp_path, logits):
    z, y = logits
    p = ogive.Predictions(z, y, kind="logits").probabilities()
    columns = {f"logit_{k}": z[:, k] for k in range(3)}
    write_table(pa.table({"id": y, **columns, "label": y}), tmp_path / "w.parquet")
    source = open_file(tmp_path / "w.parquet")
    write_like(source, tmp_path / "s.parquet", {"": Calibrated(p[:, 0], y == 0)})
    table = open_file(tmp_path / "s.parquet").rest.table
    assert table.column_names == ["id", "score", "outcome", "label"]
    write_like(source, tmp_path / "v.parquet", {"": Calibrated(p)})
    again = ogive.read(tmp_path / "v.parquet")
    assert again.kind == "probs"
    np.testing.assert_array_equal(again.values, p)
    np.savez(tmp_path / "a.npz", cal_logits=z, cal_labels=y, cal_id=y)
    write_like(open_file(tmp_path / "a.npz"), tmp_path / "b.npz", {"cal": Calibrated(p)})
    with np.load(tmp_path / "b.npz") as arrays:
        assert sorted(arrays) == ["cal_id", "cal_labels", "cal_probs"]


def test_what_cannot_be_written_is_said(tmp_path, logits):
    z, y = logits
    path = tmp_path / "x.p"
    path.write_bytes(pickle.dumps(((z, y), (z, y))))
    source = open_file(path)
    results = {part: Calibrated(z[:, 0] * 0, y == 0) for part in ("cal", "test")}
    with pytest.raises(FileFormatError, match="never written"):
        write_like(source, tmp_path / "y.p", results)
    write_like(source, tmp_path / "y.npz", results)
    assert ogive.read(tmp_path / "y.npz", part="test").n == 40
    with pytest.raises(FileFormatError, match="the kind of file that came in"):
        write_like(source, tmp_path / "y.csv", results)


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("score,score,outcome\n0.1,0.2,0\n0.3,0.4,1\n")
    with pytest.raises(FileFormatError, match="more than one column `score`"):
        ogive.read(path)


def test_what_weights_mean_is_said(tmp_path):
    file = tmp_path / "w.npz"
    np.savez(file, scores=[0.9, 0.2], outcomes=[1, 0], weights=[1.0, 2.5])
    assert ogive.read(file).weight_kind == "repetition"
    assert ogive.read(file, weight_kind="sampling").weight_kind == "sampling"
    with pytest.raises(ogive.errors.UnknownName, match="weight_kind"):
        ogive.read(file, weight_kind="survey")
