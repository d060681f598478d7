"""What was measured of groups: numbers, which groups are off, and the words for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from ogive._html import text_form
from ogive._numerics.mean_interval import LEVEL
from ogive._wording import format_pvalue, many_words, percent
from ogive.calibrators.grouped_map import JOIN, NO_GROUP
from ogive.metrics.multicalibration import MulticalibrationError, largest_error
from ogive.rows.views import rate_name
from ogive.studies.group_curves import columns_of_group

#: How all rows together are called.
ALL = "(all rows)"
NOISE_OF_FIT = " that allow for the noise of a calibrator fitted on {:,.0f} rows"


@dataclass(frozen=True, slots=True)
class GroupMeasurement:
    """The measurement of one group; `pvalue` is of the KS error, and adjusted for all groups.

    `base_rate` is the share of outcomes that are 1 (`accuracy` of top-r views is the same number).
    `direction` says whether the scores are "too high", "too low" or "mixed" on average.
    `ks_bracket` contains the KS error of all rows for certain, where the curve is a summary.
    `ks_sigmas` and `kuiper_sigmas` are the errors in units of their noise under calibration, and
    `detectable` is the KS error that would be found in this group with 80 % power, after the
    correction for all groups.
    """

    group: str
    n: float
    accuracy: float
    base_rate: float
    mean_score: float
    ks: float
    ks_bracket: tuple[float, float]
    ks_low: float
    ks_high: float
    ks_expected: float
    direction: str
    ece: float
    brier: float
    nll: float
    kuiper: float
    ks_sigmas: float
    kuiper_sigmas: float
    detectable: float
    pvalue: float
    pvalue_adjusted: float


@dataclass(frozen=True, slots=True, repr=False)
class GroupMeasurements:
    """Measurements of all groups: those found miscalibrated, then the others, by KS error.

    Attributes
    ----------
    by : str
        What the groups are; several columns with commas between.
    view : str
    groups : tuple of GroupMeasurement
        Of several columns, "BR | *" are all rows of BR, and "BR | mobile" a combination.
    overall : GroupMeasurement
        All rows together; not one of the groups.
    columns : tuple of str
        The columns of `by`.
    skipped : int or None
        Rows of a log that were left out.
    fitted_on : float or None
        Of calibrated scores, how many other rows their calibrator was fitted on: p-values and
        intervals then allow for the noise of that fit too.
    """

    by: str
    view: str
    groups: tuple[GroupMeasurement, ...]
    overall: GroupMeasurement
    columns: tuple[str, ...]
    skipped: int | None = None
    fitted_on: float | None = None

    _repr_html_ = text_form

    @property
    def off(self) -> tuple[GroupMeasurement, ...]:
        """The groups that are off at a false discovery rate of 5 %."""
        return tuple(one for one in self.groups if one.pvalue_adjusted <= LEVEL)

    @property
    def depth(self) -> int:
        """How many columns are combined at most."""
        return max(map(len, self._choices))

    @property
    def _choices(self) -> set[tuple[int, ...]]:
        return {columns_of_group(one.group, len(self.columns)) for one in self.groups}

    @property
    def multicalibration(self) -> MulticalibrationError:
        """The largest error of any group, all rows together included, in units of its noise."""
        every = (self.overall, *self.groups)
        names = [one.group for one in every]
        ks, kuiper = (
            largest_error(
                names,
                [getattr(one, error) for one in every],
                [getattr(one, f"{error}_sigmas") for one in every],
            )
            for error in ("ks", "kuiper")
        )
        return MulticalibrationError(ks, kuiper, min(one.pvalue_adjusted for one in self.groups))

    @property
    def verdict(self) -> str:
        """Which groups are miscalibrated, in words."""
        off = {one.group for one in self.off}
        ways = [one.direction if one.group in off else "" for one in self.groups]
        fit = "" if self.fitted_on is None else NOISE_OF_FIT.format(self.fitted_on)
        choices = len(self._choices)
        many = f" within each of {choices} choices of columns" if choices > 1 else ""
        tests = f"groups (KS tests{fit}, false discovery rate 5 %, Benjamini-Hochberg{many})"
        return many_words([one.group for one in self.groups], ways, tests)

    @property
    def notes(self) -> tuple[str, ...]:
        """What else there is to say: the multicalibration error, and missing values."""
        worst = self.multicalibration.ks
        where = "all rows together" if worst.group == ALL else f"{worst.group!r}"
        words = f"{worst.sigmas:.3g} times its noise, the KS error of {where}"
        lines = [
            f"Multicalibration error: {words} ({percent(worst.value)}; chance shows about 1.25)."
        ]
        for column in self.columns:
            none = [one for one in self.groups if self._where(one) == {column: NO_GROUP}]
            lines += [f"{one.n:,} rows have no value of {column}: {one.group!r}." for one in none]
        return tuple(lines)

    def _where(self, one: GroupMeasurement) -> dict[str, str]:
        """Return the values of the columns that a group has."""
        if len(self.columns) == 1:
            return {self.columns[0]: one.group}
        values = one.group.split(JOIN)
        places = columns_of_group(one.group, len(self.columns))
        return {self.columns[i]: values[i] for i in places}

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers under the keys of ``ogive measure --by COL --json``."""
        worst = self.multicalibration
        found = {
            "by": self.by,
            "view": self.view,
            "depth": self.depth,
            "overall": _plain(self.overall),
            "groups": [_plain(one) | {"where": self._where(one)} for one in self.groups],
            "multicalibration": {
                "ks": worst.ks._asdict() | {"sigmas": _finite(worst.ks.sigmas)},
                "kuiper": worst.kuiper._asdict() | {"sigmas": _finite(worst.kuiper.sigmas)},
                "pvalue": worst.pvalue,
            },
            "verdict": self.verdict,
        }
        more = {"skipped": self.skipped, "fitted_on": self.fitted_on}
        return found | {key: value for key, value in more.items() if value is not None}

    def __repr__(self) -> str:
        rate = rate_name(self.view)
        head = (
            f"{self.by:<16}{'n':>12}{'KS':>10}{'p':>9}{'adjusted':>10}{'mean score':>12}{rate:>12}"
        )
        lines = [
            f"{one.group:<16}{one.n:>12,}{percent(one.ks):>10}"
            f"{format_pvalue(one.pvalue, cell=True):>9}"
            f"{format_pvalue(one.pvalue_adjusted, cell=True):>10}"
            f"{percent(one.mean_score):>12}{percent(one.base_rate):>12}"
            for one in (self.overall, *self.groups)
        ]
        return "\n".join([head, *lines, self.verdict, *self.notes])


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _plain(one: GroupMeasurement) -> dict[str, Any]:
    """Return a measurement as plain numbers; JSON has no infinity."""
    return {k: _finite(v) if k.endswith("_sigmas") else v for k, v in asdict(one).items()}
