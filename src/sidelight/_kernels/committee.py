"""Partitions of items, sampled by many chains: sweeps, moves of pieces, disagreement of chains.

log p(z) = sum_{s<t} J_st [z_s = z_t] - r sum_{s<t} d_s d_t [z_s = z_t] + price K(z),
J = beta A + C: A from the neighbour graph, C from answers.

Edges of item s are indptr[s]:indptr[s+1]; a and c hold A and C of each. A cluster is a slot; slots
without items are free. `told`: 0 no answer, 1 has answers, 2 is the anchor of a class.
"""

import math

import numpy as np

from sidelight._kernels._jit import jit

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_MIX_AGAIN = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_HEATS = (0.03, 0.1, 0.3, 1.0)  # shares of J by which a piece grows


@jit
def uniform(state):
    """The next number in [0, 1) of SplitMix64. state (1): IN/OUT."""
    state[0] += _STEP
    x = state[0]
    x = (x ^ (x >> _S30)) * _MIX
    x = (x ^ (x >> _S27)) * _MIX_AGAIN
    x = x ^ (x >> _S31)
    return np.float64(x >> _S11) * (1.0 / 9007199254740992.0)


@jit
def compact(z, slot):
    """Number clusters from 0 in the order of their first items. z: IN/OUT. Returns how many."""
    n = z.shape[0]
    for k in range(slot.shape[0]):
        slot[k] = -1
    n_clusters = 0
    for s in range(n):
        if slot[z[s]] < 0:
            slot[z[s]] = n_clusters
            n_clusters += 1
        z[s] = slot[z[s]]
    return n_clusters


@jit
def _tally(z, d, count, volume):
    count[:] = 0
    volume[:] = 0.0
    for s in range(z.shape[0]):
        count[z[s]] += 1
        volume[z[s]] += d[s]


@jit
def _free_slot(count, n_slots):
    for k in range(n_slots):
        if count[k] == 0:
            return k
    return n_slots


@jit
def _draw(weight, n, state):
    """An index below n by its weight."""
    total = 0.0
    for k in range(n):
        total += weight[k]
    u = uniform(state) * total
    last = 0
    for k in range(n):
        if weight[k] > 0.0:
            last = k
            u -= weight[k]
            if u < 0.0:
                return k
    return last


@jit
def _weigh(graph, answers, count, n_slots, free, price, eps, weight):
    """Unnormalised probability of each cluster for one item. weight: OUT. free: the new cluster.

    With eps > 0 the graph is right with probability 1 - eps only, and answers may overrule it.
    """
    top = price
    top_answer = 0.0
    n_live = 0
    for k in range(n_slots):
        if count[k] > 0:
            n_live += 1
            top = max(top, graph[k])
            top_answer = max(top_answer, answers[k])
    total = math.exp(price - top)
    for k in range(n_slots):
        if count[k] > 0:
            total += math.exp(graph[k] - top)
    even = eps / (n_live + 1)
    for k in range(max(n_slots, free + 1)):
        weight[k] = 0.0
        if k < n_slots and count[k] > 0:
            share = math.exp(graph[k] - top) / total
            weight[k] = ((1.0 - eps) * share + even) * math.exp(answers[k] - top_answer)
    share = math.exp(price - top) / total
    weight[free] = ((1.0 - eps) * share + even * math.exp(price)) * math.exp(-top_answer)
    return even, top, total


