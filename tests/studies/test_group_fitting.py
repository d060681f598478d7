"""Groups from a table to a calibrator and back; what makes a group worse is named."""

import csv
import json

import numpy as np
import pytest

from ogive import Curve, load
from ogive.errors import FileFormatError, InvalidInput, OgiveWarning
from ogive.readers import open_file
from ogive.studies.fitting import apply
from ogive.studies.group_fitting import check_groups, groups_of, in_words, warn_of_worse

pytest.importorskip("pyarrow")


def rows(rng, n=6000):
    """Scores that are right but for BR; every 50th row has no country."""
    scores, country = rng.random(n), rng.choice(["BR", "DE", "007"], n)
    outcomes = rng.random(n) < np.where(country == "BR", scores**2, scores)
    country[::50] = ""
    return scores, outcomes.astype(int), country


def write_csv(path, scores, outcomes, country):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["score", "outcome", "country", "id"])
        writer.writerows(zip(scores, outcomes, country, range(scores.size), strict=True))
    return path


def write_parquet(path, scores, outcomes, country):
    import pyarrow as pa
    import pyarrow.parquet as pq

    values = [name or None for name in country.tolist()]
    pq.write_table(pa.table({"score": scores, "outcome": outcomes, "country": values}), path)
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_fit_and_apply_know_the_group_of_each_row(kind, run, tmp_path, rng):
    scores, outcomes, country = rows(rng)
    write = write_csv if kind == "csv" else write_parquet
    path = write(tmp_path / f"log.{kind}", scores, outcomes, country)
    cal, out = tmp_path / "cal.json", tmp_path / f"out.{kind}"
    code, text, _ = run("fit", path, "-o", cal, "--by", "country")
    assert code == 0
    assert "4 groups of country" in text
    assert "120 rows have no value of country: they are the group (none)" in text
    code, text, _ = run("apply", cal, path, "-o", out)
    assert code == 0
    gamma = load(cal)
    assert gamma.groups == ("(none)", "007", "BR", "DE")
    names = np.where(country == "", "(none)", country)
    found = open_file(out).predictions().values
    np.testing.assert_allclose(found.reshape(-1), gamma(scores, names), rtol=1e-12)
    folder = tmp_path / "folder"
    code, text, _ = run("apply", cal, tmp_path / f"log*.{kind}", "-o", folder)
    assert code == 0
    (written,) = folder.glob("*.parquet")
    again = open_file(written).predictions().values
    np.testing.assert_allclose(again.reshape(-1), gamma(scores, names), rtol=1e-12)


def test_what_cannot_be_done_is_refused_with_a_way_out(run, tmp_path, rng):
    path = write_csv(tmp_path / "log.csv", *rows(rng, 600))
    cal = tmp_path / "cal.json"
    code, _, err = run("fit", path, "-o", cal, "--by", "id")
    assert code != 0
    assert "looks like an identifier. Give a coarser column" in err
    code, _, err = run("fit", path, "-o", cal, "--by", "country", "--method", "platt")
    assert code != 0
    assert "Leave --method out" in err
    run("fit", path, "-o", cal, "--by", "country", "--folds", 0)
    np.savez(tmp_path / "a.npz", scores=[0.1, 0.4], outcomes=[0, 1])
    code, _, err = run("apply", cal, tmp_path / "a.npz", "-o", tmp_path / "b.npz")
    assert code != 0
    assert "has no column `country`" in err
    code, out, _ = run("export", cal, "--to", "sql", "-o", tmp_path / "c.sql", "--json")
    assert code == 0
    assert json.loads(out)["max_abs_difference"] < 1e-9
    assert '"country"' in (tmp_path / "c.sql").read_text()


def test_a_group_that_becomes_worse_is_named(rng):
    eta, n = rng.normal(0, 2, 24_000), 6000  # three groups are off in waves, "fine" is not
    name = np.repeat(["a", "b", "c", "fine"], n)
    true = np.where(name == "fine", eta, eta + 1.5 * np.sin(2.5 * eta))
    hits = rng.random(eta.size) < 1 / (1 + np.exp(-true))
    scores = 1 / (1 + np.exp(-eta))
    curves = {g: Curve.from_scores(scores[name == g], hits[name == g]) for g in np.unique(name)}
    check = check_groups(curves, 5)
    assert check.worse == ("fine",)
    assert check.spoilt == ("fine",)
    assert check.log_loss_after <= check.log_loss_overall < check.log_loss_before
    with pytest.warns(OgiveWarning, match=r"makes 1 group \('fine'\) worse than before"):
        warn_of_worse(check)


def test_groups_that_do_not_differ_are_not_called_worse(rng):
    scores = rng.random(8000)
    hits, name = rng.random(8000) < scores**1.5, rng.integers(0, 40, 8000)
    curves = {str(g): Curve.from_scores(scores[name == g], hits[name == g]) for g in range(40)}
    assert check_groups(curves, 5).worse == ()


def test_a_calibrator_without_a_column_cannot_read_a_table(tmp_path, rng):
    source = open_file(write_csv(tmp_path / "log.csv", *rows(rng, 60)))
    with pytest.raises(InvalidInput, match="name it when fitting"):
        groups_of(source, "", None)
    with pytest.raises(FileFormatError, match="no column `town`"):
        groups_of(source, "", "town")
    assert groups_of(source, "", "country")[0] == "(none)"


def test_apply_asks_for_groups(rng):
    from ogive import Predictions, fit_groups

    scores, hits, name = rows(rng, 600)
    gamma = fit_groups(
        {n: Curve.from_scores(scores[name == n], hits[name == n]) for n in ("BR", "DE")}
    )
    with pytest.raises(InvalidInput, match="needs the group of each row"):
        apply(gamma, Predictions(scores, hits, kind="probs"))
    assert "2 groups" in in_words(gamma, None, 0)[0]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_two_columns_from_a_table_and_back(kind, run, tmp_path, rng):
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    n = 8000
    scores, country = rng.random(n), rng.choice(["BR", "DE"], n)
    device = rng.choice(["mobile", "desktop"], n)
    off = (country == "BR").astype(int) + (device == "mobile")
    outcomes = (rng.random(n) < scores ** (1 + 0.5 * off)).astype(int)
    table = pa.table({"score": scores, "outcome": outcomes, "country": country, "device": device})
    path, out = tmp_path / f"log.{kind}", tmp_path / f"out.{kind}"
    pyarrow.csv.write_csv(table, path) if kind == "csv" else pq.write_table(table, path)
    cal = tmp_path / "cal.json"
    code, text, err = run("fit", path, "-o", cal, "--by", "country,device")
    assert code == 0, err
    assert "4 groups of country,device" in text
    gamma = load(cal)
    assert {"BR | mobile", "BR | *", "* | mobile"} <= set(gamma.groups)
    code, text, err = run("apply", cal, path, "-o", out)
    assert code == 0, err
    expected = gamma(scores, np.stack([country, device], axis=1))
    found = open_file(out).predictions().values.reshape(-1)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    code, _, err = run("fit", path, "-o", cal, "--by", "country,town")
    assert code != 0
    assert "'town'" in err
