"""Maps of whole vectors with the standard library alone: part of the Python exports of those.

A calibrator is a dictionary of its method, its numbers and, in ``forms``, its maps of scores.
"""

from __future__ import annotations

from math import exp, fsum, inf, log
from typing import Any

from ogive.export.plain_score import from_log_odds, from_tail

MARGIN = 1e-6
SMALLEST = -36.04365338911715  # log 2^-52
FARTHEST = 1e200
FARTHEST_LOG_ODDS = 745.0
LEAST_LOG = -1e20


def checked(values: Any, kind: str, K: int) -> list[float]:  # noqa: ANN401
    """Return the values as floats, if they are what they are said to be."""
    row = [float(value) for value in values]
    if len(row) != K:
        message = f"{len(row)} values, but the calibrator was fitted on {K} classes"
        raise ValueError(message)
    top = max(row)
    if any(x != x for x in row) or not -inf < top < inf:  # noqa: PLR0124 - NaN
        message = "logits must not be NaN or +inf, and one of them must be finite"
        raise ValueError(message)
    if kind == "probs" and (min(row) < 0.0 or abs(fsum(row) - 1.0) > 1e-3):  # noqa: PLR2004
        message = "probabilities must be >= 0 and sum to 1: this calibrator does not take logits"
        raise ValueError(message)
    return row


def masses(x: list[float], kind: str) -> list[float]:
    """Return what the probabilities are in proportion to."""
    top = max(x)
    return [exp(value - top) for value in x] if kind == "logits" else x


def softmax(x: list[float]) -> list[float]:
    """Return the probabilities of logits."""
    e = masses(x, "logits")
    total = fsum(e)
    return [value / total for value in e]


def logs(x: list[float], kind: str) -> list[float]:
    """Return log-probabilities; -inf for zeros."""
    e = masses(x, kind)
    total = log(fsum(e))
    if kind == "logits":
        top = max(x)
        return [value - top - total for value in x]
    return [log(value) - total if value > 0.0 else -inf for value in x]


def lifted(x: list[float], floor: float) -> list[float]:
    """Put -inf at the floor, but never above the smallest finite number."""
    level = min(floor, *(value for value in x if value > -inf), inf)
    return [value if value > -inf else level for value in x]


def log_values(x: list[float], kind: str, floor: float) -> list[float]:
    """Return the logits, or the log-probabilities, all finite."""
    if kind == "probs":
        return lifted(logs(x, kind), floor)
    return [min(max(value, -FARTHEST), FARTHEST) for value in lifted(x, floor + max(x))]


def temperature(cal: dict[str, Any], x: list[float], kind: str) -> list[float]:
    """Return softmax(factor * logits)."""
    top = max(x)
    gaps = [value - top for value in x]
    if kind == "probs":
        gaps = [log(value) if value > 0.0 else -inf for value in x]
        gaps = gaps if cal["floor"] is None else lifted(gaps, cal["floor"])
    return softmax([cal["factor"] * value for value in gaps])


def vector(cal: dict[str, Any], x: list[float], kind: str) -> list[float]:
    """Return softmax(factor * logits + offset)."""
    z = log_values(x, kind, cal["floor"])
    return softmax([f * v + o for f, v, o in zip(cal["factor"], z, cal["offset"], strict=True)])


def odir(cal: dict[str, Any], x: list[float], kind: str) -> list[float]:
    """Return the mean over fold models of softmax(W x + b)."""
    if cal["method"] == "dir-odir":
        z = [max(value, SMALLEST) for value in logs(x, kind)]
    else:
        z = log_values(x, kind, cal["floor"])
    models = []
    for W, b in zip(cal["matrix"], cal["offset"], strict=True):
        rows = zip(W, b, strict=True)
        models.append(
            softmax([fsum([w * v for w, v in zip(r, z, strict=True)] + [o]) for r, o in rows])
        )
    mean = [fsum(column) for column in zip(*models, strict=True)]
    total = fsum(mean)
    return [value / total for value in mean]


def class_tails(e: list[float], floor: float) -> list[tuple[bool, float]]:
    """Return the side and the tail of each class against all others."""
    e = [max(value, floor) for value in e]
    total, top = fsum(e), e.index(max(e))
    rest = [total - value for value in e]
    rest[top] = fsum(value for k, value in enumerate(e) if k != top)
    tails = [min(a, b) / (a + b) for a, b in zip(e, rest, strict=True)]
    return [(a > b and tail < 0.5, tail) for a, b, tail in zip(e, rest, tails, strict=True)]  # noqa: PLR2004


