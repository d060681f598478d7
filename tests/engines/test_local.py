"""The local engine: any cut of any files, bounded, with bad rows named or counted."""

import os
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from ogive import Curve, Predictions, brier_vector, ks_error, nll_vector
from ogive.engines import find_engine, local
from ogive.engines.files import open_log
from ogive.engines.pieces import count_piece, piece_batches
from ogive.errors import FileFormatError, InvalidInput, OgiveWarning, UnknownName
from ogive.readers.memory import parse_memory
from ogive.readers.source import Columns
from tests.engines.contract import UNLIKE, AsLocal
from tests.engines.tables import exact, logits_table, scores_table, store


@pytest.fixture
def log(tmp_path):
    """The same 3,000 rows in a folder of three kinds of files."""
    table = scores_table(3000)
    for i, name in enumerate(["a.parquet", "b.csv", "sub/c.jsonl"]):
        store(table.slice(1000 * i, 1000), tmp_path / "log" / name)
    (tmp_path / "log" / "_SUCCESS").touch()
    store(table, tmp_path / "log" / ".hidden.parquet")
    return tmp_path / "log"


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("bits", [None, 6])
def test_a_folder_is_one_log(log, n_jobs, bits):
    reading = local.read_log(log, bits=bits, n_jobs=n_jobs)
    want = exact(scores_table(3000))
    assert (reading.rows, reading.skipped) == (3000, 0)
    assert ks_error(reading.curve) == pytest.approx(ks_error(want), abs=1e-12)
    assert reading.curve.summary() == want.summarised(bits or 52).summary()


def test_files_globs_and_folders_add_up(log):
    whole = local.curve(log)
    assert local.curve([log / "a.parquet", log / "b.csv", log / "sub"]) == whole
    assert local.curve(f"{log}/**/*.*") == whole
    assert local.curve(str(log / "*.parquet")).n == 1000
    with pytest.warns(OgiveWarning, match="already in the list; its rows are counted once"):
        assert local.curve([log, log / "b.csv"]) == whole


def test_short_logs_are_exact_and_long_ones_read_twice(log):
    assert local.read_log(log).passes == 1
    assert local.curve(log).is_exact
    assert local.read_log(log, bits=6).passes == 2
    assert local.read_log(log, bits=6, one_pass=True).passes == 1


def test_progress_knows_how_much_is_left(log):
    told = []
    local.read_log(log / "a.parquet", bits=5, progress=lambda *step: told.append(step), n_jobs=1)
    assert [step for step in told if step[0] == "reading"][-1] == ("reading", 1000, 1000)
    assert told[-1] == ("reading again (2)", 1000, 1000)
    told.clear()
    local.read_log(log / "b.csv", progress=lambda *step: told.append(step))
    size = (log / "b.csv").stat().st_size
    assert told[-1] == ("reading", size, size)


@pytest.mark.parametrize(
    ("suffix", "lists"),  # CSV has no lists
    [(".parquet", False), (".parquet", True), (".jsonl", False), (".jsonl", True), (".csv", False)],
)
def test_matrices(tmp_path, suffix, lists):
    store(logits_table(lists=lists), tmp_path / f"a{suffix}")
    views = ("top-1", "within-top-2", "class-wise")
    reading = local.read_log(tmp_path, views, vectors=True)
    for (view, _), curve in reading.curves.items():
        want = ks_error(exact(logits_table(), view))
        assert ks_error(curve) == pytest.approx(want, abs=1e-12 if suffix != ".csv" else 1e-6)
    table = logits_table()
    values = np.stack([table[f"logit_{k}"].to_numpy() for k in range(4)], axis=1)
    preds = Predictions(values, table["label"], kind="logits")
    tolerance = 1e-11 if suffix != ".csv" else 1e-6
    want = (brier_vector(preds), nll_vector(preds))
    assert reading.vectors == pytest.approx(want, abs=tolerance)


