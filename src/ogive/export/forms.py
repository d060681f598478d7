r"""Every map of a score in one of two plain forms, which each export target then writes.

A score is a side and a tail (`ogive.curve.keys`). One number holds both, without loss:

.. math:: w = \text{tail} \ \ (s \le \tfrac12), \qquad w = -\text{tail} = s - 1 \ \ (s > \tfrac12) ,

exact for every float64 score. In w a map is

* `TailForm`: a polynomial on each piece of the w-axis, cut to [0, 1] (nodes, steps, identity);
* `LogOddsForm`: sigmoid of pieces in the log-odds, plus two terms of beta calibration.

A score of exactly 1 shares w = 0 with a score of exactly 0, and has its own number, `at_one`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ogive.calibrators.maps import Map, PiecewiseMap
from ogive.errors import InvalidType

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import FloatArray
    from ogive.calibrators.histogram import StepMap
    from ogive.calibrators.spline_map import Beyond

#: Between the high side (w < 0) and the low one: a high tail of the smallest float is below it.
_SIDES_MEET = -5e-324
_NO_LIMIT = 800.0  # sigmoid is 0 or 1 in float64 well before


@dataclass(frozen=True, eq=False)
class Pieces:
    """Polynomials on m + 1 pieces: of x - start, where piece j is the number of breaks below x.

    breaks : (m,) rising
    start : (m + 1,)
    powers : (degree + 1, m + 1), the constant first
    """

    breaks: FloatArray
    start: FloatArray
    powers: FloatArray


@dataclass(frozen=True, eq=False)
class TailForm:
    """Pieces in w, cut to [0, 1]; `odds` is what the odds are multiplied by after that."""

    pieces: Pieces
    at_zero: float
    at_one: float
    odds: float = 1.0

    #: Whether log-odds are used directly; if not, they are turned into a tail first, as scores are.
    direct = False
    squares, beyond = (), None  # as of a `LogOddsForm`


@dataclass(frozen=True, eq=False)
class LogOddsForm:
    r"""sigmoid(pieces(η) + side · √least(η) − falling · softplus(−η) + rising · softplus(η)).

    lowest, highest : η is cut to these first
    beyond : draws η in for the pieces: what they give beyond the log-odds of the fit
    falling, rising : a and b of beta calibration, 0 elsewhere
    limit : the argument of the sigmoid is cut to ± this
    grid : η is rounded to multiples of this; 0 for none
    direct : whether log-odds are used directly; if not, they are turned into a tail first
    odds : what the odds of the result are multiplied by
    squares, side : side · √least(η) is added to the pieces, the least of these squares: an end of
        a band
    """

    pieces: Pieces
    at_zero: float
    at_one: float
    lowest: float
    highest: float
    falling: float = 0.0
    rising: float = 0.0
    limit: float = _NO_LIMIT
    grid: float = 0.0
    direct: bool = False
    odds: float = 1.0
    squares: tuple[Pieces, ...] = ()
    side: float = 0.0
    beyond: Beyond | None = None


Form: TypeAlias = TailForm | LogOddsForm


def form_of(calibrator: Map) -> Form:
    """Return the plain form of a map of one score.

    >>> from ogive import Curve, fit_platt
    >>> form = form_of(fit_platt(Curve.from_scores([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])))
    >>> form.pieces.powers.shape, round(form.at_one, 3)
    ((2, 1), 1.0)
    """
    if isinstance(calibrator, PiecewiseMap):
        return _of_nodes(calibrator)
    if calibrator.method not in _FORMS:
        msg = f"`calibrator` is a {type(calibrator).__name__}, which cannot be exported."
        raise InvalidType(msg)
    return _FORMS[calibrator.method](calibrator)


def _of_nodes(gamma: PiecewiseMap) -> TailForm:
    """Return straight lines between nodes; in w the high side comes first, falling to the left."""
    (low_tail, low_value), (high_tail, high_value) = gamma._sides  # noqa: SLF001
    high = _lines(-high_tail[::-1], high_value[::-1])
    return TailForm(_joined(high, _lines(low_tail, low_value)), *_ends(gamma))


def _lines(x: FloatArray, y: FloatArray) -> Pieces:
    """Return the lines through nodes, constant beyond both ends."""
    kept = np.append(True, np.diff(x) > 0)
    x, y = x[kept], y[kept]
    width = np.diff(x)
    with np.errstate(over="ignore"):
        slope = np.diff(y) / width
    slope[~np.isfinite(slope)] = 0.0  # nodes nearer than 1e-308: a jump
    none = np.zeros(1)
    start = np.concatenate([x[:1], x[:-1], x[-1:]])
    powers = [np.concatenate([y[:1], y[:-1], y[-1:]]), np.concatenate([none, slope, none])]
    return Pieces(x, start, np.stack(powers))


def _joined(high: Pieces, low: Pieces) -> Pieces:
    """Put the pieces of w < 0 before those of w >= 0.

    A break at a high tail of 0 is left out, with the piece beyond it: that is `at_one`.
    """
    m = int((high.breaks < 0.0).sum())
    return Pieces(
        np.concatenate([high.breaks[:m], [_SIDES_MEET], low.breaks]),
        np.concatenate([high.start[: m + 1], low.start]),
        np.concatenate([high.powers[:, : m + 1], low.powers], axis=1),
    )


def _of_steps(gamma: StepMap) -> TailForm:
    edge, high = gamma.edge_tail, gamma.edge_high
    lows = int((~high).sum())
    low_value, high_value = gamma.value[: lows + 1], gamma.value[lows:]
    low = Pieces(edge[~high], np.zeros(lows + 1), low_value[None])
    above = Pieces(-edge[high], np.zeros(high_value.size), high_value[None])
    return TailForm(_joined(above, low), *_ends(gamma))


def _of_identity(gamma: Map) -> TailForm:
    pieces = Pieces(
        np.array([_SIDES_MEET]), np.zeros(2), np.array([[1.0, 0.0], [1.0, 1.0]])
    )  # 1 + w, then w
    return TailForm(pieces, *_ends(gamma))


def _of_platt(gamma: Any) -> LogOddsForm:  # noqa: ANN401 - a PlattMap
    line = Pieces(np.zeros(0), np.zeros(1), np.array([[gamma.intercept], [gamma.slope]]))
    return LogOddsForm(line, *_ends(gamma), gamma.lowest, gamma.highest)


def _of_beta(gamma: Any) -> LogOddsForm:  # noqa: ANN401 - a BetaMap
    constant = Pieces(np.zeros(0), np.zeros(1), np.array([[gamma.c]]))
    ends = *_ends(gamma), gamma.lowest, gamma.highest
    return LogOddsForm(constant, *ends, falling=gamma.a, rising=gamma.b)


def _of_spline(gamma: Any) -> LogOddsForm:  # noqa: ANN401 - a SplineMap
    from ogive.calibrators.spline_map import LIMIT  # noqa: PLC0415 - only where there is one

    breaks, (start, powers) = gamma.pieces()
    pieces = Pieces(breaks, start, powers)
    ends = *_ends(gamma), gamma.lowest, gamma.highest
    grid, beyond = gamma._grid, gamma.beyond  # noqa: SLF001
    return LogOddsForm(pieces, *ends, limit=LIMIT, grid=grid, direct=True, beyond=beyond)


def _of_spline_end(gamma: Any) -> LogOddsForm:  # noqa: ANN401 - a SplineEnd
    squares = tuple(Pieces(breaks, *polynomials) for breaks, polynomials in gamma.squares())
    at_zero, at_one = _ends(gamma)
    form = _of_spline(gamma.spline)
    return replace(form, squares=squares, side=gamma.side, at_zero=at_zero, at_one=at_one)


def _of_shifted(gamma: Any) -> Form:  # noqa: ANN401 - a ShiftedMap
    at_zero, at_one = _ends(gamma)
    return replace(form_of(gamma.inner), odds=gamma.odds, at_zero=at_zero, at_one=at_one)


def _ends(gamma: Map) -> tuple[float, float]:
    """Return the values of scores of exactly 0 and 1."""
    at_zero, at_one = gamma([0.0, 1.0]).tolist()
    return at_zero, at_one


_FORMS: dict[str, Callable[[Any], Form]] = {
    "beta": _of_beta,
    "histogram": _of_steps,
    "none": _of_identity,
    "platt": _of_platt,
    "shifted": _of_shifted,
    "spline": _of_spline,
    "spline-end": _of_spline_end,
    "steps": _of_steps,
    "venn-abers": _of_steps,
}
