r"""Labels: which column is which class, settled once for an input, by one rule for every door.

In this order:

1. the classes that were given (``classes=``, ``--classes``), in the order of the columns;
2. names of columns that are the labels, also behind ``prob_``, ``logit_`` or another word before
   a number: they put the columns in order. Names that are no labels are no names: the position
   counts, which is noted once (files: refused). Text that is no name is refused;
3. integers in [0, K) are the numbers of the columns. Without a 0 among 30 rows, three of each
   class, they may count from 1, the last class missing: both readings are scored, and unless column
   numbers win by more than noise the labels are refused;
4. scikit-learn's rule, the sorted distinct labels if there are K: for arrays and estimators. Files
   and logs ask for ``--classes``.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np

from ogive._wording import percent
from ogive.errors import GuessedLabels, InvalidInput, PermutedLabels, printable, rows_that
from ogive.rows.check import as_array, check_length, flat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ogive._typing import AnyArray, ArrayLike, BoolArray, IntArray

#: Who asks: what may be taken for granted differs.
Door: TypeAlias = Literal["array", "estimator", "file"]

_LARGEST_EXACT_LABEL = 2.0**53  # float64 cannot separate larger whole numbers
#: Standard errors between what labels that belong to the columns give and what others would: a
#: chance of 3 in 100,000 for a model that knows nothing.
PERMUTED_SIGMAS = 4.0
#: At chance level, labels are suspected if the mean top score is higher than the accuracy by this:
#: models that know nothing, and say so, are left alone.
MIN_CONFIDENCE_ABOVE_CHANCE = 0.2
#: Standard errors by which column numbers must win over numbers from 1; a model must be worse than
#: chance for labels from 1 to win by so many.
READING_SIGMAS = 2.0
_MAX_SHOWN_IN_FULL = 8  # of more classes, only the first ones and the last are shown
_FIRST_SHOWN = 3
#: Rows whose scores tell how sure a model is, and the least to doubt its labels by.
_ROWS_TRIED, MIN_ROWS_TO_DOUBT = 10_000, 20
#: With fewer rows, or fewer of each class, the first class may well be missing by chance (5 % at
#: three of each), and neither reading wins clearly.
_MIN_ROWS_TO_SCORE, _MIN_ROWS_OF_EACH = 30, 3
_TWO = 2
_MARKERS = (255, -1, -100)  # of rows without a label, by custom
_STEM = re.compile(r"(?:prob|logit)_(.+)", re.DOTALL)
_NUMBERED = re.compile(r"(\D*)(\d+)")


@dataclass(frozen=True, slots=True)
class Classes:
    """Which label is which column.

    labels : (K,) the label of each column
    columns : (K,) the names of the columns
    how : by number, by name, as given, or sorted
    """

    labels: AnyArray
    columns: tuple[str, ...]
    how: Literal["by number", "by name", "as given", "sorted"]

    @property
    def known(self) -> list[str | int] | None:
        """The label of each column, None where the labels are the columns' numbers."""
        return None if self.how == "by number" else self.labels.tolist()

    @property
    def words(self) -> str:
        """The mapping in a line.

        >>> Classes(np.array(["cat", "dog"]), ("prob_0", "prob_1"), "sorted").words
        "labels 'cat', 'dog' → columns prob_0, prob_1, sorted"
        """
        labels = shown([repr(label) for label in self.labels.tolist()])
        return f"labels {labels} → columns {shown(self.columns)}, {self.how}"

    def indices(self, given: LabelSet) -> IntArray:
        """Return the column of each label."""
        array = given.array
        if self.how == "by number":
            return (
                array.view(np.int8)
                if array.dtype == np.bool_
                else array.astype(np.intp if array.dtype == np.uint64 else array.dtype, copy=False)
            )  # a byte per label stays a byte
        index, wrong = find_labels(array, self.labels)
        if wrong.any():
            first = array[int(wrong.argmax())].item()
            msg = (
                f"unknown label {first!r} ({rows_that(wrong)}); known classes: "
                f"{shown(self.labels.tolist(), repr)}. Pass classes=[...] (--classes) in the order "
                "of the columns."
            )
            raise InvalidInput(msg)
        return index


def shown(names: Sequence[object], form: Callable[[object], str] = str) -> str:
    """Return names in a line: all of a few, else the first ones and the last."""
    words = [printable(form(name)) for name in names]
    if len(words) > _MAX_SHOWN_IN_FULL:
        words = [*words[:_FIRST_SHOWN], "…", words[-1]]
    return ", ".join(words)


