"""The paper's tables as a page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from ogive import __version__
from ogive.errors import need
from ogive.report.graphs import Table
from ogive.report.page import NOTHING, About, Page
from ogive.studies.paper.tables import ASSUMPTIONS

if TYPE_CHECKING:
    from ogive.studies.paper.tables import PaperTables

_MARKS = {"best": "<b>{}</b>", "second": "<u>{}</u>", "": "{}"}


@dataclass(frozen=True, slots=True, repr=False)
class PaperPage(Page):
    """All that the page says: tables with the best in bold and the second best underlined."""

    template: ClassVar[str] = "paper.html"
    source: str
    made: str
    version: str
    sentence: str
    tables: tuple[tuple[str, Table], ...]
    how: tuple[str, ...]
    about: About = NOTHING
    notes: tuple[str, ...] = ()


def paper_page(result: PaperTables, source: str) -> PaperPage:
    """Return the page of the paper's tables."""
    markup = need("markupsafe", extra="cli").Markup
    tables = []
    for title, head, rows in result.tables():
        cells = (tuple(markup(_MARKS[mark]).format(text) for text, mark in row) for row in rows)
        tables.append((title, Table(head, tuple(cells))))
    claim = tuple(result.claim())
    return PaperPage(
        source=source,
        made=datetime.now(tz=UTC).date().isoformat(),
        version=__version__,
        sentence=claim[0] if claim else "",
        tables=tuple(tables),
        how=ASSUMPTIONS,
        notes=tuple(result.words()[1:] if claim else result.words()),
    )
