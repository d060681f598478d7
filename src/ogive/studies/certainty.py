"""Which numbers of a summarised curve are exact, which have a bracket, which are approximate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ogive.metrics import MEASURES
from ogive.metrics.bracket import SLACK, brackets

if TYPE_CHECKING:
    from ogive._typing import ArrayLike
    from ogive.curve import Curve

#: What the integers of a summary give exactly.
EXACT = ("accuracy", "mean_score", "unc")
_TESTS = ("pvalue", "low", "high", "expected")


def certainty(curve: Curve, bins: ArrayLike | int, values: dict[str, Any]) -> dict[str, Any]:
    """Return the brackets of a summarised curve, and the keys that are only approximate.

    Values that are outside their bracket are moved to its end: a bracket of the Brier score knows
    hits and misses apart, a row does not.

    The approximate numbers are those of rows joined in buckets: their errors are tested, and given
    in ``docs/scale.md``. A curve whose rows are all single scores has none.
    """
    ends = brackets(curve, bins)
    ends.pop("mean_score")
    for key, (low, high) in ends.items():
        if key in values:
            values[key] = min(max(values[key], low), high)
    if curve.is_exact:
        return {"brackets": ends, "approximate": ()}
    loose = [key for key in MEASURES if key not in EXACT and key not in ends]
    loose += [f"{test}_{key}" for test in ("ks", "kuiper") for key in _TESTS]
    loose += ["spiegelhalter_pvalue"]
    wide = [key for key, (low, high) in ends.items() if high - low > 4 * SLACK * (1 + high)]
    return {"brackets": ends, "approximate": tuple(key for key in loose if key not in wide)}
