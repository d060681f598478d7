"""The paper's logit files, by an unpickler that can build NumPy arrays and nothing else.

A pickle is a program. This one may name six functions, which make arrays, types of arrays and
bytes; a file that asks for anything else is refused before anything runs.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy._core.multiarray import _reconstruct

from ogive.errors import FileFormatError
from ogive.readers.source import Part, Source

if TYPE_CHECKING:
    from pathlib import Path

    from ogive._typing import AnyArray
    from ogive.readers.source import Calibrated, Columns

_TWO = 2


def read(path: Path, columns: Columns, experiment: str | None) -> Source:  # noqa: ARG001
    """Read ((cal_logits, cal_labels), (test_logits, test_labels))."""
    try:
        with path.open("rb") as file:
            content = _ArraysOnly(file, encoding="latin1").load()
    except FileFormatError as error:
        msg = f"{path}: {error}"
        raise FileFormatError(msg) from error
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, IndexError, KeyError,
            AttributeError, MemoryError, OverflowError, ImportError) as error:  # fmt: skip
        msg = f"{path} is not a pickle of arrays, or it is cut short ({type(error).__name__})."
        raise FileFormatError(msg) from error
    return Source(path, _parts(content, path))


def write(source: Source, path: Path, results: dict[str, Calibrated]) -> NoReturn:  # noqa: ARG001
    """Refuse: pickles are not written."""
    msg = f"{path}: pickles are read but never written. Give an output that ends in .npz."
    raise FileFormatError(msg)


class _ArraysOnly(pickle.Unpickler):
    """An unpickler whose every global is one of ours."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401
        """Return a function that makes arrays; refuse all others."""
        allowed = _ALLOWED.get((module.replace("numpy.core", "numpy._core"), name))
        if allowed is None:
            msg = f"this pickle asks for {module}.{name}; only NumPy arrays are read. Nothing ran."
            raise FileFormatError(msg)
        return allowed

    def persistent_load(self, pid: Any) -> NoReturn:  # noqa: ANN401, ARG002
        """Refuse references to things outside the file."""
        msg = "this pickle refers to something outside it; only NumPy arrays are read."
        raise FileFormatError(msg)


def _latin1(text: str, encoding: str = "latin1") -> bytes:
    """Turn text into bytes, which is how Python 2 arrays carry their numbers."""
    if encoding != "latin1":
        msg = f"this pickle asks for the codec {encoding!r}; only NumPy arrays are read."
        raise FileFormatError(msg)
    return text.encode("latin1")


def _scalar(dtype: np.dtype[Any], data: bytes) -> Any:  # noqa: ANN401
    return np.frombuffer(data, dtype=dtype)[0]


def _from_buffer(data: bytes, dtype: np.dtype[Any], shape: tuple[int, ...], order: str) -> AnyArray:
    """Build the arrays of protocol 5."""
    return np.frombuffer(data, dtype=dtype).reshape(shape, order="F" if order == "F" else "C")


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "scalar"): _scalar,
    ("numpy._core.numeric", "_frombuffer"): _from_buffer,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("_codecs", "encode"): _latin1,
}


def _parts(content: Any, path: Path) -> dict[str, Part]:  # noqa: ANN401
    """Check the shape of what was read: two pairs of logits and labels."""
    if _is_pair(content) and all(_is_pair(pair) for pair in content):
        arrays = [item for pair in content for item in pair]
        if all(isinstance(item, np.ndarray) and item.dtype.kind in "fiu" for item in arrays):
            cal, test = (_labelled(*pair) for pair in content)
            return {"cal": cal, "test": test}
    msg = f"{path} is not ((cal_logits, cal_labels), (test_logits, test_labels)) in arrays."
    raise FileFormatError(msg)


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple | list) and len(value) == _TWO


def _labelled(logits: AnyArray, labels: AnyArray) -> Part:
    return Part("logits", logits, labels.reshape(-1))