def test_groups_from_a_column_and_from_folders(tmp_path):
    table = scores_table(2000)
    countries = ["DE", "FR"]
    for i, name in enumerate(countries):
        store(table.slice(1000 * i, 1000), tmp_path / "log" / f"country={name}" / "0.parquet")
    both = table.append_column("country", pa.array(np.repeat(countries, 1000)))
    store(both, tmp_path / "flat.parquet")
    folders = local.group_curves(tmp_path / "log", "country")
    flat = local.group_curves(tmp_path / "flat.parquet", "country")
    assert set(folders) == set(countries)
    for name in countries:
        assert folders[name] == flat[name]
    with pytest.raises(UnknownName, match=r"unknown column of .*'contry'.*Did you mean 'country'"):
        local.group_curves(tmp_path / "flat.parquet", "contry")


def test_many_groups_outgrow_a_small_memory(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    table = scores_table(4000, who=rng.integers(0, 500, 4000))
    store(table, tmp_path / "a.parquet")
    monkeypatch.setattr("ogive.engines.tally._BYTES_PER_ROW", 10**6)
    words = r"summaries of 500 curves do not fit .* 1 GB: --memory (\d+)GB is enough, or use a"
    with pytest.raises(InvalidInput, match=words) as caught:
        local.group_curves(tmp_path, "who", bits=7)
    enough = re.search(words, str(caught.value))[1]  # the advice is true
    assert len(local.group_curves(tmp_path, "who", bits=7, memory=f"{enough}GB")) == 500


def test_weights_do_not_depend_on_threads(tmp_path):
    rng = np.random.default_rng(1)
    for i in range(4):
        table = scores_table(500, seed=i, weight=rng.random(500))
        store(table, tmp_path / f"{i}.parquet")
    one, three = (local.curve(tmp_path, n_jobs=n) for n in (1, 3))
    assert one == three
    whole = pa.concat_tables(pq.read_table(tmp_path / f"{i}.parquet") for i in range(4))
    assert ks_error(one) == pytest.approx(ks_error(exact(whole)), abs=1e-12)


def test_pieces_are_row_groups_and_know_their_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("ogive.engines.formats.PIECE", 600)
    store(scores_table(1500), tmp_path / "a.parquet")
    log = open_log(tmp_path)
    assert [(p.first, p.rows) for p in log.pieces] == [(0, 666), (666, 666), (1332, 168)]
    assert count_piece(log.pieces[1], log.plan()).rows == 666


# Trouble -----------------------------------------------------------------------------------------


def bad_file(tmp_path, name, row, **cells):
    """A log of two files; one row of the second is bad."""
    table = scores_table(1000)
    store(table, tmp_path / "a.parquet")
    rows = table.to_pylist()
    rows[row] |= cells
    return store(pa.Table.from_pylist(rows), tmp_path / name)


@pytest.mark.parametrize("name", ["b.parquet", "b.jsonl", "b.csv"])
@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"score": 1.25}, r"`score` must be a number in \[0, 1\] \(1.25\)"),
        ({"score": None}, r"`score` must be a number in \[0, 1\] \(no value\)"),
        ({"outcome": 3}, r"`outcome` must be 0 or 1 \(3\)"),
    ],
)
def test_a_bad_row_is_named_with_its_file(tmp_path, name, cells, words):
    path = bad_file(tmp_path, name, 700, **cells)
    place = "line 702" if path.suffix == ".csv" else "row 700"  # lines from 1, after the names
    with pytest.raises(InvalidInput, match=f"{path.name}: {place}: {words}. .*--skip-bad"):
        local.read_log(tmp_path, bits=6)
    reading = local.read_log(tmp_path, bits=6, skip_bad=True)
    assert (reading.rows, reading.skipped, reading.curve.n) == (2000, 1, 1999)


def test_the_first_bad_row_is_the_one_named_on_any_number_of_threads(tmp_path):
    for i in range(6):
        table = scores_table(2000)
        rows = table.to_pylist()
        rows[1500 - i]["score"] = 7.0
        store(pa.Table.from_pylist(rows), tmp_path / f"{i}.parquet")
    for n_jobs in (1, 4):
        with pytest.raises(InvalidInput, match=r"0\.parquet: row 1,500: `score`"):
            local.curve(tmp_path, n_jobs=n_jobs)


def test_csv_with_a_word_among_the_numbers(tmp_path):
    lines = ["score,outcome,note", *(f"0.{i % 10},1,x" for i in range(50))]
    lines[31] = "n/a?,1,x"
    (tmp_path / "a.csv").write_text("\n".join(lines))
    with pytest.raises(InvalidInput, match=r"a\.csv: line 32: `score` must be .* \(n/a\?\)"):
        local.curve(tmp_path)
    reading = local.read_log(tmp_path, skip_bad=True)
    assert (reading.rows, reading.skipped, reading.curve.n) == (50, 1, 49)


