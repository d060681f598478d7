"""Arithmetic on rows with the standard library alone: part of the Python exports of vectors.

A row is a list; a row of one number applies to every number of another. `to_python` writes the
steps of a program as comprehensions over rows.
"""

from __future__ import annotations

from math import fsum, inf
from typing import Any

Row = list[Any]


def checked(values: Any, kind: str, K: int) -> Row:  # noqa: ANN401
    """Return the values as floats, if they are valid for this kind."""
    row = [float(value) for value in values]
    if len(row) != K:
        message = f"{len(row)} values, but the calibrator was fitted on {K} classes"
        raise ValueError(message)
    top = max(row)
    if any(x != x for x in row) or not -inf < top < inf:  # noqa: PLR0124 - NaN
        message = "logits must not be NaN or +inf, and one of them must be finite"
        raise ValueError(message)
    if kind == "probs" and (min(row) < 0.0 or abs(fsum(row) - 1.0) > 1e-3):  # noqa: PLR2004
        message = "probabilities must be >= 0 and sum to 1: this calibrator does not take logits"
        raise ValueError(message)
    return row


def aligned(*rows: Row) -> Any:  # noqa: ANN401
    """Return the numbers of rows side by side."""
    n = max([len(row) for row in rows])
    return zip(*[row if len(row) == n else row * n for row in rows], strict=True)


def scatter(x: Row, places: Row, values: Row) -> Row:
    """Return x with other values at some places."""
    result = x[:]
    for k, value in zip(places, values, strict=True):
        result[k] = value
    return result


def sum_to_the_end(x: Row) -> Row:
    """Return the sum of each number and all after it."""
    result, total = x[:], 0.0
    for k in range(len(x) - 1, -1, -1):
        total += x[k]
        result[k] = total
    return result
