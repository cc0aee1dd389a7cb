"""Consensus on several levels: atoms against sets of rows, in plain Python."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

from sidelight import SemiMultiCons, SideInformation
from sidelight.exceptions import DataError
from sidelight.models._consensus import multi
from sidelight.models._consensus.multi import Atoms, closed_patterns, consensus_levels, useful
from sidelight.models._relation import relation_of
from sidelight.side import sample_pairs


def blobs(n=90, k=3, seed=0, spread=8.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, 2)) + spread * rng.normal(size=(k, 2))[y], y


def brute_patterns(partitions):
    """Every choice of a cluster, or of none, in each partition: the intersection and its size."""
    n, n_partitions = partitions.shape
    choices = [[None, *np.unique(partitions[:, v])] for v in range(n_partitions)]
    found = {}
    for choice in product(*choices):
        rows = frozenset(
            i
            for i in range(n)
            if all(c is None or partitions[i, v] == c for v, c in enumerate(choice))
        )
        if rows and any(c is not None for c in choice):
            inside = sum(len({partitions[i, v] for i in rows}) == 1 for v in range(n_partitions))
            found[rows] = inside
    return found


@pytest.mark.parametrize("seed", range(5))
def test_patterns_are_all_closed_intersections(seed):
    partitions = np.random.default_rng(seed).integers(3, size=(25, 3))
    atoms = Atoms.of(useful(partitions), SideInformation.empty(25))
    found = {
        frozenset(np.flatnonzero(s[atoms.of_row])): size
        for size, sets in closed_patterns(atoms.members).items()
        for s in sets
    }
    assert found == brute_patterns(useful(partitions))


def brute_settled(one, other, R):
    """The rules, for sets of rows."""
    shared, left, right = one & other, one - other, other - one

    def stated(a, b):
        return sum(R[i, j] for i in a for j in b)

    raw = stated(left, right), stated(shared, left), stated(shared, right)
    if not any(raw):
        if not left or not right or len(shared) * 2 >= min(len(one), len(other)):
            return [one | other]
        return [left, other] if len(one) > len(other) else [one, right]
    s = raw[0] / max(len(left) + len(right), 1)
    s_one, s_other = -raw[1] / len(one), -raw[2] / len(other)
    if s >= max(s_one, s_other):
        return [one | other]
    return [left, other] if s_one >= s_other else [one, right]


@pytest.mark.parametrize("seed", range(6))
def test_levels_on_atoms_are_those_of_sets_of_rows(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=30)
    noisy = [np.where(rng.random(30) < 0.8, y, rng.integers(3, size=30)) for _ in range(3)]
    partitions = useful(np.column_stack(noisy))
    side = sample_pairs(y, 12, random_state=seed)
    relation = relation_of(side)
    R = (relation.members @ relation.between @ relation.members.T).toarray()
    atoms = Atoms.of(partitions, side)
    patterns = closed_patterns(atoms.members)
    sets = []
    for dt, labels in consensus_levels(atoms).items():
        waiting = [*sets]
        waiting += [set(np.flatnonzero(s[atoms.of_row])) for s in patterns.get(dt, [])]
        sets = []
        while waiting:
            new = waiting.pop(0)
            clash = next((k for k, old in enumerate(sets) if old & new), None)
            if clash is None:
                sets.append(new)
            else:
                waiting = [s for s in brute_settled(sets.pop(clash), new, R) if s] + waiting
        expected = np.full(30, -1)
        for number, rows in enumerate(sets):
            expected[list(rows)] = number
        found = labels[atoms.of_row]
        assert adjusted_rand_score(expected, found) == 1.0
        assert (found >= 0).all()


def test_equal_and_useless_partitions_are_left_out():
    one = np.arange(20) % 2
    found = useful(np.column_stack([one, 1 - one, np.zeros(20, dtype=int), np.arange(20) % 4]))
    assert_array_equal(found, np.column_stack([one, np.arange(20) % 4]))
    assert_array_equal(useful(np.zeros((5, 2), dtype=int)), np.zeros((5, 1)))


def test_statements_choose_the_level():
    X, y = blobs()
    model = SemiMultiCons(random_state=0).fit(X, side=sample_pairs(y, 60, random_state=0))
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert not model.result_.violated.any()
    assert set(model.level_labels_) == set(range(1, model.partitions_.shape[1] + 1))
    chosen = model.level_labels_[model.level_]
    assert adjusted_rand_score(chosen, model.labels_) == 1.0


def test_given_partitions_and_levels():
    X, y = blobs()
    given = np.column_stack([y, np.minimum(y, 1)])
    model = SemiMultiCons(partitions=given, level=2).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    with pytest.raises(DataError, match="level=3; there are 2"):
        SemiMultiCons(partitions=given, level=3).fit(X)
    with pytest.raises(DataError, match="partitions has shape"):
        SemiMultiCons(partitions=given[:5]).fit(X)


def test_too_many_patterns_are_refused(monkeypatch):
    monkeypatch.setattr(multi, "MOST_PATTERNS", 20)
    X, _ = blobs()
    partitions = np.random.default_rng(0).integers(5, size=(90, 4))
    with pytest.raises(DataError, match="more than 20 different intersections"):
        SemiMultiCons(partitions=partitions).fit(X)
