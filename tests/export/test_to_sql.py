"""The SQL form in real engines: DuckDB, PostgreSQL and SQLite."""

import numpy as np
import pytest

from ogive.errors import ExportError, InvalidInput
from ogive.export import run_sql, to_sql
from ogive.export.check import batch, compare, expected
from ogive.export.targets import export
from ogive.rows.predictions import Predictions
from ogive.studies.fitting import fit
from tests.export.calibrators import SQL_NAMES, fitted, predictions

POINTS = 100_000


def in_postgres(connection, text, values, column):
    name = run_sql.parse_column(column)
    table = run_sql.table_of(name, values)
    columns = ", ".join(f"{run_sql.quoted(name)} double precision" for name in table)
    connection.execute("DROP TABLE IF EXISTS t")
    connection.execute(f"CREATE TABLE t (ogive_row integer, {columns})")
    with connection.cursor().copy("COPY t FROM STDIN") as copy:
        for i, row in enumerate(zip(*(c.tolist() for c in table.values()), strict=True)):
            copy.write_row((i, *row))
    alias = run_sql.quoted(name.table or "t")
    rows = connection.execute(f"SELECT {text} FROM t AS {alias} ORDER BY ogive_row").fetchall()
    return np.array([row[0] for row in rows], dtype=np.float64)


def in_duckdb(text, values, column):
    pytest.importorskip("duckdb")
    return to_sql.run(text, values, column)


def agree(gamma, run):
    text = to_sql.write(gamma)
    of_a_score = not hasattr(gamma, "K")
    kind = "probs" if of_a_score else "logits"
    values = batch(gamma, kind, from_scores=of_a_score, points=POINTS, random_state=2)
    found = run(text, values, to_sql.default_column(gamma))
    checked = compare(gamma, values, found, kind, from_scores=of_a_score, bound=1e-9)
    assert checked.points * (1 if of_a_score else gamma.K) >= POINTS
    assert checked.at_jumps <= 10
    if found.ndim == 2:
        np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("name", sorted(SQL_NAMES))
def test_postgresql_gives_the_same_numbers(name, connection):
    agree(fitted(name), lambda *given: in_postgres(connection, *given))


@pytest.mark.parametrize("name", sorted(SQL_NAMES))
def test_duckdb_gives_the_same_numbers(name):
    agree(fitted(name), in_duckdb)


@pytest.mark.parametrize("name", ["spline.score", "histogram.score", "vector.vector"])
def test_sqlite_checks_where_duckdb_is_missing(name, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "duckdb", None)
    agree(fitted(name), to_sql.run)


VIEWS = ["vector", "class-0", "class-2", "top-1", "top-2", "top-4", "within-top-1", "within-top-3"]


@pytest.mark.parametrize("method", ["temperature", "vector"])
@pytest.mark.parametrize("view", VIEWS)
def test_views_of_a_matrix_method_are_one_number(method, view, connection, monkeypatch):
    import sys

    gamma = fit(predictions(), method, view)
    values = batch(gamma, "logits", from_scores=False, points=4000, random_state=2)
    vectors = expected(gamma, values, "logits", from_scores=False)
    falling = -np.sort(-vectors, axis=1)
    kind, _, number = view.rpartition("-")
    wanted = {
        "": lambda _: vectors,
        "class": lambda k: vectors[:, k],
        "top": lambda r: falling[:, r - 1],
        "within-top": lambda r: falling[:, :r].sum(axis=1),
    }[kind](int(number) if kind else 0)
    text = to_sql.write(gamma)
    found = [in_postgres(connection, text, values, "logit_"), in_duckdb(text, values, "logit_")]
    monkeypatch.setitem(sys.modules, "duckdb", None)
    for each in (*found, to_sql.run(text, values, "logit_")):
        np.testing.assert_allclose(each, wanted, rtol=0, atol=1e-9)


def test_one_column_of_a_matrix_method():
    rng = np.random.default_rng(0)
    eta = rng.normal(size=400) * 3
    labels = rng.random(400) < 1 / (1 + np.exp(-0.5 * eta))
    gamma = fit(Predictions(eta, labels, kind="logits"), "vector")
    wanted = gamma(Predictions(eta, kind="logits"))[:, 1]
    np.testing.assert_allclose(to_sql.run(to_sql.write(gamma), eta, "log_odds"), wanted, atol=1e-9)


