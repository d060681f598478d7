"""A watch on disk: goes on as if it had never stopped; whole, or refused."""

import json

import numpy as np
import pytest

from ogive import Curve, Watch
from ogive.errors import ArtifactError
from ogive.export.artifact import checksum_of


def updated(watch, days):
    for day in days:
        rng = np.random.default_rng(day)
        scores = rng.random(200)
        watch = watch.update(Curve.from_scores(scores, rng.random(200) < scores**1.2), day)
    return watch


def test_a_watch_goes_on_from_its_file_with_the_same_numbers(tmp_path):
    path = tmp_path / "state.json"
    Watch(alpha=0.01).save(path)
    whole = Watch.load(path)
    assert (whole.alpha, whole.days) == (0.01, ())
    for day in range(14):
        updated(Watch.load(path), [day]).save(path)
        whole = updated(whole, [day])
    again = Watch.load(path)
    assert again.days == whole.days
    assert again.to_dict() == whole.to_dict()
    assert path.stat().st_size < 300_000
    assert [p.name for p in tmp_path.iterdir()] == ["state.json"]


def test_a_state_that_was_altered_or_is_foreign_is_refused(tmp_path):
    path = tmp_path / "state.json"
    updated(Watch(), [1, 2]).save(path)
    text = path.read_text()
    for wrong, why in (
        (text.replace('"alpha": 0.05', '"alpha": 0.5'), "checksum does not match"),
        (text[:-100], "cut short"),
        ("[]", "is not the state of a watch"),
        ('{"format": "ogive-calibrator"}', "is not the state of a watch"),
    ):
        path.write_text(wrong)
        with pytest.raises(ArtifactError, match=why):
            Watch.load(path)


@pytest.mark.parametrize(
    ("where", "value"),
    [("alpha", 7), ("days", [{}]), ("starts", []), ("days", 3), ("run_length", 100),
     ("starts", [{"number": 1, "rows": "AAAA", "map": None, "log_e": 0}])],
)  # fmt: skip
def test_fields_are_checked_also_where_the_checksum_is_right(tmp_path, where, value):
    path = tmp_path / "state.json"
    updated(Watch(), [1, 2]).save(path)
    document = json.loads(path.read_text())
    del document["checksum"]
    document["watch"][where] = value
    path.write_text(json.dumps(document | {"checksum": checksum_of(document)}))
    with pytest.raises(ArtifactError, match="is not a state that can be used"):
        Watch.load(path)


def test_a_state_of_0_1_goes_on_as_it_was(tmp_path):
    """It has the sums of the rule that is gone beside the numbers that stay."""
    path = tmp_path / "state.json"
    updated(Watch(), [1, 2]).save(path)
    document = json.loads(path.read_text())
    del document["checksum"]
    document["version"] = 1
    document["watch"]["run_length"] = None
    for one in (*document["watch"]["days"], *document["watch"]["starts"]):
        one["log_sum"] = 0.25
    path.write_text(json.dumps(document | {"checksum": checksum_of(document)}))
    assert updated(Watch.load(path), [3]).to_dict() == updated(Watch(), [1, 2, 3]).to_dict()


@pytest.mark.thorough
@pytest.mark.parametrize("first", [0, 20])
def test_states_of_strangers_are_refused_or_can_be_used(first):
    from tests.studies.watch.mutants import check_state_once

    for seed in range(first, first + 20):
        check_state_once(seed)
