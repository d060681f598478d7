"""NumPy archives, read without pickle, and only the arrays that are needed.

The header of an array says its shape and type before a byte of it is unpacked. An archive that
would not fit the memory limit is refused then, and no more is unpacked than the header says.
"""

from __future__ import annotations

import math
import zipfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ogive._files import replacing
from ogive.errors import DoesNotApply, FileFormatError, UnknownName, printable
from ogive.readers.columns import check_meaning
from ogive.readers.guard import check_letters
from ogive.readers.memory import check_fits, needed_bytes
from ogive.readers.provenance import KEY
from ogive.readers.source import WHOLE, Part, Source, ValueKind, is_positive
from ogive.rows.labels import class_names

if TYPE_CHECKING:
    from pathlib import Path

    from ogive._typing import AnyArray
    from ogive.readers.source import Ask, Calibrated, Columns

_PREFIXES = {"cal": "cal_", "test": "test_"}
_PAIRS: dict[ValueKind, str] = {"logits": "labels", "probs": "labels", "scores": "outcomes"}
_NEEDED = {*_PAIRS, *_PAIRS.values(), "weights", "classes"}
_DIMENSIONS = 2
_NAMES_SHOWN = 12
_BYTES_UNPACKED_AT_ONCE = 1 << 20


def read(path: Path, ask: Ask) -> Source:
    """Read an archive of arrays."""
    try:
        with zipfile.ZipFile(path) as archive:
            heads = _heads(archive, path)
            cluster = ask.columns.cluster
            _check_cluster(path, cluster, heads)
            wanted = {n: h for n, h in heads.items() if ask.whole or _is_needed(n, cluster)}
            for name, head in wanted.items():
                _check_array(path, name, head)
            _check_size(path, wanted, ask.memory)
            arrays = {name: head.load(archive, path) for name, head in wanted.items()}
    except zipfile.BadZipFile as error:
        if _is_array(path):
            msg = f"{path} is a single array, not an archive. Save it with np.savez."
        else:
            msg = f"{path} is not a NumPy archive, or it is cut short ({error})."
        raise FileFormatError(msg) from error
    found = {part: _part(arrays, prefix, ask.columns, path) for part, prefix in _PREFIXES.items()}
    parts = {part: content for part, content in found.items() if content is not None}
    if not parts:
        whole = _part(arrays, "", ask.columns, path)
        if whole is None:
            names = ", ".join(list(heads)[:_NAMES_SHOWN]) or "none"
            msg = (
                f"{path} has no known arrays (it has: {names}). Save `logits` or `probs` with "
                "`labels`, or `scores` with `outcomes`; prefixes cal_ and test_ make two parts."
            )
            raise FileFormatError(msg)
        parts = {WHOLE: whole}
    return Source(path, parts, rest=arrays)


def write(source: Source, path: Path, results: dict[str, Calibrated]) -> None:
    """Write an archive with the calibrated values in place of the old ones."""
    arrays = dict(source.rest)
    for part, result in results.items():
        prefix = _PREFIXES.get(part, "")
        arrays.pop(prefix + source.parts[part].kind, None)
        written = {"probs" if result.is_matrix else "scores": result.values, **result.beside}
        if not result.is_matrix and result.hits is not None:
            arrays.pop(prefix + "outcomes", None)
            written["outcomes"] = np.asarray(result.hits, dtype=np.int8)
        # Of a file with several kinds of predictions the calibrated ones are read from now on.
        for name in {*_PAIRS, *written}:
            if prefix + name in arrays:
                free = _free_name(prefix + name, arrays)
                arrays[free] = arrays.pop(prefix + name)
        arrays |= {prefix + name: array for name, array in written.items()}
    arrays.pop(KEY, None)
    if source.origin is not None:
        arrays[KEY] = np.array(source.origin.to_json())
    with replacing(path) as beside, beside.open("wb") as file:
        np.savez_compressed(file, **arrays)


def _free_name(name: str, arrays: dict[str, AnyArray]) -> str:
    while name in arrays:
        name += "_before"
    return name


