"""Artifacts and curve files as a stranger might write them, resealed: what `load` must survive.

`check_artifact_once(seed)`, `check_curve_once(seed)` and `check_export_once(seed)` make one mutant
each and raise an AssertionError unless it is refused with one of our errors, or gives values in
[0, 1], and exports that agree with it.
"""

import copy
import io
import json
import tempfile
import warnings
import zipfile
from functools import cache
from pathlib import Path

import numpy as np

import ogive
from ogive.calibrators.grouped_map import GroupedMap
from ogive.calibrators.maps import Map
from ogive.errors import OgiveError
from ogive.export import curve_file, run_python, run_sql, to_python, to_sql
from ogive.export.artifact import checksum_of
from ogive.export.targets import export
from ogive.rows.predictions import Predictions

FROZEN = Path(__file__).parent / "frozen"
VIEW_INJECTIONS = (
    'top-1"""\n__import__("os").system("id > X")\n"""',
    "top-1\nCOPY (SELECT 1) TO 'x'",
    "top-1; DROP TABLE t",
    "top-1 --",
    "score*/",
    "class-{0.__class__}",
    "top-01",
    "class-٣",
    "top-0",
    "class-99999999999999999999",
    "TOP-1",
    " top-1",
    "top-1\x00",
    "\ud800",
    "",
)
VALUES = (
    *(None, True, False, "", "NaN", "1.5", [], {}, [[]], [None], {"a": 1}, "x" * 5000),
    *(0, 1, -1, 5, 7, 0.5, -0.5, 1e-320, 5e-324, 1e9, 1e100, -1e100, 1e300, 1e305, -1e308),
    *(float("inf"), float("-inf"), float("nan"), 10**30, 10**400, -(10**400)),
    *VIEW_INJECTIONS,
)


@cache
def documents():
    """Return the artifacts that mutants are made of, without their checksums."""
    found = [json.loads(path.read_text()) for path in sorted(FROZEN.glob("*.json"))]
    for document in found:
        del document["checksum"]
    return found


def sealed(document):
    """Return the text of an artifact with the checksum of its contents; inf as 1e999, no NaN."""
    whole = {**document, "checksum": checksum_of(document)}
    return json.dumps(whole).replace("Infinity", "1e999")


def mutate_artifact(rng, document):
    """Return a copy with one to three fields altered at random."""
    altered = copy.deepcopy(document)
    for _ in range(int(rng.integers(1, 4))):
        places = list(_places(altered))
        holder, key = places[int(rng.integers(len(places)))]
        _alter(rng, holder, key)
    return altered


def _places(value):
    """Yield every (container, key) below a value; of long lists some."""
    keys = value if isinstance(value, dict) else range(len(value))
    for key in list(keys)[:40]:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


# Ways to alter a value: of any kind, of numbers, of lists.
ANY = (
    lambda rng, _: copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))]),
    lambda _, value: [value],
)
NUMBERS = (
    lambda rng, x: float(x) * float(rng.choice([-1.0, 1.0])) * 10.0 ** int(rng.integers(-20, 300)),
    lambda rng, x: x + float(rng.normal()),
)
LISTS = (
    lambda rng, x: [x[i] for i in rng.permutation(len(x))],
    lambda rng, x: x[: int(rng.integers(len(x)))],
    lambda _, x: x + x,
    lambda _, x: x[::-1],
    lambda _, x: [x[0]] * len(x),
)


def _alter(rng, holder, key):
    value = holder[key]
    draw = rng.random()
    if draw < 0.1:
        del holder[key]
    elif draw < 0.2:
        if isinstance(holder, dict):
            holder[str(rng.integers(9))] = 1
        else:
            holder.insert(key, copy.deepcopy(value))
    else:
        ways = ANY
        if isinstance(value, float) or (type(value) is int and abs(value) < 1e308):
            ways = (*ANY, *NUMBERS, *NUMBERS)
        elif isinstance(value, list) and value:
            ways = (*ANY, *LISTS)
        holder[key] = ways[int(rng.integers(len(ways)))](rng, value)


