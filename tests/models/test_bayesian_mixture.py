"""BayesianMixture: the bound against its definition, and what statements do to the clusters."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import betaln, gammaln, psi, softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import adjusted_rand_score, cohen_kappa_score
from sklearn.mixture import BayesianGaussianMixture

import oracles_bayesian_mixture as oracles
from sidelight import BayesianMixture, SideInformation
from sidelight.blocks import as_blocks, threads
from sidelight.datasets import make_blobs, make_merged_gaussians, make_two_views
from sidelight.exceptions import DataError, LostClassWarning
from sidelight.models._bayesian import run as steps
from sidelight.models._bayesian.start import ahead, from_labels, number_kept
from sidelight.side import sample_labels, sample_pairs


def blobs(n=200, d=3, n_classes=4, scale=3.0, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.normal(scale=scale, size=(n_classes, d))
    truth = rng.integers(n_classes, size=n)
    return centers[truth] + rng.normal(size=(n, d)), truth


def statements(truth, kinds, seed=0):
    """Statements of some kinds, one in ten of them wrong, in two vocabularies."""
    rng = np.random.default_rng(seed)
    n = len(truth)
    said = np.where(rng.random(n) < 0.1, rng.integers(4, size=n), truth)
    pairs = rng.choice(n, (n // 5, 2), replace=False)
    same = said[pairs[:, 0]] == truth[pairs[:, 1]]
    negative = rng.choice(n, n // 7, replace=False)
    parts = {
        "label": SideInformation.from_labels(
            np.where(rng.random(n) < 0.2, said, -1), weight=rng.uniform(0.3, 2.0, n)
        )
        + SideInformation.from_labels(
            np.where(rng.random(n) < 0.1, said // 2, -1), vocabulary="coarse"
        ),
        "must": SideInformation.from_pairs(must=pairs[same], n_samples=n),
        "cannot": SideInformation.from_pairs(cannot=pairs[~same], n_samples=n, weight=1.5),
        "not_label": SideInformation.from_labels(np.where(rng.random(n) < 0.1, said, -1))
        + SideInformation.from_columns(
            "not_label", negative, class_=(truth[negative] + 1) % 4, n_samples=n
        ),
    }
    side = SideInformation.empty(n)
    for kind in kinds:
        side += parts[kind]
    return side


ALL_KINDS = ("label", "must", "cannot", "not_label")


# The bound


@pytest.mark.parametrize("kinds", [(), *((k,) for k in ALL_KINDS), ALL_KINDS], ids="+".join)
@pytest.mark.parametrize("potential", ["potts", "kl"])
@pytest.mark.parametrize("emission", ["gaussian", "gaussian_diag"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_bound_never_falls(emission, potential, kinds):
    X, truth = blobs()
    side = statements(truth, kinds)
    for weights, how in (("dirichlet_process", "observed"), ("dirichlet", "field")):
        model = BayesianMixture(
            7,
            emission=emission,
            potential=potential,
            weights=weights,
            statements=how,
            side_weight=0.3 if how == "observed" else 1e-3,
            tol=1e-9,
            n_init=1,
            max_iter=75,
            random_state=0,
        ).fit(X, side=side)
        assert len(model.history_) > 1
        assert (np.diff(model.history_) >= 0).all()


def problem_of(X, side, **parameters):
    model = BayesianMixture(**parameters)
    return model._problem(as_blocks(X), side, 0)


@pytest.mark.parametrize("how", ["observed", "field"])
@pytest.mark.parametrize("weights", ["dirichlet_process", "dirichlet"])
def test_bound_is_that_of_the_definition(weights, how):
    X, truth = blobs(n=60)
    side = statements(truth[:60], ("label", "not_label"))
    T, eta, must, cannot = 3, 0.7, 0.4, 0.2
    problem = problem_of(
        X, side, n_components=T, weights=weights, concentration=eta, statements=how,
        side_weight=must, cannot_weight=cannot,
    )  # fmt: skip
    # One iteration from a partition; then the bound with the memberships that it gives.
    start = from_labels(truth % T, problem.rows, T)
    sums = steps.begin(problem.rows, problem.emission, start)
    theta = steps.update(problem, sums[0], sums)
    state = steps.State.new(problem.rows)
    step = steps.memberships(problem, theta, state, None)

    rows = X - X.mean(axis=0)
    prior = (1.0, 3.0, np.zeros(3), 1.5 * oracles.shrunken_covariance(X))
    onehot = np.eye(T)[truth % T]
    posterior = [oracles.normal_wishart_terms(rows, onehot[:, k], *prior) for k in range(T)]
    log_p = np.stack([oracles.expected_log_density(rows, *q) for q in posterior], axis=1)
    log_pi, divergence = weights_by_definition(onehot.sum(axis=0), weights, eta)
    near = problem.couplings.rows
    phi = softmax(log_p + log_pi, axis=1)
    phi[near] = state.near_phi
    with_weight = np.ones(60, dtype=bool)
    if how == "field":
        with_weight[near] = False
    attract, repel = oracles.pair_strengths(side, must, cannot, how == "observed")
    expected = (phi * log_p).sum() + (phi @ log_pi)[with_weight].sum()
    expected -= (phi * np.log(np.maximum(phi, 1e-300))).sum() + divergence
    expected -= oracles.statement_cost(attract, repel, phi, 1.0 - np.eye(T))
    expected -= sum(oracles.normal_wishart_divergence(q, prior) for q in posterior)
    assert_allclose(step.bound, expected, rtol=1e-12)
    assert_allclose(step.mass, phi[with_weight].sum(axis=0))
    assert_allclose(step.statistics[0], phi.sum(axis=0))
    assert_allclose(step.statistics[1], phi.T @ rows, atol=1e-10)


def weights_by_definition(mass, kind, eta):
    """E log pi and the divergence, sticks from the largest component to the smallest."""
    if kind == "dirichlet":
        a, b = eta + mass, np.full(len(mass), eta)
        return psi(a) - psi(a.sum()), oracles.dirichlet_divergence(a, b)
    log_pi, divergence, log_rest = np.zeros(len(mass)), 0.0, 0.0
    order = np.argsort(-mass)
    for place, k in enumerate(order):
        ab = np.array([1.0 + mass[k], eta + mass[order[place + 1 :]].sum()])
        log_pi[k] = log_rest + psi(ab[0]) - psi(ab.sum())
        log_rest += psi(ab[1]) - psi(ab.sum())
        divergence += oracles.dirichlet_divergence(ab, np.array([1.0, eta]))
    return log_pi, divergence


@pytest.mark.parametrize("make", [steps.stick_breaking, steps.finite_dirichlet])
def test_expected_weights_are_those_of_the_posterior(make):
    mass = np.array([3.0, 40.0, 0.0, 12.0])
    found = make(mass, 0.8)
    rng = np.random.default_rng(0)
    if make is steps.finite_dirichlet:
        drawn = rng.dirichlet(0.8 + mass, size=100_000)
    else:
        order = [1, 3, 0, 2]
        sticks = rng.beta(1.0 + mass[order], [0.8 + 15, 0.8 + 3, 0.8, 0.8], size=(100_000, 4))
        drawn = np.empty_like(sticks)
        rest = np.cumprod(1.0 - sticks, axis=1)
        drawn[:, order] = sticks * np.hstack([np.ones((100_000, 1)), rest[:, :-1]])
    assert_allclose(found.mean, drawn.mean(axis=0), atol=2e-3)
    assert_allclose(found.log[[0, 1, 3]], np.log(drawn[:, [0, 1, 3]]).mean(axis=0), atol=0.02)
    assert found.divergence > 0
    assert make(np.zeros(4), 0.8).divergence == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("make", [steps.stick_breaking, steps.finite_dirichlet])
def test_a_large_concentration_leaves_digits_to_the_divergence(make):
    # What it is for a concentration without end, to which it comes as 1 / concentration.
    mass = np.array([1.71, 1.33, 0.58, 0.37, 0.0])
    limit = {
        steps.stick_breaking: (mass * psi(1.0 + mass) - gammaln(1.0 + mass)).sum(),
        steps.finite_dirichlet: 0.0,
    }[make]
    far = [abs(make(mass, eta).divergence - limit) for eta in (1e3, 1e6, 1e9, 1e12, 1e15)]
    assert far[0] > 1e-4
    for step, eta in zip(far[1:], (1e6, 1e9, 1e12, 1e15), strict=True):
        assert step < 2.0 * far[0] * 1e3 / eta + 1e-12


def test_ratios_of_gamma_functions_are_products():
    for x in (1e-9, 0.3, 3.0, 99.5, 100.0, 123.4, 1e5, 1e9, 1e15):
        for more in (0, 1, 2, 7, 150):
            product = np.log(x + np.arange(more)).sum()
            assert_allclose(steps.log_gamma_ratio(x, more), product, rtol=1e-13, atol=1e-12)


def test_the_bound_never_falls_at_a_concentration_that_swamps_the_rows():
    side = SideInformation.from_columns(
        ["label"] * 5, [0, 0, 1, 2, 3], [None] * 5, class_=list("abcda"), n_samples=4
    )
    model = BayesianMixture(5, concentration=1e15, n_init=2, max_iter=50, random_state=934)
    with pytest.warns(LostClassWarning):
        model.fit(np.full((4, 1), 1e9), side=side)
    assert (np.diff(model.history_) >= 0).all()


def test_sticks_in_the_order_of_size_are_the_best_of_all_orders():
    rng = np.random.default_rng(0)
    for _ in range(50):
        mass = rng.gamma(0.5, 20.0, size=5)
        sizes = -np.sort(-mass)
        best = sticks_bound(sizes)
        assert all(sticks_bound(rng.permutation(sizes)) <= best + 1e-9 for _ in range(20))
        found = steps.stick_breaking(mass, 1.5)
        assert_allclose((mass * found.log).sum() - found.divergence, best)


def sticks_bound(sizes, eta=1.5):
    rest = np.append(np.cumsum(sizes[::-1])[::-1][1:], 0.0)
    a, b = 1.0 + sizes, eta + rest
    log_beta = gammaln(a) + gammaln(b) - gammaln(a + b)
    return (log_beta + np.log(eta)).sum()


# Against scikit-learn


class _FromLabels(BayesianGaussianMixture):
    """Scikit-learn's mixture, begun at a partition."""

    def _initialize_parameters(self, X, *args, **kwargs):
        self._initialize(X, np.eye(self.n_components)[self.start])


