"""The asker behind the workbench follows the log, in a process of its own."""

import time

import numpy as np
import pytest

from sidelight.web import _asking as module
from sidelight.web._asking import Asking, describe, follow, random_pairs, statements_of_answer


def test_an_asker_that_follows_is_the_one_that_is_built_anew(owner, project, bench, as_person):
    person = as_person("bob", "annotator")[1]
    brain = follow(None, bench.store, bench.folder, project)
    for k in range(4):
        for question in describe(brain.asker, 2)["questions"]:
            bench.asking._ready[project] = [question]
            (asked,) = bench.ask(project, person)
            assert asked["asked"] == question
            value = "must" if sum(asked["rows"]) % 2 == 0 else "cannot"
            value = value if asked["kind"] == "pair" else "cannot_tell"
            bench.answer(project, person, [{"question": asked["id"], "value": value}])
        brain = follow(brain, bench.store, bench.folder, project)
        assert len(brain.asker.answers) == 2 * (k + 1)
    anew = follow(None, bench.store, bench.folder, project)
    assert anew.asker.to_json() == brain.asker.to_json()
    assert (anew.asker.labels == brain.asker.labels).all()
    first = bench.store.events(project)[0]
    bench.retract(project, person, event=first.id)
    after = follow(brain, bench.store, bench.folder, project)
    assert len(after.asker.answers) == 7
    assert after.asker.side == brain.asker.retract(brain.asker.answers[0].id).side


def test_what_nobody_was_asked_is_given_at_the_start(owner, project, bench):
    brain = follow(None, bench.store, bench.folder, project)._replace(rested=0.0)
    owner.post(f"projects/{project}/say", {"kind": "must", "rows": [0, 2]})
    brain = follow(brain, bench.store, bench.folder, project)
    assert brain.asker.answers == ()
    assert len(brain.asker.side.must) == 1


@pytest.fixture
def n_built(monkeypatch):
    """How many askers were built since."""
    built = []
    once = module._built
    monkeypatch.setattr(module, "_built", lambda *a: built.append(1) or once(*a))
    return lambda: len(built)


def ask_and_answer(bench, project, person, ready=()):
    """One question, of those that are ready or drawn at random; returns its event."""
    bench.asking._ready[project] = list(ready)
    (asked,) = bench.ask(project, person)
    value = "cannot" if asked["kind"] == "pair" else "a"
    return bench.answer(project, person, [{"question": asked["id"], "value": value}])[0]


def test_random_pairs_and_undo_are_told_and_need_no_other_asker(project, bench, as_person, n_built):
    person = as_person("bob", "annotator")[1]
    brain = follow(None, bench.store, bench.folder, project)
    events = []
    for _ in range(3):
        events.append(ask_and_answer(bench, project, person))  # drawn: nothing is ready
        ready = describe(brain.asker, 1)["questions"]
        events.append(ask_and_answer(bench, project, person, ready))
        brain = follow(brain, bench.store, bench.folder, project)
    assert [a.question.audit for a in brain.asker.answers][::2] == [True] * 3
    bench.retract(project, person, event=events[0].id)
    bench.retract(project, person, event=events[3].id)
    brain = follow(brain, bench.store, bench.folder, project)
    assert n_built() == 1
    assert len(brain.asker.answers) == 4
    anew = follow(None, bench.store, bench.folder, project)
    assert anew.asker.to_json() == brain.asker.to_json()
    assert (anew.asker.labels == brain.asker.labels).all()
    assert anew.side == brain.side == bench.store.side(project)


def test_a_second_opinion_is_told_to_the_asker_that_asked(project, bench, as_person, n_built):
    bob, eve = as_person("bob", "annotator")[1], as_person("eve", "annotator")[1]
    bench.change_asking(project, kinds=None, second=1.0)
    brain = follow(None, bench.store, bench.folder, project)
    ask_and_answer(bench, project, bob, describe(brain.asker, 1)["questions"])
    second = ask_and_answer(bench, project, eve)
    assert bench.store.question(project, second.body["question"])["body"]["second"]
    brain = follow(brain, bench.store, bench.folder, project)
    assert [a.annotator for a in brain.asker.answers] == ["bob", "eve"]
    assert n_built() == 1


