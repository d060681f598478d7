"""Groups beside MCGrad and fairlearn, where they are installed."""

import numpy as np
import pytest

from ogive import Predictions, measure_groups


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    n = 4000
    columns = {"country": rng.choice(["BR", "DE", "US"], n), "device": rng.choice(["a", "b"], n)}
    scores = rng.random(n)
    return scores, (rng.random(n) < scores**1.2).astype(int), columns, rng.gamma(2.0, size=n)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # its own, of a newer pandas
@pytest.mark.parametrize("weighted", [False, True])
def test_the_multicalibration_error_is_that_of_mcgrad(rows, weighted):
    metrics, pd = pytest.importorskip("mcgrad.metrics"), pytest.importorskip("pandas")
    scores, outcomes, columns, weight = rows
    frame = pd.DataFrame({"score": scores, "outcome": outcomes, "weight": weight, **columns})
    theirs = metrics.MulticalibrationError(
        frame,
        "outcome",
        "score",
        weight_column="weight" if weighted else None,
        categorical_segment_columns=list(columns),
        max_depth=2,
        max_values_per_segment_feature=5,
        min_samples_per_segment=1,
        max_n_segments=None,
        precision_dtype="float64",
    )
    how = {"sample_weight": weight, "weight_kind": "sampling"} if weighted else {}
    ours = measure_groups(Predictions(scores, outcomes, kind="probs", **how), columns)
    assert ours.multicalibration.kuiper.sigmas == pytest.approx(theirs.mce_sigma, rel=1e-9)
    assert len(ours.groups) + 1 == theirs.total_number_segments


def test_metrics_of_groups_are_those_of_fairlearn(rows):
    fairlearn = pytest.importorskip("fairlearn.metrics")
    from sklearn.metrics import brier_score_loss

    scores, outcomes, columns, _ = rows
    frame = fairlearn.MetricFrame(
        metrics={"brier": brier_score_loss, "base_rate": lambda y, _: np.mean(y)},
        y_true=outcomes,
        y_pred=scores,
        sensitive_features=columns["country"],
    ).by_group
    found = measure_groups(Predictions(scores, outcomes, kind="probs"), columns["country"])
    for one in found.groups:
        assert one.brier == pytest.approx(frame.loc[one.group, "brier"], rel=1e-12)
        assert one.base_rate == pytest.approx(frame.loc[one.group, "base_rate"], rel=1e-12)
