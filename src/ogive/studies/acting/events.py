"""Acting on one event or not: thresholds, limits, and costs before and after calibration.

The rows that are judged are calibrated by a map that has not seen them: one that was given, or one
for each fold. `final` is what the map of all rows gives; limits are kept by its order.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._numerics.jackknife import jackknife_variance
from ogive._numerics.mean_interval import ByCluster, mean_interval
from ogive.calibrators import find_method
from ogive.calibrators.maps import Map
from ogive.curve.clusters import clusters_of_rows, joined
from ogive.curve.folds import folds
from ogive.curve.ties import squares, total_rows
from ogive.errors import InvalidInput, NotEnoughData, OgiveWarning
from ogive.metrics.decisions import Cell, Cells, cuts
from ogive.rows.views import score_rows
from ogive.studies.acting.decision import Acting, Decision
from ogive.studies.fitting import apply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._numerics.mean_interval import Mean
    from ogive._typing import AnyArray, BoolArray, FloatArray
    from ogive.calibrators.maps import Fitted
    from ogive.curve import Curve
    from ogive.curve.clusters import Clusters
    from ogive.rows.predictions import Predictions

_ROUNDING = 1e-12
_HALVINGS = 60


class Costs(NamedTuple):
    """What was asked for: costs, and limits or None."""

    miss: float
    alarm: float
    capacity: float | None = None
    precision: float | None = None

    @property
    def threshold(self) -> float:
        """The best threshold of calibrated scores without limits."""
        return self.alarm / (self.miss + self.alarm)

    @property
    def limited(self) -> bool:
        """Whether there are limits."""
        return self.capacity is not None or self.precision is not None


@dataclass(frozen=True, slots=True)
class Judged:
    """Rows to judge, or groups of equal ones, (m,) each: scores, and sums as a curve has them.

    maps : what calibrated them; empty where no single score was calibrated
    by_each : calibrated by each of several maps, whether it has seen the row or not
    clusters : which rows belong together
    """

    score: FloatArray
    calibrated: FloatArray
    final: FloatArray
    count: FloatArray
    hits: FloatArray
    square: FloatArray
    square_hits: FloatArray
    maps: tuple[Map, ...] = ()
    by_each: tuple[FloatArray, ...] = ()
    clusters: Clusters | None = None

    def by_cluster(self, hit: Any, miss: Any) -> ByCluster | None:  # noqa: ANN401
        """Return the sums of clusters of what a row adds by its outcome, (m,) arrays."""
        if self.clusters is None:
            return None
        return ByCluster(self.clusters.sums(hit, miss), self.clusters.weight)

    @property
    def effective_n(self) -> float:
        """The effective number of rows."""
        return float(self.count.sum() ** 2 / self.square.sum())

    def of(self, chosen: BoolArray, *, hit: bool) -> Cell:
        """Return the chosen rows of one outcome."""
        weight, square = self.hits, self.square_hits
        if not hit:
            weight, square = self.count - weight, self.square - square
        return Cell(np.asarray(weight[chosen].sum()), np.asarray(square[chosen].sum()))


def by_map(curve: Curve, gamma: Map) -> Judged:
    """Return the rows of a curve calibrated by a map that has not seen them."""
    q = gamma.from_tails(curve.high, curve.tail)
    sums = curve.count, curve.hits, curve.square, curve.square_hits
    return Judged(curve.score, q, q, *sums, (gamma,), clusters=curve.clusters)


def by_rows(
    preds: Predictions,
    gamma: Fitted,
    view: str,
    one: Map | None = None,
    groups: AnyArray | None = None,
) -> Judged:
    """Return the rows of a view calibrated by a map of whole rows, or of rows and their groups.

    one : a map of the score alone that does the same
    """
    rows, after = score_rows(preds, view), apply(gamma, preds, view, groups)
    w = preds.row_weights
    square = squares(w, preds.weight_kind)
    hit = np.asarray(rows.hit, dtype=np.float64)
    sums = w, w * hit, square, square * hit
    maps = () if one is None else (one,)
    clusters = None
    if preds.clusters is not None:
        clusters = clusters_of_rows(preds.clusters, rows.score, sums)
    return Judged(rows.score, after.score, after.score, *sums, maps, clusters=clusters)


def by_folds(curve: Curve, method: str, cv: int, random_state: int) -> tuple[Judged, Map]:
    """Return the rows of a curve, each calibrated by a map of the other folds; and that of all."""
    chosen = find_method(method)
    if chosen.reads != "curve":
        msg = (
            f"`method` {method!r} calibrates whole matrices. Fit it to other rows and give the "
            "calibrator: calibrator= (--calibrator)."
        )
        raise InvalidInput(msg)
    final = chosen.fit(curve)
    assert isinstance(final, Map)  # noqa: S101 - it reads a curve
    columns, maps, clusters = [], [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OgiveWarning)  # the fit to all rows has warned already
        for rest, part in folds(curve, cv, random_state=random_state):
            gamma = chosen.fit(rest)
            assert isinstance(gamma, Map)  # noqa: S101
            scores = (m.from_tails(part.high, part.tail) for m in (gamma, final))
            sums = part.count, part.hits, part.square, part.square_hits
            columns.append((part.score, *scores, *sums, part.high, part.tail))
            maps.append(gamma)
            if part.clusters is not None:
                clusters.append((part.clusters, part.tail.size))
    if not columns:
        msg = f"{curve.n:,} rows are too few for {cv} folds. Give more rows, or a calibrator."
        raise NotEnoughData(msg)
    *rows, high, tail = (np.concatenate(column) for column in zip(*columns, strict=True))
    by_each = tuple(gamma.from_tails(high, tail) for gamma in maps)
    together = joined(clusters) if clusters else None
    found: Any = [*rows, tuple(maps), by_each, together]
    return Judged(*found), final


def judge(
    rows: Judged, costs: Costs, final: Map | None, view: str, words: tuple[str, str]
) -> Decision:
    """Return the decision for costs, on rows that are calibrated.

    final : the map whose raw threshold is wanted; words : method, and which rows it had seen
    """
    t = costs.threshold
    before = _limited(rows.score, rows, costs, observed=False)
    after = _limited(rows.final, rows, costs, observed=True)
    act_before = rows.score >= before
    allowed = rows.final >= after if after > t else np.True_
    act_after = (rows.calibrated >= t) & allowed
    noise = _noise_of_fits(rows, costs, [(q >= t) & allowed for q in rows.by_each])
    value, low, high = map(float, _saved(rows, costs, act_before, act_after, noise))
    cost_after = _acting(rows, act_after, costs, noise)
    if rows.by_each:
        cost_after = _with_pessimism(cost_after, _acting(rows, (rows.final >= t) & allowed, costs))
    given = {key: x for key, x in costs._asdict().items() if x is not None}
    return Decision(
        threshold=after,
        before=_acting(rows, act_before, costs),
        after=cost_after,
        saved=value,
        low=low,
        high=high,
        raw_threshold=None if final is None else raw_threshold(final, after, rows.score),
        n=total_rows(rows.count),
        view=view,
        method=words[0],
        how=words[1],
        costs=given,
        clusters=None if rows.clusters is None else rows.clusters.size,
    )


def _acting(rows: Judged, act: BoolArray, costs: Costs, noise: float = 0.0) -> Acting:
    """Return the cost of acting on some rows."""
    hit, alarm, miss = rows.of(act, hit=True), rows.of(act, hit=False), rows.of(~act, hit=True)
    n = float(rows.count.sum())
    cells = Cells(hit, alarm, miss, n, rows.effective_n)
    clusters = rows.by_cluster(costs.miss * ~act, costs.alarm * act)
    found = cells.cost(costs.miss, costs.alarm, noise, clusters)
    acted = float(hit.weight + alarm.weight)
    precision = float(hit.weight) / acted if acted > 0.0 else None
    cost, low, high = (float(x) for x in found)
    return Acting(cost, max(low, 0.0), high, acted / n, precision)


def _with_pessimism(crossed: Acting, fitted: Acting) -> Acting:
    """Return the cross-validated cost with a lower end that allows for its bias.

    Where events are few, a fold that holds some of them leaves its map without them, so that the
    map acts too seldom just where the events are: the cross-validated cost is too high. That of
    the map of all rows on its own rows is too low. The lower end is halfway between theirs.

    fitted : the cost of the map of all rows, on these rows
    """
    return crossed._replace(low=crossed.low - 0.5 * max(crossed.low - fitted.low, 0.0))


def _noise_of_fits(rows: Judged, costs: Costs, acts: Sequence[BoolArray]) -> float:
    """Return the variance of the cost after that is due to the rows that maps were fitted to.

    It is the jackknife's, from the cost on all rows of the map without each fold. Where scores are
    calibrated, maps move about the threshold by noise alone: rows of one fold then move the
    decisions on another, and without this variance the interval of what is saved would be too
    short by √2.
    """
    hit, rest = costs.miss * rows.hits, costs.alarm * (rows.count - rows.hits)
    n = float(rows.count.sum())
    return jackknife_variance([float(np.where(act, rest, hit).sum()) / n for act in acts])


def _saved(rows: Judged, costs: Costs, before: BoolArray, after: BoolArray, noise: float) -> Mean:
    """Return the cost before minus the cost after, and its interval: of the rows that change.

    A row that is acted on only after saves a miss or adds an alarm; one that is acted on only
    before saves an alarm or adds a miss.
    """
    more, fewer = after & ~before, before & ~after
    M, A = costs.miss, costs.alarm
    can_more, can_fewer = _possible(rows, costs, bool(more.any()), bool(fewer.any()))
    parts = []
    if can_more:
        parts += [(1.0, rows.of(more, hit=True).part(M)), (-1.0, rows.of(more, hit=False).part(A))]
    if can_fewer:
        saves, adds = rows.of(fewer, hit=False).part(A), rows.of(fewer, hit=True).part(M)
        parts += [(1.0, saves), (-1.0, adds)]
    change = after.astype(np.float64) - before
    clusters = rows.by_cluster(M * change, -A * change)
    return mean_interval(parts, float(rows.count.sum()), rows.effective_n, noise, clusters)


def _possible(rows: Judged, costs: Costs, more: bool, fewer: bool) -> tuple[bool, bool]:
    """Return whether calibrating can add rows that are acted on, and remove such rows.

    It may be that no row changes here but others would: the maps say so at the threshold. Limits
    are of these rows, and change no others.
    """
    if costs.limited:
        return more, fewer
    if not rows.maps:
        return True, True
    t = costs.threshold
    ends = np.array([max(np.nextafter(t, 0.0), 0.0), t])
    below, at = zip(*(gamma(ends) for gamma in rows.maps), strict=True)
    return more or (t > 0.0 and max(below) >= t), fewer or min(at) < t


def _limited(score: FloatArray, rows: Judged, costs: Costs, *, observed: bool) -> float:
    """Return the lowest threshold from the best one on that keeps the limits.

    Acting is worth it above the best threshold, so the lowest one costs least. The precision must
    be what the scores say, their mean; with `observed`, also the share of outcomes that are 1.
    """
    t = costs.threshold
    if not costs.limited:
        return t
    at = cuts(score)
    at = np.concatenate([[t], at[at > t]])
    order = np.argsort(score)
    start = np.searchsorted(score[order], at, side="left")
    columns = rows.count, rows.count * score, rows.hits
    acted, expected, hits = (
        np.concatenate([np.cumsum(x[order][::-1])[::-1], [0.0]])[start] for x in columns
    )
    fine = np.ones(at.size, dtype=np.bool_)
    if costs.capacity is not None:
        fine &= acted <= costs.capacity * (1.0 + _ROUNDING)
    if costs.precision is not None:
        some = np.maximum(acted, np.finfo(float).tiny)
        reached = expected / some
        reached = np.minimum(reached, hits / some) if observed else reached
        enough = (acted > 0.0) & (reached >= costs.precision - _ROUNDING)
        if observed and not (fine & enough).any():
            most = float(np.max(reached, where=fine & (acted > 0.0), initial=0.0))
            msg = (
                f"no threshold reaches a precision of {costs.precision:g} on these rows: the "
                f"highest is {most:.4g}. Ask for less (precision=, --precision)."
            )
            raise InvalidInput(msg)
        fine &= enough
    return float(at[int(fine.argmax())]) if fine.any() else float(at[-1])


def raw_threshold(gamma: Map, threshold: float, scores: FloatArray) -> float | None:
    """Return the score at which a map reaches a threshold; None if acting is not "from there on".

    >>> from ogive import Curve, fit_platt
    >>> calibrator = fit_platt(Curve.from_scores([0.1, 0.4, 0.6, 0.9] * 9, [0, 1, 0, 1] * 9))
    >>> float(calibrator(raw_threshold(calibrator, 0.3, np.array([0.1, 0.9])))).__round__(6)
    0.3
    """
    s = np.unique(np.concatenate([[0.0], scores, [1.0]]))
    acts = gamma(s) >= threshold
    first = int(acts.argmax())
    if not acts.any() or not acts[first:].all():
        return None
    low, high = s[max(first - 1, 0)], s[first]
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if gamma(middle) >= threshold else (middle, high)
    return float(high)
