"""Damaged files: a small corpus made in code, mutants of it, and what a reader may do with them.

``check_reader_once(seed, format)`` makes one mutant and reads it: it must come out as sensible
predictions, or as one of our errors with the name of the file. ``python -m tests.readers.mutants
FORMAT FIRST COUNT`` does so many times in a process that a crash may end, with a limit of memory
and of time.
"""

import faulthandler
import gzip
import io
import json
import math
import pickle
import struct
import sys
import tempfile
import warnings
import zipfile
from functools import cache
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import ogive
from ogive.engines import local
from ogive.errors import OgiveError

FORMATS = ("npz", "parquet", "csv", "pkl", "h5", "tsv", "csv.gz", "jsonl", "npy")
TABLES = ("parquet", "csv", "tsv", "csv.gz")
TEXTS = ("csv", "tsv", "jsonl")
SECONDS = 20  # that one mutant may take
MEMORY = 6 << 30  # of address space, most of which is the libraries'
_EXTREMES = (0, 1, 2, 7, 0x7F, 0xFF, 0x7FFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, 2**63 - 1, 2**64 - 1)
_DOUBLES = (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 1.0000001, -1e-9, 2.0**53)
_WORDS = ('"', '""', '",', "\n", "\r", "\n\n", ",", ",,", "\0", "1_0", "٣", "NaN", "inf", "1e999",
          "-0", "0x1p-2", "½", "\ufeff", "cal", "9" * 400, "é", "part,", "true")  # fmt: skip


def _rows():
    rng = np.random.default_rng(7)
    z = rng.normal(size=(60, 3)).astype(np.float32)
    y = rng.integers(0, 3, 60)
    s = rng.random(60)
    return z, y, s, (rng.random(60) < s).astype(np.int8)


def _tables():
    z, y, s, hit = _rows()
    wide = {f"logit_{k}": z[:, k].astype(float) for k in range(3)}
    names = np.array(["cat", "dog", "owl"])[y]
    part = ["cal" if i % 3 else "test" for i in range(60)]
    yield pa.table({"score": s, "outcome": hit, "weight": s + 0.5})
    yield pa.table({"id": np.arange(60), **wide, "label": y, "part": part})
    named = {f"logit_{name}": z[:, k].astype(float) for k, name in enumerate(("cat", "dog", "owl"))}
    yield pa.table({**named, "label": names})
    yield pa.table({"note": ['a "quoted", cell'] * 60, "score": s, "outcome": hit == 1})
    yield pa.table({"logits": z.tolist(), "label": pa.array(y).dictionary_encode()})
    yield pa.table(
        {
            "probs": pa.FixedSizeListArray.from_arrays(pa.array(np.full(180, 1 / 3)), 3),
            "label": pa.array(y).dictionary_encode(),
            "part": pa.array(part, pa.large_string()),
        }
    )


def _write_npz(folder):
    z, y, s, hit = _rows()
    np.savez(folder / "0.npz", logits=z, labels=y, weights=s)
    np.savez_compressed(folder / "1.npz", cal_scores=s, cal_outcomes=hit, test_scores=s,
                        test_outcomes=hit == 1)  # fmt: skip
    names = np.array(["cat", "dog", "owl"])[y]
    packed = {"probs": np.full((60, 3), 1 / 3), "labels": names, "other": z}
    np.savez_compressed(folder / "2.npz", classes=["cat", "dog", "owl"], **packed)
    np.savez(folder / "3.npz", logits=np.asfortranarray(z), labels=y.astype(np.uint8))


def _write_tables(folder, suffix):
    for i, table in enumerate(_tables()):
        path = folder / f"{i}.{suffix}"
        if suffix == "parquet":
            packed = {"compression": "zstd", "data_page_version": "2.0"}
            how = [{}, packed, {"use_dictionary": False}]
            pa.parquet.write_table(table, path, row_group_size=25, **how[i % 3])
        elif not any(pa.types.is_nested(kind) for kind in table.schema.types):
            separator = pa.csv.WriteOptions(delimiter="\t" if suffix == "tsv" else ",")
            with gzip.open(path, "wb") if suffix == "csv.gz" else path.open("wb") as file:
                pa.csv.write_csv(table, file, separator)


def _write_jsonl(folder):
    for i, table in enumerate(_tables()):
        lines = [json.dumps(row) + "\n" for row in table.to_pylist()]
        (folder / f"{i}.jsonl").write_text("".join(lines), encoding="utf-8")


def _write_npy(folder):
    z, _, s, _ = _rows()
    for i, array in enumerate((z, np.asfortranarray(z), s, s.astype(np.float16))):
        np.save(folder / f"{i}.npy", array)


def _write_pkl(folder):
    z, y, _, _ = _rows()
    content = ((z[:40], y[:40]), (z[40:], y[40:, None]))
    for protocol in (0, 2, 3, 4, 5):
        (folder / f"{protocol}.pkl").write_bytes(pickle.dumps(content, protocol=protocol))


def _write_h5(folder):
    z, y, s, hit = _rows()
    p = ogive.Predictions(z, y, kind="logits").probabilities()
    for i, how in enumerate(({}, {"chunks": True, "compression": "gzip"})):
        with h5py.File(folder / f"{i}.h5", "w") as file:
            for part in ("cal", "test"):
                file.create_dataset(f"adult/tree/probas_{part}", data=p if i else s, **how)
                file.create_dataset(f"adult/tree/labels_{part}", data=y if i else hit, **how)


