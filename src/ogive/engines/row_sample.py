"""Rows of a log without outcomes: all of them, or a random sample that fits memory, in one pass.

Every row gets a random number, and those with the smallest numbers stay: each set of that many rows
is equally likely, whatever the files are. Rows that cannot stay any more are checked, not kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.engines.pieces import count_into
from ogive.engines.rows import read_rows
from ogive.errors import InvalidInput
from ogive.readers.memory import usable
from ogive.rows.predictions import Predictions

if TYPE_CHECKING:
    from ogive._typing import AnyArray, FloatArray, Kind, Progress
    from ogive.engines.files import Log
    from ogive.engines.plan import Plan
    from ogive.engines.rows import Where

#: More rows make an estimate hardly better: the calibrator's own rows are fewer.
MAX_ROWS = 1_000_000
_BYTES_OF_A_NUMBER = 8 * 10  # of a row that is kept, calibrated and estimated from: ten copies
_MORE_BEFORE_A_CUT = 1.25  # rows kept at most, over those that stay


def sampled_rows(
    log: Log,
    memory: int,
    progress: Progress | None = None,
    *,
    part: str | None = None,
    default_part: str | None = None,
    skip_bad: bool = False,
) -> tuple[Predictions, int, int]:
    """Return rows of a log of matrices, without labels, how many there were, and how many were bad.

    Parameters
    ----------
    log : Log
    memory : int
        The limit in bytes.
    progress : function of (what, done, total), optional
    part, default_part : str, optional
        Rows of this part alone; the second only if the log has parts.
    skip_bad : bool
        Leave out rows that are not valid.
    """
    how: Any = {"weight_kind": log.columns.weight_kind, "part": part, "default_part": default_part}
    how["skip_bad"] = skip_bad
    plan = log.plan(unlabelled=True, **how)
    log.check_memory(plan.needed, memory)
    most = max(min(usable(memory) // (_BYTES_OF_A_NUMBER * plan.K), MAX_ROWS), 1)
    sample, total = RowSample(plan, most, np.random.default_rng(0)), log.rows
    for piece in log.pieces:
        count_into(sample, piece)
        if progress is not None and total is not None:
            progress("reading", min(sample.rows, total), total)
    return sample.predictions(), sample.rows - sample.skipped, sample.skipped


class RowSample:
    """The rows that stay, of those taken in so far."""

    def __init__(self, plan: Plan, most: int, rng: np.random.Generator) -> None:
        self.plan, self.most, self.rng = plan, most, rng
        self.rows = self.skipped = 0
        self._bound = 1.0  # a row with a larger number cannot stay
        self._held: list[tuple[FloatArray, AnyArray, FloatArray]] = []

    def begun(self, plan: Plan) -> RowSample:
        """Return one that holds nothing yet."""
        return RowSample(plan, self.most, self.rng)

    def add(self, batch: Any, where: Where | None = None) -> None:  # noqa: ANN401
        """Take in the rows of a pyarrow.RecordBatch."""
        rows = read_rows(batch, self.plan, where)
        self.rows, self.skipped = self.rows + batch.num_rows, self.skipped + rows.skipped
        number = self.rng.random(rows.n)
        stay = number < self._bound
        weights = np.ones(rows.n) if rows.weights is None else rows.weights
        self._hold(number[stay], rows.values[stay], weights[stay])

    def include(self, other: RowSample) -> None:
        """Take in what another one holds."""
        self.rows, self.skipped = self.rows + other.rows, self.skipped + other.skipped
        for held in other._held:
            self._hold(*held)

    def result(self) -> RowSample:
        """Return what is held."""
        return self

    def _hold(self, number: FloatArray, values: AnyArray, weights: FloatArray) -> None:
        self._held.append((number, values, weights))
        if sum(one[0].size for one in self._held) > _MORE_BEFORE_A_CUT * self.most:
            self._cut()

    def _cut(self) -> None:
        """Keep the rows with the smallest numbers, in the order they came in."""
        number, values, weights = map(np.concatenate, zip(*self._held, strict=True))
        if number.size > self.most:
            stay = np.sort(np.argpartition(number, self.most)[: self.most])
            number, values, weights = number[stay], values[stay], weights[stay]
            self._bound = float(number.max())
        self._held = [(number, values, weights)]

    def predictions(self) -> Predictions:
        """Return the rows that stay."""
        if not self._held:
            msg = "the new data has no rows: give a log with probabilities."
            raise InvalidInput(msg)
        self._cut()
        _, values, weights = self._held[0]
        kind: Kind = "logits" if self.plan.layout.kind == "logits" else "probs"
        how: Any = {"kind": kind, "weight_kind": self.plan.weight_kind}
        if self.plan.layout.weight is not None:
            how["sample_weight"] = weights
        return Predictions(values, **how)
