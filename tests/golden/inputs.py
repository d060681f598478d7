"""Small files of predictions from integers and fractions alone: no version of a library moves them.

The random integers are those of a linear congruential generator, so that neither NumPy's generator
nor a system's logarithm has a part in them.
"""

import json
from itertools import compress
from pathlib import Path

import numpy as np


def integers(seed):
    """Yield integers below 2^31 (Park and Miller's minimal standard, Knuth's constants)."""
    state = seed
    while True:
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        yield state >> 33


def table(path, columns):
    """Write a CSV file."""
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def scored(rows, seed, step=1000, *, rare=1):
    """Return columns of scores, steps of 1/step / rare, with outcomes less extreme than they."""
    draw = integers(seed)
    score, outcome = [], []
    for _ in range(rows):
        k = next(draw) % (step - 1) + 1
        truth = (k + step // 4) * 2**31 // (step * 3 // 2)  # between 1/6 and 5/6
        score.append(k / step / rare)
        outcome.append(int(next(draw) * rare < truth))
    return {
        "score": score,
        "outcome": outcome,
        "w": [(next(draw) % 10 + 2) / 4 for _ in score],
        "c": [next(draw) % max(rows // 5, 4) for _ in score],
        "g": ["abc"[next(draw) % 3] for _ in score],
        "day": [f"2026-03-{1 + i * 20 // rows:02d}" for i in range(rows)],
    }


def matrix(rows, K, seed, sharp=2):
    """Return logits in sixteenths, and labels that follow them, but less often than they say."""
    draw = integers(seed)
    logits = [[sharp * (next(draw) % 65 - 32) / 16 for _ in range(K)] for _ in range(rows)]
    labels = []
    for row in logits:
        noise = [sum(next(draw) % 65 for _ in range(4)) / 16 for _ in row]  # as wide as the logits
        values = [a + b for a, b in zip(row, noise, strict=True)]
        labels.append(values.index(max(values)))
    labels[:K] = range(K)
    return np.array(logits, dtype=np.float32), np.array(labels)


def parts(path, rows, labels, names=("logits", "labels")):
    """Write the first half of the rows as the part cal of an .npz file, the rest as test."""
    half = len(labels) // 2
    arrays = dict(zip(names, (np.asarray(rows), np.asarray(labels)), strict=True))
    halves = {f"cal_{name}": array[:half] for name, array in arrays.items()}
    np.savez(path, **halves, **{f"test_{name}": array[half:] for name, array in arrays.items()})


def write(folder):
    """Write all inputs to a folder."""
    folder = Path(folder)
    scores = scored(500, 1)
    table(folder / "scores.csv", scores)
    table(folder / "ties.csv", scored(200, 2, step=20))
    table(folder / "few.csv", scored(25, 3))
    table(folder / "rare.csv", scored(1500, 4, rare=40))
    full = scored(900, 11)  # one third of the outcomes of 1, so that the base rate alone is another
    kept = [not y or i % 3 == 0 for i, y in enumerate(full["outcome"])]
    table(folder / "other_rate.csv", {k: [*compress(v, kept)] for k, v in full.items()})
    other = [round(1 - p, 3) for p in scores["score"]]
    pair = {"prob_0": other, "prob_1": scores["score"], "label": scores["outcome"]}
    table(folder / "pair.csv", pair)
    parts(folder / "parts.npz", scores["score"], scores["outcome"], ("scores", "outcomes"))
    (folder / "log").mkdir()
    for i, (a, b) in enumerate([(0, 150), (150, 350), (350, 500)]):
        some = {name: column[a:b] for name, column in scores.items()}
        if i == 2:
            lines = (dict(zip(some, row, strict=True)) for row in zip(*some.values(), strict=True))
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (folder / "log" / f"{i}.jsonl").write_text(text, encoding="utf-8")
        else:
            table(folder / "log" / f"{i}.csv", some)
    parts(folder / "two.npz", *matrix(300, 2, 5))
    parts(folder / "three.npz", *matrix(400, 3, 6))
    parts(folder / "ten.npz", *matrix(600, 10, 7, sharp=3))
    logits, labels = matrix(240, 4, 8)
    numbers = {
        f"logit_{name}": column.tolist() for name, column in zip("abcd", logits.T, strict=True)
    }
    table(folder / "names.csv", {**numbers, "label": ["abcd"[k] for k in labels]})
    (folder / "arena").mkdir()
    for i in (0, 1):
        parts(folder / "arena" / f"e{i}.npz", *matrix(160, 3, 9 + i))
