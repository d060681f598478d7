"""Safe writing of files: never over an input or a stranger's file, and whole or absent.

`safe_output` finds the file a path really leads to, and refuses inputs. `Output.claim` is what a
command does before it works: a file that stands there already is refused, unless ogive wrote one
of that kind, or it may be replaced (``--force``). `replacing` writes: to a temporary file in the
target's folder, flushed to disk and renamed, or, where nothing stood, linked without replacing. A
process that is killed at any moment leaves the old file or the new one. It may also leave its
temporary file, whose name says which process it belongs to; the next writer removes it once that
process has ended.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import secrets
import stat
import warnings
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ogive.errors import OgiveWarning, OutputRefused

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows has no flock
    fcntl = None

AnyPath: TypeAlias = str | os.PathLike[str]
#: Device and inode: equal for all names and links of one file.
Identity: TypeAlias = tuple[int, int]

#: The file that a run holds locked while it writes into a folder.
LOCK = ".ogive-lock"
#: Longest name of a file on the usual file systems, in bytes.
MAX_NAME_BYTES = 255
_TEMPORARY = re.compile(
    r"\..+\.ogive-(?P<node>[0-9a-f]{8})-(?P<pid>\d+)-(?P<start>\d+)-[0-9a-f]{8}(\.[^.]*)?",
    re.DOTALL,
)
_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
          stat.S_IFBLK: "a device"}  # fmt: skip


class Kind(NamedTuple):
    """How a file that ogive wrote is told from others.

    words : what it is called
    marks : bytes one of which it holds, in its first or last part
    always : whether files of 0.1 have one, too
    """

    words: str
    marks: tuple[bytes, ...]
    always: bool = True


KINDS = {
    "calibrator": Kind("calibrator", (b'"format": "ogive-calibrator"',)),
    "curve": Kind("saved curve", (b"bucket.npy",)),
    "report": Kind(
        "report",
        (b'<meta name="generator" content="ogive', b'<meta name="referrer" content="no-referrer">'),
    ),
    "figure": Kind("graph", (b"Software\0ogive", b"<dc:title>ogive", b"/Creator (ogive"), False),
    "tables": Kind("page of tables", (b"<!-- written by ogive -->",)),
    "arena": Kind("result of an arena", (b'{"experiments"',)),
    "onnx": Kind("export", (b"\x12\x05ogive",)),
    "torch": Kind("export", (b"extra/ogive",), False),
    "python": Kind("export", (b"\nWritten by ogive ",)),
    "sql": Kind("export", (b"; written by ogive ",)),
    "sidecar": Kind("note of ogive", (b'"fitted_parts"',)),
}
_BYTES_SEARCHED = 1 << 20  # of the beginning, and of the end
if TYPE_CHECKING:
    _Base = Path
else:
    _Base = type(Path())  # until Python 3.12 only the kind of the system can be derived from


class Output(_Base):
    """The path that a command writes to, with what stood there when the command began.

    before : of the file that stood there; None: nothing
    free : whether the file may be replaced, whatever has become of it
    """

    before: os.stat_result | None = None
    free: bool = True

    def hold(self) -> None:
        """Note what stands there, which alone may then be replaced."""
        self.before, self.free = _status(Path(os.path.realpath(self))), False

    def claim(
        self,
        inputs: Iterable[AnyPath] | Mapping[Identity, Path],
        kind: str | None,
        *,
        force: bool,
        kinds: Collection[str] = (),
    ) -> None:
        """Refuse an input, and a file that stands there and is not ogive's own of that kind.

        kind : a name of `KINDS`; None: every file that stands there is refused
        """
        target = safe_output(self, inputs, kinds=kinds)
        self.hold()
        self.free = force
        if self.before is None or force:
            return
        known = None if kind is None else KINDS[kind]
        if known is not None and _holds(target, known.marks):
            return
        if known is not None and not known.always:
            warnings.warn(
                f"{self} is replaced, and does not say that ogive wrote it. The next release "
                "refuses this: give another name, or --force.",
                OgiveWarning,
                stacklevel=3,
            )
            return
        why = "" if known is None else f", and is no {known.words} that ogive wrote"
        msg = (
            f"{self} exists already{why}. Give another name, or --force (force=True) to replace it."
        )
        raise OutputRefused(msg)


def _holds(path: Path, marks: Iterable[bytes]) -> bool:
    """Return whether the beginning or the end of a file holds one of some marks."""
    with path.open("rb") as file:
        text = file.read(_BYTES_SEARCHED)
        file.seek(max(path.stat().st_size - _BYTES_SEARCHED, len(text)))
        text += file.read()
    return any(mark in text for mark in marks)


def safe_output(
    path: AnyPath,
    inputs: Iterable[AnyPath] | Mapping[Identity, Path] = (),
    *,
    folder: bool = False,
    kinds: Collection[str] = (),
) -> Path:
    """Return the file that writing to `path` would replace, or refuse.

    Parameters
    ----------
    path : path
        Where a result should go. Symbolic links are followed: their target is what is written.
    inputs : paths, or what `identities` returned for them
        Files and folders that are read. Neither they nor their hard links are written.
    folder : bool
        The output is a folder: it must not be, hold, or lie inside an input.
    kinds : suffixes
        Suffixes of data files: a file with one of them is not written into an input folder.
    """
    if "\0" in os.fspath(path) or not os.fspath(path):
        msg = f"{os.fspath(path)!r} is not a file name. Give the output a name."
        raise OutputRefused(msg)
    if _is_open_here(path):
        msg = f"{path} is where this process reads or prints. Give the output a file of its own."
        raise OutputRefused(msg)
    target = Path(os.path.realpath(path))
    known = inputs if isinstance(inputs, Mapping) else identities(inputs)
    status = _status(target)
    if status is not None:
        _check_kind(path, status, folder=folder)
    _check_inputs(path, target, known, inside=folder or target.name.lower().endswith(tuple(kinds)))
    if folder:
        _check_holds_none(path, target, known)
    return target


def identities(paths: Iterable[AnyPath]) -> dict[Identity, Path]:
    """Return the identity of each path that exists; links count as what they lead to."""
    found = {}
    for path in paths:
        with suppress(OSError, ValueError):  # the reader reports what is wrong
            found[_identity(Path(path).stat())] = Path(path)
    return found


def _is_open_here(path: AnyPath) -> bool:
    """Return whether a path is stdin, stdout or stderr, also if that is an ordinary file."""
    found = identities([path])
    for handle in range(3):
        with suppress(OSError):
            if _identity(os.fstat(handle)) in found:
                return special_kind(os.fstat(handle)) is None
    return False


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def _status(path: Path) -> os.stat_result | None:  # None: nothing is there
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: AnyPath, error: OSError) -> OSError:
    return type(error)(error.errno, f"{path} cannot be written: {error.strerror}")


def special_kind(status: os.stat_result) -> str | None:
    """Return what a path is in words if it is neither a file nor a folder, else None."""
    return _KINDS.get(stat.S_IFMT(status.st_mode))


def _check_kind(path: AnyPath, status: os.stat_result, *, folder: bool) -> None:
    kind = special_kind(status)
    if kind is not None:
        msg = f"{path} is {kind} and is not replaced. Give the name of a file."
        raise OutputRefused(msg)
    if stat.S_ISDIR(status.st_mode) and not folder:
        msg = f"{path} is a folder. Give the name of a file in it."
        raise OutputRefused(msg)
    if folder and not stat.S_ISDIR(status.st_mode):
        msg = f"{path} is a file, and the output needs a folder. Give another name."
        raise OutputRefused(msg)


def _check_inputs(
    path: AnyPath, target: Path, known: Mapping[Identity, Path], *, inside: bool
) -> None:
    """Refuse a target that is an input, or lies inside one and would be read as part of it."""
    for place in (target, *(target.parents if inside else ())):
        status = _status(place) if known else None
        found = None if status is None else known.get(_identity(status))
        if found is None:
            continue
        if place == target:
            msg = f"{path} is an input ({found}). Give the output another name: inputs are kept."
        else:
            msg = (
                f"{path} lies inside the input folder {found}, so the next run would read it as "
                "input. Give an output outside that folder."
            )
        raise OutputRefused(msg)


def _check_holds_none(path: AnyPath, target: Path, known: Mapping[Identity, Path]) -> None:
    status = _status(target)
    if status is None:
        return
    parents = {Path(os.path.realpath(found)).parent: found for found in known.values()}
    every = {above: found for top, found in parents.items() for above in (top, *top.parents)}
    for above, found in every.items():
        there = _status(above)
        if there is not None and _identity(there) == _identity(status):
            msg = f"the folder {path} holds the input {found}. Give the output a folder of its own."
            raise OutputRefused(msg)


@contextmanager
def replacing(
    path: AnyPath,
    inputs: Iterable[AnyPath] | Mapping[Identity, Path] = (),
    *,
    clean: bool = True,
) -> Iterator[Path]:
    """Give a temporary path in the same folder, and rename it to `path` if all went well.

    If the body fails, the temporary file is removed and what stood at `path` stays as it was. An
    existing file keeps its permissions; a new one has those that the process gives new files.
    `clean` removes temporary files that killed processes left of the same target.
    """
    target = safe_output(path, inputs)
    before = _status(target)
    if before is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, f"{path} cannot be written: it is read-only")
    if clean:
        remove_left_over(target.parent, target.name)
    beside = _create_beside(path, target, 0o666 if before is None else 0o600)
    try:
        yield beside
        with beside.open("r+b") as file:  # Windows flushes only files that may be written
            os.fsync(file.fileno())
        if before is not None:
            _keep_permissions(beside, before)
        if isinstance(path, Output) and not path.free:
            _check_untouched(path, target)
        try:
            if isinstance(path, Output) and not path.free and path.before is None:
                _link(path, beside, target)
            else:
                beside.replace(target)
        except PermissionError as error:  # on Windows, a file that is open somewhere stays
            raise _unwritable(path, error) from error
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _flush_folder(target.parent)


def _check_untouched(path: Output, target: Path) -> None:
    """Refuse to replace what came, or was changed, while the command ran."""
    now, then = _status(target), path.before
    traits = ("st_dev", "st_ino", "st_size", "st_mtime_ns")
    same = [getattr(now, name, None) == getattr(then, name, None) for name in traits]
    if not all(same):
        raise _taken(path)


def _taken(path: AnyPath) -> OutputRefused:
    return OutputRefused(
        f"{path} was written by another run while this one worked, and stays as it is. Give "
        "another name, or --force (force=True) to replace it."
    )


def _link(path: Output, beside: Path, target: Path) -> None:
    """Give the temporary file its name, unless another has it: of several runs one is first."""
    try:
        os.link(beside, target)
    except FileExistsError as error:
        raise _taken(path) from error
    except OSError:  # a file system without links; `_check_untouched` has just looked
        beside.replace(target)
    else:
        beside.unlink()


def _create_beside(path: AnyPath, target: Path, mode: int) -> Path:
    """Create the temporary file; the system takes the umask off `mode`."""
    beside = target.parent / _temporary_name(target)
    try:
        os.close(os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode))
    except OSError as error:  # its text names the temporary file, which the user does not know
        raise _unwritable(path, error) from error
    return beside


def _keep_permissions(beside: Path, before: os.stat_result) -> None:
    if hasattr(os, "chown"):
        with suppress(OSError):  # only the superuser gives files away
            os.chown(beside, before.st_uid, before.st_gid)
    beside.chmod(stat.S_IMODE(before.st_mode))


def _flush_folder(folder: Path) -> None:
    """Put the new name on disk, where the system can do so."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _temporary_name(target: Path) -> str:
    """Return a name that holds the target's name and the process that writes it."""
    start = _start_of(os.getpid()) or 0
    suffix = target.suffix if len(os.fsencode(target.suffix)) < 20 else ""  # noqa: PLR2004 - odd
    tail = f".ogive-{_node()}-{os.getpid()}-{start}-{secrets.token_hex(4)}{suffix}"
    room = MAX_NAME_BYTES - len(os.fsencode(tail)) - 1
    return "." + os.fsdecode(os.fsencode(target.name)[:room]) + tail