def impossible(cal: dict[str, Any], x: list[float], kind: str) -> list[bool]:
    """Return which classes cannot be: a logit of -inf, or a probability of 0 if that is said."""
    if kind == "logits":
        return [value <= -inf for value in x]
    return [value <= 0.0 and cal.get("impossible") == "zero" for value in x]


def normalised(values: list[float], none: list[bool]) -> list[float]:
    """Divide by the sum; zeros become uniform, but stay zero where a class is impossible."""
    values = [0.0 if never else value for value, never in zip(values, none, strict=True)]
    total = fsum(values)
    other = 0.0 if any(none) else 1.0 / len(values)
    return [value / total if total > 0.0 else other for value in values]


def possible(q: list[float], none: list[bool], x: list[float], kind: str, top: bool) -> list[float]:
    """Give impossible classes 0: the top keeps its part, or all are divided by their sum."""
    kept = [0.0 if never else value for value, never in zip(q, none, strict=True)]
    total = fsum(kept)
    if total <= 0.0:
        e = masses(x, kind)
        return [value / fsum(e) for value in e]
    if not top:
        return [value / total for value in kept]
    first = kept.index(max(kept))
    own, lost = kept[first], fsum(value for value, never in zip(q, none, strict=True) if never)
    kept[first] = 0.0
    rest = fsum(kept)
    if rest <= 0.0:
        kept[first] = min(own + lost, 1.0)
        return kept
    part = max(kept) / rest
    raised = max(own, (own + rest + lost) * part / (1.0 - MARGIN + part))
    left = own + rest + lost - raised if raised > own else rest + lost
    kept = [value * (left / rest) for value in kept]
    kept[first] = raised
    return kept


def log_odds_of_two(x: list[float], kind: str) -> float:
    """Return the log-odds of class 1; those of logits stay finite."""
    if kind == "logits":
        return min(max(x[1] - x[0], -FARTHEST_LOG_ODDS), FARTHEST_LOG_ODDS)
    low, high = (log(value) if value > 0.0 else -inf for value in x)
    return high - low


def ovr(cal: dict[str, Any], x: list[float], kind: str) -> list[float]:
    """Return one map for each class, divided by the sum."""
    forms = cal["forms"]
    if cal["K"] == 2:  # noqa: PLR2004
        q = from_log_odds(forms[0], log_odds_of_two(x, kind))
        return [1.0 - q, q]
    tails = class_tails(masses(x, kind), cal["floor"])
    values = [from_tail(form, *tail) for form, tail in zip(forms, tails, strict=True)]
    return normalised(values, impossible(cal, x, kind))


def ranked(x: list[float]) -> list[int]:
    """Return the classes, the best first, equal ones by index."""
    return sorted(range(len(x)), key=lambda k: -x[k])


def every_rank(cal: dict[str, Any], x: list[float], kind: str) -> list[float]:
    """Return one map for each rank, divided by the sum."""
    tails = class_tails(masses(x, kind), cal["floor"])
    result = [0.0] * len(x)
    for form, k in zip(cal["forms"], ranked(x), strict=True):
        result[k] = from_tail(form, *tails[k])
    return normalised(result, impossible(cal, x, kind))


def ranks(cal: dict[str, Any], x: list[float], kind: str) -> list[float]:
    """Return shares by rank, in order; the rest by a power."""
    floor, R, K = cal["floor"], len(cal["forms"]), cal["K"]
    order, factor = ranked(x), cal.get("factor", 1.0)
    e = masses(x, kind)
    if factor != 1.0:
        a = x if kind == "logits" else [log(value) if value > 0.0 else -inf for value in x]
        e = [exp(factor * (value - max(a))) for value in a]
    first, others = order[:R], order[R:]
    left = fsum(max(e[k], floor) for k in others)
    eta = [0.0] * R
    for r in range(R - 1, 0, -1):
        own = max(e[first[r]], floor)
        eta[r] = log(own) - log(left)
        left += own
    exact = fsum(e[k] for k in order[1:])
    eta[0] = log(e[first[0]]) - log(exact) if exact > 0.0 else inf
    result = [0.0] * K
    remaining, upper, part = 1.0, 1.0, 0.0
    for r, k in enumerate(first):
        margin = 3 * MARGIN if r == 0 else MARGIN
        lower = remaining / (1.0 + (K - 1 - r) * (1.0 - margin))
        part = max(min(from_log_odds(cal["forms"][r], eta[r]) * remaining, upper), lower)
        result[k] = part
        remaining = max(remaining - part, 0.0)
        upper = part * (1.0 - MARGIN)
    weights = {k: exp(cal["power"] * log(max(e[k], floor))) for k in others}
    for k, value in shared(weights, remaining, upper).items():
        result[k] = value
    return result


