"""The EM loop, with a plain Gaussian mixture as its user: the formulas are all that it takes."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn.mixture import GaussianMixture

from sidelight.blocks import RowEntries, as_blocks
from sidelight.models._em import Start, ascend, begin, expect, without_rounding

NOBODY = RowEntries(np.empty(0, dtype=np.int64))
K = 3


class Diagonal:
    """Gaussians with a variance per column."""

    def log_density(self, X, components):
        mean, variance = components
        away = (X - mean[:, None]) ** 2 / variance[:, None]
        return -0.5 * (away + np.log(2 * np.pi * variance)[:, None]).sum(axis=2)

    def statistics(self, X, phi):
        return phi.sum(axis=1), phi @ X, phi @ X**2


class Theta(NamedTuple):
    components: tuple
    log_weights: np.ndarray


def best_theta(statistics):
    mass, sums, squares = statistics
    mean = sums / mass[:, None]
    variance = squares / mass[:, None] - mean**2
    return Theta((mean, variance), np.log(mass / mass.sum()))


def data(n=600, seed=0):
    rng = np.random.default_rng(seed)
    means = np.array([[0.0, 0.0], [3.0, 1.0], [0.0, 4.0]])
    return means[rng.integers(K, size=n)] + rng.normal(size=(n, 2)), rng.integers(K, size=n)


def from_partition(X, partition):
    def scores(block, column):
        return np.where(column == np.arange(K)[:, None], 0.0, -np.inf)

    return best_theta(begin(as_blocks(X), Diagonal(), Start(scores, partition)))


def fitted(X, theta, apart=NOBODY, add=lambda theta, found: found, **options):
    rows = as_blocks(X)
    labels = np.empty(len(X), dtype=np.int32)

    def e_step(theta):
        return add(theta, expect(rows, Diagonal(), *theta, apart, labels))

    options = {"least_gain": 0.0, "max_iter": 500, **options}
    return ascend(theta, e_step, lambda step: best_theta(step.statistics), **options), labels


def test_a_start_from_a_partition_has_the_moments_of_its_parts():
    X, partition = data()
    theta = from_partition(X, partition)
    for k in range(K):
        assert_allclose(theta.components[0][k], X[partition == k].mean(axis=0))
        assert_allclose(theta.components[1][k], X[partition == k].var(axis=0))
    assert_allclose(np.exp(theta.log_weights), np.bincount(partition) / len(X))


@pytest.mark.parametrize("n", [600, 20_000])  # one block and two
def test_from_the_same_start_it_is_the_mixture_of_scikit_learn(n):
    X, partition = data(n)
    theta = from_partition(X, partition)
    found, labels = fitted(X, theta, least_gain=1e-9, max_iter=40)
    (mean, variance), log_weights = theta
    peer = GaussianMixture(
        K, covariance_type="diag", reg_covar=0.0, tol=0.0, max_iter=found.n_iter - 1,
        weights_init=np.exp(log_weights), means_init=mean, precisions_init=1.0 / variance,
    )  # fmt: skip
    with pytest.warns(UserWarning, match="did not converge"):
        peer.fit(X)
    assert_allclose(found.theta.components[0], peer.means_, rtol=1e-6)
    assert_allclose(found.theta.components[1], peer.covariances_, rtol=1e-6)
    assert_allclose(found.step.bound / n, peer.score(X), rtol=1e-9)
    assert_array_equal(labels, peer.predict(X))


def test_the_bound_is_the_log_likelihood_and_never_falls():
    X, partition = data()
    found, _ = fitted(X, from_partition(X, partition), least_gain=1e-6)
    scores = Diagonal().log_density(X, found.theta.components) + found.theta.log_weights[:, None]
    assert found.step.bound == pytest.approx(logsumexp(scores, axis=0).sum())
    assert (np.diff(found.history) >= 0).all()
    assert found.converged
    assert len(found.history) == found.n_iter


def test_max_iter_and_callbacks_end_it():
    X, partition = data()
    theta = from_partition(X, partition)
    found, _ = fitted(X, theta, max_iter=3)
    assert (found.n_iter, found.converged) == (3, False)
    calls = iter([False, True])
    found, _ = fitted(X, theta, each_iteration=lambda: next(calls))
    assert (found.n_iter, found.converged) == (2, False)


def test_rows_apart_are_left_to_the_model():
    X, partition = data()
    known = np.arange(0, 600, 3)
    others = np.setdiff1d(np.arange(600), known)
    theta = from_partition(X, partition)

    def with_known(theta, found):
        assert_allclose(found.apart, Diagonal().log_density(X[known], theta.components).T)
        phi = np.eye(K)[:, partition[known]]
        extra = Diagonal().statistics(X[known], phi)
        sums = tuple(a + b for a, b in zip(found.statistics, extra, strict=True))
        inside = (found.apart.T + theta.log_weights[:, None])[partition[known], range(len(known))]
        return found._replace(statistics=sums, bound=found.bound + inside.sum())

    found, _ = fitted(X, theta, RowEntries(known), with_known, least_gain=1e-9)
    assert (np.diff(found.history) >= 0).all()
    assert found.step.statistics[0].sum() == pytest.approx(600)
    alone, _ = fitted(X[others], theta, max_iter=1)
    first, _ = fitted(X, theta, RowEntries(known), max_iter=1)
    for a, b in zip(alone.step.statistics, first.step.statistics, strict=True):
        assert_allclose(a, b)


class Step(NamedTuple):
    bound: float


def climb(bounds, **options):
    """`ascend` along given bounds: theta is the place among them."""
    seen = []

    def e_step(place):
        seen.append(place)
        return Step(bounds[place])

    options = {"least_gain": 1e-6, "max_iter": 10, **options}
    following = iter(range(1, len(bounds)))
    return ascend(0, e_step, lambda step: next(following), **options), seen


def test_a_step_that_loses_by_rounding_is_taken_back():
    found, seen = climb([1.0, 2.0, 2.0 - 1e-9, 3.0])
    assert (found.theta, found.step.bound, found.history) == (1, 2.0, [1.0, 2.0, 2.0])
    assert (found.n_iter, found.converged, seen) == (3, True, [0, 1, 2, 1])
    found, _ = climb([1.0, 2.0, 2.0 - 1e-9, 3.0], least_gain=0.0)
    assert (found.theta, found.history) == (1, [1.0, 2.0, 2.0])


def test_a_step_that_loses_more_is_shown():
    found, _ = climb([1.0, 2.0, 1.5, 3.0])
    assert (found.theta, found.history) == (2, [1.0, 2.0, 1.5])


def test_what_is_maximised_may_be_renewed_until_that_brings_nothing():
    goals = [0.0]

    def e_step(x):
        return Step(-((x - goals[-1]) ** 2))

    def renew(x):
        goals.append(min(goals[-1] + 1.0, 2.0))

    found = ascend(5.0, e_step, lambda step: goals[-1], least_gain=1e-9, max_iter=100, renew=renew)
    assert found.theta == 2.0
    assert goals == [0.0, 1.0, 2.0, 2.0]
    assert found.history == [0.0, 0.0]
    assert found.converged


def test_only_rounding_is_taken_back():
    """A bound near zero is a difference of larger numbers; a real fall stays visible."""
    assert without_rounding(-1e-16, [4e-16]) == 4e-16
    assert without_rounding(1e6 - 1e-7, [1e6]) == 1e6
    assert without_rounding(-1e-9, [0.0]) == -1e-9
    assert without_rounding(1e6 - 1.0, [1e6]) == 1e6 - 1.0
    assert without_rounding(2.0, [1.0]) == 2.0
