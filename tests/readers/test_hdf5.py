"""HDF5: no links out of a file."""

import h5py
import numpy as np
import pytest

import ogive
from ogive.errors import FileFormatError, OgiveError


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


def test_what_cannot_be_an_experiment_is_named(tmp_path):
    def text(group, name, _):
        group[name] = ["a", "b", "c", "d"]

    def cube(group, name, _):
        group[name] = np.zeros((4, 2, 1))

    for make, words in ((text, "must be numbers, but is object"), (cube, r"has shape \(4, 2, 1\)")):
        _arena(tmp_path / "a.h5", probas_test=make)
        with pytest.raises(FileFormatError, match=f"`probas_test` {words}|`probas_test` .*{words}"):
            ogive.read(tmp_path / "a.h5", part="test")
    with h5py.File(tmp_path / "none.h5", "w") as file:
        file["adult/tree/probas_cal"] = np.zeros((4, 2))
    with pytest.raises(FileFormatError, match="has no group with labels_cal, labels_test, probas"):
        ogive.read(tmp_path / "none.h5")


def test_of_several_experiments_one_is_named(tmp_path):
    path = tmp_path / "a.h5"
    _arena(path)
    with h5py.File(path, "a") as file:
        file.copy("adult/tree", "adult/forest")
    with pytest.raises(FileFormatError, match=r"2 experiments. Name one: adult/forest, adult/tree"):
        ogive.read(path, part="test")
    assert ogive.read(path, part="test", experiment="adult/forest").n == 4
    with pytest.raises(OgiveError, match="adult/wood"):
        ogive.read(path, part="test", experiment="adult/wood")
