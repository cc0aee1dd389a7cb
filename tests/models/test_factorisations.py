"""Nonnegative factorisations: objectives against their definitions, which no step raises."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from sidelight import (
    LabelPropagationNMF,
    PropagatedSymmetricNMF,
    SelfSupervisedNMF,
    SideInformation,
)
from sidelight.exceptions import LostClassWarning, UnsupportedStatementError
from sidelight.graph import neighbor_graph
from sidelight.models._factorisation import label_propagation, propagated, self_supervised
from sidelight.models._factorisation.family import FLOOR, Few, descend, multiplied, start_of
from sidelight.models._relation import relation_of
from sidelight.side import sample_labels, sample_pairs


def blobs(n=60, k=3, seed=0, spread=4.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, 4)) + spread * rng.normal(size=(k, 4))[y], y


def everything(seed, n=60):
    X, y = blobs(n, seed=seed)
    side = sample_labels(y, 9, random_state=seed) + sample_pairs(y, 8, random_state=seed)
    return X, y, side


def test_a_step_multiplies_and_never_reaches_zero():
    x = np.array([1.0, 2.0, 3.0])
    found = multiplied(x, np.array([4.0, 0.0, 3.0]), np.array([1.0, 1.0, 0.0]), 0.5)
    assert found[0] == 2.0
    assert found[1] == FLOOR
    assert np.isfinite(found).all()


def test_given_clusters_have_most_of_the_start():
    start = start_of(np.array([1, -1, 0]), (3, 2), np.random.default_rng(0))
    assert_array_equal(start.argmax(axis=1)[[0, 2]], [1, 0])
    assert (start > 0).all()


# PropagatedSymmetricNMF


@pytest.mark.parametrize("seed", range(4))
def test_symmetric_objective_is_that_of_the_definition_and_never_rises(seed):
    X, _, side = everything(seed)
    side = side.only(kind=["must", "label"])
    graph, relation = neighbor_graph(X, 6, affinity="local"), propagated.together(side)
    problem = propagated.Problem.of(graph, relation, 1.5, 0.5)
    W = graph.toarray()
    L = np.diag(W.sum(axis=1)) - W
    R = (relation.members @ relation.between @ relation.members.T).toarray()
    on = (problem.matrix(np.ones(len(problem.i))).toarray() > 0) & (R > 0)
    Z = np.where(on, 1.0, 0.0)
    np.fill_diagonal(Z, 1.0)

    places = problem.matrix(np.ones(len(problem.i))).toarray() > 0

    def J(state):
        far = problem.share * state.before @ state.before.T
        T = np.where(places, problem.matrix(state.T).toarray(), far)
        first = ((T - state.V @ state.V.T) ** 2).sum()
        return first + 0.5 * np.trace(L @ T) + 1.5 * ((T - Z) ** 2).sum()

    state = problem.start(start_of(None, (60, 3), np.random.default_rng(seed)))
    values = []
    for _ in range(60):
        values.append(J(state))
        assert_allclose(problem.objective(state), values[-1], rtol=1e-9)
        state = problem.step(state)
    assert (np.diff(values) <= 1e-9 * np.abs(values[1:])).all()


def test_a_symmetric_step_is_that_of_all_pairs():
    X, _, side = everything(0)
    graph = neighbor_graph(X, 6, affinity="local")
    relation = propagated.together(side.only(kind="must"))
    problem = propagated.Problem.of(graph, relation, 1.0, 0.5)
    places = problem.matrix(np.ones(len(problem.i))).toarray() > 0
    W, Z = graph.toarray(), problem.matrix(problem.Z).toarray()
    state = problem.step(problem.start(start_of(None, (60, 3), np.random.default_rng(0))))
    V = state.V
    T = np.where(places, problem.matrix(state.T).toarray(), 0.5 * state.before @ state.before.T)
    D = np.diag(W.sum(axis=1))
    T = T * (2 * V @ V.T + 2 * Z + 0.5 * W) / (4 * T + 0.5 * D)
    V = V * (T @ V / (V @ V.T @ V)) ** 0.25
    after = problem.step(state)
    assert_allclose(problem.matrix(after.T).toarray()[places], T[places])
    assert_allclose(after.V, V)


def test_weights_of_must_links_multiply_their_price():
    side = SideInformation.from_pairs(must=[(0, 1)], n_samples=4, weight=5.0)
    problem = propagated.Problem.of(sparse.csr_array((4, 4)), propagated.together(side), 2.0, 0.5)
    assert_allclose(problem.alpha, [10.0, 2.0, 2.0, 2.0, 2.0])


def test_only_stated_must_links_and_equal_labels_are_tied():
    n = 7
    must = SideInformation.from_pairs(must=[(0, 1), (1, 2), (2, 3)], n_samples=n)
    side = must + SideInformation.from_labels([-1, -1, -1, 0, 0, 0, 1])
    relation = propagated.together(side)
    tied = np.zeros((n, n))
    for i, j in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (3, 5)]:
        tied[i, j] = tied[j, i] = 1.0
    i, j = relation.places(sparse.csr_array((n, n)))
    assert_allclose(relation.at(i, j), tied[i, j])
    assert len(i) == 6
    everywhere = np.triu_indices(n, 1)
    assert_allclose(np.maximum(relation.at(*everywhere), 0.0), tied[everywhere])


def test_without_factors_the_best_similarities_are_known():
    X, _, side = everything(1)
    relation = propagated.together(side.only(kind=["must", "label"]))
    problem = propagated.Problem.of(neighbor_graph(X, 6, affinity="local"), relation, 1.5, 0.5)
    none = np.zeros((60, 1))
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 1.0):
        other = np.maximum(problem.first + size * rng.normal(size=len(problem.first)), 0.0)
        assert problem.objective(propagated.State(other, none, none)) > problem.at_zero
    # Every column explains something, so that steps from anywhere end below it.
    state = problem.start(start_of(None, (60, 3), rng))
    for _ in range(50):
        state = problem.step(state)
    assert problem.objective(state) < problem.at_zero


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_must", [0, 150])
def test_blobs_are_found_with_many_must_links_and_without(seed, n_must):
    X, y = make_blobs([100, 100, 100], n_features=4, cluster_std=1.0, random_state=1)
    side = sample_pairs(y, n_must=n_must, n_cannot=0, random_state=seed)
    model = PropagatedSymmetricNMF(3, random_state=seed).fit(X, side=side)
    assert_array_equal(model.labels_ == model.labels_[:, None], y == y[:, None])


def test_where_blobs_are_missed_the_objective_is_lower_than_at_the_truth():
    X, y = make_blobs([100, 100, 100], n_features=4, cluster_std=1.0, random_state=1)
    side = sample_pairs(y, n_must=30, n_cannot=0, random_state=0)
    model = PropagatedSymmetricNMF(3, random_state=0).fit(X, side=side)
    assert adjusted_rand_score(y, model.labels_) < 0.7
    right = PropagatedSymmetricNMF(3, init=y).fit(X, side=side)
    assert_array_equal(right.labels_ == right.labels_[:, None], y == y[:, None])
    assert model.objective_ < right.objective_ - 0.01


def test_an_ensemble_does_not_stop_before_its_members_have_found_blobs():
    X, y = make_blobs([334, 333, 333], n_features=4, cluster_std=1.0, random_state=1)
    model = SelfSupervisedNMF(3, n_members=5, random_state=0).fit(X)
    assert_array_equal(model.labels_ == model.labels_[:, None], y == y[:, None])


def test_must_links_raise_the_similarities_of_their_rows():
    X, y = blobs(150, spread=1.2, seed=3)
    side = sample_pairs(y, n_must=60, random_state=0)
    plain = PropagatedSymmetricNMF(3, random_state=0).fit(X)
    told = PropagatedSymmetricNMF(3, side_weight=3.0, random_state=0).fit(X, side=side)
    i, j = side.must.T
    inner = [(m.factor_[i] * m.factor_[j]).sum(axis=1).mean() for m in (plain, told)]
    assert inner[1] > inner[0]


def test_cannot_links_are_refused_with_the_reason():
    side = SideInformation.from_pairs(cannot=[(0, 1)], n_samples=60)
    with pytest.raises(UnsupportedStatementError, match="a zero in it, like what is unknown"):
        PropagatedSymmetricNMF(3).fit(blobs()[0], side=side)


def test_a_warm_start_keeps_good_clusters():
    X, y = blobs(90, spread=8.0)
    model = PropagatedSymmetricNMF(3, init=y, random_state=0).fit(X)
    assert_array_equal(model.labels_, y)


def direct_steps(seed=0, n=60):
    X, _, side = everything(seed, n)
    heavy = SideInformation.from_pairs(must=[(0, 3), (1, 7)], n_samples=n, weight=5.0)
    relation = propagated.together(side.only(kind=["must", "label"]) + heavy)
    problem = propagated.Problem.of(neighbor_graph(X, 6, affinity="local"), relation, 1.5, 0.5)
    direct = propagated.Direct.of(problem)
    return direct, direct.start(start_of(None, (n, 3), np.random.default_rng(seed)))


def test_direct_steps_multiply_with_the_best_similarities():
    direct, pair = direct_steps()
    assert len(direct.odd) == 2
    problem, V = direct.problem, direct.step(pair).V.astype(float)
    T = direct.state(propagated.Pair(V, V)).T
    places = problem.matrix(np.ones(len(problem.i))).toarray() > 0
    T = np.where(places, problem.matrix(T).toarray(), problem.share * V @ V.T)
    V_next = V * (T @ V / (V @ V.T @ V)) ** 0.75
    found = direct.step(propagated.Pair(V, V.astype(np.float32)))
    assert_allclose(found.V, V_next, rtol=1e-4)
    # No other similarities cost less.
    state = direct.state(found)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-1):
        other = np.maximum(state.T + size * rng.normal(size=len(state.T)), 0.0)
        assert problem.objective(state._replace(T=other)) > problem.objective(state)


@pytest.mark.parametrize("seed", range(3))
def test_direct_steps_reach_the_objective_of_many_published_ones(seed):
    direct, pair = direct_steps(seed)
    state = direct.state(pair)
    values = []
    for _ in range(30):
        pair = direct.step(pair)
    for _ in range(400):
        state = direct.problem.step(state)
    assert direct.objective(pair) <= 1.01 * direct.problem.objective(state)
    for _ in range(20):
        values.append(direct.objective(pair))
        pair = direct.short_step(pair)
    assert (np.diff(values) <= 1e-6 * np.abs(values[1:])).all()


def test_steps_that_raise_the_objective_are_taken_back_and_shorter_ones_follow():
    made = []

    def step(x, by):
        made.append(by)
        return x + by

    found = descend(
        10.0, lambda x: step(x, 1.0), lambda x: x, 50, 1e-3, lambda: False,
        at_zero=1e9, shorter=lambda x: step(x, -0.1),
    )  # fmt: skip
    assert made == [1.0] * 10 + [-0.1] * 40
    assert found.factors == pytest.approx(6.0)
    assert (np.diff(found.history) <= 0).all()


# SelfSupervisedNMF


def self_supervised_J(A, H, together, apart, side_weight, cannot_weight):
    fit = ((A - H @ H.T) ** 2).sum()
    away = ((H[:, None] - H[None]) ** 2).sum(axis=2)
    return fit + cannot_weight * (apart * (H @ H.T)).sum() + side_weight * (together * away).sum()


@pytest.mark.parametrize("consensus", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_objectives_of_members_are_those_of_the_definition_and_never_rise(seed, consensus):
    X, _, side = everything(seed)
    relation = relation_of(side)
    graph = neighbor_graph(X, 6, affinity="local")
    rng = np.random.default_rng(seed)
    if consensus:
        labels, weight = rng.integers(3, size=(60, 4)), np.array([0.1, 0.2, 0.3, 0.4])
        similar = self_supervised.Consensus.of(labels, weight, 3)
        A = sum(w * (c[:, None] == c) for w, c in zip(weight, labels.T, strict=True))
        assert_allclose(np.diag(A), 1.0)
    else:
        similar, A = self_supervised.Graph.of(graph), graph.toarray()
    R = (relation.members @ relation.between @ relation.members.T).toarray()
    together, apart = np.maximum(R, 0), np.maximum(-R, 0)
    np.fill_diagonal(together, 0)
    problem = self_supervised.Problem.of(similar, relation, 0.1, 2.0)
    H = problem.start(np.stack([start_of(None, (60, 3), rng) for _ in range(4)], axis=1))
    before = np.inf
    for _ in range(40):
        expected = [
            self_supervised_J(A, H[:, e], together, apart, 0.1, 2.0) for e in range(H.shape[1])
        ]
        assert_allclose(problem.objectives(H), expected, rtol=1e-9)
        assert (np.array(expected) <= before * (1 + 1e-9)).all()
        before, H = np.array(expected), problem.step(H)


def test_a_step_of_a_member_is_the_published_one():
    X, _, side = everything(1)
    relation, graph = relation_of(side), neighbor_graph(X, 6, affinity="local")
    R = (relation.members @ relation.between @ relation.members.T).toarray()
    S, D = np.maximum(R, 0), np.maximum(-R, 0)
    np.fill_diagonal(S, 0)
    problem = self_supervised.Problem.of(self_supervised.Graph.of(graph), relation, 0.3, 2.0)
    H = np.random.default_rng(0).uniform(0.1, 1, size=(60, 2, 3))
    found = problem.step(H)
    for e in range(2):
        h = H[:, e]
        above = graph @ h + 0.3 * S @ h
        below = h @ h.T @ h + 0.3 * S.sum(axis=1)[:, None] * h + 0.5 * 2.0 * D @ h
        assert_allclose(found[:, e], h * (above / below) ** 0.25)
        assert_allclose(problem.long_step(H)[:, e], h * (above / below) ** 0.75)


def test_eigenvectors_of_the_consensus_are_those_of_the_full_matrix():
    rng = np.random.default_rng(0)
    labels, weight = rng.integers(3, size=(30, 4)), rng.dirichlet(np.ones(4))
    consensus = self_supervised.Consensus.of(labels, weight, 3)
    A = consensus.times(np.eye(30))
    root = np.sqrt(A.sum(axis=1))
    vectors = np.linalg.eigh(A / np.outer(root, root))[1]
    found = consensus.leading_vectors(3)
    assert_allclose(np.abs(found.T @ vectors[:, ::-1][:, :3]), np.eye(3), atol=1e-8)


def test_the_ensemble_keeps_labels_and_finds_clusters():
    X, y = blobs(90, spread=6.0)
    side = sample_labels(y, 9, random_state=0)
    model = SelfSupervisedNMF(3, random_state=0).fit(X, side=side)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.member_labels_.shape == (90, 10)
    assert_allclose(model.member_weights_.sum(), 1.0)


# LabelPropagationNMF


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_objective_of_rows_is_that_of_the_definition_and_never_rises(seed, is_sparse):
    X, y = blobs(seed=seed)
    side = sample_labels(y, 12, random_state=seed)
    graph = neighbor_graph(X, 5)
    data = label_propagation.Shifted.of(sparse.csr_array(X) if is_sparse else X)
    labelled = label_propagation.Labelled.of(side, 4)
    problem = label_propagation.Problem.of(data, graph, labelled, 10.0)
    shifted = (X + np.maximum(-X.min(axis=0), 0)) / data.scale
    assert shifted.min() >= 0
    assert_allclose((shifted**2).sum(axis=1).mean(), 1.0)
    W = graph.toarray()
    L = np.diag(W.sum(axis=1)) - W

    def J(factors):
        F, Z, U = factors
        Y = np.eye(4)[labelled.column]
        labels = ((F[labelled.row] - Y) ** 2).sum()
        return ((shifted - F @ Z @ U.T) ** 2).sum() + 10 * (np.trace(F.T @ L @ F) + labels)

    factors = problem.start(None, 4, np.random.default_rng(seed))
    values = []
    for _ in range(50):
        values.append(J(factors))
        assert_allclose(problem.objective(factors), values[-1], rtol=1e-8)
        factors = problem.step(factors)
    assert (np.diff(values) <= 1e-9 * np.abs(values[1:])).all()


def test_a_start_has_memberships_in_the_unit_of_labels_and_fits_the_rows():
    X, y = blobs()
    data = label_propagation.Shifted.of(X)
    labelled = label_propagation.Labelled.of(sample_labels(y, 12, random_state=0), 3)
    problem = label_propagation.Problem.of(data, neighbor_graph(X, 5), labelled, 10.0)
    F, Z, U = problem.start(None, 3, np.random.default_rng(0))
    assert 0.4 < F.mean() < 0.6
    fits = [problem.objective((F, Z, size * U)) for size in (0.99, 1.0, 1.01)]
    assert fits[1] == min(fits)


def test_columns_of_memberships_are_the_classes_of_digits():
    X, y = load_digits(return_X_y=True)
    found = []
    for draw in range(4):
        some = np.random.default_rng(draw).permutation(len(X))[:500]
        told = np.full(500, -1)
        for digit in range(10):
            told[np.flatnonzero(y[some] == digit)[:5]] = digit
        model = LabelPropagationNMF(10, assign="argmax", n_init=1, random_state=draw)
        labels = model.fit_predict(X[some], told)
        found.append(adjusted_rand_score(y[some][told < 0], labels[told < 0]))
    assert np.mean(found) > 0.6  # .72; .45 if memberships start at a tenth of a label's


@pytest.mark.parametrize("assign", ["kmeans", "argmax"])
def test_labels_spread_to_other_rows(assign):
    X, y = blobs(150, spread=5.0)
    told = np.where(np.arange(150) < 15, y, -1)
    model = LabelPropagationNMF(assign=assign, random_state=0).fit(X, told)
    assert adjusted_rand_score(y[15:], model.labels_[15:]) > 0.9


def test_columns_of_a_sample_go_to_the_classes_of_all_rows():
    side = SideInformation.from_labels(["b", "b", "a", "c", "c", "d"])
    chosen = np.array([0, 1, 3, 4])  # without "a", which is a column of all rows, and "d"
    model = LabelPropagationNMF(4)
    model.memberships_, model.mixing_ = np.arange(16.0).reshape(4, 4), np.diag(np.arange(4.0))
    model.components_ = np.ones((2, 4))
    few = Few(model, chosen, np.array([0, 0, 1, 2, 3, 3]))
    F, Z, U = label_propagation._of_few(few, side, 2.0)
    # In the sample "b" and "c" are the columns 0 and 1; "a" and "d" take the free ones.
    order = [2, 0, 1, 3]
    assert_allclose(F, model.memberships_[:, order][few.nearest])
    assert_allclose(F @ Z, (model.memberships_ @ model.mixing_)[few.nearest])
    assert_allclose(U, 0.5)


def test_negative_columns_are_shifted_and_that_is_told():
    X, y = blobs()
    model = LabelPropagationNMF(3, random_state=0).fit(X, np.where(np.arange(60) < 9, y, -1))
    assert_allclose(model.shift_, np.maximum(-X.min(axis=0), 0))
    assert "shifted to begin at zero" in model.result_.provenance["shifted"]
    positive = LabelPropagationNMF(3, random_state=0).fit(np.abs(X))
    assert not positive.shift_.any()
    assert "shifted" not in positive.result_.provenance


def test_of_more_classes_than_clusters_the_heaviest_have_columns():
    side = SideInformation.from_labels([0, 0, 1, 2, 2, -1])
    labelled = label_propagation.Labelled.of(side, 2)
    assert_array_equal(labelled.row, [0, 1, 3, 4])
    assert_array_equal(labelled.column, [0, 0, 1, 1])


@pytest.mark.parametrize("value", [-3e124, -1.7])
def test_a_constant_column_below_zero_is_shifted_to_zeros(value):
    """Of its squares only rounding is left, whose root is not a length."""
    X = np.full((60, 1), value)
    with pytest.warns(ConvergenceWarning, match="found 1 cluster"):
        model = LabelPropagationNMF(2, n_init=1, random_state=0).fit(X)
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.components_).all()


def test_a_row_that_is_tied_to_itself_alone_is_not_pushed_by_rounding():
    """A row of two classes, with heavy labels: what ties it to other rows is exactly nothing."""
    side = SideInformation.from_columns(
        "label", [0, 0], n_samples=1, class_=["a", "b"], weight=[1e15, 1e9]
    )
    model = SelfSupervisedNMF(1, affinity="precomputed", n_init=2, max_iter=50, random_state=0)
    with pytest.warns(LostClassWarning, match="'b'"):
        model.fit(np.zeros((1, 1)), side=side)
    assert np.isfinite(model.objective_)
    assert (np.diff(model.history_) <= 0).all()


def test_steps_in_single_precision_follow_those_in_double():
    rng = np.random.default_rng(0)
    X, H = rng.normal(size=(40, 2)), rng.uniform(0.1, 1.0, size=(40, 3, 2))
    side = SideInformation.from_pairs(must=[(0, 1), (1, 2)], cannot=[(0, 5), (6, 7)], n_samples=40)
    double = self_supervised.Problem.of(
        self_supervised.Graph.of(neighbor_graph(X, 5)), relation_of(side), 0.1, 1.0
    )
    single = double.single()
    assert single.step(H.astype(np.float32)).dtype == np.float32
    assert_allclose(single.step(H.astype(np.float32)), double.step(H), rtol=1e-4)
    assert_allclose(single.objectives(H.astype(np.float32)), double.objectives(H), rtol=1e-4)
