"""The same rows in every format: with quotes, blank lines, marks and ends of lines that occur."""

import functools
import gzip
import json
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.special import expit

from tests import naive

N = 600


@functools.cache
def rows_of_scores():
    """Return columns of a table: ids, text with all that text may hold, weights, clusters."""
    rng = np.random.default_rng(0)
    eta = rng.normal(0, 1.5, N)
    notes = ["plain", "a, b", 'says "no"', "two\nlines", " blanks ", "ä€", "", "x;y\tz"]
    return {
        "id": [f"row {i}" for i in range(N)],
        "note": [notes[i % len(notes)] for i in range(N)],
        "score": expit(eta).round(6).tolist(),
        "outcome": (rng.random(N) < expit(0.6 * eta + 0.3)).astype(int).tolist(),
        "w": rng.integers(1, 5, N).tolist(),
        "c": rng.integers(0, N // 5, N).tolist(),
    }


def as_text(columns, separator=",", newline="\n", blank=0):
    """Return CSV with quotes where they are needed; a blank line after every so many rows."""

    def cell(value):
        text = str(value)
        special = any(mark in text for mark in (separator, '"', "\n", "\r")) or text != text.strip()
        return '"' + text.replace('"', '""') + '"' if special else text

    lines = [separator.join(columns)]
    for i, row in enumerate(zip(*columns.values(), strict=True)):
        lines.append(separator.join(map(cell, row)))
        lines += [""] * bool(blank and i % blank == blank - 1)
    return newline.join(lines) + newline


def write_csv(path, columns, *, bom=False, end=True, **how):
    text = as_text(columns, **how)
    text = text if end else text.rstrip("\r\n")
    path.write_bytes(b"\xef\xbb\xbf" * bom + text.encode())


def write_jsonl(path, columns, *, blank=0):
    lines = [
        json.dumps(dict(zip(columns, row, strict=True)))
        for row in zip(*columns.values(), strict=True)
    ]
    if blank:
        lines = [line + "\n" * (i % blank == 0) for i, line in enumerate(lines)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_parquet(path, columns):
    pq.write_table(pa.table(columns), path, row_group_size=100)


def packed(write):
    def write_packed(path, columns):
        write(path, columns)
        path.write_bytes(gzip.compress(path.read_bytes()))

    return write_packed


def write_npz(path, columns):
    np.savez(path, scores=columns["score"], outcomes=columns["outcome"])


#: name -> (ending, writer)
FILES = {
    "csv": (".csv", write_csv),
    "csv with a BOM": (".csv", partial(write_csv, bom=True)),
    "csv with CRLF": (".csv", partial(write_csv, newline="\r\n")),
    "csv with blank lines": (".csv", partial(write_csv, blank=7)),
    "csv without a last newline": (".csv", partial(write_csv, end=False)),
    "csv with semicolons": (".csv", partial(write_csv, separator=";")),
    "csv with all": (".csv", partial(write_csv, bom=True, newline="\r\n", blank=3, end=False)),
    "tsv": (".tsv", partial(write_csv, separator="\t")),
    "csv.gz": (".csv.gz", packed(write_csv)),
    "jsonl": (".jsonl", write_jsonl),
    "jsonl with blank lines": (".jsonl", partial(write_jsonl, blank=5)),
    "jsonl.gz": (".jsonl.gz", packed(write_jsonl)),
    "parquet": (".parquet", write_parquet),
    "npz": (".npz", write_npz),
}
TABLES = [name for name in FILES if name != "npz"]


def store(name, columns, folder, stem="rows"):
    ending, write = FILES[name]
    folder.mkdir(exist_ok=True)
    path = folder / f"{stem}{ending}"
    write(path, columns)
    return path


def as_log(name, columns, folder):
    """Store the rows as three files of one folder."""
    for i, at in enumerate(np.array_split(np.arange(N), [100, 350])):
        some = {key: [values[k] for k in at] for key, values in columns.items()}
        store(name, some, folder, f"{i}")
    return folder


def read_back(path):
    """Return the columns of a table, as its format has them: no reader of ogive has a part."""
    if path.is_dir():
        tables = [read_back(file) for file in sorted(path.rglob("*.parquet"))]
        return {name: [x for one in tables for x in one[name]] for name in tables[0]}
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pydict()
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = data.decode("utf-8-sig")
    if ".jsonl" in path.name:
        found = [json.loads(line) for line in text.splitlines() if line.strip()]
        return {name: [row[name] for row in found] for name in found[0]}
    separator = max("\t;,", key=text.splitlines()[0].count)
    head, *found = naive.csv_records(text, separator)
    return {name: [row[i] for row in found] for i, name in enumerate(head)}
