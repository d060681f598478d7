"""Regular files alone are opened."""

import os

import pytest

from ogive.errors import FileFormatError
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
