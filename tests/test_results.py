"""ClusterResult: what it tells, and that it can be kept."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sidelight import ClusterResult, PartitionLevelKMeans, PCKMeans, SideInformation
from sidelight.exceptions import DataError
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


def test_a_frame_has_ids_clusters_names_and_suspects(result):
    frame = result.to_frame()
    assert frame.to_dict("list") == {
        "row": ["u", "v", "w", "x"],
        "cluster": [0, 1, 1, 1],
        "cluster_name": ["low", "high", "high", "high"],
        "suspect": [False, False, True, True],
    }
    assert result.to_frame([9, 8, 7, 6], backend="polars")["row"].to_list() == [9, 8, 7, 6]
    with pytest.raises(DataError, match="3 ids for 4 rows"):
        result.to_frame("abc")
    with pytest.raises(DataError, match="known: pandas, polars, pyarrow"):
        result.to_frame(backend="excel")


def test_a_notebook_shows_clusters_and_statements_and_escapes_names():
    names = ["<b>x", "a&b"]
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    side = SideInformation.from_columns(
        ["label", "label", "must"], [0, 2, 0], [None, None, 1], class_=[*names, None],
        annotator=["<i>ann</i>", None, "<i>ann</i>"], n_samples=4,
    )  # fmt: skip
    model = PCKMeans(2, random_state=0)
    bare = model._repr_html_()
    assert "clusters;" not in bare
    shown = model.fit(X, side=side)._repr_html_()
    assert "sk-top-container" in shown  # scikit-learn's own diagram
    assert "4 rows in 2 clusters; 0 of 3 statements broken" in shown
    for html in (model.result_._repr_html_(), side._repr_html_()):
        assert html.startswith("<div><p><b>")
        assert "&lt;b&gt;x" in html
        assert "a&amp;b" in html
        assert "<i>" not in html
        assert "style" not in html
    assert "<td>&lt;i&gt;ann&lt;/i&gt;</td><td>1</td><td>1</td>" in side._repr_html_()
    assert "<td>not told</td><td>0</td><td>1</td>" in side._repr_html_()


def test_a_notebook_stops_after_a_dozen_clusters_and_classes():
    labels = np.arange(40) % 20
    result = PartitionLevelKMeans(random_state=0).fit(labels[:, None] * 9.0, labels).result_
    html = result._repr_html_()
    assert "and 8 smaller clusters" in html
    assert html.count("<tr>") == 13
    assert "and 8 more" in result.side._repr_html_()
    assert SideInformation.empty(3)._repr_html_().count("<table>") == 0
