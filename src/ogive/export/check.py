"""Check an export: before it is written it is run, and its numbers compared with the artifact's.

The difference at a point counts, unless the artifact itself would give another number if a
knot or a jump were one rounding step away: exp and log differ in the last digit between
packages, and at a jump (histogram, isotonic) that digit decides. Such points count separately.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibrators.grouped_map import GroupedMap
from ogive.calibrators.histogram import StepMap
from ogive.calibrators.maps import Map, PiecewiseMap
from ogive.calibrators.matrix_map import MatrixMap
from ogive.calibrators.multiclass.class_view import ClassViewMap
from ogive.errors import ExportError, LooksLikeProbabilities
from ogive.export.grid import log_odds_for, logits_for, probabilities_of, scores_for
from ogive.rows.predictions import Predictions
from ogive.rows.views import score_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import AnyArray, BoolArray, FloatArray, Kind
    from ogive.calibrators.maps import Fitted

_EPS = float(np.finfo(np.float64).eps)
_TAIL_ROUNDING = 2.0**-32  # relative: ogive rounds tails from logits to 32 bits, exports do not


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check.

    max_abs_difference : largest difference to the artifact, of the points not at a jump
    points : how many rows were compared
    at_jumps : rows within rounding of a jump where the two differ by more than the bound
    rounded : rows that differ by more than the bound because the export is given fewer digits
    """

    max_abs_difference: float
    points: int
    at_jumps: int
    rounded: int = 0


def batch(
    calibrator: Fitted, kind: Kind, *, from_scores: bool, points: int, random_state: int
) -> FloatArray:
    """Return the values on which an export is checked, in float64, as a user has them."""
    if from_scores or (calibrator.view == "score" and kind == "probs"):
        return scores_for(calibrator, points, random_state)
    if calibrator.view == "score":
        return log_odds_for(calibrator, points, random_state)
    values = logits_for(calibrator, points, random_state)
    return probabilities_of(values) if kind == "probs" else values


def expected(
    calibrator: Fitted,
    values: AnyArray,
    kind: Kind,
    *,
    from_scores: bool,
    one_number: bool = False,
    groups: AnyArray | None = None,
    ends: Sequence[Fitted] = (),
) -> FloatArray:
    """Return the artifact's values: (n,) of a score, (n, K) of vectors.

    `one_number`: of vectors fitted with a view, that view's score. `groups`: (n, columns). With the
    `ends` of a band: two more columns, of vectors those of the most probable class.
    """
    if ends:
        how: Any = {"from_scores": from_scores, "one_number": one_number}
        every = [expected(gamma, values, kind, **how) for gamma in (calibrator, *ends)]
        q, of_one = every[0], every
        if q.ndim > 1:
            top = q.argmax(axis=1)[:, None]
            of_one = [np.take_along_axis(one, top, axis=1)[:, 0] for one in every]
        return np.column_stack([q, np.minimum.reduce(of_one), np.maximum.reduce(of_one)])
    own = () if groups is None else (groups,)
    if from_scores and isinstance(calibrator, Map | GroupedMap):
        return calibrator(values, *own)
    # log-odds of +inf are a score of exactly 1; as logits of predictions they are refused
    certain = values == np.inf if values.ndim == 1 else np.zeros(values.shape[0], dtype=np.bool_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LooksLikeProbabilities)
        preds = Predictions(np.where(certain, 0.0, values) if certain.any() else values, kind=kind)
    if isinstance(calibrator, Map | GroupedMap):
        rows = score_rows(preds, calibrator.view)
        high, tail = rows.high | certain, np.where(certain, 0.0, rows.tail)
        return calibrator.from_tails(high, tail, *own)
    assert isinstance(calibrator, MatrixMap | ClassViewMap)  # noqa: S101 - the only other kinds
    found = calibrator(preds)
    if calibrator.view == "score":
        return found[:, 1]
    if one_number and found.ndim > 1 and calibrator.view != "vector":
        return score_rows(Predictions(found, kind="probs"), calibrator.view).score
    return found


