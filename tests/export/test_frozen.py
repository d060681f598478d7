"""Artifacts written by earlier versions still load and give the same numbers, at every door."""

import json

import numpy as np
import pytest

from ogive import load
from ogive.calibrators.maps import Map
from ogive.export.targets import export
from tests.export.calibrators import CURVE_NAMES, GROUP_NAMES, NAMES, SQL_NAMES, TWO_NAMES
from tests.export.freeze import FROZEN, SCORES, inputs, numbers
from tests.oracle_calls import exported, written

#: Version and name of every frozen artifact that takes scores or rows alone.
STEMS = sorted(
    path.stem for path in FROZEN.glob("*.json") if path.stem.split("-", 1)[1] not in GROUP_NAMES
)
ENDINGS = {"python": ".py", "sql": ".sql", "onnx": ".onnx"}
PACKAGES = {"python": [], "sql": ["duckdb"], "onnx": ["onnx", "onnxruntime"]}


def of_view(gamma):
    """Whether a calibrator is of one number of a matrix, and reads that number alone."""
    return isinstance(gamma, Map) and gamma.view != "score"


def assert_same(found, frozen, gamma):
    # Scores of logits are rounded to 32 bits of the tail, so that equal ones tie.
    bound = 1e-9 if of_view(gamma) else 1e-12
    np.testing.assert_allclose(found, frozen, rtol=bound, atol=1e-15)


def frozen_numbers(stem):
    """Return a frozen calibrator, its inputs, its numbers for them and for the scores of a view."""
    path, name = FROZEN / f"{stem}.json", stem.split("-", 1)[1]
    gamma, frozen = load(path), np.array(json.loads(path.with_suffix(".numbers").read_text()))
    rows = inputs(gamma, two=name in TWO_NAMES)
    apart = len(rows) if name in TWO_NAMES else len(frozen)
    return gamma, rows, frozen[:apart], frozen[apart:]


@pytest.mark.parametrize("path", sorted(FROZEN.glob("*.json")), ids=lambda path: path.stem)
def test_a_frozen_artifact_gives_the_numbers_it_gave(path):
    frozen = np.array(json.loads(path.with_suffix(".numbers").read_text()))
    gamma = load(path)
    assert_same(numbers(gamma, two=path.stem[3:] in TWO_NAMES), frozen, gamma)


@pytest.mark.parametrize("stem", STEMS)
def test_apply_gives_the_numbers_of_a_frozen_artifact(stem, tmp_path, run):
    gamma, rows, frozen, _ = frozen_numbers(stem)
    new, out = tmp_path / "new.npz", tmp_path / "out.npz"
    np.savez(new, **{"scores" if rows.ndim == 1 else "logits": rows})
    code, _, err = run("apply", FROZEN / f"{stem}.json", new, "-o", out)
    assert code == 0, err
    found = written(out)
    given = found["probs" if frozen.ndim > 1 else "scores"]
    assert_same(np.reshape(given, frozen.shape), frozen, gamma)


HAVE_FORMS = {"python": CURVE_NAMES, "sql": SQL_NAMES}
CASES = [
    pytest.param(stem, target, marks=() if "-two-" in stem else pytest.mark.thorough)
    for stem in STEMS
    for target in ENDINGS
    if target == "onnx" or stem[3:].removeprefix("two-") in HAVE_FORMS[target]
]


@pytest.mark.parametrize(("stem", "target"), CASES)
def test_an_export_gives_the_numbers_of_a_frozen_artifact(stem, target, tmp_path):
    for package in PACKAGES[target]:
        pytest.importorskip(package)
    gamma, rows, frozen, of_scores = frozen_numbers(stem)
    if of_view(gamma) and target != "onnx":  # these are given the view's score
        rows, frozen = SCORES, of_scores if "-two-" in stem else gamma(SCORES)
    out = tmp_path / f"cal{ENDINGS[target]}"
    kind = "probs" if rows.ndim == 1 else "logits"
    export(gamma, target, out, kind=kind, dtype="float64", points=64)
    assert_same(np.array(exported(str(out), rows), dtype=float), frozen, gamma)


def test_every_method_is_frozen():
    frozen = {path.stem.split("-", 1)[1] for path in FROZEN.glob("*.json")}
    assert frozen >= {*NAMES, *TWO_NAMES, *GROUP_NAMES}
