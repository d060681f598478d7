"""Calibrators of curve methods: one class for each, all with the same face."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from sklearn.utils.validation import check_is_fitted

from ogive.calibrators.grouped_map import GroupedMap
from ogive.calibrators.histogram import HISTOGRAM_BINS
from ogive.calibrators.multiclass.compose import fit_multiclass
from ogive.calibrators.spline_map import SplineMap
from ogive.errors import InvalidInput
from ogive.estimators._calibrator import _Calibrator, _threads
from ogive.estimators.grouped import (
    ScoredInGroups,
    fit_grouped,
    grouped_probabilities,
    without_columns,
)
from ogive.estimators.judged import Judged

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from ogive._typing import AnyArray, ArrayLike, FloatArray, Kind, Runout, Target, WeightKind
    from ogive.calibrators.group_summary import GroupSummary
    from ogive.calibrators.histogram import Spacing
    from ogive.calibrators.impossible import Impossible
    from ogive.calibrators.matrix_map import MatrixMap
    from ogive.calibrators.multiclass.summary import VectorSummary
    from ogive.calibrators.spline_summary import SplineSummary
    from ogive.rows.predictions import Predictions

Multiclass: TypeAlias = Literal["keep", "free", "ranks", "ovr", "every-rank"]


class _CurveCalibrator(_Calibrator):
    """A calibrator made of a method that reads a curve: see `PlattCalibrator`."""

    _method: ClassVar[str]

    def __init__(
        self,
        *,
        kind: Kind | None = None,
        multiclass: Multiclass = "keep",
        classes: ArrayLike | None = None,
        n_jobs: int | None = None,
        impossible: Impossible = None,
        weight_kind: WeightKind = "repetition",
    ) -> None:
        self.kind = kind
        self.multiclass = multiclass
        self.classes = classes
        self.n_jobs = n_jobs
        self.impossible = impossible
        self.weight_kind = weight_kind

    def _options(self) -> dict[str, Any]:
        """Return the parameters that are the method's own."""
        return {}

    def _fit_map(self, preds: Predictions) -> MatrixMap:
        n_jobs = _threads(self.n_jobs)
        options = self._options()
        how: Any = {"multiclass": self.multiclass, "n_jobs": n_jobs, "warn": False, **options}
        return fit_multiclass(preds, self._method, **how)


