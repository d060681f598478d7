"""What comes in: regular files alone, whole text, no links out of a file, no more than fits."""

import gzip
import io
import os
import pickle
import socket
import zipfile

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import ogive
from ogive.engines import local
from ogive.errors import FileFormatError, InvalidInput, OgiveWarning
from ogive.readers import open_file, pickled
from ogive.readers.ipc import batches_of
from ogive.readers.multi_file import expand, read_together

BOTH = pytest.mark.parametrize("read", [ogive.read, local.curve], ids=["file", "log"])


@BOTH
def test_pipes_devices_and_sockets_are_refused_at_once(tmp_path, read):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.parquet").symlink_to("/dev/zero")
    (tmp_path / "gone.csv").symlink_to(tmp_path / "nothing")
    for name, words in (
        ("pipe.csv", r"pipe\.csv is a pipe \(FIFO\), not a regular file"),
        ("zero.parquet", "is a device, not a regular file"),
        ("gone.csv", r"does not exist \(it is a link to a file that does not exist\)"),
    ):
        with pytest.raises(FileFormatError, match=words):
            read(tmp_path / name)
    with pytest.raises(FileFormatError, match="is a device"):
        read("/dev/urandom")


def test_what_a_folder_hides_is_an_error_or_counted(tmp_path, monkeypatch):
    log = tmp_path / "log"
    (log / "locked").mkdir(parents=True)
    (log / "a.csv").write_text("score,outcome\n0.5,1\n0.25,0\n")
    (log / "notes").symlink_to(log / "a.csv")
    assert local.curve(log).n == 2
    (log / "b.csv").symlink_to(tmp_path / "nothing")
    os.mkfifo(log / "c.csv")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(log)
        server.bind("d.csv")
    with pytest.raises(FileFormatError, match=r"b\.csv does not exist .*and 2 more.*--skip-bad"):
        local.curve(log)
    with pytest.raises(FileFormatError, match=r"b\.csv does not exist"):
        local.curve(str(log / "*.csv"))
    with pytest.warns(OgiveWarning, match="3 files or folders could not be read"):
        assert local.read_log(log, skip_bad=True).rows == 2
    for name in "bcd":
        (log / f"{name}.csv").unlink()
    walk = os.walk

    def locked(root, onerror=None, **options):
        onerror(PermissionError(13, "Permission denied", str(log / "locked")))
        return walk(root, onerror=onerror, **options)

    monkeypatch.setattr("os.walk", locked)
    for paths in (log, str(log / "**" / "*.csv")):
        with pytest.raises(FileFormatError, match=r"locked cannot be listed \(Permission denied"):
            local.curve(paths)
    with pytest.raises(FileFormatError, match="locked cannot be listed"):
        expand([log])


def test_linked_folders_are_read_once_and_loops_end(tmp_path):
    other, log = tmp_path / "other", tmp_path / "log"
    other.mkdir()
    log.mkdir()
    (other / "a.csv").write_text("score,outcome\n0.5,1\n")
    (log / "day").symlink_to(other)
    (other / "back").symlink_to(log)
    assert local.curve(log).n == 1
    assert local.curve(str(tmp_path / "l*")).n == 1  # a pattern may match folders


# Lists, Arrow files


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_ragged_lists_anywhere_are_refused(tmp_path, suffix):
    rows = [[0.1, 0.2, 0.3]] * 400
    rows[200], rows[300] = [0.1, 0.2], [0.1, 0.2, 0.3, 0.4]  # the total fits
    table = pa.table({"logits": rows, "label": [0] * 400})
    path = tmp_path / f"a.{suffix}"
    write = pa.parquet.write_table if suffix == "parquet" else pa.feather.write_feather
    write(table, path)
    with pytest.raises(FileFormatError, match=r"2 of 400 rows, the first at row 200 \(2 numbers"):
        ogive.read(path)
    with pytest.raises(InvalidInput, match="row 200: `logits` must be a list of 3 numbers"):
        local.curve(path)


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


