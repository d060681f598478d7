"""Progress of Spark's tasks: asked for from time to time while the driver waits."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import Progress

_PAUSE = 0.25  # seconds
_GROUP = "spark.jobGroup.id"


@contextmanager
def watching(spark: Any, what: str, progress: Progress | None) -> Iterator[None]:  # noqa: ANN401
    """Tell how many tasks are done of the jobs that are begun inside."""
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
    """Tell of the longest stage: the one that reads."""
    last = 0
    while not done.wait(_PAUSE):
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(name)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
        told = max((s for s in stages if s), key=lambda s: s.numTasks, default=None)
        if told is not None and told.numCompletedTasks > last:
            last = told.numCompletedTasks
            progress(what, last, told.numTasks)
