"""Every hot path beside its peers and its physical limit: `python -m benchmarks`.

    python -m benchmarks                    all of it: some ten minutes
    python -m benchmarks --quick            fewer rounds, no N above a million
    python -m benchmarks --only ks,fit      some of the hot paths
    python -m benchmarks --json             one JSON object
    python -m benchmarks --compare OLD.json             run, and show what changed since
    python -m benchmarks --compare OLD.json NEW.json    what changed between two runs
    python -m benchmarks --write FILE.md    the tables, between two marks of a documentation page

Entries run in turn, round after round, until their ratios are stable; ratios are to the first
entry, the median with the 10 % and 90 % points. Each entry's number is checked before it is
timed. The exit code is 1 if a budget was missed or an entry became slower. Peers join where they
are installed: ``pip install '.[peers]'``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import compare, tables
from benchmarks.growth import slopes
from benchmarks.race import Race, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from benchmarks.race import Outcome

#: Names of the hot paths, and the module that has their races.
PATHS = {
    "ks": "core",
    "measure": "measures",
    "fit": "spline",
    "apply": "apply",
    "front": "front",
    "fit-logits": "front",
    "classwise": "front",
    "vectors-fit": "estimators",
    "vectors-apply": "estimators",
    "file": "files",
    "import": "startup",
}
#: Minutes each: only when named.
SLOW = {"odir": "matrix", "many-classes": "many_classes"}
_QUICK = 10**6  # rows above which a quick run does not go


def races(names: list[str]) -> Iterator[Race]:
    """Yield the races of the named hot paths, module by module."""
    modules = dict.fromkeys({**PATHS, **SLOW}[name] for name in names)
    for module in modules:
        for race in importlib.import_module(f"benchmarks.{module}").races():
            if race.name in names:
                yield race


def main(words: list[str] | None = None) -> int:
    """Run what was asked for; 1 if a budget was missed, or an entry became slower."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds, no N above a million")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--only", default="", help=f"of {', '.join([*PATHS, *SLOW])}")
    parser.add_argument("--write", type=Path, help="a Markdown page with the two marks")
    parser.add_argument("--compare", type=Path, nargs="+", metavar="RUN.json", help="old (and new)")
    asked = parser.parse_args(words)
    names = asked.only.split(",") if asked.only else list(PATHS)
    unknown = [name for name in names if name not in {**PATHS, **SLOW}]
    if unknown:
        parser.error(f"--only: no hot path is called {unknown[0]!r}")
    runs = [json.loads(path.read_text(encoding="utf-8")) for path in asked.compare or ()]
    if len(runs) > 1:
        return _compared(*runs[:2], sys.stdout)
    outcomes: list[Outcome] = []
    for race in races(names):
        if asked.quick and race.size > _QUICK:
            continue
        outcomes.append(run(race, quick=asked.quick))
        if not asked.json:
            print(tables.text(outcomes[-1]), flush=True)
    grown = slopes(outcomes)
    found = tables.to_dict(outcomes, grown)
    print(json.dumps(found) if asked.json else tables.slopes_text(grown))
    if asked.write:
        tables.show({"benchmarks": tables.markdown(outcomes, grown)}, asked.write)
    met = all(met for outcome in outcomes for *_, met in outcome.verdicts)
    there = sys.stderr if asked.json else sys.stdout  # the JSON stays alone
    slower = _compared(runs[0], found, there) if runs else 0
    return slower or int(not (met and all(slope.met for slope in grown)))


def _compared(old: dict[str, object], new: dict[str, object], there: TextIO) -> int:
    """Print what changed; 1 if an entry became slower."""
    found = compare.changes(old, new)
    print(compare.text(found), file=there)
    return int(any(one.mark == "SLOWER" for one in found))


if __name__ == "__main__":
    sys.exit(main())
