"""The calibration of a model as a graph, in the way of scikit-learn's displays."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.curve import Curve
from ogive.diagrams import BinnedReliability, CumulativeDifference, Reliability
from ogive.errors import InvalidInput, InvalidType, UnknownName, need
from ogive.metrics.binned import BINS
from ogive.plotting.figures import panels_of
from ogive.plotting.marks import Bars, Dots, Label, Segment, axis
from ogive.rows.check import as_array
from ogive.rows.predictions import Predictions, kind_or_default
from ogive.studies import CURVE_GRAPHS

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from ogive._typing import ArrayLike, Kind, WeightKind
    from ogive.plotting.marks import Mark

#: Bins of equal width or of equally many rows, under scikit-learn's names and under ours.
STRATEGIES = {"uniform": "width", "quantile": "mass"}
#: Colours of several models on one Axes, by Okabe and Ito; the first is that of one model.
_COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARK = "ogive"  # gid of the line of each model


class CurveDisplay:
    """The graph of a curve: the cumulative difference, or a reliability diagram.

    Build it with `from_predictions` or `from_estimator`, whose arguments are those of
    scikit-learn's `CalibrationDisplay` where they mean the same. All that is drawn is in `curve`,
    `diagram` and `bins`.

    Parameters
    ----------
    curve : Curve
    graph : {"difference", "reliability", "bins"}, optional
        Cumulative outcomes minus scores; probability against score without bins, with its 95 %
        band; with bins. Default: "difference", or "reliability" if `n_bins` or `strategy` is given.
    method : str
        What is fitted for ``"reliability"``.
    name : str, optional
        The model's name, for the title or the legend.
    n_bins : int, optional
        Number of bins of ``"bins"`` (default 15). In ``"reliability"`` their dots are drawn too.
    strategy : {"uniform", "quantile"}, optional
        Bins of equal width (the default), or of equally many rows.

    Attributes
    ----------
    diagram : CumulativeDifference, Reliability or BinnedReliability
        The numbers.
    bins : BinnedReliability or None
        The bins that are drawn.
    prob_true, prob_pred : arrays
        The share of outcomes that are 1 and the mean score, bin by bin.
    line_ : matplotlib Line2D or None
        The line of the model; None for ``"bins"``.
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
    >>> CurveDisplay.from_predictions(rng.uniform(size=500) < p, p, n_bins=5).prob_pred.round(1)
    array([0.1, 0.3, 0.5, 0.7, 0.9])
    """

    def __init__(
        self,
        curve: Curve,
        *,
        graph: str | None = None,
        method: str = "spline",
        name: str | None = None,
        n_bins: int | None = None,
        strategy: str | None = None,
    ) -> None:
        binned = n_bins is not None or strategy is not None
        graph = graph or ("reliability" if binned else "difference")
        if graph not in CURVE_GRAPHS:
            raise UnknownName.among("graph", graph, CURVE_GRAPHS)
        if strategy is not None and strategy not in STRATEGIES:
            raise UnknownName.among("strategy", strategy, STRATEGIES)
        if binned and graph == "difference":
            msg = "`n_bins` and `strategy` do not apply to the graph 'difference'. Leave them out."
            raise InvalidInput(msg)
        self.curve = curve
        self.graph = graph
        self.name = name
        spacing = STRATEGIES[strategy or "uniform"]
        self._all_bins = BinnedReliability.from_curve(curve, n_bins or BINS, spacing=spacing)
        self.bins = self._all_bins if binned or graph == "bins" else None
        self.diagram: CumulativeDifference | Reliability | BinnedReliability
        if graph == "difference":
            self.diagram = CumulativeDifference.from_curve(curve, label=name or "")
        elif graph == "reliability":
            self.diagram = Reliability.from_curve(curve, method)
        else:
            self.diagram = self._all_bins

    @property
    def prob_true(self) -> Any:  # noqa: ANN401 - an array
        """The share of outcomes that are 1 in each bin."""
        return self._all_bins.share

    @property
    def prob_pred(self) -> Any:  # noqa: ANN401 - an array
        """The mean score of each bin."""
        return self._all_bins.score

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        n_bins: int | None = None,
        strategy: str | None = None,
        pos_label: Any = None,  # noqa: ANN401 - a label
        name: str | None = None,
        ref_line: bool = True,
        ax: Axes | None = None,
        kind: Kind | None = None,
        view: str | None = None,
        sample_weight: ArrayLike | None = None,
        weight_kind: WeightKind = "repetition",
        classes: ArrayLike | None = None,
        graph: str | None = None,
        method: str = "spline",
        **kwargs: Any,  # noqa: ANN401 - matplotlib's
    ) -> CurveDisplay:
        """Draw predictions against their outcomes.

        Parameters
        ----------
        y_true : array-like, (N,)
        y_prob : array-like, (N,) or (N, K)
            Probabilities, or logits with ``kind="logits"``. 1-D: of the second class.
        pos_label : label, optional
            The class that is drawn against the rest. 1-D: the label that counts as 1.
        kind : {"probs", "logits"}
            What a matrix holds, as in `ogive.measure`; 1-D: probabilities, unless given.
        view : str, optional
            As in `ogive.measure`. Two columns are drawn as ``"class-1"``, as scikit-learn
            does; other matrices as ``"top-1"``.
        sample_weight, weight_kind, classes : optional
            As in `ogive.Predictions`.
        graph, method, name, n_bins, strategy :
            As in the class.
        ref_line, ax, **kwargs :
            As in `plot`.
        """
        if pos_label is not None and view is not None:
            msg = "`pos_label` and `view` both say what is drawn: give one of them."
            raise InvalidInput(msg)
        values = as_array(y_prob, "y_prob")
        if pos_label is not None and values.ndim == 1:
            y_true = (_known(as_array(y_true, "y_true"), pos_label) == pos_label).astype(np.int64)
        kind = kind_or_default(values, kind, "y_prob")
        how: Any = {"sample_weight": sample_weight, "weight_kind": weight_kind}
        preds = Predictions(y_prob, y_true, kind=kind, classes=classes, **how)
        if preds.K == 2 and not preds.one_column:  # noqa: PLR2004
            view = view or "class-1"
        if pos_label is not None and not preds.one_column:
            at = np.flatnonzero(_known(preds.classes, pos_label) == pos_label)
            view = f"class-{at[0]}"
        curve = Curve.from_predictions(preds, view)
        chosen: Any = {"graph": graph, "method": method, "n_bins": n_bins, "strategy": strategy}
        return cls(curve, name=name, **chosen).plot(ax, ref_line=ref_line, **kwargs)

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

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        ref_line: bool = True,
        **kwargs: Any,  # noqa: ANN401 - matplotlib's
    ) -> CurveDisplay:
        """Draw on an Axes, or in a new figure that is not shown; return self.

        Several models on one Axes get a colour each and a legend.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: a new figure.
        name : str, optional
            Default: that of the display.
        ref_line : bool
            Whether to draw the line of perfect calibration.
        **kwargs
            Properties of the model's line, as of ``Axes.plot``: ``color``, ``linestyle``, ….
        """
        need("matplotlib", extra="plot")
        from matplotlib.figure import Figure  # noqa: PLC0415 - an optional package

        from ogive.plotting.axes import draw_panel  # noqa: PLC0415

        if ax is None:
            ax = Figure(figsize=(5.0, 3.75), layout="constrained").subplots()
        self.name = name or self.name
        others = [line for line in ax.get_lines() if line.get_gid() == _MARK]
        limits = (ax.get_xlim(), ax.get_ylim()) if others else None
        self.ax_: Axes = ax
        self.figure_: Figure = ax.figure  # type: ignore[assignment]
        panel = panels_of(self.diagram)[0]
        marks = tuple(self._marks(panel.marks, ref_line=ref_line, alone=not others))
        self.artists_: list[Artist] = draw_panel(replace(panel, marks=marks), ax)
        self.line_ = self._styled(_COLOURS[len(others) % len(_COLOURS)], kwargs)
        if limits is not None:
            ax.set_title("", loc="left")
            ax.set_xlim(*_union(limits[0], ax.get_xlim()))
            ax.set_ylim(*_union(limits[1], ax.get_ylim()))
            ticks = axis("", *ax.get_ylim(), percent=self.graph == "difference").ticks
            ax.set_yticks([at for at, _ in ticks], [text for _, text in ticks])
            ax.legend(handles=[*others, self.line_], loc="best", frameon=False, fontsize=8.5)
            for text in [text for text in ax.texts if text not in self.artists_]:
                text.remove()  # the names of one model: the legend has those of all
        elif self.graph != "difference" and self.name:
            ax.set_title(self.name, fontsize=9.5, loc="left", parse_math=False)
        return self

    def _marks(self, marks: tuple[Mark, ...], *, ref_line: bool, alone: bool) -> list[Mark]:
        """Return what is drawn; beside another model no words, columns and reference again."""
        unwanted: list[type] = [] if ref_line and alone else [Segment]
        unwanted += [] if alone else [Label, Bars]
        kept = [mark for mark in marks if not isinstance(mark, tuple(unwanted))]
        if not ref_line:
            kept = [m for m in kept if getattr(m, "text", "") != "- - perfect calibration"]
        if self.bins is not None and self.graph == "reliability":
            b = self.bins
            kept.append(Dots(b.score, b.share, "hits", low=b.low, high=b.high))
        return kept

    def _styled(self, colour: str, kwargs: dict[str, Any]) -> Line2D:
        """Give the line of the model, and all that is in its colour, their properties."""
        from matplotlib.colors import same_color  # noqa: PLC0415 - an optional package
        from matplotlib.lines import Line2D  # noqa: PLC0415

        lines = [one for one in self.artists_ if isinstance(one, Line2D)]
        colour = kwargs.get("color", kwargs.get("c", colour))
        own = [line for line in lines if same_color(line.get_color(), _COLOURS[0])]
        for artist in self.artists_:
            if artist in own or (type(artist).__name__.endswith("Collection")):
                _recolour(artist, colour)
        chosen = max(own, key=lambda line: len(np.atleast_1d(line.get_xdata())))
        chosen.set(**{"gid": _MARK, "label": self.name or self.curve.view} | kwargs)
        return chosen

    def _repr_png_(self) -> bytes | None:
        """Show the figure where a notebook would show the object."""
        if not hasattr(self, "figure_"):
            return None
        out = BytesIO()
        self.figure_.savefig(out, format="png", dpi=110)
        return out.getvalue()


def _known(labels: Any, pos_label: Any) -> Any:  # noqa: ANN401 - an array, and one of its values
    """Return labels among which there is one that counts as 1; refuse others."""
    labels = np.asarray(labels)
    if not np.any(labels == pos_label):
        names = ", ".join(repr(one) for one in np.unique(labels)[:5].tolist())
        msg = f"`pos_label` {pos_label!r} is no label here: {names}."
        raise InvalidInput(msg)
    return labels


def _union(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return min(a[0], b[0]), max(a[1], b[1])


def _recolour(artist: Any, colour: Any) -> None:  # noqa: ANN401 - of matplotlib
    """Give a line, a band or the whiskers of dots another colour, as opaque as before."""
    from matplotlib.colors import same_color, to_hex  # noqa: PLC0415 - an optional package

    if hasattr(artist, "get_facecolor") and len(artist.get_facecolor()):
        if same_color(to_hex(artist.get_facecolor()[0]), _COLOURS[0]):
            artist.set_facecolor(colour)
    else:
        artist.set_color(colour)
