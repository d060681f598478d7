"""Did anything change that nobody meant to change? Run two versions on the same random files.

``python -m tests.oracle OLD_PYTHON NEW_PYTHON [--n 6] [--seed 0] [--rtol 1e-9] [--allow FILE]``

The two are interpreters of environments with ogive installed: of a version to compare with and of
this checkout. Both run every command, estimators, functions and exports on the same files of
predictions: scores and matrices; tables, arrays, logs; weights, clusters, groups, ties, few rows.
Exit codes, numbers of results, rows that `apply` writes and values that exports give are compared;
what only the new version has is no difference. Exit code 1: some differ that are not allowed.

FILE (default: tests/oracle-allow.txt) has lines ``command file-pattern key-prefix  # item``: a
difference of that command is meant if the pattern matches a file in the call and the key, or what
is in it behind a dot, begins so. Each line may hide 300 values at most. Names of files tell what is
in them: s3t is a table of scores with ties, s3 one without, m3k2 has two classes.
"""

import argparse
import fnmatch
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MOST_HIDDEN = 300
SHOWN = 4  # differences of one call
#: Not the same in two runs, or words: what is compared are numbers, names and exit codes.
IGNORED = re.compile(
    r"seconds|\w+_seconds|fit_s|out|artifact|version|created|date|checksum|sha256|files|path|state"
    r"|verdict|reasons|words|text|error|max_abs_difference"
)


def leaves(found, at=""):
    """Yield (key, value) of all plain values in nested lists and objects."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield from leaves(value, f"{at}.{key}" if at else str(key))
    elif isinstance(found, list):
        for i, value in enumerate(found):
            yield from leaves(value, f"{at}[{i}]")
    else:
        yield at, found


def is_compared(key):
    """Return whether no part of a key is ignored."""
    parts = [part.split("[")[0] for part in key.split(".")]
    return not (IGNORED.fullmatch(parts[-1]) or {"reasons", "verdict"}.intersection(parts))


def same(old, new, rtol):
    """Return whether two values are equal: numbers nearly, all else exactly."""
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (old, new))
    if not numbers or old == new:
        return old == new
    return math.isclose(old, new, rel_tol=rtol, abs_tol=rtol / 1000) or (old != old and new != new)  # noqa: PLR0124 - NaN


def differences(old, new, rtol):
    """Return how many values were compared, and (key, old, new) of those that differ."""
    old, new = dict(leaves(old)), dict(leaves(new))
    keys = [key for key in sorted(old) if is_compared(key)]
    found = [(key, old[key], new.get(key, "gone")) for key in keys]
    return len(keys), [each for each in found if not same(*each[1:], rtol)]


class Allowed:
    """The lines of a file of differences that are meant, and how many values each has hidden."""

    def __init__(self, path):
        lines = [line.split("#")[0].split() for line in Path(path).read_text("utf-8").splitlines()]
        self.lines = [line for line in lines if line]
        if any(len(line) != 3 for line in self.lines):
            sys.exit(f"{path}: a line needs a command, a file pattern and a key prefix")
        self.hidden = [0] * len(self.lines)

    def hides(self, call, key):
        """Return whether a line allows this difference, and count it there."""
        files = [Path(word).name for word in call[1:]]
        for i, (command, pattern, prefix) in enumerate(self.lines):
            if command == call[0] and f".{prefix}" in f".{key}" and fnmatch.filter(files, pattern):
                self.hidden[i] += 1
                return True
        return False

    def print(self):
        for line, hidden in zip(self.lines, self.hidden, strict=True):
            note = f"  too many: at most {MOST_HIDDEN}" if hidden > MOST_HIDDEN else ""
            print(f"{hidden:6d} hidden by: {' '.join(line)}{note}")


def results(python, inputs, folder):
    """Run the plan with an interpreter on a copy of the inputs; return its calls and results."""
    shutil.copytree(inputs, folder)
    worker = Path(__file__).with_name("oracle_calls.py")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONPATH", None)
    command = [python, "-P", str(worker), "run", str(folder)]
    subprocess.run(command, check=True, env=environment)  # noqa: S603
    lines = (folder / "results.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def compare(old, new, rtol, allowed):
    """Print what differs between two lists of (call, exit code, result); return how many do."""
    values = wrong = meant = 0
    for (call, code, before), (_, code_now, now) in zip(old, new, strict=True):
        compared, found = differences({"exit": code, **before}, {"exit": code_now, **now}, rtol)
        values += compared
        shown = [each for each in found if not allowed.hides(call, each[0])]
        meant += len(found) - len(shown)
        wrong += len(shown)
        for key, was, is_now in shown[:SHOWN]:
            print(f"{' '.join(call)}: {key}: {was!r:.60} -> {is_now!r:.60}")
        if len(shown) > SHOWN:
            print(f"{' '.join(call)}: and {len(shown) - SHOWN} more")
    print(f"{len(old)} calls, {values} values compared, {wrong} differ, {meant} differ as allowed")
    allowed.print()
    return wrong


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("old_python")
    parser.add_argument("new_python")
    parser.add_argument("--n", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rtol", type=float, default=1e-9)
    parser.add_argument("--allow", default=Path(__file__).with_name("oracle-allow.txt"))
    given = parser.parse_args()
    allowed = Allowed(given.allow)
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder) / "inputs"
        worker = Path(__file__).with_name("oracle_calls.py")
        make = [given.old_python, "-P", str(worker), "make", str(inputs)]
        subprocess.run([*make, str(given.n), str(given.seed)], check=True)  # noqa: S603
        found = [
            results(python, inputs, Path(folder) / name)
            for name, python in (("old", given.old_python), ("new", given.new_python))
        ]
    wrong = compare(*found, given.rtol, allowed)
    return int(wrong > 0 or max(allowed.hidden, default=0) > MOST_HIDDEN)


if __name__ == "__main__":
    sys.exit(main())
