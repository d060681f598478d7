r"""The paper's spline: the derivative of a least-squares cubic spline through the curve.

Let t be the fractile of a score, s(t) the score there, h(t) the cumulative share of outcome 1 and
:math:`\tilde h(t)` the cumulative score. The paper's Proposition 4.1 says that

.. math:: h'(t) = P(\text{hit} \mid \text{score} = s(t)) ,

so the calibrated probability is :math:`\gamma(\sigma) = h'(s^{-1}(\sigma))`. What is fitted:

* target ``"residual"``: a spline d through :math:`h - \tilde h`, and
  :math:`\gamma(\sigma) = \sigma + d'(t)`. The paper's published numbers come from this one.
* target ``"cumulative"``: a spline v through h, and :math:`\gamma = v'(t)`, as its text says.

Three things differ from the published code. The curve is the straight line between the ends of
groups of equal scores, starting at (0, 0), and the fit minimises the *integral* of the squared
distance to it: the paper's sum over the points (i/N, h_i) without its dependence on the order
of tied rows, and the same for weights as for repeated rows. A group of equal scores gets the
mean of γ over the group, which is a chord of the spline. And between two calibration scores γ
is interpolated with the right weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ogive._numerics.blas import one_blas_thread
from ogive._numerics.cubic import CubicSpline, SlopeSums, basis, normal_equations
from ogive._numerics.least_distance import constrained
from ogive.calibrators.maps import PiecewiseMap, plain_fields, with_arrays
from ogive.curve.curve import check_curve
from ogive.errors import InvalidInput, NotEnoughData, UnknownName
from ogive.rows.check import as_choice, as_floats

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ogive._typing import ArrayLike, FloatArray, Runout, Target
    from ogive.curve import Curve
    from ogive.curve.ties import Place

MAX_NODES = 4096
_RUNOUTS: tuple[Runout, ...] = ("natural", "parabolic", "cubic")
_TARGETS: tuple[Target, ...] = ("residual", "cumulative")
_CONSTRAINTS = ("unit", "monotone")
_MIN_KNOTS = 3
#: What the fit takes unless it is told otherwise.
USUAL = {"knots": "6", "runout": "natural", "target": "residual", "constraint": ""}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class PaperSplineMap(PiecewiseMap):
    """The map γ of the paper's spline, and that spline.

    Attributes
    ----------
    spline : CubicSpline
        The fitted curve against the fractile: ``spline(t)``, ``spline.derivative(t)``.
    target : {"residual", "cumulative"}
        What it was fitted to.
    constraint : tuple of str
        The constraints on γ.
    """

    method = "paper-spline"

    spline: CubicSpline
    target: Target
    constraint: tuple[str, ...]

    @property
    def words(self) -> str:
        """The method with its options; knots that are not evenly spaced have no words."""
        knots = self.spline.knots
        even = np.array_equal(knots, np.linspace(0.0, 1.0, knots.size))
        options = {
            "knots": str(knots.size) if even else USUAL["knots"],
            "runout": self.spline.runout,
            "target": self.target,
            "constraint": "+".join(self.constraint),
        }
        asked = (f"{key}={value}" for key, value in options.items() if value != USUAL[key])
        return ":".join([self.method, *asked])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        spline, constraint = plain_fields(self.spline), list(self.constraint)
        return super().to_dict() | {"spline": spline, "constraint": constraint}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild a map from `to_dict`."""
        spline = CubicSpline(**with_arrays(values["spline"]))
        rest = {"spline": spline, "constraint": tuple(values["constraint"])}
        return super().from_dict(values | rest)


