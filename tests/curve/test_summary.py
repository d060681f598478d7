"""Summaries: integers that add up exactly, and rows that stand where the samples' mean is."""

from fractions import Fraction
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive import Curve, CurveStream, ks_error
from ogive.curve.counter import Adder, Counter
from ogive.curve.packing import keys_of_scores
from ogive.curve.summary import added, empty, summarise, summarise_weighted
from ogive.errors import InvalidInput
from ogive.metrics.bracket import brackets
from tests import naive
from tests.curve.rows import ROWS

# Ties, the two certain scores, the middle, and tails that round to 0 or 1 in fewer digits.
BITS = st.sampled_from([4, 5, 9, 12, 20, 52])


def keys_of(rows):
    scores, hits = zip(*rows, strict=True)
    return keys_of_scores(np.array(scores), np.array(hits, dtype=bool))


@given(rows=ROWS, bits=BITS)
def test_a_summary_is_the_naive_one(rows, bits):
    summary = summarise(keys_of(rows), bits)
    scores, hits = zip(*rows, strict=True)
    expected = naive.summary(scores, hits, bits)
    assert summary.bucket.tolist() == sorted(expected)
    for i, bucket in enumerate(summary.bucket.tolist()):
        n, k, offset, offset_hits, first, last = expected[bucket]
        assert summary.sums[:2, i].tolist() == [n, k]
        low, high, low_hits, high_hits = map(int, summary.sums[2:, i])
        assert (high << 32) + low == offset
        assert (high_hits << 32) + low_hits == offset_hits
        assert max(low, low_hits) < 1 << 32
        assert (int(summary.first[i]), int(summary.last[i])) == (first, last)


@given(rows=ROWS, bits=BITS, data=st.data())
def test_shards_add_up_bit_for_bit_in_any_order(rows, bits, data):
    whole = summarise(keys_of(rows), bits)
    shard = data.draw(st.lists(st.integers(0, 4), min_size=len(rows), max_size=len(rows)))
    order = data.draw(st.permutations(range(5)))
    keys = keys_of(rows)
    parts = [summarise(keys[np.array(shard) == i], bits) for i in order]
    assert added(parts) == whole
    assert added([added(parts[:2]), added(parts[2:])]) == whole
    adder = Adder(bits)
    for part in parts:
        adder.add(part)
    assert adder.total() == whole


@given(rows=ROWS, bits=st.sampled_from([9, 12, 30, 52]), fewer=st.sampled_from([4, 7, 9]))
def test_coarsening_is_what_fewer_bits_would_have_given(rows, bits, fewer):
    fine = summarise(keys_of(rows), bits)
    assert fine.coarsened(fewer) == summarise(keys_of(rows), fewer)


def test_coarsening_carries_between_limbs():
    keys = keys_of_scores(np.nextafter(np.full(100_000, 0.4), 1), np.ones(100_000, dtype=bool))
    assert summarise(keys.copy(), 52).coarsened(4) == summarise(keys, 4)


@pytest.mark.parametrize("bits", [5, 10, 12, 14, 20])
def test_counting_in_tables_equals_sorting(bits):
    rng = np.random.default_rng(bits)
    scores = 1 / (1 + np.exp(-rng.normal(0, 6, 200_000)))
    scores[:1000] = rng.choice([0.0, 1.0, 0.5, 1e-200], 1000)
    keys = keys_of_scores(scores, rng.random(200_000) < scores)
    counter = Counter(bits)
    for start in range(0, keys.size, 70_000):
        counter.add(keys[start : start + 70_000].copy())
    assert counter.total() == summarise(keys, bits)
    assert counter.total() == summarise(keys, bits)  # asking twice changes nothing


@pytest.mark.parametrize("spread", [1, 1 << 46])
def test_full_tables_are_emptied_and_others_are_kept(spread, monkeypatch):
    rng = np.random.default_rng(0)
    place = (1018 << 52) + rng.integers(0, 256, 200_000) * spread
    keys = (place.astype(np.uint64) << np.uint64(1)) | rng.integers(0, 2, place.size, np.uint64)
    counter, flushed = Counter(6), []
    flush = counter._flush
    monkeypatch.setattr(counter, "_flush", lambda: flushed.append(1) or flush())
    for _ in range(5):
        counter.add(keys.copy())
    assert (len(flushed) > 0) == (spread == 1)  # one bucket, or 256: 2^18 fit in each
    assert counter.total() == summarise(np.tile(keys, 5), 6)


def test_limbs_do_not_overflow_at_a_trillion_rows():
    # The largest offsets there are, 2^20 times: then doubled to 2^40 rows.
    keys = np.full(1 << 14, ((1 << 62) - 1) << 1 | 1, dtype=np.uint64)
    summary = summarise(keys, 4)
    for _ in range(26):
        summary = added([summary, summary])
    total = (int(summary.sums[3, 0]) << 32) + int(summary.sums[2, 0])
    assert total == ((1 << 48) - 1) << 40
    assert summary.sums.min() >= 0


@given(rows=ROWS, bits=BITS)
def test_weights_of_one_agree_with_counts(rows, bits):
    keys = keys_of(rows)
    a = Curve(summary=summarise_weighted(keys, np.ones(keys.size), bits), view="score")
    b = Curve(summary=summarise(keys, bits), view="score")
    np.testing.assert_allclose(a.tail, b.tail, rtol=1e-12)
    np.testing.assert_array_equal(a.count, b.count)
    np.testing.assert_array_equal(a.hits, b.hits)


