"""The commands: each reads, computes in the library, and prints a table or one JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ogive import __version__
from ogive.cli.arena import arena
from ogive.cli.comparing import compare, demo
from ogive.cli.logs import on_engines, reads_logs
from ogive.cli.options import (
    BINS,
    FILE_HELP,
    FOLDS,
    INPUT,
    NOTE,
    OUTPUT,
    RESAMPLES,
    SEED,
    WORD,
    as_json_option,
    check_columns,
    check_output,
    columns_of,
    one_of,
    reads_files,
    refuse,
    view_option,
)
from ogive.cli.paper import paper
from ogive.cli.pictures import plot, report
from ogive.cli.terminal import Command, say

if TYPE_CHECKING:
    from pathlib import Path

    from ogive.curve import Curve
    from ogive.predictions import Predictions


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ogive")
def ogive() -> None:
    """How far a classifier's probabilities can be trusted, without bins; and their repair."""


ogive.command_class = Command

_method = click.option(
    "--method", type=WORD, default="spline", show_default=True, help="What to fit."
)
_part = click.option(
    "--part", type=WORD, metavar="PART", help="cal, test or all [cal, if the file has parts]."
)


@ogive.command(epilog=FILE_HELP)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=INPUT)
@click.option(
    "--part", type=WORD, metavar="PART", help="cal, test or all [test, if the file has parts]."
)
@click.option(
    "--view", type=WORD, metavar="VIEW", help="top-1, within-top-2, class-7, score, … or all."
)
@click.option("--bins", type=BINS, default=15, show_default=True, help="For binned measures.")
@click.option("--resamples", type=RESAMPLES, default=0, help="For bootstrap intervals [none].")
@click.option("--seed", type=SEED, default=0, help="Of resamples and simulated p-values [0].")
@click.option("--by", type=WORD, metavar="COL", help="A log's groups: one curve each, by KS.")
@click.option("--save-curve", type=OUTPUT, help="Keep a log's summary: it can be measured again.")
@reads_logs
@reads_files
@as_json_option
def measure(
    files: tuple[Path, ...],
    part: str | None,
    view: str | None,
    *,
    bins: int,
    resamples: int,
    seed: int,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Measure the calibration of a view, with intervals and a verdict.

    A folder, a glob, several tables, a table too long for memory, and curves saved with
    --save-curve are read as one log.
    """
    from ogive.cli import logs, tables, terminal  # noqa: PLC0415
    from ogive.readers.together import read_together  # noqa: PLC0415
    from ogive.studies.measure import measure as measured  # noqa: PLC0415

    check_columns(files)
    check_output(options["save_curve"], files, data=True)
    how: dict[str, Any] = {"bins": bins, "seed": seed, "resamples": resamples}
    if logs.is_log(files, options):
        result = logs.measure(files, part, view, how, options)
    else:
        asked = (columns_of(options), options["experiment"], part)
        with terminal.progress("measuring") as step:
            how["progress"] = lambda done, total: step("resampling", done, total)
            memory = options["memory"]
            data = read_together(files, *asked, default="test", memory=memory)
            result = measured(data, view, **how)
    if as_json:
        terminal.print_json(result.to_dict())
    else:
        tables.show_measurement(terminal.console(), result)


@ogive.command(epilog=FILE_HELP)
@click.argument("file", type=INPUT)
@click.option(
    "-o", "--output", required=True, type=OUTPUT, help="Where the calibrator goes (.json)."
)
@_part
@_method
@view_option
@click.option(
    "--folds",
    type=FOLDS,
    default=5,
    show_default=True,
    help="Cross-validation folds for the KS error after calibration (0 = skip).",
)
@click.option("--date", type=NOTE, metavar="TEXT", help="Written into the calibrator.")
@click.option("--tag", type=NOTE, metavar="TEXT", help="Written into the calibrator.")
@reads_logs
@reads_files
@as_json_option
def fit(
    file: Path,
    output: Path,
    part: str | None,
    method: str,
    view: str | None,
    *,
    folds: int,
    date: str | None,
    tag: str | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Fit a calibrator and save it as JSON."""
    from ogive.cli import logs, terminal  # noqa: PLC0415
    from ogive.export.artifact import save  # noqa: PLC0415
    from ogive.readers.together import read_together  # noqa: PLC0415
    from ogive.studies.fitted_on import fitted_on  # noqa: PLC0415
    from ogive.studies.fitting import fit as fitted  # noqa: PLC0415
    from ogive.studies.gain import gain_of  # noqa: PLC0415

    check_columns([file])
    check_output(output, [file])
    data: Curve | Predictions
    with terminal.progress(f"fitting {method}") as step:
        if logs.is_log((file,), options):
            gamma, data = logs.fit(file, method, view, part, options, step=step)
        else:
            names, name = columns_of(options), options["experiment"]
            memory = options["memory"]
            data = read_together((file,), names, name, part, default="cal", memory=memory)
            gamma = fitted(data, method, view)
        info = fitted_on(data, gamma, method, folds=folds, date=date, tag=tag)
    save(gamma, output, info)
    result = {"method": method, "view": gamma.view, "n": gamma.n, "artifact": str(output)}
    if as_json:
        terminal.print_json(result)
    else:
        say(f"{method} of {gamma.view}, fitted on {gamma.n:,} rows: {output}")
        worth = gain_of(data, gamma, folds=folds)
        if worth is not None:
            say(worth.verdict)
        if worth is None or not worth.leave_alone:
            say(f"Next: ogive apply {output} FILE -o OUT")


@ogive.command(epilog=FILE_HELP)
@click.argument("calibrator", metavar="CAL.json", type=INPUT)
@click.argument("file", type=INPUT)
@click.option("-o", "--output", required=True, type=OUTPUT, help="Where the result goes.")
@click.option("--force", is_flag=True, help="Replace an output that exists; never an input.")
@on_engines
@reads_files
@as_json_option
def apply(
    calibrator: Path,
    file: Path,
    output: Path,
    *,
    force: bool,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Calibrate the predictions of a file; write the same kind of file.

    Calibrated scores, or full vectors, take the place of the old values. Other columns are kept.
    A folder or a glob becomes a folder of Parquet files; a run that was cut short can be repeated.
    An input is never written, and an output that exists only with --force.
    """
    from ogive.cli import logs  # noqa: PLC0415
    from ogive.export.artifact import load_map  # noqa: PLC0415
    from ogive.readers import open_file  # noqa: PLC0415
    from ogive.readers.together import calibrated, write_like  # noqa: PLC0415
    from ogive.studies.apply_log import warn_of_kind  # noqa: PLC0415
    from ogive.studies.fitting import apply as applied  # noqa: PLC0415

    check_columns([file])
    if logs.is_streamed(file, output, options):
        logs.apply(calibrator, file, output, options, force=force, as_json=as_json)
        return
    check_output(output, [calibrator, file], replace=force, data=True)
    _check_kind(file, output)
    gamma = load_map(calibrator)
    source = open_file(file, columns_of(options), experiment=options["experiment"])
    warn_of_kind(calibrator, source.kind, str(file))
    results = {}
    for part in source.parts:
        rows = applied(gamma, source.predictions(part or None))
        results[part] = calibrated(rows.score, rows.hit, rows.vectors)
    write_like(source, output, results)
    n = sum(result.values.shape[0] for result in results.values())
    logs.show_applied(n, output, as_json=as_json)


def _check_kind(file: Path, output: Path) -> None:
    """Refuse, before anything is read, an output of another kind than the file's."""
    from ogive.readers import FORMATS  # noqa: PLC0415

    room, wanted = (FORMATS.get(path.suffix.lower()) for path in (file, output))
    room = "npz" if room == "pickled" else room  # pickles are read, never written
    if room is not None and wanted != room:
        kinds = " ".join(suffix for suffix, name in FORMATS.items() if name == room)
        msg = f"{output}: the output of {file.name} must end in one of: {kinds}"
        raise click.UsageError(msg)


@ogive.command()
@click.argument("calibrator", metavar="CAL.json", type=INPUT)
@click.option(
    "--to", required=True, type=one_of("target", "onnx", "torch", "python", "sql"), help="The form."
)
@click.option("-o", "--output", required=True, type=OUTPUT, help="Where the result goes.")
@click.option(
    "--kind",
    type=one_of("kind", "logits", "probs"),
    help="What it will be given [as it was fitted].",
)
@click.option(
    "--dtype",
    type=one_of("dtype", "float32", "float64"),
    default="float32",
    show_default=True,
    help="Input of onnx and torch.",
)
@click.option(
    "--column", type=WORD, metavar="COL", help="sql: the score's column, or the logits' prefix."
)
@as_json_option
def export(
    calibrator: Path,
    to: str,
    output: Path,
    *,
    kind: str | None,
    dtype: str,
    column: str | None,
    as_json: bool,
) -> None:
    """Write a calibrator for serving, once its numbers are checked against the artifact's.

    onnx: a graph in double, operator set 17. torch: a .pt2 of torch.export. python: one function,
    standard library only. sql: one expression for PostgreSQL and DuckDB.
    """
    from ogive.cli import terminal  # noqa: PLC0415
    from ogive.export.targets import export_file  # noqa: PLC0415

    check_output(output, [calibrator])
    if to in {"python", "sql"}:
        refuse(f"{to} computes in double", "dtype")
    if to != "sql":
        refuse(f"{to} has no columns", "column")
    with terminal.progress(f"exporting to {to}"):
        result = export_file(calibrator, to, output, kind=kind, dtype=dtype, column=column)
    if as_json:
        terminal.print_json(result.to_dict())
    else:
        say(f"{result.out}: checked at {result.points:,} points, the largest difference is "
            f"{result.max_abs_difference:.1e}")  # fmt: skip
        if result.at_jumps:
            say(f"{result.at_jumps:,} points lie within rounding of a jump: counted apart.")


ogive.add_command(arena)
ogive.add_command(compare)
ogive.add_command(demo)
ogive.add_command(paper)
ogive.add_command(plot)
ogive.add_command(report)
