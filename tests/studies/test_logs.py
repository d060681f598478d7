"""Logs from Python: the routes that the command line takes."""

import numpy as np
import pytest

import ogive
from ogive.errors import InvalidInput
from ogive.studies.apply_log import apply_log
from ogive.studies.fitted_on import fitted_on
from ogive.studies.logs import (
    fit_log,
    is_log,
    measure_reading,
    measure_reading_groups,
    read_log,
)
from tests.engines.tables import exact, logits_table, scores_table, store


@pytest.fixture
def log(tmp_path):
    table = scores_table(2000, country=np.repeat(["DE", "FR"], 1000))
    for i, name in enumerate(["a.parquet", "b.csv"]):
        store(table.slice(1000 * i, 1000), tmp_path / "log" / name)
    return tmp_path / "log"


def test_which_files_are_a_log(log, tmp_path):
    np.savez(tmp_path / "arrays.npz", scores=[0.5], outcomes=[1])
    ogive.save(exact(scores_table(100)), tmp_path / "saved.json")
    assert is_log([log])
    assert is_log([log / "a.parquet", log / "b.csv"])
    assert is_log([log / "*.csv"])
    assert is_log([tmp_path / "saved.json", log / "a.parquet"])
    assert not is_log([tmp_path / "arrays.npz"])
    assert not is_log([tmp_path / "arrays.npz", log])


def test_a_table_is_a_log_if_it_does_not_fit_memory(log, monkeypatch):
    assert not is_log([log / "a.parquet"])
    monkeypatch.setattr("ogive.studies.logs.table_bytes", lambda *_, **__: 2 * 10**9)
    assert is_log([log / "a.parquet"])
    assert not is_log([log / "a.parquet"], memory="8GB")


def test_saved_curves_are_added(log, tmp_path):
    ogive.save(read_log([log / "a.parquet"]).curve, tmp_path / "saved.json")
    both = measure_reading(read_log([tmp_path / "saved.json", log / "b.csv"]))
    assert (both.n, both.accuracy) == (2000, measure_reading(read_log([log])).accuracy)


def test_a_log_that_was_calibrated_says_so(log, tmp_path):
    ogive.save(fit_log([log]).gamma, tmp_path / "cal.json")
    apply_log(tmp_path / "cal.json", log, tmp_path / "out")
    found = measure_reading(read_log([tmp_path / "out"]))
    assert found.calibrated_by == "Calibrated by spline (score), fitted on 2,000 other rows."
    assert measure_reading(read_log([log])).calibrated_by is None


def test_groups_of_rows_that_fitted_the_calibrator_are_refused(log, tmp_path):
    done = fit_log([log])
    info = fitted_on(done.data, done.gamma, "spline", cv=0, files=sorted(log.iterdir()))
    ogive.save(done.gamma, tmp_path / "cal.json", info)
    apply_log(tmp_path / "cal.json", log, tmp_path / "out")
    reading = read_log([tmp_path / "out"], by="country")
    with pytest.raises(InvalidInput, match="Groups are found by p-values"):
        measure_reading_groups(reading, "country")


def test_what_may_refuse_a_fit_is_asked_before_it(log):
    def refuse(data):
        raise InvalidInput(f"{data.n:.0f} rows")

    with pytest.raises(InvalidInput, match="2000 rows"):
        fit_log([log], "platt", check=refuse)


def test_matrices_are_fitted_as_vectors_unless_a_view_is_asked_for(tmp_path):
    store(logits_table(600), tmp_path / "log" / "a.parquet")
    whole = fit_log([tmp_path / "log"], "temperature")
    view = fit_log([tmp_path / "log"], "platt", "top-1")
    assert (whole.gamma.view, whole.classes) == ("vector", None)
    assert (view.gamma.view, view.classes) == ("top-1", tuple(range(whole.gamma.K)))
