"""Packages whose files are attributes: ``ogive.export.targets`` works after ``import ogive``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


def files_of(package: str) -> Callable[[str], ModuleType]:
    """Return the `__getattr__` of a package: its files are loaded when they are first asked for.

    >>> files_of("ogive.metrics")("ks").__name__
    'ogive.metrics.ks'
    """

    def find(name: str) -> ModuleType:
        module = f"{package}.{name}"
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module:  # the file is there, and lacks something
                raise
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg) from None

    return find