class LabelSet:
    """The labels of an input or of a part of it, and what they can be.

    array : (N,) as they are, floats as integers
    choose : returns the column with the largest value of each row, (N,)
    source : what the labels were before they became an array, if they are one by now
    """

    def __init__(
        self,
        labels: ArrayLike,
        choose: Callable[[], IntArray],
        n: int | None = None,
        of: str = "",
        *,
        source: object = None,
    ) -> None:
        array = flat(as_array(labels, "labels"))
        if n is not None:
            _check_not_hot(array, n)
            check_length(array, "labels", n, of)
        self.array: AnyArray = _whole_numbers(array) if array.dtype.kind == "f" else array
        self.are_numbers = self.array.dtype.kind in "iub"
        self.choose = choose
        self.order = _order_of(labels if source is None else source)

    @property
    def has_zero(self) -> bool:
        """Whether 0 is one of them."""
        return self.are_numbers and not self.array.all()

    def are_indices(self, K: int) -> bool:
        """Return whether they can be the numbers of K columns, from 0."""
        if not self.are_numbers or not self.array.size:
            return self.are_numbers
        return bool(self.array.min() >= 0 and self.array.max() < K)


def _order_of(labels: Any) -> list[Any] | None:  # noqa: ANN401 - whatever holds labels
    """Return the categories of an ordered categorical of pandas, None of anything else."""
    kind: Any = getattr(labels, "dtype", None)
    return list(kind.categories) if getattr(kind, "ordered", None) is True else None


def resolve_classes(
    several: Sequence[LabelSet],
    width: int,
    *,
    given: ArrayLike | None = None,
    names: Sequence[object] | None = None,
    columns: tuple[str, ...] = (),
    door: Door = "array",
) -> Classes:
    """Return which label is which column: the rule of the module's docstring.

    Parameters
    ----------
    several : sequence of LabelSet
        The labels of all parts of the input; none if it has no labels.
    width : int
        K columns, or one column of the second of two classes.
    given : K labels, optional
        What the caller says.
    names : K names, optional
        Of the columns of a frame or a table.
    columns : K names, optional
        What the columns are called in messages.
    door : {"array", "estimator", "file"}
    """
    K = max(width, _TWO)
    if given is not None:
        return Classes(_typed(class_names(given, K), several), columns, "as given")
    if names is not None:
        found = _named(names, several)
        if found is not None:
            return Classes(found, columns, "by name")
        _check_names(names, several, door)
    for one in several if width == 1 else ():
        if not one.are_numbers:
            words = shown(np.unique(one.array).tolist(), repr)
            msg = (
                f"the outcomes of one column must be 0 and 1, but are {words}. Say which of two "
                "words counts as 1: y == 'yes', or classes=['no', 'yes'], the one that is 1 last."
            )
            raise InvalidInput(msg)
    if all(one.are_indices(K) for one in several):
        # Of two classes, one alone may well be class 1.
        if K > _TWO and several and not any(one.has_zero for one in several):
            _check_first_number(several, K)
        return Classes(np.arange(K), columns, "by number")
    return Classes(_sorted(several, K, columns, door), columns, "sorted")


def class_names(classes: ArrayLike, K: int) -> AnyArray:
    """Return the given label of each column, if they are K different ones."""
    names = as_array(classes, "classes")
    if names.shape != (K,) or np.unique(names).size != K:
        msg = f"`classes` must be {K} different labels, one for each column, but is {classes!r}."
        raise InvalidInput(msg)
    return names


def find_labels(array: AnyArray, names: AnyArray) -> tuple[IntArray, BoolArray]:
    """Return the index of each label in distinct names, and which labels are not among them."""
    order = np.argsort(names, kind="stable")
    found = np.searchsorted(names, array, sorter=order)
    index: IntArray = order[np.minimum(found, names.size - 1)]
    return index, names[index] != array


def _whole_numbers(array: AnyArray) -> AnyArray:
    """Return whole floats (1.0, 2.0) as integers; refuse fractions and NaN."""
    whole = (np.abs(array) <= _LARGEST_EXACT_LABEL) & (np.floor(array) == array)
    if not whole.all():
        first = array[int((~whole).argmax())]
        msg = (
            f"`labels` must be whole numbers or class names: {rows_that(~whole)} ({first}). "
            "Soft labels? Repeat the row once for each class, with the share as its weight."
        )
        raise InvalidInput(msg)
    return array.astype(np.int64)


def _check_not_hot(array: AnyArray, n: int) -> None:
    """Refuse a column of 0 and 1 for each class."""
    if array.ndim == _TWO and array.shape[0] == n and array.shape[1] > 1:
        one_hot = array.dtype.kind in "biuf" and bool(((array != 0).sum(axis=1) == 1).all())
        way = (
            "One-hot? Pass labels.argmax(axis=1)."
            if one_hot
            else "K independent outcomes? Measure each column by itself: (scores[:, k], y[:, k])."
        )
        msg = f"`labels` must be one label for each row, but has shape {array.shape}. {way}"
        raise InvalidInput(msg)


