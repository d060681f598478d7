import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ogive.errors import FileFormatError
from ogive.readers.parquet_pages import largest_pages


def table(n):
    rng = np.random.default_rng(0)
    lists = pa.FixedSizeListArray.from_arrays(rng.random(3 * n).astype(np.float32), 3)
    return pa.table({"score": rng.random(n), "name": ["x" * 500] * n, "probs": lists})


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_the_largest_page_is_that_of_plain_numbers(tmp_path, version, compression):
    path, n = tmp_path / "a.parquet", 5000
    pq.write_table(
        table(n), path, row_group_size=3000, use_dictionary=False, compression=compression,
        data_page_version=version, data_page_size=1 << 25,
    )  # fmt: skip
    # 8 bytes for a number, and less than a bit to say that it is there
    assert 3000 * 8 <= largest_pages(path, ["score"]) <= 3000 * 8 + 400
    assert 3000 * 504 <= largest_pages(path, ["name"]) <= 3000 * 504 + 400
    assert 3000 * 12 <= largest_pages(path, ["probs"]) <= 3000 * 12 + 4000
    both = largest_pages(path, ["score", "name"])
    assert both == largest_pages(path, ["score"]) + largest_pages(path, ["name"])
    assert largest_pages(path, []) == 0


def test_dictionaries_are_pages(tmp_path):
    path = tmp_path / "a.parquet"
    words = pa.table({"word": [f"{i:0100}" for i in range(1000)] * 3})
    pq.write_table(words, path, use_dictionary=True)
    assert largest_pages(path, ["word"]) >= 1000 * 100


def test_damaged_headers_are_refused_with_the_file_named(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(table(2000), path)
    whole, rng = path.read_bytes(), np.random.default_rng(1)
    refused = 0
    for _ in range(400):
        raw = bytearray(whole)
        for at in rng.integers(len(raw) - 2000, len(raw), 3):
            raw[at] = rng.integers(256)
        path.write_bytes(bytes(raw))
        try:
            assert largest_pages(path, ["score", "probs"]) < 1 << 63
        except FileFormatError as error:
            refused += 1
            assert "a.parquet" in str(error)  # noqa: PT017 - most mutants are readable
    assert refused > 20


def test_a_table_without_rows_has_no_page(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(table(5).slice(0, 0), path)
    assert largest_pages(path, ["score", "probs"]) == 0


def thrift_file(path, footer):
    path.write_bytes(footer + struct.pack("<I", len(footer)) + b"PAR1")


@pytest.mark.parametrize(
    "footer",
    [
        b"\x1c" * 200,  # structs in structs without end
        b"\x16" + b"\xff" * 20,  # a number without end
        b"\x49\xfc" + b"\xff" * 4 + b"\x0f",  # a list that is longer than the file
    ],
)
def test_footers_without_end_are_refused_at_once(tmp_path, footer):
    thrift_file(tmp_path / "a.parquet", footer)
    with pytest.raises(FileFormatError, match=r"a\.parquet .* a header is damaged"):
        largest_pages(tmp_path / "a.parquet", ["score"])


def test_a_footer_that_begins_before_the_file_is_refused(tmp_path):
    (tmp_path / "a.parquet").write_bytes(struct.pack("<I", 1 << 30) + b"PAR1")
    with pytest.raises(FileFormatError, match="a header is damaged"):
        largest_pages(tmp_path / "a.parquet", ["score"])
