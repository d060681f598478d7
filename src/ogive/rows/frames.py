"""Frames and series: the names of columns, and whether the rows of two of them are the same."""

from __future__ import annotations

from typing import Any

from ogive.errors import InvalidInput

_TWO = 2


def names_of(values: Any) -> list[object] | None:  # noqa: ANN401 - whatever holds numbers
    """Return the names of a frame's columns (pandas, polars, Arrow); None of anything else.

    Names of several levels are tuples, which are no labels.
    """
    names = getattr(values, "column_names", None)  # Arrow
    if names is None and len(getattr(values, "shape", ())) == _TWO:
        names = getattr(values, "columns", None)
    return None if names is None else list(names)


def check_index(**given: Any) -> None:  # noqa: ANN401
    """Refuse things of pandas whose rows are the same in another order, or in part.

    A default index (0, 1, …) says little: beside one that shares some of its numbers the position
    counts, as in ``fit(DataFrame(p), y_test)``.
    """
    indexed = {
        name: value.index
        for name, value in given.items()
        if hasattr(value, "iloc") and hasattr(value, "index")
    }
    if len(indexed) < _TWO:
        return
    (first, index), *others = indexed.items()
    for name, other in others:
        if len(index) != len(other) or index.equals(other):
            continue  # lengths are checked where the arrays are
        shared = other.isin(index)
        same = bool(shared.all())
        default = _is_default(index) or _is_default(other)
        if same or (shared.any() and not default):
            how = "in another order" if same else "some of them others"
            msg = (
                f"`{first}` and `{name}` have the same index labels, {how}, so that their rows do "
                f"not belong together one by one. Bring them into one order "
                f"({name}.loc[{first}.index]), or say that the position counts ({name}.to_numpy())."
            )
            raise InvalidInput(msg)


def _is_default(index: Any) -> bool:  # noqa: ANN401 - of pandas
    """Return whether labels are 0, 1, … as pandas gives them by itself."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
