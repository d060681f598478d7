"""Methods compared group by group: the calibrator of groups against one map for all rows."""

import json

import numpy as np
import pytest

from ogive.errors import InvalidInput
from ogive.rows.predictions import Predictions
from ogive.studies.compare import compare
from ogive.studies.compare_groups import GroupsOf
from tests import naive
from tests.studies.grouped_rows import grouped_rows, write_csv


def halves(scores, outcomes, country, weight=None):
    half = scores.size // 2
    parts = [slice(0, half), slice(half, None)]
    made = [
        Predictions(
            scores[at],
            outcomes[at],
            kind="probs",
            sample_weight=None if weight is None else weight[at],
        )
        for at in parts
    ]
    return made, GroupsOf(*(country[at] for at in parts), "country")


@pytest.mark.parametrize("weighted", [False, True])
def test_every_group_has_the_numbers_of_its_rows(weighted):
    rng = np.random.default_rng(0)
    scores, outcomes, country = grouped_rows(rng)
    weight = rng.integers(1, 4, scores.size).astype(float) if weighted else None
    (cal, test), groups = halves(scores, outcomes, country, weight)
    found = compare(cal, test, ["none", "spline"], groups=groups)
    assert {row.method for row in found.methods} == {"none", "spline", "groups"}
    assert found.best.method == "groups"
    assert found.recommended.method in {"none", "spline"}
    off = [row.ks["spline"] * row.n**0.5 for row in found.by_group.rows]
    assert off == sorted(off, reverse=True)  # what one map leaves farthest off comes first
    for row in found.by_group.rows:
        own = np.where(country == "", "(none)", country)[3000:] == row.group
        w = None if weight is None else weight[3000:][own]
        assert row.n == (own.sum() if w is None else w.sum())
        at = scores[3000:][own], outcomes[3000:][own]
        assert row.ks["none"] == pytest.approx(naive.ks(*at, w), abs=1e-9)
        assert row.nll["none"] == pytest.approx(naive.nll(*at, w), abs=1e-9)
    (br,) = (row for row in found.by_group.rows if row.group == "BR")
    assert br.ks["groups"] < 0.5 * br.ks["spline"]
    assert found.by_group.significant
    assert "below that of one spline for all rows: ogive fit --by country" in str(found)


def test_groups_that_do_not_differ_gain_nothing(rng):
    scores = rng.random(4000)
    (cal, test), groups = halves(
        scores, (rng.random(4000) < scores).astype(int), rng.choice(["a", "b"], 4000)
    )
    found = compare(cal, test, ["none", "spline"], groups=groups)
    assert not found.by_group.significant
    assert "noise" in found.by_group.note
    assert compare(cal, test, ["none"], groups=groups).by_group.gain is None


def test_the_command_compares_by_a_column(run, tmp_path, rng):
    path = write_csv(tmp_path / "log.csv", *grouped_rows(rng))
    options = ("--split", 0.5, "--methods", "none,spline")
    code, out, _ = run("compare", path, "--by", "country", *options, "--json")
    assert code == 0
    answer = json.loads(out)
    by = answer["by_group"]
    assert by["by"] == "country"
    assert {g["group"] for g in by["groups"]} == {"BR", "DE", "007", "(none)"}
    assert {m["method"] for m in by["groups"][0]["methods"]} == {"none", "spline", "groups"}
    assert sum(g["n"] for g in by["groups"]) == answer["n_test"]
    code, out, _ = run("compare", path, "--by", "country", *options)
    assert "farthest off after one map" in out
    code, _, err = run("compare", tmp_path, "--by", "country", *options)
    assert code != 0
    assert "needs one table" in err
    code, _, err = run("compare", path, "--by", "town", *options)
    assert "has no column `town`" in err


def test_names_are_printed_as_escapes(run, tmp_path, rng):
    scores, outcomes, country = grouped_rows(rng, 1000)
    country = np.where(country == "DE", "\x1b[31m[bold]x", country)
    path = write_csv(tmp_path / "log.csv", scores, outcomes, country)
    code, out, _ = run(
        "compare", path, "--by", "country", "--split", 0.5, "--methods", "none,spline"
    )
    assert code == 0
    assert "\x1b[31m" not in out
    assert "[bold]x" in out


def test_whole_vectors_have_no_groups(rng):
    logits = rng.normal(size=(300, 3))
    labels = rng.integers(0, 3, 300)
    preds = Predictions(logits, labels, kind="logits")
    with pytest.raises(InvalidInput, match="compared in one view"):
        compare(preds, preds, ["none"], "vector", groups=GroupsOf(labels, labels, "class"))
