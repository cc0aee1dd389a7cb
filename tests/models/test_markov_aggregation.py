"""MarkovAggregation: what it promises, and what it does with bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import oracles_markov_aggregation as oracle
from sidelight import MarkovAggregation, SideInformation, _memory
from sidelight.blocks import threads
from sidelight.datasets import make_concentric_circles
from sidelight.exceptions import DataError, LostClassWarning, SideInformationError
from sidelight.models._markov import aggregation as aggregation
from sidelight.models._markov import chain as chains
from sidelight.models._markov import search as search
from sidelight.models._markov import starts as starts
from sidelight.models._markov import statements as statements
from sidelight.side import sample_labels, sample_pairs


def blobs(n_per=25, spread=5.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], n_per)
    centers = spread * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    return centers[y] + rng.normal(size=(len(y), 2)), y


def quick(n_clusters=3, **settings):
    return MarkovAggregation(n_clusters, **{"n_init": 1, "random_state": 0} | settings)


@pytest.fixture
def only_neighbors(monkeypatch):
    """The sparse chain as it is beyond some thousand rows: no more neighbours than asked for."""
    monkeypatch.setattr(chains, "_STEPS", 0)


def two_halves(n=8, cross=0.05, seed=0):
    """Transition probabilities that are not reversible; the walk stays in a half for long."""
    rng = np.random.default_rng(seed)
    P = rng.random((n, n)) * np.where(
        np.equal.outer(np.arange(n) < n // 2, np.arange(n) < n // 2), 1, cross
    )
    return P / P.sum(axis=1, keepdims=True)


# The objective


@pytest.mark.parametrize("beta", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("chain", ["dense", "sparse"])
def test_objective_is_the_definition_in_bits(only_neighbors, chain, beta):
    X, _ = blobs()
    model = quick(chain=chain, beta=beta).fit(X)
    build = chains.dense_chain if chain == "dense" else chains.sparse_chain
    built, _ = build(X, 20, False, *([] if chain == "dense" else [0]))
    J = built.J if chain == "dense" else built.matrix().toarray()
    expected = oracle.aggregation_cost(J, model.labels_, 3, beta)
    assert model.objective_ == pytest.approx(expected, abs=1e-12)
    assert model.cost_ == pytest.approx(expected, abs=1e-12)


def test_aggregated_chain_is_the_walk_between_clusters():
    P = two_halves()
    model = quick(2, chain="transition").fit(P)
    pi = oracle.stationary(P)
    V = np.eye(2)[model.labels_]
    Q = V.T @ (pi[:, None] * P) @ V
    assert_allclose(model.aggregated_chain_, Q / Q.sum(axis=1, keepdims=True), atol=1e-12)
    assert_allclose(model.aggregated_chain_.sum(axis=1), 1.0)
    assert_allclose(model.cluster_masses_, V.T @ pi, atol=1e-12)


def test_the_kernel_is_that_of_the_paper(only_neighbors):
    X, _ = blobs(10)
    d2 = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    nearest = np.sort(d2, axis=1)
    for count_self, sigma in ((True, nearest[:, :5].mean()), (False, nearest[:, 1:6].mean())):
        W = np.exp(-d2 / sigma)
        chain, found = chains.dense_chain(X, 5, count_self)
        assert found == pytest.approx(sigma, rel=1e-12)
        assert_allclose(chain.J, W / W.sum(), atol=1e-15)
        assert_array_equal(chain.J, chain.J.T)
        assert_allclose(chain.pi, W.sum(axis=1) / W.sum(), rtol=1e-12)
        near, found = chains.sparse_chain(X, 5, count_self, 0)
        assert found == pytest.approx(sigma, rel=1e-12)
        edges = near.matrix().toarray() > 0
        assert edges.diagonal().all()
        assert_allclose(near.matrix().toarray(), np.where(edges, W, 0) / W[edges].sum(), atol=1e-15)


@pytest.mark.parametrize("n_neighbors", [5, 35])
def test_where_all_rows_are_neighbours_the_sparse_chain_is_the_dense_one(n_neighbors):
    X, y = blobs(12, spread=1.5)
    side = sample_pairs(y, 10, random_state=0)
    one = quick(chain="dense", n_neighbors=n_neighbors).fit(X, side=side)
    two = quick(chain="sparse", n_neighbors=n_neighbors).fit(X, side=side)
    assert_array_equal(one.labels_, two.labels_)
    assert_array_equal(one.aggregated_chain_, two.aggregated_chain_)
    assert (one.objective_, one.sigma_) == (two.objective_, two.sigma_)
    assert_array_equal(one.predict(X + 0.5), two.predict(X + 0.5))


def test_on_few_rows_the_sparse_chain_reaches_beyond_the_neighbours():
    assert chains.reach(512, 20) == 511
    assert chains.reach(2_048, 20) == 128
    assert chains.reach(100_000, 20) == 20
    assert chains.reach(100, 200) == 99
    X, _ = blobs(200)  # 600 rows with 436 neighbours each
    chain, sigma = chains.sparse_chain(X, 5, False, 0)
    dense, expected = chains.dense_chain(X, 5, False)
    assert not chain.is_dense
    assert np.diff(chain.J.indptr).min() == 437  # and itself
    assert sigma == pytest.approx(expected, rel=1e-12)
    assert_allclose(chain.matrix().toarray(), dense.J, atol=1e-9)


def test_sparse_rows_of_features_are_the_same_rows(only_neighbors):
    X, _ = blobs(10)
    X[X < 0] = 0.0
    for chain in ("dense", "sparse"):
        one, two = quick(chain=chain).fit(X), quick(chain=chain).fit(sparse.csr_array(X))
        assert_array_equal(one.labels_, two.labels_)
        assert_array_equal(one.predict(X[:5]), two.predict(sparse.csr_array(X[:5])))
        assert_array_equal(one.predict(X[:5]), one.predict(sparse.csr_array(X[:5])))


# The search


@pytest.mark.parametrize("beta", [0.2, 0.5, 0.8])
def test_at_fixed_beta_broken_statements_and_cost_fall_in_this_order(beta):
    X, y = blobs(spread=1.5)
    side = sample_pairs(y, 60, accuracy=0.7, random_state=1)
    chain, _ = chains.dense_chain(X, 10, False)
    units = statements.hard_units(side)
    state = search.State.of(chain, units, np.arange(units.n_units) % 3, 3)
    moving = search.moving_units(chain, units)
    trace = [(state.broken(units), state.cost(chain, beta))]
    for _ in range(8):
        search.sweep(chain, units, state, moving, beta, True)
        trace.append((round(state.broken(units), 9), round(state.cost(chain, beta), 12)))
    assert trace[0][0] > trace[1][0]
    assert trace == sorted(trace, reverse=True)


def test_the_end_is_a_local_optimum():
    X, y = blobs(spread=1.5)
    side = sample_labels(y, 9, random_state=0)
    model = quick(chain="dense").fit(X, side=side)
    chain, _ = chains.dense_chain(X, 20, False)
    units = statements.hard_units(side)
    first = units.members[units.span[:-1]]
    after = oracle.aggregation_sweep(
        chain.J, units, model.labels_[first], np.empty(0), 3, 0.5, True
    )
    assert_array_equal(after, model.labels_[first])


@pytest.mark.parametrize("accuracy", [1.0, 0.6])  # with statements inside a star, or without
@pytest.mark.parametrize("beta", [0.3, 0.5])
@pytest.mark.parametrize("kind", ["dense", "sparse", "transition"])
def test_without_propagation_a_sweep_moves_stars_as_their_definition_says(
    only_neighbors, kind, beta, accuracy
):
    X, y = blobs(8, spread=1.5)
    pairs = sample_pairs(y, 30, accuracy=accuracy, random_state=1)
    side = pairs + sample_labels(y, 6, random_state=1)
    if kind == "dense":
        chain = chains.dense_chain(X, 5, False)[0]
    elif kind == "sparse":
        chain = chains.sparse_chain(X, 5, False, 0)[0]
    else:
        chain = chains.transition_chain(two_halves(len(y)))
    units = statements.hard_units(side, propagate=False)
    stars = search.moving_stars(chain, units)
    assert units.n_units > statements.hard_units(side).n_units
    assert np.diff(stars.span).max() > 2  # chains that propagation would close
    state = search.State.of(chain, units, np.arange(units.n_units) % 3, 3)
    moving = search.moving_units(chain, units)
    J = chain.J if chain.is_dense else chain.matrix().toarray()
    for _ in range(3):
        expected = oracle.star_sweep(J, units, state.labels, 3, beta)
        search.sweep(chain, units, state, moving, beta, False, stars)
        assert_array_equal(state.labels, expected)
        anew = search.State.of(chain, units, state.labels.copy(), 3)
        for carried, summed in zip(state, anew, strict=True):
            assert_allclose(carried, summed, atol=1e-12)


def test_must_links_hold_through_chains_unless_they_are_not_propagated():
    """Row 20 lies in one blob, rows 0 and 40, which are tied to it, in two others."""
    X, _ = blobs(20, spread=8.0)
    side = SideInformation.from_pairs(must=[(0, 20), (20, 40)], n_samples=60)
    tied = quick(chain="dense").fit(X, side=side)
    assert len(set(tied.labels_[[0, 20, 40]])) == 1
    # Row 20 is pulled to and fro in every sweep, each of which ends as it began.
    loose = quick(chain="dense", propagate=False).fit(X, side=side)
    assert len(set(loose.labels_[[0, 20, 40]])) == 2
    assert loose.result_.violated.sum() == 1
    assert (np.diff(loose.history_) <= 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_without_propagation_contradictions_do_not_keep_stars_moving(seed):
    X, y = blobs(20, spread=3.0)
    side = sample_pairs(y, 60, accuracy=0.7, random_state=seed)
    side = side + sample_labels(y, 15, accuracy=0.7, random_state=seed)
    model = quick(chain="dense", propagate=False).fit(X, side=side)  # else a ConvergenceWarning
    assert model.n_iter_ < 300  # at all prices and betas together; a run that goes on has 100 each
    assert (np.diff(model.history_) <= 0).all()


def test_labels_are_groups_with_and_without_propagation():
    X, y = blobs(spread=3.0)
    side = sample_labels(y, 12, random_state=0)
    one, two = (quick(propagate=p).fit(X, side=side) for p in (True, False))
    assert_array_equal(one.labels_, two.labels_)


def test_betas_go_down_to_the_target():
    assert_allclose(search.betas_down_to(0.5, 0.1), [1.0, 0.9, 0.8, 0.7, 0.6, 0.5])
    assert_allclose(search.betas_down_to(0.45, 0.3), [1.0, 0.7, 0.45])
    assert search.betas_down_to(0.3, None) == [0.3]
    assert search.betas_down_to(1.0, 0.1) == [1.0]


def test_many_rows_in_few_separate_clusters_are_found_whatever_the_chain(only_neighbors):
    # From random labels the search ends in a patchwork here.
    X, y = blobs(250, spread=12.0)
    for chain in ("dense", "sparse"):
        assert adjusted_rand_score(y, quick(chain=chain).fit(X).labels_) == 1.0
    patchwork = quick(chain="sparse", init="coloring").fit(X)
    assert adjusted_rand_score(y, patchwork.labels_) < 0.5


def test_circles_are_found():
    X, y = make_concentric_circles(random_state=3)
    assert adjusted_rand_score(y, quick().fit(X).labels_) == 1.0


def test_a_kernel_that_reaches_every_row_does_not_hide_the_circles():
    # The coarse chain misleads here: from it alone the search ends above the cost of the truth.
    X, y = make_concentric_circles(random_state=0)
    truth = quick(n_neighbors=50, init=y, annealing_step=None).fit(X)
    assert quick(n_neighbors=50, n_init=5).fit(X).cost_ <= truth.cost_ + 1e-9


def test_below_one_half_labels_that_mean_nothing_are_not_taken():
    # They have the lowest cost there, so that random labels must not be among the starts.
    X, y = make_concentric_circles(random_state=3)
    assert adjusted_rand_score(y, quick(beta=0.0).fit(X).labels_) > 0.9


@pytest.fixture
def many_rows(monkeypatch, only_neighbors):
    """Starts and the sparse chain as they are for many rows, from 100 on."""
    monkeypatch.setattr(aggregation, "_DENSE_ROWS", 100)
    monkeypatch.setattr(aggregation, "_FREE_ROWS", 1_000)


def test_labels_of_all_clusters_are_one_of_the_starts_of_many_rows(many_rows):
    """Each class has two blobs, and two blobs that are near each other are of two classes."""
    rng = np.random.default_rng(0)
    blob = np.arange(400) % 4
    X = np.array([[0, 0], [4, 0], [20, 0], [24, 0]])[blob] + rng.normal(size=(400, 2))
    y = np.array([0, 1, 0, 1])[blob]
    side = sample_labels(y, 40, random_state=0)
    free = quick(2, init="repaired").fit(X, side=side)
    grown = quick(2, n_init="auto").fit(X, side=side)
    assert grown.objective_ <= free.objective_ + 1e-12
    assert adjusted_rand_score(y, grown.labels_) > 0.9


def test_seeds_are_the_labels_of_one_vocabulary_that_names_all_clusters():
    side = SideInformation.from_labels([0, -1, 1, 1])
    assert_array_equal(aggregation.seeds(side, 2), [0, -1, 1, 1])
    assert aggregation.seeds(side, 3) is None
    assert aggregation.seeds(SideInformation.from_pairs(must=[(0, 1)], n_samples=4), 2) is None
    other = SideInformation.from_labels([0, -1, -1, -1], vocabulary="x")
    assert aggregation.seeds(SideInformation.from_labels([-1, -1, 1, -1]) + other, 2) is None


def test_of_many_rows_the_best_of_several_free_solutions_is_bound(many_rows):
    X, y = blobs(100, spread=3.0)
    side = sample_pairs(y, 30, random_state=0)
    chain, _ = chains.sparse_chain(X, 20, False, 0)
    soft = statements.soft_units(side, 1 / len(y))
    problem = aggregation.Problem(chain, soft, 3, 0.5, 0.1, 100, True, soft)
    state = search.State.of(chain, soft, y.copy(), 3)
    assert state.broken(soft) == 0
    assert problem.judge(y) == pytest.approx(state.cost(chain, 0.5), abs=1e-12)
    wrong = np.where(np.arange(len(y)) < 50, 1, y)
    broken = int(side.violated(wrong).sum())
    assert broken > 0
    cost = search.State.of(chain, statements.no_statements(len(y)), wrong, 3).cost(chain, 0.5)
    assert problem.judge(wrong) == pytest.approx(cost + broken / len(y), abs=1e-12)
    several = quick(n_init="auto").fit(X, side=side)
    assert not several.result_.violated.any()
    assert several.objective_ <= quick(init="repaired").fit(X, side=side).objective_ + 1e-3


def test_repaired_starts_beat_colours_where_cannot_links_are_few():
    X, y = blobs(40, spread=2.5)
    X, y = X[y < 2], y[y < 2]
    side = sample_pairs(y, n_must=0, n_cannot=20, random_state=0)
    color = quick(2, init="coloring", n_init=3).fit(X, side=side)
    ours = quick(2, init="repaired", n_init=3).fit(X, side=side)
    assert not ours.result_.violated.any()
    assert ours.objective_ < color.objective_ - 0.01


def test_many_cannot_links_do_not_tear_clusters_apart():
    # Colours that are free, one unit after the other, leave no way to the partition that all
    # statements come from.
    y = np.repeat(np.arange(4), 40)
    X = 2.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[y]
    X = X + np.random.default_rng(0).normal(size=X.shape)
    side = sample_pairs(y, n_must=60, n_cannot=200, random_state=0)
    chain, _ = chains.dense_chain(X, 20, False)
    units = statements.hard_units(side)
    free = quick(4).fit(X).labels_
    at_once, slowly = (
        search.run(chain, units, labels, 4, [0.5], 100, True)
        for labels in (
            starts.repaired_start(chain, units, free, 4),
            starts.hardened_start(chain, units, free, 4, 0.5, 100),
        )
    )
    assert at_once.broken == slowly.broken == 0
    assert slowly.objective < at_once.objective - 0.02
    model = quick(4, init="repaired").fit(X, side=side)
    assert not model.result_.violated.any()
    assert model.objective_ <= slowly.objective + 1e-12


def test_auto_is_never_worse_than_repaired_starts():
    X, y = blobs(spread=2.0)
    side = sample_pairs(y, 40, random_state=2)
    both = quick(n_init=2, init="auto").fit(X, side=side)
    first = quick(n_init=1, init="repaired").fit(X, side=side)
    assert both.objective_ <= first.objective_ + 1e-12


def test_clusters_are_left_empty_only_if_allowed():
    # Two halves with one rate between them: a state of its own only spoils the Markov property.
    W = np.random.default_rng(0).random((8, 8))
    W = np.where(np.equal.outer(np.arange(8) < 4, np.arange(8) < 4), W + W.T, 0.1)
    chain = chains.similarity_chain(W)
    labels = np.array([2, 0, 0, 0, 1, 1, 1, 1])
    units = statements.no_statements(8)
    for keep_all, expected in ((True, [2, 0, 0, 0]), (False, [0, 0, 0, 0])):
        found = search.run(chain, units, labels, 3, [0.0], 10, keep_all)
        assert_array_equal(found.labels, [*expected, 1, 1, 1, 1])
    assert quick(8).fit(np.random.default_rng(0).normal(size=(30, 2))).n_clusters_ == 8


def test_same_bits_for_any_number_of_threads(only_neighbors):
    X, y = blobs(250, spread=2.0)
    side = sample_pairs(y, 100, accuracy=0.9, random_state=0)
    for settings in ({"chain": "dense"}, {"chain": "sparse"}, {"constraints": "soft"}):
        answers = []
        for n in (1, 2):
            with threads(n):
                answers.append(quick(**settings).fit(X, side=side))
        assert_array_equal(answers[0].labels_, answers[1].labels_)
        assert answers[0].objective_ == answers[1].objective_


# Statements


def test_hard_statements_of_all_kinds_hold():
    X, y = blobs(spread=1.0)  # the data alone say otherwise
    rows = np.arange(0, 75, 5)
    said = [
        sample_pairs(y, 30, random_state=0),
        SideInformation.from_labels(np.where(np.arange(75) % 10 == 0, y, -1)),
        SideInformation.from_columns("not_label", rows, class_=(y[rows] + 1) % 3, n_samples=75),
    ]
    for side in (*said, said[0] + said[1] + said[2]):
        model = quick().fit(X, side=side)
        assert not model.result_.violated.any()


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_contradictions_break_as_little_as_possible_and_are_listed():
    X, _ = blobs(spread=12.0)
    triangle = SideInformation.from_pairs(cannot=[(0, 1), (1, 2), (0, 2)], n_samples=75)
    model = quick(2).fit(X, side=triangle)
    assert model.result_.violated.sum() == 1
    loop = SideInformation.from_pairs(must=[(0, 1), (1, 2)], cannot=[(0, 2)], n_samples=75)
    model = quick().fit(X, side=loop)
    assert model.result_.broken() == ["0 apart from 2 (cannot)"]
    heavy = SideInformation.from_columns(
        "label", [0, 0, 30], class_=["a", "b", "b"], weight=[1.0, 3.0, 1.0], n_samples=75
    )
    model = quick().fit(X, side=heavy)
    assert model.result_.broken() == ["0 is 'a' (label)"]


def test_a_wrong_label_on_a_labelled_row_does_not_tie_two_classes_together():
    X, y = blobs(spread=12.0)
    side = SideInformation.from_labels(np.where(np.arange(75) % 5 == 0, y, -1))
    wrong = SideInformation.from_columns("label", [0], class_=[1], n_samples=75)
    assert adjusted_rand_score(y, quick().fit(X, side=side + wrong).labels_) == 1.0


def test_more_classes_than_clusters_break_the_fewest_pairs_of_labels():
    X, _ = blobs(spread=12.0)
    side = SideInformation.from_labels(["a"] * 5 + ["b"] + ["c"] * 4 + [None] * 65)
    with pytest.warns(LostClassWarning, match="'b' has no cluster: there are 2 clusters for 3"):
        model = quick(2).fit(X, side=side)
    a, b, c = model.labels_[[0, 5, 6]]
    assert a != c
    assert b == c  # 4 pairs broken, not 5


def test_soft_statements_give_way_where_the_data_speak_against_them():
    X, y = blobs(spread=12.0)
    side = sample_labels(y, 30, accuracy=0.7, exact=True, random_state=0)
    hard, soft = quick().fit(X, side=side), quick(constraints="soft").fit(X, side=side)
    assert adjusted_rand_score(y, soft.labels_) == 1.0
    assert adjusted_rand_score(y, hard.labels_) < 1.0
    assert_array_equal(soft.result_.violated, y[side.statements.i] != side.statements.class_code)


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_soft_objective_adds_a_price_per_broken_statement():
    X, y = blobs(spread=12.0)
    pairs = SideInformation.from_pairs(
        must=[(0, 70), (0, 1)], cannot=[(2, 3), (2, 60)], weight=2.0, n_samples=75
    )
    side = pairs + SideInformation.from_labels(
        np.where(np.arange(75) == 5, 1, np.where(y == 0, 0, -1))
    )
    model = quick(constraints="soft", accuracy=0.8).fit(X, side=side)
    broken = model.result_.violated
    assert broken.sum() == 3
    price = float(side.statements.weight[broken].sum()) * np.log2(0.8 / 0.2) / 75
    assert model.objective_ == pytest.approx(model.cost_ + price, abs=1e-12)


def test_a_price_high_enough_is_hard():
    X, y = blobs(spread=3.0)
    side = sample_pairs(y, 20, random_state=0)
    model = quick(constraints="soft", accuracy=1 - 1e-9).fit(X, side=side)
    assert not model.result_.violated.any()


def test_labels_cost_no_pairs():
    # Every row its own class: n (n - 1) / 2 pairs would be half a billion.
    n = 30_000
    units = statements.hard_units(SideInformation.from_labels(np.arange(n)))
    assert len(units.rivals[1]) == n
    assert len(units.partners[1]) == 0


# Starts


def test_colours_are_the_first_free_ones_and_random_elsewhere():
    side = SideInformation.from_pairs(must=[(0, 4)], cannot=[(0, 1), (1, 2), (2, 4)], n_samples=40)
    units = statements.hard_units(side)
    labels = starts.coloured_start(units, 3, np.random.default_rng(0))[units.of_row]
    assert_array_equal(labels[[0, 1, 2, 4]], [0, 1, 2, 0])
    assert len(set(labels[5:])) == 3


def test_repairing_changes_only_rows_that_statements_speak_of():
    X, y = blobs(spread=6.0)
    chain, _ = chains.dense_chain(X, 10, False)
    side = SideInformation.from_pairs(must=[(0, 1), (30, 60)], cannot=[(5, 6)], n_samples=75)
    units = statements.hard_units(side)
    repaired = starts.repaired_start(chain, units, y, 3)[units.of_row]
    changed = np.flatnonzero(repaired != y)
    assert set(changed) <= {30, 60, 5, 6}
    assert not side.violated(repaired).any()


def test_a_partition_or_a_fitted_model_is_a_start():
    X, y = blobs(spread=4.0)
    first = quick().fit(X)
    again = quick(init=first).fit(X)
    assert_array_equal(first.labels_, again.labels_)
    assert again.n_iter_ <= 2
    some = np.where(np.arange(75) % 4 == 0, y, -1)
    assert adjusted_rand_score(y, quick(init=some).fit(X).labels_) > 0.5
    on_fewer = quick(init=first).fit(X[:60])
    assert on_fewer.n_clusters_ == 3


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (np.zeros(3, dtype=int), "for each of the 75 rows"),
        (np.zeros(75), "whole number"),
        (np.full(75, 3), "from 3 to 3"),
        (np.full(75, -2), "-1 where it is unknown"),
    ],
)
def test_a_start_that_does_not_fit_is_an_error(init, message):
    with pytest.raises(DataError, match=message):
        quick(init=init).fit(blobs()[0])


# Given chains


def test_a_given_chain_is_aggregated():
    P = two_halves()
    for X in (P, sparse.csr_array(P), 1000 * P):
        model = quick(2, chain="transition").fit(X)
        assert_array_equal(model.labels_, [0] * 4 + [1] * 4)
        assert_array_equal(model.predict(P[:3]), [0, 0, 0])


def test_given_similarities_are_the_kernel_itself():
    X, _ = blobs(15)
    d2 = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    dense = quick(chain="dense").fit(X)
    W = np.exp(-d2 / dense.sigma_)
    given = quick(chain="similarity").fit(W)
    assert_array_equal(given.labels_, dense.labels_)
    assert given.objective_ == pytest.approx(dense.objective_, abs=1e-12)
    assert_array_equal(given.predict(W[:5]), dense.predict(X[:5]))


def test_states_that_are_left_for_ever_go_where_the_walk_ends_up():
    P = np.zeros((7, 7))
    P[:6, :6] = two_halves(6, cross=0.0)
    P[6, [0, 3]] = [0.2, 0.8]
    model = quick(2, chain="transition").fit(P)
    assert_array_equal(model.labels_, [0, 0, 0, 1, 1, 1, 1])
    assert_allclose(model.aggregated_chain_, np.eye(2), atol=1e-12)
    held = SideInformation.from_pairs(must=[(0, 6)], n_samples=7)
    assert quick(2, chain="transition").fit(P, side=held).labels_[6] == 0


def test_components_and_outliers_that_only_reach_themselves_are_no_trouble(only_neighbors):
    X, _ = blobs(20, spread=1000.0)
    X = np.concatenate([X, [[1e6, 1e6], [-1e6, 1e6]]])
    for chain in ("dense", "sparse"):
        model = quick(5, chain=chain, n_neighbors=3, n_init=3).fit(X)
        assert np.isfinite(model.objective_)
        assert model.n_clusters_ == 5
        assert_array_equal(model.predict(X[-2:]), model.labels_[-2:])


def test_equal_rows_are_one_state_after_the_other(only_neighbors):
    X = np.repeat([[0.0], [1.0], [5.0]], 30, axis=0)
    for chain in ("dense", "sparse"):
        model = quick(chain=chain, n_neighbors=5).fit(X)
        assert np.isfinite(model.objective_)
        assert np.isfinite(model.aggregated_chain_).all()


def test_fewer_clusters_because_states_are_left_for_ever_are_told_so():
    P = np.diag(np.ones(4), 1)
    P[4, 4] = 1.0
    with pytest.warns(ConvergenceWarning, match="found 1 cluster .* there are 1 states that last"):
        model = quick(2, chain="transition").fit(P)
    assert_array_equal(model.labels_, np.zeros(5))


def test_only_ratios_of_similarities_matter_however_large():
    W = np.kron(np.eye(3), np.ones((2, 2))) + 0.01
    expected = quick(chain="similarity").fit(W)
    for factor in (1e-300, 9e129):
        for X in (factor * W, sparse.csr_array(factor * W)):
            model = quick(chain="similarity").fit(X)
            assert_array_equal(model.labels_, expected.labels_)
            assert model.objective_ == pytest.approx(expected.objective_, abs=1e-12)
        assert_array_equal(quick(chain="transition").fit(factor * W).labels_, expected.labels_)


def test_more_clusters_than_groups_are_fewer_clusters_and_a_warning():
    X, _ = blobs(2)
    side = SideInformation.from_pairs(must=[(0, 1), (1, 2), (3, 4)], n_samples=6)
    with pytest.warns(ConvergenceWarning, match="found 3 clusters where 5 were asked for"):
        model = quick(5).fit(X, side=side)
    assert model.n_clusters_ == 3


def test_one_cluster_and_one_row_are_possible():
    X, _ = blobs(3)
    assert_array_equal(quick(1).fit(X).labels_, np.zeros(9))
    assert quick(1).fit(X[:1]).objective_ == pytest.approx(0.0)
    assert_array_equal(np.sort(quick(9).fit(X).labels_), np.arange(9))


BAD_MATRICES = [
    ("similarity", [[1.0, 2.0, 3.0]], r"shape \(1, 3\)"),
    ("similarity", [[1.0, 0.5], [0.1, 1.0]], "not symmetric"),
    ("similarity", [[1.0, -0.5], [-0.5, 1.0]], r"-0.5 at \(0, 1\)"),
    ("transition", [[0.5, 0.5], [-1.0, 2.0]], r"-1.0 at \(1, 0\)"),
    ("transition", [[0.5, 0.5], [0.0, 0.0]], "state 1 has no transition"),
    ("similarity", [[1.0, 0.0], [0.0, 0.0]], "state 1 has no transition"),
]


@pytest.mark.parametrize(("chain", "X", "message"), BAD_MATRICES)
@pytest.mark.parametrize("as_sparse", [False, True])
def test_matrices_that_are_no_chain_are_errors(chain, X, message, as_sparse):
    X = sparse.csr_array(np.array(X)) if as_sparse else X
    with pytest.raises(DataError, match=message):
        quick(1, chain=chain).fit(X)


def test_new_rows_that_lead_nowhere_or_below_zero_are_errors():
    model = quick(2, chain="transition").fit(two_halves())
    for as_given in (np.array, sparse.csr_array):
        with pytest.raises(DataError, match=r"-1.0 at \(0, 3\)"):
            model.predict(as_given(np.ones((2, 8)) - 2.0 * (np.arange(16).reshape(2, 8) == 3)))
    with pytest.raises(DataError, match="row 1 of X has no transition"):
        model.predict(np.vstack([np.ones(8), np.zeros(8)]))


@pytest.mark.parametrize(
    "wrong", [{"beta": 1.1}, {"beta": -0.1}, {"annealing_step": 0.0}, {"accuracy": 0.5}]
)
def test_parameters_outside_their_range_are_errors(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        quick(**wrong).fit(blobs()[0])


def test_the_number_of_clusters_comes_from_labels_or_is_asked_for():
    X, y = blobs(spread=12.0)
    assert quick(None).fit(X, np.where(np.arange(75) % 5 == 0, y, -1)).n_clusters_ == 3
    with pytest.raises(SideInformationError, match="no row is labelled"):
        quick(None).fit(X)
    with pytest.raises(DataError, match="fewer than n_clusters=80"):
        quick(80).fit(X)


def test_too_few_sweeps_are_told():
    X, _ = blobs(spread=1.0)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 sweeps"):
        quick(init="coloring", annealing_step=None, max_iter=1).fit(X)


def test_only_the_limit_on_sweeps_at_the_last_beta_cuts_a_run_short():
    X, _ = blobs(spread=1.0)
    chain, _ = chains.dense_chain(X, 20, False)
    units, labels = statements.no_statements(75), np.arange(75) % 3
    betas = search.betas_down_to(0.5, 0.1)
    settled = search.run(chain, units, labels, 3, betas, 30, True)
    assert settled.n_iter > len(settled.history)  # sweeps at the betas before
    limit = len(settled.history)  # of which the last one moves nothing
    assert limit < settled.n_iter
    assert not settled.cut_short
    cut = search.run(chain, units, labels, 3, [0.5], 1, True)
    assert cut.cut_short
    sweeps = iter(range(100))
    stopped = search.run(chain, units, labels, 3, [1.0, 0.5], 3, True, lambda: next(sweeps) == 3)
    assert stopped.n_iter == 4
    assert not stopped.cut_short  # it was asked to stop, after more sweeps in all than the limit


# New rows


@pytest.mark.parametrize("chain", ["dense", "sparse"])
def test_new_rows_go_where_their_next_step_most_likely_leads(only_neighbors, chain):
    X, _ = blobs(spread=4.0)
    new = np.random.default_rng(1).normal(size=(40, 2)) * 4
    model = quick(chain=chain).fit(X)
    d2 = ((new[:, None] - X[None]) ** 2).sum(axis=2)
    if chain == "sparse":
        d2[d2 > np.sort(d2, axis=1)[:, [19]]] = np.inf
    votes = np.exp(-(d2 - d2.min(axis=1, keepdims=True)) / model.sigma_)
    expected = (votes @ np.eye(3)[model.labels_]).argmax(axis=1)
    assert_array_equal(model.predict(new), expected)


def test_paper_mode_is_the_papers():
    model = MarkovAggregation.as_published(n_clusters=3, annealing_step=0.5)
    expected = {
        "chain": "dense",
        "annealing_step": 0.5,
        "constraints": "hard",
        "n_init": 5,
        "init": "coloring",
        "count_self": True,
        "allow_empty": True,
        "beta": 0.5,
        "n_neighbors": 20,
    }
    assert expected.items() <= model.get_params().items()


def test_a_dense_chain_that_memory_does_not_hold_is_refused_before_it_is_asked_for(monkeypatch):
    X = np.zeros((10_000, 1))
    monkeypatch.setattr(_memory, "available", lambda: 10**8)
    with pytest.raises(DataError, match=r"10,000 rows needs 800\.0 MB.*100\.0 MB.*chain='sparse'"):
        MarkovAggregation(2, chain="dense").fit(X)


@pytest.mark.parametrize("step", [0.0, 1e-12, 1e-4])
def test_steps_of_annealing_that_would_never_end_are_refused(step):
    with pytest.raises(ValueError, match=r"annealing_step.*0\.001"):
        MarkovAggregation(2, annealing_step=step).fit(np.eye(4))


def test_large_sparse_rows_in_single_precision_are_predicted_where_they_were_fitted():
    X = np.array([[1e30, 0.0], [1.1e30, 0.0], [0.0, 9e30], [0.0, 8e30]])
    rows = sparse.csr_array(X.astype(np.float32))
    model = MarkovAggregation(2, random_state=0).fit(rows)
    assert_array_equal(model.predict(rows), model.labels_)
