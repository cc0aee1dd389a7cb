"""Greedy merging of modules, best pair first, for the structural entropy of a partition.

Each module stores its best partner, and a heap over the modules gives the best pair of all. A merge
builds one row from two and renames the module in the rows of its neighbours: every entry stores the
position of its twin, the same edge in the row of the other module. If the best pair of a module got
worse, its old gain stays as an upper bound, and the module searches again only when it reaches the
top of the heap. All rows are in one pool. Their total length only shrinks, so a pool with some
spare room is compacted now and then and never grows.
"""

from collections import namedtuple

import numpy as np

from sidelight._kernels._jit import bare, inlined, part
from sidelight._kernels.entropy import cost, slot_of

NOBODY = -1  # no partner gains enough
UNKNOWN = -2  # the gain is only an upper bound; search again

# The rows of all modules: the entries of module x stand from start[x] on. relation, if not empty,
# is added to the gains, or decides which pairs merge first. place (-1): scratch by module.
Pool = namedtuple(
    "Pool", ["start", "length", "near", "weight", "linked", "relation", "twin", "place"]
)

# Of each module. If a tree is stretched, ``costs`` has the cuts that count for single nodes.
Sums = namedtuple("Sums", ["volume", "cut", "costs"])

# Amounts of groups of rows in modules, as linked lists: the first entry of each module and the next
# entry of each; the ties between groups; and a hash table, (module, group) -> entry.
Chains = namedtuple(
    "Chains",
    [
        "head", "following", "group", "amount", "n_entries",
        "tie_indptr", "tie_group", "tie", "keys", "entry",
    ],
)  # fmt: skip

# A heap of modules, the position of each in it, and the gain of its best pair. name: its lowest
# row.
Queue = namedtuple("Queue", ["heap", "where", "sign", "gain", "partner", "name"])

# scale: as in ``entropy``. must_first: pairs with more must-links than cannot-links merge before
# others. stretching: 0 for modules; 1 for nodes of a tree (Eq. 3.12), 2 by their gain for the size.
# n_wanted modules remain. lowest: the least gain of a merger.
Rules = namedtuple("Rules", ["scale", "must_first", "stretching", "n_wanted", "lowest"])

# parent: the module into which each was merged, itself if it remains; gone and cut_then: the merged
# modules in order, and the cut of the resulting module.
Mergers = namedtuple("Mergers", ["parent", "gone", "cut_then"])


@inlined
def pair_gain(x, y, weight, sums, rules):
    """How much the sum of costs falls if x and y merge, or if they get a node of their own."""
    volume, cut, costs = sums.volume, sums.cut, sums.costs
    both_volume, both_cut = volume[x] + volume[y], cut[x] + cut[y] - 2.0 * weight
    if rules.stretching:
        depth = rules.scale.log_total - np.log2(max(both_volume, rules.scale.floor))
        gain = (costs[x] + costs[y] - both_cut) * depth
        # Otherwise sums of many weak edges let a large module absorb all others, one by one.
        return gain if rules.stretching == 1 else gain / np.sqrt(volume[x] * volume[y])
    return costs[x] + costs[y] - cost(both_volume, both_cut, rules.scale)


@inlined
def comes_before(x, y, queue):
    """Whether the best pair of module x comes before that of y: by sign, gain, lowest names.

    Among equals, a module that has to search again comes first, since it may find a lower name.
    """
    sign, gain, partner, name = queue.sign, queue.gain, queue.partner, queue.name
    if sign[x] != sign[y]:
        return sign[x] > sign[y]
    if gain[x] != gain[y]:
        return gain[x] > gain[y]
    if partner[x] < 0 or partner[y] < 0:
        return partner[x] == UNKNOWN and partner[y] != UNKNOWN
    low_x, high_x = min(name[x], name[partner[x]]), max(name[x], name[partner[x]])
    low_y, high_y = min(name[y], name[partner[y]]), max(name[y], name[partner[y]])
    return low_x < low_y or (low_x == low_y and high_x < high_y)


