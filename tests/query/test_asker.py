"""The verbs of an asker: immutable, replayed bit for bit, and clear about what it cannot take."""

import json
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse

from sidelight import SideInformation
from sidelight.query import Asker, Oracle, Question, QuestionError, simulate, wilson


class Sample(NamedTuple):
    X: np.ndarray
    y: np.ndarray


def three_clouds():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=80)
    return Sample(2.5 * np.eye(3)[y] + 0.6 * rng.normal(size=(80, 3)), y)


SAMPLE = three_clouds()


def fresh(**settings):
    return Asker(SAMPLE.X, **{"random_state": 5, "audit": 0.0, "refit": None} | settings)


def answered(asker, n, oracle=None):
    oracle = oracle or Oracle(SAMPLE.y, wrong=0.1, random_state=1)
    for _ in range(n):
        question = asker.ask()[0]
        asker = asker.answer(question, oracle(question), seconds=1.5)
    return asker


def same(one, other):
    """Whether two askers agree in every bit of what they know."""
    a, b = one._state.committee, other._state.committee
    parts = ("z", "group", "evidence", "accuracy", "step", "doubt")
    assert all(np.array_equal(getattr(a, part), getattr(b, part)) for part in parts)
    assert all(np.array_equal(x, y) for x, y in zip(a.items, b.items, strict=True))
    assert all(np.array_equal(x, y) for x, y in zip(a.facts, b.facts, strict=True))
    assert np.array_equal(one.labels, other.labels)
    assert one.ask(3) == other.ask(3)
    return True


@pytest.fixture(scope="module")
def long():
    return answered(fresh(), 30)


def test_asking_and_answering_change_nothing(long):
    before = long.to_json(), long._state.committee.z.copy()
    question = long.ask()[0]
    assert long.ask()[0] == question
    after = long.answer(question, "cannot_tell")
    assert (long.to_json(), len(after.answers)) == (before[0], 31)
    assert np.array_equal(long._state.committee.z, before[1])


def test_a_replay_gives_the_same_bits(long):
    again = Asker.from_json(long.to_json(), SAMPLE.X)
    assert same(long, again)
    assert again.to_json() == long.to_json()


@pytest.mark.parametrize("k", [29, 26, 3])
def test_a_retraction_leaves_no_trace(long, k):
    without = long.retract(long.answers[k].id)
    book = json.loads(long.to_json())
    del book["answers"][k]
    assert same(without, Asker.from_json(json.dumps(book), SAMPLE.X))
    assert long.answers[k] not in without.answers


def test_undo_gives_the_asker_of_before():
    asker = answered(fresh(), 3)
    question = asker.ask()[0]
    assert same(asker, asker.answer(question, "must").retract(question.id))


def test_other_statements_at_the_start_are_those_of_a_new_asker(long):
    side = SideInformation.from_pairs(must=[(0, 3)], cannot=[(1, 2)], n_samples=80)
    other, new = long.with_side(side), fresh(side=side)
    assert same(other, new)
    assert same(answered(other, 5), answered(new, 5))
    assert len(long.answers) == 30
    with pytest.raises(QuestionError, match="about 3 rows"):
        long.with_side(SideInformation.empty(3))


def test_a_pair_that_somebody_else_has_drawn_is_an_audit(long):
    drawn = long.audit_pair(4, 9)
    assert drawn.audit
    assert drawn.probability == 1 / (80 * 79 / 2)
    after = long.answer(drawn, "must", annotator="ann")
    assert np.array_equal(after.labels, long.labels)
    assert after.stopping.n_audit == 1
    assert same(after.retract(f"{drawn.id}:ann"), long)
    for i, j in ((4, 4), (-1, 3), (4, 80)):
        with pytest.raises(QuestionError, match="two of the 80 rows"):
            long.audit_pair(i, j)


