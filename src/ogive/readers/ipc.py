"""The headers of an Arrow file: the rows and the unpacked bytes of each batch, before any is read.

pyarrow gives both only after it has unpacked a batch, which may not fit into memory. The file
has them in flatbuffers: a table begins with the distance back to its list of field offsets.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ogive.errors import FileFormatError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MAGIC = b"ARROW1"
_END = len(MAGIC) + 4  # the footer's length and the magic word close the file
_MAX_HEADER_BYTES = 1 << 28  # longer ones are damaged
_BLOCK = "<qi4xq"  # where a batch is: offset, length of its header, length of its body
# Places of fields in their tables: of the footer, the message, the dictionary, the batch.
_DICTIONARIES, _BATCHES, _HEADER, _DATA, _BUFFERS, _COMPRESSION = 2, 3, 2, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Batch:
    """The header of a batch: its rows, its unpacked bytes, and whether it is compressed."""

    rows: int
    size: int
    packed: bool


def batches_of(path: Path) -> tuple[list[Batch], list[Batch]]:
    """Return the headers of all batches of an Arrow file, and of all dictionaries."""
    size = path.stat().st_size
    with path.open("rb") as file:

        def at(place: int, length: int) -> bytes:
            if not (0 <= place <= size and 0 <= length <= min(size - place, _MAX_HEADER_BYTES)):
                raise struct.error
            file.seek(place)
            return file.read(length)

        try:
            if at(0, len(MAGIC)) != MAGIC or at(size - len(MAGIC), len(MAGIC)) != MAGIC:
                msg = f"{path} is not an Arrow file, or it is cut short."
                raise FileFormatError(msg)
            (length,) = struct.unpack("<i", at(size - _END, 4))
            footer = _Table.root(at(size - _END - length, length))
            batches = [_batch(at, *block) for block in footer.structs(_BATCHES, _BLOCK)]
            dictionaries = footer.structs(_DICTIONARIES, _BLOCK)
            words = [_batch(at, *block, field=_DATA) for block in dictionaries]
        except struct.error:
            msg = f"{path} is not an Arrow file, or it is damaged: a length in it is too large."
            raise FileFormatError(msg) from None
    return batches, words


def _batch(
    at: Callable[[int, int], bytes],
    offset: int,
    header: int,
    body: int,
    *,
    field: int | None = None,
) -> Batch:
    raw = at(offset, header)
    start = 8 if raw[:4] == b"\xff\xff\xff\xff" else 4  # of the message, after its length
    batch = _Table.root(raw[start:]).table(_HEADER)
    batch = batch if field is None else batch.table(field)
    rows = batch.number(0, "<q")
    if rows < 0 or body < 0:
        raise struct.error
    if batch.place(_COMPRESSION) is None:
        return Batch(rows, body, packed=False)
    size = 0
    for place, length in batch.structs(_BUFFERS, "<qq"):
        if length > 0:  # a buffer begins with its unpacked length, or -1 if it is not packed
            (unpacked,) = struct.unpack("<q", at(offset + header + place, 8))
            size += length if unpacked < 0 else unpacked
    return Batch(rows, size, packed=True)


class _Table:
    """A table of a flatbuffer; what lies outside the bytes raises struct.error."""

    def __init__(self, raw: bytes, at: int) -> None:
        if not 0 <= at <= len(raw):
            raise struct.error
        self.raw, self.at = raw, at

    @classmethod
    def root(cls, raw: bytes) -> _Table:
        """Return the table that a buffer begins with."""
        return cls(raw, _unpack("<I", raw, 0))

    def place(self, field: int) -> int | None:
        """Return where a field is, None if it is absent."""
        fields = self.at - _unpack("<i", self.raw, self.at)
        if 4 + 2 * field >= _unpack("<H", self.raw, fields):
            return None
        offset = _unpack("<H", self.raw, fields + 4 + 2 * field)
        return self.at + offset if offset else None

    def number(self, field: int, form: str) -> int:
        """Return a number, 0 if it is absent."""
        place = self.place(field)
        return 0 if place is None else _unpack(form, self.raw, place)

    def table(self, field: int) -> _Table:
        """Return the table that a field points to."""
        place = self.place(field)
        if place is None:
            raise struct.error
        return _Table(self.raw, place + _unpack("<I", self.raw, place))

    def structs(self, field: int, form: str) -> list[tuple[int, ...]]:
        """Return the structs of a vector."""
        place = self.place(field)
        if place is None:
            return []
        place += _unpack("<I", self.raw, place)
        n, size = _unpack("<I", self.raw, place), struct.calcsize(form)
        if place + 4 + n * size > len(self.raw):
            raise struct.error
        return [struct.unpack_from(form, self.raw, place + 4 + i * size) for i in range(n)]


def _unpack(form: str, raw: bytes, place: int) -> int:
    if place < 0:
        raise struct.error
    number: int = struct.unpack_from(form, raw, place)[0]
    return number
