"""Which label is which column: decided once for a file, over all of its parts.

In this order: the classes that were given (``--classes``), the names of the columns (``prob_cat``),
integers in [0, K) as the numbers of the columns, and last the sorted labels, with a warning. Parts
that need different answers are refused.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from ogive.errors import FileFormatError, GuessedLabels, InvalidInput, OgiveError
from ogive.readers.guard import printable
from ogive.rows.labels import LabelSet, class_names, sorted_labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ogive._typing import AnyArray
    from ogive.readers.columns import Layout
    from ogive.readers.source import Columns, Part

_MAX_SHOWN_IN_FULL = 8  # of more classes, only the first ones and the last are shown
_FIRST_SHOWN = 3
_OUTCOMES = 2


@dataclass(frozen=True, slots=True)
class ClassMap:
    """Which label is which column.

    classes : (K,) the label of each column
    columns : (K,) the names of the columns
    how : by number, by name, as given, or sorted (guessed)
    """

    classes: AnyArray
    columns: tuple[str, ...]
    how: Literal["by number", "by name", "as given", "sorted"]

    @property
    def known(self) -> list[str | int] | None:
        """The label of each column, None where the labels are the columns' numbers."""
        return None if self.how == "by number" else self.classes.tolist()

    @property
    def words(self) -> str:
        """The mapping in a line.

        >>> ClassMap(np.array(["cat", "dog"]), ("prob_0", "prob_1"), "sorted").words
        "labels 'cat', 'dog' → columns prob_0, prob_1, sorted"
        """
        labels = shown([repr(label) for label in self.classes.tolist()])
        return f"labels {labels} → columns {shown(self.columns)}, {self.how}"


def shown(names: Sequence[object]) -> str:
    """Return names in a line: all of a few, else the first ones and the last."""
    words = [printable(str(name)) for name in names]
    if len(words) > _MAX_SHOWN_IN_FULL:
        words = [*words[:_FIRST_SHOWN], "…", words[-1]]
    return ", ".join(words)


def settle(
    parts: Mapping[str, Part], given: Sequence[str] | None, what: str, *, guess: bool = True
) -> tuple[dict[str, Part], ClassMap | None]:
    """Return the parts with the class of each column, and the mapping; None for scores.

    `given` are the classes that the caller named; `what` is the file, or the files, in errors.
    Without `guess`, labels that would have to be sorted are refused.
    """
    first = next(iter(parts.values()))
    if first.kind == "scores":
        if given is not None:
            msg = f"{what}: scores have no classes. For outcomes that are words: --positive WORD."
            raise FileFormatError(msg)
        return dict(parts), None
    try:
        mapping = _mapping(parts, given)
        if mapping.how == "sorted" and not guess:
            raise _unknown_order(mapping)
    except OgiveError as error:
        if not what:
            raise
        msg = f"{what}: {error}"
        raise type(error)(msg) from error
    if mapping.how == "sorted":
        order = ",".join(map(str, mapping.classes.tolist()[:_MAX_SHOWN_IN_FULL]))
        more = ",…" if mapping.classes.size > _MAX_SHOWN_IN_FULL else ""
        warnings.warn(
            f"{what}: {mapping.words}: this is a guess. Pass the order: --classes "
            f"{printable(order)}{more} (classes=[...]), or name the columns after the classes "
            "(an array `classes` in .npz).",
            GuessedLabels,
            stacklevel=4,
        )
    return {name: replace(part, classes=mapping.classes) for name, part in parts.items()}, mapping


def _unknown_order(mapping: ClassMap) -> InvalidInput:
    return InvalidInput(
        f"cannot match the columns {shown(mapping.columns)} to the labels "
        f"{shown(mapping.classes.tolist())}. Pass --classes A,B,… (classes=[...]), in the order "
        "of the columns."
    )


def _mapping(parts: Mapping[str, Part], given: Sequence[str] | None) -> ClassMap:
    first = next(iter(parts.values()))
    width = first.values.shape[1] if first.values.ndim > 1 else 1
    K = max(width, 2)
    labels = {
        name: LabelSet(part.labels) for name, part in parts.items() if part.labels is not None
    }
    columns = first.columns or _numbered(first.kind, width)
    if given is not None:
        return ClassMap(_typed(class_names(given, K), labels), columns, "as given")
    if first.classes is not None:
        names = _typed(first.classes, labels)
        _check_type(names, labels)
        return ClassMap(names, columns, "by name")
    if all(one.are_indices(K) for one in labels.values()):
        return ClassMap(np.arange(K), columns, "by number")
    _check_alike(labels, K)
    return ClassMap(sorted_labels(list(labels.values()), K), columns, "sorted")


def _numbered(kind: str, width: int) -> tuple[str, ...]:
    if width == 1:
        return (f"1 - {kind}", kind)
    return tuple(f"{kind}[{k}]" for k in range(width))


def _typed(names: AnyArray, labels: Mapping[str, LabelSet]) -> AnyArray:
    """Return names as numbers where the labels, or the lack of any, make them that."""
    if any(not one.are_numbers for one in labels.values()):
        return names.astype(np.str_)
    try:
        return np.array([int(name) for name in names.tolist()])
    except ValueError:
        return names


def _check_type(names: AnyArray, labels: Mapping[str, LabelSet]) -> None:
    """Refuse numbers as labels of columns that have names: the order would be a guess."""
    if names.dtype.kind == "U" and any(one.are_numbers for one in labels.values()):
        msg = (
            f"the labels are numbers, but the columns are named {shown(names.tolist())}. Say which "
            f"label each column has, in their order: --classes 0,1,… (classes=[...])."
        )
        raise InvalidInput(msg)


def _check_alike(labels: Mapping[str, LabelSet], K: int) -> None:
    """Refuse parts of which one has column numbers as labels, and another other labels."""
    zero = [name for name, one in labels.items() if one.are_indices(K) and one.has_zero]
    other = [name for name, one in labels.items() if not one.are_indices(K)]
    if zero and other and labels[other[0]].are_numbers:
        msg = (
            f"the labels of {zero[0] or 'one part'} are the numbers of the columns, 0 to {K - 1}, "
            f"but {other[0] or 'another'} has the label {labels[other[0]].outside(K)}. Make them "
            "alike, or say which label each column has: --classes (classes=[...])."
        )
        raise InvalidInput(msg)


def class_map(layout: Layout, columns: Columns) -> ClassMap | None:
    """Return the mapping of a log, where classes are given or columns are named after them."""
    if layout.labels is None or layout.kind == "scores":
        return None
    names = layout.values if not layout.is_list else _numbered(layout.kind, len(layout.labels))
    how: Literal["as given", "by name"] = "by name" if columns.classes is None else "as given"
    return ClassMap(np.array(layout.labels), names, how)


def is_positive(outcomes: AnyArray, word: str, what: str) -> AnyArray:
    """Return which outcomes are the word, one of two; a word that no row has is refused.

    >>> is_positive(np.array(["yes", "no"]), "yes", "the file")
    array([ True, False])
    """
    words = outcomes.astype(np.str_)
    if outcomes.dtype == np.bool_:
        words, word = np.char.lower(words), word.lower()
    elif outcomes.dtype.kind == "f":
        words = np.array([f"{x:g}" for x in outcomes])
    different = np.unique(words)
    if different.size > _OUTCOMES or (word not in different and different.size == _OUTCOMES):
        msg = (
            f"{what} must be {word!r} or one other value, but is {shown(different.tolist())}. "
            "Say which of two it is with --positive WORD, or drop the other rows."
        )
        raise InvalidInput(msg)
    positive: AnyArray = words == word
    return positive
