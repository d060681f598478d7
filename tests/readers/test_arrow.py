import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import ogive
from ogive.engines import local
from ogive.errors import FileFormatError, InvalidInput
from ogive.readers.arrow import from_indices, to_numpy


@pytest.mark.parametrize("kind", ["int8", "uint64", "float16", "float32", "float64", "bool"])
@pytest.mark.parametrize("cut", [slice(0, 5), slice(2, 4), slice(0, 0)])
def test_values_are_those_of_pyarrow(kind, cut):
    values = np.array([0, 1, 0, 1, 1]).astype(kind)
    column = pa.array(values).slice(cut.start, cut.stop - cut.start)
    found = to_numpy(column)
    assert found.dtype == values.dtype
    assert (found == values[cut]).all()


def test_numbers_outlive_the_column():
    column = pa.array(np.arange(100_000.0))
    found = to_numpy(column.slice(1))
    del column
    assert (found == np.arange(1.0, 100_000.0)).all()


def test_missing_values_are_nan():
    assert np.isnan(to_numpy(pa.array([1, None, 3]))).tolist() == [False, True, False]


@pytest.mark.parametrize("index", [[], [3, 0, 2]])
def test_indices_take_rows(index):
    batch = pa.record_batch({"a": [10, 11, 12, 13]})
    taken = batch.take(from_indices(np.array(index, dtype=np.intp)))
    assert taken.column(0).to_pylist() == [10 + i for i in index]


def test_ragged_lists_anywhere_are_refused(tmp_path):
    rows = [[0.1, 0.2, 0.3]] * 400
    rows[200], rows[300] = [0.1, 0.2], [0.1, 0.2, 0.3, 0.4]  # the total fits
    table = pa.table({"logits": rows, "label": [0] * 400})
    path = tmp_path / "a.parquet"
    pa.parquet.write_table(table, path)
    with pytest.raises(FileFormatError, match=r"2 of 400 rows, the first at row 200 \(2 numbers"):
        ogive.read(path)
    with pytest.raises(InvalidInput, match="row 200: `logits` must be a list of 3 numbers"):
        local.curve(path)


@pytest.mark.parametrize("cell", [[1, 2], {"a": 1}])
def test_columns_of_lists_are_no_clusters(tmp_path, cell):
    table = pa.table({"score": [0.2, 0.4], "outcome": [0, 1], "patient": [cell, cell]})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(FileFormatError, match="column `patient` holds lists or records"):
        ogive.read(tmp_path / "a.parquet", cluster="patient")
