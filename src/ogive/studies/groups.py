"""Groups: the same measurement for each country, client or day, and which of them are off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._numerics.mean_interval import LEVEL
from ogive.engines.grouping import ALL_ROWS
from ogive.metrics.binned import BINS, BinReader, as_edges
from ogive.metrics.bracket import ks_bracket
from ogive.metrics.many import false_discovery
from ogive.metrics.multicalibration import detectable_error, in_sigmas
from ogive.metrics.onepass import read
from ogive.metrics.proper import MeanReader, NllReader
from ogive.metrics.significance import TestReader, ks_of
from ogive.rows.predictions import Predictions
from ogive.studies.group_curves import (
    columns_in,
    columns_of_group,
    content_seed,
    curves_of_groups,
)
from ogive.studies.group_measurement import ALL, GroupMeasurement, GroupMeasurements
from ogive.studies.where_off import way_off

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ogive._typing import ArrayLike, FloatArray
    from ogive.curve import Curve

#: A calibrator is taken to be smooth over log-odds of this width, in as many cells around 0.
CELL_WIDTH, CELLS_OF_LOG_ODDS = 0.5, 80


def measure_groups(
    data: Mapping[Any, Curve] | Predictions,
    by: ArrayLike | Mapping[str, ArrayLike] | str | None = None,
    view: str | None = None,
    *,
    depth: int | None = None,
    bins: ArrayLike | int = BINS,
    random_state: int = 0,
    fitted_on: float | None = None,
) -> GroupMeasurements:
    """Measure groups of rows and their intersections, with p-values corrected for all of them.

    Parameters
    ----------
    data : mapping of curves, or Predictions
        A curve for each group, as ``ogive.engines.local.group_curves(log, "country")`` gives them,
        with tuples as names for several columns; or labelled predictions.
    by : array-like, (N,) or (N, k), mapping or table of columns, or str
        The group of each row of predictions, in one column or several. Missing values are the group
        "(none)". Of curves, what the groups are called, such as "country,device".
    view : str, optional
        Of predictions.
    depth : int, optional
        How many columns are combined at most; 2 unless given.
    bins : int or array-like
        Bins of ECE.
    random_state : int
        Of simulated p-values.
    fitted_on : float, optional
        Of calibrated scores: how many other rows the calibrator was fitted on (default: what the
        predictions know). The tests then allow for the noise of that fit: see `_noise_ratios`.

    Returns
    -------
    GroupMeasurements
        Every group with its errors, p-values, and the smallest error that would be found in it;
        `multicalibration` is the largest error in units of its noise. False discoveries are
        controlled as in `ogive.metrics.many.false_discovery`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores, country = rng.random(4000), rng.choice(["DE", "FR"], 4000)
    >>> device = rng.choice(["mobile", "desktop"], 4000)
    >>> wrong = (country == "FR") & (device == "mobile")
    >>> hits = rng.random(4000) < np.where(wrong, scores**2, scores)
    >>> preds = Predictions(scores, hits, kind="probs")
    >>> found = measure_groups(preds, {"country": country, "device": device})
    >>> [one.group for one in found.off]
    ['FR | mobile', 'FR | *', '* | mobile']
    >>> found.multicalibration.ks.group
    'FR | mobile'
    """
    name, width, curves = curves_of_groups(data, by, view, depth)
    overall = curves.pop(ALL_ROWS)
    if fitted_on is None and isinstance(data, Predictions):
        fitted_on = data.calibrated_on
    family = {group: columns_of_group(group, width) for group in curves}
    choices = sorted(set(family.values()))
    many = [choices.index(family[group]) for group in curves]
    tests = len(choices) * np.bincount(many)  # p <= 5 % / tests is found in any case
    noise = _noise_ratios(curves, overall, fitted_on)
    how: dict[str, Any] = {"bins": bins, "random_state": random_state}
    rows = [
        _measured(group, curve, **how, tests=int(tests[which]), noise=noise[group])
        for (group, curve), which in zip(curves.items(), many, strict=True)
    ]
    adjusted = false_discovery([row["pvalue"] for row in rows], many)
    groups = [
        GroupMeasurement(**row, pvalue_adjusted=float(p))
        for row, p in zip(rows, adjusted, strict=True)
    ]
    groups.sort(key=lambda one: (one.pvalue_adjusted > LEVEL, -one.ks, one.group))
    every = _noise_ratios({ALL: overall}, overall, fitted_on)[ALL]
    whole = _measured(ALL, overall, **how, tests=1, noise=every)
    return GroupMeasurements(
        name,
        overall.view,
        tuple(groups),
        GroupMeasurement(**whole, pvalue_adjusted=whole["pvalue"]),
        columns_in(name, width),
        fitted_on=fitted_on,
    )


def _noise_ratios(
    curves: Mapping[str, Curve], overall: Curve, fitted_on: float | None
) -> dict[str, float]:
    r"""Return how much larger the noise of each group is for that of the calibrator's fit.

    Let the group have the variance v of its outcomes in a cell of log-odds, and all m rows V. The
    n rows of the fit have the variance V n / m there, so that the log-odds of the cell are off by
    a noise of variance m / (n V), and the outcomes of the group by v times that. Added up over the
    cells, with those of the group itself,

    .. math:: r^2 = 1 + \frac{m}{n} \, \frac{\sum v^2 / V}{\sum v} .

    Groups with the scores of all rows have :math:`1 + m_g / n`, a group of all rows, or one that
    is alone at its scores, :math:`1 + m / n`: `ogive.metrics.omnibus.noise_ratio`. A smooth map
    has less noise than one that is free in each cell.
    """
    if fitted_on is None:
        return dict.fromkeys(curves, 1.0)
    own = {name: _variances(curve) for name, curve in curves.items()}
    whole = np.maximum(_variances(overall), np.finfo(float).tiny)
    times = float(overall.n) ** 2 / float(overall.square.sum()) / fitted_on
    return {
        name: float(np.sqrt(1.0 + times * float(np.sum(v * v / whole)) / max(v.sum(), 1e-300)))
        for name, v in own.items()
    }


def _variances(curve: Curve) -> FloatArray:
    """Return the variance of the outcomes in each cell of log-odds."""
    spread = curve.square * curve.tail * (1.0 - curve.tail)
    half = CELLS_OF_LOG_ODDS // 2
    cell = np.clip(np.floor(curve.log_odds / CELL_WIDTH), -half, half - 1).astype(np.intp) + half
    return np.bincount(cell, spread, CELLS_OF_LOG_ODDS).astype(np.float64)


def _measured(
    name: str,
    curve: Curve,
    bins: ArrayLike | int,
    random_state: int,
    *,
    tests: int,
    noise: float,
) -> dict[str, Any]:
    """Measure one group; it is found for sure with a p-value of 5 % divided by `tests`."""
    ks, means, loss = TestReader(), MeanReader(), NllReader()
    binned = BinReader(as_edges(curve, bins))
    read(curve, ks, means, loss, binned)
    # Simulations depend on the rows of a group, not on its name or place.
    seed = content_seed(means.n, means.hits, random_state)
    test = ks_of(curve, ks, random_state=seed, tests=tests, noise=noise)
    sigma, kuiper = noise * test.sigma, ks.gap.extremes.kuiper
    mean, rate = means.score / means.n, means.hits / means.n
    return {
        "group": name,
        "n": curve.n,
        "accuracy": rate,
        "base_rate": rate,
        "mean_score": mean,
        "ks": test.value,
        "ks_bracket": _bracket(curve, test.value),
        "ks_low": test.low,
        "ks_high": test.high,
        "ks_expected": test.expected,
        "direction": way_off(mean, rate, test.value),
        "ece": binned.bins().error(),
        "brier": ks.brier.value,
        "nll": loss.value,
        "kuiper": kuiper,
        "ks_sigmas": in_sigmas(test.value, means.n, sigma),
        "kuiper_sigmas": in_sigmas(kuiper, means.n, sigma),
        "detectable": detectable_error(means.n, sigma, tests),
        "pvalue": test.pvalue,
    }


def _bracket(curve: Curve, value: float) -> tuple[float, float]:
    """Return the bracket of the KS error; of a curve of all scores, the error itself."""
    return (value, value) if curve.spans is None else ks_bracket(curve)
