"""`ogive.report`: the report of plain arrays, in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ogive.report.model import build_report
from ogive.report.render import write_html
from ogive.studies.plain import as_predictions

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from ogive._typing import ArrayLike, Kind
    from ogive.report.model import Report


def report(
    scores: Any,  # noqa: ANN401 - array-like or Predictions
    outcomes: ArrayLike | None = None,
    *,
    cal: Any = None,  # noqa: ANN401 - a pair or Predictions
    output: str | os.PathLike[str] | None = None,
    kind: Kind | None = None,
    classes: ArrayLike | None = None,
    view: str | None = None,
    method: str | None = None,
    methods: Sequence[str] | None = None,
    score_only: bool = False,
) -> Report:
    """Build the report of scores and outcomes, or of a matrix and labels; write it as a page.

    Parameters
    ----------
    scores, outcomes : array-like, or Predictions alone
        The test set; as in `ogive.measure`.
    cal : pair (scores, outcomes), or Predictions, optional
        The calibration set. Without it nothing is calibrated, and the report says so.
    output : path, optional
        Where the page goes (.html). Default: nowhere; the result has all of it.
    kind, classes : optional
        Of matrices, as in `ogive.measure`.
    view, method, methods, score_only : optional
        As in `ogive.report.build_report`.

    Examples
    --------
    >>> import ogive
    >>> ogive.report([0.9, 0.8, 0.6, 0.7] * 30, [1, 0, 1, 0] * 30).view
    'score'
    """
    test = as_predictions(scores, outcomes, kind=kind, classes=classes)
    if isinstance(cal, tuple):
        cal = as_predictions(*cal, kind=kind, classes=classes)
    chosen: Any = {"method": method, "methods": methods, "score_only": score_only}
    page = build_report(test, cal, view=view, **chosen)
    if output is not None:
        write_html(page, output)
    return page
