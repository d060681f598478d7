import copy
import pickle
from threading import Thread

import numpy as np
import pytest

from ogive import Curve, ks_error
from ogive._unsorted import MANY, Unsorted
from ogive.errors import InvalidInput


def rows(n=MANY, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return p, rng.random(n) < p**2


@pytest.mark.parametrize("bad", [np.nan, -0.1, 1.1, np.inf])
def test_scores_outside_0_to_1_are_refused_at_once(bad):
    p, hit = rows()
    p[MANY // 2] = bad
    with pytest.raises(InvalidInput, match=f"row {MANY // 2:,}|{MANY // 2}"):
        Curve.from_scores(p, hit)


def test_what_was_given_may_change_afterwards():
    p, hit = rows()
    curve = Curve.from_scores(p, hit)
    expected = ks_error(Curve.from_scores(p, hit))
    p[:], hit[:] = 0.0, True
    assert ks_error(curve) == expected
    assert curve.total_hits < p.size


def test_the_keys_are_those_of_a_short_curve():
    p, hit = rows(1000)
    lazy = Curve(unsorted=Unsorted(p, hit), view="score")
    assert lazy == Curve.from_scores(p, hit)
    assert lazy.n == 1000


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_single_precision_becomes_double(dtype):
    p, hit = rows()
    small = p.astype(dtype)
    a, b = Curve.from_scores(small, hit), Curve.from_scores(small.astype(float), hit)
    assert ks_error(a) == ks_error(b)
    assert a == b


def pickled(curve):
    return pickle.loads(pickle.dumps(curve))  # noqa: S301 - made on this very line


@pytest.mark.parametrize("sort_first", [False, True])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_curve_can_be_copied_and_pickled(copied, sort_first):
    p, hit = rows()
    curve = Curve.from_scores(p, hit)
    if sort_first:
        assert curve.keys is not None
    twin = copied(curve)
    assert ks_error(twin) == ks_error(curve)
    assert twin == curve


def test_threads_may_ask_at_the_same_time():
    p, hit = rows(2 * MANY)
    curve = Curve.from_scores(p, hit)
    expected = ks_error(Curve.from_scores(p, hit))
    found = []
    asks = [lambda: ks_error(curve), lambda: curve.keys.size and ks_error(curve)] * 4
    threads = [Thread(target=lambda ask=ask: found.append(ask())) for ask in asks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == pytest.approx([expected] * 8, abs=1e-15)
    assert (np.diff(curve.keys.astype(np.float64)) >= 0).all()
