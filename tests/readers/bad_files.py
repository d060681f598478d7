"""Bad files, one of each kind: (name, function that writes it, what the error says)."""

import os
import pickle
import zipfile

import numpy as np


def _npz(path, **arrays):
    np.savez(path, **arrays)


class Hostile:
    """A pickle that would make a file if it ran."""

    def __init__(self, proof):
        self.proof = proof

    def __reduce__(self):
        return os.system, (f"touch {self.proof}",)


def _hostile(path):
    with path.open("wb") as file:
        pickle.dump(Hostile(path.with_name("proof-that-it-ran")), file)


def _truncated(path):
    _npz(path, scores=np.linspace(0, 1, 5000), outcomes=np.zeros(5000))
    path.write_bytes(path.read_bytes()[:-2000])


def _broken_parquet(path):
    path.write_bytes(b"PAR1" + b"\x00" * 100 + b"PAR1")


def _object_array(path):
    array = np.array([{"a": 1}, None], dtype=object)
    with zipfile.ZipFile(path, "w") as archive, archive.open("scores.npy", "w") as file:
        np.lib.format.write_array(file, array, allow_pickle=True)


Y = np.array([0, 1, 1])
BAD_FILES = [
    ("nan.npz", lambda p: _npz(p, scores=[0.1, np.nan, 0.3], outcomes=Y), r"row 1 \(nan\)"),
    ("range.npz", lambda p: _npz(p, scores=[0.1, 1.3, 0.3], outcomes=Y), r"row 1 \(1.3\)"),
    ("lengths.npz", lambda p: _npz(p, scores=[0.1, 0.3], outcomes=Y), "one entry per row"),
    ("empty.npz", lambda p: _npz(p, scores=[], outcomes=[]), "empty"),
    ("labels.npz", lambda p: _npz(p, logits=np.eye(3) * 5, labels=[0, 0, 7]), r"\(7\)"),
    ("sums.npz", lambda p: _npz(p, probs=np.full((3, 2), 0.7), labels=Y), "sum to 1"),
    ("rates.npz", lambda p: _npz(p, scores=[0.1, 0.2, 0.3], outcomes=[0, 0.5, 1]), "0 or 1"),
    ("inf.npz", lambda p: _npz(p, logits=[[1, np.inf]] * 3, labels=Y), r"\+inf"),
    ("unknown.npz", lambda p: _npz(p, weights_of_net=Y), "no known arrays"),
    ("truncated.npz", _truncated, "cut short"),
    ("text.npz", lambda p: p.write_text("score,outcome\n0.1,1\n"), "not a NumPy archive"),
    ("broken.parquet", _broken_parquet, "of another format, cut short or damaged"),
    ("hostile.pkl", _hostile, "asks for posix.system"),
    ("object.npz", _object_array, "Python objects"),
    ("missing.npz", lambda p: None, "does not exist"),
]
