"""Find the columns of a table that hold the predictions; the only module with their names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ogive.errors import DoesNotApply, FileFormatError, UnknownName, printable
from ogive.readers.source import Columns, ValueKind
from ogive.rows.labels import Classes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_CLASS_COLUMN = re.compile(r"(logit|prob)_(.+)", re.DOTALL)
_FEWEST_NAMED = 2  # one column that begins with prob_ may be anything
_LISTS: tuple[ValueKind, ValueKind] = ("logits", "probs")
PART = "part"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the predictions of a table are.

    kind : what the values are
    values : the columns they are in: one score, K columns, or one list column
    truth : the column of outcomes (of scores) or of true classes; None if there is none
    weight, part, cluster : the columns of weights, of parts and of clusters, or None
    names : the names that outcomes, scores … have, or would have, in this table
    classes : the class of each column, where they are given or the columns are named after them
    positive : the outcome that counts as 1, where outcomes are words
    renormalise : rows of probabilities are divided by their sums
    """

    kind: ValueKind
    values: tuple[str, ...]
    truth: str | None
    weight: str | None
    part: str | None
    names: Columns
    classes: tuple[str, ...] | None = None
    positive: str | None = None
    renormalise: bool = False
    cluster: str | None = None

    @property
    def is_list(self) -> bool:
        """Whether the values are in one column of lists."""
        return self.kind != "scores" and self.values == (self.kind,)

    @property
    def labels(self) -> tuple[str | int, ...] | None:
        """The classes, those that are whole numbers as numbers; None if none are given."""
        if self.classes is None or not all(name.lstrip("-").isdecimal() for name in self.classes):
            return self.classes
        return tuple(map(int, self.classes))

    @property
    def mapping(self) -> Classes | None:
        """The mapping where classes are given or columns are named after them, else None."""
        if self.labels is None or self.kind == "scores":
            return None
        names = self.values
        if self.is_list:
            names = tuple(f"{self.kind}[{k}]" for k in range(len(self.labels)))
        given = self.names.classes is not None
        return Classes(np.array(self.labels), names, "as given" if given else "by name")

    @property
    def needed(self) -> list[str]:
        """The columns that have to be read to measure."""
        more = (self.truth, self.weight, self.part, self.cluster)
        return list(dict.fromkeys([*self.values, *(name for name in more if name is not None)]))


def find_columns(present: Sequence[str], columns: Columns, path: Path | str) -> Layout:
    """Find the predictions among a table's columns: a score, K columns, or a list column."""
    names = Columns(
        columns.score or "score",
        columns.outcome or "outcome",
        columns.label or "label",
        columns.weight or "weight",
        columns.classes,
    )
    asked_for = (columns.score, columns.outcome, columns.label, columns.weight, columns.cluster)
    for asked in asked_for:
        if asked is not None and asked not in present:
            what = f"column of {path}:"
            raise UnknownName.among(what, asked, map(printable, present))
    kind, values = _values(present, columns, names, path)
    truth = names.outcome if kind == "scores" else names.label
    check_meaning(columns, kind, path)

    def there(name: str | None) -> str | None:
        return name if name in present else None

    found = Layout(
        kind,
        values,
        there(truth),
        there(names.weight),
        there(PART),
        names,
        columns.classes or _classes_of(values),
        columns.positive,
        columns.renormalise,
        columns.cluster,
    )
    if found.cluster is not None and found.cluster in {*found.values, found.truth}:
        msg = f"{path}: --cluster {found.cluster} is the column of the {kind} or their outcomes."
        raise DoesNotApply(msg)
    for name in found.needed:
        if list(present).count(name) > 1:
            msg = f"{path} has more than one column `{name}`: rename or drop one of them."
            raise FileFormatError(msg)
    return found


def check_meaning(columns: Columns, kind: ValueKind, path: Path | str) -> None:
    """Refuse options that do not apply to this kind of predictions."""
    if columns.positive is not None and kind != "scores":
        msg = (
            f"{path}: --positive is for scores with outcomes, and this file has {kind} with "
            "labels. Name the label of each column: --classes A,B,…"
        )
        raise DoesNotApply(msg)
    if columns.renormalise and kind != "probs":
        msg = f"{path}: --renormalise is for rows of probabilities, and this file has {kind}."
        raise DoesNotApply(msg)
    if kind == "scores" and columns.label is not None:
        msg = (
            f"--label does not apply: {path} has scores, not a column for each class. Name the "
            f"column of their outcomes (0 or 1) instead: --outcome {columns.label}"
        )
        raise DoesNotApply(msg)
    if kind != "scores" and columns.outcome is not None:
        msg = (
            f"--outcome does not apply: {path} has a column for each class. Name the column of the "
            f"true classes instead (--label {columns.outcome}), or one of scores (--score COL)."
        )
        raise DoesNotApply(msg)


def _wide(present: Sequence[str]) -> list[tuple[str, str]]:
    """Return the columns of classes, (stem, name): those with numbers from 0, else all of them."""
    found = [(match[1], match[2]) for match in map(_CLASS_COLUMN.fullmatch, present) if match]
    numbered = [(stem, name) for stem, name in found if name.isdecimal()]
    if any(int(name) == 0 for _, name in numbered):
        return sorted(numbered, key=lambda pair: int(pair[1]))
    return found if len(found) >= _FEWEST_NAMED else []


def _classes_of(values: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the classes that columns are named after; None if they are numbered from 0."""
    names = [match[2] for match in map(_CLASS_COLUMN.fullmatch, values) if match]
    if len(names) < len(values) or names == [str(k) for k in range(len(names))]:
        return None
    return tuple(names)


def _values(
    present: Sequence[str], columns: Columns, names: Columns, path: Path | str
) -> tuple[ValueKind, tuple[str, ...]]:
    wide = [] if columns.score is not None else _wide(present)
    named = bool(wide) and not any(name.isdecimal() for _, name in wide)
    if named and names.score in present and names.label not in present:
        wide = []  # a score and an outcome decide, whatever the other columns are
    if wide:
        stems = {stem for stem, _ in wide}
        gap = wide[0][1].isdecimal() and int(wide[0][1]) == 0
        gap = gap and [int(name) for _, name in wide] != list(range(len(wide)))
        if len(stems) > 1 or gap:
            msg = (
                f"{path}: the columns of classes must be logit_0…, or prob_0…, without a gap, or "
                "prob_NAME (logit_NAME), one for each class."
            )
            raise FileFormatError(msg)
        columns_ = tuple(f"{stem}_{name}" for stem, name in wide)
        return ("logits" if "logit" in stems else "probs"), columns_
    for name in _LISTS:
        if columns.score is None and name in present:
            return name, (name,)
    if names.score is not None and names.score in present:
        return "scores", (names.score,)
    msg = (
        f"{path} has no known columns (it has: {printable(', '.join(present))}). It needs "
        "`score` and `outcome`, or `label` with logit_0…, prob_0… or prob_NAME for each class, or "
        "a list column `logits` or `probs`. For other names use --score, --outcome, --label."
    )
    raise FileFormatError(msg)
