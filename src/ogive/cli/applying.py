"""The command apply: to files, and to logs file by file."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ogive.cli.logs import engine_of, is_log, on_engines
from ogive.cli.options import (
    as_json_option,
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
    from ogive.calibrators.grouped_map import GroupedMap  # noqa: PLC0415
    from ogive.export.artifact import load_map  # noqa: PLC0415
    from ogive.readers import open_file  # noqa: PLC0415
    from ogive.readers.multi_file import write_like  # noqa: PLC0415
    from ogive.studies.apply_log import check_classes, warn_of_kind  # noqa: PLC0415
    from ogive.studies.apply_mark import origin_of, warn_if_calibrated  # noqa: PLC0415
    from ogive.studies.fitting import MAY_MOVE, calibrated, may_move  # noqa: PLC0415
    from ogive.studies.group_fitting import groups_of  # noqa: PLC0415

    check_columns([file])
    if _is_streamed(file, output, options):
        _apply_log(calibrator, file, output, options, force=force, as_json=as_json)
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
            groups = groups_of(source, part, gamma.by) if isinstance(gamma, GroupedMap) else None
            results[part] = calibrated(gamma, source.predictions(part or None), groups)
        origin = origin_of(calibrator, file, {k: part.values for k, part in source.parts.items()})
        write_like(source, output, results, origin)
    n = sum(result.values.shape[0] for result in results.values())
    _show_applied(n, output, as_json=as_json)
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


def _is_streamed(file: Path, output: Path, options: dict[str, Any]) -> bool:
    """Return whether `apply` goes through a file piece by piece.

    It does so with folders, globs and long tables, and with any engine but the local one.
    """
    if engine_of(options)[0] != "local" or file.is_dir():
        return True
    if any(sign in str(file) for sign in "*?[") and not file.exists():
        return True
    return output.suffix.lower() == ".parquet" and is_log((file,), {})


def _apply_log(
    calibrator: Path,
    file: Path,
    output: Path,
    options: dict[str, Any],
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Calibrate a log into a folder, file by file."""
    from ogive.cli import terminal  # noqa: PLC0415
    from ogive.engines.files import open_log  # noqa: PLC0415
    from ogive.studies.apply_log import (  # noqa: PLC0415
        FileJob,
        apply_log,
        check_classes,
        warn_of_kind,
    )

    engine, where = engine_of(options)
    names = columns_of(options)
    with terminal.progress("calibrating") as step:
        if file.is_file() and engine == "local":
            check_output(output, [calibrator, file], replace=force, data=True)
            log = open_log(file, names)
            warn_of_kind(calibrator, log.layout.kind, str(file))
            if log.layout.kind != "scores":
                check_classes(calibrator, max(log.classes, 2), log.layout.labels, str(file))
            n, _ = FileJob(file, output, names).run(calibrator)
            _show_applied(n, output, as_json=as_json)
            return
        how = {"engine": engine, "force": force, "progress": step, **where}
        done = apply_log(calibrator, file, output, names, **how)
    if as_json:
        terminal.print_json(asdict(done))
        return
    kept = f" ({done.kept:,} were finished before)" if done.kept else ""
    files = done.written + done.kept
    many = "1 file" if files == 1 else f"{files:,} files"
    say(f"{done.n:,} rows calibrated in {many}{kept}: {done.out}")


def _show_applied(n: int, output: Path, *, as_json: bool) -> None:
    """Say how many rows were calibrated, and where they are."""
    from ogive.cli import terminal  # noqa: PLC0415

    if as_json:
        terminal.print_json({"n": n, "out": str(output)})
    else:
        say(f"{n:,} rows calibrated: {output}")
