"""Every incremental quantity of Markov aggregation against its definition."""

import numpy as np
import pytest
from scipy import sparse

import oracles_markov_aggregation as oracle
from kernel_parts import called_from_python
from sidelight._kernels import aggregate as kernels
from sidelight.models._markov import chain as chains
from sidelight.models._markov import search as search
from sidelight.models._markov import statements as statements
from sidelight.side import SideInformation

BETAS = [0.0, 0.25, 0.5, 0.75, 1.0]
KINDS = [(dense, reversible) for dense in (True, False) for reversible in (True, False)]


def random_chain(rng, n, *, dense, reversible):
    """A chain with strong and vanishing similarities, and rows that reach few others."""
    W = rng.random((n, n)) * np.exp(-12 * rng.random((n, n)))
    W *= rng.random((n, n)) < (1.0 if dense else 0.3)
    W[np.arange(n), np.arange(n)] = rng.random(n) + 0.01
    if reversible:
        W = W + W.T
        return chains.similarity_chain(W if dense else sparse.csr_array(W))
    W[np.arange(n), (np.arange(n) + 1) % n] += 0.05  # a ring: every state is recurrent
    return chains.transition_chain(W if dense else sparse.csr_array(W))


def joint(chain):
    J = chain.matrix()
    return J if chain.is_dense else J.toarray()


def random_side(rng, n):
    """All kinds of statement, with weights, two vocabularies, and contradictions."""
    m = 14
    kind = rng.choice(["must", "cannot", "label", "not_label"], size=m)
    i = rng.integers(n, size=m)
    j = (i + 1 + rng.integers(n - 1, size=m)) % n
    pairs = np.isin(kind, ["must", "cannot"])
    names = np.where(pairs, None, rng.choice(["a", "b", "c"], size=m).astype(object))
    vocabulary = np.where(pairs | (rng.random(m) < 0.6), None, "theirs")
    return SideInformation.from_columns(
        kind,
        i,
        np.where(pairs, j, None),
        class_=names,
        vocabulary=vocabulary,
        weight=rng.choice([0.5, 1.0, 2.0], size=m),
        n_samples=n,
    )


def random_case(seed, *, dense, reversible, hard):
    rng = np.random.default_rng(seed)
    n, n_clusters = int(rng.integers(8, 30)), int(rng.integers(2, 5))
    chain = random_chain(rng, n, dense=dense, reversible=reversible)
    side = random_side(rng, n)
    units = statements.hard_units(side) if hard else statements.soft_units(side, 0.3 / n)
    labels = rng.integers(n_clusters, size=units.n_units)
    return chain, units, labels, n_clusters


def kernel_changes(chain, units, state, u, beta):
    own, moving = state.labels[u], search.moving_units(chain, units)
    rules = kernels.Rules(beta, chain.is_reversible, units.is_hard, units.penalty, True)
    work = search.work_space(chain, len(state.p))
    known = (u, own, chain.Jt, moving, rules, kernels.State(*state[:-1]), work)
    if chain.is_dense:
        called_from_python(kernels.changes_dense)(*known, search.logs_of(state.R))
    else:
        called_from_python(kernels.changes_sparse)(*known)
    return work.change - work.change[own]


def test_logarithms_are_exact():
    values = np.concatenate([10.0 ** -np.arange(300), np.random.default_rng(0).random(1000), [2.0]])
    logs, scratch = np.empty((2, len(values)))
    log2_all = called_from_python(kernels.log2_all)
    log2_all(values, logs, scratch)
    np.testing.assert_allclose(logs, np.log2(values), rtol=4e-16, atol=4e-16)
    log2_all(np.zeros(3), logs[:3], scratch[:3])
    assert (0.0 * logs[:3] == 0).all()


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("dense", "reversible"), KINDS)
def test_predicted_changes_are_the_measured_ones(dense, reversible, beta):
    for seed in range(6):
        chain, units, labels, K = random_case(
            seed, dense=dense, reversible=reversible, hard=seed % 2 == 0
        )
        J = joint(chain)
        state = search.State.of(chain, units, labels, K)
        before = oracle.aggregation_cost(J, labels[units.of_row], K, beta)
        assert state.cost(chain, beta) == pytest.approx(before, abs=1e-10)
        for u in range(units.n_units):
            measured = []
            for k in range(K):
                tried = labels.copy()
                tried[u] = k
                measured.append(oracle.aggregation_cost(J, tried[units.of_row], K, beta) - before)
            np.testing.assert_allclose(
                kernel_changes(chain, units, state, u, beta), measured, atol=1e-10
            )


