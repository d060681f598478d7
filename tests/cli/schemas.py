"""JSON schemas of what each command prints with --json: the contract, as data."""

FRACTION = {"type": "number", "minimum": 0, "maximum": 1}
NUMBER = {"type": "number"}
#: Null where the rows fitted the calibrator.
WITHHELD = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
MAYBE = {"type": ["number", "null"]}
COUNT = {"type": "number", "exclusiveMinimum": 0}

MEASURE = {
    "type": "object",
    "properties": {
        "view": {"type": "string"},
        "n": COUNT,
        "accuracy": FRACTION,
        "mean_score": FRACTION,
        "ks": FRACTION,
        "ks_low": WITHHELD,
        "ks_high": WITHHELD,
        "ks_pvalue": WITHHELD,
        "ks_expected": FRACTION,
        "kuiper": FRACTION,
        "kuiper_pvalue": WITHHELD,
        "ece": FRACTION,
        "mce": FRACTION,
        "kde_ece": {"type": ["number", "null"], "minimum": 0},
        "smooth_ece": FRACTION,
        "brier": FRACTION,
        "nll": {"type": "number", "minimum": 0},
        "brier_vector": {"type": "number", "minimum": 0, "maximum": 2},
        "nll_vector": {"type": "number", "minimum": 0},
        "verdict": {"type": "string", "minLength": 10},
        "calibrated_by": {"type": "string"},
        "fitted_rows": {"type": "boolean"},
    },
    "required": [
        "view", "n", "accuracy", "mean_score", "ks", "ks_low", "ks_high", "ks_pvalue",
        "ks_expected", "kuiper", "kuiper_pvalue", "ece", "mce", "kde_ece", "smooth_ece",
        "brier", "nll",
    ],
}  # fmt: skip

BELT = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "from": FRACTION,
            "to": FRACTION,
            "direction": {"enum": ["too high", "too low"]},
        },
        "required": ["from", "to", "direction"],
    },
}
_MORE = ("oe_ratio", "intercept", "slope", "ici", "e50", "e90", "emax", "refinement")
MEASURE_MORE = MEASURE | {
    "properties": MEASURE["properties"]
    | {f"{key}{end}": MAYBE for key in _MORE for end in ("", "_low", "_high")}
    | {"belt": BELT},
    "required": [
        "belt",
        *MEASURE["required"],
        *(f"{key}{end}" for key in _MORE for end in ("", "_low", "_high")),
    ],
}

BRACKET = {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}
MEASURE_LOG = MEASURE | {
    "properties": MEASURE["properties"]
    | {
        "ks_bracket": BRACKET,
        "brackets": {
            "type": "object",
            "additionalProperties": BRACKET,
            "required": ["ks", "kuiper", "ece", "brier", "nll"],
        },
        "approximate": {"type": "array", "items": {"type": "string"}},
        "skipped": {"type": "integer", "minimum": 0},
    },
    "required": [*MEASURE["required"], "ks_bracket", "brackets", "approximate", "skipped"],
}

EXPECT = {
    "type": "object",
    "properties": {
        "n": COUNT,
        "view": {"type": "string"},
        "threshold": MAYBE,
        **{f"{key}{end}": WITHHELD for key in ("accuracy", "precision", "auc")
           for end in ("", "_low", "_high")},
        "no_intervals": {"type": "string"},
    },
    "required": ["n", "view", "threshold", "accuracy", "accuracy_low", "accuracy_high",
                 "precision", "precision_low", "precision_high", "auc", "auc_low", "auc_high"],
    "additionalProperties": False,
}  # fmt: skip

