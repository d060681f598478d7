"""Draw panels with matplotlib: on given Axes, without pyplot and without touching rcParams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.plotting.marks import (
    COLOURS,
    Band,
    Bars,
    Cells,
    Dots,
    Label,
    Line,
    Segment,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ogive.plotting.marks import Mark, Panel

_SMALL, _TEXT = 8.5, 9.5
_ALIGN = {"start": "left", "middle": "center", "end": "right"}
_INK = "#333333"
#: Words about grey things are darker than the things.
_WORDS: dict[str, str] = {"reference": _INK, "band": "#6b6b6b", "density": "#6b6b6b"}
#: Names of classes and groups may hold dollar signs, which are no formulas.
_PLAIN: dict[str, Any] = {"parse_math": False}
#: How opaque areas are, by role; others are lighter.
_AREA = {"band": 0.22}


def draw_panel(panel: Panel, ax: Axes) -> list[Artist]:
    """Draw a panel on an Axes; return what was added to it."""
    artists = [artist for mark in panel.marks for artist in _draw(mark, ax)]
    ax.set_xlim(panel.x.low, panel.x.high)
    ax.set_ylim(panel.y.low, panel.y.high)
    for which, one in (("x", panel.x), ("y", panel.y)):
        at, text = [place for place, _ in one.ticks], [words for _, words in one.ticks]
        getattr(ax, f"set_{which}ticks")(at, text, **_PLAIN)
        getattr(ax, f"set_{which}label")(one.name, fontsize=_SMALL, color=_INK, **_PLAIN)
    ax.tick_params(labelsize=_SMALL, colors=_INK, length=3 if panel.frame else 0)
    for side, spine in ax.spines.items():
        spine.set_visible(panel.frame and side in {"left", "bottom"})
        spine.set_color("#999999")
    if panel.title:
        ax.set_title(panel.title, fontsize=_TEXT, loc="left", color=_INK, **_PLAIN)
    return artists


def _draw(mark: Mark, ax: Axes) -> list[Artist]:  # noqa: PLR0911 - one for each kind
    match mark:
        case Line():
            style = "--" if mark.dashed else "-"
            colour = COLOURS[mark.role]
            return list(ax.plot(mark.x, mark.y, style, color=colour, lw=mark.width, zorder=3))
        case Band():
            alpha = _AREA.get(mark.role, 0.2)
            area = ax.fill_between(
                mark.x, mark.low, mark.high, color=COLOURS[mark.role], alpha=alpha, lw=0, zorder=1
            )
            return [area]
        case Bars():
            width = mark.right - mark.left
            bars = ax.bar(
                mark.left, mark.height, width, align="edge", color=COLOURS[mark.role], alpha=0.6,
                linewidth=0, zorder=0,
            )  # fmt: skip
            return list(bars.patches)
        case Segment():
            return _segment(mark, ax)
        case Dots():
            return _dots(mark, ax)
        case Label():
            return [_label(mark, ax)]
        case Cells():
            return _cells(mark, ax)


def _segment(mark: Segment, ax: Axes) -> list[Artist]:
    colour = COLOURS[mark.role]
    style = (0, (3, 2)) if mark.dashed else "-"
    artists: list[Artist] = list(
        ax.plot(mark.x, mark.y, linestyle=style, color=colour, lw=1.0, marker="", zorder=2)
    )
    if mark.ends:
        artists += ax.plot(mark.x[1:], mark.y[1:], "o", ms=5, color=colour, zorder=4)
    return artists


def _dots(mark: Dots, ax: Axes) -> list[Artist]:
    colour = COLOURS[mark.role]
    options: dict[str, Any] = {}
    if mark.low is not None and mark.high is not None:
        options["yerr"] = np.maximum([mark.y - mark.low, mark.high - mark.y], 0.0)
    if mark.left is not None and mark.right is not None:
        options["xerr"] = np.maximum([mark.x - mark.left, mark.right - mark.x], 0.0)
    drawn = ax.errorbar(
        mark.x, mark.y, fmt="o", ms=4.5, color=colour, elinewidth=1.3, capsize=0, zorder=3,
        **options,
    )  # fmt: skip
    return [artist for artist in drawn.get_children() if artist is not None]


def _label(mark: Label, ax: Axes) -> Artist:
    return ax.annotate(
        mark.text,
        (mark.x, mark.y),
        xytext=(0.0, mark.rise * _SMALL * 1.15),
        textcoords="offset points",
        ha=_ALIGN[mark.align],
        va="baseline",
        fontsize=_SMALL,
        color=_WORDS.get(mark.role, COLOURS[mark.role]),
        fontweight="bold" if mark.bold else "normal",
        annotation_clip=False,
        zorder=5,
        **_PLAIN,
    )


def _cells(mark: Cells, ax: Axes) -> list[Artist]:
    from matplotlib.collections import PatchCollection  # noqa: PLC0415 - an optional package
    from matplotlib.colors import to_rgba  # noqa: PLC0415
    from matplotlib.patches import Rectangle  # noqa: PLC0415

    gap = 0.06
    squares = [
        Rectangle((x + gap / 2, y + gap / 2), 1 - gap, 1 - gap)
        for x, y in zip(mark.x, mark.y, strict=True)
    ]
    colours = [
        to_rgba(COLOURS["hits" if v < 0 else "score"], 0.06 + 0.58 * min(abs(v), 1.0))
        for v in mark.value
    ]
    edges = [_INK if framed else "none" for framed in mark.framed]
    drawn = PatchCollection(squares, facecolors=colours, edgecolors=edges, linewidths=1.0)
    ax.add_collection(drawn)
    return [drawn]
