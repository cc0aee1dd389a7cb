"""J and its gradient against their definitions, and the committee."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from oracles_discriminative import objective_by_definition
from sidelight import DiscriminativeClustering, SideInformation
from sidelight.blocks import threads
from sidelight.datasets import make_blobs
from sidelight.exceptions import SidelightError
from sidelight.models._discriminative.committee import Starts
from sidelight.models._discriminative.mixture import Mixture
from sidelight.models._discriminative.run import Setting, minimise, objective
from sidelight.models._discriminative.statements import (
    classes_with_columns,
    columns_of,
    statement_terms,
)


def some_statements(n=12, K=3, seed=0):
    """Statements of all kinds with weights, and one that is repeated."""
    rng = np.random.default_rng(seed)
    kinds = ["label"] * 5 + ["not_label"] * 4 + ["must"] * 4 + ["cannot"] * 4
    i = rng.integers(0, n // 2, len(kinds))
    j = [None if "label" in kind else int(rng.integers(n // 2, n)) for kind in kinds]
    c = [int(rng.integers(K)) if "label" in kind else None for kind in kinds]
    c[:3] = range(3)
    side = SideInformation.from_columns(
        kinds, i, j, class_=c, weight=rng.uniform(0.5, 2, len(kinds)), n_samples=n
    )
    return side + side[np.arange(n)].only(kind="label")


def terms_of(side, K, error=None):
    column = np.where(side.statements.class_code >= 0, side.statements.class_code, -1)
    error = np.full(side.n_statements, 0.1) if error is None else error
    return statement_terms(side, error, column, K)


@pytest.mark.parametrize("K", [3, 5])
def test_objective_is_its_definition(K):
    rng = np.random.default_rng(1)
    side = some_statements()
    error = rng.uniform(0.02, 0.4, side.n_statements)
    phi, coef = rng.normal(size=(12, 4)), rng.normal(size=(5, K))
    found, _ = objective(phi, terms_of(side, K, error), Setting(7.0, 0.3), coef)
    wanted = objective_by_definition(phi, side, error, coef, K, C=7.0, u=0.3)
    assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("K", [2, 3, 5])
def test_gradient_is_that_of_finite_differences(K):
    rng = np.random.default_rng(2)
    side = some_statements() if K > 2 else some_statements().only(kind=["must", "cannot"])
    terms = terms_of(side, K)
    phi, coef = rng.normal(size=(12, 4)), rng.normal(size=(5, K))
    setting = Setting(7.0, 0.3)
    _, gradient = objective(phi, terms, setting, coef)
    for place in range(coef.size):
        step = np.zeros(coef.size)
        step[place] = 1e-6
        step = step.reshape(coef.shape)
        up = objective(phi, terms, setting, coef + step)[0]
        down = objective(phi, terms, setting, coef - step)[0]
        assert_allclose(gradient[place], (up - down) / 2e-6, rtol=1e-5, atol=1e-6)


def test_objective_never_rises_and_ends_at_its_value():
    rng = np.random.default_rng(3)
    terms = terms_of(some_statements(), 3)
    phi, coef = rng.normal(size=(12, 4)), rng.normal(size=(5, 3))
    setting = Setting(7.0, 0.3)
    fitted = minimise(phi, terms, setting, coef, 50)
    assert len(fitted.history) > 5
    assert (np.diff(fitted.history) <= 0).all()
    assert_allclose(fitted.objective, objective(phi, terms, setting, fitted.coef)[0], rtol=1e-12)


def test_single_precision_gives_the_same_objective():
    rng = np.random.default_rng(4)
    terms = terms_of(some_statements(), 3)
    phi, coef = rng.normal(size=(12, 4)), rng.normal(size=(5, 3))
    setting = Setting(7.0, 0.3)
    double = objective(phi, terms, setting, coef)
    single = objective(phi.astype(np.float32), terms, setting, coef)
    assert_allclose(single[0], double[0], rtol=1e-5)
    assert_allclose(single[1], double[1], rtol=1e-4, atol=1e-4)


def test_features_by_columns_give_the_same_objective():
    rng = np.random.default_rng(4)
    terms = terms_of(some_statements(), 3)
    phi, coef = rng.normal(size=(12, 4)), rng.normal(size=(5, 3))
    setting = Setting(7.0, 0.3)
    by_rows = objective(phi, terms, setting, coef)
    by_columns = objective(np.asfortranarray(phi), terms, setting, coef)
    assert_allclose(by_columns[0], by_rows[0], rtol=1e-12)
    assert_allclose(by_columns[1], by_rows[1], rtol=1e-10, atol=1e-10)


def test_a_sample_compares_starts_by_the_objective_of_all_rows():
    # Every row four times, and four times the weight of the statements: a quarter of the rows, with
    # a quarter of the weight, has a quarter of J.
    rng = np.random.default_rng(5)
    terms = terms_of(some_statements(), 3)
    phi, coef = np.tile(rng.normal(size=(12, 4)), (4, 1)), rng.normal(size=(5, 3))
    four = terms._replace(cell_weight=4 * terms.cell_weight, pair_weight=4 * terms.pair_weight)
    of_all = Setting(7.0, 0.3)
    whole = objective(phi, four, of_all, coef)
    starts = Starts([], np.arange(12), terms, share=0.25)
    part = objective(starts.taken(phi), terms, starts.setting(of_all, 48), coef)
    assert_allclose(4.0 * part[0], whole[0], rtol=1e-12)
    assert_allclose(4.0 * part[1], whole[1], rtol=1e-9, atol=1e-9)


def nuisance(n=400, K=3, seed=0):
    """Classes in two columns of small variance, beside six wide columns of noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    corner = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])[y]
    return np.hstack([corner + 0.15 * rng.normal(size=(n, 2)), 2 * rng.normal(size=(n, 6))]), y


