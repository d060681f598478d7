"""The paper's logit files, by an unpickler that can build NumPy arrays and nothing else.

A pickle is a program. This one may use the instructions that tuples, numbers and bytes are made
of, and five names, each of which is a function here that checks its arguments. NumPy is called
only with bytes whose number fits the shape; a file that asks for anything else is refused before
anything runs.
"""

from __future__ import annotations

import io
import math
import pickle
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ogive.errors import FileFormatError
from ogive.readers.columns import check_meaning
from ogive.readers.memory import check_fits, needed_bytes
from ogive.readers.source import Part, Source

if TYPE_CHECKING:
    from pathlib import Path

    from ogive._typing import AnyArray
    from ogive.readers.source import Ask, Calibrated

_PAIR = 2
_REFUSED = (
    *(pickle.EMPTY_DICT, pickle.DICT, pickle.SETITEM, pickle.SETITEMS, pickle.EMPTY_SET),
    *(pickle.ADDITEMS, pickle.FROZENSET, pickle.INST, pickle.OBJ, pickle.NEWOBJ),
    *(pickle.NEWOBJ_EX, pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.PERSID),
    *(pickle.BINPERSID, pickle.NEXT_BUFFER, pickle.READONLY_BUFFER),
)


def read(path: Path, ask: Ask) -> Source:
    """Read ((cal_logits, cal_labels), (test_logits, test_labels))."""
    # The bytes of the file, and the arrays that are made of them.
    check_fits(path, needed_bytes(2 * path.stat().st_size, 0, 1), ask.memory, "or save as .npz")
    try:
        content = _ArraysOnly(path.read_bytes()).load()
    except FileFormatError as error:
        msg = f"{path}: {error}"
        raise FileFormatError(msg) from error
    except Exception as error:  # a damaged pickle can raise anything
        msg = f"{path} is not a pickle of arrays, or it is cut short ({type(error).__name__})."
        raise FileFormatError(msg) from error
    check_meaning(ask.columns, "logits", path)
    return Source(path, _parts(content, path))


def write(source: Source, path: Path, results: dict[str, Calibrated]) -> NoReturn:  # noqa: ARG001
    """Refuse: pickles are not written."""
    msg = f"{path}: pickles are read but never written. Give an output that ends in .npz."
    raise FileFormatError(msg)


class _Array:
    """An array that is not built yet: its bytes, shape and type are checked first."""

    __slots__ = ("array",)

    def __init__(self) -> None:
        self.array: AnyArray | None = None

    def __setstate__(self, state: Any) -> None:  # noqa: ANN401 - from the file
        _, shape, dtype, fortran, data = state
        self.array = _made(data, dtype, shape, "F" if fortran else "C")


class _Dtype:
    """A type of numbers that is not built yet; only its byte order can be set."""

    __slots__ = ("dtype",)

    def __init__(self, name: Any) -> None:  # noqa: ANN401 - from the file
        name = name.decode("ascii") if isinstance(name, bytes) else name
        if not isinstance(name, str) or name.lstrip("<>=|")[:1] not in tuple("fiub"):
            _refuse(f"an array of type {name!r}"[:60])
        self.dtype = np.dtype(name)
        if self.dtype.kind not in "fiub":
            _refuse(f"an array of type {name!r}"[:60])

    def __setstate__(self, state: Any) -> None:  # noqa: ANN401 - from the file
        _, order, *rest = state
        order = order.decode("ascii") if isinstance(order, bytes) else order
        if order not in {"<", ">", "=", "|"} or any(x is not None for x in rest[:3]):
            _refuse("an array of a composed type")
        self.dtype = np.dtype(order + self.dtype.str[1:])


class _Name:
    """What a name in the file stands for; it can be called, and nothing in it can be set."""

    __slots__ = ("_call",)
    _call: Any

    def __init__(self, call: Any) -> None:  # noqa: ANN401
        object.__setattr__(self, "_call", call)

    def __call__(self, *args: Any) -> Any:  # noqa: ANN401
        return self._call(*args)

    def __setstate__(self, state: object) -> NoReturn:
        _refuse("to change a function")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        _refuse("to change a function")


def _refuse(what: str) -> NoReturn:
    msg = f"this pickle asks for {what}; only NumPy arrays of numbers are read. Nothing ran."
    raise FileFormatError(msg)


_Unpickler: Any = pickle._Unpickler  # noqa: SLF001 - the one in Python


