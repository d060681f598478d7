import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ogive.studies.arena.standings import means_of_families, ranks, standings, wins
from tests import naive

# Few distinct values, so that ties are common.
TABLES = st.tuples(st.integers(1, 8), st.integers(1, 5)).flatmap(
    lambda shape: arrays(float, shape, elements=st.sampled_from([0.1, 0.2, 0.25, 0.3, 0.7]))
)


def stand(table, families, seed=0):
    names = [f"m{i}" for i in range(table.shape[1])]
    rows = standings(names, {"nll": table}, families, seconds=[None] * len(names),
                     sources=["ogive"] * len(names), random_state=seed)  # fmt: skip
    return {row.method: row for row in rows}


@given(table=TABLES)
def test_ranks_and_wins_are_as_defined(table):
    np.testing.assert_allclose(ranks(table), [naive.places(row) for row in table.tolist()])
    np.testing.assert_allclose(wins(table), naive.shared_wins(table.tolist()))
    assert wins(table).sum() == pytest.approx(len(table))
    assert ranks(table).sum(axis=1) == pytest.approx(table.shape[1] * (table.shape[1] + 1) / 2)


def test_numbers_that_differ_in_the_last_bits_are_tied():
    x = 0.1 + 0.2
    assert ranks(np.array([[x, 0.3]])).tolist() == [[1.5, 1.5]]
    assert ranks(np.array([[0.3 + 1e-9, 0.3]])).tolist() == [[2.0, 1.0]]


@given(table=TABLES, data=st.data())
def test_drawn_families_count_as_often_as_they_were_drawn(table, data):
    rows = len(table)
    names = data.draw(st.lists(st.sampled_from("abc"), min_size=rows, max_size=rows))
    drawn = data.draw(st.lists(st.sampled_from(sorted(set(names))), min_size=1, max_size=5))
    known, family = np.unique(names, return_inverse=True)
    times = np.array([[drawn.count(name) for name in known]], dtype=float)
    expected = naive.mean_of_drawn(table.tolist(), names, drawn)
    np.testing.assert_allclose(means_of_families(table, family, times)[0], expected)


@given(table=TABLES, data=st.data())
def test_standings_are_as_defined(table, data):
    rows = len(table)
    names = data.draw(st.lists(st.sampled_from("abc"), min_size=rows, max_size=rows))
    found = stand(table, names)
    places = np.array([naive.places(row) for row in table.tolist()])
    above = table - table.min(axis=1, keepdims=True)
    for m in range(table.shape[1]):
        row = found[f"m{m}"]
        assert row.rank["nll"] == pytest.approx(places[:, m].mean())
        assert row.excess["nll"] == pytest.approx(above[:, m].mean())
        assert row.worst["nll"] == pytest.approx(above[:, m].max())
        assert row.mean["nll"] == pytest.approx(table[:, m].mean())
        assert row.wins["nll"] == pytest.approx(naive.shared_wins(table.tolist())[m])
        if len(set(names)) == 1:
            assert row.rank_range["nll"] is None
            assert row.rank_interval["nll"] is None
        else:
            without = np.array(naive.means_without_each(places.tolist(), names))[:, m]
            assert row.rank_range["nll"] == pytest.approx((without.min(), without.max()))
            low, high = row.rank_interval["nll"]
            assert low - 1e-12 <= row.rank["nll"] <= high + 1e-12 or rows < 6
    order = [row.rank["nll"] for row in found.values()]
    assert order == sorted(order)


def test_intervals_resample_families_not_experiments(rng):
    """Ten experiments of one family weigh as one: the interval is that of two values."""
    table = np.array([[0.1, 0.2]] * 10 + [[0.2, 0.1]])
    apart = stand(table, [str(i) for i in range(11)])["m0"]
    together = stand(table, ["a"] * 10 + ["b"])["m0"]
    assert together.rank_interval["nll"] == (1.0, 2.0)
    assert apart.rank_interval["nll"][1] < 1.5
    assert together.rank_range["nll"] == (1.0, 2.0)


@pytest.mark.thorough
def test_intervals_cover_about_as_often_as_they_say(rng):
    hits = 0
    for seed in range(200):
        table = np.stack([np.zeros(30), rng.normal(0.0, 1.0, 30)], axis=1)  # ranks 1 or 2, evenly
        low, high = stand(table, [str(i) for i in range(30)], seed=seed)["m0"].rank_interval["nll"]
        hits += low <= 1.5 <= high
    assert 175 <= hits <= 199
