"""Greedy merging of modules, best pair first, for the structural entropy of a partition.

Every module knows its best partner, and a heap over the modules knows the best of all. A merge
builds one row from two and changes its ends in the rows of the neighbours: every entry knows its
twin, the same edge in the row of the other module. Where the best partner of a module got worse,
what it was worth stays as a bound, and the module looks again only when that comes to the top of
the heap. Rows lie in one pool; they only ever shrink in total, so that a pool with some room to
spare is compacted now and then and never grows. Arrays are named as in ``entropy``.
"""

import numpy as np

from sidelight._kernels._jit import inlined, jit, part
from sidelight._kernels.entropy import cost, slot_of

NOBODY = -1  # no partner gains enough
UNKNOWN = -2  # some partner that gains at most what is noted


@inlined
def pair_gain(x, y, weight, volume, cut, costs, log_total, floor, stretching):
    """How much the sum of costs falls if x and y merge, or if they get a node of their own."""
    both_volume, both_cut = volume[x] + volume[y], cut[x] + cut[y] - 2.0 * weight
    if stretching:
        depth = log_total - np.log2(max(both_volume, floor))
        gain = (costs[x] + costs[y] - both_cut) * depth
        # A sum of many weak edges must not make a large module swallow all others, one by one.
        return gain if stretching == 1 else gain / np.sqrt(volume[x] * volume[y])
    return costs[x] + costs[y] - cost(both_volume, both_cut, log_total, floor)


@inlined
def comes_before(x, y, sign, gain, partner, name):
    """Whether the best pair of module x goes before that of y: by sign, gain, lowest names.

    Of equals the one that has to look again is first, since it may find the lower name.
    """
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
def sink(place, heap, where, sign, gain, partner, name):
    """Move the module at this place of the heap down, below all that come before it."""
    x = heap[place]
    while True:
        child = 2 * place + 1
        if child >= len(heap):
            break
        if child + 1 < len(heap) and comes_before(
            heap[child + 1], heap[child], sign, gain, partner, name
        ):
            child += 1
        if not comes_before(heap[child], x, sign, gain, partner, name):
            break
        heap[place] = heap[child]
        where[heap[place]] = place
        place = child
    heap[place] = x
    where[x] = place


@part
def settle(place, heap, where, sign, gain, partner, name):
    """Put the module at this place of the heap where it belongs, up or down."""
    x = heap[place]
    while place > 0:
        parent = (place - 1) // 2
        if not comes_before(x, heap[parent], sign, gain, partner, name):
            break
        heap[place] = heap[parent]
        where[heap[place]] = place
        place = parent
    heap[place] = x
    where[x] = place
    sink(place, heap, where, sign, gain, partner, name)


@inlined
def worth_of(
    x, y, e, weight, relation, must_first, volume, cut, costs, log_total, floor, stretching
):
    """What the pair of x and y, which edge e joins, is worth: a sign that goes first, and a gain.

    The sign is what the statements about the two say where these go before gains, otherwise 0.
    """
    gain = pair_gain(x, y, weight[e], volume, cut, costs, log_total, floor, stretching)
    if must_first:
        return (1 if relation[e] > 0 else (-1 if relation[e] < 0 else 0)), gain
    return 0, (gain + relation[e] if len(relation) else gain)


@inlined
def offer(x, y, new_sign, new_gain, lowest, name, sign, gain, partner):
    """Make y the partner of x if that is better than what x has. Returns whether it is."""
    better = new_sign > sign[x] or (new_sign == sign[x] and new_gain > gain[x])
    if new_sign == sign[x] and new_gain == gain[x] and partner[x] >= 0:
        better = name[y] < name[partner[x]]
    if better and new_gain >= lowest:
        sign[x], gain[x], partner[x] = new_sign, new_gain, y
        return True
    return False


@part
def find_best(
    x, start, length, near, weight, linked, relation, must_first,
    volume, cut, costs, name, log_total, floor, stretching, lowest, sign, gain, partner,
):  # fmt: skip
    """Look for the best linked partner of module x, with a gain of ``lowest`` or more.

    sign, gain, partner: OUT.
    """
    sign[x], gain[x], partner[x] = -2, -np.inf, NOBODY
    for e in range(start[x], start[x] + length[x]):
        if linked[e]:
            y = near[e]
            new_sign, new_gain = worth_of(
                x, y, e, weight, relation, must_first, volume, cut, costs, log_total, floor,
                stretching,
            )  # fmt: skip
            offer(x, y, new_sign, new_gain, lowest, name, sign, gain, partner)


@part
def shared_by_modules(
    x, y, head, following, entry_group, entry_amount, n_entries,
    tie_indptr, tie_group, tie, n_groups, keys, entry,
):  # fmt: skip
    """What two modules have in common in the relation between groups."""
    if n_entries[y] < n_entries[x]:
        x, y = y, x
    total = 0.0
    e = head[x]
    while e >= 0:
        g = entry_group[e]
        for t in range(tie_indptr[g], tie_indptr[g + 1]):
            slot = slot_of(keys, y, tie_group[t], n_groups)
            if keys[slot] != -1:
                total += entry_amount[e] * tie[t] * entry_amount[entry[slot]]
        e = following[e]
    return total


