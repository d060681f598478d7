"""Calibrators of whole matrices: one factor, one for each class, or a matrix."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibrators import METHODS
from ogive.calibrators.scaling.odir import FOLDS, SEED
from ogive.calibrators.scaling.temperature import fit_temperature
from ogive.calibrators.scaling.vector import fit_vector
from ogive.estimators._calibrator import _Calibrator, _threads

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, Kind, Progress, WeightKind
    from ogive.calibrators.impossible import Impossible
    from ogive.calibrators.matrix_map import MatrixMap
    from ogive.rows.predictions import Predictions


#: With `verbose=1` nobody waits longer than this for a sign of life, if fits are shorter.
SECONDS_BETWEEN_LINES = 2.0


class TemperatureCalibrator(_Calibrator):
    """Temperature scaling: one factor for all logits, at its exact optimum. Keeps the decision.

    Parameters
    ----------
    kind : {None, "logits", "probs"}
        What the columns of X are. None is logits; `fit` then refuses values that look like
        probabilities. From logits nothing saturates.
    classes : sequence of K labels, optional
        The class of each column, where labels are neither column indices nor K sorted names.
    n_jobs : int, optional
        Threads. Default: ``OMP_NUM_THREADS``, else all cores. Results do not depend on it.
    impossible : {None, "zero"}
        A logit of −inf is an impossible class, and keeps probability 0. A given probability of 0
        can become more, unless this is "zero".
    weight_kind : {"repetition", "sampling"}
        What `sample_weight` of `fit` means: see `ogive.Predictions`.

    Attributes
    ----------
    temperature_ : float
        T; the logits are divided by it. Always positive and finite.
    classes_, map_, n_features_in_, feature_names_in_
        As for `ogive.PlattCalibrator`.

    Examples
    --------
    >>> from ogive import TemperatureCalibrator
    >>> logits = [[4.0, 0.0], [4.0, 0.0], [0.0, 4.0], [0.0, 4.0]]
    >>> cal = TemperatureCalibrator().fit(logits, ["no", "yes", "yes", "yes"])
    >>> cal.predict_proba([[4.0, 0.0]]).round(2), round(cal.temperature_, 2)
    (array([[0.75, 0.25]]), 3.64)
    """

    def _fit_map(self, preds: Predictions) -> MatrixMap:
        gamma = fit_temperature(preds, n_jobs=_threads(self.n_jobs))
        self.temperature_ = gamma.temperature
        return gamma


class VectorCalibrator(_Calibrator):
    """Vector scaling: one factor and one offset for each class. May change the decision.

    Parameters
    ----------
    kind, classes, n_jobs, impossible, weight_kind
        As for `TemperatureCalibrator`.
    """

    def _fit_map(self, preds: Predictions) -> MatrixMap:
        return fit_vector(preds, n_jobs=_threads(self.n_jobs))


class MatrixCalibrator(_Calibrator):
    """MS-ODIR: a matrix on the logits, kept near the diagonal. May change the decision.

    Parameters
    ----------
    strengths, offset_strengths : array-like, optional
        The grids of the two penalties; default: the published ones.
    cv : int, splitter, or list of pairs
        Folds of the cross-validation that chooses both; the folds' models are averaged.
    random_state : int, RandomState or None
        Shuffles the rows into folds.
    verbose : int
        Above 0, progress is written to stderr.
    kind, classes, n_jobs, impossible, weight_kind
        As for `TemperatureCalibrator`.

    Attributes
    ----------
    classes_, map_, n_features_in_, feature_names_in_
        As for `ogive.PlattCalibrator`; ``map_.strength`` and ``map_.offset_strength`` are what
        was chosen.
    """

    _method = "ms-odir"

    def __init__(
        self,
        *,
        strengths: ArrayLike | None = None,
        offset_strengths: ArrayLike | None = None,
        cv: Any = FOLDS,  # noqa: ANN401 - a number, a splitter or a list
        random_state: int | np.random.RandomState | None = SEED,
        verbose: int = 0,
        kind: Kind | None = None,
        classes: ArrayLike | None = None,
        n_jobs: int | None = None,
        impossible: Impossible = None,
        weight_kind: WeightKind = "repetition",
    ) -> None:
        self.strengths = strengths
        self.offset_strengths = offset_strengths
        self.cv = cv
        self.random_state = random_state
        self.verbose = verbose
        self.kind = kind
        self.classes = classes
        self.n_jobs = n_jobs
        self.impossible = impossible
        self.weight_kind = weight_kind

    def _fit_map(self, preds: Predictions) -> MatrixMap:
        gamma: Any = METHODS[self._method].fit(
            preds,
            strengths=self.strengths,
            offset_strengths=self.offset_strengths,
            cv=_folds(self.cv, preds),
            random_state=_seed(self.random_state),
            progress=_tell(type(self).__name__) if self.verbose > 0 else None,
            n_jobs=_threads(self.n_jobs),
        )
        return gamma  # type: ignore[no-any-return] # the table knows only that it is Fitted


class DirichletCalibrator(MatrixCalibrator):
    """Dir-ODIR: a matrix on the log-probabilities, kept near the diagonal.

    The parameters and attributes are those of `MatrixCalibrator`.
    """

    _method = "dir-odir"


def _folds(cv: Any, preds: Predictions) -> Any:  # noqa: ANN401 - scikit-learn's three kinds
    """Return a number of folds as it is, and a splitter or an iterable as a list of pairs."""
    if isinstance(cv, int | np.integer):
        return int(cv)
    return list(cv.split(preds.values, preds.labels) if hasattr(cv, "split") else cv)


def _seed(random_state: int | np.random.RandomState | None) -> int:
    """Return a seed: the number itself, or one drawn from scikit-learn's other kinds."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    from sklearn.utils import check_random_state  # noqa: PLC0415 - heavy

    return int(check_random_state(random_state).randint(2**31 - 1))


def _tell(name: str) -> Progress:
    """Return a progress callback that writes the first, the last and each tenth to stderr.

    Between tenths it writes a line whenever `SECONDS_BETWEEN_LINES` have gone by.
    """
    start = last = time.monotonic()

    def progress(what: str, done: float, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        tenth = done == 0 or 10 * done // total > 10 * (done - 1) // total
        if tenth or now - last > SECONDS_BETWEEN_LINES:
            last = now
            line = f"[{name}] {what}: {done:,.0f} of {total:,}, {now - start:.0f} s"
            sys.stderr.write(f"{line}\n")

    return progress
