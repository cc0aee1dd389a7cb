"""Every gain of merging and moving against the objective recomputed from its definition."""

import numpy as np
import pytest
from scipy import sparse

import oracles_structural_entropy as oracle
from sidelight._kernels import entropy
from sidelight.blocks import threads
from sidelight.models._entropy import search as search
from sidelight.models._entropy.statements import Relation, Strengths, relation_graph
from sidelight.side import SideInformation

SEEDS = range(12)


def random_side(rng, n, m=14):
    """All kinds of statement, with weights, two vocabularies, repetitions and contradictions."""
    kind = rng.choice(["must", "cannot", "label", "not_label"], size=m)
    i = rng.integers(n, size=m)
    j = (i + 1 + rng.integers(n - 1, size=m)) % n
    pairs = np.isin(kind, ["must", "cannot"])
    side = SideInformation.from_columns(
        kind,
        i,
        [int(b) if p else None for b, p in zip(j, pairs, strict=True)],
        class_=[
            None if p else "abc"[c] for p, c in zip(pairs, rng.integers(3, size=m), strict=True)
        ],
        vocabulary=[None if v else "own" for v in rng.integers(4, size=m)],
        weight=rng.choice([0.5, 1.0, 2.0], size=m),
        n_samples=n,
    )
    return side + side[np.arange(n)]


def random_graph(rng, n, density=0.3):
    """Similarities with isolated rows and several components."""
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    half = n // 2
    W[:half, half:] = 0
    W[n - 2 :] = 0
    W[:, n - 2 :] = 0
    return W + W.T


def problem(seed, n=16, *, each=False, weight=2.0):
    rng = np.random.default_rng(seed)
    W = random_graph(rng, n)
    S = rng.random((n, n))
    S = np.triu(S, 1) + np.triu(S, 1).T
    side = random_side(rng, n)
    strengths = Strengths(lambda i, j: S[i, j], 1.0, 0.1)
    relation = relation_graph(side, strengths, weight, expand=each)
    level = search.first_level(sparse.csr_array(W), *relation)
    R = oracle.relation(side, S, 1.0, 0.1, weight, each=each)
    return rng, W, R, level, relation


def dense(relation):
    """The relation graph with its groups written out."""
    n = len(relation.group)
    R = relation.pairs.toarray()
    ties = relation.ties
    M = sparse.csr_array(
        (ties.weight, ties.group, ties.indptr), shape=(ties.n_groups,) * 2
    ).toarray()
    for i in range(n):
        for j in range(n):
            if i != j and relation.group[i] >= 0 and relation.group[j] >= 0:
                a = relation.amount[i] * relation.amount[j]
                R[i, j] += a * M[relation.group[i], relation.group[j]]
    return R


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_statements_become_the_relation_graph_of_the_definition(seed, each):
    _, _, R, _, relation = problem(seed, each=each)
    np.testing.assert_allclose(dense(relation), R, atol=1e-12)
    assert not each or not relation.ties.weight.size


