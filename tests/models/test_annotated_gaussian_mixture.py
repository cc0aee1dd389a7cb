"""AnnotatedGaussianMixture: what it finds, what it says about people, and odd input."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.stats import multivariate_normal
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, roc_auc_score

from oracles_annotated import annotated_objective, mean_above, statement_errors
from sidelight import AnnotatedGaussianMixture, SideInformation
from sidelight.blocks import as_blocks
from sidelight.datasets import make_gaussian_mixture
from sidelight.exceptions import DataError, LostClassWarning, SideInformationError, SidelightError
from sidelight.models._gaussian import search as steps
from sidelight.models._gaussian.statements import Annotations
from sidelight.side import sample_labels, sample_pairs

QUICK = {"n_init": 3, "n_generations": 1, "random_state": 0}


def separated(n=60, n_classes=3, d=2, seed=0, spread=12.0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    centers = spread * rng.permutation(np.eye(max(d, n_classes))[:n_classes, :d])
    return centers[truth] + rng.normal(size=(n, d)), truth


def all_kinds(truth, n_pairs=80, seed=0):
    n_classes = truth.max() + 1
    people = {"ann": 0.95, "bob": 0.7}
    pairs = sample_pairs(truth, n_pairs, annotators=people, random_state=seed)
    labels = sample_labels(truth, n_classes * 3, n_negative=9, random_state=seed)
    return pairs + labels


# The objective


@pytest.mark.parametrize("covariance_type", ["spherical", "diag"])
@pytest.mark.parametrize(
    ("annotation_model", "accuracy"),
    [("bernoulli", None), ("bernoulli", 0.9), ("sbm", None), ("sbm", 0.9)],
)
def test_objective_is_its_definition(annotation_model, accuracy, covariance_type):
    sample = make_gaussian_mixture(3, 80, 4, random_state=1)
    side = all_kinds(sample.y)
    model = AnnotatedGaussianMixture(
        3,
        annotation_model=annotation_model,
        accuracy=accuracy,
        covariance_type=covariance_type,
        variance_prior=0.0,
        **QUICK,
    ).fit(sample.X, side=side)
    names = model.cluster_names_.tolist()
    cluster_of = {(-1, c): names.index(name) for c, name in enumerate(side.classes)}
    expected = annotated_objective(
        sample.X,
        side,
        model.labels_,
        3,
        cluster_of,
        annotation_model=annotation_model,
        accuracy=accuracy,
        diagonal=covariance_type == "diag",
        prior_weight=0.0,
        prior_variance=np.zeros(4),
        floor=0.0,
    )
    assert model.objective_ == pytest.approx(expected, abs=1e-8)
    assert model.objective_ == model.history_[-1] == model.population_scores_[0]


def test_population_has_no_clones_and_is_ranked():
    sample = make_gaussian_mixture(4, random_state=0)
    side = sample_pairs(sample.y, 200, accuracy=0.9, random_state=0)
    model = AnnotatedGaussianMixture(4, n_init=5, n_generations=4, random_state=0)
    model.fit(sample.X, side=side)
    assert (np.diff(model.population_scores_) < 0).all()
    assert len(model.population_scores_) <= 5
    assert len(model.history_) == model.n_iter_ == 5
    assert (np.diff(model.history_) >= 0).all()


def test_answer_does_not_depend_on_the_number_of_jobs():
    sample = make_gaussian_mixture(4, random_state=0)
    side = all_kinds(sample.y, 200)
    one, two = (
        AnnotatedGaussianMixture(4, n_jobs=n_jobs, **QUICK).fit(sample.X, side=side)
        for n_jobs in (1, 2)
    )
    assert_array_equal(one.labels_, two.labels_)
    assert_array_equal(one.history_, two.history_)
    assert_array_equal(one.population_scores_, two.population_scores_)
    assert_array_equal(one.statement_error_, two.statement_error_)


def test_without_statements_and_with_equal_variances_it_beats_fifty_starts_of_kmeans():
    rng = np.random.default_rng(0)
    centers = rng.uniform(-10, 10, size=(25, 2))
    X = centers[rng.integers(25, size=500)] + rng.normal(scale=0.5, size=(500, 2))
    # So strong a prior leaves one variance for all: the likelihood is the sum of squares.
    model = AnnotatedGaussianMixture(25, variance_prior=1e7, n_generations=5, random_state=0)
    model.fit(X)
    squares = ((X - model.means_[model.labels_]) ** 2).sum()
    assert squares < KMeans(25, n_init=50, random_state=0).fit(X).inertia_
    assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("covariance_type", ["spherical", "diag"])
def test_without_statements_no_row_would_gain_in_another_cluster(covariance_type):
    sample = make_gaussian_mixture(3, 60, 3, random_state=1)
    model = AnnotatedGaussianMixture(
        3, covariance_type=covariance_type, variance_prior=0.0, **QUICK
    ).fit(sample.X)
    definition = {
        "annotation_model": "bernoulli",
        "accuracy": None,
        "diagonal": covariance_type == "diag",
        "prior_weight": 0.0,
        "prior_variance": np.zeros(3),
        "floor": 0.0,
    }
    nobody = SideInformation.from_pairs(n_samples=60)
    best = annotated_objective(sample.X, nobody, model.labels_, 3, {}, **definition)
    assert model.objective_ == pytest.approx(best)
    for i in range(60):
        for k in range(3):
            moved = np.where(np.arange(60) == i, k, model.labels_)
            if np.bincount(moved, minlength=3).min() >= 2:
                value = annotated_objective(sample.X, nobody, moved, 3, {}, **definition)
                assert value <= best + 1e-8


def test_compound_moves_reach_what_single_rows_do_not():
    sample = make_gaussian_mixture(4, random_state=0)
    side = sample_pairs(sample.y, 400, random_state=0)
    options = {"n_init": 4, "n_generations": 0, "random_state": 0}
    full = AnnotatedGaussianMixture(4, **options).fit(sample.X, side=side)
    single = AnnotatedGaussianMixture(4, compound_moves=False, **options).fit(sample.X, side=side)
    assert full.objective_ > single.objective_ + 10
    scores = [adjusted_rand_score(sample.y, m.labels_) for m in (full, single)]
    assert scores[0] > scores[1] + 0.1


@pytest.mark.parametrize("every_row", [False, True])
def test_without_compound_moves_no_annotated_row_would_gain_alone(every_row):
    """What ends the paper's local search, from the definition of the objective."""
    sample = make_gaussian_mixture(3, 60, 4, random_state=2)
    side = sample_pairs(sample.y, 400 if every_row else 25, accuracy=0.9, random_state=2)
    assert (len(side.annotated_rows) == 60) is every_row
    model = AnnotatedGaussianMixture.as_published(
        n_clusters=3, n_init=2, n_generations=0, population_size=4, random_state=0
    ).fit(sample.X, side=side)

    def value(labels):
        return annotated_objective(
            sample.X,
            side,
            labels,
            3,
            {},
            annotation_model="sbm",
            accuracy=None,
            diagonal=False,
            prior_weight=0.0,
            prior_variance=np.zeros(4),
            floor=0.0,
        )

    assert model.objective_ == pytest.approx(value(model.labels_), abs=1e-8)
    for row in side.annotated_rows:
        if (model.labels_ == model.labels_[row]).sum() <= 2:  # as small as a cluster may be
            continue
        for k in range(3):
            other = model.labels_.copy()
            other[row] = k
            assert value(other) <= model.objective_ + 1e-7


