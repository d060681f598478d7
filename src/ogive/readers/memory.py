"""Memory: sizes such as 500MB, and what a file needs."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from ogive.errors import FileFormatError, InvalidInput

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_PATTERN = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?)(I?)B?\s*", re.IGNORECASE)
#: The smallest memory limit: one batch and its sums need this much.
LEAST_LIMIT = 64 * 10**6
# What measuring takes, from peaks of 5e6 scores and 1e6 rows of 10 classes: the libraries, the keys
# and the sorted columns of a row, and the copies of a matrix.
_LIBRARIES, _ROW, _MATRIX = 100 * 10**6, 24, 3
_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


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
    if size < LEAST_LIMIT:
        msg = f"`memory` must be at least {LEAST_LIMIT // 10**6}MB, not {text}."
        raise InvalidInput(msg)
    return size


def machine_memory() -> int:
    """Return how many bytes this process may use: of the machine, the container and its limits."""
    bounds = [sys.maxsize]
    if hasattr(os, "sysconf"):
        bounds.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        pass
    else:
        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        bounds.append(soft if soft > 0 else sys.maxsize)
    for name in _CGROUPS:
        try:
            text = Path(name).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
        bounds.append(int(text) if text.isdigit() else sys.maxsize)
    return min(bounds)


def as_limit(memory: str | int | None) -> int:
    """Return the memory limit in bytes; None is what the machine has."""
    return machine_memory() if memory is None else parse_memory(memory)


def needed_bytes(size: int, rows: int, width: int) -> int:
    """Return about how many bytes it takes to read and measure arrays of `size` bytes."""
    return size * (_MATRIX if width > 1 else 1) + rows * _ROW


def fits(needed: int, limit: int) -> bool:
    """Return whether this many bytes fit beside the libraries, which count for half at most."""
    return needed <= usable(limit)


def usable(limit: int) -> int:
    """Return how many bytes of a limit are left beside the libraries."""
    return max(limit - _LIBRARIES, limit // 2)


def check_fits(path: Path, needed: int, limit: int, way_out: str = "") -> None:
    """Refuse a file that needs more memory than the limit."""
    if not fits(needed, limit):
        other = way_out or "or store it as Parquet, which is measured in pieces"
        msg = (
            f"{path} needs about {in_words(needed + _LIBRARIES)} of memory when it is read, more "
            f"than the limit of {in_words(limit)}. Raise --memory (memory=), {other}."
        )
        raise FileFormatError(msg)


def in_words(size: int) -> str:
    """Return a size in a readable unit.

    >>> in_words(1_500_000_000), in_words(64_000_000), in_words(3 * 10**15)
    ('1.5 GB', '64 MB', '3,000 TB')
    """
    for unit, name in ((10**12, "TB"), (10**9, "GB")):
        if size >= unit:
            whole = size >= 1000 * unit
            return f"{size / unit:,.0f} {name}" if whole else f"{size / unit:.3g} {name}"
    return f"{size / 10**6:,.0f} MB"
