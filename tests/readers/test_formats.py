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
    with pytest.raises(FileFormatError, match="cannot be read as jsonl"):
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
