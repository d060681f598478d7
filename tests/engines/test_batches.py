"""Batches become tallies: the same sums bit for bit in any cut, and exact after refining."""

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive import ks_error, kuiper_error
from ogive.engines.batches import Tally, added_tallies, tally
from ogive.engines.plan import Plan, make_plan
from ogive.engines.refine import curves_of
from ogive.errors import FileFormatError, InvalidInput, UnknownName
from ogive.readers.columns import find_columns
from ogive.readers.source import Columns
from tests.engines.tables import exact, logits_table, scores_table


def plan_for(table, view=None, K=2, **options):
    layout = find_columns(table.column_names, Columns(), "log")
    return make_plan(layout, K, view, **options)


def runner(table, rows=700):
    """An engine: tables of one tally per batch, added up."""

    def run(plan):
        plan = pickle.loads(pickle.dumps(plan))  # noqa: S301 - as a cluster would
        batches = table.to_batches(max_chunksize=rows)
        return Tally.from_tables((tally([batch], plan).to_table() for batch in batches), plan)

    return run


@given(cuts=st.lists(st.integers(1, 4999), max_size=6), seed=st.integers(0, 5))
def test_any_cut_gives_the_same_summary(cuts, seed):
    table = scores_table(seed=seed)
    plan = plan_for(table)
    whole = tally(table.to_batches(), plan)
    edges = [0, *sorted(cuts), 5000]
    parts = [table.slice(a, b - a).to_batches() for a, b in pairwise(edges)]
    tallies = [tally(part, plan) for part in parts][::-1]
    assert added_tallies(tallies, plan).summary == whole.summary
    tables = pa.concat_tables([part.to_table() for part in tallies])
    back = Tally.from_tables([tables], plan)
    assert back.summary == whole.summary
    assert back.rows == 5000
    assert back.curves()["score", ""] == exact(table).summarised(plan.bits)


@pytest.mark.parametrize("rows", [5000, 700])
def test_the_second_pass_makes_ks_exact(rows):
    table = scores_table()
    found = curves_of(runner(table, rows), plan_for(table, bits=5))
    assert found.passes == 2
    assert ks_error(found.curve) == pytest.approx(ks_error(exact(table)), abs=1e-12)
    assert kuiper_error(found.curve) == pytest.approx(kuiper_error(exact(table)), abs=1e-12)
    assert found.curve.n == 5000


def test_a_small_limit_takes_more_passes_and_ends_exact():
    table = scores_table(20_000)
    found = curves_of(runner(table, 5000), plan_for(table, bits=4), limit=8)
    assert found.passes > 2
    assert ks_error(found.curve) == pytest.approx(ks_error(exact(table)), abs=1e-12)


def test_one_pass_reads_once():
    table = scores_table()
    found = curves_of(runner(table), plan_for(table, bits=5), exact=False)
    assert found.passes == 1
    assert found.curve == exact(table).summarised(5)


@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize("view", ["top-1", "top-2", "within-top-2", "class-3"])
def test_views_of_logits(view, lists):
    table = logits_table(lists=lists)
    found = curves_of(runner(table), plan_for(table, view, K=4))
    curve = exact(logits_table(), view)
    assert ks_error(found.curve) == pytest.approx(ks_error(curve), abs=1e-12)
    assert found.curve.summary() == curve.summarised(12).summary()


def test_several_views_and_every_class_in_one_pass():
    table = logits_table()
    plan = plan_for(table, ("top-1", "within-top-2", "class-wise"), K=4)
    found = curves_of(runner(table), plan)
    views = ["top-1", "within-top-2", *(f"class-{k}" for k in range(4))]
    assert [name for name, _ in found.curves] == views
    for view in views:
        want = ks_error(exact(table, view))
        assert ks_error(found.curves[view, ""]) == pytest.approx(want, abs=1e-12)