MEASURE_BY = {
    "type": "object",
    "properties": {
        "by": {"type": "string"},
        "view": {"type": "string"},
        "skipped": {"type": "integer", "minimum": 0},
        "groups": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "group": {"type": "string"},
                    "n": COUNT,
                    "ks": FRACTION,
                    "pvalue": FRACTION,
                    "pvalue_adjusted": FRACTION,
                    "detectable": FRACTION,
                    "ks_sigmas": MAYBE,
                    "kuiper_sigmas": MAYBE,
                    "where": {"type": "object", "additionalProperties": {"type": "string"}},
                },
                "required": [
                    "group",
                    "where",
                    "n",
                    "base_rate",
                    "ks",
                    "kuiper",
                    "ks_low",
                    "ks_high",
                    "ks_sigmas",
                    "kuiper_sigmas",
                    "detectable",
                    "pvalue",
                    "pvalue_adjusted",
                ],
            },
        },
        "depth": {"type": "integer", "minimum": 1},
        "overall": {"type": "object", "required": ["n", "ks", "pvalue"]},
        "multicalibration": {
            "type": "object",
            "properties": {
                name: {
                    "type": "object",
                    "properties": {"group": {"type": "string"}, "value": FRACTION, "sigmas": MAYBE},
                    "required": ["group", "value", "sigmas"],
                }
                for name in ("ks", "kuiper")
            },
            "required": ["ks", "kuiper", "pvalue"],
        },
    },
    "required": ["by", "view", "depth", "overall", "groups", "multicalibration", "skipped"],
}

MEASURE_ALL = {
    "type": "object",
    "properties": {"views": {"type": "array", "minItems": 1, "items": {"type": "object"}}},
    "required": ["views"],
}

FIT = {
    "type": "object",
    "properties": {
        "method": {"type": "string"},
        "view": {"type": "string"},
        "n": COUNT,
        "artifact": {"type": "string"},
        "score_only": {"type": "boolean"},
        **{
            key: {"type": ["number", "null"], "minimum": 0}
            for key in ("ks_before", "ks_after", "log_loss_before", "log_loss_after")
        },
        "folds": {"type": ["integer", "null"], "minimum": 2},
    },
    "required": ["method", "view", "n", "artifact", "ks_before", "ks_after", "log_loss_before"],
}

APPLY = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}, "out": {"type": "string"}},
    "required": ["n", "out"],
}

EXPORT = {
    "type": "object",
    "properties": {
        "out": {"type": "string"},
        "max_abs_difference": {"type": "number", "minimum": 0},
        "points": {"type": "integer", "minimum": 1},
        "at_jumps": {"type": "integer", "minimum": 0},
        "rounded": {"type": "integer", "minimum": 0},
    },
    "required": ["out", "max_abs_difference"],
}

RATES = {"type": ["number", "array", "null"], "items": FRACTION, "minimum": 0, "maximum": 1}
SHIFT = {
    "type": "object",
    "properties": {"from": RATES, "to": RATES, "out": {"type": "string"}},
    "required": ["from", "to", "out"],
    "additionalProperties": False,
}

SHIFT_LIKE = {
    "type": "object",
    "properties": {
        "base_rate": RATES,
        **dict.fromkeys(("low", "high", "misfit_pvalue"), WITHHELD),
        "out": {"type": "string"},
    },
    "required": ["base_rate", "low", "high", "misfit_pvalue", "out"],
    "additionalProperties": False,
}

_COST = {"type": "number", "minimum": 0}
_TEXT = {"type": "string", "minLength": 1}
DECIDE = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("threshold", "raw_threshold"), _COST | {"type": ["number", "null"]}),
        **dict.fromkeys(("cost_before", "cost_after"), _COST),
        **dict.fromkeys(("saved", "low", "high"), NUMBER),
        **{f"cost_{when}_{end}": _COST for when in ("before", "after") for end in ("low", "high")},
        **dict.fromkeys(("acted_before", "acted_after"), FRACTION),
        **dict.fromkeys(("precision_before", "precision_after"), WITHHELD),
        "n": {"type": "number", "exclusiveMinimum": 0},
        **dict.fromkeys(("view", "method", "how", "verdict"), _TEXT),
        **dict.fromkeys(("miss", "alarm", "capacity", "precision"), _COST),
        "clusters": {"type": "integer", "minimum": 2},
        "actions": {
            "type": "array",
            "minItems": 2,
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    **dict.fromkeys(("before", "after"), FRACTION),
                    "always": _COST,
                },
                "required": ["name", "before", "after", "always"],
                "additionalProperties": False,
            },
        },
    },
    "required": [
        "threshold", "cost_before", "cost_after", "saved", "low", "high", "raw_threshold",
        "cost_before_low", "cost_before_high", "cost_after_low", "cost_after_high", "n", "view",
        "method", "how", "verdict",
    ],
    "additionalProperties": False,
}  # fmt: skip

OUT = {
    "type": "object",
    "properties": {"out": {"type": "string"}},
    "required": ["out"],
    "additionalProperties": False,
}

