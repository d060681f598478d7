"""Folders and globs as lists of files; what is there but cannot be read is never left out silently.

Names that begin with . or _ are notes of other tools. Links to folders are followed, each folder
once. A file that has several names (links, a/../a, overlapping globs) counts once, with a warning.
"""

from __future__ import annotations

import glob
import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ogive.errors import FileFormatError, OgiveError, OgiveWarning
from ogive.readers.guard import ARROW, check_regular, suffix_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_MAX_FAULTS_IN_WARNING = 3


def find_files(
    paths: Sequence[str | os.PathLike[str]],
    suffixes: Collection[str],
    what: str,
    *,
    skip_bad: bool = False,
) -> list[Path]:
    """Return the files of folders and globs in order of name; a file is itself, and comes once.

    A folder that cannot be listed, a link to nothing, or a pipe among the files is an error, or
    with `skip_bad` a warning that counts and names them.
    """
    found: list[Path] = []
    walk = _Walk(frozenset(suffixes))
    for path in paths:
        inside = _expanded(str(path), walk)
        if not inside and not walk.faults:
            msg = f"{path} holds no {what} ({' '.join(suffixes)})."
            raise FileFormatError(msg)
        found += inside
    if walk.faults and not skip_bad:
        more = f" (and {len(walk.faults) - 1:,} more)" if len(walk.faults) > 1 else ""
        msg = (
            f"{walk.faults[0]}{more}. Mend or remove it, or leave such entries out: --skip-bad "
            "(skip_bad=True)."
        )
        raise FileFormatError(msg)
    if not found:
        msg = f"{paths[0]} holds no {what} that can be read: {walk.faults[0]}."
        raise FileFormatError(msg)
    if walk.faults:
        named = "; ".join(walk.faults[:_MAX_FAULTS_IN_WARNING]) + (
            "; …" if len(walk.faults) > _MAX_FAULTS_IN_WARNING else ""
        )
        warnings.warn(
            f"{len(walk.faults):,} files or folders could not be read and were left out: {named}",
            OgiveWarning,
            stacklevel=2,
        )
    return _each_once(found)


def _each_once(files: list[Path]) -> list[Path]:
    """Return each file under its first name; warn of other names of the same rows."""
    kept: dict[object, Path] = {}
    twice = []
    for file in files:
        status = file.stat()
        # Some file systems have no numbers for files.
        same = (status.st_dev, status.st_ino) if status.st_ino else file.resolve()
        if same in kept:
            twice.append(f"{file} is {kept[same]}")
        kept.setdefault(same, file)
    if twice:
        named = "; ".join(twice[:_MAX_FAULTS_IN_WARNING]) + (
            "; …" if len(twice) > _MAX_FAULTS_IN_WARNING else ""
        )
        names = "1 name leads" if len(twice) == 1 else f"{len(twice):,} names lead"
        warnings.warn(
            f"{names} to a file that is already in the list; its rows are counted once: {named}",
            OgiveWarning,
            stacklevel=3,
        )
    return list(kept.values())


def is_glob(path: str) -> bool:
    """Return whether a path is a pattern, and not the name of a file."""
    return any(sign in path for sign in "*?[") and not os.path.lexists(path)


@dataclass
class _Walk:
    """What is looked for, and what could not be read on the way."""

    suffixes: frozenset[str]
    faults: list[str] = field(default_factory=list)

    def folder(self, root: Path) -> list[Path]:
        """Return the files below a folder."""
        files: list[Path] = []
        seen: set[tuple[int, int]] = set()
        for place, folders, names in os.walk(root, onerror=self._unreadable, followlinks=True):
            here = Path(place)
            status = here.stat()
            if (status.st_dev, status.st_ino) in seen:
                folders.clear()
                continue
            seen.add((status.st_dev, status.st_ino))
            folders[:] = sorted(name for name in folders if not _is_hidden(name))
            files += [here / name for name in sorted(names) if self.is_data(here / name)]
        return sorted(files)

    def check_listed(self, root: Path) -> None:
        """Note the folders below that cannot be listed."""
        for _ in os.walk(root, onerror=self._unreadable):
            pass

    def is_data(self, path: Path) -> bool:
        """Return whether an entry is a file of data; one that cannot be read is a fault."""
        suffix = suffix_of(path)
        gone = path.is_symlink() and not path.exists()
        if _is_hidden(path.name) or (
            suffix not in {*self.suffixes, *ARROW} and not (gone and not suffix)
        ):
            return False
        try:
            check_regular(path)
        except OgiveError as error:
            self.faults.append(str(error).partition(". ")[0])
            return False
        if not os.access(path, os.R_OK):
            self.faults.append(f"{path} cannot be opened (no permission)")
            return False
        return path.is_file()

    def _unreadable(self, error: OSError) -> None:
        self.faults.append(f"{error.filename} cannot be listed ({error.strerror})")


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _expanded(path: str, walk: _Walk) -> list[Path]:
    file = Path(path)
    if file.is_dir():
        return walk.folder(file)
    if not is_glob(path):
        check_regular(file)
        return [file]
    if "**" in path:  # glob passes over folders that it cannot list
        walk.check_listed(Path(path.partition("**")[0] + "x").parent)
    matches = sorted(map(Path, glob.glob(path, recursive=True)))  # noqa: PTH207
    folders = [match for match in matches if match.is_dir() and "**" not in path]
    below = [file for folder in folders for file in walk.folder(folder)]
    return sorted([match for match in matches if walk.is_data(match)] + below)
