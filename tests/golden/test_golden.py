"""Every command gives the numbers and words that are kept in `results/`.

Where a change is meant, ``python -m tests.golden update`` writes the new ones, and the diff of
`results/` belongs to the commit.
"""

import json

import pytest

from ogive.cli.commands import ogive
from tests.golden.calls import LEFT_OUT, STORIES, names, outputs, tell
from tests.golden.kept import FOLDER, Kept, same


@pytest.mark.parametrize("story", STORIES)
def test_results_are_those_that_are_kept(story, tmp_path):
    changes = []
    for name, (call, values) in tell(story, tmp_path).items():
        changes += Kept.read(name, call).changes(values)
    assert not changes, "\n".join(changes) + "\nif meant: python -m tests.golden update"


def test_every_command_is_called():
    calls = [call for story in STORIES.values() for call in story]
    assert {call.split()[0] for call in calls} == set(ogive.commands) - LEFT_OUT


def test_every_kept_result_has_its_call():
    called = [name for story in STORIES.values() for name in names(story)]
    assert len(set(called)) == len(called)
    assert {path.stem for path in FOLDER.glob("*.json")} == set(called)


@pytest.mark.parametrize(
    ("old", "new", "equal"),
    [
        (0.5, 0.5 * (1 + 5e-13), True),
        (0.5, 0.5 * (1 + 2e-12), False),
        (1e-20, 2e-20, True),
        (1, 1.0, False),
        (True, 1, False),
        (None, 0.0, False),
        ("calibrate", "leave", False),
        ([0.1, 0.2], [0.1, 0.2 + 1e-9], False),
        ([0.1, 0.2], [0.1], False),
    ],
)
def test_what_counts_as_the_same(old, new, equal):
    assert same(old, new, 1e-12) is equal


def test_a_change_names_call_and_key(tmp_path):
    kept = Kept(tmp_path / "a.json", "measure a.csv", 1e-12, {"ks": 0.1, "n": 5, "old": 1})
    now = {"ks": 0.1 + 1e-9, "n": 5, "new": 2}
    assert list(kept.changes(now)) == [
        f"measure a.csv: ks: 0.1 is now {now['ks']!r}",
        "measure a.csv: new: 2 is new",
        "measure a.csv: old: 1 is gone",
    ]
    kept.write(now)
    assert json.loads(kept.path.read_text("utf-8"))["values"] == now


def test_a_row_less_in_an_output_is_seen(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("score,outcome\n0.5,1\n0.25,0\n0,0\n", encoding="utf-8")
    assert outputs(path) == {"score": {"size": 3, "first": [0.5, 0.25, 0.0], "sum": 0.75}}
    path.write_text("score,outcome\n0.5,1\n0.25,0\n", encoding="utf-8")
    assert outputs(path)["score"]["size"] == 2
