"""Pickles hold arrays and do nothing."""

import pickle

import pytest

from ogive.errors import FileFormatError
from ogive.readers import open_file, pickled


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
        # Types in another byte order that does not exist, and text in another codec.
        ((_name("numpy", "dtype"), _text("f8"), pickle.TUPLE1, pickle.REDUCE, pickle.MARK,
          b"K\x03", _text("?"), pickle.TUPLE, pickle.BUILD), "of a composed type"),
        ((_name("_codecs", "encode"), _text("x"), _text("zlib"), pickle.TUPLE2, pickle.REDUCE),
         "the codec 'zlib'"),
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
