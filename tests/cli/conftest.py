"""A small file to run commands on."""

import numpy as np
import pytest


@pytest.fixture
def scores(tmp_path, rng):
    s = rng.random(800)
    path = tmp_path / "scores.npz"
    arrays = {}
    for part, at in (("cal", slice(0, 500)), ("test", slice(500, 800))):
        arrays[f"{part}_scores"] = s[at] ** 0.5
        arrays[f"{part}_outcomes"] = rng.random(s[at].size) < s[at]
    np.savez(path, **arrays)
    return path
