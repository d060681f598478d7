"""Sizes of memory, as people write them, and where Arrow gets its own from."""

from __future__ import annotations

import os
import re
import sys
from typing import Any

from ogive.errors import InvalidInput, need

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_PATTERN = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?)(I?)B?\s*", re.IGNORECASE)
_CHOICE = "ARROW_DEFAULT_MEMORY_POOL"
#: Less is not enough for one batch and its sums.
LEAST = 64 * 10**6


def parse_memory(text: str | int) -> int:
    """Return a number of bytes.

    >>> parse_memory("1GB"), parse_memory("512 MiB"), parse_memory("1.5g"), parse_memory(10**9)
    (1000000000, 536870912, 1500000000, 1000000000)
    """
    match = _PATTERN.fullmatch(str(text)) if not isinstance(text, bool) else None
    if match is None or (match[3] and not match[2]):
        msg = f"`memory` must be a size such as 1GB, 500MB or 2GiB, not {text!r}."
        raise InvalidInput(msg)
    unit = match[2].upper()
    size = int(float(match[1]) * (_BINARY if match[3] else _UNITS)[unit])
    if size < LEAST:
        msg = f"`memory` must be at least {LEAST // 10**6}MB, not {text}."
        raise InvalidInput(msg)
    return size


def arrow() -> Any:  # noqa: ANN401 - the module pyarrow
    """Import pyarrow; whoever is the first chooses its allocator, and the system's suits logs.

    Arrow's own allocators keep what was given back to them; the system's shares it with NumPy.
    If the environment names one, or pyarrow was imported before, that choice stands. Arrow reads
    the environment once, so it is put back.
    """
    if "pyarrow" in sys.modules or _CHOICE in os.environ:
        return need("pyarrow", extra="files")
    os.environ[_CHOICE] = "system"
    try:
        return need("pyarrow", extra="files")
    finally:
        del os.environ[_CHOICE]
