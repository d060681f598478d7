"""Which columns of a table hold the predictions: the one place that knows their names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ogive.errors import FileFormatError, UnknownName
from ogive.readers.guard import printable
from ogive.readers.source import Columns, ValueKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_WIDE = re.compile(r"(logit|prob)_(\d+)")
_LISTS: tuple[ValueKind, ValueKind] = ("logits", "probs")
PART = "part"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the predictions of a table are.

    kind : what the values are
    values : the columns they are in: one score, K columns, or one list column
    truth : the column of outcomes (of scores) or of true classes; None if there is none
    weight, part : the columns of weights and of parts, or None
    names : the names that outcomes, scores … have, or would have, in this table
    """

    kind: ValueKind
    values: tuple[str, ...]
    truth: str | None
    weight: str | None
    part: str | None
    names: Columns

    @property
    def is_list(self) -> bool:
        """Whether the values are in one column of lists."""
        return self.kind != "scores" and self.values == (self.kind,)

    @property
    def needed(self) -> list[str]:
        """The columns that have to be read to measure."""
        return [*self.values, *(c for c in (self.truth, self.weight, self.part) if c is not None)]


def find_columns(present: Sequence[str], columns: Columns, path: Path | str) -> Layout:
    """Find the predictions among a table's columns: a score, K columns, or a list column."""
    names = Columns(
        columns.score or "score",
        columns.outcome or "outcome",
        columns.label or "label",
        columns.weight or "weight",
    )
    for asked in (columns.score, columns.outcome, columns.label, columns.weight):
        if asked is not None and asked not in present:
            what = f"column of {path}:"
            raise UnknownName.among(what, asked, map(printable, present))
    kind, values = _values(present, columns, names, path)
    truth = names.outcome if kind == "scores" else names.label

    def there(name: str | None) -> str | None:
        return name if name in present else None

    found = Layout(kind, values, there(truth), there(names.weight), there(PART), names)
    for name in found.needed:
        if list(present).count(name) > 1:
            msg = f"{path} has more than one column `{name}`: rename or drop one of them."
            raise FileFormatError(msg)
    return found


def _values(
    present: Sequence[str], columns: Columns, names: Columns, path: Path | str
) -> tuple[ValueKind, tuple[str, ...]]:
    wide = sorted((m for m in map(_WIDE.fullmatch, present) if m), key=lambda m: int(m[2]))
    if columns.score is None and wide:
        stems = {match[1] for match in wide}
        if len(stems) > 1 or [int(match[2]) for match in wide] != list(range(len(wide))):
            msg = f"{path}: the columns of classes must be logit_0…, or prob_0…, without a gap."
            raise FileFormatError(msg)
        return ("logits" if "logit" in stems else "probs"), tuple(match[0] for match in wide)
    for name in _LISTS:
        if columns.score is None and name in present:
            return name, (name,)
    if names.score is not None and names.score in present:
        return "scores", (names.score,)
    msg = (
        f"{path} has no known columns (it has: {printable(', '.join(present))}). It needs "
        "`score` and `outcome`, or `label` with logit_0… or prob_0… or a list column `logits` or "
        "`probs`; other names go in with --score, --outcome, --label."
    )
    raise FileFormatError(msg)
