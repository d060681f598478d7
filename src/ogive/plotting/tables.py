"""Panels that compare many things: methods, classes and groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive._wording import OFF, format_pvalue, percent
from ogive.plotting.marks import Axis, Cells, Dots, Label, Mark, Panel, Segment, axis

if TYPE_CHECKING:
    from ogive._typing import BoolArray, FloatArray
    from ogive.diagrams import ClassHeat, Differences, GroupErrors, ModelErrors, Ranks
    from ogive.plotting.marks import Role

_ROW = 0.062  # height of a row of names, as a share of the width
_MAX_CELLS_WITH_NAMES = 60
_MAX_NAME_LENGTH, _MAX_MODEL_LENGTH, _MAX_GROUP_LENGTH = 11, 20, 28
_MAX_OVER_NEXT = 2.0
_ROLES: tuple[Role, ...] = ("score", "hits", "reference")


def ranks_panel(r: Ranks) -> Panel:
    """Draw the mean rank of each method: a dot for each measure."""
    m = len(r.methods)
    y = np.arange(m, 0.0, -1.0)
    marks: list[Mark] = [Segment((1.0, float(m)), (at, at), "density") for at in y]
    for j, name in enumerate(r.measures):
        # Dots of one row are set a little apart, so that equal ranks stay visible.
        shift = 0.2 * (j - (len(r.measures) - 1) / 2)
        role = _ROLES[j % 3]
        marks.append(Dots(r.rank[:, j], y - shift, role))
        marks.append(Label(1.0 + 0.22 * j * (m - 1), m + 0.75, f"● {name}", role))
    best = ", ".join(
        f"{name} {rank:.1f}" for name, rank in zip(r.methods, r.rank.mean(1), strict=True)
    )
    return Panel(
        title="",
        alt=f"Mean ranks of {m} methods by {', '.join(r.measures)} (1 is best): {best}.",
        x=Axis("rank, 1 is best", 0.6, m + 0.4, tuple((float(k), str(k)) for k in range(1, m + 1))),
        y=_names(r.methods, y, room=1.3),
        marks=tuple(marks),
        shape=_height(m + 1),
        names=max(map(len, r.methods)),
    )


def differences_panel(d: Differences) -> Panel:
    """Draw how much each method loses to the best, with two standard errors."""
    m, names = len(d.methods), tuple(short_name(name, _MAX_MODEL_LENGTH) for name in d.methods)
    y = np.arange(m, 0.0, -1.0)
    left, right = d.loss - 2 * d.error, d.loss + 2 * d.error
    # A method far beyond the others would press them together: it is named at the edge instead.
    next_to_last = np.sort(right)[-2] if m > 2 else np.inf  # noqa: PLR2004 - two are never far
    far = d.loss > _MAX_OVER_NEXT * next_to_last
    high = float(right[~far].max()) or 1e-3
    marks: list[Mark] = [
        Segment((0.0, 0.0), (0.4, m + 0.6), "reference", dashed=True),
        Dots(d.loss[~far], y[~far], "hits", left=left[~far], right=right[~far]),
    ]
    marks += [
        Label(high, float(y[i]), f"{d.loss[i]:.4f} ± {2 * d.error[i]:.4f} →", "hits", "end", -0.3)
        for i in np.flatnonzero(far)
    ]
    words = "; ".join(
        f"{name} {loss:.4f} ± {2 * error:.4f}"
        for name, loss, error in zip(d.methods, d.loss, d.error, strict=True)
    )
    return Panel(
        title="",
        alt=f"How much more {d.measure} each method has than the best, ± two errors: {words}.",
        x=axis(
            f"{d.measure} above the best, ± 2 errors",
            min(0.0, float(left[~far].min())) - 0.03 * high,
            1.05 * high,
        ),
        y=_names(names, y),
        marks=tuple(marks),
        shape=_height(m),
        names=max(map(len, names)),
    )


def groups_panel(g: GroupErrors) -> Panel:
    """Draw the KS error of each group with its interval, and what would be found in it."""
    m, names = len(g.names), tuple(short_name(name, _MAX_GROUP_LENGTH) for name in g.names)
    y = np.arange(m, 0.0, -1.0)
    # A small group has a wide interval, which would press the others together: it is cut.
    sure = g.high[g.off].max(initial=0.0)
    end = max(float(sure), float(np.quantile(g.high, 0.75)), float(g.ks.max()))
    marks: list[Mark] = [Segment((0.0, end), (at, at), "density") for at in y]
    marks += [
        Segment((least, least), (at - 0.3, at + 0.3), "reference")
        for least, at in zip(g.detectable.tolist(), y.tolist(), strict=True)
        if least <= end
    ]
    roles: tuple[tuple[Role, str, BoolArray], ...] = (
        ("hits", f"● {OFF}", g.off),
        ("score", "● not clearly", ~g.off),
    )
    for i, (role, words, at) in enumerate(roles):
        right = np.minimum(g.high[at], end)
        marks.append(Dots(g.ks[at], y[at], role, left=g.low[at], right=right))
        marks.append(Label(0.36 * i * end, m + 0.75, words, role))
    marks.append(Label(0.68 * end, m + 0.75, "| detectable", "reference"))
    words = "; ".join(
        f"{name} {percent(ks)} ({percent(low)} to {percent(high)})"
        for name, ks, low, high in zip(g.names, g.ks, g.low, g.high, strict=True)
    )
    found = f"{int(g.off.sum())} {OFF}"
    more = f" {g.more:,} more groups are not shown." if g.more else ""
    return Panel(
        title=f"KS error by {g.by}",
        alt=f"KS error of {m} groups with 95 % intervals, {found}: {words}.{more}",
        x=axis("KS error, 95 % interval", -0.02 * end, 1.02 * end, percent=True),
        y=_names(names, y, room=1.3),
        marks=tuple(marks),
        shape=_height(m + 1),
        names=max(map(len, names)),
    )


def models_panel(d: ModelErrors) -> Panel:
    """Draw the KS error of each model or day with its interval, and after calibration."""
    m, names = len(d.names), tuple(short_name(name, _MAX_MODEL_LENGTH) for name in d.names)
    y = np.arange(m, 0.0, -1.0)
    known = ~np.isnan(d.after)
    low, high = (np.where(np.isnan(ends), d.ks, ends) for ends in (d.low, d.high))
    end = max(float(high.max()), float(d.after[known].max(initial=0.0))) or 1e-3
    marks: list[Mark] = [Segment((0.0, end), (at, at), "density") for at in y]
    marks.append(Dots(d.ks, y, "before", left=low, right=high))
    marks.append(Label(0.0, m + 0.75, "● before calibration, 95 % interval", "before"))
    if known.any():
        marks.append(Dots(d.after[known], y[known] - 0.28, "after"))
        marks.append(Label(end, m + 0.75, "● after", "after", "end"))
    words = "; ".join(
        f"{name} {percent(ks)}" + ("" if np.isnan(after) else f", after {percent(after)}")
        for name, ks, after in zip(d.names, d.ks.tolist(), d.after.tolist(), strict=True)
    )
    return Panel(
        title="",
        alt=f"KS errors with 95 % intervals: {words}.",
        x=axis("KS error", -0.02 * end, 1.02 * end, percent=True),
        y=_names(names, y, room=1.3),
        marks=tuple(marks),
        shape=_height(m + 1),
        names=max(map(len, names)),
    )


def _height(rows: int) -> float:
    return 0.16 + _ROW * max(rows, 3)


def _names(names: tuple[str, ...], y: FloatArray, *, room: float = 0.6) -> Axis:
    ticks = tuple((float(at), name) for at, name in zip(y, names, strict=True))
    return Axis("", 0.4, len(names) + room, ticks)


def heat_panel(h: ClassHeat) -> Panel:
    """Draw a square for each class, coloured by its signed KS error; framed where that is clear."""
    K = h.signed.size
    columns = min(K, max(5, int(np.ceil(np.sqrt(1.6 * K)))))
    rows = -(-K // columns)
    at = np.arange(K)
    scale = heat_scale(h)
    named = K <= _MAX_CELLS_WITH_NAMES
    text = tuple(
        f"{name}: {percent(s)}, {format_pvalue(float(p))}"
        for name, s, p in zip(h.names, h.signed, h.pvalue, strict=True)
    )
    x, y = (at % columns).astype(float), (rows - 1 - at // columns).astype(float)
    cells = Cells(x, y, h.signed / scale, text, h.off.astype(float))
    marks: list[Mark] = [cells]
    if named:
        for a, b, name, error in zip(x, y, h.names, h.signed, strict=True):
            value = percent(float(error), 1)
            marks.append(Label(a + 0.5, b + 0.56, short_name(name), "reference", "middle"))
            marks.append(Label(a + 0.5, b + 0.5, value, "reference", "middle", -1.0))
    worst = np.argsort(-np.abs(h.signed))[:3]
    most = ", ".join(f"{h.names[i]} {percent(float(h.signed[i]))}" for i in worst)
    return Panel(
        title="",
        alt=(
            f"Signed KS error of {K} classes, each against the rest; {int(h.off.sum())} are "
            f"{OFF}. The largest: {most}. Above 0, the probabilities of the class are too "
            "low up to the largest gap; below 0, too high."
        ),
        x=Axis("", 0.0, float(columns)),
        y=Axis("", 0.0, float(rows)),
        marks=tuple(marks),
        shape=min(max((0.62 if named else 1.0) * rows / columns, 0.12), 1.2),
        names=0,
        frame=False,
    )


def heat_scale(h: ClassHeat) -> float:
    """Return the error that gets the full colour: the largest."""
    return float(np.abs(h.signed).max()) or 1.0


def short_name(name: str, most: int = _MAX_NAME_LENGTH) -> str:
    """Return a name on one line, cut if it is long."""
    name = "".join(c if c.isprintable() else " " for c in name)
    return name if len(name) <= most else name[: most - 1] + "…"
