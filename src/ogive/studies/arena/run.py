"""Many tasks on all cores."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ogive._numerics.blocks import thread_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ogive._typing import Progress

#: How often a worker looks whether the process that started it still runs, in seconds.
PARENT_CHECK_SECONDS = 0.5


class Task(NamedTuple):
    """A function of plain arguments that returns plain numbers.

    what : what the numbers are of, in words
    group : tasks of one group are done one after the other, by one process
    """

    what: str
    group: str
    function: Callable[..., dict[str, Any]]
    arguments: tuple[Any, ...]


def run(
    tasks: list[Task], *, n_jobs: int | None, progress: Progress | None
) -> list[dict[str, Any]]:
    """Return the numbers of each task."""
    found: dict[int, dict[str, Any]] = {}
    for number, numbers in each(tasks, n_jobs):
        found[number] = numbers
        if progress is not None:
            progress(tasks[number].what, len(found), len(tasks))
    return [found[number] for number in range(len(tasks))]


def each(tasks: list[Task], n_jobs: int | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the results of tasks as they come, computed in processes.

    Processes, as a fit is too many short operations for threads to share one interpreter. Each
    has its share of the cores for the linear algebra inside.
    """
    workers = min(thread_count(n_jobs), len(tasks))
    if workers <= 1:
        yield from ((number, _done(task)) for number, task in enumerate(tasks))
        return
    from joblib import Parallel, delayed, parallel_config  # noqa: PLC0415 - with scikit-learn

    inside = max(1, thread_count(None) // workers)
    groups: dict[str, list[int]] = {}
    for number, task in enumerate(tasks):
        groups.setdefault(task.group, []).append(number)
    together = list(groups.values()) if len(groups) >= workers else [[n] for n in range(len(tasks))]
    calls: Iterable[Any] = (
        delayed(_numbered)(os.getpid(), [(number, tasks[number]) for number in group])
        for group in together
    )
    with parallel_config("loky", n_jobs=workers, inner_max_num_threads=inside):
        with _deaf_to_interrupts():
            finished = Parallel(return_as="generator_unordered", batch_size=1)(calls)
        try:
            for results in finished:
                yield from results
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # after Ctrl-C joblib advises to plan for less
                finished.close()


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Let workers that are started here not hear Ctrl-C, which a terminal sends to all processes.

    The process that started them hears it and ends them; each of them would print a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _numbered(parent: int, tasks: list[tuple[int, Task]]) -> list[tuple[int, dict[str, Any]]]:
    _end_with(parent)
    return [(number, _done(task)) for number, task in tasks]


def _end_with(parent: int) -> None:
    """End this worker when the process that started it has ended, even if that was killed.

    A worker in the middle of a task would otherwise finish it for nobody, and then wait.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK_SECONDS)
        os._exit(1)

    if os.getppid() != parent:
        return  # not a worker: joblib may run tasks in the process itself
    name = "ogive-end-with-parent"
    if all(thread.name != name for thread in threading.enumerate()):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # joblib may have started it with no mask
        threading.Thread(target=watch, name=name, daemon=True).start()


def _done(task: Task) -> dict[str, Any]:
    return task.function(*task.arguments)
