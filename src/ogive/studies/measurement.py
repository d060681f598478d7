"""What `ogive.measure` returns: all measures of a view, or of all views, as plain numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

from ogive._wording import TOO_HIGH, TOO_LOW, WITHHELD, class_tests, many_words

if TYPE_CHECKING:
    from ogive.metrics.classwise import Classwise
    from ogive.metrics.significance import CalibrationTest
    from ogive.studies.numbers import Number
    from ogive.studies.verdict import Verdict
    from ogive.studies.where_off import RangeOff


@dataclass(frozen=True, slots=True, repr=False)
class Measurement:
    """All measures of one view. Fractions, not percent; `to_dict` has the command line's keys.

    The tests `ks_test` and `kuiper_test` hold what is repeated here under ``ks_…`` and
    ``kuiper_…``. `more` holds measures that have joined `ogive.metrics.MEASURES` since, and
    `intervals` bootstrap intervals, where they were asked for. Of a summarised curve, `brackets`
    contain for certain what all rows would give, and the keys in `approximate` are neither exact
    nor in a bracket; `skipped` counts the rows of a log that were left out. `also` holds other
    views that belong to it: of two classes, the score of class 1. `numbers` are those of other
    fields, where they were asked for (``more=True``), and `belt` the ranges of scores that the
    calibration belt shows to be off. `clusters` says how many there are, where they were given, and
    `design_effect` how much more they let a mean vary than independent rows would.
    """

    view: str
    n: float
    accuracy: float
    mean_score: float
    ks_test: CalibrationTest
    kuiper_test: CalibrationTest
    ece: float
    mce: float
    ece_l2: float
    ece_debiased: float
    kde_ece: float
    kde_ece_method: str
    smooth_ece: float
    brier: float
    nll: float
    mcb: float
    dsc: float
    unc: float
    spiegelhalter: float
    spiegelhalter_pvalue: float
    decision: Verdict
    brier_vector: float | None = None
    nll_vector: float | None = None
    more: dict[str, float] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    brackets: dict[str, tuple[float, float]] = field(default_factory=dict)
    approximate: tuple[str, ...] = ()
    skipped: int | None = None
    clusters: int | None = None
    design_effect: float | None = None
    also: tuple[Measurement, ...] = ()
    numbers: tuple[Number, ...] = ()
    belt: tuple[RangeOff, ...] = ()
    calibrated_by: str | None = None
    fitted_rows: bool = False

    def with_origin(self, calibrated_by: str | None, *, fitted_rows: bool) -> Measurement:
        """Return it with what calibrated the scores; of rows that fitted that, without p-values."""
        if calibrated_by is None:
            return self
        also = tuple(o.with_origin(calibrated_by, fitted_rows=fitted_rows) for o in self.also)
        known: Any = {"calibrated_by": calibrated_by, "fitted_rows": fitted_rows, "also": also}
        if not fitted_rows:
            return replace(self, **known, decision=self.decision.noted(calibrated_by))
        hidden: Any = dict.fromkeys(("pvalue", "low", "high"), nan)
        numbers = tuple(one._replace(low=nan, high=nan) for one in self.numbers)
        return replace(
            self,
            **known,
            ks_test=replace(self.ks_test, **hidden),
            kuiper_test=replace(self.kuiper_test, **hidden),
            spiegelhalter_pvalue=nan,
            numbers=numbers,
            belt=(),
            decision=self.decision.withheld(f"{calibrated_by} {WITHHELD}"),
        )

    @property
    def verdict(self) -> str:
        """The verdict in words; `decision` has its parts."""
        return str(self.decision)

    @property
    def base_rate(self) -> float:
        """The share of outcomes that are 1: of top-r views, the accuracy."""
        return self.accuracy

    @property
    def ks(self) -> float:
        """The KS error."""
        return self.ks_test.value

    @property
    def kuiper(self) -> float:
        """The Kuiper error."""
        return self.kuiper_test.value

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers under the keys of ``ogive measure --json``; None for NaN."""
        values = asdict(self)
        ks, kuiper = values.pop("ks_test"), values.pop("kuiper_test")
        head = {key: values.pop(key) for key in ("view", "n", "accuracy", "mean_score")}
        head["base_rate"] = self.base_rate
        del values["decision"]
        values |= self.decision.flat()
        more, intervals = values.pop("more"), values.pop("intervals")
        for key in ("also", "numbers", "belt"):
            values.pop(key)
        origin = {key: values.pop(key) for key in ("calibrated_by", "fitted_rows")}
        known = {key: values.pop(key) for key in ("brackets", "approximate", "skipped")}
        alike = {key: values.pop(key) for key in ("clusters", "design_effect")}
        vector = {key: values.pop(key) for key in ("brier_vector", "nll_vector")}
        result = head | {
            "ks": ks.pop("value"),
            **{f"ks_{key}": value for key, value in ks.items()},
            "kuiper": kuiper.pop("value"),
            **{f"kuiper_{key}": kuiper[key] for key in _KUIPER},
        }
        result |= values | more
        for key, (low, high) in intervals.items():
            result |= {f"{key}_low": low, f"{key}_high": high}
        for one in self.numbers:
            ends = {f"{one.key}_low": one.low, f"{one.key}_high": one.high}
            result |= {one.key: one.value} | ends
        if self.brier_vector is not None:
            result |= vector
        more_of_it = {} if self.calibrated_by is None else origin
        more_of_it |= {} if self.clusters is None else alike
        if self.numbers:
            known_off = [(one.first, one.last, one.direction) for one in self.belt]
            more_of_it["belt"] = [
                dict(zip(("from", "to", "direction"), one, strict=True)) for one in known_off
            ]
        if self.also:
            more_of_it |= {"also": [other.to_dict() for other in self.also]}
        return {key: _plain(value) for key, value in result.items()} | _of_log(**known) | more_of_it

    def __repr__(self) -> str:
        from ogive.studies.layout import one_view  # noqa: PLC0415 - only to be read by people

        return one_view(self)

    def _repr_html_(self) -> str:
        from ogive.studies.layout import one_view_html  # noqa: PLC0415 - as above

        return one_view_html(self)


