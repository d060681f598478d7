"""Tables of predictions, as logs hold them, and the exact curve of their rows."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from ogive import Curve, Predictions


def scores_table(n=5000, seed=0, **more):
    rng = np.random.default_rng(seed)
    scores = 1 / (1 + np.exp(-rng.normal(0, 2, n)))
    scores[: n // 10] = rng.choice([0.0, 1.0, 0.5, 0.9], n // 10)
    hits = rng.random(n) < scores**1.2
    return pa.table({"score": scores, "outcome": hits.astype(np.int8), **more})


def logits_table(n=3000, K=4, seed=0, lists=False):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 3, (n, K)).astype(np.float32)
    logits[:20] *= 30  # saturated
    labels = np.where(rng.random(n) < 0.6, logits.argmax(1), rng.integers(0, K, n))
    if lists:
        column = pa.FixedSizeListArray.from_arrays(pa.array(logits.ravel()), K)
        return pa.table({"label": labels, "logits": column})
    return pa.table({"label": labels, **{f"logit_{k}": logits[:, k] for k in range(K)}})


def exact(table, view="score"):
    if "score" in table.column_names:
        weights = table["weight"].to_numpy() if "weight" in table.column_names else None
        return Curve.from_scores(table["score"], table["outcome"], sample_weight=weights)
    values = np.stack([table[f"logit_{k}"].to_numpy() for k in range(4)], axis=1)
    return Curve.from_predictions(Predictions(values, table["label"], kind="logits"), view)


def store(table, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=333)
    elif path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    else:
        lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
        path.write_text(lines, encoding="utf-8")
    return path
