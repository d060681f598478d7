import threading

import pytest
import scipy.linalg  # noqa: F401 - the fits load it, and its own BLAS
from threadpoolctl import threadpool_info

import ogive
from ogive._numerics.blas import one_blas_thread


def blas_threads() -> list[int]:
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


def test_one_thread_inside_and_what_was_before_outside():
    before = blas_threads()
    with one_blas_thread():
        assert set(blas_threads()) == {1}
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_an_error_inside_lifts_the_limit():
    before = blas_threads()
    with pytest.raises(RuntimeError, match="inside"), one_blas_thread():
        raise RuntimeError("inside")
    assert blas_threads() == before


def test_two_threads_that_overlap_leave_the_setting_as_it_was():
    before = blas_threads()
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    def first():
        with one_blas_thread():
            first_in.set()
            second_in.wait(10)
        first_out.set()

    def second():
        first_in.wait(10)
        with one_blas_thread():
            second_in.set()
            first_out.wait(10)

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blas_threads() == before


def test_other_threads_than_the_first_are_heard():
    before = blas_threads()
    seen = []
    with one_blas_thread():
        pass  # the main thread comes first

    def work():
        with one_blas_thread():
            seen.append(set(blas_threads()))

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert seen == [{1}]
    assert blas_threads() == before


def test_a_thread_that_leaves_last_restores_what_another_found():
    before = blas_threads()
    entered, left = threading.Event(), threading.Event()

    def work():
        with one_blas_thread():
            entered.set()
            left.wait(10)

    worker = threading.Thread(target=work)
    with one_blas_thread():
        worker.start()
        entered.wait(10)
    left.set()
    worker.join()
    assert blas_threads() == before


def test_fits_leave_the_setting_as_it_was(rng):
    before = blas_threads()
    scores = rng.random(500)
    ogive.fit_spline(ogive.Curve.from_scores(scores, rng.random(500) < scores))
    assert blas_threads() == before
