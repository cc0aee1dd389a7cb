"""What a fit says about the statements is one thing: names, kept, errors and accuracies agree."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from sidelight import (
    AnnotatedGaussianMixture,
    BayesianMixture,
    SideInformation,
    StructuralEntropyClustering,
)
from sidelight.exceptions import DataError
from sidelight.models import model_names
from sidelight.report import Evidence, summarize, suspect_rows
from sidelight.side import match_classes
from small_models import with_clusters


@pytest.fixture
def liar():
    """Two far groups. Alice is right; bob, who says more, is always wrong."""
    truth = np.repeat([0, 1], 30)
    X = 20.0 * truth[:, None] + np.random.default_rng(0).normal(size=(60, 2))
    names = np.array(["cat", "dog"], dtype=object)
    right, wrong = np.full(60, None), np.full(60, None)
    right[[0, 1, 30, 31]] = names[truth[[0, 1, 30, 31]]]
    wrong[5:15], wrong[35:45] = "dog", "cat"
    alice = SideInformation.from_labels(right, annotator="alice")
    bob = SideInformation.from_labels(wrong, annotator="bob")
    return X, names[truth], alice + bob


def test_labels_whose_names_the_rows_carry_are_kept(liar):
    X, names, side = liar
    model = AnnotatedGaussianMixture(2, accuracy={"bob": 0.01, "alice": 0.99}, random_state=0)
    result = model.fit(X, side=side).result_
    assert_array_equal(result.names, names)
    said = side.statements
    alice = said.annotator == side.annotators.index("alice")
    assert not result.violated[alice].any()
    assert result.violated[~alice].all()
    assert_array_equal(model.statement_error_ > 0.5, result.violated)
    suspects = suspect_rows(result)
    assert not suspects[said.i[alice]].any()
    assert suspects[said.i[~alice]].all()
    told = {row["annotator"]: row for row in summarize(result)["kept"]["by_annotator"]}
    assert (told["alice"]["broken"], told["bob"]["broken"]) == (0, 20)
    assert told["bob"]["accuracy"] == pytest.approx(0.01)


def test_estimated_accuracies_and_names_agree_where_the_majority_is_wrong():
    rng = np.random.default_rng(2)
    truth = np.repeat([0, 1, 2], 30)
    X = np.array([[0, 0], [20, 0], [0, 20]])[truth] + rng.normal(size=(90, 2))
    said = []
    for who, accuracy in (("a", 0.95), ("b", 0.95), ("c", 0.2), ("d", 0.2), ("e", 0.2)):
        y, rows = np.full(90, -1), rng.choice(90, 25, replace=False)
        y[rows] = np.where(rng.random(25) < accuracy, truth[rows], (truth[rows] + 1) % 3)
        said.append(SideInformation.from_labels(y, annotator=who))
    side = sum(said[1:], said[0])
    model = AnnotatedGaussianMixture(3, n_generations=2, random_state=0).fit(X, side=side)
    table, result = side.statements, model.result_
    carried = result.names[table.i] == np.array(side.classes)[table.class_code]
    assert_array_equal(result.verdict.kept, carried)
    assert_array_equal(model.statement_error_ > 0.5, ~carried)
    shares = np.bincount(table.annotator, carried) / np.bincount(table.annotator)
    order = [model.annotator_accuracy_[name] for name in side.annotators]
    assert_array_equal(np.argsort(order), np.argsort(shares))


def test_a_page_written_in_python_tells_what_the_model_knows(liar, tmp_path):
    X, _, side = liar
    result = AnnotatedGaussianMixture(2, random_state=0).fit(X, side=side).result_
    summary = result.report(tmp_path / "page.html", X, pictures=False)
    assert all(cluster["membership"] > 0.99 for cluster in summary["clusters"])
    assert all(row["accuracy"] is not None for row in summary["kept"]["by_annotator"])
    assert [s["doubt"] for s in summary["suspects"]] == sorted(
        result.verdict.error[result.violated], reverse=True
    )[: len(summary["suspects"])]


def test_membership_of_the_fitted_rows_gives_shares_and_doubt(liar):
    X, _, side = liar
    model = BayesianMixture(2, random_state=0).fit(X, side=side)
    asked = summarize(model.result_, X)
    given = summarize(model.result_, X, evidence=Evidence.of(model, X))
    assert asked["clusters"] == given["clusters"]
    assert asked["suspects"] == given["suspects"]
    assert asked["suspects"][0]["doubt"] is not None
    # In other units the model would say something else about the same rows.
    other = summarize(model.result_, 10.0 * X)
    assert other["clusters"][0]["membership"] is None
    assert other["suspects"][0]["doubt"] is None


@pytest.mark.parametrize("form", [list, sparse.csc_array, "frame", np.float32])
def test_the_data_of_a_fit_are_known_again_in_their_form(liar, form):
    X = liar[0]
    if form == "frame":
        X = pytest.importorskip("pandas").DataFrame(X, columns=["a", "b"])
    else:
        X = X.tolist() if form is list else X.astype(form) if form is np.float32 else form(X)
    model = BayesianMixture(2, random_state=0).fit(X)
    membership = model.result_.verdict.membership
    assert membership.is_about(X)
    assert not membership.is_about(X[:30])
    rows = np.array([0, 59])
    own, some = membership.of_rows(X, model.labels_, rows)
    expected = model.predict_proba(X)
    assert_array_equal(own, expected[np.arange(60), model.labels_])
    assert_array_equal(some, expected[rows])
    with pytest.raises(DataError, match="not the data that the model was fitted to"):
        membership.of_rows(liar[0] + 1, model.labels_, rows)


def test_a_long_table_of_probabilities_is_never_whole():
    X = np.random.default_rng(0).normal(size=(70_000, 1))
    model = BayesianMixture(2, n_init=1, max_iter=3, tol=1.0, random_state=0).fit(X)
    sizes = []

    def counting(rows):
        sizes.append(len(rows))
        return model.predict_proba(rows)

    ask = replace(model.result_.verdict.membership, probabilities=counting)
    rows = np.array([3, 65_535, 65_536])
    own, some = ask.of_rows(X, model.labels_, rows)
    assert sizes == [65_536, 70_000 - 65_536]
    whole = model.predict_proba(X)
    assert_array_equal(own, whole[np.arange(len(X)), model.labels_])
    assert_array_equal(some, whole[rows])


def test_a_result_keeps_nothing_of_the_data_and_of_the_start():
    X = np.random.default_rng(0).normal(size=(20_000, 4)) + np.repeat([0, 9], 10_000)[:, None]
    start = BayesianMixture(2, n_init=1, random_state=0).fit(X)
    model = BayesianMixture(2, init=start, random_state=0).fit(X)
    bare = replace(model.result_, verdict=replace(model.result_.verdict, membership=None))
    assert len(pickle.dumps(model.result_)) < len(pickle.dumps(bare)) + 10_000
    again = pickle.loads(pickle.dumps(model.result_)).verdict.membership
    assert again.is_about(X)
    assert_array_equal(again.probabilities(X), model.predict_proba(X))


# SemiMultiCons judges the partition of each of its levels, and so names the clusters of each.
@pytest.mark.parametrize("name", sorted({*model_names(accepts="label")} - {"SemiMultiCons"}))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_classes_are_matched_at_most_once_in_a_fit(name, liar, monkeypatch):
    X, _, side = liar
    calls = []

    def counted(*args):
        calls.append(args)
        return match_classes(*args)

    monkeypatch.setattr("sidelight.models._naming.match_classes", counted)
    monkeypatch.setattr("sidelight.side._matching.match_classes", counted)
    result = with_clusters(name, 2).fit(X, side=side).result_
    summarize(result, X)
    suspect_rows(result)
    # Models that start from other models: these are given statements of their own.
    assert sum(args[0] is side for args in calls) <= 1


def test_a_stream_judges_labels_by_the_names_it_has_given():
    rng = np.random.default_rng(0)

    def batch(names):
        truth = np.repeat([0, 1], 50)
        y = np.full(100, None)
        y[[0, 1, 50, 51]] = [names[0], names[0], names[1], names[1]]
        return rng.normal(size=(100, 2)) + 9.0 * truth[:, None], y

    model = BayesianMixture(2, random_state=0)
    for _ in range(5):
        model.partial_fit(*batch(["low", "high"]))
    assert not model.result_.violated.any()
    # Once the other way round: the names stay, so these labels are broken.
    X, y = batch(["high", "low"])
    result = model.partial_fit(X, y).result_
    assert result.names[[0, 50]].tolist() == ["low", "high"]
    assert result.violated.all()


def test_what_a_model_advises_is_on_the_page(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) + np.repeat([0.0, 30.0], 100)[:, None]
    y = np.where(np.arange(200) % 50 == 0, np.repeat(["a", "b"], 100), None)
    result = StructuralEntropyClustering(n_neighbors=5, random_state=0).fit(X, y).result_
    assert len(result.advice) == 1
    summary = result.report(tmp_path / "page.html", X, pictures=False)
    assert result.advice[0] in summary["notes"]
    assert "labelled classes" in (tmp_path / "page.html").read_text(encoding="utf-8")