# HDF5, pickles, archives


def _arena(path, **items):
    p, y = np.full((4, 2), 0.5), np.array([0, 1, 0, 1])
    with h5py.File(path, "w") as file:
        group = file.create_group("adult/tree")
        for part in ("cal", "test"):
            for name, values in ((f"probas_{part}", p), (f"labels_{part}", y)):
                make = items.get(name)
                if make is None:
                    group[name] = values
                else:
                    make(group, name, values)


def test_hdf5_never_reads_another_file(tmp_path):
    secret = tmp_path / "secret.h5"
    _arena(secret)
    inside = "/adult/tree/probas_cal"

    def external(group, name, _):
        group[name] = h5py.ExternalLink(str(secret), inside)

    def soft(group, name, _):
        group[name] = h5py.SoftLink("/adult/tree/probas_test")

    def raw(group, name, values):
        file = [(str(tmp_path / "raw.bin"), 0, values.nbytes)]
        group.create_dataset(name, values.shape, values.dtype, external=file)

    def virtual(group, name, values):
        layout = h5py.VirtualLayout(values.shape, values.dtype)
        layout[:] = h5py.VirtualSource(str(secret), inside, values.shape)
        group.create_virtual_dataset(name, layout)

    for i, make in enumerate((external, soft, raw, virtual)):
        path = tmp_path / f"{i}.h5"
        _arena(path, probas_cal=make)
        with pytest.raises(FileFormatError, match="`probas_cal` is a link, or its numbers are in"):
            ogive.read(path, part="test")


def _pickle(*codes):
    return b"".join([pickle.PROTO, b"\x04", *codes, pickle.STOP])


def _text(word):
    return pickle.SHORT_BINUNICODE + bytes([len(word)]) + word.encode()


def _name(module, name):
    return _text(module) + _text(name) + pickle.STACK_GLOBAL


@pytest.mark.parametrize(
    ("program", "words"),
    [
        # BUILD with state for slots: it would set attributes of our own functions.
        ((_name("_codecs", "encode"), pickle.NONE, _text("_call"), pickle.NONE, pickle.TUPLE2,
          pickle.TUPLE2, pickle.BUILD), "to change a function"),
        ((_name("numpy", "dtype"), _text("x"), pickle.BUILD), "to change a function"),
        # An array of fresh memory, with whatever was there before.
        ((_name("numpy", "ndarray"), b"K\x09", pickle.TUPLE1, pickle.REDUCE), "without contents"),
        ((_name("numpy", "ndarray"), pickle.EMPTY_TUPLE, pickle.NEWOBJ), "other than arrays"),
        ((pickle.EMPTY_DICT,), "other than arrays"),
        ((_name("numpy", "dtype"), _text("O"), pickle.TUPLE1, pickle.REDUCE), "of type 'O'"),
        ((_name("numpy", "dtype"), _text("f8,f8"), pickle.TUPLE1, pickle.REDUCE), "of type"),
        # A table of two billion entries, and a block of bytes that is not there.
        ((pickle.NONE, pickle.LONG_BINPUT, b"\xff\xff\xff\x7f"), "is not"),
        ((pickle.BYTEARRAY8, b"\xff" * 6 + b"\0\0"), "cut short"),
    ],
)  # fmt: skip
def test_pickles_that_do_more_than_arrays(tmp_path, program, words):
    before = {name: call._call for name, call in pickled._ALLOWED.items()}
    path = tmp_path / "a.pkl"
    path.write_bytes(_pickle(*program))
    with pytest.raises(FileFormatError, match=words) as caught:
        open_file(path)
    assert str(path) in str(caught.value)
    assert {name: call._call for name, call in pickled._ALLOWED.items()} == before


def _archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in members.items():
            archive.writestr(f"{name}.npy", raw)


def _npy(shape, raw=b"", kind="<f8"):
    out = io.BytesIO()
    head = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, head)
    return out.getvalue() + raw