@jit
def sweep(indptr, other, a, c, told, d, beta, r, price, eps, z, state, count, volume, work):
    """One Gibbs step for every item. z: IN/OUT. Returns the sum over answered items of the
    probability that the graph was overruled. work (3, n + 1): scratch; count and volume agree
    with z before and after.
    """
    n = z.shape[0]
    graph, answers, weight = work[0], work[1], work[2]
    n_slots = 0
    for k in range(count.shape[0]):
        if count[k] > 0:
            n_slots = k + 1
    overruled = 0.0
    for s in range(n):
        old = z[s]
        count[old] -= 1
        volume[old] -= d[s]
        if count[old] == 0:
            volume[old] = 0.0
        for k in range(n_slots):
            graph[k] = -r * d[s] * volume[k]
            answers[k] = 0.0
        for e in range(indptr[s], indptr[s + 1]):
            graph[z[other[e]]] += beta * a[e]
            answers[z[other[e]]] += c[e]
        free = _free_slot(count, n_slots)
        own = eps if told[s] == 1 else 0.0
        even, top, total = _weigh(graph, answers, count, n_slots, free, price, own, weight)
        k = _draw(weight, max(n_slots, free + 1), state)
        if told[s] == 1 and eps > 0.0:
            is_new = count[k] == 0
            share = math.exp((price if is_new else graph[k]) - top) / total
            doubt = even * math.exp(price) if is_new else even
            overruled += doubt / ((1.0 - eps) * share + doubt)
        z[s] = k
        count[k] += 1
        volume[k] += d[s]
        n_slots = max(n_slots, k + 1)
    return overruled


@jit
def _grow(indptr, other, a, c, beta, heat, seed, z, state, piece, is_in):
    """Grow a piece of the seed's cluster over edges J > 0. piece, is_in: OUT. Returns its size."""
    piece[0] = seed
    is_in[seed] = True
    size, at = 1, 0
    while at < size:
        s = piece[at]
        at += 1
        for e in range(indptr[s], indptr[s + 1]):
            t = other[e]
            if is_in[t] or z[t] != z[seed]:
                continue
            J = beta * a[e] + c[e]
            if J > 0.0 and uniform(state) < 1.0 - math.exp(-heat * J):
                is_in[t] = True
                piece[size] = t
                size += 1
    return size


@jit
def move_piece(
    indptr, other, a, c, d, beta, r, price, heat, seed, z, state, count, volume, work, piece, is_in
):
    """Cut a piece out of its cluster and draw the cluster that it joins (Swendsen-Wang cuts)."""
    size = _grow(indptr, other, a, c, beta, heat, seed, z, state, piece, is_in)
    score, weight = work[0], work[2]
    d_piece = 0.0
    for i in range(size):
        d_piece += d[piece[i]]
    old = z[seed]
    count[old] -= size
    volume[old] = volume[old] - d_piece if count[old] > 0 else 0.0
    n_slots = 0
    for k in range(count.shape[0]):
        if count[k] > 0:
            n_slots = k + 1
    for k in range(n_slots):
        score[k] = -r * d_piece * volume[k]
    for i in range(size):
        for e in range(indptr[piece[i]], indptr[piece[i] + 1]):
            t = other[e]
            if not is_in[t]:
                J = beta * a[e] + c[e]
                score[z[t]] += J * (1.0 - heat) if J > 0.0 else J
    free = _free_slot(count, n_slots)
    top = price
    for k in range(n_slots):
        if count[k] > 0:
            top = max(top, score[k])
    for k in range(max(n_slots, free + 1)):
        weight[k] = math.exp(score[k] - top) if k < n_slots and count[k] > 0 else 0.0
    weight[free] = math.exp(price - top)
    k = _draw(weight, max(n_slots, free + 1), state)
    for i in range(size):
        z[piece[i]] = k
        is_in[piece[i]] = False
    count[k] += size
    volume[k] += d_piece


