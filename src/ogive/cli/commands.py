"""The group of commands: each reads, computes in the library, and prints a table or one JSON."""

from __future__ import annotations

import click

from ogive import __version__
from ogive.cli.applying import apply
from ogive.cli.arena import arena
from ogive.cli.comparing import compare, demo
from ogive.cli.deciding import decide
from ogive.cli.expecting import expect
from ogive.cli.exporting import export
from ogive.cli.fitting import fit
from ogive.cli.help import Group
from ogive.cli.measuring import measure
from ogive.cli.paper import paper
from ogive.cli.pictures import plot
from ogive.cli.reporting import report
from ogive.cli.shifting import shift
from ogive.cli.watching import watch


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ogive", help="Print the version.")
def ogive() -> None:
    """Measure and correct the calibration of a classifier's probabilities.

    Where a model says 80 %, it should be right in 80 % of the cases. ogive measures how far a file
    of predictions is from that, fits a calibrator that corrects it, and applies it.

    Begin with `ogive demo`. `ogive COMMAND --help` has the options of a command, with examples.
    """


for command in (
    apply,
    arena,
    compare,
    decide,
    demo,
    expect,
    export,
    fit,
    measure,
    paper,
    plot,
    report,
    shift,
    watch,
):
    ogive.add_command(command)
