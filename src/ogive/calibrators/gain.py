r"""What calibration gains on rows that the map has not seen, in log loss, with its error.

With p the score of a row, q its calibrated score from a map fitted without the row, and y the
outcome, the gain of the row is

.. math:: d = \log\frac{q}{p} \text{ for a hit}, \qquad d = \log\frac{1-q}{1-p} \text{ for a miss,}

and the mean is how much log loss per row calibration saves on new data.

**Without fitting again.** Let the log-odds l of a row have the posterior variance V, over
coefficients and sizes together. Its likelihood is :math:`y l - \log(1 + e^l)`. Taking it out of
the posterior moves the mean of l, to second order, by

.. math:: l_{-} - l = -\frac{V (y - \gamma)}{1 - V \gamma (1 - \gamma)}, \qquad
          \gamma = \mathrm{sigmoid}(l) .

V holds the spread of l over all sizes and both atoms, so that what the row did to their weights is
taken out as well. On simulated truths from 200 rows up the mean gain so found agrees with the true
gain of the map better than cross-fitting in five parts does, which fits smaller samples.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._numerics.logistic import expit

if TYPE_CHECKING:
    from ogive._numerics.binomial import Likelihood, Trials
    from ogive._typing import FloatArray

ERRORS = 2.0  # a gain within this many standard errors is none
#: Log-odds are cut here: probabilities of 1e-7 and of 1 − 1e-7, as for the log loss.
_CLIP = float(np.log(1e7 - 1.0))
_ALONE = 0.1  # a row that holds more of its own fit than all but this is not taken out further


@dataclass(frozen=True, slots=True, repr=False)
class Gain:
    """The gain of a method on rows that its map has not seen.

    Attributes
    ----------
    method, view : str
    n : float
    folds : int or None
        In how many parts the rows were cut; None: each row was left out in turn.
    value : float
        Log loss saved per row, in nats.
    error : float
        Its standard error, over rows.
    """

    method: str
    view: str
    n: float
    folds: int | None
    value: float
    error: float

    @property
    def leave_alone(self) -> bool:
        """Whether the gain is within two standard errors of nothing, or a loss."""
        return self.value <= ERRORS * self.error

    @property
    def verdict(self) -> str:
        """The gain in words."""
        told = f"Out of fold, {self.method!r} saves {self.value:.2g} ± {self.error:.2g} nats a row"
        if self.leave_alone:
            return f"Leave it alone. {told}: within two standard errors, or a loss."
        return f"{told}: calibrate."

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**asdict(self), "leave_alone": self.leave_alone}

    def __repr__(self) -> str:
        how = "each row left out in turn" if self.folds is None else f"{self.folds} folds"
        return f"{self.view}, n = {self.n:,}, {how}. {self.verdict}"


def left_out_gain(
    like: Likelihood, trials: Trials, coef: FloatArray, covariance: FloatArray
) -> tuple[float, float]:
    """Return the mean gain of rows left out in turn, and its standard error.

    coef : (d,) the fitted coefficients; covariance : (d, d) their posterior covariance.
    """
    logit = like.logit(coef)
    gamma = expit(logit)
    variance = np.maximum(np.einsum("jg,jg->g", covariance @ like.columns, like.columns), 0.0)
    pull = variance / np.maximum(1.0 - variance * gamma * (1.0 - gamma), _ALONE)
    before = np.clip(trials.offset, -_CLIP, _CLIP)
    hit = _log_sigmoid(logit - pull * (1.0 - gamma)) - _log_sigmoid(before)
    miss = _log_sigmoid(-logit - pull * gamma) - _log_sigmoid(-before)
    hits, misses, n = trials.hits, trials.count - trials.hits, float(trials.count.sum())
    mean = float(hits @ hit + misses @ miss) / n
    spread = float(hits @ hit**2 + misses @ miss**2) - n * mean**2
    return mean, float(np.sqrt(max(spread, 0.0))) / n


def _log_sigmoid(logit: FloatArray) -> FloatArray:
    result: FloatArray = -np.logaddexp(0.0, -np.clip(logit, -_CLIP, _CLIP))
    return result
