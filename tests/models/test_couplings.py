"""Statements as couplings: sums over groups against all pairs, one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from oracles_bayesian_mixture import pair_strengths, statement_cost
from sidelight import SideInformation
from sidelight.exceptions import SideInformationError
from sidelight.models._bayesian.statements import Couplings, Strength
from strategies import sides

STRENGTHS = [(2.0, 0.5), (1.0, 0.0), (0.0, 3.0), ({None: 1.0, "ann": 0.3, "bob": 4.0}, 0.7)]


def random_state(n, T, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, T)), rng.dirichlet(np.ones(T), size=n)


def potentials(T, seed=0):
    V = np.random.default_rng(seed).random((T, T))
    V = V + V.T
    np.fill_diagonal(V, 0.0)
    return [(None, 1.0 - np.eye(T)), (V, V)]


@given(sides(min_rows=2), st.sampled_from(STRENGTHS), st.booleans())
def test_rows_with_neighbours_are_those_in_a_pair_with_strength(side, strength, per_label):
    attract, repel = pair_strengths(side, *strength, per_label)
    couplings = Couplings.of(side, Strength(*strength, per_label))
    assert_array_equal(couplings.rows, np.flatnonzero((attract + repel).any(axis=1)))


@given(sides(min_rows=2), st.sampled_from(STRENGTHS), st.booleans())
def test_sweep_is_best_response_by_best_response_and_its_bound_is_the_definition(
    side, strength, per_label
):
    couplings = Couplings.of(side, Strength(*strength, per_label))
    rows = couplings.rows
    attract, repel = (a[np.ix_(rows, rows)] for a in pair_strengths(side, *strength, per_label))
    scores, phi = random_state(len(rows), 3)
    for given_V, V in potentials(3):
        expected = phi.copy()
        before = -np.inf
        for i in range(len(rows)):
            cost = V @ (attract[i] @ expected) + repel[i] @ expected
            expected[i] = softmax(scores[i] - cost)
            now = bound(scores, expected, attract, repel, V)
            assert now >= before - 1e-9
            before = now
        found = phi.copy()
        value = couplings.sweep(scores, found, given_V)
        assert_allclose(found, expected, atol=1e-12)
        assert_allclose(value, bound(scores, expected, attract, repel, V), atol=1e-10)


def bound(scores, phi, attract, repel, V):
    entropy = -(phi * np.log(np.maximum(phi, 1e-300))).sum()
    return (phi * scores).sum() + entropy - statement_cost(attract, repel, phi, V)


@given(sides(min_rows=2))
def test_order_of_statements_does_not_change_a_bit(side):
    order = np.random.default_rng(0).permutation(side.n_statements)
    said = side.statements
    shuffled = SideInformation.from_columns(
        said.kind[order],
        said.i[order],
        [None if j < 0 else j for j in said.j[order]],
        class_=[None if c < 0 else side.classes[c] for c in said.class_code[order]],
        weight=said.weight[order],
        annotator=[None if a < 0 else side.annotators[a] for a in said.annotator[order]],
        vocabulary=[None if v < 0 else side.vocabularies[v] for v in said.vocabulary[order]],
        n_samples=side.n_samples,
    )
    one, two = (Couplings.of(s, Strength(1.3, 0.4, True)) for s in (side, shuffled))
    assert_array_equal(one.rows, two.rows)
    for a, b in zip((*one.said, one.vocabulary), (*two.said, two.vocabulary), strict=True):
        assert_array_equal(a, b)


@pytest.mark.parametrize("n", [10, 1000])
def test_label_pulls_with_its_nats_whatever_the_size_of_its_group(n):
    m = n // 2
    side = SideInformation.from_labels(np.repeat([0, 1], m))
    phi = np.eye(2)[np.repeat([0, 1], m)]
    Couplings.of(side, Strength(3.0, 2.0, True)).sweep(np.zeros((n, 2)), phi, None)
    assert_allclose(np.log(phi[0, 0] / phi[0, 1]), 3.0 * (m - 1) / m + 2.0)


def test_all_at_once_two_linked_rows_swap_for_ever_one_by_one_they_settle():
    side = SideInformation.from_pairs(must=[(0, 1)], n_samples=2)
    couplings = Couplings.of(side, Strength(50.0, 50.0, True))
    phi = np.eye(2)
    bounds = [couplings.sweep(np.zeros((2, 2)), phi, None) for _ in range(3)]
    assert_array_equal(phi[0] > 0.5, phi[1] > 0.5)
    assert bounds[0] <= bounds[1] <= bounds[2]


@pytest.mark.parametrize("per_label", [False, True])
def test_a_row_that_is_not_c_repels_the_rows_that_are(per_label):
    side = SideInformation.from_labels([None, "c", None, None])
    side += SideInformation.from_columns(
        "not_label", [0, 2, 3], class_=["c", "d", "c"], vocabulary=[None, None, "v"], n_samples=4
    )
    couplings = Couplings.of(side, Strength(5.0, 2.0, per_label))
    assert couplings.rows.tolist() == [0, 1]  # nobody is d, or c in the vocabulary v
    assert_allclose(couplings.cost(np.array([[1.0, 0.0], [1.0, 0.0]]), None), 2.0)
    assert_allclose(couplings.cost(np.array([[0.0, 1.0], [1.0, 0.0]]), None), 0.0)
    for moved, other in ((0, 1), (1, 0)):
        phi = np.array([[0.5, 0.5], [0.5, 0.5]])
        phi[other] = 1.0, 0.0
        couplings.sweep_some(np.array([moved]), np.zeros((1, 2)), phi, couplings.sums(phi), None)
        assert_allclose(np.log(phi[moved, 1] / phi[moved, 0]), 2.0)


def test_annotator_without_a_weight_is_named():
    side = SideInformation.from_pairs(must=[(0, 1)], n_samples=2, annotator="ann")
    with pytest.raises(SideInformationError, match="no entry for 'ann'"):
        Couplings.of(side, Strength({"bob": 1.0}, 1.0, True))
    with pytest.raises(SideInformationError, match="log-odds"):
        Couplings.of(side, Strength({"ann": -1.0}, 1.0, True))
    everybody = {"ann": 2.0, "somebody else": 3.0}
    assert len(Couplings.of(side, Strength(everybody, 1.0, True)).rows) == 2
