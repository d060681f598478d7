"""Compare methods: fit each on one part, measure on the other, row against row.

Two methods are measured on the same rows, so what matters is the difference of their losses row by
row. A few rows with a probability near 0 for what happened can make it heavy-tailed, so that it is
tested by Hall's transformation of Student's t, which takes out its skewness (`hall_t`);
``docs/theory/significance.md`` has its level beside that of other tests. Where the test set has
clusters, the sums of whole clusters are compared instead of rows.

The method that is recommended is the default, `spline`, unless another is significantly better.
Methods worse than no calibration are never recommended, nor called equal to the best.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._html import grid
from ogive._wording import COMPARE_OTHERS, percent
from ogive.calibrators import METHODS, SCORE_ONLY
from ogive.calibrators.multiclass.shared_fits import shared_class_fits
from ogive.errors import InvalidInput, InvalidType
from ogive.metrics.binned import BINS, equal_width
from ogive.rows.views import check_view
from ogive.studies.compare_groups import GROUPS, by_group, check_by
from ogive.studies.deciding import choose, judge_methods
from ogive.studies.fitting import (
    VECTOR,
    Rows,
    apply,
    fit,
    fit_in_groups,
    method_for,
    reads_all_columns,
)
from ogive.studies.losses import CRITICAL_T, hall_t, scores_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import FloatArray, IntArray, Progress
    from ogive.calibrators.multiclass.shared_fits import SharedFits
    from ogive.rows.predictions import Predictions
    from ogive.studies.compare_groups import ByGroup, GroupsOf
    from ogive.studies.verdict import Verdict

OF_VECTORS = (
    "The table is about {}; whether to calibrate is decided by the probabilities of all classes "
    "(whole vectors), which `ogive fit` calibrates: --view vector shows their table."
)
OF_ALL_COLUMNS = (
    "spline reads all columns of a row; spline:score-only reads the score of the view alone, as "
    "other methods of a curve do."
)
#: A method that may lose more than this share of the best method's gain is not called equal to it.
MOST_OF_GAIN_LOST = 0.25
_SHOWN = 8  # classes that an error names


@dataclass(frozen=True, slots=True)
class MethodResult:
    """One method on the test part; fractions, not percent.

    ``ks_expected`` is the KS error that its scores would show if they were perfectly calibrated.
    ``nll_diff`` is its mean loss minus that of the best method, row by row, and ``nll_diff_se``
    the standard error of that. In the view ``vector``, ``nll`` and ``brier`` are of whole
    vectors, and the others of the top class. ``tied_with_best``: not significantly different from
    the best. ``too_few_rows_to_tell``: not significantly different either, but its standard error
    is so large that it may lose a quarter or more of what the best gains over no calibration.
    """

    method: str
    ks: float
    ece: float
    mce: float
    brier: float
    nll: float
    accuracy: float
    base_rate: float
    ks_expected: float
    nll_diff: float
    nll_diff_se: float
    tied_with_best: bool
    fit_seconds: float
    too_few_rows_to_tell: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """Methods compared on one view, lowest log loss first."""

    view: str
    n_cal: int
    n_test: int
    methods: tuple[MethodResult, ...]
    decision: Verdict
    calibrated_by: str | None = None
    fitted_rows: bool = False
    by_group: ByGroup | None = None

    @property
    def best(self) -> MethodResult:
        """The method with the lowest log loss."""
        return self.methods[0]

    @property
    def recommended(self) -> MethodResult:
        """The default method if none is significantly better, else the best; see `choose`."""
        return choose(tuple(row for row in self.methods if row.method != GROUPS))

    @property
    def verdict(self) -> str:
        """What to do, in words; `decision` has its parts."""
        return str(self.decision)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of single rows, in sentences."""
        found = []
        if self.decision.view == VECTOR != self.view:
            found.append(OF_VECTORS.format(self.view))
        if any(row.method.endswith(f":{SCORE_ONLY}") for row in self.methods):
            found.append(OF_ALL_COLUMNS)
        if self.by_group is not None and self.by_group.note:
            found.append(self.by_group.note)
        if self.calibrated_by is not None:
            found.insert(0, f"{self.calibrated_by} Methods are fitted to what it gave.")
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers under the command line's keys."""
        return {
            "view": self.view,
            "n_cal": self.n_cal,
            "n_test": self.n_test,
            "methods": [asdict(row) for row in self.methods],
            "recommended": self.decision.method or "none",
            **self.decision.flat(),
            "reasons": self.decision.to_dict(),
            **({} if self.calibrated_by is None else self._origin()),
            **({} if self.by_group is None else {"by_group": self.by_group.to_dict()}),
        }

    def _origin(self) -> dict[str, Any]:
        return {"calibrated_by": self.calibrated_by, "fitted_rows": self.fitted_rows}

    def __repr__(self) -> str:
        lines = [f"{self.view}: fitted on {self.n_cal:,} rows, tested on {self.n_test:,}"]
        rows = [_HEAD, *map(_cells, self.methods)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for name, *cells in rows:
            text = (f"{c:>{w}}" for c, w in zip(cells, widths[1:], strict=True))
            lines.append("  ".join([f"{name:{widths[0]}}", *text]))
        return "\n".join([*lines, *self.notes, self.verdict])

    def _repr_html_(self) -> str:
        caption = f"{self.view}: {self.n_cal:,} rows to fit, {self.n_test:,} to test"
        rows = [_cells(row) for row in self.methods]
        return grid(caption, _HEAD, rows, below=" ".join([*self.notes, self.verdict]))


_HEAD = ("method", "KS", "ECE", "Brier", "log loss", "above the best")


def _cells(row: MethodResult) -> tuple[str, ...]:
    """Return what is shown of a method, under `_HEAD`."""
    shares = (percent(row.ks), percent(row.ece))
    return (row.method, *shares, f"{row.brier:.4f}", f"{row.nll:.4f}", above_the_best(row))


def above_the_best(row: MethodResult) -> str:
    """Say how far the log loss of a method is above the best, and whether that may be noise."""
    noise = row.tied_with_best or row.too_few_rows_to_tell
    return distance_words(row.nll_diff, row.nll_diff_se, noise=noise)


def distance_words(loss: float, error: float, *, noise: bool) -> str:
    """Say how far a log loss is above the best; a distance of exactly 0 is the best itself."""
    if loss == error == 0.0:
        return "best"
    return f"{loss:+.4f} ± {error:.4f}{' (noise)' if noise else ''}"


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What one method did, before it is compared with the others."""

    method: str
    numbers: dict[str, float]
    losses: FloatArray  # (N,) log loss row by row
    seconds: float
    rows: Rows


def compare(
    cal: Predictions,
    test: Predictions,
    methods: Sequence[str] | None = None,
    view: str | None = None,
    *,
    score_only: bool = False,
    groups: GroupsOf | None = None,
    bins: int = BINS,
    progress: Progress | None = None,
) -> Comparison:
    """Fit each method on one set of predictions and measure it on another.

    Parameters
    ----------
    cal, test : Predictions
        Labelled, with the same classes.
    methods : sequence of str, optional
        Names of `ogive.calibrators.METHODS`. Default: all that apply and are not slow. Among
        whole vectors ``"spline:free"`` is one more: see `ogive.calibrators.MULTICLASS`. Among
        ranks of a matrix ``"spline:score-only"`` is one more.
    view : str, optional
        Default: ``"top-1"``, or ``"score"``. ``"vector"``: whole vectors.
    score_only : bool
        The spline reads the view's score alone, as all other methods of curves do.
    groups : GroupsOf, optional
        The groups of the rows of `cal` and of `test`: the calibrator of groups is one more method,
        and the result has the numbers of each group (`by_group`).
    bins : int
        Of ECE and MCE, of equal width.
    progress : function of (what, done, total), optional

    Examples
    --------
    >>> import numpy as np
    >>> from ogive import Predictions, compare
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.uniform(size=4000)
    >>> preds = [Predictions(p**0.5, rng.uniform(size=2000) < p, kind="probs")
    ...          for p in (truth[:2000], truth[2000:])]
    >>> compare(*preds, methods=["none", "platt"]).best.method
    'platt'
    """
    how: Any = {"score_only": score_only, "groups": groups, "bins": bins, "progress": progress}
    return compare_rows(cal, test, methods, view, **how)[0]


def compare_rows(
    cal: Predictions,
    test: Predictions,
    methods: Sequence[str] | None = None,
    view: str | None = None,
    *,
    score_only: bool = False,
    groups: GroupsOf | None = None,
    bins: int = BINS,
    progress: Progress | None = None,
) -> tuple[Comparison, dict[str, Rows]]:
    """Return what `compare` does, and the calibrated scores and outcomes of every method."""
    name = VECTOR if view == VECTOR else check_view(view, test).name
    test = test.like(cal)
    check_pair(cal, test)
    equal_width(bins)  # before any fit
    if isinstance(methods, str):
        msg = f"`methods` must be a list of names, not one name: [{methods!r}]"
        raise InvalidType(msg)
    chosen = (
        list(methods) if methods is not None else default_methods(cal, name, score_only=score_only)
    )
    for method in chosen:
        if groups is None or method != GROUPS:
            method_for(method, name)
    with shared_class_fits() as shared:
        how: Any = {"score_only": score_only, "shared": shared, "progress": progress}
        how["bins"] = bins
        if groups is not None:
            check_by(name)
            how["groups"] = groups
            chosen = [method for method in chosen if method != GROUPS] + [GROUPS]
        return _compared(cal, test, chosen, view, **how)


def _compared(
    cal: Predictions,
    test: Predictions,
    chosen: list[str],
    view: str | None,
    *,
    score_only: bool,
    shared: SharedFits,
    bins: int,
    progress: Progress | None,
    groups: GroupsOf | None = None,
) -> tuple[Comparison, dict[str, Rows]]:
    """Fit and measure each method, and judge them."""
    name = VECTOR if view == VECTOR else check_view(view, test).name
    outcomes = []
    for done, method in enumerate(chosen):
        if progress:
            progress(f"fitting {method}", done, len(chosen))
        inside = _inside(progress, method, done, len(chosen))
        saved = shared.saved
        how: Any = {"score_only": score_only, "progress": inside}
        how["bins"] = bins
        how["groups"] = groups if method == GROUPS else None
        outcome = _measure(cal, test, method, name, **how)
        # What another method had fitted already counts as if it was fitted by itself.
        outcomes.append(replace(outcome, seconds=outcome.seconds + shared.saved - saved))
    if progress:
        progress("done", len(chosen), len(chosen))
    best = min(outcomes, key=lambda outcome: outcome.numbers["nll"])
    none = next((one for one in outcomes if one.method == "none"), None)
    rows = (_against(outcome, best, none, test.row_weights, test.clusters) for outcome in outcomes)
    ranked = tuple(sorted(rows, key=lambda row: row.nll))
    whole = VECTOR if view is None and not (cal.one_column or score_only) else name
    plain = tuple(row for row in ranked if row.method != GROUPS)
    decision = judge_methods(cal, test, plain, whole, score_only=score_only)
    if test.fitted_rows:
        decision = decision.withheld(COMPARE_OTHERS)
    origin = (test.calibrated_by, test.fitted_rows)
    found = None
    if groups is not None:
        calibrated = {one.method: one.rows for one in outcomes}
        found = by_group(groups, test, calibrated, {one.method: one.losses for one in outcomes})
    compared = Comparison(name, cal.n, test.n, ranked, decision, *origin, by_group=found)
    return compared, {one.method: Rows(one.rows.score, one.rows.hit) for one in outcomes}


def _inside(progress: Progress | None, method: str, before: int, methods: int) -> Progress | None:
    """Return a callback for the steps inside one fit, as shares of one method."""
    if progress is None:
        return None

    def step(what: str, done: float, total: int) -> None:
        progress(f"{method}: {what}", before + (done / total if total else 0.0), methods)

    return step


def check_pair(cal: Predictions, test: Predictions) -> None:
    """Refuse parts without labels, or of two models."""
    for name, preds in (("cal", cal), ("test", test)):
        if preds.labels is None:
            msg = f"`{name}` has no labels, so nothing can be compared. Give labels (--label COL)."
            raise InvalidInput(msg)
    if cal.K != test.K:
        msg = f"`cal` has {cal.K} classes and `test` {test.K}: they must be of one model."
        raise InvalidInput(msg)
    if not np.array_equal(cal.classes, test.classes):
        a, b = (", ".join(map(str, preds.classes[:_SHOWN])) for preds in (cal, test))
        msg = (
            f"`cal` has the classes {a} and `test` {b}: the columns must mean the same. Say which "
            "label each column has, for both: classes=[...]."
        )
        raise InvalidInput(msg)


def default_methods(preds: Predictions, view: str | None, *, score_only: bool = False) -> list[str]:
    """Return all methods that apply: those of matrices need more than one column."""
    names = [
        name
        for name, method in METHODS.items()
        if not method.slow and (method.reads == "curve" or not preds.one_column)
    ]
    if view == VECTOR and not preds.one_column:
        return ["spline:free", *names]
    both = reads_all_columns(preds, "spline", view, score_only=score_only)
    return [f"spline:{SCORE_ONLY}", *names] if both else names


def _measure(
    cal: Predictions,
    test: Predictions,
    method: str,
    view: str,
    *,
    bins: int,
    progress: Progress | None,
    score_only: bool = False,
    groups: GroupsOf | None = None,
) -> _Outcome:
    """Fit one method and measure what it does to the test part."""
    start = time.perf_counter()
    how: Any = {"score_only": score_only and view != VECTOR, "progress": progress}
    if groups is not None:
        fitted: Any = fit_in_groups(cal, groups.columns(), view=view)
    else:
        fitted = fit(cal, method, view, **how)
    seconds = time.perf_counter() - start
    rows = apply(fitted, test, view, None if groups is None else groups.test)
    numbers, losses = scores_of(rows, test, view, bins=bins)
    return _Outcome(method, numbers, losses, seconds, rows)


def _against(
    outcome: _Outcome,
    best: _Outcome,
    none: _Outcome | None,
    weights: FloatArray,
    clusters: IntArray | None,
) -> MethodResult:
    """Compare the losses row by row with those of the best method."""
    share = weights / weights.sum()
    mean, error, t = hall_t(outcome.losses - best.losses, share, clusters)
    same = t <= CRITICAL_T
    unsure = False
    if none is not None and outcome is not best and outcome is not none:
        gained = none.numbers["nll"] - best.numbers["nll"]
        unsure = mean + CRITICAL_T * error > MOST_OF_GAIN_LOST * gained
    return MethodResult(
        method=outcome.method,
        nll_diff=mean,
        nll_diff_se=error,
        tied_with_best=same and not unsure,
        too_few_rows_to_tell=same and unsure,
        fit_seconds=outcome.seconds,
        **outcome.numbers,
    )
