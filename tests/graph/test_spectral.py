import numpy as np
import pytest
from scipy import sparse

from sidelight.blocks import threads
from sidelight.graph import leading_eigenvectors, neighbor_graph, normalized_adjacency


def rows(n=60, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def dense(graph):
    """Eigenvalues and eigenvectors of S from its definition, the largest first."""
    W = graph.toarray()
    degree = W.sum(axis=1)
    root = np.where(degree > 0, 1 / np.sqrt(np.where(degree > 0, degree, 1)), 0)
    values, vectors = np.linalg.eigh(root[:, None] * W * root[None])
    return values[::-1], vectors[:, ::-1]


def check(graph, n_vectors, atol=1e-8):
    """Eigenvalues as in a dense decomposition; vectors orthonormal, and eigenvectors."""
    values, vectors = leading_eigenvectors(graph, n_vectors)
    np.testing.assert_allclose(values, dense(graph)[0][:n_vectors], atol=atol)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=atol)
    S = normalized_adjacency(graph)
    np.testing.assert_allclose(S @ vectors, vectors * values, atol=atol)
    return values, vectors


def parts(*sizes, seed=0):
    """A graph of several components."""
    blocks = [neighbor_graph(rows(n, seed=seed + k), 6) for k, n in enumerate(sizes)]
    return sparse.csr_array(sparse.block_diag(blocks, format="csr"))


def test_the_normalised_adjacency_is_that_of_its_definition_and_symmetric():
    W = neighbor_graph(rows(), 5)
    S = normalized_adjacency(W)
    degree = W.toarray().sum(axis=1)
    expected = W.toarray() / np.sqrt(degree[:, None] * degree[None])
    np.testing.assert_allclose(S.toarray(), expected, atol=1e-14)
    assert (S != S.T).nnz == 0


@pytest.mark.parametrize("n", [60, 900])  # from an array, and by Lanczos
def test_leading_vectors_are_those_of_a_dense_decomposition(n):
    W = neighbor_graph(rows(n), 10)
    values, vectors = check(W, 20)
    _, expected = dense(W)
    # No two eigenvalues are equal here, so that vectors are the same but for their sign.
    cosine = np.abs((vectors * expected[:, :20]).sum(axis=0))
    np.testing.assert_allclose(cosine, 1.0, atol=1e-6)
    degree = np.sqrt(W.toarray().sum(axis=1))
    np.testing.assert_allclose(vectors[:, 0], degree / np.linalg.norm(degree), atol=1e-12)
    assert values[0] == 1.0 > values[1]


@pytest.mark.parametrize("n", [60, 900])
def test_single_precision_gives_nearly_the_same_vectors(n):
    graph = neighbor_graph(rows(n), 10)
    double, single = (leading_eigenvectors(graph, 5, single=single) for single in (False, True))
    np.testing.assert_allclose(single.values, double.values, atol=1e-5)
    np.testing.assert_allclose(single.vectors, double.vectors, atol=1e-3)
    assert single.vectors.dtype == np.float64


def test_where_single_precision_does_not_converge_double_is_used():
    # All but two eigenvalues of a star are zero: there is nothing for iterations to separate.
    n = 600
    spokes = sparse.csr_array((np.ones(n - 1), (np.zeros(n - 1, int), np.arange(1, n))), (n, n))
    star = sparse.csr_array(spokes + spokes.T)
    values, vectors = leading_eigenvectors(star, 3, single=True)
    np.testing.assert_allclose(values, [1.0, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-6)


@pytest.mark.parametrize("n", [60, 900])
def test_the_largest_entry_of_each_vector_is_above_zero(n):
    _, vectors = leading_eigenvectors(neighbor_graph(rows(n), 10), 20)
    largest = np.abs(vectors).argmax(axis=0)
    assert (vectors[largest, np.arange(20)] > 0).all()


def test_of_a_vector_with_two_largest_entries_the_first_is_above_zero():
    path = sparse.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    _, vectors = leading_eigenvectors(path, 2)
    np.testing.assert_allclose(vectors[:, 1], [np.sqrt(0.5), 0, -np.sqrt(0.5)], atol=1e-12)


def test_components_come_first_each_with_a_vector_of_its_own_the_largest_first():
    W = parts(20, 70, 40)
    values, vectors = check(W, 12)
    assert (values[:3] == 1.0).all()
    assert values[3] < 1.0
    where = [np.flatnonzero(vectors[:, k]) for k in range(3)]
    assert [(w[0], w[-1], len(w)) for w in where] == [(20, 89, 70), (90, 129, 40), (0, 19, 20)]


@pytest.mark.parametrize("n", [50, 800])
def test_equal_components_have_every_eigenvalue_as_often_as_there_are_components(n):
    one = neighbor_graph(rows(n), 10)
    W = sparse.csr_array(sparse.block_diag([one] * 4, format="csr"))
    values, _ = leading_eigenvectors(W, 24)
    np.testing.assert_allclose(values, np.repeat(dense(one)[0][:6], 4), atol=1e-8)


def test_eigenvalues_that_one_component_has_twice_are_found_twice():
    n = 1001
    r = np.arange(n)
    row, column = np.r_[r, (r + 1) % n], np.r_[(r + 1) % n, r]
    ring = sparse.csr_array((np.ones(2 * n), (row, column)), shape=(n, n))
    values, vectors = leading_eigenvectors(ring, 15)
    np.testing.assert_allclose(values, np.sort(np.cos(2 * np.pi * r / n))[::-1][:15], atol=1e-9)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(15), atol=1e-8)


def test_rows_without_neighbours_are_zero_but_in_the_vectors_of_eigenvalue_zero():
    W = sparse.lil_array((8, 8))
    for i, j in ((1, 2), (2, 5), (1, 5), (5, 6)):
        W[i, j] = W[j, i] = 1.0 + i
    W = sparse.csr_array(W)
    alone = [0, 3, 4, 7]
    values, vectors = check(W, 8)
    assert (values == 0).sum() == 4
    assert not vectors[alone][:, values != 0].any()
    nothing = leading_eigenvectors(sparse.csr_array((3, 3)), 2)
    assert nothing.values.tolist() == [0, 0]
    assert nothing.vectors.tolist() == [[1, 0], [0, 1], [0, 0]]


def test_fewer_rows_than_vectors_have_as_many_vectors_as_rows():
    check(neighbor_graph(rows(9), 3), 9)
    assert leading_eigenvectors(neighbor_graph(rows(9), 3), 60).vectors.shape == (9, 9)
    assert leading_eigenvectors(sparse.csr_array((0, 0)), 3).vectors.shape == (0, 0)


def test_more_components_than_vectors_leave_the_smallest_out():
    values, vectors = leading_eigenvectors(parts(20, 30, 10, 25), 2)
    assert values.tolist() == [1, 1]
    assert [np.flatnonzero(v)[0] for v in vectors.T] == [20, 60]


@pytest.mark.parametrize("n", [60, 1200])
def test_the_same_bits_for_any_number_of_threads_and_every_time(n):
    W = neighbor_graph(rows(n), 10)
    found = []
    for n_threads in (1, 2, 1):
        with threads(n_threads):
            found.append(leading_eigenvectors(W, 20))
    assert all((f.vectors == found[0].vectors).all() for f in found)
    assert all((f.values == found[0].values).all() for f in found)