def test_rows_without_annotations_are_where_predict_puts_them():
    # No move of a single row gains with everything re-estimated: even less with it kept.
    sample = make_gaussian_mixture(3, 300, 4, random_state=5)
    side = sample_pairs(sample.y, 60, accuracy=0.9, random_state=5)
    model = AnnotatedGaussianMixture(3, **QUICK).fit(sample.X, side=side)
    said = side.statements
    silent = np.setdiff1d(np.arange(300), np.concatenate([said.i, said.j]))
    assert len(silent) > 150
    assert_array_equal(model.predict(sample.X)[silent], model.labels_[silent])


def test_repeated_statements_are_statements_of_double_weight():
    sample = make_gaussian_mixture(3, 90, 4, random_state=2)
    side = sample_pairs(sample.y, 60, accuracy=0.8, random_state=0)
    said = side.statements
    heavy = SideInformation.from_columns(
        said.kind, said.i, said.j, weight=2.0, n_samples=90, self_pairs="keep"
    )
    for annotation_model in ("bernoulli", "sbm"):
        model = AnnotatedGaussianMixture(3, annotation_model=annotation_model, **QUICK)
        twice = model.fit(sample.X, side=side + side)
        objective, labels = twice.objective_, twice.labels_
        model.fit(sample.X, side=heavy)
        assert model.objective_ == pytest.approx(objective, abs=1e-9)
        assert_array_equal(model.labels_, labels)


