"""Files and parts that are read together must agree."""

import numpy as np
import pytest

import ogive
from ogive.errors import FileFormatError, InvalidInput
from ogive.readers import Columns, open_file
from ogive.readers.multi_file import read_together, two_parts

Z = np.eye(3) * 4


Y = np.arange(3)


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


def test_one_cluster_cannot_be_split(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, scores=[0.2, 0.4, 0.6], outcomes=[0, 1, 1], patient=["only"] * 3)
    source = open_file(path, Columns(cluster="patient"))
    with pytest.raises(InvalidInput, match="`clusters` are all the same"):
        two_parts(source, 0.5)
