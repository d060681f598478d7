"""Dask: a log on a cluster, one task for each piece, the tallies added up in a tree.

A task reads its piece from beginning to end and returns its tally; nothing is kept between
tasks. If a worker is lost, Dask runs its tasks again elsewhere and the sums are the same. The
plan is sent as the result of a task, not as scattered data, for the same reason: it can be made
again.
"""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Unpack

from ogive.engines.cluster import (
    count_share,
    count_table,
    first_length,
    is_paths,
    planned,
    shares,
    source_of,
)
from ogive.engines.plan import Options
from ogive.engines.refine import curves_of, pass_words, without_groups
from ogive.engines.tally import added_tallies
from ogive.errors import OgiveError, need
from ogive.readers.arrow import pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ogive._typing import Progress
    from ogive.curve import Curve
    from ogive.engines.files import Log
    from ogive.engines.plan import Plan, ReadOptions
    from ogive.engines.refine import Reading
    from ogive.engines.tally import Tally

_MALLOC = "MALLOC_TRIM_THRESHOLD_"
_TALLIES_ADDED_PER_TASK = 8
_RETRIES = 2  # of a failed task: a disk may have been busy


def curve(data: Any, view: str | None = None, **options: Any) -> Curve:  # noqa: ANN401
    """Return the summarised curve of a prediction log; `group_curves` gives one for each group.

    Parameters
    ----------
    data : dask.dataframe.DataFrame, or path, or several paths
        Files, folders or globs of Parquet or CSV must be seen by all workers.
    view : str, optional
    **options
        As in `read_log`.

    Examples
    --------
    >>> import dask.dataframe as dd, pandas as pd, ogive.engines.dask  # doctest: +SKIP
    >>> log = pd.DataFrame({"score": [0.9, 0.8, 0.6, 0.7], "outcome": [1, 0, 1, 0]})
    ... # doctest: +SKIP
    >>> ogive.engines.dask.curve(dd.from_pandas(log, npartitions=2))  # doctest: +SKIP
    Curve(view='score', n=4, outcomes=2, summarised)
    """
    return read_log(data, view, **without_groups(options)).only


def group_curves(
    data: Any,  # noqa: ANN401 - a data frame or paths
    by: str,
    view: str | None = None,
    **options: Any,  # noqa: ANN401 - those of `read_log`
) -> dict[str, Curve]:
    """Return the curve of each group of a column, for `ogive.measure_groups`.

    Parameters
    ----------
    data, view, **options
        As in `curve`.
    by : str
        The column of groups.
    """
    return read_log(data, view, by=by, **options).by_group


def read_log(
    data: Any,  # noqa: ANN401 - a data frame or paths
    view: str | Sequence[str] | None = None,
    *,
    scheduler: Any = None,  # noqa: ANN401 - an address or a Client
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[ReadOptions],
) -> Reading:
    """Read a prediction log on a Dask cluster.

    Parameters
    ----------
    data : dask.dataframe.DataFrame, or path, or several paths
    view, columns, by, depth, part, default_part, bits, one_pass, skip_bad, weight_kind, vectors,
    every
        As in `ogive.engines.local.read_log`. Without `bits` a data frame has the buckets of a
        long log; files are the same log whichever engine reads them.
    memory : str or int
        Memory limit for the summaries of a task, and for the scores of a further reading where they
        are brought together.
    scheduler : str or distributed.Client, optional
        Default: the client in use, if there is one; else a cluster of processes on this machine,
        closed at the end.
    n_jobs : int, optional
        Processes of such a cluster. Default: one for each core.
    progress : function of (what, done, total), optional
        In tasks.
    """
    asked = Options(**options)
    log, frame = _source(data, asked)
    plan, limit = planned(log, view, options)
    with client_of(scheduler, n_jobs) as client:
        job = _Job(log, frame, client, progress)
        return curves_of(job.run, plan, exact=not asked.one_pass, limit=limit)


def mapped(
    function: Callable[[Any], Any],
    items: Sequence[Any],
    *,
    scheduler: Any = None,  # noqa: ANN401 - an address or a Client
    n_jobs: int | None = None,
    what: str = "working",
    progress: Progress | None = None,
) -> list[Any]:
    """Return a function of all items, in order. An item may be processed twice."""
    with client_of(scheduler, n_jobs) as client:
        futures = client.map(function, items, pure=False, retries=_RETRIES)
        return _wait(futures, what, progress, keep=True)


@contextmanager
def client_of(scheduler: Any = None, n_jobs: int | None = None) -> Iterator[Any]:  # noqa: ANN401
    """Yield a client of a scheduler as the current one; close what was started here."""
    with _client(scheduler, n_jobs) as client, client.as_current():
        yield client


@contextmanager
def _client(scheduler: Any, n_jobs: int | None) -> Iterator[Any]:  # noqa: ANN401
    distributed = need("distributed", extra="dask")
    if isinstance(scheduler, distributed.Client):
        yield scheduler
        return
    if scheduler is not None:
        try:
            client = distributed.Client(str(scheduler), set_as_default=False)
        except (OSError, ValueError) as error:
            msg = f"no Dask scheduler answers at {scheduler} ({error}). Start one: dask scheduler"
            raise OgiveError(msg) from error
        with client:
            yield client
        return
    try:
        client = distributed.Client.current()
    except ValueError:
        with _local(distributed, n_jobs) as client:
            yield client
        return
    yield client


