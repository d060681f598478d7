"""From a report to one HTML page: no script, nothing loaded, everything escaped."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING

from ogive._files import replacing
from ogive.errors import need
from ogive.plotting.panels import percent
from ogive.report.svg import draw_svg
from ogive.studies.compare import above_the_best

if TYPE_CHECKING:
    import os

    from ogive.plotting.marks import Panel
    from ogive.report.graphs import Graph
    from ogive.report.model import Report

_FIGURE_WIDTH = 760.0


def render_html(report: Report) -> str:
    """Return the page as text."""
    jinja = need("jinja2", extra="cli")
    folder = files("ogive.report") / "templates"
    style = (folder / "report.css").read_text(encoding="utf-8")
    page = (folder / "report.html").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    environment = jinja.Environment(
        autoescape=True, undefined=jinja.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["percent"] = percent
    environment.filters["above_the_best"] = above_the_best

    markup = need("markupsafe", extra="cli").Markup

    def drawn(graph: Graph) -> list[str]:
        """Return the pictures of a graph: finished markup, in which all text is escaped."""
        return [
            markup(
                draw_svg(
                    panel,
                    f"{graph.name}-{i}",
                    f"{graph.title}: {panel.title}" if panel.title else graph.title,
                    **({} if panel.frame else {"width": _cells_width(panel)}),
                )
            )
            for i, panel in enumerate(graph.panels)
        ]

    text: str = environment.from_string(page).render(
        r=report, style=markup(style), digest=digest, drawn=drawn
    )
    return text


def _cells_width(panel: Panel) -> float:
    """Return a width that leaves room for the names in the cells, as far as the page goes."""
    return min(max(80.0 * panel.x.high, 400.0), _FIGURE_WIDTH)


def write_html(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the page; a file being replaced stays whole."""
    text = render_html(report)
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")
