"""HG-means: k-means that finds lower sums of squares than its starts alone."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans

from oracles_kmeans import k_means_objective, means_of, squared
from sidelight import HGMeans
from sidelight.blocks import as_blocks
from sidelight.datasets import load
from sidelight.exceptions import SidelightError
from sidelight.models import _lloyd
from sidelight.models._kmeans import hg
from sidelight.models._population import reinserted

SMALL = ["ecoli", "glass", "iris", "segmentation", "user"]
LARGE = [
    *("australian", "breast", "breast_libsvm", "diabetes", "heart", "ionosphere", "thyroid"),
    *("vertebral", "wine", "yeast", "optdigits", "satimage", "pendigits", "yale", "orl", "coil20"),
    *("isolet1", "pbmc_10x", "mouse_bladder", "worm_neuron", "human_kidney"),
]


def clumps(seed, n=200, k=12):
    """Many clumps of different sizes: one start of k-means misses the best solution."""
    rng = np.random.default_rng(seed)
    places = 10.0 * rng.normal(size=(k, 2))
    return rng.normal(size=(n, 2)) + places[rng.integers(k, size=n)]


@pytest.mark.parametrize("seed", range(3))
def test_objective_is_that_of_the_definition_and_never_rises(seed):
    X = clumps(seed)
    model = HGMeans(12, n_init=4, n_generations=3, random_state=seed).fit(X)
    assert model.objective_ == pytest.approx(
        k_means_objective(X, model.cluster_centers_, model.labels_)
    )
    assert_allclose(model.cluster_centers_, means_of(X, model.labels_, 12))
    assert (np.diff(model.history_) <= 0).all()
    assert model.history_[-1] == model.objective_ == model.population_scores_[0]
    assert len(model.history_) == model.n_iter_ == 4
    assert (np.diff(model.population_scores_) >= 0).all()
    assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("seed", range(3))
def test_generations_find_what_as_many_starts_do_not(seed):
    X = clumps(seed, n=300, k=25)
    starts = KMeans(25, n_init=100, tol=0, random_state=seed).fit(X)
    found = HGMeans(25, random_state=seed).fit(X)
    assert found.objective_ < starts.inertia_


def never_above_a_hundred_starts(name, home):
    data = load(name, data_home=home)
    if sparse.issparse(data.X):
        X = sparse.csr_array(data.X, dtype=float)
    else:
        X = np.nan_to_num(np.asarray(data.X, dtype=float))
    n_clusters = len(data.class_names)
    starts = KMeans(n_clusters, n_init=100, tol=0, random_state=0).fit(X)
    found = HGMeans(n_clusters, random_state=0).fit(X)
    assert found.objective_ <= starts.inertia_ * (1 + 1e-9)


def test_every_table_is_compared(shared_data):
    assert {path.stem for path in Path(shared_data).glob("*.npz")} <= {*SMALL, *LARGE}


@pytest.mark.parametrize("name", SMALL)
def test_it_is_never_above_a_hundred_starts(name, shared_data):
    never_above_a_hundred_starts(name, shared_data)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_it_is_never_above_a_hundred_starts_on_larger_data(name, shared_data):
    never_above_a_hundred_starts(name, shared_data)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("seed", range(4))
def test_no_row_gains_by_moving_where_the_centres_follow(seed, kind):
    """Of more columns than rows in a cluster, where k-means alone stops early."""
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(40, 30)), rng.choice([0.5, 1.0, 3.0], size=40)
    settings = {"n_init": 2, "n_generations": 1, "random_state": seed}
    model = HGMeans(4, **settings).fit(kind(X), sample_weight=weight)

    def total(labels):
        found = 0.0
        for k in np.unique(labels):
            own, w = X[labels == k], weight[labels == k]
            found += w @ ((own - np.average(own, axis=0, weights=w)) ** 2).sum(axis=1)
        return found

    assert total(model.labels_) == pytest.approx(model.objective_)
    for i in range(40):
        for k in range(4):
            moved = model.labels_.copy()
            moved[i] = k
            assert len(np.unique(moved)) < 4 or total(moved) >= model.objective_ - 1e-9
    plain = HGMeans(4, relocate=False, **settings).fit(kind(X), sample_weight=weight)
    assert model.objective_ <= plain.objective_


@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
def test_a_centre_returns_at_a_row_drawn_by_its_distance(alpha):
    X = np.array([[0.0], [1.0], [10.0], [12.0], [40.0]])
    weight = np.array([1.0, 2.0, 1.0, 1.0, 0.5])
    centers = np.array([[0.0], [11.0]])
    drawn = {0: [], 1: []}
    for seed in range(1000):
        child = reinserted(as_blocks(X), weight, centers, alpha, np.random.default_rng(seed))
        moved = np.flatnonzero((child != centers)[:, 0])
        if len(moved):  # a row may lie where the centre was
            drawn[moved[0]].append(child[moved[0], 0])
    for removed, rows in drawn.items():
        away = np.sqrt([squared(x, centers[1 - removed]) for x in X])
        mass = weight * ((1 - alpha) / weight.sum() + alpha * away / (weight @ away))
        mass[X[:, 0] == centers[removed, 0]] = 0.0
        shares = [np.mean(np.array(rows) == x) for x in X[:, 0]]
        assert_allclose(shares, mass / mass.sum(), atol=0.07)


def test_labels_name_clusters_and_bind_nothing():
    X = np.array([[0.0], [0.2], [5.0], [5.2], [9.0], [9.2]])
    model = HGMeans(3, random_state=0).fit(X, ["b", None, "a", None, None, "b"])
    assert set(model.cluster_names_) == {"a", "b", "new 1"}
    assert_array_equal(model.labels_[::2], model.labels_[1::2])
    assert model.result_.violated.sum() == 1


def test_the_answer_depends_on_the_seed_and_not_on_jobs():
    X = clumps(4)
    settings = {"n_init": 4, "n_generations": 2, "random_state": 3}
    one = HGMeans(12, **settings).fit(X)
    two = HGMeans(12, n_jobs=2, **settings).fit(X)
    assert_array_equal(one.labels_, two.labels_)
    assert one.objective_ == two.objective_


def test_weights_count_as_copies():
    X = clumps(5, n=60, k=4)
    weight = np.random.default_rng(0).integers(1, 4, size=len(X))
    one = HGMeans(4, n_init=3, n_generations=2, random_state=0).fit(X, sample_weight=weight)
    two = HGMeans(4, n_init=3, n_generations=2, random_state=0)
    two.fit(np.repeat(X, weight, axis=0))
    assert one.objective_ == pytest.approx(two.objective_)
    assert_array_equal(np.repeat(one.labels_, weight), two.labels_)


def test_it_ends_without_gain_and_when_the_time_is_over():
    X = clumps(6, n=50, k=2)
    easy = HGMeans(2, patience=2, random_state=0).fit(X)
    assert easy.n_iter_ == 3
    hurried = HGMeans(2, max_time=1e-9, random_state=0).fit(X)
    assert hurried.n_iter_ == 1


def test_a_population_needs_room_for_children():
    with pytest.raises(SidelightError, match="population_size=10 leaves no room"):
        HGMeans(2, population_size=10).fit([[0.0], [1.0], [2.0]])
    assert HGMeans(1, random_state=0).fit([[0.0], [1.0], [5.0]]).objective_ == pytest.approx(14)


@pytest.mark.parametrize("seed", range(2))
def test_members_of_large_data_end_early_and_the_best_is_improved_to_the_end(seed, monkeypatch):
    X = clumps(seed, n=600)
    full = HGMeans(12, random_state=seed).fit(X)
    monkeypatch.setattr(_lloyd, "EXACT_UP_TO", 599)
    monkeypatch.setattr(hg, "EXACT_UP_TO", 599)
    ends = []
    improve = _lloyd.iterate

    def watched(*arguments, **options):
        ends.append(options.get("least_fall", 0.0))
        return improve(*arguments, **options)

    monkeypatch.setattr(_lloyd, "iterate", watched)
    monkeypatch.setattr(hg, "iterate", watched)
    found = HGMeans(12, random_state=seed).fit(X)
    assert ends[-1] == 0.0
    assert len(ends) > 10
    assert set(ends[:-1]) == {hg._LEAST_FALL}
    assert found.objective_ <= full.objective_ * (1.0 + 1e-3)
    assert_allclose(found.cluster_centers_, means_of(X, found.labels_, 12))
    assert (np.diff(found.history_) <= 0).all()
    assert_array_equal(found.predict(X), found.labels_)


def test_patience_follows_the_size_unless_it_is_given(monkeypatch):
    plans = []

    def stop(problem, plan, budget, **_):
        plans.append((budget.patience, budget.least_gain, plan.loop is _lloyd.iterate))
        plans.append(type(problem.penalty).__name__)
        raise SidelightError("enough")

    monkeypatch.setattr(hg.population, "evolve", stop)
    for n, asked, expected, is_full in (
        (20_000, "auto", 10, True), (30_000, "auto", 6, False), (50_000, "auto", 4, False),
        (90_000, "auto", 4, False), (90_000, 10, 10, True),
    ):  # fmt: skip
        with pytest.raises(SidelightError, match="enough"):
            HGMeans(2, patience=asked).fit(np.arange(n, dtype=float)[:, None])
        found, penalty = plans[-2:]
        assert found == (expected, 1e-12 if is_full else 1e-5, is_full)
        assert penalty == ("Relocation" if is_full else "Penalty")