# People


def test_accuracies_of_three_annotators_are_recovered():
    people = {"ann": 0.95, "bob": 0.8, "cy": 0.55}
    found = []
    for seed in range(3):
        sample = make_gaussian_mixture(2, random_state=seed)
        side = sample_pairs(sample.y, 900, annotators=people, random_state=seed)
        model = AnnotatedGaussianMixture(2, **QUICK).fit(sample.X, side=side)
        found.append([model.annotator_accuracy_[name] for name in people])
    assert_allclose(np.mean(found, axis=0), list(people.values()), atol=0.05)


def test_wrong_statements_are_told_from_right_ones():
    sample = make_gaussian_mixture(3, random_state=3)
    side = sample_pairs(sample.y, 600, accuracy=0.85, random_state=0)
    said = side.statements
    wrong = (sample.y[said.i] == sample.y[said.j]) != (said.kind == 0)
    model = AnnotatedGaussianMixture(3, **QUICK).fit(sample.X, side=side)
    error = model.statement_error_
    assert roc_auc_score(wrong, error) > 0.95
    assert error.mean() == pytest.approx(wrong.mean(), abs=0.03)


@pytest.mark.parametrize(("seed", "covariance_type"), [(0, "spherical"), (1, "diag"), (2, "diag")])
def test_statement_error_is_what_enumeration_gives(seed, covariance_type):
    rng = np.random.default_rng(seed)
    X, truth = separated(24, spread=3.0, seed=seed)
    pairs = sample_pairs(truth, 25, annotators={"ann": 0.8, "bob": 0.7}, random_state=seed)
    labels = sample_labels(truth, 8, n_negative=5, accuracy=0.8, random_state=seed)
    again = pairs.statements.take(np.arange(6))
    repeated = SideInformation.from_columns(
        again.kind, again.i, again.j, weight=rng.choice([0.5, 2.0], 6), n_samples=24
    )
    side = pairs + labels + repeated
    model = AnnotatedGaussianMixture(3, covariance_type=covariance_type, **QUICK).fit(X, side=side)
    names = model.cluster_names_.tolist()
    cluster_of = {(-1, c): names.index(name) for c, name in enumerate(side.classes)}
    expected = statement_errors(
        X,
        side,
        model.labels_,
        model.means_,
        model.variances_,
        cluster_of,
        model.annotator_accuracy_,
    )
    assert_allclose(model.statement_error_, expected, atol=1e-9)


def test_annotator_with_one_statement_keeps_close_to_the_prior():
    X, truth = separated()
    one = SideInformation.from_pairs(must=[(0, 3)], n_samples=60, annotator="eve")
    side = one + sample_pairs(truth, 60, annotators="ann", random_state=0)
    model = AnnotatedGaussianMixture(3, **QUICK).fit(X, side=side)
    assert model.annotator_accuracy_["eve"] == pytest.approx(mean_above(1, 0, 0.5))
    assert list(model.annotator_accuracy_) == ["ann", "eve"]


def test_given_accuracies_are_reported_and_the_rest_is_estimated():
    X, truth = separated()
    side = all_kinds(truth)
    model = AnnotatedGaussianMixture(3, accuracy={"bob": 0.6, "nobody": 0.1}, **QUICK)
    model.fit(X, side=side)
    assert model.annotator_accuracy_["bob"] == pytest.approx(0.6)
    assert model.annotator_accuracy_["ann"] > 0.85
    assert set(model.annotator_accuracy_) == {"ann", "bob", None}


