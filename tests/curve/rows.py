"""Short lists of scores and outcomes, made by hypothesis: tied, saturated and free."""

from hypothesis import strategies as st

SCORES = st.one_of(
    st.sampled_from([0.0, 1.0, 0.5, 0.25, 0.9, 1e-300, 5e-324, 1 - 2.0**-53, 0.1, 0.2]),
    st.floats(0, 1),
)


ROWS = st.lists(st.tuples(SCORES, st.booleans()), min_size=1, max_size=60)