def check_text(text):
    """Load an artifact of that text: one of our errors, or a map that gives probabilities."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cal.json"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                gamma = ogive.load(path)
            except OgiveError as error:
                check_error(str(error), path)
                return None
            check_gives_probabilities(gamma)
            check_writes_plain_text(gamma)
            return gamma


def check_error(message, path):
    """An error names the file, and is safe to print."""
    assert str(path) in message, message
    assert message.isprintable(), message
    assert len(message) < len(str(path)) + 400, message


def check_gives_probabilities(gamma):
    rng = np.random.default_rng(0)
    far = np.array([0.0, 1.0, 30.0, 800.0, 1e5, 1e30, 1e160, 1e300, 1.7e308])
    if isinstance(gamma, Map):
        scores = np.concatenate([rng.random(200), 10.0 ** -rng.uniform(0, 320, 100), [0, 0.5, 1]])
        _in_unit(gamma(scores))
        _in_unit(gamma(1.0 - scores))
        eta = np.concatenate([rng.normal(size=100) * 30, far, -far, [np.inf, -np.inf]])
        _in_unit(gamma.from_log_odds(eta))
        return
    if isinstance(gamma, GroupedMap):
        scores = np.concatenate([rng.random(200), 10.0 ** -rng.uniform(0, 320, 100), [0, 0.5, 1]])
        for name in (*gamma.groups, "not seen"):
            _in_unit(gamma(scores, [name] * scores.size))
            _in_unit(gamma.from_log_odds(np.append(far, -far), [name] * 2 * far.size))
        return
    K = gamma.K
    rows = rng.normal(size=(40, K)) * rng.choice(far, (40, 1))
    rows[:5][rng.random((5, K)) < 0.5] = -np.inf
    rows[:5, 0] = 0.0
    rows[5] = far[-1] * rng.choice([-1, 1], K)
    rows = np.clip(rows, -1.7e308, 1.7e308, where=rows > -np.inf, out=rows)
    if gamma.view == "score":
        _in_unit(gamma(Predictions(rows[:, 0], kind="logits")))
        return
    total = None if gamma.method == "class-view" else 1.0  # one number for each row
    for values in (rows, np.clip(rows, -3e38, 3e38).astype(np.float32)):
        _in_unit(gamma(Predictions(values, kind="logits")), total=total)
    probs = np.concatenate([rng.dirichlet(np.full(K, 0.05), 30), np.eye(K)[:5]])
    probs /= probs.sum(axis=1, keepdims=True)
    _in_unit(gamma(Predictions(probs, kind="probs")), total=total)


def _in_unit(values, total=None):
    inside = (values >= 0.0) & (values <= 1.0)
    assert inside.all(), f"{values[~inside][:3]} of {values.size} values are no probabilities"
    if total is not None:
        off = np.abs(values.sum(axis=1) - total)
        assert off.max() < 1e-6, f"a row sums to 1 ± {off.max()}"


def check_writes_plain_text(gamma):
    """Write what an export would hold; `check_text` of each target looks at every word of it."""
    for target, run in ((to_python, run_python), (to_sql, run_sql)):
        try:
            run.check_text(target.write(gamma))
        except OgiveError:
            continue


def check_artifact_once(seed):
    """Make one mutant of an artifact and check that it does no harm."""
    rng = np.random.default_rng([19, seed])
    document = documents()[int(rng.integers(len(documents())))]
    if rng.random() < 0.1:  # bytes
        data = bytearray(sealed(document), "utf-8")
        for _ in range(int(rng.integers(1, 5))):
            data[int(rng.integers(len(data)))] = int(rng.integers(32, 127))
        return _told(seed, lambda: check_text(data.decode("latin-1")))
    return _told(seed, lambda: check_text(sealed(mutate_artifact(rng, document))))


def check_export_once(seed):
    """Export an artifact, half of them altered, to one target: it agrees, or one of our errors."""
    rng = np.random.default_rng([13, seed])
    document = documents()[int(rng.integers(len(documents())))]
    if rng.random() < 0.5:
        document = mutate_artifact(rng, document)
    target = str(rng.choice(["python", "sql", "onnx", "torch"], p=[0.4, 0.4, 0.15, 0.05]))
    _told(seed, lambda: _exported(sealed(document), target))


def _exported(text, target):
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path, out = Path(folder) / "cal.json", Path(folder) / "out"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            gamma = ogive.load(path)
            done = export(gamma, target, out, dtype="float64", points=500)
        except OgiveError:
            assert [path] == list(Path(folder).iterdir()), "a file was left behind"
            return
        assert done.max_abs_difference <= 2e-6, done
        assert sorted(Path(folder).iterdir()) == [path, out]


def _told(seed, check):
    try:
        return check()
    except AssertionError as error:
        msg = f"mutant {seed}: {error}"
        raise AssertionError(msg) from error
    except Exception as error:
        msg = f"mutant {seed}: {type(error).__name__}: {error}"
        raise AssertionError(msg) from error


@cache
def curves():
    """Return the bytes of a few saved curves: exact, summarised and weighted."""
    rng = np.random.default_rng(0)
    scores, outcomes = rng.random(300), rng.random(300) < 0.4
    scores[:20], scores[20:40] = 0.0, 1.0
    curve = ogive.Curve.from_scores(scores, outcomes)
    weights = rng.random(300) + 0.1
    weighed = ogive.Curve.from_scores(
        scores, outcomes, sample_weight=weights, weight_kind="sampling"
    )
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for each in (curve, curve.summarised(4), curve.summarised(), weighed.summarised(5)):
            ogive.save(each, Path(folder) / "c")
            found.append((Path(folder) / "c").read_bytes())
    return found


def mutate_curve(rng, data):
    """Return the bytes of an altered curve file: bytes changed, or arrays changed and resealed."""
    if rng.random() < 0.4:
        raw = bytearray(data)
        for _ in range(int(rng.integers(1, 6))):
            raw[int(rng.integers(len(raw)))] = int(rng.integers(256))
        return bytes(raw[: int(rng.integers(len(raw)))] if rng.random() < 0.1 else raw)
    with np.load(io.BytesIO(data)) as archive:
        arrays = dict(archive)
    del arrays["checksum"]
    for _ in range(int(rng.integers(1, 3))):
        name = str(rng.choice(list(arrays)))
        arrays[name] = _altered_header(rng) if name == "header" else _altered(rng, arrays[name])
    if rng.random() < 0.9:
        arrays["checksum"] = curve_file._checksum(arrays)
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return _header_shapes(rng, out.getvalue()) if rng.random() < 0.1 else out.getvalue()


def _altered_header(rng):
    header = {"format": "ogive-curve", "version": 1, "library": "0", "view": "score", "bits": 12}
    header["weighted"] = bool(rng.integers(2))
    key = str(rng.choice(list(header)))
    header[key] = VALUES[int(rng.integers(len(VALUES)))]
    return np.frombuffer(json.dumps(header).encode(), np.uint8)


ARRAYS = (
    lambda _, x: x[..., :-1],
    lambda _, x: x[..., :0],
    lambda _, x: x[None],
    lambda _, x: np.concatenate([x, x], axis=-1),
    lambda rng, x: x.astype(
        str(rng.choice(["int32", "uint64", "float64", "float32", ">i8", "U5"]))
    ),
    lambda rng, x: _with_one(rng, x, rng.choice([-1, 0, 2**62, -(2**63), 2**53, 7])),
    lambda rng, x: _with_one(rng, x, rng.choice([np.nan, np.inf, -1.0, 1e305]).astype(x.dtype)),
    lambda rng, x: -x if rng.random() < 0.5 else _with_one(rng, x, x.reshape(-1)[0] + 1),
    lambda rng, x: rng.permutation(x.reshape(-1)).reshape(x.shape),
    lambda rng, x: x + rng.integers(-2, 3, x.shape).astype(x.dtype),
)


def _altered(rng, array):
    if not array.size or array.dtype not in (np.int64, np.float64):
        return array[None]
    return ARRAYS[int(rng.integers(len(ARRAYS)))](rng, array)


def _with_one(rng, array, value):
    array = array.copy()
    array.reshape(-1)[int(rng.integers(array.size))] = value
    return array


def _header_shapes(rng, data):
    """Declare shapes that the bytes do not have."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            wrong = rng.choice([b"(9999999999,)", b"(-1,)        ", b"(1e9,)       "])
            end = part.index(b"}")
            at = part.index(b"'shape': ") + 9
            if rng.random() < 0.5 and end - at >= len(wrong):
                part = part[:at] + wrong + part[at + len(wrong) :]
            new.writestr(name, part)
    return out.getvalue()


def check_curve_once(seed):
    """Make one mutant of a curve file: one of our errors, or measures that are in [0, 1]."""
    rng = np.random.default_rng([91, seed])
    every = curves()
    with np.errstate(all="ignore"):  # casts of what cannot be cast
        data = mutate_curve(rng, every[int(rng.integers(len(every)))])
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "a.curve"
        path.write_bytes(data)
        for load in (ogive.load, curve_file.load_curve):
            _told(seed, lambda load=load: _measured(load, path))


def _measured(load, path):
    try:
        curve = load(path)
    except OgiveError as error:
        check_error(str(error), path)
        return
    numbers = np.array([ogive.ks_error(curve), curve.total_hits / curve.n])
    with np.errstate(all="ignore"):
        _in_unit(numbers * (1 - 1e-9))
        _in_unit(np.concatenate([curve.tail, curve.fractile * (1 - 1e-9)]))
        _in_unit(ogive.fit_platt(curve)(np.linspace(0, 1, 11)))
