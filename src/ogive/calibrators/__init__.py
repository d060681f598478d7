"""Calibrators: each turns a curve into a map, one file per method.

`scaling/` and `multiclass/` read whole predictions instead.

`METHODS` is the one table of names: estimators, commands, report and export read it. `MULTICLASS`
lists the ways in which a method that reads a curve is put together to full vectors.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ogive._lazy import files_of
from ogive.errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive.calibrators.maps import Fitted

if not TYPE_CHECKING:
    __getattr__ = files_of(__name__)


@dataclass(frozen=True, slots=True)
class Method:
    """A calibration method: where its function and its map live, loaded when used.

    ``reads`` is what the function is given: a curve, or whole predictions. A ``slow`` method is
    left out of comparisons unless it is asked for.
    """

    name: str
    module: str
    function: str
    map_name: str
    reads: Literal["curve", "predictions"] = "curve"
    slow: bool = False

    @property
    def fit(self) -> Callable[..., Fitted]:
        """The function that fits it."""
        fit: Callable[..., Fitted] = getattr(importlib.import_module(self.module), self.function)
        return fit

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
        Method("ranks", f"{_MULTICLASS}.ranks", "fit_ranks", "RanksMap", "predictions"),
        Method("ovr", f"{_MULTICLASS}.ovr", "fit_ovr", "OvrMap", "predictions"),
        Method(
            "every-rank",
            f"{_MULTICLASS}.every_rank",
            "fit_every_rank",
            "EveryRankMap",
            "predictions",
        ),
    )
}


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


def find_method(name: str) -> Method:
    """Return the method of that name.

    >>> find_method("paper-spline").function
    'fit_paper_spline'
    """
    if name not in METHODS:
        key = str(name).lower().replace("_", "-").replace(" ", "-")
        nearest = key if key in METHODS else _SYNONYMS.get(key)
        raise UnknownName.among("method", name, METHODS, nearest=nearest)
    return METHODS[name]
