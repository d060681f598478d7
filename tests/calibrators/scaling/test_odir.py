import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from ogive import Curve, Predictions, ks_error, load, save
from ogive.calibrators.scaling import odir
from ogive.calibrators.scaling.odir import DirOdirMap, MsOdirMap, fit_dir_odir, fit_ms_odir
from ogive.calibrators.scaling.odir_search import splits
from ogive.calibrators.scaling.temperature import TemperatureMap
from ogive.errors import FallbackWarning
from ogive.rows.views import score_rows
from tests import naive

GRID = dict(strengths=[0.001, 0.1, 10.0], offset_strengths=[0.01, 1.0])


def sample(rng, n=150, K=3):
    logits = 3.0 * rng.normal(size=(n, K))
    W = 0.4 * np.eye(K) + 0.1 * rng.normal(size=(K, K))
    return logits, (logits @ W.T + rng.gumbel(size=(n, K))).argmax(axis=1)


@pytest.mark.parametrize("fit", [fit_ms_odir, fit_dir_odir])
def test_each_fold_model_is_the_minimum_of_the_slow_definition(rng, fit):
    logits, labels = sample(rng)
    gamma = fit(Predictions(logits, labels, kind="logits"), **GRID)
    x = naive.centred(logits) if fit is fit_ms_odir else log_softmax(logits, axis=1)
    strengths = gamma.strength, gamma.offset_strength
    train = splits(150, 5, 15)[0][0]

    def slow(W, b):
        return naive.matrix_loss(W, b, x[train], labels[train], *strengths)

    W, b = gamma.matrix[0].copy(), gamma.offset[0].copy()
    best = slow(W, b)
    for i, j in np.ndindex(3, 3):
        for step in (-1e-3, 1e-3):
            moved = W.copy()
            moved[i, j] += step
            assert slow(moved, b) > best - 1e-9
    for j in range(3):
        for step in (-1e-3, 1e-3):
            assert slow(W, b + step * np.eye(3)[j]) > best - 1e-9


def test_the_pair_is_the_best_of_the_grid_fitted_one_by_one(rng):
    logits, labels = sample(rng)
    preds = Predictions(logits, labels, kind="logits")
    whole = fit_ms_odir(preds, **GRID)
    losses = {
        (strength, offset): fit_ms_odir(
            preds, strengths=[strength], offset_strengths=[offset]
        ).cv_loss
        for strength in GRID["strengths"]
        for offset in GRID["offset_strengths"]
    }
    best = min(losses, key=losses.get)
    assert (whole.strength, whole.offset_strength) == best
    assert whole.cv_loss == pytest.approx(losses[best], abs=1e-6)


def test_the_loss_is_that_of_the_held_out_rows(rng):
    logits, labels = sample(rng)
    preds = Predictions(logits, labels, kind="logits")
    gamma = fit_ms_odir(preds, strengths=[0.1], offset_strengths=[1.0])
    x = naive.centred(logits)
    losses = [
        naive.matrix_loss(W, b, x[held], labels[held])
        for (_, held), W, b in zip(splits(150, 5, 15), gamma.matrix, gamma.offset, strict=True)
    ]
    assert gamma.cv_loss == pytest.approx(np.mean(losses), abs=1e-6)


@pytest.mark.parametrize("fit", [fit_ms_odir, fit_dir_odir])
def test_the_vector_is_the_mean_of_the_fold_models(rng, fit):
    logits, labels = sample(rng)
    preds = Predictions(logits, labels, kind="logits")
    gamma = fit(preds, **GRID)
    x = naive.centred(logits) if fit is fit_ms_odir else log_softmax(logits, axis=1)
    models = zip(gamma.matrix, gamma.offset, strict=True)
    mean = np.mean([softmax(x @ W.T + b, axis=1) for W, b in models], axis=0)
    np.testing.assert_allclose(gamma(preds), mean, rtol=1e-10)
    assert gamma.matrix.shape == (5, 3, 3)


