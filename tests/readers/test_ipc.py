"""Arrow files: their headers, and offsets that lead outside."""

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from ogive.errors import FileFormatError
from ogive.readers.ipc import batches_of
from tests.readers.both_ways import BOTH


@BOTH
def test_an_offset_outside_an_arrow_file_is_refused(tmp_path, read):
    path = tmp_path / "a.arrow"
    rows = pa.array([[0.1, 0.9]] * 50)
    table = pa.table({"probs": rows, "label": [0] * 50})
    pa.feather.write_feather(table, path, compression="uncompressed")
    raw = path.read_bytes()
    at = raw.index(np.arange(0, 20, 2, dtype=np.int32).tobytes())
    far = np.array([10**6], dtype=np.int32).tobytes()
    path.write_bytes(raw[: at + 40] + far + raw[at + 44 :])
    with pytest.raises(FileFormatError, match=r"a\.arrow is damaged"):
        read(path)


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_headers_of_an_arrow_file_tell_rows_and_bytes(tmp_path, compression):
    words = pa.array(["a", "b"] * 500).dictionary_encode()
    table = pa.table({"score": np.zeros(1000), "by": words, "rows": [[1.0, 2.0]] * 1000})
    pa.feather.write_feather(table, tmp_path / "a.arrow", compression=compression, chunksize=300)
    batches, dictionaries = batches_of(tmp_path / "a.arrow")
    with pa.ipc.open_file(tmp_path / "a.arrow") as file:
        real = [file.get_batch(i) for i in range(file.num_record_batches)]
    assert [b.rows for b in batches] == [b.num_rows for b in real] == [300, 300, 300, 100]
    for found, batch in zip(batches, real, strict=True):
        assert batch.nbytes * 0.8 <= found.size <= batch.nbytes + 200
    assert len(dictionaries) == 1
