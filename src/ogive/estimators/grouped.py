"""Groups of rows in estimators, which are given them in `fit` and again in `predict`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ogive.calibrators.impossible import keep_impossible
from ogive.errors import InvalidInput
from ogive.rows.views import score_rows
from ogive.studies.fitting import fit_in_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import ArrayLike, FloatArray, IntArray
    from ogive.calibrators.grouped_map import GroupedMap
    from ogive.calibrators.impossible import Impossible
    from ogive.rows.predictions import Predictions

_TWO = 2


def fit_grouped(preds: Predictions, groups: ArrayLike, method: str = "spline") -> GroupedMap:
    """Fit the probability of class 1 of two, group by group."""
    if preds.K != _TWO:
        msg = (
            f"`sample_groups` need two classes, but there are {preds.K}: calibrate one view of "
            "them, ogive.studies.fitting.fit(preds, view='top-1', groups=groups)."
        )
        raise InvalidInput(msg)
    return fit_in_groups(preds, groups, method, "score" if preds.one_column else "class-1")


def grouped_probabilities(
    gamma: GroupedMap, preds: Predictions, groups: ArrayLike | None, impossible: Impossible
) -> FloatArray:
    """Return the calibrated probabilities of both classes, (N, 2)."""
    if groups is None:
        msg = (
            f"the calibrator was fitted with groups ({gamma.by}): give the group of each row, "
            "sample_groups=. A group that it has not seen gets the map of all rows."
        )
        raise InvalidInput(msg)
    rows = score_rows(preds, gamma.view)
    q = gamma.from_tails(rows.high, rows.tail, groups)
    both = np.stack([1.0 - q, q], axis=1)
    return both if preds.one_column else keep_impossible(preds, both, impossible, keeps_top=False)


class ScoredInGroups:
    """The accuracy of a classifier whose `predict` takes groups."""

    predict: Any

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        sample_groups: ArrayLike | None = None,
    ) -> float:
        """Return the accuracy of `predict`."""
        found = self.predict(X) if sample_groups is None else self.predict(X, sample_groups)
        return float(accuracy_score(y, found, sample_weight=sample_weight))


def groups_at(groups: Any, rows: IntArray, n: int) -> Any:  # noqa: ANN401
    """Return the groups of some of n rows."""
    if isinstance(groups, Mapping):
        return {name: groups_at(column, rows, n) for name, column in groups.items()}
    if _num_samples(groups) != n:
        msg = f"`sample_groups` has {_num_samples(groups):,} rows, but X has {n:,}."
        raise InvalidInput(msg)
    return _safe_indexing(groups, rows)


def without_columns(X: Any, columns: str | Sequence[str]) -> tuple[Any, Any]:  # noqa: ANN401
    """Return a table without the columns of groups, and these."""
    names = [columns] if isinstance(columns, str) else list(columns)
    has = list(getattr(X, "columns", []))
    missing = [name for name in names if name not in has]
    if missing:
        msg = (
            f"`groups` names the column {missing[0]!r}, but X has no such column. Give a table "
            "that has it, or the groups themselves as sample_groups=."
        )
        raise InvalidInput(msg)
    rest = [name for name in has if name not in names]
    return X[rest], X[names]
