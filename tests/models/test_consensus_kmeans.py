"""K-means consensus: J by its definition, and PartitionLevelKMeans on one-hot rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from oracles_kmeans import consensus_objective
from sidelight import ConsensusKMeans, PartitionLevelKMeans, SideInformation
from sidelight.exceptions import DataError, UnsupportedStatementError
from sidelight.models import _lloyd
from sidelight.models._kmeans import partitions
from sidelight.models._kmeans.agreement import utility_prices

UTILITIES = ["category", "entropy", "cosine", "lp"]


def problem(seed, n=40, k=3, n_partitions=4, gaps=0.2):
    """Partitions that agree more or less with a truth, with gaps; a few labels, some wrong."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    members = [np.where(rng.random(n) < 0.7, truth, rng.integers(k + 1, size=n))]
    for _ in range(n_partitions - 1):
        members.append(np.where(rng.random(n) < 0.7, truth, rng.integers(k + 2, size=n)))
    members = np.stack(members, axis=1)
    members[rng.random(members.shape) < gaps] = -1
    labels = np.where(rng.random(n) < 0.2, rng.integers(k, size=n), -1)
    return members, labels


def one_hot(members):
    return np.hstack([np.eye(c.max() + 1)[c] for c in members.T])


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("seed", range(6))
def test_objective_is_that_of_the_definition_and_never_rises(utility, seed):
    members, classes = problem(seed)
    model = ConsensusKMeans(
        3, partitions="precomputed", utility=utility, p=3.0, side_weight=1.5, n_init=2,
        random_state=seed,
    ).fit(members, classes)  # fmt: skip
    expected = consensus_objective(
        members.tolist(), classes.tolist(), model.labels_.tolist(), utility, 3.0, 1.5
    )
    assert model.objective_ == pytest.approx(expected)
    assert (np.diff(model.history_) <= 0).all()


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("seed", range(3))
def test_the_mean_is_the_best_profile(utility, seed):
    """So that J never rises: any other profile costs the rows of a cluster more."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 9, size=4).astype(float)

    def cost(profile):
        return counts @ utility_prices(profile[None], [0], utility, 4.0)[0]

    mean = counts / counts.sum()
    lowest = cost(mean)
    for other in rng.dirichlet(np.ones(4), size=200):
        assert lowest <= cost(other) + 1e-12
        assert lowest <= cost(0.99 * mean + 0.01 * other) + 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_complete_partitions_are_k_means_with_labels_on_one_hot_rows(seed):
    members, classes = problem(seed, gaps=0.0)
    start = np.random.default_rng(seed).integers(3, size=len(members))
    ours = ConsensusKMeans(3, partitions="precomputed", side_weight=7.0, init=start)
    peer = PartitionLevelKMeans(3, side_weight=7.0, weight_units="absolute", init=start)
    ours.fit(members, classes)
    peer.fit(one_hot(members), classes)
    assert_array_equal(ours.labels_, peer.labels_)
    assert ours.objective_ == pytest.approx(peer.objective_)
    assert_allclose(ours.cluster_centers_, peer.cluster_centers_, atol=1e-12)
    assert_allclose(ours.class_profiles_, peer.class_profiles_, atol=1e-12)
    assert ours.class_columns_ == peer.class_columns_


@pytest.mark.parametrize("utility", UTILITIES)
def test_negative_labels_cost_squares_for_every_utility(utility):
    members, classes = problem(1)
    negative = SideInformation.from_columns(
        "not_label", [0, 1, 2], class_=[0, 1, 1], n_samples=len(members)
    )
    side = SideInformation.from_labels(classes) + negative
    model = ConsensusKMeans(3, partitions="precomputed", utility=utility, random_state=0)
    model.fit(members, side=side)
    assert (np.diff(model.history_) <= 0).all()
    none = np.full(len(members), -1).tolist()
    labels = model.labels_.tolist()
    expected = consensus_objective(members.tolist(), none, labels, utility, 5.0, 0.0)
    number = {c: place for place, (_, c) in enumerate(model.class_columns_)}
    for row, c in enumerate(classes):
        if c >= 0:
            g = model.class_profiles_[labels[row]]
            expected += 100.0 * (((np.arange(len(g)) == number[c]) - g) ** 2).sum()
    for row, c in zip([0, 1, 2], [0, 1, 1], strict=True):
        expected += 100.0 * model.class_profiles_[labels[row], number[c]] ** 2
    assert model.objective_ == pytest.approx(expected)


@pytest.mark.parametrize("utility", UTILITIES)
def test_without_labels_new_rows_go_where_the_same_rows_went(utility):
    members, _ = problem(2)
    model = ConsensusKMeans(3, partitions="precomputed", utility=utility, random_state=0)
    model.fit(members)
    assert_array_equal(model.predict(members), model.labels_)
    costs = model.transform(members.astype(float))
    assert_array_equal(costs.argmin(axis=1), model.labels_)
    assert costs[np.arange(len(costs)), model.labels_].sum() == pytest.approx(model.objective_)
    # A cluster that was never seen says nothing, as a gap does.
    strange = members.copy()
    strange[members < 0] = 99
    assert_array_equal(model.predict(strange), model.labels_)


def test_made_partitions_are_predicted_for_new_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2)) + 6.0 * np.repeat(np.eye(3, 2), 30, axis=0)
    model = ConsensusKMeans(3, random_state=0).fit(X)
    assert model.cluster_centers_.shape == (3, 10 * 6)
    assert_array_equal(model.predict(X), model.labels_)
    same = ConsensusKMeans(3, random_state=0).fit(sparse.csr_array(X))
    assert_array_equal(same.labels_, model.labels_)
    few = ConsensusKMeans(3, n_partitions=2, partition_clusters=4, random_state=0).fit(X)
    assert few.cluster_centers_.shape == (3, 2 * 4)
    assert few.cluster_centers_.sum() == pytest.approx(3 * 2)


def test_partitions_of_large_data_end_early(monkeypatch):
    X = np.random.default_rng(0).normal(size=(400, 2))
    full = ConsensusKMeans(3, random_state=0).fit(X)
    ends = []
    improve = _lloyd.iterate

    def watched(*arguments, **options):
        ends.append(options["least_fall"])
        return improve(*arguments, **options)

    monkeypatch.setattr(_lloyd, "EXACT_UP_TO", 399)
    monkeypatch.setattr(_lloyd, "iterate", watched)
    early = ConsensusKMeans(3, random_state=0).fit(X)
    assert ends == [partitions._LEAST_FALL] * full.n_partitions
    assert_array_equal(early.predict(X), early.labels_)


def test_it_starts_again_from_a_fitted_model():
    members, classes = problem(3)
    first = ConsensusKMeans(3, partitions="precomputed", random_state=0).fit(members, classes)
    again = ConsensusKMeans(3, partitions="precomputed", init=first).fit(members, classes)
    assert again.n_iter_ <= 2
    assert again.objective_ <= first.objective_ + 1e-9


def test_weights_count_as_copies():
    members, classes = problem(4)
    weight = np.random.default_rng(0).integers(1, 4, size=len(members))
    start = np.random.default_rng(1).integers(3, size=len(members))
    one = ConsensusKMeans(3, partitions="precomputed", init=start)
    one.fit(members, classes, sample_weight=weight)
    two = ConsensusKMeans(3, partitions="precomputed", init=np.repeat(start, weight))
    two.fit(np.repeat(members, weight, axis=0), np.repeat(classes, weight))
    assert one.objective_ == pytest.approx(two.objective_)
    assert_array_equal(np.repeat(one.labels_, weight), two.labels_)


def test_what_is_no_partition_is_refused():
    model = ConsensusKMeans(2, partitions="precomputed")
    with pytest.raises(DataError, match=r"0.5 in row 1, column 0; .*whole numbers"):
        model.fit([[0.0, 1.0], [0.5, 1.0], [1.0, 0.0]])
    with pytest.raises(DataError, match=r"-2.0 in row 2, column 1"):
        model.fit([[0.0, 1.0], [1.0, 1.0], [1.0, -2.0]])
    with pytest.raises(DataError, match="Column 1 of X is -1 in every row.*Leave it out"):
        model.fit([[0.0, -1.0], [1.0, -1.0], [1.0, -1.0]])
    with pytest.raises(DataError, match="init has shape"):
        ConsensusKMeans(2, init=[[0.0], [1.0]]).fit([[0.0], [1.0], [2.0]])
    side = SideInformation.from_pairs(must=[(0, 1)], n_samples=3)
    with pytest.raises(UnsupportedStatementError, match="Partitions say which rows.*PCKMeans"):
        model.fit([[0], [1], [1]], side=side)


def test_the_paper_has_one_partition_and_random_starts():
    model = ConsensusKMeans.as_published(n_clusters=3)
    assert (model.n_partitions, model.partition_clusters, model.init) == (1, 1.0, "random")
    assert model.partition_init == "random"
    assert model.side_weight == 100.0
