"""The asker behind the workbench follows the log, in a process of its own."""

import time

import numpy as np
import pytest

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
    brain = follow(None, bench.store, bench.folder, project)
    owner.post(f"projects/{project}/say", {"kind": "must", "rows": [0, 2]})
    brain = follow(brain, bench.store, bench.folder, project)
    assert brain.asker.answers == ()
    assert len(brain.asker.side.must) == 1


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
