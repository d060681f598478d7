"""Small matrices on one thread.

BLAS splits even a product that takes microseconds between all cores, and its threads wait for
each other in a loop. If another process holds one of the cores, each product then waits for the
scheduler: a fit of 6 ms was seen to take 120. Work that is small, or that is already shared
between our own threads, runs under `one_blas_thread`. The sums then do not depend on the number
of cores either.

BLAS has one number of threads for the process. It is put back when the last one leaves; BLAS calls
of other threads meanwhile have one thread too (``docs/design/global-state.md``).
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_lock = threading.Lock()
_inside = 0  # how many callers are inside: the first sets the limit, the last lifts it
_before: list[tuple[Any, int]] = []  # libraries, and how many threads they had
_found: dict[bool, list[Any]] = {}


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread while inside; many may be inside at once, from any thread.

    >>> import numpy as np
    >>> with one_blas_thread():
    ...     total = np.ones((2, 3)) @ np.ones(3)
    >>> total
    array([3., 3.])
    """
    global _inside, _before  # noqa: PLW0603 - BLAS has one setting for the process
    with _lock:
        if _inside == 0:
            _before = [(library, library.get_num_threads()) for library in _libraries()]
            _set([(library, 1) for library, _ in _before])
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _set(_before)


def _libraries() -> list[Any]:
    """Return the BLAS libraries of the process: NumPy's, and SciPy's once that is loaded."""
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - comes with scikit-learn

    scipy = "scipy.linalg" in sys.modules
    if scipy not in _found:
        _found[scipy] = ThreadpoolController().select(user_api="blas").lib_controllers
    return _found[scipy]


def _set(threads: list[tuple[Any, int]]) -> None:
    """Set the number of threads of libraries, from whichever thread this is.

    Newer threadpoolctl only accepts the first thread that ever set OpenBLAS's number. Our calls are
    counted and made under a lock: so the current thread can take over, and release it again.
    """
    _let_go(threads)
    for library, number in threads:
        library.set_num_threads(number)
    _let_go(threads)


def _let_go(threads: list[tuple[Any, int]]) -> None:
    for kind in {type(library) for library, _ in threads}:
        if hasattr(kind, "clear_controlling_thread"):
            kind.clear_controlling_thread(force=True)