def remove_left_over(folder: AnyPath, name: str | None = None) -> int:
    """Remove temporary files whose process has ended; return how many.

    Only those of the target `name`, if given, else all in the folder. Files of other computers and
    of running processes stay.
    """
    removed = 0
    with suppress(OSError):  # a folder that cannot be listed: creating the file reports it
        for path in Path(folder).iterdir():
            found = path.name
            match = _TEMPORARY.fullmatch(found)
            if match is None or match["node"] != _node():
                continue
            stem = found[1 : match.start("node") - len(".ogive-")]
            if name is not None and not name.startswith(stem):
                continue
            if not _is_running(int(match["pid"]), int(match["start"])):
                path.unlink(missing_ok=True)
                removed += 1
    return removed


@cache
def _node() -> str:
    """Return an id of this computer or container: process ids are only unique within it."""
    try:
        space = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        space = 0
    return hashlib.sha256(f"{platform.node()} {space}".encode()).hexdigest()[:8]


def _start_of(pid: int) -> int | None:
    """Return when a process started, in the kernel's ticks; None if it has ended or is unknown."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in {b"Z", b"X"} else int(fields[19])


def _is_running(pid: int, start: int) -> bool:
    """Return whether the process that had this id at its start still runs; True if in doubt."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)  # sends nothing
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True  # the process of another user
    if not start or not Path("/proc/self/stat").exists():
        return True
    return _start_of(pid) == start


@contextmanager
def only_writer(folder: Path, name: str = LOCK) -> Iterator[None]:
    """Hold a folder, or one name in it, for one run at a time; a second run is refused.

    The lock is the system's (flock) and ends with the process, however that ends.
    """
    if fcntl is None:
        yield
        return
    path = folder / name
    handle = _locked(path, folder)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is held: see `_locked`
        os.close(handle)


def _locked(path: Path, folder: Path) -> int:
    """Return the open lock file, held by this process."""
    assert fcntl is not None  # noqa: S101 - asked by `only_writer`
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            raise _unwritable(path, error) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            who = os.read(handle, 100).decode(errors="replace").strip() or "another process"
            os.close(handle)
            msg = f"another run writes into {folder} ({who}). Wait for it, or give another folder."
            raise OutputRefused(msg) from error
        except OSError:
            return handle  # a file system without locks; temporary files have unique names
        # The one before may have removed the file between our opening and locking it.
        now = _status(path)
        if now is not None and _identity(now) == _identity(os.fstat(handle)):
            os.ftruncate(handle, 0)
            os.write(handle, f"process {os.getpid()} on {platform.node()}".encode())
            return handle
        os.close(handle)
