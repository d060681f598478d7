"""Summary of a calibrator of whole vectors: what it did to the rows it was fitted to.

It describes the map that is applied: the probability of the class that the model chose, before
and after, in groups of rows of about the same score. A group is off where the mean change is more
than 1.96 standard errors of its outcomes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._numerics.mean_interval import HALF_WIDTH_95
from ogive._wording import CONFIDENCE, direction_words, joint_direction, way_of
from ogive.calibrators.log_values import row_count
from ogive.calibrators.spline_map import SplineMap
from ogive.calibrators.spline_summary import ALONE, OffRange, SplineSummary, summarise

if TYPE_CHECKING:
    from ogive._typing import FloatArray
    from ogive.calibrators.matrix_map import MatrixMap
    from ogive.rows.predictions import Predictions

_GROUPS = 20


@dataclass(frozen=True, slots=True, repr=False)
class VectorSummary:
    """What a calibrator did to the probability of the class that the model chose.

    Attributes
    ----------
    method, view, n : str, str, float
    direction : str
        "overconfident", "underconfident", "mixed" or "none found".
    shift, moved : float
        Mean change, and mean absolute change, of that probability.
    ranges : tuple of OffRange
        Where the change is more than noise, from low to high scores.
    decision : str or None
        "calibrate", "leave alone" or "too few rows"; None if these rows cannot decide.
    verdict : str
        The decision as a sentence, as `ogive fit` prints it.
    log_loss_before, log_loss_after : float or None
        Log loss of whole vectors, as they were, and calibrated by maps that had not seen the rows.
    """

    method: str
    view: str
    n: float
    direction: str
    shift: float
    moved: float
    ranges: tuple[OffRange, ...]
    decision: str | None = None
    verdict: str = ""
    log_loss_before: float | None = None
    log_loss_after: float | None = None

    @property
    def leave_alone(self) -> bool | None:
        """Whether calibrating is not worth it; None if that is not known."""
        return None if self.decision is None else ALONE.get(self.decision)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    def __repr__(self) -> str:
        found = "" if self.verdict else f": {direction_words(self.direction)}"  # it has it already
        lines = [f"{self.method} of whole vectors, n = {self.n:,}{found}"]
        lines += [f"{part}." for part in self.ranges]
        changes = f"Mean change {self.shift:+.4f}, mean absolute change {self.moved:.4f}"
        lines.append(f"{changes}, of the probability of the chosen class.")
        return "\n".join([*lines, self.verdict] if self.verdict else lines)


def summary_of(
    calibrator: MatrixMap, preds: Predictions, method: str, *, n_jobs: int | None = None
) -> SplineSummary | VectorSummary:
    """Summarise what was fitted to labelled predictions, of the map that is applied."""
    maps: tuple[Any, ...] = getattr(calibrator, "maps", ())
    if len(maps) == 1 and isinstance(maps[0], SplineMap):
        return summarise(maps[0])  # one column, or two classes: the map of class 1
    chosen = preds.choice(slice(0, preds.n))
    before, after = preds.probabilities(), calibrator(preds, n_jobs=n_jobs)
    at = chosen[:, None]
    p, q = (np.take_along_axis(x, at, axis=1)[:, 0] for x in (before, after))
    weights = np.ones(preds.n) if preds.sample_weight is None else preds.sample_weight
    ranges = tuple(_ranges(p, q, weights))
    return VectorSummary(
        method=method,
        view="vector",
        n=row_count(preds),
        direction=joint_direction(CONFIDENCE[part.way] for part in ranges),
        shift=float(np.average(q - p, weights=weights)),
        moved=float(np.average(np.abs(q - p), weights=weights)),
        ranges=ranges,
    )


def _ranges(p: FloatArray, q: FloatArray, weights: FloatArray) -> list[OffRange]:
    """Return where groups of rows of about the same score change by more than noise."""
    order = np.argsort(p, kind="stable")
    groups = [part for part in np.array_split(order, min(_GROUPS, p.size)) if weights[part].sum()]
    means = np.array([[np.average(x[part], weights=weights[part]) for x in (p, q)]
                      for part in groups])  # fmt: skip
    noise = np.array([np.average(q[part] * (1.0 - q[part])) / part.size for part in groups])
    change = means[:, 1] - means[:, 0]
    side = np.where(np.abs(change) > HALF_WIDTH_95 * np.sqrt(noise), np.sign(change), 0.0)
    edges = np.flatnonzero(np.diff(side, prepend=0.0, append=0.0))
    found = []
    for start, stop in pairwise(edges):
        if side[start]:
            most = start + int(np.abs(change[start:stop]).argmax())
            found.append(OffRange(
                low=float(p[groups[start]].min()), high=float(p[groups[stop - 1]].max()),
                way=way_of(float(side[start])),
                at=float(means[most, 0]), change=float(change[most]),
            ))  # fmt: skip
    return found
