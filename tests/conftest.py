"""Fixtures: random numbers, a command line run in this process, real model outputs."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests.bundled import DEMO

# The same cases in every run, so that a test that passed passes again. New ones are looked for by
# `pytest --hypothesis-profile random` and by `python -m tests.soak`.
settings.register_profile(
    "ogive",
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)
settings.register_profile("random", settings.get_profile("ogive"), derandomize=False)
settings.register_profile("few", settings.get_profile("ogive"), max_examples=5)
settings.load_profile("ogive")

#: These send signals, limit memory, read devices or count opens, in the ways of Linux.
collect_ignore = []
if sys.platform != "linux":
    collect_ignore += ["engines/test_memory.py", "cli/test_hostile.py", "test_soak.py"]
    collect_ignore += ["cli/test_counts.py"]
if sys.platform == "win32":
    collect_ignore += ["cli/test_interrupt.py", "readers/test_guard.py"]

ARENA = Path(__file__).resolve().parents[2] / "shared" / "arena"


@pytest.fixture
def rng():
    return np.random.default_rng(20210504)


@pytest.fixture
def arena():
    """A function that reads an experiment: bundled, of the arena beside this checkout, or skips."""

    def read(name):
        path = Path(DEMO) if name == Path(DEMO).stem else ARENA / f"{name}.npz"
        if not path.exists():
            pytest.skip("the arena is not beside this checkout")
        with np.load(path, allow_pickle=False) as file:
            return dict(file)

    return read


@pytest.fixture
def run(capsys):
    """Run a command line; return its exit code, stdout and stderr."""
    from ogive.cli import main

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
def measured(run):
    """A function that runs `measure` and returns its JSON."""

    def measured(*words):
        code, out, err = run("measure", *words, "--json")
        assert code == 0, err
        return json.loads(out)

    return measured