def test_what_groups_entail_is_not_expanded():
    side = SideInformation.from_labels(np.arange(20_000) % 10)
    strengths = Strengths(lambda i, j: np.zeros(len(i)), 1.0, -3.0)
    relation = relation_graph(side, strengths, 1.0, expand=False)
    assert relation.pairs.nnz == 0
    assert len(relation.ties.weight) == 100
    level = search.first_level(sparse.csr_array((20_000, 20_000)), *relation)
    # each row: 1,999 must-links of weight 1 and 18,000 cannot-links of weight -3 rho
    rho = (10 * 2000 * 1999 / 2) / (45 * 2000**2)
    np.testing.assert_allclose(level.cut, 1999 - 3 * 18_000 * rho, atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_objective_is_that_of_the_definition(seed):
    rng, W, R, level, _ = problem(seed)
    assert (R < 0).any()
    for n_modules in (1, 4, 16):
        labels = rng.integers(n_modules, size=16)
        value = search.objective(level, labels)
        assert value == pytest.approx(oracle.entropy(W, R, labels), abs=1e-9)


@pytest.mark.parametrize("must_first", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_merging_takes_the_best_pair_of_all_each_time(seed, must_first):
    _, W, R, level, relation = problem(seed, n=12)
    edges = None
    if must_first:
        from sidelight.models._entropy.clustering import edge_relation

        edges = edge_relation(level, relation.pairs, np.arange(12))
    labels = search.merge(level, relation=edges)
    expected = oracle.merged_greedily(W, R, must_first=must_first)
    np.testing.assert_array_equal(labels, search.renumbered(expected))


@pytest.mark.parametrize("seed", [0, 1])
def test_merging_goes_on_when_its_pool_is_full(seed):
    # Each merger adds a row; so many of them do not fit until the gaps are closed.
    _, W, R, level, _ = problem(seed, n=48)
    labels = search.merge(level, n_wanted=3, only_gains=False)
    expected = oracle.merged_greedily(W, R, n_wanted=3, lowest=-np.inf)
    np.testing.assert_array_equal(labels, search.renumbered(expected))


@pytest.mark.parametrize("seed", SEEDS)
def test_merging_stops_at_the_wanted_number(seed):
    _, W, R, level, _ = problem(seed, n=12)
    labels = search.merge(level, n_wanted=7, only_gains=False)
    expected = oracle.merged_greedily(W, R, n_wanted=7, lowest=-np.inf)
    np.testing.assert_array_equal(labels, search.renumbered(expected))


def best_single_move(W, R, labels):
    """The largest fall of L by moving one row anywhere, also to a module of its own."""
    now = oracle.entropy(W, R, labels)
    falls = [0.0]
    for v in range(len(labels)):
        for y in range(labels.max() + 2):
            moved = labels.copy()
            moved[v] = y
            falls.append(now - oracle.entropy(W, R, moved))
    return max(falls)


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_moving_gains_what_the_objective_falls_by_and_ends_when_nothing_gains(seed, everywhere):
    rng, W, R, level, _ = problem(seed)
    start = rng.integers(6, size=16)
    moved = search.move(level, start, everywhere=everywhere)
    # the history adds up gains of single moves; the objective is computed from scratch
    assert moved.history[-1] == pytest.approx(oracle.entropy(W, R, moved.labels), abs=1e-9)
    assert moved.history[-1] <= oracle.entropy(W, R, start) + 1e-12
    assert (np.diff(moved.history) <= 1e-12).all()
    if everywhere:
        assert best_single_move(W, R, moved.labels) < 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_moving_can_keep_every_module_alive(seed):
    rng, _, _, level, _ = problem(seed)
    start = search.renumbered(rng.integers(9, size=16))
    moved = search.move(level, start, may_open=False, may_empty=False)
    assert moved.labels.max() == start.max()


def test_a_module_that_was_emptied_can_be_moved_into_again():
    # Row 0 leaves its module, which is then free for row 3: both moves in one sweep.
    W = np.zeros((6, 6))
    for i, j, w in [(0, 1, 5), (0, 2, 5), (1, 2, 5), (3, 4, 0.01), (4, 5, 5)]:
        W[i, j] = W[j, i] = w
    R = np.zeros((6, 6))
    R[3, 4] = R[4, 3] = R[3, 5] = R[5, 3] = -4.0
    level = search.first_level(
        sparse.csr_array(W), *Relation.none(6)._replace(pairs=sparse.csr_array(R))
    )
    moved = search.move(level, np.array([0, 1, 1, 2, 2, 2]))
    assert moved.labels.tolist() == [0, 0, 0, 1, 2, 2]
    assert moved.history[-1] == pytest.approx(oracle.entropy(W, R, moved.labels), abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_modules_as_nodes_have_the_objective_of_their_rows(seed):
    rng, W, R, level, _ = problem(seed)
    lower = search.renumbered(rng.integers(8, size=16))
    upper = rng.integers(4, size=lower.max() + 1)
    coarse = search.aggregate(level, lower)
    expected = oracle.entropy(W, R, upper[lower])
    assert search.objective(coarse, upper) == pytest.approx(expected, abs=1e-9)
    moved = search.move(coarse, upper)
    assert moved.history[-1] == pytest.approx(oracle.entropy(W, R, moved.labels[lower]), abs=1e-9)


@pytest.mark.parametrize("pulls", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_levels_that_share_their_memory_are_those_with_memory_of_their_own(seed, pulls):
    rng, W, R, level, _ = problem(seed)
    if pulls:
        level = search.pulled_level(
            sparse.csr_array(W), sparse.csr_array(np.triu(R, 1) + np.triu(R, 1).T)
        )
    room = search.Room()
    for _ in range(3):  # from the rows up, three times
        own = shared = level
        places = []
        for n_modules in (12, 8, 5, 2):
            labels = search.renumbered(rng.integers(n_modules, size=own.n_nodes))
            own, shared = search.aggregate(own, labels), search.aggregate(shared, labels, room)
            for name in ("indptr", "near", "weight", "linked", "pull", "volume", "cut", "own"):
                np.testing.assert_array_equal(getattr(shared, name), getattr(own, name))
            places.append(shared.near.ctypes.data)
    assert places[0] == places[2] != places[1] == places[3]
    assert not np.may_share_memory(shared.near, level.near)


@pytest.mark.parametrize("only_single", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_nodes_behind_a_fence_stay_there(seed, only_single):
    rng, W, R, level, _ = problem(seed)
    fence = rng.integers(3, size=16)
    moved = search.move(level, np.arange(16), fence=fence, only_single=only_single)
    assert len(set(moved.labels)) == len(set(zip(moved.labels, fence, strict=True))) < 16
    assert moved.history[-1] == pytest.approx(oracle.entropy(W, R, moved.labels), abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_nodes_in_another_order_are_the_same_nodes(seed):
    rng, W, R, level, _ = problem(seed)
    order = rng.permutation(16)
    labels = rng.integers(4, size=16)
    same = search.reordered(level, order)
    expected = oracle.entropy(W, R, labels)
    assert search.objective(same, labels[order]) == pytest.approx(expected, abs=1e-9)
    back = search.reordered(same, np.argsort(order))
    for name in ("indptr", "near", "weight", "linked", "volume", "cut", "owner", "group", "own"):
        np.testing.assert_array_equal(getattr(back, name), getattr(level, name))


@pytest.mark.parametrize("pulls", [False, True])
@pytest.mark.parametrize("seed", SEEDS[:4])
def test_parts_of_any_size_and_any_threads_make_the_same_bits_of_a_level(seed, pulls, monkeypatch):
    rng = np.random.default_rng(seed)
    n = 60
    W = sparse.csr_array(random_graph(rng, n))
    of_pairs = sparse.csr_array(np.round(random_graph(rng, n, 0.1) - 0.5 * W.toarray(), 1))
    *_, relation = problem(seed, n)
    order = rng.permutation(n)
    labels = search.renumbered(rng.integers(12, size=n))

    def levels():
        rows = search.pulled_level(W, of_pairs)
        if not pulls:
            rows = search.first_level(W, of_pairs, *relation[1:])
        made = [rows, search.reordered(rows, order)]
        for of in (labels, np.arange(n), np.zeros(n, dtype=np.int64)):
            made.append(search.aggregate(made[1], of, search.Room()))
        return made, search.modules_of(made[1], labels), search.objective(made[1], labels)

    def values():
        made, modules, value = levels()
        arrays = [a for level in made for a in level if isinstance(a, np.ndarray)]
        return [*arrays, *modules, np.float64(value)]

    whole = values()
    for size in (1, 7, 25):
        monkeypatch.setattr(search, "_NODES", size)
        monkeypatch.setattr(search, "_PORTION", 3 * size)
        for n_workers in (1, 2, 3):
            with threads(n_workers):
                for now, before in zip(values(), whole, strict=True):
                    np.testing.assert_array_equal(now, before)


def test_so_many_modules_that_they_are_read_ahead_have_the_objective_of_the_definition():
    n = entropy.MANY + 100  # the last reads are of fewer nodes than the others
    rng = np.random.default_rng(0)
    ring = sparse.csr_array((rng.random(n) + 0.1, (np.arange(n), (np.arange(n) + 1) % n)), (n, n))
    nothing = sparse.csr_array((n, n))
    ties = search.Ties(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))
    level = search.first_level(
        sparse.csr_array(ring + ring.T), nothing, np.full(n, -1), np.ones(n), ties
    )
    moved = search.move(level, np.arange(n))
    assert len(set(moved.labels)) < n / 2
    assert moved.history[-1] == pytest.approx(search.objective(level, moved.labels), abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_search_ends_below_its_start(seed):
    rng, W, R, level, _ = problem(seed)
    start = rng.integers(5, size=16)
    blocks = search.renumbered(rng.integers(8, size=16))
    climbed = search.climb(level, start)
    assert oracle.entropy(W, R, climbed) <= oracle.entropy(W, R, start) + 1e-12
    found = search.improve(level, start, blocks)
    assert found.history[-1] == pytest.approx(oracle.entropy(W, R, found.labels), abs=1e-9)
    assert (np.diff(found.history) <= 0).all()
    kept = search.improve(level, start, blocks, fixed=True)
    assert len(set(kept.labels)) == len(set(start.tolist()))


@pytest.mark.parametrize("n_wanted", [1, 2, 5])
def test_exactly_as_many_modules_as_wanted_also_without_edges(n_wanted):
    _, _, _, level, _ = problem(0)
    labels = search.merge_down(level, np.arange(16), n_wanted)
    assert labels.max() + 1 == n_wanted
    empty = search.first_level(sparse.csr_array((1500, 1500)), *Relation.none(1500))
    assert search.merge_down(empty, np.arange(1500), n_wanted).max() + 1 == n_wanted


def test_a_crowded_hash_table_is_cleared_and_stays_right():
    # Many nodes of two groups, moved around often: keys of emptied modules pile up.
    rng = np.random.default_rng(0)
    W = sparse.random_array((300, 300), density=0.05, rng=rng).tocsr()
    W = sparse.csr_array(W + W.T)
    W.setdiag(0)
    W.eliminate_zeros()
    side = SideInformation.from_labels(rng.integers(2, size=300))
    relation = relation_graph(
        side, Strengths(lambda i, j: np.zeros(len(i)), 0.01, -0.01), 1.0, expand=False
    )
    level = search.first_level(W, *relation)
    moved = search.move(level, np.arange(300))
    assert moved.history[-1] == pytest.approx(
        oracle.entropy(W.toarray(), dense(relation), moved.labels), abs=1e-9
    )
