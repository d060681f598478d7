"""A file imports from lower levels only."""

import ast
from pathlib import Path

import pytest

import ogive

ROOT = Path(ogive.__file__).parent

# The level of each room: DESIGN's table. Rooms on one level do not import one another, except
# inside a folder and where a pair is listed in SIDEWAYS.
LEVELS = [
    {"errors", "_typing", "_files", "_html", "_lazy"},
    {"_validate"},
    {"_numerics"},
    {"_labels", "predictions", "_tails", "views"},
    {"curve"},
    {"metrics", "calibrators"},
    {"readers", "engines", "export", "diagrams", "estimators"},
    {"studies"},
    {"plotting", "report"},
    {"cli"},
]
SIDEWAYS = {
    ("_files", "errors"),
    ("predictions", "_labels"),
    ("_tails", "predictions"),
    ("views", "_tails"),
    ("views", "predictions"),
    ("engines", "readers"),
    ("report", "plotting"),
}
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}


def imports(path):
    """The rooms of ogive that a file imports, also under TYPE_CHECKING and inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "ogive" and len(parts) > 1:
                yield parts[1]


FILES = sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


def room_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_imports_from_lower_levels_only(path):
    room = room_of(path)
    assert room in LEVEL, f"{room} has no level: add it to the table"
    for other in imports(path):
        same = other == room or (room, other) in SIDEWAYS
        assert same or LEVEL[other] < LEVEL[room], f"{room} must not import {other}"


def test_the_check_can_fail(tmp_path):
    bad = tmp_path / "curve.py"
    bad.write_text("def f():\n    from ogive.metrics.ks import ks_error\n")
    assert [LEVEL[room] < LEVEL["curve"] for room in imports(bad)] == [False]
