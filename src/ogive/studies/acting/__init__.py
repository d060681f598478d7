"""When to act on a score: thresholds for given costs, and what calibrating saves."""

from typing import TYPE_CHECKING

from ogive._lazy import files_of
from ogive.studies.acting.study import decide

if not TYPE_CHECKING:
    __getattr__ = files_of(__name__)

__all__ = ["decide"]
