"""What the engines of clusters share; here without a cluster."""

import sys
from pathlib import Path

import pyarrow as pa
import pytest

from ogive.cli import main
from ogive.engines import dask, spark
from ogive.engines.cluster import Frame, count_share, count_table, first_length, is_paths, shares
from ogive.engines.files import open_log
from ogive.engines.formats import Piece
from ogive.errors import FileFormatError, MissingExtra
from tests.engines.logs import rows_of, write_log
from tests.engines.tables import logits_table


@pytest.mark.parametrize(("engine", "package"), [(dask, "distributed"), (spark, "pyspark")])
def test_a_missing_engine_is_said_with_the_command_that_installs_it(
    engine, package, tmp_path, monkeypatch, capsys
):
    log = write_log(tmp_path / "log", rows_of(100))
    for name in list(sys.modules):
        if name.partition(".")[0] == package:
            monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    name = engine.__name__.rpartition(".")[2]
    words = rf"needs the package '{package}': pip install 'ogive\[{name}\]'"
    with pytest.raises(MissingExtra, match=words):
        engine.curve(log)
    assert main(["measure", str(log), "--engine", name]) == 1
    assert f"pip install 'ogive[{name}]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scheduler", "tcp://x"], "--scheduler is for --engine dask"),
        (["--engine", "dask", "--master", "x"], "--master is for --engine spark"),
    ],
)
def test_where_an_engine_runs_is_said_of_that_engine(words, said, tmp_path, capsys):
    log = write_log(tmp_path / "log", rows_of(100))
    for command in (["measure", str(log)], ["apply", "cal.json", str(log), "-o", "out"]):
        assert main([*command, *words]) == 2
        assert said in capsys.readouterr().err


def test_an_unknown_engine_is_named(tmp_path, capsys):
    log = write_log(tmp_path / "log", rows_of(100))
    assert main(["measure", str(log), "--engine", "dusk"]) == 2
    assert "Did you mean 'dask'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("n", "cores", "count"),
    [(0, 2, 0), (3, 2, 3), (40, 2, 14), (1000, 2, 16), (10_000, 2, 157), (10_000, 0, 770)],
)
def test_shares_hold_every_piece_once_in_order(n, cores, count):
    pieces = [Piece(Path("a.parquet"), (i,), i, 1, 1) for i in range(n)]
    dealt = shares(pieces, cores)
    assert len(dealt) == count
    assert max(map(len, dealt), default=0) <= 64
    assert [piece.first for share in dealt for piece in share] == list(range(n))
    assert all(piece.path.is_absolute() for share in dealt for piece in share)


def test_a_share_counts_its_pieces(tmp_path):
    log = open_log(write_log(tmp_path / "log", rows_of(900), 9))
    first, *_ = shares(log.pieces, 1)
    assert count_share(first, log.plan()).rows == 200


def test_a_table_counts_as_a_partition():
    table = rows_of(500)
    plan = Frame(table.column_names, len, None).plan(bits=9)
    counted = count_table(table, plan, 0)
    assert (counted.rows, counted.summary.weighted) == (500, True)


def test_a_frame_is_asked_as_a_log_is():
    frame = Frame(logits_table(lists=True).column_names, lambda name: {"logits": 4}[name], None)
    assert (frame.classes, frame.rows, frame.name) == (4, None, "the data frame")
    assert frame.plan("class-3").bits == 12  # it may be long
    assert frame.plan(by="label").bits == 7  # and have many groups
    with pytest.raises(FileFormatError, match="no row of `logits` has numbers"):
        Frame(["label", "logits"], lambda name: 0, None).plan()
    assert Frame(["label", "logit_0", "logit_1", "logit_2"], len, None).classes == 3


def test_paths_and_frames_are_told_apart():
    assert is_paths("a")
    assert is_paths(Path("a"))
    assert is_paths(["a", Path("b")])
    assert not is_paths(pa.table({"a": [1]}))
    assert not is_paths([1])


def test_the_first_length():
    assert first_length(pa.array([None, [], [1, 2, 3]])) == 3
    assert first_length(pa.array([[]], pa.list_(pa.int8()))) == 0
