"""A rank by class structure as SQL of K columns of logits: `calibrators.multiclass.class_view`.

Nested SELECTs, each of which computes one step for all classes: logits, log-probabilities a and
probabilities p, scores s of the structure, their exponentials, and the log-odds of the event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive.calibrators.multiclass.class_structure import FARTHEST, LEAST_LOG
from ogive.export.sql_vectors import HUGE, LARGEST, balanced, greatest, literal
from ogive.rows.views import parse_view, rank_range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import FloatArray
    from ogive.calibrators.multiclass.class_structure import ClassStructure
    from ogive.calibrators.multiclass.class_view import ClassViewMap

#: Log-probabilities below are taken as this: PostgreSQL refuses products that underflow to 0, and
#: exp(-500) times the least coefficient is far from that.
_LEAST_LOG_OF_P = -500.0
_LEAST_COEFFICIENT = 1e-60  # smaller ones change nothing: a is at most 1e20, and p at most 1


def event_log_odds(gamma: ClassViewMap, names: Sequence[str]) -> tuple[str, str]:
    """Return a condition that the logits are valid, and the SELECT of the log-odds, ogive_eta.

    names : the quoted columns. The condition is of columns of the SELECT; without it the result
    is NULL, also where a logit is NULL.
    """
    K = range(gamma.K)
    z = [f"ogive_z{k}" for k in K]
    given = [f"CAST({name} AS DOUBLE PRECISION) AS {x}" for name, x in zip(names, z, strict=True)]
    inner = f"SELECT {', '.join(given)} LIMIT 1"
    finite = [f"CASE WHEN {x} >= -{HUGE} THEN {x} ELSE {HUGE} END" for x in z]
    ends = [f"{greatest(z)} AS ogive_max", f"LEAST({', '.join(finite)}) AS ogive_min"]
    inner = _select([*z, *ends], inner, "a")
    inner = _select([*z, *_gaps(gamma.structure, z)], inner, "b")
    exps = [f"exp(GREATEST(ogive_g{k}, {literal(FARTHEST)}))" for k in K]
    gaps = [f"ogive_g{k}" for k in K]
    inner = _select([*z, *gaps, f"ln({balanced(exps)}) AS ogive_norm"], inner, "c")
    logs = [f"ogive_g{k} - ogive_norm AS ogive_a{k}" for k in K]
    inner = _select([*z, *logs], inner, "d")
    least = literal(_LEAST_LOG_OF_P)
    probs = [f"exp(GREATEST(ogive_a{k}, {least})) AS ogive_p{k}" for k in K]
    inner = _select([*z, *(f"ogive_a{k}" for k in K), *probs], inner, "e")
    inner = _select([*z, *_scores(gamma.structure)], inner, "f")
    scores = [f"ogive_s{k}" for k in K]
    inner = _select([*z, *scores, f"{greatest(scores)} AS ogive_top"], inner, "g")
    masses = [
        f"exp(GREATEST(ogive_s{k} - ogive_top, {literal(FARTHEST)})) AS ogive_e{k}" for k in K
    ]
    inner = _select([*z, *masses, *_ranks(z)], inner, "h")
    first, last = rank_range(parse_view(gamma.view))
    inside = [f"ogive_r{k} >= {literal(first)} AND ogive_r{k} < {literal(last)}" for k in K]
    event = [f"CASE WHEN {inside[k]} THEN ogive_e{k} ELSE 0e0 END" for k in K]
    rest = [f"CASE WHEN {inside[k]} THEN 0e0 ELSE ogive_e{k} END" for k in K]
    eta = f"ln({balanced(event)}) - ln({balanced(rest)}) AS ogive_eta"
    valid = " AND ".join(f"{x} <= {LARGEST}" for x in z)
    return valid, _select([*z, eta], inner, "i")


def _select(columns: Sequence[str], inner: str, alias: str) -> str:
    return f"SELECT {', '.join(columns)} FROM ({inner}) AS ogive_{alias} LIMIT 1"


def _gaps(structure: ClassStructure, z: Sequence[str]) -> list[str]:
    """Return factor times the distance from the largest logit; −inf is at the floor or below."""
    low = f"LEAST(ogive_min - ogive_max, {literal(structure.floor)})"
    return [
        f"GREATEST({literal(structure.factor)} * CASE WHEN {x} >= -{HUGE} THEN {x} - ogive_max "
        f"ELSE {low} END, {literal(LEAST_LOG)}) AS ogive_g{k}"
        for k, x in enumerate(z)
    ]


def _scores(structure: ClassStructure) -> list[str]:
    """Return s_k = c_k + Σ_j (A_kj a_j + P_kj p_j)."""
    A, P = np.diag(structure.logs), np.diag(structure.probs)
    if structure.of_logs is None or structure.of_probs is None:
        A, P = A + structure.to_logs, P + structure.to_probs
    else:
        A = A + structure.to_logs @ structure.of_logs.T
        P = P + structure.to_probs @ structure.of_probs.T
    return [
        f"{balanced([literal(c), *_terms(A[k], 'a'), *_terms(P[k], 'p')])} AS ogive_s{k}"
        for k, c in enumerate(structure.offset)
    ]


def _terms(row: FloatArray, name: str) -> list[str]:
    used = np.flatnonzero(np.abs(row) > _LEAST_COEFFICIENT)
    return [f"{literal(row[j])} * ogive_{name}{j}" for j in used]


def _ranks(z: Sequence[str]) -> list[str]:
    """Return how many classes are before each: larger, or equal with a lower index."""
    ranks = []
    for k, x in enumerate(z):
        before = [
            f"CASE WHEN {other} {'>=' if j < k else '>'} {x} THEN 1e0 ELSE 0e0 END"
            for j, other in enumerate(z)
            if j != k
        ]
        ranks.append(f"{balanced(before)} AS ogive_r{k}")
    return ranks
