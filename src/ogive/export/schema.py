"""What an artifact may hold: one table of fields for each method, and what `load` checks with it.

A file may come from anyone, and its checksum has no key. So every field is checked by its rule
before a map is built (`ogive.export.artifact`). ``docs/artifact.schema.json`` is written from this
table: `python -m tests.export.freeze`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.export.rules import (
    MAX_CLASSES,
    Array,
    Choice,
    ClassNames,
    Flag,
    GroupName,
    Listing,
    Nullable,
    Number,
    Object,
    Relation,
    Text,
    ViewName,
    broken,
)
from ogive.rows.views import OfClass, Score, TopRank, WithinTop, parse_view

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ogive.calibrators.maps import Fitted
    from ogive.export.rules import Rule

FORMAT, VERSION = "ogive-calibrator", 2
MAX_KNOTS = 10_000  # of the paper's spline; users may ask for many, defaults have few
MAX_SPLINE_KNOTS = 1000  # of the default spline, whose matrices of knots are dense
MAX_FOLDS = 1000
MAX_GROUPS = 1_000_000
MAX_FILES = 10_000  # whose checksums are kept: 700 KB
#: Coefficients of logits, which are cut at 1e200 (`log_values.FARTHEST_VALUE`): sums over a million
#: classes stay finite.
LARGEST_OF_A_MATRIX = 1e100
#: Coefficients of the class structure, whose features have no unit; float32 holds their sums.
LARGEST_OF_CLASSES = 1e12

_NUMBER = Number()
_SHARE = Number(low=0.0, high=1.0)
_POSITIVE = Number(above=0.0)
_NOT_NEGATIVE = Number(low=0.0)
_FLOOR = Number(high=0.0)  # the logarithm of a probability
_MASS = Number(low=1e-300, high=1.0)  # half the smallest mass that a fit reads, exp(-690)
_LOG_ODDS = Number(low=-1000.0, high=1000.0)  # those of the smallest float64 are −745
_SLOPE = Number(low=0.0, high=1e12, optional=True)  # of log-odds that differ by 1e-9 or more
_AT_ONE = Number(low=0.0, high=1.0, null=True)
_TAILS = Number(low=0.0, high=0.5)
_COUNT = Number(low=0, high=1e15, whole=True)


def _rising(tails: str, high: str) -> Relation:
    """Nodes or edges rise in score: tails of the low side rise, those of the high side fall."""

    def holds(m: Mapping[str, Any]) -> bool:
        tail, above = np.array(m[tails], dtype=np.float64), m[high]
        if above > tail.size:
            return False
        low, top = np.split(tail, [tail.size - above])
        return bool((np.diff(low) >= 0).all() and (np.diff(top) <= 0).all())

    return Relation(
        f"`{tails}` rises up to ½ and then falls, and its last `{high}` are above ½", holds
    )


def _fits_classes(m: Mapping[str, Any]) -> bool:
    view = None if m["view"] == "vector" else parse_view(m["view"])
    match view:
        case OfClass(index):
            return index < int(m["K"])
        case TopRank(rank):
            return rank <= int(m["K"])
        case WithinTop(rank):
            return rank < int(m["K"])
        case Score():
            return int(m["K"]) == 2  # noqa: PLR2004
    return True


_ENDS = Relation("`lowest` is at most `highest`", lambda m: m["lowest"] <= m["highest"])
_VIEW_OF_K = Relation("`view` is a view of `K` classes", _fits_classes)


def _score_map(words: str, fields: Mapping[str, Rule], *relations: Relation) -> Object:
    return Object({"view": ViewName(), "n": _POSITIVE, **fields}, relations, words)


def _vector_map(words: str, fields: Mapping[str, Rule], *relations: Relation) -> Object:
    classes = Number(low=2, high=MAX_CLASSES, whole=True)
    view = ViewName(vector=True)
    zero = Choice(("zero", None), optional=True)
    every: dict[str, Rule] = {"view": view, "n": _POSITIVE, "K": classes, "impossible": zero}
    every |= fields
    return Object(every, (_VIEW_OF_K, *relations), words)


_IN_LOG_ODDS: dict[str, Rule] = {"lowest": _LOG_ODDS, "highest": _LOG_ODDS, "at_one": _SHARE}
_NODES: dict[str, Rule] = {
    "high": _COUNT,
    "tail": Array(item=_TAILS),
    "value": Array(),
    "at_one": _AT_ONE,
    "thinning_error": _NOT_NEGATIVE,
}
_PAPERS = Object(
    {
        "knots": Array(item=_SHARE, least=3, most=MAX_KNOTS, rising=True),
        "values": Array(least=3, most=MAX_KNOTS),
        "runout": Choice(("natural", "parabolic", "cubic")),
    }
)


#: The maps of one score.
SCORE_MAPS: dict[str, Object] = {
    "spline": _score_map(
        "A natural cubic spline of the calibrated log-odds in the log-odds.",
        {
            **_IN_LOG_ODDS,
            **dict.fromkeys(("edf", "bend", "moved"), _NOT_NEGATIVE),
            **dict.fromkeys(("keep", "linear"), _SHARE),
            "monotone": Flag(),
            **dict.fromkeys(("first", "last", "one"), _LOG_ODDS),
            "shift": _NUMBER,
            "gain": Number(optional=True),
            "gain_error": Number(low=0.0, optional=True),
            "log_loss": Number(low=0.0, optional=True),
            **dict.fromkeys(("expected_gain", "expected_total"), Number(optional=True)),
            **dict.fromkeys(("below", "above", "rise"), _SLOPE),
            "tau": Number(low=1e-6, high=1e6, optional=True),
            "knots": Array(item=_LOG_ODDS, least=3, most=MAX_SPLINE_KNOTS, rising=True),
            "values": Array(item=Number(low=-1e9, high=1e9), least=3, most=MAX_SPLINE_KNOTS),
            "covariance": Array(shape=("triangle",)),
            "cut": Array(
                shape=("two", "two", "m"), item=_NOT_NEGATIVE, least=2, most=2, optional=True
            ),
            "bias": Array(item=_NOT_NEGATIVE, least=3, most=MAX_SPLINE_KNOTS, optional=True),
        },
        _ENDS,
        Relation(  # fits have 0.01; bends, values over the square of a distance, stay finite
            "`knots` are at least 1e-6 apart",
            lambda m: bool((np.diff(m["knots"]) > 1e-6).all()),  # noqa: PLR2004
        ),
        Relation("`first` is at most `last`", lambda m: m["first"] <= m["last"]),
        Relation(
            "`below`, `above` and `rise` come together",
            lambda m: len({m.get(name) is None for name in ("below", "above", "rise")}) == 1,
        ),
        Relation(
            "`covariance` is the lower triangle of a square of as many as `knots`",
            lambda m: 2 * len(m["covariance"]) == len(m["knots"]) * (len(m["knots"]) + 1),
        ),
    ),
    "paper-spline": _score_map(
        "Straight lines between nodes, read off the paper's spline.",
        {
            **_NODES,
            "spline": _PAPERS,
            "target": Choice(("residual", "cumulative")),
            "constraint": Listing(item=Choice(("unit", "monotone")), most=2),
        },
        _rising("tail", "high"),
    ),
    "platt": _score_map(
        "sigmoid(intercept + slope · log-odds).",
        {**_IN_LOG_ODDS, "intercept": _NUMBER, "slope": _NUMBER},
        _ENDS,
    ),
    "isotonic": _score_map("Straight lines between nodes.", _NODES, _rising("tail", "high")),
    "beta": _score_map(
        "sigmoid(c + a log p - b log(1 - p)).",
        {**_IN_LOG_ODDS, "a": _NOT_NEGATIVE, "b": _NOT_NEGATIVE, "c": _NUMBER},
        _ENDS,
    ),
    "histogram": _score_map(
        "Steps.",
        {
            "edge_high": _COUNT,
            "edge_tail": Array(shape=("edges",), item=_TAILS, least=0),
            "value": Array(item=_SHARE),
            "at_one": _AT_ONE,
            "spacing": Choice(("mass", "width")),
        },
        _rising("edge_tail", "edge_high"),
        Relation(
            "`value` has one number more than `edge_tail`",
            lambda m: len(m["value"]) == len(m["edge_tail"]) + 1,
        ),
    ),
    "venn-abers": _score_map(
        "Two step functions, `low` and `high`; the map is high / (1 - low + high).",
        {
            "edge_high": _COUNT,
            "edge_tail": Array(shape=("edges",), item=_TAILS, least=0),
            **dict.fromkeys(("low", "high"), Array(shape=("steps",), item=_SHARE)),
            **dict.fromkeys(("low_at_one", "high_at_one"), _AT_ONE),
        },
        _rising("edge_tail", "edge_high"),
        Relation(
            "`low` and `high` have one number more than `edge_tail`",
            lambda m: len(m["low"]) == len(m["high"]) == len(m["edge_tail"]) + 1,
        ),
        Relation(
            "`low` is at most `high`",
            lambda m: bool((np.array(m["low"]) <= np.array(m["high"])).all()),
        ),
        Relation(
            "`low_at_one` is at most `high_at_one`, or both are null",
            lambda m: (
                m["low_at_one"] == m["high_at_one"]
                if None in {m["low_at_one"], m["high_at_one"]}
                else m["low_at_one"] <= m["high_at_one"]
            ),
        ),
    ),
    "none": _score_map("The score itself.", {}),
}


@dataclass(frozen=True, slots=True)
class _Inner:
    """A map of one score, or of `whole` vectors, inside another: its method and its fields."""

    whole: bool = False
    optional: bool = False

    def check(self, value: Any, where: str) -> None:  # noqa: ANN401
        if not isinstance(value, dict) or set(value) != {"method", "map"}:
            raise broken(where, "an object of `method` and `map`", value)
        known = VECTOR_MAPS if self.whole else SCORE_MAPS
        Choice(tuple(known)).check(value["method"], f"{where}.method")
        known[value["method"]].check(value["map"], f"{where}.map")

    def schema(self) -> dict[str, Any]:
        return {"$ref": f"#/$defs/inner{'-vector' if self.whole else ''}"}


def _of_a_matrix(*shape: str) -> Array:
    item = Number(low=-LARGEST_OF_A_MATRIX, high=LARGEST_OF_A_MATRIX)
    return Array(shape=shape, item=item, most=MAX_FOLDS if shape[0] == "folds" else None)


def _of_classes(*shape: str, null: bool = False) -> Array:
    item = Number(low=-LARGEST_OF_CLASSES, high=LARGEST_OF_CLASSES)
    return Array(shape=shape, item=item, null=null)


def _structure_fits(s: Mapping[str, Any]) -> bool:
    """Where V is null it stands for the unit matrix, and M is square."""
    square = len(s["to_logs"][0]) == len(s["to_probs"][0]) == len(s["logs"])
    return square if s["of_logs"] is None else s["of_probs"] is not None


_PRIORS = Array(shape=("priors",), item=_NOT_NEGATIVE, most=20)
_STRUCTURE = Object(
    {
        "factor": _POSITIVE,
        "floor": _FLOOR,
        **dict.fromkeys(("logs", "probs", "offset"), _of_classes("classes")),
        "to_logs": _of_classes("classes", "rank of logs"),
        "to_probs": _of_classes("classes", "rank of probs"),
        "of_logs": _of_classes("classes", "rank of logs", null=True),
        "of_probs": _of_classes("classes", "rank of probs", null=True),
        **dict.fromkeys(("precision", "edf"), _PRIORS),
    },
    (
        Relation(
            "`of_logs` and `of_probs` are both null, and `to_logs` and `to_probs` square, or "
            "neither is null",
            lambda s: (s["of_probs"] is None) == (s["of_logs"] is None) and _structure_fits(s),
        ),
    ),
    "The class structure.",
)
_CLASSES: dict[str, Rule] = {"structure": _STRUCTURE, "top": _Inner()}
_STRUCTURE_OF_K = Relation(
    "`structure` is of `K` classes", lambda m: len(m["structure"]["logs"]) == m["K"]
)
_COLUMNS: dict[str, Rule] = {
    "floor": _MASS,
    "maps": Listing(item=_Inner(), least=1, most=MAX_CLASSES),
    "factor": Number(above=0.0, optional=True),
}
_ODIR = _vector_map(
    "The mean of fold models softmax(W x + b).",
    {
        "matrix": _of_a_matrix("folds", "K", "K"),
        "offset": Array(shape=("folds", "K"), most=MAX_FOLDS),
        "strength": _NOT_NEGATIVE,
        "offset_strength": _NOT_NEGATIVE,
        "cv_loss": _NOT_NEGATIVE,
        "floor": _FLOOR,
        "centred": Flag(optional=True),
    },
)

#: The maps of whole vectors.
VECTOR_MAPS: dict[str, Object] = {
    "temperature": _vector_map(
        "softmax(factor · logits).", {"factor": _POSITIVE, "floor": Number(high=0.0, null=True)}
    ),
    "vector": _vector_map(
        "softmax(factor · logits + offset).",
        {
            "factor": _of_a_matrix("K"),
            "offset": Array(shape=("K",)),
            "floor": _FLOOR,
            "centred": Flag(optional=True),
        },
    ),
    "ms-odir": _ODIR,
    "dir-odir": _ODIR,
    "keep": _vector_map(
        "Full vectors by class structure, which keep the decision.",
        {**_CLASSES, "held": _SHARE, "lost": Number(low=-1.0, high=1.0)},
        _STRUCTURE_OF_K,
    ),
    "free": _vector_map(
        "Full vectors by class structure; the decision may change.",
        {**_CLASSES, "changed": _SHARE},
        _STRUCTURE_OF_K,
    ),
    "ranks": _vector_map(
        "Full vectors by ranks, which keep the decision.",
        {
            **_COLUMNS,
            "power": Number(low=1e-6, high=1e6),
            "held": _SHARE,
        },
        Relation("`maps` are fewer than `K`", lambda m: len(m["maps"]) < m["K"]),
    ),
    "ovr": _vector_map(
        "One map for each class; for two classes, one for class 1.",
        _COLUMNS,
        Relation(
            "there are as many `maps` as `K`, or one for two classes",
            lambda m: len(m["maps"]) == (m["K"] if m["K"] > 2 else 1),  # noqa: PLR2004
        ),
    ),
    "every-rank": _vector_map(
        "One map for each rank.",
        _COLUMNS,
        Relation("there are as many `maps` as `K`", lambda m: len(m["maps"]) == m["K"]),
    ),
}
_AXIS = Object(
    {
        **dict.fromkeys(("centre", "first", "last"), _LOG_ODDS),
        **dict.fromkeys(("unit", "bend_unit"), Number(above=1e-9, high=1e9)),
        **dict.fromkeys(("bend_mean", "bend_slope"), Number(low=-1e9, high=1e9)),
    },
    (Relation("`first` is at most `last`", lambda a: a["first"] <= a["last"]),),
    "The coordinates of the groups' effects.",
)
_EFFECTS = Array(shape=("groups", "effects"), item=Number(low=-1e6, high=1e6), most=MAX_GROUPS)
_SPREADS = Array(shape=("groups", "effects"), item=_NOT_NEGATIVE, most=MAX_GROUPS)

#: The maps that are given a group beside the score.
GROUP_MAPS: dict[str, Object] = {
    "groups": _score_map(
        "The default spline of all rows, and a shift, a slope and a bend for each group.",
        {
            "by": Text(null=True),
            "overall": SCORE_MAPS["spline"],
            "groups": Listing(item=GroupName(), least=1, most=MAX_GROUPS),
            "rows": Array(shape=("groups",), item=_NOT_NEGATIVE, most=MAX_GROUPS),
            "effect": _EFFECTS,
            "error": _SPREADS,
            "size": Array(shape=("effects",), item=_NOT_NEGATIVE, least=3, most=3),
            "none": Array(shape=("effects",), item=_SHARE, least=3, most=3),
            "axis": _AXIS,
        },
        Relation("`groups` are all different", lambda m: len(set(m["groups"])) == len(m["groups"])),
        Relation("`groups` are as many as `rows`", lambda m: len(m["groups"]) == len(m["rows"])),
        Relation("`overall` has the same `view`", lambda m: m["overall"]["view"] == m["view"]),
    )
}

#: The maps of one view that are given whole rows.
CLASS_VIEW_MAPS: dict[str, Object] = {
    "class-view": _score_map(
        "The event of a rank by class structure, and a map of its log-odds.",
        {
            "K": Number(low=3, high=MAX_CLASSES, whole=True),
            "structure": _STRUCTURE,
            "event": _Inner(),
        },
        _VIEW_OF_K,
        _STRUCTURE_OF_K,
        Relation(
            "`view` is a rank: top-r or within-top-r",
            lambda m: isinstance(parse_view(m["view"]), TopRank | WithinTop),
        ),
    )
}

_SPAN = 16.2  # `shifted.MOST_LOG_ODDS`, the logarithm of 1e7, and rounding
_RATE = Number(above=0.0, high=1.0, null=True)
_RATES = ("trained_at", "base_rate")
_ROUNDING = 1e-6  # of a share
_SHIFT: dict[str, Rule] = {
    "how": Choice(("known", "kept negatives", "estimated")),
    "date": Text(null=True),
}


def _both_rates(m: Mapping[str, Any]) -> bool:
    return (m["trained_at"] is None) == (m["base_rate"] is None)


def _moved(m: Mapping[str, Any]) -> bool:
    """Whether the rates differ by the shift, but for rounding."""
    if m["trained_at"] is None:
        return True
    log_ratio = m["log_ratio"] if "log_ratio" in m else [0.0, m["log_odds"]]
    rates: Any = [m[name] for name in _RATES]
    before, after = (x if isinstance(x, list) else [1.0 - x, x] for x in rates)
    new = [p * math.exp(move) for p, move in zip(before, log_ratio, strict=True)]
    total = sum(new)
    return abs(sum(before) - 1.0) < _ROUNDING and all(
        abs(p / total - q) < _ROUNDING for p, q in zip(new, after, strict=True)
    )


#: Relations between the rates of a shift.
_OF_RATES = (
    Relation("`trained_at` and `base_rate` are both there or both null", _both_rates),
    Relation("the shift moves `trained_at` to `base_rate`", _moved),
)


def _same(m: Mapping[str, Any], *names: str) -> bool:
    return all(m["inner"]["map"].get(name) == m.get(name) for name in names)


#: Calibrators at another base rate.
SHIFTED_MAPS: dict[str, Object] = {
    "shifted": _score_map(
        "`inner`, with `log_odds` added to its log-odds.",
        {
            "inner": _Inner(),
            "log_odds": Number(low=-_SPAN, high=_SPAN),
            "log_odds_variance": Number(low=0.0, optional=True),
            "trained_at": _RATE,
            "base_rate": _RATE,
            **_SHIFT,
        },
        Relation("`inner` has the same `view` and `n`", lambda m: _same(m, "view", "n")),
        *_OF_RATES,
    ),
    "shifted-vector": _vector_map(
        "`inner`, with `log_ratio` added to the logarithms of its probabilities.",
        {
            "inner": _Inner(whole=True),
            "log_ratio": Array(shape=("K",), item=Number(low=-_SPAN, high=_SPAN)),
            "trained_at": Array(shape=("K",), item=Number(above=0.0, high=1.0), null=True),
            "base_rate": Array(shape=("K",), item=Number(above=0.0, high=1.0), null=True),
            **_SHIFT,
        },
        Relation(
            "`inner` has the same `view`, `n`, `K` and `impossible`",
            lambda m: _same(m, "view", "n", "K", "impossible"),
        ),
        *_OF_RATES,
    ),
}
MAPS = SCORE_MAPS | VECTOR_MAPS | GROUP_MAPS | CLASS_VIEW_MAPS | SHIFTED_MAPS


@dataclass(frozen=True, slots=True)
class Rates:
    """Null, the share of class 1, or that of every class."""

    optional: bool = False

    def check(self, value: Any, where: str) -> None:  # noqa: ANN401, D102
        if isinstance(value, list):
            Array(item=_SHARE, least=2, most=MAX_CLASSES).check(value, where)
        else:
            _AT_ONE.check(value, where)

    def schema(self) -> dict[str, Any]:  # noqa: D102
        several = Array(item=_SHARE, least=2, most=MAX_CLASSES)
        return {"anyOf": [_AT_ONE.schema(), several.schema()]}


_ROWS = Number(low=0.0, high=1e120)  # sums of weights, which are at most 1e100
_IN_BINS = Array(shape=("bins",), item=_ROWS, most=MAX_KNOTS)
_BINNED = Object(
    {
        "edges": Array(shape=("edges",), item=_LOG_ODDS, least=0, most=MAX_KNOTS, rising=True),
        **dict.fromkeys(("class_0", "class_1", "variance"), _IN_BINS),
    },
    (
        Relation(
            "there is one bin more than `edges`", lambda s: len(s["class_0"]) == len(s["edges"]) + 1
        ),
        Relation("each class has rows", lambda s: sum(s["class_0"]) > 0 < sum(s["class_1"])),
    ),
    "The calibrated scores of both classes, counted in bins of their log-odds.",
)
_KS = Number(low=0.0, high=1.0, null=True, optional=True)
_LOSS = Number(low=0.0, null=True, optional=True)
FITTED_ON = Object(
    {
        "n": Number(above=0.0, optional=True),
        "view": ViewName(vector=True, optional=True),
        "method": Text(optional=True),
        "kind": Choice(("logits", "probs", None), optional=True),
        "classes": ClassNames(optional=True),
        "K": Number(low=2, high=MAX_CLASSES, whole=True, null=True, optional=True),
        "base_rate": Rates(optional=True),
        "scores": Nullable(_BINNED, optional=True),
        "ks_before": _KS,
        "ks_after": _KS,
        **dict.fromkeys(("log_loss_before", "log_loss_after"), _LOSS),
        "folds": Number(low=2, high=1e6, whole=True, null=True, optional=True),
        "rows": Text(null=True, optional=True),
        "files": Nullable(Listing(item=Text(), most=MAX_FILES), optional=True),
        "part": Text(null=True, optional=True),
        "date": Text(null=True, optional=True),
        "tag": Text(null=True, optional=True),
    },
    words="What it was fitted on. Other fields are ignored.",
    open_=True,
    optional=True,
)


def description(calibrator: Fitted) -> str:
    """Return a description of a calibrator that holds fixed words, a checked view and a number."""
    ViewName(vector=True).check(calibrator.view, "view")
    of, n = calibrator.view, float(calibrator.n)
    return f"{calibrator.method} calibrator of {of}, fitted on {n:g} rows"


def name_of_map(method: Any, values: Any) -> str:  # noqa: ANN401 - JSON can be anything
    """Return a map's name in the table: early artifacts call "keep" what is now "ranks"."""
    Choice(tuple(MAPS)).check(method, "method")
    old = method == "keep" and isinstance(values, dict) and "maps" in values
    return "ranks" if old else str(method)
