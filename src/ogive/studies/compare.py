"""Compare methods: fit each on one part, measure on the other, row against row.

Two methods are measured on the same rows, so what matters is the difference of their losses row
by row, with its standard error. A difference within two of those is noise, and said to be.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._html import grid
from ogive.calibrators import METHODS
from ogive.calibrators.matrix.vector_probe import stopped_early
from ogive.curve import Curve
from ogive.errors import InvalidInput, InvalidType
from ogive.metrics.binned import ece, mce
from ogive.metrics.ks import ks_error
from ogive.metrics.onepass import read
from ogive.metrics.proper import CLIP
from ogive.metrics.significance import EXPECTED_KS, VarianceReader
from ogive.metrics.vector import vector_rows
from ogive.studies.fitting import VECTOR, apply, fit, named
from ogive.views import check_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import FloatArray, Progress
    from ogive.predictions import Predictions
    from ogive.studies.fitting import Rows

STOPPED = (
    "{} was stopped early: after a few steps, its log loss (of whole vectors) on held-out "
    "calibration rows was significantly above that of temperature."
)
_SHOWN = 8  # classes that an error names
_SIGMAS = 2.0  # differences within this many standard errors are noise


@dataclass(frozen=True, slots=True)
class MethodResult:
    """One method on the test part; fractions, not percent.

    ``ks_expected`` is the KS error that its scores would show if they were perfectly calibrated.
    ``nll_diff`` is its mean loss minus that of the best method, row by row, and ``nll_diff_se``
    the standard error of that. In the view ``vector``, ``nll`` and ``brier`` are of whole
    vectors, and the others of the top class. ``stopped_early``: the fit was given up, since its
    log loss on held-out calibration rows was significantly above that of temperature scaling
    (`ogive.calibrators.matrix.vector_probe`).
    """

    method: str
    ks: float
    ece: float
    mce: float
    brier: float
    nll: float
    accuracy: float
    ks_expected: float
    nll_diff: float
    nll_diff_se: float
    tied_with_best: bool
    fit_seconds: float
    stopped_early: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """Methods compared on one view, lowest NLL first."""

    view: str
    n_cal: int
    n_test: int
    methods: tuple[MethodResult, ...]
    calibrated_by: str | None = None
    fitted_rows: bool = False

    @property
    def best(self) -> MethodResult:
        """The method with the lowest NLL."""
        return self.methods[0]

    @property
    def verdict(self) -> str:
        """What to do, in a sentence."""
        if self.fitted_rows:
            return "No verdict: the test rows fitted the calibrator. Compare on other rows."
        tied = [row.method for row in self.methods[1:] if row.tied_with_best]
        if self.best.method == "none":
            return "Leave it alone: no method is better than no calibration."
        if "none" in tied:
            return "Leave it alone: the best gain is within two standard errors of none."
        also = f"; {' and '.join(tied)} cannot be told from it on these rows" if tied else ""
        return f"Use {self.best.method}{also}."

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of single rows, in sentences."""
        stopped = (STOPPED.format(row.method) for row in self.methods if row.stopped_early)
        if self.calibrated_by is None:
            return tuple(stopped)
        return (f"{self.calibrated_by} Methods are fitted to what it gave.", *stopped)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers under the command line's keys."""
        return {
            "view": self.view,
            "n_cal": self.n_cal,
            "n_test": self.n_test,
            "methods": [asdict(row) for row in self.methods],
            "verdict": self.verdict,
            **({} if self.calibrated_by is None else self._origin()),
        }

    def _origin(self) -> dict[str, Any]:
        return {"calibrated_by": self.calibrated_by, "fitted_rows": self.fitted_rows}

    def __repr__(self) -> str:
        apart = {"method", "stopped_early"}
        names = [field.name for field in fields(MethodResult) if field.name not in apart]
        lines = [f"Comparison of {self.view}, {self.n_cal:,} rows to fit, {self.n_test:,} to test"]
        lines.append(f"{'method':14}" + "".join(f"{name[:9]:>10}" for name in names))
        for row in self.methods:
            cells = (getattr(row, name) for name in names)
            text = (f"{c!s:>10}" if isinstance(c, bool) else f"{c:10.5f}" for c in cells)
            lines.append(f"{row.method:14}" + "".join(text))
        return "\n".join([*lines, *self.notes, self.verdict])

    def _repr_html_(self) -> str:
        head = ("method", "KS %", "ECE %", "Brier", "NLL", "above the best", "noise")
        rows = [
            (
                row.method,
                f"{100 * row.ks:.2f}",
                f"{100 * row.ece:.2f}",
                f"{row.brier:.4f}",
                f"{row.nll:.4f}",
                f"{row.nll_diff:.4f} ± {row.nll_diff_se:.4f}",
                "yes" if row.tied_with_best else "no",
            )
            for row in self.methods
        ]
        caption = f"{self.view}: {self.n_cal:,} rows to fit, {self.n_test:,} to test"
        return grid(caption, head, rows, below=" ".join([*self.notes, self.verdict]))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What one method did, before it is compared with the others."""

    method: str
    numbers: dict[str, float]
    losses: FloatArray  # (N,) NLL row by row
    seconds: float
    stopped: bool = False


def compare(
    cal: Predictions,
    test: Predictions,
    methods: Sequence[str] | None = None,
    view: str | None = None,
    *,
    progress: Progress | None = None,
) -> Comparison:
    """Fit each method on one set of predictions and measure it on another.

    Parameters
    ----------
    cal, test : Predictions
        Labelled, with the same classes.
    methods : sequence of str, optional
        Names of `ogive.calibrators.METHODS`. Default: all that apply and are not slow. Among
        whole vectors ``"spline:free"`` is one more: see `ogive.calibrators.VECTORS`.
    view : str, optional
        Default: ``"top-1"``, or ``"score"``. ``"vector"``: whole vectors.
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
    name = VECTOR if view == VECTOR else check_view(view, test).name
    check_pair(cal, test)
    if isinstance(methods, str):
        msg = f"`methods` must be a list of names, not one name: [{methods!r}]"
        raise InvalidType(msg)
    chosen = list(methods) if methods is not None else default_methods(cal, name)
    for method in chosen:
        named(method)
    outcomes = []
    for done, method in enumerate(chosen):
        if progress:
            progress(f"fitting {method}", done, len(chosen))
        may_stop = method == "vector" and "temperature" in chosen
        inside = _inside(progress, method, done, len(chosen))
        outcomes.append(_measure(cal, test, method, name, may_stop=may_stop, progress=inside))
    if progress:
        progress("done", len(chosen), len(chosen))
    best = min(outcomes, key=lambda outcome: (outcome.stopped, outcome.numbers["nll"]))
    weights = np.ones(test.n) if test.weights is None else test.weights
    rows = (_against(outcome, best, weights) for outcome in outcomes)
    origin = (test.calibrated_by, test.fitted_rows)
    return Comparison(name, cal.n, test.n, tuple(sorted(rows, key=_place)), *origin)


