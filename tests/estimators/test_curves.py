import pickle

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import ogive
from ogive import Curve, Predictions, ks_error
from ogive.errors import GuessedLabels, InvalidInput, LooksLikeProbabilities, UnknownName
from tests.calibrators.multiclass.samples import sample
from tests.estimators.curve_calibrators import CALIBRATORS


@pytest.fixture
def rows(rng):
    return sample(rng, n=2000, K=4)


@pytest.mark.parametrize("calibrator", CALIBRATORS)
def test_it_calibrates_and_keeps_the_decision(calibrator, rows):
    logits, y = rows
    cal = calibrator().fit(logits[:1000], y[:1000])
    q = cal.predict_proba(logits[1000:])
    test = Predictions(logits[1000:], y[1000:], kind="logits")
    before = ks_error(Curve.from_predictions(test))
    after = ks_error(Curve.from_predictions(Predictions(q, y[1000:], kind="probs")))
    assert after < before / 3
    assert (cal.predict(logits[1000:]) == logits[1000:].argmax(axis=1)).all()
    assert cal.score(logits[1000:], y[1000:]) == np.mean(logits[1000:].argmax(axis=1) == y[1000:])


@pytest.mark.parametrize("calibrator", CALIBRATORS)
def test_parameters_are_untouched_and_clone(calibrator, rows):
    cal = calibrator(kind="logits", multiclass="ovr", classes=[0, 1, 2, 3], n_jobs=1)
    before = dict(vars(cal))
    assert clone(cal).get_params() == cal.get_params()
    cal.fit(*rows)
    assert {name: vars(cal)[name] for name in before} == before
    told = {"spline_", "_judged"} if calibrator is ogive.SplineCalibrator else set()
    assert {name for name in vars(cal) if name not in before} == told | {
        "class_shares_",
        "classes_",
        "kind_",
        "map_",
        "n_features_in_",
        "_order",
    }
    again = pickle.loads(pickle.dumps(cal))  # noqa: S301
    np.testing.assert_array_equal(again.predict_proba(rows[0]), cal.predict_proba(rows[0]))


def test_the_options_reach_the_method(rows):
    coarse = ogive.HistogramCalibrator(bins=2, spacing="width").fit(*rows)
    assert coarse.map_.maps[0].value.size == 2
    assert coarse.map_.maps[0].spacing == "width"
    paper = ogive.PaperSplineCalibrator(knots=4, target="cumulative", constraint="unit").fit(*rows)
    first = paper.map_.maps[0]
    assert (first.spline.knots.size, first.target, first.constraint) == (4, "cumulative", ("unit",))
    assert len(ogive.PlattCalibrator(multiclass="ovr").fit(*rows).map_.maps) == 4
    assert ogive.PlattCalibrator(multiclass="every-rank").fit(*rows).map_.method == "every-rank"


def test_the_fitted_map_is_an_artifact(rows, tmp_path):
    cal = ogive.BetaCalibrator().fit(*rows)
    ogive.save(cal.map_, tmp_path / "cal.json")
    preds = Predictions(rows[0], kind="logits")
    np.testing.assert_array_equal(
        ogive.load(tmp_path / "cal.json")(preds), cal.predict_proba(rows[0])
    )


def test_probabilities_must_be_named(rows):
    logits, y = rows
    probs = Predictions(logits, kind="logits").probabilities()
    with pytest.warns(LooksLikeProbabilities, match="kind='probs'"):
        ogive.PlattCalibrator(kind="logits").fit(probs, y)
    for values, labels in ((probs, y), (probs[:, 0], y == 0), (probs[:, :1], y == 0)):
        with pytest.raises(InvalidInput, match=r"kind='probs'.*kind='logits'"):
            ogive.PlattCalibrator().fit(values, labels)
    with pytest.warns(LooksLikeProbabilities, match="the largest is .*Percent"):
        ogive.PlattCalibrator().fit(100.0 * probs[:, 0], y == 0)
    a = ogive.PlattCalibrator(kind="probs").fit(probs, y).predict_proba(probs)
    preds = Predictions(logits, y, kind="logits")
    b = ogive.fit_multiclass(preds, "platt", multiclass="ranks", rescale=False)(preds)
    np.testing.assert_allclose(a, b, atol=1e-9)


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_one_column_is_class_1_of_two(rng, shape):
    eta = rng.normal(size=900)
    y = np.where(rng.random(900) < 1 / (1 + np.exp(-2 * eta)), "yes", "no")
    with pytest.raises(InvalidInput, match=r"are 'no', 'yes'.*classes=\["):
        ogive.PlattCalibrator().fit(eta.reshape(shape), y)
    cal = ogive.PlattCalibrator(classes=["no", "yes"]).fit(eta.reshape(shape), y)
    assert cal.classes_.tolist() == ["no", "yes"]
    q = cal.predict_proba(eta.reshape(shape))
    assert q.shape == (900, 2)
    assert q[eta.argmax(), 1] > 0.9
    assert cal.n_features_in_ == 1


