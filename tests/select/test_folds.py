"""Folds: no held-out statement follows from those that stay."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, cross_validate

from sidelight import PartitionLevelKMeans, PCKMeans, SideInformation
from sidelight.exceptions import SideInformationError
from sidelight.select import SideKFold, hold_out
from sidelight.side import sample_labels, sample_pairs

TRUTH = np.arange(120) % 3


def pairs(seed=0, n=150):
    return sample_pairs(TRUTH[:60], n, random_state=seed) + SideInformation.empty(60)


@pytest.mark.parametrize("seed", range(3))
def test_folds_cut_the_annotated_rows(seed):
    side = pairs(seed)
    folds = list(SideKFold(4, random_state=seed).split(side=side))
    said = side.statements
    annotated = np.unique([said.i, said.j])
    held = np.concatenate([test for _, test in folds])
    np.testing.assert_array_equal(np.sort(held), annotated)
    for train, test in folds:
        assert not set(train) & set(test)
        np.testing.assert_array_equal(np.union1d(train, test), np.arange(60))
    sizes = [len(test) for _, test in folds]
    assert max(sizes) <= -(-len(annotated) // 4) + 1


def test_few_pairs_among_many_rows_are_all_held_out_once():
    """Rows that pairs connect share a fold: nothing is lost at the borders."""
    truth = np.arange(400) % 3
    side = sample_pairs(truth, 100, random_state=0)
    held = [hold_out(side, test)[1] for _, test in SideKFold(random_state=0).split(side=side)]
    assert sum(part.n_statements for part in held) == 100
    assert all(15 < part.n_statements < 25 for part in held)


def test_both_kinds_are_held_out_where_must_links_tie_whole_classes():
    some = np.where(np.arange(120) < 30, TRUTH, -1)
    side = sample_pairs(some, 200, random_state=0)
    assert side.only(kind="must").closure().sizes.max() > 30 // 5
    held = [hold_out(side, test)[1] for _, test in SideKFold(random_state=0).split(side=side)]
    assert sum(len(part.cannot) for part in held) > 5
    assert sum(len(part.must) for part in held) > 5


@pytest.mark.parametrize("seed", range(3))
def test_no_held_out_statement_follows_from_those_that_stay(seed):
    side = pairs(seed)
    for _, test in SideKFold(4, random_state=seed).split(side=side):
        kept, held = hold_out(side, test)
        groups = kept.groups()
        assert (groups[held.must[:, 0]] != groups[held.must[:, 1]]).all()
        named = np.unique([kept.statements.i, kept.statements.j])
        assert not set(named) & set(test)


def test_every_class_stays_in_every_training_part():
    labels = sample_labels(TRUTH, 15, random_state=0)
    for _, test in SideKFold(5, random_state=0).split(side=labels):
        kept, held = hold_out(labels, test)
        assert kept.classes == (0, 1, 2)
        assert held.n_statements == 3


def test_the_same_seed_gives_the_same_folds():
    side = pairs()
    once, again, other = (
        [test.tolist() for _, test in SideKFold(random_state=s).split(side=side)] for s in (0, 0, 1)
    )
    assert once == again
    assert once != other


def test_more_folds_than_groups_are_fewer_folds_and_said():
    side = SideInformation.from_pairs(must=[(0, 1), (2, 3)], n_samples=5)
    with pytest.warns(UserWarning, match="5 folds were asked for.*2 groups.*2 folds"):
        assert len(list(SideKFold(5).split(side=side))) == 2


def test_statements_in_one_group_are_refused():
    side = SideInformation.from_pairs(must=[(0, 1), (1, 2)], n_samples=5)
    with pytest.raises(SideInformationError, match="3 rows in 1 group "):
        list(SideKFold().split(side=side))
    with pytest.raises(SideInformationError, match="no statements to split"):
        list(SideKFold().split(np.zeros((4, 1))))
    with pytest.raises(SideInformationError, match="n_splits is 1"):
        SideKFold(1)


def test_scikit_learn_takes_it_as_a_splitter():
    X = np.random.default_rng(0).normal(size=(120, 2)) + 9.0 * np.eye(3)[TRUTH, :2]
    side = sample_labels(TRUTH, 30, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        cv = SideKFold(3, random_state=0).set_split_request(side=True)
        model = PartitionLevelKMeans(3, random_state=0).set_fit_request(side=True)
        found = cross_validate(
            model,
            X,
            cv=cv,
            params={"side": side},
            scoring=lambda fitted, X, y=None: float(fitted.n_clusters_),
        )
    assert found["test_score"].tolist() == [3.0, 3.0, 3.0]


def test_searches_need_no_scoring():
    """The score of a model is that of the statements about the rows of the fold."""
    X = np.random.default_rng(0).normal(size=(120, 2)) + 9.0 * np.eye(3)[TRUTH, :2]
    side = sample_pairs(TRUTH, 90, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = PCKMeans(n_init=2, random_state=0)
        model.set_fit_request(side=True).set_score_request(side=True)
        search = GridSearchCV(
            model,
            {"n_clusters": [2, 3, 5]},
            cv=SideKFold(3, random_state=0).set_split_request(side=True),
        ).fit(X, side=side)
        by_rows = cross_validate(model.set_params(n_clusters=3), X, cv=3, params={"side": side})
    assert search.best_params_ == {"n_clusters": 3}
    assert search.best_score_ == 1.0
    assert by_rows["test_score"].tolist() == [1.0, 1.0, 1.0]


def test_partial_labels_are_scored_as_y():
    X = np.random.default_rng(0).normal(size=(120, 2)) + 9.0 * np.eye(3)[TRUTH, :2]
    model = PartitionLevelKMeans(3, random_state=0).fit(X)
    y = np.where(np.arange(120) < 30, TRUTH, -1)
    assert model.score(X, y) == model.score(X, side=SideInformation.from_labels(y)) == 1.0
    assert model.score(X[:30], (y[:30] + (np.arange(30) < 5)) % 3) < 0.9
    with pytest.raises(SideInformationError, match="nothing to score by.*SideKFold"):
        model.score(X)
    with pytest.raises(SideInformationError, match="about 2 rows and X has 120"):
        model.score(X, side=SideInformation.from_labels([0, 1]))
