"""Constrained mean shift: a step against its definition, what keeps modes apart, many rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

from sidelight import ConstrainedMeanShift, SideInformation
from sidelight.exceptions import SideInformationError
from sidelight.models import _fitting
from sidelight.models._shift import constrained
from sidelight.models._shift.constrained import (
    Pairs,
    _step,
    _step_of_many,
    apart_pairs,
    condensed,
    run,
)
from sidelight.side import sample_labels, sample_pairs


def blobs(n=90, k=3, seed=0, spread=6.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, 2)) + spread * rng.normal(size=(k, 2))[y], y


def one_step(X, T, h, cannot, weights, c=0.5, truncation=0.2):
    """The definition, pair by pair."""
    n = len(X)
    b = np.ones((n, n))
    for (a, e), w in zip(cannot, weights, strict=True):
        r = min(h, c * np.linalg.norm(T[a] - T[e]))
        for one, other in ((a, e), (e, a)):
            u = np.exp(-((T - T[one]) ** 2).sum(axis=1) / r**2)
            v = np.exp(-((T - T[other]) ** 2).sum(axis=1) / r**2)
            b *= (1 - np.outer(u, v)) ** w
    k = np.exp(-((T[:, None] - X[None]) ** 2).sum(axis=2) / h**2)
    seen = np.where(k < truncation, 0.0, k) * b
    return seen @ X / seen.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(3))
def test_steps_are_those_of_the_definition(seed):
    X, y = blobs(30, seed=seed)
    side = sample_pairs(y, n_cannot=8, random_state=seed)
    cannot = side.cannot
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, len(cannot))
    T, bandwidths = X, [1.0, 2.0, 4.0]
    for h in bandwidths:
        T = one_step(X, T, h, cannot, weights)
    pairs = Pairs(*cannot.T, weights)
    found, _ = run(X, np.ones(30), pairs, np.array(bandwidths), 0.5, 0.2, 0.99, 0.1)
    assert_allclose(found, T, atol=5e-3)  # factors above 0.999 are left out


@pytest.mark.parametrize("n_cannot", [8, 150])
@pytest.mark.parametrize("plain", [True, False])
def test_steps_of_many_rows_are_those_of_the_definition(n_cannot, plain):
    X, y = blobs(60)
    cannot = sample_pairs(y, n_cannot=n_cannot, random_state=0).cannot
    rng = np.random.default_rng(0)
    weights = np.ones(n_cannot) if plain else rng.uniform(0.5, 2.0, n_cannot)
    pairs = Pairs(*cannot.T, weights)
    T = X + 0.3 * rng.normal(size=X.shape)
    for h in (0.2, 1.0, 4.0, 40.0):
        found = _step_of_many(T, np.arange(60), X, np.ones(60), pairs, h, 0.5, 0.2)
        as_few = _step(T, np.arange(60), X, np.ones(60), pairs, h, 0.5, 0.2)
        # Factors above 0.999 are left out in both; one has single precision.
        assert_allclose(found, as_few, atol=1e-4)
        if n_cannot == 8:
            k = np.exp(-((T[:, None] - X[None]) ** 2).sum(axis=2) / h**2)
            sees = (k >= 0.2).any(axis=1)
            with np.errstate(invalid="ignore"):
                expected = one_step(X, T, h, cannot, weights)
            assert_allclose(found[sees], expected[sees], atol=5e-3)
            assert_array_equal(found[~sees], T[~sees])


def test_steps_of_many_rows_take_modes_that_have_met():
    X, y = blobs(60)
    pairs = Pairs(*sample_pairs(y, n_cannot=30, random_state=0).cannot.T, np.ones(30))
    mode_of = np.arange(60) // 3
    T = np.array([X[mode_of == k].mean(axis=0) for k in range(20)])
    weight = np.random.default_rng(0).uniform(1.0, 3.0, 60)
    found = _step_of_many(T, mode_of, X, weight, pairs, 5.0, 0.5, 0.2)
    assert_allclose(found, _step(T, mode_of, X, weight, pairs, 5.0, 0.5, 0.2), atol=1e-4)


@pytest.mark.parametrize("kind", ["labels", "pairs"])
def test_many_rows_find_the_clusters_of_few(monkeypatch, kind):
    X, y = blobs(150, spread=15.0)
    draw = {"labels": sample_labels, "pairs": sample_pairs}[kind]
    side = draw(y, 60, random_state=0)
    few = ConstrainedMeanShift(random_state=0).fit(X, side=side)
    monkeypatch.setattr(_fitting, "SMALL_UP_TO", 100)
    many = ConstrainedMeanShift(random_state=0).fit(X, side=side)
    assert_array_equal(few.labels_, many.labels_)
    assert adjusted_rand_score(y, many.labels_) > 0.95


@pytest.mark.filterwarnings("ignore:nothing keeps rows apart")
def test_without_cannot_links_all_merge_at_the_last_bandwidth():
    X, y = blobs()
    must = sample_pairs(y, n_must=20, random_state=0)
    for side in (None, must):
        model = ConstrainedMeanShift().fit(X, side=side)
        assert model.n_clusters_ == 1
        assert "nothing keeps rows apart" in model.result_.advice[0]
    assert_allclose(model.modes_, np.broadcast_to(model.modes_[0], X.shape), atol=1e-3)


def test_cannot_links_decide_how_many_clusters_there_are():
    X, y = blobs()
    told = np.isin(y, [0, 1])
    side = sample_labels(np.where(told, y, 2), 20, random_state=0)
    model = ConstrainedMeanShift().fit(X, side=side)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    cannot = SideInformation.from_pairs(cannot=[(0, 1)], n_samples=90)
    assert ConstrainedMeanShift().fit(X, side=cannot).n_clusters_ == 2


def test_must_links_act_through_the_cannot_links_that_follow():
    side = SideInformation.from_pairs(must=[(0, 1), (2, 3)], cannot=[(1, 2)], n_samples=5)
    pairs = apart_pairs(side)
    found = {tuple(sorted(p)) for p in zip(pairs.one.tolist(), pairs.other.tolist(), strict=True)}
    assert found == {(0, 2), (0, 3), (1, 2), (1, 3)}


def test_weights_are_those_of_stated_links():
    side = SideInformation.from_pairs(must=[(0, 1)], n_samples=4)
    side += SideInformation.from_pairs(cannot=[(1, 2)], n_samples=4, weight=3.0)
    pairs = apart_pairs(side)
    assert_array_equal(pairs.weight, [1.0, 3.0])  # (0, 2) is entailed


def test_an_earlier_end_of_the_schedule_gives_more_clusters():
    X, y = blobs(spread=15.0)
    found = ConstrainedMeanShift(bandwidth=4.0).fit(X)
    assert adjusted_rand_score(y, found.labels_) == 1.0
    assert found.bandwidth_ == pytest.approx(4.0)


def test_many_rows_are_stood_for_by_centres_and_annotated_rows(monkeypatch):
    monkeypatch.setattr(constrained, "MOST_POINTS", 200)
    monkeypatch.setattr(constrained, "_CENTERS", 60)
    X, y = blobs(1200, spread=10.0)
    side = sample_labels(y, 30, random_state=0)
    points = condensed(X, side, 0)
    assert len(points.X) <= 90
    assert points.weight.sum() == 1200
    assert_array_equal(points.X[points.of_row[side.annotated_rows]], X[side.annotated_rows])
    model = ConstrainedMeanShift(random_state=0).fit(X, side=side)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    rng = np.random.default_rng(0)
    pairs = rng.permutation(1200)[:300].reshape(-1, 2)
    too_many = SideInformation.from_pairs(cannot=pairs, n_samples=1200)
    with pytest.raises(
        SideInformationError, match="300 groups of rows that belong together; above"
    ):
        model.fit(X, side=too_many)


def test_with_many_pairs_centres_stand_for_rows_below_the_limit_of_rows():
    X, y = blobs(2000, spread=10.0)
    few, many = sample_labels(y, 6, random_state=0), sample_labels(y, 200, random_state=0)
    assert len(condensed(X, few, 0).X) == 2000
    n_pairs = len(apart_pairs(many).one)
    points = condensed(X, many, 0)
    assert len(points.X) ** 2 * n_pairs <= constrained._WORK
    assert points.weight.sum() == 2000
    assert_array_equal(points.X[points.of_row[many.annotated_rows]], X[many.annotated_rows])


def test_many_annotated_rows_are_stood_for_by_parts_of_their_groups():
    X, y = blobs(3000, spread=10.0)
    labels = sample_labels(y, 1000, random_state=0)
    side = labels + SideInformation.from_pairs(cannot=[(0, 1)], n_samples=3000, weight=4.0)
    points = condensed(X, side, 0)
    rows = side.annotated_rows
    cells = points.of_row[rows]
    groups = side.closure().groups[rows]
    assert len(np.unique(cells)) <= 200 + len(np.unique(groups))
    assert len(np.unique(np.column_stack([cells, groups]), axis=0)) == len(np.unique(cells))
    assert not np.isin(points.of_row[np.setdiff1d(np.arange(3000), rows)], cells).any()
    assert points.weight.sum() == 3000
    for point in np.unique(cells)[::50]:
        assert_allclose(points.X[point], X[points.of_row == point].mean(axis=0))
    # Pairs of points are those of their rows, with the weight of what was stated.
    pairs, of_rows = apart_pairs(side, points.of_row), apart_pairs(side)
    one, other = points.of_row[of_rows.one], points.of_row[of_rows.other]
    key = np.minimum(one, other) * len(points.X) + np.maximum(one, other)
    keys, place = np.unique(key, return_inverse=True)
    found = np.minimum(pairs.one, pairs.other) * len(points.X) + np.maximum(pairs.one, pairs.other)
    assert_array_equal(found, keys)
    weight = np.zeros(len(keys))
    np.maximum.at(weight, place, of_rows.weight)
    assert_array_equal(pairs.weight, weight)
    assert weight.max() == 4.0


def test_parts_of_groups_find_their_classes(monkeypatch):
    monkeypatch.setattr(constrained, "MOST_ANNOTATED", 15)
    X, y = blobs(150, spread=15.0)
    side = sample_labels(y, 60, random_state=0)
    model = ConstrainedMeanShift(n_steps=20, random_state=0).fit(X, side=side)
    assert len(model.modes_) < 150
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert_array_equal(model.predict(X), model.labels_)


def test_too_many_entailed_pairs_are_refused(monkeypatch):
    monkeypatch.setattr(constrained, "MOST_PAIRS", 100)
    X, y = blobs()
    with pytest.raises(SideInformationError, match="pairs of points apart; at most 100"):
        ConstrainedMeanShift().fit(X, y)


def test_contradictions_and_equal_rows_end_in_an_answer():
    side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(0, 1), (1, 2)], n_samples=6)
    X = np.repeat([[0.0], [1.0]], 3, axis=0)
    model = ConstrainedMeanShift().fit(X, side=side)
    assert model.result_.violated.any()
    assert ConstrainedMeanShift().fit(np.ones((4, 2))).n_clusters_ == 1


def test_a_bandwidth_of_any_width_beside_tiny_rows_is_one_cluster():
    X = np.array([[1e-200], [3e-200], [2e-200]])
    fit = ConstrainedMeanShift(bandwidth=100.0).fit(X)
    assert fit.n_clusters_ == 1
    assert fit.bandwidth_ == pytest.approx(100.0)


def test_statements_that_keep_nothing_apart_are_warned_of():
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    side = SideInformation.from_pairs(must=[(0, 1)], n_samples=4)
    with pytest.warns(UserWarning, match="nothing keeps rows apart"):
        model = ConstrainedMeanShift(random_state=0).fit(X, side=side)
    assert model.n_clusters_ == 1
