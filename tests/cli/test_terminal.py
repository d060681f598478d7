"""What people see on a terminal: a bar that draws, tables that fit."""

import io
import sys
import time

import pytest
from rich.console import Console

from ogive.cli import tables, terminal
from ogive.studies import estimate


def test_a_bar_is_drawn(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with terminal.progress("reading") as step:
        step("counting rows", 1, 3)
        time.sleep(0.3)
        step("counting rows", 3, 3)
    assert "counting rows" in capsys.readouterr().err


@pytest.mark.parametrize(("width", "left"), [(80, "a b c d"), (30, "a c d"), (20, "a c")])
def test_a_table_leaves_out_spare_columns_where_it_is_narrow(width, left):
    out = io.StringIO()
    rows = [(["name", "1" * 9, "2" * 9, "3" * 9], "")] * 2
    console = Console(file=out, width=width)
    tables.show_fitting(console, "title", ("a", "b", "c", "d"), rows, "b", "d")
    head, first = out.getvalue().splitlines()[1:3]
    assert head.split() == left.split()
    assert len(first.split()) == len(left.split())
    assert "…" not in first


def test_work_that_says_nothing_shows_a_bar_too(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with terminal.progress("fitting platt"):
        time.sleep(0.3)
    assert "fitting platt" in capsys.readouterr().err


def test_a_total_that_is_not_known_shows_the_time_only(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with terminal.progress("fitting") as step:
        time.sleep(0.2)
        step("vector scaling, step 3", 3, 0)
        time.sleep(0.3)
    shown = capsys.readouterr().err
    assert "step 3" in shown
    assert "0:00:00" in shown
    assert "None" not in shown


def test_quick_work_shows_no_bar(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with terminal.progress("fitting") as step:
        step("fitting", 1, 2)
    assert capsys.readouterr().err == ""


def test_slow_methods_are_announced_before_they_start(run, monkeypatch, scores):
    monkeypatch.setattr(estimate, "slow_methods", lambda *_: {"vector": 40.0, "spline": 130.0})
    line = "ogive: this takes a while: vector about 40 s, spline about 2 min"
    assert run("compare", scores, "--methods", "none,platt")[2] == f"{line}.\n"
    out = scores.with_name("x.html")
    assert f"{line}.\n" in run("report", scores, "-o", out, "--methods", "none")[2]
    words = ("fit", scores, "-o", scores.with_name("cal.json"), "--method", "platt")
    assert f"{line}, and 5 times that with --folds 5.\n" in run(*words)[2]
    assert f"{line}.\n" in run(*words, "--folds", 0)[2]