def test_null_nan_and_scores_out_of_range_are_null(connection):
    duckdb = pytest.importorskip("duckdb")
    rows = "(VALUES (NULL), ('NaN'::float8), (-0.5), (1.5), ('Infinity'::float8)) AS t(score)"
    for name in ("histogram.score", "spline.score", "none.score"):
        query = f"SELECT {to_sql.write(fitted(name))} FROM {rows}"
        assert connection.execute(query).fetchall() == [(None,)] * 5
        assert duckdb.sql(query).fetchall() == [(None,)] * 5


def test_a_column_of_another_type(connection):
    gamma = fitted("spline.score")
    text = to_sql.write(gamma, column="t.p")
    query = f"SELECT {text} FROM (SELECT CAST(0.25 AS real) AS p) AS t"
    assert connection.execute(query).fetchone()[0] == pytest.approx(gamma(0.25), abs=1e-9)
    text = to_sql.write(fitted("vector.vector"), column="t.z")
    logits = ", ".join(f"{z} AS z{k}" for k, z in enumerate([1, 0, -1, 2]))
    query = f"SELECT {text} FROM (SELECT {logits}) AS t"
    wanted = fitted("vector.vector")(Predictions([[1.0, 0, -1, 2]], kind="logits"))[0]
    np.testing.assert_allclose(connection.execute(query).fetchone()[0], wanted, atol=1e-9)


NAMES = ["select", "my col", "x/*", "x--", "a; DROP TABLE t", "Score", "p.score", "t.my col",
         '"a.b"', '"x ""y"""', "ж", "'", "from.where", "]", "ARRAY[", "%s", "{0}"]  # fmt: skip


@pytest.mark.parametrize("name", ["platt.score", "temperature.vector", "vector.vector"])
@pytest.mark.parametrize("column", NAMES)
def test_any_name_is_quoted(name, column, connection, tmp_path, monkeypatch):
    import sys

    gamma = fitted(name)
    of_a_score = not hasattr(gamma, "K")
    values = np.array([0.2, 0.7]) if of_a_score else np.array([[1.0, 0, -1, 2], [0, 0, 3, 1]])
    wanted = expected(gamma, values, "logits", from_scores=of_a_score)
    text = to_sql.write(gamma, column=column)
    np.testing.assert_allclose(in_postgres(connection, text, values, column), wanted, atol=1e-9)
    np.testing.assert_allclose(in_duckdb(text, values, column), wanted, atol=1e-9)
    export(gamma, "sql", tmp_path / "out.sql", column=column, points=500)  # run under that name
    assert (tmp_path / "out.sql").read_text() == text
    monkeypatch.setitem(sys.modules, "duckdb", None)
    np.testing.assert_allclose(to_sql.run(text, values, column), wanted, atol=1e-9)


@pytest.mark.parametrize(
    "column",
    ["", " ", "a\nb", "a\x00", "a.b.c", '"a', 'a"b', "x" * 64, "ogive_top", "Ogive_x", "."],
)
def test_what_is_no_name_is_refused(column, tmp_path):
    with pytest.raises(InvalidInput, match="`column` must be a column's name"):
        export(fitted("platt.score"), "sql", tmp_path / "out.sql", column=column or " ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "; COPY (SELECT 1) TO 'x'",
        "-- x",
        "/* x */",
        "'x\\'",  # text is allowed, for names of groups, but no backslash in it
        "read_text",
        "DROP TABLE t",
        "$1",
        "pg_sleep(1)",
        '"unclosed',
    ],
)
def test_only_words_of_an_expression_are_run(text):
    good = to_sql.write(fitted("platt.score"))
    run_sql.check_text(good)
    with pytest.raises(ExportError, match="nothing was written"):
        to_sql.run(good + text, np.zeros(1), "score")
    with pytest.raises(ExportError, match="nothing was written"):
        to_sql.run(good.replace("\n", " x\n", 1), np.zeros(1), "score")


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_the_engine_that_checks_has_no_files(engine, tmp_path, monkeypatch):
    """Were the list of words to miss something, the engine would still refuse it."""
    import sys

    monkeypatch.setattr(run_sql, "check_text", lambda _: None)
    out = tmp_path / "x"
    if engine == "sqlite":
        monkeypatch.setitem(sys.modules, "duckdb", None)
        texts = ["1 FROM ogive_rows; SELECT 2", "load_extension('x')", "(SELECT 1 FROM pragma_x)"]
        texts += [f"1; ATTACH '{out}' AS x"]
    else:
        pytest.importorskip("duckdb")
        texts = [f"1; COPY (SELECT 1) TO '{out}'", "(SELECT content FROM read_text('/etc/hosts'))"]
    for text in texts:
        with pytest.raises(ExportError, match="cannot run the exported SQL"):
            to_sql.run(text, np.zeros(1), "score")
    assert not out.exists()
