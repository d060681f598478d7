"""What `tests.oracle` runs with each of two interpreters: random files, and calls on them.

It imports nothing of the tests, and of ogive only what is public, so that any version runs it.
"""

import contextlib
import io
import json
import os
import runpy
import sys
import warnings
from pathlib import Path

import numpy as np

METHODS = ["spline", "paper-spline", "platt", "isotonic", "beta", "histogram", "venn-abers"]

MEASURES = ["ks_error", "kuiper_error", "ece", "mce", "brier", "nll", "smooth_ece", "kde_ece"]


def expit(x):
    return 1 / (1 + np.exp(-x))


def write_csv(path, columns):
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_jsonl(path, columns):
    rows = zip(*columns.values(), strict=True)
    lines = [json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows]
    path.write_text("".join(lines), encoding="utf-8")


def write_parquet(path, columns):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path)


def make_scores(root, i, rng):
    """Write files of scores; return the calls on them."""
    N = int(rng.choice([25, 120, 900, 2000]))
    eta = rng.normal(rng.normal(), rng.uniform(0.5, 3), N)
    truth = expit(eta * rng.uniform(0.4, 1.6) + rng.normal() * 0.4)
    tied = rng.random() < 0.4
    score = expit(eta).round(2).clip(0.01, 0.99) if tied else expit(eta)
    outcome = (rng.random(N) < truth).astype(int)
    outcome[:2] = 0, 1
    columns = {
        "score": score.tolist(),
        "outcome": outcome.tolist(),
        "w": rng.uniform(0.5, 3, N).round(3).tolist(),
        "c": rng.integers(0, max(N // 5, 4), N).tolist(),
        "g": rng.choice(["a", "b", "c"], N).tolist(),
        "day": [f"2026-03-{1 + k * 20 // N:02d}" for k in range(N)],
    }
    name = f"s{i}" + "t" * bool(tied)
    write_csv(root / f"{name}.csv", columns)
    write_jsonl(root / f"{name}.jsonl", columns)
    write_parquet(root / f"{name}.parquet", columns)
    log = root / f"{name}_log"
    log.mkdir()
    for j, part in enumerate(np.array_split(np.arange(N), 3)):
        some = {key: [values[k] for k in part] for key, values in columns.items()}
        (write_csv, write_jsonl, write_parquet)[j](
            log / f"{j}.{('csv', 'jsonl', 'parquet')[j]}", some
        )
    cal, test = {}, {}
    for key, values in (("scores", score), ("outcomes", outcome)):
        cal[f"cal_{key}"], test[f"test_{key}"] = values[: N // 2], values[N // 2 :]
    np.savez(root / f"{name}.npz", **cal, **test)
    method = str(rng.choice(METHODS))
    words = """
        measure NAME.csv
        measure NAME.jsonl
        measure NAME.parquet
        measure NAME.csv --more --resamples 20
        measure NAME.csv --weight w --weight-kind sampling
        measure NAME.parquet --weight w
        measure NAME.csv --cluster c
        measure NAME_log --by g
        measure NAME_log
        measure NAME.npz
        measure NAME.csv --max-ks 0.05
        fit NAME.csv -o NAME_a.json --method METHOD
        apply NAME_a.json NAME.csv -o NAME_a.csv
        apply NAME_a.json NAME.jsonl -o NAME_a.jsonl
        apply NAME_a.json NAME_log -o NAME_out
        export NAME_a.json --to python -o NAME_a.py
        export NAME_a.json --to sql -o NAME_a.sql
        export NAME_a.json --to onnx -o NAME_a.onnx
        values NAME_a.py
        values NAME_a.sql
        values NAME_a.onnx
        fit NAME.csv -o NAME_g.json --by g
        apply NAME_g.json NAME.csv -o NAME_g.csv
        fit NAME_log -o NAME_l.json
        compare NAME.npz
        decide NAME.csv --miss 5 --alarm 1
        shift NAME_l.json --base-rate 0.1 -o NAME_h.json
        apply NAME_h.json NAME.parquet -o NAME_h.parquet
        expect NAME.csv --calibrator NAME_a.json --ignore-outcomes
        watch NAME_log --time day --state NAME_state.json
        functions NAME.csv
        frame NAME.csv
        estimator NAME.csv METHOD
    """
    if i == 0:
        words += "measure NAME_log --engine dask\n"
    return plan(words, NAME=name, METHOD=method)


def make_matrix(root, i, rng):
    """Write files of a matrix; return the calls on them."""
    K = int(rng.choice([2, 3, 10]))
    N = int(rng.choice([60, 400, 1000]))
    logits = rng.normal(size=(N, K)) * rng.uniform(1, 4)
    truth = np.exp(logits * rng.uniform(0.4, 1.2))
    truth /= truth.sum(axis=1, keepdims=True)
    labels = (truth.cumsum(axis=1) < rng.random((N, 1))).sum(axis=1).clip(0, K - 1)
    labels[:K] = range(K)
    name = f"m{i}k{K}"
    arrays = {"logits": logits.astype(np.float32), "labels": labels}
    cal = {f"cal_{key}": values[: N // 2] for key, values in arrays.items()}
    test = {f"test_{key}": values[N // 2 :] for key, values in arrays.items()}
    np.savez(root / f"{name}.npz", **cal, **test)
    probs = np.exp(logits)
    probs /= probs.sum(axis=1, keepdims=True)
    columns = {f"prob_{k}": probs[:, k].tolist() for k in range(K)} | {"label": labels.tolist()}
    write_csv(root / f"{name}.csv", columns)
    write_parquet(root / f"{name}.parquet", columns)
    method = str(rng.choice(["spline", "spline:free", "platt:ovr", "temperature", "vector"]))
    view = str(rng.choice(["top-1", "class-1"] + ["top-2", "within-top-2"] * (K > 2)))
    words = """
        measure NAME.npz
        measure NAME.npz --view all
        measure NAME.csv
        measure NAME.parquet --view class-1
        fit NAME.npz -o NAME_a.json --method METHOD
        apply NAME_a.json NAME.npz -o NAME_a.npz
        apply NAME_a.json NAME.csv -o NAME_a.csv
        export NAME_a.json --to onnx -o NAME_a.onnx --kind logits
        export NAME_a.json --to sql -o NAME_a.sql
        values NAME_a.onnx NAME.npz
        values NAME_a.sql NAME.npz
        fit NAME.npz -o NAME_v.json --view VIEW
        apply NAME_v.json NAME.npz -o NAME_v.npz
        compare NAME.npz
        compare NAME.npz --view vector
        estimator NAME.npz spline
        estimator NAME.npz temperature
        frame NAME.parquet
    """
    return plan(words, NAME=name, METHOD=method, VIEW=view)


def plan(words, **names):
    """Return the lines of a text as calls, with names filled in."""
    for key, value in names.items():
        words = words.replace(key, value)
    return [line.split() for line in words.strip().splitlines()]


def make(root, n, seed):
    """Write the files and the plan."""
    root.mkdir()
    rng = np.random.default_rng(seed)
    calls = [c for i in range(n) for f in (make_scores, make_matrix) for c in f(root, i, rng)]
    (root / "plan.json").write_text(json.dumps(calls), encoding="utf-8")


def table(path):
    """Return the columns of a CSV file as a frame."""
    import pandas as pd

    return pd.read_parquet(path) if path.endswith("parquet") else pd.read_csv(path)


def functions(path):
    """Measures of scores, as plain calls."""
    import ogive

    columns = table(path)
    score, outcome = columns["score"].to_numpy(), columns["outcome"].to_numpy()
    names = [
        "ks_error",
        "kuiper_error",
        "ece",
        "mce",
        "brier",
        "nll",
        "smooth_ece",
        "kde_ece",
        "oe_ratio",
    ]
    found = {name: getattr(ogive, name)(score, outcome) for name in names}
    weighted = ogive.measure(score, outcome, sample_weight=columns["w"].to_numpy())
    calibrated = ogive.calibrate(score, outcome, method="platt")
    return {
        **{name: float(getattr(value, "value", value)) for name, value in found.items()},
        "weighted": weighted.to_dict(),
        "calibrated": calibrated.probabilities.tolist(),
    }


def frame(path):
    """A frame measured as it is."""
    import ogive

    columns = table(path)
    if "score" in columns:
        given, truth, how = columns["score"], columns["outcome"], {}
    else:
        given, truth, how = columns.filter(like="prob_"), columns["label"], {"kind": "probs"}
    return ogive.measure(given, truth, **how).to_dict()


def estimator(path, method):
    """The probabilities of an estimator, of one column or of a matrix."""
    import ogive

    name = "".join(word.title() for word in method.split("-")) + "Calibrator"
    if path.endswith(".npz"):
        with np.load(path) as file:
            X, y, new = file["cal_logits"], file["cal_labels"], file["test_logits"]
        fitted = getattr(ogive, name)(kind="logits").fit(X, y)
    else:
        columns = table(path)
        X = new = columns[["score"]].to_numpy()
        fitted = getattr(ogive, name)(kind="probs").fit(X, columns["outcome"].to_numpy())
    probs = fitted.predict_proba(new)
    return {"classes": fitted.classes_.tolist(), "probs": probs[:500].ravel().tolist()}


def values(path, given=None):
    """The values that an export gives: scores on a grid, or rows of a file."""
    rows = np.linspace(0, 1, 201)
    if given is not None:
        with np.load(given) as file:
            rows = file["test_logits"][:100].astype(float)
    return {"values": exported(path, rows)}


def exported(path, rows):
    """Run an export on scores or on rows of logits."""
    if path.endswith(".py"):
        calibrate = runpy.run_path(path)["calibrate"]
        return [calibrate(row) for row in rows.tolist()]
    if path.endswith(".onnx"):
        import onnxruntime

        session = onnxruntime.InferenceSession(path)
        (wanted,) = session.get_inputs()
        dtype = np.float64 if wanted.type == "tensor(double)" else np.float32
        return session.run(None, {wanted.name: rows.astype(dtype)})[0].tolist()
    import duckdb

    rows = rows.reshape(len(rows), -1)
    names = ["score"] if rows.shape[1] == 1 else [f"logit_{k}" for k in range(rows.shape[1])]
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE given (i INTEGER, {' DOUBLE, '.join(names)} DOUBLE)")
    marks = ", ".join("?" * (1 + len(names)))
    lines = [[i, *row] for i, row in enumerate(rows.tolist())]
    connection.executemany(f"INSERT INTO given VALUES ({marks})", lines)  # noqa: S608
    text = Path(path).read_text(encoding="utf-8")
    found = connection.execute(f"SELECT (\n{text}\n) FROM given ORDER BY i")  # noqa: S608
    return [row[0] for row in found.fetchall()]


def command(call):
    """Run a command; return its exit code and its JSON with the rows that `apply` wrote."""
    from ogive.cli import entry

    sys.argv = ["ogive", *call, "--json"]
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            entry()
        except SystemExit as stop:
            code = stop.code or 0
    try:
        found = json.loads(out.getvalue())
    except ValueError:
        found = {"text": out.getvalue()[-200:], "error": err.getvalue()[-300:]}
    if call[0] == "apply" and code == 0:
        found["rows"] = written(Path(call[call.index("-o") + 1]))
    return code, found


def written(path):
    """Return the numbers that `apply` wrote."""
    if path.is_dir():
        return {file.name: written(file) for file in sorted(path.rglob("*.parquet"))}
    if path.suffix == ".npz":
        with np.load(path) as file:
            kept = {name: file[name] for name in file.files if file[name].dtype.kind in "fiu"}
        return {name: array.ravel()[:3000].tolist() for name, array in kept.items()}
    if path.suffix == ".jsonl":
        lines = path.read_text(encoding="utf-8").splitlines()
        return [json.loads(line)["score"] for line in lines]
    frame = table(str(path))
    return {name: frame[name].tolist() for name in frame if name.startswith(("score", "prob_"))}


CALLS = {"functions": functions, "frame": frame, "estimator": estimator, "values": values}


def run(root):
    """Run the plan; write a line for each call: the call, its exit code, its result."""
    os.chdir(root)
    warnings.simplefilter("ignore")
    with Path("results.jsonl").open("w", encoding="utf-8") as file:
        for call in json.loads(Path("plan.json").read_text(encoding="utf-8")):
            name, *given = call
            code, found = 0, {}
            try:
                if name in CALLS:
                    found = CALLS[name](*given)
                else:
                    code, found = command(call)
            except Exception as wrong:  # noqa: BLE001 - how it fails is compared
                code, found = type(wrong).__name__, {"error": str(wrong)}
            file.write(json.dumps([call, code, found], default=str) + "\n")


if __name__ == "__main__":
    what, where, *numbers = sys.argv[1:]
    make(Path(where), *map(int, numbers)) if what == "make" else run(Path(where))
