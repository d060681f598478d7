"""The outputs that pages show are what their cells print; the build of the site checks the same."""

from __future__ import annotations

import doctest
from typing import TYPE_CHECKING

import pytest

from docs._site import cells
from docs._site.cells import DOCS, Stale, check, pages

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.filterwarnings("default")  # a command's warnings are for its reader, on stderr
@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_shows_what_its_cells_print(page: Path, tmp_path: Path) -> None:
    """Run every cell of a page, in order, in a new folder."""
    check(page.read_text(encoding="utf-8"), tmp_path)


def test_a_page_that_shows_something_else_is_refused(tmp_path: Path) -> None:
    """Another output, and an output that is not shown."""
    cell = "```python\nprint('KS error 5.63 %')\n```\n"
    check(f"{cell}\n```text\nKS error 5.64 %\n```\n", tmp_path)
    for shown in ("\n```text\nKS error 5.7 %\nand more\n```\n", "\n```text\nKS 5.63 %\n```\n", ""):
        with pytest.raises(Stale, match="the page shows"):
            check(cell + shown, tmp_path)


def test_what_counts_as_the_same_output() -> None:
    """The examples of `same`; the folder of the site is not collected."""
    assert doctest.testmod(cells).failed == 0  # noqa: S101 - a test


def test_every_stored_figure_is_on_a_page() -> None:
    """A stored figure that no page links to would stay for ever."""
    linked = {
        (page.parent / link).resolve()
        for page in DOCS.glob("**/*.md")
        for link in cells.links(page.read_text(encoding="utf-8"))
    }
    assert {path for path in (DOCS / "pictures").glob("**/*.png") if path not in linked} == set()  # noqa: S101
