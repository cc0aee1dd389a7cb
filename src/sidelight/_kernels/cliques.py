"""Sums over the placements of groups that must all be in different components."""

import numpy as np

from sidelight._kernels._jit import jit


@jit
def place_apart(scores, sizes, before, after, totals, marginals):
    """Log sums over all placements of each clique, and the probability of each component.

    scores (cliques, groups, K); sizes (2^K): components in a set, whose bits they are.
    totals (cliques) and marginals (cliques, groups, K): OUT. before, after (2^K): scratch.
    before[S] sums the placements of the first |S| groups that use exactly the components S;
    after[S] sums those of the other groups on the rest. All in logs, since the likeliest placement
    may begin with an unlikely one.
    """
    n_cliques, n_groups, n_clusters = scores.shape
    n_sets = len(sizes)
    for part in range(n_cliques):
        score = scores[part]
        before[0] = 0.0
        for taken in range(1, n_sets):
            g = sizes[taken] - 1
            if g < n_groups:
                top = -np.inf
                for k in range(n_clusters):
                    if taken >> k & 1:
                        top = max(top, before[taken ^ (1 << k)] + score[g, k])
                summed = 0.0
                if top > -np.inf:
                    for k in range(n_clusters):
                        if taken >> k & 1:
                            summed += np.exp(before[taken ^ (1 << k)] + score[g, k] - top)
                before[taken] = top + np.log(summed) if summed > 0.0 else -np.inf
        for taken in range(n_sets - 1, -1, -1):
            g = sizes[taken]
            if g == n_groups:
                after[taken] = 0.0
            elif g < n_groups:
                top = -np.inf
                for k in range(n_clusters):
                    if not taken >> k & 1:
                        top = max(top, after[taken | (1 << k)] + score[g, k])
                summed = 0.0
                if top > -np.inf:
                    for k in range(n_clusters):
                        if not taken >> k & 1:
                            summed += np.exp(after[taken | (1 << k)] + score[g, k] - top)
                after[taken] = top + np.log(summed) if summed > 0.0 else -np.inf
        totals[part] = after[0]
        marginals[part] = 0.0
        for taken in range(n_sets):
            g = sizes[taken]
            if g < n_groups and before[taken] > -np.inf:
                for k in range(n_clusters):
                    if not taken >> k & 1:
                        joint = before[taken] + score[g, k] + after[taken | (1 << k)]
                        marginals[part, g, k] += np.exp(joint - after[0])
