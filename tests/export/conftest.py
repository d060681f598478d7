"""A PostgreSQL for the tests of exports, where it is installed."""

import pytest

from tests.export import postgres


@pytest.fixture(scope="module")
def connection():
    """A connection to a PostgreSQL that runs as long as these tests do."""
    psycopg = pytest.importorskip("psycopg")
    if postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed")
    with postgres.cluster() as address, psycopg.connect(address, autocommit=True) as connection:
        yield connection
