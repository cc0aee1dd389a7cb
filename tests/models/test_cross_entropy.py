"""CrossEntropyClustering: differences of energy per move against the definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sidelight import CrossEntropyClustering, SideInformation
from sidelight._kernels import cross_entropy as kernels
from sidelight.datasets import make_blobs
from sidelight.metrics import adjusted_rand
from sidelight.models._mixtures.energy import Clusters, Said, Task, descend
from sidelight.models._mixtures.gaussian import Floor
from sidelight.side import sample_labels


def definition(Z, labels, table_of, floor, beta):
    """E from its definition: shares, determinants and entropies of classes."""
    n, d = Z.shape
    total = 0.0
    for k in np.unique(labels):
        rows = Z[labels == k]
        p = len(rows) / n
        scatter = (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0))
        nu = floor.strength
        sigma = (scatter + nu * floor.scale) / (len(rows) + nu)
        entropy = 0.0
        for counts in table_of(k):  # one array of weights per vocabulary
            share = counts[counts > 0] / counts.sum() if counts.sum() else np.ones(1)
            entropy -= (share * np.log(share)).sum()
        total += p * (-np.log(p) + d / 2 * np.log(2 * np.pi * np.e) + beta * entropy)
        total += (len(rows) + nu) / (2 * n) * np.linalg.slogdet(sigma)[1]
        total -= nu / (2 * n) * np.linalg.slogdet(floor.scale)[1]
    return total


def random_task(seed, strength):
    rng = np.random.default_rng(seed)
    n, d = 40, 3
    y = np.where(rng.random(n) < 0.5, rng.integers(3, size=n), -1)
    side = SideInformation.from_labels(y)
    half = np.where(rng.random(n) < 0.3, rng.integers(2, size=n), -1)
    other = SideInformation.from_columns(
        ["label"] * int((half >= 0).sum()),
        np.flatnonzero(half >= 0),
        [None] * int((half >= 0).sum()),
        class_=half[half >= 0].tolist(),
        weight=2.0,
        vocabulary="other",
        n_samples=n,
    )
    floor = Floor(strength, np.diag(rng.random(d) + 0.5))
    task = Task(rng.normal(size=(n, d)), Said.of(side + other), floor, 0.7, 0.0, 1.0)
    labels = rng.permutation(np.repeat(np.arange(4), 10))

    def energy(labels):
        def table_of(k):
            inside = labels == k
            one = np.bincount(y[inside & (y >= 0)], minlength=3).astype(float)
            two = 2.0 * np.bincount(half[inside & (half >= 0)], minlength=2)
            return one, two

        return definition(task.Z, labels, table_of, floor, 0.7)

    return task, labels, energy


@pytest.mark.parametrize("strength", [0.0, 2.5])
@pytest.mark.parametrize("seed", range(5))
def test_the_difference_of_energy_per_move_is_that_of_the_definition(seed, strength):
    task, labels, energy = random_task(seed, strength)
    clusters = Clusters(task, labels.copy(), 4)
    before = energy(labels)
    assert_allclose(clusters.energy, before, rtol=1e-10)
    cost, u, y, scratch, totals = np.empty(4), np.empty(3), np.empty(3), np.empty(9), np.empty(9)
    steps = np.empty((2, 4))
    for k in range(4):
        kernels.set_steps(k, clusters.state, clusters.entropy, clusters.constants, steps)
    for i in range(0, 40, 3):
        kernels.changes(
            task.Z[i], i, labels[i], task.said, clusters.state, clusters.entropy, clusters.table,
            clusters.alive, clusters.constants, steps, u, y, scratch[: clusters.table.shape[1]],
            totals, cost,
        )  # fmt: skip
        for k in range(4):
            moved = labels.copy()
            moved[i] = k
            if k != labels[i]:
                found = (cost[k] - cost[labels[i]]) / 40
                assert_allclose(found, energy(moved) - before, atol=1e-10)


def test_the_margin_of_a_row_is_what_the_next_cluster_would_cost_more():
    task, labels, energy = random_task(0, 2.5)
    clusters = Clusters(task, labels.copy(), 4)
    while clusters.sweep(np.arange(40)):
        pass
    lowest = energy(clusters.labels)
    for i in range(0, 40, 7):
        others = []
        for k in set(range(4)) - {int(clusters.labels[i])}:
            moved = clusters.labels.copy()
            moved[i] = k
            others.append(40 * (energy(moved) - lowest))
        assert_allclose(clusters.margin[i], min(others), atol=1e-8)


def test_a_descent_ends_where_no_row_moves_and_its_moments_are_those_of_the_rows():
    rng = np.random.default_rng(0)
    n = 2_500
    Z = rng.normal(size=(n, 3)) + 2.0 * rng.integers(3, size=n)[:, None]
    said = Said.of(SideInformation.empty(n))
    task = Task(Z, said, Floor(1.0, np.eye(3)), 1.0, 0.0, 1.0)
    found = descend(task, rng.integers(4, size=n), 4, 200)
    assert found.converged
    carried = [part.copy() for part in found.clusters.state]
    found.clusters.refresh()
    for old, new in zip(carried, found.clusters.state, strict=True):
        assert_allclose(old, new, rtol=1e-10)
    assert found.clusters.sweep(np.arange(n)) == 0


@pytest.mark.parametrize("seed", range(5))
def test_moments_after_a_sweep_are_those_of_the_rows(seed):
    task, labels, energy = random_task(seed, 1.0)
    clusters = Clusters(task, labels.copy(), 4)
    start = clusters.energy
    assert clusters.sweep(np.arange(40)) > 0
    carried = [part.copy() for part in (*clusters.state, clusters.entropy, clusters.table)]
    clusters.refresh()
    for old, new in zip(carried, (*clusters.state, clusters.entropy, clusters.table), strict=True):
        assert_allclose(old, new, atol=1e-9)
    assert_allclose(clusters.energy, energy(clusters.labels), rtol=1e-10)
    assert clusters.energy < start


def corners(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return rng.normal(size=(n, 2)) + 8.0 * np.array([[0, 0], [1, 0], [0, 1]])[y], y


def test_the_number_of_clusters_is_found_and_energy_never_rises():
    X, y = corners(1500)
    model = CrossEntropyClustering(n_init=3, random_state=0).fit(X)
    assert model.n_clusters_ == 3
    assert (np.diff(model.history_) <= 0).all()
    assert_array_equal(model.labels_, model.predict(X))
    for k in range(3):
        assert len(np.unique(y[model.labels_ == k])) == 1


def test_the_last_cluster_is_never_dissolved():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = CrossEntropyClustering(min_share=0.99, random_state=0).fit(X)
    assert model.n_clusters_ == 1
    few = CrossEntropyClustering(random_state=0).fit(X[:3])  # fewer rows than a cluster needs
    assert few.n_clusters_ == 1


def test_labels_part_what_the_data_would_join():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200) + np.repeat([0.0, 2.0], 100), rng.normal(size=200)])
    y = np.repeat([0, 1], 100)
    seen = np.where(np.arange(200) % 3 == 0, y, -1)
    plain = CrossEntropyClustering(2, random_state=0).fit(X)
    told = CrossEntropyClustering(2, beta=5.0, random_state=0).fit(X, seen)
    unseen = seen < 0
    right = [
        max((m.labels_ == y)[unseen].mean(), (m.labels_ != y)[unseen].mean()) for m in (plain, told)
    ]
    assert right[1] >= right[0]
    assert told.result_.violated.sum() < 0.25 * (seen >= 0).sum()


def test_a_given_number_of_clusters_stays():
    X, _ = corners()
    assert CrossEntropyClustering(5, random_state=0).fit(X).n_clusters_ == 5


def test_columns_that_follow_from_each_other_are_no_obstacle():
    X, _ = corners()
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.full(len(X), 3.0)])
    for prior in ("auto", 0.0):
        model = CrossEntropyClustering(variance_prior=prior, random_state=0).fit(X)
        assert np.isfinite(model.objective_)
        assert model.n_clusters_ >= 1


def test_a_merge_lowers_energy_by_what_it_says():
    task, labels, energy = random_task(0, 1.5)
    clusters = Clusters(task._replace(merges=True), labels.copy(), 4)
    before = energy(labels)
    pairs = {}
    for a in range(4):
        for b in range(a):
            pairs[a, b] = energy(np.where(labels == a, b, labels)) - before
    best = min(pairs, key=pairs.get)
    assert clusters.merge() == (pairs[best] < 0)
    assert_array_equal(clusters.labels, np.where(labels == best[0], best[1], labels))
    assert_allclose(clusters.energy, before + pairs[best], rtol=1e-10)


@pytest.mark.parametrize("n_clusters", [4, None])
def test_many_rows_go_on_from_the_best_start_of_a_sample(n_clusters, monkeypatch):
    from sidelight.models._mixtures import cross_entropy

    sample = make_blobs(3_000, 3, 4, separation=12.0, random_state=0)
    side = sample_labels(sample.y, 300, random_state=1)
    full = CrossEntropyClustering(n_clusters, random_state=0).fit(sample.X, side=side)
    monkeypatch.setattr(cross_entropy, "_MANY_ROWS", 2_999)
    monkeypatch.setattr(cross_entropy, "SAMPLE", 500)
    sizes = []
    begin = cross_entropy.descend
    monkeypatch.setattr(
        cross_entropy, "descend", lambda task, *a: sizes.append(len(task.Z)) or begin(task, *a)
    )
    found = CrossEntropyClustering(n_clusters, random_state=0).fit(sample.X, side=side)
    assert sizes[-1] == 3_000
    assert max(sizes[:-1]) <= 500
    assert adjusted_rand(full.labels_, found.labels_) > 0.99
    assert found.objective_ <= full.objective_ + 1e-6
    # A given start is not looked for in a sample.
    sizes.clear()
    CrossEntropyClustering(n_clusters, init=found.labels_, random_state=0).fit(sample.X, side=side)
    assert sizes == [3_000]
