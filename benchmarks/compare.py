"""What changed between two runs: `python -m benchmarks --compare OLD.json [NEW.json]`.

A machine is not as fast today as it was yesterday. So every time is divided by what the race's
entries of other packages, and its limits, took: by the median of their new over old times.
An entry is *slower* if both the clock and the processors' seconds rose by more than 10 % beyond
that; if only the clock did, a busy machine is the likelier reason, or a lost thread.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

#: A slower entry takes more than this, in units of its old time.
SLOWER = 1.1


@dataclass(frozen=True)
class Change:
    """One entry in two runs: milliseconds then and now, and new over old by clock and by cores."""

    race: str
    entry: str
    old: float
    new: float
    clock: float
    cores: float | None

    @property
    def mark(self) -> str:
        """What to call it: slower, slower by the clock alone, faster, or nothing."""
        cores = self.clock if self.cores is None else self.cores
        if self.clock > SLOWER:
            return "SLOWER" if cores > SLOWER else "slower by the clock"
        return "faster" if max(self.clock, cores) < 1 / SLOWER else ""


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    """Return the changes of our own entries that are in both runs, as `tables.to_dict` has them."""
    before = {race["title"]: _entries(race) for race in old["races"]}
    found = []
    for race in new["races"]:
        then, now = before.get(race["title"], {}), _entries(race)
        both = [entry for entry in now if entry in then]
        clock, cores = ({e: _ratio(then[e], now[e], key) for e in both} for key in _KEYS)
        clock_unit, cores_unit = _of_others(clock), _of_others(cores)
        for entry in filter(is_ours, both):
            cpu = cores[entry]
            found.append(
                Change(
                    race["title"],
                    entry,
                    1e3 * then[entry]["seconds"],
                    1e3 * now[entry]["seconds"],
                    (clock[entry] or 1.0) / clock_unit,
                    None if cpu is None else cpu / cores_unit,
                )
            )
    return found


def text(found: list[Change]) -> str:
    """Return the changes for a terminal."""
    lines = ["\nNew over old, in units of what others took (1: no change)", ""]
    lines.append(f"  {'':44}{'old ms':>10}{'new ms':>10}{'clock':>8}{'cores':>8}")
    race = ""
    for one in found:
        if one.race != race:
            race = one.race
            lines.append(race)
        cores = "" if one.cores is None else f"{one.cores:.2f}"
        times = f"{one.old:10.4g}{one.new:10.4g}{one.clock:8.2f}{cores:>8}"
        lines.append(f"  {one.entry:44}{times}  {one.mark}".rstrip())
    slower = sum(one.mark == "SLOWER" for one in found)
    lines.append(f"\n{slower} of {len(found)} are slower by more than {SLOWER - 1:.0%}.")
    return "\n".join(lines)


def is_ours(entry: str) -> bool:
    """Return whether an entry runs this library: the others measure the machine."""
    return entry.startswith(("ogive", "import ogive", *_OLD_NAMES))


_KEYS = ("seconds", "cpu")
_OLD_NAMES = ("the curve", "the front end", "pyarrow and the curve")  # of entries that run it too


def _entries(race: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["entry"]: entry for entry in race["entries"]}


def _ratio(then: dict[str, Any], now: dict[str, Any], key: str) -> float | None:
    """Return new over old; None where a run did not count, or where children did the work."""
    return now[key] / then[key] if then.get(key) and now.get(key) else None


def _of_others(ratios: dict[str, float | None]) -> float:
    """Return how much slower the machine was: 1 if nothing but our own ran."""
    others = [x for entry, x in ratios.items() if x is not None and not is_ours(entry)]
    return statistics.median(others) if others else 1.0
