"""A table becomes a matrix, and new rows the same way; what cannot is one error by type."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from sidelight import PartitionLevelKMeans
from sidelight.exceptions import DataError, UnusableColumnsError
from sidelight.tables import Preparation, as_table, prepare, read_table

MESSY = '''\
patient,age,town,"weight, kg",note
p007,31,Bonn,70.5,
p01,NA,Rome,,"says ""hm"""
p2,58,,81,x
'''
WORDS = {"one_hot": ["town"], "drop": ["patient", "note"], "impute": "median"}


@pytest.fixture
def messy(tmp_path):
    path = tmp_path / "messy.csv"
    path.write_text(MESSY, encoding="utf-8")
    return path


def caught(call):
    with pytest.raises(UnusableColumnsError) as info:
        call()
    return info.value


# The table that the preparation is fitted to


def test_one_error_names_every_text_and_missing_column_with_rows_and_remedies(messy):
    table = read_table(messy)
    columns = ["age", "town", "weight, kg"]
    error = caught(lambda: prepare(table, columns=columns, ids=table.ids("patient")))
    for part in (
        "'town' holds text ('Bonn', 'Rome')",
        "'age' has 1 missing value (row p01)",
        "'weight, kg' has 1 missing value (row p01)",
    ):
        assert part in error.args[0]
    assert error.problems == {"text": ["town"], "missing": ["age", "weight, kg"]}
    for part in ("drop=", "one_hot=", "impute="):
        assert part in error.advice


def test_a_text_that_differs_in_every_row_may_be_the_ids(messy):
    assert caught(lambda: prepare(messy)).problems["ids"] == ["patient"]
    assert "ids" not in caught(lambda: prepare(messy, ids=["a", "b", "c"])).problems


def test_gaps_are_imputed_and_texts_become_columns_on_request(messy):
    found = prepare(messy, columns=["age", "town"], one_hot=["town"], impute="median", scale="none")
    assert found.names == ["age", "town=missing", "town=Bonn", "town=Rome"]
    assert_array_equal(found.X, [[31, 0, 1, 0], [44.5, 0, 0, 1], [58, 1, 0, 0]])
    mean = prepare(messy, columns=["weight, kg"], impute="mean", scale="none")
    assert_array_equal(mean.X[:, 0], [70.5, 75.75, 81])
    assert "1 missing value was replaced by the mean of its column." in mean.notes


def test_a_column_of_too_many_values_is_not_spread_out(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("name\n" + "".join(f"n{k}\n" for k in range(201)), encoding="utf-8")
    error = caught(lambda: prepare(path, one_hot=["name"]))
    assert "'name' has 201 different values" in str(error)
    assert error.problems == {"crowded": ["name"]}


def test_empty_and_infinite_columns_are_named(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("a,b\n,inf\n,2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"'a' is empty throughout; 'b' is infinite in row 1\."):
        prepare(path, impute="mean")
    with pytest.raises(DataError, match="no column is left"):
        prepare(path, drop=["a", "b"])


@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
def test_numbers_whose_squares_overflow_are_refused_by_row(scale):
    frame = pd.DataFrame({"x": [1.0, -1e308, np.inf, 1e308], "y": [1e130, 0.0, -1e130, 3.0]})
    error = caught(lambda: prepare(frame, scale=scale))
    assert error.problems == {"infinite": ["x"], "huge": ["x"]}
    assert "'x' is too large to compute with in row 2, 4" in str(error)
    found = prepare(frame, drop="x", scale=scale)
    assert PartitionLevelKMeans(2, random_state=0).fit(found.X).n_clusters_ == 2


def test_a_typo_in_a_column_is_met_with_a_suggestion(messy):
    for where in ("columns", "drop", "one_hot"):
        error = caught(lambda where=where: prepare(messy, **{where: ["Age"]}))
        assert "no column 'Age'. Did you mean 'age'" in str(error)
        assert error.problems == {"absent": ["Age"]}


def test_columns_named_twice_are_used_once_and_those_aside_only_if_named():
    table = as_table(pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 3.0], "c": [3.0, 5.0]}))
    assert prepare(table, drop=["b"], aside=["c"]).names == ["a"]
    assert prepare(table, columns=["c", "a", "c"], aside=["c"]).names == ["c", "a"]


@pytest.mark.parametrize(
    ("scale", "scaler"), [("standard", StandardScaler), ("minmax", MinMaxScaler)]
)
def test_scaling_is_scikit_learns_to_the_bit(scale, scaler):
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1e-3, 1, 1e5] + [0, 1e6, 3]
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(constant=7.0)
    found = prepare(frame, columns=list(frame), scale=scale)  # the constant one too
    assert_array_equal(found.X, scaler().fit_transform(np.ascontiguousarray(frame)))
    assert_array_equal(found.unscaled, frame.to_numpy())


@pytest.mark.parametrize(("option", "known"), [("scale", "standard, minmax"), ("impute", "median")])
def test_unknown_choices_are_met_with_the_known_ones(messy, option, known):
    with pytest.raises(DataError, match=f"unknown {option} 'x'; known: {known}"):
        prepare(messy, **{option: "x"})


# New rows


@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
def test_the_rows_that_it_was_fitted_to_come_out_the_same_again(messy, scale):
    found = prepare(messy, scale=scale, **WORDS)
    assert_array_equal(found.preparation.apply(messy), found.X)


def test_rows_alone_or_in_another_order_come_out_as_in_the_whole_table(messy):
    """What is learned from a table, such as a median, must not be learned again."""
    whole = prepare(messy, **WORDS)
    frame = pd.read_csv(messy)
    for order in ([2, 0, 1], [1], [0, 0]):
        part = frame.iloc[order][["note", "town", "weight, kg", "age"]]
        assert_array_equal(whole.preparation.apply(part), whole.X[order])


def test_a_preparation_survives_json_to_the_bit(messy):
    found = prepare(messy, **WORDS)
    plain = found.preparation.to_dict()
    again = Preparation.from_dict(json.loads(json.dumps(plain)))
    assert again == found.preparation
    assert json.loads(json.dumps(plain)) == plain
    assert_array_equal(again.apply(messy), found.X)


@pytest.mark.parametrize(
    "change",
    [
        {"columns": None},
        {"columns": [{"name": "age"}]},
        {"scale": "log"},
        {"offset": [1.0]},
        {"factor": ["x"]},
    ],
)
def test_what_is_not_a_preparation_is_refused(messy, change):
    plain = prepare(messy, **WORDS).preparation.to_dict()
    with pytest.raises(DataError):
        Preparation.from_dict({**plain, **change})


def test_new_rows_that_do_not_fit_are_one_error(messy):
    preparation = prepare(
        messy, **WORDS | {"impute": None, "drop": ["patient", "note", "age", "weight, kg"]}
    ).preparation
    new = pd.DataFrame({"town": ["Paris", "Bonn", "Oslo"]})
    error = caught(lambda: preparation.apply(new, ids=["x", "y", "z"]))
    assert "'town' has values it did not have: 'Oslo', 'Paris' (row x, z)" in str(error)
    assert error.problems == {"new": ["town"]}
    error = caught(lambda: preparation.apply(pd.DataFrame({"Town": ["Bonn"]})))
    assert "no column 'town'. Did you mean 'Town'?" in str(error)
    assert error.problems == {"absent": ["town"]}


def test_gaps_and_texts_among_new_numbers_are_refused_unless_gaps_are_filled():
    old = pd.DataFrame({"x": [1.0, 2.0, 4.0]})
    strict, filling = prepare(old).preparation, prepare(old, impute="median").preparation
    error = caught(lambda: strict.apply(pd.DataFrame({"x": [1.0, None]})))
    assert error.problems == {"missing": ["x"]}
    gaps = pd.DataFrame({"x": [None, None]}, dtype=float)
    assert_array_equal(filling.apply(gaps), filling.apply(pd.DataFrame({"x": [2.0, 2.0]})))
    error = caught(lambda: filling.apply(pd.DataFrame({"x": ["1O5", "2"]})))
    assert error.problems["text"] == ["x"]


def test_a_category_has_the_same_name_in_every_table(tmp_path):
    """A number is written in one way whatever stands beside it, in files and in frames."""
    old = pd.DataFrame({"code": [1.0, 2.5, np.nan, 10.0]})
    preparation = prepare(old, one_hot=["code"], scale="none").preparation
    assert preparation.names == ["code=missing", "code=1", "code=10", "code=2.5"]
    path = tmp_path / "new.csv"
    path.write_text("code,x\n10,a\nNA,b\n1,c\n", encoding="utf-8")
    expected = np.eye(4)[[2, 0, 1]]
    assert_array_equal(preparation.apply(path), expected)
    assert_array_equal(preparation.apply(pd.DataFrame({"code": [10, None, 1]})), expected)
    assert_array_equal(preparation.apply(pl.DataFrame({"code": ["10", "n/a", "1 "]})), expected)


# Data frames


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_data_frames_of_three_libraries_are_the_same_table(make):
    columns = {
        "whole": [1, 2, 3],
        "gaps": [1, None, 3],
        "real": [0.5, None, 1.5],
        "flag": [True, False, True],
        "text": ["a", None, "b"],
        "nothing": [None, None, None],
    }
    table = as_table(make(columns))
    assert_array_equal(table.columns["whole"], [1, 2, 3])
    assert table.columns["whole"].dtype.kind == "i"
    assert_array_equal(table.columns["gaps"], [1, np.nan, 3])
    assert_array_equal(table.columns["real"], [0.5, np.nan, 1.5])
    assert_array_equal(table.columns["flag"], [1, 0, 1])
    assert table.columns["text"] == ["a", None, "b"]
    assert np.isnan(table.columns["nothing"]).all()


def test_columns_of_a_frame_that_are_written_alike_are_refused():
    with pytest.raises(DataError, match="two columns of one name"):
        as_table(pd.DataFrame([[1, 2]], columns=[5, "5"]))
    with pytest.raises(DataError, match="column twice|two columns"):
        as_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_a_text_in_a_frame_is_no_number_in_disguise(tmp_path):
    frame = pd.DataFrame({"known": ["3", None, "x"], "number": [3, 4, 5]})
    assert as_table(frame).labels("known") == ["3", None, "x"]
    assert as_table(frame).labels("number") == [3, 4, 5]


@pytest.mark.parametrize("wrong", [[[1, 2]], np.eye(2), pl.LazyFrame({"a": [1]}), pd.DataFrame()])
def test_what_is_no_table_is_refused(wrong):
    with pytest.raises(DataError, match="data frame has no rows|a table is a file"):
        as_table(wrong)
