import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import broken_statements
from sidelight import SideInformation
from sidelight.exceptions import SideInformationError
from sidelight.side import CANNOT, LABEL, MUST, NOT_LABEL
from sidelight.side._conflicts import _MAX_STEPS
from strategies import sides, truths


def test_a_broken_cannot_link_is_told_with_the_users_ids():
    side = SideInformation.from_pairs(
        must=[("c", "b"), ("a", "b")], cannot=[("a", "c")], index=["a", "b", "c"], annotator="ann"
    )
    assert str(side.conflicts()) == (
        "1 broken statement:\n"
        "  a and c are kept apart, yet a with b (must, ann), b with c (must, ann)"
    )


def test_a_chain_may_lead_through_equal_labels():
    side = SideInformation.from_labels(["x", None, None, "x"])
    side += SideInformation.from_pairs(must=[(0, 1)], cannot=[(1, 3)], n_samples=4)
    (conflict,) = side.conflicts()
    assert str(conflict) == (
        "1 and 3 are kept apart, yet 1 with 0 (must), 0 is 'x' (label), 3 is 'x' (label)"
    )


def test_one_wrong_must_link_does_not_break_the_labels_of_two_whole_classes():
    y = np.repeat([0, 1], 50)
    side = SideInformation.from_labels(y)
    side += SideInformation.from_pairs(must=[(3, 70)], n_samples=100)
    (conflict,) = side.conflicts()
    assert str(conflict) == "row 70 is 1, yet 70 with 3 (must), 3 is 0 (label)"


def test_the_lighter_label_is_the_broken_one():
    side = SideInformation.from_labels([0, 1], weight=[1, 2])
    side += SideInformation.from_pairs(must=[(0, 1)], n_samples=2)
    assert str(side.conflicts()[0]).startswith("row 0 is 0, yet 0 with 1 (must)")


def test_a_class_that_a_row_does_not_have_is_a_conflict():
    side = SideInformation.from_columns(
        ["label", "must", "not_label"],
        [0, 0, 1],
        [None, 1, None],
        class_=["a", None, "a"],
        n_samples=2,
    )
    assert str(side.conflicts()[0]) == "row 1 is not 'a', yet 1 with 0 (must), 0 is 'a' (label)"


def test_labels_meet_through_another_vocabulary():
    side = SideInformation.from_labels(["a", None, "b"])
    side += SideInformation.from_labels(["x", None, "x"], vocabulary="other")
    assert len(side.conflicts().broken) == 1
    assert "is 'x'" in str(side.conflicts()[0])


def test_a_row_kept_apart_from_itself_is_a_conflict():
    side = SideInformation.from_pairs(cannot=[(1, 1)], n_samples=2, self_pairs="keep")
    assert str(side.conflicts()[0]) == "1 and 1 are kept apart, yet it is the same row"


def test_a_conflict_can_be_kept_in_a_set():
    pairs = [(0, 1)]
    conflicts = SideInformation.from_pairs(pairs, pairs, n_samples=2).conflicts()
    assert len({conflicts[0], conflicts.chain(1)}) == 1


def test_no_conflict_says_so():
    conflicts = SideInformation.from_labels([0, 1, -1]).conflicts()
    assert len(conflicts) == 0
    assert str(conflicts) == "no conflicts"


def test_more_chains_come_on_request():
    side = SideInformation.from_pairs(
        must=[(k, k + 1) for k in range(9)], cannot=[(0, k) for k in range(2, 10)], n_samples=10
    )
    conflicts = side.conflicts(limit=2)
    assert len(conflicts) == 2
    assert len(conflicts.broken) == 8
    assert "6 more" in str(conflicts)
    last = conflicts.chain(int(conflicts.broken[-1]))
    assert len(last.chain) == 9
    with pytest.raises(SideInformationError, match="not broken"):
        conflicts.chain(0)
    with pytest.raises(SideInformationError, match="0 or more"):
        side.conflicts(limit=-1)