def test_predicted_changes_hold_for_many_rows():
    # More rows than lanes, and similarities from one to 1e-300.
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.3, size=(70, 2)) for c in (0.0, 4.0, 9.0)])
    chain, _ = chains.dense_chain(X, 5, False)
    units = statements.no_statements(len(X))
    labels = rng.integers(3, size=len(X))
    labels[70:] = np.repeat([1, 2], 70)
    state = search.State.of(chain, units, labels, 3)
    for beta in (0.0, 1.0):
        before = oracle.aggregation_cost(chain.J, labels, 3, beta)
        for u in range(0, len(X), 7):
            changed = kernel_changes(chain, units, state, u, beta)
            for k in range(3):
                tried = labels.copy()
                tried[u] = k
                measured = oracle.aggregation_cost(chain.J, tried, 3, beta) - before
                assert changed[k] == pytest.approx(measured, abs=1e-10)


@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("dense", "reversible"), KINDS)
def test_a_sweep_is_the_obvious_one_and_keeps_its_sums(dense, reversible, beta, hard):
    for seed in range(3):
        chain, units, labels, K = random_case(seed, dense=dense, reversible=reversible, hard=hard)
        moving = search.moving_units(chain, units)
        state = search.State.of(chain, units, labels.copy(), K)
        keep_all = seed % 2 == 0
        for _ in range(3):
            search.match(units, state)
            expected = oracle.aggregation_sweep(
                joint(chain), units, state.labels, state.cluster_of, K, beta, keep_all
            )
            search.sweep(chain, units, state, moving, beta, keep_all)
            np.testing.assert_array_equal(state.labels, expected)
            anew = search.State.of(chain, units, state.labels.copy(), K)
            for name in ("counts", "R", "T", "Q", "hQ", "p", "rival_mass"):
                np.testing.assert_allclose(
                    getattr(state, name), getattr(anew, name), atol=1e-10, err_msg=name
                )


@pytest.mark.parametrize("hard", [True, False])
def test_the_weight_of_broken_statements_is_counted_one_by_one(hard):
    for seed in range(10):
        chain, units, labels, K = random_case(seed, dense=True, reversible=True, hard=hard)
        state = search.State.of(chain, units, labels, K)
        expected = oracle.broken_weight(units, labels, state.cluster_of)
        assert state.broken(units) == pytest.approx(expected, abs=1e-12)


def test_the_stationary_distribution_is_that_of_a_long_walk():
    rng = np.random.default_rng(3)
    for _ in range(10):
        n = int(rng.integers(2, 12))
        P = rng.random((n, n)) * (rng.random((n, n)) < 0.3)  # often with several classes
        P[np.arange(n), np.arange(n)] += 0.1
        P /= P.sum(axis=1, keepdims=True)
        pi = chains.stationary_distribution(sparse.csr_array(P))
        np.testing.assert_allclose(pi, oracle.stationary(P), atol=1e-9)
        np.testing.assert_allclose(pi @ P, pi, atol=1e-14)


def test_elimination_is_exact_where_the_chain_is_nearly_reducible():
    # Two states that are left with probabilities 1e-14 and 3e-14: pi is (3, 1) / 4.
    P = np.array([[1 - 1e-14, 1e-14], [3e-14, 1 - 3e-14]])
    masses = np.empty(2)
    kernels.eliminate_states(P.copy(), masses)
    np.testing.assert_allclose(masses, [0.75, 0.25], rtol=1e-12)


def test_large_classes_have_the_same_stationary_distribution(monkeypatch):
    rng = np.random.default_rng(0)
    P = rng.random((40, 40))
    P = sparse.csr_array(P / P.sum(axis=1, keepdims=True))
    exact = chains.stationary_distribution(P)
    monkeypatch.setattr(chains, "_MOST_ELIMINATED", 10)
    np.testing.assert_allclose(chains.stationary_distribution(P), exact, atol=1e-13)
