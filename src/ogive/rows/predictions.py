r"""Predictions: a classifier's output with its labels, and the only place that applies softmax.

A row is a vector of K numbers and the index of the true class. The caller says what the numbers
are: ``kind="logits"`` (any real number; −inf is probability 0) or ``kind="probs"``
(>= 0, sum to 1 within 1e-3). One column, or a 1-D array, is class 1 of two.

Softmax is never stored. The views need the **mass** of each class of a row, which is the softmax
before its division:

.. math:: e_k = \exp(z_k - \max_j z_j) \quad\text{or}\quad e_k = p_k ,

because the share of any set of classes, and of its complement, is a sum of masses over the sum
of all. For logits, adding up the complement keeps what ``1 - p`` would round away: for
z = (40, 0, 0, −1) the top score is 1.0 in float64, but the other classes still add up to 1.0e-17.
Probabilities are taken as they are given: 1.0 is 1.0, whatever the other columns hold.
"""

from __future__ import annotations

import warnings
from copy import copy
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from ogive._html import text_form
from ogive._numerics.blocks import blocks, for_each_block
from ogive._numerics.exact_shares import given_within, needs_division, totals
from ogive.errors import InvalidInput, InvalidType, LooksLikeProbabilities
from ogive.rows.check import (
    PERCENT,
    SUM_TOLERANCE,
    as_choice,
    as_clusters,
    as_floats,
    as_rows,
    as_weight_kind,
    as_weights,
    bad_logits,
    bad_probabilities,
    bad_scores,
)
from ogive.rows.frames import check_index, names_of
from ogive.rows.labels import LabelSet, resolve_classes, shown, warn_if_permuted

if TYPE_CHECKING:
    from ogive._typing import (
        AnyArray,
        ArrayLike,
        BoolArray,
        DTypeLike,
        FloatArray,
        IntArray,
        Kind,
        WeightKind,
    )

_BLOCKS_PER_CHECK = 32  # more than elsewhere: a check makes no copies
_TOP_LOG_ODDS = 20.0  # hardly a model is as sure: larger ones are rather percent
_FIRST_ROWS = 16  # of logits, that show in most cases that they are no probabilities
# Whole columns are compared from so many rows on, and up to so many columns: more of them do not
# stay in the cache.
_MIN_ROWS_FOR_COLUMNS, _MAX_COLUMNS_TO_COMPARE = 4096, 12
#: The largest logit of a row need not be subtracted if it is in here: no sum of masses overflows,
#: and masses that lose digits are below 2^-900 of the largest, where tails are not rounded.
_SAFE_TOPS = -40.0, 600.0
_KINDS: tuple[Kind, Kind] = ("logits", "probs")


