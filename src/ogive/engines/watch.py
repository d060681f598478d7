"""Progress of Spark's tasks, polled while the driver waits."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import Progress

_SECONDS_BETWEEN_POLLS = 0.25
_GROUP = "spark.jobGroup.id"


@contextmanager
def watching(spark: Any, what: str, progress: Progress | None) -> Iterator[None]:  # noqa: ANN401
    """Report how many tasks are done of the jobs that start inside this block."""
    context = getattr(spark, "_sc", None)  # a remote session has none
    if progress is None or context is None:
        yield
        return
    name, before, done = f"ogive-{uuid4()}", context.getLocalProperty(_GROUP), threading.Event()
    context.setLocalProperty(_GROUP, name)
    watcher = threading.Thread(
        target=_watch, args=(context.statusTracker(), name, what, progress, done), daemon=True
    )
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        context.setLocalProperty(_GROUP, before)


def _watch(
    tracker: Any,  # noqa: ANN401
    name: str,
    what: str,
    progress: Progress,
    done: threading.Event,
) -> None:
    """Report the longest stage: the one that reads."""
    last = 0
    while not done.wait(_SECONDS_BETWEEN_POLLS):
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(name)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        longest = max((s for s in stages if s), key=lambda s: s.numTasks, default=None)
        if longest is not None and longest.numCompletedTasks > last:
            last = longest.numCompletedTasks
            progress(what, last, longest.numTasks)
