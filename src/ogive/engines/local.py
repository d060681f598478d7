"""The local engine: a log of any length on this machine, in bounded memory, on all cores.

Threads take the pieces of a log in order (row groups of Parquet, files of text),
and each adds what it reads to sums of its own. pyarrow and NumPy release the interpreter while
they work. Integer sums do not depend on the threads; with weights, pieces are added
in their order.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from ogive._numerics.blocks import thread_count
from ogive.engines.batches import Tallier, added_tallies
from ogive.engines.files import open_log
from ogive.engines.pieces import count_into, count_piece
from ogive.engines.plan import Options
from ogive.engines.refine import curves_of, limit_in, pass_words, without_groups
from ogive.engines.tally import TooManyCurves, too_many
from ogive.errors import OgiveError
from ogive.readers.arrow import pa
from ogive.readers.memory import parse_memory

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from ogive._typing import Progress
    from ogive.curve import Curve
    from ogive.engines.batches import Tally
    from ogive.engines.files import Log
    from ogive.engines.formats import Piece
    from ogive.engines.plan import Plan, ReadOptions
    from ogive.engines.refine import Reading

    Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_BYTES_PER_KEY = 256  # reserved for each collected key, ten times what it takes
_PIECES_BETWEEN_RELEASES = 4  # then freed memory is returned to the system
_MIN_SHARE_TO_EXTRAPOLATE = 1e-4  # share of a log that predicts the memory for all of it
_MAX_ROWS_PER_THREAD = 1 << 19  # rows of a summary that a thread keeps before it is added


def curve(paths: Paths, view: str | None = None, **options: Any) -> Curve:  # noqa: ANN401
    r"""Return the summarised curve of a prediction log; `group_curves` gives one for each group.

    Parameters
    ----------
    paths : path, or several
        Files, folders or globs of Parquet or CSV, with columns ``score`` and ``outcome``,
        or ``label`` with ``logit_0``… or a list column ``logits`` (see `ogive.readers`).
    view : str, optional
    **options
        As in `read_log`.

    Examples
    --------
    >>> import tempfile, pathlib, ogive
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = pathlib.Path(folder, "log.csv")
    ...     _ = log.write_text("score,outcome\n0.9,1\n0.8,0\n0.6,1\n0.7,0\n")
    ...     found = curve(folder)
    >>> found, round(ogive.ks_error(found), 3)
    (Curve(view='score', n=4, outcomes=2, summarised), 0.275)
    """
    return read_log(paths, view, **without_groups(options)).only


def group_curves(
    paths: Paths,
    by: str,
    view: str | None = None,
    **options: Any,  # noqa: ANN401 - those of `read_log`
) -> dict[str, Curve]:
    """Return the curve of each group of a column, for `ogive.measure_groups`.

    Parameters
    ----------
    paths, view, **options
        As in `curve`.
    by : str
        The column of groups.
    """
    return read_log(paths, view, by=by, **options).by_group


def read_log(
    paths: Paths,
    view: str | Sequence[str] | None = None,
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[ReadOptions],
) -> Reading:
    """Read a prediction log.

    Parameters
    ----------
    paths : path, or several
    view : str or several, optional
        ``"class-wise"`` is every class. Default: ``"score"``, or ``"top-1"`` of matrices.
    columns : Columns, optional
        Names of columns that are not the usual ones.
    by : str, optional
        A column of groups, each of which gets a curve; or several, with commas between.
    depth : int, optional
        Of several columns: also the groups of fewer of them, and all rows. Every choice of at most
        this many columns is counted, in the same reading: "BR | *" are all rows of BR.
    part, default_part : str, optional
        Rows of this part alone; the second only if the log has parts.
    bits : int, optional
        How fine the buckets are; see `ogive.curve.summary`. A short log has one for each score.
    memory : str or int
        The memory limit, such as ``"500MB"``; approximate.
    one_pass : bool
        Do not read again: KS and Kuiper errors then have a bracket.
    skip_bad : bool
        Leave out rows that break a rule, and count them.
    weight_kind : {"repetition", "sampling"}
    vectors : bool
        Also score whole vectors, of matrices.
    every : {"day", "week", "batch"}, optional
        The groups are times: see `ogive.engines.periods`.
    unlabelled : bool
        Count scores alone: labels are not read, and every outcome counts as 0.
    n_jobs : int, optional
    progress : function of (what, done, total), optional
        Counts rows, or bytes if the files do not store how many rows they have.

    Returns
    -------
    Reading
    """
    asked = Options(**options)
    log = open_log(paths, asked.columns, skip_bad=asked.skip_bad)
    plan = log.plan(view, **options)
    budget = parse_memory(asked.memory)
    log.check_memory(plan.needed, budget)
    job = _Job(log, budget, thread_count(n_jobs), progress)
    limit = limit_in(budget)
    keep = max(budget // _BYTES_PER_KEY, limit)
    return curves_of(job.run, plan, exact=not asked.one_pass, limit=limit, keep=keep)


class _Job:
    """Reads a log, once for each plan."""

    def __init__(self, log: Log, budget: int, n_jobs: int, progress: Progress | None) -> None:
        self.log, self.budget, self.n_jobs, self.progress = log, budget, n_jobs, progress
        self.passes = 0

    def run(self, plan: Plan) -> Tally:
        """Read the log on all threads."""
        self.passes += 1
        pieces = self.log.pieces
        total = self.log.rows
        report = _Report(self.progress, self.passes, self.log.size if total is None else total)
        if plan.layout.weight is None:
            return _Threads(plan, pieces, self.n_jobs, report, self.budget).run()
        own = replace(plan, budget=self.budget // self.n_jobs)
        with ThreadPoolExecutor(self.n_jobs) as pool:
            done = pool.map(lambda piece: count_piece(piece, own), pieces)
            return added_tallies(report.each(done, pieces), replace(plan, budget=self.budget))


class _Report:
    """Adds up progress from all threads."""

    def __init__(self, progress: Progress | None, number: int, total: int) -> None:
        self._progress, self._total = progress, total
        self._what = pass_words(number)
        self._done, self._lock = 0, threading.Lock()

    def __call__(self, more: int) -> None:
        with self._lock:
            self._done += more
            if self._progress is not None:
                self._progress(self._what, min(self._done, self._total), self._total)

    @property
    def share(self) -> float:
        """The share of the log that was read."""
        return self._done / max(self._total, 1)

    def each(self, tallies: Iterable[Tally], pieces: Sequence[Piece]) -> Iterator[Tally]:
        """Pass tallies on, and report each."""
        for tally, piece in zip(tallies, pieces, strict=True):
            self(piece.size if piece.rows is None else piece.rows)
            yield tally


class _Threads:
    """Threads that take pieces in order; after an error no further piece is begun.

    Pieces before the one that failed are finished, so that the first bad row is the one named.
    """

    def __init__(
        self, plan: Plan, pieces: Sequence[Piece], n_jobs: int, report: _Report, budget: int
    ) -> None:
        self.report, self.budget = report, budget
        self.count = max(1, min(n_jobs, len(pieces)))
        self.plan = replace(plan, budget=budget // self.count)
        self._pieces: Iterator[tuple[int, Piece]] = iter(enumerate(pieces))
        self._lock = threading.Lock()
        self._shared = Tallier(plan)
        self._errors: list[tuple[int, BaseException]] = []

    def run(self) -> Tally:
        """Read all pieces."""
        with ThreadPoolExecutor(self.count) as pool:
            futures = [pool.submit(self._work) for _ in range(self.count)]
            try:
                for future in futures:
                    future.result()
            except TooManyCurves as error:
                self._pieces = iter(())
                raise self._with_estimate(error) from error
            except BaseException:
                self._pieces = iter(())  # after an interrupt the threads end with their piece
                raise
        if self._errors:
            raise self._with_estimate(min(self._errors, key=lambda pair: pair[0])[1])
        pa.default_memory_pool().release_unused()
        return added_tallies([self._shared.result()], replace(self.plan, budget=None))

    def _next(self) -> tuple[int, Piece] | None:
        with self._lock:
            return None if self._errors else next(self._pieces, None)

    def _work(self) -> None:
        own = Tallier(self.plan)
        pool = pa.default_memory_pool()
        while (piece := self._next()) is not None:
            try:
                count_into(own, piece[1], self.report)
                if piece[0] % _PIECES_BETWEEN_RELEASES == 0:
                    pool.release_unused()
                if own.size > _MAX_ROWS_PER_THREAD:
                    done, own = own.result(), Tallier(self.plan)
                    self._give(done)
            except OgiveError as error:
                with self._lock:
                    self._errors.append((piece[0], error))
        self._give(own.result())

    def _give(self, tally: Tally) -> None:
        with self._lock:
            self._shared.include(tally)
            used, curves = self._shared.used, len(self._shared.names)
        if used > self.budget:
            raise too_many(used // self.count, self.budget, curves)

    def _with_estimate(self, error: BaseException) -> BaseException:
        """Return an error; if it is about memory, with an estimate of how much is enough."""
        if not isinstance(error, TooManyCurves):
            return error
        enough = round(error.used * self.count / max(self.report.share, _MIN_SHARE_TO_EXTRAPOLATE))
        return too_many(error.used, self.budget, error.curves, enough)
