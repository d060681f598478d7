"""A map of one score with the standard library alone: this text is part of every Python export.

A form is a dictionary: see `ogive.export.forms`, whose two classes it holds.
"""

from __future__ import annotations

from bisect import bisect_left
from math import copysign, exp, expm1, log, log1p
from typing import Any


def pieces(form: dict[str, Any], x: float) -> float:
    """Return the polynomial of the piece in which x lies."""
    j = bisect_left(form["breaks"], x)
    u = x - form["start"][j]
    value = 0.0
    for power in form["powers"]:  # the highest first
        value = value * u + power[j]
    return value


def sigmoid(x: float) -> float:
    """Return 1 / (1 + exp(-x))."""
    odds = exp(-abs(x))
    return (1.0 if x > 0.0 else odds) / (1.0 + odds)


def with_odds(form: dict[str, Any], q: float) -> float:
    """Return a probability whose odds are multiplied: that of another base rate."""
    event = form["odds"] * q
    return q if form["odds"] == 1.0 else event / (event + (1.0 - q))


def drawn_in(eta: float, low: float, high: float, line: float, tau: float) -> float:
    """Return log-odds; beyond [low, high] a distance d counts as w d + (1 - w) t (1 - e^(-d/t))."""
    seen = min(max(eta, low), high)
    d = eta - seen
    return seen + line * d + (1.0 - line) * tau * copysign(expm1(-abs(d) / tau), d)


def log_odds_at(form: dict[str, Any], eta: float) -> float:
    """Return the calibrated log-odds of a map that is a sigmoid of the log-odds."""
    eta = min(max(eta, form["lowest"]), form["highest"])
    if form["grid"]:
        eta = round(eta / form["grid"]) * form["grid"]
    logit = pieces(form, drawn_in(eta, *form["beyond"]) if form["beyond"] else eta)
    if form["squares"]:
        least = min([pieces(square, eta) for square in form["squares"]])
        logit += form["side"] * max(least, 0.0) ** 0.5
    if form["falling"] or form["rising"]:
        bend = log1p(exp(-abs(eta)))
        logit += form["rising"] * (max(eta, 0.0) + bend)
        logit -= form["falling"] * (max(-eta, 0.0) + bend)
    return float(min(max(logit, -form["limit"]), form["limit"]))


def at_log_odds(form: dict[str, Any], eta: float) -> float:
    """Return a map that is a sigmoid of the log-odds."""
    return with_odds(form, sigmoid(log_odds_at(form, eta)))


def from_tail(form: dict[str, Any], high: bool, tail: float) -> float:
    """Return the calibrated probability of a score, given as its side of 1/2 and its tail."""
    if high and tail == 0.0:
        return float(form["at_one"])
    if "limit" not in form:
        return with_odds(form, min(max(pieces(form, -tail if high else tail), 0.0), 1.0))
    eta = log(tail) - log(1.0 - tail) if tail > 0.0 else form["lowest"]
    return at_log_odds(form, -eta if high else eta)


def from_log_odds(form: dict[str, Any], eta: float) -> float:
    """Return the calibrated probability of log-odds; they may be infinite."""
    if form["direct"]:
        return at_log_odds(form, eta)
    odds = exp(-abs(eta))
    return from_tail(form, eta > 0.0, odds / (1.0 + odds))


def from_score(form: dict[str, Any], score: float) -> float:
    """Return the calibrated probability of a score in [0, 1]."""
    if not 0.0 <= score <= 1.0:
        message = f"a score must lie in [0, 1], not {score!r}"
        raise ValueError(message)
    return from_tail(form, score > 0.5, 1.0 - score if score > 0.5 else score)  # noqa: PLR2004