class _ArraysOnly(_Unpickler):  # type: ignore[misc]
    """An unpickler that only knows the names of this module.

    Python's own, not C's: in C a number in the file can ask for a table of any length.
    """

    dispatch = dict(_Unpickler.dispatch)  # noqa: RUF012 - as in Python's

    def __init__(self, content: bytes) -> None:
        self._left = len(content)
        super().__init__(io.BytesIO(content), encoding="latin1")

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401
        """Return a function that makes arrays; refuse all others."""
        allowed = _ALLOWED.get((str(module).replace("numpy.core", "numpy._core"), str(name)))
        if allowed is None:
            _refuse(f"{module}.{name}"[:100])
        return allowed

    def _refused(self) -> NoReturn:
        _refuse("something other than arrays")

    def _bytearray(self) -> None:
        size = int.from_bytes(self.read(8), "little")
        if size > self._left:
            msg = "pickle data was truncated"
            raise pickle.UnpicklingError(msg)
        self.append(self.read(size))

    dispatch |= dict.fromkeys((code[0] for code in _REFUSED), _refused)
    dispatch[pickle.BYTEARRAY8[0]] = _bytearray


def _made(data: Any, dtype: Any, shape: Any, order: str) -> AnyArray:  # noqa: ANN401 - from the file
    """Return an array of bytes that fit its shape exactly."""
    raw = data.encode("latin1") if isinstance(data, str) else data
    if not isinstance(raw, bytes) or not isinstance(dtype, _Dtype) or not isinstance(shape, tuple):
        _refuse("an array that is not made of bytes")
    if not all(isinstance(n, int) and n >= 0 for n in shape) or len(shape) > _PAIR:
        _refuse(f"an array of shape {shape!r}"[:60])
    if math.prod(shape) * dtype.dtype.itemsize != len(raw):
        msg = f"an array of shape {shape!r}"[:60] + f" has {len(raw):,} bytes: it is cut short."
        raise FileFormatError(msg)
    whole = np.frombuffer(raw, dtype=dtype.dtype)
    return whole.reshape(shape, order="F" if order == "F" else "C")


def _encode(text: Any, encoding: Any = "latin1") -> bytes:  # noqa: ANN401 - from the file
    """Turn text into bytes, which is how Python 2 arrays carry their numbers."""
    if encoding != "latin1" or not isinstance(text, str):
        _refuse(f"the codec {encoding!r}"[:60])
    return text.encode("latin1")


def _begin(*_: Any) -> _Array:  # noqa: ANN401 - the class, the shape and the type of nothing yet
    return _Array()


def _from_buffer(data: Any, dtype: Any, shape: Any, order: Any, axes: Any = None) -> _Array:  # noqa: ANN401
    """Build the arrays of protocol 5."""
    if axes is not None or order not in {"C", "F"}:
        _refuse("an array with its axes in another order")
    made = _Array()
    made.array = _made(data, dtype, shape, order)
    return made


def _dtype(name: Any, *_: Any) -> _Dtype:  # noqa: ANN401 - from the file
    return _Dtype(name)


_ALLOWED: dict[tuple[str, str], _Name] = {
    ("numpy._core.multiarray", "_reconstruct"): _Name(_begin),
    ("numpy._core.numeric", "_frombuffer"): _Name(_from_buffer),
    ("numpy", "ndarray"): _Name(lambda *_: _refuse("an array without contents")),
    ("numpy", "dtype"): _Name(_dtype),
    ("_codecs", "encode"): _Name(_encode),
}


def _parts(content: Any, path: Path) -> dict[str, Part]:  # noqa: ANN401
    """Check the shape of what was read: two pairs of logits and labels."""
    if _is_pair(content) and all(_is_pair(pair) for pair in content):
        made = [item for pair in content for item in pair]
        arrays = [item.array for item in made if isinstance(item, _Array)]
        known = [a for a in arrays if a is not None and a.dtype.kind in "fiu"]
        if len(known) == len(made):
            cal, test = (_labelled(a.array, b.array) for a, b in content)
            return {"cal": cal, "test": test}
    msg = f"{path} is not ((cal_logits, cal_labels), (test_logits, test_labels)) in arrays."
    raise FileFormatError(msg)


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple | list) and len(value) == _PAIR


def _labelled(logits: AnyArray, labels: AnyArray) -> Part:
    return Part("logits", logits, labels.reshape(-1))
