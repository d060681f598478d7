"""The commands: each reads, computes in the library, and prints a table or one JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ogive import __version__
from ogive.cli.arena import arena
from ogive.cli.comparing import compare, demo
from ogive.cli.gating import gate_of, gates, leave, limits_of
from ogive.cli.help import ALL_METHODS, Group
from ogive.cli.logs import on_engines, reads_logs
from ogive.cli.options import (
    BINS,
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
    method_option,
    one_of,
    part_option,
    reads_files,
    refuse,
    view_option,
)
from ogive.cli.paper import paper
from ogive.cli.pictures import plot, report
from ogive.cli.terminal import Command, note, progress, say

if TYPE_CHECKING:
    from pathlib import Path

    from ogive.curve import Curve
    from ogive.predictions import Predictions


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ogive", help="Print the version.")
def ogive() -> None:
    """Measure and correct the calibration of a classifier's probabilities.

    Where a model says 80 %, it should be right in 80 % of the cases. ogive measures how far a file
    of predictions is from that, fits a calibrator that corrects it, and applies it.

    Begin with `ogive demo`. `ogive COMMAND --help` has the options of a command, with examples.
    """


ogive.command_class = Command


@ogive.command(
    reads_predictions=True,
    examples=(
        ("ogive measure predictions.npz", "Calibration of the predicted class, on the test part."),
        (
            "ogive measure log/ --by country",
            "One line for each country, over all tables of a folder.",
        ),
    ),
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=INPUT)
@part_option("test")
@view_option("all")
@click.option(
    "--bins",
    type=BINS,
    metavar="N",
    default=15,
    show_default=True,
    help="Number of bins for ECE and MCE.",
)
@click.option(
    "--resamples",
    type=RESAMPLES,
    metavar="N",
    default=0,
    show_default=True,
    help="Bootstrap resamples for the intervals of all measures (0 = none).",
)
@click.option(
    "--seed",
    type=SEED,
    metavar="N",
    default=0,
    show_default=True,
    help="Random seed of resamples and simulated p-values.",
)
@click.option(
    "--by", type=WORD, metavar="COL", help="Measure each group that this column names by itself."
)
@click.option(
    "--save-curve",
    type=OUTPUT,
    metavar="PATH",
    help="Also save a summary of the rows, which `measure` and `fit` read like a file.",
)
@gates
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
    undecided: str | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Measure calibration, with intervals, p-values and a verdict.

    Several files, a folder or a glob of tables are read as one log. So are summaries saved with
    --save-curve, and a table that does not fit the memory limit.
    With a limit (--max-ks 0.02) it is a gate for pipelines: the exit code says whether the error is
    below it (0), above it (3), or whether more rows are needed to tell (4).
    """
    from ogive.cli import logs, tables, terminal  # noqa: PLC0415
    from ogive.readers.multi_file import read_together  # noqa: PLC0415
    from ogive.studies.gate import curve_of  # noqa: PLC0415
    from ogive.studies.measure import measure as measured  # noqa: PLC0415

    check_columns(files)
    check_output(options["save_curve"], files, data=True)
    limits = limits_of(options, view)
    how: dict[str, Any] = {"bins": bins, "seed": seed, "resamples": resamples}
    if logs.is_log(files, options):
        result, curves = logs.measure(files, part, view, how, options)
    else:
        asked = (columns_of(options), options["experiment"], part)
        with terminal.progress("measuring") as step:
            how["progress"] = step
            memory = options["memory"]
            parts: list[str] = []
            note, of_part = terminal.note, parts.append
            data = read_together(
                files, *asked, default="test", memory=memory, note=note, of_part=of_part
            )
            result = measured(data, view, **how, decide=not parts)
            curves = curve_of(data, view) if limits else {}
    if limits and getattr(result, "fitted_rows", False):
        msg = f"{result.verdict} A gate cannot judge them."
        raise click.UsageError(msg)
    gate = gate_of(curves, limits, bins=bins, seed=seed)
    if as_json:
        found = {} if gate is None else {"gate": gate.to_dict()}
        terminal.print_json(result.to_dict() | found)
    else:
        tables.show_measurement(terminal.console(), result)
        if gate is not None:
            say(str(gate))
    leave(gate, undecided)