@pytest.mark.parametrize("weights", ["dirichlet_process", "dirichlet"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_without_statements_it_is_scikit_learns_mixture(weights):
    rng = np.random.default_rng(0)
    # From the largest to the smallest: ours sorts the sticks by size, theirs does not.
    start = np.repeat([0, 1, 2], [120, 80, 40])
    X = np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 4.0]])[start] + rng.normal(size=(240, 2))
    kind = {"dirichlet": "dirichlet_distribution"}.get(weights, weights)
    for max_iter in (1, 3, 100):
        theirs = _FromLabels(
            n_components=3,
            weight_concentration_prior_type=kind,
            weight_concentration_prior=0.9,
            mean_precision_prior=1.0,
            degrees_of_freedom_prior=2.0,
            covariance_prior=oracles.shrunken_covariance(X),
            reg_covar=0.0,
            max_iter=max_iter,
            tol=0.0,
        )
        theirs.start = start
        theirs.fit(X)
        # Theirs begins an iteration with the memberships, and so ends it with the parameters.
        ours = BayesianMixture(
            3, weights=weights, concentration=0.9, init=start, max_iter=max_iter + 1, tol=0.0
        ).fit(X)
        assert_allclose(ours.means_, theirs.means_, rtol=1e-9)
        assert_allclose(ours.covariances_, theirs.covariances_, rtol=1e-9)
        assert_array_equal(ours.labels_, theirs.predict(X))
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
        assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-9)
        evidence = theirs.score_samples(X).sum()
        assert_allclose(ours.objective_, evidence - divergences(theirs), rtol=1e-12)
    # Now that both have converged: theirs leaves out what data and priors alone decide.
    assert_allclose(ours.objective_ - theirs.lower_bound_, left_out(theirs, len(X)), rtol=1e-6)