def _of_log(
    brackets: dict[str, tuple[float, float]], approximate: tuple[str, ...], skipped: int | None
) -> dict[str, Any]:
    """Return what is said of summarised curves, and of logs, alone."""
    found: dict[str, Any] = {}
    if brackets:
        ends = {key: [float(low), float(high)] for key, (low, high) in brackets.items()}
        found = {"ks_bracket": ends["ks"], "brackets": ends, "approximate": list(approximate)}
    return found if skipped is None else found | {"skipped": skipped}


_KUIPER = ("pvalue", "low", "high", "expected", "detectable", "method")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Measurements:
    """The measurements of all views of the same predictions.

    Attributes
    ----------
    views : tuple of Measurement
    classes : Classwise or None
        Every class against the rest, for matrices.
    """

    views: tuple[Measurement, ...]
    classes: Classwise | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"views": [...]}``, plain numbers; every view has the same keys.

        The last, ``"class-wise"``, holds means over classes under those of the usual keys that
        have one (None under the others), and what only it has.
        """
        views = [view.to_dict() for view in self.views]
        if self.classes is not None:
            views.append(dict.fromkeys(views[0]) | _summary(self.classes))
        return {"views": views}

    @property
    def classes_verdict(self) -> str:
        """Which classes are miscalibrated, in words; "" where there are no classes."""
        return "" if self.classes is None else classes_verdict(self.classes)

    def with_origin(self, calibrated_by: str | None, *, fitted_rows: bool) -> Measurements:
        """Return them with what calibrated the scores: see `Measurement.with_origin`.

        The tests of classes are left out where the rows fitted the calibrator.
        """
        views = tuple(v.with_origin(calibrated_by, fitted_rows=fitted_rows) for v in self.views)
        return Measurements(views, None if fitted_rows else self.classes)

    def __repr__(self) -> str:
        from ogive.studies.layout import all_views  # noqa: PLC0415 - only to be read by people

        return all_views(self)

    def _repr_html_(self) -> str:
        from ogive.studies.layout import all_views_html  # noqa: PLC0415 - as above

        return all_views_html(self)


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON values
    """Return a plain Python value, None for what JSON cannot say."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, bool | int):
        return int(value)
    number = float(value)
    return number if isfinite(number) else None


def classes_verdict(classes: Classwise) -> str:
    """Say which classes are miscalibrated, and in which way."""
    names = [str(name) for name in classes.classes]
    return many_words(names, _ways(classes), class_tests(len(names)))


def _ways(classes: Classwise) -> list[str]:
    """Return which way each class is off; "" for those that are not."""
    from ogive.studies.where_off import way_off  # noqa: PLC0415 - as above

    columns = zip(classes.mean_score, classes.base_rate, classes.ks, strict=True)
    return [way_off(*row) if off else "" for row, off in zip(columns, classes.off, strict=True)]


def _named(classes: Classwise, way: str) -> list[str]:
    ways = _ways(classes)
    return [str(name) for name, w in zip(classes.classes, ways, strict=True) if w == way]


def _summary(classes: Classwise) -> dict[str, Any]:
    """Return the class-wise summary under the command line's keys."""
    worst_ks, worst_ece = int(classes.ks.argmax()), int(classes.ece.argmax())
    return {
        "view": "class-wise",
        "n": _plain(classes.n),
        "classes": classes.ks.size,
        "ks": float(classes.ks.mean()),
        "ks_max": float(classes.ks.max()),
        "ks_max_class": str(classes.classes[worst_ks]),
        "ece": float(classes.ece.mean()),
        "ece_max": float(classes.ece.max()),
        "ece_max_class": str(classes.classes[worst_ece]),
        "brier": float(classes.brier.mean()),
        "classes_off": int(classes.off.sum()),
        "classes_too_high": _named(classes, TOO_HIGH),
        "classes_too_low": _named(classes, TOO_LOW),
        "verdict": classes_verdict(classes),
    }
