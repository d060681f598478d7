"""Whole figures, without pyplot: nothing is shown, nothing is kept, no setting is changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ogive._files import replacing
from ogive.diagrams import (
    BeforeAfter,
    BinnedReliability,
    ClassHeat,
    CostLines,
    CumulativeDifference,
    DecisionCurve,
    Differences,
    FourPanel,
    GroupErrors,
    ModelErrors,
    Ranks,
    Reliability,
    Timeline,
)
from ogive.errors import InvalidInput, InvalidType, need
from ogive.plotting.decisions import cost_panel, decision_panel
from ogive.plotting.four import cumulative_top, four_panels
from ogive.plotting.panels import (
    before_after_panel,
    binned_panel,
    difference_panel,
    gap_range,
    reliability_pair_panel,
    reliability_panel,
    score_range,
)
from ogive.plotting.tables import (
    differences_panel,
    groups_panel,
    heat_panel,
    models_panel,
    ranks_panel,
)
from ogive.plotting.timeline import timeline_panels

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ogive.diagrams import Diagram
    from ogive.plotting.marks import Panel

#: What a figure can be saved as.
FORMATS = (".png", ".svg", ".pdf")
_WIDTH = 4.4  # inches of one panel
_ROW = (3.1, 2.6)  # inches of one of four panels
_INCHES_OF_TIMELINE_PANEL = (7.5, 2.3)  # wide and low: days run along it


#: The function that draws each diagram of one panel.
_ONE_PANEL: dict[type, Callable[[Any], Panel]] = {
    BeforeAfter: before_after_panel,
    BinnedReliability: binned_panel,
    ClassHeat: heat_panel,
    CostLines: cost_panel,
    CumulativeDifference: difference_panel,
    DecisionCurve: decision_panel,
    Differences: differences_panel,
    GroupErrors: groups_panel,
    ModelErrors: models_panel,
    Ranks: ranks_panel,
    Reliability: reliability_panel,
}


def panels_of(diagram: Diagram) -> tuple[Panel, ...]:
    """Return the panels of a diagram: four of a `FourPanel`, some of a `Timeline`, or one."""
    if isinstance(diagram, FourPanel):
        return four_panels(diagram, score_range([diagram.reliability])[1])
    if isinstance(diagram, Timeline):
        return timeline_panels(diagram)
    if isinstance(diagram, BeforeAfter) and diagram.reliability is not None:
        return reliability_pair_panel(*diagram.reliability), before_after_panel(
            diagram, explain=True
        )
    drawn = _ONE_PANEL.get(type(diagram))
    if drawn is None:
        msg = f"`diagram` must be one of ogive.diagrams, not {type(diagram).__name__}."
        raise InvalidType(msg)
    return (drawn(diagram),)


def draw(diagram: Diagram, ax: Axes | Sequence[Axes]) -> list[Artist]:
    """Draw a diagram on a matplotlib Axes, or on one for each of its panels (`panels_of`).

    Parameters
    ----------
    diagram : one of ogive.diagrams
    ax : Axes, or a sequence of them: four for a `FourPanel`

    Returns
    -------
    list of Artist
        What was added. Nothing else is changed: no figure is made or shown, no setting touched.
    """
    need("matplotlib", extra="plot")
    from ogive.plotting.axes import draw_panel  # noqa: PLC0415 - an optional package

    panels = panels_of(diagram)
    axes = [ax] if len(panels) == 1 else list(ax)  # type: ignore[arg-type]
    if len(axes) != len(panels):
        msg = f"`ax` must be {len(panels)} Axes for this diagram, not {len(axes)}."
        raise InvalidInput(msg)
    return [
        artist
        for panel, one in zip(panels, axes, strict=True)
        for artist in draw_panel(panel, one)  # type: ignore[arg-type]
    ]


def figure(*diagrams: Diagram) -> Figure:
    """Return a new figure with diagrams one beside the other, or rows of four panels.

    Diagrams of one kind get the same scales.
    """
    need("matplotlib", extra="plot")
    from matplotlib.figure import Figure  # noqa: PLC0415 - an optional package

    if not diagrams:
        msg = "`diagrams` is empty: give at least one."
        raise InvalidInput(msg)
    if all(isinstance(d, FourPanel) for d in diagrams):
        return _rows_of_four(diagrams)  # type: ignore[arg-type]
    from ogive.plotting.axes import draw_panel  # noqa: PLC0415 - an optional package

    panels = _same_scales(diagrams)
    if any(isinstance(d, Timeline) for d in diagrams):
        size = (_INCHES_OF_TIMELINE_PANEL[0], _INCHES_OF_TIMELINE_PANEL[1] * len(panels))
        result = Figure(figsize=size, layout="constrained")
        axes = result.subplots(len(panels), 1, squeeze=False)[:, 0]
    else:
        size = (_WIDTH * len(panels) if panels[0].frame else 7.0, _height(panels))
        result = Figure(figsize=size, layout="constrained")
        axes = result.subplots(1, len(panels), squeeze=False)[0]
    for panel, ax in zip(panels, axes, strict=True):
        draw_panel(panel, ax)
    return result


def _height(panels: Sequence[Panel]) -> float:
    return max((_WIDTH if panel.frame else 7.0) * panel.shape for panel in panels)


def _same_scales(diagrams: Sequence[Diagram]) -> list[Panel]:
    """Return panels; those that share an axis have the same ends of it."""
    gaps = [d for d in diagrams if isinstance(d, CumulativeDifference)]
    maps = [d for d in diagrams if isinstance(d, Reliability)]
    panels = []
    for d in diagrams:
        if isinstance(d, CumulativeDifference):
            panels.append(difference_panel(d, gap_range(gaps)))
        elif isinstance(d, Reliability):
            panels.append(reliability_panel(d, score_range(maps)))
        else:
            panels += panels_of(d)
    return panels


def _rows_of_four(diagrams: Sequence[FourPanel]) -> Figure:
    """Return a row of four panels for each diagram, with the same scales in all rows."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an optional package

    from ogive.plotting.axes import draw_panel  # noqa: PLC0415

    top, tall = score_range([d.reliability for d in diagrams])[1], cumulative_top(diagrams)
    rows = len(diagrams)
    result = Figure(figsize=(4 * _ROW[0], rows * _ROW[1] + 0.25 * rows), layout="constrained")
    parts = result.subfigures(rows, 1, squeeze=False)[:, 0]
    for part, diagram in zip(parts, diagrams, strict=True):
        title = diagram.difference.title
        part.suptitle(title, fontsize=11, fontweight="bold", x=0.01, ha="left", color="#222222")
        for panel, ax in zip(four_panels(diagram, top, tall), part.subplots(1, 4), strict=True):
            draw_panel(panel, ax)
    return result


def save_figure(result: Figure, path: str | os.PathLike[str], *, dpi: float = 160) -> None:
    """Write a figure as .png, .svg or .pdf; a file being replaced stays whole.

    `dpi` is the resolution of .png, in dots per inch.
    """
    suffix = check_suffix(path)
    options: dict[str, Any] = {"metadata": _marked(suffix)}
    if suffix == ".png":
        options["dpi"] = dpi
    with replacing(path) as beside:
        result.savefig(beside, format=suffix[1:], facecolor="white", **options)


def check_suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a path that a figure can be saved to."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        msg = f"`path` must end in {', '.join(FORMATS)}, but is {str(path)!r}."
        raise InvalidInput(msg)
    return suffix


def _marked(suffix: str) -> dict[str, str | None]:
    """Say who wrote it, and leave the date out, so that the same data make the same file."""
    if suffix == ".png":
        return {"Software": "ogive"}
    date = "Date" if suffix == ".svg" else "CreationDate"
    return {"Creator": "ogive", date: None}
