"""Names for the arrays and choices that pass between rooms."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.integer[Any]]
KeyArray: TypeAlias = NDArray[np.uint64]
AnyArray: TypeAlias = NDArray[Any]

Kind: TypeAlias = Literal["logits", "probs"]
WeightKind: TypeAlias = Literal["repetition", "sampling"]
Runout: TypeAlias = Literal["natural", "parabolic", "cubic"]
Target: TypeAlias = Literal["residual", "cumulative"]

__all__ = [
    "AnyArray",
    "ArrayLike",
    "BoolArray",
    "DTypeLike",
    "FloatArray",
    "IntArray",
    "KeyArray",
    "Kind",
    "Runout",
    "Target",
    "WeightKind",
]
