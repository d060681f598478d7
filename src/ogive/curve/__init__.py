"""Curves: the only place that sorts scores, joins ties, weighs and merges."""

from ogive.curve.curve import Curve

__all__ = ["Curve"]