def test_two_columns_keep_the_decision_or_have_one_curve(rng):
    eta = rng.normal(1.0, 1.0, size=900)
    X = np.stack([np.zeros(900), eta], axis=1)
    y = (rng.random(900) < 1 / (1 + np.exp(-2 * (eta - 1.5)))).astype(int)
    keep = ogive.PlattCalibrator().fit(X, y)
    assert (keep.predict(X) == (eta > 0)).all()
    ovr = ogive.PlattCalibrator(multiclass="ovr").fit(X, y).predict_proba(X)
    single = ogive.PlattCalibrator().fit(eta, y).predict_proba(eta)
    np.testing.assert_allclose(ovr, single, atol=1e-12)


def test_class_names(rows):
    logits, y = rows
    names = np.array(["ant", "bee", "cat", "dog"])
    for labels in (names[y], names[y].astype(object)):
        cal = ogive.PlattCalibrator().fit(logits, labels)
        assert cal.classes_.tolist() == names.tolist()
        assert set(cal.predict(logits)) <= set(names)
    swapped = ogive.PlattCalibrator(classes=["dog", "cat", "bee", "ant"])
    q = swapped.fit(logits[:, ::-1], names[y]).predict_proba(logits[:, ::-1])
    np.testing.assert_allclose(q[:, ::-1], cal.predict_proba(logits), atol=1e-12)
    assert ogive.PlattCalibrator().fit(logits[:, 0], y > 1).classes_.tolist() == [False, True]


def test_missing_classes_are_fine_where_labels_are_columns(rows):
    logits, y = rows
    cal = ogive.PlattCalibrator().fit(logits[y != 2], y[y != 2])
    assert cal.classes_.tolist() == [0, 1, 2, 3]
    with pytest.raises(InvalidInput, match="3 distinct names for 4 columns"):
        ogive.PlattCalibrator().fit(logits[y != 2], np.array(list("abcd"))[y[y != 2]])


