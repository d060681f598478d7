"""A calibrator never becomes code: files of strangers, resealed, are refused or do no harm."""

import json
import os

import numpy as np
import pytest

from ogive import Curve, fit_platt, load, save
from ogive.errors import ArtifactError, ExportError, OgiveError
from ogive.export import to_python, to_sql
from ogive.export.artifact import FittedOn, load_fitted_on
from ogive.export.targets import TARGETS, export, export_file
from tests.export import mutants
from tests.export.calibrators import fitted

pytestmark = pytest.mark.thorough

NAN, INF = float("nan"), float("inf")
HUGE = 10**400


def frozen(name):
    document = json.loads((mutants.FROZEN / f"v1-{name}.json").read_text())
    del document["checksum"]
    return document


def with_field(name, path, value):
    """Return an artifact with one field set; a path such as 'map.maps.0.map.at_one'."""
    document = frozen(name)
    holder = document
    *way, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    for key in way:
        holder = holder[key]
    holder[last] = value
    return document


# artifact, field, value, and the field that the error names (default: the field itself)
CASES = [
    ("platt.score", "map.at_one", 5),
    ("platt.score", "map.at_one", -0.1),
    ("platt.score", "map.at_one", None),
    ("platt.score", "map.at_one", "0.5"),
    ("platt.score", "map.at_one", True),
    ("platt.score", "map.slope", INF),
    ("platt.score", "map.slope", NAN),
    ("platt.score", "map.slope", "NaN"),
    ("platt.score", "map.slope", HUGE),
    ("platt.score", "map.slope", [1.0]),
    ("platt.score", "map.slope", 1e308),
    ("platt.score", "map.intercept", -INF),
    ("platt.score", "map.lowest", 1e300),
    ("platt.score", "map.lowest", 700, "lowest"),
    ("platt.score", "map.highest", {}),
    ("platt.score", "map.n", 0),
    ("platt.score", "map.n", -600),
    ("platt.score", "map.n", "many"),
    ("platt.score", "map.more", 1, "more"),
    ("platt.score", "map", [], "map"),
    ("platt.score", "map", None, "map"),
    ("platt.score", "method", "os.system"),
    ("platt.score", "method", ["platt"]),
    ("platt.score", "method", None),
    ("platt.score", "method", "beta", "map"),
    ("platt.score", "version", True, "version"),
    ("platt.score", "version", "1", "version"),
    ("platt.score", "version", 0, "version"),
    ("platt.score", "library", "x\ny"),
    ("platt.score", "library", "x" * 5000),
    ("beta.score", "map.a", -1),
    ("beta.score", "map.b", INF),
    ("beta.score", "map.c", [[]]),
    ("histogram.score", "map.value.3", 7, "map.value[3]"),
    ("histogram.score", "map.value.0", -1e-9, "map.value[0]"),
    ("histogram.score", "map.value.0", NAN, "map.value[0]"),
    ("histogram.score", "map.value.0", "0.5", "map.value[0]"),
    ("histogram.score", "map.value", [0.5], "value"),
    ("histogram.score", "map.edge_tail.0", 0.7, "map.edge_tail[0]"),
    ("histogram.score", "map.edge_tail.0", 0.49, "edge_tail"),
    ("histogram.score", "map.edge_high", 99, "edge_tail"),
    ("histogram.score", "map.edge_high", -1),
    ("histogram.score", "map.edge_high", 1.5),
    ("histogram.score", "map.spacing", "log"),
    ("histogram.score", "map.at_one", 1e999),
    ("isotonic.score", "map.tail.0", 0.5000001, "map.tail[0]"),
    ("isotonic.score", "map.tail.0", 0.4999, "tail"),
    ("isotonic.score", "map.tail", [], "map.tail"),
    ("isotonic.score", "map.tail", 0.1, "map.tail"),
    ("isotonic.score", "map.value.1", INF, "map.value[1]"),
    ("isotonic.score", "map.value", [0.5], "map.value"),
    ("isotonic.score", "map.high", 10**6, "tail"),
    ("isotonic.score", "map.thinning_error", -1),
    ("paper-spline.score", "map.spline.knots.1", 0.0, "map.spline.knots[1]"),
    ("paper-spline.score", "map.spline.knots", [0.0, 1.0], "map.spline.knots"),
    ("paper-spline.score", "map.spline.runout", "free"),
    ("paper-spline.score", "map.spline", 1),
    ("paper-spline.score", "map.constraint", ["unit"] * 3),
    ("paper-spline.score", "map.constraint", ["none"], "map.constraint[0]"),
    ("paper-spline.score", "map.target", ""),
    ("spline.score", "map.knots.1", -999.0, "map.knots[1]"),
    ("spline.score", "map.knots", [0, 1], "map.knots"),
    ("spline.score", "map.knots", [0.0, 1e-9, 1.0], "map"),
    ("spline.score", "map.knots", list(range(2000)), "map.knots"),
    ("spline.score", "map.values.0", 1e300, "map.values[0]"),
    ("spline.score", "map.values", [0.0] * 3, "map.values"),
    ("spline.score", "map.covariance", [1.0], "covariance"),
    ("spline.score", "map.covariance.0", NAN, "map.covariance[0]"),
    ("spline.score", "map.monotone", 1),
    ("spline.score", "map.keep", 2),
    ("spline.score", "map.gain_error", -1),
    ("spline.score", "map.first", 1e9),
    ("temperature.vector", "map.factor", 0),
    ("temperature.vector", "map.factor", -1),
    ("temperature.vector", "map.factor", INF),
    ("temperature.vector", "map.floor", 1),
    ("temperature.vector", "map.K", 1),
    ("temperature.vector", "map.K", 10**12),
    ("temperature.vector", "map.K", 4.0),
    ("temperature.vector", "map.view", "class-4", "view"),
    ("temperature.vector", "map.view", "within-top-4", "view"),
    ("temperature.vector", "map.view", "score", "view"),
    ("vector.vector", "map.factor", [1.0, 1.0], "map.factor"),
    ("vector.vector", "map.factor.0", INF, "map.factor[0]"),
    ("vector.vector", "map.offset", [[0, 0, 0, 0]], "map.offset[0]"),
    ("vector.vector", "map.K", 5, "map.factor"),
    ("ms-odir.vector", "map.matrix.0.0.0", NAN, "map.matrix[0]"),
    ("ms-odir.vector", "map.matrix.0.0", [1.0], "map.matrix"),
    ("ms-odir.vector", "map.matrix", [], "map.matrix"),
    ("ms-odir.vector", "map.offset.0", [1.0] * 5, "map.offset"),
    ("dir-odir.vector", "map.strength", -1),
    ("dir-odir.vector", "map.floor", HUGE),
    ("beta.ranks", "map.power", 1e9),
    ("beta.ranks", "map.power", -1),
    ("beta.ranks", "map.floor", 0),
    ("beta.ranks", "map.floor", 2),
    ("beta.ranks", "map.held", 1.5),
    ("beta.ranks", "map.maps", [], "map.maps"),
    ("beta.ranks", "map.maps.0.method", "ranks"),
    ("beta.ranks", "map.maps.0.map.at_one", 5, "map.maps[0].map.at_one"),
    ("beta.ranks", "map.maps.0.map.view", "top-1\n", "map.maps[0].map.view"),
    ("beta.ovr", "map.K", 3, "map"),
    ("beta.every-rank", "map.maps.3", None, "map.maps[3]"),
    ("structure.keep", "map.structure.logs.0", 1e300, "map.structure.logs[0]"),
    ("structure.keep", "map.structure.factor", 0),
    ("structure.keep", "map.structure.to_logs", [[1.0]], "map.structure.to_logs"),
    ("structure.keep", "map.structure.of_logs", [[1.0]] * 4, "map.structure"),
    ("structure.keep", "map.structure.precision", [-1.0] * 5, "map.structure.precision[0]"),
    ("structure.keep", "map.top", {"method": "none"}, "map.top"),
    ("structure.keep", "map.lost", 2),
    ("spline.free", "map.changed", -1),
    ("spline.free", "map.K", 3, "K"),
    (
        "platt.score",
        "fitted_on.scores",
        {"edges": [], "class_0": [0.0], "class_1": [3.0], "variance": [1.0]},
        "each class has rows",
    ),
    (
        "platt.score",
        "fitted_on.scores",
        {"edges": [], "class_0": [1e300], "class_1": [3.0], "variance": [1.0]},
        "fitted_on.scores.class_0[0]",
    ),
    ("shifted-spline.score", "map.base_rate", 0.9, "`trained_at` to `base_rate`"),
    ("shifted-spline.score", "map.trained_at", None, "both there or both null"),
    ("shifted-vector.vector", "map.trained_at", None, "both there or both null"),
    ("shifted-vector.vector", "map.log_ratio.0", 3.0, "`trained_at` to `base_rate`"),
    ("platt.score", "fitted_on", [], "fitted_on"),
    ("platt.score", "fitted_on.tag", "two\nlines"),
    ("platt.score", "fitted_on.tag", "\x1b[31mred"),
    ("platt.score", "fitted_on.tag", "x" * 5000),
    ("platt.score", "fitted_on.tag", 7),
    ("platt.score", "fitted_on.date", "\u202e1202"),
    ("platt.score", "fitted_on.view", 'top-1"""'),
    ("platt.score", "fitted_on.method", "a\x00b"),
    ("platt.score", "fitted_on.kind", "logit"),
    ("platt.score", "fitted_on.ks_before", 2),
    ("platt.score", "fitted_on.folds", 1),
    ("platt.score", "fitted_on.n", -1),
]


