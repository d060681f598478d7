"""Engines: prediction logs of any length become summarised curves.

Every engine does the same three things, and shares the code that does them:

1. A `Plan` (`ogive.engines.plan`) says which columns are read, which views and groups are
   counted, and the width of the buckets. It is small, frozen and can be pickled.
2. `tally(batches, plan)` (`ogive.engines.batches`) turns any number of Arrow record batches into
   a `Tally`: the summaries of all curves, with the rows read and the rows skipped.
   ``Tally.to_table()`` is a flat Arrow table of integers (floats with weights) and
   ``Tally.from_tables(tables, plan)`` adds up any number of those, in any order, bit for bit. So
   an engine only has to map `tally` over its partitions and bring the tables together.
3. `curves_of(run, plan)` (`ogive.engines.refine`) is the whole job: `run` is the engine's
   function from a plan to a `Tally`, and is called once for the first reading and once for each
   further one. The further plans differ in `bits` and `within` alone: ranges of places to which
   the counting is confined. `tally` handles both, so an engine needs no code for it.

Files on disk are cut into pieces (`ogive.engines.files.open_log(paths, columns)` gives a `Log`
with ``.plan(view, ...)`` and ``.pieces``); `ogive.engines.pieces.count_piece(piece, plan)` is the
tally of one. Pieces and plans can be pickled, so that a cluster maps this function over them.
`apply` maps ``FileJob.run`` of `ogive.studies.apply_log` over the files of a log in the same way.

An engine is one file with a line in `ENGINES` and these functions:

``read_log(paths, view=None, *, columns, by, part, default_part, bits, memory, one_pass, skip_bad,
weight_kind, vectors, every, n_jobs, progress, **own)``
    A `Reading` of files; the command line calls it. `own` are the engine's options, such as
    Dask's ``scheduler`` and Spark's ``master``. `ogive.engines.local.read_log` is the model.
``curve(data, view=None, **options)``
    The curve of what the engine's users have at hand (paths, a data frame).
``group_curves(data, by, view=None, **options)``
    The curve of each group of a column.
``mapped(function, items, *, what, progress, **own)``
    Of clusters: a list of the function's results, in order. `apply` needs it.
"""

from __future__ import annotations

import importlib
from typing import Any

from ogive.errors import UnknownName

#: The module of each engine, and the extra that installs it.
ENGINES = {
    "local": ("ogive.engines.local", "files"),
    "dask": ("ogive.engines.dask", "dask"),
    "spark": ("ogive.engines.spark", "spark"),
}


def find_engine(name: str) -> str:
    """Return the module of an engine.

    >>> find_engine("local")
    'ogive.engines.local'
    """
    if name not in ENGINES:
        raise UnknownName.among("engine", name, ENGINES)
    return ENGINES[name][0]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module
    if name not in ENGINES:
        msg = f"module 'ogive.engines' has no attribute {name!r}"
        raise AttributeError(msg)
    return importlib.import_module(ENGINES[name][0])
