"""scikit-learn's own checks."""

import os
import warnings

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

import ogive
from ogive.calibrators import METHODS
from tests.estimators.curve_calibrators import CALIBRATORS

NOT_CLASSES = (
    "feeds features: the labels are three classes and X has two columns, "
    "but a calibrator needs a column for each class"
)
EXPECTED_TO_FAIL = dict.fromkeys(
    [
        "check_classifiers_classes",
        "check_classifiers_train",
        "check_estimators_fit_returns_self",
        "check_estimators_overwrite_params",
        "check_readonly_memmap_input",
    ],
    NOT_CLASSES,
)


def outcomes(estimator, expected=None):
    """The status of every check, and the message of those that failed."""
    with warnings.catch_warnings():  # tiny samples, features that happen to sum to 1
        warnings.simplefilter("ignore")
        return check_estimator(
            estimator, expected_failed_checks=expected, on_fail=None, on_skip=None
        )


def failures(results):
    return {r["check_name"]: str(r["exception"]) for r in results if r["status"] == "failed"}


@pytest.mark.parametrize(
    "method",
    [pytest.param(m, marks=[pytest.mark.thorough] * (m != "spline")) for m in METHODS],
)
def test_a_calibrated_classifier_passes_every_check(method):
    if getattr(METHODS[method], "slow", False) and not os.environ.get("OGIVE_SLOW_TESTS"):
        pytest.skip("takes minutes: set OGIVE_SLOW_TESTS=1")
    results = outcomes(ogive.CalibratedClassifier(LogisticRegression(), method=method))
    assert failures(results) == {}
    assert any(r["status"] == "passed" for r in results)


@pytest.mark.parametrize("calibrator", CALIBRATORS)
def test_calibrators_pass_every_check_that_feeds_classes(calibrator):
    results = outcomes(calibrator(), EXPECTED_TO_FAIL)
    assert failures(results) == {}
    assert any(r["status"] == "passed" for r in results)
    xfailed = {r["check_name"]: str(r["exception"]) for r in results if r["status"] == "xfail"}
    assert set(xfailed) == set(EXPECTED_TO_FAIL)  # none is listed without need
    assert all("one for each column" in m or "for 2 columns" in m for m in xfailed.values())
