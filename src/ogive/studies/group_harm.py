r"""Which groups a calibrator makes worse: log loss of the same rows before and after it.

Let d be the log loss of a row after calibrating minus that before. A group is worse off if the mean
of d is above 0 by a one-sided t test, at a false discovery rate of 5 % over all groups and pairs of
columns (`ogive.metrics.many.false_discovery`). With weights w the mean is
:math:`\bar d = \sum w d / \sum w`, its standard error

.. math:: \sqrt{\sum w^2 (d - \bar d)^2} \Big/ \sum w ,

and the group stands for :math:`(\sum w)^2 / \sum w^2` rows; repetitions count as rows.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import stdtr

from ogive._numerics.mean_interval import LEVEL
from ogive._wording import listed
from ogive.calibrators.grouped_map import ANY, JOIN, value_columns
from ogive.engines.grouping import Grouping, chosen_columns, combined
from ogive.errors import OgiveWarning
from ogive.metrics.many import false_discovery
from ogive.rows.tails import LOG_LOSS_CLIP
from ogive.studies.group_curves import DEPTH, grouping_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ogive._typing import AnyArray, FloatArray

#: A group needs this many rows to be called worse off: a t test of fewer rows decides nothing.
MIN_ROWS_TO_JUDGE_A_GROUP = 30
#: Groups that are kept apart while a log is calibrated; rows of others are not judged.
MAX_GROUPS_JUDGED = 100_000
_SUMS = 5  # of a group: w, w d, and w² times 1, d and d²


class Worse(NamedTuple):
    """A group whose log loss rises significantly: its rows, and the mean rise of a row."""

    group: str
    n: float
    rise: float


class Harm:
    """Sums over the rows of each group, which add up over files and folds."""

    def __init__(self) -> None:
        self.sums: dict[str, FloatArray] = {}

    def add(
        self,
        groups: AnyArray | str,
        before: FloatArray,
        after: FloatArray,
        count: FloatArray | None = None,
        square: FloatArray | None = None,
    ) -> None:
        """Take in rows: their groups, and the probabilities that their outcomes had, (N,) each.

        groups : (N,) or (N, k) names, or the one name of all rows
        count, square : weights and their squares; of rows that stand for several, their sums
        """
        w = np.ones(before.size) if count is None else count
        w2 = w if square is None else square
        old, new = (np.maximum(p, LOG_LOSS_CLIP) for p in (before, after))
        d = np.log(old / new)
        if isinstance(groups, str):
            cells = Grouping(np.zeros(d.size, dtype=np.int64), [groups])
        else:
            columns = [grouping_of(column) for column in value_columns(groups)]
            cells = combined(columns, range(len(columns)), d.size)
        index, many = cells.index, len(cells.names)
        rows = [np.bincount(index, x, many) for x in (w, w * d, w2, w2 * d, w2 * d * d)]
        self.include(dict(zip(cells.names, np.stack(rows, axis=1), strict=True)))

    def plain(self) -> dict[str, list[float]]:
        """Return the sums as plain JSON values."""
        return {name: row.tolist() for name, row in self.sums.items()}

    def include(self, sums: Mapping[str, Sequence[float] | FloatArray]) -> None:
        """Add what was summed elsewhere."""
        for name, row in sums.items():
            if name in self.sums or len(self.sums) < MAX_GROUPS_JUDGED:
                self.sums[name] = self.sums.get(name, np.zeros(_SUMS)) + np.asarray(row)

    def worse(self) -> tuple[Worse, ...]:
        """Return the groups whose log loss rises significantly, the largest rise first."""
        names, families, sums = self._nested()
        if not names:
            return ()
        total, rise, w2, w2d, w2dd = np.array(sums).T
        rows, mean = total**2 / w2, rise / total
        spread = np.maximum(w2dd - 2.0 * mean * w2d + mean**2 * w2, 0.0)
        error = np.sqrt(spread * rows / (rows - 1.0)) / total
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(error > 0, mean / error, 0.0)
        adjusted = false_discovery(stdtr(rows - 1.0, -t), families)
        order = sorted(range(len(names)), key=lambda i: (-mean[i], names[i]))
        return tuple(
            Worse(names[i], float(total[i]), float(mean[i]))
            for i in order
            if adjusted[i] <= LEVEL and mean[i] > 0
        )

    def _nested(self) -> tuple[list[str], list[int], list[FloatArray]]:
        """Return groups of each choice of columns that can be judged: name, choice and sums."""
        width = max((name.count(JOIN) + 1 for name in self.sums), default=1)
        choices = chosen_columns(width, min(DEPTH, width))[1:]
        found: dict[tuple[int, str], FloatArray] = {}
        for name, row in self.sums.items():
            values = name.split(JOIN) if width > 1 else [name]
            for number, some in enumerate(choices):
                own = JOIN.join(v if i in some else ANY for i, v in enumerate(values))
                found[number, own] = found.get((number, own), np.zeros(_SUMS)) + row
        kept = {k: s for k, s in found.items() if s[0] ** 2 >= MIN_ROWS_TO_JUDGE_A_GROUP * s[2] > 0}
        return [name for _, name in kept], [number for number, _ in kept], list(kept.values())


def warn_of_worse(worse: tuple[Worse, ...], rows: str, *, by_group: bool) -> None:
    """Warn of groups whose log loss calibrating raises significantly.

    rows : on which rows that is so, in words
    by_group : the calibrator is one of groups already
    """
    if worse:
        first = worse[0]
        way = "fit them by themselves" if by_group else "calibrate by group: ogive fit --by"
        warnings.warn(
            f"calibrating makes {named(tuple(one.group for one in worse))} worse than before: log "
            f"loss rises, by {first.rise:.3g} for {first.group!r} ({rows}; one-sided t test, false "
            f"discovery rate 5 %). Leave the scores of these groups as they are, or {way}.",
            OgiveWarning,
            stacklevel=3,
        )


def named(groups: tuple[str, ...]) -> str:
    """Return how many groups there are, and the names of the first.

    >>> named(("BR",)), named(("BR", "US"))
    ("1 group ('BR')", "2 groups ('BR', 'US')")
    """
    many = "1 group" if len(groups) == 1 else f"{len(groups):,} groups"
    return f"{many} ({listed([repr(str(name)) for name in groups])})"