def test_csv_with_a_broken_line(tmp_path):
    lines = ["score,outcome", *("0.5,1" for _ in range(20))]
    lines[8] = "0.5,1,0"
    (tmp_path / "a.csv").write_text("\n".join(lines))
    with pytest.raises(InvalidInput, match=r"a\.csv: line 9 has 3 cells, not 2"):
        local.curve(tmp_path)
    reading = local.read_log(tmp_path, skip_bad=True)
    assert (reading.rows, reading.skipped, reading.curve.n) == (20, 1, 19)


def test_csv_outcomes_as_words_and_gaps(tmp_path):
    (tmp_path / "a.csv").write_text("score,outcome\n0.5,true\n0.25,false\n")
    assert local.curve(tmp_path).total_hits == 1
    (tmp_path / "a.csv").write_text("score,outcome\n0.5,1\n,0\n0.25,0\n")
    with pytest.raises(InvalidInput, match=r"line 3: `score` must be a number .* \(no value\)"):
        local.curve(tmp_path)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda d: None, "holds no files of a prediction log"),
        (lambda d: (d / "a.csv").write_text(""), r"a\.csv has no rows: it is empty"),
        (lambda d: (d / "a.parquet").write_bytes(b"PAR1 no"), r"a\.parquet cannot be read"),
        (lambda d: (d / "a.jsonl").write_bytes(b"no"), r"a\.jsonl: line 1 cannot be read as JSON"),
        (lambda d: (d / "a.csv").write_text("x,y\n1,2\n"), "no known columns"),
        (lambda d: (d / "a.csv").write_text("score\n0.5\n"), "no column `outcome`"),
        (lambda d: (d / "a.csv").write_text("score,outcome\n"), "no rows to measure"),
    ],
)
def test_folders_that_are_no_log(tmp_path, make, words):
    make(tmp_path)
    with pytest.raises((FileFormatError, InvalidInput), match=words):
        local.curve(tmp_path)


def test_missing_foreign_and_truncated_files(tmp_path):
    with pytest.raises(FileFormatError, match="does not exist"):
        local.curve(tmp_path / "none.parquet")
    (tmp_path / "a.xyz").touch()
    with pytest.raises(FileFormatError, match="files of a log must end in"):
        local.curve(tmp_path / "a.xyz")
    whole = store(scores_table(5000), tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileFormatError, match=r"a\.parquet cannot be read as parquet"):
        local.curve(tmp_path / "a.parquet")
    broken = bytearray(whole)
    broken[4:2000] = bytes(1996)
    (tmp_path / "a.parquet").write_bytes(broken)
    with pytest.raises(FileFormatError, match=r"a\.parquet cannot be read as parquet"):
        local.curve(tmp_path / "a.parquet")


@pytest.mark.parametrize(("change", "words"), UNLIKE, ids=[words for _, words in UNLIKE])
def test_files_that_differ_stop_the_job(tmp_path, change, words):
    check = AsLocal().test_files_that_differ_stop_the_job
    check((local, {}), tmp_path, change, words)


def test_a_group_must_be_in_all_files(tmp_path):
    store(scores_table(10, who=["a"] * 10), tmp_path / "a.parquet")
    store(scores_table(10), tmp_path / "b.parquet")
    with pytest.raises(FileFormatError, match=r"a\.parquet has a column `who`, but .*b\.parquet"):
        local.group_curves(tmp_path, "who")
    assert local.curve(tmp_path).n == 20  # a column that is not read may differ


def test_mixed_schemas(tmp_path):
    store(scores_table(10), tmp_path / "a.parquet")
    store(logits_table(10), tmp_path / "b.parquet")
    with pytest.raises(FileFormatError, match=r"a\.parquet has scores, but .*b\.parquet"):
        local.curve(tmp_path)
    store(pa.table({"score": ["x"], "outcome": [1]}), tmp_path / "b.parquet")
    with pytest.raises(FileFormatError, match=r"a\.parquet has numbers in `score`, .* text"):
        local.curve(tmp_path)
    store(scores_table(10).cast(pa.schema({"score": pa.float32(), "outcome": pa.int64()})),
          tmp_path / "b.parquet")  # fmt: skip
    assert local.curve(tmp_path).n == 20