def test_liar_is_as_informative_as_the_opposite():
    sample = make_gaussian_mixture(2, random_state=0)
    side = sample_pairs(sample.y, 300, accuracy=0.9, random_state=0)
    liar = SideInformation.from_pairs(must=side.cannot, cannot=side.must, n_samples=200)
    honest = AnnotatedGaussianMixture(2, accuracy=0.9, **QUICK).fit(sample.X, side=side)
    lying = AnnotatedGaussianMixture(2, accuracy=0.1, **QUICK).fit(sample.X, side=liar)
    assert lying.objective_ == pytest.approx(honest.objective_)
    assert adjusted_rand_score(lying.labels_, honest.labels_) == 1.0
    assert lying.statement_error_.mean() > 0.8


@pytest.mark.parametrize("annotation_model", ["bernoulli", "sbm"])
@pytest.mark.parametrize("accuracy", [0, 0.5, 1, 1.0])
def test_extreme_accuracies_have_a_finite_result(accuracy, annotation_model):
    X, truth = separated()
    side = sample_pairs(truth, 60, accuracy=0.9, random_state=0)
    model = AnnotatedGaussianMixture(
        3, accuracy=accuracy, annotation_model=annotation_model, **QUICK
    ).fit(X, side=side)
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.statement_error_).all()
    if accuracy == 0.5 and annotation_model == "bernoulli":
        plain = AnnotatedGaussianMixture(3, **QUICK).fit(X)
        assert adjusted_rand_score(plain.labels_, model.labels_) == 1.0


# Labels


def against_the_clusters(seed, n=240, n_classes=4):
    """Four clear clusters, and classes of which each cluster holds any but one."""
    X, cluster = separated(n, n_classes, d=6, seed=seed)
    rng = np.random.default_rng(seed)
    truth = (cluster + rng.integers(1, n_classes, size=n)) % n_classes
    y = np.where(rng.random(n) < 0.3, truth, -1)
    return X, y


def best_renaming(y, labels, n_classes):
    """How many labels the best one-to-one names of the clusters would agree with."""
    known = y >= 0
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (y[known], labels[known]), 1)
    return int(counts[linear_sum_assignment(counts, maximize=True)].sum())


@pytest.mark.parametrize("accuracy", [None, 0.99])
@pytest.mark.parametrize("seed", range(4))
def test_right_labels_are_not_broken_for_want_of_a_better_map(seed, accuracy):
    X, y = against_the_clusters(seed)
    model = AnnotatedGaussianMixture(accuracy=accuracy, random_state=0).fit(X, y)
    known = y >= 0
    kept = int((model.cluster_names_[model.labels_[known]] == y[known]).sum())
    assert kept == best_renaming(y, model.labels_, 4)
    assert model.result_.violated.sum() == known.sum() - kept


@pytest.mark.parametrize("seed", range(4))
def test_nobody_is_found_to_be_worse_than_chance(seed):
    X, y = against_the_clusters(seed)
    model = AnnotatedGaussianMixture(random_state=0).fit(X, y)
    assert model.annotator_accuracy_[None] > 1 / 4
    pairs = SideInformation.from_pairs(
        must=np.column_stack([np.arange(0, 40), np.arange(1, 41)]), n_samples=240
    )
    model = AnnotatedGaussianMixture(4, **QUICK).fit(X, side=pairs)
    assert model.annotator_accuracy_[None] > 1 / 2


def test_one_wrong_annotator_does_not_turn_the_names_of_the_others():
    X, truth = separated(90)
    rng = np.random.default_rng(0)
    said = []
    for name, shift in (("ann", 0), ("bob", 1), ("cy", 0)):
        y = np.where(rng.random(90) < 0.3, (truth + shift) % 3, -1)
        said.append(SideInformation.from_labels(y, annotator=name))
    model = AnnotatedGaussianMixture(**QUICK).fit(X, side=said[0] + said[1] + said[2])
    assert_array_equal(model.cluster_names_[model.labels_], truth)
    accuracy = model.annotator_accuracy_
    assert min(accuracy["ann"], accuracy["cy"]) > 0.9
    assert 1 / 3 < accuracy["bob"] < 0.5


