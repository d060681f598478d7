"""Regular files alone are opened."""

import os

import pytest

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
