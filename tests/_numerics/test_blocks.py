import threading

import numpy as np
import pytest

import ogive
from ogive._numerics.blocks import BLOCK, blocks, for_each_block, in_threads, thread_count


@pytest.mark.parametrize(
    ("n", "width"), [(1, 1), (BLOCK, 1), (BLOCK + 1, 1), (100, 1000), (7, 10**6)]
)
def test_blocks_cover_every_row_once(n, width):
    rows = [row for at in blocks(n, width=width) for row in range(at.start, at.stop)]
    assert rows == list(range(n))


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_every_block_is_worked_on_once(n_jobs):
    seen, lock = [], threading.Lock()

    def work(at):
        with lock:
            seen.append(at.start)

    for_each_block(work, 10 * BLOCK + 3, n_jobs=n_jobs)
    assert sorted(seen) == list(range(0, 10 * BLOCK + 3, BLOCK))


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_an_error_in_a_block_comes_out(n_jobs):
    def work(at):
        if at.start > 0:
            raise ValueError("second block")

    with pytest.raises(ValueError, match="second block"):
        for_each_block(work, 99 * BLOCK, n_jobs=n_jobs)  # 32 blocks start a thread


def test_items_are_worked_off_by_the_caller_and_others():
    seen, at_work = [], threading.Barrier(3)

    def work(item):
        if item < 3:  # three threads must hold one of these at the same time
            at_work.wait(timeout=60)
        seen.append((item, threading.get_ident()))

    in_threads(work, range(20), 3)
    assert sorted(item for item, _ in seen) == list(range(20))
    assert threading.get_ident() in {who for _, who in seen}


def test_the_environment_decides_unless_told(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert thread_count() == 3
    assert thread_count(1) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "nonsense")
    assert thread_count() >= 1


def test_small_inputs_start_no_thread(monkeypatch, rng):
    def refuse(*_):
        raise AssertionError("a thread was started")

    monkeypatch.setattr("ogive._numerics.blocks.ThreadPoolExecutor", refuse)
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    preds = ogive.Predictions(
        rng.normal(size=(5_000, 10)), rng.integers(0, 10, 5_000), kind="logits"
    )
    assert ogive.classwise_ks(preds).size == 10
    gamma = ogive.fit_spline(ogive.Curve.from_predictions(preds))
    assert gamma(np.linspace(0.0, 1.0, 10_000)).size == 10_000
