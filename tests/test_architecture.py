"""ARCHITECTURE.md and the design pages name what is there."""

import importlib
import re

import pytest

from tests.levels import LEVEL
from tests.pages import ROOT

PAGE = ROOT / "ARCHITECTURE.md"
DESIGN = sorted((ROOT / "docs" / "design").glob("*.md"))
SOURCE = ROOT / "src" / "ogive"
PLACES = (ROOT, SOURCE)
HEADS = ("**Decision.** ", "**Reason.** ", "**Measured.** ", "**Revisit when** ")


def names(page):
    """What stands in backquotes, without examples such as `metrics/<name>.py`."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [name for name in re.findall(r"`([^`\n]+)`", text) if "<" not in name]


@pytest.mark.parametrize("page", [PAGE, *DESIGN], ids=lambda page: page.stem)
def test_every_file_that_is_named_exists(page):
    files = [n for n in names(page) if re.fullmatch(r"[\w./-]+(/|\.(py|md|html|json))", n)]
    assert [file for file in files if not any((place / file).exists() for place in PLACES)] == []


def test_tests_and_benchmarks_that_pages_name_exist():
    named = r"\b(?:tests|benchmarks)/[\w/-]+\.py"
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    found = {name for page in pages for name in re.findall(named, page.read_text("utf-8"))}
    assert len(found) > 20
    assert [name for name in sorted(found) if not (ROOT / name).exists()] == []


def test_files_of_the_diagrams_exist():
    drawn = "".join(re.findall(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
    files = re.findall(r"[\w/]+\.py", drawn)
    assert files
    known = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py")}
    last = {name.rsplit("/", 1)[-1] for name in known}
    assert [file for file in files if file not in known | last] == []


def test_tables_that_are_named_exist():
    tables = [name for name in names(PAGE) if re.fullmatch(r"[a-z]+(\.[a-z]+)*\._?[A-Z]+", name)]
    assert tables
    for name in tables:
        module, _, table = f"ogive.{name.removeprefix('ogive.')}".rpartition(".")
        assert getattr(importlib.import_module(module), table)


def test_the_levels_are_those_that_are_checked():
    text = PAGE.read_text(encoding="utf-8")
    section = text[text.index("## Rooms") : text.index("## The path")]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    order = [[r.strip("`/ ") for r in re.split(r" < |, ", row)] for row in rows]
    assert sorted(name for row in order for name in row) == sorted(LEVEL)
    above = None
    for words, row in zip(rows, order, strict=True):
        levels = [LEVEL[name] for name in row]
        assert above is None or max(levels) < above
        above = min(levels)
        if " < " in words:
            assert levels == sorted(set(levels))  # each above the one before it
        else:
            assert len(set(levels)) == 1


@pytest.mark.parametrize(
    "page", [p for p in DESIGN if p.stem != "index"], ids=lambda page: page.stem
)
def test_a_design_page_is_short_listed_and_complete(page):
    text = page.read_text(encoding="utf-8")
    assert [text.count(head) for head in HEADS] == [1, 1, 1, 1]
    prose = [line for line in text.splitlines() if not line.startswith("|")]
    assert len(" ".join(prose).split()) < 200
    title = text.splitlines()[0].removeprefix("# ")
    index = (page.parent / "index.md").read_text(encoding="utf-8")
    assert f"* [{title}]({page.name})" in index
