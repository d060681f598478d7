"""Cut long arrays into blocks that fit the cache, and work on them with all cores.

The cut depends on the shape alone, never on the number of threads, and every block writes to
its own place: results are the same for any number of threads.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Item = TypeVar("Item")

#: float64 numbers per block: 120 KB. A handful of temporaries fit the L2 cache, and each stays
#: below the 128 KB from which malloc asks the kernel for fresh pages every time.
BLOCK = 15 << 10


#: Blocks for which another thread is started: fewer take at most a millisecond, and two threads
#: that pass Python's lock to and fro for so short a time are slower than one.
_MIN_BLOCKS_PER_THREAD = 32


def thread_count(n_jobs: int | None = None) -> int:
    """Return how many threads to use: the argument, else ``OMP_NUM_THREADS``, else all cores.

    >>> thread_count(3)
    3
    """
    if n_jobs is not None:
        return max(1, n_jobs)
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def blocks(stop: int, *, start: int = 0, width: int = 1, together: int = 1) -> Iterator[slice]:
    """Yield the slices that cut rows start to stop of an array `width` numbers wide.

    `together`: this many blocks are joined to one, for work that is cheap for each number.

    >>> list(blocks(40, width=BLOCK // 16))
    [slice(0, 16, None), slice(16, 32, None), slice(32, 40, None)]
    """
    step = max(1, together * BLOCK // width)
    for first in range(start, stop, step):
        yield slice(first, min(first + step, stop))


def for_each_block(
    work: Callable[[slice], None],
    n: int,
    *,
    width: int = 1,
    together: int = 1,
    n_jobs: int | None = None,
) -> None:
    """Call ``work(rows)`` for each block of an n x width array, on all cores."""
    if n * width <= BLOCK:  # one row is calibrated in microseconds
        if n:
            work(slice(0, n))
        return
    cuts = list(blocks(n, width=width, together=together))
    in_threads(work, cuts, min(len(cuts), threads_worth(n * width, n_jobs)))


def threads_worth(numbers: int, n_jobs: int | None = None) -> int:
    """Return how many threads to start for work on so many numbers: 1 for none."""
    worth = numbers // (_MIN_BLOCKS_PER_THREAD * BLOCK)
    return min(worth, thread_count(n_jobs)) if worth > 1 else 1


def in_threads(work: Callable[[Item], None], items: Iterable[Item], count: int) -> None:
    """Call ``work(item)`` for each item, in so many threads; with one, none is started.

    The caller is one of them. If it only waited, the system could put two new threads on the core
    that the caller has just left, and short work would be done before one of them is moved.
    """
    waiting = deque(items)

    def work_off() -> None:
        try:
            while waiting:
                try:
                    item = waiting.popleft()
                except IndexError:  # another thread took the last one
                    return
                work(item)
        except BaseException:
            waiting.clear()  # so that the others stop too
            raise

    if count == 1:
        work_off()
        return
    with ThreadPoolExecutor(count - 1) as pool:
        others = [pool.submit(work_off) for _ in range(count - 1)]
        work_off()
        for other in others:
            other.result()
