"""Small matrices on one thread.

BLAS splits even a product that takes microseconds between all cores, and its threads wait for
each other in a loop. If another process holds one of the cores, each product then waits for the
scheduler: a fit of 6 ms was seen to take 120. Work that is small, or that is already shared
between our own threads, runs under `one_blas_thread`. The sums then do not depend on the number
of cores either.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_lock = threading.Lock()
_inside = 0  # how many are under it now: the first one in sets the limit, the last one out lifts it
_limit: Any = None
_controllers: dict[bool, Any] = {}


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread while inside; many may be inside at once.

    >>> import numpy as np
    >>> with one_blas_thread():
    ...     total = np.ones((2, 3)) @ np.ones(3)
    >>> total
    array([3., 3.])
    """
    global _inside, _limit  # noqa: PLW0603 - BLAS has one setting for the process
    with _lock:
        if _inside == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.restore_original_limits()


def _controller() -> Any:  # noqa: ANN401 - threadpoolctl has no types
    """Return the BLAS libraries of the process: NumPy's, and SciPy's once that is loaded."""
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - comes with scikit-learn

    scipy = "scipy.linalg" in sys.modules
    if scipy not in _controllers:
        _controllers[scipy] = ThreadpoolController()
    return _controllers[scipy]