def shared(weights: dict[int, float], left: float, cap: float) -> dict[int, float]:
    """Share what is left in proportion to the weights, none above the cap."""
    falling = sorted(weights.values(), reverse=True)
    after = fsum(falling)
    scale = left / after
    for m, largest in enumerate(falling):  # the m largest are capped
        scale = max(left - m * cap, 0.0) / after if after > 0.0 else 0.0
        if scale * largest <= cap:
            break
        after = fsum(falling[m + 1 :])
    return {k: min(scale * weight, cap) for k, weight in weights.items()}


def class_scores(cal: dict[str, Any], x: list[float], kind: str) -> list[float]:
    """Return the scores of the classes from log-probabilities and probabilities."""
    numbers = cal["structure"]
    top = max(x)
    if kind == "logits":
        gaps = lifted([value - top for value in x], numbers["floor"])
    else:
        gaps = lifted([log(value) if value > 0.0 else -inf for value in x], numbers["floor"])
        top = max(gaps)
        gaps = [value - top for value in gaps]
    a = logs([max(numbers["factor"] * value, LEAST_LOG) for value in gaps], "logits")
    p = [exp(value) for value in a]
    result = [
        f * v + u * w + c
        for f, v, u, w, c in zip(
            numbers["logs"], a, numbers["probs"], p, numbers["offset"], strict=True
        )
    ]
    for given, name in ((a, "logs"), (p, "probs")):
        values = given
        if numbers["of_" + name] is not None:
            columns = zip(*numbers["of_" + name], strict=True)
            values = [fsum(m * v for m, v in zip(c, given, strict=True)) for c in columns]
        for k, row in enumerate(numbers["to_" + name]):
            result[k] += fsum(m * v for m, v in zip(row, values, strict=True))
    return result


def class_masses(scores: list[float]) -> list[float]:
    """Return exp(s - max s), never 0."""
    top = max(scores)
    return [exp(max(value - top, -700.0)) for value in scores]


def free(cal: dict[str, Any], x: list[float], kind: str) -> list[float]:
    """Return the calibrated top class of the largest score; the others in proportion."""
    scores = class_scores(cal, x, kind)
    top = scores.index(max(scores))
    e = class_masses(scores)
    e[top] = 0.0
    rest, second = fsum(e), max(e)
    part = from_log_odds(cal["forms"][0], -log(rest))
    part = max(part, second / (rest + second) * (1.0 + MARGIN))
    result = [value * ((1.0 - part) / rest) for value in e]
    result[top] = part
    return result


def keep(cal: dict[str, Any], x: list[float], kind: str) -> list[float]:
    """Return the calibrated part of the class with the largest value; no other above it."""
    K, top = cal["K"], x.index(max(x))
    e = class_masses(class_scores(cal, x, kind))
    own = e[top]
    others = {k: value for k, value in enumerate(e) if k != top}
    rest, falling = fsum(others.values()), sorted(others.values(), reverse=True)
    level, left = own, rest
    if own < falling[0]:
        level = max((own + fsum(falling[:c])) / (c + 1) for c in range(1, K))
        left = own + rest - level
    part = from_log_odds(cal["forms"][0], log(level) - log(left))
    part = max(part, 1.0 / (1.0 + (K - 1) * (1.0 - 3 * MARGIN)))
    parts = shared(others, 1.0 - part, part * (1.0 - MARGIN))
    return [parts.get(k, part) for k in range(K)]


MAPS = {
    "dir-odir": odir,
    "every-rank": every_rank,
    "free": free,
    "keep": keep,
    "ms-odir": odir,
    "ovr": ovr,
    "ranks": ranks,
    "temperature": temperature,
    "vector": vector,
}


def from_vector(cal: dict[str, Any], values: Any, kind: str) -> list[float]:  # noqa: ANN401
    """Return the calibrated probabilities of a row of logits or probabilities."""
    x = checked(values, kind, cal["K"])
    q = MAPS[cal["method"]](cal, x, kind)
    none = impossible(cal, x, kind)
    if not any(none):
        return q
    return possible(q, none, x, kind, cal["method"] in ("keep", "free", "ranks"))
