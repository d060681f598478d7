"""A summary whose verdict is found when it is first asked for: it may take cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ogive.calibrators.multiclass.summary import summary_of

if TYPE_CHECKING:
    from ogive.calibrators.matrix_map import MatrixMap
    from ogive.calibrators.multiclass.summary import VectorSummary
    from ogive.calibrators.spline_summary import SplineSummary
    from ogive.rows.predictions import Predictions


class Judged:
    """What was fitted and the rows of the fit, until they are judged.

    The rows are not pickled: a calibrator that was pickled before its summary was asked for has one
    without a verdict.
    """

    def __init__(
        self, calibrator: MatrixMap, preds: Predictions, method: str, n_jobs: int | None = None
    ) -> None:
        self._found = summary_of(calibrator, preds, method, n_jobs=n_jobs)
        self._rows: tuple[MatrixMap, Predictions] | None = (calibrator, preds)

    def summary(self) -> SplineSummary | VectorSummary:
        """Return the summary, with the verdict that `ogive fit` gives on the same rows."""
        if self._rows is not None:
            from ogive.studies.deciding import with_verdict  # noqa: PLC0415 - heavy

            self._found = with_verdict(self._found, *self._rows)
            self._rows = None
        return self._found

    def __getstate__(self) -> dict[str, Any]:
        return {"_found": self._found, "_rows": None}
