"""Measurements as aligned text, for people."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from ogive._html import grid
from ogive.views import rate_name

if TYPE_CHECKING:
    from ogive.metrics.significance import CalibrationTest
    from ogive.studies.measurement import Measurement, Measurements


def one_view(one: Measurement) -> str:
    """Return a measurement as lines of name, value and what goes with it."""
    rows = _rows(one)
    lines = [f"{name:<16}{value:>10.4f}   {beside}".rstrip() for name, value, beside in rows]
    also = [line for other in one.also for line in ("", one_view(other))]
    return "\n".join([f"{one.view}, n = {one.n:,}", *lines, one.verdict, *of_summary(one), *also])


def of_summary(one: Measurement) -> list[str]:
    """Say what is certain, of a summarised curve, and what was left out, of a log."""
    lines = []
    if one.approximate:
        wide = {key: ends for key, ends in one.brackets.items() if ends[1] - ends[0] > _DIGITS}
        sure = "; ".join(f"{key} in [{low:.5f}, {high:.5f}]" for key, (low, high) in wide.items())
        lines.append(f"From a summary. For certain: {sure or 'all errors to 5 digits'}.")
    if one.skipped:
        lines.append(f"{one.skipped:,} rows broke a rule and were left out.")
    return lines


def one_view_html(one: Measurement) -> str:
    """Return the same as a table for notebooks."""
    rows = [(name, f"{value:.4f}", beside) for name, value, beside in _rows(one)]
    shown = grid(f"{one.view}, n = {one.n:,}", ("measure", "", ""), rows, below=one.verdict)
    return shown + "".join(map(one_view_html, one.also))


def _rows(one: Measurement) -> list[tuple[str, float, str]]:
    """Return name, value and what goes with it."""
    ks, kuiper = one.ks_test, one.kuiper_test
    rows = [
        (rate_name(one.view), one.accuracy, f"mean score {one.mean_score:.4f}"),
        ("KS", ks.value, _beside(ks.low, ks.high, ks.expected, ks.pvalue)),
        ("Kuiper", kuiper.value, _beside(kuiper.low, kuiper.high, kuiper.expected, kuiper.pvalue)),
        ("ECE", one.ece, f"debiased L2 {one.ece_debiased:.4f}"),
        ("MCE", one.mce, ""),
        ("KDE-ECE", one.kde_ece, _KDE[one.kde_ece_method]),
        ("smooth ECE", one.smooth_ece, ""),
        *((key, value, "") for key, value in one.more.items()),
        ("Brier", one.brier, f"UNC {one.unc:.4f} - DSC {one.dsc:.4f} + MCB {one.mcb:.4f}"),
        ("NLL", one.nll, ""),
        ("Spiegelhalter z", one.spiegelhalter, format_pvalue(one.spiegelhalter_pvalue)),
    ]
    if one.brier_vector is not None and one.nll_vector is not None:
        rows.append(("Brier, vectors", one.brier_vector, ""))
        rows.append(("NLL, vectors", one.nll_vector, ""))
    for key, (low, high) in one.intervals.items():
        rows.append((f"{key}, 95 %", low, f"to {high:.4f} by bootstrap"))
    return rows


def all_views(every: Measurements) -> str:
    """Return one line per view, and the class-wise summary."""
    head = f"{'view':<14}{'accuracy':>10}{'KS':>9}{'p':>9}{'ECE':>9}{'Brier':>9}{'NLL':>9}"
    lines = [
        f"{v.view:<14}{v.accuracy:>10.4f}{v.ks:>9.4f}"
        f"{format_pvalue(v.ks_test.pvalue, cell=True):>9}{v.ece:>9.4f}{v.brier:>9.4f}{v.nll:>9.4f}"
        for v in every.views
    ]
    classes = every.classes
    if classes is not None:
        ks, ece, brier, gap = classes.ks, classes.ece, classes.brier, ""
        lines += [
            f"{'class-wise':<14}{gap:>10}{ks.mean():>9.4f}{gap:>9}{ece.mean():>9.4f}{brier.mean():>9.4f}",
            f"{'  largest':<14}{gap:>10}{ks.max():>9.4f}{gap:>9}{ece.max():>9.4f}{brier.max():>9.4f}",  # noqa: E501
            f"{int(classes.off.sum())} of {ks.size} classes are off (KS tests at 5 %, Holm).",
        ]
    return "\n".join([head, *lines])


def all_views_html(every: Measurements) -> str:
    """Return a table with a row for each view, for notebooks."""
    head = ("view", "accuracy", "KS", "p", "ECE", "Brier", "NLL")
    rows = [
        (
            v.view,
            *(f"{value:.4f}" for value in (v.accuracy, v.ks)),
            format_pvalue(v.ks_test.pvalue, cell=True),
            *(f"{value:.4f}" for value in (v.ece, v.brier, v.nll)),
        )
        for v in every.views
    ]
    off = "" if every.classes is None else f"{int(every.classes.off.sum())} classes are off."
    return grid("All views", head, rows, below=off)


def format_interval(test: CalibrationTest) -> str:
    """Say an interval in percent; where it does not hold 0, it does not begin with 0.00."""
    low, high = f"{100 * test.low:.2f}", f"{100 * test.high:.2f} %"
    return f"above 0 … {high}" if test.low > 0.0 and float(low) == 0.0 else f"{low} … {high}"


def format_pvalue(pvalue: float, *, cell: bool = False) -> str:
    """Say a p-value: its size, unless that is beyond any doubt; `cell`: without its name.

    >>> format_pvalue(0.0312), format_pvalue(1e-292), format_pvalue(0.5, cell=True)
    ('p = 0.031', 'p < 0.0001', '0.5')
    """
    if isnan(pvalue):
        return "withheld" if cell else "p withheld"
    if pvalue < _LEAST_PRINTED_PVALUE:
        return f"< {_LEAST_PRINTED_PVALUE}" if cell else f"p < {_LEAST_PRINTED_PVALUE}"
    return f"{pvalue:.2g}" if cell else f"p = {pvalue:.2g}"


_LEAST_PRINTED_PVALUE = 0.0001
_DIGITS = 5e-6
_KDE = {"kernel": "", "groups": "no spread: the L1 gap over groups of equal scores"}


def _beside(low: float, high: float, expected: float, pvalue: float) -> str:
    if isnan(low):
        return "interval and p-value withheld"
    return f"95 % [{low:.4f}, {high:.4f}]   expected {expected:.4f}   {format_pvalue(pvalue)}"