class Predictions:
    """A classifier's output on N rows, with the true classes.

    Parameters
    ----------
    values : array-like, (N, K) or (N,) or (N, 1)
        Logits or probabilities; float16, float32 or float64. Not copied, unlike all else: do not
        change it later (a training loop that fills one buffer gives ``values.copy()``).
        1-D, or one column: the log-odds or the probability of class 1 of two.
    labels : array-like, (N,), optional
        The names of a frame's columns, also behind ``prob_`` or ``logit_``; else integers in
        [0, K), the numbers of the columns; else K other labels, in sorted order. What could be
        read in two ways is refused. Without labels the predictions can be calibrated but not
        measured.
    kind : {"logits", "probs"}
        What `values` are.
    classes : sequence of K labels, optional
        The class of each column, where the rule above does not hold.
    sample_weight : array-like, (N,), optional
        A weight for each row.
    weight_kind : {"repetition", "sampling"}
        Repetition: weight 2 means that the row occurred twice. Sampling: weights from a survey or
        importance weights; they add noise, and tests and intervals allow for it.
    clusters : array-like, (N,), optional
        Which rows belong together (patients, customers, days): the name or number of each row's
        cluster. Rows of one cluster may depend on each other; tests, intervals, folds and
        standard errors then allow for it. Every row needs one.
    renormalise : bool
        Divide each row of probabilities by its sum, however far that is from 1: for numbers that
        were rounded to two decimals.
    n_jobs : int, optional
        Default: ``OMP_NUM_THREADS``, else all cores. Results do not depend on it.
    name : str, optional
        What they are called in warnings, such as the name of their file; with ``""`` nothing
        warns of labels and columns that do not seem to belong together, as of one batch of many.

    Attributes
    ----------
    values, kind : as given
    labels : (N,) integer array or None
        The index of the true class of each row.
    classes : (K,) array
        The label of each column.
    sample_weight : (N,) float64 array or None
    weight_kind : str
    clusters : (N,) integer array or None
        The cluster of each row, numbered from 0 in the order of their names.
    renormalised : int
        How many rows of probabilities are divided by their sum.

    Notes
    -----
    Probabilities are taken as they are given, bit for bit, if their row sums to 1 but for rounding:
    within (K/2 + 1) · 2^-23, or within 1e-3 if float16 holds all of its numbers. Other rows are
    renormalised, and counted in `renormalised`. A given 1.0 takes no order from its other columns.
    Scores that are equal in exact arithmetic are equal in every view: ``docs/theory/curve.md``.

    Examples
    --------
    >>> preds = Predictions([[2.0, 0.0], [0.0, 1.0]], ["cat", "dog"], kind="logits")
    >>> preds
    Predictions(2 rows, 2 classes, kind='logits')
    >>> preds.labels
    array([0, 1])
    >>> preds.probabilities().round(3)
    array([[0.881, 0.119],
           [0.269, 0.731]])
    """

    def __init__(
        self,
        values: ArrayLike,
        labels: ArrayLike | None = None,
        *,
        kind: Kind,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        weight_kind: WeightKind = "repetition",
        clusters: ArrayLike | None = None,
        renormalise: bool = False,
        n_jobs: int | None = None,
        name: str | None = None,
    ) -> None:
        #: What calibrated the values, in a sentence; whether it was fitted on these rows; if not,
        #: on how many other rows; whether the base rate that it is for was estimated.
        self.calibrated_by: str | None = None
        self.fitted_rows: bool = False
        self.calibrated_on: float | None = None
        self.rate_estimated: bool = False
        self.kind: Kind = as_choice(kind, "kind", _KINDS)
        check_index(
            **{kind: values, "labels": labels, "sample_weight": sample_weight, "clusters": clusters}
        )
        #: The names of a frame's columns.
        self.columns: list[object] | None = names_of(values)
        self.values: AnyArray = as_floats(values, kind, ndim=(1, 2))
        if renormalise and kind == "probs" and self.values.ndim > 1:
            self.values = divided_by_sum(self.values)
        if self.values.ndim == 2 and self.values.shape[1] == 0:  # noqa: PLR2004
            msg = f"`{kind}` has no columns: it needs one for each class."
            raise InvalidInput(msg)
        self.one_column: bool = self.values.ndim == 1 or self.values.shape[1] == 1
        self.n: int = self.values.shape[0]
        self.K: int = 2 if self.one_column else self.values.shape[1]
        self.weight_kind: WeightKind = as_weight_kind(weight_kind)
        self.sample_weight: FloatArray | None = as_weights(
            sample_weight, self.n, of=kind, kind=self.weight_kind
        )
        self.clusters: IntArray | None = as_clusters(
            clusters, self.n, of=kind, weights=self.sample_weight
        )
        self.labels: IntArray | None = None
        self._factor = 1.0  # of logits: see `times`
        # (N,) the first of the largest logits of each row and where it stands, found while
        # checking and needed by every softmax.
        matrix = kind == "logits" and not self.one_column
        self._top: FloatArray = np.empty(self.n if matrix else 0)
        self._choice: IntArray = np.empty(self.n if matrix else 0, dtype=np.int32)
        # (N,) which rows of probabilities are divided by their sum, found while checking too.
        matrix = kind == "probs" and not self.one_column
        self._divided: BoolArray = np.zeros(self.n if matrix else 0, dtype=np.bool_)
        one = 1 if self.one_column else None  # too little work per row to share
        width = max(1, self.width // _BLOCKS_PER_CHECK)
        for_each_block(self._check_block, self.n, width=width, n_jobs=one or n_jobs)
        if self.kind == "logits" and not self.one_column:
            _warn_if_probabilities(self.values)
        self._settle(labels, classes)
        #: Whether labels and columns do not seem to belong together; a warning has said so.
        self.mismatched: bool = name != "" and warn_if_permuted(self, name or f"`{kind}`")

    def _settle(self, labels: ArrayLike | None, classes: ArrayLike | None) -> None:
        """Settle which label is which column, and find the column of each label."""
        given = []
        if labels is not None:
            given = [LabelSet(labels, lambda: self.choice(slice(None)), self.n, self.kind)]
        names = None if self.one_column else self.columns
        found = resolve_classes(given, self.width, given=classes, names=names)
        self.classes: AnyArray = found.labels
        if given:
            self.labels = found.indices(given[0])
            if np.may_share_memory(self.labels, given[0].array):
                self.labels = self.labels.copy()

    def __repr__(self) -> str:
        labels = "" if self.labels is not None else ", no labels"
        weights = "" if self.sample_weight is None else f", {self.weight_kind} weights"
        if self.clusters is not None:
            weights += f", {np.unique(self.clusters).size:,} clusters"
        divided = f", {self.renormalised:,} renormalised" if self.renormalised else ""
        return (
            f"Predictions({self.n:,} rows, {self.K} classes, kind={self.kind!r}"
            f"{labels}{weights}{divided})"
        )

    @property
    def renormalised(self) -> int:
        """How many rows of probabilities are divided by their sum: see the class's notes."""
        return int(self._divided.sum())

    @property
    def row_weights(self) -> FloatArray:
        """The weight of each row, 1 where none were given, (N,)."""
        return np.ones(self.n) if self.sample_weight is None else self.sample_weight

    @property
    def width(self) -> int:
        """How many numbers a row holds: K, or 1 for one column."""
        return 1 if self.one_column else self.K

    def masses(
        self, at: slice | IntArray, out: FloatArray | None = None, *, any_unit: bool = False
    ) -> FloatArray:
        """Return the mass of each class for some rows: (rows, K), in `out` or a fresh array.

        Their share of the row's sum is the probability; see the module's docstring. Of logits the
        largest mass is 1; with `any_unit` it is not where that saves time.
        """
        block = self.values[at]
        if self.one_column:
            return _two_columns(block.reshape(-1), self.kind, self._factor)
        masses = np.empty(block.shape) if out is None else out
        np.copyto(masses, block)  # casts inside a ufunc are slow
        if self.kind == "logits":
            if not (any_unit and self._factor == 1.0 and _are_safe(self._top[at])):
                masses -= self._top[at, None]
            if self._factor != 1.0:
                masses *= self._factor
            np.exp(masses, out=masses)
        return masses

    def logits(self, at: IntArray) -> FloatArray:
        """Return the logits of some rows as float64, (rows, K); after `times`, less the largest."""
        z = self.values[at].astype(np.float64)
        if self.one_column:
            return np.stack([np.zeros(z.size), self._factor * z.reshape(-1)], axis=1)
        return z if self._factor == 1.0 else self._factor * (z - self._top[at, None])

    def renormalised_rows(self, at: slice) -> IntArray:
        """Return which of some rows are divided by their sum, counted from the first of these."""
        return np.flatnonzero(self._divided[at])

    def log_masses(self, at: slice | IntArray, dtype: DTypeLike = np.float64) -> AnyArray:
        """Return the logarithm of the masses of some rows, (rows, K), a fresh array; −inf for 0.

        For logits it is the distance from the row's largest, exact however far that is. Half the
        digits (float32) are enough for the first steps of a search, and three times as fast.
        """
        block = self.values[at]
        if self.kind == "logits" and not self.one_column:
            top = self._top[at, None].astype(dtype)  # casts inside a ufunc are slow
            logs: AnyArray = np.subtract(block.astype(dtype, copy=False), top, order="C")
            if self._factor != 1.0:
                logs *= logs.dtype.type(self._factor)
            return logs
        if self.kind == "logits":
            x = self._factor * block.reshape(-1).astype(dtype)
            return np.stack([np.minimum(-x, 0.0), np.minimum(x, 0.0)], axis=1)
        with np.errstate(divide="ignore"):
            logs = np.log(self.masses(at))
        return logs.astype(dtype, copy=False)

    def ranking_values(self, at: slice | IntArray) -> AnyArray:
        """Return what classes are ranked by, (rows, K): the values as they were given."""
        block = self.values[at]
        return _two_columns(block.reshape(-1), self.kind) if self.one_column else block

    def choice(self, at: slice | IntArray) -> IntArray:
        """Return the class with the largest value in some rows, the first of several: (rows,)."""
        if self._choice.size:
            return self._choice[at]
        chosen: IntArray = self.ranking_values(at).argmax(axis=1)
        return chosen

    def times(self, factor: float) -> Predictions:
        """Return the same rows with logits times a factor > 0, and no checks.

        `values` stay as given, and with them the ranks: only what is read off the softmax changes.

        >>> preds = Predictions([[2000.0, 0.0]], kind="logits")
        >>> preds.times(0.001).log_masses(slice(0, 1))
        array([[ 0., -2.]])
        """
        assert self.kind == "logits"  # noqa: S101 - probabilities have no scale
        result = copy(self)
        result._factor = self._factor * factor  # noqa: SLF001 - its own
        return result

    def take(self, rows: ArrayLike | slice) -> Predictions:
        """Return some of the rows, with their labels and weights; nothing is checked again.

        Parameters
        ----------
        rows : array-like of int, slice, or array-like of bool (N,)
            Indices (from the end if negative, and as often as they are given), or a mask.

        >>> preds = Predictions([0.2, 0.7, 0.9], [0, 1, 1], kind="probs", sample_weight=[1, 2, 3])
        >>> some = preds.take([2, 0])
        >>> some.values, some.labels, some.sample_weight
        (array([0.9, 0.2]), array([1, 0]), array([3., 1.]))
        """
        at = as_rows(rows, self.n)
        result = copy(self)
        result.values = self.values[at]
        result.n = result.values.shape[0]
        if not result.n:
            msg = f"`rows` takes none of the {self.n:,} rows."
            raise InvalidInput(msg)
        for name in ("labels", "sample_weight", "clusters", "_top", "_choice", "_divided"):
            column = getattr(self, name)
            setattr(result, name, column[at] if column is not None and column.size else column)
        return result

    def like(self, other: Predictions) -> Predictions:
        """Return the same rows with the columns in the order that another set's have.

        Frames go by the names of their columns, others by their classes. Columns that are numbers
        in one of them, or have no names, stay where they are.

        >>> a = Predictions([[0.9, 0.1]], ["dog"], kind="probs", classes=["dog", "cat"])
        >>> b = Predictions([[0.2, 0.8]], ["dog"], kind="probs", classes=["cat", "dog"])
        >>> b.like(a).values
        array([[0.8, 0.2]])
        """
        if self.one_column or other.one_column or self.K != other.K:
            return self
        own, theirs = self.classes.tolist(), other.classes.tolist()
        if self.labels is None and self.columns is not None and other.columns is not None:
            own, theirs = self.columns, other.columns
        if own == theirs or {type(x) for x in own} != {type(x) for x in theirs}:
            return self
        if {*own} != {*theirs}:
            msg = (
                f"the columns are {shown(own)} in one set and {shown(theirs)} in the other: both "
                "must be of one model. Name them alike, or say classes=[...]."
            )
            raise InvalidInput(msg)
        return self.reordered(np.array([own.index(name) for name in theirs]))

    def reordered(self, order: IntArray) -> Predictions:
        """Return the same rows with the columns of a matrix in another order, and no checks."""
        place = np.argsort(order)
        result = copy(self)
        result.values = self.values[:, order]
        result.classes = self.classes[order]
        result.columns = None if self.columns is None else [self.columns[k] for k in order]
        result.labels = None if self.labels is None else place[self.labels]
        # The same class, also where several are the largest.
        result._choice = place[self._choice]  # noqa: SLF001 - its own
        return result

    def probabilities(self, at: slice = slice(None)) -> FloatArray:
        """Return the softmax, or the renormalised probabilities, of some rows: (rows, K)."""
        masses = self.masses(at)
        if self.kind == "logits":
            masses /= masses.sum(axis=1, keepdims=True)
        elif self.renormalised:
            i = self.renormalised_rows(at)
            masses[i] /= masses[i].sum(axis=1, keepdims=True)
        return masses

    def _check_block(self, at: slice) -> None:
        """Check one block of rows, and keep the largest logits found on the way."""
        block = self.values[at]
        if self.one_column:
            _check_column(block, self.kind, self.values)
        elif self.kind == "logits":
            if block.dtype == np.float16:
                block = block.astype(np.float32)  # exact, and four times as fast to search
            top, choice = _largest(block)
            if not np.isfinite(top).all():
                raise bad_logits(self.values)
            self._top[at], self._choice[at] = top, choice
        else:
            off = distance_from_one(block)
            if not (off <= SUM_TOLERANCE).all() or block.min() < 0:  # False for NaN
                raise bad_probabilities(self.values)
            self._divided[at] = needs_division(block, off)

    _repr_html_ = text_form


def _largest(block: AnyArray) -> tuple[AnyArray, IntArray]:
    """Return the largest of each row, NaN if there is any, and its first place: (m,) each.

    `argmax` guesses wrongly at every second number of a short row. Of many short rows, whole
    columns are compared.
    """
    m, K = block.shape
    if m < _MIN_ROWS_FOR_COLUMNS or K > _MAX_COLUMNS_TO_COMPARE:
        choice: IntArray = block.argmax(axis=1)
        if block.flags.c_contiguous:  # in a quarter of the time
            return block.reshape(-1).take(choice + np.arange(0, block.size, K)), choice
        return block[np.arange(m), choice], choice
    top, place = block[:, 0].copy(), np.zeros(m, dtype=np.int8)
    for k in range(1, K):
        larger = block[:, k] > top
        np.maximum(place, larger.view(np.int8) * np.int8(k), out=place)
        np.maximum(top, block[:, k], out=top)
    return top, place


def _are_safe(tops: FloatArray) -> bool:
    """Return whether exp of logits with these largest ones keeps their shares, (m,)."""
    low, high = _SAFE_TOPS
    return bool(tops.min() >= low and tops.max() <= high)


def distance_from_one(block: AnyArray) -> FloatArray:
    """Return |sum − 1| of each row, which compares with both limits as the exact sum does."""
    return np.abs(totals(block, (SUM_TOLERANCE, given_within(block.shape[1]))) - 1)


def divided_by_sum(values: AnyArray) -> AnyArray:
    """Return rows of probabilities divided by their sums; rows without a positive sum stay.

    >>> divided_by_sum(np.array([[0.25, 0.5], [0.0, 0.0]])).round(3)
    array([[0.333, 0.667],
           [0.   , 0.   ]])
    """
    sums = values.sum(axis=1, dtype=np.float64, keepdims=True)
    good = (sums > 0) & (sums < np.inf)  # others are refused where they are checked
    divided: AnyArray = values / np.where(good, sums, 1.0)
    return divided if values.shape[1] > 1 else values


def _two_columns(column: AnyArray, kind: Kind, factor: float = 1.0) -> FloatArray:
    """Return the masses of classes 0 and 1 from the probability, or log-odds / factor, of class 1.

    fl(p + fl(1 − p)) is exactly 1, so the share of class 1 is p, bit for bit.
    """
    x = column.astype(np.float64)
    if kind == "probs":
        return np.stack([1.0 - x, x], axis=1)
    x *= factor
    top = np.maximum(x, 0.0)
    masses: FloatArray = np.exp(np.stack([-top, x - top], axis=1))
    return masses


def _check_column(block: AnyArray, kind: Kind, whole: AnyArray) -> None:
    """Check a block of one column: scores in [0, 1], or log-odds that are not NaN or +inf."""
    if kind == "probs":
        if not (block.min() >= 0 and block.max() <= 1):
            raise bad_scores(whole.reshape(-1), "probs")
    elif not block.max() < np.inf:
        raise bad_logits(whole.reshape(-1, 1))


def kind_or_default(values: AnyArray, kind: Kind | None, name: str = "scores") -> Kind:
    """Return `kind`; if it is None, one column holds probabilities and a matrix is refused.

    >>> kind_or_default(np.array([0.2, 0.9]), None)
    'probs'
    """
    if kind is None and values.ndim > 1 and values.shape[1] > 1:
        msg = (
            f"`{name}` is a matrix of {values.shape[1]} columns: pass kind='probs' "
            "or kind='logits'."
        )
        raise InvalidInput(msg)
    return kind or "probs"


def settled_kind(values: AnyArray, kind: Kind | None) -> Kind:
    """Return `kind`; if it is None logits, but for values that look like probabilities: (N, K)."""
    if kind is not None:
        return kind
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    one = values.shape[1] == 1
    if low >= 0.0 and (high <= 1.0 if one else _are_shares(values)):
        what = "lie in [0, 1]" if one else "are rows that are >= 0 and sum to 1"
        msg = (
            f"all values {what}. Probabilities? Say kind='probs'. Logits that happen to look like "
            "them? Say kind='logits'."
        )
        raise InvalidInput(msg)
    if one and low >= 0.0 and 1.0 < high <= PERCENT and np.count_nonzero(values > _TOP_LOG_ODDS):
        warnings.warn(
            f"all values lie in [0, 100], the largest is {high:g}. Percent? Divide them by 100, "
            "and say kind='probs'. They are read as log-odds.",
            LooksLikeProbabilities,
            stacklevel=4,
        )
    return "logits"


def _are_shares(values: AnyArray) -> bool:
    """Return whether every row is >= 0 and sums to 1."""
    for at in chain([slice(_FIRST_ROWS)], blocks(values.shape[0], width=values.shape[1])):
        block = values[at]
        sums = block.sum(axis=1, dtype=np.float64)
        if not (block.min() >= 0 and (np.abs(sums - 1.0) <= SUM_TOLERANCE).all()):
            return False
    return True


def check_predictions(preds: Predictions) -> None:
    """Refuse anything but Predictions, such as a bare array."""
    if not isinstance(preds, Predictions):
        msg = (
            f"`preds` must be Predictions, not {type(preds).__name__}; "
            "build them with Predictions(values, labels, kind='logits')."
        )
        raise InvalidType(msg)


def labelled(preds: Predictions) -> IntArray:
    """Return the labels, or raise an error if there are none."""
    check_predictions(preds)
    if preds.labels is None:
        msg = (
            "`preds` has no labels: the true classes or outcomes are needed here. In a file they "
            "are `labels` or `outcomes`, or a column `label` or `outcome` (--label, --outcome)."
        )
        raise InvalidInput(msg)
    return preds.labels


def _warn_if_probabilities(values: AnyArray) -> None:
    """Warn if every row is >= 0 and sums to 1: softmax on top of softmax is a silent mistake."""
    if not _are_shares(values):
        return
    warnings.warn(
        "kind='logits', but every row is >= 0 and sums to 1. Probabilities? Say kind='probs'; "
        "in a file, name them probs or prob_0….",
        LooksLikeProbabilities,
        stacklevel=3,
    )