def test_sample_weight_is_repetition(rows, rng):
    logits, y = rows
    w = rng.integers(0, 3, 2000)
    weighted = ogive.PlattCalibrator().fit(logits, y, sample_weight=w)
    repeated = ogive.PlattCalibrator().fit(np.repeat(logits, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(
        weighted.predict_proba(logits), repeated.predict_proba(logits), atol=1e-8
    )


def test_in_a_pipeline_a_search_and_with_joblib(rng):
    from sklearn.datasets import make_classification

    X, y = make_classification(900, n_informative=6, n_classes=3, random_state=0)
    scores = cross_val_predict(LogisticRegression(), X, y, method="decision_function")
    pipe = make_pipeline(FunctionTransformer(), ogive.PlattCalibrator())
    assert pipe.fit(scores, y).predict_proba(scores).shape == (900, 3)
    search = GridSearchCV(
        ogive.HistogramCalibrator(),
        {"bins": [1, 10], "spacing": ["mass", "width"], "multiclass": ["keep", "ovr"]},
        scoring="neg_log_loss",
        error_score="raise",
    ).fit(scores, y)
    assert search.best_params_["bins"] == 10
    jobs = (joblib.delayed(ogive.PlattCalibrator().fit)(scores, y) for _ in range(2))
    first, second = joblib.Parallel(n_jobs=2)(jobs)
    assert first.map_ == second.map_


def test_data_frames_and_their_names(rows):
    pd = pytest.importorskip("pandas")
    logits, y = rows
    frame = pd.DataFrame(logits, columns=list("abcd"))
    with pytest.warns(GuessedLabels, match="named a, b, c, d: label 0 is taken for the first"):
        cal = ogive.PlattCalibrator().fit(frame, pd.Series(y))
    assert cal.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_array_equal(cal.predict_proba(frame), cal.predict_proba(frame.copy()))
    with pytest.raises(ValueError, match="feature names"):
        cal.predict_proba(frame[list("dcba")])
    one = ogive.PlattCalibrator().fit(frame["a"], pd.Series(y > 1))
    assert one.predict_proba(frame["a"]).shape == (2000, 2)


def test_metadata_is_routed(rows, rng):
    logits, y = rows
    w = rng.integers(1, 4, 2000)
    with sklearn.config_context(enable_metadata_routing=True):
        cal = ogive.PlattCalibrator().set_fit_request(sample_weight=True)
        routed = make_pipeline(FunctionTransformer(), cal).fit(logits, y, sample_weight=w)
    direct = ogive.PlattCalibrator().fit(logits, y, sample_weight=w)
    assert routed[-1].map_ == direct.map_


def test_as_a_calarena_calibrator(rows):
    # An object with fit(p_cal, y_cal) and predict_proba(p_test), on probabilities.
    logits, y = rows
    p = Predictions(logits, kind="logits").probabilities()
    for p_cal, labels in ((p, y), (p[:, 1] / (p[:, 0] + p[:, 1]), y % 2)):
        cal = ogive.BetaCalibrator(kind="probs")
        assert cal.fit(p_cal, labels) is cal
        np.testing.assert_allclose(cal.predict_proba(p_cal).sum(axis=1), 1.0, atol=1e-12)


def test_wrong_input_is_refused(rows):
    logits, y = rows
    with pytest.raises(InvalidInput, match=r"one class only \(1\)"):
        ogive.PlattCalibrator().fit(logits, np.ones(2000, dtype=int))
    with pytest.raises(InvalidInput, match="one class only"):
        ogive.PlattCalibrator().fit(logits, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(InvalidInput, match="no NaN and no"):
        ogive.PlattCalibrator().fit(np.where(logits > 9, np.nan, logits), y)
    with pytest.raises(UnknownName, match=r"unknown multiclass 'fre'\. Did you mean 'free'"):
        ogive.PlattCalibrator(multiclass="fre").fit(logits, y)
    with pytest.raises(
        InvalidInput, match=r"for method='spline', not 'platt'\. Use multiclass='ranks'"
    ):
        ogive.PlattCalibrator(multiclass="free").fit(logits, y)
    with pytest.raises(UnknownName, match="Did you mean 'probs'"):
        ogive.PlattCalibrator(kind="prob").fit(logits, y)
    with pytest.raises(NotFittedError):
        ogive.PlattCalibrator().predict(logits)
    with pytest.raises(ValueError, match="expecting 4 features"):
        ogive.PlattCalibrator().fit(logits, y).predict_proba(logits[:, :3])
    np.testing.assert_allclose(
        ogive.PlattCalibrator(n_jobs=-1).fit(logits, y).predict_proba(logits),
        ogive.PlattCalibrator(n_jobs=1).fit(logits, y).predict_proba(logits),
    )


def test_tensors_go_into_estimators():
    torch = pytest.importorskip("torch")
    values = np.random.default_rng(0).normal(size=(90, 3)).astype(np.float32)
    y = np.arange(90) % 3
    plain = ogive.SplineCalibrator().fit(values, y).predict_proba(values)
    tensor = torch.tensor(values, requires_grad=True)
    given = ogive.SplineCalibrator().fit(tensor, torch.tensor(y)).predict_proba(tensor)
    np.testing.assert_array_equal(given, plain)
    half = ogive.SplineCalibrator().fit(tensor.bfloat16(), y).predict_proba(tensor.bfloat16())
    np.testing.assert_allclose(half, plain, atol=0.02)


@pytest.mark.parametrize("name", sorted(n for n in ogive.__all__ if n.endswith("Calibrator")))
def test_what_weights_mean_is_a_parameter(name, rng):
    z, w = 3 * rng.normal(size=(400, 3)), rng.exponential(size=400)
    y = (z / 3 + rng.gumbel(size=(400, 3))).argmax(axis=1)
    grid = {"strengths": [0.1], "offset_strengths": [0.1]}
    own = grid if name in {"MatrixCalibrator", "DirichletCalibrator"} else {}
    cal = getattr(ogive, name)(weight_kind="sampling", **own)
    one, two = (cal.fit(z, y, sample_weight=unit * w).predict_proba(z) for unit in (1.0, 100.0))
    np.testing.assert_allclose(one, two, atol=1e-6)  # sampling weights have no unit
    with pytest.raises(UnknownName, match="weight_kind"):
        cal.set_params(weight_kind="survey").fit(z, y, w)


def test_intervals_of_the_calibrated_probability(rng):
    eta = rng.normal(size=500) * 2
    y = rng.random(500) < 1 / (1 + np.exp(-eta))
    for cal in (ogive.SplineCalibrator(), ogive.VennAbersCalibrator()):
        cal.fit(eta, y)
        low, high = cal.predict_interval(eta).T
        q = cal.predict_proba(eta)[:, 1]
        assert ((low <= q) & (q <= high)).all()
    wide = ogive.SplineCalibrator().fit(eta, y).predict_interval(eta, simultaneous=True)
    near = ogive.SplineCalibrator().fit(eta, y).predict_interval(eta)
    assert (wide[:, 0] < near[:, 0]).all()
    with pytest.raises(InvalidInput, match="'platt' has no band: fit the method 'spline'"):
        ogive.PlattCalibrator().fit(eta, y).predict_interval(eta)
    with pytest.raises(NotFittedError):
        ogive.SplineCalibrator().predict_interval(eta)


def test_estimators_at_another_base_rate(rng):
    eta = rng.normal(size=500) * 2
    y = rng.random(500) < 1 / (1 + np.exp(-eta))
    cal = ogive.SplineCalibrator().fit(eta, y)
    moved = cal.with_base_rate(0.01)
    q, before = moved.predict_proba(eta)[:, 1], cal.predict_proba(eta)[:, 1]
    odds = (0.01 / 0.99) / (y.mean() / (1 - y.mean()))
    np.testing.assert_allclose(q / (1 - q), odds * before / (1 - before), rtol=1e-9)
    low, high = moved.predict_interval(eta).T
    assert ((low < q) & (q < high)).all()
    again = moved.with_base_rate(y.mean())  # from where the first shift ended
    np.testing.assert_allclose(again.predict_proba(eta)[:, 1], before, rtol=1e-9)
    with pytest.raises(InvalidInput, match="must be above 0 and below 1"):
        cal.with_base_rate(0.0)
    with pytest.raises(NotFittedError):
        ogive.SplineCalibrator().with_base_rate(0.1)


def test_a_classifier_at_another_base_rate(rng):
    X = rng.normal(size=(300, 2))
    y = rng.random(300) < 1 / (1 + np.exp(-2 * X[:, 0]))
    for ensemble in (False, True):
        model = ogive.CalibratedClassifier(LogisticRegression(), ensemble=ensemble).fit(X, y)
        moved = model.with_base_rate(0.05)
        assert moved.predict_proba(X)[:, 1].mean() < 0.3 * model.predict_proba(X)[:, 1].mean()
        assert model.maps_[0].method != "shifted-vector"  # a copy


def test_the_band_allows_for_clusters(rng):
    code = np.repeat(np.arange(40), 20)
    eta = rng.normal(size=800) + rng.normal(size=40)[code]
    draw = np.where(rng.random(800) < 0.7, rng.random(40)[code], rng.random(800))
    y, new = draw < 1 / (1 + np.exp(-eta)), np.array([-1.0, 0.0, 1.0])
    alone = ogive.SplineCalibrator().fit(eta, y).predict_interval(new)
    found = ogive.SplineCalibrator().fit(eta, y, clusters=code).predict_interval(new)
    curve = Curve.from_scores(1 / (1 + np.exp(-eta)), y, clusters=code)
    low, high = ogive.fit_spline(curve).band(1 / (1 + np.exp(-new)))
    np.testing.assert_allclose(found, np.stack([low, high], axis=1), rtol=1e-6)
    assert (np.diff(found) > np.diff(alone)).all()
    with pytest.raises(InvalidInput, match="`clusters`"):
        ogive.PlattCalibrator().fit(eta, y, clusters=code[:-1])
