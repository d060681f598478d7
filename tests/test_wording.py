"""The words of a verdict are written in one module, which all others read."""

import ast
from pathlib import Path

import pytest

import ogive
from ogive import _wording

ROOT = Path(ogive.__file__).parent
WORDS = {
    *(_wording.TOO_HIGH, _wording.TOO_LOW, _wording.NONE_FOUND, *_wording.CONFIDENCE.values()),
    *(_wording.FOUND, _wording.LIKELY, _wording.NOT_FOUND, _wording.NO_VERDICT),
    *(_wording.LEAVE_ALONE, _wording.TOO_FEW_ROWS, _wording.NOT_DIFFERENT),
}


def texts(path):
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.value for node in nodes if isinstance(node, ast.Constant)}


def test_the_words_of_a_verdict_are_in_one_place():
    files = [path for path in sorted(ROOT.rglob("*.py")) if path.name != "_wording.py"]
    known = [(path.name, one) for path in files for one in texts(path) if isinstance(one, str)]
    assert [(name, one) for name, one in known if one.strip(" :.") in WORDS] == []


@pytest.mark.parametrize(
    ("tone", "found", "calibrated", "words"),
    [
        ("unknown", False, False, "Too few rows to say"),
        ("fine", False, False, "No miscalibration found"),
        ("slight", False, False, "Miscalibration is likely"),
        ("calibrated", False, True, "Miscalibration is likely; calibration helps"),
        ("calibrated", True, True, "Miscalibrated; calibration corrects it"),
        ("off", True, True, "Miscalibrated; calibration corrects part of it"),
        ("slight", True, False, "Slightly miscalibrated"),
        ("off", True, False, "Miscalibrated"),
    ],
)
def test_a_headline_says_what_was_found_and_done(tone, found, calibrated, words):
    assert _wording.headline_words(tone, found=found, calibrated=calibrated) == words


@pytest.mark.parametrize(
    ("decision", "rows", "method", "found", "words"),
    [
        ("too few rows", 900, "", False, "Collect about 900 labelled rows before deciding."),
        ("too few rows", None, "", False, "Collect more labelled rows before deciding."),
        ("calibrate", None, "platt", True, "Calibrate the scores with platt before they are used."),
        ("calibrate", None, "", True, "Calibrate the scores: fit a calibrator on rows that are "),
        ("leave alone", None, "", True, "Fit a calibrator on other rows, and see whether"),
        ("leave alone", None, "spline", True, "Leave the scores as they are."),
        (None, None, "", False, "Leave the scores as they are."),
    ],
)
def test_advice_follows_the_decision(decision, rows, method, found, words):
    assert _wording.advice_words(decision, rows, method, found=found).startswith(words)


def test_a_size_that_no_error_can_have_is_not_named():
    assert "with 20 rows a KS error below 31.00 %" in _wording.too_few_words(20, 0.31, 200)
    assert _wording.too_few_words(1, 1.41, 200) == (
        "Too few rows to say: about 200 rows would settle it."
    )