def fit_paper_spline(
    curve: Curve,
    knots: int | ArrayLike = 6,
    runout: Runout = "natural",
    target: Target = "residual",
    constraint: str | Iterable[str] | None = None,
) -> PaperSplineMap:
    """Fit the paper's spline to a curve.

    Parameters
    ----------
    curve : Curve
    knots : int or array-like
        How many knots, evenly spaced over the fractiles (at least 3), or their positions,
        rising from 0 to 1.
    runout : {"natural", "parabolic", "cubic"}
        What the spline does at its ends.
    target : {"residual", "cumulative"}
        What is fitted; see the module's docstring.
    constraint : {None, "unit", "monotone"} or both in a tuple
        Keep γ in [0, 1], or rising, while fitting; it holds everywhere, also between knots.
        Without a constraint γ is cut to [0, 1] after the fit.

    Returns
    -------
    PaperSplineMap
        At most 4,096 nodes; ``thinning_error`` bounds what leaving out the others changed.

    Examples
    --------
    >>> import numpy as np
    >>> from ogive import Curve
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.uniform(size=5000)
    >>> scores = np.sqrt(truth)                         # too high
    >>> curve = Curve.from_scores(scores, rng.uniform(size=5000) < truth)
    >>> calibrator = fit_paper_spline(curve)
    >>> calibrator([0.5, 0.8]).round(2)                      # the truth is 0.25, 0.64
    array([0.24, 0.63])
    """
    spans = _check_knots(knots)
    runout = as_choice(runout, "runout", _RUNOUTS)
    target = as_choice(target, "target", _TARGETS)
    rules = _check_constraint(constraint)
    sums, distinct = _slope_sums(check_curve(curve), spans, target)
    if distinct < spans.size:
        msg = (
            f"`curve` has {distinct} distinct scores, fewer than the {spans.size} knots. "
            "Use fewer knots, or a method for few scores such as 'platt'."
        )
        raise NotEnoughData(msg)
    with one_blas_thread():
        gram, right = normal_equations(sums, runout)
        values = np.asarray(np.linalg.solve(gram, right), dtype=np.float64)
        spline = CubicSpline(spans, values, runout)
        place = _nodes(curve, spline, distinct)
        if rules:
            G, g = _inequalities(spans, runout, place, target, rules)
            spline = CubicSpline(spans, constrained(gram, values, G, g), runout)
    return _tabulate(curve, spline, place, target, rules)


def _check_knots(knots: int | ArrayLike) -> FloatArray:
    """Return the positions of the knots."""
    if isinstance(knots, int | np.integer):
        if knots < _MIN_KNOTS:
            msg = f"`knots` must be a number >= {_MIN_KNOTS} or positions, not {knots!r}."
            raise InvalidInput(msg)
        return np.linspace(0.0, 1.0, int(knots))
    given = as_floats(knots, "knots", ndim=(1,)).astype(np.float64)
    rising = given.size >= _MIN_KNOTS and bool((np.diff(given) > 0).all())
    if not (rising and given[0] == 0.0 and given[-1] == 1.0):
        msg = (
            f"`knots` must be {_MIN_KNOTS} or more positions rising from 0 to 1, "
            f"not {given.tolist()}."
        )
        raise InvalidInput(msg)
    return given