@dataclass(frozen=True, slots=True)
class _Head:
    """What the header of an array says."""

    member: zipfile.ZipInfo
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """Its bytes, unpacked."""
        return math.prod(self.shape) * self.dtype.itemsize

    def load(self, archive: zipfile.ZipFile, path: Path) -> AnyArray:
        """Unpack the array, and not a byte more than its header says."""
        raw: AnyArray = np.empty(self.size, dtype=np.uint8)
        at = 0
        with archive.open(self.member) as file:
            _header(file)
            while block := file.read(min(_BYTES_UNPACKED_AT_ONCE, self.size - at)):
                raw[at : at + len(block)] = np.frombuffer(block, dtype=np.uint8)
                at += len(block)
            more = file.read(1)
        if at != self.size or more:
            msg = (
                f"{path}: the array {self.member.filename[:100]!r} should have {self.size:,} "
                "bytes, and has fewer or more: the file is cut short or damaged. Save it again."
            )
            raise FileFormatError(msg)
        # Bytes other than 0 and 1 are no booleans, and would be other numbers elsewhere.
        array: AnyArray = raw != 0 if self.dtype == np.bool_ else raw.view(self.dtype)
        return check_letters(path, array).reshape(self.shape, order="F" if self.fortran else "C")


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    return np.lib.format.read_array_header_2_0(file)


def _heads(archive: zipfile.ZipFile, path: Path) -> dict[str, _Head]:
    """Return what the headers of all arrays say."""
    heads: dict[str, _Head] = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        if name in heads:
            msg = f"{path} has two arrays named {name[:100]!r}. Save it again with one of them."
            raise FileFormatError(msg)
        with archive.open(member) as file:
            try:
                shape, fortran, dtype = _header(file)
            except ValueError as error:
                if not _is_needed(name):
                    continue  # some other file in the archive
                reason = (str(error).splitlines() or [""])[0][:200]
                msg = f"{path}: the array {name[:100]!r} is damaged ({reason}). Save it again."
                raise FileFormatError(msg) from error
        heads[name] = _Head(member, shape, fortran, dtype)
    return heads


def _check_cluster(path: Path, cluster: str | None, heads: dict[str, _Head]) -> None:
    """Refuse clusters that the archive does not have."""
    if cluster is not None and not {cluster, f"cal_{cluster}", f"test_{cluster}"} & {*heads}:
        what = f"array of {path}:"
        raise UnknownName.among(what, cluster, map(printable, heads))


def _check_array(path: Path, name: str, head: _Head) -> None:
    """Refuse arrays that cannot be predictions, before they are unpacked."""
    if head.dtype.hasobject:
        msg = (
            f"{path}: `{name}` is an array of Python objects, which are not read. Save numbers, "
            "or names as text."
        )
        raise FileFormatError(msg)
    if min(head.shape, default=0) < 0 or (head.dtype.itemsize == 0 and head.shape):
        msg = f"{path}: the array `{name}` is damaged (shape {head.shape}). Save it again."
        raise FileFormatError(msg)
    if not _is_needed(name):
        return  # it is only carried to the output
    if head.dtype.kind not in "fiubUS" or head.dtype.shape:
        msg = f"{path}: `{name}` must be numbers, but is {head.dtype}."
        raise FileFormatError(msg)
    if len(head.shape) > _DIMENSIONS:
        msg = f"{path}: `{name}` must have one or two dimensions, but has shape {head.shape}."
        raise FileFormatError(msg)


def _check_size(path: Path, heads: dict[str, _Head], limit: int) -> None:
    """Refuse what does not fit the limit, by the headers of the arrays and of the archive."""
    size = sum(max(head.size, head.member.file_size) for head in heads.values())
    rows = max((head.shape[0] for head in heads.values() if head.shape), default=0)
    width = max((len(head.shape) for head in heads.values()), default=1)
    check_fits(path, needed_bytes(size, rows, width), limit)


def _is_needed(name: str, cluster: str | None = None) -> bool:
    return name.removeprefix("cal_").removeprefix("test_") in _NEEDED | {cluster}


def _is_array(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(6) == np.lib.format.MAGIC_PREFIX


def _part(arrays: dict[str, AnyArray], prefix: str, columns: Columns, path: Path) -> Part | None:
    for kind, truth in _PAIRS.items():
        if prefix + kind in arrays:
            get: Any = arrays.get
            values, labels = arrays[prefix + kind], get(prefix + truth)
            check_meaning(columns, kind, path)
            if columns.positive is not None and labels is not None:
                labels = is_positive(labels, columns.positive, f"{path}: `{prefix}{truth}`")
            weights = get(prefix + "weights")
            names = None if kind == "scores" else get("classes")
            names = None if names is None else class_names(names, max(values.shape[-1], 2))
            more: Any = {"renormalise": columns.renormalise}
            if columns.cluster is not None:
                if columns.cluster in {kind, truth}:
                    msg = (
                        f"{path}: --cluster {columns.cluster} is the array of the {kind} or their "
                        "outcomes."
                    )
                    raise DoesNotApply(msg)
                more["clusters"] = get(prefix + columns.cluster)
                if more["clusters"] is None:
                    msg = f"{path} has no array `{prefix}{columns.cluster}`: both parts need one."
                    raise FileFormatError(msg)
            return Part(kind, values, labels, weights, names, **more)
    return None
