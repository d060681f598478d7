"""A race: ways to do the same work, in turn, round after round, until the ratios are stable.

A busy machine slows all entries of a round alike, so what counts are the ratios within a round,
to the first entry. Before anything is timed, each entry's result is checked.
"""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Work = Callable[[], object]
    Check = Callable[[str, object], None]

#: A ratio is stable if this share of it holds its standard error.
_STABLE = 0.02
_SHORTEST = 2e-3  # seconds that one timing takes at least: shorter work is repeated


@dataclass(frozen=True)
class Budget:
    """What an entry may cost: `most` times another, `faster` times less, or so many `seconds`."""

    entry: str
    unit: str = ""
    most: float | None = None
    faster: float | None = None
    seconds: float | None = None

    @property
    def text(self) -> str:
        """The budget in words."""
        if self.seconds is not None:
            return f"{self.entry}: at most {1e3 * self.seconds:g} ms, measured in ms"
        if self.most is not None:
            return f"{self.entry}: at most {self.most:g} times {self.unit}"
        return f"{self.entry}: at least {self.faster:g} times faster than {self.unit}"


@dataclass(frozen=True)
class Race:
    """Entries that do the same work, the first of which is the unit.

    name : the hot path, for ``--only``
    title : what is done
    check : called with an entry's name and its result; raises AssertionError if it is wrong
    memory : bytes of the input, if the peak memory of the entries is of interest
    most_memory : by entry, how many times that it may take
    size : N, where the growth with it is of interest
    least : rounds that are run in any case: fewer where one takes minutes
    """

    name: str
    title: str
    entries: Mapping[str, Work]
    budgets: tuple[Budget, ...] = ()
    check: Check | None = None
    memory: int = 0
    most_memory: Mapping[str, float] = field(default_factory=dict)
    size: int = 0
    seconds: float = 20.0
    least: int = 5


@dataclass
class Timing:
    """The times of one entry, and its ratios to the first.

    cpu : seconds of this process on all cores, which say more than the clock on a busy machine
    """

    entry: str
    seconds: float
    ratio: float
    low: float
    high: float
    peak: float | None = None
    cpu: float | None = None


@dataclass
class Outcome:
    """What came out of a race."""

    race: Race
    rounds: int
    timings: list[Timing]
    verdicts: list[tuple[Budget, float, bool]] = field(default_factory=list)

    def to_dict(self) -> dict[str, object]:
        """Return plain JSON values."""
        return {
            "name": self.race.name,
            "title": self.race.title,
            "size": self.race.size,
            "rounds": self.rounds,
            "entries": [vars(timing) for timing in self.timings],
            "budgets": [
                {"budget": budget.text, "measured": value, "met": met}
                for budget, value, met in self.verdicts
            ],
        }


def run(race: Race, *, quick: bool = False) -> Outcome:
    """Check every entry, then time them in turn until the ratios are stable."""
    repeats = []
    for entry, work in race.entries.items():
        start = time.perf_counter()
        result = work()
        took = time.perf_counter() - start
        if race.check is not None:
            race.check(entry, result)
        del result
        if took < _SHORTEST:
            took, _ = timed(work, 3)  # the first call imports and warms up
        repeats.append(max(1, int(_SHORTEST / max(took, 1e-7))))
    rounds: list[list[tuple[float, float]]] = []
    began = time.perf_counter()
    while not _enough(rounds, time.perf_counter() - began, race, quick=quick):
        pairs = zip(race.entries.values(), repeats, strict=True)
        rounds.append([timed(work, count) for work, count in pairs])
    table, cpu = np.moveaxis(np.array(rounds), 2, 0)
    ratios = table / table[:, :1]
    timings = [
        Timing(
            entry,
            float(np.median(column)),
            float(np.median(ratio)),
            *map(float, np.quantile(ratio, [0.1, 0.9])),
            peak=peak_bytes(work) / race.memory if race.memory else None,
            cpu=float(np.median(used)),
        )
        for (entry, work), column, ratio, used in zip(
            race.entries.items(), table.T, ratios.T, cpu.T, strict=True
        )
    ]
    verdicts = [_judge(budget, list(race.entries), table) for budget in race.budgets]
    for timing in timings:
        most = race.most_memory.get(timing.entry)
        if most is not None and timing.peak is not None:
            budget = Budget(f"{timing.entry}, peak memory", "its input", most=most)
            verdicts.append((budget, timing.peak, timing.peak <= most))
    return Outcome(race, len(rounds), timings, [verdict for verdict in verdicts if verdict])


def timed(work: Work, repeats: int = 1) -> tuple[float, float]:
    """Return the seconds that one call takes by the clock and of all cores, averaged over some."""
    start, cpu = time.perf_counter(), time.process_time()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - start) / repeats, (time.process_time() - cpu) / repeats


def peak_bytes(work: Work) -> int:
    """Return the peak of what one call allocates."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def _enough(
    rounds: list[list[tuple[float, float]]], spent: float, race: Race, *, quick: bool
) -> bool:
    least, most = (min(3, race.least), 5) if quick else (race.least, 41)
    if len(rounds) < least:
        return False
    if len(rounds) >= most or spent > (race.seconds / 5 if quick else race.seconds):
        return True
    table = np.array(rounds)[:, :, 0]
    ratios = table / table[:, :1]
    error = ratios.std(axis=0) / np.sqrt(len(rounds)) / np.median(ratios, axis=0)
    return bool(error.max() < _STABLE)


def _judge(
    budget: Budget, names: list[str], table: np.ndarray
) -> tuple[Budget, float, bool] | None:
    """Compare a budget with the median ratio or time; None if the unit (a peer) did not run."""
    if budget.seconds is not None:
        seconds = float(np.median(table[:, names.index(budget.entry)]))
        return budget, 1e3 * seconds, seconds <= budget.seconds
    if budget.unit not in names or budget.entry not in names:
        return None
    ratio = np.median(table[:, names.index(budget.entry)] / table[:, names.index(budget.unit)])
    if budget.most is not None:
        return budget, float(ratio), bool(ratio <= budget.most)
    assert budget.faster is not None
    return budget, float(1.0 / ratio), bool(1.0 / ratio >= budget.faster)
