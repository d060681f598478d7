"""Watching scores that are in use: whether they are still calibrated, and since when not."""

from typing import TYPE_CHECKING

from ogive._lazy import files_of
from ogive.studies.watch.grouped import GroupWatch
from ogive.studies.watch.watch import Watch

if not TYPE_CHECKING:
    __getattr__ = files_of(__name__)

__all__ = ["GroupWatch", "Watch"]
