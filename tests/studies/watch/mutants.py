"""States of a watch as a stranger might write them, resealed: refused, or a watch that goes on."""

import json
import tempfile
import warnings
from functools import cache
from math import isfinite
from pathlib import Path

import numpy as np

from ogive import Curve, GroupWatch, Watch
from ogive.errors import OgiveError
from ogive.export.artifact import checksum_of
from ogive.studies.watch.state import State, load_state, save_state
from tests.export.mutants import check_error, mutate_artifact


def _rows(rng, n=60):
    scores = rng.uniform(0.01, 0.99, n)
    return Curve.from_scores(scores, rng.random(n) < scores**1.5)


@cache
def documents():
    """Return states without their checksums: of one watch, and of groups."""
    rng, found = np.random.default_rng(0), []
    one, groups = Watch(), GroupWatch()
    for day in range(1, 12):
        one = one.update(_rows(rng), f"2026-05-{day:02d}")
        groups = groups.update({name: _rows(rng) for name in "ab"}, day)
    with tempfile.TemporaryDirectory() as folder:
        for watch in (one, groups):
            path = Path(folder, "state.json")
            save_state(State(watch, {"every": "day"}, frozenset({"mark"})), path)
            document = json.loads(path.read_text())
            del document["checksum"]
            found.append(document)
    return found


def check_state_once(seed):
    """Make one mutant of a state: it is refused in a line that names it, or can be used."""
    rng = np.random.default_rng([24, seed])
    document = mutate_artifact(rng, documents()[int(rng.integers(2))])
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "state.json")
        text = json.dumps({**document, "checksum": checksum_of(document)})
        path.write_bytes(text.replace("Infinity", "1e999").encode("utf-8", "surrogatepass"))
        try:
            watch = load_state(path).watch
        except OgiveError as error:
            check_error(str(error), path)
            return
        with np.errstate(all="ignore"):
            _use(watch, rng)


def _use(watch, rng):
    """Go on with a watch that was loaded: our errors, or numbers that JSON can hold."""
    json.dumps(watch.to_dict(), allow_nan=False)
    rows = {"a": _rows(rng), "new": _rows(rng)} if isinstance(watch, GroupWatch) else _rows(rng)
    try:
        after = watch.update(rows, "2027-01-01" if isinstance(watch, Watch) else 10**9)
    except OgiveError:
        return
    assert isfinite(after.log_e)
    json.dumps(after.to_dict(), allow_nan=False)