def three_annotators(truth, rows):
    """Labels of rows by ann and cy, who are right, and bob, who is wrong in the same way always."""
    n_classes = truth.max() + 1
    said = SideInformation.empty(len(truth))
    for name, shift, here in zip(("ann", "bob", "cy"), (0, 1, 0), rows, strict=True):
        y = np.full(len(truth), -1)
        y[here] = (truth[here] + shift) % n_classes
        said = said + SideInformation.from_labels(y, annotator=name)
    return said


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_a_search_that_begins_with_faith_in_the_wrong_annotator_loses_it(n_classes):
    X, truth = separated(120, n_classes, d=4)
    said = three_annotators(truth, np.split(np.random.default_rng(0).permutation(120)[:90], 3))
    annotations = Annotations.of(said, n_classes, "bernoulli", None, every_row_up_to=1000)
    problem = steps.Problem.of(as_blocks(X), n_classes, "diag", annotations)
    problem = problem.with_model(1.0, np.full(4, 120.0))
    ends = [
        steps.improve(problem, start.astype(np.int32), np.arange(120), np.empty((0, 1 + n_classes)))
        for start in (truth, (truth + 1) % n_classes)
    ]
    assert ends[1].objective == pytest.approx(ends[0].objective)
    assert_array_equal(ends[1].labels, truth)


def test_every_annotator_is_left_out_of_a_start_but_no_class_is():
    seeds = steps.Seeds(np.arange(6), np.array([0, 0, 1, 1, 1, 2]), np.ones(6), np.arange(6) % 3)
    starts = [seeds.of_start(number) for number in range(5)]
    assert [start[0].tolist() for start in starts] == [
        [0, 1, 2, 3, 4, 5],
        [1, 2, 4, 5],
        [0, 2, 3, 5],
        [0, 1, 3, 4, 5],  # only row 5 is of class 2
        [0, 1, 2, 3, 4, 5],
    ]
    alone = seeds._replace(who=np.zeros(6, dtype=np.int64))
    assert all(len(alone.of_start(number)[0]) == 6 for number in range(3))


def test_who_is_right_about_classes_that_clusters_do_not_carry_is_told_by_common_rows_only():
    X, _ = separated(240, 4, d=6)
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=240)  # nothing in X tells it
    common = three_annotators(truth, [np.arange(40)] * 3)
    advice = AnnotatedGaussianMixture(4, **QUICK).fit(X, side=common).result_.advice
    assert len(advice) == 1
    assert advice[0].startswith("'ann' and 'cy' gave the same label to 40 of the 40 rows")
    assert "do not follow these classes" in advice[0]
    apart = three_annotators(truth, np.split(rng.permutation(240)[:120], 3))
    model = AnnotatedGaussianMixture(4, **QUICK).fit(X, side=apart)
    assert len(model.result_.advice) == 1
    assert "have two people label the same rows" in model.result_.advice[0]
    # With as little to go by, bob's accuracy says nothing against the others.
    accuracy = model.annotator_accuracy_
    assert all(f"'{name}' ({p:.0%})" in model.result_.advice[0] for name, p in accuracy.items())


def test_annotators_whom_the_clusters_confirm_need_no_advice():
    X, truth = separated(90)
    said = three_annotators(truth, [np.arange(30)] * 3)
    assert AnnotatedGaussianMixture(**QUICK).fit(X, side=said).result_.advice == []
    y = np.where(np.arange(90) < 30, truth, -1)
    assert AnnotatedGaussianMixture(**QUICK).fit(X, y).result_.advice == []


def test_wrong_label_is_found_and_names_survive():
    X, truth = separated()
    names = np.array(["cat", "ant", "bee"], dtype=object)[truth]
    y = np.where(np.arange(60) < 30, names, None)
    y[0] = "bee" if names[0] != "bee" else "ant"
    model = AnnotatedGaussianMixture(**QUICK).fit(X, y)
    assert model.cluster_names_.tolist() == ["ant", "bee", "cat"]
    assert_array_equal(model.cluster_names_[model.labels_], names)
    assert model.statement_error_.argmax() == 0
    assert model.statement_error_[0] > 0.9
    assert model.result_.broken() == [f"0 is {y[0]!r} (label)"]