@ogive.command(
    reads_predictions=True,
    examples=(
        ("ogive fit predictions.npz -o cal.json", "Fit the default method on the cal part."),
        (
            "ogive fit scores.csv -o cal.json --method platt",
            "Fit Platt scaling to a table of scores.",
        ),
    ),
)
@click.argument("file", type=INPUT)
@click.option(
    "-o",
    "--output",
    required=True,
    type=OUTPUT,
    metavar="PATH",
    help="The calibrator to write (.json).",
)
@part_option("cal")
@method_option(ALL_METHODS, "What to fit")
@view_option("vector", default="[default: vector, or score for a file of scores]")
@click.option(
    "--folds",
    type=FOLDS,
    metavar="N",
    default=5,
    show_default=True,
    help="Cross-validation folds for KS error and log loss after calibration (0 = skip).",
)
@click.option("--date", type=NOTE, metavar="TEXT", help="A date to keep in the calibrator.")
@click.option("--tag", type=NOTE, metavar="TEXT", help="A note to keep in the calibrator.")
@click.option(
    "--impossible",
    type=one_of("impossible", "zero"),
    help="With zero, a probability of 0 stays 0, as a logit of -inf always does.",
)
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
    """Fit a calibrator and save it as JSON.

    With --view vector a method may be followed by how its curves become probabilities of every
    class: spline:free, platt:ovr.
    """
    from ogive.cli import logs, terminal  # noqa: PLC0415
    from ogive.export.artifact import save  # noqa: PLC0415
    from ogive.export.curve_file import is_curve_file  # noqa: PLC0415
    from ogive.readers.multi_file import expand, read_together  # noqa: PLC0415
    from ogive.studies.deciding import judge_fit  # noqa: PLC0415
    from ogive.studies.estimate import slow_methods  # noqa: PLC0415
    from ogive.studies.fitted_on import before_and_after, fitted_on  # noqa: PLC0415
    from ogive.studies.fitting import MAY_MOVE, default_view, may_move  # noqa: PLC0415
    from ogive.studies.fitting import fit as fitted  # noqa: PLC0415

    check_columns([file])
    check_output(output, [file])
    if method == "none":
        refuse("nothing is fitted by the method none, so there is nothing to validate", "folds")
    data: Curve | Predictions
    classes: tuple[str | int, ...] | None = None
    test: Predictions | None = None
    with terminal.progress(f"fitting {method}") as step:
        if logs.is_log((file,), options):
            gamma, data, classes = logs.fit(file, method, view, part, options, step=step)
        else:
            names, name, memory = columns_of(options), options["experiment"], options["memory"]
            how = {"default": "cal", "memory": memory, "note": terminal.note}
            parts: list[str] = []
            data = read_together((file,), names, name, part, **how, of_part=parts.append)
            if parts == ["cal"]:
                test = read_together((file,), names, name, "test", default="cal", memory=memory)
            view = view or default_view(data)
            slow = slow_methods(data, [method], view)
            terminal.announce(slow, f", and {folds} times that with --folds {folds}" * bool(folds))
            fit_how: Any = {"impossible": options["impossible"], "progress": step}
            gamma = fitted(data, method, view, **fit_how)
        if not hasattr(gamma, "impossible"):
            refuse(f"{gamma.view} is one score, and zeros stay in whole vectors", "impossible")
        info = fitted_on(
            data,
            gamma,
            method,
            folds=folds,
            date=date,
            tag=tag,
            classes=classes,
            files=[] if is_curve_file(file) else expand([file]),
            part=part,
            progress=step,
        )
        verdict = judge_fit(data, gamma, info, test)
    save(gamma, output, info)
    result: dict[str, Any] = {
        "method": method,
        "view": gamma.view,
        "n": gamma.n,
        "artifact": str(output),
    }
    if as_json:
        known = ("ks_before", "ks_after", "log_loss_before", "log_loss_after", "folds")
        numbers = {name: getattr(info, name) for name in known} | verdict.flat()
        terminal.print_json(result | numbers | {"reasons": verdict.to_dict()})
    else:
        say(f"{method} of {gamma.view}, fitted on {gamma.n:,} rows: {output}")
        say(before_and_after(info))
        if may_move(gamma):
            say(MAY_MOVE)
        say(str(verdict))
        if verdict.calibrate is not False:
            say(f"Next: ogive apply {output} FILE -o OUT")


