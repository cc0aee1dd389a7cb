"""Constraint propagation: the sparse factors against dense algebra, and what statements do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from sidelight import ConstraintPropagation, SideInformation
from sidelight.datasets import make_concentric_circles
from sidelight.exceptions import DataError
from sidelight.graph import neighbor_graph, normalized_adjacency
from sidelight.models._graph.propagation import (
    adapted,
    closed_form,
    low_rank,
    nuclear,
    propagated,
)
from sidelight.models._relation import relation_of
from sidelight.models._spectral import broken_share, fewest_clusters
from sidelight.side import sample_labels, sample_pairs


def blobs(n=90, k=3, seed=0, spread=4.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, 3)) + spread * rng.normal(size=(k, 3))[y], y


def graph_of(X, n_neighbors=6):
    return neighbor_graph(X, n_neighbors, affinity="local")


def dense(relation):
    return (relation.members @ relation.between @ relation.members.T).toarray()


def everything(seed, n=90):
    X, y = blobs(n, seed=seed)
    side = sample_labels(y, 8, random_state=seed) + sample_pairs(y, 12, random_state=seed)
    return X, y, side


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_closed_form_is_that_of_a_dense_solve(seed, alpha):
    X, _, side = everything(seed)
    W, relation = graph_of(X), relation_of(side)
    inverse = np.linalg.inv(np.eye(len(X)) - alpha * normalized_adjacency(W).toarray())
    expected = (1 - alpha) ** 2 * inverse @ dense(relation) @ inverse
    i, j = relation.places(W)
    expected = expected[i, j] / np.abs(expected[i, j]).max()
    assert_allclose(closed_form(W, relation, alpha, 1e-13, i, j), expected, atol=1e-9)
    # What is left out at the default tolerance is a few per mille.
    assert_allclose(closed_form(W, relation, alpha, 1e-3, i, j), expected, atol=0.03)


def test_columns_that_do_not_fit_at_once_are_found_all_the_same(monkeypatch):
    from sidelight.models._graph import propagation

    X, _, side = everything(0, n=300)
    S, P = normalized_adjacency(graph_of(X)), relation_of(side).members
    whole = propagated(S, P, 0.6, 1e-6)
    monkeypatch.setattr(propagation, "_ROOM", 1)
    monkeypatch.setattr(propagation, "_COLUMNS", 3)
    parts = propagated(S, P, 0.6, 1e-6)
    assert (whole != parts).nnz == 0


@pytest.mark.parametrize("seed", range(5))
def test_given_pairs_keep_their_sign_without_propagation(seed):
    X, y = blobs(seed=seed)
    side = sample_pairs(y, 20, random_state=seed)
    relation = relation_of(side)
    said = side.statements
    F = closed_form(graph_of(X), relation, 1e-6, 1e-13, said.i, said.j)
    assert_array_equal(np.sign(F), said.sign)


def test_the_relation_is_what_follows_from_the_statements():
    side = SideInformation.from_columns(
        ["must", "must", "cannot", "label", "label", "not_label"],
        [0, 1, 2, 4, 5, 6],
        [1, 2, 3, None, None, None],
        class_=[None, None, None, "a", "b", "a"],
        n_samples=8,
    )
    R = dense(relation_of(side))
    expected = np.zeros((8, 8))
    expected[:3, :3] = 1
    expected[:3, 3] = expected[3, :3] = -1
    expected[4, 5] = expected[5, 4] = expected[4, 6] = expected[6, 4] = -1
    assert_array_equal(R, expected)


def test_nothing_follows_from_a_contradiction():
    said = {"must": [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6)], "cannot": [(0, 3)]}
    R = dense(relation_of(SideInformation.from_pairs(**said, n_samples=7)))
    assert R[0, 3] == -1
    assert R[0, 2] == R[1, 3] == 0  # entailed, if there were no contradiction
    assert R[0, 1] == R[1, 2] == R[2, 3] == 1
    assert R[4, 6] == 1


def test_a_row_with_two_labels_does_not_make_two_classes_one():
    labels = [0, 0, 0, 1, 1, 1, -1]
    side = SideInformation.from_labels(labels) + SideInformation.from_labels([1] + [-1] * 6)
    R = dense(relation_of(side))
    assert R[1, 2] == R[3, 4] == 1
    assert R[1, 4] == -1
    assert R[0, 1] == R[0, 4] == 0  # once together with each, once apart from it


def test_weights_of_statements_are_those_of_their_pairs():
    side = SideInformation.from_pairs(must=[(0, 1)], n_samples=5, weight=4.0)
    side += SideInformation.from_pairs(cannot=[(2, 3)], n_samples=5, weight=0.5)
    R = dense(relation_of(side))
    assert_allclose([R[0, 1], R[2, 3]], [4.0, -0.5])


def test_large_groups_are_tied_by_few_pairs_and_in_few_steps():
    relation = relation_of(SideInformation.from_labels(np.zeros(1000, dtype=int)))
    assert relation.ties.nnz <= 2 * 1000 * 10
    steps = sparse.csgraph.shortest_path(relation.ties, unweighted=True, indices=[0])
    assert steps.max() <= 6


def test_similarities_rise_where_F_is_positive_and_fall_where_it_is_negative():
    W = sparse.csr_array([[0, 0.5, 0.2], [0.5, 0, 0], [0.2, 0, 0]])
    i, j = np.array([0, 0, 1]), np.array([1, 2, 2])
    found = adapted(W, i, j, np.array([0.4, -0.5, 0.1])).toarray()
    assert_allclose(found, [[0, 0.7, 0.1], [0.7, 0, 0.1], [0.1, 0.1, 0]])
    gone = adapted(W, i, j, np.array([-1.0, -1.0, -1.0]))
    assert gone.nnz == 0


def nuclear_objective(F, L, smoothness):
    return np.linalg.svd(F, compute_uv=False).sum() + smoothness * np.trace(F @ L @ F.T)


@pytest.mark.parametrize("seed", range(3))
def test_low_rank_F_keeps_what_is_given_and_no_neighbour_of_it_is_better(seed):
    X, y = blobs(24, seed=seed)
    relation = relation_of(sample_pairs(y, 6, random_state=seed))
    W = graph_of(X)
    F = nuclear(W, relation, 0.1)
    given = np.sign(dense(relation))
    np.fill_diagonal(given, 1)
    assert_array_equal(F[given != 0], given[given != 0])
    assert_array_equal(F, F.T)
    assert np.abs(F).max() <= 1
    L = np.eye(24) - normalized_adjacency(W).toarray()
    best = nuclear_objective(F, L, 0.1)
    rng = np.random.default_rng(seed)
    for size in (0.3, 0.1, 0.03):
        for _ in range(20):
            step = rng.normal(size=F.shape) * size
            other = np.clip(F + step + step.T, -1, 1)
            other[given != 0] = given[given != 0]
            assert nuclear_objective(other, L, 0.1) > best * (1 - 1e-3)


def test_low_rank_without_smoothness_completes_a_sign_matrix():
    y = np.array([1, 1, 1, -1, -1, -1])
    given = np.outer(y, y).astype(float)
    given[0, 1] = given[1, 0] = given[2, 4] = given[4, 2] = 0
    F = low_rank(np.zeros((6, 6)), given, 0.0, growth=1.01, max_iter=3000, tol=1e-7)
    assert_allclose(F, np.outer(y, y), atol=1e-2)


def test_statements_reach_rows_that_nobody_spoke_of():
    # Two strips side by side; the plain graph is cut across, statements say along.
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = np.column_stack([rng.uniform(0, 4, 200), rng.uniform(0, 1, 200) + 1.15 * y])
    side = sample_pairs(y, 60, random_state=0)
    rest = np.setdiff1d(np.arange(200), side.annotated_rows)
    plain = ConstraintPropagation(2, random_state=0).fit_predict(X)
    found = ConstraintPropagation(2, random_state=0).fit_predict(X, side=side)
    assert adjusted_rand_score(y[rest], plain[rest]) < 0.1
    assert adjusted_rand_score(y[rest], found[rest]) > 0.9


@pytest.mark.parametrize("method", ["closed", "nuclear"])
def test_both_methods_divide_rings(method):
    X, y = make_concentric_circles(40, radii=(5, 15), random_state=0)
    side = sample_pairs(y, 10, random_state=0)
    model = ConstraintPropagation(2, method=method, random_state=0).fit(X, side=side)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.n_clusters_rule_ == "given"


def test_the_nuclear_norm_is_refused_above_its_size():
    with pytest.raises(DataError, match=r"n=2,001 rows; at most 2,000"):
        ConstraintPropagation(2, method="nuclear").fit(np.arange(2001.0)[:, None])


def test_a_graph_in_more_parts_than_clusters_is_divided_and_told():
    X = np.concatenate([np.arange(10.0) + 1000 * part for part in range(5)])[:, None]
    model = ConstraintPropagation(2, n_neighbors=2, random_state=0)
    with pytest.warns(UserWarning, match="the graph falls into more parts than the 2 clusters"):
        labels = model.fit(X).labels_
    assert len(np.unique(labels)) == 2
    assert all(len(np.unique(part)) == 1 for part in np.split(labels, 5))


def test_rows_without_neighbours_go_to_the_largest_cluster_of_given_similarities():
    W = np.zeros((7, 7))
    W[:3, :3] = W[3:6, 3:6] = 1.0
    W[0, 1] = W[1, 0] = 0.5
    model = ConstraintPropagation(2, affinity="precomputed", random_state=0)
    with pytest.warns(UserWarning, match="without neighbours"):
        assert model.fit(W).labels_[6] in (0, 1)


def test_a_warm_start_goes_on_from_given_clusters():
    X, _ = blobs(120, spread=6.0)
    first = ConstraintPropagation(3, random_state=0).fit(X)
    again = ConstraintPropagation(3, init=first, random_state=1).fit(X)
    assert_array_equal(first.labels_, again.labels_)
    assert again.n_iter_ <= 2


def test_more_rounds_change_the_graph_more():
    X, _, side = everything(1)
    graphs = [
        ConstraintPropagation(3, n_rounds=r, random_state=0).fit(X, side=side).adapted_graph_
        for r in (1, 2)
    ]
    assert abs(graphs[0] - graphs[1]).max() > 1e-3


# The number of clusters


def test_the_number_is_that_of_the_eigengap_where_nothing_is_said():
    X, y = blobs(150, k=4, spread=12.0)
    model = ConstraintPropagation(random_state=0).fit(X)
    assert (model.n_clusters_, model.n_clusters_rule_) == (4, "eigengap")
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_statements_decide_against_the_eigengap():
    # Three heaps for the eye; people say that two of them are one.
    X, y = blobs(150, k=3, spread=12.0)
    said = np.minimum(y, 1)
    side = sample_pairs(said, 40, random_state=0)
    model = ConstraintPropagation(random_state=0).fit(X, side=side)
    assert adjusted_rand_score(said, model.labels_) == 1.0
    many = sample_labels(np.arange(150) % 6, 150, random_state=0)
    assert ConstraintPropagation(random_state=0).fit(X, side=many).n_clusters_ >= 6


def test_groups_that_are_all_apart_need_a_cluster_each():
    cannot = [(i, j) for i in range(4) for j in range(i)]
    side = SideInformation.from_pairs(must=[(4, 5)], cannot=[*cannot, (4, 0)], n_samples=9)
    assert fewest_clusters(side) == 4
    assert fewest_clusters(SideInformation.empty(3)) == 1
    assert fewest_clusters(SideInformation.from_labels([0, 1, 2, -1])) == 3


def test_broken_statements_are_counted_by_weight():
    side = SideInformation.from_pairs(must=[(0, 1)], n_samples=4, weight=3.0)
    side += SideInformation.from_pairs(cannot=[(2, 3)], n_samples=4)
    assert broken_share(side, np.array([0, 1, 0, 1])) == 0.75
    assert broken_share(side, np.array([0, 0, 1, 1])) == 0.25
    assert broken_share(SideInformation.empty(4), np.zeros(4, dtype=int)) == 0.0


def test_many_rows_are_tried_by_the_annotated_ones_and_a_sample(monkeypatch):
    from sidelight.models import _spectral

    X, y = blobs(300, k=3, spread=12.0)
    side = sample_pairs(y, 30, random_state=0)
    monkeypatch.setattr(_spectral, "_SAMPLE_ROWS", 60)
    model = ConstraintPropagation(random_state=0).fit(X, side=side)
    assert adjusted_rand_score(y, model.labels_) == 1.0