@jit
def move_class(
    indptr, other, a, c, d, beta, r, price, anchor, members, z, state, count, volume, piece, is_in
):
    """Offer the members of a class that share one wrong cluster to the cluster of its anchor."""
    n_wrong = 0
    for i in range(members.shape[0]):
        n_wrong += z[members[i]] != z[anchor]
    if n_wrong == 0:
        return
    pick = int(uniform(state) * n_wrong)
    source = -1
    for i in range(members.shape[0]):
        if z[members[i]] != z[anchor]:
            if pick == 0:
                source = z[members[i]]
            pick -= 1
    target = z[anchor]
    size, d_piece = 0, 0.0
    for i in range(members.shape[0]):
        s = members[i]
        if z[s] == source and not is_in[s]:
            is_in[s] = True
            piece[size] = s
            size += 1
            d_piece += d[s]
    gain = -r * d_piece * (volume[target] - (volume[source] - d_piece))
    if count[source] == size:
        gain -= price
    for i in range(size):
        for e in range(indptr[piece[i]], indptr[piece[i] + 1]):
            t = other[e]
            if is_in[t]:
                continue
            if z[t] == target:
                gain += beta * a[e] + c[e]
            elif z[t] == source:
                gain -= beta * a[e] + c[e]
    is_taken = uniform(state) < 1.0 / (1.0 + math.exp(-max(min(gain, 700.0), -700.0)))
    for i in range(size):
        is_in[piece[i]] = False
        if is_taken:
            z[piece[i]] = target
    if is_taken:
        count[source] -= size
        volume[source] = volume[source] - d_piece if count[source] > 0 else 0.0
        count[target] += size
        volume[target] += d_piece


@jit
def run_chains(
    indptr, other, a, c, told, d, beta, r, layer, price, eps, recent, anchors, member_start,
    members, named, n_rounds, n_pieces, seed, z, overruled,
):  # fmt: skip
    """Advance every chain. z (chains, items): IN/OUT. overruled (chains): OUT, of the last sweep.

    beta, r and layer (which graph) are of each chain; a is (graphs, edges). recent: the items of
    the last answers, from which half of the pieces start. Class i has the anchor anchors[i] and the
    answered items members[member_start[i]:member_start[i+1]]; named: the class named last, or -1.
    """
    n_chains, n = z.shape
    count = np.empty(n + 1, dtype=np.int64)
    volume = np.empty(n + 1)
    slot = np.empty(n + 1, dtype=np.int64)
    work = np.zeros((3, n + 2))
    piece = np.empty(n, dtype=np.int64)
    is_in = np.zeros(n, dtype=np.bool_)
    state = np.empty(1, dtype=np.uint64)
    for m in range(n_chains):
        state[0] = np.uint64(seed) + np.uint64(m) * _MIX_AGAIN
        uniform(state)
        zm, am, b, rm = z[m], a[layer[m]], beta[m], r[m]
        compact(zm, slot)
        _tally(zm, d, count, volume)
        for _ in range(n_rounds):
            overruled[m] = sweep(
                indptr, other, am, c, told, d, b, rm, price, eps, zm, state, count, volume, work
            )
            for _ in range(n_pieces):
                heat = _HEATS[int(uniform(state) * 4.0)]
                if recent.shape[0] > 0 and uniform(state) < 0.5:
                    first = recent[int(uniform(state) * recent.shape[0])]
                else:
                    first = int(uniform(state) * n)
                move_piece(
                    indptr, other, am, c, d, b, rm, price, heat, first, zm, state,
                    count, volume, work, piece, is_in,
                )  # fmt: skip
            for turn in range(2 if anchors.shape[0] > 0 else 0):
                i = named if turn == 0 else int(uniform(state) * anchors.shape[0])
                if i >= 0:
                    move_class(
                        indptr, other, am, c, d, b, rm, price, anchors[i],
                        members[member_start[i] : member_start[i + 1]], zm, state,
                        count, volume, piece, is_in,
                    )  # fmt: skip
        compact(zm, slot)


