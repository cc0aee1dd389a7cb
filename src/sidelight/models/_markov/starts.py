"""Where the search of Markov aggregation starts: colours, a repaired partition, coarse to fine."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from sidelight._kernels import aggregate as kernels
from sidelight.models._markov.chain import CSR, Chain
from sidelight.models._markov.search import State, joint_with, prices, run
from sidelight.models._markov.statements import Units, no_statements

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Coarsening ends at this many states per cluster: few enough for a local search from random labels,
# and enough to represent any boundary.
_COARSE = 20
COARSE_STARTS = 10
# Levels of more states are refined by few sweeps, because the next finer level continues.
_ALL_SWEEPS, _FEW_SWEEPS = 10_000, 3
_MOST_STEPS = 50  # along which a given label reaches rows without one
# What a broken statement costs while statements are made hard, in bits of one of n rows. Steps half
# as long end no better; without the low prices the partition is torn apart before it can follow.
PRICES: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


def coloured_start(units: Units, n_clusters: int, rng: np.random.Generator) -> Ints:
    """The paper's greedy colouring, with random colours for units without statements."""
    labels = np.full(units.n_units, -1, dtype=np.int64)
    rival_mass = np.zeros((units.n_rival_vocabularies, n_clusters))
    drawn = rng.integers(n_clusters, size=units.n_units)
    kernels.colour(units.said(*_class_prices(units, n_clusters)), drawn, labels, rival_mass)
    return labels


def _class_prices(units: Units, n_clusters: int) -> tuple[Ints, Floats]:
    """Classes in the clusters of their numbers, where there are enough of those."""
    row, column, weight = units.priced
    stated, number = np.unique(row, return_inverse=True)
    place = np.full(units.n_units, -1, dtype=np.int64)
    place[stated] = np.arange(len(stated))
    first = np.searchsorted(units.column_vocabulary, units.column_vocabulary)
    cluster = (np.arange(len(first)) - first)[column]
    price = np.zeros((len(stated), n_clusters))
    real = cluster < n_clusters
    np.add.at(price, (number[real], cluster[real]), -weight[real])
    return place, price


def repaired_start(chain: Chain, units: Units, rows: Ints, n_clusters: int) -> Ints:
    """A partition of the rows, changed as little as the statements allow.

    Units without statements go where most of their mass is; units with labels are matched to
    clusters, class by class; the rest is coloured in the order of DSATUR, each with its preferred
    colour.
    """
    wish, labels = _by_majority(chain, units, rows, n_clusters)
    labels[units.is_stated] = -1
    rival_mass = np.zeros((units.n_rival_vocabularies, n_clusters))
    span, vocabulary, weight = units.rivals
    unit = np.repeat(np.arange(units.n_units), np.diff(span))
    for number in range(units.n_rival_vocabularies):
        here = unit[(vocabulary == number) & (labels[unit] < 0)]
        a, b = linear_sum_assignment(wish[here], maximize=True)
        labels[here[a]] = b
    done = labels[unit] >= 0
    np.add.at(rival_mass, (vocabulary[done], labels[unit[done]]), weight[done])
    place, price = np.full(units.n_units, -1, dtype=np.int64), np.zeros((0, n_clusters))
    if len(units.priced[0]):
        state = State.of(chain, units, rows.copy(), n_clusters)
        place, price = prices(units, state)
    kernels.repair(units.said(place, price), wish, labels, rival_mass)
    return labels


def hardened_start(
    chain: Chain,
    units: Units,
    rows: Ints,
    n_clusters: int,
    beta: float,
    max_iter: int,
    steps: Sequence[float] = PRICES,
) -> Ints:
    """A partition of the rows that follows the statements as their price rises.

    Where many units are kept apart, `repaired_start` colours them by what is free and the search,
    one unit at a time, cannot exchange them again. While broken statements are cheap it can.
    """
    _, labels = _by_majority(chain, units, rows, n_clusters)
    labels = fill_clusters(units, labels, n_clusters)
    for price in steps:
        priced = units._replace(penalty=price / chain.n_states)
        found = run(chain, priced, labels, n_clusters, [beta], max_iter, True)
        labels = found.labels[units.members[units.span[:-1]]]
    return labels


def _by_majority(chain: Chain, units: Units, rows: Ints, n_clusters: int) -> tuple[Floats, Ints]:
    """How much of its transitions each unit has to each cluster, and the cluster with the most."""
    wish = np.zeros((units.n_units, n_clusters))
    np.add.at(wish, units.of_row, joint_with(chain, rows, n_clusters))
    first_row = units.members[units.span[:-1]]
    return wish, np.where(np.diff(units.span) == 1, rows[first_row], wish.argmax(axis=1))


