"""Stretching, compressing and pruning against the entropy recomputed from its definition."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs

import oracles_structural_entropy
import oracles_tree as oracle
from sidelight.graph import neighbor_graph
from sidelight.models._entropy import search as search
from sidelight.models._entropy import tree_search as trees
from sidelight.models._entropy.statements import (
    Relation,
    Strengths,
    exceptions,
    relation_graph,
    stated_pairs,
)
from sidelight.models._entropy.tree import with_self_loops
from sidelight.side import SideInformation

SEEDS = range(8)


def random_side(rng, n, m=10):
    """All kinds of statement, with weights, repetitions and contradictions."""
    kind = rng.choice(["must", "cannot", "label", "not_label"], size=m)
    i = rng.integers(n, size=m)
    j = (i + 1 + rng.integers(n - 1, size=m)) % n
    pair = np.isin(kind, ["must", "cannot"])
    return SideInformation.from_columns(
        kind,
        i,
        [int(b) if p else None for b, p in zip(j, pair, strict=True)],
        class_=[
            None if p else "abc"[c] for p, c in zip(pair, rng.integers(3, size=m), strict=True)
        ],
        weight=rng.choice([0.5, 1.0, 2.0], size=m),
        n_samples=n,
    )


def problem(seed, *, n=12, connected=False, each=False, loops=False):
    """A level, its leaves' cuts, and the dense graphs behind it."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.35), 1)
    if connected:
        W[np.arange(n - 1), np.arange(1, n)] += 0.1
    else:  # two components and a row without neighbours
        W[: n // 2, n // 2 :] = 0
        W[:, n - 1] = 0
    W = W + W.T
    S = np.triu(rng.random((n, n)), 1)
    S = S + S.T
    side = random_side(rng, n)
    relation = relation_graph(side, Strengths(lambda i, j: S[i, j], 1.0, 0.1), 2.0, expand=each)
    level = search.first_level(sparse.csr_array(W), *relation)
    leaf_cut = level.volume
    if loops:
        level = with_self_loops(level)
    R = oracles_structural_entropy.relation(side, S, 1.0, 0.1, 2.0, each=each)
    return level, leaf_cut, W, R


CASES = pytest.mark.parametrize(
    ("connected", "each", "loops"),
    [(False, False, False), (True, False, True), (False, True, True), (True, True, False)],
)


def same_tree(one, two, n):
    """Whether two trees have the same sets of rows as nodes."""
    sets = [sorted(map(sorted, oracle.leaves_under(p, n))) for p in (one, two)]
    return sets[0] == sets[1]


@CASES
@pytest.mark.parametrize("seed", SEEDS)
def test_stretching_joins_the_pair_that_lowers_the_entropy_most(seed, connected, each, loops):
    level, leaf_cut, W, R = problem(seed, connected=connected, each=each, loops=loops)
    nodes = trees.stretch(level, leaf_cut)[0]
    expected = oracle.stretched(W, R, self_loops=loops)
    assert same_tree(nodes.parent, expected, len(W))


@CASES
@pytest.mark.parametrize("seed", SEEDS)
def test_the_entropy_of_a_stretched_tree_is_that_of_the_definition(seed, connected, each, loops):
    level, leaf_cut, W, R = problem(seed, connected=connected, each=each, loops=loops)
    nodes = trees.stretch(level, leaf_cut)[0]
    expected = oracle.entropy(W, R, nodes.parent, self_loops=loops)
    assert trees.entropy(nodes) == pytest.approx(expected, abs=1e-9)


@CASES
@pytest.mark.parametrize("seed", SEEDS)
def test_parts_of_nested_partitions_are_nodes(seed, connected, each, loops):
    level, leaf_cut, W, R = problem(seed, connected=connected, each=each, loops=loops)
    fine = search.renumbered(np.random.default_rng(seed).integers(6, size=len(W)))
    coarse = search.renumbered(fine // 2)
    nodes, top = trees.stretch(level, leaf_cut, [fine, coarse], relative=True)
    expected = oracle.entropy(W, R, nodes.parent, self_loops=loops)
    assert trees.entropy(nodes) == pytest.approx(expected, abs=1e-9)
    under = oracle.leaves_under(nodes.parent, len(W))
    for k, node in enumerate(top):
        assert under[node] == set(np.flatnonzero(coarse == k).tolist())
    for k in range(fine.max() + 1):
        assert set(np.flatnonzero(fine == k).tolist()) in under


@CASES
@pytest.mark.parametrize("height", [2, 3, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_compressing_removes_the_cheapest_node_on_a_long_path(seed, height, connected, each, loops):
    level, leaf_cut, W, R = problem(seed, n=11, connected=connected, each=each, loops=loops)
    nodes = trees.stretch(level, leaf_cut)[0]
    kept = trees.compress(nodes, height)
    expected = oracle.compressed(W, R, nodes.parent, height, self_loops=loops)
    np.testing.assert_array_equal(kept, expected)
    low = trees.restrict(nodes, kept)
    assert max(oracle.longest_path(low.parent, row, len(W)) for row in range(len(W))) <= height
    value = oracle.entropy(W, R, low.parent, self_loops=loops)
    assert trees.entropy(low) == pytest.approx(value, abs=1e-9)


def pulled_problem(seed, *, n=12, connected=False):
    """A level of the data with what statements pull together, and both as dense matrices."""
    rng = np.random.default_rng(seed)
    _, _, W, _ = problem(seed, n=n, connected=connected)
    pull = exceptions(random_side(rng, n)) * 0.7
    return search.pulled_level(sparse.csr_array(W), pull), W, pull.toarray()


@pytest.mark.parametrize("price", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("connected", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_pruning_finds_the_cheapest_of_all_prunings(seed, connected, price):
    data, W, pull = pulled_problem(seed, n=9, connected=connected)
    nodes = trees.judged(trees.stretch(data, data.volume)[0], data)
    costs = [
        oracle.judged(W, pull, nodes.parent, modules, price)
        for modules in oracle.prunings(nodes.parent, len(W))
    ]
    chosen = np.flatnonzero(trees.modules_below_root(nodes, price))
    found = oracle.judged(W, pull, nodes.parent, chosen.tolist(), price)
    assert found == pytest.approx(min(costs), abs=1e-9)


@pytest.mark.parametrize("connected", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_judged_tree_has_the_cuts_of_the_data_and_the_pulls_inside(seed, connected):
    data, W, pull = pulled_problem(seed, connected=connected)
    parts = search.renumbered(np.random.default_rng(seed).integers(5, size=len(W)))
    nodes = trees.judged(trees.stretch(data, data.volume, [parts])[0], data)
    for node, under in enumerate(oracle.leaves_under(nodes.parent, len(W))):
        inside = np.isin(np.arange(len(W)), list(under))
        assert nodes.cut[node] == pytest.approx(W[np.ix_(inside, ~inside)].sum(), abs=1e-9)
        assert nodes.pulled[node] == pytest.approx(pull[np.ix_(inside, inside)].sum() / 2, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_objective_of_a_cut_is_that_of_the_definition_on_every_level(seed):
    data, W, pull = pulled_problem(seed, connected=True)
    labels = search.renumbered(np.random.default_rng(seed).integers(4, size=len(W)))
    flat = np.append(len(W) + labels, np.full(labels.max() + 1, len(W) + labels.max() + 1))
    modules = np.arange(len(W), len(flat))
    expected = oracle.judged(W, pull, np.append(flat, -1).tolist(), modules.tolist(), 0.7)
    level = search.priced(data, 0.7)
    assert search.objective(level, labels) == pytest.approx(expected, abs=1e-9)
    upper = search.aggregate(level, labels)
    assert search.objective(upper, np.arange(upper.n_nodes)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_nodes_in_another_order_are_pulled_as_before(seed):
    data, W, pull = pulled_problem(seed, connected=True)
    rng = np.random.default_rng(seed)
    order, labels = rng.permutation(len(W)), rng.integers(4, size=len(W))
    assert pull.any()
    same = search.reordered(data, order)
    assert search.objective(same, labels[order]) == pytest.approx(search.objective(data, labels))


@pytest.mark.parametrize("seed", SEEDS)
def test_gains_of_moves_and_mergers_that_statements_pull_are_those_of_the_objective(seed):
    data, W, _ = pulled_problem(seed, connected=True)
    level = search.priced(data, 0.3)
    labels = search.renumbered(np.random.default_rng(seed).integers(5, size=len(W)))
    moved = search.move(level, labels)
    assert moved.history[-1] == pytest.approx(search.objective(level, moved.labels), abs=1e-9)
    assert moved.history[-1] <= search.objective(level, labels) + 1e-12
    merged = search.merge(search.aggregate(level, moved.labels))[moved.labels]
    end = search.objective(level, merged)
    assert end <= moved.history[-1] + 1e-12
    for i, j in zip(*np.nonzero(W), strict=True):  # no two modules that an edge joins gain now
        joined = search.renumbered(np.where(merged == merged[i], merged[j], merged))
        assert search.objective(level, joined) >= end - 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_a_priced_cut_adds_the_entropy_of_the_modules_to_the_objective(seed):
    level, _, _, _ = problem(seed, connected=True)
    labels = search.renumbered(np.random.default_rng(seed).integers(4, size=level.n_nodes))
    share = np.bincount(labels, level.volume) / level.total
    plain = search.objective(level, labels)
    priced = search.objective(search.priced(level, 0.7), labels)
    assert priced - plain == pytest.approx(-0.7 * (share * np.log2(share)).sum(), abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_settling_never_raises_the_objective_and_leaves_no_single_row(seed):
    data, W, _ = pulled_problem(seed)
    nodes = trees.judged(trees.stretch(data, data.volume)[0], data)
    level = search.priced(data, 0.5)
    start = trees.clusters_of(nodes, trees.modules_below_root(nodes, 0.0))
    improved = search.improve(level, start, np.arange(len(W)), may_open=False).labels
    assert search.objective(level, improved) <= search.objective(level, start) + 1e-12
    found = trees.settle(level, start, np.arange(len(W)))
    alone = np.bincount(found)[found] == 1
    assert not (alone & (W.sum(axis=1) > 0)).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_of_several_starts_the_cheapest_end_counts(seed):
    data, W, _ = pulled_problem(seed, connected=True)
    nodes = trees.judged(trees.stretch(data, data.volume)[0], data)
    level, blocks = search.priced(data, 0.6), np.arange(len(W))
    best = search.objective(level, trees.cheapest(nodes, data, 0.6, blocks))
    for price in (0.6, 0.8, 0.45, 0.3):
        start = trees.clusters_of(nodes, trees.modules_below_root(nodes, price))
        assert best <= search.objective(level, trees.settle(level, start, blocks)) + 1e-12


def test_statements_are_counted_once_and_none_is_entailed():
    side = SideInformation.from_pairs(must=[(0, 1), (1, 2)], cannot=[(2, 3)], n_samples=8)
    side = side + SideInformation.from_labels([None] * 4 + ["a", "a", "b", "b"])
    found = stated_pairs(side).toarray()
    expected = np.zeros((8, 8))
    for i, j, value in ((0, 1, 1), (1, 2, 1), (2, 3, -1), (4, 5, 1), (6, 7, 1), (4, 6, -1)):
        expected[i, j] = expected[j, i] = value
    np.testing.assert_array_equal(found, expected)
    # {0, 1, 2} and {3} are apart by one row, the classes by two
    expected[4, 6] = expected[6, 4] = -2
    np.testing.assert_array_equal(exceptions(side).toarray(), expected)


def test_groups_that_are_apart_weigh_as_many_rows_as_the_smaller_has():
    must = [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 7)]
    for n_said in (1, 2, 5):
        cannot = [(0, 4), (1, 5), (2, 6), (3, 7), (0, 7)][:n_said]
        side = SideInformation.from_pairs(must=must, cannot=cannot, n_samples=9)
        found = exceptions(side).toarray()
        assert found[:4, 4:8].sum() == pytest.approx(-max(4, n_said))
        assert found[found > 0].sum() == 2 * len(must)


@pytest.mark.parametrize("n_wanted", [1, 2, 5, 11, 12])
def test_exactly_so_many_modules_are_left(n_wanted):
    data, W, _ = pulled_problem(3)
    nodes = trees.judged(trees.stretch(data, data.volume)[0], data)
    for blocks in (None, np.arange(len(W))):
        labels = trees.exactly(nodes, data, n_wanted, blocks)
        assert len(np.unique(labels)) == n_wanted


def test_rows_that_are_far_from_all_do_not_count_as_clusters():
    W = np.kron(np.eye(3), np.ones((20, 20)))
    W = np.pad(W - np.diag(np.diag(W)), (0, 3))
    for far, near in ((60, 0), (61, 20), (62, 40)):
        W[far, near] = W[near, far] = 0.01
    W[0, 20] = W[20, 0] = W[20, 40] = W[40, 20] = 0.5
    level = search.first_level(sparse.csr_array(W), *Relation.none(63))
    nodes = trees.judged(trees.stretch(level, level.volume)[0], level)
    labels = trees.exactly(nodes, level, 3)
    assert labels.tolist() == [0] * 20 + [1] * 20 + [2] * 20 + [0, 1, 2]


def test_the_price_of_a_number_of_clusters_is_the_highest_with_enough_large_ones():
    X, _ = make_blobs(1_500, centers=6, n_features=4, cluster_std=3.0, random_state=0)
    graph = neighbor_graph(X, 5)
    level = search.first_level(graph, *Relation.none(len(X)))
    nodes = trees.judged(trees.stretch(level, level.volume, relative=True)[0], level)
    smallest = nodes.total / (20 * 6)

    def n_large(price):
        labels = trees.clusters_of(nodes, trees.modules_below_root(nodes, price))
        return (np.bincount(labels, level.volume) >= smallest).sum()

    tried = np.linspace(2, 0, 41)
    enough = [price for price in tried if n_large(price) >= 6]
    assert n_large(-1.0) < 6 <= n_large(enough[0])  # small modules alone at low prices
    price = trees._highest_price(nodes, 6, smallest)
    assert enough[0] <= price <= enough[0] + 0.05
    assert n_large(price) >= 6


@pytest.mark.parametrize("seed", SEEDS)
def test_relative_stretching_ends_with_a_tree_of_the_definition(seed):
    level, leaf_cut, W, R = problem(seed)
    nodes = trees.stretch(level, leaf_cut, relative=True)[0]
    assert trees.entropy(nodes) == pytest.approx(oracle.entropy(W, R, nodes.parent), abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_relative_stretching_begins_with_the_pair_that_gains_most_for_its_size(seed):
    level, leaf_cut, W, R = problem(seed, connected=True)
    n = len(W)
    nodes = trees.stretch(level, leaf_cut, relative=True)[0]
    flat = np.append(np.full(n, n), -1)
    gains = {}
    for i, j in zip(*np.nonzero(np.triu(W)), strict=True):
        joined = np.full(n + 2, n + 1)
        joined[[i, j]], joined[-1] = n, -1
        size = np.sqrt(W[i].sum() * W[j].sum())
        gains[i, j] = (oracle.entropy(W, R, flat) - oracle.entropy(W, R, joined)) / size
    first = tuple(np.flatnonzero(nodes.parent[:n] == n))
    assert gains[first] == pytest.approx(max(gains.values()), abs=1e-12)


def caterpillar(n, *, pairs=False):
    """A tree as deep as it has rows; with ``pairs``, a pair of rows hangs from every node."""
    if not pairs:
        parent = np.concatenate(
            [np.r_[n, np.arange(n, 2 * n - 1)], np.arange(n + 1, 2 * n - 1), [-1]]
        )
        volume = np.concatenate([np.ones(n), np.arange(2.0, n + 1)])
    else:
        half = n // 2
        spine = np.arange(half - 1)
        parent = np.concatenate([
            n + np.arange(n) // 2,
            n + half + np.maximum(np.arange(half) - 1, 0),
            n + half + spine + 1,
        ])  # fmt: skip
        parent[-1] = -1
        volume = np.concatenate([np.ones(n), np.full(half, 2.0), 2.0 * np.arange(2, half + 1)])
    cut = np.random.default_rng(0).random(len(parent)) + np.where(np.arange(len(parent)) < n, 1, 0)
    cut[-1] = 0
    return trees.Nodes(parent, volume, cut, n, float(n), np.zeros(len(parent)))


@pytest.mark.parametrize("height", [2, 7])
def test_a_tree_of_a_hundred_thousand_steps_is_compressed_and_pruned(height):
    nodes = caterpillar(100_000)
    low = trees.restrict(nodes, trees.compress(nodes, height))
    depth = np.zeros(low.n_nodes, dtype=int)
    for node in range(low.n_nodes - 2, -1, -1):
        depth[node] = depth[low.parent[node]] + 1
    assert depth.max() <= height
    assert trees.clusters_of(nodes, trees.modules_below_root(nodes, 0.2)).shape == (100_000,)


@pytest.mark.parametrize("height", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_lazy_gains_compress_as_trying_all_nodes_does(seed, height):
    # cuts of both signs: excesses may be negative, and gains rise
    rng = np.random.default_rng(seed)
    nodes = caterpillar(40, pairs=True)
    nodes = nodes._replace(cut=np.append(rng.normal(size=nodes.n_nodes - 1), 0.0))
    parent = nodes.parent.copy()
    while True:
        best = None
        for node in range(nodes.n_leaves, nodes.n_nodes - 1):
            if parent[node] == -2 or oracle.longest_path(parent, node, 40) <= height:
                continue
            excess = nodes.cut[parent == node].sum() - nodes.cut[node]
            gain = excess * np.log2(nodes.volume[node] / nodes.volume[parent[node]])
            if best is None or (-round(gain, 11), node) < best:
                best = -round(gain, 11), node
        if best is None:
            break
        parent = oracle.without(parent, best[1])
    np.testing.assert_array_equal(trees.compress(nodes, height), parent != -2)


@pytest.mark.parametrize("seed", SEEDS)
def test_edges_between_parts_do_not_change_the_tree_inside_them(seed, monkeypatch):
    level, leaf_cut, W, _ = problem(seed, n=24, connected=True)
    rng = np.random.default_rng(seed)
    parts = search.renumbered(rng.integers(4, size=24))
    inside = search.within(level, parts)
    row = np.repeat(np.arange(24), np.diff(inside.indptr))
    assert (parts[row] == parts[inside.near]).all()
    kept = np.zeros((24, 24))
    kept[row[inside.linked], inside.near[inside.linked]] = 1.0
    assert_array_equal(kept > 0, (W > 0) & (parts[:, None] == parts))
    before, _ = trees.stretch(level, leaf_cut, [parts], relative=True)
    monkeypatch.setattr(trees, "EXACT_ROWS", 10)
    after, _ = trees.stretch(level, leaf_cut, [parts], relative=True)
    assert same_tree(before.parent, after.parent, 24)
    assert trees.entropy(after) == pytest.approx(trees.entropy(before), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_few_pulls_are_summed_as_all_edges_are(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((30, 30)) * (rng.random((30, 30)) < 0.3), 1)
    level = search.pulled_level(sparse.csr_array(W + W.T), exceptions(random_side(rng, 30)) * 1.5)
    assert len(level.pull)
    labels = search.renumbered(rng.integers(4, size=30))
    expected = search.objective(level, labels)
    monkeypatch.setattr(search, "EXACT_ROWS", 10)
    assert search.objective(level, labels) == pytest.approx(expected, abs=1e-12)
    upper = search.aggregate(level, labels)
    assert search.objective(upper, np.arange(upper.n_nodes)) == pytest.approx(expected, abs=1e-9)
