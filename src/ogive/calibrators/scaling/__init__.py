"""Scaling of whole logit vectors: temperature, vector scaling, and matrices with ODIR."""

from typing import TYPE_CHECKING

from ogive._lazy import files_of

if not TYPE_CHECKING:
    __getattr__ = files_of(__name__)
