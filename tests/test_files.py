"""Files that are written: whole at every moment, never over an input."""

import os
import socket
import stat
import subprocess
import sys
import time

import numpy as np
import pytest

from ogive import _files
from ogive._files import remove_left_over, replacing, safe_output
from ogive.errors import OutputRefused


def test_a_failure_leaves_the_old_file_and_no_rest(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as beside:
        beside.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.json"]


def test_success_replaces_with_ordinary_permissions(tmp_path):
    path = tmp_path / "x.json"
    with replacing(path) as beside:
        assert not path.exists()
        beside.write_text("new")
    other = tmp_path / "plain"
    other.write_text("")
    assert path.read_text() == "new"
    assert path.stat().st_mode == other.stat().st_mode


def test_a_folder_that_is_missing_is_said_of_the_file_that_was_asked_for(tmp_path):
    path = tmp_path / "none" / "x.json"
    with pytest.raises(FileNotFoundError, match="cannot be written") as caught, replacing(path):
        pytest.fail("there is nowhere to write")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_new_file_has_what_the_umask_leaves(tmp_path, mask):
    before = os.umask(mask)
    try:
        with replacing(tmp_path / "x") as beside:
            beside.write_text("new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o666 & ~mask


def test_the_umask_of_the_process_is_never_touched(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("other threads create files too"))
    with replacing(tmp_path / "x") as beside:
        beside.write_text("new")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_an_existing_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "x"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as beside:
        assert stat.S_IMODE(beside.stat().st_mode) == 0o600  # nobody reads it before
        beside.write_text("new")
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_the_target_of_a_link_is_what_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(tmp_path / "step")
    (tmp_path / "step").symlink_to("there/real")
    with replacing(link) as beside:
        assert beside.parent == real.parent
        beside.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    real.unlink()  # a link to what is not there yet
    with replacing(link) as beside:
        beside.write_text("newer")
    assert real.read_text() == "newer"


def test_pipes_sockets_devices_and_folders_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for path, message in (
        (tmp_path / "pipe", "is a pipe"),
        (tmp_path / "link", "is a pipe"),
        (tmp_path / "socket", "is a socket"),
        ("/dev/null", "is a device"),
        (tmp_path, "is a folder"),
        ("", "is not a file name"),
        ("a\0b", "is not a file name"),
    ):
        with pytest.raises(OutputRefused, match=message), replacing(path):
            pytest.fail("nothing may be written")
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe", "socket"]


def test_a_circle_of_links_is_an_error_that_names_it(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="cannot be written"), replacing(tmp_path / "a"):
        pytest.fail("nothing may be written")


def test_an_input_is_never_the_output_whatever_its_name(tmp_path, monkeypatch):
    source = tmp_path / "in" / "x.csv"
    source.parent.mkdir()
    source.write_text("data")
    (tmp_path / "soft").symlink_to(source)
    (tmp_path / "hard").hardlink_to(source)
    (tmp_path / "folder").symlink_to(source.parent)
    monkeypatch.chdir(tmp_path)
    for name in ("in/x.csv", "in/../in/x.csv", "soft", "hard", "folder/x.csv"):
        for given in (source, "soft", "hard"):
            with pytest.raises(OutputRefused, match="is an input"):
                safe_output(name, [given])
    assert safe_output("in/y.csv", [source]) == source.with_name("y.csv")
    assert safe_output("new/y.csv", [source, "missing"]) == tmp_path / "new" / "y.csv"


def test_what_reading_a_folder_would_take_for_data_is_not_put_there(tmp_path):
    assert safe_output(tmp_path / "x.json", [tmp_path], kinds=[".csv"])
    for name in ("x.csv", "x.CSV", "new/x.csv"):
        with pytest.raises(OutputRefused, match="lies inside the input folder"):
            safe_output(tmp_path / name, [tmp_path], kinds=[".csv"])


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="the superuser may write anything")
def test_a_read_only_file_is_not_replaced(tmp_path):
    (tmp_path / "x").write_text("old")
    (tmp_path / "x").chmod(0o400)
    with pytest.raises(PermissionError, match="read-only"), replacing(tmp_path / "x"):
        pytest.fail("nothing may be written")


def test_names_as_long_as_the_system_allows_and_odd_ones(tmp_path):
    for name in ("x" * 255, "ä" * 127 + ".", os.fsdecode(b"\xff\xfe.csv"), "a\nb[red].npz", "-"):
        for content in ("first", "second"):
            with replacing(tmp_path / name) as beside:
                beside.write_text(content)
        assert (tmp_path / name).read_text() == "second"
    assert len(os.listdir(tmp_path)) == 5


def test_what_a_killed_run_left_is_removed_and_nothing_else(tmp_path):
    path = tmp_path / "x.csv"
    script = (
        "import os, sys, time; from ogive._files import replacing;"
        "manager = replacing(sys.argv[1]); manager.__enter__(); print(flush=True); time.sleep(60)"
    )
    runs = [_start(script, path) for _ in range(2)]
    runs[0].kill()
    runs[0].wait()
    mine = replacing(path)
    others = {".x.csv.tmp", ".x.csv.abcd.csv", ".x.csv.ogive-00000000-1-1-00000000.csv"}
    for name in others:
        (tmp_path / name).write_text("of somebody else")
    inside = mine.__enter__()
    left = set(os.listdir(tmp_path)) - others - {inside.name}
    assert len(left) == 1  # of the process that still runs
    assert f"-{runs[1].pid}-" in left.pop()
    with replacing(path) as beside:  # this process runs too
        beside.write_text("new")
    assert inside.exists()
    mine.__exit__(None, None, None)
    runs[1].kill()
    runs[1].wait()
    assert remove_left_over(tmp_path) == 1
    assert set(os.listdir(tmp_path)) == others | {"x.csv"}


def test_a_process_number_that_is_used_again_is_another_process():
    assert _files._is_running(os.getpid(), _files._start_of(os.getpid()))
    assert not _files._is_running(os.getpid(), 1)


def _start(script, *arguments):
    words = [sys.executable, "-c", script, *map(str, arguments)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE)  # noqa: S603
    process.stdout.readline()
    process.stdout.close()
    return process


WRITER = """
import itertools, sys
from ogive._files import replacing
print(flush=True)
for i in itertools.count():
    with replacing(sys.argv[1]) as beside, beside.open("wb") as file:
        for _ in range(40):
            file.write(bytes([i % 256]) * 2000)
"""


@pytest.mark.thorough
def test_kill_9_at_any_moment_leaves_a_whole_file(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(bytes(80_000))
    rng = np.random.default_rng(0)
    for _ in range(24):
        writer = _start(WRITER, path)
        time.sleep(rng.uniform(0, 0.03))
        writer.kill()
        writer.wait()
        content = path.read_bytes()
        assert len(content) == 80_000
        assert len(set(content)) == 1
    remove_left_over(tmp_path)
    assert os.listdir(tmp_path) == ["x"]
