"""The scikit-learn face: parameters stored untouched, learned state ends in _, work delegated."""

from typing import TYPE_CHECKING

from ogive._lazy import files_of

if not TYPE_CHECKING:
    __getattr__ = files_of(__name__)