def _typed(names: AnyArray, several: Sequence[LabelSet]) -> AnyArray:
    """Return names as numbers where the labels, or the lack of any, make them that."""
    if any(not one.are_numbers for one in several):
        return names.astype(np.str_)
    try:
        return np.array([int(name) for name in names.tolist()])
    except ValueError:
        return names


def numbers_of_names(names: Sequence[object]) -> list[int] | None:
    """Return the numbers of names that are one word and a number each, else None.

    >>> numbers_of_names(["p1", "p0"]), numbers_of_names([0, 1]), numbers_of_names(["p1", "q2"])
    ([1, 0], [0, 1], None)
    """
    found = [_NUMBERED.fullmatch(str(name)) for name in names]
    words = {None if match is None else match[1] for match in found}
    numbers = [int(match[2]) for match in found if match is not None]
    return numbers if len(words) == 1 and len({*numbers}) == len(found) else None


def _named(names: Sequence[object], several: Sequence[LabelSet]) -> AnyArray | None:
    """Return the classes that columns are named after, if every label is one of them."""
    plain = [str(name) for name in names]
    stems = [match[1] if (match := _STEM.fullmatch(name)) else name for name in plain]
    numbers = numbers_of_names(names)
    readings: list[list[Any] | None] = [plain, stems]
    if all(one.are_numbers for one in several):
        whole = all(name.lstrip("-").isdecimal() for name in stems)
        readings = [[int(name) for name in stems] if whole else None, numbers]
        if not several and not whole:
            readings = [stems]
    for reading in readings:
        if reading is not None and len({*reading}) == len(reading):
            classes = np.array(reading)
            if all(np.isin(_distinct(one, len(reading)), classes).all() for one in several):
                return classes
    return None


def _distinct(one: LabelSet, K: int) -> AnyArray:
    if one.are_indices(K):  # many times as fast as sorting them
        return np.flatnonzero(np.bincount(one.array.astype(np.intp, copy=False), minlength=K))
    words = one.array if one.are_numbers else one.array.astype(np.str_)
    return np.unique(words)


def _check_names(names: Sequence[object], several: Sequence[LabelSet], door: Door) -> None:
    """Note that names of columns are no labels, so that positions count; refuse a guess."""
    numbers = numbers_of_names(names)
    words = next((one for one in several if not one.are_numbers), None)
    way = "Say which label each column has, in their order: classes=[...] (--classes A,B,…)."
    if numbers is not None:
        if numbers == sorted(numbers):
            return
        msg = f"the columns are numbered {shown(numbers)}, and the labels are not those. {way}"
        raise InvalidInput(msg)
    if words is not None:
        labels = _distinct(words, len(names)).tolist()
        unknown = next((x for x in labels if x not in {*map(str, names)}), labels[0])
        msg = f"the label {unknown!r} is no name of a column ({shown(names)}). {way}"
        raise InvalidInput(msg)
    if several and door == "file":
        msg = f"the labels are numbers, but the columns are named {shown(names)}. {way}"
        raise InvalidInput(msg)
    if several:
        warnings.warn(
            f"the labels are numbers, and the columns are named {shown(names)}: label 0 is taken "
            f"for the first column, and so on. {way}",
            GuessedLabels,
            stacklevel=6,
        )


def _check_first_number(several: Sequence[LabelSet], K: int) -> None:
    """Refuse labels without a 0 that may count from 1, unless column numbers win clearly."""
    n = sum(part.array.size for part in several)
    if n < max(_MIN_ROWS_TO_SCORE, _MIN_ROWS_OF_EACH * K):
        return
    zero = one = 0
    for part in several:
        choice, labels = np.asarray(part.choose()), part.array.astype(np.int64)
        zero += int((choice == labels).sum())
        one += int((choice == labels - 1).sum())
    if zero - one > READING_SIGMAS * np.sqrt(zero + one):
        return
    msg = (
        f"no label is 0, so that labels may be the numbers of the {K} columns from 0 or from 1: "
        f"{percent(zero / n, 1)} of the rows have their label as the largest column if they count "
        f"from 0, {percent(one / n, 1)} if from 1. Say which: classes=range({K}) (--classes "
        f"{_range(0, K)}), or classes=range(1, {K + 1}) (--classes {_range(1, K + 1)})."
    )
    raise InvalidInput(msg)


def _range(first: int, end: int) -> str:
    return shown(range(first, end)).replace(" ", "")


