"""Measure: every measure of a view, each with its uncertainty, and a verdict in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from ogive.curve import Curve
from ogive.errors import InvalidInput, InvalidType
from ogive.metrics import MEASURES
from ogive.metrics.binned import BINS, BinReader, as_edges
from ogive.metrics.classwise import classwise
from ogive.metrics.corp import PoolReader, decomposition_of
from ogive.metrics.kde import kde_error
from ogive.metrics.onepass import read
from ogive.metrics.proper import MeanReader, NllReader, SpiegelhalterReader, spiegelhalter_of
from ogive.metrics.significance import TestReader, ks_of, kuiper_of
from ogive.metrics.vector import vector_scores
from ogive.predictions import Predictions
from ogive.studies.verdict import verdict

if TYPE_CHECKING:
    from ogive._typing import ArrayLike
    from ogive.metrics.classwise import Classwise
    from ogive.metrics.significance import CalibrationTest
    from ogive.metrics.vector import VectorScores
    from ogive.views import View

VECTOR = "vector"
ALL = "all"


@dataclass(frozen=True, slots=True, repr=False)
class Measurement:
    """All measures of one view. Fractions, not percent; `to_dict` has the command line's keys.

    The tests `ks_test` and `kuiper_test` hold what is repeated here under ``ks_…`` and
    ``kuiper_…``. `more` holds measures that have joined `ogive.metrics.MEASURES` since.
    """

    view: str
    n: float
    accuracy: float
    mean_score: float
    ks_test: CalibrationTest
    kuiper_test: CalibrationTest
    ece: float
    mce: float
    ece_l2: float
    ece_debiased: float
    kde_ece: float
    kde_ece_method: str
    smooth_ece: float
    brier: float
    nll: float
    mcb: float
    dsc: float
    unc: float
    spiegelhalter: float
    spiegelhalter_pvalue: float
    verdict: str
    brier_vector: float | None = None
    nll_vector: float | None = None
    more: dict[str, float] = field(default_factory=dict)

    @property
    def ks(self) -> float:
        """The KS error."""
        return self.ks_test.value

    @property
    def kuiper(self) -> float:
        """The Kuiper error."""
        return self.kuiper_test.value

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers under the keys of ``ogive measure --json``; None for NaN."""
        values = asdict(self)
        ks, kuiper = values.pop("ks_test"), values.pop("kuiper_test")
        head = {key: values.pop(key) for key in ("view", "n", "accuracy", "mean_score")}
        more = values.pop("more")
        vector = {key: values.pop(key) for key in ("brier_vector", "nll_vector")}
        result = head | {
            "ks": ks.pop("value"),
            **{f"ks_{key}": value for key, value in ks.items()},
            "kuiper": kuiper.pop("value"),
            **{f"kuiper_{key}": kuiper[key] for key in _KUIPER},
        }
        result |= values | more
        if self.brier_vector is not None:
            result |= vector
        return {key: _plain(value) for key, value in result.items()}

    def __repr__(self) -> str:
        from ogive.studies.layout import one_view  # noqa: PLC0415 - only to be read by people

        return one_view(self)

    def _repr_html_(self) -> str:
        from ogive.studies.layout import one_view_html  # noqa: PLC0415 - as above

        return one_view_html(self)


