"""The page of a watch: the answer, the timeline, the groups and the days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from ogive import __version__
from ogive._wording import percent
from ogive.plotting.figures import panels_of
from ogive.plotting.marks import plain
from ogive.report.graphs import Graph, Table
from ogive.report.page import NOTHING, About, Page
from ogive.studies.graphs import timeline_of
from ogive.studies.watch.grouped import GroupWatch
from ogive.studies.watch.watch import quiet_words

if TYPE_CHECKING:
    from datetime import date

    from ogive.studies.watch.watch import Day, Watch

#: Days in the table of the page, the last ones.
DAYS_SHOWN = 60


@dataclass(frozen=True, slots=True, repr=False)
class WatchReport(Page):
    """All that the page of a watch says."""

    template: ClassVar[str] = "watch.html"
    source: str
    made: str
    version: str
    alarm: bool
    sentence: str
    detail: str
    cards: tuple[tuple[str, str, str], ...]
    timeline: Graph
    days: Table
    groups: Table | None
    how: tuple[str, ...]
    about: About = NOTHING
    notes: tuple[str, ...] = ()


def build_watch_report(
    watch: Watch | GroupWatch, *, source: str = "watch", today: date | None = None
) -> WatchReport:
    """Gather what the page of a watch shows.

    Parameters
    ----------
    watch : Watch or GroupWatch
        With at least one day.
    source : str
        Where it came from: the file's name.
    today : date, optional
    """
    panels = panels_of(timeline_of(watch))
    change, last = watch.change, watch.days[-1]
    verdict = watch.verdict
    advice = "" if change is None else change.advice
    caption = (
        "The evidence grows by the log loss that calibrating with past days saves; it reaches the "
        "dashed line by chance with a probability of at most "
        f"{percent(watch.alpha, 1)}, over all days to come."
    )
    return WatchReport(
        source=source,
        made=(today or datetime.now(tz=UTC).date()).isoformat(),
        version=__version__,
        alarm=watch.alarm,
        sentence=verdict.removesuffix(advice).strip() or quiet_words(watch.days),
        detail=advice,
        cards=_cards(watch, last),
        timeline=Graph("timeline", "Day by day", panels, caption, None),
        days=_days(watch),
        groups=_groups(watch) if isinstance(watch, GroupWatch) else None,
        how=_how(watch),
    )


def _cards(watch: Watch | GroupWatch, last: Day) -> tuple[tuple[str, str, str], ...]:
    rows = sum(day.n for day in watch.days)
    first = watch.alarm_day
    between = f"95 %: {percent(last.ks_low)} to {percent(last.ks_high)}"
    saved = plain(round(last.saved, 4))
    return (
        (
            "alarm",
            "none" if first is None else str(first.time),
            f"{len(watch.days):,} days watched",
        ),
        ("rows", f"{rows:,.0f}", f"{watch.days[0].time} to {last.time}"),
        ("KS error of the last day", percent(last.ks), between),
        ("log loss that calibrating would save", saved, "per row, on the last day"),
    )


def _days(watch: Watch | GroupWatch) -> Table:
    head = ("day", "rows", "log e", "KS", "95 % from", "to", "base rate", "mean score", "saved")
    rows = []
    for day in reversed(watch.days[-DAYS_SHOWN:]):
        shares = (day.ks, day.ks_low, day.ks_high, day.base_rate, day.mean_score)
        log_e, saved = plain(round(day.log_e, 2)), plain(round(day.saved, 4))
        rows.append((str(day.time), f"{day.n:,.0f}", log_e, *map(percent, shares), saved))
    more = len(watch.days) - len(rows)
    return Table(head, tuple(rows), f"{more:,} earlier days are in the state." if more else "")


def _groups(watch: GroupWatch) -> Table:
    rows = []
    for name in sorted(watch.groups, key=lambda name: -watch.groups[name].log_e):
        one, change = watch.groups[name], watch.changes.get(name)
        off = ("", "", "")
        if change is not None:
            off = (str(change.since), f"{change.since_low} to {change.since_high}", change.kind)
        n = sum(day.n for day in one.days)
        rows.append((name, f"{n:,.0f}", plain(round(one.log_e, 2)), *off))
    head = ("group", "rows", "log e", "off since", "between", "what changed")
    return Table(head, tuple(rows))


def _how(watch: Watch | GroupWatch) -> tuple[str, ...]:
    share = percent(watch.alpha, 1)
    rule = f"The chance of any false alarm, over all days to come, is at most {share}."
    assumed = (
        "This holds if, given the scores and all earlier days, the outcomes of a day are "
        "independent and 1 with the probability that the score says."
    )
    estimate = (
        "The day of the change is an estimate; its interval holds the days that explain the "
        "outcomes nearly as well."
    )
    if not isinstance(watch, GroupWatch):
        return rule, assumed, estimate
    named = f"Groups are named by the e-BH rule: on average at most {share} of them are calibrated."
    return rule, assumed, estimate, named
