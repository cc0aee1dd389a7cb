"""Pairwise constrained k-means: J by its definition, and no row that gains by moving."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans

from oracles_kmeans import (
    broken_closure,
    broken_labels,
    broken_pairs,
    k_means_objective,
    means_of,
)
from sidelight import PCKMeans, SideInformation
from sidelight.blocks import as_blocks
from sidelight.models._kmeans.family import Given
from sidelight.models._kmeans.seeds import largest_groups

KINDS = np.array(["must", "cannot", "label", "not_label"])


def problem(seed, n=30, k=3, n_statements=25):
    """Rows in loose groups, and statements of all kinds, many of them wrong or contradictory."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) + 2.0 * rng.integers(2, size=(n, 1))
    kind = KINDS[rng.integers(4, size=n_statements)]
    i = rng.integers(n, size=n_statements)
    j = (i + rng.integers(1, n, size=n_statements)) % n
    is_pair = np.isin(kind, ["must", "cannot"])
    side = SideInformation.from_columns(
        kind, i, [b if p else None for b, p in zip(j, is_pair, strict=True)],
        class_=[None if p else c for c, p in zip(rng.integers(k, size=n_statements), is_pair,
                                                 strict=True)],
        weight=rng.choice([0.5, 1.0, 2.0], size=n_statements), n_samples=n,
    )  # fmt: skip
    return X, side


def objective(model, X, side, labels, centers, n_clusters=3):
    must, cannot = model.side_weight_, model.cannot_weight_
    data = 0.5 * k_means_objective(X, centers, labels)
    if model.pairs == "closure":
        return data + broken_closure(side, labels, must, cannot)
    pairs = broken_pairs(side, labels, must, cannot)
    return data + pairs + broken_labels(side, labels, n_clusters, must, cannot)


@pytest.mark.parametrize("pairs", ["given", "closure"])
@pytest.mark.parametrize("seed", range(15))
@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_objective_is_that_of_the_definition(seed, pairs):
    X, side = problem(seed)
    price = [0.05, 0.3, 2.0][seed % 3]
    model = PCKMeans(
        3, side_weight=price, cannot_weight=1.5 * price, pairs=pairs, n_init=2, random_state=seed
    ).fit(X, side=side)
    assert model.n_clusters_ == 3
    centers = model.cluster_centers_
    assert_allclose(centers, means_of(X, model.labels_, 3))
    assert model.objective_ == pytest.approx(objective(model, X, side, model.labels_, centers))
    assert (np.diff(model.history_) <= 0).all()


@pytest.mark.parametrize("pairs", ["given", "closure"])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_no_row_gains_by_moving(seed, pairs):
    X, side = problem(seed, n=18, n_statements=14)
    # In "given" the clusters of classes stay where they are while a row moves: pairs alone here.
    side = side if pairs == "closure" else side.only(kind=["must", "cannot"])
    model = PCKMeans(3, side_weight=0.3, pairs=pairs, n_init=1, random_state=seed).fit(X, side=side)
    found, centers = model.labels_.copy(), model.cluster_centers_
    lowest = objective(model, X, side, found, centers)
    for i in range(len(X)):
        for k in range(3):
            moved = found.copy()
            moved[i] = k
            assert objective(model, X, side, moved, centers) >= lowest - 1e-9


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_sweeps_lower_the_objective_from_any_partition(seed):
    """The labels of the previous pass stay in force: no iteration raises J."""
    X, side = problem(seed, n=60, n_statements=80)
    for pairs in ("given", "closure"):
        model = PCKMeans(4, pairs=pairs, init="random", n_init=1, random_state=seed)
        assert (np.diff(model.fit(X, side=side).history_) <= 0).all()


def test_without_statements_it_is_k_means():
    X, _ = problem(0)
    peer = KMeans(3, init=X[:3], n_init=1, tol=0).fit(X)
    model = PCKMeans(3, init=X[:3]).fit(X)
    assert model.objective_ == pytest.approx(0.5 * peer.inertia_)


