"""Regular files alone are opened."""

import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.feather
import pytest

from ogive.engines import local
from ogive.errors import FileFormatError, InvalidInput
from ogive.readers.guard import guarded
from tests.readers.both_ways import BOTH


@BOTH
def test_pipes_devices_and_sockets_are_refused_at_once(tmp_path, read):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.parquet").symlink_to("/dev/zero")
    (tmp_path / "gone.csv").symlink_to(tmp_path / "nothing")
    for name, words in (
        ("pipe.csv", r"pipe\.csv is a pipe \(FIFO\), not a regular file"),
        ("zero.parquet", "is a device, not a regular file"),
        ("gone.csv", r"does not exist \(it is a link to a file that does not exist\)"),
    ):
        with pytest.raises(FileFormatError, match=words):
            read(tmp_path / name)
    with pytest.raises(FileFormatError, match="is a device"):
        read("/dev/urandom")


@BOTH
def test_an_arrow_file_is_refused_with_the_line_that_makes_a_parquet_of_it(tmp_path, read):
    log = tmp_path / "log"
    log.mkdir()
    (log / "b.csv").write_text("score,outcome\n0.5,1\n")
    pa.feather.write_feather(pa.table({"score": [0.5], "outcome": [1]}), log / "a.arrow")
    with pytest.raises(FileFormatError, match="is an Arrow file, which ogive does not read") as why:
        read(log / "a.arrow")
    for several in ([log], [log / "b.csv", log / "a.arrow"]):
        with pytest.raises(FileFormatError, match=r"a\.arrow is an Arrow file.*a\.parquet"):
            local.curve(several)
    _, _, way_out = str(why.value).partition("python -c ")
    done = subprocess.run([sys.executable, "-c", way_out.strip('"')], check=False)  # noqa: S603
    assert done.returncode == 0
    assert read(log / "a.parquet").n == 1


@BOTH
def test_a_name_that_no_file_can_have_is_refused(tmp_path, read):
    with pytest.raises(FileFormatError, match=r"is not the name of a file \(.*embedded null"):
        read(tmp_path / "a\0.csv")


def test_what_a_library_raises_becomes_an_error_that_names_the_file(tmp_path):
    for raised, words in (
        (MemoryError(), r"a\.csv needs more memory than there is"),
        (PermissionError(13, "Permission denied", "a.csv"), r"opened \(Permission denied\)"),
        (OSError("Invalid block"), r"a\.csv .*Invalid block"),
        (ZeroDivisionError("by 0"), r"a\.csv .*by 0"),
    ):
        with pytest.raises(FileFormatError, match=words) as caught, guarded(tmp_path / "a.csv"):
            raise raised
        assert caught.value.__cause__ is raised
    with pytest.raises(InvalidInput, match="as it is"), guarded(tmp_path / "a.csv"):
        raise InvalidInput("as it is")
