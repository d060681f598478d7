r"""The maps of scores as array arithmetic, written once for all array packages.

A program takes an array namespace `xp` (`to_onnx` and `to_torch` have one each), its constants
`c` by name as that namespace's arrays, and a batch; it uses the operators of Python and the few
functions of `Namespace`. Everything is float64. What it computes is what the artifact computes,
to the last digits: masses, never ``1 - p``; and each logarithm is guarded, so that gradients
stay finite where the map is flat.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partialmethod
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from ogive.export.forms import LogOddsForm
from ogive.rows.views import OfClass, TopRank, WithinTop, parse_view

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ogive._typing import AnyArray, FloatArray, Kind
    from ogive.export.forms import Form, Pieces

Array: TypeAlias = Any  # of whatever package the namespace belongs to
Constants: TypeAlias = "Mapping[str, Array]"

_LEAST_SQUARE = 1e-30  # of half a band: its root has a finite slope, and changes no digit
_MINUS_INFINITY = -2000.0  # stands for the logarithm of 0: its exponential is 0, and it is finite


class Namespace(Protocol):
    """What a package of arrays must offer, beyond operators. Axis 0 is the batch."""

    def exp(self, x: Array) -> Array: ...  # noqa: D102
    def log(self, x: Array) -> Array: ...  # noqa: D102
    def absolute(self, x: Array) -> Array: ...  # noqa: D102
    def sqrt(self, x: Array) -> Array: ...  # noqa: D102

    def find(self, keys: Array, values: Array) -> Array:
        """Return the place of whole numbers among rising keys; the number of keys if not there."""

    def minimum(self, x: Array, y: Array) -> Array: ...  # noqa: D102
    def maximum(self, x: Array, y: Array) -> Array: ...  # noqa: D102
    def where(self, condition: Array, x: Array, y: Array) -> Array: ...  # noqa: D102
    def if_any(self, flags: Array, new: Callable[[], Array], old: Array) -> Array:
        """Return `new` in rows with a flag, which are 0 or 1, and `old` in others."""

    def sum(self, x: Array) -> Array:
        """Add up along axis 1, keeping it."""

    def max(self, x: Array) -> Array:
        """Return the largest along axis 1, keeping it."""

    def take(self, table: Array, index: Array) -> Array:
        """Return the entries of a 1-D table."""

    def columns(self, x: Array, first: int, last: int | None) -> Array:
        """Return the columns [first, last) of (n, K)."""

    def without(self, x: Array, first: int, last: int) -> Array:
        """Return (n, K) with the columns [first, last) set to 0."""

    def join(self, parts: Sequence[Array]) -> Array:
        """Put columns side by side."""

    def descending(self, x: Array, first: int | None) -> tuple[Array, Array]:
        """Return the largest `first` (or all) along axis 1 and their indices; ties by index."""

    def gather(self, x: Array, index: Array) -> Array:
        """Return x[i, index[i, j]]."""

    def scatter(self, x: Array, index: Array, values: Array) -> Array:
        """Return x with x[i, index[i, j]] = values[i, j]."""

    def sum_to_the_end(self, x: Array) -> Array:
        """Return for each column the sum of it and all after it."""

    def matmul(self, x: Array, y: Array) -> Array: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Traced:
    """The name of a step's result, where a program is written to a file instead of run.

    The operators of Python add a step to the `graph`, named as ONNX does.
    """

    graph: Any
    name: str
    integer: bool = False

    def _with(self, other: Any, op: str) -> Any:  # noqa: ANN401
        return self.graph.node(op, self, other)

    def _after(self, other: Any, op: str) -> Any:  # noqa: ANN401
        return self.graph.node(op, other, self)

    __add__ = __radd__ = partialmethod(_with, op="Add")
    __mul__ = __rmul__ = partialmethod(_with, op="Mul")
    __sub__, __rsub__ = partialmethod(_with, op="Sub"), partialmethod(_after, op="Sub")
    __truediv__, __rtruediv__ = partialmethod(_with, op="Div"), partialmethod(_after, op="Div")
    __lt__, __gt__ = partialmethod(_with, op="Less"), partialmethod(_with, op="Greater")
    __le__, __and__ = partialmethod(_with, op="LessOrEqual"), partialmethod(_with, op="And")

    def __neg__(self) -> Any:  # noqa: ANN401
        return self.graph.node("Neg", self)


def clip(xp: Namespace, x: Array, low: Array, high: Array) -> Array:
    """Cut to [low, high]."""
    return xp.minimum(xp.maximum(x, low), high)


def safe_log(xp: Namespace, x: Array) -> Array:
    """Return log x, and a finite stand-in where x is 0: no gradient is NaN there."""
    positive = x > 0.0
    return xp.where(positive, xp.log(xp.where(positive, x, 1.0)), _MINUS_INFINITY)


def log1p(xp: Namespace, x: Array) -> Array:
    """Return log(1 + x) for x in [0, 1], to all digits of a small x: ONNX has no operator for it.

    The rounding of 1 + x is undone by what it made of x (Kahan).
    """
    rounded = 1.0 + x
    seen = rounded > 1.0
    there = xp.where(seen, rounded - 1.0, 1.0)
    return xp.where(seen, xp.log(rounded) * (x / there), x)


def masses(xp: Namespace, x: Array, kind: Kind) -> Array:
    """Return the masses of the classes, (n, K): see `ogive.rows.predictions`."""
    return xp.exp(x - xp.max(x)) if kind == "logits" else x


def view_tails(xp: Namespace, x: Array, view: str, kind: Kind) -> tuple[Array, Array]:
    """Return side and tail of a view's score, each (n, 1), from (n, K), or (n, 1) for 'score'."""
    chosen = parse_view(view)
    match chosen:
        case OfClass(index):
            e = masses(xp, x, kind)
            first, last = index, index + 1
        case TopRank() | WithinTop():
            e, _ = xp.descending(masses(xp, x, kind), None)
            first, last = chosen.rank - 1 if isinstance(chosen, TopRank) else 0, chosen.rank
        case _ if kind == "probs":
            high = x > 0.5  # noqa: PLR2004
            return high, xp.where(high, 1.0 - x, x)
        case _:
            # no difference of the two: log-odds of ± inf are a score of exactly 0 or 1
            return sides(xp, xp.exp(xp.minimum(x, 0.0)), xp.exp(-xp.maximum(x, 0.0)))
    event = xp.sum(xp.columns(e, first, last))
    rest = xp.sum(xp.without(e, first, last))
    if kind == "probs":
        # Taken as they are if they sum to 1 but for rounding, as `Predictions` does: p + (1 − p)
        # is exactly 1, so that the score is p and its tail 1 − p.
        K = xp.sum(x * 0.0 + 1.0)
        given = xp.absolute(event + rest - 1.0) <= (K * 0.5 + 1.0) * 2.0**-23
        rest = xp.where(given, xp.maximum(1.0 - event, 0.0), rest)
    return sides(xp, event, rest)


