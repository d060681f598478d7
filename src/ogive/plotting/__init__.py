"""Plotting: draws a diagram on a given matplotlib Axes; no pyplot, no settings changed."""

from ogive.plotting.display import CurveDisplay
from ogive.plotting.figures import draw, figure, save_figure

__all__ = ["CurveDisplay", "draw", "figure", "save_figure"]