@ogive.command(
    reads_predictions=True,
    examples=(
        ("ogive apply cal.json new.npz -o calibrated.npz", "Calibrate the predictions of a file."),
        ("ogive apply cal.json log/ -o calibrated/", "Calibrate every table of a folder."),
    ),
)
@click.argument("calibrator", metavar="CAL.json", type=INPUT)
@click.argument("file", type=INPUT)
@click.option(
    "-o",
    "--output",
    required=True,
    type=OUTPUT,
    metavar="PATH",
    help="The file or folder to write.",
)
@click.option("--force", is_flag=True, help="Replace an existing output (never an input).")
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
    """Calibrate the predictions of a file, a folder or a glob.

    The output is the same kind of file as the input.
    Calibrated scores, or full vectors, take the place of the old values. Other columns are kept.
    A folder or a glob becomes a folder of Parquet files; a run that was cut short can be repeated.
    An input is never written, and an output that exists only with --force.
    """
    from ogive.cli import logs  # noqa: PLC0415
    from ogive.export.artifact import load_map  # noqa: PLC0415
    from ogive.readers import open_file  # noqa: PLC0415
    from ogive.readers.multi_file import write_like  # noqa: PLC0415
    from ogive.studies.apply_log import check_classes, warn_of_kind  # noqa: PLC0415
    from ogive.studies.apply_mark import origin_of, warn_if_calibrated  # noqa: PLC0415
    from ogive.studies.fitting import MAY_MOVE, calibrated, may_move  # noqa: PLC0415

    check_columns([file])
    if logs.is_streamed(file, output, options):
        logs.apply(calibrator, file, output, options, force=force, as_json=as_json)
        return
    check_output(output, [calibrator, file], replace=force, data=True)
    _check_kind(file, output)
    with progress("calibrating"):
        gamma = load_map(calibrator)
        source = open_file(file, columns_of(options), experiment=options["experiment"])
        warn_of_kind(calibrator, source.kind, str(file))
        warn_if_calibrated(file)
        if source.mapping is not None:
            if source.mapping.how in {"by name", "as given"}:
                note(source.mapping.words)
            classes = source.mapping.classes
            check_classes(calibrator, classes.size, source.mapping.known, str(file))
        results = {}
        for part in source.parts:
            results[part] = calibrated(gamma, source.predictions(part or None))
        origin = origin_of(calibrator, file, {k: part.values for k, part in source.parts.items()})
        write_like(source, output, results, origin)
    n = sum(result.values.shape[0] for result in results.values())
    logs.show_applied(n, output, as_json=as_json)
    if may_move(gamma) and not as_json:
        say(MAY_MOVE)


def _check_kind(file: Path, output: Path) -> None:
    """Refuse, before anything is read, an output of another kind than the file's."""
    from ogive.readers import FORMATS  # noqa: PLC0415
    from ogive.readers.guard import suffix_of  # noqa: PLC0415

    room, wanted = (FORMATS.get(suffix_of(path)) for path in (file, output))
    room = "npz" if room == "pickled" else room  # pickles are read, never written
    if room is not None and wanted != room:
        kinds = " ".join(suffix for suffix, name in FORMATS.items() if name == room)
        msg = f"{output}: the output of {file.name} must end in one of: {kinds}"
        raise click.UsageError(msg)


@ogive.command(
    examples=(
        ("ogive export cal.json --to onnx -o cal.onnx", "A graph for ONNX runtimes."),
        ("ogive export cal.json --to sql --column p -o cal.sql", "An expression of the column p."),
    ),
)
@click.argument("calibrator", metavar="CAL.json", type=INPUT)
@click.option(
    "--to",
    required=True,
    type=one_of("target", "onnx", "torch", "python", "sql"),
    help="The form to write.",
)
@click.option(
    "-o", "--output", required=True, type=OUTPUT, metavar="PATH", help="The file to write."
)
@click.option(
    "--kind",
    type=one_of("kind", "logits", "probs"),
    help="What the exported form will be given. [default: what the calibrator was fitted on]",
)
@click.option(
    "--dtype",
    type=one_of("dtype", "float32", "float64"),
    default="float32",
    show_default=True,
    help="Type of the numbers that onnx and torch are given.",
)
@click.option(
    "--column",
    type=WORD,
    metavar="COL",
    help="For sql: the column of the score, or the prefix of the logits' columns.",
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
    """Write a calibrator as ONNX, PyTorch, Python or SQL.

    onnx: a graph in double, operator set 17. torch: a .pt2 of torch.export. python: one function,
    standard library only. sql: one expression for PostgreSQL and DuckDB. The numbers are checked
    against those of the calibrator before the file is written.
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