def test_long_chains_are_found_and_told_in_short():
    n = 4 * _MAX_STEPS
    links = [(k, k + 1) for k in range(n - 1)]
    side = SideInformation.from_pairs(must=links, cannot=[(0, n - 1)], n_samples=n)
    (conflict,) = side.conflicts()
    assert conflict.chain == tuple(range(n - 1))
    assert f"and {n - 1 - 50} more links" in str(conflict)
    labels = np.full(n, -1)
    labels[[0, -1]] = 0, 1
    labelled = SideInformation.from_pairs(must=links, n_samples=n) + SideInformation.from_labels(
        labels
    )
    assert len(labelled.conflicts()[0].chain) == n


@given(sides(max_statements=18))
def test_broken_statements_are_those_of_the_definition(side):
    assert side.conflicts(limit=0).broken.tolist() == broken_statements(side)


@given(sides(max_statements=18))
def test_every_chain_is_a_proof_and_no_shorter_one_exists(side):
    for conflict in side.conflicts():
        assert_proves(side, conflict)


def assert_proves(side, conflict):
    """Walk along the chain: it leads from the broken statement's row to where it cannot hold."""
    said = side.statements
    k = conflict.statement
    assert k not in conflict.chain
    place = ("row", int(said.i[k]))
    for link in conflict.chain:
        ends = [("row", int(said.i[link]))]
        if said.kind[link] == MUST:
            ends.append(("row", int(said.j[link])))
        else:
            assert said.kind[link] == LABEL
            ends.append(("class", int(said.vocabulary[link]), int(said.class_code[link])))
        assert place in ends
        place = ends[1 - ends.index(place)]
    meaning = ("class", int(said.vocabulary[k]), int(said.class_code[k]))
    if said.kind[k] == CANNOT:
        assert place == ("row", int(said.j[k]))
    elif said.kind[k] == NOT_LABEL:
        assert place == meaning
    else:
        assert place[:2] == meaning[:2]
        assert place != meaning
    # Equal labels of the vocabulary in question are no way round: see the head of the module.
    blocked = (
        {("class", int(said.vocabulary[k]), code) for code in range(len(side.classes))} - {place}
        if said.kind[k] == LABEL
        else set()
    )
    assert len(conflict.chain) == steps_between(side, ("row", int(said.i[k])), place, blocked)


def steps_between(side, start, goal, blocked):
    """Breadth-first search over rows and classes, by the book."""
    said = side.statements
    ends = []
    for k in np.flatnonzero(said.binding & ((said.kind == MUST) | (said.kind == LABEL))):
        far = ("row", int(said.j[k]))
        if said.kind[k] == LABEL:
            far = ("class", int(said.vocabulary[k]), int(said.class_code[k]))
        ends.append((("row", int(said.i[k])), far))
    reached, front, steps = {start}, {start}, 0
    while goal not in reached:
        front = {b for a, b in ends if a in front} | {a for a, b in ends if b in front}
        front -= reached | blocked
        assert front
        reached |= front
        steps += 1
    return steps


@given(st.integers(0, 2**32 - 1))
def test_labels_of_many_vocabularies_are_judged_each_on_its_own(seed):
    rng = np.random.default_rng(seed)
    n, m = 12, 40
    vocabulary = [None, *map(str, range(6))]
    side = SideInformation.from_columns(
        "label",
        rng.integers(n, size=m),
        class_=rng.integers(3, size=m),
        vocabulary=np.array(vocabulary, dtype=object)[rng.integers(7, size=m)],
        weight=rng.integers(1, 4, size=m),
        n_samples=n,
    )
    side += SideInformation.from_pairs(must=[(0, 1), (4, 5)], n_samples=n)
    conflicts = side.conflicts()
    assert conflicts.broken.tolist() == broken_statements(side)
    for conflict in conflicts:
        assert_proves(side, conflict)


@given(truths(), st.data())
def test_conflicts_are_found_exactly_when_planted(truth, data):
    n = len(truth)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    must = [p for p in pairs if truth[p[0]] == truth[p[1]]]
    cannot = [p for p in pairs if truth[p[0]] != truth[p[1]]]
    right = SideInformation.from_pairs(must, cannot, n_samples=n)
    right += SideInformation.from_labels(truth)
    assert not len(right.conflicts().broken)
    wrong = data.draw(st.sampled_from(pairs))
    kind = "cannot" if wrong in must else "must"
    planted = right + SideInformation.from_pairs(**{kind: [wrong]}, n_samples=n)
    assert len(planted.conflicts().broken)
