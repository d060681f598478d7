r"""Interactions between classes: scores from log-probabilities and probabilities.

With a the log-softmax of b times the logits (b a temperature's factor) and p = exp a,

.. math:: s = a + v \circ a + u \circ p + c + M_A V_A^\top a + M_p V_p^\top p .

v and c are what vector scaling has, :math:`M_A` is a matrix on log-probabilities as in Dirichlet
calibration, and u and :math:`M_p` act on the probabilities themselves: which class should get more
*where the model is sure of that one*. ``docs/theory/vectors.md`` has the derivation.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibrators.log_values import with_floor
from ogive.calibrators.maps import plain_fields, with_arrays

if TYPE_CHECKING:
    from ogive._typing import AnyArray, DTypeLike, FloatArray, IntArray
    from ogive.rows.predictions import Predictions

#: exp of less than these is 0 at the given precision.
FARTHEST, FARTHEST_32 = -700.0, -80.0
#: Log-probabilities below are taken as these: products with coefficients stay finite in float32.
LEAST_LOG = -1e20
_MAX_CLASSES_IN_FLOAT64 = 32  # with more classes, float32 values are worked on in float32


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassStructure:
    """The numbers of the formula.

    Attributes
    ----------
    factor : float
        b.
    floor : float
        Where a logarithm of 0 is put, below the row's largest.
    logs, probs, offset : (K,) arrays
        1 + v, u and c.
    to_logs, to_probs : (K, r) arrays
        M_A and M_p.
    of_logs, of_probs : (K, r) arrays or None
        V_A and V_p; None stands for the unit matrix.
    precision, edf : (5,) arrays
        Of the priors of v, u, c, M_A and M_p: 1 / variance, and the effective number of
        parameters (of more than 12 classes an upper end of it).
    """

    factor: float
    floor: float
    logs: FloatArray
    probs: FloatArray
    offset: FloatArray
    to_logs: FloatArray
    to_probs: FloatArray
    of_logs: FloatArray | None
    of_probs: FloatArray | None
    precision: FloatArray
    edf: FloatArray

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def scores(self, preds: Predictions, at: slice) -> AnyArray:
        """Return s of some rows, (rows, K), float32 where the values have no more digits."""
        dtype = digits(preds)
        a = read_logs(preds, at, self.factor, self.floor, dtype)
        p = np.exp(a)
        numbers = self._single if dtype == np.float32 else self._double
        if self.of_logs is None or self.of_probs is None:
            s = a @ numbers["logs"]
            s += p @ numbers["probs"]
            s += numbers["offset"]
            return s
        # (rows, 2 r + 1): V_A' a, V_p' p and 1, so that one product gives all but v and u.
        r = self.of_logs.shape[1]
        inner = np.ones((a.shape[0], 2 * r + 1), dtype=dtype)
        np.matmul(a, numbers["of_logs"], out=inner[:, :r])
        np.matmul(p, numbers["of_probs"], out=inner[:, r:-1])
        s = inner @ numbers["to_all"]
        a *= numbers["logs"]
        s += a
        p *= numbers["probs"]
        s += p
        return s

    def reordered(self, order: IntArray) -> ClassStructure:
        """Return the structure with its classes in another order."""

        def rows(matrix: FloatArray | None) -> FloatArray | None:
            return None if matrix is None else matrix[order]

        whole = self.of_logs is None  # then the matrices have a column for each class
        columns = order if whole else slice(None)
        return replace(
            self,
            logs=self.logs[order],
            probs=self.probs[order],
            offset=self.offset[order],
            to_logs=self.to_logs[order][:, columns],
            to_probs=self.to_probs[order][:, columns],
            of_logs=rows(self.of_logs),
            of_probs=rows(self.of_probs),
        )

    @cached_property
    def matrices(self) -> dict[str, AnyArray]:
        """The matrices as the products above take them."""
        if self.of_logs is None or self.of_probs is None:
            return {
                "logs": np.ascontiguousarray((np.diag(self.logs) + self.to_logs).T),
                "probs": np.ascontiguousarray((np.diag(self.probs) + self.to_probs).T),
                "offset": self.offset,
            }
        return {
            "logs": self.logs,
            "probs": self.probs,
            "offset": self.offset,
            "of_logs": self.of_logs,
            "of_probs": self.of_probs,
            "to_logs": np.ascontiguousarray(self.to_logs.T),
            "to_probs": np.ascontiguousarray(self.to_probs.T),
        }

    @cached_property
    def _double(self) -> dict[str, AnyArray]:
        if self.of_logs is None:
            return self.matrices
        parts = [self.matrices[name] for name in ("to_logs", "to_probs", "offset")]
        return {**self.matrices, "to_all": np.vstack(parts)}

    @cached_property
    def _single(self) -> dict[str, AnyArray]:
        return {name: array.astype(np.float32) for name, array in self._double.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return plain_fields(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ClassStructure:
        """Rebuild from `to_dict`."""
        return cls(**with_arrays(values))


def digits(preds: Predictions) -> DTypeLike:
    """Return the type to work in: float32 for many classes in float32, else float64."""
    narrow = preds.values.dtype.itemsize <= np.float32().itemsize
    return (
        np.float32
        if narrow and preds.K > _MAX_CLASSES_IN_FLOAT64 and preds.kind == "logits"
        else np.float64
    )


def read_logs(
    preds: Predictions, at: slice, factor: float, floor: float, dtype: DTypeLike
) -> AnyArray:
    """Return the log-softmax of factor times the logits of some rows, (rows, K)."""
    logs = with_floor(preds.log_masses(at, dtype), floor)
    if preds.kind == "probs":
        logs -= logs.max(axis=1, keepdims=True)
    logs *= logs.dtype.type(min(factor, float(np.finfo(logs.dtype).max)))
    np.maximum(logs, LEAST_LOG, out=logs)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return logs
