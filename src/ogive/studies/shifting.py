"""Move a saved calibrator to another base rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._files import safe_output
from ogive.calibrators.shifted import ShiftedMap, ShiftedVectorMap, shifted
from ogive.errors import InvalidInput
from ogive.export.artifact import load_fitted_on, load_map, save

if TYPE_CHECKING:
    import os

    from ogive._typing import ArrayLike
    from ogive.calibrators.maps import Fitted
    from ogive.export.artifact import FittedOn


@dataclass(frozen=True, slots=True)
class Shift:
    """A calibrator that was moved: the base rates before and after, and where it was saved.

    trained_at, base_rate : float, list of float, or None where only the shift is known
    """

    trained_at: Any
    base_rate: Any
    out: str

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
    if trained_at is None:
        trained_at = rate_before(gamma, info)
    if trained_at is None and kept_negatives is None:
        msg = (
            f"{calibrator} does not say the base rate of the rows it was fitted on: give it with "
            "--trained-at (trained_at=), such as 0.5."
        )
        raise InvalidInput(msg)
    new = shifted(gamma, base_rate, trained_at=trained_at, kept_negatives=kept_negatives, date=date)
    save(new, out, info)
    before = new.trained_at if trained_at is None else trained_at
    return Shift(_plain(before), _plain(new.base_rate), str(out))


def rate_before(gamma: Fitted, info: FittedOn) -> Any:  # noqa: ANN401 - a number or several
    """Return the base rate that a calibrator is for, where it is known and not 0 or 1."""
    if isinstance(gamma, ShiftedMap | ShiftedVectorMap):
        return gamma.base_rate
    rate = info.base_rate
    return rate if rate is not None and np.min(rate) > 0.0 and np.max(rate) < 1.0 else None


def _plain(rate: Any) -> Any:  # noqa: ANN401
    """Return a rate as JSON has it; of two classes that of class 1."""
    if rate is None or np.ndim(rate) == 0:
        return None if rate is None else float(rate)
    values = np.asarray(rate, dtype=np.float64).reshape(-1).tolist()
    return values[-1] if len(values) <= 2 else values  # noqa: PLR2004