def _inside(progress: Progress | None, method: str, before: int, methods: int) -> Progress | None:
    """Return a callback for the steps inside one fit, as shares of one method."""
    if progress is None:
        return None

    def step(what: str, done: float, total: int) -> None:
        progress(f"{method}: {what}", before + (done / total if total else 0.0), methods)

    return step


def _place(row: MethodResult) -> tuple[bool, float]:
    """Return what rows are sorted by: fits that were given up come last."""
    return row.stopped_early, row.nll


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


def default_methods(preds: Predictions, view: str) -> list[str]:
    """Return all methods that apply: those of matrices need more than one column."""
    names = [
        name
        for name, method in METHODS.items()
        if not method.slow and (method.reads == "curve" or not preds.one_column)
    ]
    return ["spline:free", *names] if view == VECTOR and not preds.one_column else names


def _measure(
    cal: Predictions,
    test: Predictions,
    method: str,
    view: str,
    *,
    may_stop: bool,
    progress: Progress | None,
) -> _Outcome:
    """Fit one method and measure what it does to the test part."""
    start = time.perf_counter()
    stopped = stopped_early(cal) if may_stop else None
    fitted = fit(cal, method, view, progress=progress) if stopped is None else stopped
    seconds = time.perf_counter() - start
    numbers, losses = scores_of(apply(fitted, test, view), test, view)
    return _Outcome(method, numbers, losses, seconds, stopped is not None)


def scores_of(rows: Rows, test: Predictions, view: str) -> tuple[dict[str, float], FloatArray]:
    """Return the numbers of calibrated rows, and their log losses, (N,)."""
    weights = np.ones(test.n) if test.weights is None else test.weights
    hit = np.asarray(rows.hit, dtype=np.float64)
    curve = Curve.from_scores(rows.score, hit, weights=test.weights, weight_kind=test.weight_kind)
    if view == VECTOR:
        squares, losses, _ = vector_rows(test, rows.vectors)
    else:
        p = np.clip(rows.score, CLIP, 1.0 - CLIP)
        losses = -np.log(np.where(hit > 0, p, 1.0 - p))
        squares = (rows.score - hit) ** 2
    numbers = {
        "ks": ks_error(curve),
        "ks_expected": _expected(curve),
        "ece": ece(curve),
        "mce": mce(curve),
        "brier": float(np.average(squares, weights=weights)),
        "nll": float(np.average(losses, weights=weights)),
        "accuracy": float(np.average(hit, weights=weights)),
    }
    return numbers, losses


def _expected(curve: Curve) -> float:
    """Return the mean KS error of perfectly calibrated scores: E sup |W| sigma / N."""
    spread = VarianceReader()
    read(curve, spread)
    return EXPECTED_KS * float(np.sqrt(spread.variance)) / float(curve.n)


def _against(outcome: _Outcome, best: _Outcome, weights: FloatArray) -> MethodResult:
    """Compare the losses row by row with those of the best method."""
    share = weights / weights.sum()
    difference = outcome.losses - best.losses
    mean = float(np.sum(share * difference))
    error = float(np.sqrt(np.sum((share * (difference - mean)) ** 2)))
    tied = mean <= _SIGMAS * error and not outcome.stopped
    return MethodResult(
        method=outcome.method,
        nll_diff=mean,
        nll_diff_se=error,
        tied_with_best=tied,
        fit_seconds=outcome.seconds,
        stopped_early=outcome.stopped,
        **outcome.numbers,
    )
