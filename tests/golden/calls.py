"""The calls whose results are kept, and how one is run.

Calls of one story run in one folder, one after the other: what `fit` writes `apply` reads.
"""

import contextlib
import csv
import io
import json
import math
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from ogive.cli import main
from tests.golden import inputs

CURVES = ("paper-spline", "platt", "isotonic", "beta", "histogram", "venn-abers", "none")
STORIES = {
    "scores": [
        "measure scores.csv",
        "measure scores.csv --more --resamples 20",
        "measure scores.csv --weight w --weight-kind sampling",
        "measure scores.csv --weight w",
        "measure scores.csv --cluster c",
        "measure scores.csv --max-ks 0.05",
        "measure ties.csv --more",
        "measure few.csv",
        "measure rare.csv",
        "fit scores.csv -o a.json",
        "measure scores.csv",  # a second time: on the rows of the fit
        "apply a.json scores.csv -o a.csv --band",
        "export a.json --to python -o a.py",
        "export a.json --to sql -o a.sql",
        "shift a.json --base-rate 0.1 -o h.json",
        "apply h.json scores.csv -o h.csv",
        "shift a.json --like other_rate.csv --ignore-outcomes -o l.json",
        "expect scores.csv --calibrator a.json --ignore-outcomes",
        "expect ties.csv --ignore-outcomes --threshold 0.3",
        "decide scores.csv --miss 5 --alarm 1",
        "fit scores.csv -o c.json --cluster c",
        "fit ties.csv -o t.json",
        "fit rare.csv -o r.json",
        "fit few.csv -o f.json",
        "plot scores.csv -o scores.svg",
        "report scores.csv -o scores.html",
    ],
    "parts": [
        "measure parts.npz",
        "compare parts.npz",
        "decide parts.npz --miss 5 --alarm 1",
    ],
    "methods": [
        call
        for method in CURVES
        for call in (
            f"fit scores.csv -o {method}.json --method {method}",
            f"apply {method}.json few.csv -o {method}.csv",
        )
    ],
    "log": [
        "measure log",
        "measure log --by g",
        "measure log --one-pass",
        "measure log --save-curve log.curve",
        "measure log.curve",
        "fit log -o a.json",
        "apply a.json log -o applied",
        "fit log -o g.json --by g",
        "fit log -o w.json --by g --weight w --weight-kind sampling",
        "apply g.json scores.csv -o g.csv",
        "watch log --time day --state state.json",
        "watch log --time day --state state.json",
        "watch log --time day --by g",
    ],
    "two classes": [
        "measure two.npz",
        "measure pair.csv",
        "measure pair.csv --view all",
        "fit pair.csv -o p.json",
        "apply p.json pair.csv -o p.csv",
        "fit two.npz -o k.json",
        "apply k.json two.npz -o k.npz",
        "fit two.npz -o t.json --method temperature",
        "apply t.json two.npz -o t.npz",
        "fit two.npz -o v.json --view class-1",
        "apply v.json two.npz -o v.npz",
        "compare two.npz --view vector",
        "decide two.npz --miss 5 --alarm 1",
    ],
    "matrices": [
        "measure three.npz",
        "measure three.npz --view all",
        "measure names.csv --view class-2",
        "fit three.npz -o a.json",
        "apply a.json three.npz -o a.npz",
        "fit three.npz -o f.json --method spline:free",
        "apply f.json three.npz -o f.npz",
        "fit three.npz -o o.json --method platt:ovr",
        "apply o.json three.npz -o o.npz",
        "fit three.npz -o t.json --method temperature",
        "apply t.json three.npz -o t.npz",
        "fit three.npz -o v.json --method vector",
        "apply v.json three.npz -o v.npz",
        "fit three.npz -o r.json --view top-2",
        "apply r.json three.npz -o r.npz",
        "fit names.csv -o n.json --view within-top-2 --score-only",
        "apply n.json names.csv -o n.csv",
        "export v.json --to sql -o v.sql",
    ],
    "ten classes": [
        "measure ten.npz",
        "fit ten.npz -o a.json",
        "apply a.json ten.npz -o a.npz",
        "compare ten.npz --methods spline,temperature,isotonic,none --view vector",
    ],
    "arena": ["arena arena --methods spline,platt,none --jobs 1"],
}
#: Commands without a call: `paper` reads files of 10,000 rows, and `demo` is `measure`, `fit` and
#: `compare` on the bundled ones, whose numbers tests/test_headlines.py keeps.
LEFT_OUT = {"demo", "paper"}
#: Not the same in two runs, or of no interest: times, versions, what hangs on the last bits.
IGNORED = re.compile(
    r"(.*\.)?(seconds|\w*_seconds|version|created|checksum|sha256|max_abs_difference)"
)


def slug(call):
    """Return a name of a call that every system takes for a file's."""
    return "-".join(re.findall(r"[\w.]+", call))


def names(calls):
    """Return a name for each call of a story; the second of two equal calls is `again`."""
    return [slug(call) + "-again" * (call in calls[:i]) for i, call in enumerate(calls)]


def leaves(found, at=""):
    """Yield (key, value) of all that is in nested objects; a list of plain values is one."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield from leaves(value, f"{at}.{key}" if at else str(key))
    elif isinstance(found, list) and any(isinstance(value, dict | list) for value in found):
        for i, value in enumerate(found):
            yield from leaves(value, f"{at}[{i}]")
    elif not IGNORED.fullmatch(re.sub(r"\[\d+\]", "", at)):
        yield at, found


def columns(path):
    """Return {name: numbers} of a file that `apply` wrote, or of all files of a folder."""
    if path.is_dir():
        files = [columns(file) for file in sorted(path.rglob("*")) if file.suffix == ".parquet"]
        return {name: np.concatenate([file[name] for file in files]) for name in files[0]}
    if path.suffix == ".npz":
        with np.load(path) as file:
            return {name: file[name] for name in file.files if file[name].dtype.kind == "f"}
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        return {name: table[name].to_numpy() for name in table.column_names if name == "score"}
    with path.open(encoding="utf-8", newline="") as file:
        head, *lines = csv.reader(file)
    calibrated = [name for name in head if name.startswith(("score", "prob_", "low", "high"))]
    return {name: np.array([float(x[head.index(name)]) for x in lines]) for name in calibrated}


def outputs(path):
    """Return how many numbers each column of an output has, the first ones and their sum."""
    found = {}
    for name, values in columns(path).items():
        numbers = values.ravel().tolist()
        found[name] = {"size": len(numbers), "first": numbers[:12], "sum": math.fsum(numbers)}
    return found


def run(call):
    """Run a call; return its exit code and its JSON as {key: value}, sorted by key."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*call.split(), "--json"])
    found = {"exit": code, **json.loads(out.getvalue() or '{"error": "no JSON"}')}
    if call.startswith("apply"):
        found["rows"] = outputs(Path(call.split()[call.split().index("-o") + 1]))
    return dict(sorted(leaves(found)))


def tell(story, folder):
    """Run a story in a folder; return {name of a call: (call, {key: value})}."""
    inputs.write(folder)
    with contextlib.chdir(folder):
        calls = STORIES[story]
        return {n: (call, run(call)) for n, call in zip(names(calls), calls, strict=True)}
