"""Graphs in parts, rows without neighbours, negative numbers, contradictions: nine models."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from sidelight.exceptions import SidelightError
from sidelight.models import (
    ConstrainedMeanShift,
    ConstrainedSpectral,
    ConstraintPropagation,
    LabelPropagationNMF,
    PropagatedSymmetricNMF,
    RelationSpectral,
    SelfSupervisedNMF,
    SemiMultiCons,
    SparsestCutTree,
)
from sidelight.side import SideInformation

PARTS, SIZE = 5, 8
N = PARTS * SIZE + 2
# All whose rows may be similarities; LabelPropagationNMF factorises the rows themselves.
OF_GRAPHS = [
    ConstraintPropagation(3, affinity="precomputed"),
    RelationSpectral(3, affinity="precomputed"),
    ConstrainedSpectral(3, affinity="precomputed"),
    SparsestCutTree(3, affinity="precomputed"),
    PropagatedSymmetricNMF(3, affinity="precomputed", n_init=2),
    SelfSupervisedNMF(3, affinity="precomputed", n_members=3, n_rounds=2),
]
NINE = [
    ConstraintPropagation(3),
    RelationSpectral(3),
    ConstrainedSpectral(3),
    SparsestCutTree(3),
    PropagatedSymmetricNMF(3, n_init=2),
    SelfSupervisedNMF(3, n_members=3, n_rounds=2),
    LabelPropagationNMF(3),
    ConstrainedMeanShift(n_steps=10),
    SemiMultiCons(),
]


def _name(model):
    return type(model).__name__


def in_parts(with_lonely_rows):
    """Five cliques that nothing joins, and two rows that no edge reaches."""
    W = np.kron(np.eye(PARTS), np.ones((SIZE, SIZE)))
    np.fill_diagonal(W, 0.0)
    if not with_lonely_rows:
        return sparse.csr_array(W), np.repeat(np.arange(PARTS), SIZE)
    whole = np.zeros((N, N))
    whole[: N - 2, : N - 2] = W
    return sparse.csr_array(whole), np.append(np.repeat(np.arange(PARTS), SIZE), [-1, -1])


def labels_of_two(model, n):
    """Labels of two rows of the first part and one of the second, for models that take them."""
    y = np.full(n, -1)
    y[[0, 1, SIZE]] = [0, 0, 1]
    return SideInformation.from_labels(y) if "label" in type(model).accepts else None


def fitted(model, X, side):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that parts are more than clusters is said elsewhere
        return model.set_params(random_state=0).fit(X, side=side)


@pytest.mark.parametrize("with_lonely_rows", [False, True])
@pytest.mark.parametrize("model", OF_GRAPHS, ids=_name)
def test_a_graph_in_parts_is_an_answer_and_parts_are_not_torn(model, with_lonely_rows):
    W, part = in_parts(with_lonely_rows)
    found = fitted(model, W, labels_of_two(model, len(part)))
    assert found.labels_.shape == (len(part),)
    assert set(found.labels_) <= set(range(found.n_clusters_))
    assert np.isfinite(found.objective_)
    for number in range(PARTS):
        assert len(set(found.labels_[part == number])) == 1


@pytest.mark.parametrize("model", OF_GRAPHS, ids=_name)
def test_negative_similarities_are_refused(model):
    W, _ = in_parts(False)
    W = W.toarray()
    W[0, 1] = W[1, 0] = -0.5
    with pytest.raises(SidelightError, match="negative|below zero|below 0|at least 0|zero or more"):
        fitted(model, W, None)


@pytest.mark.parametrize("model", NINE, ids=_name)
def test_negative_numbers_are_no_obstacle(model):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 20)
    X = -50.0 + 6.0 * np.eye(3)[y] + rng.normal(size=(60, 3)) * 0.3
    side = SideInformation.from_labels(np.where(np.arange(60) % 10 == 0, y, -1))
    if "label" not in type(model).accepts:
        side = None
    found = fitted(model, X, side)
    assert [len(set(found.labels_[y == k])) for k in range(3)] == [1, 1, 1]
    assert len(set(found.labels_)) == 3


@pytest.mark.parametrize("model", NINE, ids=_name)
def test_contradictory_statements_end_in_an_answer_that_names_them(model):
    X = np.random.default_rng(1).normal(size=(30, 3))
    kinds = type(model).accepts
    side = SideInformation.empty(30)
    if "label" in kinds:
        y = np.full(30, -1)
        y[:4] = [0, 0, 1, 1]
        other = np.where(np.arange(30) == 0, 1, -1)
        side = SideInformation.from_labels(y) + SideInformation.from_labels(other)
    if "must" in kinds:
        side = side + SideInformation.from_pairs(must=[(5, 6), (6, 7)], n_samples=30)
    if "cannot" in kinds:
        side = side + SideInformation.from_pairs(cannot=[(5, 7)], n_samples=30)
    assert side.n_statements
    found = fitted(model, X, side)
    assert found.labels_.shape == (30,)
    assert found.result_.violated.any()
