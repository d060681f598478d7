"""The paper's tables on files of predictions, beside its own numbers."""

from typing import TYPE_CHECKING

from ogive._lazy import files_of

if not TYPE_CHECKING:
    __getattr__ = files_of(__name__)
