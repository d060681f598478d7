"""Estimators that know the group of each row: given beside X, or as columns of a table."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ogive
from ogive.errors import InvalidInput, InvalidType
from ogive.rows.predictions import Predictions
from ogive.studies.fitting import fit
from tests import naive


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    z, country = rng.normal(size=4000) * 2, rng.choice(["BR", "DE", "US"], 4000)
    p = 1 / (1 + np.exp(-(z + np.where(country == "BR", -1.0, 0.3))))
    return z, (rng.random(z.size) < p).astype(int), country


def curves_of(z, y, country, weight=None, **how):
    return {
        str(c): ogive.Curve.from_predictions(
            Predictions(
                z[country == c],
                y[country == c],
                kind="logits",
                sample_weight=None if weight is None else weight[country == c],
                **how,
            )
        )
        for c in np.unique(country)
    }


def test_fit_with_groups_is_fit_groups_of_their_curves(rows):
    z, y, country = rows
    preds = Predictions(z, y, kind="logits")
    gamma = fit(preds, groups={"country": country})
    wanted = ogive.fit_groups(curves_of(*rows), by="country")
    assert gamma == wanted
    with pytest.raises(InvalidType, match="of rows: give Predictions"):
        fit(next(iter(curves_of(*rows).values())), groups=country)
    with pytest.raises(InvalidInput, match="not 'platt'"):
        fit(preds, "platt", groups=country)
    with pytest.raises(InvalidInput, match="`groups` must have one entry per row"):
        fit(preds, groups=country[1:])
    with pytest.raises(InvalidInput, match="looks like an identifier"):
        fit(preds, groups=np.arange(z.size))


def test_groups_of_a_view_of_a_matrix():
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(3000, 3)) * 2
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    gamma = fit(Predictions(logits, labels, kind="logits"), view="top-1", groups=labels % 2)
    assert gamma.view == "top-1"
    with pytest.raises(InvalidInput, match="one view: give one, such as view='top-1'"):
        fit(Predictions(logits, labels, kind="logits"), view="vector", groups=labels % 2)


@pytest.mark.parametrize("weight_kind", ["repetition", "sampling"])
def test_the_spline_calibrator_takes_groups_and_weights(rows, weight_kind):
    z, y, country = rows
    weight = np.random.default_rng(2).integers(1, 4, z.size).astype(float)
    made = ogive.SplineCalibrator(weight_kind=weight_kind)
    made.fit(z, y, weight, sample_groups=country)
    wanted = ogive.fit_groups(curves_of(*rows, weight, weight_kind=weight_kind), by="group")
    assert made.map_ == wanted
    q = made.predict_proba(z, country)
    np.testing.assert_allclose(q.sum(axis=1), 1.0)
    np.testing.assert_allclose(q[:, 1], wanted.from_log_odds(z, country), atol=1e-9)
    assert (made.predict(z, country) == q.argmax(axis=1)).all()
    assert made.score(z, y, sample_groups=country) == np.mean(made.predict(z, country) == y)
    assert made.spline_ == made.map_.overall
    again = pickle.loads(pickle.dumps(made))  # noqa: S301 - our own
    np.testing.assert_array_equal(again.predict_proba(z, country), q)
    assert "shift 100 %" in str(made.summary())
    assert made.summary().to_dict()["largest"][0]["group"] == "BR"


def test_groups_may_be_columns_of_a_table(rows):
    pd = pytest.importorskip("pandas")
    z, y, country = rows
    device = np.where(np.arange(z.size) % 2, "d", "m")
    table = pd.DataFrame({"z": z, "country": country, "device": device})
    one = ogive.SplineCalibrator(groups="country").fit(table[["z", "country"]], y)
    beside = ogive.SplineCalibrator().fit(z, y, sample_groups=country)
    np.testing.assert_array_equal(
        one.predict_proba(table[["z", "country"]]), beside.predict_proba(z, country)
    )
    assert clone(one).groups == "country"
    assert one.map_.by == "country"
    two = ogive.SplineCalibrator(groups=["country", "device"]).fit(table, y)
    assert two.map_.columns == ("country", "device")
    mixed = table[["device", "z", "country"]]  # the columns are found by name
    named = two.map_.from_log_odds(z, mixed)
    np.testing.assert_allclose(named, two.predict_proba(table)[:, 1], atol=1e-9)
    with pytest.raises(InvalidInput, match="names the column 'country', but X has no such column"):
        one.predict_proba(z)
    with pytest.raises(InvalidInput, match="not both"):
        one.fit(table, y, sample_groups=country)


def test_what_is_missing_is_said(rows):
    z, y, country = rows
    made = ogive.SplineCalibrator().fit(z, y, sample_groups={"country": country})
    with pytest.raises(InvalidInput, match=r"fitted with groups \(country\).*sample_groups="):
        made.predict_proba(z)
    with pytest.raises(InvalidInput, match="no column 'country'"):
        made.predict_proba(z, {"land": country})
    with pytest.raises(InvalidInput, match="fitted without groups"):
        ogive.SplineCalibrator().fit(z, y).predict_proba(z, country)
    with pytest.raises(InvalidInput, match="need two classes, but there are 3"):
        ogive.SplineCalibrator().fit(
            3 * np.eye(3)[y + (country == "US")], y + (country == "US"), sample_groups=country
        )
    with pytest.raises(InvalidInput, match="leave `monotone` out"):
        ogive.SplineCalibrator(monotone=True).fit(z, y, sample_groups=country)


def test_an_impossible_class_stays_impossible(rows):
    z, y, country = rows
    made = ogive.SplineCalibrator().fit(np.stack([-z, z], axis=1), y, sample_groups=country)
    q = made.predict_proba([[0.0, -np.inf], [-np.inf, 0.0]], ["BR", "US"])
    np.testing.assert_array_equal(q, [[1.0, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize("options", [{}, {"ensemble": True}, {"cv": "prefit"}])
def test_a_calibrated_classifier_takes_groups(rows, options):
    z, y, country = rows
    X = z[:, None]
    model = LogisticRegression().fit(X[:500], y[:500]) if "cv" in options else LogisticRegression()
    made = ogive.CalibratedClassifier(model, **options)
    made.fit(X, y, sample_groups={"country": country})
    assert all(gamma.by == "country" for gamma in made.maps_)
    assert len(made.summaries()) == len(made.maps_)
    before = ogive.CalibratedClassifier(model, **options).fit(X, y).predict_proba(X)[:, 1]
    after = made.predict_proba(X, country)[:, 1]
    at = country == "BR"
    assert abs(after[at].mean() - y[at].mean()) < 0.02 < abs(before[at].mean() - y[at].mean())
    assert naive.nll(after, y) < naive.nll(before, y)
    with pytest.raises(InvalidInput, match="has 3,999 rows, but X has 4,000"):
        made.fit(X, y, sample_groups=country[1:])
    with pytest.raises(InvalidInput, match="fitted without groups"):
        ogive.CalibratedClassifier(model, **options).fit(X, y).predict(X, country)
    with pytest.raises(InvalidInput, match="not 'platt'"):
        ogive.CalibratedClassifier(model, "platt", **options).fit(X, y, sample_groups=country)


def test_groups_go_through_metadata_routing(rows):
    z, y, country = rows
    X = z[:, None]
    with sklearn.config_context(enable_metadata_routing=True):
        made = ogive.CalibratedClassifier(LogisticRegression())
        asks = made.set_fit_request(sample_groups=True).set_predict_request(sample_groups=True)
        asks = asks.set_predict_proba_request(sample_groups=True)
        asks = asks.set_score_request(sample_groups=True)
        pipe = make_pipeline(StandardScaler(), asks).fit(X, y, sample_groups=country)
        q = pipe.predict_proba(X, sample_groups=country)[:, 1]
        assert abs(q[country == "BR"].mean() - y[country == "BR"].mean()) < 0.01
        found = cross_val_score(asks, X, y, cv=2, params={"sample_groups": country})
    assert (found > 0.7).all()
