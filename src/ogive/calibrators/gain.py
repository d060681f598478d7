r"""What calibration gains on rows that the map has not seen, in log loss, with its error.

With p the score of a row, q its calibrated score from a map fitted without the row, and y the
outcome, the gain of the row is

.. math:: d = \log\frac{q}{p} \text{ for a hit}, \qquad d = \log\frac{1-q}{1-p} \text{ for a miss,}

and the mean is by how much calibration lowers the log loss per row on new data.

**Without fitting again.** Let the log-odds l of a row have the posterior variance V, over
coefficients and sizes together. Its likelihood is :math:`y l - \log(1 + e^l)`. Taking it out of
the posterior moves the mean of l, to second order, by

.. math:: l_{-} - l = -\frac{V (y - \gamma)}{1 - V \gamma (1 - \gamma)}, \qquad
          \gamma = \mathrm{sigmoid}(l) .

V holds the spread of l over all sizes and both atoms, so that what the row did to their weights is
taken out as well. On simulated truths from 200 rows up the mean gain so found agrees with the true
gain of the map better than cross-fitting in five parts does, which fits smaller samples.

**Calibrate?** The mean gain of rows left out is noisy: its t-value is about half that of a score
test. The decision (`Gain.leave_alone`) is made from what the posterior expects, and against
calibrating where rows left out lose by it. With m the posterior mean of the true probability of a
row, using the map saves

.. math:: E[\mathrm{KL}(\text{truth} \| p) - \mathrm{KL}(\text{truth} \| \gamma)]
          = m \log\frac{\gamma}{p} + (1 - m) \log\frac{1-\gamma}{1-p} ,

averaged over the rows. Methods without a posterior, and whole vectors of three classes or more, are
judged by what cross-validation saves in total.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._html import text_form
from ogive._numerics.logistic import expit, log_add
from ogive._wording import MAY_BE_NONE, certain_rows_words, decision_words, loss_words
from ogive.rows.tails import LOG_LOSS_CLIP

if TYPE_CHECKING:
    from ogive._numerics.binomial import Likelihood, Trials
    from ogive._typing import FloatArray
    from ogive.curve import Curve

#: Calibrate where the posterior expects to save at least this much log loss in total, over as many
#: new rows as the map was fitted on: 7 % of calibrated samples (seven laws, 200 to 10,000 rows), at
#: 0.5 9 %. A posterior's expected gain is hardly ever below 0, so that 0 cannot be the limit.
MIN_EXPECTED_TOTAL = 0.75
#: The same beside a test set that saved some as well; and of what cross-validation saved in total.
MIN_SAVED_TOTAL = 0.5
#: A gain on a test set decides by itself if it is this many standard errors from 0.
CLEAR_ERRORS = 2.0
#: Exact scores that make more of the gain than this are named, with the gain of all other rows.
MAX_SHARE_OF_CERTAIN = 0.1
#: Log-odds are cut where the log loss raises probabilities.
_FARTHEST = float(np.log(1.0 / LOG_LOSS_CLIP - 1.0))
#: And nearer where it is decided: an exact 1 among float32 scores is a rounded score, and charged
#: as the log loss does it would call for calibration in up to all calibrated samples.
_FARTHEST_TO_DECIDE = float(np.log(1e7 - 1.0))
# Of a miss and of a hit at an exact 0 and 1.
_CERTAIN = np.log([[1.0 - LOG_LOSS_CLIP, LOG_LOSS_CLIP], [LOG_LOSS_CLIP, 1.0 - LOG_LOSS_CLIP]])
_MIN_SHARE_OF_OTHERS = 0.1  # of a row's own fit: the correction is bounded where it is smaller
# Gauss's nodes and weights for a mean over a normal: errors below 1e-6 up to a deviation of 2.
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_NODE_WEIGHTS = _NODE_WEIGHTS / _NODE_WEIGHTS.sum()


class Certain(NamedTuple):
    """Rows that give something exactly 0 or 1, chosen by that and never by the outcome.

    n, of : how many of how many, or the sums of their weights
    before, value : log loss and gain per row of all others; None where no row, or each, is such
    first : the place of the first, where rows are at hand
    """

    n: float
    of: float
    before: float | None = None
    value: float | None = None
    first: int | None = None


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
        Log loss saved per row.
    error : float or None
        Its standard error, over rows, if it is known.
    before : float or None
        Log loss per row of the scores as they are.
    expected : float or None
        Log loss per row that the posterior expects to save on new rows; None for methods that have
        no posterior.
    expected_total : float or None
        The same, summed over as many rows as the map was fitted on.
    tested_on : float or None
        How many rows the test set has, where the gain is that of a test set.
    certain : Certain or None
        The rows with a score or probability of exactly 0 or 1; None where it is not known.
    """

    method: str
    view: str
    n: float
    folds: int | None
    value: float
    error: float | None
    before: float | None = None
    expected: float | None = None
    expected_total: float | None = None
    tested_on: float | None = None
    certain: Certain | None = field(default=None, compare=False)

    _repr_html_ = text_form

    @property
    def leave_alone(self) -> bool:
        """Whether calibrating is not worth it: the only place with this rule.

        A saving or a loss on a test set decides by itself if it is clear. Else rows left out must
        save, and the total that the posterior expects, or, of methods without a posterior, that
        cross-validation saved, must reach a least one.
        """
        tested, total = self.tested_on is not None, self.expected_total
        if tested and self.error is not None and abs(self.value) > CLEAR_ERRORS * self.error:
            return not self.value > 0.0
        if total is None and not tested:
            total = self.n * self.value
        least = MIN_SAVED_TOTAL if tested or self.expected is None else MIN_EXPECTED_TOTAL
        return not (self.value > 0.0 and total is not None and total >= least)

    @property
    def verdict(self) -> str:
        """The gain as a sentence."""
        loss = "log loss of whole vectors" if self.view == "vector" else "log loss"
        loss = loss if self.tested_on is not None else f"cross-validated {loss}"
        error = "" if self.error is None else f", ± {_two_digits(self.error)}"
        moved = loss_words(self.before, self.value, leave_alone=self.leave_alone)
        words = f"{loss} {moved} ({self.basis}{error})"
        unsure = self.error is not None and abs(self.value) <= CLEAR_ERRORS * self.error
        may_be_none = unsure and not self.leave_alone
        said = decision_words(words, leave_alone=self.leave_alone)
        said = f"{said} {MAY_BE_NONE}" if may_be_none else said
        return f"{said} {self._of_certain()}".rstrip()

    def _of_certain(self) -> str:
        """Say what is left without exact scores, where they make much of the gain."""
        rows = self.certain
        if self.value <= 0.0 or rows is None or rows.before is None or rows.value is None:
            return ""
        of_others = rows.value * (1.0 - rows.n / rows.of)
        if self.value - of_others <= MAX_SHARE_OF_CERTAIN * self.value:
            return ""
        moved = loss_words(rows.before, rows.value, leave_alone=self.leave_alone)
        return certain_rows_words(rows.n, rows.of, rows.first, moved, vectors=self.view == "vector")

    @property
    def basis(self) -> str:
        """The rows on which the gain was measured."""
        if self.tested_on is not None:
            return f"test set of {self.tested_on:,} rows"
        return "each row left out in turn" if self.folds is None else f"{self.folds} folds"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        certain = None if self.certain is None else self.certain._asdict()
        return {**asdict(self), "certain": certain, "leave_alone": self.leave_alone}

    def __repr__(self) -> str:
        return f"{self.view}, n = {self.n:,}, {self.basis}. {self.verdict}"