def _sorted(several: Sequence[LabelSet], K: int, columns: tuple[str, ...], door: Door) -> AnyArray:
    """Return the sorted distinct labels as those of K columns, where that is no wild guess."""
    distinct = [np.unique(one.array) for one in several]
    names: AnyArray = np.unique(np.concatenate(distinct))
    if names.size != K:
        odd = next(one for one in several if not one.are_indices(K))
        raise _cannot_match(odd.array, names, K)
    labels = shown(names.tolist(), repr)
    order = ",".join(printable(str(name)) for name in names.tolist()[:_MAX_SHOWN_IN_FULL])
    way = f"Say which label each column has, in their order: classes=[...] (--classes {order}"
    way += ",…)." if K > _MAX_SHOWN_IN_FULL else ")."
    if door == "file":
        on = f" to the columns {shown(columns)}" if columns else ""
        msg = f"cannot match the labels {labels}{on}. {way}"
        raise InvalidInput(msg)
    category = next((one.order for one in several if one.order is not None), None)
    if category is not None and category != sorted(category):
        msg = f"the categories {shown(category)} are ordered, and sorted labels are not. {way}"
        raise InvalidInput(msg)
    numbers = names.dtype.kind in "iu"
    outside = names[(names < 0) | (names >= K)] if numbers else names
    if numbers and outside.size == 1 and 0 in names and (K > _TWO or outside[0] in _MARKERS):
        msg = (
            f"the labels are the numbers of columns but {outside[0]}, and "
            f"{shown(sorted({*range(K)} - {*names.tolist()}))} is missing: does {outside[0]} mark "
            f"rows without a label? Drop those rows, or say what it is. {way}"
        )
        raise InvalidInput(msg)
    digits = names.dtype.kind == "U" and all(name.isdecimal() for name in names.tolist())
    if digits and [int(name) for name in names] != sorted(map(int, names)):
        if door != "estimator":
            msg = f"the labels {labels} are digits as text, which sort as words. {way}"
            raise InvalidInput(msg)
        warnings.warn(
            f"the labels {labels} are digits as text: the columns are taken in this order, that of "
            "words, as scikit-learn has it. Pass numbers, or classes=[...].",
            GuessedLabels,
            stacklevel=5,
        )
    return names


def _cannot_match(array: AnyArray, names: AnyArray, K: int) -> InvalidInput:
    if array.dtype.kind in "iub":
        outside = (array < 0) | (array >= K)
        first = array[int(outside.argmax())]
        msg = (
            f"`labels` must be integers in [0, {K}), one for each column: {rows_that(outside)} "
            f"({first}). Other labels? Say which column is which with classes=[...] (--classes)."
        )
    else:
        msg = (
            f"`labels` has {names.size} distinct names for {K} columns. "
            "Say which column is which with classes=[...] (--classes)."
        )
    return InvalidInput(msg)


class _Labelled(Protocol):
    """The part of `Predictions` that this module uses."""

    n: int
    K: int
    one_column: bool
    labels: IntArray | None

    def choice(self, at: slice | IntArray) -> IntArray:
        """Return the class with the largest value in some rows."""

    def probabilities(self, at: slice) -> Any:  # noqa: ANN401 - (rows, K)
        """Return the probabilities of some rows."""


def warn_if_permuted(preds: _Labelled, name: str) -> bool:
    r"""Warn if labels and columns do not seem to belong together; return whether it did.

    With :math:`a_k` rows predicted as class k and :math:`b_k` rows labelled k, of N, a random
    permutation of the labels has :math:`m = \\sum a_k b_k / N` right rows on average, with variance

    .. math:: \\frac{m^2 - \\sum a_k b_k (a_k + b_k) / N + \\sum a_k b_k}{N - 1} .

    It warns of fewer right rows than that; and of no more than that where the mean score of the
    rows tried is far above the share that is right.
    """
    if preds.labels is None or preds.one_column or preds.n == 1:
        return False
    chosen, n = np.asarray(preds.choice(slice(None))), float(preds.n)
    labels = np.asarray(preds.labels)
    a, b = (np.bincount(x, minlength=preds.K).astype(np.float64) for x in (chosen, labels))
    expected = float((a * b).sum()) / n
    variance = (expected**2 - float((a * b * (a + b)).sum()) / n + float((a * b).sum())) / (n - 1)
    right = int((chosen == labels).sum())
    allowed = PERMUTED_SIGMAS * float(np.sqrt(max(variance, 0.0)))
    if right - expected > allowed:
        return False
    if expected - right <= allowed:
        if preds.n < MIN_ROWS_TO_DOUBT or allowed == 0.0:
            return False
        sure = float(preds.probabilities(slice(0, _ROWS_TRIED)).max(axis=1).mean())
        if sure - right / n < MIN_CONFIDENCE_ABOVE_CHANCE:
            return False
    warnings.warn(
        f"{name}: only {percent(right / n, 1)} of the rows have their label as the largest column; "
        f"labels at random would have {percent(expected / n, 1)}. Labels and columns may be "
        "permuted: say which label is which column with classes=[...] (--classes), or check how "
        "the file was made.",
        PermutedLabels,
        stacklevel=4,
    )
    return True
