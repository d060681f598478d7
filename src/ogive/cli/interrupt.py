"""Ctrl-C ends the process within two seconds, with one line, whatever is running.

Python raises KeyboardInterrupt once the main thread is back from what it calls, and then waits for
the other threads. A sort of a billion numbers, or a pool of threads, would take as long as they
like. So a thread of its own hears of the signal, gives the command a moment to tidy up, and then
ends the process. A temporary file that is left is removed by the next run with the same output.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from contextlib import suppress

INTERRUPTED = 130
#: Enough to remove temporary files, and short of the two seconds that the documentation states.
GRACE_SECONDS = 1.0
_LINE = "ogive: interrupted"
#: Shows the cursor, which a progress bar hides, and clears the line of the bar.
_END_OF_BAR = "\x1b[?25h\r\x1b[K"
_ending = threading.Lock()
_terminal: list[int] = []  # what was the standard error before Ctrl-C


def watch() -> None:
    """Begin to listen for Ctrl-C; call it in the main thread."""
    heard, tells = os.pipe()
    if hasattr(os, "set_blocking"):  # Windows has it since Python 3.12, and can do without
        os.set_blocking(tells, False)
    signal.set_wakeup_fd(tells, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, _raise_once)
    threading.Thread(target=_end_after_grace, args=(heard,), daemon=True).start()


def _raise_once(*_: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # one is enough: tidying up is not disturbed
    _silence()
    raise KeyboardInterrupt


def _silence() -> None:
    """Print nothing more but the last line: threads of other libraries complain as workers end."""
    if not _terminal:
        _terminal.append(os.dup(2))
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _end_after_grace(heard: int) -> None:
    while signal.SIGINT not in os.read(heard, 64):
        pass
    time.sleep(GRACE_SECONDS)
    end()


def end() -> None:
    """End the process with the one line, its workers first, without waiting for its threads."""
    _ending.acquire()  # whoever comes second waits for the end
    _silence()
    with suppress(Exception):
        for worker in multiprocessing.active_children():
            worker.kill()
    with suppress(OSError):  # not by print: the main thread may hold the stream
        before = _END_OF_BAR if os.isatty(_terminal[0]) else ""
        os.write(_terminal[0], f"{before}{_LINE}\n".encode())
    os._exit(INTERRUPTED)
