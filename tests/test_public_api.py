"""The public names: all there, all documented, and light to import."""

import importlib
import inspect
import os
import subprocess
import sys
import tempfile
from dataclasses import astuple

import pytest

import ogive

HEAVY = ("scipy", "sklearn", "pandas", "matplotlib", "pyarrow", "torch", "click", "rich")


def test_names_and_rooms_agree():
    assert sorted(ogive._MODULES) == sorted(ogive.__all__)
    assert sorted(ogive.__all__) == list(ogive.__all__)


@pytest.mark.parametrize("name", ogive.__all__)
def test_every_public_name_exists_and_says_what_it_is(name):
    assert getattr(ogive, name).__doc__
    assert name in dir(ogive)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'ece_error'"):
        ogive.ece_error  # noqa: B018


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, ogive; ogive.Curve; ogive.Predictions; ogive.ks_error; "
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ogive._PACKAGES)
def test_packages_are_attributes_of_a_fresh_import(name):
    code = f"import ogive; ogive.{name}.__doc__"
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
    assert name in dir(ogive)


def test_modules_are_attributes():
    code = (
        "import ogive; ogive.readers.npz.read; ogive.calibrators.spline.fit_spline; "
        "ogive.calibrators.scaling.temperature; ogive.curve.stream; ogive.errors.OgiveError; "
        "ogive.estimators.curves; "
        "import ogive; ogive.export.artifact.load_fitted_on; ogive.studies.fitted_on.fitted_on; "
        "ogive.metrics.vector.vector_rows; ogive.export.to_torch.module; ogive.diagrams"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
    with pytest.raises(AttributeError, match=r"'ogive.export' has no attribute 'doors'"):
        ogive.export.doors  # noqa: B018


ONE_VIEW = {  # every public measure of one view: its numbers
    "bootstrap": lambda *a, **k: astuple(ogive.bootstrap(*a, **k, measure="ks", resamples=5))[:3],
    "brackets": ogive.brackets,
    "best_threshold": lambda *a, **k: ogive.best_threshold(*a, **k, miss=3, alarm=1),
    "brier": ogive.brier,
    "calibration_test": ogive.calibration_test,
    "calibration_intercept": ogive.calibration_intercept,
    "calibration_slope": ogive.calibration_slope,
    "cost_curve": lambda *a, **k: [x.tolist() for x in astuple(ogive.cost_curve(*a, **k))],
    "decide": lambda *a, **k: ogive.decide(*a, **k, miss=3, alarm=1, method="platt"),
    "decompose": ogive.decompose,
    "ece": ogive.ece,
    "expected_cost": lambda *a, **k: ogive.expected_cost(*a, **k, miss=3, alarm=1),
    "kde_ece": ogive.kde_ece,
    "ks_error": ogive.ks_error,
    "ks_test": ogive.ks_test,
    "kuiper_error": ogive.kuiper_error,
    "kuiper_test": ogive.kuiper_test,
    "largest_gap": ogive.largest_gap,
    "mce": ogive.mce,
    "net_benefit": lambda *a, **k: [x.tolist() for x in astuple(ogive.net_benefit(*a, **k))],
    "nll": ogive.nll,
    "oe_ratio": ogive.oe_ratio,
    "refinement": ogive.refinement,
    "smooth_ece": ogive.smooth_ece,
    "spiegelhalter": ogive.spiegelhalter,
    "spline_errors": ogive.spline_errors,
}


@pytest.mark.parametrize("name", ONE_VIEW)
def test_a_measure_takes_a_curve_or_scores_and_outcomes_with_weights(name, rng):
    measure, scores = ONE_VIEW[name], rng.random(200)
    outcomes, weight = rng.random(200) < scores, rng.integers(1, 4, 200).astype(float)
    for how in (
        {},
        {"sample_weight": weight},
        {"sample_weight": weight, "weight_kind": "sampling"},
    ):
        curve = ogive.Curve.from_scores(scores, outcomes, **how)
        assert measure(scores, outcomes, **how) == measure(curve)
    with pytest.raises(ogive.errors.InvalidInput, match="`sample_weight` belongs to scores"):
        measure(curve, sample_weight=weight)
    with pytest.raises(ogive.errors.UnknownName, match="weight_kind"):
        measure(scores, outcomes, weight_kind="survey")


#: Words that the public API has another word for: see the table of names in the changelog.
OTHER_WORDS = {
    "gamma": "calibrator",
    "hit": "outcome",
    "hits": "outcomes",
    "jobs": "n_jobs",
    "promise": "score",
    "repair": "calibrator",
    "seed": "random_state",
    "threads": "n_jobs",
    "truth": "outcomes",
    "weights": "sample_weight",
    "vector": "multiclass",
    "workers": "n_jobs",
}
#: Modules whose functions are called by name: ogive.engines.local.curve, ogive.export.to_sql.write.
CALLED = ["engines.local", "engines.dask", "engines.spark", "readers"]
CALLED += ["export.artifact", "export.targets", "export.to_onnx", "export.to_python"]
CALLED += ["export.to_sql", "export.to_torch", "metrics.binned", "metrics.classwise"]
CALLED += ["metrics.proper", "metrics.resample", "metrics.significance", "metrics.vector"]
CALLED += [
    "studies.acting.study",
    "studies.apply_log",
    "studies.compare",
    "studies.fitted_on",
    "studies.fitting",
]
CALLED += ["studies.gain", "studies.gate", "studies.groups", "studies.logs", "studies.measure"]
CALLED += ["studies.paper.study", "report.plain", "plotting.display", "plotting.figures"]


def callables():
    """Every public function, class and method, by name."""
    found = {name: getattr(ogive, name) for name in ogive.__all__}
    for module in CALLED:
        room = importlib.import_module(f"ogive.{module}")
        own = {n: f for n, f in vars(room).items() if inspect.isfunction(f) and n[0] != "_"}
        found |= {f"{module}.{n}": f for n, f in own.items() if f.__module__ == room.__name__}
    found["report"] = ogive.report.plain.report
    for name, cls in list(found.items()):
        if inspect.isclass(cls):
            own = {n: f for n, f in vars(cls).items() if n[0] != "_" or n == "__call__"}
            found |= {f"{name}.{n}": getattr(cls, n) for n, f in own.items()}
    return {name: f for name, f in found.items() if callable(f)}


@pytest.mark.parametrize("name", callables())
def test_parameters_have_the_words_of_the_vocabulary(name):
    of = inspect.signature(callables()[name]).parameters
    wrong = {word: OTHER_WORDS[word] for word in of if word in OTHER_WORDS}
    assert not wrong, f"{name} has other words than the rest of the library: {wrong}"


def test_every_function_that_fits_a_method_is_guessed_by_its_name():
    for name, method in ogive.calibrators.METHODS.items():
        if name != "none":
            assert getattr(ogive, "fit_" + name.replace("-", "_")) is method.fit


def test_progress_has_one_signature(rng):
    scores = rng.random(300)
    seen = []
    ogive.bootstrap(scores, scores > 0.5, resamples=3, progress=lambda *at: seen.append(at))
    z = rng.normal(size=(60, 3))
    preds = ogive.Predictions(z, z.argmax(axis=1), kind="logits")
    grid = {"strengths": [0.1], "offset_strengths": [0.1], "cv": 2}
    ogive.fit_ms_odir(preds, **grid, progress=lambda *at: seen.append(at))
    ogive.compare(preds, preds, ["none"], progress=lambda *at: seen.append(at))
    ogive.fit_vector(preds, progress=lambda *at: seen.append(at))
    assert len(seen) > 6
    for what, done, total in seen:
        assert isinstance(what, str)
        assert done >= 0
        assert done <= total or total == 0  # 0: nobody knows how many


def test_the_process_stays_as_it_was():
    code = """
import os, random, signal, warnings
import numpy as np, scipy.linalg, ogive
from threadpoolctl import threadpool_info
def state():
    blas = sorted((i["filepath"], i["num_threads"]) for i in threadpool_info())
    mask = os.umask(0); os.umask(mask)
    numbers = np.random.get_state()[1].tolist(), random.getstate()
    rest = np.geterr(), warnings.filters[:], signal.getsignal(signal.SIGINT)
    return blas, mask, dict(os.environ), os.getcwd(), numbers, rest
rng = np.random.default_rng(0)
z = 3 * rng.normal(size=(500, 3))
y = (z / 3 + rng.gumbel(size=(500, 3))).argmax(axis=1)
from ogive import SplineCalibrator
before = state()
preds = ogive.Predictions(z, y, kind="logits")
ogive.measure_all(preds)
gamma = ogive.fit_multiclass(preds)
ogive.compare(preds, preds, ["none", "platt", "temperature"])
ogive.save(gamma, "g.json"); ogive.load("g.json")
np.savez("x.npz", logits=z, labels=y); ogive.read("x.npz")
open("x.csv", "w").write("score,outcome\\n0.5,1\\n0.25,0\\n"); ogive.engines.local.curve("x.csv")
SplineCalibrator().fit(z, y)
after = state()
names = ["blas", "umask", "environment", "folder", "random numbers", "rest"]
print([n for n, a, b in zip(names, before, after) if a != b])
"""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=folder,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "2"},  # so that a limit of 1 would be seen
        )
    assert done.stdout.strip() == "[]"