COMPARE = {
    "type": "object",
    "properties": {
        "view": {"type": "string"},
        "verdict": {"type": "string"},
        "methods": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "method": {"type": "string"},
                    "ks": FRACTION,
                    "ece": FRACTION,
                    "mce": FRACTION,
                    "brier": {"type": "number", "minimum": 0, "maximum": 2},
                    "nll": {"type": "number", "minimum": 0},
                    "accuracy": FRACTION,
                    "nll_diff": {"type": "number", "minimum": 0},
                    "nll_diff_se": {"type": "number", "minimum": 0},
                    "tied_with_best": {"type": "boolean"},
                    "fit_seconds": {"type": "number", "minimum": 0},
                },
                "required": [
                    "method", "ks", "ece", "mce", "brier", "nll", "accuracy", "nll_diff",
                    "nll_diff_se", "tied_with_best", "fit_seconds",
                ],
            },
        },
    },
    "required": ["view", "methods"],
}  # fmt: skip

_BY_METRIC = {
    "type": "object",
    "properties": {metric: {"type": "number", "minimum": 0} for metric in ("ks", "nll", "brier")},
    "required": ["ks", "nll", "brier"],
    "additionalProperties": False,
}
_INTERVALS = {
    "type": "object",
    "properties": {
        metric: {
            "type": ["array", "null"],
            "items": {"type": "number", "minimum": 0},
            "minItems": 2,
            "maxItems": 2,
        }
        for metric in ("ks", "nll", "brier")
    },
    "required": ["ks", "nll", "brier"],
    "additionalProperties": False,
}

ARENA = {
    "type": "object",
    "properties": {
        "view": {"type": "string"},
        "experiments": {"type": "integer", "minimum": 1},
        "methods": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "method": {"type": "string"},
                    "source": {"type": "string"},
                    "seconds": {"type": ["number", "null"], "minimum": 0},
                    **dict.fromkeys(("rank", "excess", "worst", "mean", "wins"), _BY_METRIC),
                    **dict.fromkeys(
                        ("rank_interval", "excess_interval", "rank_range"), _INTERVALS
                    ),
                },
                "required": [
                    "method", "rank", "excess", "worst", "mean", "wins", "rank_interval",
                    "excess_interval", "rank_range", "seconds", "source",
                ],
                "additionalProperties": False,
            },
        },
        "noise_floor": FRACTION,
        "families": {"type": "object"},
        "by_experiment": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": [
                    "name", "family", "view", "n_cal", "n_test", "classes", "best",
                    "noise_floor", "scores",
                ],
            },
        },
        "skipped": {"type": "object", "additionalProperties": {"type": "string"}},
        "left_out": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": [
        "view", "experiments", "methods", "noise_floor", "families", "by_experiment",
        "skipped", "left_out",
    ],
}  # fmt: skip

_TIME = {"type": ["string", "integer", "null"]}
WATCH = {
    "type": "object",
    "properties": {
        "alarm": {"type": "boolean"},
        "since": _TIME,
        "since_low": _TIME,
        "since_high": _TIME,
        "kind": {"enum": ["base rate", "slope", "shape", "one group", None]},
        "log_e": NUMBER,
        "groups": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "group": {"type": "string"},
                    "n": COUNT,
                    "log_e": NUMBER,
                    "named": {"type": "boolean"},
                    **dict.fromkeys(("since", "since_low", "since_high"), _TIME),
                    "kind": {"enum": ["base rate", "slope", "shape", None]},
                },
                "required": ["group", "n", "log_e", "named", "since", "kind"],
                "additionalProperties": False,
            },
        },
        "days": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "time": {"type": ["string", "integer"]},
                    "n": COUNT,
                    "log_e": NUMBER,
                    **dict.fromkeys(("ks", "ks_low", "ks_high"), FRACTION),
                    **dict.fromkeys(("base_rate", "mean_score"), FRACTION),
                    "saved": NUMBER,
                },
                "required": [
                    "time", "n", "log_e", "ks", "ks_low", "ks_high", "base_rate", "mean_score",
                    "saved",
                ],
                "additionalProperties": False,
            },
        },
        "alarm_time": _TIME,
        "verdict": {"type": "string", "minLength": 10},
    },
    "required": [
        "alarm", "since", "since_low", "since_high", "kind", "log_e", "days", "alarm_time",
        "verdict",
    ],
    "additionalProperties": False,
}  # fmt: skip
