"""Studies: fit and measure, compare, reproduce. No printing, no files."""

from typing import TYPE_CHECKING

from ogive._lazy import files_of

if not TYPE_CHECKING:
    __getattr__ = files_of(__name__)
