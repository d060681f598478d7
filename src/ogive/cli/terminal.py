"""The terminal's manners: one-line errors, colour only on a terminal, progress on stderr."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import click

from ogive.errors import OgiveError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console

#: Below this many seconds a progress bar would only flicker.
_PATIENCE = 1.0
_DONE, _FAILED, _WRONG_USAGE, _INTERRUPTED = 0, 1, 2, 130


def run(group: click.Group, argv: Sequence[str] | None) -> int:  # noqa: PLR0911 - one per ending
    """Run the command line and turn every failure into one line and an exit code."""
    try:
        group.main(argv, prog_name="ogive", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.UsageError as error:
        return _fail(error.format_message(), _WRONG_USAGE)
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted", _INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has gone (`ogive … | head`): that is no failure.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _DONE
    except (OgiveError, OSError, MemoryError) as error:
        return _fail(str(error) or type(error).__name__, _FAILED)
    except Exception as error:
        if os.environ.get("OGIVE_DEBUG"):
            raise
        message = f"{type(error).__name__}: {error} (unexpected; OGIVE_DEBUG=1 shows where)"
        return _fail(message, _FAILED)
    return _DONE


def _fail(message: str, code: int) -> int:
    click.echo(f"ogive: {' '.join(message.split())}", err=True)
    return code


def show_warning(  # noqa: PLR0917 - the signature is Python's
    message: Warning | str,
    category: type[Warning],  # noqa: ARG001
    filename: str,  # noqa: ARG001
    lineno: int,  # noqa: ARG001
    file: TextIO | None = None,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> None:
    """Print a warning as one line on stderr."""
    click.echo(f"ogive: warning: {' '.join(str(message).split())}", err=True)


def print_json(result: dict[str, Any]) -> None:
    """Print one JSON object and nothing else."""
    click.echo(json.dumps(result, allow_nan=False))


def console() -> Console:
    """Return a console for stdout: colour on a terminal only, wide enough for a table elsewhere."""
    from rich.console import Console  # noqa: PLC0415

    out = Console(highlight=False)
    return out if out.is_terminal else Console(highlight=False, width=110)


@contextmanager
def progress(total_hint: str) -> Iterator[Callable[[str, float, int], None]]:
    """Give a function ``step(what, done, total)`` that draws a bar on stderr.

    It draws on a terminal only, and only once the work has taken a second.
    """
    if not sys.stderr.isatty():
        yield lambda what, done, total: None  # noqa: ARG005
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:.0f}/"
               "{task.total:.0f}"), TimeRemainingColumn())  # fmt: skip
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(total_hint, total=None)
    start = time.monotonic()
    live = False

    def step(what: str, done: float, total: int) -> None:
        nonlocal live
        bar.update(task, description=what, completed=done, total=total)
        if not live and time.monotonic() - start > _PATIENCE:
            bar.start()  # after the update: it draws at once, and needs a total
            live = True

    try:
        yield step
    finally:
        if live:
            bar.stop()
