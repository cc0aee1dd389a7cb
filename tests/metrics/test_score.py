"""Scores on all rows and on the unannotated ones."""

import numpy as np
import pandas as pd
import pytest

from sidelight import SideInformation
from sidelight.exceptions import DataError
from sidelight.metrics import accuracy, adjusted_rand, normalized_mutual_info, score

TRUE = np.array(["a", "a", "a", "b", "b", "b"])
PRED = np.array([0, 0, 1, 1, 1, 0])


def test_all_rows_have_the_plain_scores():
    found = score(TRUE, PRED).all_rows
    assert list(found) == ["nmi", "ari", "accuracy", "purity", "pairwise_f"]
    assert found["nmi"] == normalized_mutual_info(TRUE, PRED)
    assert found["ari"] == adjusted_rand(TRUE, PRED)


@pytest.mark.parametrize(
    ("side", "free"),
    [
        (SideInformation.from_labels(["a", None, None, "b", None, None]), [1, 2, 4, 5]),
        (SideInformation.from_pairs(must=[(0, 1)], cannot=[(4, 2)], n_samples=6), [3, 5]),
        (
            SideInformation.from_columns(["not_label"], [3], class_=["a"], n_samples=6),
            [0, 1, 2, 4, 5],
        ),
        (SideInformation.from_columns(["unsure"], [0], [5], n_samples=6), range(6)),
        (SideInformation.from_pairs(must=[(0, 1)], weight=0.0, n_samples=6), range(6)),
        (SideInformation.empty(6), range(6)),
        (None, range(6)),
    ],
    ids=["labels", "pairs", "not_label", "unsure", "weight 0", "empty", "none"],
)
def test_unannotated_rows_are_those_that_no_binding_statement_names(side, free):
    found = score(TRUE, PRED, side=side)
    rows = list(free)
    assert found.n_unannotated == len(rows)
    assert found.unannotated["accuracy"] == accuracy(TRUE[rows], PRED[rows])
    assert found.all_rows["accuracy"] == accuracy(TRUE, PRED)
    assert found.n_rows == 6


def test_given_labels_flatter():
    true, pred = np.array([0, 0, 1, 1, 0, 1, 0, 1]), np.array([0, 0, 1, 1, 0, 0, 1, 1])
    side = SideInformation.from_labels([0, 0, 1, 1, -1, -1, -1, -1])
    found = score(true, pred, side=side)
    for name, value in found.all_rows.items():
        assert value > found.unannotated[name]


def test_when_everything_is_annotated_nothing_is_left_to_score():
    found = score(TRUE, PRED, side=SideInformation.from_labels(TRUE))
    assert found.n_unannotated == 0
    assert all(np.isnan(value) for value in found.unannotated.values())


@pytest.mark.parametrize(
    "true",
    [
        np.array([0, 0, -1, 1, 1, -1]),
        np.array([0, 0, np.nan, 1, 1, np.nan]),
        [0, 0, None, 1, 1, None],
        ["a", "a", None, "b", "b", np.nan],
        pd.array([0, 0, pd.NA, 1, 1, pd.NA], dtype="Int64"),
        [0, 0, -1, 1, 1, None],
    ],
    ids=["-1", "NaN", "None", "texts", "NA", "mixed"],
)
def test_rows_of_unknown_truth_are_in_neither_set(true):
    found = score(true, PRED)
    assert (found.n_rows, found.n_unannotated, found.n_unknown) == (4, 4, 2)
    assert found.all_rows["accuracy"] == accuracy([0, 0, 1, 1], [0, 0, 1, 1])


def test_the_value_for_unknown_can_be_named_and_can_be_none():
    true = np.array(["a", "a", "?", "b", "b", "?"])
    assert score(true, PRED, unknown="?").n_unknown == 2
    assert score(true, PRED).n_unknown == 0
    assert score([-1, -1, 1, 1, 2, 2], PRED, unknown=None).n_rows == 6


def test_a_class_called_minus_one_is_not_dropped_in_silence():
    true = np.array([-1, -1, -1, 1, 1, 1])
    with pytest.raises(DataError, match="unknown=None"):
        score(true, PRED)
    assert score(true, PRED, unknown=None).all_rows["accuracy"] == pytest.approx(4 / 6)


def test_one_known_class_beside_missing_values_is_scored():
    assert score([1.0, 1.0, np.nan], [0, 0, 1]).all_rows["accuracy"] == 1


def test_other_metrics_can_be_asked_for():
    found = score(TRUE, PRED, metrics={"clusters": lambda true, pred: len(np.unique(pred))})
    assert found.all_rows == {"clusters": 2.0}


def test_printing_says_which_score_is_on_which_rows():
    side = SideInformation.from_labels(["a", None, None, "b", None, None])
    lines = str(score(TRUE, PRED, side=side)).splitlines()
    assert lines[0].split() == ["all", "rows", "unannotated"]
    assert lines[1].split() == ["rows", "6", "4"]
    assert lines[4].split() == ["accuracy", "0.6667", "0.5000"]
    assert "2 rows of unknown truth" in str(score([0, 0, -1, 1, 1, -1], PRED))


@pytest.mark.parametrize(
    ("true", "pred", "side", "message"),
    [
        (TRUE, PRED[:3], None, "labels_pred has 3 rows"),
        (TRUE, PRED, SideInformation.empty(4), "side is about 4 rows"),
        ([-1, -1], [0, 1], None, "unknown in every row"),
        ([None, None], [0, 1], None, "unknown in every row"),
        ([], [], None, "labels_pred is empty"),
        (TRUE, [None] * 6, None, "labels_pred is missing"),
    ],
)
def test_what_does_not_fit_together_is_refused(true, pred, side, message):
    with pytest.raises(DataError, match=message):
        score(true, pred, side=side)