def compare(
    calibrator: Fitted,
    values: AnyArray,
    found: FloatArray,
    kind: Kind,
    *,
    from_scores: bool,
    bound: float,
    one_number: bool = False,
    groups: AnyArray | None = None,
    ends: Sequence[Fitted] = (),
    dtype: str = "float64",
) -> Checked:
    """Compare what an export gives with the artifact's values; raise if they differ.

    An export that is given float32 is right if it agrees for the rounded values; what rounding
    them costs is counted.
    """
    with np.errstate(over="ignore"):  # of float32
        asked, values = values, values.astype(dtype)

    def of(every: Sequence[Fitted], at: Any = slice(None)) -> FloatArray:  # noqa: ANN401 - an index
        own = None if groups is None else groups[at]
        how: Any = {"from_scores": from_scores, "one_number": one_number, "groups": own}
        return expected(every[0], values[at], kind, ends=every[1:], **how)

    every = (calibrator, *ends)
    wanted = of(every)
    if found.shape != wanted.shape:
        msg = f"the export gives results of shape {found.shape}, the artifact {wanted.shape}."
        raise ExportError(msg)
    difference = _per_row(np.abs(found - wanted))
    wrong = ~(difference <= bound)  # also NaN
    at_jump = np.zeros(wrong.shape, dtype=np.bool_)
    if wrong.any():
        rows = np.flatnonzero(wrong)
        # maps of vectors read one column by its log-odds, which are rounded
        exact = isinstance(calibrator, Map) and calibrator.view == "score" and kind == "probs"
        exact |= from_scores
        for side in (-1, 1):
            there = of([moved(gamma, side, exact=exact) for gamma in every], rows)
            at_jump[rows] |= _per_row(np.abs(there - wanted[rows])) > bound
        _refuse(wrong & ~at_jump, difference, values, bound)
    width = 1 if wanted.ndim == 1 else wanted.shape[1] - len(ends)
    if width > 1:
        _check_vectors(found[~at_jump, :width], wanted[~at_jump, :width])
    largest, rounded = float(difference[~at_jump].max(initial=0.0)), 0
    if values.dtype != asked.dtype:
        values = asked
        cost = _per_row(np.abs(found - of(every)))
        rounded = int((cost > bound).sum())
        largest = float(cost.max(initial=largest))
    return Checked(largest, int(difference.size), int(at_jump.sum()), rounded)


def _per_row(difference: FloatArray) -> FloatArray:
    return difference if difference.ndim == 1 else difference.max(axis=1)


def _refuse(wrong: BoolArray, difference: FloatArray, values: AnyArray, bound: float) -> None:
    if wrong.any():
        worst = int(np.where(wrong, np.nan_to_num(difference, nan=np.inf), -1.0).argmax())
        msg = (
            f"the export differs from the artifact by {difference[worst]:.3g} at "
            f"{values[worst].tolist()}, and by more than {bound:g} at {int(wrong.sum()):,} of "
            f"{wrong.size:,} points: nothing was written."
        )
        raise ExportError(msg)


def _check_vectors(found: FloatArray, wanted: FloatArray) -> None:
    """Full vectors sum to 1, and decide as the artifact's do."""
    off = np.abs(found.sum(axis=1) - 1.0) > 1e-9  # noqa: PLR2004
    top = wanted.max(axis=1)
    # the export's choice is one that the artifact gives the same probability, to rounding
    chosen = np.take_along_axis(wanted, found.argmax(axis=1)[:, None], axis=1)[:, 0]
    other = (found.argmax(axis=1) != wanted.argmax(axis=1)) & (top - chosen > 4 * _EPS)
    if off.any() or other.any():
        msg = (
            f"of {off.size:,} exported vectors {int(off.sum()):,} do not sum to 1 and "
            f"{int(other.sum()):,} have another most probable class: nothing was written."
        )
        raise ExportError(msg)


def moved(calibrator: Any, side: int, *, exact: bool) -> Any:  # noqa: ANN401 - any fitted map
    """Return a map with its knots moved: to the next float, or by the rounding of log-odds."""
    if isinstance(calibrator, StepMap):
        tail = _moved_tails(calibrator.edge_high, calibrator.edge_tail, side, exact=exact)
        return replace(calibrator, edge_tail=tail)
    if isinstance(calibrator, PiecewiseMap):
        return replace(
            calibrator, tail=_moved_tails(calibrator.high, calibrator.tail, side, exact=exact)
        )
    if hasattr(calibrator, "inner"):
        return replace(calibrator, inner=moved(calibrator.inner, side, exact=exact))
    if hasattr(calibrator, "maps"):
        maps = tuple(moved(inner, side, exact=exact) for inner in calibrator.maps)
        return replace(calibrator, maps=maps)
    return calibrator


def _moved_tails(high: BoolArray, tail: FloatArray, side: int, *, exact: bool) -> FloatArray:
    """Move tails up or down: by one ulp of the score, or by a few of its log-odds."""
    if exact:
        step = np.where(high, _EPS / 2, np.spacing(tail))  # scores above 1/2 are that far apart
    else:
        with np.errstate(divide="ignore"):
            digits = np.maximum(4.0 * _EPS * (1.0 + np.abs(np.log(tail))), _TAIL_ROUNDING)
            step = tail * np.where(tail > 0, digits, 0.0)
    moved_tail: FloatArray = np.clip(tail + side * step, 0.0, 0.5)
    return moved_tail
