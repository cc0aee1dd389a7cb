"""The committee: chains over partitions of items, and the effect of an answer on them.

The state after step t is a pure function of the structure, the facts in their order and the seed:
the random numbers of step t come from (seed, t). All constants are those of the measured method.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._kernels import committee as kernels
from sidelight.query._structure import Floats, Ints, Structure, effective_number, on_a_grid

BETAS = (7.0, 10.0, 14.0)  # how much the graph counts
GAMMAS = (0.7, 1.0)  # resolution: larger means more clusters
PRICE = -1.5  # nats for a further cluster
N_CHAINS = 48
N_PIECES = 32
FIRST_ROUNDS = 30
# Items at the start. 80 are enough for up to 13 clusters. Beyond, an item holds rows of several
# classes, which chains cannot part: coil20 has .70 with 80 items and .83 with 237.
FIRST_ITEMS, MOST_FIRST_ITEMS = 80, 500
FEWEST_PER_MODULE, PER_MODULE = 6, 12
MOST_ITEMS = 1_000
FORGET = 0.98  # of the groups' evidence, per answer
LOWEST_ACCURACY, HIGHEST_ACCURACY = 0.7, 0.99
NEVER = -1_000.0  # two classes in one cluster; -30 left whole classes merged
FIRST_DOUBT, MOST_DOUBT = 0.05, 0.5


class Facts(NamedTuple):
    """Answers as columns: a pair of rows, or a row and a class (then j is −1)."""

    i: Ints
    j: Ints
    class_: Ints  # −1 for pairs
    sign: Ints  # 1 together or is, −1 apart or is not
    annotator: Ints
    weight: Floats

    @classmethod
    def of(cls, rows: list[tuple[int, int, int, int, int, float]]) -> "Facts":
        i, j, class_, sign, annotator, weight = zip(*rows, strict=True) if rows else [()] * 6
        whole = [np.array(c, dtype=np.int64) for c in (i, j, class_, sign, annotator)]
        return cls(*whole, np.array(weight, dtype=float))  # type: ignore[arg-type, call-arg]

    def join(self, other: "Facts") -> "Facts":
        return Facts(*(np.concatenate(both) for both in zip(self, other, strict=True)))

    @property
    def is_pair(self) -> NDArray[np.bool_]:
        return self.class_ < 0


class Items(NamedTuple):
    """The cut of the tree, then anchors of classes among them (node −1, mass 0)."""

    node: Ints
    mass: Floats
    volume: Floats  # inherited: the children of a split share it by mass
    medoid: Ints
    class_: Ints  # −1 unless an anchor
    A: NDArray[np.float64]  # (graphs, items, items)
    D: NDArray[np.float64]  # (graphs, items)
    of_slot: Ints

    @property
    def is_anchor(self) -> NDArray[np.bool_]:
        return self.class_ >= 0

    def anchors(self, n_classes: int) -> Ints:
        """The item of each class."""
        found = np.full(n_classes, -1, dtype=np.int64)
        at = np.flatnonzero(self.is_anchor)
        found[self.class_[at]] = at
        return found


class Edges(NamedTuple):
    indptr: Ints
    other: Ints
    a: NDArray[np.float64]
    c: Floats


@dataclass(frozen=True, eq=False)
class Committee:
    """The state after a number of steps; `told` gives the next one."""

    structure: Structure
    graphs: tuple[sparse.csr_array, ...]  # of leaves: raw, and in the learned metric
    seed: int
    items: Items
    total_volume: float
    first_items: int
    vocabulary: tuple[int, ...]  # of each class; classes of one vocabulary exclude each other
    facts: Facts
    z: NDArray[np.int64]
    group: Ints
    evidence: Floats
    doubt: float  # probability that the graph is wrong about an annotated item
    accuracy: Floats  # of each annotator
    step: int = 0
    n_forced: int = 0
    ignored: tuple[int, ...] = ()  # annotators whose answers have no weight
    settings: "Groups" = field(default_factory=lambda: make_groups(2))

    @cached_property
    def weights(self) -> Floats:
        """Of each chain."""
        share = np.exp(self.evidence - self.evidence.max())
        share /= share.sum()
        count = np.bincount(self.group, minlength=len(share))
        return share[self.group] / count[self.group] / share[np.unique(self.group)].sum()

    @cached_property
    def spread(self) -> tuple[Floats, Floats]:
        """Overlaps G of chains, and the expected number of misjudged pairs at each item."""
        n_clusters = int(self.z.max()) + 1
        G, error = np.empty((N_CHAINS, N_CHAINS)), np.empty(self.z.shape[1])
        table = np.zeros((n_clusters, n_clusters))
        kernels.disagreement(self.z, self.items.mass, self.weights, G, error, table)
        return G, error

    @cached_property
    def fact_items(self) -> tuple[Ints, Ints]:
        """The two items of every fact; the second of a label is the anchor of its class."""
        facts, items, leaf = self.facts, self.items, self.structure.row_leaf
        first = items.of_slot[leaf[facts.i]]
        anchors = items.anchors(len(self.vocabulary))
        second = items.of_slot[leaf[np.maximum(facts.j, 0)]]
        if len(anchors):
            second = np.where(facts.is_pair, second, anchors[facts.class_])
        return first, second

    @cached_property
    def satisfied(self) -> Floats:
        """Weighted share of chains that agree with each fact."""
        first, second = self.fact_items
        p = np.empty(len(first))
        kernels.agreement(self.z, self.weights, first, second, p)
        return np.where(self.facts.sign > 0, p, 1.0 - p)

    @cached_property
    def fact_weight(self) -> Floats:
        """The weight of every fact, 0 for annotators who are ignored."""
        if not self.ignored:
            return self.facts.weight
        return np.where(np.isin(self.facts.annotator, self.ignored), 0.0, self.facts.weight)

    def item_of(self, row: int) -> int:
        return int(self.items.of_slot[self.structure.row_leaf[row]])

    def together(self, i: Ints, j: Ints) -> Floats:
        """Weighted share of chains that put two rows together, for each pair."""
        leaf, of_slot = self.structure.row_leaf, self.items.of_slot
        p = np.empty(len(i))
        kernels.agreement(self.z, self.weights, of_slot[leaf[i]], of_slot[leaf[j]], p)
        return p


class Groups(NamedTuple):
    """A line for each group of chains."""

    beta: Floats
    gamma: Floats
    layer: Ints
    fewest: int


def make_groups(n_graphs: int) -> Groups:
    """Every beta, gamma and graph; chains may move between groups, but some always stay."""
    every = [(b, g, k) for b in BETAS for k in range(n_graphs) for g in GAMMAS]
    beta, gamma, layer = zip(*every, strict=True)
    return Groups(np.array(beta), np.array(gamma), np.array(layer), 4 // n_graphs)


# The first state


def start(
    structure: Structure,
    seed: int,
    *,
    facts: Facts,
    vocabulary: tuple[int, ...],
    n_annotators: int,
    with_metric: bool,
) -> Committee:
    """Cut the tree, let every chain begin with single items, and run them for some rounds."""
    n_graphs = 2 if with_metric else 1
    graphs = (structure.leaves,) * n_graphs
    n_leaves = len(structure.mass)
    n_items = max(min(2, n_leaves), min(_wanted_items(structure), n_leaves // 4))
    items = _first_items(structure, graphs, structure.cut(n_items))
    groups = make_groups(n_graphs)
    committee = Committee(
        structure, graphs, seed, items, float(items.volume.sum()), len(items.node), (),
        Facts.of([]), np.tile(np.arange(len(items.node)), (N_CHAINS, 1)),
        np.arange(N_CHAINS) % len(groups.beta), np.zeros(len(groups.beta)), FIRST_DOUBT,
        np.full(n_annotators, 0.9), settings=groups,
    )  # fmt: skip
    if len(facts.i):
        committee = _enter(committee, facts, vocabulary)
    committee = advance(committee, n_rounds=FIRST_ROUNDS)
    return estimate(committee) if len(facts.i) else committee


def _wanted_items(structure: Structure) -> int:
    """Items at the start, by the number of clusters that the graph shows."""
    n_modules = effective_number(structure.modules())
    if n_modules * FEWEST_PER_MODULE <= FIRST_ITEMS:
        return FIRST_ITEMS
    return min(int(n_modules * PER_MODULE), MOST_FIRST_ITEMS)


def _first_items(
    structure: Structure, graphs: tuple[sparse.csr_array, ...], nodes: list[int]
) -> Items:
    n = len(nodes)
    of_slot = np.empty(len(structure.mass), dtype=np.int64)
    for s, node in enumerate(nodes):
        of_slot[structure.slots(node)] = s
    empty = np.zeros((len(graphs), n, n)), np.zeros((len(graphs), n))
    mass = np.array([structure.node_mass(node) for node in nodes])
    medoid = np.array([structure.medoid(node) for node in nodes])
    items = Items(
        np.array(nodes), mass, np.zeros(n), medoid, np.full(n, -1, dtype=np.int64), *empty, of_slot
    )
    items = weigh_items(structure, graphs, items, np.arange(n))
    return items._replace(volume=items.A[0].sum(axis=1))


def weigh_items(
    structure: Structure, graphs: tuple[sparse.csr_array, ...], items: Items, changed: Ints
) -> Items:
    """Recompute A and D for the items that changed; D of the others is the same after a split."""
    n = len(items.node)
    A, D = items.A.copy(), items.D.copy()
    rows = np.empty((len(changed), n))
    for k, graph in enumerate(graphs):
        for at, s in enumerate(changed):
            node = items.node[s]
            rows[at] = 0.0
            if node >= 0:
                kernels.fold_rows(
                    structure.lo[node], structure.hi[node], structure.order, graph.indptr,
                    graph.indices, graph.data, items.of_slot, rows[at],
                )  # fmt: skip
            rows[at, s] = 0.0
            D[k, s] = rows[at].sum()
        scale = D[k][changed][:, None] * D[k]
        part = np.divide(rows, np.sqrt(scale), out=np.zeros_like(rows), where=scale > 0)
        A[k, changed] = part
        A[k][:, changed] = part.T
    return items._replace(A=A, D=D)


# One step


def told(
    committee: Committee,
    facts: Facts,
    vocabulary: tuple[int, ...],
    n_annotators: int,
    ignored: tuple[int, ...] = (),
) -> Committee:
    """The committee after one more answer: weigh groups, enter it, refine, move, estimate."""
    known = np.append(committee.accuracy, np.full(n_annotators - len(committee.accuracy), 0.9))
    step = committee.step + 1
    committee = replace(committee, accuracy=known, step=step, ignored=ignored)
    if int(facts.annotator[0]) not in ignored:
        committee = _weigh_groups(committee, facts)
    committee = _refine(committee)
    committee = _enter(committee, facts, vocabulary)
    recent = np.unique(np.concatenate(committee.fact_items)[_last(committee, len(facts.i))])
    named = int(facts.class_[-1]) if facts.sign[-1] > 0 else -1
    committee = advance(committee, recent=recent, named=named)
    return estimate(committee)


def _last(committee: Committee, n: int) -> Ints:
    """Where the last n facts stand in the joined columns of their items."""
    total = len(committee.facts.i)
    return np.concatenate([np.arange(total - n, total), np.arange(2 * total - n, 2 * total)])


def _weigh_groups(committee: Committee, facts: Facts) -> Committee:
    """Evidence of the groups of chains by how they predicted the answer, before it enters."""
    chance = predicted(committee, facts)
    n_groups = len(committee.evidence)
    size = np.bincount(committee.group, minlength=n_groups)
    evidence = committee.evidence
    for p in chance:
        share = np.bincount(committee.group, weights=p, minlength=n_groups)
        evidence = FORGET * evidence + np.log((share + 0.5) / (size + 1.0))
    committee = replace(committee, evidence=evidence)
    return _allot(committee)


def predicted(committee: Committee, facts: Facts) -> NDArray[np.float64]:
    """Probability of each answer under each chain: (facts, chains)."""
    leaf, of_slot = committee.structure.row_leaf, committee.items.of_slot
    anchors = committee.items.anchors(len(committee.vocabulary))
    alpha = committee.accuracy[facts.annotator]
    chance = np.empty((len(facts.i), N_CHAINS))
    for k in range(len(facts.i)):
        mine = committee.z[:, of_slot[leaf[facts.i[k]]]]
        c = facts.class_[k]
        if c < 0:
            right = (mine == committee.z[:, of_slot[leaf[facts.j[k]]]]) == (facts.sign[k] > 0)
            wrong = 1.0 - alpha[k]
        elif c < len(anchors):
            right = (mine == committee.z[:, anchors[c]]) == (facts.sign[k] > 0)
            wrong = (1.0 - alpha[k]) / (len(anchors) if facts.sign[k] > 0 else 1)
        else:  # a new class: right where no anchor is
            right = ~(mine[:, None] == committee.z[:, anchors]).any(axis=1)
            wrong = (1.0 - alpha[k]) / max(len(anchors), 1)
        chance[k] = np.where(right, alpha[k], wrong)
    return chance


def _allot(committee: Committee) -> Committee:
    """Move up to two chains from the most over- to the most under-represented group."""
    share = np.exp(committee.evidence - committee.evidence.max())
    wanted = N_CHAINS * share / share.sum()
    rng = np.random.default_rng([committee.seed, committee.step, 1])
    z, group = committee.z.copy(), committee.group.copy()
    for _ in range(2):
        size = np.bincount(group, minlength=len(wanted))
        spare = np.where(size > committee.settings.fewest, size - wanted, -np.inf)
        giver, taker = int(np.argmax(spare)), int(np.argmin(size - wanted))
        if not spare[giver] - (size - wanted)[taker] > 1.0 or giver == taker:
            break
        leaves = np.flatnonzero(group == giver)[-1]
        pattern = np.flatnonzero(group == taker)
        z[leaves] = z[pattern[int(rng.integers(len(pattern)))]]
        group[leaves] = taker
    return replace(committee, z=z, group=group)


def _refine(committee: Committee) -> Committee:
    """Split the item whose pairs are misjudged most, as long as the schedule allows."""
    wanted = min(committee.first_items + committee.step, MOST_ITEMS)
    error = committee.spread[1].copy()
    while (~committee.items.is_anchor).sum() < wanted + committee.n_forced:
        items, structure = committee.items, committee.structure
        score = error + 0.001 * items.mass * structure.n_rows
        inner = (items.node >= 0) & (structure.children[np.maximum(items.node, 0), 0] >= 0)
        if not inner.any():
            break
        s = int(np.argmax(np.where(inner, score, -np.inf)))
        before = items.mass[s]
        committee = split_item(committee, s)
        new = committee.items.mass
        share = error[s] / before
        error = np.append(error, share * new[-1])
        error[s] = share * new[s]
    return committee


def split_item(committee: Committee, s: int) -> Committee:
    """Replace an item by its two children: the first takes its place, the second comes last."""
    structure, items = committee.structure, committee.items
    first, second = (int(child) for child in structure.children[items.node[s]])
    n = len(items.node)
    of_slot = items.of_slot.copy()
    of_slot[structure.slots(second)] = n
    mass = np.append(items.mass, structure.node_mass(second))
    mass[s] = structure.node_mass(first)
    volume = np.append(items.volume, 0.0)
    volume[s], volume[n] = items.volume[s] * mass[[s, n]] / (mass[s] + mass[n])
    node = np.append(items.node, second)
    node[s] = first
    medoid = np.append(items.medoid, structure.medoid(second))
    medoid[s] = structure.medoid(first)
    wider = Items(
        node, mass, volume, medoid, np.append(items.class_, -1),
        np.pad(items.A, ((0, 0), (0, 1), (0, 1))), np.pad(items.D, ((0, 0), (0, 1))), of_slot,
    )  # fmt: skip
    wider = weigh_items(structure, committee.graphs, wider, np.array([s, n]))
    z = np.column_stack([committee.z, committee.z[:, s]])
    return replace(committee, items=wider, z=z)


def _enter(committee: Committee, facts: Facts, vocabulary: tuple[int, ...]) -> Committee:
    """Append facts; new classes get an anchor; rows of one item that differ are separated."""
    for c in range(len(committee.vocabulary), len(vocabulary)):
        named = facts.i[(facts.class_ == c) & (facts.sign > 0)]
        committee = _add_anchor(committee, c, vocabulary[c], named)
    committee = replace(committee, facts=committee.facts.join(facts))
    for k in range(len(facts.i)):
        for apart in _to_part(committee, facts, k):
            committee = part(committee, apart)
    return committee


def _to_part(committee: Committee, facts: Facts, k: int) -> list[tuple[int, int]]:
    """Pairs of rows in one item that a fact says are different."""
    i, j, c, sign = facts.i[k], facts.j[k], facts.class_[k], facts.sign[k]
    if c < 0:
        return [(int(i), int(j))] if sign < 0 else []
    known = committee.facts
    same_book = np.array(committee.vocabulary)[np.maximum(known.class_, 0)]
    clash = (known.class_ >= 0) & (known.i != i) & (same_book == committee.vocabulary[c])
    if sign > 0:
        clash &= ((known.class_ != c) & (known.sign > 0)) | ((known.class_ == c) & (known.sign < 0))
    else:
        clash &= (known.class_ == c) & (known.sign > 0)
    rows = known.i[clash]
    inside = committee.items.of_slot[committee.structure.row_leaf[rows]]
    return [(int(i), int(row)) for row in rows[inside == committee.item_of(int(i))][:1]]


def part(committee: Committee, apart: tuple[int, int]) -> Committee:
    """Split the item of two rows down the tree, and their leaf too, until they are apart."""
    i, j = apart
    while i != j and committee.item_of(i) == committee.item_of(j):
        s = committee.item_of(i)
        if (~committee.items.is_anchor).sum() >= MOST_ITEMS:
            break
        if committee.structure.is_leaf(int(committee.items.node[s])):
            slot = int(committee.structure.row_leaf[i])
            old, structure = committee.structure, committee.structure.split_leaf(slot, apart)
            of_slot = np.append(committee.items.of_slot, s)
            graphs = tuple(
                structure.leaves if graph is old.leaves else _wider(graph, slot, structure)
                for graph in committee.graphs
            )
            items = committee.items._replace(of_slot=of_slot)
            committee = replace(committee, structure=structure, items=items, graphs=graphs)
        committee = split_item(committee, s)
        committee = replace(committee, n_forced=committee.n_forced + 1)
    return committee


def _wider(graph: sparse.csr_array, slot: int, structure: Structure) -> sparse.csr_array:
    """A learned graph of leaves after a leaf was split: shared by the mass of the two parts."""
    new = structure.leaves.shape[0] - 1
    share = structure.mass[[slot, new]] / structure.mass[[slot, new]].sum()
    spread = sparse.csr_array(
        (
            np.append(np.where(np.arange(new) == slot, share[0], 1.0), share[1]),
            (np.arange(new + 1), np.append(np.arange(new), slot)),
        ),
        shape=(new + 1, new),
    )
    wider = on_a_grid(sparse.csr_array(spread @ graph @ spread.T))
    wider.sort_indices()
    return wider


def _add_anchor(committee: Committee, c: int, book: int, named: Ints) -> Committee:
    """A new class: an item without mass, in the cluster of its first row unless that is taken."""
    items = committee.items
    n = len(items.node)
    alone = committee.z.max(axis=1) + 1
    first = alone
    if len(named):
        first = committee.z[:, committee.item_of(int(named[0]))]
        rivals = np.flatnonzero(items.is_anchor)
        rivals = rivals[[committee.vocabulary[k] == book for k in items.class_[rivals]]]
        taken = (committee.z[:, rivals] == first[:, None]).any(axis=1)
        first = np.where(taken, alone, first)
    wider = Items(
        np.append(items.node, -1), np.append(items.mass, 0.0), np.append(items.volume, 0.0),
        np.append(items.medoid, -1), np.append(items.class_, c),
        np.pad(items.A, ((0, 0), (0, 1), (0, 1))), np.pad(items.D, ((0, 0), (0, 1))),
        items.of_slot,
    )  # fmt: skip
    assert len(wider.node) == n + 1
    return replace(
        committee,
        items=wider,
        z=np.column_stack([committee.z, first]),
        vocabulary=(*committee.vocabulary, book),
    )


def bare(committee: Committee) -> Committee:
    """Without A and D, the only large parts: to be kept for a replay."""
    nothing = np.zeros((len(committee.graphs), 0, 0)), np.zeros((len(committee.graphs), 0))
    return replace(committee, items=committee.items._replace(A=nothing[0], D=nothing[1]))


def whole(committee: Committee) -> Committee:
    """The committee that `bare` was given, bit for bit: sums of weights are exact."""
    n, n_graphs = len(committee.items.node), len(committee.graphs)
    items = committee.items._replace(A=np.zeros((n_graphs, n, n)), D=np.zeros((n_graphs, n)))
    items = weigh_items(committee.structure, committee.graphs, items, np.arange(n))
    return replace(committee, items=items)


def strength(accuracy: Any) -> Any:
    """log(accuracy / (1 - accuracy)), with accuracy capped."""
    capped = np.clip(accuracy, 1e-6, HIGHEST_ACCURACY)
    return np.log(capped / (1.0 - capped))


def couplings(committee: Committee) -> NDArray[np.float64]:
    """C: the evidence of the facts about every pair of items."""
    facts, n = committee.facts, len(committee.items.node)
    C = np.zeros((n, n))
    c = strength(committee.accuracy[facts.annotator])
    n_classes = len(committee.vocabulary)
    is_label = ~facts.is_pair & (facts.sign > 0)
    c = np.where(is_label, c + np.log(max(n_classes - 1, 1)), c) * facts.sign
    c = c * committee.fact_weight
    first, second = committee.fact_items
    np.add.at(C, (first, second), c)
    np.add.at(C, (second, first), c)
    anchors = committee.items.anchors(n_classes)
    book = np.array(committee.vocabulary)
    if n_classes > 1:
        C[np.ix_(anchors, anchors)] = np.where(book[:, None] == book, NEVER, 0.0)
    np.fill_diagonal(C, 0.0)
    return C


def edges_of(committee: Committee) -> Edges:
    """The pairs of items with a coupling, as CSR."""
    C, A = couplings(committee), committee.items.A
    there = (A != 0).any(axis=0) | (C != 0)
    row, col = np.nonzero(there)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(C)))])
    return Edges(indptr, col, np.ascontiguousarray(A[:, row, col]), C[row, col])


def annotated(committee: Committee) -> NDArray[np.int8]:
    """1 for items with answers, 2 for anchors, 0 for the others."""
    kind = np.zeros(len(committee.items.node), dtype=np.int8)
    for items in committee.fact_items:
        kind[items[committee.fact_weight > 0]] = 1
    kind[committee.items.is_anchor] = 2
    return kind


def advance(
    committee: Committee, *, recent: Ints | None = None, named: int = -1, n_rounds: int = 1
) -> Committee:
    """Run every chain: a sweep over all items and moves of pieces, for some rounds."""
    items, groups = committee.items, committee.settings
    edges, kind = edges_of(committee), annotated(committee)
    n_classes = len(committee.vocabulary)
    facts = committee.facts
    of_class = ~facts.is_pair & (facts.sign > 0) & (committee.fact_weight > 0)
    by_class = np.flatnonzero(of_class)[np.argsort(facts.class_[of_class], kind="stable")]
    starts = np.searchsorted(facts.class_[by_class], np.arange(n_classes + 1))
    beta = groups.beta[committee.group]
    volume = committee.total_volume
    r = beta * groups.gamma[committee.group] / volume if volume > 0 else np.zeros(N_CHAINS)
    z, overruled = committee.z.copy(), np.zeros(N_CHAINS)
    seed = np.random.SeedSequence([committee.seed, committee.step]).generate_state(1, np.uint64)[0]
    kernels.run_chains(
        edges.indptr, edges.other, edges.a, edges.c, kind, items.volume, beta, r,
        groups.layer[committee.group], PRICE, committee.doubt,
        np.empty(0, dtype=np.int64) if recent is None else recent,
        items.anchors(n_classes), starts, committee.fact_items[0][by_class], named, n_rounds,
        N_PIECES, seed, z, overruled,
    )  # fmt: skip
    n_told = int((kind == 1).sum())
    doubt = min((1.0 + overruled.mean()) / (20.0 + n_told), MOST_DOUBT)
    return replace(committee, z=z, doubt=doubt if n_told else committee.doubt)


def right_chances(committee: Committee) -> Floats:
    """Probability that each fact is right, judged by the chains without it.

    The power 1/2 tempers a committee that is too sure of itself; without it accuracies ran away.
    """
    facts = committee.facts
    alpha = committee.accuracy[facts.annotator]
    n_others = max(len(committee.vocabulary) - 1, 1)
    is_label = ~facts.is_pair & (facts.sign > 0)
    others = np.where(is_label, n_others, 1)
    p = (N_CHAINS * committee.satisfied + 0.5) / (N_CHAINS + 1)
    pull = (strength(alpha) + np.where(is_label, np.log(n_others), 0.0)) * committee.fact_weight
    odds = p / (1 - p) * np.exp(-pull)
    if is_label.any() and len(committee.vocabulary) > 1:
        odds[is_label] = _label_odds(committee, np.flatnonzero(is_label), pull[is_label])
    odds = np.sqrt(odds * others) / others
    pi = odds / (1 + odds)
    q = alpha * pi / (alpha * pi + (1 - alpha) / others * (1 - pi))
    first, second = committee.fact_items
    return np.where(first == second, alpha, q)


def _label_odds(committee: Committee, labels: Ints, pull: Floats) -> Floats:
    """Odds that each label is right, by the names of its row's cluster in every chain.

    A chain in which the label pulls its row to the anchor counts by exp(-pull); half a chain is
    added on either side.
    """
    says = _cluster_says(committee, labels)
    anchors = committee.items.anchors(len(committee.vocabulary))
    at, class_ = committee.fact_items[0][labels], committee.facts.class_[labels]
    is_home = committee.z[:, at] == committee.z[:, anchors[class_]]
    weight = committee.weights[:, None] * np.exp(-pull * is_home)
    right = (weight * says).sum(axis=0) + 0.5 / N_CHAINS * np.exp(-pull)
    wrong = (weight * (1.0 - says)).sum(axis=0) + 0.5 / N_CHAINS
    return np.asarray(right / wrong)


def _cluster_says(committee: Committee, labels: Ints) -> NDArray[np.float64]:
    """1 where a chain's cluster has the label's name, 0 where it has another: (chains, labels).

    The name of a cluster is the class whose anchor it holds, else that of most labels in it but
    the one that is judged: a class may lie in several clusters. By the anchor alone, right answers
    were judged wrong there (nine tables: accuracy .87, now .91). A cluster without a name gives
    every class the same chance. Smoothed shares of names instead of a vote overrated annotators
    with one wrong answer in ten (.96 to .97 on iris, ecoli and digits).
    """
    z, n_classes = committee.z, len(committee.vocabulary)
    n_clusters = int(z.max()) + 1
    first = np.arange(N_CHAINS)[:, None] * n_clusters  # clusters of all chains in one row
    cluster = first + z[:, committee.fact_items[0][labels]]
    class_ = committee.facts.class_[labels]
    counts = committee.fact_weight[labels] > 0
    shape = (N_CHAINS * n_clusters, n_classes)
    cell = cluster[:, counts] * n_classes + class_[counts]
    votes = np.bincount(cell.ravel(), minlength=shape[0] * shape[1]).reshape(shape)
    holds = np.zeros(shape, dtype=bool)
    holds[first + z[:, committee.items.anchors(n_classes)], np.arange(n_classes)] = True
    says = np.full(cluster.shape, 1.0 / n_classes)
    book = np.array(committee.vocabulary)
    for one in np.unique(book):
        named = np.flatnonzero(book == one)
        mine = np.flatnonzero(book[class_] == one)
        at, column = cluster[:, mine], np.searchsorted(named, class_[mine])
        is_held = np.asarray(holds[:, named].any(axis=1))
        vote = np.where(is_held[:, None], holds[:, named] * (len(labels) + 1), votes[:, named])
        vote = np.pad(vote, ((0, 0), (0, 1)))  # a class that nobody named: two columns at least
        best = vote.argmax(axis=1)
        most, next_most = -np.partition(-vote, 1, axis=1)[:, :2].T
        for_it = vote[at, column] - (counts[mine] & ~is_held[at])
        against = np.where(best[at] == column, next_most[at], most[at])
        says[:, mine] = np.where(for_it == against, says[:, mine], for_it > against)
    return says


def estimate(committee: Committee) -> Committee:
    """Accuracies of the annotators from how the chains judge their facts."""
    n = len(committee.accuracy)
    facts = committee.facts
    right = np.bincount(facts.annotator, weights=right_chances(committee), minlength=n)
    count = np.bincount(facts.annotator, minlength=n)
    accuracy = np.maximum((18.0 + right) / (20.0 + count), LOWEST_ACCURACY)
    return replace(committee, accuracy=accuracy)
