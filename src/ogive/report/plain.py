"""`ogive.report`: the report of plain arrays, in one call."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ogive.curve import Curve
from ogive.errors import InvalidInput
from ogive.report.model import build_report
from ogive.report.models import Subject, build_models_report
from ogive.report.page import About, as_tags
from ogive.studies.plain import as_predictions

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from ogive._typing import ArrayLike, Kind
    from ogive.report.model import Report
    from ogive.report.models import ModelsReport


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
    title: str = "",
    model: str = "",
    author: str = "",
    tags: Sequence[str] = (),
    note: str = "",
) -> Report | ModelsReport:
    """Build the report of scores and outcomes, or of a matrix and labels; write it as a page.

    Parameters
    ----------
    scores, outcomes : array-like, or Predictions or a Curve alone
        The test set; as in `ogive.measure`. Several models or days, compared on one page: a
        mapping of names to pairs (scores, outcomes), Predictions or Curves, without outcomes.
    cal : pair (scores, outcomes), or Predictions, optional
        The calibration set; of several, a mapping of their names. Without it nothing is
        calibrated, and the report says so.
    output : path, optional
        Where the page goes (.html). Default: nowhere; a notebook
        shows the result, and its `save` writes it.
    kind, classes : optional
        Of matrices, as in `ogive.measure`.
    view, method, methods, score_only : optional
        As in `ogive.report.build_report`; several models are calibrated by one `method`.
    title, model, author, tags, note : optional
        Recorded in the page. The title is its heading.

    Examples
    --------
    >>> import ogive
    >>> ogive.report([0.9, 0.8, 0.6, 0.7] * 30, [1, 0, 1, 0] * 30).view
    'score'
    """
    about = About(title, model, author, as_tags(tags), note)
    chosen: Any = {"view": view, "score_only": score_only}
    page: Report | ModelsReport
    if isinstance(scores, Mapping):
        subjects = _subjects(scores, outcomes, cal, methods, {"kind": kind, "classes": classes})
        page = build_models_report(subjects, method=method or "spline", **chosen)
    else:
        rows = partial(_rows, kind=kind, classes=classes)
        test, cal = rows(scores, outcomes), None if cal is None else rows(cal)
        page = build_report(test, cal, method=method, methods=methods, **chosen)
    page = page.described(about)
    if output is not None:
        page.save(output)
    return page


def _rows(given: Any, outcomes: Any = None, **how: Any) -> Any:  # noqa: ANN401 - as `report` takes
    """Return predictions, or a curve as it is; a pair is scores and outcomes."""
    if isinstance(given, Curve):
        return given
    if isinstance(given, tuple) and outcomes is None:
        return as_predictions(*given, **how)
    return as_predictions(given, outcomes, **how)


def _subjects(
    scores: Mapping[str, Any],
    outcomes: Any,  # noqa: ANN401
    cal: Any,  # noqa: ANN401
    methods: Sequence[str] | None,
    how: dict[str, Any],
) -> list[Subject]:
    """Return what a mapping of names compares; refuse what would be ignored."""
    for name, value in (("outcomes", outcomes), ("methods", methods)):
        if value is not None:
            msg = f"`{name}` does not apply to several models: leave it out."
            raise InvalidInput(msg)
    if cal is not None and not isinstance(cal, Mapping):
        msg = "`cal` must map names to calibration sets, as `scores` maps names to test sets."
        raise InvalidInput(msg)
    known = cal or {}
    unknown = next((name for name in known if name not in scores), None)
    if unknown is not None:
        msg = f"`cal` has {unknown!r}, which `scores` has not."
        raise InvalidInput(msg)
    return [
        Subject(
            str(name), _rows(given, **how), _rows(known[name], **how) if name in known else None
        )
        for name, given in scores.items()
    ]
