r"""Many groups at once, with the chance of any false alarm controlled.

Every group has a watch of its own, and so have all rows together. Let :math:`M_g` be the evidence
of group g, a martingale from 1 if its scores are right, and :math:`M` that of all rows. A weighted
average of such e-values, with weights that are known before, is one again, however the groups
depend on each other:

.. math:: W = \tfrac12 M + \tfrac12 \Bigl(\sum_g w_g M_g + 1 - \sum_g w_g\Bigr) .

The alarm is :math:`W \ge 1/\alpha`. Groups of the first day share nine tenths of the weight, those
that first come on the b-th later day with new groups share :math:`0.1 / (b (b + 1))`: the weights
of all groups to come sum to 1 at most.

**Which groups** (e-BH of Wang and Ramdas, with these weights). With k the largest number for which
k groups have :math:`w_g M_g \ge 1 / (\alpha k)`, these k are named. The expected share of
calibrated groups among those that are named is at most α, on any day one looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from math import exp, inf, log
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._wording import listed
from ogive.errors import InvalidInput
from ogive.studies.watch.change import Change, change_of
from ogive.studies.watch.times import as_time, check_later
from ogive.studies.watch.watch import Watch, Watching, quiet_words, to_plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive.curve import Curve

#: Of the weight of groups, what those of the first day share; the rest is for groups to come.
SHARE_OF_FIRST_DAY = 0.9


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupWatch(Watching):
    """Watches groups of rows side by side. It is immutable: `update` returns the next one.

    Parameters
    ----------
    alpha : float
        As in `ogive.Watch`, for all groups together.

    Attributes
    ----------
    days : tuple of Day
        Of all rows; `log_e` is that of all groups together.
    whole : Watch
        All rows without regard to groups.
    groups : dict of Watch
        One for each group, in the order in which they came.
    shares : dict of float
        The weight of each group.

    Examples
    --------
    >>> from ogive import Curve
    >>> rng = np.random.default_rng(0)
    >>> watch = GroupWatch()
    >>> for day in range(12):
    ...     scores = rng.uniform(size=(2, 500))
    ...     truth = scores ** np.array([[1.0], [1.6]])              # group b is too high
    ...     hit = rng.uniform(size=(2, 500)) < truth
    ...     curves = {name: Curve.from_scores(*rows) for name, *rows in zip("ab", scores, hit)}
    ...     watch = watch.update(curves, day)
    >>> watch.alarm, watch.named, watch.change.kind
    (True, ('b',), 'one group')
    """

    whole: Watch = field(default_factory=Watch, repr=False)
    groups: Mapping[str, Watch] = field(default_factory=dict, repr=False)
    shares: Mapping[str, float] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.days:
            object.__setattr__(self, "whole", Watch(alpha=self.alpha))

    def update(self, curves: Mapping[str, Curve], when: object) -> GroupWatch:
        """Return the watch after one more day.

        Parameters
        ----------
        curves : mapping of curves
            The scores and outcomes of each group on that day; groups without rows are left out.
        when : date, str or int
            Later than all days before.
        """
        if not isinstance(curves, Mapping) or not curves:
            msg = "`curves` must be a dict with the curve of each group, and at least one."
            raise InvalidInput(msg)
        time = as_time(when)
        check_later(time, [day.time for day in self.days])
        whole = self.whole.update(reduce(lambda a, b: a.merge(b), curves.values()), time)
        fresh = Watch(alpha=self.alpha)
        groups = dict(self.groups)
        for name, curve in curves.items():
            groups[str(name)] = groups.get(str(name), fresh).update(curve, time)
        shares = _with_new(self.shares, groups, first=not self.days)
        log_e = _together(whole.log_e, [one.log_e for one in groups.values()], shares)
        day = replace(whole.days[-1], log_e=log_e)
        return replace(self, days=(*self.days, day), whole=whole, groups=groups, shares=shares)

    @property
    def view(self) -> str | None:
        """The view of all days; None before the first."""
        return next((one.view for one in self.groups.values()), None)

    @property
    def named(self) -> tuple[str, ...]:
        """The groups that are off, those with the largest evidence first; none without an alarm."""
        if not self.alarm:
            return ()
        worth = {name: log(self.shares[name]) + one.log_e for name, one in self.groups.items()}
        order = sorted(worth, key=lambda name: -worth[name])
        enough = [k for k, name in enumerate(order, 1) if worth[name] >= -log(self.alpha * k)]
        return tuple(order[: max(enough, default=0)])

    @cached_property
    def changes(self) -> dict[str, Change]:
        """Since when, and how, each group that is named is off."""
        return {name: _change(self.groups[name], name) for name in self.named}

    @cached_property
    def change(self) -> Change | None:
        """Since when, and how, the scores are off; None without an alarm.

        If one group is named and the others together give no evidence (their average e-value is at
        most 1), the kind is "one group". Otherwise it is the change of all rows.
        """
        if not self.alarm:
            return None
        if len(self.named) == 1 and len(self.groups) > 1 and self._others_quiet(self.named[0]):
            return replace(self.changes[self.named[0]], kind="one group")
        return _change(self.whole, None)

    @property
    def verdict(self) -> str:
        """The answer in words."""
        if not self.alarm:
            return quiet_words(self.days, len(self.groups))
        change = self.change
        parts = [] if change is None else [change.words]
        if change is not None and change.kind == "one group":
            parts.append(f"The other {len(self.groups) - 1:,} groups show no change.")
        elif self.named:
            count = f"{len(self.named):,} of {len(self.groups):,} groups are off"
            parts.append(f"{count}: {listed(self.named)}.")
        else:
            parts.append(f"No single group stands out among {len(self.groups):,}.")
        return " ".join([*parts, *([] if change is None else [change.advice])])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values under the keys of ``ogive watch --by COL --json``."""
        rows = []
        for name, one in self.groups.items():
            change = self.changes.get(name)
            found = {key: getattr(change, key, None) for key in Change.KEYS}
            n = sum(day.n for day in one.days)
            named = name in self.named
            rows.append({"group": name, "n": n, "log_e": one.log_e, "named": named, **found})
        return {**to_plain(self), "groups": rows}

    def _others_quiet(self, name: str) -> bool:
        others = [group for group in self.groups if group != name]
        mean = np.average(
            [exp(min(self.groups[other].log_e, 700.0)) for other in others],
            weights=[self.shares[other] for other in others],
        )
        return bool(mean <= 1.0)


