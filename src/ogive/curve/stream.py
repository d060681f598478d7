"""A curve that grows batch by batch: for a training loop, or a service that sees outcomes later."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ogive._html import text_form
from ogive.curve.counter import Adder, Counter
from ogive.curve.curve import Curve
from ogive.curve.packing import keys_of_scores, keys_of_view
from ogive.curve.summary import BITS, added, check_bits, summarise_weighted
from ogive.errors import InvalidInput, InvalidType
from ogive.rows.check import as_choice, as_floats, as_hits, as_weight_kind, as_weights
from ogive.rows.frames import check_index
from ogive.rows.predictions import Predictions
from ogive.rows.views import check_view, parse_view

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, FloatArray, KeyArray, Kind, WeightKind

_KINDS = ("scores", "logits", "probs")


class CurveStream:
    """Collects batches, and returns the summarised curve of all of them at any time.

    Memory depends on the number of scores that differ by more than 0.02 %, not on the rows.
    Threads may update it at once, and a copy can be pickled.

    Parameters
    ----------
    view : str, optional
        Default: ``"score"``; for logits and probabilities ``"top-1"``.
    kind : {"scores", "logits", "probs"}
        What the batches hold. Needed if `view` is one of a matrix. Default: ``"scores"``.
    bits : int
        The resolution of the summary: see `Curve.summarised`.
    weight_kind : {"repetition", "sampling"}

    Examples
    --------
    >>> import numpy as np
    >>> stream = CurveStream()
    >>> for seed in range(3):
    ...     scores = np.random.default_rng(seed).random(1000)
    ...     stream.update(scores, scores > 0.5)
    >>> stream.curve().n
    3000
    >>> logits = CurveStream("top-1", kind="logits")
    >>> logits.update([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0]], [0, 2])
    >>> logits.curve()
    Curve(view='top-1', n=2, outcomes=1, summarised)
    """

    def __init__(
        self,
        view: str | None = None,
        *,
        kind: str | None = None,
        bits: int = BITS,
        weight_kind: WeightKind = "repetition",
    ) -> None:
        self.kind = as_choice(kind or "scores", "kind", _KINDS)
        default = "score" if self.kind == "scores" else "top-1"
        self.view = parse_view(view or default).name
        if self.kind == "scores" and self.view != "score":
            msg = f"`view` {self.view!r} needs a matrix: pass kind='logits' or kind='probs'."
            raise InvalidInput(msg)
        self.bits = check_bits(bits)
        self.weight_kind = as_weight_kind(weight_kind)
        self._lock = threading.Lock()
        self._counter = Counter(self.bits)
        self._weighted = Adder(self.bits)

    def update(
        self, values: ArrayLike, outcomes: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> None:
        """Add a batch; an invalid row raises an error and nothing is added.

        Parameters
        ----------
        values : array-like, (n,) or (n, K)
            Scores, logits or probabilities, as `kind` says.
        outcomes : array-like, (n,)
            Outcomes, 0 or 1; or the indices of the true classes.
        sample_weight : array-like, (n,), optional
        """
        keys, w = self._keys(values, outcomes, sample_weight)
        if w is None:
            with self._lock:
                self._counter.add(keys)
            return
        part = summarise_weighted(keys, w, self.bits, self.weight_kind)
        with self._lock:
            self._weighted.add(part)

    def merge(self, other: CurveStream) -> None:
        """Add all rows of another stream."""
        if not isinstance(other, CurveStream):
            msg = f"`other` must be a CurveStream, not {type(other).__name__}."
            raise InvalidType(msg)
        if other.view != self.view:
            msg = f"streams of different views cannot be merged: {self.view!r} and {other.view!r}."
            raise InvalidInput(msg)
        if other.bits < self.bits:
            msg = f"`other` has only {other.bits} bits, not {self.bits}: merge this one into it."
            raise InvalidInput(msg)
        part = other.curve().summary() if other.n else None
        if part is not None:
            with self._lock:
                self._weighted.add(part.coarsened(self.bits))

    def curve(self) -> Curve:
        """Return the curve of all rows so far; later batches do not change it."""
        with self._lock:
            total = added([self._counter.total(), self._weighted.total()])
        if total.size == 0:
            msg = "the stream has seen no rows yet: update it first."
            raise InvalidInput(msg)
        return Curve(summary=total, view=self.view)

    @property
    def n(self) -> float:
        """How many rows it has seen, or the sum of their weights."""
        with self._lock:
            total = self._counter.total().count.sum() + self._weighted.total().count.sum()
        return float(total) if total % 1 else int(total)

    def __repr__(self) -> str:
        return f"CurveStream(view={self.view!r}, n={self.n:,})"

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            self._counter.total()  # rows instead of long tables
            return {key: value for key, value in vars(self).items() if key != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._lock = threading.Lock()

    def _keys(
        self, values: ArrayLike, outcomes: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[KeyArray, FloatArray | None]:
        if self.kind == "scores":
            check_index(scores=values, outcomes=outcomes, sample_weight=sample_weight)
            s = as_floats(values, "scores", ndim=(1,))
            keys = keys_of_scores(s, as_hits(outcomes, s.size))
            return keys, as_weights(sample_weight, s.size, of="scores", kind=self.weight_kind)
        kind: Kind = "logits" if self.kind == "logits" else "probs"
        how: WeightKind = self.weight_kind
        check_index(values=values, outcomes=outcomes, sample_weight=sample_weight)
        preds = Predictions(values, kind=kind, sample_weight=sample_weight, weight_kind=how)
        labels = (
            as_hits(outcomes, preds.n, name="labels", of=kind) if preds.one_column else outcomes
        )
        # The classes are given, since a batch need not hold them all.
        preds = Predictions(
            values,
            labels,
            kind=kind,
            sample_weight=sample_weight,
            weight_kind=how,
            classes=preds.classes,
            name="",
        )
        return keys_of_view(preds, check_view(self.view, preds)), preds.sample_weight

    _repr_html_ = text_form