def left_out(theirs, n):
    """2 pi in the densities, and the normalisers of the priors, of which they have none."""
    T, d = theirs.means_.shape
    nu, eta = theirs.degrees_of_freedom_prior_, theirs.weight_concentration_prior_
    wishart = 0.5 * nu * d * np.log(2) - 0.5 * nu * np.linalg.slogdet(theirs.covariance_prior_)[1]
    wishart += gammaln(0.5 * (nu - np.arange(d))).sum()
    wishart -= 0.5 * d * np.log(theirs.mean_precision_prior_)
    if theirs.weight_concentration_prior_type == "dirichlet_process":
        weights = -T * betaln(1.0, eta)
    else:
        weights = gammaln(T * eta) - T * gammaln(eta)
    return weights - T * wishart - 0.5 * n * d * np.log(2 * np.pi)


def divergences(theirs):
    """The divergences of scikit-learn's posteriors from its priors."""
    total = 0.0
    prior = (
        theirs.mean_precision_prior_,
        theirs.degrees_of_freedom_prior_,
        theirs.mean_prior_,
        theirs.covariance_prior_,
    )
    for k in range(theirs.n_components):
        nu = theirs.degrees_of_freedom_[k]
        q = (theirs.mean_precision_[k], nu, theirs.means_[k], nu * theirs.covariances_[k])
        total += oracles.normal_wishart_divergence(q, prior)
    eta = theirs.weight_concentration_prior_
    if theirs.weight_concentration_prior_type == "dirichlet_process":
        for a, b in zip(*theirs.weight_concentration_, strict=True):
            total += oracles.dirichlet_divergence(np.array([a, b]), np.array([1.0, eta]))
    else:
        a = theirs.weight_concentration_
        total += oracles.dirichlet_divergence(a, np.full(len(a), eta))
    return total


# Statements


