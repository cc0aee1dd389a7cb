"""Errors carry what they know, so that a program decides by their type and not by their text."""

import pickle

import numpy as np
import pytest

from sidelight import PartitionLevelKMeans, SideInformation
from sidelight.exceptions import (
    DataError,
    MissingNumberOfClustersError,
    SideInformationError,
    SidelightError,
    UnknownRowsError,
    UnsupportedStatementError,
)

X = np.arange(6.0).reshape(3, 2)


def caught(error, call):
    with pytest.raises(error) as info:
        call()
    return info.value


def test_advice_follows_the_message_and_can_be_replaced():
    error = SideInformationError("No row is labelled.", advice="Give labels.")
    assert str(error) == "No row is labelled. Give labels."
    other = error.reworded("said.csv: no label.", advice="Give --labels.")
    assert (type(other), str(other)) == (SideInformationError, "said.csv: no label. Give --labels.")
    assert str(error) == "No row is labelled. Give labels."


@pytest.mark.parametrize(
    "error",
    [
        SidelightError("a", advice="b"),
        UnknownRowsError("a", rows=["x", "x", "y"], by_id=False),
        UnsupportedStatementError("a", kind="must", models=["M"], advice="b"),
    ],
)
def test_errors_survive_a_process_boundary(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_unknown_ids_of_both_columns_are_listed_once(tmp_path):
    path = tmp_path / "said.csv"
    path.write_text("kind,i,j,class\nmust,a,x,\nlabel,y,,c\ncannot,x,b,\nlabel,a,z,c\n")
    error = caught(UnknownRowsError, lambda: SideInformation.read(path, index=["a", "b"]))
    assert error.rows == ("y", "x")  # z stands where a label has no partner
    assert error.by_id
    assert "line 2 (must a x)" in str(error)


@pytest.mark.parametrize(
    ("text", "rows"),
    [("kind,i,j\nmust,0,7\n", ("7",)), ("kind,i,j\nmust,p1,p2\nmust,0,p1\n", ("p1",))],
)
def test_rows_that_no_number_names_are_unknown(tmp_path, text, rows):
    path = tmp_path / "said.csv"
    path.write_text(text)
    error = caught(UnknownRowsError, lambda: SideInformation.read(path, n_samples=3))
    assert (error.rows, error.by_id) == (rows, False)
    assert "said.csv, line" in str(error)


@pytest.mark.parametrize(("pair", "row"), [((0, 9), "9"), ((0, "p1"), "p1")])
def test_rows_given_in_python_are_unknown_in_the_same_way(pair, row):
    error = caught(UnknownRowsError, lambda: SideInformation.from_pairs(must=[pair], n_samples=3))
    assert (error.rows, error.by_id) == ((row,), False)


def test_a_missing_number_of_clusters_has_its_own_type():
    error = caught(MissingNumberOfClustersError, lambda: PartitionLevelKMeans().fit(X))
    assert error.advice == "Give n_clusters, or labels as y or in side."


def test_a_kind_that_a_model_cannot_use_comes_with_models_that_can():
    side = SideInformation.from_pairs(must=[(0, 1)], n_samples=3)
    error = caught(UnsupportedStatementError, lambda: PartitionLevelKMeans(2).fit(X, side=side))
    assert error.kind == "must"
    assert "AnnotatedGaussianMixture" in error.models
    assert "side.only" in error.advice
    assert "side.only" not in error.args[0]


@pytest.mark.parametrize("values", [[["1", "red"], ["2", "3"]], [[1.0, "red"], [2.0, 3.0]]])
def test_text_in_x_is_named(values):
    error = caught(DataError, lambda: PartitionLevelKMeans(1).fit(np.array(values, dtype=object)))
    assert "X has text ('red')" in str(error)


def test_other_problems_of_x_are_not_taken_for_text():
    with pytest.raises(ValueError, match="Expected 2D array"):
        PartitionLevelKMeans(1).fit(np.array(["1", "2"], dtype=object))
