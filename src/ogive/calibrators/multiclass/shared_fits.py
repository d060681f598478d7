"""One fit of the class structure for all methods that end in it, where they are compared."""

from __future__ import annotations

import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ogive.calibrators.multiclass.class_fit import fit_classes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import Progress
    from ogive.calibrators.multiclass.class_fit import ClassFit
    from ogive.rows.predictions import Predictions


@dataclass
class SharedFits:
    """The last fit and what it was fitted to; reusing it saved `saved` seconds."""

    last: tuple[Predictions, ClassFit, float] | None = None
    saved: float = 0.0


_SHARED: ContextVar[SharedFits | None] = ContextVar("shared class fits", default=None)


@contextmanager
def shared_class_fits() -> Iterator[SharedFits]:
    """Fit the class structure of the same predictions only once inside this block."""
    shared = _SHARED.get() or SharedFits()  # an outer block is shared with inner ones
    token = _SHARED.set(shared)
    try:
        yield shared
    finally:
        _SHARED.reset(token)


def class_fit_of(
    preds: Predictions, *, n_jobs: int | None = None, progress: Progress | None = None
) -> ClassFit:
    """Return the class structure of predictions: fitted now, or shared by an earlier method."""
    shared = _SHARED.get()
    if shared is not None and shared.last is not None and shared.last[0] is preds:
        shared.saved += shared.last[2]
        return shared.last[1]
    start = time.perf_counter()
    found = fit_classes(preds, n_jobs=n_jobs, progress=progress)
    if shared is not None:
        shared.last = (preds, found, time.perf_counter() - start)
    return found
