"""Limits of `ogive measure`: an exit code and one line."""

import json

import pytest


def test_a_gate_ends_with_its_code_and_one_line(run, scores):
    assert run("measure", scores)[0] == 0
    for limit, code, word in ((0.9, 0, "pass"), (0.01, 3, "fail"), (0.15, 4, "undecided")):
        found, out, err = run("measure", scores, "--max-ks", limit)
        assert (found, err) == (code, "")
        assert out.splitlines()[-1].startswith(f"Gate: {word}")
    assert "rows would decide it" in out
    assert run("measure", scores, "--max-ks", 0.15, "--undecided", "pass")[0] == 0
    assert run("measure", scores, "--max-ks", 0.15, "--undecided", "fail")[0] == 3
    code, out, _ = run("measure", scores, "--max-ks", 0.15, "--max-log-loss-gain", 0.9, "--json")
    gate = json.loads(out)["gate"]
    assert (code, gate["verdict"], gate["limit"]) == (4, "undecided", 0.15)
    assert gate["rows_needed"] > 300
    assert gate["interval"][0] < 0.15 < gate["interval"][1]
    assert [one["verdict"] for one in gate["limits"]] == ["undecided", "pass"]


@pytest.mark.parametrize(
    "words", [("--undecided", "pass"), ("--max-ks", "2"), ("--max-ece", "nan"),
              ("--max-ks", "0.1", "--view", "all")]
)  # fmt: skip
def test_a_gate_without_a_meaning_is_refused(run, scores, words):
    code, out, err = run("measure", scores, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
