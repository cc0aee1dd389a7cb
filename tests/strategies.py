"""Random side information for property tests."""

from hypothesis import strategies as st

from sidelight import SideInformation

CLASSES = st.sampled_from(["cat", "dog", "3", 3, 1.5, True])


@st.composite
def sides(draw, min_rows=1, max_rows=9, max_statements=14, with_index=False):
    """Any statements about a few rows: contradictory, repeated, weighted, by several people."""
    n = draw(st.integers(min_rows, max_rows))
    rows = st.integers(0, n - 1)
    annotators = st.sampled_from([None, "ann", "bob"])
    pair = st.tuples(st.sampled_from(["must", "cannot", "unsure"]), rows, rows, st.none())
    label = st.tuples(st.sampled_from(["label", "not_label"]), rows, st.none(), CLASSES)
    statements = draw(
        st.lists(
            st.tuples(
                pair.filter(lambda p: p[1] != p[2]) | label,
                st.sampled_from([0.0, 0.25, 1.0, 3.0]),
                annotators,
                st.sampled_from([None, "v1", "v2"]),
            )
            if n > 1
            else st.tuples(label, st.just(1.0), annotators, st.none()),
            max_size=max_statements,
        )
    )
    index = [f"row {k}" for k in range(n)] if with_index and draw(st.booleans()) else None
    name = (lambda k: k) if index is None else (lambda k: None if k is None else index[k])
    return SideInformation.from_columns(
        [s[0][0] for s in statements],
        [name(s[0][1]) for s in statements],
        [name(s[0][2]) for s in statements],
        class_=[s[0][3] for s in statements],
        weight=[s[1] for s in statements],
        annotator=[s[2] for s in statements],
        vocabulary=[s[3] for s in statements],
        n_samples=n,
        index=index,
    )


@st.composite
def truths(draw, max_rows=12, max_classes=4):
    """A partition of a few rows."""
    n = draw(st.integers(2, max_rows))
    return draw(st.lists(st.integers(0, max_classes - 1), min_size=n, max_size=n))
