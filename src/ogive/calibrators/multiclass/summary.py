"""What a calibrator of whole vectors did to the rows it was fitted to, in words and numbers.

It describes the map that is applied: the probability of the class that the model chose, before
and after, in groups of rows of about the same score. A group is off where the mean change is more
than 1.96 standard errors of its outcomes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibrators.log_values import effective_rows, row_count
from ogive.calibrators.spline_map import SplineMap
from ogive.calibrators.spline_summary import OffRange, SplineSummary, summarise

if TYPE_CHECKING:
    from ogive._typing import FloatArray
    from ogive.calibrators.matrix_map import MatrixMap
    from ogive.predictions import Predictions

_GROUPS = 20
_SURE = 1.96
_CLIP = 1e-7  # as for the log loss


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
    edf : float or None
        Effective degrees of freedom of the fit, where the method knows them.
    log_loss_before, log_loss_after, log_loss_error : float or None
        Log loss of whole vectors on the rows of the fit, as they were and calibrated; to the
        latter 1/n is added for each degree of freedom (Akaike's correction). The standard error is
        that of their difference, over rows.
    """

    method: str
    view: str
    n: float
    direction: str
    shift: float
    moved: float
    ranges: tuple[OffRange, ...]
    edf: float | None = None
    log_loss_before: float | None = None
    log_loss_after: float | None = None
    log_loss_error: float | None = None

    @property
    def leave_alone(self) -> bool | None:
        """Whether log loss falls by no more than two standard errors; None if not known."""
        before, after, error = self.log_loss_before, self.log_loss_after, self.log_loss_error
        if before is None or after is None or error is None:
            return None
        return before - after <= 2.0 * error

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    def __repr__(self) -> str:
        found = {"none found": "no miscalibration found.", "mixed": "over- and underconfident."}
        what = found.get(self.direction, f"the model is {self.direction}.")
        lines = [f"{self.method} of whole vectors, n = {self.n:,}: {what}"]
        lines += [f"{part}." for part in self.ranges]
        changes = f"Mean change {self.shift:+.4f}, mean absolute change {self.moved:.4f}"
        lines.append(f"{changes}, of the probability of the chosen class.")
        if self.edf is not None and self.leave_alone is not None:
            start, end = ("Leave it alone: log", "") if self.leave_alone else ("Log", ": calibrate")
            lines.append(
                f"{start} loss goes from {self.log_loss_before:.4f} to {self.log_loss_after:.4f} "
                f"(± {self.log_loss_error:.4f}; corrected for {self.edf:.1f} degrees of "
                f"freedom){end}."
            )
        return "\n".join(lines)


def summary_of(
    gamma: MatrixMap, preds: Predictions, method: str, *, n_jobs: int | None = None
) -> SplineSummary | VectorSummary:
    """Summarise what was fitted to labelled predictions, of the map that is applied."""
    maps: tuple[Any, ...] = getattr(gamma, "maps", ())
    if len(maps) == 1 and isinstance(maps[0], SplineMap):
        return summarise(maps[0])  # one column, or two classes: the map of class 1
    chosen = preds.choice(slice(0, preds.n))
    before, after = preds.probabilities(), gamma(preds, n_jobs=n_jobs)
    at = chosen[:, None]
    p, q = (np.take_along_axis(x, at, axis=1)[:, 0] for x in (before, after))
    weights = np.ones(preds.n) if preds.sample_weight is None else preds.sample_weight
    ranges = tuple(_ranges(p, q, weights))
    words = {"overconfident" if part.way == "too high" else "underconfident" for part in ranges}
    edf = _edf(gamma)
    return VectorSummary(
        method=method,
        view="vector",
        n=row_count(preds),
        direction="mixed" if len(words) > 1 else words.pop() if words else "none found",
        shift=float(np.average(q - p, weights=weights)),
        moved=float(np.average(np.abs(q - p), weights=weights)),
        ranges=ranges,
        edf=edf,
        **({} if edf is None else _log_losses(preds, before, after, edf)),
    )


def _edf(gamma: MatrixMap) -> float | None:
    """Return the degrees of freedom of the splines and of the class structure."""
    top, structure = getattr(gamma, "top", None), getattr(gamma, "structure", None)
    maps: tuple[Any, ...] = getattr(gamma, "maps", (top,))
    if not all(isinstance(inner, SplineMap) for inner in maps):
        return None
    own = 0.0 if structure is None else float(structure.edf.sum())
    return own + float(sum(inner.edf for inner in maps))


def _log_losses(
    preds: Predictions, before: FloatArray, after: FloatArray, edf: float
) -> dict[str, float]:
    assert preds.labels is not None  # noqa: S101 - it was fitted
    at = (np.arange(preds.n), preds.labels)
    first, last = (np.log(np.clip(x[at], _CLIP, 1.0 - _CLIP)) for x in (before, after))
    n, weights = effective_rows(preds), preds.sample_weight
    saved = last - first
    mean = float(np.average(saved, weights=weights))
    error = float(np.sqrt(np.average((saved - mean) ** 2, weights=weights) / n))
    loss = -float(np.average(first, weights=weights))
    names = ("log_loss_before", "log_loss_after", "log_loss_error")
    return dict(zip(names, (loss, loss - mean + edf / n, error), strict=True))


def _ranges(p: FloatArray, q: FloatArray, weights: FloatArray) -> list[OffRange]:
    """Return where groups of rows of about the same score change by more than noise."""
    order = np.argsort(p, kind="stable")
    groups = [part for part in np.array_split(order, min(_GROUPS, p.size)) if weights[part].sum()]
    means = np.array([[np.average(x[part], weights=weights[part]) for x in (p, q)]
                      for part in groups])  # fmt: skip
    noise = np.array([np.average(q[part] * (1.0 - q[part])) / part.size for part in groups])
    change = means[:, 1] - means[:, 0]
    side = np.where(np.abs(change) > _SURE * np.sqrt(noise), np.sign(change), 0.0)
    edges = np.flatnonzero(np.diff(side, prepend=0.0, append=0.0))
    found = []
    for start, stop in pairwise(edges):
        if side[start]:
            most = start + int(np.abs(change[start:stop]).argmax())
            found.append(OffRange(
                low=float(p[groups[start]].min()), high=float(p[groups[stop - 1]].max()),
                way="too high" if side[start] < 0 else "too low",
                at=float(means[most, 0]), change=float(change[most]),
            ))  # fmt: skip
    return found