def given_start(chain: Chain, given: Ints, n_clusters: int, rng: np.random.Generator) -> Ints:
    """Clusters of the rows where they are given; the others (-1) follow their transitions."""
    labels = given.copy()
    for _ in range(_MOST_STEPS):
        unknown = np.flatnonzero(labels < 0)
        if not len(unknown):
            break
        known = np.where(labels < 0, n_clusters, labels)
        votes = joint_with(chain, known, n_clusters + 1)[unknown, :n_clusters]
        found = votes.sum(axis=1) > 0
        if not found.any():
            break
        labels[unknown[found]] = votes[found].argmax(axis=1)
    unknown = np.flatnonzero(labels < 0)
    labels[unknown] = rng.integers(n_clusters, size=len(unknown))
    return labels


def fill_clusters(units: Units, labels: Ints, n_clusters: int) -> Ints:
    """Give every empty cluster one unit of the largest one, of those with the fewest statements."""
    labels = labels.copy()
    counts = np.bincount(labels, minlength=n_clusters)
    for k in np.flatnonzero(counts == 0):
        largest = int(counts.argmax())
        if counts[largest] == 1:
            break
        inside = np.flatnonzero(labels == largest)
        chosen = inside[int(units.is_stated[inside].argmin())]
        labels[chosen] = k
        counts[largest] -= 1
        counts[k] = 1
    return labels


# Coarse to fine


def coarse_start(
    chain: Chain,
    n_clusters: int,
    betas: Sequence[float],
    max_iter: int,
    rng: np.random.Generator,
    n_starts: int = COARSE_STARTS,
) -> Ints:
    """A partition of the rows without statements, found on ever finer versions of the chain.

    From random labels a local search ends in a patchwork if there are many more rows than
    neighbours, because every patch is a local optimum. So states are merged, two by two along their
    strongest transitions, until few are left; these are clustered, best of some random starts, and
    the partition is refined on the way back. Merging states of a chain is aggregation itself, so
    I(Y1; Y2) is the same on every level.
    """
    levels, merged = [_symmetric(chain)], []
    while levels[-1].n_states > _COARSE * n_clusters:
        group = _pair_up(levels[-1], rng)
        n_groups = int(group.max()) + 1
        if n_groups > 0.9 * levels[-1].n_states or n_groups < 2 * n_clusters:
            break  # the rest is hardly connected, or connected through a few states only
        merged.append(group)
        levels.append(_merge(levels[-1], group, n_groups))
    coarsest = no_statements(levels[-1].n_states)
    tries = []
    for child in rng.spawn(n_starts):
        labels = child.integers(n_clusters, size=coarsest.n_units)
        labels = fill_clusters(coarsest, labels, n_clusters)
        tries.append(run(levels[-1], coarsest, labels, n_clusters, betas, max_iter, True))
    labels = min(tries, key=lambda tried: tried.objective).labels
    for level, group in zip(levels[-2::-1], merged[::-1], strict=True):
        units = no_statements(level.n_states)
        labels = fill_clusters(units, labels[group], n_clusters)
        if level is not levels[0]:  # the caller searches the rows themselves
            sweeps = max_iter if level.n_states <= _ALL_SWEEPS else _FEW_SWEEPS
            labels = run(level, units, labels, n_clusters, betas[-1:], sweeps, True).labels
    return labels


def _symmetric(chain: Chain) -> Chain:
    """The chain itself, or the mean of it and its reverse, which is enough for a start."""
    if chain.is_reversible:
        return chain
    return _of_joint((chain.matrix() + chain.matrix(transposed=True)) / 2)


def _of_joint(joint: Any) -> Chain:
    J = CSR.of(sparse.csr_array(joint)) if sparse.issparse(joint) else joint
    return Chain(J, J, np.asarray(joint.sum(axis=1)).ravel())


def _pair_up(chain: Chain, rng: np.random.Generator) -> Ints:
    """Groups of two states, or a few, along strong transitions, numbered from 0."""
    group = np.full(chain.n_states, -1, dtype=np.int64)
    order = rng.permutation(chain.n_states)
    if chain.is_dense:
        kernels.pair_up_dense(chain.J, chain.pi, order, group)
    else:
        kernels.pair_up(chain.J, chain.pi, order, group)
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def _merge(chain: Chain, group: Ints, n_groups: int) -> Chain:
    """The chain between groups of states."""
    if chain.is_dense:
        merged = np.zeros((n_groups, n_groups))
        members = np.argsort(group, kind="stable")
        span = np.searchsorted(group[members], np.arange(n_groups + 1))
        kernels.merge_dense(chain.J, group, members, span, np.empty(chain.n_states), merged)
        return _of_joint(merged)
    n = chain.n_states
    member = sparse.csr_array((np.ones(n), group, np.arange(n + 1)), shape=(n, n_groups))
    J = chain.J  # columns by their groups, which may repeat: one product instead of two
    to_groups = sparse.csr_array((J.data, group[J.indices], J.indptr), shape=(n, n_groups))
    return _of_joint(sparse.csr_array(member.T) @ to_groups)
