r"""The curvature of a small `ClassRegression` in full: H + Λ, factorised.

With :math:`H + \Lambda = L L^\top`, Newton's step is two triangular solutions, and the effective
number of parameters of a group, :math:`e_g = \mathrm{tr}\,[H (H + \Lambda)^{-1}]_{gg}`, is exact:
Λ has a block for each group, so that

.. math:: e_g = n_g - \mathrm{tr}\,\Lambda_{gg} [(H + \Lambda)^{-1}]_{gg} ,

and :math:`[(H + \Lambda)^{-1}]_{gg}` is made of the columns of :math:`L^{-1}`. Nothing here
stops at a tolerance, so rounding errors are not amplified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ogive._numerics.class_evidence import Pull
    from ogive._numerics.class_regression import ClassRegression, State
    from ogive._typing import DTypeLike, FloatArray

#: Up to this many parameters H is formed: 12 classes have 324. With more, conjugate gradients are
#: faster, at 400 rows as at 5,000.
MOST_PARAMETERS_FOR_FULL_HESSIAN = 330


def is_small(dtype: DTypeLike, shape: tuple[int, int]) -> bool:
    """Return whether to form H of parameters of this shape, in float64."""
    return dtype == np.float64 and shape[0] * shape[1] <= MOST_PARAMETERS_FOR_FULL_HESSIAN


class DenseCurvature:
    """H at some parameters, and H + Λ for one prior after the other."""

    def __init__(self, rows: ClassRegression, state: State) -> None:
        self.shape, self.group = rows.shape, rows.group
        self.total = rows.total
        self.hessian = rows.hessian(state)

    def under(self, pull: Pull, share: float = 1.0) -> DenseCurvature:
        """Factorise H + Λ; for a part of the rows, H is multiplied by their share."""
        from scipy.linalg import lapack  # noqa: PLC0415 - heavy

        self._pull = pull
        A = share * self.hessian + pull.matrix(self.shape)
        # Entries of a and of p differ in size by hundreds: the unit diagonal saves their digits.
        self._unit = 1.0 / np.sqrt(np.diagonal(A))
        self._lower, failed = lapack.dpotrf(A * np.outer(self._unit, self._unit), lower=1)
        if failed:
            msg = f"H + Λ is not positive definite in column {failed}."
            raise ArithmeticError(msg)
        return self

    def solve(self, right: FloatArray) -> FloatArray:
        """Return x, (K, d), with (H + Λ) x = right."""
        from scipy.linalg import lapack  # noqa: PLC0415 - heavy

        x, _ = lapack.dpotrs(self._lower, self._unit * right.ravel(), lower=1)
        result: FloatArray = (self._unit * x).reshape(self.shape)
        return result

    def effective(self) -> FloatArray:
        """Return the effective number of parameters of each group, (5,)."""
        from scipy.linalg import lapack  # noqa: PLC0415 - heavy

        inverse, _ = lapack.dtrtri(self._lower, lower=1)  # of L: its upper triangle is 0
        columns = inverse * self._unit  # (H + Λ)^-1 = columns' columns
        columns = columns.reshape(-1, *self.shape)
        kept = np.einsum("ijk,ijk->k", columns, self._pull(columns))
        return np.bincount(self.group, weights=self.shape[0] - kept).astype(np.float64)
