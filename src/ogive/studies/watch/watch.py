r"""Watch: an alarm that is right, however often one looks.

**What is guaranteed.** Suppose that, given the scores and all days before, the outcomes of a day
are independent and 1 with the probability that the score says. With :math:`M_t` the mixture of
`ogive.studies.watch.starts`, M is then a non-negative (super)martingale that begins at 1, and by
Ville's inequality :math:`P(\exists t: M_t \ge 1/\alpha) \le \alpha`: the chance of *any* false
alarm, over all days to come, is at most α.

That holds for any sequence of scores, numbers of rows, ties, rare events and seasons of the score
mix: scores may depend on the past in any way. It does **not** hold if outcomes of a day share a
shock that the scores do not know of, if the same event is counted in several rows, or if a label's
arrival depends on the outcome.

**Clusters.** Rows of one day that may share a shock belong to one cluster (``clusters=`` of a
curve). Each row of a cluster of m rows then counts as 1/m: the cluster's factor is the geometric
mean of the factors of its rows, which is at most their arithmetic mean, and that has the mean 1
however the rows depend on each other. The guarantee holds if clusters are independent.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from ogive._html import table
from ogive._wording import NOT_FOUND
from ogive.curve import Curve
from ogive.curve.curve import check_curve
from ogive.errors import InvalidInput
from ogive.metrics.onepass import read
from ogive.metrics.proper import MeanReader
from ogive.metrics.significance import TestReader, ks_of
from ogive.studies.watch.change import Change, change_of
from ogive.studies.watch.starts import Start, bet, kept, log_mixture
from ogive.studies.watch.times import as_time, check_later

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from ogive.curve.clusters import Clusters
    from ogive.studies.watch.grouped import GroupWatch
    from ogive.studies.watch.times import Time

KS_SEED = 0  # of simulated KS tests: a day's numbers are the same in every run


@dataclass(frozen=True, slots=True)
class Day:
    """One day (or week, or batch).

    Attributes
    ----------
    time : str or int
    n : float
        Rows.
    log_e : float
        log of the mixture M after this day: alarm from log(1 / alpha) on.
    ks, ks_low, ks_high : float
        KS error of the day alone, with its 95 % interval.
    base_rate, mean_score : float
    saved : float
        Log loss per row that calibrating would have saved on this day, with the map that was known
        the day before and had done best until then. Below 0: it would have cost.
    """

    time: Time
    n: float
    log_e: float
    ks: float
    ks_low: float
    ks_high: float
    base_rate: float
    mean_score: float
    saved: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Watching:
    """What a watch of all rows and one of groups have in common: the rule, the days, the file."""

    alpha: float = 0.05
    days: tuple[Day, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            msg = f"`alpha` must lie between 0 and 1, not {self.alpha!r}: write 5 % as 0.05."
            raise InvalidInput(msg)

    @property
    def log_e(self) -> float:
        """Log of the mixture after the last day."""
        return self.days[-1].log_e if self.days else 0.0

    @property
    def alarm_day(self) -> Day | None:
        """The first day of the alarm; it is not withdrawn."""
        return next((day for day in self.days if day.log_e >= -log(self.alpha)), None)

    @property
    def alarm(self) -> bool:
        """Whether there was an alarm."""
        return self.alarm_day is not None

    @property
    @abstractmethod
    def verdict(self) -> str:
        """Whether and when the scores became wrong, in words."""

    def _repr_html_(self) -> str:
        first = self.alarm_day
        rows = {
            "days": f"{len(self.days):,}",
            "rows": f"{sum(day.n for day in self.days):,.0f}",
            "alarm": "none" if first is None else str(first.time),
        }
        return table(type(self).__name__, rows, below=self.verdict if self.days else "")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the watch as a small JSON file with a checksum: whole, or not at all."""
        from ogive.studies.watch.state import State, save_state  # noqa: PLC0415 - it builds watches

        save_state(State(cast("Any", self)), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote; a file that was altered is refused."""
        from ogive.studies.watch.state import load_state  # noqa: PLC0415 - it builds watches

        found = load_state(path).watch
        if not isinstance(found, cls):
            name = type(found).__name__
            msg = f"{path} is a {name}, not a {cls.__name__}: ogive.{name}.load reads it."
            raise InvalidInput(msg)
        return found


@dataclass(frozen=True, eq=False, kw_only=True)
class Watch(Watching):
    """Watches the scores in use day by day. It is immutable: `update` returns the next one.

    Parameters
    ----------
    alpha : float
        The chance of any false alarm, over all days to come, is at most this.

    Attributes
    ----------
    days : tuple of Day
    starts : tuple of Start
        The bets that are still placed.

    Notes
    -----
    The guarantee holds if, given the scores and all earlier days, the outcomes of a day are
    independent and 1 with the probability that the score says: see ``docs/theory/watch.md``.

    Examples
    --------
    >>> import datetime
    >>> from ogive import Curve, Watch
    >>> rng = np.random.default_rng(0)
    >>> watch, first = Watch(), datetime.date(2026, 4, 1)
    >>> for day in range(20):
    ...     scores = rng.uniform(size=1000)
    ...     truth = scores if day < 12 else scores**1.4            # too high from 13 April on
    ...     curve = Curve.from_scores(scores, rng.uniform(size=1000) < truth)
    ...     watch = watch.update(curve, first + datetime.timedelta(day))
    >>> watch.alarm, watch.change.since
    (True, '2026-04-13')
    """

    starts: tuple[Start, ...] = field(default=(), repr=False)

    def update(self, curve: Curve, when: object) -> Watch:
        """Return the watch after one more day.

        Parameters
        ----------
        curve : Curve
            The scores and outcomes of the day. Weights must be whole numbers of repetitions. Rows
            of one cluster (``clusters=`` of `Curve.from_scores`) count as one row together.
        when : date, str or int
            Later than all days before: a date, a text in ISO 8601, or the number of a batch.
        """
        _check_counts(check_curve(curve))
        time = as_time(when)
        check_later(time, [day.time for day in self.days])
        if self.starts and self.starts[0].rows.view != curve.view:
            msg = f"the days before are of the view {self.view!r}, this one of {curve.view!r}."
            raise InvalidInput(msg)
        today = len(self.days) + 1
        counted = curve if curve.clusters is None else one_row_each(curve.clusters, curve.view)
        moved, saved = bet(self.starts, counted)
        first = self.alarm_day
        alarm = 0 if first is None else self.days.index(first) + 1
        starts = kept([*moved, Start.born(today, counted)], today, alarm)
        day = Day(
            time=time,
            n=curve.n,
            log_e=log_mixture(starts, today),
            saved=saved / counted.n,
            **_measured(curve),
        )
        return replace(self, days=(*self.days, day), starts=tuple(starts))

    @property
    def view(self) -> str | None:
        """The view of all days; None before the first."""
        return self.starts[0].rows.view if self.starts else None

    @cached_property
    def change(self) -> Change | None:
        """Since when, and how, the scores are off; None without an alarm."""
        times = [day.time for day in self.days]
        return change_of(self.starts, times) if self.alarm else None

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if self.change is None:
            return quiet_words(self.days)
        return f"{self.change.words} {self.change.advice}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values under the keys of ``ogive watch --json``."""
        return to_plain(self)


def quiet_words(days: Sequence[Day], groups: int = 0) -> str:
    """Return the answer in words where there is no alarm."""
    if not days:
        return "No days yet."
    of = f" of {groups:,} groups" if groups else ""
    return (
        f"{NOT_FOUND} from {days[0].time} to {days[-1].time} ({len(days):,} days or "
        f"batches, {sum(day.n for day in days):,.0f} rows{of})."
    )


def to_plain(watch: Watch | GroupWatch) -> dict[str, Any]:
    """Return plain values under the keys of ``ogive watch --json``."""
    change, first = watch.change, watch.alarm_day
    found = {name: getattr(change, name, None) for name in Change.KEYS}
    return {
        "alarm": watch.alarm,
        **found,
        "log_e": watch.log_e,
        "days": [asdict(day) for day in watch.days],
        "alarm_time": None if first is None else first.time,
        "verdict": watch.verdict,
    }


def _check_counts(curve: Curve) -> None:
    """Refuse weights that are not repetitions: the bets count each outcome as one."""
    whole = np.array_equal(curve.count, np.rint(curve.count))
    whole = whole and np.array_equal(curve.hits, np.rint(curve.hits))
    if not whole or not np.array_equal(curve.square, curve.count):
        msg = (
            "a watch counts outcomes one by one: weights must be whole numbers of repetitions "
            'with weight_kind="repetition". Leave other weights out.'
        )
        raise InvalidInput(msg)


def one_row_each(clusters: Clusters, view: str) -> Curve:
    """Return a curve in which every cluster counts as one row, shared evenly by its rows."""
    share = 1.0 / clusters.weight[clusters.code]
    weights = np.concatenate([clusters.hits * share, (clusters.count - clusters.hits) * share])
    scores, outcomes = np.tile(clusters.score, 2), np.repeat([1, 0], clusters.score.size)
    some = weights > 0.0
    return Curve.from_scores(scores[some], outcomes[some], sample_weight=weights[some], view=view)


def _measured(curve: Curve) -> dict[str, float]:
    """Return the numbers of one day alone."""
    ks, means = TestReader(), MeanReader()
    read(curve, ks, means)
    test = ks_of(curve, ks, random_state=KS_SEED)
    return {
        "ks": test.value,
        "ks_low": test.low,
        "ks_high": test.high,
        "base_rate": means.hits / means.n,
        "mean_score": means.score / means.n,
    }
