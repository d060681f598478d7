"""Diagrams: what a graph shows, as frozen dataclasses of arrays. No drawing library is needed."""

from ogive.diagrams.graphs import (
    BeforeAfter,
    BinnedReliability,
    CumulativeDifference,
    FourPanel,
    Reliability,
)
from ogive.diagrams.many import ClassHeat, Differences, Ranks
from ogive.diagrams.trace import Summary, Trace, summarise

__all__ = [
    "BeforeAfter",
    "BinnedReliability",
    "ClassHeat",
    "CumulativeDifference",
    "Differences",
    "FourPanel",
    "Ranks",
    "Reliability",
    "Summary",
    "Trace",
    "summarise",
]
