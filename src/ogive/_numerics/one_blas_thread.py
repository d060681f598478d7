"""One BLAS thread at a time, where blocks of rows are shared out to threads already.

Two kinds of threads on the same cores wait for each other. The number of BLAS threads belongs to
the process, so it is put back when the last block of code that asked for it is left.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_lock = threading.Lock()
_inside: list[Any] = []  # the limits in force: one entry for each block of code inside


@cache
def _controller() -> Any:  # noqa: ANN401 - threadpoolctl has no types
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - comes with scikit-learn

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread inside the block.

    >>> with one_blas_thread():
    ...     pass
    """
    with _lock:
        limit = _controller().limit(limits=1, user_api="blas") if not _inside else _inside[0]
        _inside.append(limit)
    try:
        yield
    finally:
        with _lock:
            _inside.pop()
            if not _inside:
                limit.restore_original_limits()