def _check_constraint(constraint: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the constraints in a fixed order."""
    asked = (
        [] if constraint is None else [constraint] if isinstance(constraint, str) else [*constraint]
    )
    for word in asked:
        if word not in _CONSTRAINTS:
            raise UnknownName.among("constraint", word, _CONSTRAINTS)
    return tuple(word for word in _CONSTRAINTS if word in asked)


def _slope_sums(curve: Curve, knots: FloatArray, target: Target) -> tuple[SlopeSums, int]:
    """Walk the curve once; return the slopes' sums per piece, and how many distinct scores it has.

    Over its group the curve rises with the slope hits/count, minus the score for the residual.
    """
    sums = SlopeSums(knots)
    rows, distinct, n = 0.0, 0, float(curve.n)
    for run in curve.runs():
        ends = rows + run.ends
        steps = run.surplus if target == "residual" else run.hits
        sums.add(ends / n, steps / run.count)
        rows, distinct = float(ends[-1]), distinct + run.tail.size
    return sums, distinct


def _nodes(curve: Curve, spline: CubicSpline, distinct: int) -> Place:
    """Choose the rows at which γ is tabulated: all of them, or at most MAX_NODES.

    Between two nodes γ − σ stays within the variation of the spline's slope, so nodes are
    spread evenly over that variation (and a little over the fractiles).
    """
    if distinct <= MAX_NODES:
        return curve.all_rows()
    grid = np.linspace(0.0, 1.0, 1025)
    variation = spline.variation(grid)
    share = variation / variation[-1] if variation[-1] > 0 else grid
    for finer in (2, 1):  # several levels may fall on one row: ask for more than fit
        levels = np.linspace(0.0, 1.0, finer * MAX_NODES)
        place = curve.at_fractiles(np.interp(levels, 0.9 * share + 0.1 * grid, grid))
        if place.tail.size <= MAX_NODES:
            break
    return place


class _Rows(NamedTuple):
    """Linear inequalities on the values at the knots: G v >= g."""

    G: FloatArray
    g: FloatArray


def _inequalities(
    knots: FloatArray, runout: Runout, place: Place, target: Target, rules: Sequence[str]
) -> _Rows:
    """Return the constraints that make γ obey the rules everywhere.

    Cumulative: γ is the slope of the spline, a parabola on each piece, so its three Bernstein
    coefficients bound it and their differences bound its rise. Residual: γ = σ + d' is bound at
    every node, and γ is straight between nodes.
    """
    if target == "cumulative":
        slope = _bernstein_slopes(knots, runout)
        offset = np.zeros(slope.shape[0])
    else:
        slope, offset = _chord_matrix(knots, runout, place), _scores(place)
    rows = []
    if "unit" in rules:
        rows += [_Rows(slope, -offset), _Rows(-slope, offset - 1.0)]
    if "monotone" in rules:
        rows.append(_Rows(np.diff(slope, axis=0), -np.diff(offset)))
    return _Rows(np.vstack([row.G for row in rows]), np.concatenate([row.g for row in rows]))


def _bernstein_slopes(knots: FloatArray, runout: Runout) -> FloatArray:
    """Return the Bernstein coefficients of the slope of each piece as a matrix (3 (K − 1), K)."""
    C = basis(knots, runout)
    w = np.diff(knots)[:, None]
    # slope = (c1 + 2 c2 y + 3 c3 y^2) / w, in Bernstein form b0, b1, b2 of degree 2
    first, second, third = C[:, 1], 2 * C[:, 2], 3 * C[:, 3]
    coefficients = np.stack([first, first + second / 2, first + second + third], axis=1)
    return (coefficients / w[:, None]).reshape(-1, knots.size)


def _chord_matrix(knots: FloatArray, runout: Runout, place: Place) -> FloatArray:
    """Return the matrix (m, K) that takes the values at the knots to the chords of the nodes."""
    units = np.eye(knots.size)
    chords = [CubicSpline(knots, unit, runout).chord(place.before, place.after) for unit in units]
    return np.stack(chords, axis=1)


def _scores(place: Place) -> FloatArray:
    return np.where(place.high, 1.0 - place.tail, place.tail)


def _tabulate(
    curve: Curve, spline: CubicSpline, place: Place, target: Target, rules: tuple[str, ...]
) -> PaperSplineMap:
    """Read γ off the spline at the nodes."""
    base = 1.0 if target == "residual" else 0.0
    value = spline.chord(place.before, place.after) + base * _scores(place)
    if "monotone" in rules:  # the solver's rounding
        value = np.maximum.accumulate(value)
    at_one = None
    below = curve.share_below_one()
    if below < 1.0:
        mean = base + float(spline.chord(np.array([below]), np.array([1.0]))[0])
        at_one = min(max(mean, 0.0), 1.0)
    return PaperSplineMap(
        view=curve.view,
        n=curve.n,
        high=place.high,
        tail=place.tail,
        value=value,
        at_one=at_one,
        thinning_error=_thinning_error(spline, place),
        spline=spline,
        target=target,
        constraint=rules,
    )


def _thinning_error(spline: CubicSpline, place: Place) -> float:
    """Bound what leaving out rows between nodes moves: the slope's range between two nodes."""
    left, right = place.after[:-1], place.before[1:]
    skipped = right > left
    if not skipped.any():
        return 0.0
    chord = spline.chord(place.before, place.after)
    inside = spline.variation(right) - spline.variation(left)
    ends = np.abs(chord[:-1] - spline.derivative(left)) + np.abs(
        chord[1:] - spline.derivative(right)
    )
    return float((inside + ends)[skipped].max())
