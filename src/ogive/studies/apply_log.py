"""Apply a calibrator to a log: a Parquet file for each file of it, whole or not at all.

What was written says in its metadata which rows it is of (the file, its size, its time and a
checksum of parts of it), by which calibrator, and with which columns. A second run keeps what is
finished and does the rest: after a crash no row is lost and none is written twice. While a run
writes into a folder, another one is refused.
"""

from __future__ import annotations

import importlib
import os
import re
import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ogive._files import (
    Output,
    identities,
    only_writer,
    remove_left_over,
    replacing,
    safe_output,
)
from ogive._numerics.blocks import thread_count
from ogive.engines import find_engine
from ogive.engines.files import open_log
from ogive.engines.formats import column_names, open_table
from ogive.errors import FileFormatError, OgiveError, OutputRefused
from ogive.export.artifact import load_map
from ogive.readers.arrow import pa, parquet
from ogive.readers.columns import find_columns
from ogive.readers.folders import is_glob
from ogive.readers.guard import guarded
from ogive.readers.source import Columns, settle
from ogive.readers.table import calibrated_table, source_of, stamped
from ogive.studies.apply_file import (
    calibrated_parts,
    warn_of_harm,
)
from ogive.studies.apply_mark import (
    finished,
    finished_metadata,
    is_ours,
    mark_of,
    origin_of,
    source_marked,
    source_of_mark,
)
from ogive.studies.group_harm import Harm
from ogive.studies.logs import is_log
from ogive.studies.same_model import check_log

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ogive._files import Identity
    from ogive._typing import BandKind, Progress
    from ogive.calibrators.maps import Fitted
    from ogive.studies.group_harm import Worse

_WHAT = "calibrating"
_OLDER_TEMPORARY = re.compile(r"\.(.+)\.[a-z0-9_]{1,8}\.parquet", re.DOTALL)
_CELLS = 1 << 20  # numbers that are calibrated at a time


@dataclass(frozen=True, slots=True)
class Applied:
    """What was done: rows in the output, files written, and files that were finished before.

    worse : groups that calibrating made worse, in the files written; None: not known
    """

    n: int
    out: str
    written: int
    kept: int
    worse: tuple[Worse, ...] | None = None


class FileDone(NamedTuple):
    """How many rows a file has, whether it was written just now, and what that did to groups."""

    n: int
    new: bool
    sums: dict[str, list[float]]  # of a Harm, as plain numbers: results of workers must fit JSON


def apply_log(
    calibrator: str | os.PathLike[str],
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    columns: Columns | None = None,
    *,
    band: BandKind | None = None,
    n_jobs: int | None = None,
    engine: str = "local",
    force: bool = False,
    progress: Progress | None = None,
    **where: Any,  # noqa: ANN401
) -> Applied:
    """Calibrate every file of a log into a folder.

    Inputs are never written: a folder that is, holds, or lies inside an input is refused.

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
    band : {"pointwise", "simultaneous"}, optional
        Also write the ends of the 95 % band of the score, as ``low`` and ``high``.
    n_jobs : int, optional
    engine : str
        A name of `ogive.engines.ENGINES`. On a cluster each file is a task, and `folder` must be
        seen by all workers and from here.
    force : bool
        Also replace files in `folder` that an earlier run of this function did not write.
    progress : function of (what, done, total), optional
        Files done.
    **where
        ``scheduler``, or ``master`` and ``session``: see the engines' `mapped`.
    """
    gamma = load_map(calibrator)  # a wrong one is refused before anything is begun
    if band is not None:
        gamma.check_band(simultaneous=band == "simultaneous")
    log = open_log(paths, columns)
    check_log(calibrator, log)
    read = identities([*_read_folders(paths), *log.files])
    out = Path(folder)
    one = len(log.files) == 1 and out.suffix.lower() == ".parquet" and not out.is_dir()
    safe_output(out, read, folder=not one)
    pairs = [(log.files[0], out)] if one else list(targets(log.files, out, _roots(paths)))
    inputs = read | identities([calibrator])
    _check_targets([target for _, target in pairs], inputs, force=force)
    if not one:
        _check_names(pairs, out)
    jobs = [FileJob(file, target, columns, band) for file, target in pairs]
    if not one:
        out.mkdir(parents=True, exist_ok=True)
    with nullcontext() if one else only_writer(out):
        _clean({target for _, target in pairs})
        if engine == "local":
            counts = _on_threads(jobs, calibrator, n_jobs, progress)
        else:
            module = importlib.import_module(find_engine(engine))
            run = Sent(Path(calibrator).read_bytes())
            jobs = [job.absolute() for job in jobs]  # workers may have another current folder
            found = module.mapped(run, jobs, what=_WHAT, progress=progress, **where)
            counts = [FileDone(*done) for done in found]
            _clean({target for _, target in pairs})  # of workers that were killed meanwhile
    harm = Harm()
    for done in counts:
        harm.include(done.sums)
    written = sum(done.new for done in counts)
    n = sum(done.n for done in counts)
    return Applied(n, str(folder), written, len(counts) - written, warn_of_harm(harm))


