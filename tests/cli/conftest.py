"""A command line run in this process, and a small file to run it on."""

import json

import numpy as np
import pytest

from ogive.cli import main


@pytest.fixture
def run(capsys):
    """Run a command line; return its exit code, stdout and stderr."""

    def run(*words):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def run_json(run):
    """Run a command with --json and check its one object against a schema."""

    def run_json(schema, *words):
        code, out, err = run(*words, "--json")
        assert code == 0, err
        assert out.count("\n") == 1
        result = json.loads(out, parse_constant=pytest.fail)
        jsonschema = pytest.importorskip("jsonschema")
        jsonschema.validate(result, schema)
        return result

    return run_json


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
