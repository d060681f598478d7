"""Measurements as aligned text, for people."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from ogive._html import grid
from ogive._wording import format_pvalue, percent
from ogive.rows.views import rate_name

if TYPE_CHECKING:
    from ogive.metrics.significance import CalibrationTest
    from ogive.studies.measurement import Measurement, Measurements
    from ogive.studies.where_off import RangeOff


def one_view(one: Measurement) -> str:
    """Return a measurement as lines of name, value and what goes with it."""
    lines = [f"{name:<16}{value:>10}   {beside}".rstrip() for name, value, beside in _rows(one)]
    also = [line for other in one.also for line in ("", one_view(other))]
    belt = [belt_words(one.belt)] if one.numbers and not one.fitted_rows else []
    below = [*belt, one.verdict, *of_summary(one)]
    return "\n".join([f"{one.view}, n = {one.n:,}", *lines, *below, *also])


def belt_words(belt: tuple[RangeOff, ...]) -> str:
    """Say where the calibration belt leaves out the diagonal."""
    lead = "Calibration belt (95 % for all scores at once): "
    if not belt:
        return lead + "it holds the diagonal at all scores, so no score is shown to be off."
    return lead + "; ".join(f"{one.words} are {one.direction}" for one in belt) + "."


def of_summary(one: Measurement) -> list[str]:
    """Say what is certain, of a summary; what clusters are worth; what was left out, of a log."""
    lines = []
    if one.approximate:
        wide = {key: ends for key, ends in one.brackets.items() if ends[1] - ends[0] > _DIGITS}
        sure = "; ".join(f"{_name(key)} lies between {_between(key, *ends)}"
                         for key, ends in wide.items())  # fmt: skip
        lines.append(f"Computed from a summary of the log. {sure or _ALL_CERTAIN}.")
    if one.clusters is not None and one.design_effect is not None:
        lines.append(of_clusters(one.clusters, one.design_effect, one.n))
    if one.skipped:
        lines.append(f"{one.skipped:,} rows were not valid and were left out.")
    return lines


def of_clusters(clusters: int, design_effect: float, n: float) -> str:
    """Say how many clusters there are, and what they are worth.

    >>> of_clusters(40, 2.5, 1000)
    '1,000 rows in 40 clusters are worth about 400 independent rows (design effect 2.50).'
    """
    return (
        f"{n:,} rows in {clusters:,} clusters are worth about {n / design_effect:,.0f} "
        f"independent rows (design effect {design_effect:.2f})."
    )


def _between(key: str, low: float, high: float) -> str:
    """Word two bounds of a measure, in its unit."""
    if key in _LOSSES:
        return f"{low:.5f} and {high:.5f}"
    return f"{percent(low, 3)} and {percent(high, 3)}"


def _name(key: str) -> str:
    return _NAMES.get(key, key.replace("_", " "))


def one_view_html(one: Measurement) -> str:
    """Return the same as a table for notebooks."""
    shown = grid(f"{one.view}, n = {one.n:,}", ("measure", "", ""), _rows(one), below=one.verdict)
    return shown + "".join(map(one_view_html, one.also))


def _rows(one: Measurement) -> list[tuple[str, str, str]]:
    """Return name, value and what goes with it."""
    ks, kuiper = one.ks_test, one.kuiper_test
    rows = [
        (rate_name(one.view), percent(one.accuracy), f"mean score {percent(one.mean_score)}"),
        ("KS", percent(ks.value), _beside(ks)),
        ("Kuiper", percent(kuiper.value), _beside(kuiper)),
        ("ECE", percent(one.ece), f"debiased L2 {percent(one.ece_debiased)}"),
        ("MCE", percent(one.mce), ""),
        ("KDE-ECE", percent(one.kde_ece), _KDE[one.kde_ece_method]),
        ("smooth ECE", percent(one.smooth_ece), ""),
        *((key, f"{value:.4f}", "") for key, value in one.more.items()),
        ("Brier", f"{one.brier:.4f}", f"UNC {one.unc:.4f} - DSC {one.dsc:.4f} + MCB {one.mcb:.4f}"),
        ("log loss", f"{one.nll:.4f}", ""),
        ("Spiegelhalter z", f"{one.spiegelhalter:.4f}", format_pvalue(one.spiegelhalter_pvalue)),
    ]
    if one.brier_vector is not None and one.nll_vector is not None:
        rows.append(("Brier, vectors", f"{one.brier_vector:.4f}", ""))
        rows.append(("log loss, vectors", f"{one.nll_vector:.4f}", ""))
    for key, (low, high) in one.intervals.items():
        rows.append((_name(key), format_bootstrap(key, low, high), "95 % interval, by bootstrap"))
    for number in one.numbers:
        value, ends = number.shown()
        rows.append((number.name, value, f"95 % {ends}   {number.meaning}"))
    return rows


def format_bootstrap(key: str, low: float, high: float) -> str:
    """Say a bootstrap interval in the unit of its measure."""
    return f"{low:.4f} … {high:.4f}" if key in _LOSSES else f"{100 * low:.2f} … {percent(high)}"


def all_views(every: Measurements) -> str:
    """Return one line per view, and the class-wise summary."""
    head = f"{'view':<14}{'outcomes':>10}{'KS':>10}{'p':>9}{'ECE':>10}{'Brier':>9}{'log loss':>10}"
    lines = [
        f"{v.view:<14}{percent(v.accuracy):>10}{percent(v.ks):>10}"
        f"{format_pvalue(v.ks_test.pvalue, cell=True):>9}"
        f"{percent(v.ece):>10}{v.brier:>9.4f}{v.nll:>10.4f}"
        for v in every.views
    ]
    classes = every.classes
    if classes is not None:
        for name, pick in (("class-wise", "mean"), ("  largest", "max")):
            ks, ece, brier = (getattr(x, pick)() for x in (classes.ks, classes.ece, classes.brier))
            lines.append(f"{name:<24}{percent(ks):>10}{'':>9}{percent(ece):>10}{brier:>9.4f}")
        lines.append(every.classes_verdict)
    return "\n".join([head, *lines])


def all_views_html(every: Measurements) -> str:
    """Return a table with a row for each view, for notebooks."""
    head = ("view", "outcomes", "KS", "p", "ECE", "Brier", "log loss")
    rows = [
        (
            v.view,
            *(percent(value) for value in (v.accuracy, v.ks)),
            format_pvalue(v.ks_test.pvalue, cell=True),
            percent(v.ece),
            *(f"{value:.4f}" for value in (v.brier, v.nll)),
        )
        for v in every.views
    ]
    return grid("All views", head, rows, below=every.classes_verdict)


def format_interval(test: CalibrationTest) -> str:
    """Say an interval in percent; where it does not hold 0, it does not begin with 0.00."""
    low, high = f"{100 * test.low:.2f}", f"{100 * test.high:.2f} %"
    return f"above 0 … {high}" if test.low > 0.0 and float(low) == 0.0 else f"{low} … {high}"


_DIGITS = 5e-6
_KDE = {"kernel": "", "groups": "no spread: the L1 gap over groups of equal scores"}


_LOSSES = {"brier", "nll", "mcb", "dsc", "unc", "spiegelhalter", "brier_vector", "nll_vector"}
_NAMES = {
    "ks": "The KS error", "kuiper": "The Kuiper error", "ece": "ECE", "mce": "MCE",
    "nll": "log loss", "ece_l2": "L2-ECE", "ece_debiased": "debiased ECE", "kde_ece": "KDE-ECE",
    "smooth_ece": "smooth ECE", "brier": "Brier", "mean_score": "mean score",
}  # fmt: skip
_ALL_CERTAIN = "All errors are exact to 5 digits"


def _beside(test: CalibrationTest) -> str:
    if isnan(test.low):
        return "interval and p-value withheld"
    return (
        f"95 % {format_interval(test)}   if calibrated {percent(test.expected)}   "
        f"{format_pvalue(test.pvalue)}"
    )
