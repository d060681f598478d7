"""Archives: refused by what their headers say, before they are unpacked."""

import io
import zipfile

import numpy as np
import pytest

import ogive
from ogive.errors import DoesNotApply, FileFormatError


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
    with pytest.raises(FileFormatError, match="should have 24 bytes, and has"):
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


@pytest.mark.parametrize("letter", [0x110000, 0xD800])
@pytest.mark.parametrize("order", ["<", ">"])
def test_text_that_is_not_unicode_is_refused(tmp_path, letter, order):
    names = np.array([97, letter], dtype=f"{order}u4").view(f"{order}U1")
    values = np.full((4, 2), 0.5)
    np.savez(tmp_path / "a.npz", probs=values, labels=[0, 1, 0, 1], classes=names)
    with pytest.raises(FileFormatError, match="not Unicode"):
        ogive.read(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (_npy((3, 2, 1), bytes(48)), r"one or two dimensions, but has shape \(3, 2, 1\)"),
        (_npy((3,), bytes(48), "<c16"), "`scores` must be numbers, but is complex128"),
        (_npy((-3,)), r"the array `scores` is damaged \(shape \(-3,\)\)"),
    ],
)
def test_arrays_that_cannot_be_scores_are_refused(tmp_path, scores, words):
    _archive(tmp_path / "a.npz", scores=scores, outcomes=_npy((3,), bytes(3), "|i1"))
    with pytest.raises(FileFormatError, match=words):
        ogive.read(tmp_path / "a.npz")


def test_a_single_array_is_told_from_an_archive(tmp_path):
    (tmp_path / "a.npz").write_bytes(_npy((3,), bytes(24)))
    with pytest.raises(FileFormatError, match=r"is a single array, .* Save it with np\.savez"):
        ogive.read(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", scores=np.ones(3))
    (tmp_path / "b.npz").rename(tmp_path / "b.npy")
    with pytest.raises(FileFormatError, match=r"is an archive of arrays: give it the suffix \.npz"):
        ogive.read(tmp_path / "b.npy", kind="probs", label=tmp_path / "y.npy")


@pytest.mark.parametrize("cluster", ["scores", "outcomes"])
def test_scores_and_outcomes_are_no_clusters(tmp_path, cluster):
    np.savez(tmp_path / "a.npz", scores=[0.2, 0.4, 0.6], outcomes=[0, 1, 1])
    with pytest.raises(DoesNotApply, match=f"--cluster {cluster} is the array of the scores or"):
        ogive.read(tmp_path / "a.npz", cluster=cluster)


def test_clusters_are_needed_in_both_parts(tmp_path):
    part = {"scores": np.full(4, 0.5), "outcomes": np.array([0, 1, 0, 1])}
    arrays = {f"{name}_{what}": x for name in ("cal", "test") for what, x in part.items()}
    np.savez(tmp_path / "a.npz", cal_patient=np.arange(4), **arrays)
    with pytest.raises(FileFormatError, match="no array `test_patient`: both parts need one"):
        ogive.read(tmp_path / "a.npz", part="test", cluster="patient")
