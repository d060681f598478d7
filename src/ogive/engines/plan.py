"""What is to be read and counted: the same for every engine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import log2
from typing import TYPE_CHECKING, TypeAlias, TypedDict

from ogive.curve.summary import BITS, CLASS_BITS, check_bits
from ogive.errors import DoesNotApply, FileFormatError, UnknownName
from ogive.rows.views import parse_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import IntArray, WeightKind
    from ogive.engines.periods import Every
    from ogive.readers.columns import Layout
    from ogive.readers.source import Columns

#: The view that stands for every class against the rest.
CLASSWISE = "class-wise"
#: Bits of a bucket where there is a curve for each group.
GROUP_BITS = 7
#: Rows that the summaries of all groups together may have, about: they must fit in memory.
_MAX_ROWS_OF_ALL_GROUPS = 25_000
#: A curve of a plan: the name of its view, and its group ("" without groups).
Name: TypeAlias = tuple[str, str]


class ReadOptions(TypedDict, total=False):
    """The options of `read_log` that all engines share, for type checkers: see `Options`."""

    columns: Columns | None
    by: str | None
    depth: int | None
    part: str | None
    default_part: str | None
    bits: int | None
    memory: str | int
    one_pass: bool
    skip_bad: bool
    weight_kind: WeightKind
    vectors: bool
    every: Every | None
    unlabelled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The same with their defaults; `ogive.engines.local.read_log` says what they mean."""

    columns: Columns | None = None
    by: str | None = None
    depth: int | None = None
    part: str | None = None
    default_part: str | None = None
    bits: int | None = None
    memory: str | int = "1GB"
    one_pass: bool = False
    skip_bad: bool = False
    weight_kind: WeightKind = "repetition"
    vectors: bool = False
    every: Every | None = None
    unlabelled: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be read and counted.

    Attributes
    ----------
    layout : Layout
        Which columns hold what.
    views : tuple of str
        Names of views; ``"class-wise"`` counts every class.
    K : int
        The number of classes; 2 for scores.
    bits : int
        How fine the buckets are: see `ogive.curve.summary`.
    by : str or None
        The column of groups, or several.
    depth : int or None
        Count the groups of every choice of at most this many columns, and all rows; None: those of
        all columns together alone.
    part : str or None
        Rows of this part alone, where the layout has a column of parts.
    skip_bad : bool
        Leave out rows that break a rule, and count them.
    weight_kind : {"repetition", "sampling"}
    within : dict, optional
        Ranges of places, (k, 2), of the curves that are counted; None counts all.
    text : bool
        Numbers may come as text (a CSV file that did not convert).
    decimal : str
        The decimal mark of numbers that come as text.
    vectors : bool
        Also add up the proper scores of whole vectors, of matrices.
    collect : bool
        Collect the keys that lie `within`, instead of counting them.
    every : {"day", "week", "batch"}, optional
        The groups are times: see `ogive.engines.periods`.
    budget : int, optional
        Bytes that the summaries of one worker may take; more is an error.
    """

    layout: Layout
    views: tuple[str, ...]
    K: int
    bits: int = BITS
    by: str | None = None
    part: str | None = None
    skip_bad: bool = False
    weight_kind: WeightKind = "repetition"
    by_columns: tuple[str, ...] = ()
    depth: int | None = None
    within: dict[Name, IntArray] | None = field(default=None, compare=False)
    text: bool = False
    decimal: str = "."
    vectors: bool = False
    collect: bool = False
    budget: int | None = None
    every: Every | None = None

    @property
    def needed(self) -> list[str]:
        """The columns to read."""
        have = self.layout.needed
        return [*have, *(name for name in self.group_columns if name not in have)]

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns of groups: of several, a group is a combination of their values."""
        return self.by_columns or (() if self.by is None else (self.by,))

    @property
    def curves(self) -> list[str]:
        """The views that are counted, class by class."""
        names: list[str] = []
        for view in self.views:
            if view == CLASSWISE:
                names += [f"class-{k}" for k in range(self.K)]
            else:
                names.append(view)
        return names


def group_bits(groups: int) -> int:
    """Return the bits of the buckets for this many groups: all must fit in memory.

    >>> [group_bits(n) for n in (1, 10, 100, 1000, 100_000)]
    [12, 11, 7, 5, 5]
    """
    return (
        max(min(int(log2(_MAX_ROWS_OF_ALL_GROUPS / max(groups, 1))), BITS), CLASS_BITS)
        if (groups < _MAX_ROWS_OF_ALL_GROUPS)
        else CLASS_BITS
    )


_PARTS = ("cal", "test", "all")


def make_plan(
    layout: Layout,
    K: int,
    view: str | Sequence[str] | None = None,
    *,
    bits: int | None = None,
    by: str | None = None,
    part: str | None = None,
    skip_bad: bool = False,
    weight_kind: WeightKind = "repetition",
    unlabelled: bool = False,
    what: str = "the log",
) -> Plan:
    """Check what is asked for against what there is, and fill in the rest.

    Parameters
    ----------
    layout : Layout
    K : int
        Classes; 2 for scores.
    view : str or several, optional
        Default: ``"score"`` for scores, ``"top-1"`` for matrices.
    bits : int, optional
        Default: 12; with groups 7; of every class 5.
    unlabelled : bool
        Count scores alone: labels are not read, and every outcome counts as 0.
    what : str
        The name of the log in errors.
    """
    if unlabelled:
        layout = replace(layout, truth=None)
    elif layout.truth is None:
        names = layout.names
        missing = names.outcome if layout.kind == "scores" else names.label
        msg = f"{what} has no column `{missing}`. Name it with --outcome or --label."
        raise FileFormatError(msg)
    one = layout.kind == "scores" or K == 1
    default = "score" if one else "top-1"
    asked = (default,) if view is None else (view,) if isinstance(view, str) else tuple(view)
    for name in asked:
        if name == CLASSWISE and not one:
            continue
        _check(name, 2 if one else K, one=one)
    if part is not None and layout.part is None:
        msg = f"{what} has no column `part`, so there is no part {part!r}. Leave the part out."
        raise DoesNotApply(msg)
    if part not in {None, *_PARTS}:
        raise UnknownName.among("part", part, _PARTS)
    if bits is None:
        bits = CLASS_BITS if CLASSWISE in asked else GROUP_BITS if by is not None else BITS
    return Plan(
        layout,
        asked,
        2 if one else K,
        check_bits(bits),
        by,
        part,
        skip_bad,
        weight_kind,
    )


class _Shape:
    """The part of `Predictions` that `check_view` uses."""

    def __init__(self, K: int, *, one: bool) -> None:
        self.K, self.one_column = K, one


def _check(name: str, K: int, *, one: bool) -> None:
    from ogive.rows.views import check_view  # noqa: PLC0415

    check_view(parse_view(name), _Shape(K, one=one))  # type: ignore[arg-type]
