"""Input checks: turn array-likes into arrays of known shape and type, or raise a helpful error.

Types and shapes are checked here, at once. What needs a look at every
number (ranges, NaN, sums) is checked in the block loop that reads the numbers anyway, and the
functions here only write the error message.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ogive.errors import FewClusters, InvalidInput, InvalidType, UnknownName, rows_that

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray, WeightKind

SUM_TOLERANCE = 1e-3 + 2.0**-40  # so that decimals that sum to 0.999 are within 0.001
PERCENT = 100.0
#: Sums this near 1 are probabilities that were rounded: 10 classes at 2 decimals are within 0.05.
NEAR_ROUNDING = 0.1
HEAVIEST = 1e100  # sums of squared weights stay finite
MOST_REPETITIONS = 2.0**53  # the largest count that float64 holds exactly
MIN_CLUSTERS = 2  # one cluster does not show how much clusters differ
FEW_CLUSTERS = 10  # with fewer, p-values and intervals are rough: docs/theory/clusters.md
_FLOATS = {"e": "float16", "f": "float32", "d": "float64"}  # by `dtype.char`: its name takes 10 µs
_MATRIX = 2  # dimensions
Choice = TypeVar("Choice", bound=str)


def as_array(values: ArrayLike, name: str) -> AnyArray:
    """Turn anything with ``__array__`` into a NumPy array, without a copy where possible.

    Tensors come from any device, with or without a gradient; bfloat16 becomes float32, exactly.
    Objects are refused, unless all of them are strings, as in a column of pandas. A missing value
    of polars, Arrow or pandas is refused, and never turned into NaN.
    """
    if type(values) is np.ndarray and values.dtype.kind in "biuf":  # the usual case, and at once
        return values
    _refuse_nulls(values, name)
    try:
        array = np.asarray(on_host(values))
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists end here
        reason = str(error).split(".")[0]
        msg = f"`{name}` cannot be read as an array ({reason}). Pass a NumPy array or a plain list."
        raise InvalidType(msg) from error
    if array.dtype == object and array.size and all(isinstance(x, str) for x in array.flat):
        return array.astype(np.str_)
    if array.dtype == object:
        missing = np.array([is_missing(x) for x in array.flat], dtype=np.bool_)
        if missing.any() and array.ndim:
            raise _has_nulls(name, np.any(missing.reshape(array.shape[0], -1), axis=1))
        msg = f"`{name}` is an array of Python objects; pass numbers (float64, float32, float16)."
        raise InvalidType(msg)
    return array


def on_host(values: Any) -> Any:  # noqa: ANN401 - whatever holds numbers
    """Return what NumPy can read of a tensor: detached, in main memory, not bfloat16.

    PyTorch is recognised by its methods and JAX by its dtype's name, so neither is imported.
    Masked entries are missing, and refused: what lies under the mask is no number.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        bad = np.asarray(np.ma.getmaskarray(values).reshape(len(values), -1).any(axis=1))
        msg = f"there are masked entries in {rows_that(bad)}. Drop or fill those rows."
        raise InvalidType(msg)
    if hasattr(values, "detach") and hasattr(values, "cpu"):  # PyTorch
        values = values.detach().cpu()
        return values.float() if str(values.dtype) == "torch.bfloat16" else values
    if hasattr(values, "__cuda_array_interface__") and hasattr(values, "get"):  # CuPy
        return values.get()
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        return np.from_dlpack(values)
    if str(getattr(values, "dtype", "")) == "bfloat16":  # JAX
        return np.asarray(values).astype(np.float32)
    return values


def _refuse_nulls(values: Any, name: str) -> None:  # noqa: ANN401
    """Refuse nulls of polars and Arrow, which NumPy would read as NaN."""
    if hasattr(values, "get_columns"):  # a frame of polars
        columns = {str(column.name): column for column in values.get_columns()}
    elif hasattr(values, "column_names"):  # a table of Arrow
        columns = {str(column): values.column(column) for column in values.column_names}
    else:
        columns = {"": values}
    for column, series in columns.items():
        count = getattr(series, "null_count", 0)
        if (count() if callable(count) else count) and hasattr(series, "is_null"):
            where = f"{name}[{column!r}]" if column else name
            raise _has_nulls(where, np.asarray(series.is_null()))


def is_missing(value: object) -> bool:
    """Return whether an object is a missing value of Python, NumPy or pandas."""
    return value is None or (not isinstance(value, str) and str(value) in {"nan", "<NA>", "NaT"})


def _has_nulls(name: str, missing: BoolArray) -> InvalidInput:
    msg = f"`{name}` has no value (null) in {rows_that(missing)}. Drop or fill those rows."
    return InvalidInput(msg)