def is_streamed(file: Path, output: Path, engine: str = "local") -> bool:
    """Return whether `apply_log` calibrates a file, and not `apply_file`.

    It does so with folders, globs, tables too long for memory that become Parquet, and with any
    engine but the local one.
    """
    if engine != "local" or file.is_dir() or is_glob(str(file)):
        return True
    return output.suffix.lower() == ".parquet" and is_log([file])


def _read_folders(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
) -> Iterator[Path]:
    """Yield the folders that are read as a whole: as they are given, or before a glob's first *."""
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    for path in map(Path, several):
        if path.is_dir():
            yield path
        wild = next((i for i, part in enumerate(path.parts) if set(part) & set("*?[")), None)
        if wild is not None and not path.exists() and wild < len(path.parts) - 1:
            yield Path(*path.parts[:wild])


def _check_targets(
    outputs: Iterable[Path], inputs: Mapping[Identity, Path], *, force: bool
) -> None:
    """Refuse to write over inputs, and over what `apply_log` has not written."""
    for target in outputs:
        safe_output(target, inputs)
        if not force and target.exists() and not is_ours(target):
            msg = (
                f"{target} exists and was not written by `apply`. Give another folder, or --force "
                "(force=True) to replace it."
            )
            raise OutputRefused(msg)


def _check_names(pairs: Sequence[tuple[Path, Path]], out: Path) -> None:
    """Refuse a folder that holds the rows of an input under another name: twice the same rows."""
    of_input = {source_of_mark(file): (file, target) for file, target in pairs}
    for path in sorted(out.rglob("*.parquet")) if out.is_dir() else ():
        file, target = of_input.get(source_marked(path) or ("", 0, 0), (path, path))
        if path.resolve() != target.resolve() and file != path:
            msg = (
                f"{path} holds the calibrated rows of {file}, which would now become {target}: "
                "they would be there twice. Remove it, or give another folder."
            )
            raise OutputRefused(msg)


def _clean(outputs: set[Path]) -> None:
    """Remove the temporary files of killed runs, also those named as earlier versions did."""
    for folder in {target.parent for target in outputs}:
        remove_left_over(folder)
        for path in folder.iterdir() if folder.is_dir() else ():
            older = _OLDER_TEMPORARY.fullmatch(path.name)
            if older is not None and folder / older[1] in outputs:
                path.unlink(missing_ok=True)


def _on_threads(
    jobs: Sequence[FileJob],
    calibrator: str | os.PathLike[str],
    n_jobs: int | None,
    progress: Progress | None,
) -> list[FileDone]:
    counts = []
    stop = threading.Event()
    with ThreadPoolExecutor(thread_count(n_jobs)) as pool:
        try:
            for result in pool.map(lambda job: job.run(calibrator, stop), jobs):
                counts.append(result)
                if progress is not None:
                    progress(_WHAT, len(counts), len(jobs))
        except BaseException:  # the other threads end at their next chunk
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return counts


def _roots(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
) -> list[Path]:
    """Return what was named: folders, what comes before a glob's first *, folders of files."""
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    found = []
    for path in map(Path, several):
        wild = next((i for i, part in enumerate(path.parts) if set(part) & set("*?[")), None)
        if path.is_dir():
            root = path
        else:
            root = path.parent if wild is None or path.exists() else Path(*path.parts[:wild])
        root = Path(os.path.abspath(root))  # noqa: PTH100 - without following links
        while "=" in root.name:  # such as country=DE: a column, which stays in the path
            root = root.parent
        found.append(root)
    if len(found) > 1:  # of several, names keep apart what they do not share
        found = [Path(os.path.commonpath(found))]
    return found


