"""Emissions: posteriors, densities and divergences against Monte Carlo, scipy and the formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats

import oracles_bayesian_mixture as oracles
from sidelight.blocks import as_blocks
from sidelight.exceptions import DataError
from sidelight.models._emissions import EMISSIONS
from sidelight.models._emissions.emission import dense_parts

D, T = 3, 4
GAUSSIANS = ("gaussian", "gaussian_diag")


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) @ rng.normal(size=(D, D)) + [5.0, -3.0, 0.0]
    phi = np.ascontiguousarray(rng.dirichlet(np.full(T, 0.5), size=n).T)
    return X, phi


def fitted(name, prior=None, seed=0):
    X, phi = data(seed=seed)
    emission = EMISSIONS[name].of(as_blocks(X), prior, T)
    return emission, emission.posterior(emission.statistics(X, phi)), X, phi


def draw(name, q, k, n, rng):
    """Means and precision matrices from the posterior of component k."""
    if name == "gaussian":
        L = q.whiten[k].T @ q.whiten[k]
        precision = stats.wishart(q.nu[k], L).rvs(n, random_state=rng)
    else:
        tau = stats.gamma(0.5 * q.nu[k], scale=2.0 / q.scatter[k]).rvs((n, D), random_state=rng)
        precision = tau[:, :, None] * np.eye(D)
    root = np.linalg.cholesky(np.linalg.inv(q.kappa[k] * precision))
    mean = q.mean[k] + np.einsum("nij,nj->ni", root, rng.normal(size=(n, D)))
    return mean, precision


def log_posterior(name, q, k, mean, precision):
    """The density of draws under the posterior of component k."""
    log_det = np.linalg.slogdet(precision)[1]
    step = mean - q.mean[k]
    value = 0.5 * (log_det + D * np.log(q.kappa[k] / (2 * np.pi)))
    value -= 0.5 * q.kappa[k] * np.einsum("ni,nij,nj->n", step, precision, step)
    if name == "gaussian":
        L = q.whiten[k].T @ q.whiten[k]
        return value + stats.wishart(q.nu[k], L).logpdf(precision.transpose(1, 2, 0))
    tau = np.diagonal(precision, axis1=1, axis2=2)
    return value + stats.gamma(0.5 * q.nu[k], scale=2.0 / q.scatter[k]).logpdf(tau).sum(axis=1)


@pytest.mark.parametrize("name", GAUSSIANS)
def test_expected_log_density_is_the_mean_over_the_posterior(name):
    emission, q, X, _ = fitted(name)
    found = emission.log_density(X[:5], q)
    rng = np.random.default_rng(1)
    for k in range(T):
        mean, precision = draw(name, q, k, 20_000, rng)
        log_det = np.linalg.slogdet(precision)[1]
        step = X[:5, None] - emission.spread.mean - mean
        quadratic = np.einsum("xni,nij,xnj->xn", step, precision, step)
        values = 0.5 * (log_det - D * np.log(2 * np.pi) - quadratic)
        error = values.std(axis=1) / np.sqrt(values.shape[1])
        assert (np.abs(values.mean(axis=1) - found[k]) < 5 * error + 1e-12).all()


@pytest.mark.parametrize("name", GAUSSIANS)
def test_divergence_from_the_prior_is_the_mean_log_ratio(name):
    emission, q, _, _ = fitted(name)
    found = emission.divergence(q)
    rng = np.random.default_rng(2)
    for k in range(T):
        drawn = draw(name, q, k, 2_000, rng)
        ratio = log_posterior(name, q, k, *drawn) - log_posterior(name, emission.prior, k, *drawn)
        assert abs(ratio.mean() - found[k]) < 5 * ratio.std() / np.sqrt(len(ratio))
    assert_allclose(emission.divergence(emission.prior), 0.0, atol=1e-12)


@pytest.mark.parametrize("name", GAUSSIANS)
def test_symmetric_divergence_is_the_mean_log_ratio_in_both_directions(name):
    emission, q, _, _ = fitted(name)
    found = emission.symmetric_divergence(q)
    assert_allclose(found, found.T)
    assert_allclose(np.diag(found), 0.0)
    rng = np.random.default_rng(3)
    total, error = 0.0, 0.0
    for k, h in ((0, 1), (1, 0)):
        drawn = draw(name, q, k, 4_000, rng)
        ratio = log_posterior(name, q, k, *drawn) - log_posterior(name, q, h, *drawn)
        total += ratio.mean()
        error += ratio.std() / np.sqrt(len(ratio))
    assert abs(total - found[0, 1]) < 5 * error


def test_symmetric_divergence_is_that_of_the_corrected_formula():
    emission, q, _, _ = fitted("gaussian")
    S = q.factor @ q.factor.transpose(0, 2, 1)
    L = np.linalg.inv(S)
    k, h = 0, 2
    delta = q.mean[k] - q.mean[h]
    ratio = q.kappa[h] / q.kappa[k]
    mean = D * (ratio + 1 / ratio - 2)
    mean += delta @ (q.kappa[h] * q.nu[k] * L[k] + q.kappa[k] * q.nu[h] * L[h]) @ delta
    wishart = (q.nu[k] - q.nu[h]) * (q.log_det[k] - q.log_det[h] + q.digammas[k] - q.digammas[h])
    wishart += np.trace(q.nu[k] * S[h] @ L[k] + q.nu[h] * S[k] @ L[h]) - D * (q.nu[k] + q.nu[h])
    assert_allclose(emission.symmetric_divergence(q)[k, h], 0.5 * mean + 0.5 * wishart)


def test_posterior_density_and_divergence_are_those_of_the_definition():
    emission, q, X, phi = fitted("gaussian")
    rows = X - X.mean(axis=0)
    prior = (1.0, float(D), np.zeros(D), 0.5 * D * oracles.shrunken_covariance(X))
    for k in range(T):
        kappa, nu, m, S = oracles.normal_wishart_terms(rows, phi[k], *prior)
        assert_allclose([q.kappa[k], q.nu[k]], [kappa, nu])
        assert_allclose(q.mean[k], m, atol=1e-12)
        assert_allclose(q.factor[k] @ q.factor[k].T, S)
        expected = oracles.expected_log_density(rows, kappa, nu, m, S)
        assert_allclose(emission.log_density(X, q)[k], expected)
        divergence = oracles.normal_wishart_divergence((kappa, nu, m, S), prior)
        assert_allclose(emission.divergence(q)[k], divergence)


def test_diagonal_is_full_column_by_column():
    emission, q, X, phi = fitted("gaussian_diag")
    same = {"covariance": 1.0}
    columns = [EMISSIONS["gaussian"].of(as_blocks(X[:, [j]]), same, T) for j in range(D)]
    parts = [e.posterior(e.statistics(X[:, [j]], phi)) for j, e in enumerate(columns)]
    every = list(zip(columns, parts, strict=True))
    densities = [e.log_density(X[:, [j]], p) for j, (e, p) in enumerate(every)]
    assert_allclose(emission.log_density(X, q), sum(densities))
    assert_allclose(emission.divergence(q), sum(e.divergence(p) for e, p in every))
    symmetric = sum(e.symmetric_divergence(p) for e, p in every)
    assert_allclose(emission.symmetric_divergence(q), symmetric, atol=1e-12)


@pytest.mark.parametrize("name", GAUSSIANS)
def test_sparse_rows_give_what_dense_ones_give(name):
    X, phi = data()
    X[np.random.default_rng(5).random(X.shape) < 0.6] = 0.0
    dense, thin = as_blocks(X), as_blocks(sparse.csr_array(X))
    parts = []
    for rows in (dense, thin):
        emission = EMISSIONS[name].of(rows, None, T)
        block = rows.block(0).X
        q = emission.posterior(emission.statistics(block, phi))
        parts.append((*q, emission.log_density(block, q)))
    for a, b in zip(*parts, strict=True):
        assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_wide_sparse_rows_are_made_dense_a_few_at_a_time():
    wide = as_blocks(sparse.random_array((60, 2**18), density=1e-5, rng=0, format="csr"))
    parts = list(dense_parts(wide.block(0).X, 2**18))
    assert [len(X) for _, X in parts] == [8] * 7 + [4]
    assert sum(X.sum() for _, X in parts) == pytest.approx(wide.take(np.arange(60)).sum())


@pytest.mark.parametrize("name", GAUSSIANS)
def test_users_prior_is_used(name):
    variances = [1.0, 2.0, 3.0]
    prior = {
        "mean": [1.0, 2.0, 3.0],
        "mean_precision": 0.5,
        "degrees_of_freedom": 7.0,
        "covariance": variances,
    }
    emission, _, X, _ = fitted(name, prior)
    p = emission.prior
    assert_allclose(p.mean[0] + X.mean(axis=0), prior["mean"])
    assert_allclose([p.kappa[0], p.nu[0]], [0.5, 7.0])
    scatter = p.scatter[0] if name == "gaussian_diag" else np.diag(p.factor[0] @ p.factor[0].T)
    assert_allclose(scatter, 7.0 * np.array(variances))
    assert_allclose(emission.parameters(p)["means"][0], prior["mean"])
    shown = emission.parameters(p)["covariances"][0]
    assert_allclose(shown if name == "gaussian_diag" else np.diag(shown), variances)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ({"variance": 1.0}, "some of"),
        ({"mean": [1.0, 2.0]}, "3 features"),
        ({"mean_precision": 0.0}, "above 0"),
        ({"degrees_of_freedom": 1.0}, "above 2"),
        ({"covariance": -1.0}, "above 0"),
        ({"covariance": np.ones((2, 2))}, "3 x 3"),
        ({"covariance": np.ones((3, 3))}, "positive definite"),
    ],
)
def test_prior_that_is_none_is_refused(prior, message):
    with pytest.raises(DataError, match=message):
        EMISSIONS["gaussian"].of(as_blocks(data()[0]), prior, T)


def test_prior_of_the_diagonal_is_checked_too():
    for value in (np.ones(2), [1.0, -1.0, 1.0]):
        with pytest.raises(DataError, match="3 variances above zero"):
            EMISSIONS["gaussian_diag"].of(as_blocks(data()[0]), {"covariance": value}, T)


@pytest.mark.parametrize("name", GAUSSIANS)
def test_published_prior_expects_components_where_they_start(name):
    X, _ = data()
    emission = EMISSIONS[name].of(as_blocks(X), "published", T)
    p = emission.with_centers(X[:2]).prior
    assert_allclose(emission.parameters(p)["means"][:2], X[:2])
    assert_allclose(p.mean[2:], 0.0)
    assert_allclose(p.kappa, 1.0)
    scatter = p.scatter if name == "gaussian_diag" else p.factor
    assert_allclose(scatter[0], 1.0 if name == "gaussian_diag" else np.eye(D))


def test_singular_scatter_is_said_in_words():
    X = np.array([[0.0], [1e9], [1e9 + 1e-6]])
    emission = EMISSIONS["gaussian"].of(as_blocks(X), {"covariance": [1e-300]}, 1)
    with pytest.raises(DataError, match="singular"):
        emission.posterior((np.array([3.0]), np.array([[9e9]]), np.array([[[1e-5]]])))
