"""The commands: each reads, computes in the library, and prints a table or one JSON object."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ogive import __version__
from ogive._files import replacing
from ogive.cli.arena import arena
from ogive.cli.logs import on_engines, reads_logs
from ogive.cli.options import FILE_HELP, as_json_option, columns_of, names_of, reads_files
from ogive.cli.paper import paper
from ogive.cli.pictures import plot, report
from ogive.errors import FileFormatError

if TYPE_CHECKING:
    from ogive.curve import Curve
    from ogive.predictions import Predictions

_PATH = click.Path(path_type=Path)
_NEXT_STEPS = """
Next:
  ogive measure FILE                      how far can these probabilities be trusted?
  ogive fit FILE -o cal.json              fit the repair on a calibration part
  ogive apply cal.json FILE -o out.npz    repair the probabilities
  ogive compare FILE                      which repair is best, and is that noise?
  ogive report FILE -o report.html        all of it on one page, with graphs

FILE is .npz, .parquet, .csv, .arrow, .p or .h5: see `ogive measure --help`."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ogive")
def ogive() -> None:
    """How far a classifier's probabilities can be trusted, without bins; and their repair."""


_view = click.option(
    "--view", metavar="VIEW", help="top-1, top-r, within-top-r, class-k, score or vector."
)
_method = click.option("--method", default="spline", show_default=True, help="What to fit.")


@ogive.command(epilog=FILE_HELP)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_PATH)
@click.option("--part", metavar="PART", help="cal, test or all [test, if the file has parts].")
@click.option("--view", metavar="VIEW", help="top-1, within-top-2, class-7, score, … or all.")
@click.option("--bins", default=15, show_default=True, help="Bins of the binned measures.")
@click.option("--resamples", default=0, help="Bootstrap intervals from so many resamples [none].")
@click.option("--seed", default=0, show_default=True, help="Of resamples and simulated p-values.")
@click.option("--by", metavar="COL", help="A log's groups: one curve each, sorted by KS.")
@click.option("--save-curve", type=_PATH, help="Keep a log's summary: it can be measured again.")
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
@click.argument("file", type=_PATH)
@click.option(
    "-o", "--output", required=True, type=_PATH, help="Where the calibrator goes (.json)."
)
@click.option("--part", metavar="PART", help="cal, test or all [cal, if the file has parts].")
@_method
@_view
@click.option("--folds", default=5, show_default=True, help="For the KS error after; 0: none.")
@click.option("--date", metavar="TEXT", help="Written into the calibrator.")
@click.option("--tag", metavar="TEXT", help="Written into the calibrator.")
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
        click.echo(f"{method} of {gamma.view}, fitted on {gamma.n:,} rows: {output}")
        worth = gain_of(data, gamma, folds=folds)
        if worth is not None:
            click.echo(worth.verdict)
        if worth is None or not worth.leave_alone:
            click.echo(f"Next: ogive apply {output} FILE -o OUT")