@pytest.mark.parametrize("n_components", [4, 10])
@pytest.mark.parametrize("seed", range(3))
def test_labels_squeeze_out_clusters_that_nobody_needs(n_components, seed):
    sample = make_merged_gaussians(random_state=seed)
    y = np.where(sample.y == 1, -1, sample.labels)
    middle = np.flatnonzero(sample.y == 1)
    y[np.random.default_rng(seed).choice(middle, 40, replace=False)] = 1
    plain = BayesianMixture(n_components, random_state=0).fit(sample.X)
    told = BayesianMixture(n_components, side_weight=5.0, random_state=0).fit(sample.X, y)
    assert plain.n_clusters_ == 4
    assert told.n_clusters_ == 3
    assert adjusted_rand_score(sample.y, told.labels_) > 0.95


@pytest.mark.parametrize("view", ["horizontal", "vertical"])
@pytest.mark.parametrize(("n_components", "share", "side_weight"), [(2, 0.05, 3.0), (3, 0.3, 20.0)])
def test_labels_say_which_of_two_views_is_meant(view, n_components, share, side_weight):
    sample = make_two_views(random_state=0)
    truth = getattr(sample, view)
    side = sample_labels(truth, share, random_state=0)
    model = BayesianMixture(n_components, side_weight=side_weight, random_state=0)
    model.fit(sample.X, side=side)
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(truth, model.labels_) > 0.95


@pytest.mark.parametrize("n_labels", [10, 40, 400, 2000])
@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_planted_wrong_labels_are_overruled_at_any_number_of_labels(n_labels):
    rng = np.random.default_rng(1)
    truth = np.arange(4000) % 4
    X = 10.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[truth] + rng.normal(size=(4000, 2))
    y = np.full(4000, -1)
    told = rng.choice(4000, n_labels, replace=False)
    y[told] = truth[told]
    wrong = told[: n_labels // 10]
    y[wrong] = (truth[wrong] + 1) % 4
    model = BayesianMixture(6, random_state=0, n_init=1).fit(X, y)
    assert adjusted_rand_score(truth, model.labels_) == 1.0


def test_published_field_gives_in_to_many_wrong_labels():
    # Why a label counts as a whole by default, and not once for each of its pairs.
    rng = np.random.default_rng(1)
    truth = np.arange(2000) % 2
    X = 10.0 * truth[:, None] + rng.normal(size=(2000, 2))
    y = truth.copy()
    wrong = rng.choice(2000, 100, replace=False)
    y[wrong] = 1 - truth[wrong]
    options = {"side_weight": 1.0, "potential": "potts", "random_state": 0, "n_init": 1}
    obeyed = BayesianMixture(2, statements="field", **options).fit(X, y)
    assert (obeyed.labels_[wrong] == y[wrong]).all()
    overruled = BayesianMixture(2, **options).fit(X, y)
    assert (overruled.labels_[wrong] == truth[wrong]).all()


def test_pairs_join_and_part():
    X, truth = blobs(n=120, n_classes=2, scale=8.0)
    rows = [np.flatnonzero(truth == k) for k in (0, 1)]
    must = np.stack([rows[0][:40], rows[1][:40]], axis=1)
    joined = BayesianMixture(2, side_weight=30.0, random_state=0).fit(
        X, side=SideInformation.from_pairs(must=must, n_samples=120)
    )
    assert not joined.result_.violated.any()
    cannot = rows[0][:40].reshape(20, 2)
    parted = BayesianMixture(6, side_weight=30.0, random_state=0).fit(
        X, side=SideInformation.from_pairs(cannot=cannot, n_samples=120)
    )
    assert not parted.result_.violated.any()


def test_many_pairs_settle_and_the_bound_never_falls():
    # Rows with a partner move in turn, each given the others: no swinging, whatever is said.
    sample = make_blobs(2000, 4, 5, random_state=0)
    side = sample_pairs(sample.y, 1000, accuracy=0.9, random_state=0)
    model = BayesianMixture(8, n_init=1, random_state=0).fit(sample.X, side=side)
    assert model.n_iter_ < model.max_iter
    assert (np.diff(model.history_) >= 0).all()


def test_negative_label_keeps_a_row_away_from_a_class():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (40, 1)), rng.normal(6, 1, (40, 1)), [[3.0]]])
    y = np.r_[np.zeros(20), -np.ones(20), np.ones(20), -np.ones(21)].astype(int)
    labels = SideInformation.from_labels(y)
    for other in (0, 1):
        no = SideInformation.from_columns("not_label", [80], class_=[other], n_samples=81)
        model = BayesianMixture(2, random_state=0).fit(X, side=labels + no)
        assert model.cluster_names_[model.labels_[80]] == 1 - other


