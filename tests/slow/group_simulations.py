"""How many false discoveries nested groups have: `python -m tests.slow.group_simulations`.

Prints the table of docs/theory/groups.md. Rows have two columns; a group is wrong where one of its
cells is. Outcomes of wrong cells are 1 more often than their scores say.
"""

import sys

import numpy as np
from scipy.stats import false_discovery_control

from ogive import Predictions, measure_groups

#: Values of both columns, and rows of a cell.
SHAPES = ((5, 3, 200), (20, 10, 100))
#: Which cells are wrong, (A, B), by how much.
CASES = {
    "none": lambda a, b: np.zeros((a, b)),
    "one cell": lambda a, b: 0.25 * (np.arange(a * b).reshape(a, b) == 1),
    "one value": lambda a, b: 0.12 * (np.arange(a)[:, None] == 1) * np.ones(b),
    "every tenth cell": lambda a, b: 0.2 * (np.arange(a * b).reshape(a, b) % 10 == 1),
}
WAYS = ("within choices", "Benjamini-Hochberg", "Benjamini-Yekutieli")


def rates(shape, case, draws):
    """Share of false discoveries, and of wrong groups that are found, by each correction."""
    a, b, n = shape
    wrong = CASES[case](a, b)
    cell = np.repeat(np.arange(a * b), n)
    columns = np.stack([cell // b, cell % b], axis=1).astype(str)
    off = {f"{i} | {j}" for i in range(a) for j in range(b) if wrong[i, j]}
    off |= {f"{i} | *" for i in range(a) if wrong[i].any()}
    off |= {f"* | {j}" for j in range(b) if wrong[:, j].any()}
    found = []
    for seed in range(draws):
        rng = np.random.default_rng([a, b, n, seed])
        scores = rng.uniform(0.1, 0.7, cell.size)
        hits = rng.random(cell.size) < scores + wrong.ravel()[cell]
        groups = measure_groups(Predictions(scores, hits, kind="probs"), columns).groups
        p = np.array([one.pvalue for one in groups])
        true = np.array([one.group in off for one in groups])
        adjusted = (
            np.array([one.pvalue_adjusted for one in groups]),
            false_discovery_control(p, method="bh"),
            false_discovery_control(p, method="by"),
        )
        row = []
        for values in adjusted:
            told = values <= 0.05
            row += [(told & ~true).sum() / max(told.sum(), 1), told[true].mean() if off else 0.0]
        found.append(row)
    return np.mean(found, axis=0).reshape(-1, 2)


def table(draws):
    head = "".join(f" {way}, false | found |" for way in WAYS)
    print(f"| columns | wrong |{head}\n|---|---|{'---:|---:|' * len(WAYS)}")
    for shape in SHAPES:
        for case in CASES:
            cells = [
                f"{100 * false:.1f} % | {'' if case == 'none' else f'{100 * told:.0f} %'}"
                for false, told in rates(shape, case, draws)
            ]
            print(f"| {shape[0]} x {shape[1]}, {shape[2]} rows | {case} | {' | '.join(cells)} |",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    table(int((sys.argv[1:] or ["300"])[0]))
