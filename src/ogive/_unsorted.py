"""Scores that nobody has asked to be sorted yet.

The largest gap does not need them sorted (`ogive.metrics.unsorted_gap`), and sorting is most of
what a curve costs. So a curve of many scores begins as a copy of them; the first who asks for
more gets the sorted keys, made in the memory of the copy.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ogive._numerics.blocks import blocks
from ogive._numerics.sorting import sort_in_place
from ogive._packing import keys_of_scores
from ogive._validate import bad_scores

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import AnyArray, BoolArray, FloatArray, KeyArray

T = TypeVar("T")

#: Scores from which waiting pays; below, a sort costs no more than finding the gap without one.
MANY = 1 << 18
_TOGETHER = 4  # blocks that are checked at a time


class Unsorted:
    """Scores in [0, 1] and their outcomes, which become sorted keys when those are asked for.

    >>> import numpy as np
    >>> rows = Unsorted(np.array([0.5, 0.25]), np.array([True, False]))
    >>> rows.size, rows.unless_sorted(lambda scores, hits: scores.max())
    (2, np.float64(0.5))
    >>> rows.keys().size, rows.unless_sorted(lambda scores, hits: scores.max()) is None
    (2, True)
    """

    def __init__(self, scores: AnyArray, hits: BoolArray) -> None:
        """Copy them, and check that the scores lie in [0, 1]."""
        own = np.empty(scores.size)
        for at in blocks(scores.size, together=_TOGETHER):
            block = own[at]
            block[:] = scores[at]
            if not (block.min() >= 0.0 and block.max() <= 1.0):  # NaN is neither
                raise bad_scores(scores)
        self._scores, self._hits = own, hits.copy()
        self._keys: KeyArray | None = None
        self._lock = Lock()  # one thread may sort in place while another asks for the gap
        self.size = scores.size

    def __getstate__(self) -> dict[str, object]:
        """Copy and pickle everything but the lock."""
        with self._lock:
            return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._lock = Lock()

    def unless_sorted(self, work: Callable[[FloatArray, BoolArray], T]) -> T | None:
        """Return what `work` makes of scores and hits; None if they have become keys."""
        with self._lock:
            return None if self._keys is not None else work(self._scores, self._hits)

    def keys(self) -> KeyArray:
        """Return the sorted keys (`ogive._keys`)."""
        with self._lock:
            if self._keys is None:
                self._keys = keys_of_scores(self._scores, self._hits, out=self._scores)
                sort_in_place(self._keys)
                del self._scores, self._hits
            return self._keys
