"""Temperature and vector scaling as one SQL expression of K columns of logits.

Nested SELECTs name what is used more than once: the largest logit, the scores, their
exponentials and the sum. The result is an array of K probabilities, or one number if the
calibrator is of a view: that of the calibrated vector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.errors import ExportError
from ogive.rows.views import OfClass, Score, TopRank, WithinTop, parse_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive.calibrators.matrix_map import MatrixMap

HUGE = "1e308"
FARTHEST = "1e200"  # `log_values.FARTHEST_VALUE`
LARGEST = "1.7976931348623157e308"  # a logit below its negative is -inf: an impossible class


def literal(x: float) -> str:
    """Return a number that both PostgreSQL and DuckDB read as the same double.

    >>> literal(0.1), literal(-2.0), literal(1e-07)
    ('0.1e0', '(-2.0e0)', '1e-07')
    """
    x = float(x)  # an artifact may hold a whole number that is longer than NumPy's
    text = repr(x)
    if not np.isfinite(x):
        msg = f"an SQL expression cannot hold {text}."
        raise ExportError(msg)
    if "e" not in text:
        text += "e0"
    return f"({text})" if x < 0 else text


def softmax_expression(calibrator: MatrixMap, names: Sequence[str]) -> str:
    """Return the expression of the calibrated vector, or of the view's score, of quoted columns."""
    view = None if calibrator.view == "vector" else parse_view(calibrator.view)
    columns = [f"CAST({name} AS DOUBLE PRECISION)" for name in names]
    if isinstance(view, Score):
        columns = ["0e0", *columns]
    names = [f"ogive_e{k}" for k in range(calibrator.K)]
    match view:
        case None:
            result = "ARRAY[" + ", ".join(f"{name} / ogive_sum" for name in names) + "]"
        case OfClass(index):
            result = f"{names[index]} / ogive_sum"
        case Score():
            result = f"{names[1]} / ogive_sum"
        case TopRank(1) | WithinTop(1):
            result = f"{greatest(names)} / ogive_sum"
        case TopRank(rank):
            result = f"({_falling(names)} LIMIT 1 OFFSET {rank - 1}) / ogive_sum"
        case WithinTop(rank):
            first = f"{_falling(names)} LIMIT {rank}"
            result = f"(SELECT SUM(ogive_x) FROM ({first}) AS ogive_w) / ogive_sum"
    scores = _scores(getattr(calibrator, "inner", calibrator), columns)
    ratios = getattr(calibrator, "ratio", None)  # of a base rate that was shifted
    factor = [""] * calibrator.K if ratios is None else [f" * {literal(ratio)}" for ratio in ratios]
    powers = [
        f"CASE WHEN {z} < -{LARGEST} THEN 0e0 ELSE "
        f"exp(GREATEST(ogive_l{k} - ogive_top, (-700e0))){factor[k]} END AS {name}"
        for k, (name, z) in enumerate(zip(names, columns, strict=True))
    ]
    inner = f"SELECT {', '.join(powers)} FROM ({scores}) AS ogive_c LIMIT 1"
    summed = f"SELECT {', '.join(names)}, {balanced(names)} AS ogive_sum FROM ({inner}) AS ogive_d"
    return f"(SELECT {result} FROM ({summed} LIMIT 1) AS ogive_e)"


def _scores(gamma: Any, columns: Sequence[str]) -> str:  # noqa: ANN401
    """Return the SELECT of the scaled logits ogive_l0, … and of the largest, ogive_top."""
    K = range(gamma.K)
    if gamma.method == "temperature":
        # gaps first: products of large logits would lose digits
        first = f"SELECT {greatest(columns)} AS ogive_max LIMIT 1"
        terms = [
            f"{literal(gamma.factor)} * ({z} - ogive_max) AS ogive_l{k}"
            for k, z in zip(K, columns, strict=True)
        ]
        return f"SELECT {', '.join(terms)}, 0e0 AS ogive_top FROM ({first}) AS ogive_a LIMIT 1"
    finite = [f"CASE WHEN {z} >= -{HUGE} THEN {z} ELSE {HUGE} END" for z in columns]
    first = (
        f"SELECT LEAST({', '.join(finite)}, {greatest(columns)} + {literal(gamma.floor)}) "
        f"AS ogive_low, {_cut(greatest(columns))} AS ogive_max LIMIT 1"
    )
    values: Sequence[str] = [
        f"CASE WHEN {z} >= -{HUGE} THEN {z} ELSE ogive_low END" for z in columns
    ]
    if gamma.centred:
        first, values = _centred(columns, values, first)
    terms = [
        f"{literal(a)} * {value} + {literal(b)} AS ogive_l{k}"
        for k, value, a, b in zip(K, values, gamma.factor, gamma.offset, strict=True)
    ]
    names = [f"ogive_l{k}" for k in K]
    second = f"SELECT {', '.join(terms)} FROM ({first}) AS ogive_a LIMIT 1"
    columns = [*names, f"{greatest(names)} AS ogive_top"]
    return f"SELECT {', '.join(columns)} FROM ({second}) AS ogive_b LIMIT 1"


def _centred(
    columns: Sequence[str], values: Sequence[str], first: str
) -> tuple[str, Sequence[str]]:
    """Return the SELECT of logits less the largest, ogive_g0, …, and of the mean of the finite."""
    names = [f"ogive_g{k}" for k in range(len(columns))]
    gaps = [f"{_cut(x)} - ogive_max AS {name}" for x, name in zip(values, names, strict=True)]
    parts, ones = (
        [
            f"CASE WHEN {z} >= -{HUGE} THEN {x} ELSE 0e0 END"
            for z, x in zip(columns, each, strict=True)
        ]
        for each in (names, ["1e0"] * len(names))
    )
    mean = f"{balanced(parts)} / {balanced(ones)} AS ogive_mean"
    inner = f"SELECT {', '.join(gaps)} FROM ({first}) AS ogive_f LIMIT 1"
    outer = f"SELECT {', '.join(names)}, {mean} FROM ({inner}) AS ogive_g LIMIT 1"
    return outer, [f"({name} - ogive_mean)" for name in names]


def _cut(x: str) -> str:
    """Return a number of at most `log_values.FARTHEST_VALUE`, whose differences stay finite."""
    return f"LEAST(GREATEST({x}, -{FARTHEST}), {FARTHEST})"


def _falling(names: Sequence[str]) -> str:
    """Return the SELECT of values in falling order."""
    first, *others = names
    every = " UNION ALL ".join([f"SELECT {first} AS ogive_x", *(f"SELECT {n}" for n in others)])
    return f"SELECT ogive_x FROM ({every}) AS ogive_v ORDER BY ogive_x DESC"


def greatest(names: Sequence[str]) -> str:
    """Return the largest of several."""
    return f"GREATEST({', '.join(names)})"


def balanced(names: Sequence[str]) -> str:
    """Return the sum as a balanced tree: engines limit how deep an expression may be."""
    if len(names) == 1:
        return names[0]
    half = len(names) // 2
    return f"({balanced(names[:half])} + {balanced(names[half:])})"
