"""Text: lines and rows add up, numbers are plain, the line named is right."""

import gzip
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import ogive
from ogive.engines import local
from ogive.errors import FileFormatError, InvalidInput, OgiveError
from ogive.readers.csv_text import header, line_of, scan
from ogive.studies.apply_log import apply_log
from tests import naive
from tests.readers.both_ways import BOTH

WORDS = r"line 2 opens a quote that is never closed"


@BOTH
def test_an_unclosed_quote_is_named(tmp_path, read):
    path = tmp_path / "a.csv"
    rows = [f"x{i},0.{i % 10},1" for i in range(10_000)]
    rows[0] = '"x0,0.5,1'
    path.write_text("name,score,outcome\n" + "\n".join(rows) + "\n")
    with pytest.raises(FileFormatError, match=WORDS):
        read(path)
    rows[5000] = '"x5000",0.5,1'  # the quote of another cell closes it
    path.write_text("name,score,outcome\n" + "\n".join(rows) + "\n")
    with pytest.raises(FileFormatError, match=r"line 2 opens .* line 5,002"):
        read(path)


@BOTH
def test_the_line_of_a_quote_that_swallows_a_long_file_is_named(tmp_path, read):
    path = tmp_path / "a.csv"
    path.write_text('name,score,outcome\nx,0.5,1\n"x,0.5,1\n' + "y,0.25,0\n" * 100_000)
    with pytest.raises(FileFormatError, match=r"line 3 has a cell of more than 131,072 characters"):
        read(path)


@BOTH
def test_a_nul_behind_the_first_quote_is_named(tmp_path, read):
    (tmp_path / "a.csv").write_bytes(b'score,outcome\n"0.5",1\n0.\x005,1\n')
    with pytest.raises(FileFormatError, match="line 3 has a NUL byte"):
        read(tmp_path / "a.csv")


def test_apply_to_a_log_refuses_an_unclosed_quote(tmp_path):
    log = tmp_path / "log"
    log.mkdir()
    (log / "a.csv").write_text("name,score,outcome\nx,0.5,1\n" + "y,0.25,0\n" * 50)
    ogive.save(ogive.fit_platt(local.curve(log)), tmp_path / "cal.json")
    (log / "b.csv").write_text('name,score,outcome\nx,0.5,1\n"y,0.25,0\n' + "z,0.5,1\n" * 50)
    with pytest.raises(FileFormatError, match=r"b\.csv(: line 3 opens a quote| cannot be read)"):
        apply_log(tmp_path / "cal.json", log, tmp_path / "out")
    assert not (tmp_path / "out" / "b.csv.parquet").exists()


@BOTH
def test_line_breaks_inside_quotes_and_empty_lines(tmp_path, read):
    path = tmp_path / "a.csv"
    path.write_bytes(
        b'\xef\xbb\xbf\nname,score,outcome\r\n\r\n"a\r\nb",0.5,1\r\n"say ""x""",0.25,0\n'
    )
    assert read(path).n == 2
    path.write_text('name,score,outcome\n\n"a\nb",0.5,1\n\n\n5" disk,oops,0\n')
    with pytest.raises(InvalidInput, match=r"line 7: `score` must be a number .*oops"):
        read(path)


def test_the_line_named_is_right_after_broken_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("score,outcome\n\n0.5,1,1\n0.5,1\n\n0.25\n7,1\n")
    with pytest.raises(InvalidInput, match="line 3 has 3 cells, not 2"):
        local.curve(path)
    with pytest.raises(InvalidInput, match="line 3 has 3 cells, not 2"):
        ogive.read(path)
    reading = local.read_log(path, skip_bad=True)
    assert (reading.rows, reading.skipped) == (4, 3)


@BOTH
@pytest.mark.parametrize(
    "cell", ["1_0", "\u0660.\u0665", "0,5", "0x1p-1", "½", "1e", "\uff10.5", "five"]
)
def test_only_plain_numbers_are_numbers(tmp_path, read, cell):
    path = tmp_path / "a.csv"
    path.write_text(f'score,outcome\n0.5,1\n"{cell}",0\n', encoding="utf-8")
    with pytest.raises(InvalidInput, match=f"line 3: `score` must be a number .*{cell}"):
        read(path)


@BOTH
def test_numbers_of_all_spellings(tmp_path, read):
    path = tmp_path / "a.csv"
    path.write_text("score,outcome\n.5,1\n5e-1,0\n+0.5,1\n1.,1\n 0.5 ,0\n")
    assert read(path).n == 5
    table = pa.table({"score": [Decimal("0.25"), Decimal("0.75")], "outcome": [0, 1]})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet").n == 2


@BOTH
@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("score,outcome\n0.5,1\n".encode("utf-16"), "is text in UTF-16: save it as UTF-8"),
        ("score,outcome\n0.5,1\n".encode("utf-32"), "is text in UTF-32: save it as UTF-8"),
        ("score,outcome\n0.5,1\n".encode("utf-16-le"), "line 1 has a NUL byte.*UTF-8"),
        (b"score,outcome\n0.5,1\n0.\0,1\n", "line 3 has a NUL byte"),
        (b"score,outcome\n0.5,1\n0.\xff,1\n", "line 3 is not UTF-8"),
        (b"", "empty"),
        (b"score,outcome\n", "empty|no rows"),
    ],
)
def test_text_in_other_encodings(tmp_path, read, raw, words):
    path = tmp_path / "a.csv"
    path.write_bytes(raw)
    with pytest.raises(OgiveError, match=words):
        read(path)


def test_records_and_lines_are_those_of_the_slow_definition(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    cells = ["0.5", "1", "", '"a"', '"a""b"', '"x\ny"', '"a,b"', '""', '"\r\n"']
    for _ in range(300):
        monkeypatch.setattr(
            "ogive.readers.csv_text._BYTES_SCANNED_AT_ONCE", int(rng.choice([1, 2, 3, 7, 1 << 22]))
        )
        end = str(rng.choice(["\n", "\r\n"]))
        rows = [",".join(rng.choice(cells, 2)) + end * int(rng.integers(1, 3)) for _ in range(6)]
        text = "a,b" + end + "".join(rows)
        path = tmp_path / "a.csv"
        path.write_bytes(text.encode())
        lines = naive.csv_lines(text)
        assert scan(path).records == len(lines)
        assert [line_of(path, i) for i in range(len(lines))] == lines
        assert header(path) == ["a", "b"]


def test_a_packed_text_is_as_large_as_what_it_unpacks_to(tmp_path):
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"score,outcome\n" + b"0.5,1\n" * 2_000_000)
    assert path.stat().st_size < 50_000
    with pytest.raises(FileFormatError, match="more than the limit of 64 MB"):
        ogive.read(path, memory="64MB")