@jit
def disagreement(z, mass, weight, G, error, table):
    """Overlaps of chains, and the expected number of misjudged pairs at each item.

    G[a, b] = sum over pairs of clusters of (mass they share)²: OUT. error[s] = mass_s (sum_a w_a
    n_a(s) - sum_ab w_a w_b n_ab(s)): OUT. table (clusters, clusters): scratch, zeros.
    """
    n_chains, n = z.shape
    error[:] = 0.0
    for a in range(n_chains):
        for b in range(a, n_chains):
            total = 0.0
            for s in range(n):
                cell = table[z[a, s], z[b, s]]
                total += mass[s] * (2.0 * cell + mass[s])
                table[z[a, s], z[b, s]] = cell + mass[s]
            G[a, b] = total
            G[b, a] = total
            share = weight[a] * weight[b] * (1.0 if a == b else 2.0)
            for s in range(n):
                cell = table[z[a, s], z[b, s]]
                error[s] -= share * cell
                if a == b:
                    error[s] += weight[a] * cell
            for s in range(n):
                table[z[a, s], z[b, s]] = 0.0
    for s in range(n):
        error[s] = max(error[s] * mass[s], 0.0)


@jit
def agreement(z, weight, first, second, p):
    """Weighted share of chains that put the two items of each pair together. p: OUT."""
    for i in range(first.shape[0]):
        share = 0.0
        for m in range(z.shape[0]):
            if z[m, first[i]] == z[m, second[i]]:
                share += weight[m]
        p[i] = share


@jit
def pair_values(z, weight, G, Gw, alpha, first, second, value):
    """By how much an answer about each pair lowers L(w) = sum_a w_a G_aa - w'Gw. value: OUT.

    A chain's weight is multiplied by alpha if it predicts the answer and by 1 - alpha if not. Only
    the quadratic form of the smaller side is summed; the others follow from Gw.
    """
    n_chains = z.shape[0]
    side = np.empty(n_chains, dtype=np.int64)
    wGw, trace = 0.0, 0.0
    for a in range(n_chains):
        wGw += weight[a] * Gw[a]
        trace += weight[a] * G[a, a]
    for i in range(first.shape[0]):
        n_together = 0
        for m in range(n_chains):
            n_together += z[m, first[i]] == z[m, second[i]]
        is_smaller = 2 * n_together <= n_chains
        size, p, uGw, linear = 0, 0.0, 0.0, 0.0
        for m in range(n_chains):
            if (z[m, first[i]] == z[m, second[i]]) == is_smaller:
                side[size] = m
                size += 1
                p += weight[m]
                uGw += weight[m] * Gw[m]
                linear += weight[m] * G[m, m]
        uGu = 0.0
        for j in range(size):
            row = 0.0
            for k in range(size):
                row += weight[side[k]] * G[side[j], side[k]]
            uGu += weight[side[j]] * row
        uGv = uGw - uGu
        vGv = wGw - uGu - 2.0 * uGv
        left = 0.0
        for outcome in range(2):
            x, y = (alpha, 1.0 - alpha) if outcome == 0 else (1.0 - alpha, alpha)
            chance = x * p + y * (1.0 - p)
            if chance > 0.0:
                square = x * x * uGu + 2.0 * x * y * uGv + y * y * vGv
                left += x * linear + y * (trace - linear) - square / chance
        value[i] = trace - wGw - left


@jit
def comembership(z, weight, P):
    """P[s, t]: weighted share of chains that put items s and t together. z (items, chains)."""
    n, n_chains = z.shape
    for s in range(n):
        P[s, s] = 1.0
        for t in range(s):
            share = 0.0
            for m in range(n_chains):
                if z[s, m] == z[t, m]:
                    share += weight[m]
            P[s, t] = share
            P[t, s] = share