def test_a_strong_penalty_leaves_the_diagonal(rng):
    logits, labels = sample(rng)
    preds = Predictions(logits, labels, kind="logits")
    gamma = fit_ms_odir(preds, strengths=[1e6], offset_strengths=[1e6])
    off = gamma.matrix - np.einsum("fkk,kj->fkj", gamma.matrix, np.eye(3))
    assert np.abs(off).max() < 1e-5
    assert np.abs(gamma.offset).max() < 1e-5
    assert np.abs(gamma.matrix).max() > 0.1


def test_probabilities_with_zeros_stay_finite(rng):
    logits, labels = sample(rng)
    probs = softmax(2 * logits, axis=1).round(3)
    probs /= probs.sum(axis=1, keepdims=True)
    assert (probs == 0).any()
    preds = Predictions(probs, labels, kind="probs")
    for fit in (fit_ms_odir, fit_dir_odir):
        p = fit(preds, **GRID)(preds)
        assert np.isfinite(np.log(p)).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_weights_count_in_every_fit(rng):
    logits, labels = sample(rng)
    odd = np.arange(150) % 2
    weighted = Predictions(logits, labels, kind="logits", sample_weight=1.0 + 99.0 * odd)
    gamma = fit_ms_odir(weighted, strengths=[1e3], offset_strengths=[1e3])
    train, x = splits(150, 5, 15)[0][0], naive.centred(logits)
    w = weighted.sample_weight[train]
    best = naive.matrix_loss(gamma.matrix[0], gamma.offset[0], x[train], labels[train], 1e3, 1e3, w)
    plain = fit_ms_odir(
        Predictions(logits, labels, kind="logits"), strengths=[1e3], offset_strengths=[1e3]
    )
    other = naive.matrix_loss(
        plain.matrix[0], plain.offset[0], x[train], labels[train], 1e3, 1e3, w
    )
    assert best < other


def test_weight_2_is_the_row_twice_where_the_folds_say_so(rng):
    logits, labels = sample(rng)
    weights = rng.integers(1, 4, 150)
    weighted = Predictions(logits, labels, kind="logits", sample_weight=weights)
    pairs = splits(150, 3, 0)
    copies = np.repeat(np.arange(150), weights)
    twice = [tuple(np.flatnonzero(np.isin(copies, part)) for part in pair) for pair in pairs]
    repeated = Predictions(logits[copies], labels[copies], kind="logits")
    a, b = fit_ms_odir(weighted, **GRID, cv=pairs), fit_ms_odir(repeated, **GRID, cv=twice)
    assert (a.strength, a.offset_strength, a.n) == (b.strength, b.offset_strength, b.n)
    np.testing.assert_allclose(a(weighted), b(weighted), atol=1e-6)


def test_threads_change_no_bit_and_progress_counts_every_fit(rng):
    logits, labels = sample(rng)
    preds = Predictions(logits, labels, kind="logits")
    seen = []
    first = fit_dir_odir(preds, **GRID, n_jobs=1, progress=lambda *at: seen.append(at))
    assert first == fit_dir_odir(preds, **GRID, n_jobs=3)
    assert [at[1:] for at in seen] == [(i, 35) for i in range(36)]


def test_another_seed_is_another_split(rng):
    logits, labels = sample(rng)
    preds = Predictions(logits, labels, kind="logits")
    assert fit_ms_odir(preds, **GRID, random_state=1) != fit_ms_odir(preds, **GRID, random_state=2)


def test_the_default_grids_are_the_published_ones():
    from ogive.calibrators.scaling.odir import _grid

    for K, sizes, least in ((10, (36, 12), 1e-5), (100, (27, 9), 1e-2), (1000, (3, 3), 1.0)):
        preds = Predictions(np.zeros((1, K)), [0], kind="logits")
        strengths, offsets = _grid(preds, None, None)
        assert (strengths.size, offsets.size) == sizes
        assert offsets[-1] == pytest.approx(least)
        assert (np.diff(strengths) < 0).all()


