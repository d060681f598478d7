"""Write an artifact of every method and its numbers to `frozen/`: `python -m tests.export.freeze`.

Run it when a method is added, or named in `CHANGED`. What is there already is never written again:
it stands for files that others have saved, which every later version must read and evaluate alike.
It also writes ``docs/artifact.schema.json`` from the table that `load` checks files with.
"""

import json
from pathlib import Path

import numpy as np

from ogive import save
from ogive.calibrators import CLASS_VIEWS, GROUPED, METHODS, MULTICLASS, SHIFTED
from ogive.calibrators.grouped_map import GroupedMap
from ogive.calibrators.maps import Map
from ogive.export.check import expected
from ogive.export.rules import Text
from ogive.export.schema import FITTED_ON, FORMAT, MAPS, SCORE_MAPS, VECTOR_MAPS, VERSION
from tests.export.calibrators import GROUP_NAMES, NAMES, TWO_NAMES, fitted

FROZEN = Path(__file__).parent / "frozen"
SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "artifact.schema.json"
#: The version that gave a method a field which decides its numbers: it is frozen once more.
CHANGED = dict.fromkeys(
    (
        *("spline.score", "monotone.score", "plateau.score", "shifted-spline.score"),
        *("spline.keep", "spline.top-1", "classes.top-1", "spline.groups"),
        *("vector.vector", "shifted-vector.vector", "ms-odir.vector"),
    ),
    2,  # `tau` of splines, `centred` of matrices
)
SCORES = np.concatenate([np.linspace(0, 1, 33), [1e-300, 1e-12, 1 - 1e-12, 1 - 2.0**-53]])
LOGITS = np.array(
    [[0, 0, 0, 0], [2, 1, 0, -1], [-3, 0.5, 0.25, 4], [40, 0, 0, -1], [0, 900, 0, 1], [1, 1, -5, 1]]
)


TWO_LOGITS = np.array([[0, 0], [2, 1], [-3, 0.5], [40, 0], [0, 900], [1, -5]])


def inputs(gamma, *, two=False):
    if gamma.view == "score":
        return SCORES
    return (TWO_LOGITS if two else LOGITS).astype(float)


def numbers(gamma, *, two=False):
    """Return what a calibrator gives; a view of two classes also for its score alone."""
    if isinstance(gamma, GroupedMap):
        names = [*gamma.groups, "not seen"]
        return np.concatenate([gamma(SCORES, [name] * SCORES.size) for name in names])
    kind = "probs" if gamma.view == "score" else "logits"
    found = expected(gamma, inputs(gamma, two=two), kind, from_scores=False)
    return np.concatenate([found, gamma(SCORES)]) if two and isinstance(gamma, Map) else found


def json_schema():
    """Return all rules as one JSON Schema."""

    def of_method(name):
        map_ = {"$ref": f"#/$defs/maps/{name}"}
        if name == "keep":  # older files hold maps of ranks under that name
            map_ = {"anyOf": [map_, {"$ref": "#/$defs/maps/ranks"}]}
        return {"properties": {"method": {"const": name}, "map": map_}}

    def inner(names):
        return {
            "type": "object",
            "properties": {"method": {"enum": list(names)}, "map": {"type": "object"}},
            "required": ["method", "map"],
            "additionalProperties": False,
            "oneOf": [of_method(name) for name in names],
        }

    properties = {
        "format": {"const": FORMAT},
        "version": {"enum": [*range(1, VERSION + 1)]},
        "library": Text().schema(),
        "method": {"enum": [*METHODS, *MULTICLASS, *GROUPED, *CLASS_VIEWS, *SHIFTED]},
        "fitted_on": FITTED_ON.schema(),
        "map": {"type": "object"},
        "checksum": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"ogive calibrator, version {VERSION}",
        "description": "docs/artifact.md says what each field means.",
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name != "fitted_on"],
        "additionalProperties": True,
        "oneOf": [of_method(name) for name in MAPS],
        "$defs": {
            "inner": inner(SCORE_MAPS),
            "inner-vector": inner(VECTOR_MAPS),
            "maps": {name: rule.schema() for name, rule in MAPS.items()},
        },
    }


def main():
    SCHEMA.write_text(json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n")
    for name in [*NAMES, *TWO_NAMES, *GROUP_NAMES]:
        if any(FROZEN.glob(f"v[{CHANGED.get(name, 1)}-9]-{name}.json")):
            continue
        path = FROZEN / f"v{VERSION}-{name}.json"
        gamma = fitted(name, rows=60) if name.startswith("paper") else fitted(name, rows=200)
        save(gamma, path)
        found = numbers(gamma, two=name in TWO_NAMES).tolist()
        path.with_suffix(".numbers").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
