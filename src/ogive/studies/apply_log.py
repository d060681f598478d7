"""Apply a calibrator to a log: a Parquet file for each file of it, whole or not at all.

What was written says in its metadata which rows it is of (the file, its size and its time) and by
which calibrator. A second run keeps what is finished and does the rest: after a crash no row is
lost and none is written twice.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ogive._files import replacing
from ogive._numerics.blocks import thread_count
from ogive.engines import find_engine
from ogive.engines.files import open_log
from ogive.engines.formats import column_names, open_table
from ogive.errors import FileFormatError, OgiveError, OgiveWarning, need
from ogive.export.artifact import load_fitted_on, load_map
from ogive.readers.columns import find_columns
from ogive.readers.guard import guarded
from ogive.readers.table import calibrated_table, source_of
from ogive.readers.together import calibrated
from ogive.studies.fitting import apply

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from ogive.calibrators.maps import Fitted
    from ogive.readers.source import Columns, ValueKind

    Progress = Callable[[str, float, int], None]

_KEY = b"ogive"  # of the metadata of what is written
_WHAT = "calibrating"
_CELLS = 1 << 20  # numbers that are calibrated at a time


@dataclass(frozen=True, slots=True)
class Applied:
    """What was done: rows in the output, files written, and files that were finished before."""

    n: int
    out: str
    written: int
    kept: int


def apply_log(
    calibrator: str | os.PathLike[str],
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    columns: Columns | None = None,
    *,
    threads: int | None = None,
    engine: str = "local",
    progress: Progress | None = None,
    **where: Any,  # noqa: ANN401
) -> Applied:
    """Calibrate every file of a log into a folder.

    Parameters
    ----------
    calibrator : path
        A saved calibrator.
    paths : path, or several
        Files, folders or globs.
    folder : path
        Where the Parquet files go, under the names they have in the log. The rows of a single
        file can go to a file ``….parquet``.
    columns : Columns, optional
    threads : int, optional
    engine : {"local", "dask", "spark"}
        On a cluster each file is a task, and `folder` must be seen by all workers.
    progress : function of (what, done, total), optional
        Files done.
    **where
        ``scheduler``, or ``master`` and ``session``: see the engines' `mapped`.
    """
    load_map(calibrator)  # a wrong one is refused before anything is begun
    log = open_log(paths, columns)
    warn_of_kind(calibrator, log.layout.kind, log.name)
    out = Path(folder)
    one = len(log.files) == 1 and out.suffix == ".parquet" and not out.is_dir()
    pairs = [(log.files[0], out)] if one else targets(log.files, out)
    jobs = [FileJob(file, target, columns) for file, target in pairs]
    if engine == "local":
        counts = _on_threads(jobs, calibrator, threads, progress)
    else:
        room = importlib.import_module(find_engine(engine))
        run = Sent(Path(calibrator).read_bytes())
        jobs = [job.absolute() for job in jobs]  # workers may have another current folder
        counts = room.mapped(run, jobs, what=_WHAT, progress=progress, **where)
    written = sum(new for _, new in counts)
    return Applied(sum(n for n, _ in counts), str(folder), written, len(counts) - written)


def warn_of_kind(calibrator: str | os.PathLike[str], kind: ValueKind, name: str) -> None:
    """Warn if a calibrator of logits is given scores, as its own results are."""
    if kind == "scores" and load_fitted_on(calibrator).kind == "logits":
        warnings.warn(
            f"{calibrator} was fitted on logits, and {name} holds scores: of another model, or "
            "calibrated already?",
            OgiveWarning,
            stacklevel=3,
        )


def _on_threads(
    jobs: Sequence[FileJob],
    calibrator: str | os.PathLike[str],
    threads: int | None,
    progress: Progress | None,
) -> list[tuple[int, bool]]:
    counts = []
    with ThreadPoolExecutor(thread_count(threads)) as pool:
        for result in pool.map(lambda job: job.run(calibrator), jobs):
            counts.append(result)
            if progress is not None:
                progress(_WHAT, len(counts), len(jobs))
    return counts


def targets(files: Sequence[Path], folder: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each file with where its calibrated rows go: below `folder` as below the log's root."""
    root = files[0].parent
    while not all(file.is_relative_to(root) for file in files):
        root = root.parent
    # Folders such as country=DE are columns, and stay in the path.
    while "=" in root.name:
        root = root.parent
    for file in files:
        inside = file.relative_to(root)
        name = inside.name if inside.suffix == ".parquet" else f"{inside.name}.parquet"
        target = folder / inside.parent / name
        if target.resolve() == file.resolve():
            msg = f"{folder} is the log itself: give another folder, for nothing is overwritten."
            raise FileFormatError(msg)
        yield file, target


