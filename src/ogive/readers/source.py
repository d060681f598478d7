"""What a reader returns: the parts of a file, and what is needed to write it again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ogive.errors import DoesNotApply, FileFormatError, InvalidInput, OgiveError, UnknownName
from ogive.readers.guard import guarded
from ogive.readers.provenance import mark_calibrated, provenance_of
from ogive.rows.labels import LabelSet, resolve_classes, shown
from ogive.rows.predictions import Predictions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ogive._typing import AnyArray, IntArray, WeightKind
    from ogive.readers.provenance import Provenance
    from ogive.rows.labels import Classes

#: The name of the only part of a file that has none, and the word for all parts together.
WHOLE, ALL = "", "all"

_OUTCOMES = 2  # different ones
ValueKind = Literal["logits", "probs", "scores"]
_OF_ROWS = ("labels", "weights", "clusters")  # what a part may have for every row


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of a table's columns where they are not the usual ones, and what values mean.

    classes : the label of each column, in the order of the columns
    positive : the outcome that counts as 1, where outcomes are words
    renormalise : divide each row of probabilities by its sum, however far it is from 1
    kind, labels : of a single array (.npy): what it holds, and the file of its labels
    weight_kind : what the weights mean, as in `ogive.Predictions`
    cluster : the column, or the array of an archive, that says which rows belong together
    """

    score: str | None = None
    outcome: str | None = None
    label: str | None = None
    weight: str | None = None
    classes: tuple[str, ...] | None = None
    positive: str | None = None
    renormalise: bool = False
    kind: str | None = None
    labels: str | None = None
    weight_kind: WeightKind = "repetition"
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """A request: what to read of a file.

    columns : names of columns that are not the usual ones
    experiment : which one of an HDF5 file
    memory : the limit, in bytes
    whole : also what only writing the file again needs: the other columns and arrays
    """

    columns: Columns
    experiment: str | None
    memory: int
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a file, as arrays of equal length.

    kind : what `values` are; scores are the probability of an outcome
    values : (N, K), or (N,) for scores
    labels : (N,) classes, or outcomes for scores; None if the file has none
    weights : (N,) or None
    classes : (K,) the class of each column, once `settle` has settled it
    columns : (K,) the names of the columns, where they have names
    renormalise : rows of probabilities are divided by their sums
    weight_kind : what the weights mean
    clusters : (N,) which rows belong together, or None
    """

    kind: ValueKind
    values: AnyArray
    labels: AnyArray | None = None
    weights: AnyArray | None = None
    classes: AnyArray | None = None
    columns: tuple[str, ...] = ()
    renormalise: bool = False
    weight_kind: WeightKind = "repetition"
    clusters: AnyArray | None = None

    def take(self, rows: IntArray | slice) -> Part:
        """Return some of the rows."""
        given = {name: getattr(self, name) for name in _OF_ROWS}
        some: dict[str, Any] = {
            name: None if column is None else column[rows] for name, column in given.items()
        }
        return replace(self, values=self.values[rows], **some)

    def predictions(self, name: str | None = None) -> Predictions:
        """Return the checked predictions."""
        kind: Literal["logits", "probs"] = "logits" if self.kind == "logits" else "probs"
        labels = self.labels
        if self.kind == "scores" and labels is not None:
            from ogive.rows.check import as_hits  # noqa: PLC0415 - only outcomes need it

            labels = as_hits(labels, self.values.shape[0], name="outcome", of="score")
        return Predictions(
            self.values,
            labels,
            kind=kind,
            sample_weight=self.weights,
            weight_kind=self.weight_kind,
            clusters=self.clusters,
            classes=self.classes,
            renormalise=self.renormalise,
            name=name,
        )


@dataclass(frozen=True, slots=True)
class Source:
    """A file of predictions.

    parts : by name (``"cal"``, ``"test"``), or one part named ``""``
    rest : what the format needs to write the file again with its other contents
    mapping : which label is which column, decided over all parts; None for scores
    origin : what calibrated its values, once they are to be written
    """

    path: Path
    parts: dict[str, Part]
    rest: Any = field(default=None, repr=False)
    mapping: Classes | None = None
    origin: Provenance | None = None

    def predictions(self, part: str | None = None) -> Predictions:
        """Return the predictions of a part; errors name the file."""
        chosen = self.part(part)
        with guarded(self.path):
            try:
                preds = chosen.predictions(str(self.path))
            except OgiveError as error:
                where = f"{self.path}" + (f" (part {part})" if part else "")
                text = str(error)
                if chosen.kind == "scores":  # by the name that they have in the file
                    text = text.replace("`probs`", f"`{(*chosen.columns, 'scores')[0]}`", 1)
                msg = f"{where}: {text}"
                raise type(error)(msg) from error
            mark_calibrated(preds, provenance_of(self.path), part)
            return preds

    def part(self, name: str | None) -> Part:
        """Return a part by name; ``"all"`` joins them."""
        if name == ALL or (name is None and WHOLE in self.parts):
            return joined(list(self.parts.values()))
        if WHOLE in self.parts:
            msg = f"{self.path} has no parts, so there is no part {name!r}. Leave the part out."
            raise DoesNotApply(msg)
        if name is None:
            names = " and ".join(self.parts)
            msg = f"{self.path} has parts: {names}. Pass --part (part=) with one of them, or all."
            raise FileFormatError(msg)
        if name not in self.parts:
            raise UnknownName.among("part", name, [*self.parts, ALL])
        return self.parts[name]

    @property
    def kind(self) -> ValueKind:
        """What the file holds."""
        return next(iter(self.parts.values())).kind

    @property
    def has_parts(self) -> bool:
        """Whether the file is split into parts."""
        return WHOLE not in self.parts


def joined(parts: list[Part]) -> Part:
    """Return the rows of several parts as one; `check_agree` has looked at them before."""
    first = parts[0]
    if len(parts) == 1:
        return first

    def join(arrays: list[AnyArray | None]) -> AnyArray | None:
        given = [array for array in arrays if array is not None]
        return np.concatenate(given) if len(given) == len(arrays) else None

    values = np.concatenate([part.values for part in parts])
    together: dict[str, Any] = {
        name: join([getattr(part, name) for part in parts]) for name in _OF_ROWS
    }
    return replace(first, values=values, **together)


def _largest(values: AnyArray) -> IntArray:
    place: IntArray = values.argmax(axis=1)
    return place


def settle(
    parts: Mapping[str, Part], given: Sequence[str] | None, what: str
) -> tuple[dict[str, Part], Classes | None]:
    """Return the parts with the class of each column, and the mapping; None for scores.

    `given` are the classes that the caller named; `what` is the file, or the files, in errors.
    """
    first = next(iter(parts.values()))
    if first.kind == "scores":
        if given is not None:
            msg = f"{what}: scores have no classes. For outcomes that are words: --positive WORD."
            raise FileFormatError(msg)
        return dict(parts), None
    width = first.values.shape[1] if first.values.ndim > 1 else 1
    numbered = tuple(f"{first.kind}[{k}]" for k in range(width))
    several = [
        LabelSet(part.labels, partial(_largest, part.values))
        for part in parts.values()
        if part.labels is not None
    ]
    try:
        found = resolve_classes(
            several,
            width,
            given=given,
            names=None if first.classes is None else first.classes.tolist(),
            columns=first.columns or (numbered if width > 1 else (f"1 - {first.kind}", first.kind)),
            door="file",
        )
    except OgiveError as error:
        msg = f"{what}: {error}" if what else str(error)
        raise type(error)(msg) from error
    return {name: replace(part, classes=found.labels) for name, part in parts.items()}, found


def check_agree(parts: Mapping[str, Part], what: str) -> None:
    """Refuse parts or files that differ in what they hold, naming the two and the difference.

    Missing labels are allowed: calibrated values are written without. A missing weight
    is refused, since rows would have the wrong weight.
    """
    (first, one), *others = parts.items()
    for name, other in others:
        for a, b in zip(_traits(one), _traits(other), strict=True):
            if a != b and None not in {a, b}:
                msg = (
                    f"{what} must hold the same kind of predictions, but {first} has {a} and "
                    f"{name} has {b}. Make them alike, or read them one by one."
                )
                raise FileFormatError(msg)
    _check_names(parts, what)


def _traits(part: Part) -> tuple[str | None, ...]:
    """Return what parts must agree in, as text."""
    width = part.values.shape[1] if part.values.ndim > 1 else 1
    labels = None
    if part.labels is not None:
        labels = "names as labels" if part.labels.dtype.kind in "USO" else "numbers as labels"
    return (
        part.kind,
        "one column" if width == 1 else f"{width} classes",
        "no weights" if part.weights is None else "weights",
        labels,
        None if part.classes is None else f"the classes {', '.join(map(str, part.classes))[:200]}",
    )


def _check_names(parts: Mapping[str, Part], what: str) -> None:
    """Refuse names of classes that are more than the columns, once all parts are joined."""
    seen: dict[str, str] = {}
    for name, part in parts.items():
        if part.labels is None or part.labels.dtype.kind != "U" or part.classes is not None:
            continue
        seen = {str(label): name for label in np.unique(part.labels)} | seen
        K = part.values.shape[1] if part.values.ndim > 1 else 2
        if len(seen) > K:
            own = [label for label, where in seen.items() if where == name]
            first = next((where for where in seen.values() if where != name), name)
            if first == name:
                return  # one part by itself: its own error is clearer
            msg = (
                f"{what} name more than {K} classes together: {name} has {own[0]!r}, which "
                f"{first} does not. Give all of them the same classes."
            )
            raise FileFormatError(msg)


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What `apply` writes for a part: calibrated scores of a view, or full vectors.

    values : (N,) scores or (N, K) probabilities
    hits : (N,) the outcome of the view, where it is known (scores only)
    prediction : (N,) the most probable class (probabilities only)
    band : (N,) low and high ends of the band of the score, where it was asked for
    """

    values: AnyArray
    hits: AnyArray | None = None
    prediction: AnyArray | None = None
    band: tuple[AnyArray, AnyArray] | None = None

    @property
    def is_matrix(self) -> bool:
        """Whether these are the probabilities of every class."""
        return self.values.ndim > 1

    @property
    def beside(self) -> dict[str, AnyArray]:
        """What is written beside the scores, or the probabilities of every class, by name."""
        ends = {} if self.band is None else dict(zip(("low", "high"), self.band, strict=True))
        if not self.is_matrix or self.prediction is None:
            return ends
        return {"prediction": self.prediction, "score": self.values.max(axis=1), **ends}


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
