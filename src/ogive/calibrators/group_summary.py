"""What a calibrator of groups found, in words and numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._wording import percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive.calibrators.grouped_map import GroupedMap

MOST_NAMED = 5  # groups in the text of a summary


@dataclass(frozen=True, slots=True, repr=False)
class GroupSummary:
    """How much groups differ, and which differ most.

    Attributes
    ----------
    by : str or None
        What the groups are called.
    groups : int
        How many groups (of several columns: combinations) there are.
    n : float
        How many rows they have.
    differ : tuple of three floats
        The data's weight on a difference between groups: in shift, slope and bend.
    largest : list of dict
        The groups that are shifted most: name, rows, shift in log-odds, and its error.
    """

    by: str | None
    groups: int
    n: float
    differ: tuple[float, float, float]
    largest: list[dict[str, Any]]

    @classmethod
    def of(cls, calibrator: GroupedMap, cells: Sequence[int]) -> GroupSummary:
        """Return the summary of a calibrator whose groups stand at these places."""
        at = np.asarray(cells, dtype=np.int64)
        shift = calibrator.effect[at, 0]
        order = np.argsort(-np.abs(shift), kind="stable")[:MOST_NAMED]
        largest = [
            {
                "group": calibrator.groups[i],
                "rows": float(calibrator.rows[i]),
                "shift": float(calibrator.effect[i, 0]),
                "error": float(calibrator.error[i, 0]),
            }
            for i in at[order].tolist()
        ]
        a, d, b = (float(1.0 - none) for none in calibrator.none)
        return cls(calibrator.by, at.size, calibrator.n, (a, d, b), largest)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)

    def __repr__(self) -> str:
        shift, slope, bend = (percent(share, 0) for share in self.differ)
        named = f" of {self.by}" if self.by else ""
        lines = [
            f"{self.groups:,} groups{named}, {self.n:,.10g} rows.",
            f"The data's weight on a difference: shift {shift}, slope {slope}, bend {bend}.",
            "Shifted most, in log-odds beyond the map of all rows:",
        ]
        for one in self.largest:
            error = f"{one['shift']:+.3f} ± {one['error']:.3f}"
            lines.append(f"  {one['group']!r}: {error} ({one['rows']:,.10g} rows)")
        return "\n".join(lines)
