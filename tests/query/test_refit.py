"""When the partition of the refit is shown, and that it changes no question."""

from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from sidelight.metrics import adjusted_rand
from sidelight.query import Asker, Oracle
from sidelight.query._committee import Facts
from sidelight.query._display import smallest
from sidelight.query._refit import AGREE, is_better, keeps, refit
from sidelight.side import SideInformation


def noise(n=200):
    """Rows that say nothing about their classes, so that chains only know what they were told."""
    rng = np.random.default_rng(4)
    return rng.normal(size=(n, 3)), rng.integers(2, size=n)


X, Y = noise()


class Given(BaseEstimator):
    """A model that returns the partition that it was made with, and counts its fits."""

    fits = 0

    def __init__(self, partition=None):
        self.partition = partition

    def fit(self, X, side):
        Given.fits += 1
        self.labels_, self.objective_ = self.partition, 0.0
        return self


def answered(asker, n):
    oracle = Oracle(Y)
    for _ in range(n):
        question = asker.ask()[0]
        asker = asker.answer(question, oracle(question))
    return asker


def differs(one, other):
    return adjusted_rand(one, other) < AGREE


def annotated_share(asker):
    return len({row for answer in asker.answers for row in answer.question.rows}) / len(Y)


@pytest.fixture(scope="module")
def asked():
    settings = {"kinds": ("pair",), "audit": 0.0, "random_state": 0}
    return answered(Asker(X, refit=Given(Y), **settings), 25), settings


def test_a_refit_that_differs_is_shown_while_few_rows_are_annotated(asked):
    few, _ = asked
    assert annotated_share(few) < 1 / 3
    assert differs(few.own_labels, Y)
    assert np.array_equal(few.labels, Y)


def test_from_a_third_of_the_rows_on_the_chains_are_shown_and_nothing_is_fitted(asked):
    many = answered(asked[0], 75)
    assert annotated_share(many) >= 1 / 3
    before = Given.fits
    assert np.array_equal(many.labels, many.own_labels)
    assert differs(many.own_labels, Y)
    assert Given.fits == before


def test_a_refit_that_is_nearly_the_same_is_not_shown(asked):
    near = asked[0].own_labels.copy()
    near[:2] = near[2:4]
    shown = answered(Asker(X, refit=Given(near), **asked[1]), 25)
    assert not differs(shown.own_labels, near)
    assert np.array_equal(shown.labels, shown.own_labels)


def test_a_refit_that_breaks_many_answers_is_not_shown(asked):
    other = np.full(len(Y), -1)
    for answer in asked[0].answers:  # the opposite of nearly every answer
        i, j = answer.question.rows
        i, j = (i, j) if other[i] >= 0 else (j, i)
        other[i] = max(other[i], 0)
        if other[j] < 0:
            other[j] = 1 - other[i] if answer.value == "must" else other[i]
    other = np.maximum(other, 0)
    shown = answered(Asker(X, refit=Given(other), **asked[1]), 25)
    committee = shown._state.committee
    assert differs(shown.own_labels, other)
    assert keeps(committee, other).mean() < keeps(committee, shown.own_labels).mean() - 0.2
    assert np.array_equal(shown.labels, shown.own_labels)


def committee_of(n_answers, n_lost, n_won):
    """Answers of which one partition breaks some and another partition others, and the two."""
    own = np.arange(4 * n_answers) // (2 * n_answers)  # two halves; answers are about the first
    other = own.copy()
    other[2 * n_answers :: 2] = 2  # differs, where no answer is
    rows = np.arange(2 * n_answers).reshape(-1, 2)
    other[rows[:n_lost, 1]] = 3
    own[rows[n_lost : n_lost + n_won, 1]] = 4
    facts = Facts.of([(i, j, -1, 1, 0, 1.0) for i, j in rows])
    return SimpleNamespace(facts=facts, fact_weight=np.ones(n_answers)), own, other