def test_a_price_decides_who_wins():
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    side = SideInformation.from_pairs(must=[(0, 3)], n_samples=4)
    low = PCKMeans(2, side_weight=1.0, weight_units="absolute", random_state=0).fit(X, side=side)
    assert low.result_.violated.tolist() == [True]
    assert low.objective_ == pytest.approx(0.5 + 1.0)
    high = PCKMeans(2, side_weight=100.0, weight_units="absolute", random_state=0)
    assert high.fit(X, side=side).result_.violated.tolist() == [False]


def test_contradictions_are_listed_and_their_price_is_paid():
    X, _ = problem(1)
    side = SideInformation.from_pairs(must=[(0, 1), (1, 2)], cannot=[(0, 2)], n_samples=len(X))
    model = PCKMeans(2, side_weight=100.0, random_state=0).fit(X, side=side)
    assert model.result_.violated.sum() == 1
    assert model.objective_ == pytest.approx(
        objective(model, X, side, model.labels_, model.cluster_centers_, 2)
    )


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_sparse_and_dense_rows_give_the_same():
    X, side = problem(2)
    one = PCKMeans(3, random_state=0).fit(X, side=side)
    two = PCKMeans(3, random_state=0).fit(sparse.csr_array(X), side=side)
    assert_array_equal(one.labels_, two.labels_)
    assert one.objective_ == pytest.approx(two.objective_)


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_row_weights_count_as_copies_and_pairs_keep_theirs():
    X, side = problem(3)
    double = PCKMeans(3, init=X[:3], side_weight=0.2).fit(
        X, side=side, sample_weight=np.full(30, 2)
    )
    label = side.statements.is_class
    said = side.where(~label) + side.where(label) + side.where(label)
    assert double.objective_ == pytest.approx(
        2 * k_means_objective(X, double.cluster_centers_, double.labels_) / 2
        + broken_pairs(said, double.labels_, double.side_weight_, double.cannot_weight_)
        + broken_labels(said, double.labels_, 3, double.side_weight_, double.cannot_weight_)
    )


def seeds_of(side, n_clusters, X=None, weight=None, seed=0):
    X = np.zeros((side.n_samples, 1)) if X is None else X
    return largest_groups(
        Given(as_blocks(X), None, weight, side, n_clusters, X.mean(axis=0), 1.0, seed)
    )


def test_seeds_are_the_largest_groups_and_a_row_apart_from_all():
    side = SideInformation.from_pairs(
        must=[(0, 1), (1, 2), (4, 5)], cannot=[(2, 7), (5, 7)], n_samples=9
    )
    row, group, _ = seeds_of(side, 4)
    assert row.tolist() == [0, 1, 2, 4, 5, 7]
    assert group.tolist() == [0, 0, 0, 1, 1, 2]
    row, group, _ = seeds_of(side, 1)
    assert row.tolist() == [0, 1, 2]


def test_a_must_link_between_two_classes_leaves_both_their_seed():
    side = SideInformation.from_labels(["a", "a", "b", "b", None])
    side += SideInformation.from_pairs(must=[(0, 2), (3, 4)], n_samples=5)
    _, group, _ = seeds_of(side, 2)
    assert group[:2].tolist() == [0, 0]
    assert group[2:4].tolist() == [1, 1]


@pytest.mark.parametrize("larger", [0, 1])
def test_of_equally_large_groups_the_seeds_are_far_from_each_other(larger):
    """Nine pairs, the first five of them in one place; the last one may be a group of three."""
    place = np.repeat([0.0, 0.0, 0.0, 0.0, 0.0, 50.0, 50.0, 90.0, 90.0], 2)
    X = np.append(place, 90.0)[:, None] + 0.01 * np.arange(19)[:, None]
    pairs = np.arange(18).reshape(9, 2)
    must = [*map(tuple, pairs.tolist()), *([(17, 18)] if larger else [])]
    side = SideInformation.from_pairs(must=must, n_samples=19)
    row, group, _ = seeds_of(side, 3, X)
    assert sorted(X[row[group == g]].mean().round(-1) for g in range(3)) == [0.0, 50.0, 90.0]
    assert (18 in row) == bool(larger)


