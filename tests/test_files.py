import os

import pytest

from ogive._files import replacing


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
