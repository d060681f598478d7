"""The plain Python form runs where nothing is installed."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest

from ogive.errors import ExportError
from ogive.export import run_python, to_python
from ogive.export.check import expected
from ogive.export.grid import scores_for
from tests.export.calibrators import CURVE_NAMES, GROUP_NAMES, NAMES, fitted

BARE = [sys.executable, "-I", "-S"]  # no site-packages, no environment
RUN = """
import json, runpy, sys
calibrate = runpy.run_path(sys.argv[1])["calibrate"]
assert not [name for name in sys.modules if name in {"numpy", "ogive", "scipy"}]
json.dump([calibrate(x) for x in json.load(sys.stdin)], sys.stdout)
"""


def function(text):
    """Return the function of a written file, in this process."""
    names = {}
    exec(compile(text, "calibrator.py", "exec"), names)  # noqa: S102 - our own text
    return names["calibrate"]


def bare(text, values, folder):
    path = folder / "calibrator.py"
    path.write_text(text)
    done = subprocess.run(  # noqa: S603 - our own text
        [*BARE, "-c", RUN, str(path)],
        input=json.dumps(np.asarray(values).tolist()),
        capture_output=True,
        text=True,
        check=True,
    )
    return np.array(json.loads(done.stdout))


@pytest.mark.parametrize("name", sorted(CURVE_NAMES))
def test_it_runs_in_a_bare_interpreter(name, tmp_path):
    gamma = fitted(name)
    values = scores_for(gamma, 2000, 5)
    found = bare(to_python.write(gamma), values, tmp_path)
    wanted = expected(gamma, values, "probs", from_scores=True)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["spline.score", "beta.score", "isotonic.score", "none.score"])
def test_it_takes_log_odds_that_no_score_can_hold(name):
    gamma = fitted(name)
    calibrate = function(to_python.write(gamma))
    eta = np.array([-np.inf, -800.0, -60.0, -1.0, 0.0, 0.5, 60.0, 740.0, np.inf])
    found = [calibrate(log_odds=float(x)) for x in eta]
    np.testing.assert_allclose(found, gamma.from_log_odds(eta), rtol=0, atol=1e-9)


def test_bad_values_are_refused():
    calibrate = function(to_python.write(fitted("spline.score")))
    for bad in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match=r"in \[0, 1\]"):
            calibrate(bad)


@pytest.mark.parametrize("name", sorted({*NAMES, *GROUP_NAMES} - CURVE_NAMES))
def test_what_reads_rows_or_groups_names_the_target_that_takes_it(name):
    with pytest.raises(ExportError, match=r"reads whole rows or groups.*--to onnx"):
        to_python.write(fitted(name))


@pytest.mark.parametrize(
    "text",
    [
        '__import__("os").system("id")',
        "x = ().__class__",
        "import os",
        "from os import system",
        "from math import sin",
        'open("x")',
        "def f():\n    while True:\n        pass",
        "class A:\n    pass",
        "@abs\ndef f():\n    pass",
        "f = __builtins__",
        "with x:\n    pass",
        "global x",
        "[].sort()",
        "(lambda: 1)()",
        "def f(:",
        "x = '\x00'",
        "[" * 5000,
    ],
)
def test_only_text_that_computes_is_run(text):
    good = to_python.write(fitted("platt.score"))
    run_python.check_text(good)
    with pytest.raises(ExportError, match="Python"):
        run_python.check_text(good + text + "\n")
    with pytest.raises(ExportError, match="Python"):
        to_python.run(good + text + "\n", np.zeros(1))


def test_the_process_that_checks_has_no_builtins_and_writes_nothing(monkeypatch, tmp_path):
    """Were the list of words to miss something, the process would still refuse it."""
    monkeypatch.setattr(run_python, "check_text", lambda _: None)
    good = to_python.write(fitted("none.score"))
    out = tmp_path / "x"
    for text in (f"open({str(out)!r}, 'w')", "import os", "from os import system"):
        with pytest.raises(ExportError, match=r"fails to run.*(open|__import__|os)"):
            to_python.run(f"{good}\n{text}\n", np.zeros(1))
    assert not out.exists()
