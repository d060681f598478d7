"""Saved curves come back bit for bit, and nothing else is taken for one."""

import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ogive
from ogive import Curve
from ogive.errors import ArtifactError
from ogive.export.curve_file import is_curve_file, load_curve
from tests.curve.rows import ROWS


@given(rows=ROWS, bits=st.sampled_from([4, 9, 52, None]))
def test_a_round_trip_is_exact(rows, bits, tmp_path_factory):
    path = tmp_path_factory.mktemp("curves") / "a.curve"
    curve = Curve.from_scores(*(np.array(c) for c in zip(*rows, strict=True)))
    if bits is not None:
        curve = curve.summarised(bits)
    ogive.save(curve, path)
    back = ogive.load(path)
    assert back.summary() == curve.summary()
    assert back.view == curve.view
    assert back.is_exact == curve.is_exact


def test_weights_survive(tmp_path):
    curve = Curve.from_scores([0.2, 0.7], [0, 1], sample_weight=[0.3, 0.4], weight_kind="sampling")
    ogive.save(curve.summarised(), tmp_path / "a.curve")
    np.testing.assert_array_equal(ogive.load(tmp_path / "a.curve").square, curve.square)


def test_days_add_up_and_files_are_small(tmp_path):
    rng = np.random.default_rng(0)
    days = []
    for day in range(3):
        scores = rng.random(50_000)
        days.append(Curve.from_scores(scores, rng.random(50_000) < scores, view="top-1"))
        ogive.save(days[-1].summarised(9), tmp_path / f"{day}.curve")
    total = ogive.load(tmp_path / "0.curve")
    for day in (1, 2):
        total = total.merge(ogive.load(tmp_path / f"{day}.curve"))
    assert total == days[2].merge(days[0]).merge(days[1]).summarised(9)
    assert (tmp_path / "0.curve").stat().st_size < 250_000


def test_saving_twice_gives_the_same_bytes(tmp_path):
    curve = Curve.from_scores([0.2, 0.7], [0, 1]).summarised()
    for name in "ab":
        ogive.save(curve, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def rewritten(path, **arrays):
    with np.load(path) as archive:
        every = dict(archive) | arrays
    with path.open("wb") as file:
        np.savez(file, **every)


def test_altered_newer_cut_and_foreign_files(tmp_path):
    path = tmp_path / "a.curve"
    ogive.save(Curve.from_scores([0.2, 0.7], [0, 1]).summarised(), path)
    whole = path.read_bytes()
    with np.load(path) as archive:
        header = json.loads(archive["header"].tobytes())
        rewritten(path, sums=archive["sums"] + 1)
    with pytest.raises(ArtifactError, match="altered"):
        ogive.load(path)
    newer = json.dumps(header | {"version": 2}).encode()
    rewritten(path, header=np.frombuffer(newer, np.uint8))
    with pytest.raises(ArtifactError, match="newer than this library"):
        ogive.load(path)
    other = json.dumps(header | {"format": "x"}).encode()
    rewritten(path, header=np.frombuffer(other, np.uint8))
    with pytest.raises(ArtifactError, match="not a saved curve"):
        ogive.load(path)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ArtifactError):
        ogive.load(path)
    with pytest.raises(ArtifactError, match="cut short"):
        load_curve(path)
    np.savez(tmp_path / "b.npz", scores=[0.5])
    assert not is_curve_file(tmp_path / "b.npz")
    with pytest.raises(ArtifactError, match="not a saved curve"):
        load_curve(tmp_path / "b.npz")


def test_an_archive_with_objects_is_refused(tmp_path):
    path = tmp_path / "a.curve"
    ogive.save(Curve.from_scores([0.2, 0.7], [0, 1]).summarised(), path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    evil = io.BytesIO()
    np.save(evil, np.array([object()], dtype=object), allow_pickle=True)
    parts["sums.npy"] = evil.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(ArtifactError, match="Object arrays"):
        ogive.load(path)