@ogive.command(epilog=FILE_HELP)
@click.argument("calibrator", metavar="CAL.json", type=_PATH)
@click.argument("file", type=_PATH)
@click.option("-o", "--output", required=True, type=_PATH, help="Where the result goes.")
@on_engines
@reads_files
@as_json_option
def apply(
    calibrator: Path,
    file: Path,
    output: Path,
    *,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Calibrate the predictions of a file; write the same kind of file.

    Calibrated scores, or full vectors, take the place of the old values. Other columns are kept.
    A folder or a glob becomes a folder of Parquet files; a run that was cut short can be repeated.
    """
    from ogive.cli import logs  # noqa: PLC0415
    from ogive.export.artifact import load_map  # noqa: PLC0415
    from ogive.readers import open_file  # noqa: PLC0415
    from ogive.readers.together import calibrated, write_like  # noqa: PLC0415
    from ogive.studies.apply_log import warn_of_kind  # noqa: PLC0415
    from ogive.studies.fitting import apply as applied  # noqa: PLC0415

    if logs.is_streamed(file, output, options):
        logs.apply(calibrator, file, output, options, as_json=as_json)
        return
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


@ogive.command()
@click.argument("calibrator", metavar="CAL.json", type=_PATH)
@click.option("--to", required=True, metavar="onnx|torch|python|sql", help="The form.")
@click.option("-o", "--output", required=True, type=_PATH, help="Where the result goes.")
@click.option("--kind", metavar="logits|probs", help="What it will be given [as it was fitted].")
@click.option(
    "--dtype", default="float32", show_default=True, help="Input of onnx and torch, or float64."
)
@click.option("--column", metavar="COL", help="sql: the score's column, or the logits' prefix.")
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

    with terminal.progress(f"exporting to {to}"):
        result = export_file(calibrator, to, output, kind=kind, dtype=dtype, column=column)
    if as_json:
        terminal.print_json(result.to_dict())
    else:
        click.echo(f"{result.out}: checked at {result.points:,} points, the largest difference is "
                   f"{result.max_abs_difference:.1e}")  # fmt: skip
        if result.at_jumps:
            click.echo(f"{result.at_jumps:,} points lie within rounding of a jump: counted apart.")


@ogive.command(epilog=FILE_HELP)
@click.argument("file", type=_PATH)
@click.option("--methods", metavar="M,…", help="Names, separated by commas [all but the slow].")
@click.option(
    "--split",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Without parts: fit on this share of the rows, drawn at random, and test on the rest.",
)
@click.option("--seed", default=0, show_default=True, help="The seed of --split.")
@_view
@reads_files
@as_json_option
def compare(
    file: Path,
    methods: str | None,
    split: float | None,
    seed: int,
    view: str | None,
    *,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Fit each method on the cal part and measure it on the test part; the best first."""
    from ogive.readers import open_file  # noqa: PLC0415
    from ogive.readers.together import two_parts  # noqa: PLC0415

    source = open_file(file, columns_of(options), experiment=options["experiment"])
    cal, test = two_parts(source, split, seed)
    _compare(cal, test, methods, view, as_json=as_json)


def _compare(
    cal: Predictions, test: Predictions, methods: str | None, view: str | None, *, as_json: bool
) -> None:
    from ogive.cli import tables, terminal  # noqa: PLC0415
    from ogive.studies.compare import compare as compared  # noqa: PLC0415

    with terminal.progress("comparing") as step:
        result = compared(cal, test, names_of(methods), view, progress=step)
    if as_json:
        terminal.print_json(result.to_dict())
    else:
        tables.show_comparison(terminal.console(), result)


@ogive.command()
@click.option("--save", type=_PATH, help="Also write the sample to this .npz file, to play with.")
@as_json_option
def demo(save: Path | None, *, as_json: bool) -> None:
    """Do the main job on real data: a LeNet-5 on Fashion-MNIST, bundled."""
    from importlib.resources import as_file, files  # noqa: PLC0415

    from ogive.cli import tables, terminal  # noqa: PLC0415
    from ogive.readers import open_file  # noqa: PLC0415
    from ogive.studies.measure import measure as measured  # noqa: PLC0415

    with as_file(files("ogive") / "data" / "fmnist_lenet5.npz") as path:
        source = open_file(path)
        if save is not None:
            if save.suffix != ".npz":
                msg = f"--save writes a NumPy archive: call it .npz, not {save.name}."
                raise FileFormatError(msg)
            with replacing(save) as beside:
                beside.write_bytes(path.read_bytes())
    cal, test = source.predictions("cal"), source.predictions("test")
    if as_json:
        _compare(cal, test, None, None, as_json=True)
        return
    out = terminal.console()
    out.print("[bold]A LeNet-5 on Fashion-MNIST[/]: 10 classes, 5,000 rows to fit, 10,000 to test")
    tables.show_measurement(out, measured(test))
    tables.show_before_and_after(out, *_gaps(cal, test))
    _compare(cal, test, None, None, as_json=False)
    click.echo(_NEXT_STEPS)


def _gaps(cal: Predictions, test: Predictions) -> tuple[Curve, Curve]:
    """Return the test part's curve as it is, and after the default repair."""
    from ogive.curve import Curve  # noqa: PLC0415
    from ogive.studies.fitting import apply as applied  # noqa: PLC0415
    from ogive.studies.fitting import fit as fitted  # noqa: PLC0415

    rows = applied(fitted(cal), test)
    assert rows.hit is not None  # noqa: S101 - the sample has labels
    return Curve.from_predictions(test), Curve.from_scores(rows.score, rows.hit, view="top-1")


ogive.add_command(arena)
ogive.add_command(paper)
ogive.add_command(plot)
ogive.add_command(report)