def test_of_many_equally_large_groups_a_draw_by_the_seed_is_compared():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2)) + 30.0 * rng.integers(3, size=(1000, 1)).repeat(2, axis=0)
    pairs = list(map(tuple, np.arange(2000).reshape(1000, 2).tolist()))
    side = SideInformation.from_pairs(must=pairs, n_samples=2000)
    one, two, other = seeds_of(side, 3, X), seeds_of(side, 3, X), seeds_of(side, 3, X, seed=1)
    assert_array_equal(one.row, two.row)
    assert set(one.row) != set(other.row)
    for row, group, _ in (one, other):
        assert sorted((X[row[group == g]].mean() / 30.0).round() for g in range(3)) == [0, 1, 2]


def test_groups_that_are_alike_are_one_seed():
    """Seeds in one place would leave clusters empty: k-means++ finds better ones."""
    side = SideInformation.from_pairs(must=[(0, 1), (2, 3), (4, 5)], n_samples=8)
    X = np.array([[0.0], [0.0], [0.0], [0.0], [0.0], [0.0], [7.0], [9.0]])
    assert seeds_of(side, 2, X).n_centers == 1
    model = PCKMeans(2, n_init=1, random_state=0).fit(X, side=side)
    assert model.objective_ == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_the_paper_is_expanded_pairs_in_absolute_units():
    model = PCKMeans.as_published(n_clusters=3, random_state=0)
    assert (model.pairs, model.weight_units, model.init) == ("closure", "absolute", "perturbed")
    X, side = problem(4)
    assert model.fit(X, side=side).side_weight_ == 1.0


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_no_row_gains_by_moving_where_the_centres_follow(seed):
    n, k = 40, 3
    X, side = problem(seed, n, k, n_statements=30)
    weight = np.random.default_rng(seed).choice([0.5, 1.0, 3.0], size=n)
    model = PCKMeans(k, side_weight=0.3, n_init=1, random_state=seed)
    model.fit(X, side=side, sample_weight=weight)
    said, found = side.statements, model.labels_

    def total(labels, home):
        """J, with home[c] the cluster of class c."""
        centers = [
            np.average(X[labels == h], axis=0, weights=weight[labels == h]) for h in range(k)
        ]
        within = 0.5 * float(weight @ ((X - np.array(centers)[labels]) ** 2).sum(axis=1))
        other = np.where(said.is_class, np.array(home)[said.class_code], labels[said.j])
        broken = (labels[said.i] == other) != (said.sign > 0)
        counted = said.weight * np.where(said.is_class, weight[said.i], 1.0)
        return within + model.side_weight_ * float(counted[broken].sum())

    home = min(itertools.permutations(range(k)), key=lambda home: total(found, home))
    assert total(found, home) == pytest.approx(model.objective_)
    for i, h in itertools.product(range(n), range(k)):
        moved = found.copy()
        moved[i] = h
        assert total(moved, home) >= model.objective_ - 1e-9


def test_rows_move_on_once_no_centre_is_nearer():
    """A partition where k-means stops, and in which one row gains by leaving its cluster."""
    X = np.array([[0.0], [1.0], [1.0], [1.0], [1.0], [3.0], [4.8], [9.0], [9.1]])
    side = SideInformation.from_pairs(must=[(7, 8)], n_samples=9)
    stays = KMeans(2, init=[[0.8], [6.475]], n_init=1, tol=0).fit(X)
    assert stays.labels_.tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1]
    model = PCKMeans(2, init=np.array([[0.8], [6.475]])).fit(X, side=side)
    assert model.objective_ <= 0.5 * stays.inertia_
