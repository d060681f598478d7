"""Whether calibrating is worth it: the gain of any curve method, by cross-fitting.

Every sample is calibrated by a map fitted without it (k folds). `ogive.calibrators.gain` says what
the gain is, and decides from it whether to calibrate. Both probabilities are clipped as in
`ogive.nll`. The spline also has a posterior, which decides here as it does in its summary.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibrators import find_method
from ogive.calibrators.gain import Gain
from ogive.calibrators.maps import Map
from ogive.calibrators.spline_map import SplineMap
from ogive.curve import Curve
from ogive.curve.folds import folds as parts_of
from ogive.errors import FallbackWarning, InvalidInput, InvalidType, NotEnoughData
from ogive.metrics.proper import CLIP
from ogive.predictions import Predictions

if TYPE_CHECKING:
    from ogive._typing import FloatArray
    from ogive.calibrators.maps import Fitted
    from ogive.views import View

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
        How many parts, and the seed that deals the rows to them.
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
    known = _known_to_posterior(chosen.fit(curve, **options)) if method == "spline" else ()
    return Gain(method, curve.view, curve.n, cv, float(mean), error, float(loss / n), *known)


def gain_of(data: Predictions | Curve, calibrator: Fitted, *, cv: int = 5) -> Gain | None:
    """Return the gain of a fitted map: its own, or by cross-fitting; None for whole matrices.

    With fewer than two folds, and where there are too few rows for them, only its own is known.
    The log loss of whole vectors of two classes is that of the one map they have.
    """
    maps = getattr(calibrator, "maps", (calibrator,))
    if len(maps) == 1 and isinstance(maps[0], SplineMap) and maps[0].gain is not None:
        own = maps[0].summary().gain
        whole = isinstance(data, Predictions) and not data.one_column
        return replace(own, view=calibrator.view) if whole and own is not None else own
    if not isinstance(calibrator, Map) or calibrator.method == "none" or cv < _MIN_FOLDS:
        return None
    with suppress(NotEnoughData), warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)  # the fit to all rows has told already
        return cross_fitted_gain(data, calibrator.method, view=calibrator.view, cv=cv)
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


def _sums(part: Curve, calibrated: FloatArray) -> FloatArray:
    """Return the sums of w, w d, w², w² d, w² d² and of the scores' own loss over a part."""
    p, q = (np.clip(x, CLIP, 1.0 - CLIP) for x in (part.score, calibrated))
    hit, miss = np.log(q / p), np.log((1.0 - q) / (1.0 - p))
    misses, square_misses = part.count - part.hits, part.square - part.square_hits
    first = part.hits @ hit + misses @ miss
    second = [part.square_hits @ hit**power + square_misses @ miss**power for power in (1, 2)]
    loss = -(part.hits @ np.log(p) + misses @ np.log(1.0 - p))
    return np.array([part.count.sum(), first, part.square.sum(), *second, loss])