def test_statements_show_which_directions_matter():
    X, y = nuisance()
    partial = np.where(np.arange(len(y)) < 60, y, -1)
    model = DiscriminativeClustering(3, random_state=0).fit(X, partial)
    assert adjusted_rand_score(y[60:], model.labels_[60:]) > 0.8
    plain = DiscriminativeClustering(3, random_state=0).fit(X)
    assert adjusted_rand_score(y[60:], plain.labels_[60:]) < 0.3


def test_pairs_do_too():
    X, y = nuisance()
    rng = np.random.default_rng(0)
    pairs = rng.integers(len(y), size=(300, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    side = SideInformation.from_pairs(must=pairs[same], cannot=pairs[~same], n_samples=len(y))
    model = DiscriminativeClustering(3, random_state=0).fit(X, side=side)
    assert adjusted_rand_score(y, model.labels_) > 0.8


def test_negative_labels_alone_name_and_shape_clusters():
    X, y = nuisance(300, 2)
    rows = np.arange(20, 120)
    labels = SideInformation.from_labels(np.where(np.arange(300) < 20, y, -1))
    wrong = SideInformation.from_columns("not_label", rows, class_=1 - y[rows], n_samples=300)
    with_them = DiscriminativeClustering(2, random_state=0).fit(X, side=labels + wrong)
    assert adjusted_rand_score(y[120:], with_them.labels_[120:]) > 0.8


def test_clusters_form_for_classes_that_nobody_named():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    X = rng.normal(size=(180, 2)) + 8 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    partial = np.where((y == 0) & (rng.random(180) < 0.3), 0, -1)
    model = DiscriminativeClustering(3, random_state=0).fit(X, partial)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.cluster_names_.tolist() == [0, 1, 2]


def test_memberships_are_probabilities_and_decide_labels():
    X, y = nuisance(200)
    model = DiscriminativeClustering(3, random_state=0).fit(X, np.where(np.arange(200) < 40, y, -1))
    P = model.predict_proba(X)
    assert_allclose(P.sum(axis=1), 1.0)
    assert_array_equal(P.argmax(axis=1), model.labels_)
    assert_array_equal(model.predict(X[:50]), model.labels_[:50])


def test_warm_restart_takes_labels_or_a_fitted_model():
    X, y = nuisance(200)
    partial = np.where(np.arange(200) < 40, y, -1)
    first = DiscriminativeClustering(3, random_state=0).fit(X, partial)
    for init in (first, first.labels_, np.where(np.arange(200) < 150, first.labels_, -1)):
        again = DiscriminativeClustering(3, init=init, random_state=0).fit(X, partial)
        assert adjusted_rand_score(first.labels_, again.labels_) > 0.95


def test_a_large_fit_uses_a_sample_and_labels_all_rows():
    X, y = nuisance(40_000)
    partial = np.where(np.arange(len(y)) < 20_000, y, -1)
    model = DiscriminativeClustering(3, random_state=0).fit(X, partial)
    assert len(model._views.committee.fit_X) == 12_500
    assert adjusted_rand_score(y[20_000:], model.labels_[20_000:]) > 0.8
    assert_array_equal(model.predict(X[:1000]), model.labels_[:1000])


@pytest.mark.parametrize(("annotated", "fitted"), [(500, 7_500), (6_000, 8_000)])
def test_above_6_000_rows_it_is_fitted_to_the_annotated_rows_and_some_others(annotated, fitted):
    X, y = nuisance(8_000)
    partial = np.where(np.arange(len(y)) < annotated, y, -1)
    model = DiscriminativeClustering(3, random_state=0).fit(X, partial)
    assert len(model._views.committee.fit_X) == fitted
    assert (np.diff(model.history_) <= 0).all()
    assert adjusted_rand_score(y[6_000:], model.labels_[6_000:]) > 0.8
    with threads(2):
        again = DiscriminativeClustering(3, random_state=0).fit(X, partial)
    assert_array_equal(again.history_, model.history_)
    assert_array_equal(again.predict(X), model.labels_)


# Annotators


def two_annotators(n=240, accuracies=(0.95, 0.5), seed=0):
    """Labels of different rows by two people, one of whom often errs."""
    X, y = nuisance(n, 3, seed)
    rng = np.random.default_rng(seed + 1)
    sides, wrong = [], []
    for name, accuracy, rows in zip(
        ("ann", "bob"), accuracies, np.split(rng.permutation(n)[:120], 2), strict=True
    ):
        bad = rng.random(len(rows)) > accuracy
        said = np.where(bad, (y[rows] + rng.integers(1, 3, len(rows))) % 3, y[rows])
        labels = np.full(n, -1)
        labels[rows] = said
        sides.append(SideInformation.from_labels(labels, annotator=name))
        wrong.append(bad[np.argsort(rows)])
    return X, y, sides[0] + sides[1], np.concatenate(wrong)


def test_a_poor_annotator_is_found_out():
    X, y, side, wrong = two_annotators()
    model = DiscriminativeClustering(3, random_state=0).fit(X, side=side)
    accuracy = model.annotator_accuracy_
    assert list(accuracy) == ["ann", "bob"]
    assert accuracy["ann"] > 0.85
    assert accuracy["bob"] < 0.75
    assert model.statement_error_.shape == (120,)
    assert model.statement_error_[wrong].mean() > 0.6 > 0.3 > model.statement_error_[~wrong].mean()
    rest = np.setdiff1d(np.arange(len(y)), side.statements.i)
    believer = DiscriminativeClustering(3, accuracy=0.9, random_state=0).fit(X, side=side)
    told, found = (adjusted_rand_score(y[rest], m.labels_[rest]) for m in (believer, model))
    assert found > told + 0.05


def test_statements_without_annotator_are_one_annotator_more():
    X, y = nuisance(120)
    rows = np.arange(120)
    side = SideInformation.from_labels(np.where(rows < 30, y, -1), annotator="ann")
    side += SideInformation.from_labels(np.where((rows >= 30) & (rows < 60), y, -1))
    model = DiscriminativeClustering(3, random_state=0).fit(X, side=side)
    assert set(model.annotator_accuracy_) == {"ann", None}
    assert min(model.annotator_accuracy_.values()) > 0.8


def test_the_only_label_of_a_class_is_not_called_wrong_for_want_of_others():
    X, y, side, _ = two_annotators()
    lone = np.flatnonzero((y == 2) & ~np.isin(np.arange(len(y)), side.statements.i))[:1]
    kept = side.where(side.statements.class_code < 2)
    label = SideInformation.from_columns("label", lone, class_=2, n_samples=len(y), annotator="ann")
    model = DiscriminativeClustering(3, random_state=0).fit(X, side=kept + label)
    assert model.statement_error_[-1] < 0.5


def test_given_accuracies_are_used_and_told():
    X, _, side, _ = two_annotators(120)
    model = DiscriminativeClustering(3, accuracy={"ann": 0.97, "bob": 0.4}, random_state=0)
    model.fit(X, side=side)
    assert_allclose(list(model.annotator_accuracy_.values()), [0.97, 0.4])
    one = DiscriminativeClustering(3, accuracy=0.8, random_state=0).fit(X, side=side)
    assert_allclose(list(one.annotator_accuracy_.values()), [0.8, 0.8])


def test_accuracy_outside_of_its_range_is_refused():
    X, _, side, _ = two_annotators(120)
    with pytest.raises(SidelightError, match="accuracy of 'bob' is 2"):
        DiscriminativeClustering(3, accuracy={"bob": 2}).fit(X, side=side)


def test_one_annotator_is_taken_for_right_in_nine_of_ten():
    X, y = nuisance(120)
    model = DiscriminativeClustering(3, random_state=0)
    model.fit(X, np.where(np.arange(120) < 30, y, -1))
    assert_allclose(model.annotator_accuracy_[None], 0.9)
    assert ((model.statement_error_ >= 0) & (model.statement_error_ <= 1)).all()


# Vocabularies, and classes without a column


def test_labels_of_another_vocabulary_are_pairs():
    said = SideInformation.from_labels([0, 0, 1, 1, -1, -1, -1, -1])
    own = SideInformation.from_labels(
        [None, None, None, None, "x", "x", "y", "y"], annotator="ann", vocabulary="own"
    )
    both = said + own
    column = columns_of(both, classes_with_columns(both, 2))
    terms = statement_terms(both, np.full(8, 0.1), column, 2)
    assert len(terms.cell) == 4
    rows = [(int(terms.rows[i]), int(terms.rows[j])) for i, j in zip(terms.i, terms.j, strict=True)]
    together = dict(zip(rows, terms.pair_slope > 0, strict=True))
    assert together == {(4, 5): True, (6, 7): True, (4, 6): False, (5, 7): False}
    assert_allclose(terms.pair_low[terms.pair_slope > 0], 0.1 + 0.1 - 2 * 0.01)  # either is wrong


def test_more_classes_than_clusters_leave_pairs_for_the_lightest():
    side = SideInformation.from_labels([0, 0, 0, 1, 1, 1, 2, 2])
    classes = classes_with_columns(side, 2)
    assert classes.tolist() == [0, 1]
    terms = statement_terms(side, np.full(8, 0.1), columns_of(side, classes), 2)
    assert len(terms.cell) == 6
    assert terms.rows[terms.i].tolist() == [6]
    assert terms.rows[terms.j].tolist() == [7]


def test_classes_known_by_negative_labels_alone_have_columns():
    rows = np.arange(20)
    side = SideInformation.from_columns("not_label", rows, class_=rows % 2, n_samples=40)
    assert classes_with_columns(side, 2).tolist() == [0, 1]
    X = np.where(np.arange(40) % 2, 0.0, 9.0)[:, None] + np.arange(40)[:, None] / 40
    model = DiscriminativeClustering(2, random_state=0).fit(X, side=side)
    assert adjusted_rand_score(np.arange(40) % 2, model.labels_) == 1.0


def test_sparse_rows_of_many_columns_are_projected():
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    X = rng.poisson(0.05 + 0.6 * (np.arange(600) % 3 == y[:, None]))
    partial = np.where(np.arange(150) < 30, y, -1)
    model = DiscriminativeClustering(3, random_state=0).fit(sparse.csr_array(X * 1.0), partial)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert_array_equal(model.predict(sparse.csr_array(X * 1.0)), model.labels_)


def test_rows_on_dask_give_the_same_clusters():
    dask = pytest.importorskip("dask.array")
    X, y = nuisance(200)
    partial = np.where(np.arange(200) < 40, y, -1)
    here = DiscriminativeClustering(3, random_state=0).fit(X, partial)
    lazy = dask.from_array(X, chunks=(80, 8))
    there = DiscriminativeClustering(3, random_state=0).fit(lazy, partial)
    assert_array_equal(np.asarray(there.labels_), here.labels_)
    assert_array_equal(there.predict(lazy).compute(), here.labels_)
    # Sums over such small chunks round differently, and a descent ends where J falls by less than
    # 1e-9: J agrees to that; memberships, which J hardly feels at its lowest point, to its root.
    assert_allclose(there.objective_, here.objective_, rtol=1e-9)
    assert_allclose(there.predict_proba(lazy).compute(), here.predict_proba(X), atol=3e-5)
    assert_allclose(there.statement_error_, here.statement_error_, atol=3e-5)


# The mixture


def test_a_quarter_of_the_answer_is_that_of_a_mixture():
    sample = make_blobs(240, 3, 3, separation=6.0, random_state=3)
    y = np.where(np.arange(240) < 30, sample.y, -1)
    model = DiscriminativeClustering(3, random_state=0).fit(sample.X, y)
    views = model._views
    by_committee = views.committee.memberships(views.metric(sample.X))
    by_mixture = views.mixture.model.predict_proba(sample.X)[:, views.mixture.order]
    expected = 0.75 * by_committee + 0.25 * by_mixture
    assert_allclose(views(sample.X), expected)
    assert_allclose(model.predict_proba(sample.X), expected[:, model._columns])
    # Its clusters are matched to the columns: they agree on nearly all rows.
    assert (by_mixture.argmax(axis=1) == by_committee.argmax(axis=1)).mean() > 0.9
    assert_array_equal(model.predict(sample.X), model.labels_)


def test_it_sees_classes_that_differ_in_spread_alone():
    rng = np.random.default_rng(0)
    truth = np.arange(400) % 2
    X = rng.normal(size=(400, 4)) * np.where(truth, 6.0, 0.7)[:, None]
    y = np.where(np.arange(400) < 12, truth, -1)
    model = DiscriminativeClustering(2, random_state=0).fit(X, y)
    views = model._views
    by_committee = views.committee.memberships(views.metric(X)).argmax(axis=1)
    free = y < 0
    with_it = adjusted_rand_score(truth[free], model.labels_[free])
    assert with_it > adjusted_rand_score(truth[free], by_committee[free]) + 0.05


@pytest.mark.filterwarnings("ignore:.*clusters")  # six rows may be two clusters
@pytest.mark.parametrize(("n", "d", "K"), [(240, 101, 3), (60, 3, 1), (6, 3, 3)])
def test_where_a_mixture_could_say_nothing_the_committee_answers_alone(n, d, K):
    sample = make_blobs(n, d, max(K, 2), separation=6.0, random_state=0)
    model = DiscriminativeClustering(K, random_state=0).fit(sample.X)
    assert model._views.mixture is None
    assert model.predict_proba(sample.X).shape == (n, model.n_clusters_)


def test_clusters_that_the_mixture_does_not_have_are_empty_in_it():
    class Two:
        def predict_proba(self, X):
            return np.tile([0.25, 0.75], (len(X), 1))

    P = np.tile([0.2, 0.3, 0.5], (4, 1))
    joined = Mixture(Two(), np.array([2, 1, 0])).join(np.zeros((4, 1)), P)
    assert_allclose(joined, 0.75 * P + 0.25 * np.array([0.0, 0.75, 0.25]))
