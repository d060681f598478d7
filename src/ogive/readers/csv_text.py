"""CSV as text: what a number is, where rows begin, and whether all lines have become rows.

A parser that meets a quote which is never closed reads the rest of the file as one cell, silently.
So the text is scanned as well: how many records there are by the rules of RFC 4180 (a
quote counts at the beginning of a cell, inside it is doubled), on which line each begins, and that
it is UTF-8 without NUL. Records and rows must be the same number.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import numpy as np

from ogive.errors import FileFormatError
from ogive.readers.guard import suffix_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ogive._typing import BoolArray, IntArray

_BYTES_SCANNED_AT_ONCE = 1 << 22
_MAX_HEADER_BYTES = 1 << 16  # longer lines of names are not expected
_MAX_QUOTES_IN_A_ROW = 1 << 22  # each block scans them again
_QUOTE, _LF, _CR = b'"\n\r'
_SEPARATORS = ",;\t"  # between cells; if two occur as often, the first of these
_QUOTED = re.compile(r'"[^"]*"')
_MARKS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_BOM = b"\xef\xbb\xbf"
# Decimal numbers in ASCII, as C's strtod reads them in every locale; spaces around are allowed.
_NUMBER = re.compile(
    r"[ \t]*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"|(?i:inf|infinity))[ \t]*"
)


def number(text: str | None, decimal: str = ".") -> float:
    """Return the number in a cell, NaN if it is not one; `decimal` is its decimal mark.

    >>> number("0.5"), number(" 1e-3 "), number("1_0"), number("٣"), number("0,5")
    (0.5, 0.001, nan, nan, nan)
    >>> number("0,5", ","), number("0.5", ",")
    (0.5, nan)
    """
    if text is not None and decimal != ".":
        text = text.translate({ord("."): decimal, ord(decimal): "."})
    return float(text) if text is not None and _NUMBER.fullmatch(text) else np.nan


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan of a text finds.

    records : how many there are, the line of names included, empty lines not
    has_newlines : whether cells have line breaks inside quotes
    """

    records: int
    has_newlines: bool


def scan(path: Path) -> Scan:
    """Count the records of a CSV file; refuse what cannot be counted."""
    records, has_newlines, state = 0, False, _State(path)
    for block in _blocks(path):
        _check_bytes(path, block, state)
        plain = state.plain_starts(block)
        if plain is None:
            starts, inside = state.starts_in(block)
            has_newlines |= inside
            plain = starts.size
        records += plain
    state.check_closed()
    return Scan(records, has_newlines)


def header(path: Path) -> list[str]:
    """Return the cells of the first record."""
    block = next(_blocks(path))
    _check_bytes(path, block, _State(path))
    text = io.StringIO(block.decode("utf-8", "replace"), newline="")
    rows = csv.reader(text, delimiter=separator_of(path))
    names = next((row for row in rows if row), None)
    if names is None:
        msg = f"{path} has no rows: it is empty."
        raise FileFormatError(msg)
    return names


def separator_of(path: Path) -> str:
    """Return the separator of cells: the most frequent of , ; and tab in the first line."""
    if suffix_of(path) in {".tsv", ".tsv.gz"}:
        return "\t"
    with open_bytes(path) as file:
        lines = (
            file.read(_MAX_HEADER_BYTES).removeprefix(_BOM).decode("utf-8", "replace").splitlines()
        )
    line = _QUOTED.sub("", next((line for line in lines if line.strip()), ""))
    return max(_SEPARATORS, key=line.count)


def open_bytes(path: Path) -> IO[bytes]:
    """Open a text for its bytes, unpacked."""
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def check_utf8(path: Path) -> None:
    """Refuse text in another encoding, with the line of the first byte that is wrong."""
    line = 1
    with open_bytes(path) as file:
        for text in file:
            try:
                text.decode("utf-8")
            except UnicodeDecodeError as error:
                msg = (
                    f"{path}: line {line:,} is not UTF-8 ({error.reason}). Save the file as UTF-8."
                )
                raise FileFormatError(msg) from None
            line += 1


def line_of(path: Path, record: int) -> int:
    """Return the line, from 1, on which a record begins; record 0 is the line of names."""
    seen = 0
    for starts, _ in _record_lines(path):
        if record < seen + starts.size:
            return int(starts[record - seen])
        seen += starts.size
    return 0


def check_rows(path: Path, found: Scan, rows: int) -> None:
    """Refuse a file that the parser has read as fewer or more rows than it has records."""
    if rows != found.records - 1:
        msg = (
            f"{path} has {found.records - 1:,} lines of data, but they were read as {rows:,} rows: "
            "quotes or line ends are damaged. Write it again."
        )
        raise FileFormatError(msg)


