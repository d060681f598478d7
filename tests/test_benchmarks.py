"""The benchmarks' harness: what is wrong is not timed, and ratios and budgets are what they say."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import ogive
from benchmarks import compare, faq, learning, rows, tables
from benchmarks.__main__ import PATHS, SLOW, main, races
from benchmarks.growth import slopes
from benchmarks.measuring_peers import Measuring, measuring_peers
from benchmarks.race import Budget, Outcome, Race, Timing, run
from ogive.errors import OgiveWarning


def test_ratios_are_to_the_first_entry_and_budgets_compare_any_two(monkeypatch):
    took = {"short": 0.004, "long": 0.02}
    monkeypatch.setattr("benchmarks.race.timed", lambda work, _=1: (took[work()], took[work()]))
    race = Race(
        "nap",
        "Naps",
        {"short": lambda: "short", "long": lambda: "long"},
        (
            Budget("long", "short", most=2),
            Budget("short", "long", faster=2),
            Budget("short", "an absent peer", faster=1),
            Budget("long", seconds=0.01),
        ),
    )
    outcome = run(race, quick=True)
    short, long = outcome.timings
    assert short.ratio == 1.0
    assert long.ratio == pytest.approx(5.0)
    assert [met for *_, met in outcome.verdicts] == [False, True, False]
    assert outcome.verdicts[1][1] == pytest.approx(5.0)
    text = tables.text(outcome)
    assert "MISSED  long: at most 2 times short" in text
    assert "holds   short: at least 2 times faster than long" in text
    assert "MISSED  long: at most 10 ms, measured in ms: 20" in text


def test_a_wrong_number_is_not_timed():
    def check(entry, result):
        assert result == 4, entry

    with pytest.raises(AssertionError, match="theirs"):
        run(Race("sum", "2 + 2", {"ours": lambda: 4, "theirs": lambda: 5}, check=check))


def test_peak_memory_is_in_units_of_the_input():
    race = Race(
        "copy",
        "A copy",
        {"copy": lambda: np.ones(10**6)},
        memory=4 * 10**6,
        most_memory={"copy": 1.5},
    )
    outcome = run(race, quick=True)
    assert outcome.timings[0].peak == pytest.approx(2.0, rel=0.01)
    assert not outcome.verdicts[0][2]


def made(size, seconds):
    race = Race("ks", "KS", {}, size=size)
    return Outcome(race, 5, [Timing("ogive: KS", seconds, 1, 1, 1)])


def test_growth_is_the_slope_of_log_time_from_a_hundred_thousand_rows_on():
    few, *rest = [made(10**4, 5.0), made(10**5, 1.0), made(10**6, 10.0), made(10**7, 100.0)]
    (slope,) = slopes([few, *rest])
    assert slope.slope == pytest.approx(1.0)
    assert slope.met
    (steep,) = slopes([made(10**5, 1.0), made(10**7, 400.0)])
    assert not steep.met
    assert "MISSED" in tables.slopes_text([steep])
    assert slopes([few]) == []


def test_the_page_is_rewritten_between_its_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- benchmarks -->\nold\n<!-- end of benchmarks -->\nafter\n")
    tables.show({"benchmarks": tables.markdown([made(10**5, 1.0)], [])}, page)
    text = page.read_text()
    assert text.startswith("before")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| ogive: KS | 1000.00 ms |" in text


def test_every_hot_path_names_a_module_that_has_races():
    assert {race.name for race in races(["import"])} == {"import"}
    assert set(PATHS).isdisjoint(SLOW)


def test_the_command_prints_json(capsys, monkeypatch):
    def short():
        yield Race("import", "Nothing", {"import numpy": lambda: 1, "import ogive": lambda: 2})

    monkeypatch.setattr("benchmarks.startup.races", short)
    code = main(["--quick", "--only", "import", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert code == 0
    (race,) = found["races"]
    assert [entry["entry"] for entry in race["entries"]] == ["import numpy", "import ogive"]
    assert found["machine"]["numpy"] == np.__version__


def run_of(**entries):
    """Return a run with one race, of (clock, CPU) seconds by entry."""
    rows = [
        {"entry": name.replace("_", " "), "seconds": clock, "cpu": cpu}
        for name, (clock, cpu) in entries.items()
    ]
    return {"races": [{"title": "Naps", "entries": rows}]}


def test_a_slower_entry_is_seen_on_a_slower_machine_too():
    old = run_of(limit=(1.0, 1.0), ogive_a=(2.0, 2.0), ogive_b=(2.0, 2.0), ogive_c=(4.0, 4.0))
    new = run_of(limit=(2.0, 2.0), ogive_a=(4.1, 4.1), ogive_b=(5.0, 5.0), ogive_c=(4.0, 4.0))
    found = {one.entry: one for one in compare.changes(old, new)}
    assert [one.mark for one in found.values()] == ["", "SLOWER", "faster"]
    assert found["ogive b"].clock == pytest.approx(1.25)
    assert "1 of 3 are slower" in compare.text(list(found.values()))


def test_a_busy_machine_slows_the_clock_alone():
    old = run_of(limit=(1.0, 1.0), ogive_a=(2.0, 2.0), ogive_b=(2.0, None))
    new = run_of(limit=(1.0, 1.0), ogive_a=(3.0, 2.0), ogive_b=(3.0, None))
    assert [one.mark for one in compare.changes(old, new)] == ["slower by the clock", "SLOWER"]


def test_the_command_compares_two_runs(tmp_path, capsys, monkeypatch):
    for name, seconds in (("old", 1.0), ("new", 2.0)):
        run_at = run_of(limit=(1.0, 1.0), ogive=(seconds, seconds))
        (tmp_path / f"{name}.json").write_text(json.dumps(run_at))
    old, new = str(tmp_path / "old.json"), str(tmp_path / "new.json")
    assert main(["--compare", old, new]) == 1
    assert "SLOWER" in capsys.readouterr().out
    assert main(["--compare", old, old]) == 0
    naps = Race("import", "Naps", {"limit": lambda: 1, "ogive": lambda: 2})
    monkeypatch.setattr("benchmarks.startup.races", lambda: iter([naps]))
    monkeypatch.setattr("benchmarks.race.timed", lambda work, _=1: (work(), work()))
    assert main(["--quick", "--only", "import", "--compare", old]) == 1
    assert "SLOWER" in capsys.readouterr().out


def test_an_unknown_hot_path_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--only", "nonsense"])
    assert "nonsense" in capsys.readouterr().err


# torchmetrics with a newer torch
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:invalid escape sequence")  # netcal, compiled first here
def test_peers_measure_what_we_measure(rng):
    scores = rng.random(2000)
    peers = measuring_peers(scores, rng.random(2000) < scores**2)
    assert "scikit-learn: calibration_curve" in peers
    for peer in peers.values():
        peer.check(peer.work())
    with pytest.raises(AssertionError):
        Measuring(lambda: 0.5, lambda: 0.4).check(0.5)


def test_learning_curves_of_a_folder(tmp_path, rng, monkeypatch):
    monkeypatch.setattr(learning, "DRAWS", {10: 2, 40: 1, 500: 1})
    logits = 3.0 * rng.normal(size=(120, 3))
    labels = (logits / 3.0 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    np.savez(
        tmp_path / "one.npz",
        cal_logits=logits[:60],
        cal_labels=labels[:60],
        test_logits=logits[60:],
        test_labels=labels[60:],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OgiveWarning)
        found = learning.tables(tmp_path)
    for name, first in (("learning-vectors", "temperature"), ("learning-scores", "platt")):
        head, _, *rows = found[name].splitlines()
        assert f"| {first}: log loss |" in head
        assert [row.split(" | ")[:2] for row in rows] == [["| 10", "1"], ["| 40", "1"]]
        assert all(row.endswith("(one) |") for row in rows)


def test_the_questions_page_shows_what_its_command_prints(tmp_path):
    page = Path(faq.__file__).parents[1] / "docs/faq.md"
    copy = tmp_path / "faq.md"
    copy.write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
    tables.show({"bins": faq.bins()}, copy)
    assert copy.read_text(encoding="utf-8") == page.read_text(encoding="utf-8")


def test_the_table_of_rows_says_how_many_files_and_draws_it_rests_on(rng):
    p = rng.dirichlet(np.ones(3), 400)
    preds = ogive.Predictions(
        p, (rng.random((400, 1)) > p.cumsum(axis=1)).sum(axis=1), kind="probs"
    )
    cells = rows.cells(preds, preds, 50, one_score=False)
    done = [{"file": name, "group": "100 classes", "n": 50, "cells": cells} for name in "ab"]
    heading, _, row = rows.table(done, rows.ks_of, ".2f").splitlines()
    shown = dict(zip(heading.split(" | "), row.split(" | "), strict=True))
    assert (shown["rows"], shown["files"], shown["draws"]) == ("50", "2", "20")
    assert shown["none"] == f"{rows.ks_of(cells, 'none'):.2f}"
