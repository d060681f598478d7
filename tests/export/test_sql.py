"""The SQL form in real engines: DuckDB, PostgreSQL and SQLite."""

import numpy as np
import pytest

from ogive.export import to_sql
from ogive.export.check import batch, compare, expected
from ogive.predictions import Predictions
from ogive.studies.fitting import fit
from tests.export import postgres
from tests.export.calibrators import fitted, predictions
from tests.export.test_targets import SQL_NAMES

POINTS = 100_000


@pytest.fixture(scope="module")
def connection():
    """A connection to a PostgreSQL that runs as long as these tests do."""
    psycopg = pytest.importorskip("psycopg")
    if postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed")
    with postgres.cluster() as address, psycopg.connect(address, autocommit=True) as connection:
        yield connection


def in_postgres(connection, text, values):
    table = to_sql.table_of(text, values)
    columns = ", ".join(f"{name} double precision" for name in table)
    connection.execute("DROP TABLE IF EXISTS t")
    connection.execute(f"CREATE TABLE t (ogive_row integer, {columns})")
    with connection.cursor().copy("COPY t FROM STDIN") as copy:
        for i, row in enumerate(zip(*(c.tolist() for c in table.values()), strict=True)):
            copy.write_row((i, *row))
    rows = connection.execute(f"SELECT {text} FROM t ORDER BY ogive_row").fetchall()
    return np.array([row[0] for row in rows], dtype=np.float64)


def in_duckdb(text, values):
    duckdb = pytest.importorskip("duckdb")
    return to_sql._in_duckdb(duckdb, text, to_sql.table_of(text, values))


def agree(gamma, run):
    text = to_sql.write(gamma)
    of_a_score = not hasattr(gamma, "K")
    kind = "probs" if of_a_score else "logits"
    values = batch(gamma, kind, from_scores=of_a_score, dtype="float64", points=POINTS, seed=2)
    found = run(text, values)
    checked = compare(gamma, values, found, kind, from_scores=of_a_score, bound=1e-9)
    assert checked.points * (1 if of_a_score else gamma.K) >= POINTS
    assert checked.at_jumps <= 10
    if found.ndim == 2:
        np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("name", sorted(SQL_NAMES))
def test_postgresql_gives_the_same_numbers(name, connection):
    agree(fitted(name), lambda text, values: in_postgres(connection, text, values))


@pytest.mark.parametrize("name", sorted(SQL_NAMES))
def test_duckdb_gives_the_same_numbers(name):
    agree(fitted(name), in_duckdb)


@pytest.mark.parametrize("name", ["spline.score", "histogram.score", "vector.vector"])
def test_sqlite_checks_where_duckdb_is_missing(name, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "duckdb", None)
    agree(fitted(name), to_sql.run)


@pytest.mark.parametrize("method", ["temperature", "vector"])
@pytest.mark.parametrize("view", ["class-2", "top-1"])
def test_views_of_a_matrix_method_are_one_number(method, view, connection):
    gamma = fit(predictions(), method, view)
    values = batch(gamma, "logits", from_scores=False, dtype="float64", points=4000, seed=2)
    vectors = expected(gamma, values, "logits", from_scores=False)
    wanted = vectors[:, 2] if view == "class-2" else vectors.max(axis=1)
    for found in (
        in_duckdb(to_sql.write(gamma), values),
        in_postgres(connection, to_sql.write(gamma), values),
    ):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9)


def test_a_view_without_a_form_says_so():
    with pytest.raises(
        ValueError, match="'top-2' has no sensible SQL form; top-1 and class-k have"
    ):
        to_sql.write(fit(predictions(), "temperature", "top-2"))


def test_one_column_of_a_matrix_method():
    rng = np.random.default_rng(0)
    eta = rng.normal(size=400) * 3
    labels = rng.random(400) < 1 / (1 + np.exp(-0.5 * eta))
    gamma = fit(Predictions(eta, labels, kind="logits"), "vector")
    wanted = gamma(Predictions(eta, kind="logits"))[:, 1]
    np.testing.assert_allclose(to_sql.run(to_sql.write(gamma), eta), wanted, atol=1e-9)


def test_null_nan_and_scores_out_of_range_are_null(connection):
    duckdb = pytest.importorskip("duckdb")
    rows = "(VALUES (NULL), ('NaN'::float8), (-0.5), (1.5), ('Infinity'::float8)) AS t(score)"
    for name in ("histogram.score", "spline.score", "none.score"):
        query = f"SELECT {to_sql.write(fitted(name))} FROM {rows}"
        assert connection.execute(query).fetchall() == [(None,)] * 5
        assert duckdb.sql(query).fetchall() == [(None,)] * 5


def test_a_column_of_another_name_and_type(connection):
    gamma = fitted("spline.score")
    text = to_sql.write(gamma, column="t.p / 100")
    query = f"SELECT {text} FROM (SELECT CAST(25 AS real) AS p) AS t"
    assert connection.execute(query).fetchone()[0] == pytest.approx(gamma(0.25), abs=1e-9)
    text = to_sql.write(fitted("vector.vector"), column="t.z")
    logits = ", ".join(f"{z} AS z{k}" for k, z in enumerate([1, 0, -1, 2]))
    query = f"SELECT {text} FROM (SELECT {logits}) AS t"
    wanted = fitted("vector.vector")(Predictions([[1.0, 0, -1, 2]], kind="logits"))[0]
    np.testing.assert_allclose(connection.execute(query).fetchone()[0], wanted, atol=1e-9)