@part
def sink(place, queue):
    """Move the module at this position of the heap down, below all that come before it."""
    heap, where = queue.heap, queue.where
    x = heap[place]
    while True:
        child = 2 * place + 1
        if child >= len(heap):
            break
        if child + 1 < len(heap) and comes_before(heap[child + 1], heap[child], queue):
            child += 1
        if not comes_before(heap[child], x, queue):
            break
        heap[place] = heap[child]
        where[heap[place]] = place
        place = child
    heap[place] = x
    where[x] = place


@part
def settle(place, queue):
    """Move the module at this position of the heap up or down to where it belongs."""
    heap, where = queue.heap, queue.where
    x = heap[place]
    while place > 0:
        parent = (place - 1) // 2
        if not comes_before(x, heap[parent], queue):
            break
        heap[place] = heap[parent]
        where[heap[place]] = place
        place = parent
    heap[place] = x
    where[x] = place
    sink(place, queue)


@inlined
def worth_of(x, y, e, pool, sums, rules):
    """Rank the pair of x and y, joined by edge e: a sign that is compared first, and a gain.

    The sign comes from the statements if they are to be merged first, and is 0 otherwise.
    """
    gain = pair_gain(x, y, pool.weight[e], sums, rules)
    relation = pool.relation
    if rules.must_first:
        return (1 if relation[e] > 0 else (-1 if relation[e] < 0 else 0)), gain
    return 0, (gain + relation[e] if len(relation) else gain)


@inlined
def offer(x, y, new_sign, new_gain, lowest, queue):
    """Make y the partner of x if that is better than the present one. Returns whether it is."""
    sign, gain, partner, name = queue.sign, queue.gain, queue.partner, queue.name
    better = new_sign > sign[x] or (new_sign == sign[x] and new_gain > gain[x])
    if new_sign == sign[x] and new_gain == gain[x] and partner[x] >= 0:
        better = name[y] < name[partner[x]]
    if better and new_gain >= lowest:
        sign[x], gain[x], partner[x] = new_sign, new_gain, y
        return True
    return False


@part
def find_best(x, pool, sums, rules, queue):
    """Search for the best linked partner of module x that gains enough. queue: OUT."""
    queue.sign[x], queue.gain[x], queue.partner[x] = -2, -np.inf, NOBODY
    for e in range(pool.start[x], pool.start[x] + pool.length[x]):
        if pool.linked[e]:
            y = np.int64(pool.near[e])
            new_sign, new_gain = worth_of(x, y, e, pool, sums, rules)
            offer(x, y, new_sign, new_gain, rules.lowest, queue)


@part
def shared_by_modules(x, y, chains):
    """The common weight of two modules in the relation between groups."""
    if chains.n_entries[y] < chains.n_entries[x]:
        x, y = y, x
    amount, n_groups = chains.amount, len(chains.tie_indptr) - 1
    total = 0.0
    e = chains.head[x]
    while e >= 0:
        g = chains.group[e]
        for t in range(chains.tie_indptr[g], chains.tie_indptr[g + 1]):
            slot = slot_of(chains.keys, y, chains.tie_group[t], n_groups)
            if chains.keys[slot] != -1:
                total += amount[e] * chains.tie[t] * amount[chains.entry[slot]]
        e = chains.following[e]
    return total


@part
def unite_entries(x, y, chains):
    """Give all entries of module x to module y. Returns the number of new keys."""
    head, following, group = chains.head, chains.following, chains.group
    keys, entry, n_groups = chains.keys, chains.entry, len(chains.tie_indptr) - 1
    n_new = 0
    e = head[x]
    while e >= 0:
        after = following[e]
        slot = slot_of(keys, y, group[e], n_groups)
        if keys[slot] != -1:
            chains.amount[entry[slot]] += chains.amount[e]
        else:
            keys[slot] = y * n_groups + group[e]
            entry[slot] = e
            following[e] = head[y]
            head[y] = e
            chains.n_entries[y] += 1
            n_new += 1
        e = after
    head[x] = -1
    chains.n_entries[x] = 0
    return n_new


@part
def rebuild_keys(chains):
    """Remove the keys of merged modules. Returns the number of keys."""
    keys, n_groups = chains.keys, len(chains.tie_indptr) - 1
    keys[:] = -1
    n_keys = 0
    for x in range(len(chains.head)):
        e = chains.head[x]
        while e >= 0:
            slot = slot_of(keys, x, chains.group[e], n_groups)
            keys[slot] = x * n_groups + chains.group[e]
            chains.entry[slot] = e
            n_keys += 1
            e = chains.following[e]
    return n_keys


