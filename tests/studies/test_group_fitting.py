"""Groups from a table to a calibrator and back; what makes a group worse is named."""

import json

import numpy as np
import pytest

from ogive import Curve, load
from ogive.errors import FileFormatError, InvalidInput, OgiveWarning
from ogive.readers import open_file
from ogive.studies.fitting import apply
from ogive.studies.group_fitting import check_groups, check_one_map, groups_of, in_words
from ogive.studies.group_harm import Harm, warn_of_worse
from tests import naive
from tests.studies.grouped_rows import grouped_rows as rows
from tests.studies.grouped_rows import write_csv

pytest.importorskip("pyarrow")


def write_parquet(path, scores, outcomes, country):
    import pyarrow as pa
    import pyarrow.parquet as pq

    values = [name or None for name in country.tolist()]
    pq.write_table(pa.table({"score": scores, "outcome": outcomes, "country": values}), path)
    return path


@pytest.mark.filterwarnings("always::ogive.errors.OgiveWarning")
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
    code, text, err = run("apply", cal, path, "-o", out)
    assert code == 0, err
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
    assert [one.group for one in check.worse] == ["fine"]
    assert [one.group for one in check.spoilt] == ["fine"]
    assert check_one_map(curves, "spline", 5) == check.spoilt
    assert check.log_loss_after <= check.log_loss_overall < check.log_loss_before
    with pytest.warns(OgiveWarning, match=r"makes 1 group \('fine'\) worse than before"):
        warn_of_worse(check.worse, "rows left out", by_group=True)


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


def test_harm_is_the_naive_one(rng):
    n = 3000
    names = np.stack([rng.choice(["BR", "DE", "US"], n), rng.choice(["tv", "pc"], n)], axis=1)
    weight = rng.gamma(2.0, size=n)
    before, after = rng.uniform(0.3, 0.9, (2, n))
    after = np.where(names[:, 0] == "US", before - 0.02 * rng.random(n), after)
    whole = Harm()
    whole.add(names, before, after, weight, weight**2)
    want = naive.worse_groups(names, np.log(before / after), weight)
    assert [one.group for one in whole.worse()] == list(want)
    assert [one.rise for one in whole.worse()] == pytest.approx(list(want.values()))
    assert "US | *" in want
    parts = Harm()
    for some in np.array_split(rng.permutation(n), 4):
        shard = Harm()
        shard.add(names[some], before[some], after[some], weight[some], weight[some] ** 2)
        parts.include(shard.plain())
    assert [one.group for one in parts.worse()] == [one.group for one in whole.worse()]
    twice, counted = Harm(), Harm()
    twice.add(np.repeat(names, 2, 0), np.repeat(before, 2), np.repeat(after, 2))
    counted.add(names, before, after, np.full(n, 2.0))
    assert [one.group for one in twice.worse()] == [one.group for one in counted.worse()]


def spoiling(rng, n=16_000):
    """US is right, the others are not: one map for all spoils US."""
    country, device = rng.choice(["US", "BR", "DE"], n), rng.choice(["tv", "pc"], n)
    scores = rng.random(n)
    hits = rng.random(n) < np.where(country == "US", scores, scores**1.5)
    return scores, hits.astype(int), country, device


def write_table(path, scores, outcomes, country, device):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(exist_ok=True)
    columns = {"score": scores, "outcome": outcomes, "country": country, "device": device}
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.filterwarnings("always::ogive.errors.OgiveWarning")
def test_one_map_that_spoils_a_group_is_named_by_fit_and_apply(run, tmp_path, rng):
    import json

    data = spoiling(rng)
    log = tmp_path / "log"
    for i in range(2):
        half = [column[8000 * i :][:8000] for column in data]
        write_table(log / f"{i}.parquet", *half)
    cal, out = tmp_path / "cal.json", tmp_path / "out"
    words = "makes 3 groups ('US | "
    code, text, err = run("fit", log, "-o", cal, "--check-by", "country,device", "--json")
    assert code == 0
    assert words in err
    assert "calibrate by group: ogive fit --by" in err
    worse = set(json.loads(text)["worse"])
    assert worse == {"US | *", "US | tv", "US | pc"}
    code, _, err = run("apply", cal, log, "-o", out, "--check-by", "country")
    assert code == 2
    assert "--check-by is gone: groups are judged when a map is fitted" in " ".join(err.split())
    code, text, err = run("apply", cal, log, "-o", out, "--json")
    assert (code, err) == (0, "")
    assert "worse" not in json.loads(text)
    code, _, err = run("fit", log, "-o", tmp_path / "by.json", "--by", "country,device")
    assert (code, err) == (0, "")
    code, text, err = run("apply", tmp_path / "by.json", log, "-o", tmp_path / "c", "--json")
    assert (code, err) == (0, "")
    assert json.loads(text)["worse"] == []


@pytest.mark.filterwarnings("always::ogive.errors.OgiveWarning")
def test_a_check_that_cannot_be_made_is_refused_or_told(run, tmp_path, rng):
    scores, hits, country, device = spoiling(rng, 600)
    path = write_table(tmp_path / "log.parquet", scores, hits, country, device)
    cal = tmp_path / "cal.json"
    for options, words in (
        (("--folds", 0), "no rows left out to judge groups on"),
        (("--method", "temperature"), "ogive compare --view top-1 --by judges all"),
        (("--by", "country"), "the groups of --by are judged anyway"),
    ):
        code, _, err = run("fit", path, "-o", cal, "--check-by", "country", *options)
        assert code == 2
        assert words in err
    code, _, err = run("fit", path, "-o", cal, "--check-by", "score")
    assert code == 1
    assert "looks like an identifier" in err
    np.savez(tmp_path / "a.npz", scores=scores, outcomes=hits)
    code, _, err = run("fit", tmp_path / "a.npz", "-o", cal, "--check-by", "country")
    assert code == 2
    assert "has no columns that name groups; tables have" in err
    assert not cal.exists()


def test_namibia_is_a_country(run, tmp_path, rng):
    """NA in a CSV column of groups is a name, in fit, apply and measure; an empty cell is none."""
    import json

    scores, outcomes, country = rows(rng, 3000)
    country = np.where(country == "007", "NA", country)
    path = write_csv(tmp_path / "log.csv", scores, outcomes, country)
    cal, out = tmp_path / "cal.json", tmp_path / "out.csv"
    _, text, _ = run("measure", path, "--by", "country", "--json")
    assert {one["group"] for one in json.loads(text)["groups"]} == {"(none)", "BR", "DE", "NA"}
    assert run("fit", path, "-o", cal, "--by", "country")[0] == 0
    gamma = load(cal)
    assert gamma.groups == ("(none)", "BR", "DE", "NA")
    assert run("apply", cal, path, "-o", out)[0] == 0
    names = np.where(country == "", "(none)", country)
    found = open_file(out).predictions().values.reshape(-1)
    np.testing.assert_allclose(found, gamma(scores, names), rtol=1e-12)
