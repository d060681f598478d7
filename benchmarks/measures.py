"""All measures of N scores against building the curve.

What one pass gives (KS, Kuiper, both tests, ECE, MCE, debiased L2, Brier, NLL, CORP,
Spiegelhalter) should cost at most 4 times the curve itself. KDE-ECE, smooth ECE and the
bootstrap are listed apart, and all of it together is `ogive.measure`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ogive
from benchmarks import samples
from benchmarks.race import Budget, Race
from ogive.studies.measure import one_pass

if TYPE_CHECKING:
    from collections.abc import Iterator

CURVE, PASS, MEASURE = "ogive: the curve", "ogive: one pass", "ogive: measure"


def races() -> Iterator[Race]:
    """Yield a race for each N."""
    for n in (10**4, 10**5, 10**6, 10**7):
        yield _race(n)


def _race(n: int) -> Race:
    scores, hits = samples.scores(n)
    curve = ogive.Curve.from_scores(scores, hits)
    expected = ogive.ks_error(curve)

    def check(entry: str, result: object) -> None:
        if entry == MEASURE:
            assert abs(result.ks - expected) < 1e-14  # type: ignore[attr-defined]

    entries = {
        CURVE: lambda: ogive.Curve.from_scores(scores, hits),
        PASS: lambda: one_pass(curve),
        "ogive: KS error of a curve": lambda: ogive.ks_error(curve),
        "ogive: smooth ECE": lambda: ogive.smooth_ece(curve),
        "ogive: KDE-ECE": lambda: ogive.kde_ece(curve),
        MEASURE: lambda: ogive.measure(curve),
    }
    few = ogive.Curve.from_scores(scores[:25_000], hits[:25_000])
    if n == 10**5:
        entries["ogive: 100 resamples of KS, 25,000 rows"] = lambda: ogive.bootstrap(
            few, "ks", resamples=100
        )
    budgets = (Budget(PASS, CURVE, most=4.0),) if n >= 10**6 else ()
    if n == 10**4:
        budgets = (Budget(MEASURE, seconds=8e-3),)
    return Race("measure", f"Measures of {n:,} scores", entries, budgets, check, size=n)
