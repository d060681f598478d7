"""Measures: each a number read off a curve, one file per idea.

`MEASURES` is the one table of them: a function of a curve for each key. Whatever lists or
resamples measures reads this table, so a new measure needs one line here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ogive._lazy import files_of
from ogive.metrics.binned import debiased_ece2, ece, mce
from ogive.metrics.corp import decompose
from ogive.metrics.kde import kde_ece
from ogive.metrics.ks import ks_error, kuiper_error
from ogive.metrics.proper import accuracy, brier, mean_score, nll, spiegelhalter
from ogive.metrics.smooth import smooth_ece

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive.curve import Curve

if not TYPE_CHECKING:
    __getattr__ = files_of(__name__)

MEASURES: dict[str, Callable[[Curve], float]] = {
    "accuracy": accuracy,
    "mean_score": mean_score,
    "ks": ks_error,
    "kuiper": kuiper_error,
    "ece": ece,
    "mce": mce,
    "ece_l2": lambda curve: ece(curve, norm="l2"),
    "ece_debiased": lambda curve: debiased_ece2(curve, spacing="width"),
    "kde_ece": kde_ece,
    "smooth_ece": smooth_ece,
    "brier": brier,
    "nll": nll,
    "mcb": lambda curve: decompose(curve).mcb,
    "dsc": lambda curve: decompose(curve).dsc,
    "unc": lambda curve: decompose(curve).unc,
    "spiegelhalter": lambda curve: spiegelhalter(curve).z,
}