@part
def unite_entries(
    x, y, head, following, entry_group, entry_amount, n_entries, n_groups, keys, entry
):
    """Give all entries of module x to module y. Returns the number of new keys."""
    n_new = 0
    e = head[x]
    while e >= 0:
        after = following[e]
        slot = slot_of(keys, y, entry_group[e], n_groups)
        if keys[slot] != -1:
            entry_amount[entry[slot]] += entry_amount[e]
        else:
            keys[slot] = y * n_groups + entry_group[e]
            entry[slot] = e
            following[e] = head[y]
            head[y] = e
            n_entries[y] += 1
            n_new += 1
        e = after
    head[x] = -1
    n_entries[x] = 0
    return n_new


@part
def rebuild_keys(head, following, entry_group, n_groups, keys, entry):
    """Forget the keys of modules that are gone. Returns the number of keys."""
    keys[:] = -1
    n_keys = 0
    for x in range(len(head)):
        e = head[x]
        while e >= 0:
            slot = slot_of(keys, x, entry_group[e], n_groups)
            keys[slot] = x * n_groups + entry_group[e]
            entry[slot] = e
            n_keys += 1
            e = following[e]
    return n_keys


@jit
def find_twins(start, length, near, twin, at):
    """For each entry the same edge in the row of its other end; rows are sorted. twin: OUT.

    at: scratch, one for each row.
    """
    at[:] = start
    for x in range(len(start)):
        for e in range(start[x], start[x] + length[x]):
            y = near[e]
            twin[e] = at[y]  # rows that come one after the other stand so in every other row
            at[y] += 1


@inlined
def move_entry(old, new, near, weight, linked, relation, twin):
    """Put an entry of the pool in another place."""
    near[new], weight[new], linked[new] = near[old], weight[old], linked[old]
    if len(relation):
        relation[new] = relation[old]
    twin[new] = twin[old]
    twin[twin[new]] = new


@part
def compact(start, length, near, weight, linked, relation, twin, end):
    """Close the gaps in the pool, up to ``end``. Returns its new end."""
    at = new_end = 0
    while at < end:
        x = near[twin[at]]  # whose row begins here, if any row does
        if start[x] != at or length[x] == 0:
            at += 1
            continue
        start[x] = new_end
        for e in range(at, at + length[x]):
            if e != new_end:
                move_entry(e, new_end, near, weight, linked, relation, twin)
            new_end += 1
        at += length[x]
    return new_end


@part
def unite_rows(x, y, start, length, near, weight, linked, relation, twin, end, place):
    """Build the row of x and y together at the end of the pool, and call x y in all other rows.

    Entries that both had become one. place (-1): scratch, one for each module; OUT: -2 for what
    both had, and for what y alone had its place. Returns the weight between x and y, the end of
    the entries of y, and the end of all.
    """
    between = 0.0
    for e in range(start[y], start[y] + length[y]):
        if near[e] == x:
            between = weight[e]
            continue
        move_entry(e, end, near, weight, linked, relation, twin)
        place[near[e]] = end
        end += 1
    end_of_y = end
    for e in range(start[x], start[x] + length[x]):
        z = near[e]
        if z == y:
            continue
        here = place[z]
        if here < 0:
            move_entry(e, end, near, weight, linked, relation, twin)
            near[twin[end]] = y
            end += 1
            continue
        place[z] = -2
        weight[here] += weight[e]
        linked[here] = linked[here] or linked[e]
        if len(relation):
            relation[here] += relation[e]
        gone, last = twin[e], start[z] + length[z] - 1
        if gone != last:
            move_entry(last, gone, near, weight, linked, relation, twin)
        length[z] -= 1
    return between, end_of_y, end


@part
def share_rows(
    x, y, first, end_of_y, end, near, weight, linked, relation, twin, place,
    head, following, entry_group, entry_amount, n_entries, tie_indptr, tie_group, tie, keys, entry,
):  # fmt: skip
    """Add what only one of x and y had an edge for, and bring the twins of the new row up to date.

    place: IN as `unite_rows` leaves it, OUT -1.
    """
    for e in range(first, end):
        z = near[e]
        other = x if e < end_of_y else y
        if place[z] != -2 and n_entries[other] > 0 and n_entries[z] > 0:
            extra = shared_by_modules(
                other, z, head, following, entry_group, entry_amount, n_entries,
                tie_indptr, tie_group, tie, len(tie_indptr) - 1, keys, entry,
            )  # fmt: skip
            weight[e] += extra
            if len(relation):
                relation[e] += extra
        place[z] = -1
        t = twin[e]
        weight[t], linked[t] = weight[e], linked[e]
        if len(relation):
            relation[t] = relation[e]