@pytest.mark.parametrize(
    ("n_answers", "n_lost", "n_won", "is_shown"),
    [
        (12, 5, 0, True),  # p = 2/2^5 = .06, although it is more than a third of the answers
        (12, 6, 0, False),
        (100, 5, 0, True),
        (100, 6, 0, False),  # p = 2/2^6 = .03, although it is few of a hundred
        (50, 8, 1, False),  # p = 2 (1 + 9)/2^9 = .04
        (50, 8, 2, True),  # p = 2 (1 + 10 + 45)/2^10 = .11
        (50, 1, 20, True),  # breaks clearly fewer
    ],
)
def test_a_refit_is_shown_unless_it_clearly_breaks_more_answers(n_answers, n_lost, n_won, is_shown):
    committee, own, other = committee_of(n_answers, n_lost, n_won)
    assert differs(own, other)
    assert (~keeps(committee, other)).sum() == n_lost
    assert (~keeps(committee, own)).sum() == n_won
    assert is_better(committee, own, other) is is_shown


def test_an_answer_that_does_not_count_is_no_evidence():
    committee, own, other = committee_of(50, 8, 0)
    committee.fact_weight[:3] = 0.0  # of an annotator who is not believed
    assert is_better(committee, own, other)


def test_answers_are_kept_by_pairs_and_by_the_best_match_of_names():
    asker = Asker(X, kinds=("pair", "label"), audit=0.0, refit=None, random_state=0)
    asker = answered(asker, 20)
    assert {answer.question.kind for answer in asker.answers} == {"pair", "label"}
    committee = asker._state.committee
    assert keeps(committee, Y).all()
    assert keeps(committee, 1 - Y).all()
    wrong = Y.copy()
    i = asker.answers[0].question.rows[0]
    wrong[i] = 1 - wrong[i]
    broken = sum(
        (wrong[a.question.rows[0]] == wrong[a.question.rows[-1]]) != (a.value == "must")
        if a.question.kind == "pair"
        else wrong[a.question.rows[0]] != a.value
        for a in asker.answers
    )
    assert broken > 0
    assert (~keeps(committee, wrong)).sum() == broken


class Counted(BaseEstimator):
    """A model that keeps the numbers of clusters that it was given."""

    given: ClassVar[list[int]] = []

    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def fit(self, X, side):
        Counted.given.append(self.n_clusters)
        self.labels_, self.objective_ = np.zeros(len(X), dtype=int), 0.0
        return self


@pytest.mark.parametrize(("n_classes", "n_given"), [(2, 3), (5, 5)])
def test_the_refit_has_a_cluster_for_every_class_that_was_named(n_classes, n_given):
    own = np.repeat([0, 1, 2], 40)  # three clusters are shown
    side = SideInformation.from_labels(np.r_[np.arange(n_classes), [-1] * (120 - n_classes)])
    Counted.given.clear()
    refit(Counted(), np.zeros((120, 2)), side, own, 0)
    assert set(Counted.given) == {n_given}


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [([500, 480, 20], 20), ([40] * 25, 20), ([10] * 100, 5), ([10] * 100 + [1] * 50, 5)],
)
def test_a_cluster_needs_two_percent_of_the_rows_or_half_the_mean_of_many(sizes, expected):
    sizes = np.array(sizes, dtype=float)
    assert np.isclose(smallest(sizes), expected, rtol=0.06)  # single rows hardly count


def test_the_refit_has_all_of_many_clusters():
    own = np.repeat(np.arange(60), 10)  # each has 1.7 % of the rows
    own = np.append(own, np.arange(60, 80))  # and some rows stand alone
    Counted.given.clear()
    refit(Counted(), np.zeros((620, 2)), SideInformation.empty(620), own, 0)
    assert set(Counted.given) == {60}


def test_the_refit_changes_no_question(asked):
    without = answered(Asker(X, refit=None, **asked[1]), 25)
    rows = [[answer.question.rows for answer in asker.answers] for asker in (asked[0], without)]
    assert rows[0] == rows[1]
    assert np.array_equal(asked[0].own_labels, without.own_labels)
