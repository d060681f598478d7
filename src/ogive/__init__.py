"""How far a classifier's probabilities can be trusted, without bins; and how to calibrate them.

>>> import ogive
>>> curve = ogive.Curve.from_scores([0.9, 0.8, 0.6, 0.7], [1, 0, 1, 0])
>>> round(ogive.ks_error(curve), 3)
0.275
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ogive.calibrators.beta import fit_beta
    from ogive.calibrators.groups import fit_groups
    from ogive.calibrators.histogram import fit_histogram
    from ogive.calibrators.isotonic import fit_isotonic
    from ogive.calibrators.multiclass.class_view import fit_view
    from ogive.calibrators.multiclass.compose import fit_multiclass
    from ogive.calibrators.paper_spline import fit_paper_spline
    from ogive.calibrators.platt import fit_platt
    from ogive.calibrators.scaling.odir import fit_dir_odir, fit_ms_odir
    from ogive.calibrators.scaling.temperature import fit_temperature
    from ogive.calibrators.scaling.vector import fit_vector
    from ogive.calibrators.spline import fit_spline
    from ogive.calibrators.venn_abers import fit_venn_abers
    from ogive.curve import Curve
    from ogive.curve.stream import CurveStream
    from ogive.estimators import scorers
    from ogive.estimators.classifier import CalibratedClassifier
    from ogive.estimators.curves import (
        BetaCalibrator,
        HistogramCalibrator,
        IsotonicCalibrator,
        PaperSplineCalibrator,
        PlattCalibrator,
        SplineCalibrator,
        VennAbersCalibrator,
    )
    from ogive.estimators.scaling import (
        DirichletCalibrator,
        MatrixCalibrator,
        TemperatureCalibrator,
        VectorCalibrator,
    )
    from ogive.export.artifact import load, save
    from ogive.metrics.binned import ece, mce
    from ogive.metrics.bracket import brackets
    from ogive.metrics.classwise import classwise, classwise_ks
    from ogive.metrics.corp import decompose
    from ogive.metrics.decision_curves import cost_curve, net_benefit
    from ogive.metrics.decisions import best_threshold, expected_cost
    from ogive.metrics.kde import kde_ece
    from ogive.metrics.ks import ks_error, kuiper_error, largest_gap
    from ogive.metrics.line import calibration_intercept, calibration_slope, oe_ratio
    from ogive.metrics.omnibus import calibration_test
    from ogive.metrics.proper import brier, nll, spiegelhalter
    from ogive.metrics.resample import bootstrap
    from ogive.metrics.significance import ks_test, kuiper_test
    from ogive.metrics.smooth import smooth_ece
    from ogive.metrics.vector import brier_vector, nll_vector
    from ogive.plotting.display import CurveDisplay
    from ogive.readers import read
    from ogive.report.plain import report
    from ogive.rows.predictions import Predictions
    from ogive.rows.views import score_rows
    from ogive.studies.acting import decide
    from ogive.studies.arena.study import arena
    from ogive.studies.expected import expected_performance
    from ogive.studies.gain import cross_fitted_gain
    from ogive.studies.gate import gate
    from ogive.studies.groups import measure_groups
    from ogive.studies.plain import calibrate, compare, measure, measure_all
    from ogive.studies.refinement import refinement
    from ogive.studies.shifting import shift_like
    from ogive.studies.spline_errors import spline_errors
    from ogive.studies.watch import GroupWatch, Watch

# Public names and the modules they live in: loaded on first use, so that `import ogive` is light.
_MODULES = {
    "BetaCalibrator": "ogive.estimators.curves",
    "CalibratedClassifier": "ogive.estimators.classifier",
    "Curve": "ogive.curve",
    "CurveDisplay": "ogive.plotting.display",
    "CurveStream": "ogive.curve.stream",
    "DirichletCalibrator": "ogive.estimators.scaling",
    "GroupWatch": "ogive.studies.watch",
    "HistogramCalibrator": "ogive.estimators.curves",
    "IsotonicCalibrator": "ogive.estimators.curves",
    "MatrixCalibrator": "ogive.estimators.scaling",
    "PaperSplineCalibrator": "ogive.estimators.curves",
    "PlattCalibrator": "ogive.estimators.curves",
    "Predictions": "ogive.rows.predictions",
    "SplineCalibrator": "ogive.estimators.curves",
    "TemperatureCalibrator": "ogive.estimators.scaling",
    "VectorCalibrator": "ogive.estimators.scaling",
    "VennAbersCalibrator": "ogive.estimators.curves",
    "Watch": "ogive.studies.watch",
    "arena": "ogive.studies.arena",
    "best_threshold": "ogive.metrics.decisions",
    "bootstrap": "ogive.metrics.resample",
    "brackets": "ogive.metrics.bracket",
    "brier": "ogive.metrics.proper",
    "brier_vector": "ogive.metrics.vector",
    "calibration_intercept": "ogive.metrics.line",
    "calibration_slope": "ogive.metrics.line",
    "calibration_test": "ogive.metrics.omnibus",
    "classwise": "ogive.metrics.classwise",
    "classwise_ks": "ogive.metrics.classwise",
    "calibrate": "ogive.studies.plain",
    "compare": "ogive.studies.plain",
    "cost_curve": "ogive.metrics.decision_curves",
    "cross_fitted_gain": "ogive.studies.gain",
    "decide": "ogive.studies.acting",
    "decompose": "ogive.metrics.corp",
    "ece": "ogive.metrics.binned",
    "expected_cost": "ogive.metrics.decisions",
    "expected_performance": "ogive.studies.expected",
    "fit_beta": "ogive.calibrators.beta",
    "fit_dir_odir": "ogive.calibrators.scaling.odir",
    "fit_groups": "ogive.calibrators.groups",
    "fit_histogram": "ogive.calibrators.histogram",
    "fit_isotonic": "ogive.calibrators.isotonic",
    "fit_ms_odir": "ogive.calibrators.scaling.odir",
    "fit_multiclass": "ogive.calibrators.multiclass.compose",
    "fit_paper_spline": "ogive.calibrators.paper_spline",
    "fit_platt": "ogive.calibrators.platt",
    "fit_spline": "ogive.calibrators.spline",
    "fit_temperature": "ogive.calibrators.scaling.temperature",
    "fit_vector": "ogive.calibrators.scaling.vector",
    "fit_venn_abers": "ogive.calibrators.venn_abers",
    "fit_view": "ogive.calibrators.multiclass.class_view",
    "gate": "ogive.studies.gate",
    "kde_ece": "ogive.metrics.kde",
    "ks_error": "ogive.metrics.ks",
    "ks_test": "ogive.metrics.significance",
    "kuiper_error": "ogive.metrics.ks",
    "kuiper_test": "ogive.metrics.significance",
    "largest_gap": "ogive.metrics.ks",
    "load": "ogive.export.artifact",
    "mce": "ogive.metrics.binned",
    "measure": "ogive.studies.plain",
    "measure_all": "ogive.studies.plain",
    "measure_groups": "ogive.studies.groups",
    "net_benefit": "ogive.metrics.decision_curves",
    "nll": "ogive.metrics.proper",
    "nll_vector": "ogive.metrics.vector",
    "oe_ratio": "ogive.metrics.line",
    "read": "ogive.readers",
    "refinement": "ogive.studies.refinement",
    "report": "ogive.report",
    "save": "ogive.export.artifact",
    "score_rows": "ogive.rows.views",
    "scorers": "ogive.estimators.scorers",
    "shift_like": "ogive.studies.shifting",
    "smooth_ece": "ogive.metrics.smooth",
    "spiegelhalter": "ogive.metrics.proper",
    "spline_errors": "ogive.studies.spline_errors",
}

_PACKAGES = (
    "calibrators",
    "curve",
    "diagrams",
    "engines",
    "errors",
    "estimators",
    "export",
    "metrics",
    "plotting",
    "readers",
    "rows",
    "studies",
)

__all__ = [
    "BetaCalibrator",
    "CalibratedClassifier",
    "Curve",
    "CurveDisplay",
    "CurveStream",
    "DirichletCalibrator",
    "GroupWatch",
    "HistogramCalibrator",
    "IsotonicCalibrator",
    "MatrixCalibrator",
    "PaperSplineCalibrator",
    "PlattCalibrator",
    "Predictions",
    "SplineCalibrator",
    "TemperatureCalibrator",
    "VectorCalibrator",
    "VennAbersCalibrator",
    "Watch",
    "arena",
    "best_threshold",
    "bootstrap",
    "brackets",
    "brier",
    "brier_vector",
    "calibrate",
    "calibration_intercept",
    "calibration_slope",
    "calibration_test",
    "classwise",
    "classwise_ks",
    "compare",
    "cost_curve",
    "cross_fitted_gain",
    "decide",
    "decompose",
    "ece",
    "expected_cost",
    "expected_performance",
    "fit_beta",
    "fit_dir_odir",
    "fit_groups",
    "fit_histogram",
    "fit_isotonic",
    "fit_ms_odir",
    "fit_multiclass",
    "fit_paper_spline",
    "fit_platt",
    "fit_spline",
    "fit_temperature",
    "fit_vector",
    "fit_venn_abers",
    "fit_view",
    "gate",
    "kde_ece",
    "ks_error",
    "ks_test",
    "kuiper_error",
    "kuiper_test",
    "largest_gap",
    "load",
    "mce",
    "measure",
    "measure_all",
    "measure_groups",
    "net_benefit",
    "nll",
    "nll_vector",
    "oe_ratio",
    "read",
    "refinement",
    "report",
    "save",
    "score_rows",
    "scorers",
    "shift_like",
    "smooth_ece",
    "spiegelhalter",
    "spline_errors",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a public name can be anything
    if name in _PACKAGES:  # by its own name: ogive.engines.local.curve(...)
        return importlib.import_module(f"ogive.{name}")
    if name not in _MODULES:
        msg = f"module 'ogive' has no attribute {name!r}"
        raise AttributeError(msg)
    module = importlib.import_module(_MODULES[name])
    value = getattr(module, name, module)  # `report` is a package that can be called
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, *_PACKAGES, "__version__"]