class SplineCalibrator(ScoredInGroups, _CurveCalibrator):
    """The default: a penalised spline in the log-odds, found from the data.

    Parameters
    ----------
    monotone : bool
        Make the maps rise everywhere.
    groups : str or list of str, optional
        The columns of X, a table, that hold the group of each row: a country, a device. Each group
        is then calibrated as far as its rows differ (`ogive.fit_groups`), for two classes. Or give
        the groups beside X, to `fit`, `predict_proba` and `predict`: ``sample_groups``.
    kind, multiclass, classes, n_jobs, impossible, weight_kind
        As for `PlattCalibrator`.

    Attributes
    ----------
    spline_ : SplineMap
        The map of the one column, of the top class, or of the first class or rank; with groups,
        the map of all rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> SplineCalibrator(kind="probs").fit(p, y).summary().leave_alone   # nothing to mend
    True
    >>> SplineCalibrator(kind="probs").fit(np.sqrt(p), y).summary().leave_alone
    False
    """

    _method = "spline"

    def __init__(
        self,
        *,
        monotone: bool = False,
        groups: str | list[str] | None = None,
        kind: Kind | None = None,
        multiclass: Multiclass = "keep",
        classes: ArrayLike | None = None,
        n_jobs: int | None = None,
        impossible: Impossible = None,
        weight_kind: WeightKind = "repetition",
    ) -> None:
        self.monotone = monotone
        self.groups = groups
        super().__init__(
            kind=kind,
            multiclass=multiclass,
            classes=classes,
            n_jobs=n_jobs,
            impossible=impossible,
            weight_kind=weight_kind,
        )

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        sample_groups: ArrayLike | None = None,
        *,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """Fit to the outputs of a model on rows it was not trained on.

        Parameters
        ----------
        X, y, sample_weight, clusters
            As for `PlattCalibrator`.
        sample_groups : array-like, (N,) or (N, k), or a table, optional
            The group of each row; several columns have effects of their own, and together.
        """
        X, self._sample_groups = self._split(X, sample_groups)
        super().fit(X, y, sample_weight, clusters=clusters)
        del self._sample_groups
        return self

    def predict_proba(self, X: ArrayLike, sample_groups: ArrayLike | None = None) -> FloatArray:
        """Return calibrated probabilities, (N, K): every row sums to 1."""
        check_is_fitted(self)
        X, groups = self._split(X, sample_groups)
        if isinstance(self.map_, GroupedMap):
            return grouped_probabilities(self.map_, self._predictions(X), groups, self.impossible)
        if groups is not None:
            msg = "`sample_groups` are given, but the calibrator was fitted without groups."
            raise InvalidInput(msg)
        return super().predict_proba(X)

    def predict(self, X: ArrayLike, sample_groups: ArrayLike | None = None) -> AnyArray:
        """Return the most probable class of each row; of equal ones, that of the lowest index."""
        most: AnyArray = self.predict_proba(X, sample_groups).argmax(axis=1)
        return self.classes_[most]

    def _split(self, X: ArrayLike, sample_groups: ArrayLike | None) -> tuple[ArrayLike, Any]:
        """Return X without the columns of groups, and the groups."""
        if self.groups is None:
            return X, sample_groups
        if sample_groups is not None:
            msg = "give `groups`, the names of columns of X, or `sample_groups`, not both."
            raise InvalidInput(msg)
        return without_columns(X, self.groups)

    def _fitted(self, preds: Predictions) -> Any:  # noqa: ANN401 - a fitted map
        if self._sample_groups is None:
            return super()._fitted(preds)
        if self.monotone:
            msg = "groups have no maps that rise everywhere: leave `monotone` out."
            raise InvalidInput(msg)
        gamma = fit_grouped(preds, self._sample_groups)
        self.spline_: SplineMap = gamma.overall
        return gamma

    def _options(self) -> dict[str, Any]:
        return {"monotone": self.monotone}

    def _fit_map(self, preds: Predictions) -> MatrixMap:
        fitted = super()._fit_map(preds)
        found = getattr(fitted, "top", None) or next(iter(getattr(fitted, "maps", ())), None)
        assert isinstance(found, SplineMap)  # noqa: S101 - every way is made of splines
        self.spline_ = found
        marked = replace(fitted, impossible=self.impossible)
        self._judged = Judged(marked, preds, self._method, _threads(self.n_jobs))
        return fitted

    def summary(self) -> SplineSummary | VectorSummary | GroupSummary:
        """Tell in words and numbers what the map that is applied does to the scores.

        Its verdict is that of `ogive fit` on the same rows. Three classes or more are
        cross-validated for it, when it is first asked for.
        """
        check_is_fitted(self)
        if isinstance(self.map_, GroupedMap):
            return self.map_.summary()
        return self._judged.summary()


class PaperSplineCalibrator(_CurveCalibrator):
    """The paper's spline: the derivative of a least-squares spline through the curve.

    Parameters
    ----------
    knots, runout, target, constraint
        As for `ogive.fit_paper_spline`.
    kind, multiclass, classes, n_jobs, impossible, weight_kind
        As for `PlattCalibrator`.
    """

    _method = "paper-spline"

    def __init__(
        self,
        *,
        knots: int | ArrayLike = 6,
        runout: Runout = "natural",
        target: Target = "residual",
        constraint: str | Iterable[str] | None = None,
        kind: Kind | None = None,
        multiclass: Multiclass = "keep",
        classes: ArrayLike | None = None,
        n_jobs: int | None = None,
        impossible: Impossible = None,
        weight_kind: WeightKind = "repetition",
    ) -> None:
        self.knots = knots
        self.runout = runout
        self.target = target
        self.constraint = constraint
        super().__init__(
            kind=kind,
            multiclass=multiclass,
            classes=classes,
            n_jobs=n_jobs,
            impossible=impossible,
            weight_kind=weight_kind,
        )

    def _options(self) -> dict[str, Any]:
        names = ("knots", "runout", "target", "constraint")
        return {name: getattr(self, name) for name in names}