def test_all_rows_skipped(tmp_path):
    store(pa.table({"score": [2.0, 3.0], "outcome": [1, 0]}), tmp_path / "a.parquet")
    with pytest.raises(InvalidInput, match=r"no rows to measure \(2 were skipped\)"):
        local.curve(tmp_path, skip_bad=True)


def test_other_names_and_parts(tmp_path):
    table = scores_table(100).rename_columns(["p", "y"])
    store(table.append_column("part", pa.array(["cal", "test"] * 50)), tmp_path / "a.parquet")
    columns = Columns(score="p", outcome="y")
    assert local.curve(tmp_path, columns=columns, part="cal").n == 50
    assert local.read_log(tmp_path, columns=columns, default_part="test").curve.n == 50
    assert local.curve(tmp_path, columns=columns, part="all").n == 100


@pytest.mark.parametrize("text", ["", "GB", "1XB", "-1GB", "1 iB", "12", True, "10MB"])
def test_sizes_of_memory_are_checked(text):
    with pytest.raises(InvalidInput, match="`memory` must be"):
        parse_memory(text)


def test_engines_are_found_by_name():
    with pytest.raises(UnknownName, match=r"unknown engine 'dusk'\. Did you mean 'dask'"):
        find_engine("dusk")


def test_float32_scores_are_what_they_were(tmp_path):
    scores = np.random.default_rng(0).random(1000).astype(np.float32)
    store(pa.table({"score": scores, "outcome": scores > 0.5}), tmp_path / "a.parquet")
    assert local.curve(tmp_path) == Curve.from_scores(scores, scores > 0.5).summarised(52)


def test_engines_are_attributes():
    import ogive

    assert ogive.engines.local is local
    with pytest.raises(AttributeError, match="no attribute 'ray'"):
        ogive.engines.ray  # noqa: B018


ALONE = """
import os, sys
{before}
from ogive.engines import local
reading = local.read_log(sys.argv[1])
import pyarrow
print(reading.rows, pyarrow.default_memory_pool().backend_name, "pandas" in sys.modules,
      os.environ.get("ARROW_DEFAULT_MEMORY_POOL"))
"""


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("", "system False None"),
        ("os.environ['ARROW_DEFAULT_MEMORY_POOL'] = 'jemalloc'", "jemalloc False jemalloc"),
    ],
)
def test_a_log_is_read_in_the_systems_memory_and_without_pandas(tmp_path, before, expected):
    log = tmp_path / "log.parquet"
    table = pa.table({"score": np.linspace(0.01, 0.99, 50_000), "outcome": [0, 1] * 25_000})
    pq.write_table(table, log)
    if expected.split()[0] not in pa.supported_memory_backends():
        pytest.skip("this pyarrow has no such allocator")
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", ALONE.format(before=before), str(log)],
        capture_output=True,
        text=True,
        check=True,
        env={k: v for k, v in os.environ.items() if k != "ARROW_DEFAULT_MEMORY_POOL"},
    )
    assert done.stdout.split() == ["50000", *expected.split()]


def test_more_columns_cost_no_second_reading(tmp_path, monkeypatch):
    """One column, or three and their pairs: every piece is read once."""
    rng = np.random.default_rng(0)
    more = {name: rng.choice(["x", "y", "z"], 3000) for name in ("a", "b", "c")}
    for i in range(3):
        some = {name: pa.array(column[1000 * i :][:1000]) for name, column in more.items()}
        store(scores_table(1000, i, **some), tmp_path / "log" / f"{i}.parquet")
    read = []

    def counted(piece, names, size):
        read.append(piece)
        return piece_batches(piece, names, size)

    monkeypatch.setattr("ogive.engines.pieces.piece_batches", counted)
    times = []
    for by, depth in (("a", None), ("a", 1), ("a,b,c", 2), ("a,b,c", 3)):
        read.clear()
        found = local.read_log(tmp_path / "log", by=by, depth=depth)
        times.append((len(read), found.passes))
    assert times == [(3, 1)] * 4
    assert len(found.curves) == 4**3
