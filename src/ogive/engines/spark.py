"""Spark: the same summary through `mapInArrow`; Spark's own sums add up the tables.

A task counts its pieces (of files) or its partition (of a data frame) and returns the flat table
of its tally. Where there are many, Spark groups those tables by curve and bucket and adds
integers, so that only the sums reach the driver. A bad row comes back as a row of the table too:
it is a result, not a failure that Spark would retry.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Unpack

from ogive.curve.summary import COUNTED, WEIGHED
from ogive.engines.cluster import is_paths, planned, shares, source_of
from ogive.engines.plan import Options
from ogive.engines.refine import curves_of, pass_words, without_groups
from ogive.engines.spark_tasks import (
    SENT,
    of_frame,
    of_shares,
    packed,
    raise_first,
    received,
    sent,
    unpacked,
)
from ogive.engines.tally import Tally
from ogive.errors import OgiveError, need
from ogive.readers.arrow import pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ogive._typing import Progress
    from ogive.curve import Curve
    from ogive.engines.files import Log
    from ogive.engines.plan import Plan, ReadOptions
    from ogive.engines.refine import Reading


_THIS_MACHINE = "local[*,4]"  # all cores, and up to four attempts of a task
# On one machine Python does the work; Java's part is too short for its optimising compiler.
_JVM_STARTS_FAST = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_MAX_TABLES_ADDED_BY_DRIVER = 64  # Spark adds up more tables than that
_TASKS_PER_CORE = 2  # a task costs Spark as much as counting two million rows
_RESULT = ["task", "good", "words"]
_KEYS = ["view", "group", "task", "bucket"]


def curve(data: Any, view: str | None = None, **options: Any) -> Curve:  # noqa: ANN401
    """Return the summarised curve of a prediction log; `group_curves` gives one for each group.

    Parameters
    ----------
    data : pyspark.sql.DataFrame, or path, or several paths
        Files, folders or globs of Parquet or CSV must be seen by all executors.
    view : str, optional
    **options
        As in `read_log`.

    Examples
    --------
    >>> from pyspark.sql import SparkSession  # doctest: +SKIP
    >>> spark = SparkSession.builder.getOrCreate()  # doctest: +SKIP
    >>> log = spark.createDataFrame([(0.9, 1), (0.8, 0)], "score double, outcome int")
    ... # doctest: +SKIP
    >>> ogive.engines.spark.curve(log)  # doctest: +SKIP
    Curve(view='score', n=2, outcomes=1, summarised)
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
    master: str | None = None,
    session: Any = None,  # noqa: ANN401 - a SparkSession
    progress: Progress | None = None,
    **options: Unpack[ReadOptions],
) -> Reading:
    """Read a prediction log with Spark.

    Parameters
    ----------
    data : pyspark.sql.DataFrame, or path, or several paths
        A data frame is computed once for each reading: cache it if that is slow, or if its rows
        may change from one time to the next.
    view, columns, by, depth, part, default_part, bits, one_pass, skip_bad, weight_kind, vectors,
    every
        As in `ogive.engines.local.read_log`. Without `bits` a data frame has the buckets of a
        long log; files are the same log whichever engine reads them.
    memory : str or int
        Memory limit for the summaries of a task, and for the scores of a further reading where they
        are brought together.
    master : str, optional
        Where Spark runs. Default: the session in use, if there is one; else this machine,
        ``local[*]``, until the log is read.
    session : pyspark.sql.SparkSession, optional
        Default: the data frame's.
    progress : function of (what, done, total), optional
        Called after each reading; Spark shows its tasks itself.
    """
    asked = Options(**options)
    log, frame = _source(data, asked)
    plan, limit = planned(log, view, options)
    with session_of(master, session if frame is None else frame.sparkSession) as spark:
        job = _Job(log, frame, spark, progress)
        return curves_of(job.run, plan, exact=not asked.one_pass, limit=limit)


def mapped(
    function: Callable[[Any], Any],
    items: Sequence[Any],
    *,
    master: str | None = None,
    session: Any = None,  # noqa: ANN401 - a SparkSession
    what: str = "working",  # noqa: ARG001 - Spark shows its tasks itself
    progress: Progress | None = None,  # noqa: ARG001
) -> list[Any]:
    """Return a function of all items, in order; its results must fit JSON.

    An item may be processed twice. The first error is raised once all are done.
    """
    if not items:
        return []

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                try:
                    words, good = json.dumps(function(items[number])), True
                except OgiveError as error:
                    words, good = packed(error), False
                columns = [[number], [good], [words]]
                yield pa.RecordBatch.from_arrays(list(map(pa.array, columns)), _RESULT)

    with session_of(master, session) as spark, _worded():
        rows = _numbers(spark, len(items)).mapInArrow(work, "task long, good boolean, words string")
        table = rows.toArrow().sort_by("task")
    for good, words in zip(table["good"].to_pylist(), table["words"].to_pylist(), strict=True):
        if not good:
            raise unpacked(words)
    return [json.loads(words) for words in table["words"].to_pylist()]


