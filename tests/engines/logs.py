"""Small logs on disk, of which every engine must give the same curves."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ogive
from ogive.engines import local
from ogive.errors import InvalidInput
from ogive.studies.apply_log import apply_log
from tests.cli import schemas
from tests.engines.tables import scores_table
from tests.pages import ROOT, commands, make_log


def rows_of(n=6000, seed=0):
    """Scores with outcomes, weights and countries."""
    rng = np.random.default_rng(seed + 100)
    country = rng.choice(["DE", "FR", "IT", "PL", "SE", None], n).tolist()
    return scores_table(n, seed, weight=rng.random(n), country=pa.array(country))


def write_log(folder, table, files=3, row_group=700):
    """Write a table as some Parquet files."""
    folder.mkdir(parents=True, exist_ok=True)
    edges = np.linspace(0, table.num_rows, files + 1).astype(int)
    for i in range(files):
        part = table.slice(edges[i], edges[i + 1] - edges[i])
        pq.write_table(part, folder / f"part-{i:03d}.parquet", row_group_size=row_group)
    return folder


def spoiled(table, row=4321, value=1.5):
    """The table with a score that breaks the rule."""
    cells = table["score"].to_pylist()
    cells[row] = value
    at = table.column_names.index("score")
    return table.set_column(at, "score", pa.array(cells))


def check_apply(folder, **engine):
    """A bad row stops it; mended, a second run does the rest, and each row is there once."""
    table = rows_of().drop_columns("weight").append_column("id", pa.array(range(6000)))
    log = write_log(folder / "log", spoiled(table), 5)
    cal, out = folder / "cal.json", folder / "out"
    ogive.save(ogive.fit_platt(local.curve(log, skip_bad=True)), cal)
    with pytest.raises(InvalidInput, match=r"part-003\.parquet"):
        apply_log(cal, log, out, **engine)
    assert not (out / "part-003.parquet").exists()
    before = sum(1 for _ in out.glob("part-*.parquet"))
    assert before >= 3  # those in front of the bad one
    pq.write_table(table.slice(3600, 1200), log / "part-003.parquet")
    (out / ".part-003.parquet.x.parquet").write_bytes(b"left by a killed run")
    done = apply_log(cal, log, out, **engine)
    assert (done.n, done.written, done.kept) == (6000, 5 - before, before)
    again = apply_log(cal, log, out, **engine)
    assert (again.n, again.written, again.kept) == (6000, 0, 5)
    found = pq.read_table(out).sort_by("id")
    np.testing.assert_array_equal(found["id"], np.arange(6000))
    np.testing.assert_array_equal(found["score"], ogive.load(cal)(table["score"].to_numpy()))
    assert not list(out.glob(".part*"))


def check_commands(run_json, run, folder, *engine):
    """Measure, fit and apply give with an engine what they give without."""
    table = rows_of().drop_columns("weight")
    log = write_log(folder / "log", table, 3)
    here = run_json(schemas.MEASURE_LOG, "measure", log)
    there = run_json(schemas.MEASURE_LOG, "measure", log, *engine)
    assert there == here
    groups = run_json(schemas.MEASURE_BY, "measure", log, "--by", "country", *engine)
    assert groups == run_json(schemas.MEASURE_BY, "measure", log, "--by", "country")
    for name, how in (("here", ()), ("there", engine)):
        assert run("fit", log, "-o", folder / f"{name}.json", *how)[0] == 0
        code, out, err = run("apply", folder / f"{name}.json", log, "-o", folder / name, *how)
        assert (code, err) == (0, "")
        assert "6,000 rows calibrated in 3 files" in out
    assert (folder / "here.json").read_text() == (folder / "there.json").read_text()
    assert pq.read_table(folder / "here").equals(pq.read_table(folder / "there"))
    one = folder / "one.parquet"
    assert run("apply", folder / "here.json", log / "part-000.parquet", "-o", one, *engine)[0] == 0
    assert pq.read_table(one).num_rows == 2000


def check_examples(run, folder, engine, place):
    """The commands of the docs run, with the test's cluster for the address they name."""
    make_log(folder / "log")
    assert run("fit", "log", "-o", "cal.json")[0] == 0
    examples = list(commands(ROOT / "docs" / "scale.md", engine))
    assert len(examples) >= 3
    named = 0
    for words in examples:
        here = [place if "://" in word else word for word in words]
        named += here != words
        code, _, err = run(*here)
        assert code == 0, (words, err)
    assert named  # at least one names an address
