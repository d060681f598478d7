"""What the oracle takes for a difference, and what a line of its file hides."""

import pytest

from tests.oracle import Allowed, compare, differences


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ({"ks": 0.1}, {"ks": 0.1 + 1e-8}, "ks"),
        ({"ks": None}, {"ks": 0.0}, "ks"),
        ({"rows": [{"score": [0.1, 0.2]}]}, {"rows": [{"score": [0.1]}]}, "rows[0].score[1]"),
        ({"exit": 0}, {"exit": "ValueError"}, "exit"),
        ({"miscalibrated": True}, {"miscalibrated": 1.5}, "miscalibrated"),
    ],
)
def test_a_difference_is_seen(old, new, key):
    assert differences(old, old, 1e-9)[1] == []
    assert [found for found, *_ in differences(old, new, 1e-9)[1]] == [key]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"ks": 0.1}, {"ks": 0.1 * (1 + 1e-12)}),
        ({"ks": float("nan")}, {"ks": float("nan")}),
        ({"n": 3}, {"n": 3, "more": 1}),  # what is new is no difference
        ({"fit_seconds": 0.1, "verdict": "a", "reasons": {"n": 1}}, {"fit_seconds": 0.2}),
    ],
)
def test_what_is_no_difference(old, new):
    assert differences(old, new, 1e-9)[1] == []


def test_a_line_hides_its_command_files_and_keys_alone(tmp_path, capsys):
    path = tmp_path / "allow.txt"
    path.write_text("# what\nmeasure s*t.csv ks  # an item\n", encoding="utf-8")

    def left(call, old, new):
        return compare([(call, 0, old)], [(call, 0, new)], 1e-9, Allowed(path))

    assert left(["measure", "s0t.csv"], {"ks": 1.0}, {"ks": 2.0}) == 0
    assert left(["measure", "in/s0t.csv"], {"views": [{"ks": 1.0}]}, {"views": [{"ks": 2.0}]}) == 0
    assert left(["measure", "s0.csv"], {"ks": 1.0}, {"ks": 2.0}) == 1
    assert left(["fit", "s0t.csv"], {"ks": 1.0}, {"ks": 2.0}) == 1
    assert left(["measure", "s0t.csv"], {"ece": 1.0, "n": 1}, {"ece": 2.0, "n": 2}) == 2
    assert "1 calls, 3 values compared, 2 differ, 0 differ as allowed" in capsys.readouterr().out


def test_a_line_that_says_too_little_is_refused(tmp_path):
    path = tmp_path / "allow.txt"
    path.write_text("measure *\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="needs a command, a file pattern and a key prefix"):
        Allowed(path)