@jit
def vote(P, mass, n_rounds, z, score):
    """Move each item to the cluster with the largest sum of mass (P - 1/2), alone if all are
    negative; anchors, of mass 0, stay. z: IN/OUT, below n. score (n): scratch.
    """
    n = z.shape[0]
    count = np.zeros(n, dtype=np.int64)
    for s in range(n):
        count[z[s]] += 1
    for _ in range(n_rounds):
        n_moved = 0
        for s in range(n):
            if mass[s] == 0.0:
                continue
            score[:] = 0.0
            for t in range(n):
                if t != s:
                    score[z[t]] += mass[t] * (P[s, t] - 0.5)
            best = z[s]
            top = score[best] if count[best] > 1 else 0.0
            for k in range(n):
                if score[k] > top + 1e-9 and count[k] > 0 and k != z[s]:
                    top = score[k]
                    best = k
            if top < 0.0:
                best = _free_slot(count, n)
            if best != z[s]:
                count[z[s]] -= 1
                count[best] += 1
                z[s] = best
                n_moved += 1
        if n_moved == 0:
            break


@jit
def expected_ari(cuts, z, mass, weight, score, table, own, theirs):
    """Mean over chains of the adjusted Rand index of each cut. score: OUT.

    table (clusters, clusters), own and theirs (clusters): scratch, zeros before and after.
    """
    n_cuts, n = cuts.shape
    n_rows = mass.sum()
    total = n_rows * (n_rows - 1.0) / 2.0
    for i in range(n_cuts):
        score[i] = 0.0
        for m in range(z.shape[0]):
            both, ours, its = 0.0, 0.0, 0.0
            for s in range(n):
                x, y, size = cuts[i, s], z[m, s], mass[s]
                both += size * (table[x, y] + 0.5 * (size - 1.0))
                ours += size * (own[x] + 0.5 * (size - 1.0))
                its += size * (theirs[y] + 0.5 * (size - 1.0))
                table[x, y] += size
                own[x] += size
                theirs[y] += size
            for s in range(n):
                table[cuts[i, s], z[m, s]] = 0.0
                own[cuts[i, s]] = 0.0
                theirs[z[m, s]] = 0.0
            chance = ours * its / total
            most = 0.5 * (ours + its)
            score[i] += weight[m] * ((both - chance) / (most - chance) if most > chance else 1.0)


@jit
def fold_rows(start, stop, slots, indptr, other, weight, item, out):
    """Summed weights of the leaves slots[start:stop] to every item. out (items): OUT."""
    out[:] = 0.0
    for i in range(start, stop):
        leaf = slots[i]
        for e in range(indptr[leaf], indptr[leaf + 1]):
            out[item[other[e]]] += weight[e]


@jit
def ward(D, mass, parent_of, children, height):
    """Ward linkage by nearest-neighbour chains. D: squared distances times m_i m_j / (m_i + m_j),
    IN, overwritten. children (n - 1, 2), height (n - 1): OUT; node n + i is the i-th merge, made
    after its children. mass: IN/OUT. parent_of (n): scratch.
    """
    n = D.shape[0]
    chain = np.empty(n, dtype=np.int64)
    live = np.ones(n, dtype=np.bool_)
    for i in range(n):
        parent_of[i] = i
    length, start = 0, 0
    for merge in range(n - 1):
        if length == 0:
            while not live[start]:
                start += 1
            chain[0] = start
            length = 1
        while True:
            x = chain[length - 1]
            y = chain[length - 2] if length > 1 else -1
            low = D[x, y] if y >= 0 else math.inf
            for t in range(n):
                if live[t] and t != x and D[x, t] < low:
                    low = D[x, t]
                    y = t
            if length > 1 and y == chain[length - 2]:
                break
            chain[length] = y
            length += 1
        length -= 2
        i, j = min(x, y), max(x, y)
        children[merge, 0] = parent_of[i]
        children[merge, 1] = parent_of[j]
        height[merge] = low
        for t in range(n):
            if live[t] and t != i and t != j:
                new = (mass[i] + mass[t]) * D[i, t] + (mass[j] + mass[t]) * D[j, t] - mass[t] * low
                new /= mass[i] + mass[j] + mass[t]
                D[i, t] = new
                D[t, i] = new
        mass[i] += mass[j]
        live[j] = False
        parent_of[i] = n + merge