def test_annotator_with_higher_odds_wins():
    X = np.concatenate([np.random.default_rng(0).normal(0, 1, (60, 1)), [[0.0]]])
    X[:30] -= 4.0
    X[30:60] += 4.0
    truth = SideInformation.from_labels(np.r_[np.repeat([0, 1], 30), -1])
    ann = SideInformation.from_pairs(must=[(0, 60)], n_samples=61, annotator="ann")
    bob = SideInformation.from_pairs(must=[(59, 60)], n_samples=61, annotator="bob")
    for odds, expected in (({"ann": 6.0, "bob": 0.5}, 0), ({"ann": 0.5, "bob": 6.0}, 1)):
        model = BayesianMixture(2, side_weight={None: 5.0, **odds}, random_state=0)
        model.fit(X, side=truth + ann + bob)
        assert model.labels_[60] == expected


def test_repeating_a_statement_is_doubling_its_weight():
    X, truth = blobs()
    once = statements(truth, ALL_KINDS)
    said = once.statements
    double = SideInformation.from_columns(
        said.kind,
        said.i,
        [None if j < 0 else j for j in said.j],
        class_=[None if c < 0 else once.classes[c] for c in said.class_code],
        weight=2.0 * said.weight,
        vocabulary=[None if v < 0 else once.vocabularies[v] for v in said.vocabulary],
        n_samples=len(X),
    )
    one, two = (
        BayesianMixture(4, random_state=0, n_init=1).fit(X, side=side)
        for side in (once + once, double)
    )
    assert_allclose(one.objective_, two.objective_, rtol=1e-12)
    assert_array_equal(one.labels_, two.labels_)


def test_only_rows_without_neighbours_count_for_the_weights_of_a_field():
    X, truth = blobs(n=300, n_classes=2, scale=10.0)
    y = np.where(truth == 0, 0, -1)
    options = {"side_weight": 0.01, "cannot_weight": 0.0, "random_state": 0}
    field = BayesianMixture(2, statements="field", **options).fit(X, y)
    observed = BayesianMixture(2, **options).fit(X, y)
    assert field.weights_[0] < 0.1
    assert abs(observed.weights_[0] - (truth == 0).mean()) < 0.05


def test_paper_mode_is_the_papers_setting():
    assert BayesianMixture.as_published().n_components == 10
    model = BayesianMixture.as_published(n_components=5)
    assert (model.weights, model.potential, model.statements) == ("dirichlet", "kl", "field")
    assert (model.side_weight, model.cannot_weight, model.init) == (1e-3, 0.0, "k-means")
    X, truth = blobs(n=150, n_classes=3)
    found = model.set_params(random_state=0).fit(X, np.where(np.arange(150) < 40, truth, -1))
    # m_0 are the centres of the start, one each, not the mean of the data.
    means = found._emission.prior.mean
    assert len(np.unique(means, axis=0)) == 5
    assert (np.diff(found.history_) >= 0).all()


def test_classes_in_correlated_columns_keep_their_rows():
    """Thirty columns that go together: with half of their variances as prior, 544 and 25 rows."""
    X, truth = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.where(np.arange(len(X)) % 10 == 0, truth, -1)
    sizes = {}
    for name, covariance in (("variances", np.full(30, 0.5)), ("default", 0.5)):
        prior = {"covariance": covariance}
        model = BayesianMixture(2, prior=prior, random_state=0).fit(X, y)
        sizes[name] = np.bincount(model.labels_).min()
    assert sizes["variances"] < 30
    assert sizes["default"] > 100


# The number of components where nobody gave one


@pytest.mark.parametrize("separation", [5.0, 8.0])
def test_pairs_alone_find_about_ten_of_ten_gaussians(separation):
    sample = make_blobs(2_000, 16, 10, separation=separation, random_state=0)
    side = sample_pairs(sample.y, 200, random_state=1)
    model = BayesianMixture(random_state=0).fit(sample.X, side=side)
    # What `StructuralEntropyTree` finds was the limit: 5 of those that overlap.
    assert 8 <= model.n_clusters_ <= 12
    assert adjusted_rand_score(sample.y, model.labels_) > (0.6 if separation == 5.0 else 0.95)


