r"""Full vectors from the class structure: ``multiclass="free"`` and ``multiclass="keep"``.

Both fit the same class structure (`class_structure`), then one spline to the log-odds of the top
class, of rows scored by a structure that has not seen them (`class_fit`). "free" takes the class
with the largest score for the top, so the decision may change; "keep" the class that the model
chose, which then never changes (`tops`).
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ogive._numerics.blas import one_blas_thread
from ogive._numerics.blocks import blocks, for_each_block
from ogive._wording import percent
from ogive.calibrators.log_values import row_count
from ogive.calibrators.matrix_map import MatrixMap
from ogive.calibrators.multiclass.class_structure import ClassStructure
from ogive.calibrators.multiclass.columns import nested, unnested
from ogive.calibrators.multiclass.shared_fits import class_fit_of
from ogive.calibrators.multiclass.top_class import (
    calibrated_free,
    calibrated_kept,
    free_log_odds,
    kept_log_odds,
    masses_of,
    split_top,
)
from ogive.calibrators.spline import fit_spline_again
from ogive.curve import Curve
from ogive.errors import InvalidInput, OgiveWarning
from ogive.rows.predictions import Predictions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import AnyArray, BoolArray, FloatArray, IntArray, Progress
    from ogive.calibrators.maps import Map
    from ogive.calibrators.multiclass.class_fit import ClassFit

BLOCKS_THROUGH_MATRICES = 32  # blocks of rows that go through the matrices together
_MAX_LOST_ACCURACY = 0.01  # by "keep", without a warning
_CLEAR_ERRORS = 3.0  # standard errors of that loss, for a warning
#: Decimals of the log-odds of the top class, from scores in float64 and in float32: rows of the
#: same numbers are one score, though the matrices leave them 1e-15 (1e-6) apart, and the spline's
#: knots stand at distinct scores.
_DECIMALS, _DECIMALS_32 = 10, 5


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ClassMap(MatrixMap):
    """A class structure, and a map of its top class.

    Attributes
    ----------
    structure : ClassStructure
    top : Map
        From the log-odds of the top class to its probability.
    """

    keeps_top = True

    structure: ClassStructure
    top: Map

    def _calibrated(self, preds: Predictions, n_jobs: int | None) -> FloatArray:
        result = np.empty((preds.n, self.K))

        def work(at: slice) -> None:
            self._write(preds, at, result[at])

        with one_blas_thread():
            for_each_block(
                work, preds.n, width=self.K, together=BLOCKS_THROUGH_MATRICES, n_jobs=n_jobs
            )
        return result

    def band_ends(self, *, simultaneous: bool = False) -> tuple[Self, Self]:
        """Return the ends of the band of the most probable class."""
        low, high = self.top.band_ends(simultaneous=simultaneous)
        return replace(self, top=low), replace(self, top=high)

    @abstractmethod
    def _write(self, preds: Predictions, at: slice, out: FloatArray) -> None:
        """Write the probabilities of some rows."""

    def _block(self, preds: Predictions, at: slice) -> FloatArray:
        out = np.empty((at.stop - at.start, self.K))
        self._write(preds, at, out)
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        inner = {"structure": self.structure.to_dict(), "top": nested(self.top)}
        return {**vars(self), **inner}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ClassMap:
        """Rebuild a map from `to_dict`."""
        structure = ClassStructure.from_dict(values["structure"])
        return cls(**{**values, "structure": structure, "top": unnested(values["top"])})


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class FreeMap(ClassMap):
    """What `fit_free` returns: the decision may change.

    Attributes
    ----------
    changed : float
        The share of calibration rows whose decision it changed.
    """

    method = "free"

    changed: float

    def _write(self, preds: Predictions, at: slice, out: FloatArray) -> None:
        calibrated_free(self.structure.scores(preds, at), self.top, out)

    def __repr__(self) -> str:
        return f"FreeMap(K={self.K}, n={self.n:,}, changed={percent(self.changed)})"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class KeptMap(ClassMap):
    """What `fit_kept` returns: the decision never changes.

    Attributes
    ----------
    held : float
        The share of calibration rows in which another class is more probable than the chosen one.
    lost : float
        How much more often the most probable class is right than the chosen one: what the
        decision costs in accuracy.
    """

    method = "keep"

    held: float
    lost: float

    def _write(self, preds: Predictions, at: slice, out: FloatArray) -> None:
        top = preds.choice(at)
        calibrated_kept(self.structure.scores(preds, at), top, self.top, out)

    def __repr__(self) -> str:
        shares = f"held={percent(self.held)}, lost={percent(self.lost)}"
        return f"KeptMap(K={self.K}, n={self.n:,}, {shares})"


def fit_free(
    preds: Predictions,
    method: str = "spline",
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **options: Any,  # noqa: ANN401 - whatever the method takes
) -> FreeMap:
    """Fit full vectors for the best likelihood: the decision may change.

    Parameters
    ----------
    preds : Predictions
        A matrix, with labels.
    method : {"spline"}
        The map of the top class.
    n_jobs : int, optional
    progress : function of (what, done, total), optional
    options
        Passed on to the method.

    Examples
    --------
    >>> from ogive import Predictions
    >>> rng = np.random.default_rng(0)
    >>> logits = 3 * rng.normal(size=(2000, 3))
    >>> truth = logits / 3 + [0.0, 1.0, 0.0]                  # class 1 is seen too seldom
    >>> labels = (truth + rng.gumbel(size=(2000, 3))).argmax(axis=1)
    >>> calibrator = fit_free(Predictions(logits, labels, kind="logits"))
    >>> calibrator(Predictions([[0.0, 0.0, 0.0]], kind="logits")).round(1)      # 0.21, 0.58, 0.21
    array([[0.2, 0.6, 0.2]])
    """
    check_spline(method, "free")
    fit = class_fit_of(preds, n_jobs=n_jobs, progress=progress)
    tops = _tops(preds, fit, kept=False)
    gamma = fit_spline_again(_curve(preds, tops), **options)
    return FreeMap(
        view="vector",
        n=row_count(preds),
        K=preds.K,
        structure=fit.structure,
        top=gamma,
        changed=float(np.average(tops.moved, weights=tops.weights)),
    )


def fit_kept(
    preds: Predictions,
    method: str = "spline",
    *,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **options: Any,  # noqa: ANN401 - whatever the method takes
) -> KeptMap:
    """Fit full vectors from the class structure that keep the decision.

    Parameters
    ----------
    preds, method, n_jobs, progress, options
        As in `fit_free`.

    Returns
    -------
    KeptMap
        Where the decision itself costs more than one row in a hundred, beyond chance, a warning
        points to `fit_free`.

    Examples
    --------
    >>> from ogive import Predictions
    >>> rng = np.random.default_rng(0)
    >>> logits = 3 * rng.normal(size=(2000, 3))
    >>> labels = (logits / 3 + rng.gumbel(size=(2000, 3))).argmax(axis=1)
    >>> preds = Predictions(logits, labels, kind="logits")
    >>> q = fit_kept(preds)(preds)
    >>> bool((q.argmax(axis=1) == logits.argmax(axis=1)).all())
    True
    """
    check_spline(method, "keep")
    fit = class_fit_of(preds, n_jobs=n_jobs, progress=progress)
    tops = _tops(preds, fit, kept=True)
    gamma = fit_spline_again(_curve(preds, tops), **options)
    held = float(np.average(tops.moved, weights=tops.weights))
    lost = float(np.average(tops.gain, weights=tops.weights))
    if not preds.mismatched:  # else a warning has said what is likelier
        _warn_of(tops, held, lost)
    return KeptMap(
        view="vector",
        n=row_count(preds),
        K=preds.K,
        structure=fit.structure,
        top=gamma,
        held=held,
        lost=lost,
    )


def check_spline(method: str, multiclass: str) -> None:
    """Check that the method is the spline, in which the class structure ends."""
    if method != "spline":
        msg = (
            f"multiclass={multiclass!r} by class structure is for method='spline', not {method!r}. "
            "Use multiclass='ranks' or 'ovr' with it."
        )
        raise InvalidInput(msg)


class _Tops(NamedTuple):
    """The top classes of rows scored by a structure that has not seen them, (m,) each."""

    log_odds: FloatArray
    hit: BoolArray
    moved: BoolArray  # the largest score is not that of the model's choice
    gain: FloatArray  # is the class of the largest score right, less: is the model's choice
    weights: FloatArray


class UnseenBlock(NamedTuple):
    """Some rows, and their scores by a structure that has not seen them.

    Of several largest values the model chooses the first; here it is the first in the order of
    the fit, so that the order of the columns does not matter.
    """

    scores: FloatArray  # (rows, K)
    values: AnyArray  # (rows, K) what classes are ranked by
    order: IntArray  # (K,) the classes in the order of the fit
    labels: IntArray
    weights: FloatArray
    decimals: int  # of log-odds: see _DECIMALS


def unseen_blocks(preds: Predictions, fit: ClassFit) -> Iterator[UnseenBlock]:
    """Yield the rows block by block."""
    order = np.argsort(fit.place)
    labels = preds.labels
    assert labels is not None  # noqa: S101 - checked by fit_classes
    for unseen in fit.unseen:
        decimals = _DECIMALS_32 if unseen.scores.dtype == np.float32 else _DECIMALS
        for at in blocks(unseen.rows.size, width=preds.K):
            rows = unseen.rows[at]
            scores = unseen.scores[:, at].T[:, fit.place].astype(np.float64)
            values = preds.ranking_values(rows)
            yield UnseenBlock(scores, values, order, labels[rows], unseen.weights[at], decimals)


def _tops(preds: Predictions, fit: ClassFit, *, kept: bool) -> _Tops:
    """Read the top class of each unseen row."""
    parts = []
    for block in unseen_blocks(preds, fit):
        chosen = block.order[block.values[:, block.order].argmax(axis=1)]
        log_odds, *more = _read_tops(block.scores, chosen, block.labels, kept)
        parts.append((np.round(log_odds, block.decimals), *more, block.weights))
    return _Tops(*map(np.concatenate, zip(*parts, strict=True)))


def _read_tops(
    scores: FloatArray, chosen: IntArray, labels: IntArray, kept: bool
) -> tuple[FloatArray, BoolArray, BoolArray, FloatArray]:
    best = scores.argmax(axis=1)
    top = chosen if kept else best
    masses = np.empty(scores.shape)
    masses_of(scores, masses)
    own, rest = split_top(masses, top)
    log_odds = kept_log_odds(own, masses, rest)[0] if kept else free_log_odds(rest)
    gain = (best == labels).astype(np.float64) - (chosen == labels)
    return log_odds, top == labels, best != chosen, gain


def _curve(preds: Predictions, tops: _Tops) -> Curve:
    """Return the curve of the top class."""
    return curve_of_unseen(preds, tops.log_odds, tops.hit, tops.weights).with_view("top-1")


def curve_of_unseen(
    preds: Predictions, log_odds: FloatArray, hit: BoolArray, weights: FloatArray
) -> Curve:
    """Return the curve of an event's log-odds in rows that did not fit them, (m,) each."""
    plain = preds.sample_weight is None
    column = Predictions(
        log_odds,
        hit,
        kind="logits",
        sample_weight=None if plain and bool((weights == 1.0).all()) else weights,
        weight_kind=preds.weight_kind,
    )
    return Curve.from_predictions(column)


def _warn_of(tops: _Tops, held: float, lost: float) -> None:
    """Warn if the decision itself is poor: then no vector that keeps it is calibrated."""
    n = tops.weights.sum() ** 2 / (tops.weights**2).sum()
    error = float(np.sqrt(np.average((tops.gain - lost) ** 2, weights=tops.weights) / n))
    if lost > max(_MAX_LOST_ACCURACY, _CLEAR_ERRORS * error):
        warnings.warn(
            f"in {percent(held, 1)} of the rows another class is more probable than the one with "
            f"the largest value, and taking it would be right {percent(lost, 1)} more often. No "
            "vector that keeps the decision is calibrated there: multiclass='free' may change it.",
            OgiveWarning,
            stacklevel=4,
        )
