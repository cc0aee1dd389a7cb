"""A class that people named keeps a cluster, or a warning says which, why and what to do."""

import pickle
import warnings

import numpy as np
import pytest

from sidelight import (
    AnnotatedGaussianMixture,
    BayesianMixture,
    MarkovAggregation,
    PartitionLevelKMeans,
    SideInformation,
    StructuralEntropyClustering,
)
from sidelight.exceptions import LostClassWarning
from sidelight.models._lost import find_lost
from sidelight.models._naming import name_clusters

LONG = "CD4+/CD45RA+/CD25- Naive T" * 10


@pytest.fixture
def blobs():
    """Two groups of twenty rows, far apart."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 2)) + np.repeat([0.0, 12.0], 20)[:, None]


def known(**rows):
    y = np.full(40, None)
    for name, which in rows.items():
        y[which] = name
    return y


def warned(model, X, y=None, **how):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, **how)
    told = [w for w in caught if issubclass(w.category, LostClassWarning)]
    assert len(told) == 1
    assert told[0].filename == __file__  # it points at the caller, not into the library
    assert told[0].message.classes == model.result_.lost_classes
    return told[0].message


def sentences(side, labels, n_clusters, *, more_clusters=True):
    labels = np.asarray(labels)
    naming = name_clusters(side, labels, n_clusters)
    order = np.empty(n_clusters, dtype=int)
    order[naming.order] = np.arange(n_clusters)
    return find_lost(side, order[labels], naming, more_clusters=more_clusters).sentences


@pytest.mark.parametrize(
    ("model", "advice"),
    [
        (PartitionLevelKMeans(2, random_state=0), "Ask for at least 3 clusters, or"),
        (AnnotatedGaussianMixture(2, n_init=2, random_state=0), "Ask for at least 3 clusters, or"),
        (MarkovAggregation(2, n_init=1, random_state=0), "Ask for at least 3 clusters, or"),
        (StructuralEntropyClustering(2, random_state=0), "Ask for at least 3 clusters, or"),
        (BayesianMixture(2, random_state=0), "Ask for at least 3 clusters, or"),
        # The limit is not reached: another one would change nothing.
        (BayesianMixture(9, n_init=3, random_state=0), "Give more labels, or"),
    ],
    ids=lambda value: getattr(type(value), "__name__", None),
)
def test_fewer_clusters_than_classes_are_told_with_the_numbers(blobs, model, advice):
    message = warned(model, blobs, known(a=[0, 1], c=[2], b=[20, 21, 22]))
    assert message.classes == [(None, "c")]
    assert str(message) == (
        "Class 'c' has no cluster: there are 2 clusters for 3 labelled classes. "
        f"{advice} give classes that belong together one name."
    )
    assert model.result_.advice == [str(message)]
    assert model.result_.lost_classes == message.classes


def test_a_class_whose_rows_are_elsewhere_is_told_with_the_clusters_of_its_rows(blobs):
    y = known(a=[0, 1, 2, 3], c=[4, 5, 24], b=[20, 21, 22, 23])
    X = blobs + np.where(np.arange(40) % 20 > 16, 40.0, 0.0)[:, None]  # a third group, unlabelled
    message = warned(PartitionLevelKMeans(3, side_weight=0.01, random_state=0), X, y)
    assert str(message) == (
        "Class 'c' has no cluster: its 3 labelled rows are in cluster 'a' (2) and cluster 'b' (1). "
        "Give more labels of it, or labels of more weight, or ask for more clusters."
    )


def test_nothing_is_warned_of_where_every_class_has_a_cluster(blobs):
    y = known(a=[0, 1], b=[20, 21])
    for K in (2, 3):
        assert PartitionLevelKMeans(K, random_state=0).fit(blobs, y).result_.advice == []
    told = SideInformation.from_labels(y) + SideInformation.from_columns(
        ["label", "not_label"], [3, 4], class_=["light", "never"], weight=[0.0, 1.0], n_samples=40
    )
    assert PartitionLevelKMeans(2, random_state=0).fit(blobs, side=told).result_.advice == []


def test_many_classes_and_long_names_make_a_message_that_can_be_read(blobs):
    y = np.array([f"{k:02d} {LONG}" if k < 39 else "b" for k in range(40)], dtype=object)
    message = warned(PartitionLevelKMeans(2, random_state=0), blobs, y)
    assert len(message.classes) == 38
    assert len(str(message)) < 500
    assert "and 33 more have no cluster: there are 2 clusters for 40 labelled" in str(message)


def test_a_vocabulary_that_loses_classes_is_named():
    here = SideInformation.from_columns(
        "label", [0, 1, 2, 3], class_=["x", "y", "z", "x"], vocabulary="bob", n_samples=4
    )
    side = here + SideInformation.from_labels(["a", "a", "b", "b"], weight=3.0)
    told = sentences(side, [0, 0, 1, 1], 2)
    assert told == [
        "Class 'z' of vocabulary 'bob' has no cluster: there are 2 clusters for 3 labelled "
        "classes. Ask for at least 3 clusters, or give classes that belong together one name."
    ]


def test_rows_of_no_cluster_and_single_rows_have_words():
    side = SideInformation.from_labels(["a", "c", "b", "b"])
    naming = name_clusters(side, np.array([0, 0, 1, 2]), 3)
    lost = find_lost(side, np.array([0, -1, 1, 2]), naming, more_clusters=False)
    assert lost.classes == [(None, "c")]
    assert lost.sentences == [
        "Class 'c' has no cluster: its labelled row is in no cluster. "
        "Give more labels of it, or labels of more weight."
    ]


def test_more_than_five_classes_of_one_cluster_are_listed_at_the_end():
    side = SideInformation.from_labels([*"abcdefgh", None, None, None, None, None, None, None])
    told = sentences(side, [0] * 8 + list(range(1, 8)), 8)
    assert len(told) == 6
    assert told[0].startswith("Class 'b' has no cluster: its labelled row is in cluster 'a'.")
    assert told[-1] == "The same holds for 'g' and 'h'."


def test_the_warning_survives_a_process_boundary(blobs):
    message = warned(PartitionLevelKMeans(2, random_state=0), blobs, known(a=[0], c=[2], b=[20]))
    again = pickle.loads(pickle.dumps(message))
    assert (str(again), again.classes) == (str(message), message.classes)


def test_a_batch_that_names_no_cluster_of_the_stream_is_told(blobs):
    model = BayesianMixture(2, random_state=0)
    model.partial_fit(blobs, known(a=[0, 1], b=[20, 21]))
    with pytest.warns(LostClassWarning, match="'c' has no cluster"):
        model.partial_fit(blobs, known(a=[0, 1], c=[2], b=[20, 21]))