def test_too_few_rows_give_a_temperature():
    preds = Predictions([[2.0, 1.0, 0.0]] * 9, [0, 1, 2] * 3, kind="logits")
    with pytest.warns(FallbackWarning, match="9 rows are too few for a matrix of 3 classes"):
        assert isinstance(fit_ms_odir(preds), TemperatureMap)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(cv=1), "`cv` must be at least 2, not 1"),
        (dict(cv=999), "999 folds of [0-9]+ rows are too many: .* Use [0-9]+ or fewer"),
        (dict(strengths=[0.0, 1.0]), "`strengths` must be finite and > 0"),
        (dict(offset_strengths=[np.inf]), "`offset_strengths` must be finite and > 0"),
    ],
)
def test_options_out_of_range_are_refused(rng, options, message):
    logits, labels = sample(rng)
    with pytest.raises(ValueError, match=message):
        fit_ms_odir(Predictions(logits, labels, kind="logits"), **options)


@pytest.mark.parametrize(("fit", "cls"), [(fit_ms_odir, MsOdirMap), (fit_dir_odir, DirOdirMap)])
def test_the_artifact_is_exact(rng, tmp_path, fit, cls):
    logits, labels = sample(rng)
    gamma = fit(Predictions(logits, labels, kind="logits"), **GRID)
    save(gamma, tmp_path / "m.json")
    assert load(tmp_path / "m.json") == gamma
    assert isinstance(gamma, cls)


@pytest.mark.parametrize(
    ("fit", "published", "strength", "offset_strength"),
    [(fit_ms_odir, 0.98, 0.1, 1e-4), (fit_dir_odir, 1.06, 0.25, 1e-3)],
)
def test_it_meets_the_papers_table(arena, fit, published, strength, offset_strength):
    # The pair is what the whole grid chooses (`python -m benchmarks.matrix`).
    file = arena("paper_resnet110_c10")
    cal = Predictions(file["cal_logits"], file["cal_labels"], kind="logits")
    test = Predictions(file["test_logits"], file["test_labels"], kind="logits")
    gamma = fit(cal, strengths=[strength], offset_strengths=[offset_strength])
    calibrated = Predictions(gamma(test), test.labels, kind="probs")
    assert 100 * ks_error(Curve.from_predictions(calibrated)) == pytest.approx(published, abs=0.15)


def test_ms_odir_on_the_papers_net_is_what_docs_paper_says(arena):
    file = arena("paper_resnet110_c10")
    logits, labels = file["cal_logits"].astype(float), file["cal_labels"]
    test = Predictions(file["test_logits"], file["test_labels"], kind="logits")
    cal = Predictions(logits, labels, kind="logits")
    gamma = fit_ms_odir(cal, strengths=[0.1], offset_strengths=[1e-4])
    q = gamma(test)
    assert -np.log(q[np.arange(test.n), test.labels]).mean() == pytest.approx(0.20338, abs=5e-6)
    rows = splits(cal.n, 5, 15)[0][0]
    logits = naive.centred(logits)
    found = naive.matrix_minimum(logits[rows], labels[rows], 0.1, 1e-4)

    def loss(W, b):
        return naive.matrix_loss(W, b, logits[rows], labels[rows], 0.1, 1e-4)

    assert loss(gamma.matrix[0], gamma.offset[0]) == pytest.approx(loss(*found), abs=1e-14)
    ks, end = {}, {}
    for view in ("top-1", "top-2", "within-top-2"):
        calibrated = Predictions(q, test.labels, kind="probs")
        scored = score_rows(calibrated, view)
        end[view] = 100 * (scored.score.mean() - scored.hit.mean())
        ks[view] = 100 * ks_error(Curve.from_predictions(calibrated, view))
    assert end["top-1"] + end["top-2"] == pytest.approx(end["within-top-2"], abs=1e-9)
    assert [round(x, 3) for x in ks.values()] == [1.058, 1.006, 0.153]
    assert 0 < ks["top-1"] - end["top-1"] < 0.007