def sides(xp: Namespace, event: Array, rest: Array) -> tuple[Array, Array]:
    """Return side and tail of events with these masses, where the others have the rest."""
    tail = xp.minimum(event, rest) / (event + rest)
    return (event > rest) & (tail < 0.5), tail  # noqa: PLR2004


def log_odds(xp: Namespace, high: Array, tail: Array) -> Array:
    """Return the log-odds of sides and tails."""
    eta = safe_log(xp, tail) - xp.log(1.0 - tail)
    return xp.where(high, -eta, eta)


class Bank:
    """Several maps side by side: column j of a batch goes through map j.

    Columns of the same form share their arithmetic: the tables of all are one long table, and
    each column searches its own stretch of it.
    """

    def __init__(self, forms: Sequence[Form], name: str) -> None:
        self.name = name
        self.direct = [form.direct for form in forms]
        self.groups: list[tuple[list[int], _Group]] = []
        self.constants: dict[str, AnyArray] = {}
        kinds = [
            (type(form), form.direct, len(form.squares), form.beyond is None) for form in forms
        ]
        for kind in dict.fromkeys(kinds):
            places = [j for j, own in enumerate(kinds) if own == kind]
            group = _Group([forms[j] for j in places], f"{name}_{len(self.groups)}")
            self.groups.append((places, group))
            self.constants.update(group.constants)

    def from_tails(self, xp: Namespace, c: Constants, high: Array, tail: Array) -> Array:
        """Return the calibrated probabilities of sides and tails, (n, columns)."""

        def run(group: _Group, pick: Any) -> Array:  # noqa: ANN401
            h, t = pick(high), pick(tail)
            return group.from_tails(xp, c, h, t)

        return self._each(xp, run)

    def from_log_odds(self, xp: Namespace, c: Constants, eta: Array) -> Array:
        """Return the calibrated probabilities of log-odds, (n, columns)."""

        def run(group: _Group, pick: Any) -> Array:  # noqa: ANN401
            own = pick(eta)
            if group.direct:
                return group.sigmoid_at(xp, c, own)
            odds = xp.exp(-xp.absolute(own))
            return group.from_tails(xp, c, own > 0.0, odds / (1.0 + odds))

        return self._each(xp, run)

    def _each(self, xp: Namespace, run: Any) -> Array:  # noqa: ANN401
        if len(self.groups) == 1:
            return run(self.groups[0][1], lambda x: x)
        total = len(self.direct)
        found: list[Array] = [None] * total
        for places, group in self.groups:

            def pick(x: Array, places: list[int] = places) -> Array:
                return xp.join([xp.columns(x, j, j + 1) for j in places])

            result = run(group, pick)
            for i, j in enumerate(places):
                found[j] = xp.columns(result, i, i + 1)
        return xp.join(found)


