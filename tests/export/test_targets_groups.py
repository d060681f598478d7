"""Exports of a calibrator of groups: the same numbers, and names that never become code."""

import json
import sys

import numpy as np
import pytest

from ogive import fit_groups, load, save
from ogive.errors import ExportError, InvalidInput
from ogive.export import run_sql, to_onnx, to_sql, to_torch
from ogive.export.grid import groups_for
from ogive.export.sql_groups import MAX_GROUPS, text_literal
from ogive.export.targets import TARGETS, export
from ogive.rows.predictions import Predictions
from ogive.rows.views import score_rows
from tests.export import grouped
from tests.export.calibrators import group_curves

HEAD = "-- spline calibrator of score, fitted on 3 rows; written by ogive 1.0\n"
NOT_OURS = ["'a\\'", "'a", "'a\nb'", "'a' ; 'b'", "'a' -- 'b'", "x'41'", "E'a'"]
MADE = {"hostile": grouped.hostile, "crossed": grouped.crossed, "three": grouped.three}


@pytest.mark.with_parts  # SQL is checked by DuckDB where it is installed
@pytest.mark.parametrize("to", sorted({*TARGETS} - {"python"}))
@pytest.mark.parametrize("name", sorted(MADE))
def test_every_export_agrees_with_the_library(to, name, tmp_path):
    for extra in {"onnx": ["onnx", "onnxruntime"], "torch": ["torch"]}.get(to, []):
        pytest.importorskip(extra)
    done = export(MADE[name](), to, tmp_path / "cal", dtype="float64", points=3000)
    assert done.max_abs_difference < 1e-9
    assert done.points >= 3000


@pytest.mark.parametrize("name", sorted(MADE))
def test_an_artifact_carries_any_name(name, tmp_path):
    gamma = MADE[name]()
    save(gamma, tmp_path / "cal.json")
    assert load(tmp_path / "cal.json") == gamma


def test_groups_not_seen_and_missing_ones_get_what_the_library_gives():
    gamma, s = grouped.crossed(), np.full(4, 0.3)
    rows = np.array([("BR", "zz"), ("zz", "zz"), ("DE", "m"), (None, "")], dtype=object)
    effect = gamma.table.effects(gamma.codes(rows))
    place = {name: i for i, name in enumerate(gamma.groups)}
    own = [gamma.effect[place[n]] for n in ("BR | *", "DE | *", "* | m", "* | (none)")]
    wanted = [own[0], np.zeros(3), own[1] + own[2], own[3]]
    np.testing.assert_allclose(effect, wanted, atol=1e-15)
    assert gamma(s, rows)[1] == pytest.approx(float(gamma.overall(0.3)))
    found = to_sql.run(to_sql.write(gamma), s, "score", rows, ("country", "device"))
    np.testing.assert_allclose(found, gamma(s, rows), atol=1e-12)


def of_engine(gamma, text, groups, scores, by, connection):
    """The numbers of PostgreSQL, which has no NUL."""
    columns = ", ".join(f"{run_sql.quoted(name)} text" for name in by)
    connection.execute("DROP TABLE IF EXISTS g")
    connection.execute(f"CREATE TABLE g (ogive_row integer, score double precision, {columns})")
    with connection.cursor().copy("COPY g FROM STDIN") as copy:
        for i, (s, row) in enumerate(zip(scores.tolist(), groups.tolist(), strict=True)):
            copy.write_row((i, s, *row))
    query = f"SELECT {text} FROM g ORDER BY ogive_row"  # noqa: S608 - that is the test
    found = connection.execute(query).fetchall()
    return np.array([row[0] for row in found], dtype=np.float64)


@pytest.mark.parametrize("name", sorted(MADE))
def test_postgresql_gives_the_same_numbers(name, connection):
    gamma = MADE[name]()
    groups, scores = groups_for(gamma, 2000, 1), np.random.default_rng(1).random(2000)
    scores[:2] = 0.0, 1.0
    text = to_sql.write(gamma)
    found = of_engine(gamma, text, groups, scores, gamma.columns, connection)
    np.testing.assert_allclose(found, gamma(scores, groups), atol=1e-9)
    connection.execute("SET standard_conforming_strings = off")  # backslashes are escapes then
    found = of_engine(gamma, text, groups, scores, gamma.columns, connection)
    np.testing.assert_allclose(found, gamma(scores, groups), atol=1e-9)
    connection.execute("SET standard_conforming_strings = on")


