"""From a report to one HTML page: nothing loaded, everything escaped.

The page's policy allows one style sheet and one script, each by its hash. The script reads a JSON
block, never code, and builds elements, never markup: a name in the data cannot run.
"""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files
from typing import TYPE_CHECKING

import ogive
from ogive._files import replacing
from ogive._wording import percent
from ogive.errors import need
from ogive.plotting.timeline import SHAPE as TIMELINE_SHAPE
from ogive.report.svg import draw_svg

if TYPE_CHECKING:
    import os

    from ogive.plotting.marks import Panel
    from ogive.report.graphs import Graph
    from ogive.report.page import Page

#: Characters that turn the direction of all text after them, as they are and as JSON has them: a
#: name with one would write our sentences backwards.
_ORDER_OF_TEXT = re.compile(
    r"[\u202a-\u202e\u2066-\u2069]|(?<!\\)((?:\\\\)*)\\u(?:202[a-e]|206[6-9])"
)
_TIMELINE_WIDTH = 540.0  # of days side by side: on a phone their names can still be read


def render_html(report: Page) -> str:
    """Return the page as text."""
    jinja = need("jinja2", extra="cli")
    folder = files("ogive.report") / "templates"
    texts = {one.name: one.read_text(encoding="utf-8") for one in folder.iterdir()}
    style, script = texts["report.css"], texts["report.js"]
    environment = jinja.Environment(
        loader=jinja.DictLoader(texts),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = percent
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}

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

    page = environment.get_template(report.template)
    text: str = page.render(
        r=report,
        version=ogive.__version__,
        style=markup(style),
        digest=_digest(style),
        script=markup(script),
        script_digest=_digest(script),
        drawn=drawn,
    )
    return _ORDER_OF_TEXT.sub("\\1\ufffd", text)


def _digest(text: str) -> str:
    """Return the hash that a content security policy asks for."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _width_of(panel: Panel) -> dict[str, float]:
    """Return the width of a panel, where it is not the usual one."""
    return {"width": _TIMELINE_WIDTH} if panel.shape == TIMELINE_SHAPE else {}


def write_html(report: Page, path: str | os.PathLike[str]) -> None:
    """Write the page; a file being replaced stays whole."""
    text = render_html(report)
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")