def test_the_order_of_independent_answers_does_not_change_what_was_said():
    asker = fresh()
    one, two = asker.ask(2)
    first = asker.answer(one, "must").answer(two, "cannot")
    second = asker.answer(two, "cannot").answer(one, "must")
    assert first.side.canonical.same_as(second.side.canonical)
    one, two = (np.sort(a._state.committee.facts.i) for a in (first, second))
    assert np.array_equal(one, two)


def test_a_batch_shares_no_item():
    asker = answered(fresh(), 5)
    questions = asker.ask(6)
    others = asker.ask(3, open=questions)
    item_of = asker._state.committee.item_of
    items = [{item_of(row) for row in q.rows} for q in (*questions, *others)]
    assert len(questions) == 6
    assert sum(len(some) for some in items) == len(set.union(*items))


def test_a_batch_of_names_shares_no_item():
    asker = answered(fresh(kinds=("label",)), 4)
    questions = asker.ask(6)
    others = asker.ask(2, open=questions)
    items = [asker._state.committee.item_of(q.rows[0]) for q in (*questions, *others)]
    assert {q.kind for q in (*questions, *others)} == {"label"}
    assert len(set(items)) == len(items) == 8


def test_answers_find_the_clusters():
    asker = answered(fresh(kinds=("pair",)), 20, Oracle(SAMPLE.y))
    assert asker.n_clusters == 3
    assert simulate(asker, SAMPLE.y, budgets=(0,)).ari[0] > 0.95
    assert asker.expected_error.low <= asker.expected_error.value <= asker.expected_error.high
    assert asker.accuracies[None].value > 0.9


def test_labels_name_the_clusters():
    names = np.array(["ant", "bee", "cat"])[SAMPLE.y]
    asker = answered(fresh(), 25, Oracle(names))
    assert {q.kind for q in (a.question for a in asker.answers)} == {"pair", "label"}
    assert sorted(asker.names.values()) == ["ant", "bee", "cat"]
    found = np.array([asker.names[k] for k in asker.labels])
    assert (found == names).mean() > 0.95
    assert asker.side.classes == ("ant", "bee", "cat")


def test_not_a_class_keeps_a_row_away_from_it():
    asker = answered(fresh(kinds=("label",)), 6, Oracle(SAMPLE.y))
    question = asker.ask()[0]
    said = asker.answer(question, "not:1").side.statements
    assert asker.answer(question, "not:1").side.classes == asker.side.classes  # 1, not "1"
    assert said.sign[-1] == -1


def test_audits_measure_and_change_nothing():
    asker = answered(fresh(audit=0.4, kinds=("pair",)), 25, Oracle(SAMPLE.y))
    audits = [a for a in asker.answers if a.question.audit]
    assert 4 <= len(audits) <= 16
    assert len(asker._state.committee.facts.i) == 25 - len(audits)
    assert asker.held_out.n_statements == len(audits)
    stopping = asker.stopping
    assert stopping.n_audit == len(audits)
    assert stopping.accuracy.low <= stopping.accuracy.value <= stopping.accuracy.high
    assert "audit answers" in stopping.sentence
    assert all(0 < a.question.probability < 1e-2 for a in audits)
    shown = audits[0].question.for_annotator()
    assert not {"audit", "prediction", "value"} & set(shown)


def test_audit_estimates_are_unbiased_for_a_fixed_partition():
    """Weighted by 1 / probability, audits of a partition recover its error."""
    asker = fresh(audit=0.9999, kinds=("pair",))
    labels, y = asker.labels, SAMPLE.y
    together = (y[:, None] == y)[np.triu_indices(80, 1)]
    ours = (labels[:, None] == labels)[np.triu_indices(80, 1)]
    total, right = 0.0, 0.0
    for seed in range(300):
        asker.seed = seed
        question = asker.ask()[0]
        i, j = question.rows
        total += 1 / question.probability
        right += ((labels[i] == labels[j]) == (y[i] == y[j])) / question.probability
    assert abs(right / total - (together == ours).mean()) < 0.05