class _Group:
    """Maps of one form."""

    def __init__(self, forms: Sequence[Form], name: str) -> None:
        self.name, self.direct = name, forms[0].direct
        self.in_log_odds = isinstance(forms[0], LogOddsForm)
        self.steps, self.degree, tables = _tables([form.pieces for form in forms])
        numbers = ["at_one"]
        if self.in_log_odds:
            numbers += ["lowest", "highest", "limit"]
            if any(getattr(form, "falling") or getattr(form, "rising") for form in forms):  # noqa: B009
                numbers += ["falling", "rising"]
        self.beta = "rising" in numbers
        self.shifted = any(form.odds != 1.0 for form in forms)
        numbers += ["odds"] * self.shifted + ["side"] * bool(forms[0].squares)
        for number in numbers:
            tables[number] = np.array([getattr(form, number) for form in forms])
        self.beyond = forms[0].beyond is not None
        if self.beyond:
            beyond = np.array([form.beyond for form in forms]).T
            tables |= dict(zip(("low", "high", "line", "tau"), beyond, strict=True))
        self.constants = {f"{name}_{key}": value for key, value in tables.items()}
        self.squares: list[tuple[str, int, int]] = []
        for i, squares in enumerate(zip(*(form.squares for form in forms), strict=True)):
            own = f"{name}_square{i}"
            steps, degree, tables = _tables(squares)
            self.squares.append((own, steps, degree))
            self.constants |= {f"{own}_{key}": value for key, value in tables.items()}

    def from_tails(self, xp: Namespace, c: Constants, high: Array, tail: Array) -> Array:
        if self.in_log_odds:
            result = self.sigmoid_at(xp, c, log_odds(xp, high, tail))
        else:
            x = xp.where(high, -tail, tail)
            result = clip(xp, _pieces(xp, c, x, self.name, self.steps, self.degree), 0.0, 1.0)
            result = self._with_odds(c, result)
        return xp.where(high & (tail <= 0.0), c[f"{self.name}_at_one"], result)

    def sigmoid_at(self, xp: Namespace, c: Constants, eta: Array) -> Array:
        """Return the sigmoid of the pieces at these log-odds."""
        return self._with_odds(c, sigmoid(xp, self.log_odds_at(xp, c, eta)))

    def log_odds_at(self, xp: Namespace, c: Constants, eta: Array) -> Array:
        """Return the pieces at these log-odds, cut to the limit."""
        eta = clip(xp, eta, c[f"{self.name}_lowest"], c[f"{self.name}_highest"])
        logit = _pieces(xp, c, self._drawn_in(xp, c, eta), self.name, self.steps, self.degree)
        if self.squares:
            least, *others = (_pieces(xp, c, eta, *square) for square in self.squares)
            for square in others:
                least = xp.minimum(least, square)
            half = xp.sqrt(xp.maximum(least, _LEAST_SQUARE))
            logit = logit + c[f"{self.name}_side"] * half
        if self.beta:
            bend = log1p(xp, xp.exp(-xp.absolute(eta)))
            logit = logit + c[f"{self.name}_rising"] * (xp.maximum(eta, 0.0) + bend)
            logit = logit - c[f"{self.name}_falling"] * (xp.maximum(-eta, 0.0) + bend)
        limit = c[f"{self.name}_limit"]
        return clip(xp, logit, -limit, limit)

    def _drawn_in(self, xp: Namespace, c: Constants, eta: Array) -> Array:
        """Return log-odds, drawn in beyond those of the fit: `calibrators.spline_map.Beyond`."""
        if not self.beyond:
            return eta
        low, high, line, tau = (c[f"{self.name}_{key}"] for key in ("low", "high", "line", "tau"))
        seen = clip(xp, eta, low, high)
        d = eta - seen
        level = tau * (1.0 - xp.exp(-(xp.absolute(d) / tau)))
        return seen + line * d + (1.0 - line) * xp.where(d > 0.0, level, -level)

    def _with_odds(self, c: Constants, q: Array) -> Array:
        """Return probabilities at another base rate: `calibrators.shifted.with_odds`."""
        if not self.shifted:
            return q
        event = c[f"{self.name}_odds"] * q
        return event / (event + (1.0 - q))


