"""Small logs on disk, of which every engine must give the same curves."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.engines.test_batches import scores_table


def rows_of(n=6000, seed=0):
    """Scores with outcomes, weights and countries."""
    rng = np.random.default_rng(seed + 100)
    country = rng.choice(["DE", "FR", "IT", "PL", "SE", None], n).tolist()
    return scores_table(n, seed, weight=rng.random(n), country=pa.array(country))


def write_log(folder, table, files=3, row_group=700):
    """Write a table as some Parquet files."""
    folder.mkdir(parents=True, exist_ok=True)
    edges = np.linspace(0, table.num_rows, files + 1).astype(int)
    for i in range(files):
        part = table.slice(edges[i], edges[i + 1] - edges[i])
        pq.write_table(part, folder / f"part-{i:03d}.parquet", row_group_size=row_group)
    return folder


def spoiled(table, row=4321, value=1.5):
    """The table with a score that breaks the rule."""
    cells = table["score"].to_pylist()
    cells[row] = value
    at = table.column_names.index("score")
    return table.set_column(at, "score", pa.array(cells))
