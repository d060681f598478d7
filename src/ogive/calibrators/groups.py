"""Calibrate groups: the default spline for all rows, and a change for each group that asks for it.

The formula is in `ogive.calibrators.grouped_map`: a shift, a slope and a bend of the calibrated
log-odds in each group. They are shrunk towards the spline of all rows by sizes that all groups
together teach, averaged over a grid by their evidence (`ogive._numerics.pooled_effects`). The
size 0 is on the grid of each of the three: where groups do not differ, the average is close to
the spline of all rows; and a bend is used as far as the data ask for one.

``docs/theory/groups.md`` has the simulations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._numerics.blas import one_blas_thread
from ogive._numerics.logistic import expit
from ogive._numerics.pooled_effects import Effects, GroupTrials, average_effects
from ogive.calibrators.crossed_groups import fit_crossed
from ogive.calibrators.grouped_map import ANY, EFFECTS, JOIN, GroupAxis, GroupedMap, main_name
from ogive.calibrators.grouped_trials import trials_of
from ogive.calibrators.spline import fit_spline
from ogive.calibrators.spline_map import LIMIT
from ogive.calibrators.spline_problem import WITHOUT_INFORMATION
from ogive.curve import Curve
from ogive.curve.curve import merge_all
from ogive.errors import InvalidInput, InvalidType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._numerics.binomial import Trials
    from ogive._typing import FloatArray
    from ogive.calibrators.spline_map import SplineMap

#: Sizes of shifts, slopes and bends, in log-odds: steps of 2, as those of the default's bend.
SIZES = np.concatenate([[0.0], 0.03 * 2.0 ** np.arange(8)])
#: Prior weight of the size 0: groups that do not differ are as likely as groups that do; a slope,
#: and then a bend, is asked for less often.
P_NONE = (0.5, 0.6, 0.7)
LARGE_SIZE = 0.5  # log-odds; beyond, the weight of a size falls as size^-3, as the default's
#: Rows of a group that are kept apart: three effects are smooth, and neighbours say the same.
MOST_ROWS_OF_A_GROUP = 64
#: Fewer rows per group than this, on average, and at least this many groups: taken for an
#: identifier of rows, which says nothing of rows to come.
MIN_ROWS_PER_GROUP = 2.0
MIN_GROUPS_TO_REFUSE = 20


def fit_groups(curves_by_group: Mapping[Any, Curve], by: str | None = None) -> GroupedMap:
    """Fit the default calibrator to groups: one spline for all, and what each group adds to it.

    It has nothing to tune. Groups borrow strength from each other: a group of few rows stays
    close to the map of all rows, and one of many gets a shift, a slope and a bend of its own.
    Where the groups do not differ, all get nearly the map of all rows.

    Parameters
    ----------
    curves_by_group : mapping of str to Curve
        A curve for each group, as ``ogive.engines.local.group_curves(log, "country")`` gives
        them. The name of a group is read as text. With several columns the names are tuples,
        such as ``("BR", "mobile")``: each value then has an effect by itself, and each
        combination one beyond these.
    by : str, optional
        What the groups are called, such as the column they come from.

    Returns
    -------
    GroupedMap
        Called on scores and the group of each row. Groups that were not seen get the map of all
        rows; combinations that were not seen get what their values have by themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from ogive import Curve
    >>> rng = np.random.default_rng(0)
    >>> scores, country = rng.random(9000), rng.choice(["BR", "DE", "US"], 9000)
    >>> outcomes = rng.random(9000) < np.where(country == "BR", scores**2, scores)
    >>> curves = {c: Curve.from_scores(scores[country == c], outcomes[country == c])
    ...           for c in ("BR", "DE", "US")}
    >>> calibrator = fit_groups(curves, by="country")
    >>> calibrator([0.5, 0.5, 0.5], ["BR", "US", "FR"]).round(2)   # FR was not seen
    array([0.25, 0.48, 0.4 ])
    """
    curves = _checked(curves_by_group, by)
    overall = fit_spline(merge_all(list(curves.values())))
    with one_blas_thread():
        names, trials, axis = stacked_trials(curves, overall)
        if isinstance(next(iter(curves_by_group)), tuple):
            names, found = fit_crossed(trials, names, _effects)
        else:
            found = _effects(trials)
    back = np.array(sorted(range(len(names)), key=names.__getitem__))
    deviation = np.sqrt(np.maximum(np.diagonal(found.spread, axis1=1, axis2=2), 0.0))
    groups = tuple(names[i] for i in back)
    return GroupedMap(
        view=overall.view,
        n=overall.n,
        by=by,
        overall=overall,
        groups=groups,
        rows=_rows_of(groups, curves),
        effect=found.effect[back],
        error=deviation[back],
        size=found.size,
        none=np.minimum(found.none, 1.0),
        axis=axis,
    )


def _effects(trials: GroupTrials) -> Effects:
    return average_effects(trials, [SIZES] * EFFECTS, [_prior(none) for none in P_NONE])


def _rows_of(groups: Sequence[str], curves: Mapping[str, Curve]) -> FloatArray:
    """Return the rows of each group; of a main effect, those of all its cells."""
    rows = dict.fromkeys(groups, 0.0)
    for name, curve in curves.items():
        values = name.split(JOIN)
        for own in {name, *(main_name(values, c) for c in range(len(values)))} & rows.keys():
            rows[own] += float(curve.n)
    return np.array([rows[name] for name in groups])


def stacked_trials(
    curves: Mapping[str, Curve], overall: SplineMap
) -> tuple[list[str], GroupTrials, GroupAxis]:
    """Return the names of groups, their rows one after the other, and the axis of their effects."""
    groups = [_of_group(trials_of(curve), overall) for curve in curves.values()]
    order = _by_content(groups)
    groups, names = [groups[i] for i in order], list(curves)
    axis = _axis(groups)
    return [names[i] for i in order], _stacked(groups, axis), axis


def check_not_unique(groups: int, rows: float, by: str | None, *, several: bool = False) -> None:
    """Refuse groups that are nearly as many as the rows, with a way out.

    several : the groups combine columns, of which fewer can be asked for
    """
    if groups >= MIN_GROUPS_TO_REFUSE and rows < MIN_ROWS_PER_GROUP * groups:
        name = "the groups" if by is None else f"the column {by!r}"
        looks = "it looks like an identifier"
        way = "Give a coarser column (a country, a client, a day)"
        if several:
            name, looks = f"the combination {by!r}", "too few to say anything of them"
            way = "Combine fewer columns (--depth 1, depth=1), give coarser ones"
        msg = (
            f"{name} has {groups:,} different values in {rows:,.10g} rows, fewer than "
            f"{MIN_ROWS_PER_GROUP:g} rows each: {looks}. {way}, or leave the groups out."
        )
        raise InvalidInput(msg)


def _name(key: object) -> str:
    """Return the name of a group as text; the values of several columns are joined."""
    if not isinstance(key, tuple):
        return str(key)
    values = [str(value) for value in key]
    bad = [value for value in values if JOIN in value or value == ANY]
    if bad:
        msg = f"a value of a column is {bad[0]!r}, which stands for something else. Rename it."
        raise InvalidInput(msg)
    return JOIN.join(values)


def _checked(curves_by_group: Mapping[Any, Curve], by: str | None) -> dict[str, Curve]:
    """Return the curves by their names as text."""
    if not isinstance(curves_by_group, Mapping):
        msg = (
            "`curves_by_group` must be a mapping of groups to Curves, not "
            f"{type(curves_by_group).__name__}."
        )
        raise InvalidType(msg)
    if not curves_by_group:
        msg = "`curves_by_group` is empty: give a curve for each group."
        raise InvalidInput(msg)
    curves: dict[str, Curve] = {}
    widths = {len(name) if isinstance(name, tuple) else 1 for name in curves_by_group}
    if len(widths) > 1:
        msg = "`curves_by_group`: give every group a value of each column, or none of them a tuple."
        raise InvalidInput(msg)
    for key, curve in curves_by_group.items():
        name = _name(key)
        if not isinstance(curve, Curve):
            msg = f"`curves_by_group` must map groups to Curves: {key!r} is none."
            raise InvalidType(msg)
        if name in curves:
            msg = f"two groups are called {name!r}: names are read as text. Rename one."
            raise InvalidInput(msg)
        curves[name] = curve
    check_not_unique(len(curves), sum(float(c.n) for c in curves.values()), by)
    return curves


class _Group(NamedTuple):
    """The rows of a group: calibrated log-odds L, counts, hits, and L of the hits; (m,) each."""

    L: FloatArray
    counts: FloatArray
    hits: FloatArray
    L_hit: FloatArray


def _of_group(trials: Trials, overall: SplineMap) -> _Group:
    """Return the rows of a group on the axis of the map of all rows, at most 64 of them.

    Neighbours are joined as in `ogive.calibrators.grouped_trials`: counts and hits add up, and
    each has its own mean of L.
    """
    low, high = overall.lowest, overall.highest

    def calibrated(eta: FloatArray) -> FloatArray:
        return np.clip(overall.log_odds_at(np.clip(eta, low, high)), -LIMIT, LIMIT)

    L, L_hit = calibrated(trials.offset), calibrated(trials.offset_hit)
    step = -(-L.size // MOST_ROWS_OF_A_GROUP)
    if step == 1:
        return _Group(L, trials.count, trials.hits, L_hit)
    start = np.arange(0, L.size, step)
    count, hits = (np.add.reduceat(x, start) for x in (trials.count, trials.hits))
    mean = np.add.reduceat(trials.count * L, start) / count
    total = np.add.reduceat(trials.hits * L_hit, start)
    return _Group(
        mean, count, hits, np.where(hits > 0, total / np.where(hits > 0, hits, 1.0), mean)
    )


def _by_content(groups: Sequence[_Group]) -> list[int]:
    """Return an order that does not depend on names: sums over groups then round alike."""
    sums = [
        (float(g.counts.sum()), float(g.hits.sum()), float(g.counts @ g.L), float(g.hits @ g.L_hit))
        for g in groups
    ]
    return sorted(range(len(sums)), key=sums.__getitem__)


def _axis(groups: Sequence[_Group]) -> GroupAxis:
    """Return centre, unit and bend of the calibrated log-odds, in weights n p (1 − p)."""
    L = np.concatenate([g.L for g in groups])
    count = np.concatenate([g.counts for g in groups])
    p = expit(L)
    info = count * p * (1.0 - p) + WITHOUT_INFORMATION * count
    info /= info.sum()
    centre = float(info @ L)
    unit = float(np.sqrt(info @ (L - centre) ** 2))
    unit = unit if unit > WITHOUT_INFORMATION * max(1.0, abs(centre)) else 1.0
    z = (L - centre) / unit
    bend = np.sqrt(1.0 + z * z)
    mean = float(info @ bend)
    slope = float(info @ (bend * z)) / max(float(info @ z**2), WITHOUT_INFORMATION)
    size = float(np.sqrt(info @ (bend - mean - slope * z) ** 2))
    size = size if size > np.sqrt(WITHOUT_INFORMATION) else 1.0
    return GroupAxis(centre, unit, float(L.min()), float(L.max()), mean, slope, size)


def _stacked(groups: Sequence[_Group], axis: GroupAxis) -> GroupTrials:
    """Return all rows one after the other, with the sums that the likelihood needs."""
    L, count, hits, L_hit = (np.concatenate(x) for x in zip(*groups, strict=True))
    sizes = [g.L.size for g in groups]
    start = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    hit = np.add.reduceat(axis.columns(L_hit) * hits, start, axis=1).T
    return GroupTrials(L, count, axis.columns(L), hit, start)


def _prior(none: float) -> FloatArray:
    """Return the prior weights of the sizes: flat in their logarithm, with a tail as size^-3."""
    tail = (1.0 + (SIZES[1:] / LARGE_SIZE) ** 2) ** -1.5
    return np.concatenate([[none], (1.0 - none) * tail / tail.sum()])
