"""People: how well they answer, how far they agree, and who is asked what."""

import itertools

import numpy as np
import pytest

from sidelight.exceptions import SidelightError
from sidelight.store import Event, replay
from sidelight.web._asking import describe, follow
from sidelight.web._people import agreement


def log(*said):
    """Statements of people: (kind, i, j or class, name), one event each."""
    events = []
    for number, (kind, i, other, name) in enumerate(said):
        about = {"class": [other]} if kind == "label" else {"j": [other]}
        body = {"statements": {"kind": kind, "i": [i], "annotator": name, **about}}
        events.append(Event(number, 0.0, None, "answer", body))
    return replay(events)


def slow_agreement(said):
    """The definition: every two people, everything that both said something of."""
    last = {}
    for one in said:
        if one.kind == "label":
            last[one.annotator, ("row", one.i)] = one.class_
        elif one.kind in ("must", "cannot"):
            last[one.annotator, ("pair", frozenset((one.i, one.j)))] = one.kind
    found = {}
    for (a, item), (b, other) in itertools.permutations(last, 2):
        if a < b and item == other:
            n, same = found.get((a, b), (0, 0))
            found[a, b] = n + 1, same + (last[a, item] == last[b, other])
    return found


def test_two_people_agree_as_often_as_they_say_the_same():
    said = log(
        ("must", 0, 1, "ann"),
        ("must", 1, 0, "bob"),  # the other way round is the same pair
        ("cannot", 2, 3, "ann"),
        ("must", 2, 3, "bob"),
        ("label", 4, "x", "ann"),
        ("label", 4, "y", "bob"),
        ("label", 4, "x", "bob"),  # the last word counts
        ("unsure", 5, 6, "bob"),
        ("must", 5, 6, "ann"),
    )
    assert agreement(said) == [{"first": "ann", "second": "bob", "n": 3, "n_same": 2}]
    assert agreement(said[:1]) == agreement([]) == []


def test_agreement_is_its_definition():
    rng = np.random.default_rng(0)
    said = []
    for _ in range(300):
        name = "abcd"[rng.integers(4)]
        i, j = rng.choice(8, 2, replace=False).tolist()
        if rng.random() < 0.4:
            said.append(("label", i, "xyz"[rng.integers(3)], name))
        else:
            said.append((("must", "cannot", "unsure")[rng.integers(3)], i, j, name))
    found = {
        (one["first"], one["second"]): (one["n"], one["n_same"]) for one in agreement(log(*said))
    }
    assert found == slow_agreement(log(*said))
    assert len(found) == 6


def test_accuracies_come_with_intervals(owner, project, bench):
    brain = follow(None, bench.store, bench.folder, project)
    bench.asking._ready[project] = describe(brain.asker, 6)["questions"]
    for question in owner.ask(project, 6):
        owner.answer(project, [{"question": question["id"], "value": "cannot", "seconds": 2.0}])
    brain = follow(brain, bench.store, bench.folder, project)
    bench.asking._state[project] = describe(brain.asker, 1)
    (ann,) = owner.get(f"projects/{project}/people")["people"]
    low, high = ann["accuracy_interval"]
    assert 0 < low <= ann["accuracy"] <= high < 1
    assert (ann["n_statements"], ann["median_seconds"], ann["cannot_tell"]) == (6, 2.0, 0.0)
    progress = owner.get(f"projects/{project}/progress")
    assert "accuracies" not in progress


def test_who_gets_which_questions_is_the_owners_to_say(owner, as_person, project):
    bob, person = as_person("bob", "annotator")
    at = f"projects/{project}"
    told = owner._http.patch(f"/api/{at}/asking", json={"kinds": {str(person.id): ["label"]}})
    assert {one["name"]: one["kinds"] for one in told.json()["people"]} == {
        "ann": ["pair", "label"],
        "bob": ["label"],
    }
    # Without an asker there are only pairs, which bob does not get.
    assert bob.ask(project, 3) == []
    assert {question["kind"] for question in owner.ask(project, 3)} == {"pair"}
    assert bob._http.patch(f"/api/{at}/asking", json={"second": 0.1}).status_code == 403
    for wrong in ({"kinds": {"99": ["pair"]}}, {"kinds": {str(person.id): []}}, {"second": 2}):
        assert owner._http.patch(f"/api/{at}/asking", json=wrong).status_code == 422


def test_a_share_of_questions_goes_to_two_people_who_do_not_know_it(owner, as_person, project):
    at = f"projects/{project}"
    owner._http.patch(f"/api/{at}/asking", json={"second": 0.5})
    bob, _ = as_person("bob", "annotator")
    cat, _ = as_person("cat", "annotator")

    def answered(client, n, value):
        asked = client.ask(project, n)
        client.answer(project, [{"question": q["id"], "value": value} for q in asked])
        return [tuple(sorted(row["row"] for row in q["rows"])) for q in asked]

    first = answered(owner, 20, "must")
    second = answered(bob, 20, "cannot")
    assert len(set(second)) == 20
    twice = set(first) & set(second)
    assert 3 <= len(twice) <= 17
    third = answered(cat, 20, "must")
    assert not set(third) & twice  # of two people, not of three
    table = owner.get(f"{at}/people")["agreement"]
    assert {"first": "ann", "second": "bob", "n": len(twice), "n_same": 0} in table
    question = bob.ask(project, 1)[0]
    assert set(question) == {"id", "kind", "rows", "classes", "differs"}


def test_questions_answered_once_are_their_definition(bench, project):
    rng = np.random.default_rng(0)
    people = [bench.store.people.add(name, "annotator").id for name in ("ann2", "bob", "cat")]
    answered = {}
    for k in range(120):
        rows = rng.choice(7, 1 if rng.random() < 0.3 else 2, replace=False).tolist()
        person = people[rng.integers(3)]
        question = {"id": f"q{k:03}", "kind": "pair", "i": rows[0], "j": (rows[1:] or [None])[0]}
        bench.store.add_questions(project, [question], asked_of=person)
        if rng.random() < 0.3:
            bench.store.set_question_state(project, [question["id"]], "answered")
            answered.setdefault(tuple(sorted(rows)), []).append((question["id"], person))
    for person in people:
        slow = [
            (said[-1][0], rows)
            for rows, said in answered.items()
            if len({who for _, who in said}) == 1 and said[0][1] != person
        ]
        slow.sort(reverse=True)
        assert slow
        found = bench.store.answered_once(project, not_of=person, limit=1000)
        assert found == slow
        assert bench.store.answered_once(project, not_of=person, limit=2) == slow[:2]


def test_a_waiting_question_of_another_kind_does_not_stand_in_the_way(owner, as_person, project):
    bob, person = as_person("bob", "annotator")
    at = f"projects/{project}"
    owner._http.patch(f"/api/{at}/asking", json={"kinds": {str(person.id): ["pair"]}})
    for said in ({"kind": "label", "rows": [1], "class": "x"}, {"kind": "must", "rows": [2, 3]}):
        event = owner.post(f"{at}/say", said)["events"][0]
        place = {"event": event, "position": 0, "other": True}
        assert owner._http.post(f"/api/{at}/ask-again", json=place).status_code == 204
    (question,) = bob.ask(project, 1)
    assert [row["row"] for row in question["rows"]] == [2, 3]


def test_annotators_see_nothing_of_others(as_person, project):
    bob, _ = as_person("bob", "annotator")
    with pytest.raises(SidelightError, match="may not"):
        bob.get(f"projects/{project}/people")
