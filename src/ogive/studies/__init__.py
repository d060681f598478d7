"""Studies: fit and measure, compare, reproduce. No printing, no files."""

from typing import TYPE_CHECKING

from ogive._lazy import files_of

if not TYPE_CHECKING:
    __getattr__ = files_of(__name__)

#: Names of graphs: of one curve, of decisions, and all that `ogive.studies.graphs` makes.
CURVE_GRAPHS = ("difference", "reliability", "bins")
DECISION_GRAPHS = ("decision", "cost")
GRAPHS = (
    "panels",
    *CURVE_GRAPHS,
    "before-after",
    "methods",
    "classes",
    "groups",
    *DECISION_GRAPHS,
)
#: Graphs that need rows to fit on.
NEED_CAL = ("before-after", "methods")
#: The graph of a watch, made of its state.
TIMELINE = "timeline"
