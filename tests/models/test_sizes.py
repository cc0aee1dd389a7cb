"""Clusters of given sizes: exact transportation, every size kept, statements too."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from oracles_kmeans import k_means_objective, means_of
from sidelight import ConstrainedKMeans, COPKMeans, PCKMeans, SideInformation
from sidelight.exceptions import DataError, SideInformationError, SidelightError
from sidelight.models._kmeans.sizes import Sizes, transported
from sidelight.side import sample_pairs

ALL = pytest.mark.parametrize("model", [ConstrainedKMeans, COPKMeans, PCKMeans])


def blobs(seed, n=90, k=3, d=2):
    """Loose clusters of very different sizes."""
    rng = np.random.default_rng(seed)
    truth = np.sort(rng.choice(k, size=n, p=np.arange(1, k + 1) / np.arange(1, k + 1).sum()))
    return rng.normal(size=(n, d)) + 4.0 * np.eye(k, d)[truth], truth


@pytest.mark.parametrize("seed", range(25))
def test_the_cheapest_of_all_assignments_within_the_sizes_is_found(seed):
    rng = np.random.default_rng(seed)
    n, k = 7, 3
    costs = rng.integers(9, size=(n, k)).astype(float) if seed % 2 else rng.random((n, k))
    costs[rng.random((n, k)) < 0.15] = np.inf
    costs[:, 0] = np.where(np.isfinite(costs[:, 0]), costs[:, 0], 5.0)
    sizes = Sizes(np.array([0, 2, 1]), np.array([3, 4, 3]))
    found = np.inf
    for labels in product(range(k), repeat=n):
        counts = np.bincount(labels, minlength=k)
        if (counts >= sizes.lowest).all() and (counts <= sizes.highest).all():
            found = min(found, costs[np.arange(n), labels].sum())
    if not np.isfinite(found):
        with pytest.raises(SideInformationError, match="no partition of 7 rows"):
            transported(costs, sizes, None)
        return
    labels, prices = transported(costs, sizes, rng.normal(size=k) if seed % 3 else None)
    assert costs[np.arange(n), labels].sum() == pytest.approx(found)
    counts = np.bincount(labels, minlength=k)
    assert (counts >= sizes.lowest).all()
    assert (counts <= sizes.highest).all()
    # The prices prove it: no row is better off elsewhere, and only tight sizes have one.
    reduced = costs - prices
    assert (reduced[np.arange(n), labels] <= reduced.min(axis=1) + 1e-9).all()
    assert (counts[prices > 1e-9] == sizes.lowest[prices > 1e-9]).all()
    assert (counts[prices < -1e-9] == sizes.highest[prices < -1e-9]).all()


@pytest.mark.parametrize("seed", range(3))
def test_contested_rows_alone_give_what_all_rows_give(seed):
    from sidelight.models._kmeans.sizes import _solved

    rng = np.random.default_rng(seed)
    costs = rng.random((2_000, 6)) + rng.random(6)
    sizes = Sizes(np.full(6, 300), np.full(6, 350))
    labels, _ = transported(costs, sizes, None)
    everything, *_ = _solved(costs, np.ones(costs.shape, dtype=bool), sizes)
    rows = np.arange(2_000)
    assert costs[rows, labels].sum() == pytest.approx(costs[rows, everything].sum(), rel=1e-9)


@ALL
@pytest.mark.parametrize("limits", [(30, 30), (25, None), (None, 35), ([10, 20, 40], [25, 30, 50])])
def test_sizes_are_kept_and_j_never_rises(model, limits):
    X, _ = blobs(0)
    found = model(3, min_size=limits[0], max_size=limits[1], n_init=2, random_state=0).fit(X)
    counts = np.sort(np.bincount(found.labels_))
    assert (counts >= np.sort(np.broadcast_to(limits[0] or 1, 3))).all()
    assert (counts <= np.sort(np.broadcast_to(limits[1] or 90, 3))).all()
    assert (np.diff(found.history_) <= 0).all()
    factor = 0.5 if model is PCKMeans else 1.0
    assert found.objective_ == pytest.approx(
        factor * k_means_objective(X, found.cluster_centers_, found.labels_)
    )


@ALL
def test_sizes_that_bind_nothing_change_nothing(model):
    X, _ = blobs(1)
    plain = model(3, init=X[[0, 40, 80]]).fit(X)
    wide = model(3, init=X[[0, 40, 80]], min_size=1, max_size=90).fit(X)
    assert_array_equal(plain.labels_, wide.labels_)
    assert wide.objective_ == pytest.approx(plain.objective_)


@pytest.mark.parametrize("seed", range(3))
def test_hard_models_keep_sizes_and_statements(seed):
    X, truth = blobs(seed)
    pairs = sample_pairs(truth, 30, random_state=seed)
    cop = COPKMeans(3, min_size=28, max_size=32, n_init=2, random_state=seed).fit(X, side=pairs)
    assert not cop.result_.violated.any()
    assert (np.diff(cop.history_) <= 0).all()
    assert set(np.bincount(cop.labels_)) <= set(range(28, 33))
    y = np.where(np.random.default_rng(seed).random(90) < 0.2, truth, -1)
    held = ConstrainedKMeans(3, min_size=[25, 30, 20], max_size=[30, 40, 45]).fit(X, y)
    assert not held.result_.violated.any()
    for count, low, high in zip(np.bincount(held.labels_), (25, 30, 20), (30, 40, 45), strict=True):
        assert low <= count <= high


@pytest.mark.parametrize("seed", range(3))
def test_soft_models_keep_sizes_and_pay_for_what_they_break(seed):
    X, truth = blobs(seed)
    side = sample_pairs(truth, 40, random_state=seed)
    model = PCKMeans(3, min_size=30, max_size=30, n_init=2, random_state=seed).fit(X, side=side)
    assert_array_equal(np.bincount(model.labels_), [30, 30, 30])
    broken = float(side.statements.weight[model.result_.violated].sum())
    centers = means_of(X, model.labels_, 3)
    assert model.objective_ == pytest.approx(
        0.5 * k_means_objective(X, centers, model.labels_) + model.side_weight_ * broken
    )
    assert (np.diff(model.history_) <= 0).all()


def test_groups_that_fit_only_together_are_found_by_an_integer_program():
    """Three groups of four and two of three rows into clusters of at most eight and ten."""
    X = np.concatenate([np.zeros(16), [9.0, 9.0]])[:, None] + np.arange(18)[:, None] * 1e-3
    starts = np.array([0, 4, 8, 12, 15])
    ends = [4, 8, 12, 15, 18]
    must = [(a, i) for a, b in zip(starts, ends, strict=True) for i in range(a + 1, b)]
    side = SideInformation.from_pairs(must=must, n_samples=18)
    model = COPKMeans(2, max_size=[8, 10], random_state=0).fit(X, side=side)
    assert sorted(np.bincount(model.labels_)) == [8, 10]
    assert not model.result_.violated.any()
    with pytest.raises(SideInformationError, match=r"at most \[9, 9\] rows .* This is proven"):
        COPKMeans(2, max_size=9, random_state=0).fit(X, side=side)


@ALL
def test_sizes_that_no_partition_has_are_refused_with_the_numbers(model):
    X, _ = blobs(2)
    with pytest.raises(DataError, match=r"at least 93 rows together .* has 90 rows"):
        model(3, min_size=31).fit(X)
    with pytest.raises(DataError, match=r"at most 87 \(max_size\) cannot hold X"):
        model(3, max_size=29).fit(X)
    with pytest.raises(DataError, match="min_size is 40 and max_size 35 for cluster 0"):
        model(3, min_size=40, max_size=35).fit(X)
    with pytest.raises(DataError, match="one for each of the 3 clusters"):
        model(3, min_size=[1, 2]).fit(X)
    with pytest.raises(DataError, match="give a whole number of rows"):
        model(3, max_size=[30.5, 30, 30]).fit(X)


def test_labels_that_leave_no_room_are_refused():
    X, _ = blobs(3)
    y = np.where(np.arange(90) < 40, 0, -1)
    with pytest.raises(SideInformationError, match="no partition of 90 rows keeps every statement"):
        ConstrainedKMeans(3, max_size=35).fit(X, y)
    with pytest.raises(SidelightError, match='need pairs="given"'):
        PCKMeans(3, max_size=35, pairs="closure").fit(X)


@pytest.mark.parametrize("model", [COPKMeans, ConstrainedKMeans])
def test_the_history_does_not_rise_by_rounding_where_all_rows_are_equal(model):
    X = np.tile([[11.6137543, 11.28996402, 10.64563646]], (150, 1))
    fit = model(1, min_size=2, max_iter=3, n_init=2, random_state=12).fit(X)
    assert (np.diff(fit.history_) <= 0).all()
    assert fit.history_[-1] == fit.objective_
