"""What README and docs claim of real outputs, on those that come with the package.

The paper's logits and the arena are not bundled; the tests that compare with their published
numbers (`arena` fixtures) run where those files are. Here each claim is checked without them.
"""

import numpy as np
import pytest
from scipy.special import softmax

import ogive
from ogive import Curve, Predictions
from ogive.studies.paper.study import paper_tables
from tests import naive
from tests.bundled import DEMO


@pytest.fixture(scope="module")
def arrays():
    with np.load(DEMO) as file:
        return dict(file)


@pytest.mark.parametrize("view", ["top-1", "top-2", "within-top-2", "class-6"])
def test_measures_of_a_real_network_equal_their_definitions(arrays, view):
    z, labels = arrays["test_logits"].astype(float), arrays["test_labels"]
    scores, hits = naive.scores_and_hits(view, z, softmax(z, axis=1), labels)
    curve = Curve.from_predictions(Predictions(z, labels, kind="logits"), view)
    assert ogive.ks_error(curve) == pytest.approx(naive.ks(scores, hits), abs=1e-12)
    edges = np.linspace(0, 1, 26)
    assert ogive.ece(curve, 25) == pytest.approx(naive.ece(scores, hits, edges), abs=1e-12)


@pytest.mark.filterwarnings("ignore::ogive.errors.FallbackWarning")
@pytest.mark.parametrize("method", ["temperature", "vector", "paper-spline"])
def test_the_study_of_the_paper_lowers_the_error_of_a_real_network(arrays, method):
    tables = paper_tables([DEMO], ["none", method])
    here = {(c.metric, c.method, c.knots): c.here for c in tables.cells}
    before = here["ks-top1", "none", None]
    test = Predictions(arrays["test_logits"], arrays["test_labels"], kind="logits")
    assert before == pytest.approx(ogive.ks_error(Curve.from_predictions(test)), abs=1e-12)
    after = here["ks-top1", method, 6 if method == "paper-spline" else None]
    assert after < before / 4
    accuracy = [here["accuracy", name, None] for name in ("none", method)]
    assert accuracy[1] == pytest.approx(accuracy[0], abs=0.01)  # every-rank may move decisions


@pytest.mark.filterwarnings("ignore::ogive.errors.OgiveWarning")
def test_the_default_is_among_the_best_by_log_loss(arrays, tmp_path):
    """Five experiments of different rows of one network; docs/arena.md has 31 of many models."""
    z, y = (np.concatenate([arrays[f"{part}_{key}"] for part in ("cal", "test")])
            for key in ("logits", "labels"))  # fmt: skip
    for i, rows in enumerate(np.array_split(np.random.default_rng(0).permutation(y.size), 5)):
        cal, test = rows[:1000], rows[1000:]
        np.savez(tmp_path / f"{i}.npz", cal_logits=z[cal], cal_labels=y[cal],
                 test_logits=z[test], test_labels=y[test])  # fmt: skip
    names = ["none", "platt", "isotonic", "beta", "histogram", "paper-spline", "spline"]
    rows = {row.method: row for row in ogive.arena(tmp_path, names, n_jobs=1).standings}
    ours = rows["spline"]
    assert ours.rank["nll"] == min(row.rank["nll"] for row in rows.values())
    assert ours.rank["brier"] == min(row.rank["brier"] for row in rows.values())
    assert ours.excess["nll"] <= 0.0005
