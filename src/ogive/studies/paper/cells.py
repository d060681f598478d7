"""How one cell of the paper's tables is computed: a method, a view, a measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ogive.calibrators.multiclass.every_rank import fit_every_rank
from ogive.calibrators.paper_spline import fit_paper_spline
from ogive.calibrators.scaling.odir import fit_dir_odir, fit_ms_odir
from ogive.calibrators.scaling.temperature import fit_temperature
from ogive.calibrators.scaling.vector import fit_vector
from ogive.curve import Curve
from ogive.curve.curve import rescored
from ogive.metrics.binned import ece, mce
from ogive.metrics.kde import kde_ece
from ogive.metrics.ks import ks_error
from ogive.metrics.proper import brier
from ogive.rows.predictions import Predictions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ogive._typing import FloatArray, Progress
    from ogive.calibrators.maps import Map

_BINS = 25
_ACCURACY_KNOTS = 6

_KS_VIEWS = {
    "ks-top1": "top-1",
    "ks-top2": "top-2",
    "ks-top3": "top-3",
    "ks-within-top2": "within-top-2",
    "ks-within-top3": "within-top-3",
}
_TOP1: dict[str, Callable[[Curve], float]] = {
    "ece25-top1": lambda curve: ece(curve, _BINS),
    "mce-top1": lambda curve: mce(curve, _BINS),
    "kde-ece-top1": kde_ece,
    "brier-top1": brier,
}
_TITLES = {
    "ks-top1": "KS error, top-1",
    "ks-top2": "KS error, top-2",
    "ks-top3": "KS error, top-3",
    "ks-within-top2": "KS error, within top-2",
    "ks-within-top3": "KS error, within top-3",
    "ece25-top1": "ECE, 25 bins, top-1",
    "accuracy": "Accuracy",
    "kde-ece-top1": "KDE-ECE, top-1",
    "mce-top1": "MCE, 25 bins, top-1",
    "brier-top1": "Brier score, top-1",
}


def title_of(metric: str) -> str:
    """Return what a table of this metric is headed by."""
    return _TITLES[metric]


def is_percent(metric: str) -> bool:
    """Whether the paper prints this metric in percent."""
    return metric.startswith(("ks-", "ece25-", "accuracy"))


class Key(NamedTuple):
    """What tells one cell of a file from another."""

    metric: str
    method: str
    knots: int | None

    @classmethod
    def of(cls, row: dict[str, str]) -> Key:
        """Return the key of a row of the paper's numbers.

        >>> Key.of({"metric": "ks-top1-percent", "method": "spline", "knots": "6"})
        Key(metric='ks-top1', method='spline', knots=6)
        """
        knots = int(row["knots"]) if row["knots"] else None
        return cls(row["metric"].removesuffix("-percent"), row["method"], knots)

    @property
    def name(self) -> str:
        """The key as one word."""
        return self.metric if self.knots is None else f"{self.metric} {self.knots}"


class Bench:
    """One file: what methods are fitted to, and what they are measured on."""

    def __init__(self, cal: Predictions, test: Predictions, n_jobs: int | None = None) -> None:
        self.cal, self.test, self.n_jobs = cal, test, n_jobs

    def measure(
        self,
        method: str,
        keys: Iterable[Key],
        *,
        progress: Progress | None = None,
    ) -> dict[Key, float]:
        """Return the value of each cell of one method."""
        if method == "spline":
            return {key: self._spline(key) for key in keys}
        calibrated = self._calibrated(method, progress)
        curves: dict[str, Curve] = {}
        values = {}
        for key in keys:
            view = _KS_VIEWS.get(key.metric, "top-1")
            if view not in curves:
                curves[view] = Curve.from_predictions(calibrated, view, n_jobs=self.n_jobs)
            values[key] = _value(key.metric, curves[view])
        return values

    def _calibrated(self, method: str, progress: Progress | None) -> Predictions:
        """Return the test part after a method of whole matrices."""
        if method == "uncalibrated":
            return self.test
        if method in {"ms-odir", "dir-odir"}:
            fit = fit_ms_odir if method == "ms-odir" else fit_dir_odir
            gamma = fit(self.cal, progress=progress, n_jobs=self.n_jobs)
        else:
            simple = fit_temperature if method == "temperature" else fit_vector
            gamma = simple(self.cal, n_jobs=self.n_jobs)
        return self._labelled(gamma(self.test, n_jobs=self.n_jobs))

    def _labelled(self, probabilities: FloatArray) -> Predictions:
        return Predictions(probabilities, self.test.labels, kind="probs", n_jobs=self.n_jobs)

    def _spline(self, key: Key) -> float:
        """Return a cell of the paper's own method."""
        if key.metric == "accuracy":
            gamma = fit_every_rank(
                self.cal,
                "paper-spline",
                rescale=False,
                n_jobs=self.n_jobs,
                knots=_ACCURACY_KNOTS,
            )
            vectors = self._labelled(gamma(self.test, n_jobs=self.n_jobs))
            return _value("accuracy", Curve.from_predictions(vectors, "top-1"))
        view = _KS_VIEWS.get(key.metric, "top-1")
        cal, test = (
            Curve.from_predictions(part, view, n_jobs=self.n_jobs) for part in (self.cal, self.test)
        )
        spline = fit_paper_spline(cal, knots=key.knots or _ACCURACY_KNOTS)
        return _value(key.metric, recalibrated(spline, test))


def recalibrated(calibrator: Map, curve: Curve) -> Curve:
    """Return the curve of the same rows with calibrated scores."""
    return rescored(curve, calibrator.from_log_odds(curve.log_odds))


def _value(metric: str, curve: Curve) -> float:
    if metric == "accuracy":
        return curve.total_hits / curve.n
    return _TOP1[metric](curve) if metric in _TOP1 else ks_error(curve)
