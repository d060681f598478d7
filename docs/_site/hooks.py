"""What the site adds to the pages of this folder, called by mkdocs.

Pages of the repository's root (the changelog, the map of the code) are pages of the site. The
reference of the Python API has a page for each group of public names, read from the docstrings.
"""

from __future__ import annotations

import html
import importlib
import inspect
import posixpath
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from docstrings import as_markdown
from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

import ogive
from docs._site import cells

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: Pages of the root that the site shows; links to other files of the root are left out.
ROOT_PAGES = {
    "README.md": "index.md",
    **{
        name: name for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
    },
}
#: The page that a link to a folder without an index opens.
FIRST_PAGES = {
    "docs/guides": "scikit-learn.md",
    "docs/tutorials": "binary.md",
    "docs/theory": "curve.md",
}
#: Where public names are explained: the page, and how the module they live in begins.
REFERENCE = {
    "curves": (
        "Curves and predictions",
        ("ogive.curve", "ogive.rows.predictions", "ogive.rows.views"),
    ),
    "measures": ("Measures and tests", ("ogive.metrics",)),
    "calibrators": ("Calibrators", ("ogive.calibrators",)),
    "estimators": ("Estimators for scikit-learn", ("ogive.estimators",)),
    "studies": ("Commands as functions", ("ogive.studies", "ogive.report", "ogive.plotting")),
    "files": ("Files and artifacts", ("ogive.readers", "ogive.export")),
}
INDEX = """# The Python API

Every public name of `ogive` and what it does. [Errors and warnings](errors.md) and [functions that
are called through their module](modules.md), such as `ogive.engines.local.curve`, have pages of
their own.
"""
#: Modules whose functions are called through them, as ogive.engines.local.curve.
MODULES = (
    "engines.local", "engines.dask", "engines.spark", "export.targets", "export.to_onnx",
    "export.to_python", "export.to_sql", "export.to_torch", "metrics.vector", "plotting.figures",
    "studies.apply_log", "studies.fitted_on", "studies.logs",
)  # fmt: skip
#: How much more (or less) a page counts in the search, by its folder or name: answers come first.
SEARCH_BOOST = {
    "faq.md": 4, "start.md": 4, "guides": 3, "tutorials": 2, "learn": 3, "decisions.md": 2,
    "export.md": 6, "files.md": 2, "groups.md": 2,
    "reference": 0.5, "design": 0.2, "CHANGELOG.md": 0.1, "ARCHITECTURE.md": 0.2,
}  # fmt: skip
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
    for name in ("search.js", "site.js", "site.css"):
        text = (ROOT / "docs" / "_site" / name).read_text(encoding="utf-8")
        files.append(File.generated(config, f"assets/{name}", content=text))
    for page, text in reference().items():
        files.append(File.generated(config, f"reference/{page}.md", content=text))
    for page in cells.pages():
        for target, content in made_by(page, page.read_text(encoding="utf-8")).items():
            if (there := files.get_file_from_path(target)) is not None:
                files.remove(there)  # the figures of today take the place of the stored ones
            files.append(File.generated(config, target, content=content))
    return files


@cache
def made_by(page: Path, text: str) -> dict[str, bytes]:
    """Run the cells of a page, which must print what it shows; return the files it links to."""
    folder = page.relative_to(DOCS).parent.as_posix()
    with tempfile.TemporaryDirectory() as empty:
        try:
            made = cells.check(text, Path(empty))
        except cells.Stale as stale:
            msg = f"{page.relative_to(ROOT)}: {stale}\nrun: python -m docs update"
            raise PluginError(msg) from None
        return {
            posixpath.normpath(posixpath.join(folder, link)): path.read_bytes()
            for link, path in made.items()
        }


def reference() -> dict[str, str]:
    """Return the pages of the reference: every public name is on one of them, with a docstring."""
    pages = {page: f"# {title}\n" for page, (title, _) in REFERENCE.items()}
    index: dict[str, list[str]] = {page: [] for page in pages}
    missing = []
    for name in sorted(ogive.__all__, key=str.lower):
        thing = getattr(ogive, name)
        missing += undocumented(name, thing)
        module = getattr(thing, "__module__", None) or thing.__name__
        whole = module if thing is importlib.import_module(module) else f"{module}.{name}"
        whole = "ogive.report.plain.report" if name == "report" else whole  # a package to call
        page = _page_of(module)
        pages[page] += f"\n## `ogive.{name}`\n\n::: {whole}\n"
        summary = as_markdown((inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " "))
        index[page].append(f"| [`{name}`]({page}.md#ogive{name.lower()}) | {summary} |\n")
    if missing:
        msg = f"Public names without a docstring: {', '.join(missing)}."
        raise LookupError(msg)
    pages["errors"] = "# Errors and warnings\n\n::: ogive.errors\n"
    pages["modules"] = "# Functions called through their module\n\n" + "".join(
        f"\n## `ogive.{name}`\n\n::: ogive.{name}\n" for name in MODULES
    )
    pages["index"] = INDEX + "".join(
        f"\n## [{title}]({page}.md)\n\n| name | what it does |\n|---|---|\n{''.join(index[page])}"
        for page, (title, _) in REFERENCE.items()
    )
    return pages


def undocumented(name: str, thing: object) -> list[str]:
    """Return the public name, and the public members of a class, that have no docstring."""
    names = {name: thing}
    if inspect.isclass(thing):
        names |= {f"{name}.{at}": getattr(thing, at) for at in dir(thing) if at[0] != "_"}
    return [
        at
        for at, one in names.items()
        if (callable(one) or isinstance(one, property) or at == name) and not inspect.getdoc(one)
    ]


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


def on_page_content(content: str, page: Page, **_: object) -> str:
    """Write formulas as MathML, which browsers show without a script; rank pages for the search."""
    content = _BLOCK.sub(
        lambda found: (
            f'<div class="formula">{convert(html.unescape(found[1]), display="block")}</div>'
        ),
        content,
    )
    content = _INLINE.sub(lambda found: convert(html.unescape(found[1])), content)
    first = page.file.src_uri.split("/")[0]
    if first in SEARCH_BOOST:
        page.meta["search"] = {"boost": SEARCH_BOOST[first]}
    return content.replace("<th></th>", "<td></td>")  # the corner of a table is no heading


def on_post_page(output: str, page: Page, **_: object) -> str:
    """Search without a network: the theme's helper for that comes from elsewhere."""
    helper = posixpath.relpath("assets/search.js", posixpath.dirname(page.file.dest_uri) or ".")
    output = _ELSEWHERE.sub(f'<script src="{helper}"></script>', output)
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')