def test_wilson_is_the_published_interval():
    assert np.allclose(wilson(0.5, 10), (0.5, 0.2366, 0.7634), atol=1e-4)
    assert wilson(1.0, 5).high == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a, q: a.answer(Question("x", "pair", (0, 1)), "must"), "was not asked"),
        (lambda a, q: a.answer(q, "must").answer(q, "must"), "has the answer 'must' already"),
        (lambda a, q: a.answer(q, "yes"), "takes 'must', 'cannot'"),
        (lambda a, q: a.answer(q, ["must"]), "takes 'must', 'cannot'"),
        (lambda a, q: a.answer(None, "must"), "the question is None"),
        (lambda a, q: a.answer(q.to_dict() | {"rows": 3}, "must"), "are not lists"),
        (lambda a, q: a.answer(q.to_dict() | {"rows": ["a"]}, "must"), "are not lists"),
        (lambda a, q: a.answer(q.to_dict() | {"rows": [0, 1]}, "must"), "was not asked"),
        (lambda a, q: a.answer({"id": q.id}, "must"), "wrong or missing"),
        (lambda a, q: a.answer(q.id, "must"), "give a Question from ask"),
        (lambda a, q: a.answer(q, "must", annotator=""), "the annotator is ''"),
        (lambda a, q: a.answer(q, "must", annotator=3), "the annotator is 3"),
        (lambda a, q: a.answer(q, "must", seconds="3 s"), "seconds is '3 s'"),
        (lambda a, q: a.answer(q, "must", seconds=float("nan")), "seconds is nan"),
        (lambda a, q: a.answer(q, "must", seconds=-1.0), "seconds is -1.0"),
        (lambda a, q: a.retract("nothing"), "no answer has the id"),
        (lambda a, q: a.ask(0), "1 or more"),
        (lambda a, q: a.ask(kinds=("triple",)), "'pair' and 'label'"),
        (lambda a, q: fresh(audit=2), "share of questions"),
        (lambda a, q: fresh(annotators={"ann": -1}), "above zero"),
        (lambda a, q: fresh(side=SideInformation.empty(3)), "about 3 rows"),
        (lambda a, q: Asker(SAMPLE.X[:1]), "at least two rows"),
        (lambda a, q: fresh(refit="Nothing"), "Nothing"),
        (lambda a, q: simulate(a, SAMPLE.y, budgets=()), "numbers of answers"),
        (lambda a, q: simulate(a, SAMPLE.y, budgets=(-1, 3)), "numbers of answers"),
        (lambda a, q: Asker.from_json("{}", SAMPLE.X), "not a log"),
        (lambda a, q: Asker.from_json(a.to_json(), SAMPLE.X + 1), "about other data"),
    ],
)
def test_what_cannot_be_taken_is_said_clearly(change, message):
    asker = fresh()
    with pytest.raises(ValueError, match=message):
        change(asker, asker.ask()[0])


def test_a_class_must_be_a_name():
    asker = fresh(kinds=("label",))
    for value in ("", "must", "not:", 1.5, True, None, np.array([1, 2])):
        with pytest.raises(QuestionError, match="name of a class"):
            asker.answer(asker.ask()[0], value)


def test_a_class_may_come_from_an_array():
    asker = fresh(kinds=("label",))
    question = asker.ask()[0]
    for given, plain in ((np.int64(2), 2), (np.array(["bee"])[0], "bee")):
        after = asker.answer(question, given)
        assert type(after.answers[0].value) is type(plain)
        assert after.answers[0].value == plain
        assert after.to_json() == asker.answer(question, plain).to_json()


