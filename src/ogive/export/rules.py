"""The kinds of rule that a field of an artifact can have: each checks a value and describes itself.

A rule's `check(value, where)` raises an `ArtifactError` that names the field; its `schema()` is the
same rule as JSON Schema. `ogive.export.schema` has the table of fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ogive.errors import ArtifactError, InvalidInput, InvalidType, UnknownName
from ogive.rows.views import OfClass, Score, parse_view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

#: No number of an artifact is larger: sums and products of a thousand of them stay finite.
LARGEST = 1e300
#: Classes of a calibrator, and ranks of a view. The largest public label set is 21,841.
MAX_CLASSES = 1_000_000
#: Characters of a name, of a tag: it is shown in one line.
MAX_TEXT = 1000
MAX_GROUP_NAME = 20_000  # the values of several columns are joined
_LARGEST_EXACT_LABEL = 2**53  # every JSON reader reads whole numbers up to here exactly
_MAX_VALUE_IN_ERROR = 60  # characters


class Rule(Protocol):
    """What a field must be."""

    @property
    def optional(self) -> bool:
        """Whether the field may be missing."""

    def check(self, value: Any, where: str) -> None:  # noqa: ANN401 - JSON can be anything
        """Raise an `ArtifactError` unless the value obeys the rule."""

    def schema(self) -> dict[str, Any]:
        """Return the rule as JSON Schema."""


def broken(where: str, words: str, value: Any) -> ArtifactError:  # noqa: ANN401
    """Return the error for a field that breaks its rule."""
    return ArtifactError(f"`{where}` must be {words}, not {shown(value)}.")


def shown(value: Any) -> str:  # noqa: ANN401
    """Return a wrong value in a few printable characters."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value):,}"
    if isinstance(value, int) and abs(value) > LARGEST:
        return "a whole number of hundreds of digits"
    text = ascii(value)
    return text if len(text) <= _MAX_VALUE_IN_ERROR else text[:_MAX_VALUE_IN_ERROR] + "…"


def _at(where: str, index: int) -> str:
    return f"{where}[{index}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A finite number in [low, high]; `whole` without a fraction; `above` a bound left out."""

    low: float = -LARGEST
    high: float = LARGEST
    above: float | None = None
    whole: bool = False
    null: bool = False
    optional: bool = False

    def check(self, value: Any, where: str) -> None:  # noqa: ANN401, D102
        if value is None and self.null:
            return
        kinds = (int,) if self.whole else (int, float)
        right = isinstance(value, kinds) and not isinstance(value, bool)
        if not right or not bool(self.allows(value)):
            raise broken(where, self.words, value)

    def allows(self, value: Any) -> Any:  # noqa: ANN401 - a number, or an array of them
        """Return whether numbers are within the bounds; NaN never is."""
        inside = (value >= self.low) & (value <= self.high)
        return inside if self.above is None else inside & (value > self.above)

    @property
    def words(self) -> str:
        """The rule in words."""
        kind = "a whole number" if self.whole else "a finite number"
        low = f"above {self.above:g}" if self.above is not None else f"from {self.low:g}"
        bounds = f" {low} to {self.high:g}"
        return kind + ("" if self == Number() else bounds) + (" or null" if self.null else "")

    def schema(self) -> dict[str, Any]:  # noqa: D102
        kind: Any = "integer" if self.whole else "number"
        result = {"type": [kind, "null"] if self.null else kind}
        if self.above is not None:
            return result | {"exclusiveMinimum": self.above, "maximum": self.high}
        return result | {"minimum": self.low, "maximum": self.high}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """True or false."""

    optional: bool = False

    def check(self, value: Any, where: str) -> None:  # noqa: ANN401, D102
        if not isinstance(value, bool):
            raise broken(where, "true or false", value)

    def schema(self) -> dict[str, Any]:  # noqa: D102
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few values."""

    values: Sequence[str | None]
    optional: bool = False

    def check(self, value: Any, where: str) -> None:  # noqa: ANN401, D102
        if not (value is None or isinstance(value, str)) or value not in self.values:
            names = ", ".join("null" if name is None else name for name in self.values)
            raise broken(where, f"one of {names}", value)

    def schema(self) -> dict[str, Any]:  # noqa: D102
        return {"enum": list(self.values)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One line of printable characters."""

    null: bool = False
    optional: bool = False

    def check(self, value: Any, where: str) -> None:  # noqa: ANN401, D102
        if value is None and self.null:
            return
        right = isinstance(value, str) and value.isprintable() and len(value) <= MAX_TEXT
        if not right:
            words = f"one line of at most {MAX_TEXT:,} printable characters"
            raise broken(where, words, value)

    def schema(self) -> dict[str, Any]:  # noqa: D102
        kind: Any = ["string", "null"] if self.null else "string"
        control = {"pattern": "[\\u0000-\\u001f\\u007f-\\u009f]"}
        return {"type": kind, "maxLength": MAX_TEXT, "not": {"type": "string"} | control}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupName:
    """The name of a group: any text that can be written as UTF-8."""

    optional: bool = False

    def check(self, value: Any, where: str) -> None:  # noqa: ANN401, D102
        right = isinstance(value, str) and len(value) <= MAX_GROUP_NAME
        if not right or re.search("[\ud800-\udfff]", value):
            words = f"valid text of at most {MAX_GROUP_NAME:,} characters"
            raise broken(where, words, value)

    def schema(self) -> dict[str, Any]:  # noqa: D102
        return {"type": "string", "maxLength": MAX_GROUP_NAME}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassNames:
    """The labels of the columns, all different: words or whole numbers; or null."""

    optional: bool = False

    def check(self, value: Any, where: str) -> None:  # noqa: ANN401, D102
        if value is None:
            return
        if not isinstance(value, list) or not 2 <= len(value) <= MAX_CLASSES:  # noqa: PLR2004
            raise broken(where, f"null or a list of 2 to {MAX_CLASSES:,} classes", value)
        for i, name in enumerate(value):
            if isinstance(name, str):
                Text().check(name, _at(where, i))
            else:
                Number(low=-_LARGEST_EXACT_LABEL, high=_LARGEST_EXACT_LABEL, whole=True).check(
                    name, _at(where, i)
                )
        if len(set(value)) < len(value):
            raise broken(where, "a list of different classes", value)

    def schema(self) -> dict[str, Any]:  # noqa: D102
        number = Number(low=-_LARGEST_EXACT_LABEL, high=_LARGEST_EXACT_LABEL, whole=True).schema()
        items = {"anyOf": [Text().schema(), number]}
        bounds = {"minItems": 2, "maxItems": MAX_CLASSES, "uniqueItems": True}
        return {"type": ["array", "null"], "items": items} | bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewName:
    """The name of a view as `parse_view` writes it, or 'vector' for full vectors."""

    vector: bool = False
    optional: bool = False

    def check(self, value: Any, where: str) -> None:  # noqa: ANN401, D102
        try:
            right = (self.vector and value == "vector") or _is_canonical(value)
        except (InvalidInput, InvalidType, UnknownName):
            right = False
        if not right:
            also = ", or vector" if self.vector else ""
            words = f"a view such as score, top-1, within-top-2 or class-0{also}"
            raise broken(where, words, value)

    def schema(self) -> dict[str, Any]:  # noqa: D102
        number, positive = "(0|[1-9][0-9]{0,6})", "[1-9][0-9]{0,6}"
        names = ["score", f"class-{number}", f"top-{positive}", f"within-top-{positive}"]
        every = "|".join(names + ["vector"] * self.vector)
        return {"type": "string", "pattern": f"^({every})$(?!\\n)"}


