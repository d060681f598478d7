"""The commands that make pictures: plot and report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ogive.cli.options import FILE_HELP, as_json_option, columns_of, names_of, reads_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive.predictions import Predictions
    from ogive.readers.source import Source

_PATH = click.Path(path_type=Path)
_GRAPHS = (
    "panels", "difference", "reliability", "bins", "before-after", "methods", "classes",
)  # fmt: skip
_view = click.option("--view", metavar="VIEW", help="top-1, top-r, within-top-r, class-k or score.")
_method = click.option(
    "--method", default="spline", show_default=True, help="What is fitted and drawn."
)


def _splits(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that split a file without parts."""
    share = click.FloatRange(0, 1, min_open=True, max_open=True)
    help_ = "Without parts: fit on this share of the rows, drawn at random, and test on the rest."
    command = click.option("--seed", default=0, show_default=True, help="Of --split.")(command)
    return click.option("--split", type=share, help=help_)(command)


@click.command(epilog=FILE_HELP)
@click.argument("file", type=_PATH)
@click.option("-o", "--output", required=True, type=_PATH, help="Figure: .png, .svg or .pdf.")
@click.option(
    "--graph", type=click.Choice(_GRAPHS), default="panels", show_default=True, help="What to draw."
)
@_view
@_method
@_splits
@reads_files
@as_json_option
def plot(
    file: Path,
    output: Path,
    graph: str,
    view: str | None,
    method: str,
    *,
    split: float | None,
    seed: int,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Draw the calibration of a file: the paper's four panels, or another graph.

    With parts cal and test, the panels show the test part as it is, and both parts repaired by
    what was fitted on the cal part.
    """
    from ogive.cli import terminal  # noqa: PLC0415
    from ogive.errors import need  # noqa: PLC0415
    from ogive.plotting.figures import check_suffix, figure, save_figure  # noqa: PLC0415
    from ogive.readers import open_file  # noqa: PLC0415
    from ogive.report.gather import gather  # noqa: PLC0415

    check_suffix(output)
    need("matplotlib", extra="plot")
    source = open_file(file, columns_of(options), experiment=options["experiment"])
    cal, test = _parts(source, split, seed)
    with terminal.progress("drawing"):
        save_figure(figure(*gather(graph, test, cal, view=view, method=method)), output)
    _done(output, as_json=as_json)


@click.command(epilog=FILE_HELP)
@click.argument("file", type=_PATH)
@click.option("-o", "--output", required=True, type=_PATH, help="Where the page goes (.html).")
@click.option("--methods", metavar="M,…", help="What to compare [all but the slow].")
@_view
@_method
@_splits
@reads_files
@as_json_option
def report(
    file: Path,
    output: Path,
    methods: str | None,
    view: str | None,
    method: str,
    *,
    split: float | None,
    seed: int,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Write one self-contained page: can these probabilities be trusted, and how to repair them."""
    from ogive.cli import terminal  # noqa: PLC0415
    from ogive.errors import need  # noqa: PLC0415
    from ogive.readers import open_file  # noqa: PLC0415
    from ogive.report import build_report, write_html  # noqa: PLC0415

    need("jinja2", extra="cli")
    source = open_file(file, columns_of(options), experiment=options["experiment"])
    cal, test = _parts(source, split, seed)
    names = names_of(methods)
    with terminal.progress("measuring") as step:
        page = build_report(
            test, cal, view=view, method=method, methods=names, source=file.name, progress=step
        )
        write_html(page, output)
    if not as_json:
        click.echo(page.verdict.sentence)
    _done(output, as_json=as_json)


def _parts(
    source: Source, split: float | None, seed: int
) -> tuple[Predictions | None, Predictions]:
    """Return the rows to fit on, if there are any, and the rows to measure."""
    from ogive.readers.together import two_parts  # noqa: PLC0415

    if split is None and not (source.has_parts and {"cal", "test"} <= set(source.parts)):
        return None, source.predictions("test" if "test" in source.parts else None)
    return two_parts(source, split, seed)


def _done(output: Path, *, as_json: bool) -> None:
    from ogive.cli import terminal  # noqa: PLC0415

    if as_json:
        terminal.print_json({"out": str(output)})
    else:
        click.echo(f"Written: {output}")
