"""Checks of every reader: only regular files are opened, and only ogive's errors are raised."""

from __future__ import annotations

import stat
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from ogive.errors import FileFormatError, OgiveError, printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ogive._typing import AnyArray

#: Suffixes of text, which may be packed.
CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
JSON_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
TEXT = (*CSV, *JSON_LINES)
#: Suffixes of tables that are refused, and not left out of folders.
ARROW = (".arrow", ".feather")
_SURROGATES = (0xD800, 0xDFFF)  # halves of a letter in UTF-16, which no file may be printed with
_KINDS = (
    (stat.S_ISFIFO, "a pipe (FIFO)"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def suffix_of(path: Path) -> str:
    """Return the suffix that gives the format of a file; both suffixes of compressed text.

    >>> from pathlib import Path
    >>> suffix_of(Path("a.CSV.gz")), suffix_of(Path("b.parquet")), suffix_of(Path("c.tar.gz"))
    ('.csv.gz', '.parquet', '.gz')
    """
    packed = "".join(path.suffixes[-2:]).lower()
    return packed if packed in TEXT else path.suffix.lower()


def check_regular(path: Path) -> None:
    """Refuse anything but a file on a disk: reading a pipe or a device may never end.

    Arrow files are refused here as well, so that no folder is read without the ones it holds.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        link = " (it is a link to a file that does not exist)" if path.is_symlink() else ""
        msg = f"{path} does not exist{link}. Check the path."
        raise FileFormatError(msg) from None
    except OSError as error:
        msg = f"{path} cannot be opened ({error.strerror}). Check its permissions."
        raise FileFormatError(msg) from error
    except ValueError as error:  # a NUL in a name
        msg = f"{str(path)!r} is not the name of a file ({error})."
        raise FileFormatError(msg) from error
    if path.suffix.lower() in ARROW:
        names = f"f.read_table({str(path)!r}), {str(path.with_suffix('.parquet'))!r}"
        msg = (
            f"{path} is an Arrow file, which ogive does not read; write it as Parquet: "
            f'python -c "import pyarrow.feather as f, pyarrow.parquet as p; p.write_table({names})"'
        )
        raise FileFormatError(msg)
    kind = next((name for check, name in _KINDS if check(mode)), None)
    if kind is not None:
        msg = (
            f"{path} is {kind}, not a regular file. Save the predictions to a file first, "
            "for example with `cat`."
        )
        raise FileFormatError(msg)


@contextmanager
def guarded(path: Path | str) -> Iterator[None]:
    """Turn whatever a library raises over a file into an error that names the file.

    A damaged file can make a library raise anything, so that a list of exceptions would never be
    complete. The cause stays attached (``__cause__``).
    """
    try:
        yield
    except OgiveError:
        raise
    except MemoryError as error:
        msg = (
            f"{path} needs more memory than there is. Raise the limit of the process, store the "
            "predictions in smaller files, or use float32."
        )
        raise FileFormatError(msg) from error
    except OSError as error:
        if error.errno is not None and error.filename is not None:
            msg = f"{path} cannot be opened ({error.strerror}). Check its permissions."
            raise FileFormatError(msg) from error
        raise FileFormatError(_damaged(path, error)) from error
    except UnicodeEncodeError as error:
        msg = f"{path}: this format is read from names in UTF-8 alone. Rename the file."
        raise FileFormatError(msg) from error
    except Exception as error:
        raise FileFormatError(_damaged(path, error)) from error


def check_letters(path: Path, array: AnyArray) -> AnyArray:
    """Refuse text with numbers that are no letters: Python ends with them in a SystemError."""
    if array.dtype.kind != "U" or not array.nbytes:
        return array
    letters = np.ascontiguousarray(array).view(np.dtype("u4").newbyteorder(array.dtype.byteorder))
    halves = (letters >= _SURROGATES[0]) & (letters <= _SURROGATES[1])
    if np.any(halves | (letters > sys.maxunicode)):
        msg = f"{path} has text that is not Unicode: it is damaged. Save it again."
        raise FileFormatError(msg)
    return array


def _damaged(path: Path | str, error: Exception) -> str:
    suffix = str(path).rpartition(".")[2]
    reason = printable((str(error).splitlines() or [""])[0])
    why = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
    return (
        f"{path} cannot be read as {suffix} ({why}): it is of another format, cut short or "
        "damaged. Write it again, or take the copy it was made from."
    )
