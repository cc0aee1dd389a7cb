"""Starts and generations follow the size of the data, and small data keep the full search."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from sidelight.blocks import threads
from sidelight.metrics import adjusted_rand
from sidelight.models import _fitting, find_model, model_names
from sidelight.models._bayesian import mixture
from sidelight.models._discriminative import problem
from sidelight.models._discriminative.mixture import fit_mixture
from sidelight.models._entropy import clustering as entropy
from sidelight.models._factorisation import family
from sidelight.models._factorisation.family import best_start
from sidelight.models._fitting import FULL_SEARCH_UP_TO, budget, n_starts
from sidelight.models._kmeans import partition_level
from sidelight.models._markov import aggregation
from sidelight.side import SideInformation, sample_labels, sample_pairs


def starts(n_samples, **changes):
    model = SimpleNamespace(
        **{"init": "seeded", "n_init": "auto", "_auto_starts": (10, 3)} | changes
    )
    return model, n_samples


@pytest.mark.parametrize(
    ("rows", "expected"), [(1, 10), (10_000, 10), (20_000, 5), (30_000, 3), (10**6, 3)]
)
def test_work_stays_the_same_above_a_size(rows, expected):
    assert budget("auto", rows, full=10, least=3) == expected


def test_a_number_is_taken_as_it_is():
    assert budget(7, 10**6, full=10, least=3) == 7
    assert n_starts(*starts(10**6, n_init=7), settled=True) == 7


def test_one_start_is_enough_on_large_data_with_labels_for_every_cluster():
    assert n_starts(*starts(FULL_SEARCH_UP_TO), settled=True) == 10
    assert n_starts(*starts(FULL_SEARCH_UP_TO + 1), settled=True) == 1
    assert n_starts(*starts(10**6, init="k-means++"), settled=True) == 3


@pytest.mark.parametrize("labelled", [2, 3])
def test_a_fit_makes_as_many_starts_as_it_should(labelled, monkeypatch):
    n = FULL_SEARCH_UP_TO + 2_000
    made, real = [], partition_level._run_start

    def counted(*given):
        made.append(given)
        return real(*given)

    monkeypatch.setattr(partition_level, "_run_start", counted)
    X = np.random.default_rng(0).normal(size=(n, 1)) + 9.0 * (np.arange(n) % 3)[:, None]
    y = np.where(np.arange(n) < labelled, np.arange(n) % 3, -1)
    find_model("PartitionLevelKMeans")(3, random_state=0).fit(X, y)
    assert len(made) == (1 if labelled == 3 else 8)


@pytest.mark.parametrize(("rows", "expected"), [(2_000, 5), (2_500, 4), (5_001, 1)])
def test_markov_aggregation_has_its_full_search_on_the_dense_chain_only(rows, expected):
    model = find_model("MarkovAggregation")(2)
    assert n_starts(model, rows, up_to=aggregation._DENSE_ROWS) == expected


def test_markov_aggregation_fits_5_001_rows_from_one_start(monkeypatch):
    made, real = [], aggregation.run_start

    def counted(*given):
        made.append(given)
        return real(*given)

    monkeypatch.setattr(aggregation, "run_start", counted)
    X = np.random.default_rng(0).normal(size=(5_001, 1)) + 9.0 * (np.arange(5_001) % 2)[:, None]
    find_model("MarkovAggregation")(2, random_state=0).fit(X)
    assert len(made) == 1


def test_bayesian_mixture_has_its_full_budget_up_to_6_000_rows():
    model = find_model("BayesianMixture")
    assert model()._tolerance(6_000) == 1e-6
    assert not model()._is_race(6_000, 3)
    assert model()._tolerance(6_001) == 3e-5
    assert model()._is_race(6_001, 3)
    assert model(tol=1e-3)._tolerance(10**6) == 1e-3
    assert model(batch_size=100)._tolerance(10**6) == 1e-6
    for changes in ({"n_init": 3}, {"potential": "kl"}, {"batch_size": 100}):
        assert not model(**changes)._is_race(10**6, 3), changes


def far_apart(n, seed=0):
    """Rows of three clusters in two columns, and a pair of rows for every ten."""
    truth = np.arange(n) % 3
    X = (
        np.random.default_rng(seed).normal(size=(n, 2))
        + 2.0 * np.array([[0, 0], [2, 0], [0, 2]])[truth]
    )
    return X, sample_pairs(truth, n // 10, random_state=seed)


def test_bayesian_mixture_fits_6_000_rows_as_with_its_full_budget_asked_for():
    X, side = far_apart(6_000)
    by_size, in_full = (
        find_model("BayesianMixture")(4, random_state=0, **asked).fit(X, side=side)
        for asked in ({}, {"n_init": 3, "tol": 1e-6})
    )
    assert_array_equal(by_size.history_, in_full.history_)
    assert_array_equal(by_size.labels_, in_full.labels_)


def test_bayesian_mixture_races_above_and_has_the_same_bits_with_any_number_of_threads(monkeypatch):
    X, side = far_apart(6_001)
    began, ended, found = [], [], []
    for name, calls in (("_run_start", began), ("_run_on", ended)):
        real = getattr(mixture, name)

        def counted(*given, real=real, calls=calls):
            calls.append(real(*given))
            return calls[-1]

        monkeypatch.setattr(mixture, name, counted)
    for n in (1, 2):
        with threads(n):
            found.append(find_model("BayesianMixture")(4, random_state=0).fit(X, side=side))
    assert len(began) == 6
    assert len(ended) == 2
    best = max(run.objective for run, _ in began[:3])
    assert best in found[0].history_
    assert (np.diff(found[0].history_) >= 0).all()
    assert found[0].n_iter_ == len(found[0].history_) > max(run.n_iter for run, _ in began[:3])
    assert_array_equal(found[0].history_, found[1].history_)
    assert_array_equal(found[0].labels_, found[1].labels_)


@pytest.mark.parametrize(("rows", "given", "merges"), [
    (6_000, False, 1), (6_001, False, 0), (6_001, True, 1),
])  # fmt: skip
def test_structural_entropy_merges_rows_of_small_data_and_given_clusters(
    rows, given, merges, monkeypatch
):
    made, real = [], entropy._merged

    def counted(problem):
        made.append(problem)
        return real(problem)

    monkeypatch.setattr(entropy, "_merged", counted)
    X, side = far_apart(rows)
    init = np.arange(rows) % 3 if given else None
    model = find_model("StructuralEntropyClustering")(3, init=init, price=0.0, random_state=0)
    model.fit(X, side=side)
    assert len(made) == merges


def test_equivalence_mixture_has_ten_starts_up_to_6_000_rows():
    model = find_model("EquivalenceGaussianMixture")
    assert [model()._n_tries(n) for n in (6_000, 10_000, 100_000)] == [10, 6, 3]
    assert model(n_init=7)._n_tries(10**6) == 7


@pytest.mark.parametrize(
    ("rows", "tol", "steps"),
    [(6_000, 1e-9, 3 * 200), (6_001, 1e-9, 50 + 100 + 200), (6_001, 0.0, 3 * 200)],
)
def test_starts_of_factorisations_race_above_6_000_rows(rows, tol, steps):
    made = []

    def step(factor):
        made.append(factor)
        return factor * 0.9999

    found = best_start(
        [3.0, 1.0, 2.0], step, lambda factor: factor, 200, tol, lambda: False,
        at_zero=10.0, n_samples=rows,
    )  # fmt: skip
    assert len(made) == steps
    assert found.n_iter == 200
    assert found.objective == pytest.approx(0.9999**200)
    assert (np.diff(found.history) < 0).all()


def test_a_start_that_goes_on_stops_where_one_run_would():
    def run(rows):
        # Most of the objective is gone after the first steps: a tenth of the first one decides.
        return best_start(
            [1.0], lambda factor: factor * 0.95, lambda factor: factor, 500, 1e-3, lambda: False,
            at_zero=10.0, n_samples=rows,
        )  # fmt: skip

    whole, raced = run(6_000), run(6_001)
    assert whole.converged
    assert whole.n_iter > 100
    assert (raced.n_iter, raced.history) == (whole.n_iter, whole.history)


def test_the_mixture_of_the_committee_is_looser_on_large_data_only():
    X, pairs = far_apart(300)
    labels = sample_labels(np.arange(300) % 3, 30, random_state=0)
    P = np.eye(3)[np.arange(300) % 3]
    small, large = (fit_mixture(X, labels, P, 0, of_small=small).model for small in (True, False))
    assert (small.tol, large.tol) == ("auto", 2e-4)
    assert (small.n_init, large.n_init) == ("auto", 1)
    assert fit_mixture(X, pairs, P, 0, of_small=False).model.n_init == 1


def test_published_settings_do_not_follow_the_size():
    for name in model_names():
        published = find_model(name).as_published().get_params()
        assert published.get("n_init") != "auto", name
        assert published.get("patience") != "auto", name


@pytest.mark.parametrize("name", ["PropagatedSymmetricNMF", "LabelPropagationNMF"])
def test_many_rows_make_a_few_steps_from_the_factors_of_a_sample(name, monkeypatch):
    y = np.arange(2_400) % 3
    X = np.random.default_rng(0).normal(size=(2_400, 2))
    X += 8.0 * np.column_stack([np.cos(2 * y), np.sin(2 * y)])
    side = sample_labels(y, 60, random_state=0)
    monkeypatch.setattr(_fitting, "SMALL_UP_TO", 2_000)
    monkeypatch.setattr(family, "_MANY", 2_399)

    def fit(**options):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return find_model(name)(3, random_state=0, **options).fit(X, side=side)

    found = fit()
    assert found.n_iter_ <= 20
    assert adjusted_rand(y, found.labels_) == 1.0
    assert (np.diff(found.history_) <= 0).all()
    assert fit(max_iter=5).n_iter_ == 5
    assert fit(tol=0.0, max_iter=30, n_init=1).n_iter_ == 30  # as in the papers
    for factor in ("factor_", "memberships_"):
        if hasattr(found, factor):
            assert getattr(found, factor).shape == (2_400, 3)
            assert getattr(found, factor).dtype == np.float64


def test_members_of_many_rows_make_long_steps_from_those_of_a_sample(monkeypatch):
    y = np.arange(2_400) % 3
    X = np.random.default_rng(0).normal(size=(2_400, 2))
    X += 8.0 * np.column_stack([np.cos(2 * y), np.sin(2 * y)])
    side = sample_pairs(y, 60, random_state=0)
    monkeypatch.setattr(_fitting, "SMALL_UP_TO", 2_000)
    model = find_model("SelfSupervisedNMF")(3, random_state=0)
    short = model.fit(X, side=side)
    objective, n_iter = short.objective_, short.n_iter_
    monkeypatch.setattr(family, "_MANY", 2_399)
    found = model.fit(X, side=side)
    assert found.n_iter_ <= 40 < n_iter
    assert found.objective_ <= 1.001 * objective
    assert (np.diff(found.history_) <= 0).all()
    model.set_params(max_iter=7)
    with pytest.warns(ConvergenceWarning):
        assert model.fit(X, side=side).n_iter_ == 7


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")  # 25 classes
def test_many_classes_of_another_vocabulary_do_not_lead_in_the_sample(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.arange(2_400) % 3
    X = rng.normal(size=(2_400, 2)) + 3.0 * np.column_stack([np.cos(2 * y), np.sin(2 * y)])
    side = SideInformation.from_labels(np.where(rng.random(2_400) < 0.3, y, -1))
    other = np.where(rng.random(2_400) < 0.27, rng.integers(25, size=2_400), -1)
    both = side + SideInformation.from_labels(other, vocabulary="other")
    assert both.leading_vocabulary == side.leading_vocabulary
    monkeypatch.setattr(_fitting, "SMALL_UP_TO", 2_000)
    monkeypatch.setattr(family, "_MANY", 2_399)
    model = find_model("LabelPropagationNMF")(3, random_state=0)
    alone = model.fit(X, side=side).labels_
    assert_array_equal(model.fit(X, side=both).labels_, alone)


@pytest.mark.parametrize("name", ["PropagatedSymmetricNMF", "SelfSupervisedNMF"])
def test_symmetric_factors_find_their_start_in_a_sample_of_large_data_only(name, monkeypatch):
    drawn = []
    draw = family.fitted_rows

    def drawn_rows(*arguments):
        drawn.append(draw(*arguments))
        return drawn[-1]

    monkeypatch.setattr(family, "fitted_rows", drawn_rows)
    rng = np.random.default_rng(0)
    y = np.arange(2_400) % 3
    X = rng.normal(size=(2_400, 2)) + 8.0 * np.column_stack([np.cos(2 * y), np.sin(2 * y)])
    side = sample_labels(y, 60, random_state=0)

    def fit(up_to, **options):
        drawn.clear()
        monkeypatch.setattr(_fitting, "SMALL_UP_TO", up_to)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = find_model(name)(3, random_state=0, **{"max_iter": 20} | options)
            return found.fit(X, side=side)

    large = fit(2_399, max_iter=400)
    assert [len(rows) for rows in drawn] == [1_000]
    assert set(side.annotated_rows) <= set(drawn[0])
    in_full = fit(2_400, max_iter=400)
    assert adjusted_rand(y, large.labels_) > adjusted_rand(y, in_full.labels_) - 0.01
    assert_array_equal(fit(2_399, max_iter=400).labels_, large.labels_)
    for up_to, options in ((2_400, {}), (2_399, {"tol": 0.0}), (2_399, {"init": y})):
        fit(up_to, **options)
        assert not drawn, options


def test_fourth_roots_of_small_data_are_powers_and_of_large_data_nearly():
    for rows in (6_000, 6_001):
        x, above = np.full((rows, 1), 2.0), np.linspace(0.1, 9.0, rows)[:, None]
        found = family.multiplied(x, above, np.ones((rows, 1)), 0.25)
        expected = 2.0 * above**0.25
        assert_allclose(found, expected, rtol=1e-15)
        assert (rows > 6_000) or (found == expected).all()


@pytest.mark.parametrize(
    ("up_to", "with_pairs", "n_seen"),
    [(4_999, False, 1_500), (5_000, False, 5_000), (4_999, True, 3_904), (5_000, True, 5_000)],
)
def test_a_sample_finds_the_starts_of_the_committee_on_large_data(
    up_to, with_pairs, n_seen, monkeypatch
):
    X, side = far_apart(5_000)
    if not with_pairs:
        side = sample_labels(np.arange(5_000) % 3, 1_000, random_state=0)
    seen = []

    def partitions(Z, about, votes, n_clusters, seed):
        seen.append((len(Z), about.n_samples, about.n_statements))
        return [np.arange(len(Z)) % 3]

    monkeypatch.setattr(problem, "starting_partitions", partitions)
    monkeypatch.setattr(_fitting, "SMALL_UP_TO", up_to)
    n = side.n_statements
    nothing = np.full(n, -1), np.zeros(n, dtype=int)
    asked = problem.Problem(X, side, *nothing, n_clusters=3, seed=0, n_samples=5_000)
    starts = problem._starts(asked, X, np.full(n, 0.1), np.ones(n, dtype=bool))
    assert [found[:2] for found in seen] == [(n_seen, n_seen)]
    assert not with_pairs or seen[0][2] == n  # every pair is inside
    assert (starts.rows is None) == (up_to == 5_000)
    assert starts.share == pytest.approx(seen[0][2] / n)
    assert [len(labels) for labels in starts.labels] == [n_seen]
