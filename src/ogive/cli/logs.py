"""Logs on the command line: which inputs are logs, and how engines are asked for them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import click

from ogive.cli.options import columns_of, refuse
from ogive.cli.values import BITS, MEMORY, WORD, one_of
from ogive.engines import ENGINES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ogive.engines.files import Log
    from ogive.engines.refine import Reading
    from ogive.readers.source import Columns

_PLACES = {"scheduler": "dask", "master": "spark"}  # options of one engine
#: Options that only engines have.
ENGINE_ONLY = ("one_pass", "skip_bad", "engine", *_PLACES, "by", "bits", "save_curve")
_OF_ROWS = ("view", "part", "bits", "by", "one_pass", "skip_bad", "engine", *_PLACES)


def reads_logs(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say how a log is read."""
    help_ = "Read a log only once: the KS error is then given as a range."
    command = on_engines(command)
    return reads_once(click.option("--one-pass", is_flag=True, help=help_)(command))


def reads_once(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a log that is read once."""
    for option in (
        click.option(
            "--bits",
            type=BITS,
            metavar="N",
            help="Precision of a log's summary: scores are counted in buckets of N binary digits.",
        ),
        click.option(
            "--skip-bad",
            is_flag=True,
            help="Leave out rows of a log that are not valid, and say how many.",
        ),
        click.option(
            "--memory",
            type=MEMORY,
            metavar="SIZE",
            default="1GB",
            show_default=True,
            help="Memory limit for reading files, e.g. 500MB.",
        ),
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
    """Return whether an engine reads these files.

    Folders, globs, several tables, saved curves, and tables too long for memory are logs; so is
    anything for which an option was given that only engines have.
    """
    from ogive.engines.files import is_log as is_table  # noqa: PLC0415
    from ogive.export.curve_file import is_curve_file  # noqa: PLC0415
    from ogive.readers.memory import fits, parse_memory  # noqa: PLC0415
    from ogive.readers.sizes import table_bytes  # noqa: PLC0415

    room = parse_memory(options.get("memory") or "1GB")
    if all(is_curve_file(file) for file in files):
        refuse("saved curves are read as they are", *_OF_ROWS)
        return True
    if any(options.get(name) for name in ENGINE_ONLY):
        _check_tables(files, options)
        return True
    if any(is_curve_file(file) for file in files):
        return True
    if not all(is_table(file) for file in files):
        return False
    if len(files) == 1 and files[0].is_file():
        return not fits(table_bytes(files[0], _names(options), whole=False), room)
    return _only_tables(files, skip_bad=bool(options.get("skip_bad")))


def _names(options: dict[str, Any]) -> Columns:
    from ogive.readers import Columns  # noqa: PLC0415

    return columns_of(options) if "score" in options else Columns()


def _check_tables(files: Sequence[Path], options: dict[str, Any]) -> None:
    """Refuse options of engines for files that engines do not read."""
    from ogive.engines.files import is_log as is_table  # noqa: PLC0415
    from ogive.engines.formats import FORMATS  # noqa: PLC0415
    from ogive.export.curve_file import is_curve_file  # noqa: PLC0415

    for file in files:
        if not is_table(file) and file.exists() and not is_curve_file(file):
            given = [name for name in ENGINE_ONLY if options.get(name)]
            refuse(f"{file} cannot be read as a log (known: {' '.join(FORMATS)})", *given)


def _only_tables(files: Sequence[Path], *, skip_bad: bool) -> bool:
    """Return whether folders hold tables, and not archives of arrays."""
    from ogive.engines.files import is_log as is_table  # noqa: PLC0415
    from ogive.readers.multi_file import expand  # noqa: PLC0415

    return all(is_table(file) for file in expand(files, skip_bad=skip_bad))


def read(
    files: Sequence[Path],
    view: str | None,
    part: str | None,
    options: dict[str, Any],
    step: Callable[[str, float, int], None],
    *,
    default_part: str,
    vectors: bool = False,
    both: bool = False,
) -> Reading:
    """Read a log with the engine that was asked for; saved curves are added to it."""
    from ogive.engines import find_engine  # noqa: PLC0415
    from ogive.engines.files import open_log  # noqa: PLC0415
    from ogive.export.curve_file import is_curve_file  # noqa: PLC0415
    from ogive.studies.logs import views_of, with_saved  # noqa: PLC0415

    saved = [file for file in files if is_curve_file(file)]
    tables = [file for file in files if file not in saved]
    reading = None
    if tables:
        log = open_log(tables, columns_of(options), skip_bad=options["skip_bad"])
        _tell_classes(log)
        name, where = engine_of(options)
        engine = importlib.import_module(find_engine(name))
        reading = engine.read_log(
            tables,
            views_of(view, log.classes, log.layout.kind, both=both and not saved),
            columns=columns_of(options),
            by=options.get("by"),
            part=part,
            default_part=default_part,
            bits=options.get("bits"),
            memory=options["memory"],
            one_pass=options["one_pass"] or bool(saved),
            skip_bad=options["skip_bad"],
            weight_kind=options["weight_kind"],
            vectors=vectors and not saved,
            every=options.get("every"),
            progress=step,
            **where,
        )
    return with_saved(reading, saved) if saved else reading  # type: ignore[return-value]


def _tell_classes(log: Log) -> None:
    """Print which label is which column of a log, where it is not by number."""
    from ogive.cli.terminal import note  # noqa: PLC0415
    from ogive.readers.classes import class_map  # noqa: PLC0415

    mapping = class_map(log.layout, log.columns)
    if mapping is not None:
        note(mapping.words)
