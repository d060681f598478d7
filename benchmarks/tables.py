"""The benchmarks' results as text, as JSON, and as tables of a documentation page."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from benchmarks.growth import MOST, Slope

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from benchmarks.race import Outcome, Timing

_PACKAGES = (
    "numpy", "scipy", "scikit-learn", "pyarrow", "netcal", "torchmetrics", "probmetrics",
    "splinecalib", "betacal", "relplot",
)  # fmt: skip


def machine() -> dict[str, str]:
    """Describe the machine: processor, cores, system, Python and packages."""
    found = {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "system": platform.system(),
        "python": platform.python_version(),
    }
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def text(outcome: Outcome) -> str:
    """Return the table of one race for a terminal."""
    lines = [f"\n{outcome.race.title} ({outcome.rounds} rounds)"]
    for timing in outcome.timings:
        ratio = f"{timing.ratio:.3g} ({timing.low:.3g}-{timing.high:.3g})"
        peak = "" if timing.peak is None else f"   peak {timing.peak:.2f} of the input"
        lines.append(f"  {timing.entry:42}{_time(timing):>12}{ratio:>28}{peak}")
    for budget, value, met in outcome.verdicts:
        lines.append(f"  {'holds ' if met else 'MISSED'}  {budget.text}: {value:.3g}")
    return "\n".join(lines)


def slopes_text(slopes: list[Slope]) -> str:
    """Return the slopes for a terminal."""
    lines = [f"\nSlope of log time against log N, from 100,000 rows on (ours at most {MOST})"]
    for slope in slopes:
        mark = "" if slope.met else "  MISSED"
        lines.append(f"  {slope.name:14}{slope.entry:42}{slope.slope:6.2f}{mark}")
    return "\n".join(lines)


def to_dict(outcomes: list[Outcome], slopes: list[Slope]) -> dict[str, object]:
    """Return everything as plain JSON values."""
    return {
        "machine": machine(),
        "races": [outcome.to_dict() for outcome in outcomes],
        "slopes": [{**vars(slope), "met": slope.met} for slope in slopes],
    }


def markdown(outcomes: list[Outcome], slopes: list[Slope]) -> str:
    """Return the tables of a documentation page."""
    parts = [", ".join(f"{key} {value}" for key, value in machine().items()) + "."]
    parts += [_markdown(outcome) for outcome in outcomes]
    if slopes:
        parts.append(_slopes_markdown(slopes))
    return "\n" + "\n\n".join(parts) + "\n"


def lines(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown: a column of names, then columns of numbers."""
    names = list(head)
    rule = ["---", *["---:"] * (len(names) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (names, rule, *map(list, rows)))


def show(tables: Mapping[str, str], page: Path | None) -> None:
    """Put each table between the markers of its name on a page; print them if there is none."""
    if page is None:
        for name, content in tables.items():
            print(f"\n{name}\n\n{content}")
        return
    text = page.read_text(encoding="utf-8")
    for name, content in tables.items():
        start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        text, found = re.subn(
            re.escape(start) + ".*?" + re.escape(end),
            lambda _, c=content, s=start, e=end: f"{s}{c}\n{e}",
            text,
            flags=re.DOTALL,
        )
        assert found == 1, f"{page} has {found} markers of {name}"
    page.write_text(text, encoding="utf-8")


def _markdown(outcome: Outcome) -> str:
    lines = [f"### {outcome.race.title}", "", "| | time | ratio (10 %-90 %) |", "|---|--:|--:|"]
    for timing in outcome.timings:
        ratio = f"{timing.ratio:.3g} ({timing.low:.3g}-{timing.high:.3g})"
        lines.append(f"| {timing.entry} | {_time(timing)} | {ratio} |")
    for budget, value, met in outcome.verdicts:
        lines += ["", f"{budget.text}: **{value:.3g}**{'' if met else ' (missed)'}."]
    return "\n".join(lines)


def _slopes_markdown(slopes: list[Slope]) -> str:
    lines = ["### Growth", "", "| | | slope |", "|---|---|--:|"]
    lines += [f"| {s.name} | {s.entry} | {s.slope:.2f} |" for s in slopes]
    return "\n".join(lines)


def _time(timing: Timing) -> str:
    ms = 1e3 * timing.seconds
    if ms < 0.1:
        return f"{1e3 * ms:.2f} us"
    return f"{ms:.2f} ms" if ms < 1e4 else f"{ms / 1e3:.1f} s"
