"""Side information whose names are as odd as names can be, for round trips."""

import numpy as np
from hypothesis import strategies as st

from sidelight.side import KINDS, SideInformation

NASTY = [
    "3",
    "3.0",
    "-0",
    "1e3",
    "007",
    "true",
    "null",
    "nan",
    "NaN",
    "NA",
    "",
    " ",
    " a",
    "a\t",
    "a,b",
    'say "a"',
    '"quoted"',
    '"',
    "a\nb",
    "a\r\nb",
    "\r",
    "a;b",
    "#a",
    "ünï—中",
    "a\u2028b",
    "\ufeffa",
    "{}",
    "[1]",
    "Infinity",
    "a\x00b",
]

texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=6))
names = st.one_of(
    texts,
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
)


@st.composite
def odd_sides(draw):
    """Statements of every kind, about rows with or without ids, said by people with odd names."""
    # numpy's fixed-width texts lose zero characters at their end, so an id must not end with one
    ids = texts.filter(lambda text: not text.endswith("\x00"))
    index = draw(
        st.one_of(
            st.none(),
            st.lists(ids, min_size=1, max_size=6, unique=True),
            st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=6, unique=True),
        )
    )
    n_samples = len(index) if index is not None else draw(st.integers(1, 6))
    rows = st.integers(0, n_samples - 1)
    weight = st.floats(0, allow_nan=False, allow_infinity=False)
    statement = st.tuples(
        st.sampled_from(KINDS), rows, rows, names, weight, st.none() | names, st.none() | names
    )
    table = draw(st.lists(statement, max_size=8))
    kind, i, j, class_, weights, annotator, vocabulary = (
        [line[k] for line in table] for k in range(7)
    )
    name = (lambda row: row) if index is None else index.__getitem__
    return SideInformation.from_columns(
        kind,
        [name(row) for row in i],
        [
            None if k not in ("must", "cannot", "unsure") else name(row)
            for k, row in zip(kind, j, strict=True)
        ],
        class_=class_,
        weight=np.array(weights, dtype=float),
        annotator=annotator,
        vocabulary=vocabulary,
        n_samples=n_samples,
        index=index,
        self_pairs="keep",
    )


def assert_identical(first, second):
    """Equal, in the same order, to the bit, with names of the same types."""
    assert first == second
    for a, b in zip(first.statements, second.statements, strict=True):
        assert a.tobytes() == b.tobytes()
    for attribute in ("classes", "annotators", "vocabularies"):
        assert list(map(repr, getattr(first, attribute))) == list(
            map(repr, getattr(second, attribute))
        )
