"""Every hot path beside its peers and its physical limit: `python -m benchmarks`.

    python -m benchmarks                    all of it: some ten minutes
    python -m benchmarks --quick            fewer rounds, no N above a million
    python -m benchmarks --only ks,fit      some of the hot paths
    python -m benchmarks --json             one JSON object
    python -m benchmarks --write FILE.md    the tables, between two marks of a documentation page

Entries run in turn, round after round, until their ratios are stable; ratios are to the first
entry, the median with the 10 % and 90 % points. Each entry's number is checked before it is
timed. Peers join where they are installed: ``pip install '.[peers]'``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import tables
from benchmarks.growth import slopes
from benchmarks.race import Race, run

if TYPE_CHECKING:
    from collections.abc import Iterator

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
SLOW = {"odir": "matrix"}
_QUICK = 10**6  # rows above which a quick run does not go


def races(names: list[str]) -> Iterator[Race]:
    """Yield the races of the named hot paths, module by module."""
    modules = dict.fromkeys({**PATHS, **SLOW}[name] for name in names)
    for module in modules:
        for race in importlib.import_module(f"benchmarks.{module}").races():
            if race.name in names:
                yield race


def main(words: list[str] | None = None) -> int:
    """Run what was asked for; 1 if a budget was missed."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds, no N above a million")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--only", default="", help=f"of {', '.join([*PATHS, *SLOW])}")
    parser.add_argument("--write", type=Path, help="a Markdown page with the two marks")
    asked = parser.parse_args(words)
    names = asked.only.split(",") if asked.only else list(PATHS)
    unknown = [name for name in names if name not in {**PATHS, **SLOW}]
    if unknown:
        parser.error(f"--only: no hot path is called {unknown[0]!r}")
    outcomes: list[Outcome] = []
    for race in races(names):
        if asked.quick and race.size > _QUICK:
            continue
        outcomes.append(run(race, quick=asked.quick))
        if not asked.json:
            print(tables.text(outcomes[-1]), flush=True)
    grown = slopes(outcomes)
    if asked.json:
        print(json.dumps(tables.to_dict(outcomes, grown)))
    else:
        print(tables.slopes_text(grown))
    if asked.write:
        tables.write(asked.write, outcomes, grown)
    met = all(met for outcome in outcomes for *_, met in outcome.verdicts)
    return 0 if met and all(slope.met for slope in grown) else 1


if __name__ == "__main__":
    sys.exit(main())