@pytest.mark.parametrize(("name", "path", "value", "named"), [(*c, None)[:4] for c in CASES])
def test_a_field_that_breaks_its_rule_is_named(name, path, value, named, tmp_path):
    text = mutants.sealed(with_field(name, path, value))
    assert mutants.check_text(text) is None
    file = tmp_path / "cal.json"
    file.write_text(text)
    with pytest.raises(ArtifactError) as caught:
        load(file)
    words = str(caught.value)
    assert str(file) in words
    if "NaN" not in text:
        assert (named or path.replace(".0.", "[0].")) in words


@pytest.mark.parametrize("view", mutants.VIEW_INJECTIONS)
@pytest.mark.parametrize("target", TARGETS)
def test_a_view_is_never_text_of_an_export(view, target, tmp_path, monkeypatch):
    """Every method; what the view would have run leaves a file or a word behind."""
    monkeypatch.chdir(tmp_path)
    for document in mutants.documents():
        altered = {**document, "map": {**document["map"], "view": view}}
        (tmp_path / "cal.json").write_text(mutants.sealed(altered))
        with pytest.raises(ArtifactError, match=r"`map\.view` must be a view"):
            export_file("cal.json", target, "out")
    assert os.listdir(tmp_path) == ["cal.json"]


@pytest.mark.parametrize("target", TARGETS)
def test_a_map_made_by_hand_is_held_against_the_same_rules(target, tmp_path):
    curve = Curve.from_scores([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1], view=mutants.VIEW_INJECTIONS[0])
    gamma = fit_platt(curve)
    with pytest.raises(ArtifactError, match="view"):
        export(gamma, target, tmp_path / "out")
    with pytest.raises(ArtifactError, match="view"):
        save(gamma, tmp_path / "cal.json")
    for room in (to_python, to_sql):
        with pytest.raises(ArtifactError, match="view"):
            room.write(gamma)
    assert not list(tmp_path.iterdir())


