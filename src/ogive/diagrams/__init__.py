"""Diagrams: what a graph shows, as frozen dataclasses of arrays. No drawing library is needed."""

from __future__ import annotations

from typing import TypeAlias

from ogive.diagrams.decisions import CostLines, DecisionCurve
from ogive.diagrams.graphs import (
    BeforeAfter,
    BinnedReliability,
    CumulativeDifference,
    FourPanel,
    Reliability,
)
from ogive.diagrams.many import ClassHeat, Differences, GroupErrors, ModelErrors, Ranks
from ogive.diagrams.timeline import Timeline
from ogive.diagrams.trace import Summary, Trace, summarise

#: What can be drawn: `ogive.plotting` has the marks of each.
Diagram: TypeAlias = (
    BeforeAfter
    | BinnedReliability
    | ClassHeat
    | CostLines
    | CumulativeDifference
    | DecisionCurve
    | Differences
    | FourPanel
    | GroupErrors
    | ModelErrors
    | Ranks
    | Reliability
    | Timeline
)

__all__ = [
    "BeforeAfter",
    "BinnedReliability",
    "ClassHeat",
    "CostLines",
    "CumulativeDifference",
    "DecisionCurve",
    "Diagram",
    "Differences",
    "FourPanel",
    "GroupErrors",
    "ModelErrors",
    "Ranks",
    "Reliability",
    "Summary",
    "Timeline",
    "Trace",
    "summarise",
]
