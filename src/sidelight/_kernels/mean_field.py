"""Memberships of groups that should not share a component, by mean field."""

import numpy as np

from sidelight._kernels._jit import jit


@jit
def mean_field(scores, span, near, price, phi):
    """One pass of coordinate ascent over all groups; returns the bound after it.

    scores (G, K); neighbours near[span[g]:span[g + 1]] of a group pay ``price`` for a shared
    component. phi (G, K): IN/OUT. The bound is sum phi (score - log phi) less the expected price, a
    lower bound of the log of the sum over all placements, and no pass lowers it.
    """
    n_groups, n_clusters = scores.shape
    value = np.empty(n_clusters)
    for g in range(n_groups):
        best = -np.inf
        for k in range(n_clusters):
            cost = 0.0
            for t in range(span[g], span[g + 1]):
                cost += phi[near[t], k]
            value[k] = scores[g, k] - price * cost
            best = max(best, value[k])
        total = 0.0
        for k in range(n_clusters):
            value[k] = np.exp(value[k] - best)
            total += value[k]
        for k in range(n_clusters):
            phi[g, k] = value[k] / total
    bound = 0.0
    for g in range(n_groups):
        for k in range(n_clusters):
            share = phi[g, k]
            if share > 0.0:
                bound += share * (scores[g, k] - np.log(share))
                for t in range(span[g], span[g + 1]):
                    if near[t] < g:
                        bound -= price * share * phi[near[t], k]
    return bound