def _is_canonical(value: Any) -> bool:  # noqa: ANN401
    if not isinstance(value, str) or len(value) > _MAX_VALUE_IN_ERROR:
        return False
    view = parse_view(value)
    if isinstance(view, Score):
        return True
    number = view.index if isinstance(view, OfClass) else view.rank
    least = 0 if isinstance(view, OfClass) else 1
    return view.name == value and least <= number < MAX_CLASSES


@dataclass(frozen=True, slots=True, kw_only=True)
class Array:
    """A list of numbers, or lists of lists: of as many dimensions as `shape` has names.

    Lists of one object whose shapes share a name have that length in common. `rising`: each number
    is above the one before it.
    """

    shape: tuple[str, ...] = ("m",)
    item: Number = field(default_factory=Number)
    least: int = 1
    most: int | None = None
    rising: bool = False
    null: bool = False
    optional: bool = False

    def check(self, value: Any, where: str) -> None:  # noqa: ANN401, D102
        if value is None and self.null:
            return
        lengths, flat = _flattened(value, len(self.shape), where)
        if lengths[0] < self.least or (self.most is not None and lengths[0] > self.most):
            bounds = f"at least {self.least:,}" + (f", at most {self.most:,}" if self.most else "")
            raise broken(where, f"a list of {bounds}", value)
        self._check_numbers(flat, where)

    def _check_numbers(self, flat: list[Any], where: str) -> None:
        if not set(map(type, flat)) <= {int, float}:
            first = next(i for i, x in enumerate(flat) if type(x) not in {int, float})
            raise broken(_at(where, first), self.item.words, flat[first])
        try:
            numbers = np.array(flat, dtype=np.float64)
        except OverflowError:
            first = next(i for i, x in enumerate(flat) if abs(x) > LARGEST)
            raise broken(_at(where, first), self.item.words, flat[first]) from None
        right = self.item.allows(numbers)
        if not right.all():
            first = int(np.argmin(right))
            raise broken(_at(where, first), self.item.words, flat[first])
        if self.rising and not (np.diff(numbers) > 0).all():
            first = int(np.argmax(np.diff(numbers) <= 0)) + 1
            raise broken(_at(where, first), "above the number before it", flat[first])

    def lengths(self, value: Any) -> Iterable[tuple[str, int]]:  # noqa: ANN401
        """Yield the names and lengths of the dimensions of a value that obeys."""
        for name in self.shape if value is not None else ():
            yield name, len(value)
            value = value[0] if value else []

    def schema(self) -> dict[str, Any]:  # noqa: D102
        result = self.item.schema()
        for _ in self.shape:
            result = {"type": "array", "items": result}
        result["minItems"] = self.least
        if self.most is not None:
            result["maxItems"] = self.most
        return {"anyOf": [result, {"type": "null"}]} if self.null else result


