"""The result of an arena: how methods stand, and the numbers behind it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._html import grid
from ogive._wording import percent
from ogive.studies.arena.cells import METRICS

if TYPE_CHECKING:
    from ogive.studies.arena.standings import Standing


@dataclass(frozen=True, slots=True)
class ExperimentResult:
    """One experiment of the table.

    Attributes
    ----------
    name, family, view : str
    n_cal, n_test, classes : int
    best : str
        The method of the library with the lowest log loss.
    noise_floor : float
        The KS error that the scores of `best` would show if they were perfectly calibrated.
    scores : dict
        By method: ``{"nll", "brier", "ks", "seconds", …}``.
    """

    name: str
    family: str
    view: str
    n_cal: int
    n_test: int
    classes: int
    best: str
    noise_floor: float
    scores: dict[str, dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, repr=False)
class Arena:
    """How methods stand over many experiments.

    Attributes
    ----------
    view : str
    standings : tuple of Standing
        The lowest mean rank by log loss first.
    experiments : tuple of ExperimentResult
    skipped : dict
        Experiments that are not in the table, with the reason.
    left_out : dict
        Methods that are not in the table, with the reason.
    """

    view: str
    standings: tuple[Standing, ...]
    experiments: tuple[ExperimentResult, ...]
    skipped: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def noise_floor(self) -> float:
        """The mean KS error that perfectly calibrated scores would show."""
        return float(np.mean([one.noise_floor for one in self.experiments]))

    @property
    def families(self) -> dict[str, list[str]]:
        """The experiments of each family."""
        found: dict[str, list[str]] = {}
        for one in self.experiments:
            found.setdefault(one.family, []).append(one.name)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers under the command line's keys."""
        return {
            "view": self.view,
            "experiments": len(self.experiments),
            "methods": [row.to_dict() for row in self.standings],
            "noise_floor": self.noise_floor,
            "families": self.families,
            "by_experiment": [one.to_dict() for one in self.experiments],
            "skipped": self.skipped,
            "left_out": self.left_out,
        }

    def __repr__(self) -> str:
        count = f"{len(self.experiments)} experiments in {len(self.families)} families"
        lines = [f"Arena of {self.view}: {count}; noise floor of KS {self.noise_floor:.5f}"]
        head = [f"{metric} {what}" for metric in METRICS for what in ("rank", "excess", "worst")]
        lines.append(f"{'method':24}" + "".join(f"{name:>13}" for name in [*head, "mean ks"]))
        for row in self.standings:
            cells = [
                f"{part[metric]:13.{digits}f}"
                for metric in METRICS
                for part, digits in ((row.rank, 2), (row.excess, 5), (row.worst, 5))
            ]
            lines.append(f"{row.method:24}" + "".join(cells) + f"{row.mean['ks']:13.5f}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = ("method", "log loss rank", "excess", "worst", "Brier rank", "KS rank", "KS %")
        rows = [
            (
                row.method,
                f"{row.rank['nll']:.2f}",
                f"{row.excess['nll']:.5f}",
                f"{row.worst['nll']:.4f}",
                *(f"{row.rank[metric]:.2f}" for metric in ("brier", "ks")),
                f"{100 * row.mean['ks']:.3f}",
            )
            for row in self.standings
        ]
        caption = f"{self.view}: {len(self.experiments)} experiments"
        below = f"A perfectly calibrated model: KS {percent(self.noise_floor, 3)}."
        return grid(caption, head, rows, below=below)
