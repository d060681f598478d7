"""CSV as text: what a number is, where rows begin, and whether all lines have become rows.

A parser that meets a quote which is never closed reads the rest of the file as one cell, silently.
So the text is read as well to count its records, by Python's csv where it has quotes (which knows
when one is left open), and records and rows must be the same number.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, TextIO

import numpy as np

from ogive.errors import FileFormatError
from ogive.readers.guard import suffix_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BYTES_SCANNED_AT_ONCE = 1 << 22
_MAX_HEADER_BYTES = 1 << 16  # longer lines of names are not expected
_LF, _CR = b"\n\r"
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
    records, line, before = 0, 1, b"\n"
    for block in _blocks(path):
        _check_bytes(path, block, line)
        if b'"' in block:
            return _scan_quoted(path)
        text = np.frombuffer(before + block, dtype=np.uint8)
        ends = (text == _LF) | (text == _CR)
        records += int(np.count_nonzero(ends[:-1] & ~ends[1:]))
        line, before = line + block.count(b"\n"), block[-1:] or before
    return Scan(records, has_newlines=False)


def _scan_quoted(path: Path) -> Scan:
    line = 1
    for block in _blocks(path):
        _check_bytes(path, block, line)
        line += block.count(b"\n")
    with open_text(path) as text, suppress(csv.Error):
        reader = csv.reader(text, delimiter=separator_of(path), strict=True)
        rows = Counter(map(bool, reader))  # an empty line is a row without cells, and no record
        return Scan(rows[True], has_newlines=reader.line_num > rows.total())
    raise _open_quote(path)


def _open_quote(path: Path) -> FileFormatError:
    """Return the error for the first record whose quotes are damaged."""
    with open_text(path) as text:
        reader, line, why = csv.reader(text, delimiter=separator_of(path), strict=True), 1, ""
        try:
            for _ in reader:
                line = reader.line_num + 1
        except csv.Error as error:
            why = str(error)
    if "expected after" in why:
        msg = (
            f"{path}: the quote that line {line:,} opens is closed in the middle of a cell, on "
            f'line {reader.line_num:,}. Quote whole cells, and double a " inside them.'
        )
    elif "field limit" in why:
        msg = (
            f"{path}: line {line:,} has a cell of more than {csv.field_size_limit():,} characters: "
            'a quote that is never closed? Close it, remove the ", or leave such a column out.'
        )
    else:
        msg = (
            f"{path}: line {line:,} opens a quote that is never closed, and all further lines are "
            'inside it. Close it, or remove the ".'
        )
    return FileFormatError(msg)


def header(path: Path) -> list[str]:
    """Return the cells of the first record."""
    block = next(_blocks(path))
    _check_bytes(path, block, 1)
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


def open_text(path: Path) -> TextIO:
    """Open a text for its lines, whose ends stay as they are."""
    return io.TextIOWrapper(open_bytes(path), "utf-8-sig", errors="replace", newline="")


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
    with open_text(path) as text:
        reader, line = csv.reader(text, delimiter=separator_of(path)), 1
        for row in reader:
            if row and record == 0:
                return line
            record -= bool(row)
            line = reader.line_num + 1
    return 0


def check_rows(path: Path, found: Scan, rows: int) -> None:
    """Refuse a file that the parser has read as fewer or more rows than it has records."""
    if rows != found.records - 1:
        msg = (
            f"{path} has {found.records - 1:,} lines of data, but they were read as {rows:,} rows: "
            "quotes or line ends are damaged. Write it again."
        )
        raise FileFormatError(msg)


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a text, without the mark of its encoding."""
    with open_bytes(path) as file:
        head = file.read(4)
        for mark, name in _MARKS.items():
            if head.startswith(mark):
                msg = f"{path} is text in {name}: save it as UTF-8."
                raise FileFormatError(msg)
        block = head.removeprefix(_BOM)
        yield block + file.read(_BYTES_SCANNED_AT_ONCE)
        while block := file.read(_BYTES_SCANNED_AT_ONCE):
            yield block


def _check_bytes(path: Path, block: bytes, line: int) -> None:
    """Refuse a NUL in a block that begins on a line."""
    at = block.find(b"\0")
    if at >= 0:
        line += block.count(b"\n", 0, at)
        msg = (
            f"{path}: line {line:,} has a NUL byte: the text is UTF-16, binary or damaged. "
            "Save it as UTF-8."
        )
        raise FileFormatError(msg)
