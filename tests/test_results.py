"""ClusterResult: what it tells, and that it can be kept."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sidelight import ClusterResult, PartitionLevelKMeans, SideInformation
from sidelight.results import Verdict


@pytest.fixture
def result():
    side = SideInformation.from_columns(
        ["label", "label", "cannot"],
        ["u", "v", "w"],
        [None, None, "x"],
        class_=["low", "high", None],
        index=["u", "v", "w", "x"],
    )
    return ClusterResult(
        labels=np.array([0, 1, 1, 1]),
        cluster_names=np.array(["low", "high"], dtype=object),
        objective=1.5,
        history=np.array([3.0, 1.5]),
        # Classes are sorted: "high" is cluster 1.
        verdict=Verdict.of(side, [0, 1, 1, 1], clusters=[[1, 0]]),
        side=side,
        provenance={"model": "none"},
    )


def test_names_and_sizes_follow_from_the_labels(result):
    assert result.names.tolist() == ["low", "high", "high", "high"]
    assert result.sizes.tolist() == [1, 3]


def test_broken_statements_are_told_by_the_users_ids(result):
    assert result.broken() == ["w apart from x (cannot)"]
    assert repr(result) == "ClusterResult(4 rows in 2 clusters; 1 of 3 statements broken)"


def test_result_cannot_be_changed_and_survives_pickling(result):
    with pytest.raises(AttributeError):
        result.objective = 0.0
    again = pickle.loads(pickle.dumps(result))
    assert_array_equal(again.labels, result.labels)
    assert again.side == result.side


def test_provenance_says_how_to_repeat_the_fit():
    X = np.random.default_rng(0).normal(size=(40, 2))
    start = PartitionLevelKMeans(3, random_state=0).fit(X)
    result = PartitionLevelKMeans(3, init=start, side_weight=2.0).fit(X).result_
    told = result.provenance
    assert told["model"] == "PartitionLevelKMeans"
    assert told["parameters"]["side_weight"] == 2.0
    assert told["parameters"]["init"] == "PartitionLevelKMeans"
    assert set(told["versions"]) >= {"python", "sidelight", "numpy", "scipy", "scikit-learn"}
    assert told["threads"] >= 1
    assert isinstance(told["seed"], int)
