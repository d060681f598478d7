"""What the site adds to the pages of this folder, called by mkdocs.

Pages of the repository's root (the changelog, the map of the code) are pages of the site. The
reference of the Python API has a page for each group of public names, read from the docstrings.
"""

from __future__ import annotations

import html
import importlib
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from latex2mathml.converter import convert
from mkdocs.structure.files import File

import ogive

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
#: Pages of the root that the site shows; links to other files of the root are left out.
ROOT_PAGES = {
    "README.md": "index.md",
    **{
        name: name for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
    },
}
#: The page that a link to a folder without an index opens.
FIRST_PAGES = {"docs/recipes": "scikit-learn.md", "docs/theory": "curve.md"}
#: Where public names are explained: the page, and how the module they live in begins.
REFERENCE = {
    "curves": ("Curves and predictions", ("ogive.curve", "ogive.predictions", "ogive.views")),
    "measures": ("Measures and tests", ("ogive.metrics",)),
    "calibrators": ("Calibrators", ("ogive.calibrators",)),
    "estimators": ("Estimators for scikit-learn", ("ogive.estimators",)),
    "studies": ("Commands as functions", ("ogive.studies", "ogive.report", "ogive.plotting")),
    "files": ("Files and artifacts", ("ogive.readers", "ogive.export")),
}
#: Formulas, as `pymdownx.arithmatex` marks them.
_INLINE = re.compile(r'<span class="arithmatex">\\\((.+?)\\\)</span>', re.DOTALL)
_BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.+?)\\\]\s*</div>', re.DOTALL)
_ELSEWHERE = re.compile(r'<script src="https://[^"]*/iframe-worker/shim"></script>')
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root and of the reference."""
    for name, page in ROOT_PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    helper = (ROOT / "docs" / "_site" / "search.js").read_text(encoding="utf-8")
    files.append(File.generated(config, "assets/search.js", content=helper))
    for page, text in reference().items():
        files.append(File.generated(config, f"reference/{page}.md", content=text))
    return files


def reference() -> dict[str, str]:
    """Return the pages of the reference: every public name is on one of them."""
    pages = {page: f"# {title}\n" for page, (title, _) in REFERENCE.items()}
    for name in sorted(ogive.__all__, key=str.lower):
        if name.startswith("_"):
            continue
        thing = getattr(ogive, name)
        module = getattr(thing, "__module__", None) or thing.__name__
        page = _page_of(module)
        whole = module if thing is importlib.import_module(module) else f"{module}.{name}"
        pages[page] += f"\n## `ogive.{name}`\n\n::: {whole}\n"
    return pages


def _page_of(module: str) -> str:
    for page, (_, starts) in REFERENCE.items():
        if module.startswith(starts):
            return page
    msg = f"No page of the reference holds {module}: add it to REFERENCE."
    raise LookupError(msg)


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Point links at the pages of the site."""
    folder = posixpath.dirname(page.file.src_uri)
    inside = page.file.src_uri not in ROOT_PAGES.values()

    def moved(match: re.Match[str]) -> str:
        picture, text, link = match.groups()
        if "://" in link or link.startswith(("#", "mailto:")):
            return match[0]
        target, _, anchor = link.partition("#")
        whole = posixpath.normpath(posixpath.join("docs" if inside else "", folder, target))
        if whole.startswith("docs/"):
            there = whole.removeprefix("docs/")
        elif whole in ROOT_PAGES:
            there = ROOT_PAGES[whole]
        else:
            return str(text)  # a file of the repository that is no page
        there = posixpath.relpath(there, folder or ".")
        if (ROOT / whole).is_dir():
            there = posixpath.join(there, FIRST_PAGES.get(whole, "index.md"))
        return f"{picture}[{text}]({there}{'#' + anchor if anchor else ''})"

    return _LINK.sub(moved, markdown)


def on_page_content(content: str, **_: object) -> str:
    """Write formulas as MathML, which browsers show without a script."""
    content = _BLOCK.sub(lambda found: convert(html.unescape(found[1]), display="block"), content)
    return _INLINE.sub(lambda found: convert(html.unescape(found[1])), content)


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Search without a network: the theme's helper for that comes from elsewhere."""
    helper = posixpath.relpath("assets/search.js", posixpath.dirname(page.file.dest_uri) or ".")
    return _ELSEWHERE.sub(f'<script src="{helper}"></script>', output)
