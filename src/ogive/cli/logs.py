"""Logs on the command line: which inputs are logs, and how engines are asked for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ogive.cli.options import columns_of, memory_option, refuse, skip_bad_option
from ogive.cli.terminal import note
from ogive.cli.values import WORD, one_of
from ogive.engines import ENGINES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ogive._typing import Progress
    from ogive.engines.refine import Reading

_PLACES = {"scheduler": "dask", "master": "spark"}  # options of one engine
#: Options that only engines have.
ENGINE_ONLY = ("one_pass", "skip_bad", "engine", *_PLACES, "by", "save_curve")
_OF_READING = ("by", "memory", "one_pass", "skip_bad", "weight_kind", "every")
_OF_ROWS = ("view", "part", "by", "one_pass", "skip_bad", "engine", *_PLACES)


def reads_logs(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say how a log is read."""
    help_ = "Read a log only once: the KS error is then given as a range."
    command = on_engines(command)
    return reads_once(click.option("--one-pass", is_flag=True, help=help_)(command))


def reads_once(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a log that is read once."""
    for option in (
        skip_bad_option,
        memory_option,
    ):
        command = option(command)
    return command


def on_engines(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say where a log is read."""
    for option in (
        click.option(
            "--master",
            type=WORD,
            metavar="URL",
            help="With --engine spark: the cluster. [default: local[*]]",
        ),
        click.option(
            "--scheduler",
            type=WORD,
            metavar="ADDRESS",
            help="With --engine dask: the cluster. [default: one on this machine]",
        ),
        click.option(
            "--engine",
            type=one_of("engine", *ENGINES),
            help="What reads a log. [default: local]",
        ),
    ):
        command = option(command)
    return command


def engine_of(options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the engine that was asked for, with where it runs."""
    from ogive.engines import find_engine  # noqa: PLC0415

    name = options.get("engine") or "local"
    find_engine(name)
    given = {key: options[key] for key in _PLACES if options.get(key)}
    for key in given:
        if _PLACES[key] != name:
            msg = f"--{key} is for --engine {_PLACES[key]}."
            raise click.UsageError(msg)
    return name, given


def is_log(files: Sequence[Path], options: dict[str, Any]) -> bool:
    """Return whether an engine reads these files; refuse options that do not apply to them.

    Anything for which an option was given that only engines have is a log: see also
    `ogive.studies.logs.is_log`.
    """
    from ogive.export.curve_file import is_curve_file  # noqa: PLC0415
    from ogive.readers import Columns  # noqa: PLC0415
    from ogive.studies import logs  # noqa: PLC0415

    if options.get("cluster") is not None:
        if any(is_curve_file(file) for file in files):
            refuse("a saved curve does not know which rows belong together", "cluster")
        why = "it reads rows piece by piece, and --cluster needs all rows in memory"
        refuse(why, *(name for name in ENGINE_ONLY if options.get(name)))
        return False
    if all(is_curve_file(file) for file in files):
        refuse("saved curves are read as they are", *_OF_ROWS)
        return True
    if any(options.get(name) for name in ENGINE_ONLY):
        _check_tables(files, options)
        return True
    columns = columns_of(options) if "score" in options else Columns()
    return logs.is_log(files, columns, memory=options.get("memory") or "1GB")


def _check_tables(files: Sequence[Path], options: dict[str, Any]) -> None:
    """Refuse options of engines for files that engines do not read."""
    from ogive.engines.files import is_log as is_table  # noqa: PLC0415
    from ogive.engines.formats import FORMATS  # noqa: PLC0415
    from ogive.export.curve_file import is_curve_file  # noqa: PLC0415

    for file in files:
        if not is_table(file) and file.exists() and not is_curve_file(file):
            given = [name for name in ENGINE_ONLY if options.get(name)]
            refuse(f"{file} cannot be read as a log (known: {' '.join(FORMATS)})", *given)


def log_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a command as `ogive.studies.logs.read_log` takes them."""
    engine, where = engine_of(options)
    same = {name: options[name] for name in _OF_READING if name in options}
    return {**same, "columns": columns_of(options), "engine": engine, "note": note, **where}


def read(
    files: Sequence[Path],
    view: str | None,
    part: str | None,
    options: dict[str, Any],
    step: Progress,
    **wanted: Any,  # noqa: ANN401 - options of `ogive.studies.logs.read_log`
) -> Reading:
    """Read a log as the options of a command ask for."""
    from ogive.studies.logs import read_log  # noqa: PLC0415

    return read_log(files, view, part=part, progress=step, **wanted, **log_options(options))