def test_what_is_saved_can_be_loaded(tmp_path):
    gamma = fitted("platt.score")
    with pytest.raises(ArtifactError, match=r"`fitted_on\.tag` must be one line"):
        save(gamma, tmp_path / "a", FittedOn(n=1, view="score", method="platt", tag="a\nb"))
    save(gamma, tmp_path / "a", FittedOn(n=1, view="score", method="platt", tag="Größe 7 «é»"))
    assert load_fitted_on(tmp_path / "a").tag == "Größe 7 «é»"


def text_of(name="platt.score"):
    return mutants.sealed(frozen(name))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (text_of().replace('"slope": ', '"slope": 1, "slope": '), "occurs twice"),
        (text_of().replace('"n": 200', '"n": ' + "9" * 5000, 1), "digits"),
        (text_of().replace('"n": 200', '"n": NaN', 1), "contains NaN"),
        (text_of().replace('"n": 200', '"n": -Infinity', 1), "contains -Infinity"),
        ('{"format": ' * 5000, "not a saved calibrator"),
        ("﻿" + text_of(), "not a saved calibrator"),
    ],
)
def test_json_that_readers_may_read_differently(text, message, tmp_path):
    path = tmp_path / "cal.json"
    path.write_text(text)
    with pytest.raises(ArtifactError, match=message):
        load(path)


