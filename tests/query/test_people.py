"""Several annotators, what they cost, what they cannot tell, and programs among them."""

import sys

import numpy as np
import pytest

from sidelight.datasets import make_blobs
from sidelight.query import Asker, Oracle, Program, QuestionError, converse


def clouds(n=90, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return 2.2 * np.eye(3)[y] + 0.6 * rng.normal(size=(n, 3)), y


X, Y = clouds()
ECHO = """
import json, sys
for line in sys.stdin:
    question = json.loads(line)
    assert "prediction" not in question and "audit" not in question
    value = {value!r}
    print(json.dumps({{"id": question["id"], "value": value}}), flush=True)
"""


def team(**costs):
    settings = {"kinds": ("pair",), "audit": 0.0, "refit": None, "random_state": 2}
    return Asker(X, annotators=costs, **settings)


def program(value="must"):
    return Program([sys.executable, "-c", ECHO.format(value=value)])


@pytest.fixture(scope="module")
def mixed():
    people = {
        "sure": Oracle(Y, random_state=1),
        "fair": Oracle(Y, wrong=0.15, random_state=2),
        "poor": Oracle(Y, wrong=0.4, random_state=3),
    }
    return converse(team(sure=1.0, fair=1.0, poor=1.0), people, n_answers=90)


def test_better_annotators_are_found_and_asked_more(mixed):
    accuracy = mixed.accuracies
    assert accuracy["sure"].value > accuracy["poor"].value
    asked = [answer.annotator for answer in mixed.answers]
    assert asked.count("sure") > asked.count("poor")
    assert all(low <= value <= high for value, low, high in accuracy.values())


def test_nobody_is_asked_the_same_twice_but_a_second_opinion_may_be_asked(mixed):
    asked = [(a.annotator, frozenset(a.question.rows)) for a in mixed.answers]
    assert len(set(asked)) == len(asked)
    second = [a for a in mixed.answers if a.question.reason.startswith("a second opinion")]
    assert second
    for answer in second:
        others = [a for a in mixed.answers if set(a.question.rows) == set(answer.question.rows)]
        assert len({a.annotator for a in others}) == len(others) >= 2


def test_a_cheap_annotator_is_asked_more():
    people = {"dear": Oracle(Y), "cheap": Oracle(Y)}
    asker = converse(team(dear=50.0, cheap=1.0), people, n_answers=15)
    asked = [answer.annotator for answer in asker.answers]
    assert asked.count("cheap") > asked.count("dear")


def test_a_budget_is_kept():
    asker = converse(team(one=2.0), {"one": Oracle(Y)}, budget=9.0)
    assert len(asker.answers) == 4


def test_a_batch_for_several_people_shares_no_item(mixed):
    questions = mixed.ask(6)
    others = mixed.ask(2, annotator="fair", open=questions)
    item_of = mixed._state.committee.item_of
    items = [{item_of(row) for row in q.rows} for q in (*questions, *others)]
    assert len(questions) == 6
    assert {q.annotator for q in questions} <= {"sure", "fair", "poor"}
    assert [q.annotator for q in others] == ["fair", "fair"]
    assert sum(len(some) for some in items) == len(set.union(*items))


def test_a_program_has_its_price():
    """A dear expert is asked less than a cheap program, and all together stay in the budget."""
    with program("must") as answering:
        asker = converse(
            team(expert=20.0, robot=1.0), {"expert": Oracle(Y), "robot": answering}, budget=30.0,
            batch=3,
        )  # fmt: skip
    asked = [answer.annotator for answer in asker.answers]
    spent = 20 * asked.count("expert") + asked.count("robot")
    assert 20 < spent <= 30
    assert asked.count("robot") > asked.count("expert")


def test_what_a_person_cannot_tell_is_not_asked_of_them_again():
    asker = team(ann=1.0, bob=1.0)
    question = asker.ask(annotator="ann")[0]
    after = asker.answer(question, "cannot_tell")
    assert np.array_equal(after._state.committee.z, asker._state.committee.z)  # it says nothing
    asked = {frozenset(q.rows) for q in after.ask(20, annotator="ann")}
    assert frozenset(question.rows) not in asked
    assert after.ask(annotator="bob")[0].rows == question.rows
    assert after.side.statements.kind[-1] == 2  # unsure


def test_a_process_answers_in_batches():
    with program("cannot") as answering:
        asker = converse(team(robot=1.0), {"robot": answering}, n_answers=6, batch=4)
    assert [answer.value for answer in asker.answers] == ["cannot"] * 6


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print('hello', flush=True); input()", "an answer is a line"),
        ("pass", "ended"),
        ("import time; time.sleep(30)", "took more than"),
    ],
)
def test_a_process_that_misbehaves_is_named(code, message):
    with (
        Program([sys.executable, "-c", code], timeout=1.0) as answering,
        pytest.raises(QuestionError, match=message),
    ):
        converse(team(robot=1.0), {"robot": answering}, n_answers=1)


def test_programs_that_cannot_be_started_or_are_unknown():
    with pytest.raises(QuestionError, match="cannot be started"), Program(["/no/such/program"]):
        pass
    with pytest.raises(QuestionError, match="no program answers for 'ann'"):
        converse(team(ann=1.0), {"bob": Oracle(Y)}, n_answers=1)
    with pytest.raises(QuestionError, match="n_answers is 0"):
        converse(team(ann=1.0), {"ann": Oracle(Y)}, n_answers=0)
    with pytest.raises(QuestionError, match="budget is nan"):
        converse(team(ann=1.0), {"ann": Oracle(Y)}, budget=float("nan"))
    with pytest.raises(QuestionError, match="how long"):
        converse(team(ann=1.0), {"ann": Oracle(Y)})


def test_right_names_are_believed_where_a_class_lies_in_two_clusters():
    sample = make_blobs(160, 2, 4, separation=4.0, random_state=0)
    truth = np.array(["a", "b"])[sample.y % 2]
    asker = Asker(sample.X, kinds=("label",), audit=0.0, refit=None, random_state=0)
    oracle = Oracle(truth, random_state=0)
    for _ in range(40):
        question = asker.ask()[0]
        asker = asker.answer(question, oracle(question))
    assert asker.accuracies[None].value > 0.88
