"""Numbers as aligned tables, with units; colour is left to the console."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from ogive.cli.sketch import BLANK, sketch

if TYPE_CHECKING:
    from rich.console import Console

    from ogive.curve import Curve
    from ogive.studies.compare import Comparison
    from ogive.studies.measure import Measurement, Measurements


def show_comparison(out: Console, result: Comparison) -> None:
    """Print methods as rows, the lowest NLL first."""
    table = Table(
        title=f"{result.view}: fitted on {result.n_cal:,} rows, tested on {result.n_test:,}",
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
    )
    table.add_column("method")
    for name in ("KS %", "ECE %", "MCE %", "accuracy %", "Brier", "NLL", "± to best", "fit s"):
        table.add_column(name, justify="right")
    for row in result.methods:
        cells = [f"{100 * getattr(row, name):.2f}" for name in ("ks", "ece", "mce", "accuracy")]
        cells += [f"{row.brier:.4f}", f"{row.nll:.4f}", _difference(row), f"{row.fit_seconds:.3f}"]
        table.add_row(row.method, *cells, style="green" if row is result.best else "")
    out.print(table)
    out.print(f"\n{result.verdict}", style="bold")


def _difference(row: object) -> str:
    difference, error = getattr(row, "nll_diff"), getattr(row, "nll_diff_se")  # noqa: B009
    if not difference:
        return "best"
    noise = " noise" if getattr(row, "tied_with_best") else ""  # noqa: B009
    return f"+{difference:.4f} ± {error:.4f}{noise}"


def show_measurement(out: Console, result: Measurement | Measurements) -> None:
    """Print what was measured."""
    out.print(repr(result), soft_wrap=True, markup=False)


def show_before_and_after(out: Console, before: Curve, after: Curve) -> None:
    """Draw the cumulative gap of a model before and after its repair."""
    out.print("\n[bold]Cumulative gap: hits minus promises, least sure rows first[/]")
    pictures = sketch([(curve.fractile, curve.gap) for curve in (before, after)])
    for first, second in zip(*pictures, strict=True):
        line = Text("  ")
        for a, b in zip(first, second, strict=True):
            style = "green" if b != BLANK else "red"
            line.append(chr(ord(a) | ord(b)), style=style)
        out.print(line)
    out.print("  [red]before[/]: the net promises too much   [green]after[/]: it keeps its word\n")
