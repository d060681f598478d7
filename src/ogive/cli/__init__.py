"""The command line: arguments, progress and tables. No logic lives here."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code.

    0: done; 1: the work failed; 2: wrong usage; 3: a gate says no; 4: a gate is undecided.
    """
    from ogive.errors import MissingExtra, need  # noqa: PLC0415 - keep `import ogive.cli` light

    try:
        need("click", extra="cli")
        need("rich", extra="cli")
    except MissingExtra as error:
        print(f"ogive: {error}", file=sys.stderr)  # noqa: T201
        return 1
    from ogive.cli.commands import ogive as group  # noqa: PLC0415
    from ogive.cli.terminal import Warned, run  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.showwarning = Warned()
        return run(group, argv)


def entry() -> None:
    """Leave the process with the command's exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        _open_streams()
        from ogive.cli import interrupt  # noqa: PLC0415 - tests and notebooks keep their signals

        interrupt.watch()
        code = main()
    except Terminated:  # while modules were loaded, before there was anything to clean up
        print("ogive: terminated", file=sys.stderr)  # noqa: T201
        sys.exit(TERMINATED)
    if code == interrupt.INTERRUPTED:
        interrupt.end()
    sys.exit(code)


def _open_streams() -> None:
    """Let no file that is opened later become the output of a process that was given none."""
    for handle, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
        if getattr(sys, name) is None:
            nothing = Path(os.devnull).open("w" if handle else "r", encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, nothing)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a letter the terminal lacks is no failure
            stream.reconfigure(errors="backslashreplace")


class Terminated(BaseException):
    """The process was asked to end (SIGTERM)."""


TERMINATED = 143


def _terminate(*_: object) -> None:
    """End by an exception, so that temporary files and workers are cleaned up."""
    raise Terminated
