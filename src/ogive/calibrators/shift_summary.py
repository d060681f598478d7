"""Summary of a calibrator at another base rate: the rates before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ogive._wording import MINUS

How: TypeAlias = Literal["known", "kept negatives", "estimated"]


@dataclass(frozen=True, slots=True, repr=False)
class ShiftSummary:
    """What a shift did: the base rates before and after, and what the map under it did.

    Attributes
    ----------
    trained_at, base_rate : float, tuple of float, or None
        The base rate before and after; None where only the shift is known.
    log_odds : float or tuple of float
        What is added to log-odds, or to the logarithm of each class's probability.
    how : str
        "known", "kept negatives" or "estimated".
    date : str or None
    calibrator : object or None
        The summary of the map that was shifted, where it has one.
    """

    trained_at: Any
    base_rate: Any
    log_odds: Any
    how: How
    date: str | None
    calibrator: Any

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        values = {name: getattr(self, name) for name in self.__slots__}
        inner = None if self.calibrator is None else self.calibrator.to_dict()
        return values | {"calibrator": inner}

    def __repr__(self) -> str:
        if self.base_rate is None:
            first = "Moved to another base rate"
        else:
            first = f"Moved from a base rate of {_shown(self.trained_at)} to "
            first += _shown(self.base_rate)
        one = isinstance(self.log_odds, float)
        what = "Log-odds" if one else "Logarithms of the probabilities"
        moved = ", ".join(f"{x:+.4g}" for x in np.atleast_1d(self.log_odds).tolist())
        moved = moved.replace("-", MINUS)
        lines = [
            f"{first} ({self.how}{', ' + self.date if self.date else ''}).",
            f"{what} moved by {moved}.",
        ]
        if self.calibrator is not None:
            lines.append(f"Before the shift: {self.calibrator!r}")
        return "\n".join(lines)


def _shown(rate: Any) -> str:  # noqa: ANN401 - a number or several
    return ", ".join(f"{100 * x:.4g} %" for x in np.atleast_1d(rate).tolist())


def summarise(gamma: Any, log_odds: Any) -> ShiftSummary:  # noqa: ANN401 - a shifted map
    """Return the summary of a shifted map."""
    own = getattr(gamma.inner, "summary", None)
    before, after = as_plain(gamma.trained_at), as_plain(gamma.base_rate)
    inner = None if own is None else own()
    return ShiftSummary(before, after, log_odds, gamma.how, gamma.date, inner)


def as_plain(x: Any) -> Any:  # noqa: ANN401 - a number or an array
    """Return a number or None as it is, and an array as a tuple."""
    return tuple(x.tolist()) if isinstance(x, np.ndarray) else x
