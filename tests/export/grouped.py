"""Calibrators of groups whose names are hostile, or many, for the tests of exports."""

from dataclasses import replace
from functools import cache

import numpy as np

from ogive.calibrators.groups import fit_groups
from ogive.curve import Curve

HOSTILE = [
    *("'", "''", '"', '"""', "'''", "\\", "\\'", "'\\", "a\nb", "\r", "\t", "*/", "/* x */", "--"),
    *("'; DROP TABLE t; --", "') OR 1=1 --", "' || (SELECT 1) || '", "$$", "${x}", "{{ x }}", "%s"),
    *("{0}", ":x", "?", "~92;", "~", "\\n", "\x1b[31m", "\u202e", "\U0001f600", "ß", "e\u0301"),
    *("]", "ARRAY[", "NULL", "None", " ", "__import__('os').system('false')", "x" * 10_000, "0"),
    "\\" * 2_000 + "'" * 3_000,
]


def outcomes_of(rng, scores, group):
    return rng.random(scores.size) < 1 / (1 + np.exp(-(4 * scores - 2 + 0.3 * (group % 5 - 2))))


def fitted_to(names, rows=40, by=None, seed=0):
    """A calibrator of groups with these names."""
    rng = np.random.default_rng(seed)
    scores = rng.random((len(names), rows))
    return fit_groups(
        {
            n: Curve.from_scores(s, outcomes_of(rng, s, i))
            for i, (n, s) in enumerate(zip(names, scores, strict=True))
        },
        by=by,
    )


@cache
def hostile():
    return fitted_to([*HOSTILE, "(none)"], by="country")


@cache
def crossed():
    """Two columns; one combination was not seen, and the rows without a device were."""
    pairs = [(a, b) for a in ("BR", "DE", "it's\n") for b in ("d", "m", "(none)", "--")]
    return fitted_to([pair for pair in pairs if pair != ("DE", "m")], 400, by="country,device")


@cache
def three():
    triples = [(a, b, c) for a in "xy" for b in "xyz" for c in "uvwx"]
    return fitted_to(triples[:-3], 100, by="a,b,c")


@cache
def many(n=10_000):
    """As many groups as asked for, without the time of fitting them."""
    rng = np.random.default_rng(0)
    gamma = fitted_to(["a", "b"], 400, by="client")
    effect = rng.normal(0.0, 0.4, (n, 3))
    return replace(
        gamma,
        groups=tuple(f"client {i:05d}" for i in range(n)),
        rows=np.full(n, 10.0),
        effect=effect,
        error=np.abs(effect),
    )