def _record_lines(path: Path) -> Iterator[tuple[IntArray, bool]]:
    """Yield the lines on which records begin, and whether cells have line breaks, by blocks."""
    state = _State(path)
    for block in _blocks(path):
        _check_bytes(path, block, state)
        if block:
            yield state.starts_in(block)
    state.check_closed()


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield the file in blocks that end neither with a quote nor with half a line break."""
    with open_bytes(path) as file:
        head = file.read(4)
        for mark, name in _MARKS.items():
            if head.startswith(mark):
                msg = f"{path} is text in {name}: save it as UTF-8."
                raise FileFormatError(msg)
        left = head.removeprefix(_BOM)
        while True:
            new = file.read(_BYTES_SCANNED_AT_ONCE)
            block = left + new
            # The next byte decides what a quote or a carriage return at the end is.
            kept = block.rstrip(b'"\r') if new else block
            left = block[len(kept) :]
            if len(left) > _MAX_QUOTES_IN_A_ROW:
                msg = f"{path} has millions of quotes in a row: it is damaged. Write it again."
                raise FileFormatError(msg)
            yield kept
            if not new:
                return


def _check_bytes(path: Path, block: bytes, state: _State) -> None:
    at = block.find(b"\0")
    if at >= 0:
        line = state.line + block.count(b"\n", 0, at)
        msg = (
            f"{path}: line {line:,} has a NUL byte: the text is UTF-16, binary or damaged. "
            "Save it as UTF-8."
        )
        raise FileFormatError(msg)


class _State:
    """Where a scan is: the line, inside which quote, and what the last byte was."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 1  # of the next byte
        self.open_since = 0  # the line of the quote that is open, 0 if none is
        self.before = _LF  # the last byte
        self.edge = np.zeros(256, dtype=np.bool_)  # the bytes beside the quotes of a cell
        self.edge[[_LF, _CR, ord(separator_of(path))]] = True

    def check_closed(self) -> None:
        """Refuse a text that ends inside a quote."""
        if self.open_since:
            msg = (
                f"{self.path}: line {self.open_since:,} opens a quote that is never closed, and "
                'all further lines are inside it. Close it, or remove the ".'
            )
            raise FileFormatError(msg)

    def plain_starts(self, block: bytes) -> int | None:
        """Return how many records begin in a block without quotes or empty lines; else None."""
        if not block:
            return 0
        at_start = self.before in {_LF, _CR}
        empty = b"\n\n" in block or (at_start and block[0] == _LF)
        if self.open_since or empty or b'"' in block or b"\r" in block:
            return None
        ends = block.count(b"\n")
        self.line += ends
        self.before = block[-1]
        return ends - block.endswith(b"\n") + at_start

    def starts_in(self, block: bytes) -> tuple[IntArray, bool]:
        """Return the lines on which records begin, and whether cells have line breaks."""
        text = np.frombuffer(block, dtype=np.uint8)
        ends = _line_ends(text)
        quoted = self._quoted(block, text, ends)
        begins = np.concatenate([[0], ends + 1])  # where lines begin
        begins = begins[begins < text.size]
        quoted = quoted[: begins.size]
        # A line begins a record unless it is empty, inside quotes, or goes on from the last block.
        empty = (text[begins] == _LF) | (text[begins] == _CR)
        new = ~empty & ~quoted
        new[0] &= self.before in {_LF, _CR}
        lines = (self.line + np.arange(begins.size))[new]
        self.line += int(ends.size)
        self.before = int(text[-1])
        return lines, bool(quoted.any())

    def _quoted(self, block: bytes, text: np.ndarray, ends: IntArray) -> BoolArray:
        """Return for each line of a block whether it begins inside a quote; keep what is open."""
        inside = np.zeros(ends.size + 1, dtype=np.bool_)
        inside[0] = bool(self.open_since) and self.open_since < self.line
        pairs = self._plain_pairs(text)
        for opened, closed in self._pairs(block, ends) if pairs is None else _broken(pairs, ends):
            low, high = np.searchsorted(ends, [opened, closed])
            inside[low + 1 : high + 1] = True
        return inside

    def _plain_pairs(self, text: np.ndarray) -> IntArray | None:
        """Return where cells open and close, (k, 2), if every quote of a block does that."""
        at = np.flatnonzero(text == _QUOTE)
        if self.open_since or at.size % 2 or (at.size and at[-1] == text.size - 1):
            return None
        pairs = at.reshape(-1, 2)
        around = np.concatenate([[self.before], text])[pairs + np.array([0, 2])]
        return pairs if self.edge[around].all() else None

    def _pairs(self, block: bytes, ends: IntArray) -> Iterator[tuple[int, int]]:
        """Yield where cells open and close, quote by quote; the last may close in another block."""
        at = opened = 0
        while True:
            if not self.open_since:
                opened = block.find(b'"', at)
                if opened < 0:
                    return
                at = opened + 1
                if not self.edge[block[opened - 1] if opened else self.before]:
                    continue  # inside a cell that did not begin with a quote: an ordinary character
                self.open_since = self._line_at(ends, opened)
            at = block.find(b'"', at)
            if at < 0:
                yield opened, len(block)
                return
            if block[at + 1 : at + 2] == b'"':
                at += 2  # doubled: a quote of the text
                continue
            self._check_close(block, ends, at)
            yield opened, at
            self.open_since = 0
            at += 1

    def _line_at(self, ends: IntArray, at: int) -> int:
        return self.line + int(np.searchsorted(ends, at))

    def _check_close(self, block: bytes, ends: IntArray, at: int) -> None:
        """Refuse a closing quote in the middle of a cell: it was meant to open another."""
        if at + 1 < len(block) and not self.edge[block[at + 1]]:
            msg = (
                f"{self.path}: the quote that line {self.open_since:,} opens is closed in the "
                f"middle of a cell, on line {self._line_at(ends, at):,}. Quote whole cells, and "
                'double a " inside them.'
            )
            raise FileFormatError(msg)


def _broken(pairs: IntArray, ends: IntArray) -> Iterator[tuple[int, int]]:
    """Yield the cells that have a line end inside."""
    low, high = np.searchsorted(ends, pairs.T)
    yield from pairs[low < high].tolist()


def _line_ends(text: np.ndarray) -> IntArray:
    r"""Return where lines end: at \n, or at \r without one."""
    ends = text == _LF
    if (text == _CR).any():
        alone = text == _CR
        alone[:-1] &= text[1:] != _LF
        ends |= alone
    return np.flatnonzero(ends)
