"""PartitionLevelKMeans: the mathematics against itself, and against slow, obvious Python."""

import pickle
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import adjusted_rand_score

from oracles import partition_level_objective
from sidelight import PartitionLevelKMeans, SideInformation
from sidelight.blocks import as_blocks, threads
from sidelight.exceptions import (
    DataError,
    LostClassWarning,
    SideInformationError,
    UnsupportedStatementError,
)
from sidelight.models import _lloyd as steps
from sidelight.models._centers import random_rows, spread
from sidelight.models._kmeans import impurity
from sidelight.models._kmeans.partition_level import _from_labels, _Plan, _start
from sidelight.models._kmeans.statements import CannotLinks, LabelTable


def blobs(n=200, d=3, n_classes=4, scale=1.5, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.normal(scale=scale, size=(n_classes, d))
    truth = rng.integers(n_classes, size=n)
    return centers[truth] + rng.normal(size=(n, d)), truth


def all_kinds(truth, seed=0, links=True):
    """Labels of two vocabularies, some wrong and some repeated, negative labels, cannot-links."""
    rng = np.random.default_rng(seed)
    n = len(truth)
    some = np.where(rng.random(n) < 0.2, truth, -1)
    wrong = np.where(rng.random(n) < 0.05, rng.integers(4, size=n), -1)
    other = np.where(rng.random(n) < 0.1, truth // 2, -1)
    negative = rng.choice(n, 20, replace=False)
    side = (
        SideInformation.from_labels(some, weight=rng.uniform(0.2, 2.0, size=n))
        + SideInformation.from_labels(wrong)
        + SideInformation.from_labels(other, vocabulary="coarse")
        + SideInformation.from_columns(
            "not_label", negative, class_=(truth[negative] + 1) % 4, weight=0.7, n_samples=n
        )
    )
    if links:
        pairs = rng.choice(n, (25, 2), replace=False)
        side += SideInformation.from_pairs(
            cannot=pairs, weight=rng.uniform(0.5, 2, 25), n_samples=n
        )
    return side


def problem_of(X, side, side_weight, weight=None):
    rows = as_blocks(X)
    said = LabelTable.of(side)
    mean, _ = spread(rows, weight)
    links = CannotLinks.of(side, rows, weight, said, mean)
    return steps.Problem(rows, weight, impurity.Impurity(said, side_weight, links))


def random_theta(problem, n_clusters, seed=0):
    rng = np.random.default_rng(seed)
    return steps.Theta(
        rng.normal(size=(n_clusters, problem.rows.n_features)),
        rng.random((n_clusters, problem.penalty.said.n_columns)),
    )


def value(problem, theta, labels):
    """J(labels, theta) by holding every row where it is."""
    state = steps.State(labels.astype(np.int32), np.full(len(labels), np.inf))
    tally = steps.count(problem, labels, len(theta.centers))
    tally = steps.assign(problem, theta, state, tally)
    return steps.objective(problem, theta, tally, state)


# The objective


@pytest.mark.parametrize("units", ["relative", "absolute"])
@pytest.mark.parametrize("weighted", [False, True])
def test_objective_is_j_by_definition(units, weighted):
    X, truth = blobs()
    side = all_kinds(truth)
    weight = np.random.default_rng(1).uniform(0, 3, size=len(X)) if weighted else None
    model = PartitionLevelKMeans(5, weight_units=units, n_init=2, random_state=0)
    model.fit(X, side=side, sample_weight=weight)
    expected = partition_level_objective(X, model.labels_, side, model.side_weight_, weight)
    assert_allclose(model.objective_, expected, rtol=1e-9)


def test_relative_weight_counts_mean_squared_deviations():
    X, truth = blobs()
    deviation = ((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()
    model = PartitionLevelKMeans(4, side_weight=3.0, random_state=0).fit(X, truth)
    assert_allclose(model.side_weight_, 3.0 * deviation)
    again = PartitionLevelKMeans(4, side_weight=3.0, random_state=0).fit(1000 * X, truth)
    assert_array_equal(model.labels_, again.labels_)


@pytest.mark.parametrize("links", [False, True])
def test_j_carried_on_by_its_changes_is_j_by_definition_after_every_iteration(links):
    X, truth = blobs(n=400)
    side = all_kinds(truth, links=links)
    problem = problem_of(X, side, 4.0)
    theta = random_theta(problem, 6)
    full = steps.iterate(problem, theta, 300)
    assert full.converged
    assert full.n_iter > 5
    for max_iter in range(2, full.n_iter + 1):
        run = steps.iterate(problem, theta, max_iter)
        assert_allclose(run.history, full.history[:max_iter], rtol=1e-9)
        assert_allclose(run.history[-1], value(problem, run.theta, run.labels), rtol=1e-9)
    expected = partition_level_objective(X, full.labels, side, 4.0)
    assert_allclose(full.objective, expected, rtol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_history_never_rises(seed):
    X, truth = blobs(seed=seed)
    side = all_kinds(truth, seed=seed)
    for init in ("seeded", "k-means++", "random"):
        model = PartitionLevelKMeans(6, init=init, n_init=1, side_weight=1, random_state=seed)
        history = model.fit(X, side=side).history_
        assert len(history) == model.n_iter_
        assert (np.diff(history) <= 0).all()
        assert_allclose(history[-1], model.objective_, rtol=1e-12)


# The half-steps


def test_assignment_minimises_j_for_fixed_parameters():
    X, truth = blobs(n=60)
    problem = problem_of(X, all_kinds(truth[:60], links=False), 2.0)
    theta = random_theta(problem, 4)
    state = steps.State.new(problem.rows)
    best = steps.objective(problem, theta, steps.assign(problem, theta, state), state)
    for i, k in product(range(60), range(4)):
        other = state.labels.copy()
        other[i] = k
        assert value(problem, theta, other) >= best - 1e-9


def test_update_minimises_j_for_a_fixed_partition():
    X, truth = blobs(n=80)
    problem = problem_of(X, all_kinds(truth, links=False), 2.0)
    labels = np.random.default_rng(0).integers(4, size=80)
    theta = _from_labels(labels, problem, 4)
    best = value(problem, theta, labels)
    rng = np.random.default_rng(1)
    for _ in range(50):
        shaken = steps.Theta(*(t + rng.normal(scale=0.05, size=t.shape) for t in theta))
        assert value(problem, shaken, labels) > best
    side = all_kinds(truth, links=False)
    assert_allclose(best, partition_level_objective(X, labels, side, 2.0), rtol=1e-9)


def test_cluster_without_labels_has_the_zero_profile():
    X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    model = PartitionLevelKMeans(3, random_state=0).fit(X, [0, 0, 1, 1, -1, -1])
    assert_array_equal(model.class_profiles_, [[1, 0], [0, 1], [0, 0]])
    assert model.class_columns_ == [(None, 0), (None, 1)]


def test_rows_skipped_by_bounds_change_nothing():
    X, truth = blobs(n=3000, scale=0.8)
    problem = problem_of(X, all_kinds(truth, links=False), 2.0)
    theta = random_theta(problem, 7)
    run = steps.iterate(problem, theta, 300)
    state = steps.State.new(problem.rows)
    labels = state.labels.copy()
    for n_iter in range(1, 301):  # noqa: B007
        tally = steps.assign(problem, theta, steps.State.new(problem.rows))
        steps.assign(problem, theta, state)
        if (labels == state.labels).all():
            break
        labels = state.labels.copy()
        theta = problem.penalty.update(tally, theta)
    assert run.n_iter == n_iter
    assert_array_equal(run.labels, labels)
    assert_allclose(run.theta.centers, theta.centers, rtol=1e-9)


# Cannot-links


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_fall_of_j_by_relocation_is_the_recomputed_one(kind):
    X, truth = blobs()
    X = X + 100.0 if kind == "dense" else X
    side = all_kinds(truth)
    weight = np.random.default_rng(2).uniform(0.1, 2, size=len(X))
    problem = problem_of(X if kind == "dense" else sparse.csr_array(X), side, 3.0, weight)
    labels = np.random.default_rng(3).integers(5, size=len(X)).astype(np.int32)
    state = steps.State(labels.copy(), np.full(len(X), np.inf))
    tally = steps.count(problem, labels, 5)
    links, no_theta = problem.penalty.links, None
    n_moved, after = problem.penalty.sweep(problem, no_theta, tally, state)
    assert n_moved == (labels != state.labels).sum() > 0
    before = partition_level_objective(X, labels, side, 3.0, weight)
    expected = before - partition_level_objective(X, state.labels, side, 3.0, weight)
    again = steps.count(problem, state.labels, 5)
    pairs = zip((*after[2:4], *after.side), (*again[2:4], *again.side), strict=True)
    for moved, recomputed in pairs:
        assert_allclose(moved, recomputed, rtol=1e-9, atol=1e-9)
    sums = (tally.sums - tally.counts[:, None] * links.shift).T.copy()
    number, total = tally.side
    fall, _ = impurity.relocate(
        *links.for_kernel, 3.0, 0.0, labels[links.rows].copy(), sums,
        (sums**2).sum(axis=0), tally.counts.copy(), number.copy(), total.copy(),
    )  # fmt: skip
    assert_allclose(fall, expected, rtol=1e-9)


def test_at_the_end_no_move_of_a_linked_row_lowers_j():
    X, truth = blobs(n=80)
    side = all_kinds(truth)
    model = PartitionLevelKMeans(4, side_weight=2, n_init=1, random_state=0).fit(X, side=side)
    for i in np.unique(side.cannot):
        for k in range(4):
            other = model.labels_.copy()
            other[i] = k
            j = partition_level_objective(X, other, side, model.side_weight_)
            assert j >= model.objective_ * (1 - 1e-9)


def test_heavy_cannot_links_are_repaired():
    X, truth = blobs(n=600, scale=3)
    rng = np.random.default_rng(0)
    pairs = np.array(
        [rng.choice(np.flatnonzero(truth == c), 2, False) for c in range(4) for _ in range(50)]
    )
    side = SideInformation.from_pairs(cannot=pairs, n_samples=600)
    plain = PartitionLevelKMeans(4, n_init=1, random_state=0).fit(X)
    assert side.violated(plain.labels_).sum() > 150
    model = PartitionLevelKMeans(4, side_weight=100, n_init=1, random_state=0).fit(X, side=side)
    assert not model.result_.violated.any()


def test_row_that_cannot_be_with_itself_costs_the_same_everywhere():
    X, _ = blobs(n=50)
    side = SideInformation.from_pairs(cannot=[(3, 3)], n_samples=50, self_pairs="keep")
    plain = PartitionLevelKMeans(3, random_state=0).fit(X)
    model = PartitionLevelKMeans(3, random_state=0).fit(X, side=side)
    assert_array_equal(plain.labels_, model.labels_)
    assert_allclose(model.objective_, plain.objective_ + model.side_weight_)


# Statements


def test_must_links_are_refused_with_a_reason_and_a_way_out():
    side = SideInformation.from_pairs(must=[("a", "c")], index=["a", "b", "c"])
    with pytest.raises(
        UnsupportedStatementError, match=r"'must' \(1 statement, first: a with c"
    ) as e:
        PartitionLevelKMeans(2).fit(np.eye(3), side=side)
    assert "mix classes" in str(e.value)
    assert "side.only(kind=['cannot', 'unsure', 'label', 'not_label'])" in str(e.value)


def test_statements_that_bind_nothing_change_nothing():
    X, truth = blobs(n=60)
    side = SideInformation.from_labels(np.where(np.arange(60) < 20, truth, -1))
    idle = SideInformation.from_columns(
        ["unsure", "must", "label"], [0, 1, 2], [5, 9, None], class_=[None, None, 9],
        weight=[1, 0, 0], n_samples=60,
    ) + SideInformation.from_pairs(must=[(4, 4)], n_samples=60, self_pairs="keep")  # fmt: skip
    one = PartitionLevelKMeans(4, random_state=0).fit(X, side=side)
    two = PartitionLevelKMeans(4, random_state=0).fit(X, side=side + idle)
    assert_array_equal(one.labels_, two.labels_)
    assert one.objective_ == two.objective_


def test_weight_of_a_statement_counts_as_its_repetition():
    X, truth = blobs(n=60)
    labels = SideInformation.from_labels(np.where(np.arange(60) < 20, truth, -1))
    heavy = SideInformation.from_labels(np.where(np.arange(60) < 20, truth, -1), weight=2.0)
    one = PartitionLevelKMeans(4, random_state=0).fit(X, side=labels + labels)
    two = PartitionLevelKMeans(4, random_state=0).fit(X, side=heavy)
    assert_array_equal(one.labels_, two.labels_)
    assert_allclose(one.objective_, two.objective_)


def test_negative_label_keeps_a_row_out_of_its_class():
    X = np.array([[0.0], [0.1], [0.2], [3.0], [3.1], [3.2]])
    y = [0, 0, -1, 1, 1, -1]
    side = SideInformation.from_columns("not_label", [2], class_=[0], weight=5.0, n_samples=6)
    assert PartitionLevelKMeans(random_state=0).fit(X, y).labels_[2] == 0
    assert PartitionLevelKMeans(random_state=0).fit(X, y, side=side).labels_[2] == 1


def test_vocabularies_are_not_compared():
    X, truth = blobs(n=200, scale=6)
    names = np.array(["w", "x", "y", "z"])
    mine = np.where(np.arange(200) < 100, truth, -1)
    yours = np.where(np.arange(200) >= 150, names[(truth + 1) % 4], None)
    side = SideInformation.from_labels(mine) + SideInformation.from_labels(yours, vocabulary="you")
    model = PartitionLevelKMeans(random_state=0).fit(X, side=side)
    assert model.n_clusters_ == 4
    assert model.cluster_names_.tolist() == [0, 1, 2, 3]
    assert adjusted_rand_score(truth, model.labels_) > 0.95
    assert model.class_columns_[:4] == [(None, c) for c in range(4)]
    assert_allclose(model.class_profiles_.sum(axis=1), 2, atol=0.2)


def test_labels_in_y_and_in_side_are_joined():
    X, truth = blobs(n=80)
    first = np.where(np.arange(80) < 20, truth, -1)
    second = np.where(np.arange(80) >= 60, truth, -1)
    both = np.where((np.arange(80) < 20) | (np.arange(80) >= 60), truth, -1)
    one = PartitionLevelKMeans(random_state=0).fit(
        X, first, side=SideInformation.from_labels(second)
    )
    two = PartitionLevelKMeans(random_state=0).fit(X, both)
    assert_array_equal(one.labels_, two.labels_)
    assert one.result_.side == two.result_.side


def test_a_few_wrong_labels_are_reported_and_not_followed():
    X, truth = blobs(n=300, scale=12)
    y = np.where(np.arange(300) < 60, truth, -1)
    y[:3] = (truth[:3] + 1) % 4
    model = PartitionLevelKMeans(side_weight=0.2, random_state=0).fit(X, y)
    assert adjusted_rand_score(truth, model.labels_) == 1
    assert set(np.flatnonzero(model.result_.violated)) == {0, 1, 2}
    assert len(model.result_.broken()) == 3


# Plain k-means


@pytest.mark.parametrize("weighted", [False, True])
def test_without_statements_it_is_lloyds_algorithm(weighted):
    X, _ = blobs(n=500)
    weight = np.random.default_rng(1).uniform(0, 2, size=500) if weighted else None
    start = X[:6]
    ours = PartitionLevelKMeans(6, init=start).fit(X, sample_weight=weight)
    theirs = KMeans(6, init=start, n_init=1, tol=0).fit(X, sample_weight=weight)
    same = np.array([np.flatnonzero(ours.labels_ == k)[0] for k in range(6)])
    assert_array_equal(theirs.labels_[same][ours.labels_], theirs.labels_)
    assert_allclose(ours.objective_, theirs.inertia_, rtol=1e-9)
    assert_allclose(ours.cluster_centers_, theirs.cluster_centers_[theirs.labels_[same]])
    assert ours.n_iter_ == theirs.n_iter_


def test_zero_side_weight_ignores_the_labels():
    X, truth = blobs(n=200)
    plain = PartitionLevelKMeans(4, init=X[:4]).fit(X)
    model = PartitionLevelKMeans(4, side_weight=0, init=X[:4]).fit(X, truth)
    assert adjusted_rand_score(plain.labels_, model.labels_) == 1


# Kinds of data


def kinds_of(X, folder):
    path = folder / "X.npy"
    np.save(path, X)
    yield "memory map", np.load(path, mmap_mode="r")
    yield "F-ordered", np.asfortranarray(X)
    yield "strided", np.repeat(X, 2, axis=0)[::2]
    yield "CSR", sparse.csr_matrix(X)
    yield "CSR array, 64-bit", sparse.csr_array((*_wide(sparse.csr_array(X)),), shape=X.shape)


def _wide(X):
    return X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)


def test_dense_sparse_and_memory_map_agree(tmp_path):
    X, truth = blobs(n=20_000, d=5, scale=2)
    X[np.abs(X) < 0.3] = 0
    side = all_kinds(truth)
    model = PartitionLevelKMeans(5, n_init=2, random_state=0)
    expected = model.fit(X, side=side)
    labels, objective = expected.labels_, expected.objective_
    for name, other in kinds_of(X, tmp_path):
        again = model.fit(other, side=side)
        assert_array_equal(again.labels_, labels, err_msg=name)
        assert_allclose(again.objective_, objective, rtol=1e-9, err_msg=name)
        assert_array_equal(again.predict(other), again.predict(X), err_msg=name)


def test_float32_is_kept_and_gives_the_same_partition():
    X, truth = blobs(n=500, scale=3)
    y = np.where(np.arange(500) < 50, truth, -1)
    double = PartitionLevelKMeans(random_state=0).fit(X, y)
    single = PartitionLevelKMeans(random_state=0).fit(X.astype(np.float32), y)
    assert_array_equal(double.labels_, single.labels_)
    assert_allclose(double.objective_, single.objective_, rtol=1e-5)
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    unlabelled = y < 0
    predicted = single.predict(X.astype(np.float32))
    assert_array_equal(predicted[unlabelled], single.labels_[unlabelled])


def test_data_far_from_the_origin_lose_no_digits():
    X, truth = blobs(n=300)
    side = all_kinds(truth)
    near = PartitionLevelKMeans(4, n_init=1, random_state=0).fit(X, side=side)
    far = PartitionLevelKMeans(4, n_init=1, random_state=0).fit(X + 1e6, side=side)
    assert_array_equal(near.labels_, far.labels_)
    assert_allclose(near.objective_, far.objective_, rtol=1e-7)


def test_answer_is_the_same_to_the_bit_for_one_thread_and_two():
    X, truth = blobs(n=40_000, scale=0.8)
    side = all_kinds(truth)
    model = PartitionLevelKMeans(6, n_init=2, random_state=3)
    with threads(1):
        one = pickle.dumps(model.fit(X, side=side).__getstate__() | {"result_": None})
    with threads(2):
        two = pickle.dumps(model.fit(X, side=side).__getstate__() | {"result_": None})
    assert one == two


# Starts


def test_seeds_are_the_means_of_the_labelled_classes():
    X, truth = blobs(n=300, scale=4)
    y = np.where(np.arange(300) < 40, truth, -1)
    side = SideInformation.from_labels(y)
    plan, rng = _Plan("seeded", 4, side, 300, 0.0), np.random.default_rng(0)
    first = _start(problem_of(X, side, 1.0), plan, 0, rng)
    assert_allclose(first.centers, [X[y == c].mean(axis=0) for c in range(4)])
    assert_array_equal(first.side, np.eye(4))


def test_later_seeds_are_labelled_rows():
    X, truth = blobs(n=300, scale=4)
    y = np.where(np.arange(300) < 40, truth, -1)
    side = SideInformation.from_labels(y)
    plan, problem = _Plan("seeded", 4, side, 300, 0.0), problem_of(X, side, 1.0)
    children = np.random.default_rng(0).spawn(3)
    starts = [_start(problem, plan, k, child) for k, child in enumerate(children)]
    for start in starts[1:]:
        for c in range(4):
            assert (X[y == c] == start.centers[c]).all(axis=1).any()
    assert not np.array_equal(starts[1].centers, starts[2].centers)


def test_start_from_labels_converges_at_once_where_they_are_a_solution():
    X, truth = blobs(n=200)
    y = np.where(np.arange(200) < 40, truth, -1)
    model = PartitionLevelKMeans(4, random_state=0).fit(X, y)
    again = PartitionLevelKMeans(4, init=model.labels_).fit(X, y)
    assert again.n_iter_ == 2
    assert again.objective_ == pytest.approx(model.objective_, rel=1e-12)


def test_warm_restart_from_a_model_after_more_statements():
    X, truth = blobs(n=400, scale=1)
    y = np.where(np.arange(400) < 40, truth, -1)
    old = PartitionLevelKMeans(5, random_state=0).fit(X, y)
    y[40:44] = truth[40:44]
    for init in (old, FrozenEstimator(old)):
        warm = PartitionLevelKMeans(5, init=init).fit(X, y)
        assert warm.n_iter_ <= old.n_iter_ + 2
        assert adjusted_rand_score(warm.labels_, old.labels_) > 0.9
    same = PartitionLevelKMeans(5, init=old).fit(X, old.result_.side.to_labels())
    assert same.n_iter_ == 2


def test_start_with_too_few_centres_is_completed():
    X, _ = blobs(n=100)
    labels = np.where(np.arange(100) < 50, 0, 1)
    labels[10] = -1
    model = PartitionLevelKMeans(4, init=labels, random_state=0).fit(X)
    assert model.n_clusters_ == 4


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (np.zeros((3, 7)), "shape"),
        (np.zeros((9, 3)), "9 centres for n_clusters=4"),
        (np.full(50, 4), "cluster numbers from 4 to 4"),
        (np.full((4, 3), np.nan), "finite"),
    ],
)
def test_start_that_does_not_fit_is_refused(init, message):
    X, _ = blobs(n=50)
    with pytest.raises(DataError, match=message):
        PartitionLevelKMeans(4, init=init).fit(X)


def test_random_rows_are_different_and_follow_the_weights():
    X = np.arange(10.0)[:, None]
    weight = np.r_[np.zeros(5), np.ones(5)]
    for seed in range(20):
        rng = np.random.default_rng(seed)
        drawn = random_rows(as_blocks(X), weight, 5, rng).ravel()
        assert sorted(drawn) == [5, 6, 7, 8, 9]


@pytest.mark.parametrize("random_state", [7, np.random.RandomState(7), np.random.default_rng(7)])
def test_seed_in_the_result_repeats_the_fit(random_state):
    X, _ = blobs(n=200, scale=0.5)
    model = PartitionLevelKMeans(8, n_init=1, random_state=random_state).fit(X)
    seed = model.result_.provenance["seed"]
    again = PartitionLevelKMeans(8, n_init=1, random_state=seed).fit(X)
    assert_array_equal(model.labels_, again.labels_)


# Names


def test_given_classes_come_first_and_new_clusters_get_new_names():
    X = np.array([[9.0], [9.1], [5.0], [5.1], [0.0], [0.1]])
    model = PartitionLevelKMeans(3, random_state=0)
    model.fit(X, ["b", None, None, None, "a", None])
    assert model.cluster_names_[model.labels_].tolist() == ["b", "b", "new 1", "new 1", "a", "a"]
    assert model.cluster_names_.tolist() == ["a", "b", "new 1"]
    model.fit(X, [7, -1, -1, -1, 2, -1])
    assert model.cluster_names_[model.labels_].tolist() == [7, 7, 8, 8, 2, 2]
    model.fit(X)
    assert model.labels_.tolist() == [0, 0, 1, 1, 2, 2]
    assert model.cluster_names_.tolist() == [0, 1, 2]


# Bad input


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_value_that_is_not_finite_names_the_row(bad, form):
    X, _ = blobs(n=20)
    X[7, 1] = bad
    side = SideInformation.empty(20, index=[f"p{i}" for i in range(20)])
    with pytest.raises(DataError, match="NaN or infinity in row p7"):
        PartitionLevelKMeans(2).fit(form(X), side=side)


def test_empty_input_is_refused():
    with pytest.raises(ValueError, match="0 sample"):
        PartitionLevelKMeans(2).fit(np.empty((0, 3)))


def test_one_row_is_one_cluster():
    model = PartitionLevelKMeans().fit([[1.0, 2.0]], ["only"])
    assert model.labels_.tolist() == [0]
    assert model.cluster_names_.tolist() == ["only"]
    assert model.objective_ == 0


def test_fewer_rows_than_clusters_is_refused():
    with pytest.raises(DataError, match="n_samples=2, fewer than n_clusters=3"):
        PartitionLevelKMeans(3).fit([[0.0], [1.0]])


def test_constant_columns_do_no_harm():
    X, truth = blobs(n=100)
    y = np.where(np.arange(100) < 30, truth, -1)
    one = PartitionLevelKMeans(random_state=0).fit(X, y)
    two = PartitionLevelKMeans(random_state=0).fit(np.c_[X, np.full(100, 3.0)], y)
    assert_array_equal(one.labels_, two.labels_)


def test_rows_that_are_all_alike_are_parted_by_their_labels():
    y = np.array([0, 1, 0, 1, -1, -1])
    model = PartitionLevelKMeans(random_state=0).fit(np.full((6, 2), 0.1), y)
    assert_array_equal(model.labels_[:4], y[:4])
    assert model.side_weight_ == 10


def test_more_clusters_than_distinct_rows_is_a_warning():
    X = np.repeat([[0.1], [1.3], [2.7]], 4, axis=0)
    for init in ("seeded", "random"):
        with pytest.warns(ConvergenceWarning, match="found 3 clusters where 5"):
            model = PartitionLevelKMeans(5, init=init, random_state=0).fit(X)
        assert model.n_clusters_ == len(model.cluster_centers_) == 3
        assert model.objective_ == pytest.approx(0, abs=1e-20)


def test_empty_cluster_starts_again_at_the_costliest_row():
    X = np.array([[0.0], [1.0], [2.0], [50.0]])
    model = PartitionLevelKMeans(2, init=np.array([[1.0], [1e6]])).fit(X)
    assert model.labels_.tolist() == [0, 0, 0, 1]
    assert model.history_.tolist() == [2403, 2, 2]


def test_no_labels_and_no_number_of_clusters_is_an_error_that_says_so():
    with pytest.raises(SideInformationError, match="n_clusters is None"):
        PartitionLevelKMeans().fit(np.eye(3))


def test_all_rows_labelled_gives_the_labels():
    X, truth = blobs(n=100)
    model = PartitionLevelKMeans(side_weight=1e3, random_state=0).fit(X, truth)
    assert_array_equal(model.cluster_names_[model.labels_], truth)


def test_one_class_only_seeds_one_cluster():
    X, truth = blobs(n=200, scale=8)
    y = np.where((np.arange(200) < 50) & (truth == 2), 2, -1)
    model = PartitionLevelKMeans(4, random_state=0).fit(X, y)
    assert model.cluster_names_.tolist() == [2, 3, 4, 5]
    assert adjusted_rand_score(truth, model.labels_) > 0.9


def test_more_classes_than_clusters_shares_them_out():
    X, truth = blobs(n=200, scale=4)
    with pytest.warns(LostClassWarning, match="2 clusters for 4 labelled classes"):
        model = PartitionLevelKMeans(2, random_state=0).fit(X, truth)
    assert model.n_clusters_ == 2
    assert set(model.cluster_names_) < {0, 1, 2, 3}
    assert model.class_profiles_.shape == (2, 4)


def test_wrong_sizes_and_types_are_named():
    X, truth = blobs(n=20)
    with pytest.raises(SideInformationError, match="y has 19 labels and X has 20 rows"):
        PartitionLevelKMeans().fit(X, truth[:19])
    with pytest.raises(SideInformationError, match="side is about 5 rows and X has 20"):
        PartitionLevelKMeans(2).fit(X, side=SideInformation.empty(5))
    with pytest.raises(SideInformationError, match=r"y is a SideInformation.*fit\(X, side=side\)"):
        PartitionLevelKMeans(2).fit(X, SideInformation.empty(20))
    with pytest.raises(SideInformationError, match="side is a list"):
        PartitionLevelKMeans(2).fit(X, side=[(0, 1)])
    with pytest.raises(DataError, match="sample_weight"):
        PartitionLevelKMeans(2).fit(X, sample_weight=np.full(20, -1.0))


def test_limit_on_the_iterations_is_a_warning():
    X, _ = blobs(n=300, scale=0.3)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = PartitionLevelKMeans(6, max_iter=2, n_init=1, random_state=0).fit(X)
    assert model.n_iter_ == 2
    assert_array_equal(model.predict(X), model.labels_)


# Paper mode


def test_published_setting_is_lambda_100_in_absolute_units():
    model = PartitionLevelKMeans.as_published(n_clusters=3, random_state=1)
    assert (model.side_weight, model.weight_units, model.init, model.n_init) == (
        100.0, "absolute", "seeded", 10,
    )  # fmt: skip
    assert model.n_clusters == 3
    X, truth = blobs(n=60)
    assert model.fit(X, np.where(truth < 3, truth, -1)).side_weight_ == 100


def test_the_order_of_weighted_cannot_links_changes_no_bit_of_the_objective():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    pairs = rng.permuted(np.tile(np.arange(60), (400, 1)), axis=1)[:, :2]
    weight = rng.random(400)
    objectives = set()
    for order in (np.arange(400), np.arange(400)[::-1], rng.permutation(400)):
        side = SideInformation.from_pairs(
            cannot=pairs[order], weight=weight[order], n_samples=len(X)
        )
        objectives.add(
            PartitionLevelKMeans(3, n_init=1, random_state=0).fit(X, side=side).objective_
        )
    assert len(objectives) == 1


def test_must_links_are_refused_with_the_names_of_k_means_models_that_take_them():
    side = SideInformation.from_pairs(must=[(0, 1)], n_samples=3)
    with pytest.raises(UnsupportedStatementError, match="PCKMeans gives them a price") as refused:
        PartitionLevelKMeans(2).fit([[0.0], [1.0], [2.0]], side=side)
    for name in ("PCKMeans", "COPKMeans", "LCVQE", "MPCKMeans", "HMRFKMeans"):
        assert name in str(refused.value)
        assert name in refused.value.models
