"""Folders of files: links, loops, and what cannot be listed."""

import json
import os
import socket

import pytest

from ogive.cli import main
from ogive.engines import local
from ogive.errors import FileFormatError, OgiveWarning
from ogive.readers.multi_file import expand


def test_what_a_folder_hides_is_an_error_or_counted(tmp_path, monkeypatch):
    log = tmp_path / "log"
    (log / "locked").mkdir(parents=True)
    (log / "a.csv").write_text("score,outcome\n0.5,1\n0.25,0\n")
    (log / "notes").symlink_to(log / "a.csv")
    assert local.curve(log).n == 2
    (log / "b.csv").symlink_to(tmp_path / "nothing")
    os.mkfifo(log / "c.csv")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(log)
        server.bind("d.csv")
    with pytest.raises(FileFormatError, match=r"b\.csv does not exist .*and 2 more.*--skip-bad"):
        local.curve(log)
    with pytest.raises(FileFormatError, match=r"b\.csv does not exist"):
        local.curve(str(log / "*.csv"))
    with pytest.warns(OgiveWarning, match="3 files or folders could not be read"):
        assert local.read_log(log, skip_bad=True).rows == 2
    for name in "bcd":
        (log / f"{name}.csv").unlink()
    walk = os.walk

    def locked(root, onerror=None, **options):
        onerror(PermissionError(13, "Permission denied", str(log / "locked")))
        return walk(root, onerror=onerror, **options)

    monkeypatch.setattr("os.walk", locked)
    for paths in (log, str(log / "**" / "*.csv")):
        with pytest.raises(FileFormatError, match=r"locked cannot be listed \(Permission denied"):
            local.curve(paths)
    with pytest.raises(FileFormatError, match="locked cannot be listed"):
        expand([log])


def test_linked_folders_are_read_once_and_loops_end(tmp_path):
    other, log = tmp_path / "other", tmp_path / "log"
    other.mkdir()
    log.mkdir()
    (other / "a.csv").write_text("score,outcome\n0.5,1\n")
    (log / "day").symlink_to(other)
    (other / "back").symlink_to(log)
    assert local.curve(log).n == 1
    assert local.curve(str(tmp_path / "l*")).n == 1  # a pattern may match folders


@pytest.mark.filterwarnings("default::ogive.errors.OgiveWarning")
def test_a_file_with_two_names_counts_once(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "log"
    log.mkdir()
    text = "score,outcome\n" + "0.2,0\n0.8,1\n" * 20
    (log / "a.csv").write_text(text)
    (log / "b.csv").write_text(text)  # the same rows in another file are other rows
    (log / "c.csv").symlink_to(log / "a.csv")
    (log / "d.csv").hardlink_to(log / "b.csv")
    words = "2 names lead to a file that is already in the list; its rows are counted once: "
    for paths in (["log"], ["log/*.csv"]):
        assert main(["measure", *paths, "--json"]) == 0
        out, err = capsys.readouterr()
        assert json.loads(out)["n"] == 80
        assert err.count(words) == 1
        assert "log/c.csv is log/a.csv; log/d.csv is log/b.csv" in err
    for paths in (["log/a.csv", "log/../log/a.csv"], ["log/a.csv", "log/[a]*.csv"]):
        assert main(["measure", *paths, "--json"]) == 0
        out, err = capsys.readouterr()
        assert json.loads(out)["n"] == 40
        assert "1 name leads to a file" in err
    assert main(["compare", "log", "--split", "0.5", "--methods", "none,platt"]) == 0
    assert words in capsys.readouterr().err
