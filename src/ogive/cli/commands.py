"""The group of commands: each reads, computes in the library, and prints a table or one JSON."""

from __future__ import annotations

from collections import UserDict
from importlib import import_module
from typing import Any

import click

from ogive import __version__
from ogive.cli.help import Group


class Commands(UserDict[str, Any]):
    """Commands by name; the module of one is loaded when it is asked for."""

    def __getitem__(self, name: str) -> click.Command:
        module = import_module(f"ogive.cli.{_MODULES[name]}")
        command: click.Command = getattr(module, name)
        return command


_MODULES = {
    "apply": "applying",
    "arena": "arena",
    "compare": "comparing",
    "decide": "deciding",
    "demo": "comparing",
    "expect": "expecting",
    "export": "exporting",
    "fit": "fitting",
    "measure": "measuring",
    "paper": "paper",
    "plot": "pictures",
    "report": "reporting",
    "shift": "shifting",
    "watch": "watching",
}


@click.group(
    cls=Group,
    commands=Commands(_MODULES),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="ogive", help="Print the version.")
def ogive() -> None:
    """Measure and correct the calibration of a classifier's probabilities.

    Where a model says 80 %, it should be right in 80 % of the cases. ogive measures how far a file
    of predictions is from that, fits a calibrator that corrects it, and applies it.

    Begin with `ogive demo`. `ogive COMMAND --help` has the options of a command, with examples.
    """