_KUIPER = ("pvalue", "low", "high", "expected", "detectable", "method")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Measurements:
    """The measurements of all views of the same predictions.

    Attributes
    ----------
    views : tuple of Measurement
    classes : Classwise or None
        Every class against the rest, for matrices.
    """

    views: tuple[Measurement, ...]
    classes: Classwise | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"views": [...]}``, plain numbers; every view has the same keys.

        The last, ``"class-wise"``, holds means over classes under those of the usual keys that
        have one (None under the others), and what only it has.
        """
        views = [view.to_dict() for view in self.views]
        if self.classes is not None:
            views.append(dict.fromkeys(views[0]) | _summary(self.classes))
        return {"views": views}

    def __repr__(self) -> str:
        from ogive.studies.layout import all_views  # noqa: PLC0415 - only to be read by people

        return all_views(self)

    def _repr_html_(self) -> str:
        from ogive.studies.layout import all_views_html  # noqa: PLC0415 - as above

        return all_views_html(self)


def measure(
    data: Predictions | Curve,
    view: str | View | None = None,
    *,
    bins: ArrayLike | int = BINS,
    seed: int = 0,
) -> Any:  # noqa: ANN401
    """Measure the calibration of predictions, or of a curve.

    Parameters
    ----------
    data : Predictions or Curve
        Predictions need labels.
    view : str, optional
        ``"top-r"``, ``"within-top-r"``, ``"class-k"`` or ``"score"``; ``"vector"`` for top-1
        with the proper scores of whole vectors; ``"all"`` for every view at once. Default:
        ``"top-1"`` for matrices, ``"score"`` for one column.
    bins : int or array-like
        Bins of ECE and MCE: how many of equal width, or their edges.
    seed : int
        Of the simulated p-values.

    Returns
    -------
    Measurement, or Measurements for ``view="all"``

    >>> import numpy as np
    >>> from ogive import Curve
    >>> scores = (np.arange(1000) + 0.5) / 1000
    >>> result = measure(Curve.from_scores(scores, scores > 0.5))
    >>> round(result.ks, 3), round(result.ece, 3), result.accuracy
    (0.125, 0.218, 0.5)
    """
    if isinstance(data, Curve):
        _check_same_view(data, view)
        one = _measure_curve(data, bins, seed)
        return Measurements((one,)) if view == ALL else one
    if not isinstance(data, Predictions):
        msg = (
            f"`data` must be Predictions or a Curve, not {type(data).__name__}; build one with "
            "Predictions(values, labels, kind=...) or Curve.from_scores(scores, hits)."
        )
        raise InvalidType(msg)
    if view == ALL:
        return _measure_all(data, bins, seed)
    return _measure_view(data, view, bins, seed, _vectors(data))


def _measure_all(preds: Predictions, bins: ArrayLike | int, seed: int) -> Measurements:
    vectors = _vectors(preds)
    views = tuple(_measure_view(preds, name, bins, seed, vectors) for name in _views(preds))
    return Measurements(views, None if preds.one_column else classwise(preds, bins=bins, seed=seed))


def _vectors(preds: Predictions) -> VectorScores | None:
    """Score whole vectors, of matrices only."""
    return None if preds.one_column else vector_scores(preds)


def _views(preds: Predictions) -> list[str]:
    """Return the views of "all": score, or top-1..3 and within-top-2..3 as K allows."""
    if preds.one_column:
        return ["score"]
    top = [f"top-{r}" for r in (1, 2, 3) if r <= preds.K]
    return top + [f"within-top-{r}" for r in (2, 3) if r < preds.K]


def _measure_view(
    preds: Predictions,
    view: str | View | None,
    bins: ArrayLike | int,
    seed: int,
    vectors: VectorScores | None,
) -> Measurement:
    whole = view == VECTOR
    one = _measure_curve(Curve.from_predictions(preds, None if whole else view), bins, seed)
    if vectors is None:
        return one
    one = replace(one, brier_vector=vectors.brier, nll_vector=vectors.nll)
    return replace(one, view=VECTOR, brier=vectors.brier, nll=vectors.nll) if whole else one


def _measure_curve(curve: Curve, bins: ArrayLike | int, seed: int) -> Measurement:
    """Measure one curve: one pass for all that a pass can give, then the rest of the table."""
    values = one_pass(curve, bins, seed)
    kde = kde_error(curve)
    known = {*values, "ks", "kuiper", "kde_ece"}
    more = {key: of(curve) for key, of in MEASURES.items() if key not in known}
    return Measurement(
        view=curve.view,
        n=curve.n,
        **values,
        kde_ece=kde.value,
        kde_ece_method=kde.method,
        smooth_ece=more.pop("smooth_ece"),
        verdict=verdict(curve, values["ks_test"], values["accuracy"], values["mean_score"]),
        more=more,
    )


def one_pass(curve: Curve, bins: ArrayLike | int = BINS, seed: int = 0) -> dict[str, Any]:
    """Return all that one pass over the curve gives, under the names of `Measurement`."""
    tests, means, log_loss = TestReader(), MeanReader(), NllReader()
    binned, pools, z = BinReader(as_edges(curve, bins)), PoolReader(), SpiegelhalterReader()
    read(curve, tests, means, log_loss, binned, pools, z)
    cells, z_test = binned.bins(), spiegelhalter_of(z)
    parts = decomposition_of(pools, tests.brier.value, "brier")
    return {
        "accuracy": means.hits / means.n,
        "mean_score": means.score / means.n,
        "ks_test": ks_of(curve, tests, seed=seed),
        "kuiper_test": kuiper_of(curve, tests, seed=seed),
        "ece": cells.error(),
        "mce": cells.error("max"),
        "ece_l2": cells.error("l2"),
        "ece_debiased": cells.debiased(),
        "brier": tests.brier.value,
        "nll": log_loss.value,
        "mcb": parts.mcb,
        "dsc": parts.dsc,
        "unc": parts.unc,
        "spiegelhalter": z_test.z,
        "spiegelhalter_pvalue": z_test.pvalue,
    }


def _check_same_view(curve: Curve, view: str | View | None) -> None:
    name = view if view is None or isinstance(view, str) else view.name
    if name not in {None, ALL, curve.view}:
        msg = (
            f"`view` is {name!r}, but the curve is of {curve.view!r}: "
            "a curve has one view. Pass the Predictions to measure another."
        )
        raise InvalidInput(msg)


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON values
    """Return a plain Python value, None for what JSON cannot say."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, bool | int):
        return int(value)
    number = float(value)
    return number if isfinite(number) else None


def _summary(classes: Classwise) -> dict[str, Any]:
    """Return the class-wise summary under the command line's keys."""
    off = int(classes.off.sum())
    worst_ks, worst_ece = int(classes.ks.argmax()), int(classes.ece.argmax())
    return {
        "view": "class-wise",
        "n": _plain(classes.n),
        "classes": classes.ks.size,
        "ks": float(classes.ks.mean()),
        "ks_max": float(classes.ks.max()),
        "ks_max_class": str(classes.classes[worst_ks]),
        "ece": float(classes.ece.mean()),
        "ece_max": float(classes.ece.max()),
        "ece_max_class": str(classes.classes[worst_ece]),
        "brier": float(classes.brier.mean()),
        "classes_off": off,
        "verdict": f"{off} of {classes.ks.size} classes are off (KS tests at 5 %, Holm).",
    }
