"""Whether calibrating is worth it: the gain of any curve method, by cross-fitting.

Every sample is calibrated by a map fitted without it (k folds). `ogive.calibrators.gain` says what
the gain is, and decides from it whether to calibrate. Losses are those of `ogive.nll`. The spline
also has a posterior, which decides here as it does in its summary. With clusters, folds hold whole
clusters, the error is that of their sums, and the posterior counts as many rows as they are worth
(`Curve.independent_n`).
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._numerics.exact_shares import sides_and_tails
from ogive.calibrators import find_method
from ogive.calibrators.gain import Gain
from ogive.calibrators.maps import Map
from ogive.calibrators.spline_map import SplineMap
from ogive.curve import Curve
from ogive.curve.folds import clustered_part
from ogive.curve.folds import folds as parts_of
from ogive.errors import FallbackWarning, InvalidInput, InvalidType, NotEnoughData
from ogive.metrics.proper import nll
from ogive.rows.predictions import Predictions
from ogive.rows.tails import outcome_losses
from ogive.studies.losses import exact_rows
from ogive.studies.where_off import spline_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import FloatArray
    from ogive.calibrators.maps import Fitted
    from ogive.curve.clusters import Clusters
    from ogive.rows.views import View

_MIN_FOLDS = 2


def cross_fitted_gain(
    data: Predictions | Curve,
    method: str = "spline",
    *,
    view: str | View | None = None,
    cv: int = 5,
    random_state: int = 0,
    **options: Any,  # noqa: ANN401 - the method's own
) -> Gain:
    """Return the out-of-fold gain of a curve method over leaving the scores alone.

    Parameters
    ----------
    data : Predictions or Curve
        Predictions need labels. A curve is enough: see `ogive.curve.folds`.
    method : str
        A method that reads a curve.
    view : str, optional
        The view of the predictions.
    cv, random_state : int
        How many parts, and what deals the rows to them at random. Whole clusters are dealt by
        their size, without chance.
    **options
        Handed to the method's fit.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.uniform(size=2000)
    >>> fine = Curve.from_scores(scores, rng.uniform(size=2000) < scores)
    >>> cross_fitted_gain(fine).leave_alone
    True
    >>> squared = Curve.from_scores(scores, rng.uniform(size=2000) < scores**2)
    >>> cross_fitted_gain(squared).leave_alone
    False
    """
    curve, chosen = _curve_of(data, view), find_method(method)
    if chosen.reads != "curve":
        msg = f"`method` must read a curve, and {method!r} reads whole predictions."
        raise InvalidInput(msg)
    if not isinstance(cv, int) or cv < _MIN_FOLDS:
        msg = f"`cv` must be a whole number >= {_MIN_FOLDS}, not {cv!r}."
        raise InvalidInput(msg)
    if curve.clusters is not None:
        found = _by_clusters(curve, curve.clusters, lambda rest: chosen.fit(rest, **options), cv)
        if method == "spline":
            known = _known_to_posterior(chosen.fit(curve, **options))
            return Gain(method, curve.view, curve.n, *found, *known)
        # Without a posterior, what is saved in total is of as many rows as the clusters are worth.
        total = curve.independent_n * found[1]
        return Gain(method, curve.view, curve.n, *found, expected_total=total)
    sums = np.zeros(6)
    for rest, part in parts_of(curve, cv, random_state=random_state):
        gamma = chosen.fit(rest, **options)
        assert isinstance(gamma, Map)  # noqa: S101 - it reads a curve
        sums += _sums(part, gamma.from_tails(part.high, part.tail))
    n, total, square, square_d, square_dd, loss = sums
    if not n:
        msg = f"`data` has {curve.n} rows, too few for {cv} folds. Use fewer folds."
        raise NotEnoughData(msg)
    mean = total / n
    spread = square_dd - 2 * mean * square_d + mean**2 * square
    error = float(np.sqrt(max(spread, 0.0))) / n
    own = _known_to_posterior(chosen.fit(curve, **options)) if method == "spline" else ()
    return Gain(method, curve.view, curve.n, cv, float(mean), error, float(loss / n), *own)


def _by_clusters(
    curve: Curve, clusters: Clusters, fit: Callable[[Curve], Fitted], cv: int
) -> tuple[int, float, float, float]:
    """Return how many folds there are, the mean gain, its error, and the loss as it is.

    The error is that of a ratio of sums over clusters, times G / (G − 1).
    """
    fold = clusters.folds(min(cv, clusters.size))
    saved = np.zeros(clusters.size)
    for part in np.unique(fold):
        gamma = fit(clustered_part(curve, fold != part))
        assert isinstance(gamma, Map)  # noqa: S101 - it reads a curve
        gains = _gains(curve, gamma.from_tails(curve.high, curve.tail))
        saved += np.where(fold == part, clusters.sums(*gains), 0.0)
    mean = float(saved.sum()) / curve.n
    few = clusters.size / (clusters.size - 1.0)
    error = float(np.sqrt(few * np.sum((saved - mean * clusters.weight) ** 2))) / curve.n
    return int(np.unique(fold).size), mean, error, nll(curve)


def gain_of(data: Predictions | Curve, calibrator: Fitted, *, cv: int = 5) -> Gain | None:
    """Return the gain of a fitted map: its own, or by cross-fitting; None for whole matrices.

    With fewer than two folds, and where there are too few rows for them, only its own is known;
    with clusters it is always by cross-fitting, since a row left out leaves others of its cluster.
    The log loss of whole vectors of two classes is that of the one map they have.
    """
    maps = getattr(calibrator, "maps", (calibrator,))
    gamma = maps[0] if len(maps) == 1 else calibrator
    if data.clusters is None and isinstance(gamma, SplineMap) and gamma.gain is not None:
        if isinstance(data, Predictions) and getattr(calibrator, "factor", 1.0) != 1.0:
            # It was fitted to logits of another scale: what is saved is of the given ones.
            gamma = spline_of(Curve.from_predictions(data, gamma.view))
        own = gamma.own_gain
        if own is None or isinstance(data, Curve):
            return own
        if own.certain is not None and own.certain.n:
            first = int(exact_rows(data, gamma.view).argmax())
            own = replace(own, certain=own.certain._replace(first=first))
        return own if data.one_column else replace(own, view=calibrator.view)
    gamma = calibrator if data.clusters is None else gamma
    if not isinstance(gamma, Map) or gamma.method == "none" or cv < _MIN_FOLDS:
        return None
    with suppress(NotEnoughData), warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)  # the fit to all rows has warned already
        found = cross_fitted_gain(data, gamma.words, view=gamma.view, cv=cv)
        return replace(found, view=calibrator.view)
    return None


def _known_to_posterior(gamma: Fitted) -> tuple[float | None, float | None]:
    assert isinstance(gamma, SplineMap)  # noqa: S101 - fitted as such
    return gamma.expected_gain, gamma.expected_total


def _curve_of(data: object, view: str | View | None) -> Curve:
    if isinstance(data, Predictions):
        return Curve.from_predictions(data, view)
    if isinstance(data, Curve):
        return data
    msg = (
        f"`data` must be Predictions or a Curve, not {type(data).__name__}; build one with "
        "Predictions(values, labels, kind=...) or Curve.from_scores(scores, outcomes)."
    )
    raise InvalidType(msg)


def _gains(curve: Curve, calibrated: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what a hit and what a miss at each score gains, (m,) each."""
    before = outcome_losses(curve.high, curve.tail)
    hit, miss = (
        a - b for a, b in zip(before, outcome_losses(*sides_and_tails(calibrated)), strict=True)
    )
    return hit, miss


def _sums(part: Curve, calibrated: FloatArray) -> FloatArray:
    """Return the sums of w, w d, w², w² d, w² d² and of the scores' own loss over a part."""
    hit, miss = _gains(part, calibrated)
    misses, square_misses = part.count - part.hits, part.square - part.square_hits
    first = part.hits @ hit + misses @ miss
    second = [part.square_hits @ hit**power + square_misses @ miss**power for power in (1, 2)]
    loss = sum(run.log_loss for run in part.runs())
    return np.array([part.count.sum(), first, part.square.sum(), *second, loss])
