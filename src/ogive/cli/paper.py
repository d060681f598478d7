"""The command `ogive paper`: the paper's tables on files of predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ogive._files import Output, replacing
from ogive.cli import terminal
from ogive.cli.options import as_json_option, check_output, methods_option, names_of, output_option
from ogive.cli.terminal import Command, as_text, say
from ogive.cli.values import INPUT, OUTPUT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rich.text import Text

    from ogive.studies.paper.tables import PaperTables

_STYLES = {"best": "bold", "second": "underline", "": ""}
_SUFFIXES = (".md", ".html", ".htm")
_MARK = "<!-- written by ogive -->"


@click.command(
    cls=Command,
    examples=(
        ("ogive paper predictions.npz", "The paper's tables for its methods, best in bold."),
        (
            "ogive paper logits/ --methods none,paper-spline,spline -o tables.html --figures fig",
            "Some methods on every file of a folder, as a page, and the paper's figures.",
        ),
    ),
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=INPUT)
@methods_option("[default: those of the paper]")
@output_option("Write a page: .html or .md.", required=False)
@click.option(
    "--figures",
    type=OUTPUT,
    metavar="DIR",
    help="Draw the paper's figures of each file into this folder: top-1 to -3, within-top-2, -3.",
)
@as_json_option
def paper(
    files: tuple[Path, ...],
    methods: str | None,
    output: Output | None,
    figures: Path | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Make the paper's tables for your predictions.

    FILE is a file with a calibration and a test part, or a folder of them. Errors of every kind
    that the paper prints, for its methods or others; the best is bold, the second best underlined.
    For the paper's own logits its numbers stand beside. MS-ODIR and Dir-ODIR take minutes.
    """
    from ogive.studies.paper.study import paper_tables  # noqa: PLC0415

    kind = "tables" if output is not None and output.suffix.lower() == ".md" else "report"
    check_output(output, files, kind, force=force)
    if output is not None and output.suffix.lower() not in _SUFFIXES:
        msg = f"{output}: the output must end in {', '.join(_SUFFIXES)}."
        raise click.UsageError(msg)
    with terminal.progress("the paper's tables") as step:
        result = paper_tables(files, names_of(methods), progress=step)
        if figures is not None:
            _draw(files, figures, step, force=force)
    if output is not None:
        _write(result, output, ", ".join(file.name for file in files))
    if as_json:
        terminal.print_json(result.to_dict())
    elif output is None:
        _show(result)
    else:
        say(f"Written: {output}")


def _show(result: PaperTables) -> None:
    """Print the tables."""
    from ogive.cli.tables import show_table  # noqa: PLC0415

    out = terminal.console()
    for title, head, rows in result.tables():
        cells = [([_cell(*cell) for cell in row], "") for row in rows]
        show_table(out, title, head, cells)
        out.print()
    for words in result.words():
        out.print(as_text(words), soft_wrap=True)


def _cell(text: str, mark: str) -> Text:
    """Return a cell whose text, and not the space beside it, has the style of its mark."""
    cell = as_text(text)
    cell.stylize(_STYLES[mark])
    return cell


def _write(result: PaperTables, output: Output, source: str) -> None:
    """Write the tables as Markdown or as a page."""
    from ogive.report.paper import paper_page  # noqa: PLC0415

    if output.suffix.lower() != ".md":
        paper_page(result, source).save(output)
        return
    with replacing(output) as beside:
        beside.write_text(f"{_MARK}\n\n{result.to_markdown()}\n", encoding="utf-8")


def _draw(
    files: Sequence[Path], folder: Path, step: Callable[[str, float, int], None], *, force: bool
) -> None:
    """Draw the four panels of each view: as it is, and calibrated by the paper's spline."""
    from ogive.errors import OgiveError, need  # noqa: PLC0415
    from ogive.plotting.figures import figure, save_figure  # noqa: PLC0415
    from ogive.readers.multi_file import expand  # noqa: PLC0415
    from ogive.studies.graphs import diagrams_of  # noqa: PLC0415
    from ogive.studies.paper.study import parts_of  # noqa: PLC0415
    from ogive.studies.paper.tables import COLUMNS  # noqa: PLC0415

    need("matplotlib", extra="plot")
    folder.mkdir(parents=True, exist_ok=True)
    paths = expand(files)
    for done, path in enumerate(paths):
        try:
            cal, test = parts_of(path)
        except (OgiveError, OSError):
            continue  # the tables say why
        for view in dict.fromkeys(one.view for one in COLUMNS if one.exists(test)):
            step(f"{path.name} {view}", done, len(paths))
            name = "score" if test.one_column else view
            knots = ":knots=14" if view.startswith("within") else ""
            drawn = diagrams_of("panels", test, cal, view=name, method=f"paper-spline{knots}")
            out = Output(folder / f"{path.stem}-{name}.png")
            check_output(out, files, "figure", force=force)
            save_figure(figure(*drawn), out)
