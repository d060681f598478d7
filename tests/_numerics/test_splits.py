import numpy as np
from scipy.sparse import csr_array

from ogive._numerics.splits import content_folds, pairs


def test_folds_depend_on_content_alone(rng):
    X = rng.normal(size=(200, 4)).round(1)
    X[:, 2] = 0.0
    codes = rng.integers(0, 3, 200)
    fold = content_folds(X, codes, 4)
    order = rng.permutation(200)
    np.testing.assert_array_equal(content_folds(X[order], codes[order], 4), fold[order])
    twice = np.repeat(np.arange(200), 2)
    np.testing.assert_array_equal(content_folds(X[twice], codes[twice], 4), fold[twice])
    np.testing.assert_array_equal(content_folds(csr_array(X), codes, 4), fold)
    np.testing.assert_array_equal(content_folds(np.where(X == 0, -0.0, X), codes, 4), fold)


def test_each_class_is_dealt_evenly(rng):
    X, codes = rng.normal(size=(400, 2)), np.repeat([0, 1], [380, 20])
    fold = content_folds(X, codes, 5)
    assert np.bincount(fold[codes == 1]).tolist() == [4] * 5
    assert np.bincount(fold[codes == 0]).tolist() == [76] * 5
    for train, test in pairs(fold):
        assert np.intersect1d(train, test).size == 0
        assert train.size + test.size == 400


def test_what_is_not_numbers_has_no_folds():
    assert content_folds(["a", "b"], np.zeros(2, dtype=int), 2) is None
    assert content_folds(np.zeros((5, 0)), np.zeros(5, dtype=int), 2) is None