def test_builds_rest_and_nothing_is_forgotten(owner, project, bench, as_person, n_built):
    person = as_person("bob", "annotator")[1]
    brain = follow(None, bench.store, bench.folder, project)._replace(rested=float("inf"))
    owner.post(f"projects/{project}/say", {"kind": "must", "rows": [0, 2]})
    ask_and_answer(bench, project, person, describe(brain.asker, 1)["questions"])
    brain = follow(brain, bench.store, bench.folder, project)
    assert (n_built(), brain.stale, len(brain.asker.answers)) == (1, True, 1)
    assert len(brain.side.must) == 1  # what follows from it is known at once
    brain = follow(brain._replace(rested=0.0), bench.store, bench.folder, project)
    assert (n_built(), brain.stale, len(brain.asker.answers)) == (2, False, 1)
    assert brain.rested > time.monotonic() - 1
    assert len(brain.asker._given.must) == 1


def test_of_many_answers_the_oldest_are_given(project, bench, as_person, monkeypatch):
    monkeypatch.setattr(module, "MOST_TOLD", 2)
    person = as_person("bob", "annotator")[1]
    brain = follow(None, bench.store, bench.folder, project)
    events = [ask_and_answer(bench, project, person)]  # drawn
    for _ in range(6):
        ready = describe(brain.asker, 3)["questions"]
        events.append(ask_and_answer(bench, project, person, ready))
        brain = follow(brain, bench.store, bench.folder, project)
    old = [event for event in events[:-2] if not module._is_audit(event)]
    assert old
    anew = follow(None, bench.store, bench.folder, project)
    assert anew.asker._given.n_statements == len(old)
    assert len(anew.asker.answers) == len(events) - len(old)
    assert anew.asker.answers[0].question.audit
    assert anew.side == brain.side
    # One that was given can be taken back too.
    bench.retract(project, person, event=old[0].id)
    after = follow(anew._replace(rested=0.0), bench.store, bench.folder, project)
    assert after.asker._given.n_statements == len(old) - 1


def test_questions_keep_away_from_those_that_are_open(project, bench, as_person):
    person = as_person("bob", "annotator")[1]
    asker = follow(None, bench.store, bench.folder, project).asker
    bench.asking._ready[project] = describe(asker, 3)["questions"]
    held = bench.ask(project, person, n=3)
    rows = module.open_rows(bench.store, project)
    assert sorted(rows) == sorted(tuple(question["rows"]) for question in held)
    new = [row for q in describe(asker, 3, rows)["questions"] for row in q["rows"]]
    assert not set(new) & {row for pair in rows for row in pair}


def test_questions_are_kept_ready_by_the_process(owner, project, bench):
    asking = Asking(bench.store, bench.settings.store_address, str(bench.folder.root))
    asking.start()
    try:
        asking.refresh(project)
        end = time.monotonic() + 120
        while not asking.state(project) and time.monotonic() < end:
            time.sleep(0.05)
        state = asking.state(project)
        assert state["stopping"]["sentence"]
        assert 0 <= state["expected_error"][0] <= 1
        assert np.frombuffer(state["labels"], dtype=np.int32).shape == (40,)
        taken = asking.take(project, 3, kinds=("pair",), busy=set(), seen=set())
        assert len(taken) == 3
        rows = [row for question in taken for row in question["rows"]]
        assert len(set(rows)) == len(rows)  # nobody else has them
        again = asking.take(project, 50, kinds=("pair",), busy=set(rows), seen=set())
        assert not {row for question in again for row in question["rows"]} & set(rows)
    finally:
        asking.stop()


def test_random_pairs_are_new_and_never_endless():
    seen = {(0, 1)}
    assert random_pairs(2, 3, seed=0, seen=seen) == []
    found = random_pairs(10, 5, seed=[1, 2], seen=set())
    assert len({tuple(question["rows"]) for question in found}) == 5
    assert all(question["audit"] for question in found)


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("pair", "must", {"kind": "must", "i": [3], "j": [4]}),
        ("pair", "cannot_tell", {"kind": "unsure", "i": [3], "j": [4]}),
        ("label", "cat", {"kind": "label", "i": [3], "class": "cat"}),
        ("label", "not:cat", {"kind": "not_label", "i": [3], "class": "cat"}),
        ("label", "cannot_tell", {"kind": "unsure", "i": [3]}),
    ],
)
def test_an_answer_becomes_a_statement(kind, value, said):
    question = {"kind": kind, "rows": [3, 4] if kind == "pair" else [3]}
    assert statements_of_answer(question, value, "ann") == said | {"annotator": "ann"}