def as_floats(
    values: ArrayLike, name: str, *, ndim: tuple[int, ...], empty: bool = False
) -> AnyArray:
    """Return an array of float16, float32 or float64 with an allowed number of dimensions."""
    array = as_array(values, name)
    if array.dtype.kind in "iub":
        array = array.astype(np.float64)
    if array.dtype.char not in _FLOATS:
        kinds = ", ".join(_FLOATS.values())
        msg = f"`{name}` must be numbers ({kinds} or integers), not {array.dtype}."
        raise InvalidType(msg)
    if ndim == (1,) and array.ndim == _MATRIX and array.shape[1] == 1:
        array = array.reshape(-1)  # one column is a row of numbers at every door
    if array.ndim not in ndim:
        allowed = " or ".join(f"{d}-D" for d in ndim)
        way = ""
        if ndim == (1,) and array.ndim == _MATRIX and name == "scores":
            way = (
                " A column for each class? Predictions(values, labels, kind='probs'), and of it "
                "Curve.from_predictions(preds, view='top-1')."
            )
        elif _MATRIX in ndim and array.ndim > _MATRIX:
            way = (
                " A class for each place? Move the classes last, and flatten: "
                f"np.moveaxis({name}, 1, -1).reshape(-1, {name}.shape[1])."
            )
        msg = f"`{name}` must be {allowed}, but has shape {array.shape}.{way}"
        raise InvalidInput(msg)
    if array.shape[0] == 0 and not empty:
        msg = f"`{name}` is empty: there is nothing to measure. Pass at least one row."
        raise InvalidInput(msg)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def as_number(value: object, name: str) -> float:
    """Return one number as a float."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        msg = f"`{name}` must be a number, not {value!r}."
        raise InvalidType(msg) from error


def flat(array: AnyArray) -> AnyArray:
    """Return one column as a row; anything else as it is."""
    return array.reshape(-1) if array.ndim == _MATRIX and array.shape[1] == 1 else array


def check_length(array: AnyArray, name: str, n: int, of: str) -> None:
    """Check that an array has one entry for each row."""
    if array.ndim != 1 or array.shape[0] != n:
        msg = f"`{name}` must have one entry per row of `{of}`: {n:,}, but has shape {array.shape}."
        raise InvalidInput(msg)


def as_hits(values: ArrayLike, n: int, *, name: str = "outcomes", of: str = "scores") -> BoolArray:
    """Return outcomes as booleans; anything but 0 and 1 is refused."""
    array = flat(as_array(values, name))
    check_length(array, name, n, of)
    if array.dtype.kind not in "biuf":
        what = f"text ({str(array[0])!r} …)" if array.dtype.kind in "US" and n else array.dtype
        msg = (
            f"`{name}` must be 0 or 1, not {what}. Say which word counts as 1: y == 'yes', or "
            "--positive yes (positive='yes') for a file."
        )
        raise InvalidType(msg)
    hits: BoolArray = array.astype(np.bool_, copy=False)
    if array.dtype != np.bool_:
        wrong = array != hits
        if wrong.any():
            at = int(wrong.argmax())
            some = np.count_nonzero(wrong)
            rows = "1 row holds" if some == 1 else f"{some:,} rows hold"
            kind = "fractions" if 0 < array[at] < 1 else "other values"
            msg = (
                f"`{name}` must be 0 or 1, but {rows} {kind} (first: row {at}, {array[at]}). For "
                "averaged outcomes use one row per outcome, or weights."
            )
            raise InvalidInput(msg)
    return hits


def as_weights(values: ArrayLike | None, n: int, *, of: str, kind: WeightKind) -> FloatArray | None:
    """Return weights as float64: finite, >= 0, not all 0; sums of repetitions are exact."""
    if values is None:
        return None
    weights: FloatArray = as_floats(values, "sample_weight", ndim=(1,)).astype(np.float64)  # a copy
    check_length(weights, "sample_weight", n, of)
    bad = ~((weights >= 0) & (weights < np.inf))
    if bad.any():
        first = weights[int(bad.argmax())]
        msg = (
            f"`sample_weight` must be finite and >= 0: {rows_that(bad)} ({first}). Drop those rows."
        )
        raise InvalidInput(msg)
    far = (weights > HEAVIEST) | ((weights > 0) & (weights < 1 / HEAVIEST))
    if far.any():
        first = weights[int(far.argmax())]
        msg = (
            f"`sample_weight` must be 0, or from {1 / HEAVIEST:g} to {HEAVIEST:g}: "
            f"{rows_that(far)} ({first}). Divide all of them by their mean."
        )
        raise InvalidInput(msg)
    if kind == "repetition" and weights.sum() > MOST_REPETITIONS:
        msg = (
            f"`sample_weight` of kind 'repetition' add up to {weights.sum():.4g} rows, more than "
            "can be counted exactly (2^53, 9e15). Divide all of them by a common factor; weights "
            "that are not counts of rows are weight_kind='sampling'."
        )
        raise InvalidInput(msg)
    if not weights.any():
        msg = "`sample_weight` are all 0: there is nothing to measure. Give some row a weight."
        raise InvalidInput(msg)
    return weights


def as_clusters(
    values: ArrayLike | None, n: int, *, of: str, weights: FloatArray | None
) -> IntArray | None:
    """Return the cluster of each row as a number from 0: none missing, at least two.

    weights : clusters whose rows all have weight 0 do not count
    """
    if values is None:
        return None
    array = flat(as_array(values, "clusters"))
    check_length(array, "clusters", n, of)
    missing = array == "" if array.dtype.kind == "U" else array != array  # noqa: PLR0124 - NaN, NaT
    if missing.any():
        msg = (
            f"`clusters` must name the cluster of every row: {rows_that(missing)} (missing). Drop "
            "those rows, or give each a name of its own if it is independent of all others."
        )
        raise InvalidInput(msg)
    codes: IntArray = np.unique(array, return_inverse=True)[1]
    size = np.unique(codes if weights is None else codes[weights > 0]).size
    if size < MIN_CLUSTERS:
        msg = (
            "`clusters` are all the same: with one cluster there is nothing to compare it with. "
            "Name what is repeated (patients, customers, days), or leave out `clusters`."
        )
        raise InvalidInput(msg)
    if size < FEW_CLUSTERS:
        warnings.warn(
            f"{size} clusters are few: p-values and intervals rest on how much clusters differ, "
            f"and {size} of them hardly show it. Take them as rough, and add clusters, not rows.",
            FewClusters,
            stacklevel=3,
        )
    return codes


def as_rows(rows: ArrayLike | slice, n: int) -> slice | IntArray:
    """Return which of n rows are taken: a slice as it is, a mask or indices as indices."""
    if isinstance(rows, slice):
        return rows
    array = np.asarray(rows)
    if array.ndim == 1 and array.dtype == np.bool_:
        check_length(array, "rows", n, "predictions")
        return np.flatnonzero(array)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        msg = "`rows` must be indices, a slice or a mask of booleans."
        raise InvalidType(msg)
    outside = (array < -n) | (array >= n)
    if outside.any():
        first = array[int(outside.argmax())]
        msg = f"`rows` must be indices of {n:,} rows, from 0, but one is {first}."
        raise InvalidInput(msg)
    return array.astype(np.intp)


def as_choice(value: str, name: str, allowed: Sequence[Choice]) -> Choice:
    """Return the option if it is one of the allowed words."""
    for word in allowed:
        if value == word:
            return word
    raise UnknownName.among(name, value, allowed)


def as_weight_kind(value: str) -> WeightKind:
    """Return ``"repetition"`` or ``"sampling"``."""
    kinds: tuple[WeightKind, WeightKind] = ("repetition", "sampling")
    return as_choice(value, "weight_kind", kinds)


def bad_scores(scores: AnyArray, name: str = "scores") -> InvalidInput:
    """Return the error for scores outside [0, 1] (NaN fails both comparisons)."""
    bad = ~((scores >= 0) & (scores <= 1))
    first = scores[int(bad.argmax())]
    if np.isnan(scores).any():
        way_out = "Drop the rows that are NaN."
    elif scores.min() >= 0 and 2 <= scores.max() <= 100:  # noqa: PLR2004 - percent
        way_out = "Percent? Divide them by 100."
    else:
        way_out = (
            "Log-odds? In Python, pass kind='logits' to Predictions; in a file, use columns "
            "`label`, `logit_0` (zeros) and `logit_1` (the log-odds)."
        )
    msg = f"`{name}` must lie in [0, 1]: {rows_that(bad)} ({first}). {way_out}"
    return InvalidInput(msg)


def bad_logits(values: AnyArray) -> InvalidInput:
    """Return the error for logits that are NaN or +inf, or all -inf."""
    top = values.max(axis=1)
    bad, what = np.isnan(top) | (top == np.inf), "no NaN and no +inf"
    if not bad.any():
        bad, what = top == -np.inf, "a finite logit in each row (all are -inf)"
    msg = f"`logits` must have {what}: {rows_that(bad)}. Drop those rows; -inf is probability 0."
    return InvalidInput(msg)


def bad_probabilities(values: AnyArray) -> InvalidInput:
    """Return the error for rows that are negative or NaN, or do not sum to 1."""
    sums = values.sum(axis=1, dtype=np.float64)
    wrong = ~(values.min(axis=1) >= 0)  # also NaN
    if wrong.any():
        row = int(wrong.argmax())
        first = values[row].min()
        msg = (
            f"`probs` must be >= 0 and not NaN: {rows_that(wrong)} ({first}). "
            "Logits? Say kind='logits'."
        )
    else:
        wrong = np.abs(sums - 1.0) > SUM_TOLERANCE
        first = sums[int(wrong.argmax())]
        msg = (
            f"each row of `probs` must sum to 1 within 0.001: {rows_that(wrong)} "
            f"(sum {first:.6g}). {_why_not_one(sums)}"
        )
    return InvalidInput(msg)


def _why_not_one(sums: FloatArray) -> str:
    """Return the likely reason why rows do not sum to 1, and the fix."""
    if (np.abs(sums - PERCENT) <= NEAR_ROUNDING * PERCENT).all():
        return "Percent? Divide them by 100."
    if (np.abs(sums - 1.0) <= NEAR_ROUNDING).all():
        return "Rounded? Say renormalise=True (--renormalise)."
    return (
        "Logits? Say kind='logits'. Weights or votes? renormalise=True (--renormalise) divides "
        "each row by its sum."
    )
