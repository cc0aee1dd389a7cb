"""The table of statements is what the log says, whatever order things happen in."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidelight import SideInformation
from sidelight.exceptions import SidelightError
from sidelight.store import Entry, Store, as_side, from_side, replay

N = 12


@pytest.fixture
def project(store):
    return store.create_project("p", n_rows=N).id


def answer(kind="must", i=0, j=1, class_=None, **more):
    body = {"statements": {"kind": [kind], "i": [i], "j": [j], "class": [class_]}}
    body["statements"] |= {name: [value] for name, value in more.items()}
    return body


def bulk(class_, rows):
    return {"statements": {"kind": "label", "i": list(rows), "class": class_}}


rows = st.integers(0, N - 1)
classes = st.sampled_from(["cat", "dog", "3", 3])
pairs = st.tuples(rows, rows).filter(lambda p: p[0] != p[1])
steps = st.one_of(
    st.builds(
        lambda kind, p, who: ("answer", answer(kind, *p, annotator=who)),
        st.sampled_from(["must", "cannot", "unsure"]),
        pairs,
        st.sampled_from([None, "ann", "bob"]),
    ),
    st.builds(
        lambda kind, i, c: ("answer", answer(kind, i, None, c)),
        st.sampled_from(["label", "not_label"]),
        rows,
        classes,
    ),
    st.builds(lambda c, some: ("bulk", bulk(c, some)), classes, st.sets(rows, min_size=1)),
    st.builds(
        lambda a, b: ("rename", {"class": a, "to": b}),
        classes,
        st.sampled_from(["cat", "cow", "dog", 3]),
    ).filter(lambda s: json.dumps(s[1]["class"]) != json.dumps(s[1]["to"])),
    st.tuples(st.just("retract"), st.integers(0, 30)),
    st.tuples(st.just("retract part"), st.integers(0, 30)),
)


def play(store, project, script):
    """Append a script to a log; a retraction names an earlier step by its number."""
    done = []
    for kind, what in script:
        if not kind.startswith("retract"):
            done.append(store.append(project, kind, what))
            continue
        if not done:
            continue
        target = done[what % len(done)]
        body = {}
        if kind == "retract part":
            if target.kind not in ("answer", "bulk"):
                continue
            body = {"positions": [what % len(target.body["statements"]["i"])]}
        done.append(store.append(project, "retract", body, parent=target.id))
    return done


@settings(max_examples=40, deadline=None)
@given(script=st.lists(steps, max_size=25))
def test_the_table_of_statements_is_what_the_log_says(tmp_path_factory, script):
    store = Store(tmp_path_factory.mktemp("store") / "s.db")
    project = store.create_project("p", n_rows=N).id
    other = store.create_project("another", n_rows=N).id
    store.append(other, "bulk", bulk("cat", [0, 1]))
    untouched = store.statements(other)
    events = play(store, project, script)
    kept = store.statements(project)
    assert kept == replay(store.events(project))
    store.rebuild(project)
    assert store.statements(project) == kept
    assert store.statements(other) == untouched
    for event in events[::5]:  # what was in force then is still known
        before = as_side(
            [
                one
                for one in replay(e for e in store.events(project) if e.id <= event.id)
                if one.retracted_by is None
            ],
            N,
        )
        assert store.side(project, at_event=event.id) == before
    store.close()


def in_force(store, project):
    return [(s.kind, s.i, s.j, s.class_) for s in store.statements(project, retracted=False)]


def test_undo_of_undo_of_undo(store, project):
    said = store.append(project, "answer", answer())
    state = [in_force(store, project)]
    last = said
    for _ in range(3):
        last = store.append(project, "retract", {}, parent=last.id)
        state.append(in_force(store, project))
    assert state == [[("must", 0, 1, None)], [], [("must", 0, 1, None)], []]


def test_two_retractions_and_one_is_taken_back(store, project):
    said = store.append(project, "answer", answer())
    first = store.append(project, "retract", {}, parent=said.id)
    second = store.append(project, "retract", {}, parent=said.id)
    assert store.statements(project)[0].retracted_by == first.id
    store.append(project, "retract", {}, parent=first.id)
    assert store.statements(project)[0].retracted_by == second.id


def test_a_bulk_label_is_one_undo_and_one_of_its_rows_can_go_alone(store, project):
    event = store.append(project, "bulk", bulk("cat", range(5)))
    store.append(project, "retract", {"positions": [2]}, parent=event.id)
    assert [s[1] for s in in_force(store, project)] == [0, 1, 3, 4]
    store.append(project, "retract", {}, parent=event.id)
    assert in_force(store, project) == []


def test_a_rename_holds_for_what_was_said_before_it_and_can_be_undone(store, project):
    store.append(project, "bulk", bulk("cat", [0]))
    renamed = store.append(project, "rename", {"class": "cat", "to": "feline"})
    store.append(project, "bulk", bulk("cat", [1]))
    assert [s[3] for s in in_force(store, project)] == ["feline", "cat"]
    store.append(project, "retract", {}, parent=renamed.id)
    assert [s[3] for s in in_force(store, project)] == ["cat", "cat"]
    assert [s.said for s in store.statements(project)] == ["cat", "cat"]


def test_the_number_3_is_not_the_text_3(store, project):
    store.append(project, "bulk", bulk(3, [0]))
    store.append(project, "bulk", bulk("3", [1]))
    store.append(project, "rename", {"class": "3", "to": "three"})
    assert [s[3] for s in in_force(store, project)] == [3, "three"]


def test_a_repeated_request_changes_nothing(store, project):
    entries = [Entry("answer", answer(), key="a"), Entry("answer", answer("cannot", 2, 3), key="b")]
    first = store.append_all(project, entries)
    assert store.append_all(project, entries) == first
    assert len(store.statements(project)) == 2


def test_a_list_of_events_is_taken_whole_or_not_at_all(store, project):
    wrong = [Entry("answer", answer()), Entry("answer", answer(i=0, j=N))]
    with pytest.raises(SidelightError, match=r"rows are whole numbers from 0 to 11"):
        store.append_all(project, wrong)
    assert store.events(project) == []
    assert store.statements(project) == []


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        ("say", {}, "unknown kind of event 'say'"),
        ("answer", {"statements": {}}, "columns of one length"),
        ("answer", answer("perhaps"), "unknown kind of statement 'perhaps'"),
        ("answer", answer(j=None), "about two rows"),
        ("answer", answer(j=0), "about two rows"),
        ("answer", answer(i=True), "row True"),
        ("answer", answer("label", 0, None, ""), "one row and a class"),
        ("answer", answer("label", 0, 1, "cat"), "one row and a class"),
        ("answer", answer(weight=-1), "a weight is a number from 0 on"),
        ("answer", answer(colour="red"), "unknown column 'colour'"),
        ("rename", {"class": "cat", "to": "cat"}, "to a different one"),
    ],
)
def test_what_could_not_be_replayed_is_refused(store, project, kind, body, message):
    with pytest.raises(SidelightError, match=message):
        store.append(project, kind, body)
    assert store.events(project) == []


def test_only_what_is_there_can_be_taken_back(store, project):
    other = store.create_project("another", n_rows=N)
    event = store.append(other.id, "answer", answer())
    with pytest.raises(SidelightError, match="no event"):
        store.append(project, "retract", {}, parent=event.id)
    mine = store.append(project, "answer", answer())
    with pytest.raises(SidelightError, match="no statement 1"):
        store.append(project, "retract", {"positions": [1]}, parent=mine.id)


def test_side_information_goes_in_and_comes_out_the_same(store, project):
    ids = np.array([f"r{k}" for k in range(N)])
    side = SideInformation.from_columns(
        ["must", "cannot", "label", "not_label", "unsure"],
        ["r0", "r1", "r2", "r3", "r4"],
        ["r5", "r6", None, None, "r7"],
        class_=[None, None, 3, "3", None],
        weight=[1, 2.5, 1, 0.1, 1],
        annotator=["ann", None, "bob", "ann", "cy"],
        vocabulary=[None, None, "mine", None, None],
        index=ids,
    )
    store.say(project, side)
    assert store.side(project, index=ids) == side
    assert from_side(store.side(project, index=ids)) == from_side(side)
