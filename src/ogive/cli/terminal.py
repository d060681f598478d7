"""The terminal's manners: one-line errors, colour only on a terminal, progress on stderr."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import unicodedata
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

import click

from ogive.cli import TERMINATED, Terminated
from ogive.cli.help import HelpfulCommand
from ogive.cli.interrupt import INTERRUPTED
from ogive.errors import DoesNotApply, OgiveError, OutputRefused, UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import Console
    from rich.text import Text

    from ogive._typing import Progress

#: Below this many seconds a progress bar would only flicker.
_PATIENCE = 1.0
_FIRST_LINE, _BETWEEN_LINES = 8.0, 30.0  # seconds, where stderr is no terminal
_DONE, _FAILED, _WRONG_USAGE = 0, 1, 2
#: Classes of characters that move the cursor, colour, or turn the direction of what follows.
_UNSHOWN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
#: Joiners are part of words and emoji, and change nothing else.
_JOINERS = "\u200c\u200d"
#: Longer errors of other libraries are cut: they may quote a file.
_MAX_FOREIGN_LENGTH = 300


class Interrupted(BaseException):
    """Ctrl-C, under a name for which click prints no line of its own."""


class _Foreign(OgiveError):
    """An error that another library raised."""


#: Options of 0.1 that are gone, and what to do instead.
_GONE = {
    "--bits": "leave it out; a log's summary is as fine as its rows and groups allow",
    "--check-by": "groups are judged when a map is fitted, ogive fit FILE -o CAL.json --check-by "
    "COL, and by ogive compare FILE --by COL",
    "--resume": "leave it out, and name the methods to run with --methods A,B",
    "--run-length": "say how often an alarm may be false with --alpha SHARE",
    "--pdf": "open the page of -o in a browser and print it; its print style is made for paper",
}


class Command(HelpfulCommand):
    """A command in which an error of another library becomes ours, with the files at hand."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; of an option that is gone, say what to do instead."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name not in _GONE:
                raise
            msg = f"{error.option_name} is gone: {_GONE[error.option_name]}."
            raise click.UsageError(msg, ctx) from error

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (OgiveError, OSError, click.ClickException, click.Abort, RuntimeError) as error:
            if isinstance(error, RecursionError) or type(error) is RuntimeError:
                raise _foreign(error, ctx) from error
            raise  # also click's Exit, which is a RuntimeError
        except KeyboardInterrupt as error:
            raise Interrupted from error
        except Exception as error:
            raise _foreign(error, ctx) from error


def _foreign(error: Exception, ctx: click.Context) -> _Foreign:
    """Say what failed, on which files, and the way out."""
    given = [ctx.params.get(name) for name in ("calibrator", "files", "file", "source", "folder")]
    paths: list[Path] = []
    for value in given:
        paths += value if isinstance(value, tuple) else [] if value is None else [value]
    names = ", ".join(map(str, paths)) or str(ctx.info_name)
    if isinstance(error, MemoryError):
        return _Foreign(
            f"{names}: not enough memory ({str(error) or 'nothing more is known'}). Give the rows "
            "as Parquet, which is read in pieces, with --memory below what is free."
        )
    reason = " ".join(str(error).split())[:_MAX_FOREIGN_LENGTH]
    return _Foreign(
        f"{names}: {ctx.info_name} failed ({type(error).__name__}: {reason}). Is the file whole, "
        "and what its suffix says? OGIVE_DEBUG=1 shows where it failed."
    )


