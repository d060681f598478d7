"""The headers of a Parquet file's pages: the bytes of each when unpacked, before any is read.

A page is unpacked as a whole, and may be 2 GB long. The footer has the sizes of columns and not
those of pages, and pyarrow tells these only after it has unpacked them. Footer and headers are
structs of Thrift's compact protocol: fields that begin with a number and a type.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from ogive.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path
    from typing import BinaryIO

MAGIC = b"PAR1"
_END = len(MAGIC) + 4  # the footer's length and the magic word close the file
_MAX_DEPTH = 16  # of structs in structs; a footer has six
_HEADER, _MAX_HEADER = 1 << 8, 1 << 20  # bytes of a page's header: the usual, and the most
_MAX_PAGES = 1 << 18  # of a column in a row group: of 20,000 rows each, 5e9 rows
# Numbers of fields: of the footer, a row group, a column, what is known of it, a page.
_ROW_GROUPS, _COLUMNS, _KNOWN, _ENCRYPTED = 4, 1, 3, 8
_PATH, _PACKED_SIZE, _FIRST_PAGE, _DICTIONARY_PAGE = 3, 7, 9, 11
_UNPACKED_PAGE, _PACKED_PAGE = 2, 3
# Types of the compact protocol.
_TRUE, _BYTE = 1, 3
_I64, _DOUBLE, _BYTES, _LIST, _SET, _STRUCT = 6, 7, 8, 9, 10, 12


def largest_pages(path: Path, columns: Collection[str]) -> int:
    """Return how many bytes the largest page of each column takes, all columns together.

    Those of columns that are encrypted are not known, and count as 0.
    """
    largest: dict[tuple[bytes, ...], int] = {}
    names = {name.encode() for name in columns}
    with path.open("rb") as file:
        try:
            for group in _footer(file).get(_ROW_GROUPS, ()):
                for column in group[_COLUMNS]:
                    known = column.get(_KNOWN, {})
                    leaf = tuple(known.get(_PATH, ()))
                    if _ENCRYPTED in column or not names.intersection(leaf[:1]):
                        continue
                    largest[leaf] = max(largest.get(leaf, 0), _largest_page(file, known))
        except (struct.error, IndexError, KeyError, TypeError, AttributeError):
            msg = f"{path} cannot be read as parquet: a header is damaged. Write it again."
            raise FileFormatError(msg) from None
    return sum(largest.values())


def _footer(file: BinaryIO) -> dict[int, Any]:
    size = file.seek(0, 2)
    (length,) = struct.unpack("<I", _bytes(file, size - _END, 4))
    return _Reader(_bytes(file, size - _END - length, length)).struct()


def _largest_page(file: BinaryIO, known: dict[int, Any]) -> int:
    """Go from page to page of a column in a row group."""
    places = known[_FIRST_PAGE], known.get(_DICTIONARY_PAGE, 0)  # 0 where there is none
    place = min(filter(None, places), default=0)
    end, largest = place + known[_PACKED_SIZE] if place else 0, 0
    for _ in range(_MAX_PAGES):
        if place >= end:
            return largest
        header, length = _header(file, place)
        if header[_PACKED_PAGE] < 0:
            raise struct.error
        largest = max(largest, header[_UNPACKED_PAGE])
        place += length + header[_PACKED_PAGE]
    raise struct.error


def _header(file: BinaryIO, place: int) -> tuple[dict[int, Any], int]:
    """Return a page's header and its length; with the least and the greatest text it is long."""
    length = _HEADER
    while True:
        raw = _Reader(_bytes(file, place, length, whole=False))
        try:
            return raw.struct(), raw.place
        except (IndexError, struct.error):
            if length >= _MAX_HEADER:
                raise
            length *= 16


def _bytes(file: BinaryIO, place: int, length: int, *, whole: bool = True) -> bytes:
    if place < 0:
        raise struct.error
    file.seek(place)
    found = file.read(length)
    if not found or (whole and len(found) < length):
        raise struct.error
    return found


class _Reader:
    """Reads structs as dicts by the numbers of their fields."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.place = raw, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Read a struct up to its end."""
        if depth > _MAX_DEPTH:
            raise struct.error
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = self._value(head & 15, depth, in_field=True)
        return fields

    def _value(self, kind: int, depth: int, *, in_field: bool = False) -> Any:  # noqa: ANN401
        if kind <= _BYTE:  # a field that is true or false says so by its type
            return kind == _TRUE if in_field and kind < _BYTE else self._byte()
        if kind <= _I64:
            return self._signed()
        if kind == _DOUBLE:
            return self._take(8)
        if kind == _BYTES:
            return self._take(self._varint())
        if kind in {_LIST, _SET}:
            return self._list(depth)
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise struct.error  # also maps: Parquet has none

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._varint()  # noqa: PLR2004
        if count > len(self.raw) - self.place:  # each takes a byte at least
            raise struct.error
        return [self._value(head & 15, depth) for _ in range(count)]

    def _byte(self) -> int:
        self.place += 1
        return self.raw[self.place - 1]

    def _varint(self) -> int:
        result = shift = 0
        while True:
            byte = self._byte()
            result |= (byte & 127) << shift
            if byte < 128:  # noqa: PLR2004
                return result
            shift += 7
            if shift > 63:  # noqa: PLR2004
                raise struct.error

    def _signed(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _take(self, length: int) -> bytes:
        end = self.place + length
        if end > len(self.raw):
            raise struct.error
        found, self.place = self.raw[self.place : end], end
        return found
