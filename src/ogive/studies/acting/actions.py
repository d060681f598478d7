r"""Several actions: a matrix of costs, with a row for each action and a column for each class.

Action a costs :math:`C_{ak}` where the class is k, so that for probabilities p of the classes its
expected cost is :math:`\sum_k p_k C_{ak}`. The action with the lowest is taken; of equal ones the
first. There may be more or fewer actions than classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.mean_interval import ByCluster, Part, mean_interval
from ogive.curve.clusters import summed
from ogive.curve.ties import squares, total_rows
from ogive.errors import InvalidInput, rows_that
from ogive.metrics.decisions import RANGE_OF_COSTS, is_cost
from ogive.rows.check import as_floats
from ogive.rows.predictions import labelled
from ogive.studies.acting.decision import Acting, Action, Decision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import ArrayLike, FloatArray, IntArray
    from ogive.rows.predictions import Predictions

_MATRIX = 2
_FEWEST_ACTIONS = 2


def as_costs(costs: ArrayLike, classes: int) -> FloatArray:
    """Return a matrix of costs: actions by classes, finite and not negative."""
    matrix = as_floats(costs, "costs", ndim=(_MATRIX,)).astype(np.float64)
    if matrix.shape[1] != classes or matrix.shape[0] < _FEWEST_ACTIONS:
        msg = (
            f"`costs` must have a row for each action, at least {_FEWEST_ACTIONS}, and a column "
            f"for each of the {classes} classes, but has shape {matrix.shape}."
        )
        raise InvalidInput(msg)
    fine = is_cost(matrix)
    bad = np.asarray(~fine.all(axis=1))
    if bad.any():
        msg = (
            f"`costs` must be finite and >= 0 ({RANGE_OF_COSTS}): {rows_that(bad)} "
            f"({matrix[~fine][0]:g}). Where an action earns something, add the same number to all "
            "costs of that class: the decisions stay."
        )
        raise InvalidInput(msg)
    if (matrix == matrix[0]).all():
        msg = "`costs` are the same for every action, so that there is nothing to decide."
        raise InvalidInput(msg)
    return matrix


def expected_costs(probabilities: ArrayLike, costs: ArrayLike) -> FloatArray:
    """Return the expected cost of each action for each row, (N, A).

    >>> expected_costs([[0.9, 0.1], [0.5, 0.5]], [[0, 20], [1, 0]])
    array([[ 2. ,  0.9],
           [10. ,  0.5]])
    """
    p = as_floats(probabilities, "probabilities", ndim=(_MATRIX,)).astype(np.float64)
    found: FloatArray = p @ as_costs(costs, p.shape[1]).T
    return found


def judge_actions(
    preds: Predictions,
    calibrated: FloatArray,
    costs: FloatArray,
    names: Sequence[str],
    words: tuple[str, str],
    *,
    noise: float = 0.0,
) -> Decision:
    """Return what the actions cost before and after, on rows that are calibrated, (N, K).

    noise : the variance of the cost after that is due to the rows of the fits
    """
    labels = labelled(preds)
    w = preds.row_weights
    kinds = squares(w, preds.weight_kind)
    n, effective_n = float(w.sum()), float(w.sum() ** 2 / kinds.sum())
    chosen = [expected_costs(p, costs).argmin(axis=1) for p in (preds.probabilities(), calibrated)]
    paid = [costs[action, labels] for action in chosen]
    saved = paid[0] - paid[1]
    possible = [costs[np.unique(action)] for action in chosen] + [_changes(chosen, costs)]
    clusters = [_by_cluster(preds, w, x) for x in (*paid, saved)]
    both = []
    for x, can, extra, of in zip(paid, possible, (0.0, noise), clusters, strict=False):
        parts = _parts(x, can, w, kinds)
        both.append(Acting(*map(float, mean_interval(parts, n, effective_n, extra, of))))
    parts = _parts(saved, possible[2], w, kinds)
    value, low, high = map(float, mean_interval(parts, n, effective_n, noise, clusters[2]))
    shares = [_shares(action, w, costs.shape[0]) for action in chosen]
    always = costs @ (np.bincount(labels, w, minlength=costs.shape[1]) / n)
    return Decision(
        threshold=None,
        before=both[0],
        after=both[1],
        saved=value,
        low=low,
        high=high,
        raw_threshold=None,
        n=total_rows(w),
        view="vector",
        method=words[0],
        how=words[1],
        costs={},
        actions=tuple(map(Action, names, *(x.tolist() for x in (*shares, always)))),
        clusters=None if preds.clusters is None else int(np.unique(preds.clusters).size),
    )


def _parts(
    x: FloatArray, possible: FloatArray, w: FloatArray, kinds: FloatArray
) -> list[tuple[float, Part]]:
    """Return what rows add to a mean, in parts of one sign and of one size up to a factor of 2.

    In one part for all rows, many small costs would hide how few rows paid a large one. The largest
    cost of each sign is a part even if no row happened to pay it.

    possible : what a row can add
    """
    parts = []
    for sign in (1.0, -1.0):
        own, most = np.maximum(sign * x, 0.0), max(float(np.max(sign * possible)), 0.0)
        octave = np.frexp(own)[1]
        for each in np.unique([*octave[own > 0.0], *([np.frexp(most)[1]] if most > 0.0 else [])]):
            one = np.where(octave == each, own, 0.0)
            parts.append((sign, Part(float(w @ one), float(kinds @ (one * one)), most)))
    return parts


def _changes(chosen: Sequence[IntArray], costs: FloatArray) -> FloatArray:
    """Return what a change of action can save, by class: for all changes that some row makes.

    Where no row makes any, for those between all actions that are taken: others may change.

    chosen : the actions of the rows, before and after
    """
    pairs = np.unique(np.stack(chosen, axis=1), axis=0)
    if (pairs[:, 0] == pairs[:, 1]).all():
        most = np.ptp(costs[pairs[:, 0]], axis=0)
        return np.stack([most, -most])
    found: FloatArray = costs[pairs[:, 0]] - costs[pairs[:, 1]]
    return found


def _by_cluster(preds: Predictions, w: FloatArray, x: FloatArray) -> ByCluster | None:
    if preds.clusters is None:
        return None
    code = np.unique(preds.clusters, return_inverse=True)[1]
    return ByCluster(summed(code, w * x), summed(code, w))


def _shares(action: IntArray, w: FloatArray, actions: int) -> FloatArray:
    found: FloatArray = np.bincount(action, w, minlength=actions) / w.sum()
    return found


def mean_cost(preds: Predictions, probabilities: FloatArray, costs: FloatArray) -> float:
    """Return the mean cost of the actions that probabilities choose."""
    chosen = expected_costs(probabilities, costs).argmin(axis=1)
    return float(np.average(costs[chosen, labelled(preds)], weights=preds.sample_weight))
