r"""Full vectors that keep the decision: stick-breaking over the ranks.

The class ranked r takes its share of what the classes before it left:

.. math:: q_r = h_r \prod_{j<r} (1 - h_j), \qquad
          h_r = \gamma_r\Bigl(\frac{p_{(r)}}{\sum_{j \ge r} p_{(j)}}\Bigr) ,

where :math:`\gamma_r` is fitted to the rows whose true class is not among the first r − 1. So
:math:`\gamma_1` is the map of the top-1 view, and the first class gets exactly what that view
says. After R ranks the others share what is left in proportion to :math:`p_k^\tau`, with one τ
by maximum likelihood.

The order is kept from the top down: no class gets more than the one ranked before it, what it
may not have goes to those after it, and the first keeps a margin of 1e-6 of itself, which
survives a cast to float32. Where the second choice deserves more than the first, no vector with
the same decision is calibrated for both: then the first is, and `held` says how often.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._numerics.blocks import for_each_block
from ogive._numerics.power import best_power
from ogive.calibrators.identity import fit_identity
from ogive.calibrators.matrix.columns import (
    check_classes,
    check_curve_method,
    check_labels,
    column_curve,
    fit_column,
    nested,
    smallest_mass,
    unnested,
    warn_of,
)
from ogive.calibrators.matrix.maps import MatrixMap
from ogive.calibrators.matrix.sticks import MARGIN, broken, fill
from ogive.curve import Curve
from ogive.errors import InvalidInput

if TYPE_CHECKING:
    from ogive._typing import AnyArray, FloatArray, IntArray
    from ogive.calibrators.maps import Map
    from ogive.predictions import Predictions

RANKS = 3
_FEW = 200  # rows from which a rank after the first has a method of its own


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RanksMap(MatrixMap):
    """A map for each of the first ranks, and a power for the rest.

    Attributes
    ----------
    maps : tuple of Map
        γ_1, …, γ_R.
    power : float
        τ.
    floor : float
        What a mass of 0 is lifted to.
    held : float
        The share of calibration rows in which the order held back the first or second class.
    """

    method = "keep"

    maps: tuple[Map, ...]
    power: float
    floor: float
    held: float

    def __call__(self, preds: Predictions, *, threads: int | None = None) -> FloatArray:
        """Return the calibrated probabilities, (N, K) float64; every row sums to 1."""
        check_classes(preds, self.K)
        R = len(self.maps)
        result = np.empty((preds.n, self.K))
        log_odds, order = np.empty((preds.n, R)), np.empty((preds.n, R), dtype=np.intp)

        def rank(at: slice) -> None:
            top = _ranked(preds, at, R, self.floor)
            log_odds[at], order[at] = top.log_odds, top.order
            result[at] = top.rest if self.power == 1.0 else _powered(top.rest, self.power)

        for_each_block(rank, preds.n, width=self.K, threads=threads)
        parts, left, _ = broken(_shares(self.maps, log_odds), self.K)

        def share(at: slice) -> None:
            block = result[at]
            fill(block, left[at], parts[at, -1] * (1.0 - MARGIN))
            np.put_along_axis(block, order[at], parts[at], axis=1)

        for_each_block(share, preds.n, width=self.K, threads=threads)
        return result

    def _block(self, preds: Predictions, at: slice) -> FloatArray:
        raise NotImplementedError  # all blocks go through the maps together

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return {**vars(self), "maps": [nested(gamma) for gamma in self.maps]}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> RanksMap:
        """Rebuild a map from `to_dict`."""
        return cls(**{**values, "maps": tuple(unnested(inner) for inner in values["maps"])})


def fit_ranks(
    preds: Predictions,
    method: str = "spline",
    *,
    ranks: int = RANKS,
    threads: int | None = None,
    **options: Any,  # noqa: ANN401 - whatever the method takes
) -> RanksMap:
    """Fit full vectors that keep the order of the first ranks, and so the decision.

    Parameters
    ----------
    preds : Predictions
        A matrix, with labels.
    method : str
        A method that reads a curve. The top-1 view is fitted by it; so are the ranks after it
        that have at least 200 rows, while the others get Platt's method.
    ranks : int
        R, how many ranks have a map of their own; at most K − 1.
    threads : int, optional
    options
        Passed on to the method.

    Examples
    --------
    >>> import numpy as np
    >>> from ogive import Predictions
    >>> rng = np.random.default_rng(0)
    >>> logits = 3 * rng.normal(size=(1000, 5))
    >>> labels = (logits + 3 * rng.gumbel(size=(1000, 5))).argmax(axis=1)
    >>> preds = Predictions(logits, labels, kind="logits")
    >>> q = fit_ranks(preds, "platt")(preds)
    >>> bool((q.argmax(axis=1) == logits.argmax(axis=1)).all())
    True
    """
    check_curve_method(method)
    labels = check_labels(preds)
    if preds.one_column:
        msg = "`preds` has one column and so no ranks: fit its curve, or use fit_ovr."
        raise InvalidInput(msg)
    if not isinstance(ranks, int | np.integer) or ranks < 1:
        msg = f"`ranks` must be a whole number >= 1, not {ranks!r}."
        raise InvalidInput(msg)
    R = min(int(ranks), preds.K - 1)
    floor = smallest_mass(preds, threads=threads)
    rows = _read(preds, labels, R, floor, threads=threads)
    maps, failed = _fit_maps(preds, rows, method, options, threads=threads)
    warn_of(failed, method, "ranks", R)
    power = 1.0
    if method != "none" and R < preds.K - 1:
        weights = None if preds.weights is None else preds.weights[rows.place == R]
        power = best_power(rows.rest, rows.rest_labels, weights)
    held = broken(_shares(maps, rows.log_odds), preds.K)[2]
    share = float(np.average(held, weights=preds.weights))
    return RanksMap(
        view="vector", n=maps[0].n, K=preds.K, maps=maps, power=power, floor=floor, held=share
    )


class _Rows(NamedTuple):
    """What is read of the calibration rows, once."""

    log_odds: FloatArray  # (N, R) of each rank among those not before it
    place: IntArray  # (N,) the rank of the true class from 0, or R for all ranks after
    rest: FloatArray  # (n, K) log-masses of the rows with place R, −inf at the first R ranks
    rest_labels: IntArray  # (n,)


class _Ranked(NamedTuple):
    """The first ranks of a block of rows."""

    order: IntArray  # (rows, R) classes
    log_odds: FloatArray  # (rows, R)
    rest: FloatArray  # (rows, K) masses, 0 at the first R ranks


def _ranked(preds: Predictions, at: slice, R: int, floor: float) -> _Ranked:
    """Find the first R ranks of some rows, and their log-odds among what is left.

    The first rank's come from the masses as they are, so that they are those of the view.
    """
    masses = preds.masses(at)
    order = _first_ranks(preds.ranking_values(at), R)
    top = np.take_along_axis(masses, order, axis=1)
    np.put_along_axis(masses, order, 0.0, axis=1)
    exact = masses.sum(axis=1) + top[:, 1:].sum(axis=1)
    np.maximum(masses, floor, out=masses)
    np.put_along_axis(masses, order, 0.0, axis=1)
    lifted = np.maximum(top, floor)
    left = masses.sum(axis=1)
    log_odds = np.empty(top.shape)
    for r in range(R - 1, 0, -1):
        log_odds[:, r] = np.log(lifted[:, r]) - np.log(left)
        left = left + lifted[:, r]
    with np.errstate(divide="ignore"):
        log_odds[:, 0] = np.log(top[:, 0]) - np.log(exact)
    return _Ranked(order, log_odds, masses)


def _first_ranks(values: AnyArray, R: int) -> IntArray:
    """Return the classes of the R largest values, equal ones by index."""
    rows = np.arange(values.shape[0])
    order = np.empty((rows.size, R), dtype=np.intp)
    order[:, 0] = values.argmax(axis=1)
    if R > 1:
        taken = -np.inf
        values = np.maximum(values, np.finfo(values.dtype).min)  # −inf is for those taken
        for r in range(1, R):
            values[rows, order[:, r - 1]] = taken
            order[:, r] = values.argmax(axis=1)
    return order


def _read(
    preds: Predictions, labels: IntArray, R: int, floor: float, *, threads: int | None
) -> _Rows:
    """Read the ranks of all rows, and the rest of those whose class is not among the first R."""
    log_odds, place = np.empty((preds.n, R)), np.empty(preds.n, dtype=np.intp)
    rest: dict[int, tuple[FloatArray, IntArray]] = {}

    def read(at: slice) -> None:
        top = _ranked(preds, at, R, floor)
        found = top.order == labels[at, None]
        log_odds[at] = top.log_odds
        place[at] = np.where(found.any(axis=1), found.argmax(axis=1), R)
        after = place[at] == R
        with np.errstate(divide="ignore"):
            rest[at.start] = np.log(top.rest[after]), labels[at][after]

    for_each_block(read, preds.n, width=preds.K, threads=threads)
    pieces = [rest[start] for start in sorted(rest)]
    return _Rows(
        log_odds,
        place,
        np.concatenate([piece[0] for piece in pieces]),
        np.concatenate([piece[1] for piece in pieces]),
    )


def _fit_maps(
    preds: Predictions, rows: _Rows, method: str, options: dict[str, Any], *, threads: int | None
) -> tuple[tuple[Map, ...], list[int]]:
    """Fit each rank's map to the rows whose class is not among the ranks before."""
    first = Curve.from_predictions(preds, "top-1", threads=threads)
    gamma, fell_back = fit_column(first, method, options)
    maps, failed = [gamma], [1] * fell_back
    for r in range(1, rows.log_odds.shape[1]):
        among = rows.place >= r
        if preds.weights is not None:
            among &= preds.weights > 0
        if not among.any():
            maps.append(fit_identity(first))  # the true class was never that far down
            continue
        hit = rows.place == r
        curve = column_curve(preds, rows.log_odds[:, r], hit, f"top-{r + 1}", among)
        few = curve.n < _FEW and method != "none"
        maps.append(fit_column(curve, "platt" if few else method, {} if few else options)[0])
    return tuple(maps), failed


def _shares(maps: tuple[Map, ...], log_odds: FloatArray) -> FloatArray:
    """Return h of each rank, (n, R)."""
    columns = np.ascontiguousarray(log_odds.T)
    return np.stack([g.from_log_odds(x) for g, x in zip(maps, columns, strict=True)], axis=1)


def _powered(masses: FloatArray, power: float) -> FloatArray:
    """Return masses ** power, by way of logarithms: faster, and 0 stays 0."""
    with np.errstate(divide="ignore"):
        np.log(masses, out=masses)
    masses *= power
    return np.exp(masses, out=masses)
