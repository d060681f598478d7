import json
import sys

import numpy as np
import pytest

import ogive
from ogive.errors import FileFormatError, InvalidInput
from ogive.studies.arena.files import families_of, find_experiments, look, read_families
from tests.studies.arena.experiments import METRICS, save_matrix


def numbers(value):
    return dict.fromkeys(METRICS, value)


def test_peers_join_as_rows(folder, tmp_path):
    file = tmp_path / "others.json"
    table = {
        "a": {"top-1": {"great": numbers(0.0), "none": numbers(0.9), "gone": {"error": "no"}}},
        "b": {"top-1": {"great": numbers(0.0) | {"seconds": 2.0}, "none": numbers(0.9)}},
        "elsewhere": {"top-1": {"great": numbers(0.5)}},
    }
    file.write_text(json.dumps(table))
    result = ogive.arena(folder, ["none", "platt"], peers=file, n_jobs=1)
    rows = {row.method: row for row in result.standings}
    assert set(rows) == {"none", "platt", "great", "none (others)"}
    assert rows["great"].rank == numbers(1.0)
    assert rows["great"].wins == numbers(2.0)
    assert rows["great"].source == "others"
    assert rows["great"].seconds is None  # not told everywhere
    assert [one.name for one in result.experiments] == ["a", "b"]
    assert result.skipped == {"c": "others has no numbers of it"}
    assert result.left_out == {"gone": "2 of 2 experiments: no"}
    again = ogive.arena(folder, ["none", "platt"], peers=[table], n_jobs=1)
    assert again.standings[0].rank == result.standings[0].rank


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("\xff", "is not JSON"),
        ("[1, 2]", "must be an object, as in"),
        ('{"a": 3}', "others.json: a must be an object"),
        ('{"a": {"top-1": [1]}}', "a, top-1 must be an object"),
        ('{"a": {"top-1": {"m": "x"}}}', "a, top-1, m must be an object"),
        ('{"a": {"top-1": {"m": {"nll": 1, "brier": 1}}}}', "'ks' must be a finite number >= 0"),
        ('{"a": {"top-1": {"m": {"nll": NaN, "brier": 1, "ks": 1}}}}', "'nll' must be a finite"),
        ('{"a": {"top-1": {"m": {"nll": "0", "brier": 1, "ks": 1}}}}', "not '0'"),
        ('{"a": {"top-1": {"m": {"nll": true, "brier": 1, "ks": 1}}}}', "not True"),
        ('{"a": {"top-1": {"m": {"nll": -1, "brier": 1, "ks": 1}}}}', "not -1"),
    ],
)
def test_a_hostile_file_of_peers_is_refused(folder, tmp_path, text, message):
    file = tmp_path / "others.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(FileFormatError, match=message):
        ogive.arena(folder, ["none"], peers=file, n_jobs=1)


def test_two_sources_of_one_name(folder, tmp_path):
    table = {name: {"top-1": {"great": numbers(0.1)}} for name in "abc"}
    with pytest.raises(InvalidInput, match="two sources named 'peers' have the method 'great'"):
        ogive.arena(folder, ["none"], peers=[table, table, table], n_jobs=1)


PEERS = """
def _identity(scores, hits):
    return lambda x: x

def _wrong(scores, hits):
    raise ZeroDivisionError("no")

def _absent(scores, hits):
    import a_package_that_nobody_has

def _short(scores, hits):
    return lambda x: x[1:]

SCORES = {"same": _identity, "wrong": _wrong, "absent": _absent, "short": _short}
VECTORS = {"same": _identity}
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "peers_of_a_test.py").write_text(PEERS)
    monkeypatch.syspath_prepend(tmp_path)
    yield "module:peers_of_a_test"
    sys.modules.pop("peers_of_a_test", None)


def test_a_module_of_peers(folder, module):
    result = ogive.arena(folder, ["none", "platt"], peers=module, n_jobs=1)
    rows = {row.method: row for row in result.standings}
    assert set(rows) == {"none", "platt", "same"}
    assert rows["same"].rank == rows["none"].rank
    assert rows["same"].mean == pytest.approx(rows["none"].mean)
    assert "ZeroDivisionError: no" in result.left_out["wrong"]
    assert result.left_out["absent"] == "3 of 3 experiments: it is not installed"
    assert "returned shape (239,) where (240,) was due" in result.left_out["short"]


def test_processes_find_the_module(folder, module):
    result = ogive.arena(folder, ["none", "platt"], peers=module, n_jobs=2)
    assert "same" in [row.method for row in result.standings]


def test_a_module_of_peers_for_whole_vectors(folder, module, rng):
    save_matrix(folder / "m.npz", rng)
    rows = ogive.arena(folder, ["none"], "vector", peers=module, n_jobs=1).standings
    assert {row.method: row.source for row in rows} == {"none": "ogive", "same": "peers_of_a_test"}
    assert rows[0].mean == pytest.approx(rows[1].mean)


def test_a_module_that_is_none(folder):
    with pytest.raises(InvalidInput, match="the module 'no_such_module' cannot be imported"):
        ogive.arena(folder, ["none"], peers="module:no_such_module", n_jobs=1)
    with pytest.raises(InvalidInput, match="'json' has no table SCORES"):
        ogive.arena(folder, ["none"], peers="module:json", n_jobs=1)


# Families -------------------------------------------------------------------------------------


def test_experiments_with_one_test_set_are_one_family(folder, rng):
    labels = save_matrix(folder / "m1.npz", rng)
    save_matrix(folder / "m2.npz", rng, labels)
    save_matrix(folder / "m3.npz", rng, rng.permutation(labels))  # in another order
    save_matrix(folder / "m4.npz", rng)
    found, _ = find_experiments(folder)
    families = families_of({one.name: look(one, None) for one in found})
    assert families == {name: name for name in ("a", "b", "c", "m1", "m4")} | {
        "m2": "m1",
        "m3": "m1",
    }


def test_balanced_classes_in_another_order_show_nothing(folder, rng):
    labels = np.arange(240) % 4
    save_matrix(folder / "m1.npz", rng, labels)
    save_matrix(folder / "m2.npz", rng, rng.permutation(labels))
    save_matrix(folder / "m3.npz", rng, labels)
    found, _ = find_experiments(folder)
    families = families_of({one.name: look(one, None) for one in found})
    assert families["m2"] != families["m1"] == families["m3"]


def test_families_can_be_said(folder, tmp_path):
    file = tmp_path / "families.json"
    file.write_text('{"[ab]": "first", "*": "rest"}')
    result = ogive.arena(folder, ["none", "platt"], families=file, n_jobs=1)
    assert result.families == {"first": ["a", "b"], "rest": ["c"]}
    again = ogive.arena(folder, ["none", "platt"], families={"[ab]": "first"}, n_jobs=1)
    assert again.families == {"first": ["a", "b"], "c": ["c"]}


@pytest.mark.parametrize("text", ["[1]", '{"a": 1}', "{"])
def test_families_must_be_names(tmp_path, text):
    file = tmp_path / "families.json"
    file.write_text(text)
    with pytest.raises((InvalidInput, FileFormatError), match=r"must be one object|is not JSON"):
        read_families(file)