def run(group: click.Group, argv: Sequence[str] | None) -> int:  # noqa: PLR0911 - one per ending
    """Run the command line and turn every failure into one line and an exit code."""
    try:
        code = group.main(argv, prog_name="ogive", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        return _fail(error.format_message(), _WRONG_USAGE)
    except (click.Abort, KeyboardInterrupt, Interrupted):
        return _fail("interrupted", INTERRUPTED)
    except Terminated:
        return _fail("terminated", TERMINATED)
    except BrokenPipeError:
        # The reader of our output has gone (`ogive … | head`): that is no failure.
        _close_stdout()
        return _DONE
    except Exception as error:
        ours = isinstance(error, OgiveError | OSError) and not isinstance(error, _Foreign)
        if os.environ.get("OGIVE_DEBUG") and not ours:
            raise
        wrong = isinstance(error, UnknownName | OutputRefused | DoesNotApply)
        return _fail(_message(error), _WRONG_USAGE if wrong else _FAILED)
    return code if isinstance(code, int) else _DONE  # what a command gave to `ctx.exit`


def _message(error: Exception) -> str:
    if not isinstance(error, OSError) or isinstance(error, OgiveError):
        return str(error) or type(error).__name__
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _close_stdout()  # a full disk: Python would try again at its end, and complain
    if error.filename:
        return f"{error.filename}: {error.strerror}"
    plain = error.errno is not None and error.strerror == os.strerror(error.errno)
    said = error.strerror or str(error) or type(error).__name__
    return f"reading or printing failed: {said}" if plain else said


def _close_stdout() -> None:
    with suppress(OSError, ValueError):  # tests have a stdout without a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def shown(text: object) -> str:
    r"""Return a name or a sentence as one line that is safe to print.

    Control characters, line ends, marks of direction and bytes that are no text are written as
    escapes: the names of files, columns and groups are data, and a terminal obeys what it is sent.

    >>> print(shown("evil\x1b[2J\n\u202etxt"))
    evil\x1b[2J\n\u202etxt
    """
    return "".join(
        letter
        if letter in _JOINERS or unicodedata.category(letter) not in _UNSHOWN
        else letter.encode("unicode_escape", "surrogatepass").decode("ascii")
        for letter in str(text)
    )


def as_text(text: object, style: str = "") -> Text:
    """Return a name or a sentence for tables: safe, and with no markup read into it."""
    from rich.text import Text  # noqa: PLC0415

    return Text(shown(text), style=style)


def say(text: str) -> None:
    """Print one line on stdout."""
    click.echo(shown(text))


def note(text: str) -> None:
    """Print one line on stderr: what was found, and is no warning."""
    click.echo(shown(text), err=True)


def _fail(message: str, code: int) -> int:
    click.echo(f"ogive: {shown(' '.join(message.split()))}", err=True)
    return code


class Warned:
    """Prints warnings as lines on stderr, each line once."""

    def __init__(self) -> None:
        self._lines: set[str] = set()

    def __call__(  # noqa: PLR0917 - the signature is Python's
        self,
        message: Warning | str,
        category: type[Warning],  # noqa: ARG002
        filename: str,  # noqa: ARG002
        lineno: int,  # noqa: ARG002
        file: TextIO | None = None,  # noqa: ARG002
        line: str | None = None,  # noqa: ARG002
    ) -> None:
        """Print a warning, as `warnings.showwarning` is asked to."""
        text = f"ogive: warning: {shown(' '.join(str(message).split()))}"
        if text not in self._lines:
            self._lines.add(text)
            click.echo(text, err=True)


def print_json(result: dict[str, Any]) -> None:
    """Print one JSON object and nothing else."""
    click.echo(json.dumps(result, allow_nan=False))


def console() -> Console:
    """Return a console for stdout: colour on a terminal only, wide enough for a table elsewhere."""
    from rich.console import Console  # noqa: PLC0415

    out = Console(highlight=False, emoji=False)
    return out if out.is_terminal else Console(highlight=False, emoji=False, width=110)


def _lines() -> Progress:
    """Return a step that writes a line after some seconds, and then two each minute."""
    due = [time.monotonic() + _FIRST_LINE]

    def step(what: str, done: float, total: int) -> None:
        if time.monotonic() >= due[0]:
            due[0] = time.monotonic() + _BETWEEN_LINES
            share = f" ({100 * done / total:.0f} %)" if total else ""
            note(f"ogive: {what}{share}")

    return step


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """Give a function ``step(what, done, total)`` that draws a bar on stderr.

    It draws on a terminal only, and once the work has taken a second, whether or not `step` was
    called: before that, a moving bar and the time show that something is being done. Elsewhere it
    writes a line now and then.
    """
    if not sys.stderr.isatty():
        yield _lines()
        return
    from ogive.cli.bar import Bar  # noqa: PLC0415 - rich is slow to load

    bar = Bar(shown(what))
    timer = threading.Timer(_PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda what, done, total: bar.step(shown(what), done, total)
    finally:
        timer.cancel()
        bar.stop()
