"""What people see on a terminal: a bar that draws, tables that fit."""

import io
import sys

import pytest
from rich.console import Console

from ogive.cli import tables, terminal


def test_a_bar_is_drawn_from_the_first_step_on(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "_PATIENCE", -1.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with terminal.progress("reading") as step:
        step("counting rows", 1, 3)
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
