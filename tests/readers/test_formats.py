"""Files as others write them: separators, packed text, JSON lines, single arrays."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import ogive
from ogive.cli import main
from ogive.errors import FileFormatError, InvalidInput
from ogive.readers import open_file
from ogive.readers.csv_text import separator_of

ROWS = [("0.25", "0", "a;b"), ("0.5", "1", 'say "x", y'), ("0.75", "1", "c")]


def text(separator):
    def cell(word):
        return '"' + word.replace('"', '""') + '"' if any(c in word for c in ',;\t"') else word

    lines = [("score", "outcome", "note"), *ROWS]
    return "\n".join(separator.join(map(cell, line)) for line in lines) + "\n"


def write(path, content):
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(content.encode()))
    else:
        path.write_text(content)
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv"])
def test_separators_and_packed_text(tmp_path, separator, suffix):
    separator = "\t" if suffix == ".tsv" else separator
    path = write(tmp_path / f"a{suffix}", text(separator))
    assert separator_of(path) == separator
    preds = ogive.read(path)
    assert preds.values.tolist() == [0.25, 0.5, 0.75]
    assert preds.labels.tolist() == [0, 1, 1]
    assert open_file(path).rest.table["note"].to_pylist() == [row[2] for row in ROWS]
    curve = ogive.engines.local.read_log(path).curve
    assert ogive.ks_error(curve) == ogive.ks_error(preds.values, preds.labels)
    bad = write(tmp_path / f"b{suffix}", text(separator).replace("0.75", "high"))
    with pytest.raises(InvalidInput, match="line 4"):
        ogive.read(bad)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".jsonl"])
def test_what_is_applied_is_written_alike(tmp_path, suffix, rng):
    n = 300
    s = rng.random(n)
    y = (rng.random(n) < s**2).astype(int)
    separator = {".csv": ";", ".csv.gz": ",", ".tsv": "\t", ".jsonl": ""}[suffix]
    if suffix == ".jsonl":
        lines = [json.dumps({"score": a, "outcome": int(b)}) for a, b in zip(s, y, strict=True)]
        path = write(tmp_path / "a.jsonl", "\n".join(lines) + "\n")
    else:
        lines = [f"{a}{separator}{b}" for a, b in zip(s, y, strict=True)]
        path = write(
            tmp_path / f"a{suffix}", "\n".join([f"score{separator}outcome", *lines]) + "\n"
        )
    cal, out = tmp_path / "cal.json", tmp_path / f"out{suffix}"
    assert main(["fit", str(path), "-o", str(cal), "--folds", "0"]) == 0
    assert main(["apply", str(cal), str(path), "-o", str(out)]) == 0
    after = ogive.read(out)
    np.testing.assert_allclose(after.values, ogive.load(cal)(s), rtol=1e-12)
    assert after.labels.tolist() == y.tolist()
    if separator:
        assert separator_of(out) == separator


def test_json_lines(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [{"probs": [0.25, 0.75], "label": 1}, {"probs": [1, 0], "label": 0}]
    path.write_text("\n".join(map(json.dumps, rows)))
    preds = ogive.read(path)
    assert preds.values.tolist() == [[0.25, 0.75], [1.0, 0.0]]
    assert preds.labels.tolist() == [1, 0]
    path.write_text('{"score": 0.5, "outcome": 1}\n{"score": ')
    with pytest.raises(InvalidInput, match="line 2 cannot be read as JSON"):
        ogive.read(path)
    path.write_text('{"score": 0.5, "outcome": 1}\n{"outcome": 1}\n')
    with pytest.raises(FileFormatError, match="`score` has no value in 1 of 2 rows"):
        ogive.read(path)


def test_pairs_of_single_arrays(tmp_path, rng, capsys):
    s, y = rng.random(50), rng.integers(0, 2, 50)
    np.save(tmp_path / "s.npy", s)
    np.save(tmp_path / "y.npy", y)
    preds = ogive.read(tmp_path / "s.npy", labels=tmp_path / "y.npy")
    np.testing.assert_array_equal(preds.labels, y)
    assert main(["measure", str(tmp_path / "s.npy"), "--labels", str(tmp_path / "y.npy")]) == 0
    z, k = rng.normal(size=(50, 3)), rng.integers(0, 3, 50)
    np.save(tmp_path / "z.npy", z)
    np.save(tmp_path / "k.npy", k)
    with pytest.raises(
        FileFormatError, match=r"matrix of 3 columns.*--kind probs or --kind logits"
    ):
        ogive.read(tmp_path / "z.npy", labels=tmp_path / "k.npy")
    preds = ogive.read(tmp_path / "z.npy", labels=tmp_path / "k.npy", kind="logits")
    assert preds.kind == "logits"
    names = ["--labels", str(tmp_path / "k.npy"), "--kind", "logits"]
    cal, out = tmp_path / "cal.json", tmp_path / "out.npy"
    assert main(["fit", str(tmp_path / "z.npy"), "-o", str(cal), "--folds", "0", *names]) == 0
    done = main(["apply", str(cal), str(tmp_path / "z.npy"), "-o", str(out), "--kind", "logits"])
    assert done == 0
    np.testing.assert_allclose(np.load(out).sum(axis=1), 1.0, atol=1e-9)
    np.save(tmp_path / "o.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(FileFormatError, match="not a NumPy array of numbers"):
        ogive.read(tmp_path / "o.npy")
    capsys.readouterr()
    np.savez(tmp_path / "a.npz", scores=s, outcomes=y)
    assert main(["measure", str(tmp_path / "a.npz"), "--labels", str(tmp_path / "y.npy")]) == 2
    assert "--labels does not apply" in capsys.readouterr().err


def test_the_index_of_pandas_is_kept(tmp_path, rng):
    pd = pytest.importorskip("pandas")
    s = rng.random(200)
    frame = pd.DataFrame(
        {"score": s, "outcome": rng.random(200) < s},
        index=pd.Index([f"row {i}" for i in range(200)], name="patient"),
    )
    path, cal, out = (tmp_path / name for name in ("a.parquet", "cal.json", "out.parquet"))
    frame.to_parquet(path)
    assert main(["fit", str(path), "-o", str(cal), "--folds", "0"]) == 0
    assert main(["apply", str(cal), str(path), "-o", str(out)]) == 0
    assert pd.read_parquet(out).index.equals(frame.index)
    assert pa.parquet.read_table(out).num_rows == 200


def comma(number):
    return str(number).replace(".", ",")


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas_are_read_and_written(tmp_path, separator, rng):
    s = np.round(rng.random(300), 6)
    y = (rng.random(300) < s**2).astype(int)
    lines = [
        f"{comma(a)}{separator}{b}{separator}{comma(2 * a)}" for a, b in zip(s, y, strict=True)
    ]
    text = "\n".join([separator.join(["score", "outcome", "dose"]), *lines]) + "\n"
    path = write(tmp_path / "a.csv", text)
    np.testing.assert_array_equal(ogive.read(path).values, s)
    exact = ogive.ks_error(s, y)
    assert ogive.ks_error(ogive.engines.local.read_log(path).curve) == exact
    cal, out = tmp_path / "cal.json", tmp_path / "out.csv"
    assert main(["fit", str(path), "-o", str(cal), "--folds", "0"]) == 0
    assert main(["apply", str(cal), str(path), "-o", str(out)]) == 0
    np.testing.assert_allclose(ogive.read(out).values, ogive.load(cal)(s), rtol=1e-12)
    row = out.read_text().splitlines()[1].split(separator)
    assert "," in row[0]
    assert row[1:] == lines[0].split(separator)[1:]
    log = tmp_path / "log"
    log.mkdir()
    write(log / "a.csv", text)
    assert main(["apply", str(cal), str(log), "-o", str(tmp_path / "done")]) == 0
    done = pa.parquet.read_table(tmp_path / "done" / "a.csv.parquet")
    np.testing.assert_allclose(done["score"].to_numpy(), ogive.load(cal)(s), rtol=1e-12)
    assert done["dose"].to_pylist()[0] == row[2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("score;outcome\n0,25;1\n0.5;0\n", "such as 0,25, but is '0.5'. Use one decimal mark"),
        ("score;outcome\n0.25;1\n0,5;0\n", "such as 0.25, but is '0,5'. Decimal commas are"),
        ('score,outcome\n"0,25",1\n', "separated by ; or tab"),
        ("score;outcome\n1.000,5;1\n", "but is '1.000,5'"),
        ("score,outcome\n25.5%,1\n", "but is '25.5%'. Percent? Remove the sign, and divide"),
    ],
)
def test_mixed_decimal_marks_are_refused(tmp_path, text, message):
    path = write(tmp_path / "a.csv", text)
    with pytest.raises(InvalidInput, match=r"line [23]: `score`") as error:
        ogive.read(path)
    assert message in str(error.value)
    with pytest.raises(InvalidInput, match=r"line [23]: `score`"):
        ogive.engines.local.read_log(path)
    if len(text.splitlines()) > 2:
        assert ogive.engines.local.read_log(path, skip_bad=True).skipped == 1


OTHERS = {
    "id": "007",
    "day": "01.02.2024",
    "when": "2024-01-02",
    "x": "1.50",
    "none": "",
    "na": "NA",
}


def test_other_columns_of_csv_stay_the_text_they_were(tmp_path, rng):
    n = 200
    s = rng.random(n)
    labels = np.where(rng.random(n) < s, "01", "00")
    words = ",".join(OTHERS.values())
    lines = [f"{1 - a},{a},{b},{words}" for a, b in zip(s, labels, strict=True)]
    head = ",".join(["prob_00", "prob_01", "label", *OTHERS])
    path = write(tmp_path / "a.csv", "\n".join([head, *lines]) + "\n")
    cal, out = tmp_path / "cal.json", tmp_path / "out.csv"
    names = ["--classes", "0,1"]
    assert main(["fit", str(path), "-o", str(cal), "--folds", "0", *names]) == 0
    assert main(["apply", str(cal), str(path), "-o", str(out), *names]) == 0
    rows = [line.split(",") for line in out.read_text().splitlines()]
    assert rows[0][-len(OTHERS) :] == list(OTHERS)
    assert all(row[-len(OTHERS) :] == list(OTHERS.values()) for row in rows[1:])
    assert [row[rows[0].index("label")] for row in rows[1:]] == labels.tolist()
    (tmp_path / "log").mkdir()
    write(tmp_path / "log" / "a.csv", path.read_text())
    assert main(["apply", str(cal), str(tmp_path / "log"), "-o", str(tmp_path / "o"), *names]) == 0
    done = pa.parquet.read_table(tmp_path / "o" / "a.csv.parquet")
    assert {name: done[name].to_pylist()[0] for name in OTHERS} == OTHERS


def test_outcomes_in_words_stay_words(tmp_path, rng):
    s = rng.random(100)
    y = np.where(rng.random(100) < s, "yes", "no")
    path = write(tmp_path / "a.csv", "\n".join(["score,outcome", *map("{},{}".format, s, y)]))
    cal, out = tmp_path / "cal.json", tmp_path / "out.csv"
    yes = ["--positive", "yes"]
    assert main(["fit", str(path), "-o", str(cal), "--folds", "0", *yes]) == 0
    assert main(["apply", str(cal), str(path), "-o", str(out), *yes]) == 0
    assert [line.split(",")[1] for line in out.read_text().splitlines()[1:]] == y.tolist()


def json_rows(rng, n=300):
    s = rng.random(n)
    y = (rng.random(n) < s**2).astype(int)
    rows = [{"score": a, "outcome": b, "day": "2024-01-02", "id": "007", "tags": ["a"]}
            for a, b in zip(s.tolist(), y.tolist(), strict=True)]  # fmt: skip
    return s, y, rows


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".ndjson"])
def test_folders_of_json_lines_are_logs(tmp_path, suffix, rng, monkeypatch):
    monkeypatch.setattr("ogive.readers.json_lines._BYTES_PARSED_AT_ONCE", 1 << 12)
    s, y, rows = json_rows(rng)
    log = tmp_path / "log"
    log.mkdir()
    for i in range(3):
        lines = [json.dumps(row) for row in rows[100 * i : 100 * (i + 1)]]
        write(log / f"{i}{suffix}", "\n".join(lines) + "\n" * (i < 2))
    exact = ogive.ks_error(s, y)
    assert ogive.ks_error(ogive.engines.local.read_log(log).curve) == exact
    cal, out = str(tmp_path / "cal.json"), tmp_path / "out"
    assert main(["measure", str(log), "--by", "day"]) == 0
    assert main(["fit", str(log), "-o", cal, "--folds", "0"]) == 0
    assert main(["apply", cal, str(log), "-o", str(out)]) == 0
    done = pa.parquet.read_table(out)
    np.testing.assert_allclose(done["score"].to_numpy(), ogive.load(cal)(s), rtol=1e-12)
    assert done["day"].to_pylist() == ["2024-01-02"] * 300
    few = ["--split", "0.5", "--methods", "none,platt"]
    assert main(["compare", str(log), *few]) == 0
    assert main(["report", str(log), "-o", str(tmp_path / "r.html"), *few]) == 0
    one, again = log / f"0{suffix}", tmp_path / f"again{suffix}"
    assert main(["apply", cal, str(one), "-o", str(again)]) == 0
    unpacked = gzip.decompress(again.read_bytes()) if suffix.endswith("gz") else again.read_bytes()
    after = [json.loads(line) for line in unpacked.splitlines()]
    assert [row | {"score": 0} for row in after] == [row | {"score": 0} for row in rows[:100]]


def test_a_line_that_is_no_json_is_named(tmp_path, rng, monkeypatch):
    monkeypatch.setattr("ogive.readers.json_lines._BYTES_PARSED_AT_ONCE", 1 << 10)
    lines = [json.dumps(row) for row in json_rows(rng, 40)[2]]
    lines[30] = lines[30][:-9]
    path = write(tmp_path / "a.jsonl", "\n".join(lines))
    for read in (ogive.read, ogive.engines.local.read_log):
        with pytest.raises(InvalidInput, match=r"line 31 cannot be read as JSON.*Mend or remove"):
            read(path)
    monkeypatch.setattr("ogive.readers.json_lines.MAX_LINE_BYTES", 100)
    write(path, json.dumps({"score": 0.5, "outcome": 1, "note": "x" * 5000}))
    with pytest.raises(FileFormatError, match="line 1 is longer"):
        ogive.read(path)


def test_scores_out_of_range_are_named_as_in_the_file(tmp_path):
    path = write(tmp_path / "a.csv", "risk,outcome\n0.5,1\n75,0\n")
    with pytest.raises(InvalidInput, match=r"a.csv: `risk` must lie in \[0, 1\].*Percent\?"):
        ogive.read(path, score="risk")
    np.savez(tmp_path / "a.npz", scores=[0.5, 75], outcomes=[1, 0])
    with pytest.raises(InvalidInput, match=r"a.npz: `scores` must lie in \[0, 1\]"):
        ogive.read(tmp_path / "a.npz")
