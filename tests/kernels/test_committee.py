"""Chains against enumeration, and values of questions against brute force."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

import oracles_committee as oracle
from sidelight._kernels import committee as kernels

NOTHING = np.empty(0, dtype=np.int64)


def as_edges(A, C):
    row, col = np.nonzero((A != 0) | (C != 0))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(A)))])
    return indptr, col, A[row, col], C[row, col]


def six_items(seed):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((6, 6)) * (rng.random((6, 6)) < 0.6), 1)
    C = np.triu(rng.normal(size=(6, 6)) * (rng.random((6, 6)) < 0.3), 1)
    return A + A.T, C + C.T, rng.random(6)


def frequencies(samples, every):
    place = {z: k for k, z in enumerate(every)}
    count = np.zeros(len(every))
    for z in samples:
        count[place[tuple(z.tolist())]] += 1
    return count / count.sum()


def chains(A, C, d, *, n_chains, n_rounds, n_pieces, seed, beta=2.0, r=0.7, price=-0.5):
    indptr, other, a, c = as_edges(A, C)
    z = np.tile(np.arange(6), (n_chains, 1))
    kernels.run_chains(
        indptr, other, np.stack([a]), c, np.zeros(6, dtype=np.int8), d, np.full(n_chains, beta),
        np.full(n_chains, r), np.zeros(n_chains, dtype=np.int64), price, 0.0, np.array([0, 3]),
        NOTHING, np.zeros(1, dtype=np.int64), NOTHING, -1, n_rounds, n_pieces,
        np.uint64(seed), z, np.zeros(n_chains),
    )  # fmt: skip
    return z


@pytest.mark.parametrize("n_pieces", [0, 6])
@pytest.mark.parametrize("seed", range(2))
def test_chains_sample_the_enumerated_distribution(seed, n_pieces):
    A, C, d = six_items(seed)
    every, p = oracle.exact(2.0 * A + C, 0.7, d, -0.5)
    z = chains(A, C, d, n_chains=6_000, n_rounds=12, n_pieces=n_pieces, seed=seed)
    found = frequencies(z, every)
    # Half the sum of differences; its expectation for independent draws is below this bound.
    noise = 0.5 * np.sqrt(2 * p * (1 - p) / (np.pi * 6_000)).sum()
    assert 0.5 * np.abs(found - p).sum() < 1.5 * noise


@pytest.mark.parametrize("heat", [0.03, 0.3, 1.0])
def test_a_move_of_a_piece_leaves_the_distribution_as_it_is(heat):
    A, C, d = six_items(7)
    every, p = oracle.exact(2.0 * A + C, 0.7, d, -0.5)
    rng = np.random.default_rng(1)
    indptr, other, a, c = as_edges(A, C)
    state = np.array([5], dtype=np.uint64)
    after = []
    for k in rng.choice(len(every), p=p, size=6_000):
        z = np.array(every[k])
        count, volume = np.zeros(7, dtype=np.int64), np.zeros(7)
        np.add.at(count, z, 1)
        np.add.at(volume, z, d)
        kernels.move_piece(
            indptr, other, a, c, d, 2.0, 0.7, -0.5, heat, int(rng.integers(6)), z, state, count,
            volume, np.zeros((3, 8)), np.empty(6, dtype=np.int64), np.zeros(6, dtype=bool),
        )  # fmt: skip
        assert np.array_equal(count, np.bincount(z, minlength=7))
        kernels.compact(z, np.empty(7, dtype=np.int64))
        after.append(z)
    found = frequencies(after, every)
    noise = 0.5 * np.sqrt(2 * p * (1 - p) / (np.pi * 6_000)).sum()
    assert 0.5 * np.abs(found - p).sum() < 1.5 * noise


def test_an_annotated_item_may_overrule_its_neighbours_by_the_stated_rule():
    A = np.zeros((3, 3))
    C = np.zeros((3, 3))
    A[0, 1] = A[1, 0] = 4.0  # the graph: with 1
    C[0, 2] = C[2, 0] = 3.0  # an answer: with 2
    indptr, other, a, c = as_edges(A, C)
    eps, price, n = 0.2, -0.5, 20_000
    state, counts = np.array([3], dtype=np.uint64), np.zeros(3)
    told = np.array([1, 0, 0], dtype=np.int8)
    for _ in range(n):
        z = np.array([0, 1, 2])
        weight = np.zeros(5)
        kernels.sweep(
            indptr, other, a, c, told, np.zeros(3), 1.0, 0.0, price, eps, z, state,
            np.ones(4, dtype=np.int64) * [1, 1, 1, 0], np.zeros(4), np.stack([weight] * 3),
        )  # fmt: skip
        counts[0 if z[0] == 0 else (1 if z[0] == 1 else 2)] += 1
    graph = np.exp([price, 4.0, 0.0])  # a cluster of its own, item 1's, item 2's
    share = graph / graph.sum()
    even = eps / 3 * np.array([np.exp(price), 1.0, 1.0])
    p = ((1 - eps) * share + even) * np.exp([0.0, 0.0, 3.0])
    # Items 1 and 2 move later in the same sweep, which does not touch the label of item 0.
    assert np.abs(counts / n - p / p.sum()).max() < 0.01


def members(seed, n_chains=8, n=10):
    rng = np.random.default_rng(seed)
    z = rng.integers(4, size=(n_chains, n))
    for row in z:
        kernels.compact(row, np.empty(n + 1, dtype=np.int64))
    weights = rng.random(n_chains)
    return z, rng.integers(1, 6, size=n).astype(float), weights / weights.sum(), rng


def spread(z, mass, weights):
    G, error = np.empty((len(z), len(z))), np.empty(len(mass))
    kernels.disagreement(z, mass, weights, G, error, np.zeros((10, 10)))
    return G, error


@pytest.mark.parametrize("seed", range(2))
def test_the_value_of_a_question_is_that_of_brute_force_on_ten_items(seed):
    z, mass, weights, rng = members(seed)
    G, error = spread(z, mass, weights)
    loss = oracle.loss(z, mass, weights)
    assert np.isclose(weights @ np.diag(G) - weights @ G @ weights, loss)
    first, second = np.triu_indices(10, 1)
    value = np.empty(len(first))
    accuracy = 0.5 + 0.49 * rng.random()
    kernels.pair_values(z, weights, G, G @ weights, accuracy, first, second, value)
    expected = [
        oracle.pair_value(z, mass, weights, s, t, accuracy)
        for s, t in zip(first, second, strict=True)
    ]
    assert np.allclose(value, expected, atol=1e-9 * loss)
    assert np.allclose(error, [oracle.item_error(z, mass, weights, s) for s in range(10)])


def test_shares_of_chains_are_counted():
    z, _, weights, _ = members(1)
    P = np.empty((10, 10))
    kernels.comembership(np.ascontiguousarray(z.T), weights, P)
    expected = ((z[:, :, None] == z[:, None]) * weights[:, None, None]).sum(axis=0)
    assert np.allclose(P, expected)
    first, second = np.triu_indices(10, 1)
    p = np.empty(len(first))
    kernels.agreement(z, weights, first, second, p)
    assert np.allclose(p, expected[first, second])


def test_ward_is_that_of_scipy_for_equal_masses():
    X = np.random.default_rng(0).normal(size=(40, 3))
    D = ((X[:, None] - X) ** 2).sum(axis=2) / 2
    children, height = np.empty((39, 2), dtype=np.int64), np.empty(39)
    kernels.ward(D, np.ones(40), np.empty(40, dtype=np.int64), children, height)
    assert np.allclose(np.sort(np.sqrt(2 * height)), linkage(pdist(X), "ward")[:, 2])


def test_ward_counts_masses_as_repeated_points():
    rng = np.random.default_rng(1)
    X, mass = rng.normal(size=(12, 2)), rng.integers(1, 5, size=12)
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    D *= mass[:, None] * mass / (mass[:, None] + mass)
    children, height = np.empty((11, 2), dtype=np.int64), np.empty(11)
    kernels.ward(D, mass.astype(float), np.empty(12, dtype=np.int64), children, height)
    repeated = linkage(np.repeat(X, mass, axis=0), "ward")[:, 2]
    assert np.allclose(np.sort(np.sqrt(2 * height)), repeated[repeated > 1e-9])
