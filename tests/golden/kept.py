"""The results that are kept, and what has changed since: one file for each call, one key a line.

A file says how far a float may be off: 1e-12 of its size (or 1e-15), more only where the
instructions of another processor or the versions of libraries move it further.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "results"
TOLERANCE = 1e-12


def same(old, new, tolerance):
    """Return whether two values are equal: floats nearly, in lists as well, all else exactly."""
    if isinstance(old, list) and isinstance(new, list):
        pairs = zip(old, new, strict=False)
        return len(old) == len(new) and all(same(a, b, tolerance) for a, b in pairs)
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=tolerance, abs_tol=tolerance / 1000)
    return type(old) is type(new) and old == new


@dataclass(frozen=True)
class Kept:
    """The result of one call as its file has it."""

    path: Path
    call: str
    tolerance: float
    values: dict

    @classmethod
    def read(cls, name, call):
        path = FOLDER / f"{name}.json"
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return cls(path, call, found.get("tolerance", TOLERANCE), found.get("values", {}))

    def changes(self, values):
        """Yield a line for each value that is another one now, is new or is gone."""
        for key in sorted({*self.values, *values}):
            if key not in values:
                yield f"{self.call}: {key}: {self.values[key]!r} is gone"
            elif key not in self.values:
                yield f"{self.call}: {key}: {values[key]!r} is new"
            elif not same(self.values[key], values[key], self.tolerance):
                yield f"{self.call}: {key}: {self.values[key]!r} is now {values[key]!r}"

    def write(self, values):
        """Write the values; one that is the same keeps its last digits, so that no diff has it."""
        text = {
            key: self.values[key]
            if key in self.values and same(self.values[key], value, self.tolerance)
            else value
            for key, value in sorted(values.items())
        }
        head = {"call": self.call, "tolerance": self.tolerance}
        lines = [f" {json.dumps(key)}: {json.dumps(text[key], ensure_ascii=False)}" for key in text]
        start = json.dumps(head, indent=0)[:-2]
        whole = start + ',\n"values": {\n' + ",\n".join(lines) + "\n}}\n"
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text(whole, encoding="utf-8")
