"""What all graph models share: the graph of the rows, and new rows beside them."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from sidelight import StructuralEntropyClustering, StructuralEntropyTree
from sidelight.exceptions import DataError
from sidelight.graph import check_graph, neighbor_graph
from sidelight.models._graph_base import GraphModel, RowGraph, Scaling
from sidelight.side import sample_pairs

ENTROPY = [StructuralEntropyClustering, StructuralEntropyTree]


def blobs(n=120, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, 4)) + 8.0 * rng.normal(size=(k, 4))[y], y


def row_graph(X, n_neighbors=8, **changes):
    settings = {"affinity": "gaussian", "bandwidth": "auto", "ties": "lowest", "scaling": None}
    return RowGraph.of(X, n_neighbors, **settings | changes, seed=0, step=lambda: None)


@pytest.mark.parametrize("affinity", ["gaussian", "local", "cosine"])
def test_the_graph_is_that_of_neighbor_graph(affinity):
    X, _ = blobs()
    rows = row_graph(X, affinity=affinity)
    assert_array_equal(rows.graph.toarray(), neighbor_graph(X, 8, affinity=affinity).toarray())


@pytest.mark.parametrize("affinity", ["gaussian", "local", "cosine"])
def test_similarities_of_pairs_are_those_of_the_graph(affinity):
    X, _ = blobs()
    rows = row_graph(X, affinity=affinity)
    edges = rows.graph.tocoo()
    assert_allclose(rows.similarity(edges.row, edges.col), edges.data, atol=1e-12)
    given = RowGraph.given(rows.graph, 0)
    assert_array_equal(given.similarity(edges.row, edges.col), edges.data)
    assert given.similarity(np.array([0]), np.array([0])) == 0


@pytest.mark.parametrize("affinity", ["gaussian", "local", "cosine"])
@pytest.mark.parametrize("scaling", [None, "z-score", "min-max"])
def test_fitted_rows_are_their_own_twins_and_new_rows_are_nobodys(affinity, scaling):
    X, _ = blobs()
    rows = row_graph(X, affinity=affinity, scaling=scaling)
    near = rows.near(X)
    assert near.is_twin.all()
    assert_array_equal(near.nearest, np.arange(len(X)))
    assert not rows.near(X + 0.01 * np.random.default_rng(1).normal(size=X.shape)).is_twin.any()


def test_locally_scaled_weights_of_new_rows_are_those_of_their_definition():
    X, _ = blobs()
    new = X[:5] + 0.1
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    to_new = np.sqrt(((new[:, None] - X[None]) ** 2).sum(axis=2))
    scales, new_scales = np.sort(D, axis=1)[:, 7], np.sort(to_new, axis=1)[:, 6]
    expected = np.exp(-(to_new**2) / (new_scales[:, None] * scales[None]))
    similar = row_graph(X, affinity="local").near(new).similar.toarray()
    assert ((similar > 0).sum(axis=1) == 8).all()
    assert_allclose(similar[similar > 0], expected[similar > 0], atol=1e-12)


def test_sparse_rows_are_scaled_as_dense_ones_and_stay_sparse_where_zeros_stay():
    X = np.maximum(blobs()[0], 0)
    for how in ("z-score", "min-max"):
        dense, thin = (Scaling.of(one, how).apply(one) for one in (X, sparse.csr_array(X)))
        assert sparse.issparse(thin) == (how == "min-max")
        assert_allclose(thin.toarray() if sparse.issparse(thin) else thin, dense, atol=1e-12)
    X, _ = blobs()
    assert_allclose(Scaling.of(X, "z-score").apply(X).std(axis=0), 1.0)
    constant = np.ones((4, 2))
    assert_array_equal(Scaling.of(constant, "min-max").apply(constant), 0.0)


@pytest.mark.filterwarnings("error")
def test_sparse_float32_near_its_largest_number_is_scaled_in_double_precision():
    X = np.array([[3e38], [-3e38], [1e38], [0.0]], dtype=np.float32)
    there, here = Scaling.of(sparse.csr_array(X), "z-score"), Scaling.of(X, "z-score")
    assert_allclose(there.shift, here.shift)
    assert_allclose(there.scale, here.scale)


class Voting(GraphModel):
    """The least that a graph model is: its clusters are the components of the graph."""

    accepts = ()
    repetition, contradictions, objective_sense = "ignored", "tolerated", "min"
    scales = ""

    def __init__(self, affinity="gaussian"):
        self.n_clusters, self.affinity, self.bandwidth = None, affinity, "auto"
        self.n_neighbors, self.neighbor_ties, self.scaling = 5, "lowest", None

    def fit(self, X, labels):
        self.n_features_in_ = X.shape[1]
        self._keep_rows(self._row_graph(X, 0, 0, lambda: None))
        self.labels_, self.n_clusters_ = labels, int(labels.max()) + 1
        return self


def test_new_rows_go_where_the_most_similarity_is():
    X, y = blobs()
    model = Voting().fit(X, y)
    new, truth = blobs(seed=0)
    assert_array_equal(model.predict(new + 0.01), truth)
    similar = model._rows.near(X + 0.3).similar.toarray()
    votes = np.stack([similar[:, y == k].sum(axis=1) for k in range(3)], axis=1)
    assert_array_equal(model.predict(X + 0.3), votes.argmax(axis=1))


def test_given_similarities_vote_too_and_rows_like_no_other_go_to_the_largest_cluster():
    W = np.kron(np.eye(2), np.ones((3, 3)))[:5, :5]
    model = Voting("precomputed").fit(W, np.array([0, 0, 0, 1, 1]))
    new = np.array([[0, 0, 0, 1, 0.5], [0.4, 0, 0, 0.5, 0], [0, 0, 0, 0, 0], [-1, -1, -1, 0, 0]])
    assert model.predict(new).tolist() == [1, 1, 0, 0]
    assert_array_equal(model.graph_.toarray(), check_graph(W).toarray())


@pytest.mark.parametrize("Model", ENTROPY)
def test_a_model_takes_locally_scaled_weights(Model):
    X, y = blobs()
    X[y == 0] *= 0.01  # one cluster a hundred times as dense: a single bandwidth fits one of them
    side = sample_pairs(y, 20, random_state=0)
    model = Model(3, affinity="local", n_neighbors=8, scaling=None, random_state=0)
    labels = model.fit_predict(X, side=side)
    assert len({(a, b) for a, b in zip(labels, y, strict=True)}) == 3
    assert_array_equal(model.predict(X), labels)
    assert np.isnan(model.bandwidth_)


@pytest.mark.parametrize("Model", ENTROPY)
def test_a_fitted_model_keeps_no_working_memory(Model):
    X, y = blobs(4_000)
    side = sample_pairs(y, 400, random_state=0)
    model = Model(n_neighbors=5, random_state=0).fit(X, side=side)
    known = [X, model.graph_.data, model.graph_.indices, model.graph_.indptr, model.labels_]
    known += [np.concatenate(side.statements.columns)]
    if Model is StructuralEntropyTree:
        known += [a for t in (model.tree_, model.binary_tree_) for a in (t.parent, t.heights)]
        known += [model.binary_tree_.heights]  # volumes of its nodes, for `cut`
    # Beside what a user can look at there is next to nothing.
    assert len(pickle.dumps(model)) < 1.15 * sum(a.nbytes for a in known)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X), model.labels_)
    if Model is StructuralEntropyTree:
        assert_array_equal(again.cut(5), model.cut(5))


@pytest.mark.parametrize("Model", ENTROPY)
def test_more_clusters_than_rows_are_refused(Model):
    with pytest.raises(DataError, match="n_samples=4, fewer than n_clusters=5"):
        Model(5).fit(np.eye(4))


@pytest.mark.parametrize("Model", ENTROPY)
def test_a_fit_that_fails_leaves_no_attributes_of_a_fitted_model(Model):
    model = Model(affinity="precomputed")
    with pytest.raises(DataError, match="not symmetric"):
        model.fit(np.triu(np.ones((9, 9))))
    assert {name for name in vars(model) if name.endswith("_")} <= {"n_features_in_"}
