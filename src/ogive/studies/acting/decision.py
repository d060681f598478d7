"""The result of `ogive.decide`, and how it is worded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ogive._html import text_form

#: What "before" is, in the help, the output and the docs.
BEFORE = "Before: the scores are acted on as if they were calibrated"
_ROUNDING = 1e-12  # of a share


class Acting(NamedTuple):
    """What a way to act does on the rows.

    cost, low, high : cost per row, with its 95 % interval
    acted : the share of rows that are acted on; None for a matrix of costs
    precision : the share of outcomes that are 1 among them; None where none is acted on
    """

    cost: float
    low: float
    high: float
    acted: float | None = None
    precision: float | None = None


class Action(NamedTuple):
    """One action of a matrix of costs.

    before, after : the share of rows for which it is chosen
    always : the cost per row of choosing it for every row
    """

    name: str
    before: float
    after: float
    always: float


@dataclass(frozen=True, slots=True)
class Decision:
    """When to act, what that costs, and what calibrating saves; costs are averaged over rows.

    Attributes
    ----------
    threshold : float or None
        Act where the calibrated score is at least this: alarm / (miss + alarm), or more where a
        limit asks for it. None for a matrix of costs.
    before, after : Acting
        Acting on the scores as if they were calibrated, and on calibrated scores.
    saved, low, high : float
        Cost before minus cost after, per row, and its 95 % interval; both are of the same rows.
    raw_threshold : float or None
        The score whose calibrated value is the threshold: acting on raw scores from there on is the
        same decision. None where there is no such score.
    n : float
        How many rows there are.
    view : str
        What is acted on.
    method, how : str
        What calibrated the rows, and which rows it had seen.
    costs : dict
        The costs and limits that were given.
    actions : tuple of Action
        For a matrix of costs: how often each action is chosen.
    clusters : int or None
        How many clusters the rows are in, where the intervals allow for them.
    """

    threshold: float | None
    before: Acting
    after: Acting
    saved: float
    low: float
    high: float
    raw_threshold: float | None
    n: float
    view: str
    method: str
    how: str
    costs: dict[str, float]
    actions: tuple[Action, ...] = ()
    clusters: int | None = None

    _repr_html_ = text_form

    @property
    def cost_before(self) -> float:
        """Cost per row of acting on the scores as if they were calibrated."""
        return self.before.cost

    @property
    def cost_after(self) -> float:
        """Cost per row of acting on calibrated scores."""
        return self.after.cost

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of ``ogive decide``."""
        found: dict[str, Any] = {
            "threshold": self.threshold,
            "cost_before": self.cost_before,
            "cost_after": self.cost_after,
            "saved": self.saved,
            "low": self.low,
            "high": self.high,
            "raw_threshold": self.raw_threshold,
        }
        for name, acting in (("before", self.before), ("after", self.after)):
            found |= {f"cost_{name}_low": acting.low, f"cost_{name}_high": acting.high}
            if not self.actions:
                found |= {f"acted_{name}": acting.acted, f"precision_{name}": acting.precision}
        found |= {"n": self.n, "view": self.view, "method": self.method, "how": self.how}
        if self.clusters is not None:
            found["clusters"] = self.clusters
        found |= self.costs | {"verdict": self.verdict}
        return found | ({"actions": [a._asdict() for a in self.actions]} if self.actions else {})

    @property
    def rule(self) -> str:
        """When to act, in words."""
        if self.threshold is None:
            return "For each case take the action with the lowest expected cost."
        least = f"at least {_percent(self.threshold)}"
        if self.threshold <= 0.0:
            return "Act on every case: false alarms cost nothing."
        if self.after.acted == 0.0:
            return f"Act on a case when its calibrated probability is {least}: here on none."
        raw = (
            "" if self.raw_threshold is None else f" (raw score at least {self.raw_threshold:.4g})"
        )
        return f"Act on a case when its calibrated probability is {least}{raw}."

    @property
    def verdict(self) -> str:
        """What calibrating saves, in words."""
        if self.low == self.high == 0.0:
            return "Calibrating changes no decision at these costs."
        ends = f"95 % interval {_number(self.low)} to {_number(self.high)}"
        missed = self._missed_precision
        if self.low > 0.0:
            share = f", {_percent(self.saved / self.cost_before)} of the cost"
            return f"Calibrating saves {_number(self.saved)} per case ({ends}){share}.{missed}"
        if self.high < 0.0:
            more = f"costs {_number(-self.saved)} more per case (saved: {ends})"
            if missed:
                return f"Keeping the precision {more}.{missed}"
            return f"Calibrating {more}: do not calibrate."
        return (
            "These rows do not show whether calibrating saves anything: "
            f"{_number(self.saved)} per case ({ends}).{missed}"
        )

    @property
    def _missed_precision(self) -> str:
        """A sentence where the scores as they are miss the precision that calibrated ones reach."""
        asked, reached = self.costs.get("precision"), self.before.precision
        if asked is None or reached is None or reached >= asked - _ROUNDING:
            return ""
        return (
            f" Before calibration the precision is {_percent(reached)}, below the "
            f"{_percent(asked)} asked for."
        )

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The numbers before and after, as rows of a table."""
        pair = self.before, self.after
        found: list[tuple[str, ...]] = [("cost per case", *(_number(x.cost) for x in pair))]
        found += [("  95 % interval", *(f"{_number(x.low)} to {_number(x.high)}" for x in pair))]
        for name, key in (("cases acted on", "acted"), ("  of which right", "precision")):
            values = [getattr(x, key) for x in pair]
            if not self.actions:
                found.append((name, *("none" if x is None else _percent(x) for x in values)))
        for action in self.actions:
            shares = _percent(action.before), _percent(action.after)
            found.append((f"share of {action.name}", *shares))
        return found

    @property
    def footing(self) -> str:
        """What before and after are, in words."""
        by = "a shifted calibrator" if self.method.startswith("shifted") else self.method
        after = "the same" if self.method == "none" else f"calibrated by {by}, {self.how}"
        return f"{BEFORE}. After: {after}."

    @property
    def title(self) -> str:
        """The rows and the costs, in words."""
        words = {
            "miss": "a missed case costs {:g}",
            "alarm": "a false alarm {:g}",
            "capacity": "at most {:,g} cases",
            "precision": "precision at least {:g}",
        }
        given = [words[key].format(value) for key, value in self.costs.items() if key in words]
        rows = f"{self.view}, n = {self.n:,}"
        if self.clusters is not None:
            rows += f" in {self.clusters:,} clusters"
        return ", ".join([rows, *given])

    def __str__(self) -> str:
        lines = [f"{a:<18}{b:>22}{c:>22}" for a, b, c in [("", "before", "after"), *self.rows]]
        parts = [self.rule, self.title, *lines, self.verdict, self.footing]
        return "\n".join(line.rstrip() for line in parts)


def _number(value: float) -> str:
    """Return a cost with four digits."""
    return f"{value:.4g}"


def _percent(share: float) -> str:
    """Return a share in percent with three digits.

    >>> _percent(1 / 21)
    '4.76 %'
    """
    return f"{100 * share:.3g} %"
