"""Numbers as aligned tables, with units; colour is left to the console."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ogive._wording import format_pvalue, percent
from ogive.cli.sketch import BLANK, sketch
from ogive.cli.terminal import as_text
from ogive.errors import printable
from ogive.rows.views import rate_name
from ogive.studies.compare import above_the_best
from ogive.studies.layout import belt_words, format_bootstrap, format_interval, of_summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from ogive.curve import Curve
    from ogive.studies.compare import Comparison
    from ogive.studies.compare_groups import ByGroup
    from ogive.studies.expected import ExpectedPerformance
    from ogive.studies.group_measurement import GroupMeasurements
    from ogive.studies.measurement import Measurement as Measured
    from ogive.studies.measurement import Measurements


def show_comparison(out: Console, result: Comparison) -> None:
    """Print methods as rows, the lowest log loss first."""
    title = f"{result.view}: fitted on {result.n_cal:,} rows, tested on {result.n_test:,}"
    rate = f"{rate_name(result.view)} %"
    numbers = ("KS %", "ECE %", "MCE %", rate, "Brier", "log loss", "above the best", "fit s")
    rows = []
    for row in result.methods:
        shares = (f"{100 * getattr(row, name):.2f}" for name in ("ks", "ece", "mce", "accuracy"))
        losses = (f"{row.brier:.4f}", f"{row.nll:.4f}", above_the_best(row))
        cells = [row.method, *shares, *losses, f"{row.fit_seconds:.3f}"]
        rows.append((cells, "green" if row.method == result.decision.method else ""))
    show_table(out, title, ("method", *numbers), rows, ("MCE %", "fit s", "ECE %"))
    if result.by_group is not None:
        out.print()
        _show_by_group(out, result.by_group)
    for note in result.notes:
        out.print(as_text(note))
    _show_verdict(out, result.verdict)


def _show_by_group(out: Console, found: ByGroup) -> None:
    """Print the groups that one map leaves farthest off."""
    names = found.shown
    heads = [f"{what} {name}" for what in ("loss", "KS %") for name in names]
    rows: list[tuple[list[str], str]] = []
    for row in found.rows[:MOST_GROUPS_COMPARED]:
        losses = [f"{row.nll[name]:.4f}" for name in names]
        errors = [f"{100 * row.ks[name]:.2f}" for name in names]
        rows.append(([printable(row.group), f"{row.n:,.10g}", *losses, *errors], ""))
    title = f"log loss and KS error by {found.by}: farthest off after one map for all rows first"
    show_table(out, title, ("group", "rows", *heads), rows, ("KS % none", "loss none"))
    more = len(found.rows) - MOST_GROUPS_COMPARED
    if more > 0:
        out.print(as_text(f"{more:,} more groups: --json has all."))


def show_measurement(out: Console, result: Measured | Measurements | GroupMeasurements) -> None:
    """Print what was measured: one view with its intervals, or one line per view."""
    if hasattr(result, "groups"):
        _show_groups(out, result)  # type: ignore[arg-type]
        return
    many = getattr(result, "views", None)
    if many is not None:
        _show_views(out, result)  # type: ignore[arg-type]
        return
    _show_view(out, result)  # type: ignore[arg-type]
    for other in getattr(result, "also", ()):
        out.print()
        _show_view(out, other)


def _show_verdict(out: Console, verdict: str) -> None:
    out.print()
    out.print(as_text(verdict), style="bold")


MOST_GROUPS_COMPARED = 20  # in a table of the terminal
#: Below this many columns a row of numbers is printed as a block of lines.
MIN_TABLE_WIDTH = 70


def show_table(
    out: Console,
    title: str,
    columns: Sequence[str],
    rows: Sequence[tuple[Sequence[str | Text], str]],
    spare: Sequence[str] = (),
) -> None:
    """Print rows of cells, each with a style; no digit is ever cut.

    Where it is narrow, `spare` columns are left out in turn. Where that is not enough, and below 70
    columns, each row becomes a block of lines "name: value", with all its cells.
    """
    endless = out.options.update(width=1 << 16)
    gone: set[int] = set()
    for name in (*spare, "") if out.width >= MIN_TABLE_WIDTH else ():
        table = _aligned(title, columns, rows, gone)
        if Measurement.get(out, endless, table).maximum <= out.width:
            out.print(table)
            return
        gone |= {columns.index(name)} if name else set()
    _show_stacked(out, title, columns, rows)


def _aligned(
    title: str,
    columns: Sequence[str],
    rows: Sequence[tuple[Sequence[str | Text], str]],
    gone: set[int],
) -> Table:
    """Return a table: a column of names, then columns of numbers."""
    table = Table(
        title=as_text(title), title_justify="left", title_style="bold", box=None, pad_edge=False
    )
    kept = [k for k in range(len(columns)) if k not in gone]
    for k in kept:
        table.add_column(as_text(columns[k]), justify="right" if k else "left", overflow="fold")
    for cells, style in rows:
        # A row may end early: what is not known at its end is left out.
        shown = (cells[k] if k < len(cells) else "" for k in kept)
        table.add_row(*(c if isinstance(c, Text) else as_text(c) for c in shown), style=style)
    return table


def _show_stacked(
    out: Console,
    title: str,
    columns: Sequence[str],
    rows: Sequence[tuple[Sequence[str | Text], str]],
) -> None:
    out.print(as_text(title, "bold"))
    for cells, style in rows:
        known = [
            (name, cell if isinstance(cell, Text) else as_text(cell.strip()))
            for name, cell in zip(columns, cells, strict=False)
            if str(cell).strip()
        ]
        (_, first), *others = known
        if len(others) == 1:  # a name and its number: one line
            out.print(Text.assemble(first, ": ", others[0][1], style=style))
            continue
        out.print(Text.assemble(first, style=style or "bold"))
        for name, value in others:
            out.print(Text.assemble("  ", as_text(name), ": ", value, style=style))


def _show_view(out: Console, one: Measured) -> None:
    title = f"{one.view}: {one.n:,} rows"
    columns = ("measure", "value", "95 % interval", "if calibrated", "p-value")
    rate = rate_name(one.view)
    rows = [[rate, percent(one.accuracy)], ["mean score", percent(one.mean_score)]]
    for name, test in (("KS error", one.ks_test), ("Kuiper error", one.kuiper_test)):
        interval = "withheld" if one.fitted_rows else format_interval(test)
        about = f"about {percent(test.expected)}"
        pvalue = format_pvalue(test.pvalue, cell=True)
        rows.append([name, percent(test.value), interval, about, pvalue])
    if one.decision.pvalue is not None:
        together = format_pvalue(one.decision.pvalue, cell=True)
        rows.append(["calibration test", "", "", "", together])
    for name, value in (
        ("ECE", one.ece),
        ("MCE", one.mce),
        ("KDE-ECE", one.kde_ece),
        ("smooth ECE", one.smooth_ece),
    ):
        rows.append([name, percent(value)])
    for name, value in (("Brier score", one.brier), ("log loss", one.nll)):
        rows.append([name, f"{value:.4f}"])
    if one.brier_vector is not None and one.nll_vector is not None:
        rows.append(["Brier, whole vectors", f"{one.brier_vector:.4f}"])
        rows.append(["log loss, whole vectors", f"{one.nll_vector:.4f}"])
    for key, (low, high) in one.intervals.items():
        rows.append([f"{key}, bootstrap", "", format_bootstrap(key, low, high)])
    show_table(out, title, columns, [(row, "") for row in rows])
    _show_numbers(out, one)
    _show_verdict(out, one.verdict)
    for line in of_summary(one):
        out.print(as_text(line))


def _show_numbers(out: Console, *views: Measured) -> None:
    """Print the numbers of --more for each view, and one sentence for each of them."""
    for one in views:
        rows = [([number.name, *number.shown()], "") for number in one.numbers]
        if rows:
            out.print()
            show_table(out, f"{one.view}: more numbers", ("", "value", "95 % interval"), rows)
    said = dict.fromkeys(f"{number.name}: {number.meaning}" for v in views for number in v.numbers)
    for line in said:
        out.print(as_text(line))
    for one in views:
        if one.numbers and not one.fitted_rows:
            lead = f"{one.view}: " if len(views) > 1 else ""
            out.print(as_text(f"{lead}{belt_words(one.belt)}"))


#: Groups that are printed; the JSON has all of them.
MAX_GROUPS_SHOWN = 50


def _show_groups(out: Console, found: GroupMeasurements) -> None:
    """Print all rows, then a line for each group: the miscalibrated ones first, by KS error."""
    columns = (
        "rows",
        "mean score",
        rate_name(found.view),
        "KS",
        "95 % interval",
        "detectable",
        "p-value",
        "adjusted",
        "ECE",
        "log loss",
    )
    rows = []
    for one in (found.overall, *found.groups[:MAX_GROUPS_SHOWN]):
        shares = [percent(value) for value in (one.mean_score, one.accuracy, one.ks)]
        ends = f"{percent(one.ks_low)} to {percent(one.ks_high)}"
        tests = [format_pvalue(value, cell=True) for value in (one.pvalue, one.pvalue_adjusted)]
        rest = (percent(one.ece), f"{one.nll:.4f}")
        style = "red" if one in found.off else ""
        cells = [f"{one.n:,}", *shares, ends, percent(one.detectable), *tests, *rest]
        rows.append(([str(one.group), *cells], style))
    spare = ("ECE", "log loss", "95 % interval", "p-value", "mean score")
    show_table(out, f"{found.view} by {found.by}", (found.by, *columns), rows, spare)
    more = len(found.groups) - MAX_GROUPS_SHOWN
    if more > 0:
        out.print(as_text(f"… and {more:,} more groups: --json has all of them."))
    _show_verdict(out, found.verdict)
    for note in found.notes:
        out.print(as_text(note))
    if found.skipped:
        out.print(f"{found.skipped:,} rows were not valid and were left out.")


def _show_views(out: Console, every: Measurements) -> None:
    first = every.views[0]
    columns = ("view", "share of outcomes", "KS", "p-value", "ECE", "Brier", "log loss")
    rows = []
    for one in every.views:
        shares = (
            percent(one.accuracy),
            percent(one.ks),
            format_pvalue(one.ks_test.pvalue, cell=True),
        )
        rows.append([one.view, *shares, percent(one.ece), f"{one.brier:.4f}", f"{one.nll:.4f}"])
    classes = every.classes
    if classes is not None:
        for name, pick in (("classes, mean", "mean"), ("classes, largest", "max")):
            ks, ece, brier = (getattr(x, pick)() for x in (classes.ks, classes.ece, classes.brier))
            rows.append([name, "", percent(ks), "", percent(ece), f"{brier:.4f}"])
    show_table(out, f"{first.n:,} rows", columns, [(row, "") for row in rows])
    _show_numbers(out, *every.views)
    if classes is not None:
        _show_verdict(out, every.classes_verdict)


def show_expected(out: Console, found: ExpectedPerformance) -> None:
    """Print what to expect of scores without outcomes."""
    rows = []
    for name in ("accuracy", "precision", "auc"):
        value, low, high = getattr(found, name)
        if not isnan(value):
            shown = name if name != "auc" else "AUC"
            ends = "none" if isnan(low) else f"{percent(low)} … {percent(high)}"
            rows.append(([shown, percent(value), ends], ""))
    title = f"{found.view}: {found.n:,} rows without outcomes"
    show_table(out, title, ("expected", "value", "95 % interval"), rows)
    if found.threshold is not None:
        out.print(f"Outcome 1 is predicted where the score is at least {found.threshold:g}.")
    out.print(
        found.no_intervals
        or "The intervals hold what these rows will show once their outcomes are known, if the "
        "scores are calibrated."
    )


def show_before_and_after(out: Console, before: Curve, after: Curve, method: str) -> None:
    """Draw the cumulative gap of a model before and after calibration by a method."""
    out.print(
        "\n[bold]Cumulative gap: outcomes minus scores, lowest scores first (flat is good)[/]"
    )
    lines = [(curve.fractile, curve.gap) for curve in (before, after)]
    pictures = sketch(lines, width=max(8, min(64, out.width - 11)))
    rows = list(zip(*pictures, strict=True))
    labels = {
        0: max(0.0, *(y.max() for _, y in lines)),
        len(rows) - 1: min(y.min() for _, y in lines),
    }
    for number, (first, second) in enumerate(rows):
        line = Text(f"{100 * labels[number]:7.2f} % " if number in labels else " " * 10)
        for a, b in zip(first, second, strict=True):
            style = "green" if b != BLANK else "red"
            line.append(chr(ord(a) | ord(b)), style=style)
        out.print(line)
    out.print(" " * 10 + f"[red]before calibration[/]   [green]after {method}[/]\n")