@pytest.mark.parametrize("name", ["hostile", "crossed"])
def test_sqlite_checks_where_duckdb_is_missing(name, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert export(MADE[name](), "sql", tmp_path / "cal.sql", points=2000).max_abs_difference < 1e-9


def test_a_hostile_name_is_text_in_duckdb_and_nothing_else():
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect(":memory:")
    connection.execute("CREATE TABLE t (score DOUBLE, country VARCHAR)")
    gamma = grouped.hostile()
    connection.executemany("INSERT INTO t VALUES (0.3, ?)", [[name] for name in grouped.HOSTILE])
    query = f"SELECT {to_sql.write(gamma)} FROM t"  # noqa: S608 - that is the test
    (statement,) = connection.extract_statements(query)
    found = [row[0] for row in connection.execute(statement).fetchall()]
    wanted = gamma([0.3] * len(grouped.HOSTILE), grouped.HOSTILE)
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    assert len(set(np.round(wanted, 12))) > 20  # the names are told apart
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (len(grouped.HOSTILE),)


@pytest.mark.parametrize("name", grouped.HOSTILE)
def test_a_literal_of_sql_is_the_text_again(name):
    literal = text_literal(name)
    assert literal.isprintable()
    assert "\\" not in literal
    duckdb = pytest.importorskip("duckdb")
    assert duckdb.connect().execute(f"SELECT {literal}").fetchall() == [(name,)]
    run_sql.check_text(
        "-- spline calibrator of score, fitted on 3 rows; written by ogive 1.0\n" + literal
    )


@pytest.mark.parametrize(
    "text", ["'a\\'", "'a", "'a\nb'", "'a' ; 'b'", "'a' -- 'b'", "x'41'", "E'a'"]
)
def test_other_text_is_not_let_through(text):
    with pytest.raises(ExportError, match="nothing was written"):
        run_sql.check_text(HEAD + text)


def test_what_sql_cannot_hold_is_refused_with_a_way_out(tmp_path):
    gamma = grouped.fitted_to(["a\0b", "c"], by="x")
    with pytest.raises(ExportError, match=r"cannot be written in SQL. Export to onnx"):
        export(gamma, "sql", tmp_path / "cal.sql", points=500)
    assert not (tmp_path / "cal.sql").exists()
    with pytest.raises(ExportError, match=f"{MAX_GROUPS + 1:,} groups"):
        export(grouped.many(MAX_GROUPS + 1), "sql", tmp_path / "cal.sql")
    with pytest.raises(InvalidInput, match="must be different columns"):
        export(grouped.fitted_to(["a", "b"], by="Score"), "sql", tmp_path / "cal.sql")


@pytest.mark.thorough
@pytest.mark.with_parts
@pytest.mark.parametrize("to", ["sql", "onnx"])
def test_ten_thousand_groups(to, tmp_path):
    for extra in {"onnx": ["onnx", "onnxruntime"]}.get(to, []):
        pytest.importorskip(extra)
    out = tmp_path / "cal"
    assert export(grouped.many(), to, out, dtype="float64", points=20_000).max_abs_difference < 1e-9
    assert out.stat().st_size < 1_500_000  # at most 150 bytes a group


@pytest.mark.parametrize("view", ["top-1", "class-2"])
@pytest.mark.parametrize("kind", ["logits", "probs"])
def test_arrays_compute_the_score_of_a_view(view, kind, tmp_path):
    from dataclasses import replace

    gamma = grouped.crossed()
    gamma = replace(gamma, view=view, overall=replace(gamma.overall, view=view))
    for to, package in (("onnx", "onnxruntime"), ("torch", "torch")):
        pytest.importorskip(package)
        done = export(gamma, to, tmp_path / "cal", kind=kind, dtype="float64", points=3000)
        assert done.max_abs_difference < 2e-6


def test_the_inputs_of_onnx():
    pytest.importorskip("onnx")
    gamma = grouped.crossed()
    model = to_onnx.model(gamma, kind="probs", dtype="float64")
    assert [entry.name for entry in model.graph.input] == ["scores", "group_1", "group_2"]
    (prop,) = model.metadata_props
    assert json.loads(prop.value) == {"group_1": "country", "group_2": "device"}


def test_the_table_of_torch():
    torch = pytest.importorskip("torch")
    gamma = fit_groups(group_curves(), by="country")
    made = to_torch.module(gamma, kind="probs")
    assert made.groups == {
        "columns": ["country"],
        "values": [["BR", "DE", "US"]],
        "missing": "(none)",
    }
    s = torch.tensor([0.3, 0.3, 0.3, 0.3], dtype=torch.float64, requires_grad=True)
    found = made(s, torch.tensor([0, 2, -1, 99]))
    np.testing.assert_allclose(
        found.detach(), gamma([0.3] * 4, ["BR", "US", "FR", "FR"]), atol=1e-12
    )
    found.sum().backward()
    slope = np.diff(gamma([0.2999, 0.3001], ["BR"] * 2))[0] / 0.0002
    assert float(s.grad[0]) == pytest.approx(slope, rel=1e-4)


def test_groups_of_many_types_are_read_alike():
    gamma = fit_groups(group_curves(), by="country")
    pd = pytest.importorskip("pandas")
    names = ["BR", None, "US", "", "FR"]
    wanted = gamma([0.3] * 5, names)
    assert wanted[1] == wanted[3] == wanted[4]
    assert wanted[0] != wanted[4]
    for given in (
        np.array(names, dtype=object),
        pd.Series(names),
        pd.Series(names, dtype="string"),
        pd.Categorical(names),
        np.ma.array(["BR", "x", "US", "", "FR"], mask=[0, 1, 0, 0, 0]),
        [(name,) for name in names],
        pd.DataFrame({"country": names}),
    ):
        np.testing.assert_array_equal(gamma([0.3] * 5, given), wanted)
    with pytest.raises(InvalidInput, match="must have 1 columns"):
        gamma([0.3], [("BR", "x")])


def test_a_view_of_vectors_and_its_groups():
    gamma = grouped.crossed()
    preds = Predictions([[0.2, 0.8], [0.6, 0.4]], kind="probs")
    rows = score_rows(preds, "class-1")
    groups = [("BR", "d"), ("DE", "m")]
    np.testing.assert_allclose(
        gamma.from_tails(rows.high, rows.tail, groups), gamma([0.8, 0.4], groups)
    )
