"""Artifacts written by earlier versions still load and give the same numbers."""

import json

import numpy as np
import pytest

from ogive import load
from ogive.calibrators.maps import Map
from tests.export.calibrators import GROUP_NAMES, NAMES
from tests.export.freeze import FROZEN, numbers


@pytest.mark.parametrize("path", sorted(FROZEN.glob("*.json")), ids=lambda path: path.stem)
def test_a_frozen_artifact_gives_the_numbers_it_gave(path):
    frozen = np.array(json.loads(path.with_suffix(".numbers").read_text()))
    gamma = load(path)
    # Scores of logits are rounded to 32 bits of the tail, so that equal ones tie.
    of_view = isinstance(gamma, Map) and gamma.view != "score"
    bound = 1e-9 if of_view else 1e-12
    np.testing.assert_allclose(numbers(gamma), frozen, rtol=bound, atol=1e-15)


def test_every_method_is_frozen():
    assert {path.stem for path in FROZEN.glob("*.json")} >= {
        f"v1-{name}" for name in [*NAMES, *GROUP_NAMES]
    }
