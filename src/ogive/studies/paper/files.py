"""The paper's logit files, and how a copy of one is recognised: by its name or its sha256."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from ogive.errors import FileFormatError
from ogive.studies.store import sha256_of

if TYPE_CHECKING:
    import os

#: Where the paper says its logits come from.
REPOSITORY = "https://github.com/markus93/NN_calibration"


@dataclass(frozen=True, slots=True)
class PaperFile:
    """A logit file of the paper.

    Attributes
    ----------
    dataset, model : str
        As the paper's tables name them.
    path : str
        Its path in the repository.
    sha256 : str
    bytes : int
        Its size.
    """

    dataset: str
    model: str
    path: str
    sha256: str
    bytes: int

    @property
    def name(self) -> str:
        """The last part of its path."""
        return Path(self.path).name

    @property
    def where(self) -> str:
        """Where the paper's authors got it."""
        return f"{REPOSITORY} ({self.path})"


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of one, on disk.

    ``sha256`` is that of the copy; it is the published file, byte for byte, if `published`.
    """

    file: PaperFile
    path: Path
    sha256: str

    @property
    def published(self) -> bool:
        """Whether it is the published file, byte for byte."""
        return self.sha256 == self.file.sha256


def paper_files() -> tuple[PaperFile, ...]:
    """Return the files that the paper's tables are made from.

    >>> len(paper_files()), paper_files()[0].name
    (13, 'probs_densenet40_c10_logits.p')
    """
    return tuple(
        PaperFile(row["dataset"], row["model"], row["path"], row["sha256"], int(row["bytes"]))
        for row in read_rows("paper_files.csv")
    )


def read_rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a table that comes with the library."""
    text = (resources.files("ogive") / "data" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def find_copies(folder: str | os.PathLike[str]) -> list[Copy]:
    """Look through a folder, and the folders in it, for copies of the paper's files.

    A file is one of them if its name is, or if its size and its sha256 are. Of several copies the
    published one is taken, else the first by path.
    """
    root = Path(folder)
    if not root.is_dir():
        msg = f"{root} is not a folder. Give the folder that holds the paper's logit files."
        raise FileFormatError(msg)
    by_name = {file.name: file for file in paper_files()}
    by_size = {(file.bytes, file.sha256): file for file in paper_files()}
    sizes = {file.bytes for file in paper_files()}
    found: dict[PaperFile, Copy] = {}
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        size = path.stat().st_size
        if path.name not in by_name and size not in sizes:
            continue
        sha256 = sha256_of(path)
        file = by_size.get((size, sha256)) or by_name.get(path.name)
        if file is None:
            continue
        copy = Copy(file, path, sha256)
        if file not in found or (copy.published and not found[file].published):
            found[file] = copy
    return [found[file] for file in paper_files() if file in found]
