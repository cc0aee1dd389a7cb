"""Spectral models: the changed graph and the penalty against their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg, sparse
from sklearn.metrics import adjusted_rand_score

from sidelight import ConstrainedSpectral, RelationSpectral, SideInformation
from sidelight.exceptions import DataError
from sidelight.graph import neighbor_graph, normalized_adjacency
from sidelight.models._graph.constrained import penalised_eigenvectors
from sidelight.models._graph.relation import agreement, with_statements
from sidelight.models._relation import relation_of
from sidelight.side import sample_labels, sample_pairs

BOTH = [RelationSpectral, ConstrainedSpectral]


def blobs(n=90, k=3, seed=0, spread=4.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, 3)) + spread * rng.normal(size=(k, 3))[y], y


def strips(seed=0):
    """Two strips side by side: the plain graph is cut across."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 100)
    return np.column_stack([rng.uniform(0, 4, 200), rng.uniform(0, 1, 200) + 1.15 * y]), y


@pytest.mark.parametrize("seed", range(3))
def test_the_graph_with_statements_is_that_of_the_definition(seed):
    X, y = blobs(seed=seed)
    W = neighbor_graph(X, 6, affinity="local")
    sources = {
        name: sample_pairs(y, 15, random_state=seed + k) for k, name in enumerate(["ann", "bob"])
    }
    weights = {"ann": 1.0, "bob": 0.5}
    found = with_statements(W, sources, weights).toarray()
    expected, highest = W.toarray(), W.data.max()
    likeness = W.toarray()
    for name, side in sources.items():
        closure = side.closure()
        i, j = np.indices(expected.shape)
        together = closure.together(i, j) & (i != j)
        apart = closure.apart(i, j)
        R = np.where(together, highest - likeness, 0.0) + np.where(apart, -likeness, 0.0)
        expected = expected + weights[name] * R
    expected = np.maximum(expected, 0.0)
    # Groups of at most three rows are tied completely.
    assert max(side.closure().sizes.max() for side in sources.values()) <= 5
    both = found > 0
    assert_allclose(found[both], expected[both])
    few = sum((side.closure().sizes > 3).sum() for side in sources.values())
    assert few or (expected[~both] == 0).all()


def test_weights_of_annotators_are_their_agreement_with_the_clusters():
    y = np.repeat([0, 1], 100)
    right, wrong = sample_pairs(y, 60, random_state=0), sample_pairs(1 - y, 60, random_state=1)
    some = sample_pairs(y, 60, accuracy=0.5, exact=True, random_state=2)
    found = agreement({"a": right, "b": wrong, "c": some}, y)
    assert found["a"] == found["b"] == 1.0
    assert found["c"] < 0.4


def test_an_annotator_who_is_wrong_counts_for_less():
    X, y = blobs(200, k=2, spread=3.0)
    ann = sample_pairs(y, 60, annotators=["ann"], random_state=0)
    bob = sample_pairs(y, 60, annotators=["bob"], accuracy=0.3, random_state=1)
    model = RelationSpectral(2, source_weights="agreement", random_state=0).fit(X, side=ann + bob)
    assert model.source_weights_["ann"] > 0.8 > 0.5 > model.source_weights_["bob"]
    given = RelationSpectral(2, source_weights={"bob": 0.0}, random_state=0).fit(X, side=ann + bob)
    alone = RelationSpectral(2, random_state=0).fit(X, side=ann)
    assert_array_equal(given.labels_, alone.labels_)
    with pytest.raises(DataError, match="source_weights has -1"):
        RelationSpectral(2, source_weights={"bob": -1}).fit(X, side=bob)


@pytest.mark.parametrize("weight", [0.3, 0.8])
@pytest.mark.parametrize("seed", range(3))
def test_penalised_eigenvectors_are_those_of_dense_algebra(seed, weight):
    X, y = blobs(seed=seed)
    side = sample_labels(y, 8, random_state=seed) + sample_pairs(y, 12, random_state=seed)
    W, relation = neighbor_graph(X, 10, affinity="local"), relation_of(side)
    R = (relation.members @ relation.between @ relation.members.T).toarray()
    np.fill_diagonal(R, 0.0)
    size = np.abs(R).sum(axis=1)
    root = np.where(size > 0, 1 / np.sqrt(np.where(size > 0, size, 1)), 0.0)
    P = np.diag((size > 0).astype(float)) - root[:, None] * R * root
    L = np.eye(len(X)) - normalized_adjacency(W).toarray()
    A = (1 - weight) * L + weight * P
    values = linalg.eigvalsh(A)
    assert values[0] >= -1e-12
    found = penalised_eigenvectors(W, relation, weight, 5)
    assert_allclose(2 * (1 - found.values), values[:5], atol=1e-9)
    assert_allclose(A @ found.vectors, found.vectors * values[:5], atol=1e-8)


def test_the_penalty_is_the_sum_over_pairs():
    side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(2, 3)], n_samples=4)
    relation = relation_of(side)
    nothing = sparse.csr_array((4, 4))
    found = penalised_eigenvectors(nothing, relation, 0.5, 4)
    A = found.vectors @ np.diag(2 * (1 - found.values)) @ found.vectors.T
    for x in np.random.default_rng(0).normal(size=(5, 4)):
        expected = 0.5 * ((x[0] - x[1]) ** 2 + (x[2] + x[3]) ** 2)
        assert_allclose(x @ A @ x, expected)


def test_eigenvectors_of_a_graph_in_parts_are_found_in_each():
    X, y = blobs(1650, spread=40.0)  # parts of 550 rows: too many for an array
    W = neighbor_graph(X, 8, affinity="local")
    relation = relation_of(sample_pairs(y, n_must=10, random_state=0))
    found = penalised_eigenvectors(W, relation, 0.5, 6)
    assert (found.values > 0.999).sum() == 3
    assert_allclose(found.vectors.T @ found.vectors, np.eye(6), atol=1e-7)
    leading = np.abs(found.vectors[:, :3]) > 1e-6
    assert_array_equal(leading.sum(axis=1), 1)
    assert adjusted_rand_score(y, leading.argmax(axis=1)) == 1.0


@pytest.mark.parametrize("model", BOTH)
def test_statements_turn_the_cut(model):
    X, y = strips()
    side = sample_pairs(y, 80, random_state=0)
    rest = np.setdiff1d(np.arange(200), side.annotated_rows)
    assert adjusted_rand_score(y, model(2, random_state=0).fit_predict(X)) < 0.1
    found = model(2, random_state=0).fit_predict(X, side=side)
    assert adjusted_rand_score(y[rest], found[rest]) > 0.8


@pytest.mark.parametrize("model", BOTH)
def test_the_number_of_clusters_is_found(model):
    X, y = blobs(150, k=4, spread=12.0)
    fitted = model(random_state=0).fit(X, side=sample_pairs(y, 20, random_state=0))
    assert fitted.n_clusters_ == 4
    assert fitted.n_clusters_rule_ in ("eigengap", "statements")


def test_without_penalty_only_the_graph_is_changed():
    X, y = blobs()
    side = sample_pairs(y, 20, random_state=0)
    one = ConstrainedSpectral(3, side_weight=0, random_state=0).fit(X, side=side)
    other = RelationSpectral(3, random_state=0).fit(X, side=side)
    assert_array_equal(one.labels_, other.labels_)
