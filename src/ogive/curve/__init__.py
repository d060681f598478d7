"""Curves: the only package that sorts scores, joins ties, applies weights and merges."""

from typing import TYPE_CHECKING

from ogive._lazy import files_of
from ogive.curve.curve import Curve

if not TYPE_CHECKING:
    __getattr__ = files_of(__name__)

__all__ = ["Curve"]
