"""Ways from curves to whole vectors: ranks, ovr, every rank, and the class structure."""

from typing import TYPE_CHECKING

from ogive._lazy import files_of

if not TYPE_CHECKING:
    __getattr__ = files_of(__name__)
