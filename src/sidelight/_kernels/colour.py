"""Assign groups to allowed clusters: colouring by cost, with ejection chains."""

import heapq

import numpy as np

from sidelight._kernels._jit import jit, part


@jit
def colour_by_cost(cost, span, near, labels, taken):
    """Give each group its cheapest allowed cluster, the one with the fewest choices first.

    cost (G, K); neighbours near[span[g]:span[g + 1]] of a group may not share its cluster. Next
    comes the group whose neighbours have the most clusters (DSATUR), then the one with the most
    neighbours, then the lowest. If no cluster is free for a group, its neighbours move to other
    clusters (`eject`). labels (G), all -1 before, and taken (G, K), the number of neighbours in
    each cluster, all 0 before: OUT. Returns the group that could not be placed, or -1.
    """
    n_groups, n_clusters = cost.shape
    waiting = [(0, span[g] - span[g + 1], g) for g in range(n_groups)]
    heapq.heapify(waiting)
    while len(waiting) > 0:
        saturation, _, g = heapq.heappop(waiting)
        if labels[g] >= 0:
            continue
        now = 0
        for k in range(n_clusters):
            now += taken[g, k] > 0
        if now != -saturation:  # an outdated entry
            heapq.heappush(waiting, (-now, span[g] - span[g + 1], g))
            continue
        best = cheapest_allowed(cost, taken, g)
        if best < 0:
            best = eject(cost, span, near, g, labels, taken)
        if best < 0:
            return g
        put(span, near, g, best, labels, taken)
        for t in range(span[g], span[g + 1]):
            h = near[t]
            if labels[h] < 0 and taken[h, best] == 1:
                now = 0
                for k in range(n_clusters):
                    now += taken[h, k] > 0
                heapq.heappush(waiting, (-now, span[h] - span[h + 1], h))
    return -1


@part
def cheapest_allowed(cost, taken, g):
    """The cheapest cluster without a neighbour of group g, ties to the lowest; -1 for none."""
    best = -1
    for k in range(cost.shape[1]):
        if taken[g, k] == 0 and (best < 0 or cost[g, k] < cost[g, best]):
            best = k
    return best


@part
def put(span, near, g, k, labels, taken):
    """Group g to cluster k. labels, taken: OUT."""
    own = labels[g]
    for t in range(span[g], span[g + 1]):
        if own >= 0:
            taken[near[t], own] -= 1
        taken[near[t], k] += 1
    labels[g] = k


@part
def eject(cost, span, near, g, labels, taken):
    """Free a cluster for group g: its neighbours there move to their cheapest other allowed
    clusters.

    Returns the cluster for which this costs least; -1 if none can be freed. labels, taken: OUT.
    """
    best, lowest = -1, np.inf
    for k in range(cost.shape[1]):
        total = cost[g, k]
        for t in range(span[g], span[g + 1]):
            h = near[t]
            if labels[h] == k:
                other = cheapest_other(cost, taken, h, k)
                total += np.inf if other < 0 else cost[h, other] - cost[h, k]
        if total < lowest:
            best, lowest = k, total
    if best < 0:
        return -1
    for t in range(span[g], span[g + 1]):
        h = near[t]
        if labels[h] == best:
            # Two neighbours of g that were in one cluster are not neighbours of each other.
            put(span, near, h, cheapest_other(cost, taken, h, best), labels, taken)
    return best


@part
def cheapest_other(cost, taken, h, k):
    """As ``cheapest_allowed``, but for cluster k."""
    best = -1
    for other in range(cost.shape[1]):
        allowed = other != k and taken[h, other] == 0
        if allowed and (best < 0 or cost[h, other] < cost[h, best]):
            best = other
    return best


@jit
def improve_colours(cost, span, near, groups, tolerance, labels, taken, queue, inside):
    """Move some groups, each to its cheapest allowed cluster, and swap clusters along chains.

    A chain is a group and all groups connected with it in two clusters: exchanging the two clusters
    along it keeps all neighbours apart. A chain grows to at most the length of queue. Nothing
    happens unless the cost falls by more than tolerance. labels, taken: IN/OUT; queue and inside
    (G, all False): scratch. Returns (the change of the cost, the number of groups that moved).
    """
    n_clusters = cost.shape[1]
    change = 0.0
    n_moves = 0
    for g in groups:
        own = labels[g]
        best = own
        for k in range(n_clusters):
            if taken[g, k] == 0 and cost[g, k] < cost[g, best] - (tolerance if best == own else 0):
                best = k
        if best != own:
            change += cost[g, best] - cost[g, own]
            put(span, near, g, best, labels, taken)
            n_moves += 1
            own = best
        for k in range(n_clusters):
            if k == own or taken[g, k] == 0 or cost[g, k] >= cost[g, own]:
                continue
            length, gain = chain(cost, span, near, g, own, k, labels, queue, inside)
            if length > 0 and gain < -tolerance:
                for t in range(length):
                    put(span, near, queue[t], own + k - labels[queue[t]], labels, taken)
                change += gain
                n_moves += length
                own = k
    return change, n_moves


@part
def chain(cost, span, near, g, own, other, labels, queue, inside):
    """The chain of group g in two clusters: (its length, the cost of the swap); queue: OUT.

    Length 0 if it is longer than the queue.
    """
    queue[0] = g
    inside[g] = True
    length, done, gain, fits = 1, 0, 0.0, True
    while done < length and fits:
        h = queue[done]
        k = labels[h]
        gain += cost[h, own + other - k] - cost[h, k]
        for t in range(span[h], span[h + 1]):
            v = near[t]
            if not inside[v] and labels[v] == own + other - k:
                if length == queue.shape[0]:
                    fits = False
                    break
                queue[length] = v
                inside[v] = True
                length += 1
        done += 1
    for t in range(length):
        inside[queue[t]] = False
    return (length if fits else 0), gain