@part
def offer_row(
    x, y, start, length, near, weight, linked, relation, must_first, volume, cut, costs, name,
    log_total, floor, stretching, lowest, sign, gain, partner, heap, where,
):  # fmt: skip
    """After x went into y: y finds its best partner, and its neighbours judge their pair anew.

    Returns the number of steps in the heap.
    """
    n_steps = 1
    sign[y], gain[y], partner[y] = -2, -np.inf, NOBODY
    for e in range(start[y], start[y] + length[y]):
        if not linked[e]:
            continue
        z = near[e]
        new_sign, new_gain = worth_of(
            y, z, e, weight, relation, must_first, volume, cut, costs, log_total, floor, stretching
        )
        offer(y, z, new_sign, new_gain, lowest, name, sign, gain, partner)
        if partner[z] == x or partner[z] == y:
            worse = new_sign < sign[z] or (new_sign == sign[z] and new_gain < gain[z])
            partner[z] = UNKNOWN if worse else y
            if not worse:
                sign[z], gain[z] = new_sign, new_gain
        elif not offer(z, y, new_sign, new_gain, lowest, name, sign, gain, partner):
            continue
        settle(where[z], heap, where, sign, gain, partner, name)
        n_steps += 1
    settle(where[y], heap, where, sign, gain, partner, name)
    return n_steps


@jit
def merge_modules(
    start, length, near, weight, linked, relation, end, volume, cut,
    head, following, entry_group, entry_amount, n_entries, tie_indptr, tie_group, tie,
    log_total, floor, must_first, stretching, n_wanted, lowest,
    parent, gone, cut_then, name, costs, sign, gain, partner, heap, where, keys, entry, twin, place,
):  # fmt: skip
    """Merge linked modules, best pair first, until no pair is left or n_wanted modules remain.

    The pool (near, weight, linked, relation) holds the row of module x, sorted, from start[x] on
    and is free from ``end``; relation, if it is not empty, is added to the gains, or with
    must_first says which pairs merge before others, those with more must-links than cannot-links.
    A pair merges only if its gain is at least ``lowest``. parent: OUT, the module into which each
    module went, itself if it remains; gone, cut_then: OUT, the modules that went, in their order,
    and the cut of the module that came out. All other arrays are used up.
    With ``stretching`` merged modules stay below the new one, as in a tree; costs then come in as
    the cuts that count for single nodes (Eq. 3.12).
    Returns the number of modules, the sum of the gains and the number of steps in the heap.
    """
    n, n_groups = len(start), len(tie_indptr) - 1
    find_twins(start, length, near, twin, place)
    n_keys = rebuild_keys(head, following, entry_group, n_groups, keys, entry)
    for x in range(n):
        parent[x] = name[x] = heap[x] = where[x] = x
        place[x] = -1
        if not stretching:
            costs[x] = cost(volume[x], cut[x], log_total, floor)
    for x in range(n):
        find_best(x, start, length, near, weight, linked, relation, must_first, volume, cut,
                  costs, name, log_total, floor, stretching, lowest, sign, gain,
                  partner)  # fmt: skip
    for at in range(n // 2 - 1, -1, -1):
        sink(at, heap, where, sign, gain, partner, name)
    n_left, gained, n_steps = n, 0.0, n // 2
    while n_left > n_wanted:
        y = heap[0]
        if partner[y] == UNKNOWN:
            find_best(y, start, length, near, weight, linked, relation, must_first, volume, cut,
                      costs, name, log_total, floor, stretching, lowest, sign, gain,
                      partner)  # fmt: skip
            sink(0, heap, where, sign, gain, partner, name)
            n_steps += 1
            continue
        x = partner[y]
        if x == NOBODY:
            break
        gained += gain[y]
        if length[x] > length[y]:
            x, y = y, x  # x goes into y, the one with the longer row
        if end + length[x] + length[y] > len(near):
            end = compact(start, length, near, weight, linked, relation, twin, end)
        first = end
        between, end_of_y, end = unite_rows(
            x, y, start, length, near, weight, linked, relation, twin, first, place
        )
        share_rows(x, y, first, end_of_y, end, near, weight, linked, relation, twin, place,
                   head, following, entry_group, entry_amount, n_entries, tie_indptr, tie_group,
                   tie, keys, entry)  # fmt: skip
        start[y], length[y], length[x] = first, end - first, 0
        volume[y] += volume[x]
        cut[y] += cut[x] - 2.0 * between
        costs[y] = cut[y] if stretching else cost(volume[y], cut[y], log_total, floor)
        name[y] = min(name[x], name[y])
        parent[x] = y
        gone[n - n_left], cut_then[n - n_left] = x, cut[y]
        n_left -= 1
        n_keys += unite_entries(x, y, head, following, entry_group, entry_amount, n_entries,
                                n_groups, keys, entry)  # fmt: skip
        if 2 * n_keys > len(keys):
            n_keys = rebuild_keys(head, following, entry_group, n_groups, keys, entry)
        sign[x], gain[x], partner[x] = -3, -np.inf, NOBODY
        settle(where[x], heap, where, sign, gain, partner, name)
        n_steps += 1 + offer_row(
            x, y, start, length, near, weight, linked, relation, must_first, volume, cut, costs,
            name, log_total, floor, stretching, lowest, sign, gain, partner, heap, where,
        )  # fmt: skip
    return n_left, gained, n_steps
