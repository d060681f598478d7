import numpy as np
import pytest

from ogive import errors


def test_each_error_is_also_what_scikit_learn_expects():
    assert issubclass(errors.InvalidInput, ValueError)
    assert issubclass(errors.InvalidType, TypeError)
    assert issubclass(errors.MissingExtra, ImportError)
    assert all(
        issubclass(kind, errors.OgiveError)
        for kind in (errors.InvalidInput, errors.InvalidType, errors.MissingExtra)
    )


def test_a_missing_extra_says_how_to_install_it():
    with pytest.raises(errors.MissingExtra, match=r"pip install 'ogive\[onnx\]'"):
        errors.need("no_such_package_anywhere", extra="onnx")


def test_rows_that_counts_and_finds_the_first():
    assert errors.rows_that(np.array([0, 0, 1, 1], bool)) == "2 of 4 rows, the first at row 2"


def test_unknown_name_without_a_near_one_lists_all():
    assert str(errors.UnknownName.among("view", "zzz", ["a", "b"])).endswith("Known: a, b.")