@given(rows=ROWS, bits=BITS)
def test_sums_of_scores_survive(rows, bits):
    scores, hits = (np.array(column) for column in zip(*rows, strict=True))
    exact = Curve.from_scores(scores, hits)
    small = exact.summarised(bits)
    assert small.n == exact.n
    assert small.total_hits == exact.total_hits
    assert np.sum(small.count * small.score) == pytest.approx(scores.sum(), rel=1e-14, abs=1e-300)
    assert (np.diff(small.score) >= 0).all()
    assert small.is_exact == (small.score.size == exact.score.size)


@given(a=ROWS, b=ROWS)
def test_an_exact_curve_merges_into_a_summary(a, b):
    first, second = (
        Curve.from_scores(*(np.array(c) for c in zip(*rows, strict=True))) for rows in (a, b)
    )
    both = first.merge(second).summarised(9)
    assert first.summarised(9).merge(second) == both
    assert first.merge(second.summarised(9)) == both
    assert second.summarised(12).merge(first.summarised(9)) == both


def test_a_summary_of_weights_merges_with_counts():
    a = Curve.from_scores([0.2, 0.9], [0, 1], sample_weight=[0.5, 2.5])
    b = Curve.from_scores([0.2, 0.8], [1, 0])
    both = a.summarised(12).merge(b)
    assert both.n == 5
    assert both.total_hits == 3.5
    assert both.merge(a).n == 8


def test_whole_weights_are_counts():
    a = Curve.from_scores([0.2, 0.9], [0, 1], sample_weight=[2, 3])
    assert a.summarised(9) == Curve.from_scores([0.2] * 2 + [0.9] * 3, [0, 0, 1, 1, 1]).summarised(
        9
    )


@pytest.mark.parametrize("bits", [3, 53, 9.0, True, "9"])
def test_bits_are_checked(bits):
    with pytest.raises(InvalidInput, match="`bits` must be a whole number from 4 to 52"):
        Curve.from_scores([0.5], [1]).summarised(bits)


def test_nothing_adds_nothing():
    assert added([]).size == 0
    part = summarise(keys_of([(0.3, True)]), 9)
    assert added([empty(9), part, empty(9)]) == part


EDGE = 2.0**46  # samples of one row up to which limbs hold their sums


def exact_ks(scores, hits, weights):
    """The KS error in rational arithmetic."""
    rows = sorted(zip(map(Fraction, scores), hits, map(Fraction, weights), strict=True))
    gap, largest = Fraction(0), Fraction(0)
    for s, group in groupby(rows, key=lambda row: row[0]):
        gap += sum(w * (Fraction(int(hit)) - s) for _, hit, w in group)
        largest = max(largest, abs(gap))
    return float(largest / sum(map(Fraction, weights)))


@pytest.mark.parametrize("weight", [1.0, EDGE / 4, EDGE - 1, EDGE, 1.5e14, 1e15])
@pytest.mark.parametrize("bits", [4, 12])
def test_heavy_repetition_weights_stay_inside_their_brackets(rng, weight, bits):
    scores, hits = rng.random(8).round(3), rng.random(8) < 0.5
    scores[1] = scores[0] + 1e-6
    weights = np.full(8, weight)
    whole = Curve.from_scores(scores, hits, sample_weight=weights)
    truth = exact_ks(scores.tolist(), hits.tolist(), weights.tolist())
    assert ks_error(whole) == pytest.approx(truth, abs=1e-15)
    parts = [
        Curve.from_scores(scores[i::2], hits[i::2], sample_weight=weights[i::2]) for i in (0, 1)
    ]
    stream = CurveStream(bits=bits)
    for i in (0, 1):
        stream.update(scores[i::2], hits[i::2], weights[i::2])
    for small in (
        whole.summarised(bits),
        parts[0].summarised(bits).merge(parts[1].summarised(bits)),
        parts[1].merge(parts[0]).summarised(bits),
        stream.curve(),
    ):
        assert small.n == 8 * weight
        low, high = brackets(small)["ks"]
        assert low <= truth <= high
        np.testing.assert_allclose(
            (small.count * small.score).sum(), (weights * scores).sum(), rtol=1e-13
        )


def test_sums_of_integers_give_way_to_floats_before_they_overflow():
    one = Curve.from_scores([0.3, 0.3001], [0, 1], sample_weight=[EDGE / 4, EDGE / 4])
    total = one.summarised(4)
    assert total.summary().sums.dtype == np.int64
    for _ in range(3):
        total = total.merge(total)
    assert total.summary().sums.dtype == np.float64
    assert total.n == 8 * EDGE / 2
    assert total.score == pytest.approx(0.30005, abs=1e-12)


def test_more_repetitions_than_can_be_counted_are_refused():
    for weights in ([1e19, 1.0], [2.0**53, 1.0, 2.0]):
        n = len(weights)
        with pytest.raises(InvalidInput, match=r"counted exactly.*common factor.*'sampling'"):
            Curve.from_scores([0.5] * n, [0] * n, sample_weight=weights)
        with pytest.raises(InvalidInput, match="counted exactly"):
            CurveStream().update([0.5] * n, [1] * n, weights)
        survey = Curve.from_scores(
            [0.5] * n, [0] * n, sample_weight=weights, weight_kind="sampling"
        )
        assert ks_error(survey.summarised(8)) == 0.5
    assert Curve.from_scores([0.5], [1], sample_weight=[2.0**53]).n == 2**53