@dataclass(frozen=True, slots=True)
class FileJob:
    """One file of a log to be calibrated; small, can be pickled, and can be run again."""

    file: Path
    target: Path
    columns: Columns | None = None

    def absolute(self) -> FileJob:
        """Return the same job for whoever has another current folder."""
        return FileJob(self.file.absolute(), self.target.absolute(), self.columns)

    def run(self, calibrator: str | os.PathLike[str]) -> tuple[int, bool]:
        """Return how many rows the output has, and whether it was written just now."""
        mark = self._mark(calibrator)
        done = finished(self.target, mark)
        if done is not None:
            return done, False
        self.target.parent.mkdir(parents=True, exist_ok=True)
        for left in self.target.parent.glob(f".{self.target.name}.*.parquet"):
            left.unlink(missing_ok=True)  # of a run that was killed
        with replacing(self.target) as beside:
            n = self._write(load_map(calibrator), beside, mark)
        return n, True

    def _mark(self, calibrator: str | os.PathLike[str]) -> dict[str, Any]:
        """Return what identifies the rows and the map."""
        stat = self.file.stat()
        return {
            "source": self.file.name,
            "size": stat.st_size,
            "modified": stat.st_mtime_ns,
            "calibrator": hashlib.sha256(Path(calibrator).read_bytes()).hexdigest(),
        }

    def _write(self, gamma: Fitted, beside: Path, mark: dict[str, Any]) -> int:
        pq = need("pyarrow.parquet", extra="files")
        writer, n = None, 0
        try:
            for chunk in self._chunks():
                table = self._calibrated(gamma, chunk, n)
                if writer is None:
                    writer = pq.ParquetWriter(beside, table.schema)
                writer.write_table(table.cast(writer.schema))
                n += table.num_rows
            if writer is None:
                msg = f"{self.file} has no rows: it is empty."
                raise FileFormatError(msg)
            writer.add_key_value_metadata({_KEY: json.dumps(mark | {"rows": n}).encode()})
        finally:
            if writer is not None:
                writer.close()
        return n

    def _chunks(self) -> Iterator[Any]:
        """Yield the file's rows as tables with all their columns."""
        pa = need("pyarrow", extra="files")
        names = column_names(self.file)
        layout = find_columns(names, self._columns, self.file)
        table = open_table(self.file)
        width = table.width(layout.values[0]) if layout.is_list else len(layout.values)
        rows = max(_CELLS // max(width, 1), 64)
        with guarded(self.file):
            for piece in table.pieces():
                for batch in table.batches(piece, names, rows):
                    if batch.num_rows:
                        yield pa.Table.from_batches([batch])

    @property
    def _columns(self) -> Columns:
        from ogive.readers.source import Columns  # noqa: PLC0415 - a class, not a type, here

        return self.columns or Columns()

    def _calibrated(self, gamma: Fitted, chunk: Any, first: int) -> Any:  # noqa: ANN401
        try:
            source = source_of(chunk, self._columns, self.file)
            results = {}
            for part in source.parts:
                rows = apply(gamma, source.predictions(part or None))
                results[part] = calibrated(rows.score, rows.hit, rows.vectors)
            return calibrated_table(source, results)
        except OgiveError as error:
            if first == 0:
                raise
            msg = f"{error} (counted from row {first:,})"
            raise type(error)(msg) from error


@dataclass(frozen=True, slots=True)
class Sent:
    """A saved calibrator that is sent to workers, who may not see its file."""

    content: bytes

    def __call__(self, job: FileJob) -> tuple[int, bool]:
        """Run a job."""
        with tempfile.TemporaryDirectory() as folder:
            calibrator = Path(folder, "calibrator.json")
            calibrator.write_bytes(self.content)
            return job.run(calibrator)


def finished(target: Path, mark: dict[str, Any]) -> int | None:
    """Return how many rows a finished output has; None if it is missing, cut short or another's."""
    if not target.exists():
        return None
    pa, pq = need("pyarrow", extra="files"), need("pyarrow.parquet", extra="files")
    try:
        meta = pq.read_metadata(target)
        said = json.loads((meta.metadata or {}).get(_KEY, b"{}"))
    except (pa.ArrowException, OSError, ValueError):
        return None
    rows: int = meta.num_rows
    return rows if said == mark | {"rows": rows} else None