def test_groups_are_curves_of_their_own():
    rng = np.random.default_rng(3)
    group = rng.choice(["DE", "FR", "IT", "ES", "PL", "SE", None], 5000).tolist()
    table = scores_table(country=pa.array(group))
    found = curves_of(runner(table), plan_for(table, by="country"))
    assert [g for _, g in found.curves] == ["(none)", "DE", "ES", "FR", "IT", "PL", "SE"]
    for name in (None, "DE"):
        mine = table.filter(pa.array([g == name for g in group]))
        curve = found.curves["score", name or "(none)"]
        assert curve.n == mine.num_rows
        assert ks_error(curve) == pytest.approx(ks_error(exact(mine)), abs=1e-12)


def test_weights():
    rng = np.random.default_rng(4)
    table = scores_table(weight=rng.random(5000) * (rng.random(5000) < 0.9))
    found = curves_of(runner(table), plan_for(table))
    want = exact(table)
    assert found.curve.n == pytest.approx(want.n, rel=1e-12)
    assert ks_error(found.curve) == pytest.approx(ks_error(want), abs=1e-12)


def test_weights_by_group():
    rng = np.random.default_rng(4)
    group = rng.choice(["a", "b"], 5000)
    table = scores_table(weight=rng.random(5000), country=group)
    found = curves_of(runner(table), plan_for(table, by="country"))
    want = exact(table.filter(pa.array(group == "b")))
    assert ks_error(found.curves["score", "b"]) == pytest.approx(ks_error(want), abs=1e-12)


def test_parts():
    table = scores_table(part=["cal", "test"] * 2500)
    found = curves_of(runner(table), plan_for(table, part="test"))
    keep = pa.array([i % 2 == 1 for i in range(5000)])
    assert found.curve.summary() == exact(table.filter(keep)).summarised(12).summary()


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("score", 1.5, r"row 17: `score` must be a number in \[0, 1\] \(1.5\)"),
        ("score", float("nan"), r"row 17: `score` must be a number in \[0, 1\] \(nan\)"),
        ("score", None, r"row 17: `score` must be a number in \[0, 1\] \(no value\)"),
        ("outcome", 2, r"row 17: `outcome` must be 0 or 1 \(2\)"),
        ("outcome", None, r"row 17: `outcome` must be 0 or 1 \(no value\)"),
        (
            "weight",
            -1.0,
            r"row 17: `weight` must be 0, or from 1e-100 to 9.0072e.*\(-1.0\)",
        ),
        ("weight", 1e19, r"row 17: `weight` must be 0, or .* to 9.0072e\+15 as repetition weight"),
        ("part", "dev", r"row 17: `part` must be cal or test \(dev\)"),
    ],
)
def test_a_bad_row_is_named_or_skipped(column, value, words):
    table = scores_table(100, weight=np.ones(100), part=["test"] * 100)
    cells = table[column].to_pylist()
    cells[17] = cells[50] = value
    bad = table.set_column(table.column_names.index(column), column, pa.array(cells))
    with pytest.raises(InvalidInput, match=words):
        tally(bad.to_batches(), plan_for(table, part="test"))
    result = tally(bad.to_batches(), plan_for(table, part="test", skip_bad=True))
    assert (result.rows, result.skipped) == (100, 2)
    assert result.curves()["score", ""].n == 98
    again = Tally.from_tables([result.to_table()], plan_for(table))
    assert (again.rows, again.skipped) == (100, 2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"label": 4}, r"row 5: `label` must be a whole number in \[0, 4\) .*\(4\)"),
        ({"label": -1}, r"row 5: `label` must be"),
        ({"label": None}, r"row 5: `label` must be .* \(no value\)"),
        ({"logits": [0.0, 1.0]}, "row 5: `logits` must be a list of 4 numbers"),
        ({"logits": None}, r"row 5: `logits` must be a list of 4 numbers \(no value\)"),
        ({"logits": [0.0, 1.0, float("nan"), 1.0]}, "row 5: `logits` must have no NaN"),
        ({"logits": [0.0, 1.0, float("inf"), 1.0]}, "row 5: `logits` must have no NaN"),
        ({"logits": [float("-inf")] * 4}, "row 5: `logits` must have no NaN"),
    ],
)
def test_a_bad_row_of_a_matrix(change, words):
    rows = [{"label": i % 4, "logits": [1.0, 2.0, 3.0, 4.0]} for i in range(10)]
    rows[5] |= change
    schema = pa.schema({"label": pa.int64(), "logits": pa.list_(pa.float64())})
    table = pa.Table.from_pylist(rows, schema)
    with pytest.raises(InvalidInput, match=words):
        tally(table.to_batches(), plan_for(table, K=4))
    result = tally(table.to_batches(), plan_for(table, K=4, skip_bad=True))
    assert (result.skipped, result.curves()["top-1", ""].n) == (1, 9)


