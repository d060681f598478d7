"""The calibration of a model as a graph, in the way of scikit-learn's displays."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

from ogive._validate import as_array
from ogive.curve import Curve
from ogive.diagrams import BinnedReliability, CumulativeDifference, Reliability
from ogive.errors import InvalidType, UnknownName, need
from ogive.plotting.figures import draw
from ogive.predictions import Predictions, kind_or_default
from ogive.studies import CURVE_GRAPHS

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ogive._typing import ArrayLike, Kind, WeightKind


class CurveDisplay:
    """The graph of a curve: the cumulative difference, or a reliability diagram.

    Build it with `from_predictions` or `from_estimator`; all that is drawn is in `curve` and
    `diagram`.

    Parameters
    ----------
    curve : Curve
    graph : {"difference", "reliability", "bins"}
        Cumulative outcomes minus scores; probability against score without bins; with bins.
    method : str
        What is fitted for ``"reliability"``.
    name : str, optional
        The model's name, for the title.

    Attributes
    ----------
    diagram : CumulativeDifference, Reliability or BinnedReliability
        The numbers.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    artists_ : list
        What `plot` drew.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=500)
    >>> display = CurveDisplay.from_predictions(rng.uniform(size=500) < p, p)
    >>> display.diagram.title.startswith("KS")
    True
    """

    def __init__(
        self,
        curve: Curve,
        *,
        graph: str = "difference",
        method: str = "spline",
        name: str | None = None,
    ) -> None:
        if graph not in CURVE_GRAPHS:
            raise UnknownName.among("graph", graph, CURVE_GRAPHS)
        self.curve = curve
        self.graph = graph
        self.name = name
        self.diagram: CumulativeDifference | Reliability | BinnedReliability
        if graph == "difference":
            self.diagram = CumulativeDifference.from_curve(curve, label=name or "")
        elif graph == "reliability":
            self.diagram = Reliability.from_curve(curve, method)
        else:
            self.diagram = BinnedReliability.from_curve(curve)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        kind: Kind | None = None,
        view: str | None = None,
        sample_weight: ArrayLike | None = None,
        weight_kind: WeightKind = "repetition",
        classes: ArrayLike | None = None,
        graph: str = "difference",
        method: str = "spline",
        name: str | None = None,
        ax: Axes | None = None,
    ) -> CurveDisplay:
        """Draw predictions against their outcomes.

        Parameters
        ----------
        y_true : array-like, (N,)
        y_prob : array-like, (N,) or (N, K)
            Probabilities, or logits with ``kind="logits"``. 1-D: of the second class.
        kind : {"probs", "logits"}
            What a matrix holds, as in `ogive.measure`; 1-D: probabilities, unless said.
        view : str, optional
            As in `ogive.measure`. Two columns are drawn as ``"class-1"``, as scikit-learn
            does; other matrices as ``"top-1"``.
        sample_weight, weight_kind, classes : optional
            As in `ogive.Predictions`.
        graph, method, name :
            As in the class.
        ax : matplotlib Axes, optional
            Default: a new figure, which is not shown.
        """
        kind = kind_or_default(as_array(y_prob, "y_prob"), kind, "y_prob")
        how: Any = {"sample_weight": sample_weight, "weight_kind": weight_kind}
        preds = Predictions(y_prob, y_true, kind=kind, classes=classes, **how)
        two = preds.K == 2 and not preds.one_column  # noqa: PLR2004
        curve = Curve.from_predictions(preds, view or ("class-1" if two else None))
        return cls(curve, graph=graph, method=method, name=name).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,  # noqa: ANN401 - anything with predict_proba
        X: ArrayLike,
        y: ArrayLike,
        *,
        name: str | None = None,
        **options: Any,  # noqa: ANN401
    ) -> CurveDisplay:
        """Draw what a fitted classifier says about X; the options are `from_predictions`'s."""
        if not hasattr(estimator, "predict_proba"):
            msg = f"`estimator` must have predict_proba, and {type(estimator).__name__} has not."
            raise InvalidType(msg)
        probs = estimator.predict_proba(X)
        known = getattr(estimator, "classes_", None)
        options = {
            "kind": "probs",
            "classes": known,
            "name": name or type(estimator).__name__,
        } | options
        return cls.from_predictions(y, probs, **options)

    def plot(self, ax: Axes | None = None) -> CurveDisplay:
        """Draw on an Axes, or in a new figure that is not shown; return self."""
        need("matplotlib", extra="plot")
        from matplotlib.figure import Figure  # noqa: PLC0415 - an optional package

        if ax is None:
            ax = Figure(figsize=(5.0, 3.75), layout="constrained").subplots()
        self.ax_: Axes = ax
        self.figure_: Figure = ax.figure  # type: ignore[assignment]
        self.artists_: list[Artist] = draw(self.diagram, ax)
        if self.graph != "difference" and self.name:
            ax.set_title(self.name, fontsize=9.5, loc="left")
        return self

    def _repr_png_(self) -> bytes | None:
        """Show the figure where a notebook would show the object."""
        if not hasattr(self, "figure_"):
            return None
        out = BytesIO()
        self.figure_.savefig(out, format="png", dpi=110)
        return out.getvalue()
