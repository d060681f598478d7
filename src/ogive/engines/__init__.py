"""Engines: prediction logs of any length become summarised curves.

Every engine does the same three things, and shares the code that does them:

1. A `Plan` (`ogive.engines.plan`) says which columns are read, which views and groups are
   counted, and how sharply. It is small, frozen and can be pickled.
2. `tally(batches, plan)` (`ogive.engines.batches`) turns any number of Arrow record batches into
   a `Tally`: the summaries of all curves, with the rows read and the rows skipped.
   ``Tally.to_table()`` is a flat Arrow table of integers (floats with weights) and
   ``Tally.from_tables(tables, plan)`` adds up any number of those, in any order, bit for bit. So
   an engine only has to map `tally` over its partitions and bring the tables together.
3. `curves_of(run, plan)` (`ogive.engines.refine`) is the whole job: `run` is the engine's
   function from a plan to a `Tally`, and is called once for the first reading and once for each
   further one. The further plans differ in `bits` and `within` alone: ranges of places to which
   the counting is confined. `tally` heeds both, so that the engine does not see the difference.

An engine is one file with a function ``curve(data, **options)`` and one line in `ENGINES`.
"""

from __future__ import annotations

from ogive.errors import UnknownName

#: The room of each engine, and the extra that installs it.
ENGINES = {
    "local": ("ogive.engines.local", "files"),
    "dask": ("ogive.engines.dask", "dask"),
    "spark": ("ogive.engines.spark", "spark"),
}


def find_engine(name: str) -> str:
    """Return the room of an engine.

    >>> find_engine("local")
    'ogive.engines.local'
    """
    if name not in ENGINES:
        raise UnknownName.among("engine", name, ENGINES)
    return ENGINES[name][0]