def targets(
    files: Sequence[Path], folder: Path, roots: Sequence[Path]
) -> Iterator[tuple[Path, Path]]:
    """Yield each file with where its calibrated rows go: below `folder` as below what was named.

    So a name does not depend on what else is there. A Parquet file keeps its name and others get
    .parquet behind it; where that name is another file's, a number comes between.
    """
    full = [Path(os.path.abspath(file)) for file in files]  # noqa: PTH100 - without following links
    inside = []
    for file in full:
        root = max((one for one in roots if file.is_relative_to(one)), key=lambda r: len(r.parts))
        inside.append(file.relative_to(root))
    twice = next((path for path, times in Counter(inside).items() if times > 1), None)
    if twice is not None:
        both = [str(file) for file, path in zip(files, inside, strict=True) if path == twice]
        msg = (
            f"{' and '.join(both[:2])} would both become {folder / twice}. Calibrate them one by "
            "one, into a folder each."
        )
        raise OutputRefused(msg)
    taken = {path for path in inside if path.suffix == ".parquet"}
    for file, path in zip(files, inside, strict=True):
        name, number = path, 1
        if path.suffix != ".parquet":
            name = path.with_name(f"{path.name}.parquet")
            while name in taken:
                number += 1
                name = path.with_name(f"{path.name}.{number}.parquet")
            taken.add(name)
        yield file, folder / name


@dataclass(frozen=True, slots=True)
class FileJob:
    """One file of a log to be calibrated; small, can be pickled, and can be run again."""

    file: Path
    target: Path
    columns: Columns | None = None
    band: BandKind | None = None

    def absolute(self) -> FileJob:
        """Return the same job for whoever has another current folder."""
        return replace(self, file=self.file.absolute(), target=self.target.absolute())

    def run(
        self, calibrator: str | os.PathLike[str], stop: threading.Event | None = None
    ) -> FileDone:
        """Calibrate the file, unless that was finished before."""
        safe_output(self.target, [self.file, calibrator])
        mark = self._mark(calibrator)
        done = finished(self.target, mark)
        if done is not None:
            return FileDone(done, False, {})
        self.target.parent.mkdir(parents=True, exist_ok=True)
        out = Output(self.target)
        out.hold()
        with replacing(out, clean=False) as beside:
            harm = Harm()
            n = self._write(calibrator, beside, mark, stop or threading.Event(), harm)
            if self._mark(calibrator) != mark:
                msg = f"{self.file} changed while it was read. Run again once it is complete."
                raise FileFormatError(msg)
        return FileDone(n, True, harm.plain())

    def _mark(self, calibrator: str | os.PathLike[str]) -> dict[str, Any]:
        """Return what identifies the rows, the map, and how the rows were read."""
        mark = mark_of(self.file, calibrator, self._columns)
        return mark if self.band is None else {**mark, "band": self.band}

    def _write(
        self,
        calibrator: str | os.PathLike[str],
        beside: Path,
        mark: dict[str, Any],
        stop: threading.Event,
        harm: Harm,
    ) -> int:
        gamma = load_map(calibrator)
        writer, n = None, 0
        layout = find_columns(column_names(self.file), self._columns, self.file)
        names = ("cal", "test") if layout.part is not None else ("",)
        origin = origin_of(calibrator, gamma, self.file, dict.fromkeys(names))
        try:
            for chunk in self._chunks():
                if stop.is_set():
                    raise KeyboardInterrupt
                table = stamped(self._calibrated(gamma, chunk, n, harm), origin)
                if writer is None:
                    writer = parquet.ParquetWriter(beside, table.schema)
                writer.write_table(table.cast(writer.schema))
                n += table.num_rows
            if writer is None:
                msg = f"{self.file} has no rows: it is empty."
                raise FileFormatError(msg)
            writer.add_key_value_metadata(finished_metadata(mark, n))
        finally:
            if writer is not None:
                writer.close()
        return n

    def _chunks(self) -> Iterator[Any]:
        """Yield the file's rows as tables with all their columns."""
        names = column_names(self.file)
        layout = find_columns(names, self._columns, self.file)
        table = open_table(self.file)
        width = table.width(layout.values[0]) if layout.is_list else len(layout.values)
        rows = max(_CELLS // max(width, 1), 64)
        with guarded(self.file):
            for piece in table.pieces():
                for batch in table.batches(piece, names, rows, layout):
                    if batch.num_rows:
                        yield pa.Table.from_batches([batch])

    @property
    def _columns(self) -> Columns:
        return self.columns or Columns()

    def _calibrated(self, gamma: Fitted, chunk: Any, first: int, harm: Harm) -> Any:  # noqa: ANN401
        try:
            source = source_of(chunk, self._columns, self.file)
            one = next(iter(source.parts.values()))
            given = self._columns.classes
            if given is None and one.classes is None and one.values.ndim > 1:
                given = tuple(map(str, range(one.values.shape[1])))  # all chunks alike
            parts, _ = settle(source.parts, given, "")
            source = replace(source, parts=parts)
            results = calibrated_parts(gamma, source, harm, self.band)
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

    def __call__(self, job: FileJob) -> FileDone:
        """Run a job."""
        with tempfile.TemporaryDirectory() as folder:
            calibrator = Path(folder, "calibrator.json")
            calibrator.write_bytes(self.content)
            return job.run(calibrator)
