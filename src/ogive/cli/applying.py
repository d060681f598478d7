"""The command apply: to files, and to logs file by file."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ogive.cli import terminal
from ogive.cli.logs import engine_of, on_engines
from ogive.cli.options import (
    as_json_option,
    band_of,
    band_options,
    check_columns,
    check_output,
    columns_of,
    output_option,
    reads_files,
)
from ogive.cli.terminal import Command, note, progress, say
from ogive.cli.values import INPUT

if TYPE_CHECKING:
    from pathlib import Path

    from ogive._files import Output
    from ogive.studies.apply_file import AppliedFile
    from ogive.studies.apply_log import Applied


@click.command(
    cls=Command,
    reads_predictions=True,
    examples=(
        ("ogive apply cal.json new.npz -o calibrated.npz", "Calibrate the predictions of a file."),
        ("ogive apply cal.json log/ -o calibrated/", "Calibrate every table of a folder."),
    ),
)
@click.argument("calibrator", metavar="CAL.json", type=INPUT)
@click.argument("file", type=INPUT)
@output_option("The file or folder to write.")
@band_options
@on_engines
@reads_files
@as_json_option
def apply(
    calibrator: Path,
    file: Path,
    output: Output,
    *,
    force: bool,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Calibrate the predictions of a file, a folder or a glob.

    The output is the same kind of file as the input.
    Calibrated scores, or full vectors, take the place of the old values. Other columns are kept.
    With --band the columns low and high are added: the band of the score, or of the most probable
    class.
    A folder or a glob becomes a folder of Parquet files; a run that was cut short can be repeated.
    Inputs are never overwritten. An existing output is replaced only with --force.
    """
    from ogive.studies.apply_file import apply_file  # noqa: PLC0415
    from ogive.studies.apply_log import is_streamed  # noqa: PLC0415
    from ogive.studies.fitting import MAY_MOVE, may_move  # noqa: PLC0415

    check_columns([file])
    if is_streamed(file, output, engine_of(options)[0]):
        _apply_log(calibrator, file, output, options, force=force, as_json=as_json)
        return
    check_output(output, [calibrator, file], None, force=force)
    _check_kind(file, output)
    with progress("calibrating"):
        how: Any = {"experiment": options["experiment"], "note": note, "band": band_of(options)}
        done = apply_file(calibrator, file, output, columns_of(options), **how)
    _show_applied(done, output, as_json=as_json)
    if may_move(done.gamma) and not as_json:
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


def _apply_log(
    calibrator: Path,
    file: Path,
    output: Output,
    options: dict[str, Any],
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Calibrate a log into a folder, file by file."""
    from ogive.studies.apply_log import apply_log  # noqa: PLC0415

    engine, where = engine_of(options)
    one = file.is_file() and engine == "local"
    if one:
        check_output(output, [calibrator, file], None, force=force)
    with terminal.progress("calibrating") as step:
        how: dict[str, Any] = {"engine": engine, "force": force, "progress": step, **where}
        done = apply_log(
            calibrator, file, output, columns_of(options), band=band_of(options), **how
        )
    if one:
        _show_applied(done, output, as_json=as_json)
        return
    if as_json:
        plain = {name: value for name, value in asdict(done).items() if name != "worse"}
        terminal.print_json(plain | _worse(done))
        return
    kept = f" ({done.kept:,} were finished before)" if done.kept else ""
    files = done.written + done.kept
    many = "1 file" if files == 1 else f"{files:,} files"
    say(f"{done.n:,} rows calibrated in {many}{kept}: {done.out}")


def _worse(done: Applied | AppliedFile) -> dict[str, Any]:
    """Return the names of groups that are worse off, as JSON has them."""
    return {} if done.worse is None else {"worse": [one.group for one in done.worse]}


def _show_applied(done: Applied | AppliedFile, output: Path, *, as_json: bool) -> None:
    """Say how many rows were calibrated, and where they are."""
    if as_json:
        terminal.print_json({"n": done.n, "out": str(output)} | _worse(done))
    else:
        say(f"{done.n:,} rows calibrated: {output}")