def test_the_sample_that_finds_the_number_has_whole_pairs():
    sample = make_blobs(40_000, 16, 10, separation=5.0, random_state=0)
    side = sample_pairs(sample.y, 4_000, random_state=1)
    model = BayesianMixture(max_iter=1, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(sample.X, side=side)
    # Of 4,000 rows at random about 40 pairs have both ends: too few to tell ten clusters from two.
    assert 8 <= model.n_components_ <= 12


def test_pairs_do_not_ask_for_more_clusters_than_there_are():
    sample = make_blobs(600, 8, 3, separation=8.0, random_state=0)
    side = sample_pairs(sample.y, 300, accuracy=0.9, random_state=1)
    for lowest in (3, 4):
        assert number_kept(sample.X, side, lowest, 0) == lowest
    assert number_kept(sample.X, side, 2, 0) == 3
    some = SideInformation.from_pairs(cannot=side.cannot, n_samples=600)
    assert number_kept(sample.X, some, 2, 0) == 2  # nothing says what is one cluster


@pytest.mark.parametrize("seed", range(5))
def test_how_far_a_number_is_ahead_is_a_difference_of_kappas_with_its_jackknife(seed):
    rng = np.random.default_rng(seed)
    truth = rng.random(60) < 0.3
    one = truth ^ (rng.random(60) < 0.2)
    other = truth ^ (rng.random(60) < 0.4)

    def difference(keep):
        first, second = (cohen_kappa_score(truth[keep], x[keep]) for x in (one, other))
        return first - second

    everything = np.ones(60, dtype=bool)
    without = np.array([difference(np.arange(60) != i) for i in range(60)])
    expected = difference(everything)
    error = np.sqrt(59 / 60 * ((without - expected) ** 2).sum())
    assert_allclose(ahead(one, other, truth), (expected, expected / error))
    assert ahead(one, one, truth) == (0.0, 0.0)


def test_without_statements_there_is_room_for_ten():
    X, _ = blobs()
    assert BayesianMixture(random_state=0).fit(X).n_components_ == 10
    assert BayesianMixture(4, random_state=0).fit(X).n_components_ == 4


@pytest.mark.parametrize("n_labelled", [1, 2, 4])
# Eight blobs in so few components: a class may share one, and a warning says so.
@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_labelled_classes_bound_the_number_of_components(n_labelled):
    X, truth = blobs(n=300, n_classes=8, scale=8.0)
    y = np.where((np.arange(300) < 60) & (truth < n_labelled), truth, -1)
    found = BayesianMixture(random_state=0).fit(X, y)
    assert max(n_labelled, 2) <= found.n_components_ <= 2 * n_labelled
    assert found.n_clusters_ <= found.n_components_


@pytest.mark.parametrize("d", [1, 3])
def test_pairs_alone_leave_the_number_to_the_data(d):
    rng = np.random.default_rng(0)
    truth = np.arange(200) % 4
    X = 9.0 * np.eye(4, 3)[truth][:, :3] if d == 3 else 9.0 * truth[:, None]
    X = X + rng.normal(size=(200, d))
    side = sample_pairs(truth, 40, random_state=0)
    model = BayesianMixture(random_state=0).fit(X, side=side)
    assert model.n_components_ >= 4
    assert adjusted_rand_score(truth, model.labels_) > 0.9


def test_a_start_brings_its_number_of_components():
    X, truth = blobs()
    model = BayesianMixture(6, random_state=0).fit(X)
    assert BayesianMixture(init=model).fit(X).n_components_ == 6
    assert BayesianMixture(init=truth).fit(X).n_components_ == 4


def test_a_stream_has_room_for_what_comes_later():
    X, truth = blobs()
    y = np.where(np.arange(len(X)) < 30, truth, -1)
    model = BayesianMixture(random_state=0).partial_fit(X, y)
    assert model.n_components_ == 10
    assert model.partial_fit(X[:20], y[:20]).n_components_ == 10


@pytest.mark.parametrize("emission", ["gaussian", [("gaussian", [0, 1]), ("gaussian", [2])]])
def test_the_prior_of_a_stream_has_no_correlations(emission):
    X, _ = blobs()
    X[:, 1] += X[:, 0]
    whole = BayesianMixture(3, emission=emission, random_state=0).fit(X)._emission
    stream = BayesianMixture(3, emission=emission, random_state=0).partial_fit(X)._emission
    of = [e.prior[0] if isinstance(e.prior[0], tuple) else e.prior for e in (whole, stream)]
    scatter = [q.factor[0] @ q.factor[0].T for q in of]
    assert abs(scatter[0][0, 1]) > 0.1
    assert_allclose(scatter[1], np.diag(np.diag(scatter[0])), atol=1e-12)
    given = {"covariance": np.cov(X.T)}
    if emission == "gaussian":
        kept = BayesianMixture(3, prior=given, random_state=0).partial_fit(X)._emission.prior
        assert_allclose(kept.factor[0] @ kept.factor[0].T, 3 * given["covariance"])


# Shapes and places of data


@pytest.mark.parametrize("emission", ["gaussian", "gaussian_diag"])
def test_same_answer_from_arrays_sparse_matrices_and_memory_maps(emission, tmp_path):
    X, truth = blobs(n=20_000, d=2, n_classes=3)
    X[np.abs(X) < 0.5] = 0.0
    y = np.where(np.arange(len(X)) % 10 == 0, truth, -1)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = BayesianMixture(4, emission=emission, n_init=1, max_iter=8, tol=0.0, random_state=0)
    answers = []
    for data in (X, mapped, sparse.csr_array(X)):
        with pytest.warns(ConvergenceWarning):
            answers.append((model.fit(data, y).labels_, model.objective_, model.predict(data)))
    assert_array_equal(answers[0][0], answers[1][0])
    assert answers[0][1] == answers[1][1]
    assert_allclose(answers[0][1], answers[2][1], rtol=1e-9)
    assert_array_equal(answers[0][2], answers[1][2])
    assert (answers[0][2] == answers[0][0]).mean() > 0.95


def test_same_bits_with_any_number_of_threads_for_all_kinds_of_statements():
    X, truth = blobs(n=40_000, d=2)
    side = statements(truth, ALL_KINDS)
    found = []
    for n in (1, 2, 3):
        model = BayesianMixture(5, n_init=1, max_iter=5, tol=0.0, random_state=0)
        with threads(n), pytest.warns(ConvergenceWarning):
            found.append(model.fit(X, side=side))
    for other in found[1:]:
        assert_array_equal(found[0].history_, other.history_)
        assert_array_equal(found[0].labels_, other.labels_)
        assert_array_equal(found[0].covariances_, other.covariances_)


@pytest.mark.parametrize("emission", ["gaussian", "gaussian_diag"])
def test_units_of_the_columns_do_not_matter(emission):
    X, truth = blobs()
    y = np.where(np.arange(len(X)) < 30, truth, -1)
    one, two = (
        BayesianMixture(6, emission=emission, n_init=1, random_state=0).fit(data, y)
        for data in (X, X * [1e-5, 1.0, 1e6] + [0.0, 100.0, -1e7])
    )
    assert_array_equal(one.labels_, two.labels_)


@pytest.mark.parametrize("emission", ["gaussian", "gaussian_diag"])
def test_constant_column_changes_nothing(emission):
    X, truth = blobs()
    y = np.where(np.arange(len(X)) < 30, truth, -1)
    wide = np.insert(X, 1, 0.1, axis=1)
    one, two = (
        BayesianMixture(6, emission=emission, random_state=0).fit(data, y) for data in (X, wide)
    )
    assert one.objective_ == two.objective_
    assert_array_equal(one.labels_, two.labels_)
    assert_array_equal(one.predict(X), two.predict(wide))
    assert_allclose(two.means_[:, 1], 0.1)
    assert_array_equal(two.covariances_[:, 1], 0.0)


@pytest.mark.parametrize("emission", ["gaussian", "gaussian_diag"])
def test_rows_that_are_all_alike_are_one_cluster(emission):
    X = np.full((20, 3), 0.3)
    model = BayesianMixture(4, emission=emission, random_state=0).fit(X)
    assert model.n_clusters_ == 1
    assert_allclose(model.means_, 0.3)
    assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.parametrize("emission", ["gaussian", "gaussian_diag"])
def test_more_columns_than_rows(emission):
    rng = np.random.default_rng(0)
    truth = np.arange(20) % 2
    X = rng.normal(size=(20, 50)) + 5.0 * truth[:, None]
    model = BayesianMixture(2, emission=emission, random_state=0).fit(X, [0, 1] + 18 * [-1])
    assert_array_equal(model.labels_, truth)


def test_fewer_rows_than_components():
    X = np.array([[0.0], [0.1], [9.0]])
    model = BayesianMixture(10, random_state=0).fit(X)
    assert 1 <= model.n_clusters_ <= 3
    assert_array_equal(model.predict(X), model.labels_)


def test_more_classes_than_components():
    X, truth = blobs(n=100, n_classes=4, scale=8.0)
    with pytest.warns(LostClassWarning, match="2 clusters for 4 labelled classes"):
        model = BayesianMixture(2, random_state=0).fit(X, truth)
    assert model.n_clusters_ == 2
    assert set(model.cluster_names_) <= {0, 1, 2, 3}
    assert model.result_.violated.sum() >= 10


def test_labels_used_once_bind_nothing_without_cannot_weight():
    X, _ = blobs()
    y = np.full(len(X), None)
    y[[0, 50, 100]] = ["a", "b", "c"]
    options = {"n_components": 5, "init": "k-means", "random_state": 0}
    plain = BayesianMixture(**options).fit(X)
    alone = BayesianMixture(cannot_weight=0.0, **options).fit(X, y)
    assert alone.objective_ == plain.objective_
    repelling = BayesianMixture(**options).fit(X, y)
    assert len(repelling.history_) > 1
    assert len(set(repelling.labels_[[0, 50, 100]])) == 3


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_every_row_labelled_differently():
    X, _ = blobs(n=50)
    model = BayesianMixture(4, random_state=0).fit(X, np.arange(50))
    assert np.isfinite(model.objective_)


def test_clusters_without_rows_are_not_shown_and_predicted_never():
    X, _ = blobs(n_classes=2, scale=6.0)
    model = BayesianMixture(10, random_state=0).fit(X)
    k = model.n_clusters_
    assert k < 10
    assert len(model.weights_) == len(model.means_) == len(model.covariances_) == k
    assert 0.9 < model.weights_.sum() < 1.0
    far = np.full((3, 3), 1e4)
    assert (model.predict(far) < k).all()
    shares = model.predict_proba(np.vstack([X, far]))
    assert shares.shape == (len(X) + 3, k)
    assert_allclose(shares.sum(axis=1), 1.0)
    assert_array_equal(shares.argmax(axis=1)[: len(X)], model.labels_)


# Starts


def test_restarts_are_chosen_by_the_bound():
    X, _ = blobs(n_classes=6, scale=2.0)
    many = BayesianMixture(6, n_init=6, random_state=3).fit(X)
    rng = np.random.default_rng(3)
    problem = many._problem(as_blocks(X), SideInformation.empty(len(X)), 0)
    nothing = SideInformation.empty(len(X))
    starts = [many._start(problem, nothing, child)[0] for child in rng.spawn(6)]
    options = {"potential": "potts", "max_iter": 500, "tol": 1e-6}
    bounds = [steps.run(problem, start, **options).objective for start in starts]
    assert len(set(np.round(bounds, 6))) > 1
    assert many.objective_ == max(bounds)


def test_a_run_that_goes_on_is_the_run_that_never_stopped():
    X, truth = blobs(n_classes=6, scale=2.0)
    side = statements(truth % 4, ALL_KINDS)
    model = BayesianMixture(6, random_state=0)
    problem = model._problem(as_blocks(X), side, 0)
    start, _ = model._start(problem, side, np.random.default_rng(0))
    options = {"potential": "potts", "tol": 0.0}
    whole = steps.run(problem, start, max_iter=20, **options)
    first = steps.run(problem, start, max_iter=8, **options)
    both = steps.go_on(problem, first, max_iter=12, tol=0.0)
    assert_array_equal(both.history, whole.history)
    assert_array_equal(both.labels, whole.labels)
    assert both.n_iter == whole.n_iter == 20


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_warm_start_from_a_fitted_model_needs_few_iterations():
    X, truth = blobs(n_classes=6, scale=2.0)
    y = np.where(np.arange(len(X)) < 40, truth, -1)
    first = BayesianMixture(8, random_state=0).fit(X, y)
    y[40:45] = truth[40:45]
    warm = BayesianMixture(8, init=pickle.loads(pickle.dumps(first))).fit(X, y)
    assert warm.n_iter_ < first.n_iter_
    assert adjusted_rand_score(first.labels_, warm.labels_) > 0.8
    frozen = clone(BayesianMixture(8, init=FrozenEstimator(first))).fit(X, y)
    assert_array_equal(frozen.labels_, warm.labels_)
    more = BayesianMixture(12, init=first).fit(X, y)
    assert more.n_clusters_ <= 12


def test_start_that_is_no_start_is_refused():
    X, truth = blobs()
    for init, message in (
        (truth[:5], "each of the 200 rows"),
        (truth + 0.5, "whole number"),
        (truth + 5, "from 5 to"),
        (BayesianMixture(9).fit(X), "9 components"),
        (_FromLabels(n_components=1, weight_concentration_prior=1.0), "fitted BayesianMixture"),
    ):
        if isinstance(init, _FromLabels):
            init.start = np.zeros(len(X), dtype=int)
            init.fit(X)
        with pytest.raises(DataError, match=message):
            BayesianMixture(4, init=init).fit(X)


def test_large_data_start_from_a_sample_with_the_labelled_rows(monkeypatch):
    from sidelight.models._bayesian import start as _bayesian_start

    truth = np.arange(2000) % 4
    X = 9.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[truth]
    X += np.random.default_rng(0).normal(size=X.shape)
    y = np.full(2000, -1)
    y[::99] = truth[::99]
    side = SideInformation.from_labels(y)
    monkeypatch.setattr(_bayesian_start, "SAMPLE", 100)
    rng = np.random.default_rng(0)
    rows = _bayesian_start._sample(2000, side, rng, 100)
    assert len(rows) <= 100
    assert set(np.flatnonzero(y >= 0)) <= set(rows)
    y[:] = truth
    assert len(_bayesian_start._sample(2000, SideInformation.from_labels(y), rng, 100)) <= 100
    model = BayesianMixture(4, random_state=0).fit(X, side=side)
    assert adjusted_rand_score(model.labels_, truth) == 1.0


def test_run_that_ends_too_early_says_so():
    X, _ = blobs()
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = BayesianMixture(5, max_iter=2, random_state=0).fit(X)
    assert_array_equal(model.predict(X), model.labels_)