def test_class_that_is_only_denied_gets_a_cluster_of_its_own():
    X, truth = separated()
    labels = SideInformation.from_labels(np.where((truth < 2) & (np.arange(60) < 30), truth, -1))
    rows = np.flatnonzero(truth < 2)[-10:]
    side = labels + SideInformation.from_columns("not_label", rows, class_=7, n_samples=60)
    model = AnnotatedGaussianMixture(3, **QUICK).fit(X, side=side)
    assert model.cluster_names_.tolist() == [0, 1, 7]
    assert_array_equal(model.labels_, truth)


def test_classes_of_a_second_vocabulary_are_matched_to_clusters():
    X, truth = separated()
    first = SideInformation.from_labels(np.where(np.arange(60) < 30, truth, -1))
    other = np.array(["z", "x", "y"], dtype=object)[truth]
    second = SideInformation.from_labels(
        np.where(np.arange(60) >= 40, other, None), vocabulary="mine"
    )
    model = AnnotatedGaussianMixture(3, **QUICK).fit(X, side=first + second)
    assert_array_equal(model.labels_, truth)
    assert model.statement_error_.max() < 0.1
    assert not model.result_.violated.any()


def test_more_classes_than_clusters_leaves_the_lightest_without_one():
    X, truth = separated()
    y = np.where(np.arange(60) < 30, truth, -1)
    y[59] = 9
    with pytest.warns(LostClassWarning, match="Class 9 has no cluster: there are 3 clusters for 4"):
        model = AnnotatedGaussianMixture(3, **QUICK).fit(X, y)
    assert model.cluster_names_.tolist() == [0, 1, 2]
    assert model.statement_error_[-1] == pytest.approx(1.0)


# New rows


@pytest.mark.parametrize("covariance_type", ["spherical", "diag"])
def test_densities_are_those_of_the_mixture(covariance_type):
    X, truth = separated(spread=3.0)
    model = AnnotatedGaussianMixture(3, covariance_type=covariance_type, **QUICK)
    model.fit(X, side=sample_pairs(truth, 40, random_state=0))
    covariances = [np.eye(2) * v for v in model.variances_]
    parts = [
        multivariate_normal(mean, covariance)
        for mean, covariance in zip(model.means_, covariances, strict=True)
    ]
    new = np.random.default_rng(1).normal(size=(7, 2)) * 3
    density = np.stack([part.pdf(new) for part in parts], axis=1)
    assert_allclose(model.score_samples(new), np.log(density.mean(axis=1)))
    assert_allclose(model.predict_proba(new), density / density.sum(axis=1, keepdims=True))
    assert_array_equal(model.predict(new), density.argmax(axis=1))


def test_kinds_of_arrays_give_the_same_answer(tmp_path):
    X, truth = separated()
    X = np.round(X, 2)
    side = all_kinds(truth)
    np.save(tmp_path / "X.npy", X)
    expected = AnnotatedGaussianMixture(3, **QUICK).fit(X, side=side).labels_
    for same in (
        np.asfortranarray(X),
        X.astype(np.float32),
        np.load(tmp_path / "X.npy", mmap_mode="r"),
    ):
        labels = AnnotatedGaussianMixture(3, **QUICK).fit(same, side=side).labels_
        assert_array_equal(labels, expected)


# Settings


def test_time_limit_ends_the_search_with_what_there_is():
    sample = make_gaussian_mixture(4, random_state=0)
    side = sample_pairs(sample.y, 200, random_state=0)
    model = AnnotatedGaussianMixture(4, max_time=1e-9, random_state=0).fit(sample.X, side=side)
    assert model.n_iter_ == 1
    assert len(model.population_scores_) == 1
    assert len(np.unique(model.labels_)) == 4


def test_every_generation_is_reported():
    class Counter:
        ended = 0

        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.ended += context.task_name == "generation"
            return self.ended == 3

        def teardown(self, estimator, context):
            pass

    X, _ = separated()
    counter = Counter()
    model = AnnotatedGaussianMixture(3, n_init=2, n_generations=9, random_state=0)
    model.set_callbacks(counter).fit(X)
    assert counter.ended == model.n_iter_ == 3  # the starts, two generations, and a stop


