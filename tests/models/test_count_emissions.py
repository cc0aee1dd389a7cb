"""Emissions of counts, categories and mixed columns: against Monte Carlo, scipy and each other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from sklearn.metrics import adjusted_rand_score

from sidelight import BayesianMixture, SideInformation
from sidelight._kernels import counts as kernels
from sidelight.blocks import as_blocks
from sidelight.exceptions import DataError
from sidelight.models import Emission
from sidelight.models._emissions import EMISSIONS, make
from sidelight.side import sample_labels
from sidelight.testing import verify_emission

T = 3
NAMES = ("multinomial", "categorical", "poisson")


def counts(n=80, d=6, seed=0):
    """Counts with zeros, one large value, a column of zeros and a constant one."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(rng.gamma(0.7, 3.0, size=(T, d))[rng.integers(T, size=n)]).astype(float)
    X[0, 0] = 700.0
    X[:, 4] = 0.0
    X[:, 5] = 2.0
    return X


def categories(n=80, seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([rng.choice([-1.5, 0.0, 7.0], n), rng.integers(2, size=n), np.ones(n)], axis=1)


def rows_for(name):
    return categories() if name == "categorical" else counts()


def memberships(n, seed=1):
    rng = np.random.default_rng(seed)
    return np.ascontiguousarray(rng.dirichlet(np.full(T, 0.5), size=n).T)


def fitted(name, prior=None):
    X = rows_for(name)
    phi = memberships(len(X))
    emission = EMISSIONS[name].of(as_blocks(X), prior, T)
    return emission, emission.posterior(emission.statistics(X, phi)), X, phi


def draw(name, emission, q, k, n, rng):
    """Parameters from the posterior of component k: probabilities, or rates."""
    if name == "poisson":
        return rng.gamma(q.shape[k], 1.0 / q.rate[k], size=(n, len(q.shape[k])))
    return np.hstack([rng.dirichlet(a, size=n) for a in segments(name, emission, q, k)])


def segments(name, emission, q, k):
    """The Dirichlets of a component, one per column or one in all."""
    inside = emission.starts[1:-1] if name == "categorical" else []
    return np.split(q.concentration[k], inside)


def log_posterior(name, emission, q, k, drawn):
    if name == "poisson":
        return stats.gamma(q.shape[k], scale=1.0 / q.rate[k]).logpdf(drawn).sum(axis=1)
    parts = np.split(drawn, emission.starts[1:-1] if name == "categorical" else [], axis=1)
    total = 0.0
    for a, part in zip(segments(name, emission, q, k), parts, strict=True):
        if len(a) > 1:
            total = total + stats.dirichlet(a).logpdf((part / part.sum(axis=1, keepdims=True)).T)
    return total


def log_likelihood(name, emission, x, drawn):
    """log p(x | theta) for every draw, by scipy."""
    if name == "poisson":
        return stats.poisson(drawn).logpmf(x[emission.columns.kept]).sum(axis=1)
    if name == "multinomial":
        inside = x[emission.columns.kept]
        return np.array(
            [stats.multinomial(inside.sum(), p / p.sum()).logpmf(inside) for p in drawn]
        )
    total = 0.0
    for j, value in enumerate(x):
        here = slice(emission.starts[j], emission.starts[j + 1])
        total = total + np.log(drawn[:, here][:, emission.categories[here] == value][:, 0])
    return total


@pytest.mark.parametrize("name", NAMES)
def test_expected_log_density_is_the_mean_over_the_posterior(name):
    emission, q, X, _ = fitted(name)
    found = emission.log_density(X[:3], q)
    rng = np.random.default_rng(1)
    for k in range(T):
        drawn = draw(name, emission, q, k, 4000, rng)
        for i in range(3):
            values = log_likelihood(name, emission, X[i], drawn)
            error = values.std() / np.sqrt(len(values))
            assert abs(values.mean() - found[k, i]) < 5 * error + 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_divergence_from_the_prior_is_the_mean_log_ratio(name):
    emission, q, _, _ = fitted(name)
    found = emission.divergence(q)
    rng = np.random.default_rng(2)
    for k in range(T):
        drawn = draw(name, emission, q, k, 4000, rng)
        ratio = log_posterior(name, emission, q, k, drawn)
        ratio -= log_posterior(name, emission, emission.prior, k, drawn)
        assert abs(ratio.mean() - found[k]) < 5 * ratio.std() / np.sqrt(len(ratio))
    assert_allclose(emission.divergence(emission.prior), 0.0, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_symmetric_divergence_is_the_mean_log_ratio_in_both_directions(name):
    emission, q, _, _ = fitted(name)
    found = emission.symmetric_divergence(q)
    assert_allclose(found, found.T)
    assert_allclose(np.diag(found), 0.0)
    rng = np.random.default_rng(3)
    total, error = 0.0, 0.0
    for k, h in ((0, 1), (1, 0)):
        drawn = draw(name, emission, q, k, 8000, rng)
        ratio = log_posterior(name, emission, q, k, drawn)
        ratio -= log_posterior(name, emission, q, h, drawn)
        total += ratio.mean()
        error += ratio.std() / np.sqrt(len(ratio))
    assert abs(total - found[0, 1]) < 5 * error


@pytest.mark.parametrize("name", NAMES)
def test_symmetric_divergence_is_the_divergence_there_and_back(name):
    emission, q, _, _ = fitted(name)
    found = emission.symmetric_divergence(q)
    for k in range(T):
        one = type(q)(*(np.repeat(a[[k]], T, axis=0) for a in q))
        both = emission.divergence_between(one, q) + emission.divergence_between(q, one)
        assert_allclose(found[k], both, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_posterior_is_the_prior_with_the_counts_added(name):
    emission, q, X, phi = fitted(name)
    if name == "categorical":
        seen = [X[:, [j]] == emission.categories[emission.starts[j] : emission.starts[j + 1]]
                for j in range(3)]  # fmt: skip
        seen = np.hstack(seen)
    else:
        seen = X[:, emission.columns.kept]
    if name == "poisson":
        assert_allclose(q.shape, emission.prior.shape + phi @ seen)
        assert_allclose(q.rate, emission.prior.rate + phi.sum(axis=1)[:, None])
    else:
        assert_allclose(q.concentration, emission.prior.concentration + phi @ seen)


# Priors


@pytest.mark.parametrize("n_parts", [1, 2, 9])
def test_sums_are_the_same_for_rows_of_few_components_and_of_many(n_parts):
    X = counts(d=8)[:, :5]
    rng = np.random.default_rng(2)
    phi = rng.dirichlet(np.ones(9), size=len(X)).T
    phi = np.ascontiguousarray(
        np.where(np.argsort(np.argsort(phi, axis=0), axis=0) < n_parts, phi, 0.0)
    )
    emission = EMISSIONS["poisson"].of(as_blocks(X), None, 9)
    for rows in (X, as_blocks(sparse.csr_array(X)).block(0).X):
        mass, sums = emission.statistics(rows, phi)
        assert_allclose(mass, phi.sum(axis=1))
        assert_allclose(sums, phi @ X[:, :4])


def test_few_and_many_categories_are_found_and_unknown_ones_are_not():
    rng = np.random.default_rng(0)
    lists = [np.unique(rng.integers(-99, 99, size=m)) * 0.5 for m in (1, 5, 16, 17, 80)]
    starts = np.cumsum([0, *map(len, lists)])
    X = 0.5 * rng.integers(-120, 120, size=(300, len(lists)))
    found = np.empty(X.shape, dtype=np.int32)
    kernels.encode(X, np.concatenate(lists), starts, found)
    for j, known in enumerate(lists):
        place = np.searchsorted(known, X[:, j])
        is_known = np.isin(X[:, j], known)
        assert_array_equal(found[:, j], np.where(is_known, starts[j] + place, -1))
        assert 0 < is_known.sum() < 300


def test_default_priors_know_the_scale_of_the_data():
    X = counts()
    poisson = EMISSIONS["poisson"].of(as_blocks(X), None, T)
    kept = poisson.columns.kept
    assert_array_equal(kept, [0, 1, 2, 3])  # no zeros, nothing constant
    assert_allclose(poisson.prior.shape / poisson.prior.rate, np.tile(X.mean(axis=0)[kept], (T, 1)))
    multinomial = EMISSIONS["multinomial"].of(as_blocks(X), None, T)
    assert_array_equal(multinomial.columns.kept, [0, 1, 2, 3, 5])
    a = multinomial.prior.concentration[0]
    shares = X.sum(axis=0)[[0, 1, 2, 3, 5]] / X.sum()
    assert_allclose(a, 0.5 + 0.5 * 5 * shares)
    assert a.mean() == pytest.approx(1.0)
    categorical = EMISSIONS["categorical"].of(as_blocks(categories()), None, T)
    a = categorical.prior.concentration[0]
    means = [part.mean() for part in np.split(a, categorical.starts[1:-1])]
    assert_allclose(means, 1.0)


def test_users_priors_are_used():
    X = as_blocks(counts())
    poisson = EMISSIONS["poisson"].of(X, {"shape": 2.0, "mean": np.arange(1.0, 7.0)}, T)
    assert_allclose(poisson.prior.shape, 2.0)
    assert_allclose(poisson.prior.rate[0], 2.0 / np.array([1.0, 2.0, 3.0, 4.0]))
    multinomial = EMISSIONS["multinomial"].of(X, {"concentration": np.arange(1.0, 7.0)}, T)
    assert_allclose(multinomial.prior.concentration[0], [1.0, 2.0, 3.0, 4.0, 6.0])
    categorical = EMISSIONS["categorical"].of(
        as_blocks(categories()), {"concentration": 4.0, "categories": {1: [5, 1, 0]}}, T
    )
    assert_array_equal(categorical.categories, [-1.5, 0, 7, 0, 1, 5, 1])
    assert np.split(categorical.prior.concentration[0], [3, 6])[1].sum() == pytest.approx(12.0)


@pytest.mark.parametrize(
    ("name", "prior", "message"),
    [
        ("poisson", {"rate": 1.0}, "some of \\['shape', 'mean'\\]"),
        ("poisson", "published", "Gaussian emissions only"),
        ("poisson", {"shape": 0.0}, "above 0"),
        ("poisson", {"mean": [1.0, 2.0]}, "6 of them"),
        ("multinomial", {"concentration": -1.0}, "above 0"),
        ("multinomial", {"concentration": np.ones((2, 2))}, "6 of them"),
        ("categorical", {"concentration": np.ones(3)}, "above 0"),
        ("categorical", {"categories": [[0, 1]]}, "each of the 3"),
        ("categorical", {"categories": {9: [1]}}, "each of the 3"),
        ("categorical", {"categories": {0: ["red"]}}, "are numbers"),
    ],
)
def test_prior_that_is_none_is_refused(name, prior, message):
    with pytest.raises(DataError, match=message):
        EMISSIONS[name].of(as_blocks(rows_for(name)), prior, T)


# Sparse rows


@pytest.mark.parametrize("name", ["multinomial", "poisson"])
def test_sparse_counts_give_what_dense_ones_give(name):
    X, phi = counts(), memberships(80)
    parts = []
    for rows in (as_blocks(X), as_blocks(sparse.csr_array(X)), as_blocks(X.astype(np.float32))):
        emission = EMISSIONS[name].of(rows, None, T)
        block = rows.block(0).X
        q = emission.posterior(emission.statistics(block, phi))
        z = emission.coordinates(block)
        z = z.toarray() if sparse.issparse(z) else z
        parts.append((*q, emission.log_density(block, q), z))
    for other in parts[1:]:
        for a, b in zip(parts[0], other, strict=True):
            assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["multinomial", "poisson"])
def test_wide_sparse_counts_are_never_made_dense(name, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("made dense")

    X = sparse.random_array((300, 50_000), density=2e-4, rng=0, format="csr")
    X.data[:] = np.random.default_rng(0).integers(1, 4, len(X.data))
    for cls in (sparse.csr_array, sparse.csr_matrix):
        monkeypatch.setattr(cls, "toarray", refuse)
        monkeypatch.setattr(cls, "todense", refuse)
    model = BayesianMixture(2, emission=name, init=np.arange(300) % 2, random_state=0).fit(X)
    assert np.isfinite(model.score_samples(X)).all()
    centers_too = BayesianMixture(2, emission=name, n_init=1, init="k-means", random_state=0)
    monkeypatch.undo()
    assert np.isfinite(centers_too.fit(X).objective_)


def test_categories_are_dense():
    with pytest.raises(DataError, match=r"X.toarray\(\)"):
        BayesianMixture(2, emission="categorical").fit(sparse.csr_array(categories()))


# Mixed columns


def mixed_table(n=240, seed=0):
    """Three classes; each kind of column tells one of them from the others."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    real = rng.normal(size=(n, 2)) + 3.0 * (y == 0)[:, None]
    kind = np.where(y == 1, rng.choice(4, n, p=[0.85, 0.05, 0.05, 0.05]), rng.integers(1, 4, n))
    number = rng.poisson(np.where(y == 2, 9.0, 2.0))
    return np.column_stack([real[:, 0], kind, number, real[:, 1]]), y


PARTS = [("gaussian", [0, 3]), ("categorical", 1), ("poisson", slice(2, 3))]


def test_mixed_columns_add_up():
    X, _ = mixed_table()
    rows, phi = as_blocks(X), memberships(len(X))
    mixed = make(PARTS, rows, None, T, None)
    q = mixed.posterior(mixed.statistics(X, phi))
    density, divergence, symmetric = 0.0, 0.0, 0.0
    for name, columns in (("gaussian", [0, 3]), ("categorical", [1]), ("poisson", [2])):
        here = X[:, columns]
        one = EMISSIONS[name].of(as_blocks(here), None, T)
        p = one.posterior(one.statistics(here, phi))
        density += one.log_density(here, p)
        divergence += one.divergence(p)
        symmetric += one.symmetric_divergence(p)
    assert_allclose(mixed.log_density(X, q), density)
    assert_allclose(mixed.divergence(q), divergence)
    assert_allclose(mixed.symmetric_divergence(q), symmetric)


def test_every_kind_of_column_helps():
    X, y = mixed_table()
    side = sample_labels(y, 0.1, random_state=0)
    scores = {}
    for name, emission, columns in (
        ("all", PARTS, slice(None)),
        ("gaussian", "gaussian", [0, 3]),
        ("categorical", "categorical", [1]),
        ("poisson", "poisson", [2]),
    ):
        model = BayesianMixture(5, emission=emission, random_state=0).fit(X[:, columns], side=side)
        scores[name] = adjusted_rand_score(y, model.labels_)
    assert scores.pop("all") > max(scores.values()) + 0.2


def test_mixed_columns_by_name_and_from_sparse_rows_give_the_same():
    pandas = pytest.importorskip("pandas")
    X, y = mixed_table()
    names = ["height", "kind", "visits", "weight"]
    by_name = [("gaussian", ["height", "weight"]), ("categorical", "kind"), ("poisson", ["visits"])]
    y = np.where(np.arange(len(X)) % 10 == 0, y, -1)
    plain = BayesianMixture(4, emission=PARTS, random_state=0).fit(X, y)
    framed = BayesianMixture(4, emission=by_name, random_state=0)
    framed.fit(pandas.DataFrame(X, columns=names), y)
    assert_array_equal(plain.labels_, framed.labels_)
    assert plain.objective_ == framed.objective_
    thin = BayesianMixture(4, emission=PARTS, random_state=0).fit(sparse.csr_array(X), y)
    assert_allclose(thin.objective_, plain.objective_, rtol=1e-9)
    assert [sorted(part) for part in plain.parts_] == [
        ["covariances", "means"], ["categories", "probabilities"], ["rates"],
    ]  # fmt: skip
    assert plain.parts_[2]["rates"].shape == (plain.n_clusters_, 1)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([("gaussian", [0, 1]), ("poisson", [1, 2])], "twice: \\[1\\]"),
        ([("gaussian", [0, 0])], "twice: \\[0\\]"),
        ([("gaussian", [0, 3]), ("poisson", slice(2, 4))], "twice: \\[3\\]"),
        ([("gaussian", [0, -1, 3])], "twice: \\[3\\]"),
        ([("gaussian", [9])], "numbered 0 to 3"),
        ([("gaussian", ["height"])], "numbered 0 to 3"),
        ([("gaussian", [])], "no columns"),
        ([("normal", [0])], "give one of"),
        ([("gaussian", [0], 1)], "give pairs"),
        ([], "is empty"),
    ],
)
def test_list_of_emissions_that_makes_no_sense_is_refused(parts, message):
    X, _ = mixed_table()
    with pytest.raises(DataError, match=message):
        BayesianMixture(2, emission=parts).fit(X)


def test_names_of_columns_that_are_named_twice_are_told():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(mixed_table()[0], columns=["a", "b", "c", "d"])
    with pytest.raises(DataError, match=r"twice: \['a'\]"):
        BayesianMixture(2, emission=[("gaussian", ["a", "d"]), ("poisson", ["a"])]).fit(frame)
    with pytest.raises(DataError, match="names out of"):
        BayesianMixture(2, emission=[("gaussian", ["a", "e"])]).fit(frame)


def test_priors_of_a_list_are_a_list():
    X, _ = mixed_table()
    prior = [None, {"concentration": 5.0}, {"shape": 3.0}]
    mixed = make(PARTS, as_blocks(X), prior, T, None)
    assert_allclose(mixed.prior[2].shape, 3.0)
    for wrong in ({"shape": 1.0}, [None], ["published", None, None]):
        with pytest.raises(DataError, match="list of 3 dicts"):
            BayesianMixture(2, emission=PARTS, prior=wrong).fit(X)


# Bad rows


@pytest.mark.parametrize("name", ["multinomial", "poisson"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1.0, "row 7: the first has -1"),
        (0.5, "has 0.5.*tf-idf"),
        (2.0**54, r"at most 2\*\*53"),
    ],
)
def test_negative_fractional_and_huge_counts_are_refused(name, form, value, message):
    X = counts()
    model = BayesianMixture(2, emission=name, random_state=0).fit(form(X))
    X[7, 1] = value
    with pytest.raises(DataError, match=message):
        BayesianMixture(2, emission=name).fit(form(X))
    for method in (model.predict, model.predict_proba, model.score_samples):
        with pytest.raises(DataError, match=message):
            method(form(X))


def test_bad_rows_have_the_users_own_ids():
    X = counts()
    X[[3, 8], 0] = 0.25
    side = SideInformation.empty(80, index=[f"cell {i}" for i in range(80)])
    with pytest.raises(DataError, match="row cell 3, cell 8: the first has 0.25"):
        BayesianMixture(2, emission="poisson").fit(X, side=side)


def test_categories_that_were_not_there_are_refused_by_predict():
    X = categories()
    model = BayesianMixture(2, emission="categorical", random_state=0).fit(X)
    new = X[:4].copy()
    new[2, 0] = 3.0
    with pytest.raises(DataError, match=r"row 2: the first has the category 3 in column 0, which"):
        model.predict(new)
    told = {"categories": {0: [3.0]}}
    model = BayesianMixture(2, emission="categorical", prior=told, random_state=0).fit(X)
    assert_allclose(model.predict_proba(new).sum(axis=1), 1.0)
    assert np.isfinite(model.score_samples(new)).all()


def test_mixed_rows_are_checked_by_their_parts():
    X, _ = mixed_table()
    model = BayesianMixture(2, emission=PARTS, random_state=0).fit(X)
    new = X[:3].copy()
    new[1, 2] = -4.0
    with pytest.raises(DataError, match="row 1: the first has -4"):
        model.predict(new)


@pytest.mark.parametrize("name", NAMES)
def test_nan_is_refused(name):
    X = rows_for(name)
    X[3, 0] = np.nan
    with pytest.raises(DataError, match="NaN or infinity in row 3"):
        BayesianMixture(2, emission=name).fit(X)


def test_rows_without_counts_go_by_the_weights_alone():
    X = np.vstack([np.tile([9.0, 0.0], (30, 1)), np.tile([0.0, 9.0], (10, 1)), np.zeros((2, 2))])
    model = BayesianMixture(4, emission="multinomial", random_state=0).fit(X)
    assert model.n_clusters_ == 2
    assert_array_equal(model.labels_[-2:], model.labels_[0])
    shares = model.predict_proba(np.zeros((1, 2)))
    assert_allclose(shares[0] / shares[0].sum(), shares[0])
    assert shares[0].max() < 0.9
    y = np.full(42, -1)
    y[[0, 1, 30, 31, 40]] = [0, 0, 1, 1, 1]
    told = BayesianMixture(4, emission="multinomial", random_state=0).fit(X, y)
    assert told.labels_[40] == told.labels_[30]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_but_zeros_is_one_cluster(name):
    model = BayesianMixture(3, emission=name, random_state=0).fit(np.zeros((12, 4)))
    assert model.n_clusters_ == 1
    assert_allclose(model.score_samples(np.zeros((2, 4))), model.score_samples(np.zeros((1, 4)))[0])


def test_words_that_no_row_has_are_not_looked_at():
    X = counts()[:, :5]
    model = BayesianMixture(2, emission="multinomial", random_state=0).fit(X)
    new = X.copy()
    new[:, 4] = 50.0
    assert_allclose(model.score_samples(new), model.score_samples(X))
    assert_array_equal(model.probabilities_[:, 4], 0.0)


# The model


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("potential", ["potts", "kl"])
@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_bound_never_falls(name, potential):
    X = rows_for(name)
    side = sample_labels(np.arange(80) % 3, 0.3, random_state=0)
    model = BayesianMixture(
        5, emission=name, potential=potential, side_weight=0.5, tol=1e-9, n_init=1, random_state=0
    ).fit(X, side=side)
    assert len(model.history_) > 1
    assert (np.diff(model.history_) >= 0).all()


def test_totals_of_the_rows_matter_for_poisson_and_not_for_multinomial():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    profile = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])[y]
    depth = np.where(rng.random(300) < 0.5, 40.0, 400.0)
    X = rng.poisson(profile * depth[:, None]).astype(float)
    by_profile = BayesianMixture(6, emission="multinomial", random_state=0).fit(X)
    assert adjusted_rand_score(y, by_profile.labels_) > 0.95
    by_both = BayesianMixture(6, emission="poisson", random_state=0).fit(X)
    assert adjusted_rand_score(2 * y + (depth > 100), by_both.labels_) > 0.8


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_those_of_the_clusters(name):
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    if name == "categorical":
        X = np.stack([(y + (rng.random(400) < 0.1)) % 2 for _ in range(8)], axis=1).astype(float)
    else:
        X = rng.poisson(np.array([[20.0, 5.0, 5.0], [5.0, 5.0, 20.0]])[y]).astype(float)
    model = BayesianMixture(2, emission=name, random_state=0).fit(X, np.where(y < 3, y, -1))
    assert adjusted_rand_score(y, model.labels_) > 0.9
    if name == "poisson":
        assert_allclose(model.rates_, [[20, 5, 5], [5, 5, 20]], rtol=0.1)
    elif name == "multinomial":
        assert_allclose(model.probabilities_ * 30, [[20, 5, 5], [5, 5, 20]], rtol=0.1)
    else:
        assert_allclose(model.probabilities_[0], [[0.9, 0.1], [0.1, 0.9]], atol=0.05)
        assert_array_equal(model.categories_[0], [0.0, 1.0])


# Emissions of one's own


class _WrongWay(EMISSIONS["poisson"]):
    """KL the wrong way round."""

    def divergence_between(self, q, p):
        return super().divergence_between(p, q)


class _LostHalf(EMISSIONS["gaussian_diag"]):
    """A posterior that counts its rows twice."""

    def posterior(self, statistics):
        q = super().posterior(statistics)
        return q._replace(nu=q.nu + statistics[0])


class _WrongMass(EMISSIONS["poisson"]):
    """The first statistic is no mass."""

    def statistics(self, X, phi):
        mass, sums = super().statistics(X, phi)
        return 2.0 * mass, sums


@pytest.mark.parametrize("name", EMISSIONS)
def test_our_emissions_hold(name):
    X = counts()[:, :3] if name.startswith("gaussian") else rows_for(name)
    verify_emission(EMISSIONS[name], X)


@pytest.mark.parametrize("kind", [_WrongWay, _LostHalf, _WrongMass])
def test_wrong_emission_is_caught(kind):
    with pytest.raises(AssertionError):
        verify_emission(kind, counts()[:, :4])


def test_classes_that_are_no_emissions_are_refused():
    class Thing:
        @classmethod
        def of(cls, rows, prior, n_components):
            return cls()

    with pytest.raises(DataError, match=r"derived from sidelight\.models\.Emission"):
        BayesianMixture(2, emission=Thing).fit(counts())
    with pytest.raises(NotImplementedError, match="classmethod `of`"):
        Emission.of(as_blocks(counts()), None, 2)


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_text_in_a_table_is_refused_with_a_word_on_what_to_do(backend):
    frames = pytest.importorskip(backend)
    frame = frames.DataFrame({"colour": ["red", "blue"] * 5, "n": range(10)})
    with pytest.raises(DataError, match="'red'.*OrdinalEncoder"):
        BayesianMixture(2, emission=[("categorical", "colour"), ("poisson", "n")]).fit(frame)
