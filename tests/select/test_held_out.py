"""Held-out statements: what is right is counted as it is defined, and nothing leaks."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sidelight import (
    AnnotatedGaussianMixture,
    BayesianMixture,
    PartitionLevelKMeans,
    PCKMeans,
    SideInformation,
)
from sidelight.exceptions import SideInformationError, SidelightError
from sidelight.select import SideKFold, cross_validate_statements, hold_out
from sidelight.side import sample_labels, sample_pairs


def separated(n=150, seed=0, spread=9.0):
    truth = np.arange(n) % 3
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) + spread * np.eye(3)[truth], truth


def by_hand(model, X, side, n_splits):
    """Right and all held-out statements, statement by statement."""
    right = total = 0
    for _, test in SideKFold(n_splits, random_state=0).split(side=side):
        kept, held = hold_out(side, test)
        fitted = type(model)(**model.get_params()).fit(X, side=kept)
        names = fitted.cluster_names_[fitted.labels_]
        for kind, pairs in (("must", held.must), ("cannot", held.cannot)):
            for i, j in pairs:
                right += (fitted.labels_[i] == fitted.labels_[j]) == (kind == "must")
                total += 1
        for row, name in enumerate(held.to_labels(unknown=None)):
            if name is not None:
                right += names[row] == name
                total += 1
    return right, total


@pytest.mark.parametrize("noise", [0.5, 3.0])
def test_the_share_is_what_counting_by_hand_gives(noise):
    X, truth = separated(spread=3.0 / noise)
    side = sample_labels(truth, 30, random_state=0) + sample_pairs(truth, 60, random_state=1)
    model = AnnotatedGaussianMixture(3, n_init=2, n_generations=1, random_state=0)
    found = cross_validate_statements(model, X, side=side, n_splits=4)
    right, total = by_hand(model, X, side, 4)
    assert found.n_statements == total
    assert found.share_right == pytest.approx(right / total)
    assert 0 < found.chance < 0.8


def test_clear_clusters_are_right_and_noise_is_at_chance():
    X, truth = separated()
    side = sample_labels(truth, 60, random_state=0)
    model = PartitionLevelKMeans(3, random_state=0)
    assert cross_validate_statements(model, X, side=side).share_right == 1.0
    noise = np.random.default_rng(0).normal(size=X.shape)
    found = cross_validate_statements(model, noise, side=side)
    assert abs(found.share_right - found.chance) < 3 * found.standard_error + 0.05
    assert f"{found.n_statements} statements held back" in found.in_words()


def test_labels_as_y_are_joined_and_the_model_is_not_changed():
    X, truth = separated()
    y = np.where(np.arange(150) < 60, truth, -1)
    model = PartitionLevelKMeans(3, random_state=0)
    found = cross_validate_statements(model, X, y)
    assert found == cross_validate_statements(model, X, side=SideInformation.from_labels(y))
    assert not hasattr(model, "labels_")


def test_a_model_that_needs_k_keeps_the_number_of_all_classes():
    X, truth = separated()
    y = np.full(150, -1)
    y[[0, 3, 6, 9, 1, 4, 7, 2]] = truth[[0, 3, 6, 9, 1, 4, 7, 2]]  # class 2 has one label
    found = cross_validate_statements(PartitionLevelKMeans(random_state=0), X, y, n_splits=4)
    assert found.share_right == pytest.approx(7 / 8)  # the lone label is held out once, unnamed


def test_labels_of_two_vocabularies_are_judged_in_their_own():
    X, truth = separated()
    first = SideInformation.from_labels(np.where(np.arange(150) < 60, truth, -1), vocabulary="a")
    other = np.array(["x", "y", "z"], dtype=object)[(truth + 1) % 3]
    other[90:] = None
    second = SideInformation.from_labels(other, vocabulary="b")
    found = cross_validate_statements(
        PartitionLevelKMeans(3, random_state=0), X, side=first + second
    )
    assert found.share_right == 1.0


def test_probabilities_get_a_temperature_and_models_without_have_none():
    X, truth = separated(spread=2.5)
    y = np.where(np.arange(150) < 90, truth, -1)
    sure = cross_validate_statements(BayesianMixture(3, random_state=0), X, y)
    assert sure.calibration.n_statements == 90
    assert sure.calibration.log_loss <= sure.calibration.log_loss_before
    assert cross_validate_statements(PartitionLevelKMeans(3), X, y).calibration is None


def test_nothing_to_hold_back_is_said():
    X, _ = separated()
    with pytest.raises(SideInformationError, match="no statements to hold back"):
        cross_validate_statements(PartitionLevelKMeans(3), X)


def naive_share(model, X, side, seed):
    """Statements dealt to five folds one by one, as a split of a list of pairs would."""
    fold = np.random.default_rng(seed).permutation(side.n_statements) % 5
    right = 0
    for k in range(5):
        labels = model.fit(X, side=side.where(fold != k)).labels_
        right += (~side.where(fold == k).violated(labels)).sum()
    return right / side.n_statements


def test_pairs_among_few_rows_do_not_leak():
    """200 pairs among 40 rows: a naive fold asks for what the training pairs imply."""
    X, truth = load_iris(return_X_y=True)
    model = PCKMeans(3, n_init=1, random_state=0)
    naive, ours, true = [], [], []
    for seed in range(100, 112):
        rows = np.random.default_rng(seed).permutation(150)
        some = np.full(150, -1)
        some[rows[:40]] = truth[rows[:40]]
        side = sample_pairs(some, 200, random_state=seed)
        labels = model.fit(X, side=side).labels_
        free = sample_pairs(np.where(some < 0, truth, -1), 2000, random_state=seed)
        true.append(1 - free.violated(labels).mean())
        naive.append(naive_share(model, X, side, seed))
        found = cross_validate_statements(model, X, side=side, random_state=seed)
        ours.append(found.share_right)
    away = np.array(ours) - true
    error = away.std(ddof=1) / np.sqrt(len(away))
    assert error < 0.04
    assert abs(away.mean()) < 3 * error
    assert np.mean(naive) > np.mean(true) + 0.05


@pytest.mark.parametrize("kind", ["clusterer", "classifier", "pipeline"])
def test_any_estimator_of_scikit_learn_can_be_judged(kind):
    X, truth = separated()
    estimator = {
        "clusterer": KMeans(3, n_init=1, random_state=0),
        "classifier": LinearDiscriminantAnalysis(),
        "pipeline": make_pipeline(StandardScaler(), PartitionLevelKMeans(3, random_state=0)),
    }[kind]
    found = cross_validate_statements(estimator, X, np.where(np.arange(150) < 60, truth, -1))
    assert found.share_right == found.score == 1.0
    assert found.n_folds == (1 if kind == "clusterer" else 5)
    assert (found.log_loss is not None) == (kind == "classifier")


def test_what_gives_no_partition_is_refused():
    X, truth = separated()
    with pytest.raises(SidelightError, match="StandardScaler is neither a clusterer nor"):
        cross_validate_statements(StandardScaler(), X, truth)
    one = np.where(truth == 0, 0, -1)
    with pytest.raises(SideInformationError, match="name 1 classes; it needs two"):
        cross_validate_statements(LinearDiscriminantAnalysis(), X, one)


def test_only_musts_or_one_class_are_judged_by_what_they_are():
    X, truth = separated()
    model = PartitionLevelKMeans(3, random_state=0)
    one = np.where((truth == 0) & (np.arange(150) < 60), 0, -1)
    found = cross_validate_statements(model, X, one)
    assert found.score == 1.0
    assert found.in_words().endswith("ask about rows that are apart, or of other classes.")
    musts = sample_pairs(truth, n_must=20, n_cannot=0, random_state=0)
    found = cross_validate_statements(PCKMeans(3, n_init=2, random_state=0), X, side=musts)
    assert found.score == found.share_right == 1.0
    assert "One cluster would keep all of these must-links" in found.in_words()
    both = sample_pairs(truth, n_must=20, n_cannot=20, random_state=0)
    found = cross_validate_statements(PCKMeans(3, n_init=2, random_state=0), X, side=both)
    assert found.in_words().endswith(").")


def test_annotators_who_contradict_each_other_are_judged_one_by_one():
    X, truth = separated()
    y = np.where(np.arange(150) < 45, truth, -1)
    right = SideInformation.from_labels(y, annotator="ann")
    wrong = SideInformation.from_labels(np.where(y >= 0, (y + 1) % 3, -1), annotator="bob")
    both = right + wrong.where(np.arange(wrong.n_statements) % 3 == 0)
    found = cross_validate_statements(BayesianMixture(3, random_state=0), X, side=both)
    shares = {group.annotator: group.share_right for group in found.by_kind_and_annotator}
    assert shares == {"ann": 1.0, "bob": 0.0}
