"""The calibrators that are made of a method that reads a curve."""

import ogive

CALIBRATORS = [
    ogive.PaperSplineCalibrator,
    ogive.PlattCalibrator,
    ogive.IsotonicCalibrator,
    ogive.BetaCalibrator,
    ogive.HistogramCalibrator,
    ogive.VennAbersCalibrator,
    ogive.SplineCalibrator,
]