def test_a_log_is_replayed_with_the_statements_of_its_start():
    side = SideInformation.from_pairs(must=[(0, 3)], cannot=[(1, 2)], n_samples=80)
    asker = answered(fresh(side=side), 2)
    assert same(asker, Asker.from_json(asker.to_json(), SAMPLE.X, side=side))
    other = SideInformation.from_pairs(must=[(0, 4)], n_samples=80)
    for wrong in (None, other):
        with pytest.raises(QuestionError, match="other statements at the start"):
            Asker.from_json(asker.to_json(), SAMPLE.X, side=wrong)
    book = json.loads(asker.to_json())
    del book["side"]  # an older log
    assert same(asker, Asker.from_json(json.dumps(book), SAMPLE.X, side=side))


def until_nothing_is_left(asker, oracle, most=200):
    while questions := asker.ask():
        asker = asker.answer(questions[0], oracle(questions[0]))
        assert len(asker.answers) <= most
    assert asker.stopping.sentence.startswith("Nothing is left to ask.")
    assert asker.stopping.next_ten == 0
    return asker


@pytest.mark.parametrize("rows", [np.array([[0.0], [1.0]]), np.ones((2, 1))])
@pytest.mark.parametrize(("kinds", "n"), [(("pair",), 1), (("label",), 2), (("pair", "label"), 1)])
def test_two_rows_are_asked_about_once(rows, kinds, n):
    done = until_nothing_is_left(Asker(rows, kinds=kinds, random_state=0), Oracle([0, 1]))
    assert len(done.answers) == n
    assert done.labels.shape == (2,)
    assert "Nothing" not in done.retract(done.answers[0].id).stopping.sentence


@pytest.mark.parametrize("audit", [0.0, 0.1])
def test_every_pair_is_asked_once_until_nothing_is_left(audit):
    rows, truth = SAMPLE.X[:9], SAMPLE.y[:9]
    asker = Asker(rows, kinds=("pair",), audit=audit, random_state=0)
    done = until_nothing_is_left(asker, Oracle(truth))
    pairs = {tuple(sorted(a.question.rows)) for a in done.answers}
    assert len(pairs) == len(done.answers) == 36


@pytest.mark.parametrize("kinds", [("pair",), ("label",), ("pair", "label")])
def test_equal_rows_can_be_asked_about(kinds):
    asker = Asker(np.ones((20, 2)), kinds=kinds, random_state=0)  # with audits and the refit
    for _ in range(30):
        questions = asker.ask()
        if not questions:
            break
        asker = asker.answer(questions[0], Oracle(np.arange(20) % 2)(questions[0]))
    assert len(asker.answers) == (20 if kinds == ("label",) else 30)
    assert asker.labels.shape == (20,)
    assert asker.stopping.sentence


@pytest.mark.parametrize("kinds", [("pair",), ("label",), ("pair", "label")])
def test_disconnected_graphs_can_be_asked_about(kinds):
    block = np.ones((6, 6)) - np.eye(6)
    graph = sparse.csr_array(sparse.block_diag([block, block, np.zeros((2, 2))]))
    asker = Asker(graph, kinds=kinds, random_state=0)
    asker = answered(asker, 12, Oracle(np.repeat([0, 1, 2], [6, 6, 2])))
    assert len(np.unique(asker.labels[:6])) == 1
    assert asker.labels[0] != asker.labels[6]


def test_a_graph_without_edges_can_be_asked_about():
    asker = Asker(sparse.csr_array((8, 8)), kinds=("pair",), random_state=0)
    done = until_nothing_is_left(asker, Oracle(np.arange(8) % 2))
    assert len(done.answers) == 28


def test_contradictions_at_the_start_are_tolerated():
    pairs = SideInformation.from_pairs(must=[(0, 1), (1, 2)], cannot=[(0, 2)], n_samples=80)
    labels = SideInformation.from_labels(
        np.where(np.arange(80) < 3, ["a", "b", "a"] + ["c"] * 77, None)
    )
    asker = fresh(side=pairs + labels)
    assert len(asker.side.conflicts()) > 0
    assert asker.ask()[0].rows
    assert answered(asker, 3).labels.shape == (80,)