def _two_digits(value: float) -> str:
    """Return two digits of a number, never as 4.6e-05."""
    return np.format_float_positional(value, precision=2, fractional=False, trim="-")


def _as_they_are(curve: Curve) -> tuple[float, FloatArray]:
    """Return the log loss of the scores as they are, and how many are exact 0 and 1, in one pass.

    The second is (2, 2), by outcome and by score: misses and hits, at 0 and at 1.
    """
    loss, certain = 0.0, np.zeros((2, 2))
    for run in curve.runs():
        loss += run.log_loss
        at = run.tail == 0.0
        if at.any():
            hits = float(run.hits[at].sum())
            rows = float(np.broadcast_to(run.count, at.shape)[at].sum())
            certain[:, int(run.high)] += (rows - hits, hits)
    return loss, certain


def gain_of_fit(
    like: Likelihood, trials: Trials, coef: FloatArray, covariance: FloatArray, curve: Curve
) -> dict[str, Any]:
    """Return the gain of rows left out, and what the posterior expects: fields of `SplineMap`.

    coef : (d,) the fitted coefficients; covariance : (d, d) their posterior covariance.
    """
    n = float(trials.count.sum())
    eta = np.clip(trials.offset, -_FARTHEST_TO_DECIDE, _FARTHEST_TO_DECIDE)
    hit, miss = _log_sigmoid(eta), _log_sigmoid(-eta)
    logit, variance = like.logit(coef), _variances(like, covariance)
    truth = _NODE_WEIGHTS @ expit(logit + _NODES[:, None] * np.sqrt(variance))
    cut = np.clip(logit, -_FARTHEST_TO_DECIDE, _FARTHEST_TO_DECIDE)
    saved = truth * (_log_sigmoid(cut) - hit) + (1.0 - truth) * (_log_sigmoid(-cut) - miss)
    total = float(trials.count @ saved)
    gamma = expit(logit)
    pull = variance / np.maximum(1.0 - variance * gamma * (1.0 - gamma), _MIN_SHARE_OF_OTHERS)
    after = np.stack(
        [_log_sigmoid(-logit - pull * gamma), _log_sigmoid(logit - pull * (1.0 - gamma))]
    )
    old = np.stack([_log_sigmoid(-trials.offset), _log_sigmoid(trials.offset)])
    rows = np.stack([trials.count - trials.hits, trials.hits]) / n
    # Exact 0 and 1 lie in the first and in the last row, at the log-odds where the fit placed them.
    log_loss, counts = _as_they_are(curve)
    certain = Certain(float(counts.sum()), float(curve.n))
    exact = counts / certain.of
    log_loss /= certain.of
    rows[:, 0] -= exact[:, 0]
    rows[:, -1] -= exact[:, 1]
    share = np.hstack([rows, exact])
    gained = np.hstack([after - old, after[:, [0, -1]] - _CERTAIN])
    mean, square = (float(np.sum(share * gained**power)) for power in (1, 2))
    error = float(np.sqrt(max(square - mean**2, 0.0) / n))
    if 0.0 < certain.n < certain.of:
        others = 1.0 - certain.n / certain.of
        loss = log_loss + float(np.sum(exact * _CERTAIN))
        saved_of_others = float(np.sum(rows * (after - old)))
        certain = certain._replace(before=loss / others, value=saved_of_others / others)
    return {
        "gain": mean,
        "gain_error": error,
        "log_loss": log_loss,
        "expected_gain": total / n,
        "expected_total": total,
        "certain": certain,
    }


def _variances(like: Likelihood, covariance: FloatArray) -> FloatArray:
    """Return the posterior variance of the log-odds of each trial, (m,)."""
    variance: FloatArray = np.einsum("jg,jg->g", covariance @ like.columns, like.columns)
    return np.maximum(variance, 0.0)


def _log_sigmoid(logit: FloatArray) -> FloatArray:
    result: FloatArray = -log_add(0.0, -np.clip(logit, -_FARTHEST, _FARTHEST))
    return result
