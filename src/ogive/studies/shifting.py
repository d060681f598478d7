"""Move a saved calibrator to another base rate."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._files import safe_output
from ogive._html import record_form
from ogive._wording import format_pvalue
from ogive.calibrators.maps import Map
from ogive.calibrators.shifted import (
    ShiftedMap,
    ShiftedVectorMap,
    as_rates,
    classes_of,
    shifted,
)
from ogive.curve.ties import squares
from ogive.errors import DoesNotApply, InvalidInput, OgiveWarning
from ogive.export.artifact import load_fitted_on, load_map, save
from ogive.readers import Columns
from ogive.studies.base_rate import estimate_base_rate, scores_in
from ogive.studies.base_rates import estimate_base_rates
from ogive.studies.fitting import TWO_CLASSES
from ogive.studies.unlabelled import unlabelled, unlabelled_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from ogive._typing import ArrayLike, FloatArray, Progress
    from ogive.calibrators.maps import Fitted
    from ogive.export.artifact import FittedOn
    from ogive.studies.base_rate import BaseRate

_WHY = (
    "and a base rate is estimated from scores without them. Count the base rate and give it with "
    "--base-rate, fit a calibrator to these rows, or"
)
MISFIT_LEVEL = 0.01  # below this p-value a shift is warned of


@dataclass(frozen=True, slots=True)
class Shift:
    """A calibrator that was moved: the base rates before and after, and where it was saved.

    trained_at, base_rate : float, list of float, or None where only the shift is known
    classes : the labels of the classes, where they have names
    """

    trained_at: Any
    base_rate: Any
    out: str
    classes: Sequence[Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of ``ogive shift``."""
        return {"from": self.trained_at, "to": self.base_rate, "out": self.out}


def shift_file(
    calibrator: str | os.PathLike[str],
    out: str | os.PathLike[str],
    base_rate: ArrayLike | None = None,
    *,
    trained_at: ArrayLike | None = None,
    kept_negatives: float | None = None,
    date: str | None = None,
) -> Shift:
    """Move a saved calibrator to a base rate that is known, and save it.

    Parameters
    ----------
    calibrator, out : path
    base_rate, trained_at, kept_negatives, date
        As in `Fitted.with_base_rate`. The default of `trained_at` is the base rate of the rows that
        the calibrator was fitted on, where the file has it.
    """
    safe_output(out, [calibrator])
    gamma, info = load_map(calibrator), load_fitted_on(calibrator)
    classes_of(gamma)  # refuses what has no base rate, before one is asked for
    if trained_at is None:
        trained_at = rate_before(gamma, info)
    if trained_at is None and kept_negatives is None:
        raise _unknown_rate(calibrator)
    new = shifted(gamma, base_rate, trained_at=trained_at, kept_negatives=kept_negatives, date=date)
    save(new, out, info)
    before = new.trained_at if trained_at is None else trained_at
    return Shift(_plain(before), _plain(new.base_rate), str(out), info.classes)


