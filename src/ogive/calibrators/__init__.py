"""Calibrators: each turns a curve into a map, one file per method.

`scaling/` and `multiclass/` read whole predictions instead.

`METHODS` is the one table of names: estimators, commands, report and export read it. `MULTICLASS`
lists the ways in which a method that reads a curve is put together to full vectors.

Options are part of a name: words after the method, separated by colons, are options if they have
"=", else the way, as in ``"spline:free"``, ``"paper-spline:knots=14:runout=parabolic"``,
``"paper-spline:every-rank:rescale=no"``. `read_method` reads all of it, for everyone.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ogive._lazy import files_of
from ogive.errors import InvalidInput, UnknownName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ogive.calibrators.maps import Fitted

if not TYPE_CHECKING:
    __getattr__ = files_of(__name__)


class Option(NamedTuple):
    """What an option in a method's name may be: words, or a whole number from `least` on.

    several : words may be joined by "+"
    """

    words: tuple[str, ...] = ()
    least: int = 1
    several: bool = False

    def __str__(self) -> str:
        if not self.words:
            return f"N (from {self.least})"
        return "|".join(self.words + ("+".join(self.words),) * self.several)

    def read(self, name: str, value: str) -> int | bool | str | list[str]:
        """Return the value that the fit is given."""
        if not self.words:
            if not (value.isascii() and value.isdigit() and int(value) >= self.least):
                msg = f"{name}={value} of a method: {name} must be a whole number >= {self.least}."
                raise UnknownName(msg)
            return int(value)
        asked = value.split("+") if self.several else [value]
        for word in asked:
            if word not in self.words:
                of = f"{name} of a method"
                raise UnknownName.among(of, word, self.words)
        return asked if self.several else value == "yes" if self.words == _YES_NO else value


_YES_NO = ("yes", "no")
_RESCALE = {"rescale": Option(_YES_NO)}


@dataclass(frozen=True, slots=True)
class Method:
    """A calibration method: where its function and its map live, loaded when used.

    ``reads`` is what the function is given: a curve, or whole predictions. A ``slow`` method is
    left out of comparisons unless it is asked for. ``options`` may follow its name; ``asked`` are
    those that did, which `fit` is given, and ``way`` the way, for methods that read a curve.
    """

    name: str
    module: str
    function: str
    map_name: str
    reads: Literal["curve", "predictions"] = "curve"
    slow: bool = False
    options: Mapping[str, Option] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=dict)
    way: Method | None = None

    @property
    def fit(self) -> Callable[..., Fitted]:
        """The function that fits it, with the options that were asked for."""
        fit: Callable[..., Fitted] = getattr(importlib.import_module(self.module), self.function)
        return partial(fit, **self.asked) if self.asked else fit

    @property
    def score_only(self) -> bool:
        """Whether it is to read the score of a view alone."""
        return self.way is not None and self.way.name == SCORE_ONLY

    @property
    def map(self) -> type[Fitted]:
        """The class of what it fits."""
        cls: type[Fitted] = getattr(importlib.import_module(self.module), self.map_name)
        return cls


_SCALING, _MULTICLASS = "ogive.calibrators.scaling", "ogive.calibrators.multiclass"

METHODS = {
    method.name: method
    for method in (
        Method("spline", "ogive.calibrators.spline", "fit_spline", "SplineMap"),
        Method(
            "paper-spline",
            "ogive.calibrators.paper_spline",
            "fit_paper_spline",
            "PaperSplineMap",
            options={
                "knots": Option(least=3),
                "runout": Option(("natural", "parabolic", "cubic")),
                "target": Option(("residual", "cumulative")),
                "constraint": Option(("unit", "monotone"), several=True),
            },
        ),
        Method(
            "temperature",
            f"{_SCALING}.temperature",
            "fit_temperature",
            "TemperatureMap",
            "predictions",
        ),
        Method("vector", f"{_SCALING}.vector", "fit_vector", "VectorMap", "predictions"),
        Method("ms-odir", f"{_SCALING}.odir", "fit_ms_odir", "MsOdirMap", "predictions", slow=True),
        Method(
            "dir-odir", f"{_SCALING}.odir", "fit_dir_odir", "DirOdirMap", "predictions", slow=True
        ),
        Method("platt", "ogive.calibrators.platt", "fit_platt", "PlattMap"),
        Method("isotonic", "ogive.calibrators.isotonic", "fit_isotonic", "IsotonicMap"),
        Method("beta", "ogive.calibrators.beta", "fit_beta", "BetaMap"),
        Method("histogram", "ogive.calibrators.histogram", "fit_histogram", "HistogramMap"),
        Method("venn-abers", "ogive.calibrators.venn_abers", "fit_venn_abers", "VennAbersMap"),
        Method("none", "ogive.calibrators.identity", "fit_identity", "IdentityMap"),
    )
}

# How a curve method becomes full vectors: `multiclass=` of the estimators, and names in artifacts.
MULTICLASS = {
    method.name: method
    for method in (
        Method("keep", f"{_MULTICLASS}.free", "fit_kept", "KeptMap", "predictions"),
        Method("free", f"{_MULTICLASS}.free", "fit_free", "FreeMap", "predictions"),
        Method(
            "ranks",
            f"{_MULTICLASS}.ranks",
            "fit_ranks",
            "RanksMap",
            "predictions",
            options={"ranks": Option(), **_RESCALE},
        ),
        Method("ovr", f"{_MULTICLASS}.ovr", "fit_ovr", "OvrMap", "predictions", options=_RESCALE),
        Method(
            "every-rank",
            f"{_MULTICLASS}.every_rank",
            "fit_every_rank",
            "EveryRankMap",
            "predictions",
            options=_RESCALE,
        ),
    )
}

#: What follows a method's name where it reads the score of a view alone: "spline:score-only".
SCORE_ONLY = "score-only"
_WAYS = {**MULTICLASS, SCORE_ONLY: Method(SCORE_ONLY, "", "", "")}


# Maps that are given the group of each row beside its score; `fit_groups` is given several curves.
GROUPED = {"groups": Method("groups", "ogive.calibrators.groups", "fit_groups", "GroupedMap")}

# The spline of a view of a matrix, by class structure: a name in artifacts. It is given whole rows.
CLASS_VIEWS = {
    "class-view": Method(
        "class-view", f"{_MULTICLASS}.class_view", "fit_view", "ClassViewMap", "predictions"
    )
}

# What a calibrator becomes at another base rate (`Fitted.with_base_rate`): names in artifacts.
_SHIFTED = "ogive.calibrators.shifted"
SHIFTED = {
    method.name: method
    for method in (
        Method("shifted", _SHIFTED, "shifted", "ShiftedMap"),
        Method("shifted-vector", _SHIFTED, "shifted", "ShiftedVectorMap", "predictions"),
    )
}

# What other libraries and papers call them.
_SYNONYMS = {
    "sigmoid": "platt",
    "logistic": "platt",
    "logistic-regression": "platt",
    "platt-scaling": "platt",
    "plattscaling": "platt",
    "ts": "temperature",
    "temp": "temperature",
    "temperature-scaling": "temperature",
    "temperaturescaling": "temperature",
    "vs": "vector",
    "vector-scaling": "vector",
    "vectorscaling": "vector",
    "ms": "ms-odir",
    "matrix": "ms-odir",
    "matrix-scaling": "ms-odir",
    "matrixscaling": "ms-odir",
    "dirichlet": "dir-odir",
    "dirichlet-calibration": "dir-odir",
    "iso": "isotonic",
    "pav": "isotonic",
    "pava": "isotonic",
    "isotonic-regression": "isotonic",
    "betacal": "beta",
    "beta-calibration": "beta",
    "binning": "histogram",
    "hb": "histogram",
    "histogram-binning": "histogram",
    "venn": "venn-abers",
    "ivap": "venn-abers",
    "vennabers": "venn-abers",
    "venn-aber": "venn-abers",
    "identity": "none",
    "raw": "none",
    "uncalibrated": "none",
    "splines": "spline",
    "spline-calibration": "spline",
}


def read_method(text: str) -> Method:
    """Return the method of a name, with the options and the way that follow it.

    >>> read_method("paper-spline:knots=14:constraint=unit+monotone").asked
    {'knots': 14, 'constraint': ['unit', 'monotone']}
    >>> read_method("paper-spline:every-rank:rescale=no").way.asked
    {'rescale': False}
    """
    name, *words = str(text).split(":")
    if name not in METHODS:
        key = name.lower().replace("_", "-").replace(" ", "-")
        nearest = key if key in METHODS else _SYNONYMS.get(key)
        raise UnknownName.among("method", name, METHODS, nearest=nearest)
    method, way = METHODS[name], None
    asked: dict[str, dict[str, Any]] = {"": {}, "way": {}}
    for word in words:
        if "=" not in word:
            if word not in _WAYS:
                raise UnknownName.among("multiclass", word, _WAYS)
            if way is not None or method.reads != "curve":
                why = f"{way.name!r} is one way" if way else f"{name} makes whole vectors by itself"
                msg = f"`method` {text!r}: {why}. Leave out ':{word}'."
                raise UnknownName(msg)
            way = _WAYS[word]
    for word in (word for word in words if "=" in word):
        option, _, value = word.partition("=")
        of_way = way is not None and option in way.options
        known = {**method.options, **(way.options if way else {})}
        if option not in known:
            of = f"option of {name}" + (f":{way.name}" if way else "")
            raise UnknownName.among(of, option, known or ["none"])
        given = asked["way" if of_way else ""]
        if option in given:
            msg = f"`method` {text!r} has {option!r} twice. Leave one out."
            raise UnknownName(msg)
        given[option] = known[option].read(option, value)
    way = way and replace(way, asked=asked["way"])
    return replace(method, asked=asked[""], way=way)


def find_method(text: str) -> Method:
    """Return the method of a name for one score; ways to full vectors are refused.

    >>> find_method("paper-spline").function
    'fit_paper_spline'
    """
    method = read_method(text)
    if method.way is not None and not method.score_only:
        msg = f"`method` {text!r} makes whole vectors: use it with view='vector'."
        raise InvalidInput(msg)
    return method


def vector_method(text: str) -> Method:
    """Return the method of a name for whole vectors, which have no one score to read alone."""
    method = read_method(text)
    if method.score_only:
        msg = (
            f"`method` {text!r} reads one score, and whole vectors have one for each class. Name "
            "the view, such as top-1 (--view top-1)."
        )
        raise InvalidInput(msg)
    return method


def words_of_options() -> str:
    """Say which options may follow which names, for help."""
    tables = {**METHODS, **MULTICLASS}
    return "; ".join(
        f"{name}: {', '.join(f'{key}={option}' for key, option in one.options.items())}"
        for name, one in tables.items()
        if one.options
    )
