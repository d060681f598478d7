"""Sorting integers in place, on all cores.

NumPy sorts on one core. Cutting an array at its median takes a tenth of the sorting time; the two
halves are then sorted side by side, or cut again if there are more cores. The result is the
same for any number of threads, as there is only one sorted order of integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ogive._numerics.blocks import in_threads, thread_count

if TYPE_CHECKING:
    import numpy as np

    from ogive._typing import KeyArray

_MIN_KEYS_PER_THREAD = 1 << 17  # with fewer numbers, a thread costs more than it saves


def sort_in_place(keys: KeyArray, *, n_jobs: int | None = None) -> None:
    """Sort integers.

    >>> import numpy as np
    >>> keys = np.array([3, 1, 2], dtype=np.uint64)
    >>> sort_in_place(keys)
    >>> keys
    array([1, 2, 3], dtype=uint64)
    """
    if keys.size < 2 * _MIN_KEYS_PER_THREAD:
        keys.sort()
        return
    parts: list[np.ndarray] = [keys]
    wanted = min(thread_count(n_jobs), keys.size // _MIN_KEYS_PER_THREAD)
    while 2 * len(parts) <= wanted:
        parts = [half for part in parts for half in _halves(part)]
    in_threads(lambda part: part.sort(), parts, len(parts))


def _halves(keys: KeyArray) -> tuple[KeyArray, KeyArray]:
    """Put the smaller half of the numbers before the larger one."""
    middle = keys.size // 2
    keys.partition(middle)
    return keys[:middle], keys[middle:]
