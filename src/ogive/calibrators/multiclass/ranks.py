r"""Full vectors that keep the decision: stick-breaking over the ranks.

The class ranked r gets its share of what the classes before it left:

.. math:: q_r = h_r \prod_{j<r} (1 - h_j), \qquad
          h_r = \gamma_r\Bigl(\frac{p_{(r)}}{\sum_{j \ge r} p_{(j)}}\Bigr) ,

where :math:`\gamma_r` is fitted to the rows whose true class is not among the first r − 1. So
:math:`\gamma_1` is the map of the top-1 view of p, and the first class gets exactly what that view
says. After R ranks the others share what is left in proportion to :math:`p_k^\tau`, with one τ
by maximum likelihood.

p are probabilities as they are given, or the softmax of logits that are first divided by their
fitted temperature: any scale of the logits gives the same answer. ``rescale=False`` leaves the
division out, and p is the softmax of the logits as they are.

The order is kept from the top down: no class gets more than the one ranked before it, the excess
goes to those after it, and the first keeps a margin of 1e-6 of itself, which
survives a cast to float32. Where the second class is more probable than the first, no vector with
the same decision is calibrated for both: then the first one is, and `held` is how often.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._numerics.blocks import blocks, for_each_block
from ogive._numerics.power import best_power
from ogive.calibrators.identity import fit_identity
from ogive.calibrators.log_values import rescaled, weight_scale
from ogive.calibrators.matrix_map import MatrixMap
from ogive.calibrators.multiclass.columns import (
    column_curve,
    fit_column,
    nested,
    ordered_sum,
    scaled,
    unnested,
    warn_of,
)
from ogive.calibrators.stick_breaking import MARGIN, broken, fill
from ogive.curve import Curve
from ogive.errors import InvalidInput

if TYPE_CHECKING:
    from ogive._typing import AnyArray, FloatArray, IntArray
    from ogive.calibrators.maps import Map
    from ogive.rows.predictions import Predictions

RANKS = 3
_BLOCKS_THROUGH_THE_REST = 4  # joined for everything but the maps: they fit the cache
_BLOCKS_THROUGH_MAPS = 64  # joined for the maps: fewer calls
_SMALLEST_LOG, _SMALLEST_LOG_32 = -700.0, -80.0  # a weight is never 0
#: A rank after the first is fitted by the requested method if it has this many rows (Kish's size
#: of sampling weights); fewer rows of such hard cases are fitted by Platt's two numbers.
MIN_ROWS_FOR_OWN_METHOD = 200


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
    factor : float
        What logits are multiplied by first: see `ogive.calibrators.multiclass.columns.scaled`.
    """

    method = "ranks"
    keeps_top = True

    maps: tuple[Map, ...]
    power: float
    floor: float
    held: float
    factor: float = 1.0  # artifacts from before have none

    def band_ends(self, *, simultaneous: bool = False) -> tuple[RanksMap, RanksMap]:
        """Return the ends of the band of the most probable class."""
        low, high = self.maps[0].band_ends(simultaneous=simultaneous)
        return replace(self, maps=(low, *self.maps[1:])), replace(self, maps=(high, *self.maps[1:]))

    def _calibrated(self, preds: Predictions, n_jobs: int | None) -> FloatArray:
        preds = rescaled(preds, self.factor)
        result = np.empty((preds.n, self.K))

        def work(at: slice) -> None:
            self._write(preds, at, result)

        # Many rows go through the maps together, a cacheful at a time through all the rest.
        for_each_block(work, preds.n, width=1 + self.K // _BLOCKS_THROUGH_MAPS, n_jobs=n_jobs)
        return result

    def _write(self, preds: Predictions, rows: slice, result: FloatArray) -> None:
        """Write the probabilities of some rows to their place."""
        n, R = rows.stop - rows.start, len(self.maps)
        log_odds, order = np.empty((n, R)), np.empty((n, R), dtype=np.intp)
        total = np.empty(n)
        wide = preds.kind == "probs" or preds.values.dtype == np.float64
        cuts = list(
            blocks(rows.stop, start=rows.start, width=1 + self.K // _BLOCKS_THROUGH_THE_REST)
        )
        for at in cuts:
            here = slice(at.start - rows.start, at.stop - rows.start)
            top = _ranked(preds, at, R, self.floor)
            log_odds[here], order[here] = top.log_odds, top.order
            self._weigh(top, result[at], wide=wide)
            total[here] = result[at].sum(axis=1)
        parts, left, _ = broken(_shares(self.maps, log_odds), self.K)
        cap = parts[:, -1] * (1.0 - MARGIN)
        for at in cuts:
            here = slice(at.start - rows.start, at.stop - rows.start)
            fill(result[at], total[here], left[here], cap[here])
            _put(result[at], order[here], parts[here])

    def _weigh(self, top: _Ranked, out: FloatArray, *, wide: bool) -> None:
        """Write the weights of the classes after the first ranks: their mass to the power τ."""
        if self.power == 1.0:
            out[:] = top.rest
            return
        # Logits of seven digits make weights of seven digits: float32 is four times as fast.
        dtype = np.float64 if wide else np.float32
        logs = np.multiply(top.log_masses, self.power, dtype=dtype, casting="same_kind")
        smallest = _SMALLEST_LOG if wide else _SMALLEST_LOG_32
        if self.power * np.log(self.floor) < smallest:
            np.maximum(logs, smallest, out=logs)
        out[:] = np.exp(logs, out=logs)
        _put(out, top.order, 0.0)

    def _block(self, preds: Predictions, at: slice) -> FloatArray:
        return self._calibrated(preds, None)[at]  # all rows go through the maps together

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
    rescale: bool = True,
    n_jobs: int | None = None,
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
    rescale : bool
        Whether logits are divided by their fitted temperature first, so that logits of any scale
        give the same answer. If not, the first class gets what the top-1 view of the softmax says.
    n_jobs : int, optional
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
    if preds.one_column:
        msg = "`preds` has one column, which has no ranks. Fit its curve, or use fit_ovr."
        raise InvalidInput(msg)
    if not isinstance(ranks, int | np.integer) or ranks < 1:
        msg = f"`ranks` must be a whole number >= 1, not {ranks!r}."
        raise InvalidInput(msg)
    R = min(int(ranks), preds.K - 1)
    preds, labels, factor, floor = scaled(preds, method, rescale=rescale, n_jobs=n_jobs)
    rows = _read(preds, labels, R, floor, n_jobs=n_jobs)
    maps, failed = _fit_maps(preds, rows, method, options, n_jobs=n_jobs)
    warn_of(failed, method, "ranks", R)
    power = 1.0
    if method != "none" and R < preds.K - 1:
        weights = None
        if preds.sample_weight is not None:
            weights = weight_scale(preds) * preds.sample_weight[rows.place == R]
        power = best_power(*rows.rest, weights)
    held = broken(_shares(maps, rows.log_odds), preds.K)[2]
    share = float(np.average(held, weights=preds.sample_weight))
    return RanksMap(
        view="vector",
        n=maps[0].n,
        K=preds.K,
        maps=maps,
        power=power,
        floor=floor,
        held=share,
        factor=factor,
    )


class _Rest(NamedTuple):
    """Rows whose true class is not among the first R, as `best_power` wants them."""

    log_masses: FloatArray  # (n, K) less the largest after the first R ranks; 0 there
    order: IntArray  # (n, R)
    labels: IntArray  # (n,)


class _Rows(NamedTuple):
    """The calibration rows, as the fit needs them."""

    log_odds: FloatArray  # (N, R) of each rank among those not before it
    place: IntArray  # (N,) the rank of the true class from 0, or R for all ranks after
    rest: _Rest  # of the rows with place R


class _Ranked(NamedTuple):
    """The first ranks of a block of rows."""

    order: IntArray  # (rows, R) classes
    log_odds: FloatArray  # (rows, R)
    rest: FloatArray  # (rows, K) masses, 0 at the first R ranks
    log_masses: FloatArray  # (rows, K) of all


def _ranked(
    preds: Predictions, at: slice, R: int, floor: float, *, ordered: bool = False
) -> _Ranked:
    """Find the first R ranks of some rows, and their log-odds among what is left.

    The first rank's come from the masses as they are, so that they are those of the view. If
    `ordered`, rows of the same masses have the same log-odds, in whatever order their classes are,
    as equal scores of a curve must have.
    """
    logs = preds.log_masses(at)
    masses = preds.masses(at) if preds.kind == "probs" else np.exp(logs)
    order = _first_ranks(preds.ranking_values(at), R)
    top = np.take_along_axis(masses, order, axis=1)
    lift = float(masses.min()) < floor
    _put(masses, order, 0.0)
    left = masses.sum(axis=1)
    exact = left + top[:, 1:].sum(axis=1)
    lifted = np.maximum(top, floor)
    if lift:
        np.maximum(masses, floor, out=masses)
        np.maximum(logs, np.log(floor), out=logs)
        _put(masses, order, 0.0)
        left = masses.sum(axis=1)
    if ordered:
        left = ordered_sum(masses)
    log_odds = np.empty(top.shape)
    for r in range(R - 1, 0, -1):
        log_odds[:, r] = np.log(lifted[:, r]) - np.log(left)
        left = left + lifted[:, r]
    with np.errstate(divide="ignore"):
        log_odds[:, 0] = np.log(top[:, 0]) - np.log(exact)
    return _Ranked(order, log_odds, masses, logs)


def _first_ranks(values: AnyArray, R: int) -> IntArray:
    """Return the classes of the R largest values, equal ones by index."""
    if values.dtype == np.float16:
        values = values.astype(np.float32)  # the same order, and converted only once
    rows = np.arange(values.shape[0])
    order = np.empty((rows.size, R), dtype=np.intp)
    order[:, 0] = values.argmax(axis=1)
    if R > 1:
        values = np.maximum(values, np.finfo(values.dtype).min)  # −inf is for those taken
        for r in range(1, R):
            values[rows, order[:, r - 1]] = -np.inf
            order[:, r] = values.argmax(axis=1)
    return order


def _read(
    preds: Predictions, labels: IntArray, R: int, floor: float, *, n_jobs: int | None
) -> _Rows:
    """Read the ranks of all rows, and the rest of those whose class is not among the first R."""
    log_odds, place = np.empty((preds.n, R)), np.empty(preds.n, dtype=np.intp)
    rest: dict[int, _Rest] = {}

    def read(at: slice) -> None:
        top = _ranked(preds, at, R, floor, ordered=True)
        found = top.order == labels[at, None]
        log_odds[at] = top.log_odds
        place[at] = np.where(found.any(axis=1), found.argmax(axis=1), R)
        after = place[at] == R
        logs, order = top.log_masses[after], top.order[after]
        _put(logs, order, -np.inf)
        logs -= logs.max(axis=1, keepdims=True)
        _put(logs, order, 0.0)
        rest[at.start] = _Rest(logs, order, labels[at][after])

    for_each_block(read, preds.n, width=preds.K, n_jobs=n_jobs)
    pieces = [rest[start] for start in sorted(rest)]
    return _Rows(log_odds, place, _Rest(*map(np.concatenate, zip(*pieces, strict=True))))


def _fit_maps(
    preds: Predictions, rows: _Rows, method: str, options: dict[str, Any], *, n_jobs: int | None
) -> tuple[tuple[Map, ...], list[int]]:
    """Fit each rank's map to the rows whose class is not among the ranks before."""
    first = Curve.from_predictions(preds, "top-1", n_jobs=n_jobs)
    gamma, fell_back = fit_column(first, method, options)
    maps, failed = [gamma], [1] * fell_back
    for r in range(1, rows.log_odds.shape[1]):
        among = rows.place >= r
        if not among.any():
            maps.append(fit_identity(first))  # the true class was never that far down
            continue
        hit = rows.place == r
        curve = column_curve(preds, rows.log_odds[:, r], hit, f"top-{r + 1}", among)
        # Rounded, because Kish's size of equal weights is whole but for its last digits.
        few = round(curve.effective_n, 6) < MIN_ROWS_FOR_OWN_METHOD and method != "none"
        maps.append(fit_column(curve, "platt" if few else method, {} if few else options)[0])
    return tuple(maps), failed


def _shares(maps: tuple[Map, ...], log_odds: FloatArray) -> FloatArray:
    """Return h of each rank, (n, R)."""
    columns = np.ascontiguousarray(log_odds.T)
    return np.stack([g.from_log_odds(x) for g, x in zip(maps, columns, strict=True)], axis=1)


def _put(block: FloatArray, order: IntArray, parts: FloatArray | float) -> None:
    """Write to the first ranks of each row."""
    block[np.arange(order.shape[0])[:, None], order] = parts
