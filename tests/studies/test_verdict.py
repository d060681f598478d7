from types import SimpleNamespace

import numpy as np
import pytest

from ogive import Curve
from ogive.calibrators import METHODS
from ogive.studies.verdict import about_scores


class Band:
    """A stand-in for the default calibrator: a map with a band of ±0.02."""

    def __init__(self, truth):
        self.truth = truth

    def band(self, scores):
        return self.truth(scores) - 0.02, self.truth(scores) + 0.02


@pytest.mark.parametrize(
    ("truth", "words"),
    [
        (lambda s: s, ""),
        (lambda s: s - 0.1, " Too high at all scores."),
        (lambda s: np.where(s > 0.9, 0.8, s), " Too high above 0.9."),
        (lambda s: np.where(s < 0.5, s + 0.1, s), " Too low below 0.5."),
        (lambda s: np.where(np.abs(s - 0.5) < 0.1, 0.0, s), " Too high from 0.4 to 0.6."),
        (lambda s: np.where(s > 0.97, 0.5, s), ""),  # 3 % of the rows
        (
            lambda s: np.where(s < 0.3, s + 0.1, np.where(s > 0.8, s - 0.1, s)),
            " Too low below 0.3; too high above 0.8.",
        ),
    ],
)
def test_what_is_said_of_scores_comes_from_the_band(truth, words, monkeypatch):
    method = SimpleNamespace(fit=lambda curve: Band(truth))
    monkeypatch.setitem(METHODS, "spline", method)
    scores = (np.arange(1000) + 0.5) / 1000
    assert about_scores(Curve.from_scores(scores, scores > 0.5)) == words
    top = about_scores(Curve.from_scores(scores, scores > 0.5, view="top-1"))
    names = {"Too high": "Overconfident", "Too low": "Underconfident"}
    for plain, name in names.items():
        words = words.replace(plain, name).replace(plain.lower(), name.lower())
    assert top == words
