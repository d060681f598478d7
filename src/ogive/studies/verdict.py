"""The verdict: whether scores are off, in which way, and whether to calibrate.

Whatever speaks of it (measure, fit, compare, report, demo, notebooks, JSON) reads a `Verdict`. Its
parts come from one place each:

* whether miscalibration was seen: `ogive.calibration_test`, p < 5 %;
* whether to calibrate: the log loss that is expected to be saved, or that was saved on a test set
  (`ogive.calibrators.gain.Gain.leave_alone`); for matrices, of whole vectors;
* which ranges of scores are off: the band of the default calibrator, never where the gap peaks;
* too few rows to say: see `MIN_ROWS` and `_material`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from ogive import _wording as wording
from ogive._numerics.mean_interval import LEVEL
from ogive.metrics.omnibus import calibration_test, noise_ratio
from ogive.metrics.significance import ks_test
from ogive.studies.gain import gain_of
from ogive.studies.where_off import about_scores, direction_of, spline_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive.calibrators.gain import Gain
    from ogive.curve import Curve
    from ogive.metrics.significance import CalibrationTest
    from ogive.rows.predictions import Predictions
    from ogive.studies.deciding import Decided

#: With fewer rows than this nothing is decided.
MIN_ROWS = 20
#: A KS error that matters: half of what the scores leave to chance, at most 10 %. Rows are too few
#: if they would miss it in more than one of five samples. It has no least size: four rare events
#: are few among however many rows.
MOST_MATERIAL_KS = 0.10


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was decided, and the sentences that say it.

    Attributes
    ----------
    view : str
    n : float
        Rows that were judged.
    calibrate : bool or None
        None: too few rows to say, or not decided by these rows.
    miscalibrated : bool or None
        Whether the calibration test rejects at 5 %; None: too few rows, or not tested.
    pvalue : float or None
        Of the calibration test.
    too_few_rows : bool
    rows_needed : int or None
        About how many rows would settle it, where they are too few.
    direction : str
        "too high", "too low", "mixed" or "none found".
    method : str or None
        The method that is recommended, or was fitted; None: leave the scores alone.
    log_loss_before, log_loss_after, log_loss_error : float or None
        And the standard error of the difference.
    basis : str or None
        On which rows the log losses were found.
    certain_rows : float or None
        How many of them have a score or probability of exactly 0 or 1.
    gain_without_certain_rows : float or None
        Log loss saved per row by all others.
    sentences : tuple of str
    """

    view: str
    n: float
    calibrate: bool | None = None
    miscalibrated: bool | None = None
    pvalue: float | None = None
    too_few_rows: bool
    rows_needed: int | None = None
    direction: str
    method: str | None = None
    log_loss_before: float | None = None
    log_loss_after: float | None = None
    log_loss_error: float | None = None
    basis: str | None = None
    sentences: tuple[str, ...]
    certain_rows: float | None = None
    gain_without_certain_rows: float | None = None

    def __str__(self) -> str:
        return " ".join(self.sentences)

    def noted(self, sentence: str) -> Verdict:
        """Return it with a further sentence."""
        return replace(self, sentences=(*self.sentences, sentence))

    def withheld(self, sentence: str) -> Verdict:
        """Return it without a decision and p-value: the rows fitted the calibrator."""
        return Verdict(
            view=self.view,
            n=self.n,
            too_few_rows=False,
            direction=wording.NONE_FOUND,
            sentences=(sentence,),
        )

    @property
    def word(self) -> str | None:
        """The decision in a word or two; None: these rows do not decide it."""
        if self.too_few_rows:
            return wording.TOO_FEW_ROWS
        words = {True: wording.CALIBRATE, False: wording.LEAVE_ALONE}
        return None if self.calibrate is None else words[self.calibrate]

    def flat(self) -> dict[str, Any]:
        """Return what every command's JSON has: the verdict in words, and what is known of it."""
        values = {
            "verdict": str(self),
            "decision": self.word,
            "direction": self.direction,
            "calibration_pvalue": self.pvalue,
            "rows_needed": self.rows_needed,
            "certain_rows": self.certain_rows,
            "gain_without_certain_rows": self.gain_without_certain_rows,
        }
        return {key: value for key, value in values.items() if value is not None}

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self) | {"sentences": list(self.sentences)}


class Seen(NamedTuple):
    """What the rows themselves show: the test, the way they are off, and how few they are."""

    n: float
    view: str
    pvalue: float
    ks: CalibrationTest
    direction: str
    sentences: tuple[str, ...]
    rows_needed: int | None


