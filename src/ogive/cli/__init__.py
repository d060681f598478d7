"""The command line: arguments, progress and tables. No logic lives here."""

from __future__ import annotations

import signal
import sys
import warnings
from io import TextIOWrapper
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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a letter the terminal lacks is no failure
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, _terminate)
    from ogive.cli import interrupt  # noqa: PLC0415 - tests and notebooks keep their signals

    interrupt.watch()
    code = main()
    if code == interrupt.INTERRUPTED:
        interrupt.end()
    sys.exit(code)


def _terminate(*_: object) -> None:
    """End by an exception, so that temporary files and workers are cleaned up."""
    from ogive.cli.terminal import Terminated  # noqa: PLC0415

    raise Terminated