@dataclass(frozen=True, slots=True)
class EstimatedShift:
    """A calibrator that was moved to the estimated base rate of new data.

    estimate : the base rate of class 1, with its interval and the test of misfit; or all shares
    trained_at : the base rate of the rows of the fit, or that of every class
    classes : the labels of the classes, where they have names
    """

    estimate: BaseRate
    out: str
    trained_at: Any
    classes: Sequence[Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of ``ogive shift --like``."""
        return asdict(self.estimate) | {"out": self.out}

    def _repr_html_(self) -> str:
        return record_form(self.estimate)


def shift_like(
    calibrator: str | os.PathLike[str],
    out: str | os.PathLike[str],
    like: str | os.PathLike[str],
    columns: Columns | None = None,
    *,
    trained_at: float | None = None,
    ignore_outcomes: bool = False,
    part: str | None = None,
    experiment: str | None = None,
    date: str | None = None,
    memory: str | int = "1GB",
    skip_bad: bool = False,
    progress: Progress | None = None,
) -> EstimatedShift:
    """Move a saved calibrator to the base rate of new data, which is estimated from its scores.

    Parameters
    ----------
    calibrator, out : path
    like : path
        A file, folder or glob of scores that the calibrator has not been applied to, without
        outcomes.
    columns : Columns, optional
    trained_at : float, or (K,) sequence, optional
        The base rate of the rows of the fit. Default: what the calibrator says.
    ignore_outcomes : bool
        Take data with outcomes, and do not read them.
    part : {"test", "cal", "all"}, optional
        Of data with parts. Default: test.
    experiment : str, optional
        Of an .h5 file.
    date, memory, progress
    skip_bad : bool
        Leave out rows of a log that are not valid, with a warning.
    """
    safe_output(out, [calibrator, like])
    gamma, info = load_map(calibrator), load_fitted_on(calibrator)
    before_shift = getattr(gamma, "trained_at", None)
    gamma = getattr(gamma, "inner", gamma)
    classes = classes_of(gamma)
    rate = next((r for r in (trained_at, before_shift) if r is not None), None)
    rate = rate_before(gamma, info) if rate is None else rate
    if rate is None:
        raise _unknown_rate(calibrator)
    before = as_rates(rate, "trained_at", classes)
    known = scores_in(info)
    if known is None and classes == TWO_CLASSES:
        warnings.warn(
            f"{calibrator} does not hold the scores of its own rows in bins: the interval has no "
            "uncertainty of the calibrator, and no misfit is tested. Fit it again.",
            OgiveWarning,
            stacklevel=2,
        )
    how: Any = {"why": None if ignore_outcomes else _WHY, "part": part, "experiment": experiment}
    how |= {"memory": memory, "skip_bad": skip_bad, "progress": progress}
    how |= {"calibrator": Path(calibrator)}
    q, count = _new_scores(gamma, Path(like), columns or Columns(), how)
    if classes == TWO_CLASSES:
        found = estimate_base_rate(q, count, float(before[1]), known)
    else:
        found = estimate_base_rates(q, count, before)
    _check_estimate(found)
    how = {"trained_at": before, "how": "estimated", "date": date}
    if classes == TWO_CLASSES:
        how["log_odds_variance"] = found.log_odds_variance
    save(shifted(gamma, found.base_rate, **how), out, info)
    old = before if classes > TWO_CLASSES else before[1]
    return EstimatedShift(found, str(out), _plain(old), info.classes)


def _unknown_rate(calibrator: str | os.PathLike[str]) -> InvalidInput:
    return InvalidInput(
        f"{calibrator} does not say the base rate of the rows it was fitted on: give it with "
        "--trained-at (trained_at=), such as 0.5."
    )


def _check_estimate(found: BaseRate) -> None:
    """Refuse an estimate of 0 or 1; warn where a base rate does not explain the scores."""
    rates, misfit = np.atleast_1d(found.base_rate), ""
    if found.misfit_pvalue is not None and found.misfit_pvalue < MISFIT_LEVEL:
        misfit = (
            "another base rate does not explain the new scores (misfit test: "
            f"{format_pvalue(found.misfit_pvalue)}): the scores within the classes have changed "
            "too, or the calibrator is not right on its own rows. Fit a calibrator on new labelled "
            "rows instead."
        )
    if not ((rates > 0.0) & (rates < 1.0)).all():
        k = int(np.argmax((rates <= 0.0) | (rates >= 1.0)))
        which, seen, ends = f" of class {k}", "do not show this class, or no other", ""
        if found.low is not None and found.high is not None:
            which, seen = "", "show a single class"
            ends = f" (95 % interval {100 * found.low:.3g} % to {100 * found.high:.3g} %)"
        why = f"the new scores {seen}, and nothing was written. Give more rows, or a base rate"
        if misfit:
            why = f"nothing was written, since {misfit} Or give a base rate"
        msg = (
            f"the estimated base rate{which} is {100 * rates[k]:g} %{ends}: {why} that you know: "
            "--base-rate."
        )
        raise InvalidInput(msg)
    if misfit:
        warnings.warn(misfit, OgiveWarning, stacklevel=3)


def _new_scores(
    gamma: Any,  # noqa: ANN401 - a map of a score, or of two classes
    like: Path,
    columns: Columns,
    how: dict[str, Any],
) -> tuple[FloatArray, FloatArray]:
    """Return calibrated scores of new data, and how many rows have each; `how`: to read them."""
    if isinstance(gamma, Map):
        try:
            rows = unlabelled(like, columns, gamma.view, **how)
        except DoesNotApply as error:
            msg = f"{like} does not have what the calibrator reads ({gamma.view!r}): {error}"
            raise DoesNotApply(msg) from error
        q, count, square = gamma.from_tails(rows.high, rows.tail), rows.weight, rows.square
    else:
        preds = unlabelled_rows(like, columns, **how)
        q = gamma(preds)
        q = q[:, 1] if gamma.K == TWO_CLASSES else q
        count = preds.row_weights
        square = squares(count, preds.weight_kind)
    return q, count * float(count.sum() / square.sum())  # of sampling weights: Kish's rows


def rate_before(gamma: Fitted, info: FittedOn) -> Any:  # noqa: ANN401 - a number or several
    """Return the base rate that a calibrator is for, where it is known; 0 and 1 are refused."""
    if isinstance(gamma, ShiftedMap | ShiftedVectorMap):
        return gamma.base_rate
    rate = info.base_rate
    if rate is not None and not (np.min(rate) > 0.0 and np.max(rate) < 1.0):
        msg = (
            "the calibrator was fitted on rows without one of the classes, so that they have no "
            "base rate. Fit it on rows of every class, or give --trained-at (trained_at=)."
        )
        raise InvalidInput(msg)
    return rate


def _plain(rate: Any) -> Any:  # noqa: ANN401
    """Return a rate as JSON has it; of two classes that of class 1."""
    if rate is None:
        return None
    values = np.asarray(rate, dtype=np.float64).reshape(-1).tolist()
    return values[-1] if len(values) <= TWO_CLASSES else values
