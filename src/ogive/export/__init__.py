"""Saving and exporting: the artifact, and the forms in which a calibrator is deployed."""

from typing import TYPE_CHECKING

from ogive._lazy import files_of

if not TYPE_CHECKING:
    __getattr__ = files_of(__name__)
