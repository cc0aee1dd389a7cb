"""BayesianMixture in batches and on streams: steps by their definition, answers beside fit."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from oracles_bayesian_mixture import pair_strengths, statement_cost
from sidelight import BayesianMixture, SideInformation
from sidelight.blocks import BLOCK_ROWS, as_blocks, threads
from sidelight.exceptions import DataError
from sidelight.models._bayesian import stochastic as stochastic
from sidelight.models._bayesian.run import memberships
from sidelight.models._bayesian.statements import Couplings, SomeCouplings, Strength
from sidelight.models._bayesian.stochastic import Averages, StepSizes, batches
from sidelight.models._bayesian.stream import Groups, Shares
from sidelight.side import sample_labels
from strategies import sides

STRENGTHS = [(2.0, 0.5), (1.0, 0.0), (0.0, 3.0), ({None: 1.0, "ann": 0.3, "bob": 4.0}, 0.7)]


def blobs(n=1200, d=3, seed=0):
    """Four Gaussians at the corners of a square, 6 standard deviations apart."""
    rng = np.random.default_rng(seed)
    centers = np.zeros((4, d))
    centers[:, :2] = 6.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    truth = rng.integers(4, size=n)
    return centers[truth] + rng.normal(size=(n, d)), truth


def counts(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    return rng.poisson(rng.gamma(1.0, 3.0, size=(3, 8))[truth]).astype(float), truth


# Steps


def test_step_sizes_are_those_of_robbins_and_monro():
    sizes = StepSizes(offset=3.0, decay=0.6)
    assert [sizes(t) for t in (1, 5)] == pytest.approx([4.0**-0.6, 8.0**-0.6])


def test_a_step_moves_the_natural_parameters_as_defined():
    X, _ = counts(n=60)
    model = BayesianMixture(3, emission="poisson")
    problem = model._problem(as_blocks(X), SideInformation.empty(60), 0)
    emission, prior, rho, N = problem.emission, problem.emission.prior, 0.3, 500.0
    rng = np.random.default_rng(0)
    first, second = (rng.dirichlet(np.ones(3), size=60).T for _ in range(2))
    sums = [emission.statistics(X, np.ascontiguousarray(phi)) for phi in (first, second)]
    averages = [Averages.of(s[0], s, 60) for s in sums]
    theta = averages[0].blended(averages[1], rho).theta(problem, N)
    natural = [  # prior + N / |B| times the sums, for the shape and for the rate
        (prior.shape + N / 60 * phi @ X, prior.rate + N / 60 * phi.sum(axis=1)[:, None])
        for phi in (first, second)
    ]
    assert_allclose(theta.components.shape, (1 - rho) * natural[0][0] + rho * natural[1][0])
    assert_allclose(theta.components.rate, (1 - rho) * natural[0][1] + rho * natural[1][1])
    mass = N / 60 * ((1 - rho) * first.sum(axis=1) + rho * second.sum(axis=1))
    assert_allclose(theta.weights.log, problem.weights(mass).log)


@pytest.mark.parametrize(
    ("n", "size"), [(10, 3), (100, 100), (7, 1), (40_000, 999), (70_000, 20_000)]
)
def test_an_epoch_has_every_row_once(n, size, monkeypatch):
    monkeypatch.setattr(stochastic, "POOL", (2, 2))
    X = np.arange(n, dtype=float)[:, None]
    seen = []
    for numbers, part in batches(as_blocks(X), size, np.random.default_rng(0)):
        assert 0 < len(numbers) <= size
        assert_array_equal(part[:, 0], numbers)
        seen.append(numbers)
    sizes = [len(numbers) for numbers in seen]
    assert max(sizes) <= 2 * min(sizes) + 1
    assert_array_equal(np.sort(np.concatenate(seen)), np.arange(n))
    assert all((np.diff(numbers) > 0).all() for numbers in seen)
    assert len(seen) == 1 or not np.array_equal(np.concatenate(seen), np.arange(n))


def test_every_batch_of_sorted_rows_is_the_whole_in_small():
    n, size = 40_000, 4000
    truth = np.repeat(np.arange(8), n // 8)
    shares = [
        np.bincount(truth[numbers], minlength=8) / len(numbers)
        for numbers, _ in batches(as_blocks(np.zeros((n, 1))), size, np.random.default_rng(0))
    ]
    # A class gains or loses a run of 15 rows at either end; of rows drawn one by one, the largest
    # of these 88 differences would be three standard deviations, 0.016.
    assert_allclose(shares, 1 / 8, atol=0.0085)


def test_a_row_comes_to_any_batch_alike(monkeypatch):
    monkeypatch.setattr(stochastic, "RUNS", 4)  # runs of two rows
    rng = np.random.default_rng(0)
    counts = np.zeros((4, 30))
    for _ in range(400):
        epoch = list(batches(as_blocks(np.zeros((30, 1))), 8, rng))
        assert len(epoch) == 4
        for b, (numbers, _) in enumerate(epoch):
            counts[b, numbers] += 1
    assert_allclose(counts, 100, atol=40)  # more than 4 standard deviations


@given(sides(min_rows=2), st.sampled_from(STRENGTHS), st.booleans(), st.integers(0, 9))
def test_sums_follow_the_rows_that_move(side, strength, per_label, seed):
    couplings = Couplings.of(side, Strength(*strength, per_label))
    rng = np.random.default_rng(seed)
    n = len(couplings.rows)
    phi = rng.dirichlet(np.ones(3), size=n)
    which = rng.permutation(n)[: n // 2]
    some = SomeCouplings(np.arange(len(which)), which, couplings, phi, couplings.sums(phi))
    before = phi.copy()
    mine = phi[which]
    scores = rng.normal(size=(len(which), 3))
    value = some.sweep(scores, mine, None)
    for kept, anew in zip(some.sums, couplings.sums(phi), strict=True):
        assert_allclose(kept, anew, atol=1e-12)
    others = np.setdiff1d(np.arange(n), which)
    assert_array_equal(phi[others], before[others])
    assert_array_equal(phi[which], mine)
    assert value == pytest.approx((mine * (scores - np.log(np.maximum(mine, 1e-300)))).sum())
    attract, repel = pair_strengths(side, *strength, per_label)
    inside = np.ix_(couplings.rows, couplings.rows)
    expected = statement_cost(attract[inside], repel[inside], phi, 1.0 - np.eye(3))
    assert couplings.cost(phi, None) == pytest.approx(expected, abs=1e-9)


@given(sides(min_rows=2), st.sampled_from(STRENGTHS), st.booleans(), st.integers(0, 9))
def test_rows_that_are_gone_are_felt_as_if_they_were_there(side, strength, per_label, seed):
    # Pairs cannot reach over batches: labels alone.
    side = side.only(kind=["label", "not_label"])
    rng = np.random.default_rng(seed)
    n, T = side.n_samples, 3
    n_old = n // 2
    phi = rng.dirichlet(np.ones(T), size=n)
    scores = rng.normal(size=(n, T))
    given_strength = Strength(*strength, per_label)
    # All rows at once, of which only the new ones move.
    whole = Couplings.of(side, given_strength)
    expected = phi.copy()
    inside = expected[whole.rows]
    moving = np.flatnonzero(whole.rows >= n_old)
    whole.sweep_some(moving, scores[whole.rows[moving]], inside, whole.sums(inside), None)
    expected[whole.rows] = inside
    # The new ones with the memory of the others.
    old = Shares(np.zeros(n_old, dtype=np.int32), np.arange(n_old), phi[:n_old], T)
    groups = Groups.of(side[np.arange(n_old)], given_strength, old, float(n_old))
    memory = groups.memory(float(n_old))
    part = Couplings.of(side[np.arange(n_old, n)], given_strength, memory)
    n_own = int(np.searchsorted(part.rows, n - n_old))
    own = part.rows[:n_own]
    mine = np.concatenate([phi[n_old + own], memory.phi])
    part.sweep_some(np.arange(n_own), scores[n_old + own], mine, part.sums(mine), None)
    found = phi.copy()
    found[n_old + own] = mine[:n_own]
    # A row that feels nothing has its scores alone here, and was left as it was there.
    felt = np.intersect1d(whole.rows[moving], n_old + own)
    assert_array_equal(felt, whole.rows[moving])
    assert_allclose(found[felt], expected[felt], atol=1e-9)


# Batches


@pytest.mark.parametrize("potential", ["potts", "kl"])
@pytest.mark.parametrize("how", ["observed", "field"])
@pytest.mark.parametrize("emission", ["gaussian", "gaussian_diag"])
def test_batches_approach_the_bound_of_the_whole(emission, how, potential):
    X, truth = blobs()
    side = sample_labels(truth, 0.1, random_state=0)
    side += SideInformation.from_pairs(cannot=[(0, 1)], must=[(2, 3), (5, 9)], n_samples=len(X))
    options = {
        "emission": emission,
        "statements": how,
        "potential": potential,
        "side_weight": 3.0 if how == "observed" else 1e-3,
        "n_init": 1,
        "random_state": 0,
    }
    whole = BayesianMixture(5, **options).fit(X, side=side)
    parts = BayesianMixture(5, batch_size=100, **options).fit(X, side=side)
    assert len(parts.epoch_bounds_) == parts.n_iter_ > 1
    assert abs(parts.objective_ - whole.objective_) < 2e-3 * len(X)
    assert abs(parts.epoch_bounds_[-1] - parts.objective_) < 2e-2 * len(X)
    assert adjusted_rand_score(whole.labels_, parts.labels_) > 0.98


def test_batches_of_sparse_counts_approach_the_bound_of_the_whole():
    X, truth = counts(seed=2)
    y = np.where(np.arange(len(X)) % 10 == 0, truth, -1)
    options = {"emission": "multinomial", "n_init": 1, "random_state": 0}
    whole = BayesianMixture(3, **options).fit(X, y)
    parts = [
        BayesianMixture(3, batch_size=150, **options).fit(data, y)
        for data in (X, sparse.csr_array(X))
    ]
    assert abs(parts[0].objective_ - whole.objective_) < 2e-3 * len(X)
    assert_allclose(parts[0].objective_, parts[1].objective_, rtol=1e-9)
    assert_array_equal(parts[0].labels_, parts[1].labels_)


def test_objective_is_the_bound_itself():
    X, truth = blobs(n=300)
    y = np.where(np.arange(300) < 60, truth, -1)
    model = BayesianMixture(5, batch_size=50, n_init=1, random_state=0).fit(X, y)
    side = SideInformation.from_labels(y)
    problem = model._problem(as_blocks(X), side, 0)
    state = stochastic.State.new(problem.rows)
    near = problem.couplings.rows
    state.near_phi = stochastic.shares_alone(problem, problem.near, model._theta)
    for _ in range(50):
        step = memberships(problem, model._theta, state, None)
    assert len(near) == 60
    assert model.objective_ == pytest.approx(step.bound, rel=1e-6)
    assert len(model.history_) == 2
    assert model.history_[0] <= model.history_[1] == model.objective_


@pytest.mark.parametrize("batch_size", [200, 1000])
def test_a_batch_of_all_rows_or_more_is_the_ordinary_fit(batch_size):
    X, truth = blobs(n=200)
    y = np.where(np.arange(200) < 30, truth, -1)
    plain = BayesianMixture(5, random_state=0).fit(X, y)
    same = BayesianMixture(5, batch_size=batch_size, random_state=0).fit(X, y)
    assert_array_equal(plain.history_, same.history_)
    assert_array_equal(plain.labels_, same.labels_)
    assert len(same.epoch_bounds_) == 0


def test_same_answer_from_memory_maps_and_any_number_of_threads(tmp_path):
    X, truth = blobs(n=40_000, d=2)
    y = np.where(np.arange(len(X)) % 20 == 0, truth, -1)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    found = []
    for data, n in ((X, 1), (X, 3), (mapped, 2)):
        model = BayesianMixture(5, batch_size=18_000, n_init=1, max_iter=3, tol=0.0, random_state=0)
        with threads(n), pytest.warns(ConvergenceWarning):
            found.append(model.fit(data, y))
    for other in found[1:]:
        assert_array_equal(found[0].epoch_bounds_, other.epoch_bounds_)
        assert_array_equal(found[0].labels_, other.labels_)


def test_rows_sorted_by_cluster_are_no_trap():
    X, truth = blobs(n=3000)
    order = np.argsort(truth, kind="stable")
    model = BayesianMixture(4, batch_size=100, random_state=0).fit(X[order])
    assert adjusted_rand_score(truth[order], model.labels_) > 0.98
    assert_array_equal(model.predict(X[order]), model.labels_)


def test_sorted_rows_of_which_few_are_held_at_a_time_are_no_trap(monkeypatch):
    monkeypatch.setattr(stochastic, "POOL", (4, 4))
    X, truth = blobs(n=10 * BLOCK_ROWS, d=2)
    X = X[np.argsort(truth, kind="stable")]
    options = {"emission": "gaussian_diag", "n_init": 1, "random_state": 0}
    whole = BayesianMixture(4, **options).fit(X)
    parts = BayesianMixture(4, batch_size=5000, **options).fit(X)
    assert abs(parts.objective_ - whole.objective_) < 2e-3 * len(X)


@pytest.mark.parametrize(
    ("name", "value"),
    [("batch_size", 0), ("batch_size", 2.5), ("learning_decay", 0.5), ("learning_decay", 1.1),
     ("learning_offset", -1.0), ("total_samples", 0)],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(name, value):
    with pytest.raises(ValueError, match=name):
        BayesianMixture(2, **{name: value}).fit(blobs(n=20)[0])


def test_step_sizes_matter():
    X, _ = blobs(n=400)
    options = {"batch_size": 40, "n_init": 1, "max_iter": 2, "tol": 0.0, "random_state": 0}
    bounds = set()
    for changes in ({}, {"learning_decay": 1.0}, {"learning_offset": 100.0}):
        with pytest.warns(ConvergenceWarning):
            bounds.add(BayesianMixture(5, **options, **changes).fit(X).objective_)
    assert len(bounds) == 3


# Streams


def in_batches(model, X, y=None, size=200):
    for a in range(0, X.shape[0], size):
        model.partial_fit(X[a : a + size], None if y is None else y[a : a + size])
    return model


def test_first_batch_is_fitted():
    X, truth = blobs(n=300)
    y = np.where(np.arange(300) < 40, truth, -1)
    prior = {"covariance": 0.5 * X.var(axis=0)}  # a stream knows no correlations
    fitted = BayesianMixture(6, prior=prior, random_state=0).fit(X, y)
    begun = BayesianMixture(6, random_state=0).partial_fit(X, y)
    assert_allclose(begun.objective_, fitted.objective_, rtol=1e-12)
    assert_array_equal(begun.labels_, fitted.labels_)
    assert begun.n_samples_seen_ == 300


@pytest.mark.parametrize("emission", ["gaussian", "poisson", "multinomial"])
def test_a_stream_finds_what_fit_finds(emission):
    X, truth = blobs(n=4000) if emission == "gaussian" else counts(n=4000, seed=2)
    y = np.where(np.arange(len(X)) % 20 == 0, truth, -1)
    whole = BayesianMixture(4, emission=emission, random_state=0).fit(X, y)
    stream = in_batches(BayesianMixture(4, emission=emission, random_state=0), X, y)
    assert stream.n_samples_seen_ == 4000
    assert stream.n_iter_ == 20
    assert adjusted_rand_score(whole.predict(X), stream.predict(X)) > 0.9
    gap = whole.score_samples(X).mean() - stream.score_samples(X).mean()
    assert abs(gap) < 0.05
    assert abs(stream.objective_ - whole.objective_) < 0.15 * abs(whole.objective_)
    assert_array_equal(stream.cluster_names_, whole.cluster_names_)


def test_a_stream_of_sparse_rows_is_a_stream():
    X, _ = counts(n=1000)
    dense = in_batches(BayesianMixture(4, emission="poisson", random_state=0), X)
    thin = in_batches(BayesianMixture(4, emission="poisson", random_state=0), sparse.csr_array(X))
    assert_allclose(dense.objective_, thin.objective_, rtol=1e-9)
    assert_array_equal(dense.labels_, thin.labels_)


def test_labels_of_earlier_batches_are_remembered():
    # One blob in the middle, of which the labels of the first batch say that it is two clusters
    # of one class each; a later label pulls its row to the side of its class.
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-3, 1, (100, 2)), rng.normal(3, 1, (100, 2))])
    y = np.array(["left"] * 100 + ["right"] * 100, dtype=object)
    model = BayesianMixture(2, side_weight=8.0, random_state=0).partial_fit(X, y)
    new = rng.normal(0, 0.3, (40, 2))
    plain = pickle.loads(pickle.dumps(model)).partial_fit(new)
    for side, label in (("left", 0), ("right", 1)):
        told = pickle.loads(pickle.dumps(model)).partial_fit(new, np.full(40, side, dtype=object))
        assert told.cluster_names_.tolist() == ["left", "right"]
        assert_array_equal(told.labels_, label)
        assert not told.result_.violated.any()
    assert len(set(plain.labels_)) == 2
    assert plain.cluster_names_.tolist() == ["left", "right"]


def test_a_stream_finds_clusters_that_were_not_there_before():
    X, truth = blobs(n=3000)
    first = np.flatnonzero(truth < 3)[:300]
    model = BayesianMixture(6, random_state=0).partial_fit(X[first])
    assert model.n_clusters_ == 3
    in_batches(model, X[300:])
    assert model.n_clusters_ > 3
    last = model.predict(X[truth == 3])
    assert not set(model.predict(X[truth < 3])) & {np.bincount(last).argmax()}
    assert adjusted_rand_score(truth, model.predict(X)) > 0.95
    assert len(model.labels_) == 100


def test_partial_fit_goes_on_from_fit():
    X, truth = blobs(n=2000)
    y = np.where(np.arange(2000) % 10 == 0, truth, -1)
    model = BayesianMixture(6, random_state=0).fit(X, y)
    before = model.means_.copy()
    model.partial_fit(X[:50], y[:50])
    assert model.n_samples_seen_ == 2050
    assert_allclose(model.means_, before, atol=0.2)  # a small batch is a small step
    assert not np.array_equal(model.means_, before)
    model.fit(X[:100])
    assert model.n_samples_seen_ == 100


def test_rows_that_come_again_count_once_with_total_samples():
    X, _ = blobs(n=400)
    models = [BayesianMixture(4, random_state=0, total_samples=n) for n in (None, 400)]
    for model in models:
        for _ in range(10):
            in_batches(model, X)
    seen = [m._theta.components.kappa.sum() - 4.0 for m in models]
    assert_allclose(seen, [4000.0, 400.0], rtol=1e-6)


def test_statements_of_all_kinds_in_a_stream():
    X, truth = blobs(n=600)
    model = BayesianMixture(5, potential="kl", random_state=0)
    for a in range(0, 600, 200):
        here = truth[a : a + 200]
        side = sample_labels(here, 0.1, random_state=a)
        side += SideInformation.from_columns(
            "not_label", np.arange(5), class_=(here[:5] + 1) % 4, n_samples=200
        )
        side += SideInformation.from_pairs(must=[(10, 11)], cannot=[(12, 13)], n_samples=200)
        model.partial_fit(X[a : a + 200], side=side)
    assert np.isfinite(model.objective_)
    assert adjusted_rand_score(truth[400:], model.labels_) > 0.8


def test_a_batch_that_cannot_be_read_is_refused_and_changes_nothing():
    X, _ = counts(n=200)
    model = BayesianMixture(3, emission="poisson", random_state=0).partial_fit(X)
    before = model.rates_.copy()
    for wrong, message in (
        (-X, "counts are whole numbers"),
        (X[:, :3], "features"),
        (X * np.nan, "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(wrong)
    assert_array_equal(model.rates_, before)
    assert model.n_samples_seen_ == 200


def test_categories_of_a_stream_can_be_told_in_advance():
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(200, 2)).astype(float)
    X[:100][X[:100] == 2] = 0.0
    model = BayesianMixture(2, emission="categorical", random_state=0).partial_fit(X[:100])
    with pytest.raises(DataError, match="name all categories"):
        model.partial_fit(X[100:])
    told = {"categories": [[0, 1, 2], [0, 1, 2]]}
    model = BayesianMixture(2, emission="categorical", prior=told, random_state=0)
    in_batches(model, X, size=100)
    assert model.probabilities_[0].shape == (model.n_clusters_, 3)


def test_a_stream_can_be_pickled():
    X, truth = blobs(n=400)
    model = BayesianMixture(5, random_state=0).partial_fit(X[:200], truth[:200])
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(model.partial_fit(X[200:]).labels_, again.partial_fit(X[200:]).labels_)


# Dask


@pytest.mark.parametrize("batch_size", [None, 5000])
@pytest.mark.parametrize("emission", ["gaussian_diag", "poisson", "categorical", "mixed"])
def test_rows_on_dask_give_what_rows_in_memory_give(emission, batch_size):
    da = pytest.importorskip("dask.array")
    X, truth = counts(n=2 * BLOCK_ROWS + 100)
    X = np.minimum(X[:, :3], 9.0)
    y = np.where(np.arange(len(X)) % 50 == 0, truth, -1)
    if emission == "mixed":
        emission = [("poisson", [0, 1]), ("categorical", [2])]
    options = {"emission": emission, "batch_size": batch_size, "n_init": 1, "max_iter": 3}
    found = []
    for data in (X, da.from_array(X, chunks=(BLOCK_ROWS, 3))):
        model = BayesianMixture(3, tol=0.0, random_state=0, **options)
        with pytest.warns(ConvergenceWarning):
            found.append(model.fit(data, y))
    assert_array_equal(np.asarray(found[1].labels_), found[0].labels_)
    assert found[1].objective_ == found[0].objective_
    assert_array_equal(found[1].epoch_bounds_, found[0].epoch_bounds_)
    assert_array_equal(found[1].predict(X), found[0].predict(X))
    more = pickle.loads(pickle.dumps(found[0])).partial_fit(X[:100], y[:100])
    assert more.n_samples_seen_ == len(X) + 100


def test_bad_rows_on_dask_are_refused_by_their_numbers():
    da = pytest.importorskip("dask.array")
    X, _ = counts(n=BLOCK_ROWS + 50)
    X[BLOCK_ROWS + 7, 2] = 0.5
    with pytest.raises(DataError, match=f"row {BLOCK_ROWS + 7}: the first has 0.5"):
        BayesianMixture(3, emission="poisson").fit(da.from_array(X, chunks=(BLOCK_ROWS, 8)))
