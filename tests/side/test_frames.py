"""Side information in data frames: exact round trips through every library."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings

from odd_names import assert_identical, odd_sides
from sidelight.exceptions import SideInformationError
from sidelight.side import SideInformation

BACKENDS = ("pandas", "polars", "pyarrow")
COLUMNS = ["kind", "i", "j", "class", "weight", "annotator", "vocabulary"]


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=40)
@given(side=odd_sides())
def test_frames_give_back_exactly_what_was_put_in(backend, side):
    frame = side.to_frame(backend)
    again = SideInformation.from_frame(
        frame, n_samples=side.n_samples, index=side.index, self_pairs="keep"
    )
    assert_identical(again, side)


@pytest.fixture
def side():
    return SideInformation.from_columns(
        ["must", "label"], ["a", "c"], ["b", None], class_=[None, 3], index=["a", "b", "c"]
    )


@pytest.mark.parametrize(
    ("backend", "type_"),
    [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)],
)
def test_a_frame_has_one_statement_per_line_and_the_ids(side, backend, type_):
    frame = side.to_frame(backend)
    assert isinstance(frame, type_)
    assert list(frame.columns if backend != "pyarrow" else frame.column_names) == COLUMNS
    ids = frame["i"].to_pylist() if backend == "pyarrow" else frame["i"].to_list()
    assert ids == ["a", "c"]


def test_positions_with_gaps_stay_whole_numbers_in_pandas():
    side = SideInformation.from_columns(
        ["must", "label"], [0, 1], [2, None], class_=[None, "x"], n_samples=3
    )
    frame = side.to_frame("pandas")
    assert frame["i"].dtype == np.int64
    assert frame["j"].tolist()[0] == 2
    assert frame["j"].isna().tolist() == [False, True]
    assert str(frame["j"].dtype) == "Int64"


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_values_of_every_sort(missing):
    frame = pd.DataFrame(
        {
            "kind": ["must", "label"],
            "i": [0, 1],
            "j": pd.Series([2, missing], dtype=object),
            "class": pd.Series([missing, "x"], dtype=object),
            "annotator": pd.Series([missing, "ann"], dtype=object),
        }
    )
    side = SideInformation.from_frame(frame, n_samples=3)
    assert side.statements.j.tolist() == [2, -1]
    assert side.statements.class_code.tolist() == [-1, 0]
    assert side.statements.annotator.tolist() == [-1, 0]


@pytest.mark.parametrize(
    "make",
    [
        lambda data: pd.DataFrame(data),
        lambda data: pd.DataFrame(data).convert_dtypes(),
        lambda data: pd.DataFrame(data).astype({"kind": "category"}),
        lambda data: pl.DataFrame(data),
        lambda data: pl.DataFrame(data).with_columns(pl.col("kind").cast(pl.Categorical)),
        lambda data: pa.table(data),
        lambda data: pa.table(data | {"kind": pa.array(data["kind"]).dictionary_encode()}),
    ],
)
def test_every_library_says_the_same(make):
    data = {"kind": ["must", "label", "label"], "i": [0, 1, 2], "j": [2, None, None]}
    data |= {"class": [None, 0, 1], "annotator": ["ann", None, "bob"]}
    side = SideInformation.from_frame(make(data), n_samples=4)
    assert side.must.tolist() == [[0, 2]]
    assert side.labels.tolist() == [-1, 0, 1, -1]
    assert list(map(repr, side.classes)) == ["0", "1"]
    assert side.annotators == ("ann", "bob")


def test_a_null_weight_is_one_and_a_weight_that_is_no_number_is_refused():
    data = {"kind": ["must", "must"], "i": [0, 1], "j": [1, 2]}
    for frame in (
        pl.DataFrame(data | {"weight": [None, 0.5]}),
        pa.table(data | {"weight": [None, 0.5]}),
        pd.DataFrame(data | {"weight": pd.array([None, 0.5], dtype="Float64")}),
        pd.DataFrame(data | {"weight": pd.Series([None, 0.5], dtype=object)}),
    ):
        side = SideInformation.from_frame(frame, n_samples=3)
        assert side.statements.weight.tolist() == [1.0, 0.5]
    for frame in (
        pl.DataFrame(data | {"weight": [float("nan"), 0.5]}),
        pd.DataFrame(data | {"weight": [float("nan"), 0.5]}),
    ):
        with pytest.raises(SideInformationError, match=r"statement 0 .*nan"):
            SideInformation.from_frame(frame, n_samples=3)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"kind": ["must"], "i": [0]}, "neither column 'j'"),
        ({"i": [0], "j": [1]}, "missing column 'kind'"),
        ({"kind": ["must"], "i": [0], "j": [1], "who": ["ann"]}, "unknown column 'who'"),
    ],
)
def test_a_frame_without_the_needed_columns_is_refused(columns, message):
    with pytest.raises(SideInformationError, match=message):
        SideInformation.from_frame(pd.DataFrame(columns), n_samples=3)


def test_a_column_that_stands_there_twice_is_refused():
    frame = pd.DataFrame([["must", 0, 1, 2]], columns=["kind", "i", "j", "j"])
    with pytest.raises(SideInformationError, match="twice.*'j'"):
        SideInformation.from_frame(frame, n_samples=3)


def test_what_is_no_frame_is_refused():
    for frame in ([("must", 0, 1)], pl.LazyFrame({"kind": ["must"], "i": [0], "j": [1]})):
        with pytest.raises(SideInformationError, match="pandas or polars DataFrame or a pyarrow"):
            SideInformation.from_frame(frame, n_samples=3)


def test_an_unknown_backend_is_refused(side):
    with pytest.raises(SideInformationError, match="pandas, polars, pyarrow, not 'dplyr'"):
        side.to_frame("dplyr")
