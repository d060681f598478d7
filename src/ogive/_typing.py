"""Types of the arrays and options that packages exchange."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
ComplexArray: TypeAlias = NDArray[np.complex128]
IntArray: TypeAlias = NDArray[np.integer[Any]]
KeyArray: TypeAlias = NDArray[np.uint64]
AnyArray: TypeAlias = NDArray[Any]

Kind: TypeAlias = Literal["logits", "probs"]
WeightKind: TypeAlias = Literal["repetition", "sampling"]
#: Of a 95 % band: whether it holds each place by itself, or the whole curve at once.
BandKind: TypeAlias = Literal["pointwise", "simultaneous"]
Runout: TypeAlias = Literal["natural", "parabolic", "cubic"]
Target: TypeAlias = Literal["residual", "cumulative"]

#: A progress callback: ``step(what, done, total)``, in any unit; a total of 0 means
#: that the total is unknown.
Progress: TypeAlias = Callable[[str, float, int], None]

__all__ = [
    "AnyArray",
    "ArrayLike",
    "BandKind",
    "BoolArray",
    "ComplexArray",
    "DTypeLike",
    "FloatArray",
    "IntArray",
    "KeyArray",
    "Kind",
    "Progress",
    "Runout",
    "Target",
    "WeightKind",
]
