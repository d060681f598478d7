"""From a report to one HTML page: no script, nothing loaded, everything escaped."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING

from ogive._files import replacing
from ogive.errors import need
from ogive.plotting.panels import percent
from ogive.plotting.timeline import SHAPE as TIMELINE_SHAPE
from ogive.report.model import Report
from ogive.report.svg import draw_svg
from ogive.studies.compare import above_the_best

if TYPE_CHECKING:
    import os

    from ogive.plotting.marks import Panel
    from ogive.report.graphs import Graph
    from ogive.report.watch import WatchReport

_FIGURE_WIDTH = 760.0
_TIMELINE_WIDTH = 540.0  # of days side by side: on a phone their names can still be read


def render_html(report: Report | WatchReport) -> str:
    """Return the page as text."""
    jinja = need("jinja2", extra="cli")
    folder = files("ogive.report") / "templates"
    texts = {
        name: (folder / name).read_text(encoding="utf-8")
        for name in ("report.css", "macros.html", "report.html", "watch.html")
    }
    style = texts["report.css"]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    environment = jinja.Environment(
        loader=jinja.DictLoader(texts),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
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
                    **_width_of(panel),
                )
            )
            for i, panel in enumerate(graph.panels)
        ]

    page = environment.get_template("report.html" if isinstance(report, Report) else "watch.html")
    text: str = page.render(r=report, style=markup(style), digest=digest, drawn=drawn)
    return text


def _width_of(panel: Panel) -> dict[str, float]:
    """Return the width of a panel, where it is not the usual one."""
    if not panel.frame:
        return {"width": _cells_width(panel)}
    return {"width": _TIMELINE_WIDTH} if panel.shape == TIMELINE_SHAPE else {}


def _cells_width(panel: Panel) -> float:
    """Return a width that leaves room for the names in the cells, as far as the page goes."""
    return min(max(80.0 * panel.x.high, 400.0), _FIGURE_WIDTH)


def write_html(report: Report | WatchReport, path: str | os.PathLike[str]) -> None:
    """Write the page; a file being replaced stays whole."""
    text = render_html(report)
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")
