r"""Many tests at once: p-values corrected for how many there are.

Benjamini and Hochberg (1995): of m p-values in rising order, the j-th becomes

.. math:: \min_{i \ge j} \min\bigl(1, \tfrac{m}{i}\, p_{(i)}\bigr) .

If all values below 5 % are rejected, at most 5 % of the rejections are wrong, on average.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ogive._typing import ArrayLike, FloatArray


def benjamini_hochberg(pvalues: ArrayLike) -> FloatArray:
    """Return p-values adjusted for the false discovery rate, in their order.

    >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.5]).round(4)
    array([0.04  , 0.0533, 0.0533, 0.5   ])
    """
    p = np.asarray(pvalues, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * p.size / np.arange(1, p.size + 1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum.accumulate(scaled[::-1])[::-1].clip(max=1.0)
    return adjusted
