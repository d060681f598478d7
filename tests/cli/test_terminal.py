"""What people see on a terminal: a bar that draws, tables that fit."""

import io
import re
import sys
import time

import pytest
from rich.console import Console

from ogive.cli import tables, terminal
from tests.bundled import DEMO


def drawn(capsys, words):
    """Return what the bar shows once it shows the words: a thread of its own draws it."""
    text, deadline = "", time.monotonic() + 60
    while words not in text and time.monotonic() < deadline:
        time.sleep(0.02)
        text += capsys.readouterr().err
    assert words in text
    return text


def test_a_bar_is_drawn(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with terminal.progress("reading") as step:
        step("counting rows", 1, 3)
        drawn(capsys, "counting rows")
        step("counting rows", 3, 3)


COLUMNS = ("name", "first", "second", "third")
CELLS = ["a method", "0.123456789", "1.123456789 ± 0.123456789", "22.123456789"]


def printed(width, rows, spare=()):
    out = io.StringIO()
    tables.show_table(Console(file=out, width=width), "title", COLUMNS, rows, spare)
    return out.getvalue()


@pytest.mark.parametrize(("width", "left"), [(120, 4), (80, 4), (72, 3)])
def test_a_table_leaves_out_spare_columns_where_it_is_narrow(width, left):
    cells = ["a-method", "1" * 20, "2" * 20, "3" * 20]
    lines = printed(width, [(cells, "")] * 2, ["first"]).splitlines()
    assert len(lines[1].split()) == len(lines[2].split()) == left


@pytest.mark.parametrize("width", [40, 60, 69])
def test_below_70_columns_rows_are_stacked_with_all_their_cells(width):
    text = printed(width, [(CELLS, ""), (["b", "", "2.5"], "green")], ["first"])
    assert text.splitlines() == [
        "title",
        "a method",
        "  first: 0.123456789",
        "  second: 1.123456789 ± 0.123456789",
        "  third: 22.123456789",
        "b: 2.5",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize(
    "words",
    [
        ("measure", DEMO),
        ("measure", DEMO, "--view", "all"),
        ("compare", DEMO, "--methods", "none,platt,temperature"),
    ],
    ids=" ".join,
)
def test_no_digit_is_cut_at_any_width(run, monkeypatch, width, words):
    monkeypatch.setattr(
        terminal, "console", lambda: Console(highlight=False, emoji=False, width=width)
    )
    code, text, _ = run(*words)
    assert code == 0
    assert max(map(len, text.splitlines())) <= width
    assert not re.search(r"\d…", text)
    if words[0] == "measure":  # compare has times, which differ, and spare columns
        monkeypatch.setattr(
            terminal, "console", lambda: Console(highlight=False, emoji=False, width=300)
        )
        numbers = set(re.findall(r"\d+\.\d+", run(*words)[1]))
        assert numbers <= set(re.findall(r"\d+\.\d+", text))


def test_long_names_of_groups_do_not_push_numbers_out():
    text = printed(80, [(["x" * 100, "0.123456789", "2.5", "3.5"], "")])
    assert "first: 0.123456789" in text
    assert text.replace("\n", "").count("x") == 100


def test_work_that_says_nothing_shows_a_bar_too(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with terminal.progress("fitting platt"):
        drawn(capsys, "fitting platt")


def test_a_total_that_is_not_known_shows_the_time_only(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with terminal.progress("fitting") as step:
        drawn(capsys, "fitting")
        step("vector scaling, step 3", 3, 0)
        shown = drawn(capsys, "step 3")
    assert re.search(r"0:0\d:\d\d", shown)
    assert "None" not in shown


def test_quick_work_shows_no_bar(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "_PATIENCE", 600.0)  # what is quick on a busy machine, too
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with terminal.progress("fitting") as step:
        step("fitting", 1, 2)
    assert capsys.readouterr().err == ""


def test_long_work_writes_lines_where_there_is_no_terminal(monkeypatch, capsys):
    with terminal.progress("fitting") as step:
        step("quick", 1, 2)
        assert capsys.readouterr().err == ""
    monkeypatch.setattr(terminal, "_FIRST_LINE", 0.0)
    with terminal.progress("fitting") as step:
        step("fits of the grid", 1, 4)
        step("fits of the grid", 2, 4)  # too soon after the first line
    out, err = capsys.readouterr()
    assert (out, err) == ("", "ogive: fits of the grid (25 %)\n")
