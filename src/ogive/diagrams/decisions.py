"""The graphs of decisions: net benefit against the threshold, and the cost curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from ogive.metrics.decision_curves import CostCurve, NetBenefit, cost_curve, net_benefit

if TYPE_CHECKING:
    from ogive.curve import Curve

Read = TypeVar("Read", NetBenefit, CostCurve)

_POINTS = 121
#: Thresholds are shown up to where the net benefit falls below this share of its largest value.
_SMALL_BENEFIT = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class _BeforeAndAfter(Generic[Read]):
    """What is read off the scores, and off the same rows calibrated if they are known.

    Attributes
    ----------
    before, after : NetBenefit or CostCurve; None where nothing is calibrated
    tested : bool
        Whether there is a fair interval: not for rows that a map was fitted to.
    """

    before: Read
    after: Read | None = None
    tested: bool = True


class DecisionCurve(_BeforeAndAfter[NetBenefit]):
    """Net benefit of acting on scores, on all rows and on none; calibrated, if that is known."""

    __slots__ = ()

    @classmethod
    def from_curves(
        cls, before: Curve, after: Curve | None = None, *, in_sample: bool = False
    ) -> DecisionCurve:
        """Read it off a curve, and off that of the same rows calibrated.

        >>> from ogive import Curve
        >>> found = DecisionCurve.from_curves(Curve.from_scores([0.9, 0.3, 0.2], [1, 0, 0]))
        >>> found.before.threshold[[0, -1]]
        array([0. , 0.9])
        """
        both = [before] if after is None else [before, after]
        grid = np.linspace(0.0, max(_top(curve) for curve in both), _POINTS)
        found = [net_benefit(curve, thresholds=grid) for curve in both]
        return cls(found[0], None if after is None else found[1], not in_sample)


def _top(curve: Curve) -> float:
    """Return a threshold, a tenth or 0.99, beyond which the net benefit is near 0."""
    found = net_benefit(curve)
    large = np.abs(found.value) > _SMALL_BENEFIT * max(float(curve.total_hits / curve.n), 1e-12)
    last = float(found.threshold[large][-1]) if large.any() else 0.0
    return float(np.clip(np.ceil(10.0 * last - 1e-9) / 10.0, 0.1, 0.99))


class CostLines(_BeforeAndAfter[CostCurve]):
    """The cost curve of scores, and of the same rows calibrated if they are known."""

    __slots__ = ()

    @classmethod
    def from_curves(
        cls, before: Curve, after: Curve | None = None, *, in_sample: bool = False
    ) -> CostLines:
        """Read it off a curve, and off that of the same rows calibrated.

        >>> from ogive import Curve
        >>> found = CostLines.from_curves(Curve.from_scores([0.9, 0.3, 0.2], [1, 0, 0]))
        >>> float(found.before.best.max())
        0.0
        """
        calibrated = None if after is None else cost_curve(after)
        return cls(cost_curve(before), calibrated, not in_sample)