@contextmanager
def session_of(master: str | None = None, session: Any = None) -> Iterator[Any]:  # noqa: ANN401
    """Yield a session: the one in use, or one that is started and stopped here."""
    sql = need("pyspark.sql", extra="spark")
    session = session or _at_hand(sql, master)
    if session is not None:
        yield session
        return
    where = master or _THIS_MACHINE
    builder = sql.SparkSession.builder.master(where).appName("ogive")
    quiet = dict.fromkeys(("spark.ui.enabled", "spark.ui.showConsoleProgress"), "false")
    quiet["spark.log.level"] = "ERROR"
    here = dict.fromkeys(("spark.driver.host", "spark.driver.bindAddress"), "127.0.0.1")
    here["spark.driver.extraJavaOptions"] = _JVM_STARTS_FAST
    for key, value in (quiet | (here if where.startswith("local") else {})).items():
        builder = builder.config(key, value)
    # Spark reads it as it starts; then it is put back: docs/design/global-state.md
    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = before or sys.executable  # else tasks run in another Python
    try:
        spark = builder.getOrCreate()
    except need("pyspark.errors", extra="spark").PySparkException as error:
        msg = f"Spark could not start at {where} ({str(error).splitlines()[0]}). It needs Java 17."
        raise OgiveError(msg) from error
    finally:
        if before is None:
            del os.environ["PYSPARK_PYTHON"]
    try:
        yield spark
    finally:
        spark.stop()


def _at_hand(sql: Any, master: str | None) -> Any:  # noqa: ANN401
    """Return the session in use, None if there is none."""
    try:
        session = sql.SparkSession.active()
    except need("pyspark.errors", extra="spark").PySparkException:
        return None
    place = session.conf.get("spark.master", "elsewhere")
    if master is not None and master != place:
        msg = f"a Spark session is in use at {place}: stop it before one is started at {master}."
        raise OgiveError(msg)
    return session


def _source(data: Any, asked: Options) -> tuple[Log, Any]:  # noqa: ANN401
    sql: Any = None if is_paths(data) else need("pyspark.sql", extra="spark")

    def width(name: str) -> int:
        sizes = data.select(sql.functions.size(f"`{name}`").alias("n"))
        first = sizes.where("n > 0").head()
        return 0 if first is None else int(first["n"])

    return source_of(data, object if sql is None else sql.DataFrame, "Spark", width, asked)


class _Job:
    """Reads a log, once for each plan."""

    def __init__(self, log: Log, frame: Any, spark: Any, progress: Progress | None) -> None:  # noqa: ANN401
        self.log, self.frame, self.spark, self.progress = log, frame, spark, progress
        self.passes = 0

    def run(self, plan: Plan) -> Tally:
        """Count everywhere, add up by curve and bucket, and bring the sums here."""
        self.passes += 1
        sums = WEIGHED if plan.layout.weight is not None else COUNTED
        kind = "double" if plan.layout.weight is not None else "long"
        fields = ["view string", "group string", "bucket long", "first long", "last long"]
        schema = ", ".join([*fields, *(f"{name} {kind}" for name in sums), "task long"])
        work: list[Any] = []
        if self.frame is None:
            work = shares(self.log.pieces, _cores(self.spark), _TASKS_PER_CORE)
            rows, count = _numbers(self.spark, len(work)), of_shares(work, plan)
        else:
            rows, count = self.frame.select(*(f"`{name}`" for name in plan.needed)), of_frame(plan)
        here = 0 < len(work) <= _MAX_TABLES_ADDED_BY_DRIVER
        if here:
            total = rows.mapInArrow(sent(count), f"{SENT} binary")
        else:
            total = _added(rows.mapInArrow(count, schema), sums)
        with _worded():
            table = total.toArrow()
        if self.progress is not None:
            self.progress(pass_words(self.passes), 1, 1)
        table = received(table) if here else table
        raise_first(table)
        return Tally.from_tables([table], plan)


def _added(tables: Any, sums: Sequence[str]) -> Any:  # noqa: ANN401 - data frames
    """Add up rows of one curve and one bucket."""
    functions = need("pyspark.sql.functions", extra="spark")
    return tables.groupBy(*_KEYS).agg(
        functions.min("first").alias("first"),
        functions.max("last").alias("last"),
        *(functions.sum(name).alias(name) for name in sums),
    )


def _cores(spark: Any) -> int:  # noqa: ANN401
    """Return how many tasks run at once; 0 if unknown."""
    context = getattr(spark, "_sc", None)  # a remote session has none
    return 0 if context is None else int(context.defaultParallelism)


def _numbers(spark: Any, n: int) -> Any:  # noqa: ANN401
    """Return a frame of the numbers below n, each in a partition of its own."""
    return spark.range(0, n, 1, max(n, 1))


@contextmanager
def _worded() -> Iterator[None]:
    """Return in one line why Spark failed."""
    kinds = need("pyspark.errors", extra="spark")
    try:
        yield
    except kinds.PySparkException as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        causes = [line for line in lines if "Error" in line] or lines
        msg = f"Spark could not finish the work: {causes[-1] if causes else type(error).__name__}"
        raise OgiveError(msg) from error