def _flattened(value: Any, ndim: int, where: str) -> tuple[list[int], list[Any]]:  # noqa: ANN401
    """Return the lengths of nested lists, and their items; lists side by side are as long."""
    level, lengths = [value], []
    for depth in range(ndim):
        lists = all(isinstance(x, list) for x in level)
        if not lists or (depth and len({len(x) for x in level}) > 1):
            kind = "lists of lists of the same length" if ndim > 1 else "a list of numbers"
            raise broken(where, kind, value)
        lengths.append(len(level[0]) if level else 0)
        level = [x for inner in level for x in inner] if len(level) != 1 else level[0]
    return lengths, level


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A list of items of one rule."""

    item: Rule
    least: int = 0
    most: int
    optional: bool = False

    def check(self, value: Any, where: str) -> None:  # noqa: ANN401, D102
        if not isinstance(value, list) or not self.least <= len(value) <= self.most:
            raise broken(where, f"a list of {self.least:,} to {self.most:,} items", value)
        for i, item in enumerate(value):
            self.item.check(item, f"{where}[{i}]")

    def schema(self) -> dict[str, Any]:  # noqa: D102
        bounds = {"minItems": self.least, "maxItems": self.most}
        return {"type": "array", "items": self.item.schema()} | bounds


@dataclass(frozen=True, slots=True)
class Nullable:
    """Null, or what a rule says."""

    rule: Rule
    optional: bool = False

    def check(self, value: Any, where: str) -> None:  # noqa: ANN401, D102
        if value is not None:
            self.rule.check(value, where)

    def schema(self) -> dict[str, Any]:  # noqa: D102
        return {"anyOf": [{"type": "null"}, self.rule.schema()]}


@dataclass(frozen=True, slots=True)
class Checked:
    """What a function checks, given the value and its place; no schema describes it."""

    check: Callable[[Any, str], None]
    optional: bool = False

    def schema(self) -> dict[str, Any]:  # noqa: D102
        return {}


@dataclass(frozen=True, slots=True)
class Relation:
    """A rule between fields: its words, and whether it holds."""

    words: str
    holds: Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class Object:
    """An object of named fields; `open_` ones may have others, which are ignored."""

    fields: Mapping[str, Rule]
    relations: tuple[Relation, ...] = ()
    words: str = ""
    open_: bool = False
    optional: bool = False

    def check(self, value: Any, where: str) -> None:  # noqa: ANN401, D102
        if not isinstance(value, dict):
            raise broken(where, "an object", value)
        before = f"{where}." if where else ""
        for name, rule in self.fields.items():
            if name in value:
                rule.check(value[name], before + name)
            elif not rule.optional:
                msg = f"`{before}{name}` is missing."
                raise ArtifactError(msg)
        unknown = [name for name in value if name not in self.fields]
        if unknown and not self.open_:
            msg = f"`{where}` has the field {shown(unknown[0])}, which this version does not know."
            raise ArtifactError(msg)
        self._check_lengths(value, where)
        for relation in self.relations:
            if not relation.holds(value):
                msg = f"in `{where}`, {relation.words}: that does not hold."
                raise ArtifactError(msg)

    def _check_lengths(self, value: dict[str, Any], where: str) -> None:
        known = {"K": ("K", value["K"])} if "K" in self.fields and value.get("K") else {}
        for name, rule in self.fields.items():
            if isinstance(rule, Array) and name in value:
                for dimension, length in rule.lengths(value[name]):
                    other, expected = known.setdefault(dimension, (name, length))
                    if length != expected:
                        msg = (
                            f"`{where}.{name}` has a length of {length:,}, which does not match "
                            f"`{where}.{other}` ({expected:,})."
                        )
                        raise ArtifactError(msg)

    def schema(self) -> dict[str, Any]:  # noqa: D102
        rules = [relation.words for relation in self.relations]
        words = self.words + (" Rules: " + "; ".join(rules) + "." if rules else "")
        result: dict[str, Any] = {"description": words} if words else {}
        return result | {
            "type": "object",
            "properties": {name: rule.schema() for name, rule in self.fields.items()},
            "required": [name for name, rule in self.fields.items() if not rule.optional],
            "additionalProperties": self.open_,
        }