@contextmanager
def _local(distributed: Any, n_jobs: int | None) -> Iterator[Any]:  # noqa: ANN401
    """Start a process for each core, reachable from this machine alone.

    Each has one thread. The pieces bound the memory, so Dask's own limits are not needed, nor
    is its setting of malloc, with which every batch takes fresh pages from the system: counting
    then takes almost twice as long.
    """
    with _settings(need("dask", extra="dask")):
        cluster = distributed.LocalCluster(
            n_workers=n_jobs or os.cpu_count() or 1,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # any free port
            memory_limit=0,
            silence_logs=logging.CRITICAL,
        )
        with cluster, distributed.Client(cluster, set_as_default=False) as client:
            yield client


@contextmanager
def _settings(dask: Any) -> Iterator[None]:  # noqa: ANN401
    """Start workers without Dask's malloc, and leave the environment as it was.

    Dask writes into the environment of the process that starts workers
    (``docs/design/global-state.md``).
    """
    place = "distributed.nanny.pre-spawn-environ"
    names = [*dask.config.get(place, {}), "PYTHONHASHSEED", "__DASK_PARENT_PID"]
    before = {name: os.environ.get(name) for name in names}
    os.environ.pop(_MALLOC, None)
    try:
        with dask.config.set({f"{place}.{_MALLOC}": None}):
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _source(data: Any, asked: Options) -> tuple[Log, Any]:  # noqa: ANN401
    def width(name: str) -> int:
        first = data[[name]].dropna().head(1, npartitions=-1)
        return first_length(pa.array(first[name]))

    kind = object if is_paths(data) else need("dask.dataframe", extra="dask").DataFrame
    return source_of(data, kind, "Dask", width, asked)


class _Job:
    """Reads a log, once for each plan."""

    def __init__(self, log: Log, frame: Any, client: Any, progress: Progress | None) -> None:  # noqa: ANN401
        self.log, self.frame, self.client, self.progress = log, frame, client, progress
        self.passes = 0

    def run(self, plan: Plan) -> Tally:
        """Count all pieces and add up in a tree.

        The client keeps only the root: each tally is freed once it is added.
        """
        self.passes += 1
        shared = self.client.submit(_same, plan, pure=False)
        leaves = self._files(shared) if self.frame is None else self._partitions(plan)
        if not leaves:
            return added_tallies([], plan)
        root = self._tree(leaves, shared)
        try:
            _wait(leaves, pass_words(self.passes), self.progress)
            tally: Tally = root.result()
        except BaseException:
            root.cancel()
            raise
        return tally

    def _files(self, plan: Any) -> list[Any]:  # noqa: ANN401 - futures
        work = shares(self.log.pieces, sum(self.client.nthreads().values()))
        found: list[Any] = self.client.map(
            count_share, work, plan=plan, pure=False, retries=_RETRIES, batch_size=1000
        )
        return found

    def _partitions(self, plan: Plan) -> list[Any]:
        delayed = need("dask", extra="dask").delayed
        shared, needed = delayed(plan), plan.needed
        count = delayed(_count_frame, pure=False)
        work = [count(p, shared, i) for i, p in enumerate(self.frame[needed].to_delayed())]
        found: list[Any] = self.client.compute(work, retries=_RETRIES)
        return found

    def _tree(self, leaves: Sequence[Any], plan: Any) -> Any:  # noqa: ANN401 - futures
        """Return the future of the sum of all."""
        level = list(leaves)
        while True:
            groups = [
                level[i : i + _TALLIES_ADDED_PER_TASK]
                for i in range(0, len(level), _TALLIES_ADDED_PER_TASK)
            ]
            level = self.client.map(_added, groups, plan=plan, pure=False)
            if len(level) == 1:
                return level[0]


def _wait(
    futures: list[Any], what: str, progress: Progress | None, *, keep: bool = False
) -> list[Any]:
    """Wait for all futures, and release each as it ends; return their results if asked to.

    Of several errors the first is raised: futures after one that failed are cancelled, those
    before it are waited for. So the first bad row of a log is the one named.
    """
    distributed = need("distributed", extra="dask")
    place = {future.key: i for i, future in enumerate(futures)}
    waiting, alive = distributed.as_completed(futures), dict(enumerate(futures))
    futures.clear()
    results: dict[int, Any] = {}
    failed: list[tuple[int, BaseException]] = []
    for done, future in enumerate(waiting, 1):
        at = place[future.key]
        alive.pop(at, None)
        if future.status == "error":
            failed.append((at, future.exception()))
            for later in [i for i in alive if i > at]:
                alive.pop(later).cancel()
        elif not failed:
            if keep:
                results[at] = future.result()
            if progress is not None:
                progress(what, done, len(place))
    if failed:
        raise _worded(distributed, min(failed, key=lambda pair: pair[0])[1])
    return [results[i] for i in sorted(results)]


def _worded(distributed: Any, error: BaseException) -> BaseException:  # noqa: ANN401
    """Return the error of a task; if the task crashed its workers, with the fix."""
    if isinstance(error, distributed.KilledWorker):
        msg = (
            f"{error.allowed_failures + 1} workers were lost over one task, probably for lack of "
            "memory. Give them more, or write smaller row groups."
        )
        return OgiveError(msg)
    return error


def _same(plan: Plan) -> Plan:
    return plan


def _added(tallies: list[Tally], plan: Plan) -> Tally:
    return added_tallies(tallies, plan)


def _count_frame(frame: Any, plan: Plan, number: int) -> Tally:  # noqa: ANN401 - a pandas frame
    return count_table(pa.Table.from_pandas(frame, preserve_index=False), plan, number)
