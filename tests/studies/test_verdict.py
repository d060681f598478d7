import numpy as np
import pytest

from ogive import Curve
from ogive.calibrators import METHODS
from ogive.studies import where_off
from ogive.studies.measure import measure
from ogive.studies.where_off import about_scores, ranges_off, spline_of


class Band:
    """A stand-in for the default calibrator: a map with a band of ±0.02."""

    def __init__(self, truth):
        self.truth = truth

    def __call__(self, scores):
        return self.truth(scores)

    def band(self, scores, simultaneous=False):
        return self.truth(scores) - 0.02, self.truth(scores) + 0.02


@pytest.mark.parametrize(
    ("truth", "words"),
    [
        (lambda s: s, ""),
        (lambda s: s - 0.1, "All scores are too high."),
        (lambda s: np.where(s > 0.9, 0.8, s), "Scores above 90 % are too high."),
        (lambda s: np.where(s < 0.5, s + 0.1, s), "Scores below 50 % are too low."),
        (  # a short stretch between two ranges that are off alike
            lambda s: np.where((s > 0.8) & (np.abs(s - 0.9) > 0.01), 0.5, s),
            "Scores above 80 % are too high.",
        ),
        (
            lambda s: np.where(np.abs(s - 0.5) < 0.1, 0.0, s),
            "Scores from 40 % to 60 % are too high.",
        ),
        (lambda s: np.where(s > 0.97, 0.5, s), ""),  # 3 % of the rows
        (
            lambda s: np.where(s < 0.3, s + 0.1, np.where(s > 0.8, s - 0.1, s)),
            "Scores below 30 % are too low; scores above 80 % are too high.",
        ),
    ],
)
def test_what_is_said_of_scores_comes_from_the_band(truth, words, monkeypatch):
    monkeypatch.setattr(where_off, "spline_of", lambda _: Band(truth))
    scores = (np.arange(1000) + 0.5) / 1000
    outcomes = np.diff(np.floor(np.cumsum(truth(scores).clip(0, 1))), prepend=0)  # at that rate
    assert about_scores(Curve.from_scores(scores, outcomes)) == words
    top = about_scores(Curve.from_scores(scores, outcomes, view="top-1"))
    for way, name in {"too high": "overconfident", "too low": "underconfident"}.items():
        words = words.replace(way, f"{way} ({name})")
    assert top == words


def test_scores_of_exactly_0_and_1_have_words_of_their_own(rng):
    scores = np.where(np.arange(2000) % 4 == 0, 0.0, np.where(np.arange(2000) % 4 == 1, 1.0, 0.5))
    chance = np.where(scores == 0.0, 0.1, np.where(scores == 1.0, 0.9, 0.5))
    words = about_scores(Curve.from_scores(scores, rng.random(2000) < chance))
    assert words == "Scores of 0 % are too low; scores of 100 % are too high."


def test_scores_whose_outcomes_are_all_alike_are_called_off(rng):
    scores = rng.uniform(0.4, 0.95, 600)
    hits = (scores > 0.5) | (rng.random(600) < 0.9)
    curve = Curve.from_scores(scores, hits)
    (found,) = ranges_off(curve, METHODS["spline"].fit(curve))
    assert found.direction == "too low"
    assert found.first < 0.45
    assert found.last > 0.88  # the band of the spline alone ends at 56 %


def calibrated(rng, n, m, drift=0.0):
    """Scores of m fresh rows by a spline that was fitted on n."""
    old, new = rng.normal(0.5, 1.5, n), rng.normal(0.5, 1.5, m)
    sigmoid = lambda x: 1.0 / (1.0 + np.exp(-x))  # noqa: E731
    gamma = METHODS["spline"].fit(
        Curve.from_scores(sigmoid(old), rng.random(n) < sigmoid(old / 1.5))
    )
    truth = sigmoid(new / 1.5 + drift)
    return Curve.from_scores(gamma(sigmoid(new)), rng.random(m) < truth)


def test_what_a_calibrator_leaves_is_compared_with_the_noise_of_its_fit():
    curve = calibrated(np.random.default_rng(3), 1000, 30_000)
    assert measure(curve).decision.miscalibrated  # no fitted map is exact
    found = measure(curve, fitted_on=1000)
    assert found.decision.miscalibrated is False
    assert found.decision.calibrate is None
    allowed = found.ks_test.detectable_half * np.sqrt(31.0)
    remains = f"the remaining KS error, {found.ks:.2%}, is no larger than sampling noise for 1,000 "
    remains += f"calibration rows (up to {allowed:.2%}; calibration test with that noise: p ="
    assert f"No miscalibration found: {remains.replace('%', ' %')}" in found.verdict


def test_more_than_the_noise_of_the_fit_is_miscalibration():
    found = measure(calibrated(np.random.default_rng(4), 1000, 5000, drift=0.5), fitted_on=1000)
    assert found.decision.miscalibrated
    assert found.verdict.startswith("Miscalibrated: the remaining KS error, ")
    assert "is larger than sampling noise for 1,000 calibration rows (up to " in found.verdict
    assert found.verdict.endswith("Fit a calibrator to the model's own outputs on rows like these.")


def test_no_score_is_too_low_where_no_outcome_is_one():
    odds = np.concatenate([np.linspace(-80.0, -5.0, 100), np.linspace(-5.0, 30.0, 185)])
    scores = 1.0 / (1.0 + np.exp(-odds))
    curve = Curve.from_scores(scores, np.zeros(285))
    found = ranges_off(curve, spline_of(curve))
    assert {one.direction for one in found} == {"too high"}
