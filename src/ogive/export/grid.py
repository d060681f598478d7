"""The batch on which an export is checked: ends, knots and their neighbours, random, extreme."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._numerics.logistic import expit, log_odds_of_tails, logit
from ogive.calibrators.grouped_map import GroupedMap
from ogive.calibrators.matrix_map import MatrixMap
from ogive.calibrators.multiclass.class_view import ClassViewMap
from ogive.export.forms import LogOddsForm, form_of

if TYPE_CHECKING:
    from ogive._typing import AnyArray, FloatArray
    from ogive.calibrators.maps import Fitted
    from ogive.export.forms import Form

_FAR = np.array([36.0, 37.5, 100.0, 700.0, 709.0, 744.0, 745.2, 746.0, 800.0, 1e4])
_MAX_KNOTS = 20_000
_HOSTILE_NAMES = ("'", '"', "\\", "--", "*/", "\n", "%s", "{0}", "\U0001f600")
_MAX_NUMBERS = 20_000_000  # in the rows of one check: 160 MB


def scores_for(calibrator: Fitted, points: int, random_state: int) -> FloatArray:
    """Return scores in [0, 1]: at least `points` of them, shuffled."""
    rng = np.random.default_rng(random_state)
    knots = _scores_of(_log_odds_knots(calibrator), _tail_knots(calibrator))
    around = [np.nextafter(knots, side) for side in (0.0, 1.0)]
    powers = 10.0 ** -np.arange(1.0, 17.0)
    special = [0.0, 1.0, 0.5, np.nextafter(0.5, 0), np.nextafter(0.5, 1), 5e-324, 1e-310, 2.0**-54]
    fixed = np.concatenate(
        [special, [1.0 - 2.0**-53, 1e-300, 1e-100], powers, 1.0 - powers, knots, *around]
    )
    n = max(points - fixed.size, 0)
    uniform, wide = rng.random(n - n // 2), expit(rng.normal(scale=12.0, size=n // 2))
    grid = np.concatenate([fixed, uniform, wide])
    return rng.permutation(np.clip(grid, 0.0, 1.0))


def log_odds_for(calibrator: Fitted, points: int, random_state: int) -> FloatArray:
    """Return log-odds, one column; +inf is a score of 1, and no logit of a matrix."""
    s = scores_for(calibrator, points, random_state)
    eta = logit(s)
    ends = [0.0, -np.inf] if isinstance(calibrator, MatrixMap) else [0.0, -np.inf, np.inf]
    return np.concatenate([eta[np.isfinite(eta)], _FAR, -_FAR, ends])


def logits_for(calibrator: Fitted, points: int, random_state: int) -> FloatArray:
    """Return rows of logits, (rows, K): about as many numbers as `points`, and 2,000 rows or more.

    Some rows put the log-odds of a class, or of a rank, on a knot; some have ties, logits of
    −inf, or a class that is certain in float64.
    """
    rng = np.random.default_rng(random_state)
    K = _enough_classes(calibrator.view)
    if isinstance(calibrator, MatrixMap | ClassViewMap):
        K = calibrator.K
    rows = max(points // K, min(2000, _MAX_NUMBERS // K))
    scale = rng.choice([0.1, 1.0, 4.0, 30.0, 1000.0], size=(rows, 1), p=[0.1, 0.3, 0.3, 0.2, 0.1])
    random = rng.normal(size=(rows, K)) * scale
    tied = np.round(rng.normal(size=(rows // 8, K)))
    zero = rng.normal(size=(rows // 8, K)) * 3
    zero[:, 1:][rng.random((rows // 8, K - 1)) < 0.5] = -np.inf  # noqa: PLR2004
    far = np.zeros((_FAR.size, K))
    far[np.arange(_FAR.size), rng.integers(K, size=_FAR.size)] = _FAR
    return np.concatenate(
        [np.zeros((1, K)), random, tied, zero, far, _on_knots(calibrator, K, rng)]
    )


def probabilities_of(logits: FloatArray) -> FloatArray:
    """Return the softmax of rows, some with exact zeros."""
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    result: FloatArray = e / e.sum(axis=1, keepdims=True)
    return result


def groups_for(calibrator: GroupedMap, n: int, random_state: int) -> AnyArray:
    """Return the groups of n rows, (n, columns) text: all that were seen come first.

    Then at random: values that were seen, in any combination, some missing and some unknown.
    """
    rng = np.random.default_rng(random_state)
    table = calibrator.table
    known = calibrator.cells() or [(value,) for value in table.values[0]]
    columns = []
    for values in table.values:
        choice = np.array([*values, None, "", "not a group", *_HOSTILE_NAMES], dtype=object)
        columns.append(choice[rng.integers(choice.size, size=n)])
    rows: AnyArray = np.stack(columns, axis=1)
    first = min(len(known), n // 2)
    rows[rng.permutation(n)[:first]] = np.array(known[:first], dtype=object).reshape(first, -1)
    return rows


def _on_knots(gamma: Fitted, K: int, rng: np.random.Generator) -> FloatArray:
    """Return rows in which one class has the log-odds of a knot, against K − 1 equal others."""
    eta = _log_odds_knots(gamma)
    tails = _tail_knots(gamma)
    eta = np.concatenate([eta, log_odds_of_tails(tails < 0, np.abs(tails))])
    eta = eta[np.isfinite(eta)]
    if eta.size > _MAX_KNOTS // K:
        eta = rng.choice(eta, _MAX_KNOTS // K, replace=False)
    rows = np.zeros((eta.size, K))
    rows[np.arange(eta.size), rng.integers(K, size=eta.size)] = eta + np.log(K - 1)
    return rows


def _forms(gamma: Fitted) -> list[Form]:
    if isinstance(gamma, ClassViewMap):
        return [form_of(gamma.event)]
    gamma = gamma.overall if isinstance(gamma, GroupedMap) else gamma
    whole = getattr(gamma, "inner", gamma)
    maps: Any = getattr(whole, "maps", ()) if isinstance(gamma, MatrixMap) else (gamma,)
    return [form_of(inner) for inner in maps]


def _log_odds_knots(gamma: Fitted) -> FloatArray:
    found = [form.pieces.breaks for form in _forms(gamma) if isinstance(form, LogOddsForm)]
    return np.concatenate([np.zeros(0), *found])


def _tail_knots(gamma: Fitted) -> FloatArray:
    """Return breaks in w, negative on the high side."""
    found = [form.pieces.breaks for form in _forms(gamma) if not isinstance(form, LogOddsForm)]
    return np.concatenate([np.zeros(0), *found])


def _scores_of(eta: FloatArray, w: FloatArray) -> FloatArray:
    return np.concatenate([expit(eta), np.where(w < 0, 1.0 + w, w)])


def _enough_classes(view: str) -> int:
    """Return a number of classes that has the view."""
    number = re.search(r"\d+$", view)
    return max(4, int(number[0]) + 2 if number else 0)
