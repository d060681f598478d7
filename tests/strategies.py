"""Inputs made by hypothesis: scores with ties, zeros, ones, one class, tiny and larger N."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

_TIED = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 0.9, 1.0, 1.0 - 2**-53, 5e-324])
_FREE = st.floats(0.0, 1.0, allow_nan=False)


@st.composite
def scored(draw, min_size=1, max_size=60, weights=False):
    """Scores, hits and, if asked for, weights (whole numbers from 0, not all 0)."""
    n = draw(st.integers(min_size, max_size))
    element = draw(st.sampled_from([_TIED, _FREE, st.one_of(_TIED, _FREE)]))
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    scores = np.array(draw(st.lists(element, min_size=n, max_size=n))).astype(dtype)
    hits = draw(hnp.arrays(np.bool_, n))
    if not weights:
        return scores, hits
    w = draw(hnp.arrays(np.int64, n, elements=st.integers(0, 4)))
    w[0] = max(w[0], 1)
    return scores, hits, w


@st.composite
def matrices(draw, max_rows=12, max_classes=6):
    """Logits with ties, -inf and huge values; and labels."""
    n, K = draw(st.integers(1, max_rows)), draw(st.integers(2, max_classes))
    element = st.one_of(
        st.sampled_from([0.0, 1.0, -3.0, 40.0, -np.inf, 600.0]), st.floats(-50, 50, width=32)
    )
    logits = draw(hnp.arrays(np.float64, (n, K), elements=element))
    logits[np.isneginf(logits).all(axis=1), 0] = 0.0
    labels = draw(hnp.arrays(np.int64, n, elements=st.integers(0, K - 1)))
    return logits, labels
