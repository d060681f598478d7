"""Pages whose examples are run: by the build of the site, pytest, and ``python -m docs update``.

A cell is a block of ``python``, or of ``console`` with lines ``$ ogive …``. The cells of a page run
in order, in one new folder, as a reader would run them. The block of ``text`` that follows a cell
is its output; commands may do without, where it is of no interest. A page links to files that its
cells write (figures, a report) by their names.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from ogive.cli import main

DOCS = Path(__file__).resolve().parents[1]
#: The pages whose cells are run.
EXECUTED = ("start.md", "gallery.md", "paper.md", "tutorials/*.md", "guides/*.md", "learn/*.md")
#: Exit codes of `ogive` for work that failed and for wrong usage; others are answers.
FAILED = (1, 2)
#: Differences of floating-point arithmetic, which pages show of exports, are below this.
ROUNDING = 1e-9
#: A line of an output that stands for lines which are left out.
LEFT_OUT = "…"

_CELL = re.compile(
    r"^```(?P<language>python|console)\n(?P<source>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
_NEEDS = re.compile(r"# needs: (\w+)")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
_MINUS_ZERO = re.compile(r"-(?=0(?:\.0+)?(?![\d.]))")
_LINK = re.compile(r"\]\(([^)\s#]+\.(?:png|svg|html))\)")


class Stale(Exception):
    """A page shows another output than its cell prints."""


@dataclass(frozen=True)
class Cell:
    """A block to run, the output that the page shows, and where in the page they are."""

    language: str
    source: str
    output: str | None
    place: tuple[int, int]

    def shows(self, printed: str) -> bool:
        """Whether the page shows what it prints. A command's output may be left out."""
        if self.output is None and self.language == "console":
            return True
        return same(printed, self.output or "")

    @property
    def needs(self) -> str | None:
        """The package that the first line asks for."""
        found = _NEEDS.match(self.source)
        return found and found[1]

    @property
    def runs_here(self) -> bool:
        """Whether that package is installed."""
        return self.needs is None or importlib.util.find_spec(self.needs) is not None

    def run(self, names: dict[str, object]) -> str:
        """Run it in the current folder; return what it prints."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if self.language == "python":
                exec(compile(self.source, "<cell>", "exec", dont_inherit=True), names)  # noqa: S102 - our own pages
            else:
                for line in self.source.replace("\\n", " ").splitlines():
                    if line.startswith("$ ogive "):
                        _command(shlex.split(line[2:], comments=True)[1:])
        return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())


def _command(words: list[str]) -> None:
    if main(words) in FAILED:
        msg = f"ogive {shlex.join(words)} failed"
        raise RuntimeError(msg)


def pages() -> list[Path]:
    """Return the pages whose cells are run."""
    return sorted(page for pattern in EXECUTED for page in DOCS.glob(pattern))


def cells(text: str) -> list[Cell]:
    """Return the cells of a page. Blocks with prompts are doctest's."""
    return [
        Cell(found["language"], found["source"], found["output"], found.span())
        for found in _CELL.finditer(text)
        if ">>> " not in found["source"]
    ]


def run(text: str, folder: Path) -> list[str]:
    """Run the cells of a page in an empty folder; return their outputs."""
    names: dict[str, object] = {"__name__": "__main__"}
    loaded = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        with contextlib.chdir(folder):
            return [one.run(names) if one.runs_here else one.output or "" for one in cells(text)]
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - loaded:  # modules that the page wrote
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                del sys.modules[name]


def check(text: str, folder: Path) -> dict[str, Path]:
    """Run a page and compare; return the files that it links to, by the link."""
    for cell, printed in zip(cells(text), run(text, folder), strict=True):
        if not cell.shows(printed):
            msg = f"this cell\n{cell.source}\nprints\n{printed}\nand the page shows\n{cell.output}"
            raise Stale(msg)
    return files(text, folder)


def links(text: str) -> list[str]:
    """Return the figures and pages that a page links to."""
    return _LINK.findall(text)


def files(text: str, folder: Path) -> dict[str, Path]:
    """Return the files that a page links to and its cells have written, by the link."""
    made = {link: folder / Path(link).name for link in links(text)}
    return {link: path for link, path in made.items() if path.is_file()}


def same(printed: str, shown: str) -> bool:
    r"""Whether an output is what the page shows, but for rounding and lines that are left out.

    >>> same("KS 5.63 %, n = 100", "KS 5.64 %, n = 100"), same("KS 5.63 %", "KS 5.9 %")
    (True, False)
    >>> same("-0.00", "0.01"), same("-0.01", "0.01")
    (True, False)
    >>> same("first\nsecond\nthird", "first\n…\nthird"), same("first\nsecond", "first")
    (True, False)
    """
    return _matches(printed.splitlines(), shown.splitlines())


def _matches(printed: list[str], shown: list[str]) -> bool:
    if not shown:
        return not printed
    if shown[0] == LEFT_OUT:
        return any(_matches(printed[i:], shown[1:]) for i in range(len(printed) + 1))
    return bool(printed) and _same_line(printed[0], shown[0]) and _matches(printed[1:], shown[1:])


def _same_line(printed: str, shown: str) -> bool:
    """Words must be equal; numbers may differ by one in the last digit shown."""
    printed, shown = (_MINUS_ZERO.sub("", line) for line in (printed, shown))
    words = [" ".join(_NUMBER.sub("0", line).split()) for line in (printed, shown)]
    numbers = zip(_NUMBER.findall(printed), _NUMBER.findall(shown), strict=False)
    return words[0] == words[1] and all(_same_number(*pair) for pair in numbers)


def _same_number(printed: str, shown: str) -> bool:
    if printed == shown:
        return True
    mantissa, _, exponent = shown.partition("e")
    digits = len(mantissa.partition(".")[2])
    if not digits:
        return False  # counts are exact
    unit = 10.0 ** (int(exponent or 0) - digits)
    values = [float(number.replace(",", "")) for number in (printed, shown)]
    return abs(values[0] - values[1]) <= max(1.01 * unit, ROUNDING)


def updated(text: str, folder: Path) -> str:
    """Return a page with the outputs of today, where they differ."""
    for cell, printed in reversed(list(zip(cells(text), run(text, folder), strict=True))):
        if not cell.shows(printed):
            block = f"```{cell.language}\n{cell.source}```\n"
            block += f"\n```text\n{printed}```\n" if printed else ""
            text = text[: cell.place[0]] + block + text[cell.place[1] :]
    return text