@part
def find_twins(pool):
    """For each entry the same edge in the row of its other end; rows are sorted. pool.twin: OUT."""
    at = pool.place  # position of the next entry in each row
    for x in range(len(pool.start)):
        at[x] = pool.start[x]
    for x in range(len(pool.start)):
        for e in range(pool.start[x], pool.start[x] + pool.length[x]):
            y = pool.near[e]
            pool.twin[e] = at[y]  # rows come in order, and so in every other row
            at[y] += 1


@inlined
def move_entry(old, new, pool):
    """Put an entry of the pool in another place."""
    near, weight, linked, relation = pool.near, pool.weight, pool.linked, pool.relation
    near[new], weight[new], linked[new] = near[old], weight[old], linked[old]
    if len(relation):
        relation[new] = relation[old]
    pool.twin[new] = pool.twin[old]
    pool.twin[pool.twin[new]] = new


@part
def compact(pool, end):
    """Close the gaps in the pool, up to ``end``. Returns its new end."""
    start, length = pool.start, pool.length
    at = new_end = np.int64(0)
    while at < end:
        x = pool.near[pool.twin[at]]  # the module whose row begins here, if any
        if start[x] != at or length[x] == 0:
            at += 1
            continue
        start[x] = new_end
        for e in range(at, at + length[x]):
            if e != new_end:
                move_entry(e, new_end, pool)
            new_end += 1
        at += length[x]
    return new_end


@part
def unite_rows(x, y, pool, end):
    """Build the joint row of x and y at the end of the pool, and rename x to y in all other rows.

    Entries that both had are added. pool.place: OUT, -2 for entries of both, and the position for
    entries of y alone. Returns the weight between x and y, the end of the entries of y, and the end
    of all.
    """
    start, length, near, weight = pool.start, pool.length, pool.near, pool.weight
    linked, relation, place = pool.linked, pool.relation, pool.place
    between = 0.0
    for e in range(start[y], start[y] + length[y]):
        if near[e] == x:
            between = weight[e]
            continue
        move_entry(e, end, pool)
        place[near[e]] = end
        end += 1
    end_of_y = end
    for e in range(start[x], start[x] + length[x]):
        z = near[e]
        if z == y:
            continue
        here = place[z]
        if here < 0:
            move_entry(e, end, pool)
            near[pool.twin[end]] = y
            end += 1
            continue
        place[z] = -2
        weight[here] += weight[e]
        linked[here] = linked[here] or linked[e]
        if len(relation):
            relation[here] += relation[e]
        gone, last = pool.twin[e], start[z] + length[z] - 1
        if gone != last:
            move_entry(last, gone, pool)
        length[z] -= 1
    return between, end_of_y, end


@part
def share_rows(x, y, first, end_of_y, end, pool, chains):
    """Add the parts for which only one of x and y had an edge, and update the twins of the new row.

    pool.place: IN as `unite_rows` leaves it, OUT -1.
    """
    weight, linked, relation, place = pool.weight, pool.linked, pool.relation, pool.place
    for e in range(first, end):
        z = pool.near[e]
        other = x if e < end_of_y else y
        if place[z] != -2 and chains.n_entries[other] > 0 and chains.n_entries[z] > 0:
            extra = shared_by_modules(other, z, chains)
            weight[e] += extra
            if len(relation):
                relation[e] += extra
        place[z] = -1
        t = pool.twin[e]
        weight[t], linked[t] = weight[e], linked[e]
        if len(relation):
            relation[t] = relation[e]


