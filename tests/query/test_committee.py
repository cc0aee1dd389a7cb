"""Structure and steps of the committee: every update against its definition."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import oracles_committee as oracle
from sidelight.datasets import make_blobs
from sidelight.query import _committee as committee_module
from sidelight.query import _structure as structure_module
from sidelight.query._committee import Facts, couplings, split_item, start, told
from sidelight.query._structure import build_structure


def blobs(n=120, seed=0):
    sample = make_blobs(n, 3, 4, separation=4.0, random_state=seed)
    return sample.X, sample.y


def begin(X, *, leaves=4_000, facts=(), vocabulary=(), seed=3):
    structure = build_structure(X, is_graph=False, seed=0, leaves=leaves)
    return start(
        structure,
        seed,
        facts=Facts.of(list(facts)),
        vocabulary=vocabulary,
        n_annotators=1,
        with_metric=True,
    )


def from_nothing(committee):
    """A and D of the present cut, computed at once."""
    graph = committee.structure.leaves.toarray()
    member = committee.items.of_slot == np.arange(len(committee.items.node))[:, None]
    W = member.astype(float) @ graph @ member.T
    np.fill_diagonal(W, 0.0)
    D = W.sum(axis=1)
    root = np.sqrt(D[:, None] * D)
    return np.divide(W, root, out=np.zeros_like(W), where=root > 0), D


def test_a_node_covers_its_children_and_its_rows():
    X, _ = blobs()
    structure = build_structure(X, is_graph=False, seed=0)
    assert np.array_equal(np.sort(structure.slots(structure.root)), np.arange(120))
    for node in range(120, 239):
        parts = [structure.slots(int(child)) for child in structure.children[node]]
        assert np.array_equal(np.concatenate(parts), structure.slots(node))
        assert structure.node_mass(node) == len(structure.rows(node))
    assert len(structure.cut(30)) == 30


def cuts_below(structure, node):
    """Every cut of the tree below a node."""
    yield [node]
    if not structure.is_leaf(node):
        first, second = (int(child) for child in structure.children[node])
        for left in cuts_below(structure, first):
            for right in cuts_below(structure, second):
                yield left + right


def modularity(structure, cut):
    W = structure.leaves.toarray()
    total = W.sum()
    parts = [structure.slots(node) for node in cut]
    return sum(W[np.ix_(part, part)].sum() / total - (W[part].sum() / total) ** 2 for part in parts)


@pytest.mark.parametrize("leaves", [4_000, 10])
def test_modules_are_those_of_the_best_of_all_cuts(leaves):
    X, _ = blobs(13 if leaves > 13 else 60)
    structure = build_structure(X, is_graph=False, seed=0, leaves=leaves)
    cuts = list(cuts_below(structure, structure.root))
    best = max(cuts, key=lambda cut: modularity(structure, cut))
    assert 1 < len(best) < len(structure.mass)
    expected = sorted(structure.node_mass(node) for node in best)
    assert sorted(structure.modules()) == expected


def test_the_first_items_follow_the_clusters_that_the_graph_shows():
    few = make_blobs(800, 6, 10, separation=12.0, random_state=0).X
    many = make_blobs(800, 6, 40, separation=12.0, random_state=0).X
    assert len(begin(few).items.node) == 80
    assert len(begin(many).items.node) == 200  # a quarter of the rows
    assert len(begin(many[:200]).items.node) == 50


def test_equal_rows_are_one_module_at_least():
    structure = build_structure(np.zeros((12, 2)), is_graph=False, seed=0)
    assert structure.modules().sum() == 12
    alone = build_structure(sparse.csr_array((12, 12)), is_graph=True, seed=0)
    assert alone.modules().tolist() == [12.0]


def test_splits_leave_the_bits_of_a_computation_from_nothing():
    X, _ = blobs()
    committee = begin(X)
    for s in (0, 5, 20, 2, 25):
        if not committee.structure.is_leaf(int(committee.items.node[s])):
            committee = split_item(committee, s)
    assert len(committee.items.node) > 31
    A, D = from_nothing(committee)
    assert np.array_equal(committee.items.A[0], A)
    assert np.array_equal(committee.items.D[0], D)
    assert np.isclose(committee.items.volume.sum(), committee.total_volume)
    assert committee.items.mass.sum() == 120


def test_a_cannot_inside_a_leaf_splits_it():
    X, _ = blobs(400)
    committee = begin(X, leaves=40)
    leaf = committee.structure.row_leaf
    slot = int(np.argmax(np.bincount(leaf)))
    i, j = (int(row) for row in np.flatnonzero(leaf == slot)[:2])
    after = told(committee, Facts.of([(i, j, -1, -1, 0, 1.0)]), (), 1)
    assert after.item_of(i) != after.item_of(j)
    assert after.items.mass.sum() == 400
    A, D = from_nothing(after)
    assert np.array_equal(after.items.A[0], A)
    assert np.array_equal(after.items.D[0], D)
    whole = structure_module._sum_to_leaves(
        after.structure.edges, after.structure.row_leaf, len(after.structure.mass)
    )
    assert np.array_equal(whole.toarray(), after.structure.leaves.toarray())
    rows = np.bincount(after.structure.row_leaf)
    assert np.array_equal(rows, after.structure.mass)


def test_couplings_are_those_of_bayes_on_enumerated_partitions():
    """exp(C) multiplies the prior of a partition by the likelihood of the answers, up to a
    constant: pairs by α or 1 − α, names by α or (1 − α)/(C − 1)."""
    X = np.random.default_rng(0).normal(size=(24, 2))
    committee = begin(X)
    items = committee.items
    a, b, c, e = (int(row) for row in items.medoid[:4])
    facts = Facts.of(
        [(a, b, -1, 1, 0, 1.0), (b, c, -1, -1, 0, 1.0), (a, -1, 0, 1, 0, 1.0),
         (e, -1, 1, 1, 0, 1.0), (c, -1, 2, 1, 0, 1.0)]
    )  # fmt: skip
    committee = committee_module._enter(committee, facts, (0, 0, 0))
    C = couplings(committee)
    anchors = committee.items.anchors(3)
    chosen = [*(committee.item_of(row) for row in (a, b, c, e)), *anchors]
    C = C[np.ix_(chosen, chosen)]
    alpha = committee.accuracy[0]
    logs, likelihoods = [], []
    for z in oracle.partitions(7):
        if len({z[4], z[5], z[6]}) < 3:
            continue  # two names never share a cluster
        inside = [C[s, t] for s in range(7) for t in range(s) if z[s] == z[t]]
        chance = alpha if z[0] == z[1] else 1 - alpha
        chance *= 1 - alpha if z[1] == z[2] else alpha
        for item, anchor in ((0, 4), (3, 5), (2, 6)):
            chance *= alpha if z[item] == z[anchor] else (1 - alpha) / 2
        logs.append(sum(inside))
        likelihoods.append(np.log(chance))
    difference = np.array(logs) - np.array(likelihoods)
    assert np.ptp(difference) < 1e-9


def test_evidence_of_groups_is_that_of_their_predictions():
    X, _ = blobs()
    committee = begin(X)
    i, j = (int(row) for row in committee.items.medoid[:2])
    facts = Facts.of([(i, j, -1, 1, 0, 1.0)])
    after = committee_module._weigh_groups(committee, facts)
    z = committee.z
    right = z[:, committee.item_of(i)] == z[:, committee.item_of(j)]
    for g in range(12):
        mine = committee.group == g
        chance = np.where(right[mine], 0.9, 0.1).sum()
        assert np.isclose(after.evidence[g], np.log((chance + 0.5) / (mine.sum() + 1)))
    assert np.isclose(after.weights.sum(), 1)
    assert (np.bincount(after.group) >= 2).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_chains_move_to_what_is_said(sign):
    X, _ = blobs()
    committee = begin(X)
    i, j = (int(row) for row in committee.items.medoid[[0, 9]])
    for _ in range(6):
        committee = told(committee, Facts.of([(i, j, -1, sign, 0, 1.0)]), (), 1)
    assert committee.satisfied.min() > 0.9
    assert committee.step == 6
    assert len(committee.items.node) == 36  # an item more for every answer


def test_a_cluster_has_the_name_of_its_anchor_or_of_most_other_labels():
    X, _ = blobs()
    rng = np.random.default_rng(0)
    book = (0, 0, 0, 1, 2, 2)
    rows = rng.permutation(120)[:40]
    facts = [(int(row), -1, int(rng.integers(6)), 1, 0, 1.0) for row in rows]
    committee = begin(X, facts=facts, vocabulary=book)
    of_two = committee.facts._replace(annotator=np.arange(40) % 2)
    committee = replace(committee, facts=of_two, ignored=(1,), accuracy=np.full(2, 0.9))
    labels = np.arange(40)
    found = committee_module._cluster_says(committee, labels)
    expected = oracle.cluster_says(
        committee.z, committee.fact_items[0], committee.facts.class_, committee.fact_weight > 0,
        committee.items.anchors(6), book,
    )  # fmt: skip
    assert np.array_equal(found, expected)
    assert set(found.ravel()) == {0.0, 1 / 6, 1.0}