def test_paper_mode_is_the_papers():
    model = AnnotatedGaussianMixture.as_published(n_clusters=2, accuracy=0.9)
    assert (model.annotation_model, model.variance_prior) == ("sbm", 0.0)
    assert model.covariance_type == "spherical"
    assert (model.n_init, model.population_size, model.n_generations) == (10, 20, 50)
    assert model.accuracy == 0.9
    assert not model.compound_moves


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"population_size": 3}, "leaves no room for children"),
        ({"annotation_model": "sbm", "accuracy": {"ann": 0.9}}, "does not tell annotators apart"),
        ({"accuracy": {"ann": 1.5}}, "the accuracy of 'ann' is 1.5"),
        ({"accuracy": {"ann": "high"}}, "the accuracy of 'ann' is 'high'"),
    ],
)
def test_settings_that_clash_are_refused(parameters, message):
    X, _ = separated()
    with pytest.raises(SidelightError, match=message):
        AnnotatedGaussianMixture(3, **(QUICK | parameters)).fit(X)


# Odd data


def test_statements_that_all_contradict_each_other_cancel_out():
    X, truth = separated()
    pairs = sample_pairs(truth, 60, random_state=0)
    both = np.concatenate([pairs.must, pairs.cannot])
    side = SideInformation.from_pairs(must=both, cannot=both, n_samples=60)
    for annotation_model in ("bernoulli", "sbm"):
        model = AnnotatedGaussianMixture(3, annotation_model=annotation_model, **QUICK)
        model.fit(X, side=side)
        assert adjusted_rand_score(truth, model.labels_) == 1.0
        assert model.annotator_accuracy_[None] == pytest.approx(mean_above(60, 60, 0.5))
        assert model.result_.violated.sum() == len(both)


@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_one_cluster_holds_everything():
    X, truth = separated()
    side = all_kinds(truth)
    model = AnnotatedGaussianMixture(1, **QUICK).fit(X, side=side)
    assert_array_equal(model.labels_, 0)
    assert np.isfinite(model.objective_)
    cannot = side.statements.kind == 1
    assert_allclose(model.statement_error_[cannot], 1.0)


@pytest.mark.parametrize("variance_prior", [0.0, 1.0])
@pytest.mark.parametrize("covariance_type", ["spherical", "diag"])
def test_duplicate_rows_and_constant_columns(covariance_type, variance_prior):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(12, 3)), 5, axis=0)
    X[:, 1] = 0.1
    side = sample_pairs(np.repeat(np.arange(3), 20), 30, random_state=0)
    options = {"covariance_type": covariance_type, "variance_prior": variance_prior} | QUICK
    for said in (None, side):
        model = AnnotatedGaussianMixture(3, **options).fit(X, side=said)
        assert np.isfinite(model.objective_)
        assert (model.variances_ > 0).all()
        assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.parametrize("variance_prior", [0.0, 1.0])
def test_fewer_distinct_rows_than_clusters_gives_fewer_clusters(variance_prior):
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 10, axis=0)
    side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(0, 10)], n_samples=20)
    for said in (None, side):
        model = AnnotatedGaussianMixture(4, variance_prior=variance_prior, **QUICK)
        with pytest.warns(ConvergenceWarning, match="found 2 clusters where 4 were asked for"):
            model.fit(X, side=said)
        assert_array_equal(model.labels_, np.repeat([0, 1], 10))
        assert len(model.means_) == len(model.variances_) == 2


def test_all_rows_alike():
    X = np.full((10, 2), 0.1)
    with pytest.warns(ConvergenceWarning, match="found 1 cluster"):
        model = AnnotatedGaussianMixture(2, **QUICK).fit(X)
    assert np.isfinite(model.objective_)


def test_no_cluster_of_one_row_without_a_variance_prior():
    for seed in range(3):
        sample = make_gaussian_mixture(4, random_state=seed)
        side = sample_pairs(sample.y, 150, accuracy=0.9, random_state=seed)
        model = AnnotatedGaussianMixture(4, variance_prior=0.0, **QUICK).fit(sample.X, side=side)
        assert np.bincount(model.labels_).min() >= 2