@cache
def corpus(format):  # noqa: A002
    """The good files of a format, as bytes, in order of name."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if format in TABLES:
            _write_tables(folder, format)
        else:
            globals()[f"_write_{format}"](folder)
        return [path.read_bytes() for path in sorted(folder.iterdir())]


def mutant(seed, format):  # noqa: A002
    """A good file after one to four injuries."""
    rng = np.random.default_rng([seed, FORMATS.index(format)])
    files = corpus(format)
    raw = bytearray(files[rng.integers(len(files))])
    other = files[rng.integers(len(files))]
    inside = format in {"npz", "csv.gz"} and rng.random() < 0.5
    if inside and format == "npz":
        return _mutant_inside(raw, rng)
    if inside:
        raw, other = bytearray(gzip.decompress(raw)), gzip.decompress(other)
    for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
        raw = _injured(raw, other, rng, text=inside or format in TEXTS)
    return gzip.compress(raw) if inside else bytes(raw)


def _mutant_inside(raw, rng):
    """An archive whose checksums are right and whose arrays are damaged."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(out, "w") as new:
        members = old.namelist()
        hurt = members[rng.integers(len(members))]
        for name in members:
            content = bytearray(old.read(name))
            twice = 1 + (name == hurt and rng.random() < 0.1)
            if name == hurt:
                content = _injured(content, bytes(content), rng, text=False, near=128)
            for _ in range(twice):
                new.writestr(name, bytes(content))
    return out.getvalue()


def _injured(raw, other, rng, *, text, near=None):
    n = len(raw)
    if n == 0:
        return raw
    at = int(rng.integers(min(n, near) if near and rng.random() < 0.7 else n))
    kind = rng.integers(9 if text else 7)
    if kind == 0:
        raw[at] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        end = n if rng.random() < 0.2 else at + int(rng.integers(1, 64))
        del raw[at:end]
    elif kind == 2:  # a block of another file
        start, size = int(rng.integers(len(other))), int(rng.integers(1, 200))
        raw[at : at + size] = other[start : start + size]
    elif kind == 3:  # a block twice
        size = int(rng.integers(1, 200))
        raw[at:at] = raw[at : at + size]
    elif kind == 4:  # a length or an offset
        width = int(rng.choice([1, 2, 4, 8]))
        value = int(_EXTREMES[rng.integers(len(_EXTREMES))]) & (256**width - 1)
        raw[at : at + width] = value.to_bytes(width, "little" if rng.random() < 0.9 else "big")
    elif kind == 5:
        at -= at % 8
        raw[at : at + 8] = struct.pack("<d", _DOUBLES[rng.integers(len(_DOUBLES))])
    elif kind == 6:  # a length a little off
        at -= at % 4
        old = int.from_bytes(raw[at : at + 4], "little")
        raw[at : at + 4] = ((old + int(rng.integers(-9, 10))) % 2**32).to_bytes(4, "little")
    else:
        word = _WORDS[rng.integers(len(_WORDS))].encode()
        raw[at : at + int(rng.integers(2))] = word
    return raw


def check_reader_once(seed, format):  # noqa: A002
    """Read one mutant as a file, and as a log if it is a table; return what came of it."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, f"mutant-{seed}.{format}")
        path.write_bytes(mutant(seed, format))
        how = {"part": "all"} if format != "npy" else {}
        if format == "npy" and mutant_is_matrix(path):
            how = {"kind": "logits"}
        result = _tried(lambda: _check_predictions(ogive.read(path, **how)), path)
        if format in (*TABLES, "jsonl"):
            result += ", " + _tried(lambda: _check_log(path), path)
    return result


def mutant_is_matrix(path):
    """Tell what an array's header says, as a user would who knows the file; False if damaged."""
    return b", 3)" in path.read_bytes()[:128]


def _tried(work, path):
    try:
        work()
    except OgiveError as error:
        said = str(error)
        assert str(path) in said, f"the error does not name the file: {said}"
        assert "\n" not in said, f"more than one line: {said!r}"
        return "refused"
    except AssertionError:
        raise
    except BaseException as error:
        msg = f"{path.name}: {type(error).__name__}: {error}"
        raise AssertionError(msg) from error
    return "read"


def _check_predictions(preds):
    p = preds.probabilities()
    assert preds.n == p.shape[0] > 0
    assert np.isfinite(p).all()
    assert ((p >= 0) & (p <= 1)).all()
    assert preds.labels is None or ((preds.labels >= 0) & (preds.labels < preds.K)).all()
    assert preds.sample_weight is None or np.isfinite(preds.sample_weight).all()


def _check_log(path):
    reading = local.read_log(path, n_jobs=1, memory="500MB")
    assert reading.rows >= 0
    for curve in reading.curves.values():
        ks = ogive.ks_error(curve)
        assert math.isfinite(curve.n)  # with weights it may be a very long integer
        assert 0 <= ks <= 1, ks


def main(format, first, count):  # noqa: A002
    """Check mutants one after the other; a hang or a crash ends the process."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    results = {}
    for seed in range(int(first), int(first) + int(count)):
        sys.stderr.write(f"{seed}\r")
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        result = check_reader_once(seed, format)
        results[result] = results.get(result, 0) + 1
    faulthandler.cancel_dump_traceback_later()
    sys.stdout.write(f"{format} {results}\n")


if __name__ == "__main__":
    faulthandler.enable()
    main(*sys.argv[1:])
