"""Published strategies behind the verbs of an asker."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from sidelight.query import (
    CobraAsker,
    CobrasAsker,
    NeighborhoodAsker,
    Oracle,
    QuestionError,
    RandomAsker,
    converse,
    simulate,
)
from sidelight.query._machines import Board, _Forest


def clouds(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return 6.0 * np.eye(3)[y] + rng.normal(size=(n, 3)), y


X, Y = clouds()


def neighborhoods(rows, rule):
    return NeighborhoodAsker(rows, n_clusters=3, rule=rule, random_state=0)


STRATEGIES = {
    "cobra": lambda rows=X: CobraAsker(rows, n_super=12, random_state=0),
    "cobras": lambda rows=X: CobrasAsker(rows, random_state=0),
    "consolidate": lambda rows=X: neighborhoods(rows, "consolidate"),
    "min-max": lambda rows=X: neighborhoods(rows, "min-max"),
    "npu": lambda rows=X: neighborhoods(rows, "npu"),
    "random": lambda rows=X: RandomAsker(rows, refit=None, random_state=0),
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


@pytest.mark.parametrize(
    "rows", [np.ones((8, 2)), np.ones((2, 2)), X[:2]], ids=["equal", "two equal", "two"]
)
@pytest.mark.parametrize("name", STRATEGIES)
def test_equal_rows_and_two_rows_are_asked_about_until_nothing_is_left(name, rows):
    asker = STRATEGIES[name](rows)
    truth = np.arange(len(rows)) % 2
    done = simulate(asker, truth, budgets=(60,)).asker
    assert done.ask() == []
    assert done.labels.shape == (len(rows),)


def npu_by_definition(X, n_clusters, seed, truth, n_answers):
    """NPU with a new fit and a new forest for every row: the pairs, in their order."""
    board, pairs = Board(X, seed), []
    asker = NeighborhoodAsker(X, n_clusters=n_clusters, rule="npu", random_state=seed)
    groups = [[int(board.rng.integers(len(X)))]]
    tried = {groups[0][0]}
    while len(pairs) < n_answers:
        labels = asker._fit(board)
        forest = RandomForestClassifier(50, random_state=board.seed).fit(X, labels)
        leaf = forest.apply(X)
        like = np.column_stack(
            [np.mean([(leaf == leaf[k]).mean(axis=1) for k in group], axis=0) for group in groups]
        )
        total = like.sum(axis=1, keepdims=True)
        P = np.divide(like, total, out=np.full_like(like, 1 / len(groups)), where=total > 0)
        entropy = -(P * np.log(np.maximum(P, 1e-12))).sum(axis=1)
        worth = entropy / (-np.sort(-P, axis=1) * np.arange(1, len(groups) + 1)).sum(axis=1)
        worth[list(tried)] = -1.0
        row = int(board.rng.choice(np.flatnonzero(worth >= worth.max() - 1e-12)))
        tried.add(row)
        home = None
        for k in np.argsort(-P[row], kind="stable"):
            pair = (min(row, groups[k][0]), max(row, groups[k][0]))
            board.known[pair] = bool(truth[row] == truth[groups[k][0]])
            pairs.append(pair)
            if board.known[pair]:
                home = groups[k]
                break
        if home is None:
            groups.append(home := [])
        home.append(row)
    return pairs[:n_answers]


def test_npu_asks_what_its_definition_asks():
    rng = np.random.default_rng(3)
    rows, truth = rng.normal(size=(50, 3)) + 1.5 * np.eye(3)[np.arange(50) % 3], np.arange(50) % 3
    asker = NeighborhoodAsker(rows, n_clusters=3, rule="npu", random_state=1)
    asker = simulate(asker, truth, budgets=(30,)).asker
    asked = [answer.question.rows for answer in asker.answers]
    assert asked == npu_by_definition(rows, 3, asker.seed, truth, 30)


def test_a_forest_grows_once_for_the_same_clusters(monkeypatch):
    grown = []
    fit = RandomForestClassifier.fit
    monkeypatch.setattr(
        RandomForestClassifier, "fit", lambda *given: grown.append(1) or fit(*given)
    )
    forest = _Forest(Board(X, 0))
    one, again = forest.leaves(Y), forest.leaves(Y.copy())
    assert np.array_equal(one, again)
    assert len(grown) == 1
    other = forest.leaves(1 - np.minimum(Y, 1))
    assert len(grown) == 2
    assert not np.array_equal(one, other)


def test_the_clusters_of_an_answer_are_computed_once(monkeypatch):
    fits = []
    fit = NeighborhoodAsker._fit
    monkeypatch.setattr(
        NeighborhoodAsker, "_fit", lambda asker, board: fits.append(1) or fit(asker, board)
    )
    asker = simulate(STRATEGIES["npu"](), Y, budgets=(12,)).asker
    rows = {row for answer in asker.answers for row in answer.question.rows}
    assert len(fits) <= len(rows) + 1
    before = len(fits)
    again = NeighborhoodAsker.from_json(asker.to_json(), X)
    assert np.array_equal(again.labels, asker.labels)
    assert len(fits) > before


@pytest.mark.parametrize("name", STRATEGIES)
def test_what_a_strategy_cannot_take_is_said_clearly(name):
    asker = STRATEGIES[name]()
    with pytest.raises(QuestionError, match="1 or more"):
        asker.ask(0)
    assert asker.ask(kinds=("label",)) == []
    with pytest.raises(QuestionError, match="takes 'must'"):
        asker.answer(asker.ask()[0], "yes")
    with pytest.raises(QuestionError, match="seconds is -1"):
        asker.answer(asker.ask()[0], "must", seconds=-1)


def test_settings_that_are_no_numbers_are_named():
    with pytest.raises(QuestionError, match="n_super is 0"):
        CobraAsker(X, n_super=0)
    with pytest.raises(QuestionError, match="n_clusters is 'three'"):
        NeighborhoodAsker(X, n_clusters="three")
    asker = NeighborhoodAsker(X, n_clusters=np.int64(3), random_state=0)
    assert NeighborhoodAsker.from_json(asker.to_json(), X).ask() == asker.ask()


def test_random_pairs_are_given_to_all_annotators():
    people = {"ann": Oracle(Y), "bob": Oracle(Y)}
    asker = converse(RandomAsker(X, annotators=list(people), random_state=0), people, n_answers=12)
    assert {answer.annotator for answer in asker.answers} == {"ann", "bob"}
    waiting = asker.ask(3)
    after = asker.ask(2, open=iter(waiting))
    assert not {q.rows for q in after} & {q.rows for q in waiting}
    assert min(q.slot for q in after) == 15
