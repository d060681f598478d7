"""The command plot, and what it shares with the command report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ogive.cli import terminal
from ogive.cli.help import CURVE_METHODS, FILE_OPTIONS
from ogive.cli.options import (
    as_json_option,
    check_columns,
    check_depth,
    check_output,
    cluster_option,
    columns_of,
    depth_of,
    groups_option,
    is_given,
    method_option,
    output_option,
    part_option,
    reads_files,
    refuse,
    splits,
    view_option,
)
from ogive.cli.terminal import Command, say
from ogive.cli.values import INPUT, one_of
from ogive.studies import GRAPHS, NEED_CAL, TIMELINE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ogive._files import Output
    from ogive.diagrams import Diagram
    from ogive.readers.source import Source
    from ogive.rows.predictions import Predictions
    from ogive.studies.watch import GroupWatch, Watch

#: Options that say how rows are read and fitted: a watch has none of them.
OF_ROWS = ("view", "method", "part", "split", *FILE_OPTIONS)


@click.command(
    cls=Command,
    reads_predictions=True,
    examples=(
        ("ogive plot predictions.npz -o panels.png", "The four panels of the paper."),
        (
            "ogive plot predictions.npz -o before-after.svg --graph before-after",
            "The cumulative gap before and after calibration.",
        ),
        (
            "ogive plot log.csv -o groups.svg --graph groups --by country,device",
            "The KS error of each group, the worst first.",
        ),
    ),
)
@click.argument("file", type=INPUT)
@output_option("The figure to write: .png, .svg or .pdf.")
@click.option(
    "--graph",
    type=one_of("graph", *GRAPHS, TIMELINE),
    default=GRAPHS[0],
    show_default=True,
    help="The graph to draw.",
)
@groups_option("With --graph groups: the columns that name groups, and their intersections.")
@view_option()
@method_option(CURVE_METHODS, "What is fitted and shown")
@cluster_option
@part_option("test, and cal to fit on")
@splits
@reads_files
@as_json_option
def plot(
    file: Path,
    output: Output,
    graph: str,
    view: str | None,
    method: str,
    *,
    part: str | None,
    split: float | None,
    seed: int,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Draw calibration graphs as .png, .svg or .pdf.

    With parts cal and test, the four panels show the test part as it is, and both parts
    calibrated by a map that was fitted on the cal part. With --part these rows are shown as they
    are. The graph timeline needs the state of a
    watch (`ogive watch --state`).
    """
    from ogive.errors import need  # noqa: PLC0415
    from ogive.plotting.figures import FORMATS, figure, save_figure  # noqa: PLC0415
    from ogive.readers.sample import open_sampled  # noqa: PLC0415
    from ogive.studies.graphs import diagrams_of  # noqa: PLC0415

    check([file], output, FORMATS, split, "figure", force=options["force"])
    _check_graph(graph, options)
    need("matplotlib", extra="plot")
    watch = watch_in(file)
    if graph == TIMELINE or watch is not None:
        save_figure(figure(_timeline(file, watch, graph)), output)
        done(output, as_json=as_json)
        return
    if graph == "groups":
        _plot_groups(file, output, view, options)
        done(output, as_json=as_json)
        return
    with terminal.progress("drawing"):
        how = {"experiment": options["experiment"], "random_state": seed, "note": terminal.note}
        source = open_sampled(file, columns_of(options), **how)
        cal, test = parts_of(source, split, seed, part)
        save_figure(figure(*diagrams_of(graph, test, cal, view=view, method=method)), output)
    done(output, as_json=as_json)


def check(
    files: Sequence[Path],
    output: Output,
    suffixes: Sequence[str],
    split: float | None,
    kind: str,
    *,
    force: bool,
) -> None:
    """Refuse, before anything is read, what cannot be written and what would be ignored."""
    if output.suffix.lower() not in suffixes:
        msg = f"{output}: the output must end in {', '.join(suffixes)}."
        raise click.UsageError(msg)
    check_columns(files)
    check_output(output, files, kind, force=force)
    if split is None:
        refuse("nothing is drawn at random without --split", "seed")


def _plot_groups(file: Path, output: Path, view: str | None, options: dict[str, Any]) -> None:
    """Draw the errors of groups, which an engine reads."""
    from ogive.plotting.figures import figure, save_figure  # noqa: PLC0415
    from ogive.studies.graphs import group_diagram  # noqa: PLC0415
    from ogive.studies.logs import measure_reading_groups, read_log  # noqa: PLC0415

    by = options["by"]
    how: dict[str, Any] = {"columns": columns_of(options), "note": terminal.note}
    with terminal.progress("reading") as step:
        reading = read_log((file,), view, by=by, depth=depth_of(options), progress=step, **how)
        save_figure(figure(group_diagram(measure_reading_groups(reading, by))), output)


def watch_in(file: Path) -> Watch | GroupWatch | None:
    """Return the watch that a file holds, if it is the state of one."""
    from ogive.studies.watch.state import is_state_file, load_state  # noqa: PLC0415

    return load_state(file).watch if is_state_file(file) else None


def _timeline(file: Path, watch: Watch | GroupWatch | None, graph: str) -> Diagram:
    """Return the timeline of a watch; other graphs and files are refused."""
    from ogive.studies.graphs import timeline_of  # noqa: PLC0415

    if watch is None:
        msg = f"--graph timeline is of a watch, and {file} is not the file of ogive watch --state."
        raise click.UsageError(msg)
    if graph != TIMELINE and is_given("graph"):
        msg = f"{file} is the state of a watch: its graph is --graph timeline."
        raise click.UsageError(msg)
    refuse("a timeline is made of the state of a watch", *OF_ROWS)
    return timeline_of(watch)


def _check_graph(graph: str, options: dict[str, Any]) -> None:
    """Refuse options that a graph does not heed."""
    check_depth(options)
    if graph in NEED_CAL:
        refuse(f"the graph {graph!r} is fitted on cal and shows test", "part")
    if is_given("part"):
        refuse("with --part the rows are shown as they are", "split")
    if graph == "groups":
        unheeded = ("method", "part", "split", "seed", "experiment", "cluster")
        refuse("this graph shows groups as they are", *unheeded)
        if options["by"] is None:
            msg = "the graph groups needs columns that name them: --by country,device"
            raise click.UsageError(msg)
        return
    refuse("only the graph groups shows groups", "by")
    if graph == "classes":
        refuse("this graph shows every class", "view", "method")
    elif graph in {"difference", "bins"}:
        refuse(f"the graph {graph!r} shows no fitted curve", "method")
    elif graph == "methods":
        refuse("this graph compares all methods", "method")


def parts_of(
    source: Source, split: float | None, seed: int, part: str | None = None
) -> tuple[Predictions | None, Predictions]:
    """Return the rows to fit on, if there are any, and the rows to measure."""
    from ogive.readers.multi_file import two_parts  # noqa: PLC0415

    if part is not None:
        return None, source.predictions(part)
    if split is None and not (source.has_parts and {"cal", "test"} <= set(source.parts)):
        return None, source.predictions("test" if "test" in source.parts else None)
    return two_parts(source, split, seed)


def done(output: Path, *, as_json: bool) -> None:
    """Say what was written."""
    if as_json:
        terminal.print_json({"out": str(output)})
    else:
        say(f"Written: {output}")
