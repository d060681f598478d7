"""The KS error of N scores: against sorting them, which is its limit, and against peers.

The limit of everything that reads a curve is sorting the rows once: np.sort of N uint64. Scores
and hits alone need not be sorted. Peers
have no KS error but one; what they compute of the same scores, the binned or smoothed error, is
checked against ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import ogive
from benchmarks import samples
from benchmarks.measuring_peers import measuring_peers
from benchmarks.race import Budget, Race

if TYPE_CHECKING:
    from collections.abc import Iterator

SORT, KS = "np.sort of uint64 (the limit)", "ogive: KS error"
CURVE = "ogive: KS error of a curve"
_BUDGETS = {"scikit-learn": 2, "netcal": 5, "probmetrics": 5, "relplot": 30}


def races() -> Iterator[Race]:
    """Yield a race for each N."""
    for n in (10**4, 10**5, 10**6, 10**7):
        yield _race(n)


def _race(n: int) -> Race:
    scores, hits = samples.scores(n)
    integers = np.random.default_rng(1).integers(0, 2**63, n, dtype=np.uint64)
    order = np.argsort(scores, kind="stable")
    expected = float(np.abs(np.cumsum(hits[order] - scores[order])).max() / n)
    peers = measuring_peers(scores, hits)

    def written_out() -> float:
        at = np.argsort(scores)
        return float(np.abs(np.cumsum(hits[at] - scores[at])).max() / n)

    def check(entry: str, result: object) -> None:
        if entry in (KS, CURVE):
            assert abs(float(result) - expected) < 1e-9, (result, expected)  # type: ignore[arg-type]
        elif entry in peers:
            peers[entry].check(result)

    large = n >= 10**6
    budgets = [Budget(KS, SORT, most=1.7), Budget(CURVE, SORT, most=1.7)]
    for entry in peers:
        package = entry.partition(":")[0]
        if package in _BUDGETS:
            budgets.append(Budget(KS, entry, faster=_BUDGETS[package]))
    of_few = (Budget(KS, SORT, most=3),)
    return Race(
        "ks",
        f"KS error of {n:,} scores",
        {
            SORT: lambda: np.sort(integers),
            "np.argsort and np.cumsum": written_out,
            KS: lambda: ogive.ks_error(scores, hits),
            CURVE: lambda: ogive.ks_error(ogive.Curve.from_scores(scores, hits)),
        }
        | {entry: peer.work for entry, peer in peers.items()},
        budgets=tuple(budgets) if large else of_few if n == 10**4 else (),
        check=check,
        memory=scores.nbytes + hits.nbytes,
        most_memory={KS: 1.3, CURVE: 1.3} if large else {},
        size=n,
    )