@part
def offer_row(x, y, pool, sums, rules, queue):
    """After x was merged into y: find the best partner of y, and update the pairs of its
    neighbours.

    Returns the number of steps in the heap.
    """
    sign, gain, partner = queue.sign, queue.gain, queue.partner
    n_steps = 1
    sign[y], gain[y], partner[y] = -2, -np.inf, NOBODY
    for e in range(pool.start[y], pool.start[y] + pool.length[y]):
        if not pool.linked[e]:
            continue
        z = np.int64(pool.near[e])
        new_sign, new_gain = worth_of(y, z, e, pool, sums, rules)
        offer(y, z, new_sign, new_gain, rules.lowest, queue)
        if partner[z] == x or partner[z] == y:
            worse = new_sign < sign[z] or (new_sign == sign[z] and new_gain < gain[z])
            partner[z] = UNKNOWN if worse else y
            if not worse:
                sign[z], gain[z] = new_sign, new_gain
        elif not offer(z, y, new_sign, new_gain, rules.lowest, queue):
            continue
        settle(queue.where[z], queue)
        n_steps += 1
    settle(queue.where[y], queue)
    return n_steps


@part
def begin(pool, sums, chains, rules, queue, mergers):
    """Every module on its own, with its best partner, in the heap. Returns the number of keys."""
    n = len(pool.start)
    find_twins(pool)
    n_keys = rebuild_keys(chains)
    for x in range(n):
        mergers.parent[x] = queue.name[x] = queue.heap[x] = queue.where[x] = x
        pool.place[x] = -1
        if not rules.stretching:
            sums.costs[x] = cost(sums.volume[x], sums.cut[x], rules.scale)
    for x in range(n):
        find_best(x, pool, sums, rules, queue)
    for at in range(n // 2 - 1, -1, -1):
        sink(at, queue)
    return n_keys


@inlined
def join_sums(x, y, between, sums, rules, queue):
    """Volume, cut, cost and name of module y with x in it. sums, queue.name: OUT."""
    volume, cut = sums.volume, sums.cut
    volume[y] += volume[x]
    cut[y] += cut[x] - 2.0 * between
    sums.costs[y] = cut[y] if rules.stretching else cost(volume[y], cut[y], rules.scale)
    queue.name[y] = min(queue.name[x], queue.name[y])


@bare
def merge_modules(pool, sums, chains, rules, queue, mergers, budget, progress):
    """Merge linked modules, best pair first, until no pair is left or n_wanted modules remain.

    The pool has sorted rows. mergers: OUT. All other arrays are overwritten. progress: IN/OUT, the
    end of the pool's rows, the number of modules, of keys, and of steps in the heap (-1 before the
    first call). Returns whether another call is needed: each call stops after about ``budget``
    entries of rows, so that the caller can be interrupted.
    """
    start, length = pool.start, pool.length
    n = len(start)
    end, n_left, n_keys, n_steps = progress[0], progress[1], progress[2], progress[3]
    if n_steps < 0:
        n_keys = begin(pool, sums, chains, rules, queue, mergers)
        n_steps = n // 2
    more = False
    while n_left > rules.n_wanted:
        if budget <= 0:
            more = True
            break
        y = queue.heap[0]
        if queue.partner[y] == UNKNOWN:
            find_best(y, pool, sums, rules, queue)
            sink(np.int64(0), queue)
            n_steps += 1
            budget -= length[y]
            continue
        x = queue.partner[y]
        if x == NOBODY:
            break
        budget -= length[x] + length[y]
        if length[x] > length[y]:
            x, y = y, x  # x goes into y, the one with the longer row
        if end + length[x] + length[y] > len(pool.near):
            end = compact(pool, end)
        first = end
        between, end_of_y, end = unite_rows(x, y, pool, first)
        share_rows(x, y, first, end_of_y, end, pool, chains)
        start[y], length[y], length[x] = first, end - first, 0
        join_sums(x, y, between, sums, rules, queue)
        mergers.parent[x] = y
        mergers.gone[n - n_left], mergers.cut_then[n - n_left] = x, sums.cut[y]
        n_left -= 1
        n_keys += unite_entries(x, y, chains)
        if 2 * n_keys > len(chains.keys):
            n_keys = rebuild_keys(chains)
        queue.sign[x], queue.gain[x], queue.partner[x] = -3, -np.inf, NOBODY
        settle(queue.where[x], queue)
        n_steps += 1 + offer_row(x, y, pool, sums, rules, queue)
    progress[0], progress[1], progress[2], progress[3] = end, n_left, n_keys, n_steps
    return more
