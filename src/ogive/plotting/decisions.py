"""Panels of decisions: net benefit against the threshold, and the cost curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive._wording import percent
from ogive.plotting.marks import Band, Label, Line, Mark, Panel, Segment, axis
from ogive.plotting.panels import legend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ogive._typing import FloatArray
    from ogive.diagrams.decisions import CostLines, DecisionCurve
    from ogive.plotting.marks import Role

#: The lowest net benefit that is shown, as a share of the highest: acting on all falls without end.
_DEEPEST = 0.4
#: The highest normalised cost that is shown; the better of acting on all and on none is at most ½.
_TALLEST = 0.78
_ROLES: tuple[Role, Role] = ("before", "after")


def decision_panel(d: DecisionCurve) -> Panel:
    """Draw net benefit with its band, and that of acting on all rows and on none."""
    t = d.before.threshold
    lines = [d.before] if d.after is None else [d.before, d.after]
    peak = max(float(d.before.treat_all[0]), *(float(b.value.max()) for b in lines), 1e-9)
    lowest = min(float(b.value.min()) for b in lines)
    low, high = max(lowest - 0.08 * peak, -_DEEPEST * peak), 1.12 * peak
    low = min(low, -0.08 * peak)
    marks: list[Mark] = [Segment((0.0, float(t[-1])), (0.0, 0.0), "reference")]
    for at, value in _inside(t, d.before.treat_all, low):
        marks.append(Line(at, value, "reference", dashed=True, width=1.2))
    for found, role in zip(lines, _ROLES, strict=False):
        if d.tested:
            marks.append(_band(t, found.low, found.high, (low, high), role))
        marks += [Line(*piece, role) for piece in _inside(t, found.value, low)]
    x, y = axis("threshold", 0.0, float(t[-1])), axis("net benefit", low, high, percent=True)
    names = _names(d.after is not None, tested=d.tested)
    names += [("- - acting on all", "reference"), ("— acting on none", "reference")]
    marks += legend(names, x, y, marks)
    return Panel(title="", alt=_decision_words(d), x=x, y=y, marks=tuple(marks))


def cost_panel(c: CostLines) -> Panel:
    """Draw the cost curve with its band, the lower envelope, and acting on all rows and on none."""
    lines = [c.before] if c.after is None else [c.before, c.after]
    marks: list[Mark] = [
        Segment((0.0, 0.5), (0.0, 0.5), "reference", dashed=True),
        Segment((0.5, 1.0), (0.5, 0.0), "reference", dashed=True),
    ]
    for found, role in zip(lines, _ROLES, strict=False):
        if c.tested:
            marks.append(_band(found.x, found.low, found.high, (0.0, _TALLEST), role))
        marks += [Line(x, -y, role) for x, y in _inside(found.x, -found.value, -_TALLEST)]
    marks.append(Line(c.before.x, c.before.best, "reference", width=1.0))
    names = _names(c.after is not None, tested=c.tested)
    names += [
        ("— best threshold here", "reference"),
        ("- - acting on none, or on all", "reference"),
    ]
    marks += [
        Label(0.5, _TALLEST, word, role, "middle", -1.1 - 1.2 * i)
        for i, (word, role) in enumerate(names)
    ]
    return Panel(
        title="",
        alt=_cost_words(c),
        x=axis("share of misses in the largest cost", 0.0, 1.0),
        y=axis("normalised cost", 0.0, _TALLEST),
        marks=tuple(marks),
    )


def _names(calibrated: bool, *, tested: bool) -> list[tuple[str, Role]]:
    band = ", 95 % band" if tested else ""
    if not calibrated:
        return [(f"— scores{band}", "before")]
    return [(f"— scores as they are{band}", "before"), ("— calibrated", "after")]


def _band(
    x: FloatArray, low: FloatArray, high: FloatArray, ends: tuple[float, float], role: Role
) -> Band:
    return Band(x, np.clip(low, *ends), np.clip(high, *ends), role)


def _inside(x: FloatArray, y: FloatArray, low: float) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the pieces of a line that are not below `low`; they end where the line crosses it.

    >>> found = _inside(np.arange(3.0), np.array([1.0, -1.0, 1.0]), 0.0)
    >>> [(x.tolist(), y.tolist()) for x, y in found]
    [([0.0, 0.5], [1.0, 0.0]), ([1.5, 2.0], [0.0, 1.0])]
    """
    shown = y >= low
    last = np.flatnonzero(shown[1:] != shown[:-1])
    crossing = x[last] + (y[last] - low) / (y[last] - y[last + 1]) * (x[last + 1] - x[last])
    x, y = np.insert(x, last + 1, crossing), np.insert(y, last + 1, low)
    # Each crossing ends one piece and begins the next, which is on the other side.
    ends = [0, *(last + 1 + np.arange(last.size)), x.size - 1]
    for i in range(0 if shown[0] else 1, len(ends) - 1, 2):
        piece = slice(ends[i], ends[i + 1] + 1)
        yield x[piece], y[piece]


def _decision_words(d: DecisionCurve) -> str:
    """Say what a decision curve shows, for those who cannot see it."""
    t = d.before.threshold
    words = []
    for i in np.linspace(0, t.size - 1, 5).round().astype(int)[1:-1]:
        after = ""
        if d.after is not None:
            after = f", calibrated {percent(float(d.after.value[i]))}"
        words.append(
            f"at threshold {percent(float(t[i]), 0)} it is {percent(float(d.before.value[i]))}"
            f"{after}, and {percent(float(d.before.treat_all[i]))} for acting on all"
        )
    return f"Net benefit against the threshold: {'; '.join(words)}. Acting on none has 0."


def _cost_words(c: CostLines) -> str:
    """Say what a cost curve shows, for those who cannot see it."""
    mean = float(c.before.value.mean())
    after = "" if c.after is None else f", {float(c.after.value.mean()):.3f} calibrated"
    return (
        "Normalised cost against the share of misses in the largest cost. Its mean is "
        f"{mean:.3f} for the scores{after}, and {float(c.before.best.mean()):.3f} at the best "
        "threshold of each point; acting on all or on none has at most 0.5 where it is best."
    )
