import json
import os

import numpy as np
import pytest

from ogive import Curve, fit_paper_spline, load, save
from ogive.errors import ArtifactError, InvalidType
from ogive.export.artifact import FittedOn, checksum_of, load_fitted_on


@pytest.fixture
def gamma(rng):
    scores = np.append(rng.random(6000), np.ones(500))
    return fit_paper_spline(Curve.from_scores(scores, rng.random(6500) < 0.5 * scores))


def test_the_round_trip_is_exact(gamma, tmp_path, rng):
    path = tmp_path / "cal.json"
    save(gamma, path)
    again = load(path)
    assert again == gamma
    assert type(again) is type(gamma)
    s = rng.random(1000)
    np.testing.assert_array_equal(again(s), gamma(s))
    assert again(1.0) == gamma(1.0)
    assert again.view == gamma.view
    assert again.n == 6500
    save(again, tmp_path / "second.json")
    assert (tmp_path / "second.json").read_bytes() == path.read_bytes()


def test_it_is_json_without_surprises(gamma, tmp_path):
    save(gamma, tmp_path / "cal.json")
    document = json.loads((tmp_path / "cal.json").read_text())
    assert document["format"] == "ogive-calibrator"
    assert document["version"] == 2
    assert document["method"] == "paper-spline"
    assert document["map"]["n"] == 6500
    assert document["fitted_on"]["n"] == 6500
    assert document["fitted_on"]["ks_after"] is None
    assert document["checksum"].startswith("sha256:")


def rewritten(path, change, *, sign=True):
    document = json.loads(path.read_text())
    document.pop("checksum")
    change(document)
    document["checksum"] = checksum_of(document) if sign else "sha256:0"
    path.write_text(json.dumps(document))


def test_what_is_not_ours_newer_or_altered_is_refused(gamma, tmp_path):
    path = tmp_path / "cal.json"
    cases = [
        (lambda d: d.update(format="other"), True, "not an ogive calibrator"),
        (lambda d: d.update(version=99), True, "version 99, newer.*pip install --upgrade"),
        (lambda d: d["map"].update(at_one=0.1), False, "altered"),
        (lambda d: d.update(method="magic"), True, "`method` must be one of .*, not 'magic'"),
        (lambda d: d["map"].pop("tail"), True, r"cal.json .*`map.tail` is missing"),
    ]
    for change, sign, message in cases:
        save(gamma, path)
        rewritten(path, change, sign=sign)
        with pytest.raises(ArtifactError, match=message):
            load(path)


@pytest.mark.parametrize(
    "text", ["", "{", "[1, 2]", "null", '{"format": NaN}', "\x80\x04pickle", "[" * 100_000]
)
def test_foreign_files_are_refused(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ArtifactError):
        load(path)


def test_a_cut_file_is_refused(gamma, tmp_path):
    path = tmp_path / "cal.json"
    save(gamma, path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ArtifactError, match="cut short"):
        load(path)


def test_only_maps_are_saved_and_a_failure_leaves_the_old_file(gamma, tmp_path):
    path = tmp_path / "cal.json"
    path.write_text("old")
    with pytest.raises(InvalidType, match="fitted calibrator"):
        save({"a": 1}, path)
    assert path.read_text() == "old"
    with pytest.raises(FileNotFoundError):
        save(gamma, tmp_path / "nowhere" / "cal.json")
    assert os.listdir(tmp_path) == ["cal.json"]


def test_what_it_was_fitted_on_comes_back(gamma, tmp_path):
    info = FittedOn(n=6500, view="score", method="paper-spline", ks_before=0.2, ks_after=0.01,
                    kind="probs", folds=5, date="2026-01-31", tag="v7")  # fmt: skip
    path = tmp_path / "cal.json"
    save(gamma, path, info)
    assert load_fitted_on(path) == info
    assert load(path) == gamma
    rewritten(path, lambda d: d["fitted_on"].update(ks_after=0.0), sign=False)
    with pytest.raises(ArtifactError, match="altered"):
        load(path)
    for change in (lambda d: d.pop("fitted_on"), lambda d: d["fitted_on"].pop("n")):
        save(gamma, path, info)
        rewritten(path, change)
        with pytest.raises(ArtifactError, match="does not say what it was fitted on"):
            load_fitted_on(path)
        assert load(path) == gamma


def test_fields_of_a_later_writer_are_ignored(gamma, tmp_path):
    path = tmp_path / "cal.json"
    save(gamma, path)
    rewritten(path, lambda d: (d.update(more=1), d["fitted_on"].update(more=1)))
    assert load(path) == gamma
    assert load_fitted_on(path).n == 6500
