"""Published strategies behind the verbs of an asker."""

import numpy as np
import pytest

from sidelight.query import (
    CobraAsker,
    CobrasAsker,
    NeighborhoodAsker,
    Oracle,
    QuestionError,
    RandomAsker,
    simulate,
)


def clouds(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return 6.0 * np.eye(3)[y] + rng.normal(size=(n, 3)), y


X, Y = clouds()
STRATEGIES = {
    "cobra": lambda: CobraAsker(X, n_super=12, random_state=0),
    "cobras": lambda: CobrasAsker(X, random_state=0),
    "consolidate": lambda: NeighborhoodAsker(X, n_clusters=3, rule="consolidate", random_state=0),
    "min-max": lambda: NeighborhoodAsker(X, n_clusters=3, random_state=0),
    "npu": lambda: NeighborhoodAsker(X, n_clusters=3, rule="npu", random_state=0),
    "random": lambda: RandomAsker(X, refit=None, random_state=0),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_right_answers_find_clear_clusters(name):
    curve = simulate(STRATEGIES[name](), Y, budgets=(0, 25))
    assert curve.ari[-1] > 0.9
    pairs = {tuple(sorted(a.question.rows)) for a in curve.asker.answers}
    assert len(pairs) == len(curve.asker.answers)  # no pair twice


@pytest.mark.parametrize("name", ["cobra", "cobras", "min-max", "npu"])
def test_a_log_is_replayed_and_an_answer_taken_back(name):
    asker = simulate(STRATEGIES[name](), Y, budgets=(8,), wrong=0.2, random_state=1).asker
    again = type(asker).from_json(asker.to_json(), X)
    assert again.ask() == asker.ask()
    assert np.array_equal(again.labels, asker.labels)
    back = asker.retract(asker.answers[5].id)
    assert len(back.answers) == 5
    assert back.ask()[0].rows == asker.answers[5].question.rows


def test_two_futures_of_one_asker_do_not_meet():
    asker = STRATEGIES["cobra"]()
    question = asker.ask()[0]
    one, two = asker.answer(question, "must"), asker.answer(question, "cannot")
    labels = one.labels.copy()
    assert two.ask() != []
    assert asker.ask()[0] == question
    assert np.array_equal(one.labels, labels)
    assert one.n_clusters == two.n_clusters - 1


def test_cobra_ends_with_every_pair_of_clusters_known():
    asker = CobraAsker(X, n_super=12, random_state=0)
    oracle = Oracle(Y)
    while asker.ask():
        question = asker.ask()[0]
        asker = asker.answer(question, oracle(question))
    assert asker.n_clusters == 3
    assert len(asker.side.conflicts()) == 0


def test_an_unknown_pair_is_skipped_and_kept_apart():
    asker = CobraAsker(X, n_super=6, random_state=0)
    while asker.ask():
        asker = asker.answer(asker.ask()[0], "cannot_tell")
    assert asker.n_clusters == 6
    assert len(asker.answers) == 15


def test_equal_rows_end_cobras():
    asker = CobrasAsker(np.ones((8, 2)), random_state=0)
    assert asker.ask() == []
    assert asker.n_clusters == 1


def test_another_question_is_refused():
    asker = STRATEGIES["cobra"]()
    question = asker.ask()[0]
    with pytest.raises(QuestionError, match="not the one"):
        asker.answer(question, "must").answer(question, "must")
    with pytest.raises(QuestionError, match="give 'consolidate'"):
        NeighborhoodAsker(X, n_clusters=3, rule="best")