def look(
    curve: Curve,
    ks: CalibrationTest | None = None,
    *,
    calibrator: Any = None,  # noqa: ANN401 - its spline, if fitted
    fitted_on: float | None = None,
) -> Seen:
    """Test a curve, and say in which way its scores are off.

    fitted_on : of calibrated scores, how many other rows their calibrator was fitted on. Its own
    sampling noise is then no miscalibration: see `ogive.calibration_test`.
    """
    ks = ks or ks_test(curve)
    mean, rate = float(curve.score @ curve.count) / curve.n, float(curve.total_hits) / curve.n
    if ks.sigma == 0.0:
        right = ks.value == 0.0
        words: tuple[str, ...] = (wording.certain_words(right=right),)
        return Seen(curve.n, curve.view, float(right), ks, wording.NONE_FOUND, words, None)
    pvalue = calibration_test(curve, fitted_on=fitted_on).pvalue
    found = pvalue < LEVEL
    if fitted_on is None:
        first = wording.beside_chance(ks.value, ks.expected, pvalue)
    else:
        allowed = allowed_ks(curve, ks, fitted_on)
        first = wording.what_remains(ks.value, allowed, fitted_on, pvalue, found=found)
    needed = _rows_needed(curve, ks)
    if not found:
        unseen = () if fitted_on is not None else (wording.unseen_words(ks.detectable),)
        words = (f"{wording.NOT_FOUND}: {first}", *unseen)
        return Seen(curve.n, curve.view, pvalue, ks, wording.NONE_FOUND, words, needed)
    way, means = direction_of(curve.view, mean, rate, ks)
    words = (f"{wording.FOUND}: {first}", f"{means} {about_scores(curve, calibrator)}".strip())
    short = max(MIN_ROWS, needed or 0) if curve.n < MIN_ROWS else None
    return Seen(curve.n, curve.view, pvalue, ks, way, words, short)


def judge(
    seen: Seen,
    gain: Gain | None,
    *,
    method: str | None = None,
    more: Sequence[str] = (),
    lead: str = "",
) -> Verdict:
    """Decide and word the verdict.

    Parameters
    ----------
    seen : Seen
        What the rows show.
    gain : Gain or None
        What calibrating saves; None: these rows do not decide it.
    method : str, optional
        The method that the gain is of.
    more : sequence of str
        Further sentences, about methods.
    lead : str
        Before the decision to calibrate: "Use spline." A decision begins the verdict.
    """
    clear = gain is not None and gain.tested_on is not None and not gain.leave_alone
    few = seen.rows_needed is not None and (seen.n < MIN_ROWS or not clear)
    calibrate = None if gain is None or few else not gain.leave_alone
    decision = [] if gain is None or few else [gain.verdict]
    shown = list(seen.sentences)
    if few:
        shown = [wording.too_few_words(seen.n, seen.ks.detectable, seen.rows_needed)]
    if calibrate and seen.pvalue >= LEVEL:
        shown[0] = shown[0].replace(wording.NOT_FOUND, f"{wording.LIKELY}, but not certain")
    if calibrate and lead:
        decision = [lead, *decision]
    sentences = [*decision, *more, *shown] if lead else [*shown, *decision, *more]
    verdict = Verdict(
        view=seen.view,
        n=seen.n,
        calibrate=calibrate,
        miscalibrated=None if few else seen.pvalue < LEVEL,
        pvalue=seen.pvalue,
        too_few_rows=few,
        rows_needed=seen.rows_needed if few else None,
        direction=wording.NONE_FOUND if few else seen.direction,
        method=method if calibrate else None,
        sentences=tuple(sentences),
    )
    if gain is None:
        return verdict
    rows = gain.certain
    return replace(
        verdict,
        view=gain.view,
        log_loss_before=gain.before,
        log_loss_after=gain.before - gain.value if gain.before else None,
        log_loss_error=gain.error,
        basis=gain.basis,
        certain_rows=None if rows is None else int(rows.n) if rows.n % 1 == 0 else rows.n,
        gain_without_certain_rows=None if rows is None else rows.value,
    )


def judge_curve(
    curve: Curve,
    ks: CalibrationTest,
    *,
    decide: bool,
    fitted_on: float | None = None,
    decided: Decided | None = None,
    rows: Predictions | None = None,
) -> Verdict:
    """Return the verdict on a curve: its default calibrator decides, or what has decided already.

    It does not for calibrated scores: a calibrator belongs on the model's own outputs.
    decided : of whole vectors, or of a test set: see `ogive.studies.deciding.decide`
    rows : of which the curve is, where they are at hand
    """
    gamma = spline_of(curve) if ks.sigma > 0.0 else None
    seen = look(curve, ks, calibrator=gamma, fitted_on=fitted_on)
    if decided is not None:
        if decided.seen is not None:  # whether rows are too few is said of the rows that decide
            seen = seen._replace(ks=decided.seen.ks, rows_needed=decided.seen.rows_needed)
        return judge(seen, decided.gain, method="spline", more=decided.more)
    decide = decide and fitted_on is None
    gain = gain_of(curve if rows is None else rows, gamma) if decide and gamma is not None else None
    again = fitted_on is not None and seen.pvalue < LEVEL
    more = (wording.REFIT,) if again else ()
    return judge(seen, gain, method="spline", more=more)


def allowed_ks(curve: Curve, ks: CalibrationTest, fitted_on: float) -> float:
    """Return the KS error that noise explains in 95 % of samples after calibrating on other rows.

    2.2414 σ / N · √(1 + N / n): the noise of the N rows that are judged and of the n of the fit.
    """
    return ks.detectable_half * noise_ratio(curve, fitted_on)


def _rows_needed(curve: Curve, ks: CalibrationTest) -> int | None:
    """Return how many rows would show an error that matters; None: these do."""
    material = min(0.5 * float(curve.tail @ curve.count) / float(curve.n), MOST_MATERIAL_KS)
    if ks.detectable <= material and curve.n >= MIN_ROWS:
        return None
    return max(MIN_ROWS, ceil(curve.n * (ks.detectable / material) ** 2))