def test_bad_probabilities_are_named():
    table = pa.table({"label": [0, 1], "prob_0": [0.5, 0.9], "prob_1": [0.5, 0.9]})
    with pytest.raises(InvalidInput, match="row 1: `prob_0` must be >= 0 and sum to 1"):
        tally(table.to_batches(), plan_for(table))


def test_text_is_no_score():
    table = pa.table({"score": ["a"], "outcome": [1]})
    with pytest.raises(FileFormatError, match="the column `score` must be numbers"):
        tally(table.to_batches(), plan_for(table))


def test_a_plan_is_checked():
    table = scores_table(10)
    with pytest.raises(InvalidInput, match="'top-3' is not a view of 2 classes"):
        plan_for(table, "top-3")
    with pytest.raises(UnknownName, match="unknown view 'tpo-1'"):
        plan_for(table, "tpo-1")
    with pytest.raises(InvalidInput, match="no column `part`"):
        plan_for(table, part="cal")
    with pytest.raises(FileFormatError, match="no column `outcome`"):
        plan_for(table.drop_columns("outcome"))
    assert isinstance(plan_for(logits_table(), "class-wise", K=4), Plan)


@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize("rows", [1, 7, 100, 256])
def test_matrices_give_the_same_bits_in_any_cut(rows, lists):
    table = logits_table(257, K=4, lists=lists)
    plan = plan_for(table, ("top-1", "top-2", "within-top-3", "class-1", "class-wise"), K=4)
    plan = replace(plan, vectors=True)
    whole = added_tallies([tally(table.to_batches(), plan)], plan)
    parts = [tally([batch], plan) for batch in table.to_batches(max_chunksize=rows)]
    cut = Tally.from_tables([part.to_table() for part in parts[::-1]], plan)
    assert cut.names == whole.names
    assert cut.summary == whole.summary
    means = [one.vectors.means(weighted=False) for one in (cut, whole)]
    assert means[0] == means[1]


@pytest.mark.parametrize("limit", [10, 100])
def test_many_groups_become_exact_in_portions(limit):
    who = np.random.default_rng(0).integers(0, 40, 8000)
    table = scores_table(8000, who=who)
    found = curves_of(runner(table, 4000), plan_for(table, by="who", bits=4), limit=limit)
    assert found.passes > 3
    assert len(found.curves) == 40
    for (_, group), curve in found.curves.items():
        want = exact(table.filter(pa.array(who == int(group))))
        assert ks_error(curve) == pytest.approx(ks_error(want), abs=1e-12)


def test_keys_that_were_collected_need_no_third_reading():
    table = scores_table(20_000)
    plan = plan_for(table, bits=4)
    batches = table.to_batches(max_chunksize=5000)
    found = curves_of(lambda p: tally(batches, p), plan, limit=8, keep=10**6)
    slow = curves_of(runner(table, 5000), plan, limit=8)
    assert (found.passes, slow.passes > 2) == (2, True)
    assert ks_error(found.curve) == ks_error(slow.curve)
    assert kuiper_error(found.curve) == pytest.approx(kuiper_error(exact(table)), abs=1e-12)