def test_very_many_classes_choose_on_a_part_of_the_rows_and_fit_all(rng, monkeypatch):
    """Above 256 classes: five rows for each class choose the strengths; float32."""
    logits, labels = sample(rng, n=600, K=20)
    preds = Predictions(logits, labels, kind="logits")
    grid = dict(strengths=[1e-3, 0.1], offset_strengths=[0.1])
    few = [(train[::6], held_out[::6]) for train, held_out in splits(600, 5, 15)]
    chosen = fit_ms_odir(preds, **grid, cv=few)
    exact = fit_ms_odir(preds, strengths=[chosen.strength], offset_strengths=[0.1])
    monkeypatch.setattr(odir, "_MAX_CLASSES_FOR_FULL_GRID", 19)
    found = fit_ms_odir(preds, **grid)
    assert found.strength == chosen.strength
    assert found.cv_loss == pytest.approx(chosen.cv_loss, abs=1e-3)
    assert found.cv_loss > exact.cv_loss + 0.1  # of a sixth of the rows, of all rows
    assert np.abs(found(preds) - exact(preds)).max() < 5e-3


def test_a_fit_shows_signs_of_life_and_ends_when_it_is_stopped(rng, monkeypatch):
    logits, labels = sample(rng, n=600, K=20)
    preds = Predictions(logits, labels, kind="logits")
    monkeypatch.setattr("ogive.calibrators.scaling.odir_search._SECONDS_BETWEEN_SIGNS", 0.0)
    seen = []

    def progress(*at):
        seen.append(at)
        if len(seen) == 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_ms_odir(preds, strengths=[0.1], offset_strengths=[1.0], n_jobs=2, progress=progress)
    assert seen[0] == ("fits of the grid", 0, 10)
    assert seen[1] == ("fits of the grid, block 1", 0, 10)
    assert len(seen) < 45  # the other thread ended too, before its fit did


def test_more_classes_than_the_published_grids_know(rng):
    K, n = 300, 650
    logits = 2.5 * rng.normal(size=(n, K))
    labels = (0.5 * logits + rng.gumbel(size=(n, K))).argmax(axis=1)
    preds = Predictions(logits, labels, kind="logits")
    seen = []
    gamma = fit_dir_odir(
        preds,
        strengths=[1e2, 1e4],
        offset_strengths=[1e2],
        cv=2,
        progress=lambda *x: seen.append(x),
    )
    p = gamma(preds)
    assert np.abs(p.sum(axis=1) - 1).max() < 1e-12
    own = -np.log(p[np.arange(n), labels]).mean()
    assert own < -np.log(softmax(logits, axis=1)[np.arange(n), labels]).mean()
    assert seen[0][0] == f"fits of the grid, about {odir.minutes(n, K)} min"
    assert seen[-1][1:] == (6, 6)


@pytest.mark.parametrize("seed", [0, 5])  # 0: far from the optimum once; 5: another pair once
def test_logits_of_another_unit_have_an_optimum_that_no_order_of_classes_changes(seed):
    rng = np.random.default_rng(seed)
    logits = 3.0 * rng.normal(size=(43, 4))
    labels = (logits + 0.8 * rng.gumbel(size=(43, 4))).argmax(axis=1)
    order = np.array([3, 0, 1, 2])
    logits *= 2.0**20
    given = Predictions(logits, labels, kind="logits")
    turned = Predictions(logits[:, order], np.argsort(order)[labels], kind="logits")
    found, base = fit_ms_odir(turned)(turned), fit_ms_odir(given)(given)
    np.testing.assert_allclose(found, base[:, order], rtol=0, atol=1e-9)