class PlattCalibrator(_CurveCalibrator):
    """Platt's method: a logistic curve in the log-odds.

    Parameters
    ----------
    kind : {None, "logits", "probs"}
        What the columns of X are. None is logits; `fit` then refuses values that look like
        probabilities, which under ``"logits"`` raise a `LooksLikeProbabilities` warning.
    multiclass : {"keep", "free", "ranks", "ovr", "every-rank"}
        How full vectors are made. ``"keep"``: the most probable class never changes; by class
        structure for the spline, by ranks for other methods. ``"free"`` (spline only): by class
        structure, it may change, for the best likelihood. ``"ranks"``: by ranks, the fastest.
        ``"ovr"``: one against the rest, divided by the sum, as scikit-learn does.
        ``"every-rank"``: the paper's way, every rank on its own. One column has one curve, that
        of class 1, and the decision may move.
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
    classes_ : (K,) array
        The class of each column.
    class_shares_ : (K,) array
        The share of each class in the rows of the fit, from which `with_base_rate` starts.
    map_ : MatrixMap
        What was fitted, for `ogive.save`.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from ogive import PlattCalibrator
    >>> rng = np.random.default_rng(0)
    >>> logits = 4 * rng.normal(size=(2000, 3))
    >>> y = (logits / 4 + rng.gumbel(size=(2000, 3))).argmax(axis=1)     # four times too sure
    >>> cal = PlattCalibrator().fit(logits, y)
    >>> cal.predict_proba([[4.0, 0.0, 0.0]]).round(2)
    array([[0.58, 0.21, 0.21]])
    """

    _method = "platt"


class IsotonicCalibrator(_CurveCalibrator):
    """Isotonic regression: the best rising function, straight between its steps.

    Parameters
    ----------
    kind, multiclass, classes, n_jobs, impossible, weight_kind
        As for `PlattCalibrator`.
    """

    _method = "isotonic"


class VennAbersCalibrator(_CurveCalibrator):
    """Venn–Abers prediction: isotonic regression, once with each outcome of the new row.

    `predict_interval` returns the pair of probabilities, and `predict_proba` the one between them
    whose largest regret in log loss is least.

    Parameters
    ----------
    kind, multiclass, classes, n_jobs, impossible, weight_kind
        As for `PlattCalibrator`.

    Examples
    --------
    >>> cal = VennAbersCalibrator(kind="probs").fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> cal.predict_interval([0.5]).round(2), cal.predict_proba([0.5])
    (array([[0.33, 0.67]]), array([[0.5, 0.5]]))
    """

    _method = "venn-abers"


class BetaCalibrator(_CurveCalibrator):
    """Beta calibration: a logistic curve in log p and −log(1 − p).

    Parameters
    ----------
    kind, multiclass, classes, n_jobs, impossible, weight_kind
        As for `PlattCalibrator`.
    """

    _method = "beta"


class HistogramCalibrator(_CurveCalibrator):
    """Histogram binning: the share of outcomes that are 1 in each bin of scores.

    Parameters
    ----------
    bins : int
        How many bins.
    spacing : {"mass", "width"}
        Bins of about equal numbers of rows, or of equal width in the score.
    kind, multiclass, classes, n_jobs, impossible, weight_kind
        As for `PlattCalibrator`.
    """

    _method = "histogram"

    def __init__(
        self,
        *,
        bins: int = HISTOGRAM_BINS,
        spacing: Spacing = "mass",
        kind: Kind | None = None,
        multiclass: Multiclass = "keep",
        classes: ArrayLike | None = None,
        n_jobs: int | None = None,
        impossible: Impossible = None,
        weight_kind: WeightKind = "repetition",
    ) -> None:
        self.bins = bins
        self.spacing = spacing
        super().__init__(
            kind=kind,
            multiclass=multiclass,
            classes=classes,
            n_jobs=n_jobs,
            impossible=impossible,
            weight_kind=weight_kind,
        )

    def _options(self) -> dict[str, Any]:
        return {"bins": self.bins, "spacing": self.spacing}