def _pieces(  # noqa: PLR0917 - internal
    xp: Namespace, c: Constants, x: Array, name: str, steps: int, degree: int
) -> Array:
    """Find the piece of each x by halving, and evaluate its polynomial."""
    table = {key: c[f"{name}_{key}"] for key in ("breaks", "start")}
    at = c[f"{name}_first"]
    for k in range(steps - 1, -1, -1):
        further = at + (1 << k)
        at = xp.where(xp.take(table["breaks"], further) < x, further, at)
    u = x - xp.take(table["start"], at)
    result = xp.take(c[f"{name}_power{degree}"], at)
    for p in range(degree - 1, -1, -1):
        result = result * u + xp.take(c[f"{name}_power{p}"], at)
    return result if degree else result + 0.0 * u  # the batch's shape, also without pieces


def sigmoid(xp: Namespace, logit: Array) -> Array:
    """Return 1 / (1 + exp(-logit))."""
    odds = xp.exp(-xp.absolute(logit))
    return xp.where(logit > 0.0, 1.0, odds) / (1.0 + odds)


def _tables(every: Sequence[Pieces]) -> tuple[int, int, dict[str, AnyArray]]:
    """Return the number of halvings, the degree, and the pieces of all maps as flat tables.

    Each map has a stretch of 2^steps entries. Entry 0 is the piece below all breaks; entry i
    begins at break i − 1. What is left over lies beyond an infinite break.
    """
    most = max(pieces.breaks.size for pieces in every)
    steps = math.ceil(math.log2(most + 1))
    width = 1 << steps
    degree = max(pieces.powers.shape[0] for pieces in every) - 1
    breaks = np.full((len(every), width), np.inf)
    start = np.zeros((len(every), width))
    powers = np.zeros((degree + 1, len(every), width))
    for j, pieces in enumerate(every):
        m = pieces.breaks.size
        breaks[j, 1 : m + 1] = pieces.breaks
        start[j, : m + 1] = pieces.start
        powers[: pieces.powers.shape[0], j, : m + 1] = pieces.powers
    tables: dict[str, AnyArray] = {
        "first": np.arange(len(every), dtype=np.int64) * width,
        "breaks": breaks.ravel(),
        "start": start.ravel(),
    }
    flat: list[FloatArray] = [power.ravel() for power in powers]
    return steps, degree, tables | {f"power{p}": table for p, table in enumerate(flat)}


class ScoreProgram:
    """A map of a view's score: (n, K) or (n,) in, (n,) out; several maps, as many columns."""

    def __init__(self, forms: Sequence[Form], view: str, kind: Kind) -> None:
        self.bank = Bank(forms, "map")
        self.maps = len(forms)
        self.view, self.kind = view, kind
        self.constants = self.bank.constants
        self.one_column = view == "score"
        self.full = False

    def __call__(self, xp: Namespace, c: Constants, x: Array) -> Array:
        """Return the calibrated scores, (n, maps), of a batch (n, K) or (n, 1)."""
        high, tail = view_tails(xp, x, self.view, self.kind)
        if self.maps > 1:
            high, tail = (xp.join([side] * self.maps) for side in (high, tail))
        return self.bank.from_tails(xp, c, high, tail)