def test_self_pairs_are_right_or_wrong_whatever_the_partition():
    X, _ = separated()
    loops = SideInformation.from_pairs(
        must=[(3, 3)], cannot=[(4, 4)], n_samples=60, self_pairs="keep", annotator="eve"
    )
    for annotation_model in ("bernoulli", "sbm"):
        model = AnnotatedGaussianMixture(3, annotation_model=annotation_model, **QUICK)
        model.fit(X, side=loops)
        assert_array_equal(model.statement_error_, [0.0, 1.0])
        assert model.annotator_accuracy_["eve"] == pytest.approx(3 / 5)


def test_unsure_has_no_error_and_weightless_statements_bind_nothing():
    X, _ = separated()
    side = SideInformation.from_columns(
        ["unsure", "must", "cannot"], [0, 1, 2], [3, 5, 5], weight=[1, 0, 0], n_samples=60
    )
    model = AnnotatedGaussianMixture(3, **QUICK).fit(X, side=side)
    assert_array_equal(model.labels_, AnnotatedGaussianMixture(3, **QUICK).fit(X).labels_)
    assert_allclose(model.statement_error_, [0.0, 1.0, 1.0], atol=1e-6)


def test_the_most_doubtful_statement_is_found_by_argmax_whatever_else_is_stated():
    X, _ = separated()
    side = SideInformation.from_columns(
        ["unsure", "must", "cannot", "unsure"], [0, 1, 2, 4], [3, 4, 5, None], n_samples=60
    )
    error = AnnotatedGaussianMixture(3, **QUICK).fit(X, side=side).statement_error_
    assert np.isfinite(error).all()
    assert error.argmax() == 2


def test_bad_data_is_refused_with_a_way_out():
    X, _ = separated()
    with pytest.raises(DataError, match="sparse"):
        AnnotatedGaussianMixture(3, **QUICK).fit(sparse.csr_array(X))
    model = AnnotatedGaussianMixture(3, **QUICK).fit(X)
    for method in (model.predict, model.predict_proba, model.score_samples):
        with pytest.raises(DataError, match="TruncatedSVD"):
            method(sparse.csr_array(X))
    with pytest.raises(SideInformationError, match="n_clusters is None"):
        AnnotatedGaussianMixture(**QUICK).fit(X)
    with pytest.raises(DataError, match="fewer than n_clusters=3"):
        AnnotatedGaussianMixture(3, **QUICK).fit(X[:2])


# The search


def test_clusters_that_carry_a_class_pair_with_themselves_in_a_crossover():
    X, truth = separated()
    side = SideInformation.from_labels(np.where(np.arange(60) < 30, truth, -1))
    said = Annotations.of(side, 4, "bernoulli", None)
    problem = steps.Problem.of(as_blocks(X), 4, "spherical", said)
    assert problem.free.tolist() == [3]


def test_sums_of_squares_are_those_around_the_means_of_the_partition():
    X, truth = separated()
    said = Annotations.of(SideInformation.empty(len(X)), 3, "bernoulli", None)
    by_hand = sum(((X[truth == k] - X[truth == k].mean(axis=0)) ** 2).sum(axis=0) for k in range(3))
    rough = np.array([X[truth == k][0] for k in range(3)])
    for kind, expected in (("diag", by_hand), ("spherical", by_hand.sum(keepdims=True))):
        problem = steps.Problem.of(as_blocks(X), 3, kind, said)
        assert_allclose(steps.sums_of_squares(problem, truth.astype(np.int32), rough), expected)


def test_fit_warns_of_nothing_on_ordinary_data():
    X, truth = separated()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AnnotatedGaussianMixture(3, **QUICK).fit(X, side=all_kinds(truth))


def test_labels_without_weight_do_not_change_what_the_others_are_worth():
    X = np.concatenate([np.zeros(6), np.full(6, 3.0)])[:, None] + np.linspace(0, 1, 12)[:, None]
    side = SideInformation.from_labels(["a", "a", "b", None] * 3, annotator="ann")
    named = SideInformation.from_columns(
        "label", [3, 7, 11], class_=["c", "d", "e"], weight=0.0, annotator="ann", n_samples=12
    )
    model = AnnotatedGaussianMixture(2, n_generations=1, random_state=0)
    without = model.fit(X, side=side).statement_error_
    assert_array_equal(model.fit(X, side=side + named).statement_error_[: len(without)], without)
