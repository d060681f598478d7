r"""The bets against "still calibrated": one for each day on which a change may have begun.

Let :math:`p_i` be the score of row i and :math:`y_i` its outcome. The bet of *start* s takes for
day t the map :math:`g` that the default spline learnt from the days s … t − 1, and multiplies

.. math:: E_s(t) = E_s(t - 1) \prod_{i \in t}
          \Bigl(\frac{g(p_i)}{p_i}\Bigr)^{y_i} \Bigl(\frac{1 - g(p_i)}{1 - p_i}\Bigr)^{1 - y_i} ,

with :math:`E_s = 1` before day s. If the outcomes are drawn with the probabilities p, each factor
has the mean 1, whatever g is: :math:`E_s` is a martingale. Its logarithm is the log loss that
calibrating with the past since s would have saved.

**The first day.** On day s itself nothing is known of the change, and most of the money stays where
it is; a tenth is put on eight lines in log-odds (`first_bet`), so that a large change is found on
the day it comes.

Their mixture is :math:`M = \sum_s w_s E_s`, :math:`w_s = 1 / (s (s + 1))` (`log_share`): the
weights sum to 1 over all days to come, and starts that are not yet born count as 1. M is a
martingale from 1.

**Few starts.** The day of a change that lies long ago need not be known to the day. Starts older
than 2 · 4 · 2^j days are kept at every 2^(j+1)-th day. Of a start that is dropped, the share goes
on with the next older one: it is money that changes its strategy, so M stays a martingale.
After an alarm the starts up to it are all kept, so that the day of the change stays as well known
as it was then.

**Summaries.** A row of a summarised curve stands for rows with scores around their mean
:math:`\bar p`. The mean of their product of factors is then
:math:`\prod_i (1 + c (p_i - \bar p)) \le 1`, as the sum of the brackets is 0: it is at most 1.
Likewise p and 1 − p are not taken below 1e-7, which makes factors smaller, never larger.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING

import numpy as np

from ogive._numerics.logistic import log_odds_of_tails
from ogive.curve.summary import LEAST_BITS
from ogive.studies.where_off import spline_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ogive.calibrators.spline_map import SplineMap
    from ogive.curve import Curve

#: Precision of what is kept of past days: a map fitted to buckets of 6 % is as good as to scores.
PAST_BITS = LEAST_BITS
#: A day with more distinct scores than this is summarised before bets are placed on it: a summary
#: of 8 bits has buckets of 0.4 %, on which the bets gain nearly as much.
MAX_SCORES_OF_A_DAY, DAY_BITS = 8192, 8
#: Starts are kept day by day up to twice this age, then at half the density for each doubling.
STARTS_PER_DOUBLING = 4
#: A map is fitted again when there are this many times the rows it was fitted to.
GROWTH_FOR_NEW_FIT = 1.25
#: From this many rows on the map is known well, and half as many again make a new one worthwhile.
ROWS_OF_A_KNOWN_MAP, GROWTH_OF_A_KNOWN_MAP = 1_000_000, 1.5
#: Before a start has this many rows of the rarer outcome it does not bet: a line through fewer
#: would lose more on new rows than it can gain.
MIN_OUTCOMES_TO_BET = 10
#: p and 1 − p of a bet are at least this.
LEAST_TAIL = 1e-7
#: What a start bets on its own first day. More would be lost on all days without a change.
SHARE_OF_FIRST_BET = 0.1
#: Shifts, changes of slope and both at once, in eight directions; each moves the day's sums by
#: this many standard errors: less is too little to be found in one day.
DIRECTIONS_OF_FIRST_BET, ERRORS_OF_FIRST_BET = 8, 3.0
#: No score is moved by more than this, in log-odds.
MAX_MOVE_OF_FIRST_BET = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """A day on which a change may have begun, with its bet.

    Attributes
    ----------
    number : int
        The day, from 1.
    rows : Curve
        The days from this start to the one before the next start, summarised.
    log_e : float
        log of the start's own evidence E.
    log_share : float
        log of what the start, and those that were dropped in its favour, add to M.
    gamma : SplineMap or None
        What the bet was last placed with.
    """

    number: int
    rows: Curve
    log_e: float
    log_share: float
    gamma: SplineMap | None = None

    @classmethod
    def born(cls, number: int, curve: Curve) -> Start:
        """Return the start of a day that was seen for the first time."""
        first = first_bet(day_of(curve))
        return cls(number, past_of(curve), first, first - log(number * (number + 1.0)))

    def after(self, saved: float, gamma: SplineMap | None) -> Start:
        """Return the start after a day on which its map saved this much log loss."""
        log_e, log_share = self.log_e + saved, self.log_share + saved
        return replace(self, gamma=gamma, log_e=log_e, log_share=log_share)

    def taking(self, other: Start) -> Start:
        """Return the start with the rows and the share of the next one, which is dropped."""
        return replace(
            self,
            rows=self.rows.merge(other.rows),
            log_share=float(np.logaddexp(self.log_share, other.log_share)),
        )


def past_of(curve: Curve) -> Curve:
    """Return what is kept of a day that is past."""
    return curve.summarised(PAST_BITS)


def day_of(curve: Curve) -> Curve:
    """Return what bets are placed on: a day, summarised if it has many scores."""
    many = curve.score.size > MAX_SCORES_OF_A_DAY and curve.bits > DAY_BITS
    return curve.summarised(DAY_BITS) if many else curve


def saved_by(gamma: SplineMap, curve: Curve) -> float:
    """Return the log loss of all rows that a map saves on a curve: log of the factors.

    >>> from ogive import Curve, fit_spline
    >>> import numpy as np
    >>> scores = np.arange(1, 100) / 100
    >>> curve = Curve.from_scores(scores, scores > 0.5)
    >>> saved_by(fit_spline(curve), curve) > 10
    True
    """
    q = gamma.from_tails(curve.high, curve.tail)
    p = np.where(curve.high, 1.0 - curve.tail, curve.tail)
    rest = np.where(curve.high, curve.tail, 1.0 - curve.tail)
    ones = np.log(q) - np.log(np.maximum(p, LEAST_TAIL))
    zeros = np.log1p(-q) - np.log(np.maximum(rest, LEAST_TAIL))
    return float(curve.hits @ ones + (curve.count - curve.hits) @ zeros)


def first_bet(curve: Curve) -> float:
    r"""Return log of the factor of a start's first day, which knows the scores and no outcome.

    .. math:: 0.9 + \frac{0.1}{8} \sum_{k=1}^{8} \prod_i
              \frac{e^{\delta_k y_i}}{1 - p_i + p_i e^{\delta_k}} , \qquad
              \delta_k = 3 \Bigl(\frac{\cos k \pi / 4}{\sqrt{\sum v}}
              + \frac{\sin k \pi / 4}{\sqrt{\sum v x^2}}\,x\Bigr) ,

    with x the log-odds of a score less their mean, and v = p (1 − p) its information: each product
    is that of the map whose log-odds are larger by δ, and has the mean 1.
    """
    p = np.where(curve.high, 1.0 - curve.tail, curve.tail)
    tail = np.maximum(curve.tail, LEAST_TAIL)
    eta = log_odds_of_tails(curve.high, tail)
    info = curve.count * tail * (1.0 - tail)
    x = eta - info @ eta / info.sum()
    spread = float(info @ (x * x))
    unit = np.stack([np.full(x.size, info.sum() ** -0.5), x / np.sqrt(spread or 1.0)])
    angle = 2.0 * np.pi / DIRECTIONS_OF_FIRST_BET * np.arange(DIRECTIONS_OF_FIRST_BET)
    move = ERRORS_OF_FIRST_BET * np.stack([np.cos(angle), np.sin(angle)], axis=1) @ unit
    move = np.clip(move, -MAX_MOVE_OF_FIRST_BET, MAX_MOVE_OF_FIRST_BET)
    logs = move @ curve.hits - np.log1p(p * np.expm1(move)) @ curve.count
    most = log(1.0 - SHARE_OF_FIRST_BET)
    each = log(SHARE_OF_FIRST_BET / DIRECTIONS_OF_FIRST_BET)
    return float(np.logaddexp.reduce([*(each + logs), most]))


def bet(starts: Sequence[Start], curve: Curve) -> tuple[list[Start], float]:
    """Return the starts after a day, and what the leading start saved on it."""
    lead = max(starts, key=lambda one: one.log_e, default=None)
    found, of_lead, day = [], 0.0, day_of(curve)
    for start, past in _pasts(starts):
        gamma = _map_for(start, past)
        saved = 0.0 if gamma is None else saved_by(gamma, day)
        found.append(start.after(saved, gamma))
        of_lead = saved if start is lead else of_lead
    return found[::-1], of_lead


def since(starts: Sequence[Start]) -> list[Curve]:
    """Return all rows since each start."""
    return [past for _, past in _pasts(starts)][::-1]


def _pasts(starts: Sequence[Start]) -> Iterator[tuple[Start, Curve]]:
    """Yield each start with all rows since, the latest first."""
    past: Curve | None = None
    for start in reversed(starts):
        past = start.rows if past is None else past.merge(start.rows)
        yield start, past


def _map_for(start: Start, past: Curve) -> SplineMap | None:
    """Return the map of a bet: the last one, or a new one where there are many more rows."""
    known = past.n >= ROWS_OF_A_KNOWN_MAP
    growth = GROWTH_OF_A_KNOWN_MAP if known else GROWTH_FOR_NEW_FIT
    if start.gamma is not None and past.n < growth * start.gamma.n:
        return start.gamma
    if min(past.total_hits, past.n - past.total_hits) < MIN_OUTCOMES_TO_BET:
        return None
    return spline_of(past)


def kept(starts: Sequence[Start], today: int, alarm: int = 0) -> list[Start]:
    """Return the starts that are kept after a day: few, the older the fewer.

    alarm : number of the day of the alarm; starts up to it are all kept, one of them is the change
    """
    numbers = [start.number for start in starts]
    some = [n for n in numbers if n <= alarm or not (n - 1) % _spacing(today - n)]
    return _only(starts, {*numbers[:1], *some})


def _only(starts: Sequence[Start], numbers: Collection[int]) -> list[Start]:
    """Return the starts of some days; of the others, rows and shares go on with the next older."""
    found: list[Start] = []
    for start in starts:
        if start.number in numbers:
            found.append(start)
        else:
            found[-1] = found[-1].taking(start)
    return found


def _spacing(age: int) -> int:
    """Return at every which day starts of an age are kept.

    >>> [_spacing(age) for age in (0, 8, 9, 16, 17, 33)]
    [1, 1, 2, 2, 4, 8]
    """
    spacing = 1
    while age > 2 * STARTS_PER_DOUBLING * spacing:
        spacing *= 2
    return spacing


def log_mixture(starts: Sequence[Start], today: int) -> float:
    """Return log M after a day: with weight 1 / (today + 1) on starts that are not yet born."""
    shares = [start.log_share for start in starts]
    return float(np.logaddexp.reduce([*shares, -log(today + 1.0)]))
