"""Count keys into buckets batch by batch: dense tables for usual tails, sorting for the others.

Sorting a batch and adding it to the sum costs work for each bucket that the batch reaches; with
narrow buckets that is more than the sort. So the keys of one curve are added into tables that
have a place for each bucket of the usual tails (2^-64 and up), hits and misses separately. They
start as zeros that the system has not yet allocated: only pages in use take memory. The
smallest place is stored as the largest complement, so that zero means empty there too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.curve.keys import ONE
from ogive.curve.summary import MANTISSA, Summary, added, empty, limbs, summarise

if TYPE_CHECKING:
    from ogive._typing import IntArray, KeyArray

_OCTAVES, _OCTAVES_IF_COARSE = 64, 40  # tails down to 2^-64; down to 2^-40 with coarse buckets
_MAX_BITS_OF_COARSE = 8
_MAX_BITS_FOR_TABLES = 14  # with more bits the tables are too long
_KEYS_COUNTED_AT_ONCE = 1 << 16  # they fit the cache
_ROWS_READ_AT_ONCE = 1 << 14  # from the tables
_MIN_KEYS_FOR_TABLES = 1 << 14  # for fewer keys, sorting is quicker than reading long tables
_LAST = (1 << 63) - 1


class Counter:
    """Summarises the keys of one curve, batch by batch.

    >>> import numpy as np
    >>> from ogive.curve.summary import summarise
    >>> keys = np.arange(1 << 60, (1 << 60) + 100_000, dtype=np.uint64)
    >>> counter = Counter(12)
    >>> counter.add(keys[:30_000]), counter.add(keys[30_000:])
    (None, None)
    >>> counter.total() == summarise(keys, 12)
    True
    """

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self._rest = Adder(bits)
        self._tables: tuple[KeyArray, ...] | None = None
        self._fullest = 0  # an upper bound on the keys in any place of the tables
        self._base, self._size = _tables(bits)

    def add(self, keys: KeyArray) -> None:
        """Take in keys; their order may be changed."""
        worth = min(_MIN_KEYS_FOR_TABLES, self._size // 4)
        if self.bits > _MAX_BITS_FOR_TABLES or (keys.size < worth and self._tables is None):
            self._rest.add(summarise(keys, self.bits))
            return
        for start in range(0, keys.size, _KEYS_COUNTED_AT_ONCE):
            self._count(keys[start : start + _KEYS_COUNTED_AT_ONCE])

    def total(self) -> Summary:
        """Return the summary of all keys so far."""
        self._flush()
        return self._rest.total()

    def _count(self, keys: KeyArray) -> None:
        place = (keys >> ONE).view(np.int64)
        index = place >> np.int64(MANTISSA - self.bits)
        index -= self._base
        if int(index.min()) < 0 or int(index.max()) >= self._size:
            inside = (index >= 0) & (index < self._size)
            self._rest.add(summarise(keys[~inside], self.bits))
            keys, place, index = keys[inside], place[inside], index[inside]
        if keys.size == 0:
            return
        if self._tables is None:
            sizes = (2, 2, 1, 1)  # counts and offsets of misses and hits; first and last of both
            self._tables = tuple(np.zeros(k * self._size, dtype=np.uint64) for k in sizes)
        self._make_room(keys.size)
        self._fullest += keys.size
        count, offset, last, first = self._tables
        np.maximum.at(last, index, place.view(np.uint64))
        np.maximum.at(first, index, (_LAST - place).view(np.uint64))
        index <<= 1
        index |= (keys & ONE).view(np.int64)
        np.add.at(count, index, ONE)
        place &= (1 << (MANTISSA - self.bits)) - 1
        np.add.at(offset, index, place.view(np.uint64))

    def _make_room(self, more: int) -> None:
        """Empty the tables before the sum of offsets of any place can reach 2^64.

        Only a place that holds millions of keys makes that necessary: with scores that
        are spread, the tables of a log are turned into rows once, at its end.
        """
        most = 1 << (12 + self.bits)
        if self._tables is None or self._fullest + more <= most:
            return
        self._fullest = int(self._tables[0].max())
        if self._fullest + more > most // 2:  # else the tables would soon be checked again
            self._flush()

    def _flush(self) -> None:
        """Turn the tables into rows, and clear them.

        The arrays are reused: freeing and allocating them again would fragment memory.
        """
        if self._tables is None or not self._fullest:
            return
        count = self._tables[0].reshape(-1, 2)
        hit = np.flatnonzero(count.any(axis=1))
        bucket: IntArray = hit + self._base
        first, last = np.empty_like(bucket), np.empty_like(bucket)
        sums = np.empty((6, hit.size), dtype=np.int64)
        for start in range(0, hit.size, _ROWS_READ_AT_ONCE):
            at = slice(start, start + _ROWS_READ_AT_ONCE)
            self._read_off(hit[at], first[at], last[at], sums[:, at])
        curve = np.zeros_like(bucket)
        self._rest.add(Summary(self.bits, curve, bucket, first, last, sums).normal())
        self._fullest = 0

    def _read_off(self, hit: IntArray, first: IntArray, last: IntArray, sums: IntArray) -> None:
        """Fill in the rows of some places of the tables, and clear these."""
        assert self._tables is not None  # noqa: S101 - there are rows
        count, offset = (table.reshape(-1, 2) for table in self._tables[:2])
        largest, complement = self._tables[2:]
        some, both = count[hit], offset[hit]
        first[:] = _LAST - complement[hit].view(np.int64)
        last[:] = largest[hit].view(np.int64)
        sums[0], sums[1] = some.sum(axis=1), some[:, 1]
        sums[4:6] = limbs(both[:, 1])
        sums[2:4] = limbs(both[:, 0])
        sums[2:4] += sums[4:6]
        for table in (count, offset, largest, complement):
            table[hit] = 0

    def __getstate__(self) -> dict[str, Any]:
        self._flush()
        return vars(self) | {"_tables": None}


def _tables(bits: int) -> tuple[int, int]:
    """Return the first bucket that has a place in the tables, and how many have one."""
    first = (1023 - (_OCTAVES_IF_COARSE if bits <= _MAX_BITS_OF_COARSE else _OCTAVES)) << bits
    return first, (_LAST >> (MANTISSA - bits)) - 2 * first + 1


def table_bytes(bits: int) -> int:
    """Return how many bytes the tables of one curve take at most."""
    return 6 * 8 * _tables(bits)[1]


class Adder:
    """Adds up a stream of summaries, in memory that depends on the number of buckets only.

    Parts are collected until they have as many rows as the sum so far, then added at once: each
    row is sorted a logarithmic number of times.
    """

    def __init__(self, bits: int) -> None:
        self._sum = empty(bits)
        self._parts: list[Summary] = []
        self._pending = 0

    def add(self, part: Summary) -> None:
        """Add another summary."""
        self._parts.append(part)
        self._pending += part.size
        if self._pending > max(self._sum.size, 1 << 16):
            self.total()

    @property
    def size(self) -> int:
        """How many rows are held."""
        return self._sum.size + self._pending

    def total(self) -> Summary:
        """Return the sum so far."""
        if self._parts:
            self._sum = added([self._sum, *self._parts])
            self._parts, self._pending = [], 0
        return self._sum
