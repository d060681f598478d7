"""What a group adds to a map of one score: part of the Python exports of a calibrator of groups.

A form is the dictionary of `plain_score` with the effects of `ogive.calibrators.grouped_map`.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any

from ogive.export.plain_score import log_odds_at, sigmoid


def names_of(form: dict[str, Any], group: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Return the value of each column as text; a missing one is a group of its own."""
    width = len(form["main"])
    values = (group,) if width == 1 else group
    if isinstance(values, str) or values is None or len(values) != width:
        message = f"a group must have {width} values, not {group!r}"
        raise ValueError(message)
    return (*[form["none"] if v is None or v != v or v == "" else str(v) for v in values],)  # noqa: PLR0124


def effect_of(form: dict[str, Any], group: Any) -> Any:  # noqa: ANN401
    """Return shift, slope and bend; those of a combination not seen are of its values."""
    names = names_of(form, group)
    if names in form["cells"]:
        return form["cells"][names]
    total = (0.0, 0.0, 0.0)
    for name, effects in zip(names, form["main"], strict=True):
        if name in effects:
            total = (*[a + b for a, b in zip(total, effects[name], strict=True)],)
    return total


def in_group(form: dict[str, Any], logit: float, group: Any) -> float:  # noqa: ANN401
    """Return the probability of calibrated log-odds in a group."""
    shift, slope, bend = effect_of(form, group)
    axis = form["axis"]
    z = (min(max(logit, axis["first"]), axis["last"]) - axis["centre"]) / axis["unit"]
    q = (sqrt(1.0 + z * z) - axis["bend_mean"] - axis["bend_slope"] * z) / axis["bend_unit"]
    logit = logit + shift + slope * z + bend * q
    return sigmoid(min(max(logit, -form["limit"]), form["limit"]))


def score_in_group(form: dict[str, Any], score: float, group: Any) -> float:  # noqa: ANN401
    """Return the calibrated probability of a score in [0, 1] in a group."""
    if not 0.0 <= score <= 1.0:
        message = f"a score must lie in [0, 1], not {score!r}"
        raise ValueError(message)
    if score == 1.0:
        return in_group(form, form["log_odds_at_one"], group)
    tail = 1.0 - score if score > 0.5 else score  # noqa: PLR2004
    eta = log(tail) - log(1.0 - tail) if tail > 0.0 else form["lowest"]
    return in_group(form, log_odds_at(form, -eta if score > 0.5 else eta), group)  # noqa: PLR2004


def log_odds_in_group(form: dict[str, Any], eta: float, group: Any) -> float:  # noqa: ANN401
    """Return the calibrated probability of log-odds in a group."""
    return in_group(form, log_odds_at(form, eta), group)