def _with_new(
    shares: Mapping[str, float], groups: Mapping[str, object], *, first: bool
) -> dict[str, float]:
    """Return the weights with those of groups that came today."""
    new = [name for name in groups if name not in shares]
    if first or not new:
        return {**shares, **dict.fromkeys(new, SHARE_OF_FIRST_DAY / max(len(new), 1))}
    # The weights so far are 0.9 + 0.1 (1 - 1 / b) after b - 1 later days with new groups.
    left = max(1.0 - sum(shares.values()), 0.0)
    later = round((1.0 - SHARE_OF_FIRST_DAY) / left) if left else 0
    share = left / (later + 1.0)
    return {**shares, **dict.fromkeys(new, share / len(new))}


def _together(whole: float, groups: Sequence[float], shares: Mapping[str, float]) -> float:
    """Return log W from log M of all rows and of each group."""
    weight = np.array(list(shares.values()))
    e = np.logaddexp.reduce(np.log(weight) + groups)
    rest = 1.0 - float(weight.sum())
    e = np.logaddexp(e, log(rest) if rest > 0.0 else -inf)
    return float(np.logaddexp(e, whole) - log(2.0))


def _change(watch: Watch, group: str | None) -> Change:
    return change_of(watch.starts, [day.time for day in watch.days], group)