def test_size_is_bounded(tmp_path, monkeypatch):
    from ogive.export import artifact, curve_file

    path = tmp_path / "cal.json"
    path.write_text(text_of())
    monkeypatch.setattr(artifact, "MAX_BYTES", 100)
    with pytest.raises(ArtifactError, match="larger than any calibrator"):
        load(path)
    save(Curve.from_scores(np.arange(1000) / 1000, np.arange(1000) % 2), path)
    monkeypatch.setattr(curve_file, "MAX_BYTES", 10_000)
    with pytest.raises(ArtifactError, match="may"):
        load(path)


def test_a_rule_between_fields_that_only_values_break(tmp_path):
    """A map whose fields are all right, and which is still no map, does not get through."""
    document = frozen("monotone.score")
    document["map"]["values"] = document["map"]["values"][::-1]  # said to rise, and falls
    path = tmp_path / "cal.json"
    path.write_text(mutants.sealed(document))
    with pytest.raises(ArtifactError, match=r"outside \[0, 1\]|cannot be evaluated"):
        load(path)


@pytest.mark.parametrize("document", mutants.documents(), ids=lambda d: d["method"])
def test_what_is_not_altered_gives_probabilities(document):
    assert mutants.check_text(mutants.sealed(document)) is not None


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_mutated_artifacts(first):
    for seed in range(first, first + 50):
        mutants.check_artifact_once(seed)


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_mutated_curve_files(first):
    for seed in range(first, first + 50):
        mutants.check_curve_once(seed)


def test_mutated_artifacts_are_exported_right_or_not_at_all():
    for seed in range(12):
        mutants.check_export_once(seed)


def test_mutants_do_break_things():
    """The corpus is worth something: without the checks many mutants give no probabilities."""
    from ogive.calibrators import METHODS, MULTICLASS

    broken, every = 0, mutants.documents()
    for seed in range(150):
        document = mutants.mutate_artifact(np.random.default_rng(seed), every[seed % len(every)])
        try:
            with np.errstate(all="ignore"):
                gamma = (METHODS | MULTICLASS)[document["method"]].map.from_dict(document["map"])
                mutants.check_gives_probabilities(gamma)
        except OgiveError:
            pass
        except Exception:  # noqa: BLE001 - of any kind: that is what is counted
            broken += 1
    assert broken > 30


@pytest.mark.parametrize("target", ["python", "sql"])
def test_an_export_that_cannot_run_is_refused(target, tmp_path, monkeypatch):
    room = to_python if target == "python" else to_sql
    write = room.write
    monkeypatch.setattr(room, "write", lambda *a, **k: write(*a, **k).replace("exp(", "open("))
    with pytest.raises(ExportError, match="nothing was written"):
        export(fitted("platt.score"), target, tmp_path / "out")
    assert not list(tmp_path.iterdir())