def test_archives_are_refused_by_what_their_headers_say(tmp_path):
    path = tmp_path / "a.npz"
    outcomes = _npy((3,), bytes(3), "|i1")
    _archive(path, scores=_npy((10**12,)), outcomes=outcomes)
    with pytest.raises(FileFormatError, match=r"needs about 32 TB of memory .*Raise --memory"):
        ogive.read(path)
    _archive(path, scores=_npy((3,), bytes(50 << 20)), outcomes=outcomes)
    with pytest.raises(FileFormatError, match="does not have the 24 bytes that it says"):
        ogive.read(path)
    with pytest.raises(FileFormatError, match=r"needs about 152 MB .* limit of 64 MB"):
        ogive.read(path, memory="64MB")
    _archive(path, scores=_npy((3,), bytes(24)), outcomes=outcomes, huge=_npy((10**12,)))
    assert ogive.read(path).n == 3  # what is not needed is not unpacked
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("scores.npy", _npy((3,), bytes(24)))
    with pytest.raises(FileFormatError, match="two arrays named 'scores'"):
        ogive.read(path)


def test_bytes_that_are_no_booleans_are_true(tmp_path):
    _archive(tmp_path / "a.npz", scores=_npy((2,), bytes(16)), outcomes=_npy((2,), b"\0\7", "|b1"))
    assert ogive.read(tmp_path / "a.npz").labels.tolist() == [0, 1]


# Files and parts that are read together

Z, Y = np.eye(3) * 4, np.arange(3)
UNLIKE = [
    ({"logits": Z, "labels": Y}, {"probs": np.eye(3), "labels": Y}, "has logits and .* has probs"),
    (
        {"logits": Z, "labels": Y},
        {"logits": np.eye(4), "labels": np.arange(4)},
        "3 classes and .* 4",
    ),
    ({"logits": Z, "labels": Y, "weights": Y + 1}, {"logits": Z, "labels": Y}, "no weights"),
    ({"logits": Z, "labels": Y}, {"logits": Z, "labels": ["a", "b", "c"]}, "numbers .* names as"),
]


@pytest.mark.parametrize(("one", "other", "words"), UNLIKE)
def test_files_and_parts_must_agree(tmp_path, one, other, words):
    np.savez(tmp_path / "a.npz", **one)
    np.savez(tmp_path / "b.npz", **other)
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    with pytest.raises(FileFormatError, match=rf"a\.npz has .*b\.npz has .*|{words}") as caught:
        read_together(files, None, None, None, default="test")
    caught.match(words)
    parts = {f"cal_{k}": v for k, v in one.items()} | {f"test_{k}": v for k, v in other.items()}
    np.savez(tmp_path / "c.npz", **parts)
    with pytest.raises(FileFormatError, match=words):
        ogive.read(tmp_path / "c.npz", part="cal")


def test_names_of_classes_must_agree(tmp_path):
    for name, labels in (("a", ["cat", "dog", "owl"]), ("b", ["cat", "dog", "emu"])):
        np.savez(tmp_path / f"{name}.npz", logits=Z, labels=labels)
    with pytest.raises(FileFormatError, match=r"b\.npz has 'emu', which .*a\.npz does not"):
        read_together(sorted(tmp_path.iterdir()), None, None, None, default="test")


def test_a_long_name_is_not_a_class(tmp_path):
    columns = {"logit_0": [1.0, 2.0], "logit_1": [0.0, 1.0], "label": ["a", "b" * 10**6]}
    pa.parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(FileFormatError, match="a name of 1,000,000 characters"):
        ogive.read(tmp_path / "a.parquet")


def test_a_packed_text_is_as_large_as_what_it_unpacks_to(tmp_path):
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"score,outcome\n" + b"0.5,1\n" * 2_000_000)
    assert path.stat().st_size < 50_000
    with pytest.raises(FileFormatError, match="more than the limit of 64 MB"):
        ogive.read(path, memory="64MB")
