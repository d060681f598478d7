"""What a fit, a decision or a shift cannot do is said with the way out."""

import numpy as np
import pytest

import ogive
from ogive import Curve, Predictions
from ogive.errors import DoesNotApply, InvalidInput, InvalidType
from ogive.studies.fitting import fit
from ogive.studies.shifting import shift_file


@pytest.fixture
def preds(rng):
    z = rng.normal(size=(300, 3))
    return Predictions(z, (z + rng.gumbel(size=z.shape)).argmax(axis=1), kind="logits")


def test_ways_to_make_vectors_are_for_vectors(preds):
    with pytest.raises(InvalidInput, match=r"Name the view, such as top-1"):
        fit(preds, "spline:score-only", "vector")
    with pytest.raises(InvalidInput, match="'isotonic:ovr' makes whole vectors: use it with view="):
        fit(preds, "isotonic:ovr", "top-1")
    assert fit(preds, "isotonic:ovr", "vector").K == 3


def test_what_is_neither_predictions_nor_a_curve(preds):
    with pytest.raises(InvalidType, match=r"`data` must be Predictions or a Curve, not list"):
        fit([0.1, 0.2])
    with pytest.raises(InvalidInput, match="have their own labels, kind, classes and clusters"):
        ogive.measure(preds, kind="logits")


def test_actions_need_the_probabilities_of_every_class(preds):
    curve = Curve.from_predictions(preds, view="class-1")
    costs = np.ones((3, 2))
    with pytest.raises(DoesNotApply, match="needs the probabilities of every class"):
        ogive.decide(curve, costs=costs)
    other = ogive.fit_platt(Curve.from_predictions(preds, view="class-2"))
    with pytest.raises(DoesNotApply, match=r"of the view 'class-2', not 'class-1'\. Fit one"):
        ogive.decide(preds, miss=2, alarm=1, calibrator=other, view="class-1")


def test_a_calibrator_without_its_base_rate_needs_one(tmp_path, preds):
    path = tmp_path / "cal.json"
    ogive.save(ogive.fit_platt(Curve.from_predictions(preds, view="class-1")), path)
    np.savez(tmp_path / "new.npz", scores=np.full(9, 0.5))
    words = "does not say the base rate of the rows it was fitted on: give it with --trained-at"
    with pytest.raises(InvalidInput, match=words):
        shift_file(path, tmp_path / "out.json", 0.1)
    with pytest.raises(InvalidInput, match=words):
        ogive.shift_like(path, tmp_path / "out.json", tmp_path / "new.npz")
    assert not (tmp_path / "out.json").exists()
