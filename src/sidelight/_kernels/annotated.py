"""The objective of a partition into Gaussian clusters, and the exact gain of moving one row.

The objective of a partition is a sum of three kinds of terms, everything re-estimated:

    clusters    -(SSE + a s0) / (2 s) - (n width + a) / 2 log s,   s = (SSE + a s0) / (n width + a)
    annotators  log of the mean of p^agreed (1 - p)^violated over p ~ Beta(2, 1) above chance,
                or agreed log p + violated log(1 - p) for a given p
    layers      two Poisson block models, must and cannot, with or without priors

``width`` is the number of features that share a variance: all (spherical) or one (diagonal). A
partition is kept as counts, means and sums of squared deviations (not raw sums of squares, which
lose digits far from the origin), as sums of agreed and violated weights, and as edge matrices.
"""

from collections import namedtuple
from math import lgamma
from typing import Any

import numpy as np

from sidelight._kernels._jit import bare, inlined, part
from sidelight._kernels.beta import log_above

# The annotated rows. Row i has the entries span[i]:span[i + 1], sorted by annotator: with a partner
# (a pair) or with partner -1 and a column (a label). pull > 0 draws the row to the cluster of the
# partner or column, pull < 0 pushes it away; bonus is what a right label earns beyond that. who is
# the annotator, or -1 for the edges of the block models. tie is the sign of pull (of -pull for
# annotators who say the opposite, 0 for those who guess).
Rows = namedtuple("Rows", ["X", "span", "partner", "column", "pull", "bonus", "who", "tie"])

# The statements, each once; constant (E, 2): the tally of those that no partition can change.
Said = namedtuple(
    "Said",
    [
        "pair_a", "pair_b", "pair_pull", "pair_who",
        "label_row", "label_column", "label_pull", "label_bonus", "label_who", "constant",
    ],
)  # fmt: skip

# given (E): whether the accuracy is given; then log_p (E, 2) are log p and log(1 - p). chance (E):
# the accuracy of guessing, a lower bound of estimated accuracies. A table, for annotators whose
# weights are all whole numbers (else empty): term_of[term_span[e] + agreed].
Model = namedtuple(
    "Model",
    [
        "width", "prior", "variance", "floor", "min_size",
        "given", "log_p", "beta", "chance", "term_span", "term_of",
    ],
)  # fmt: skip

# labels of the annotated rows; counts, means (K, d), sse (K, 1 or d), terms (K: the clusters' part
# of the objective); tally (E, 2); extra (1): what wrong labels lose beyond the annotators' terms.
State = namedtuple("State", ["labels", "counts", "means", "sse", "terms", "tally", "extra"])

# The block models of the pairs. Kernels take None if there are none; the code about them is then
# not compiled at all. total, odds (2): weight of the statements, and the odds of an edge outside
# against one inside. loops (n, 2): self pairs as they stand on the diagonal of the graph (twice
# their weight). Tables, where all weights are whole numbers (else empty): x_log_x_of, log_of. Of a
# partition: edges (2, K, K), ends (K: their row sums, both layers). Work space: links (2, K) of one
# row; after and ends_after, the edges and ends when rows have moved together.
Layers = namedtuple(
    "Layers",
    [
        "with_priors", "total", "odds", "loops", "x_log_x_of", "log_of",
        "edges", "ends", "links", "after", "ends_after",
    ],
)  # fmt: skip

# Work space, so that nothing is allocated inside a sweep. For one row: gain, pull, linear (K),
# spread. For rows together: members and goes_to (by row, -1 for those that stay), seen (stamps),
# what the clusters and the annotators would gain.
Scratch = namedtuple(
    "Scratch",
    [
        "gain", "pull", "linear", "spread",
        "members", "goes_to", "seen", "touched", "counts", "sums", "squares",
        "change", "listed", "who",
    ],
)  # fmt: skip


def new_scratch(n_rows: int, n_annotators: int, means: Any, sse: Any) -> Any:
    """Work space for a partition of n annotated rows, with clusters of these shapes."""
    n_clusters = len(means)
    return Scratch(
        np.zeros(n_clusters), np.zeros(n_clusters), np.zeros(n_clusters), np.zeros(sse.shape[1]),
        np.zeros(n_rows, np.int64), np.full(n_rows, -1), np.zeros(n_rows, np.int64),
        np.zeros(n_clusters, np.bool_), np.zeros(n_clusters), np.zeros_like(means),
        np.zeros_like(sse), np.zeros(n_annotators), np.zeros(n_annotators, np.bool_),
        np.zeros(n_annotators, np.int64),
    )  # fmt: skip


def with_edges(layers: Any, n_clusters: int) -> Any:
    """Block models with edges and work space of their own, for a partition; None as it is."""
    if layers is None:
        return None
    square, flat = (2, n_clusters, n_clusters), n_clusters
    return layers._replace(
        edges=np.zeros(square), ends=np.zeros(flat), links=np.zeros((2, flat)),
        after=np.zeros(square), ends_after=np.zeros(flat),
    )  # fmt: skip


# The terms of the objective


@inlined
def cluster_term(model, n, sse, spread, factor):
    """The term of the objective for a cluster of n rows with deviations sse + factor * spread."""
    weight = n * model.width + model.prior
    if weight <= 0.0:
        return 0.0
    term = 0.0
    for v in range(sse.shape[0]):
        total = max(sse[v] + factor * spread[v], 0.0) + model.prior * model.variance[v]
        s = total / weight
        if s > model.floor:
            term -= 0.5 * weight * (1.0 + np.log(s))
        else:
            term -= 0.5 * (total / model.floor + weight * np.log(model.floor))
    return term


@inlined
def annotator_term(model, e, agreed, violated):
    """The log-likelihood of one annotator's statements, without constants of the partition.

    The normaliser of the Beta function needs agreed + violated only, which no move changes.
    """
    if model.given[e]:
        return agreed * model.log_p[e, 0] + violated * model.log_p[e, 1]
    if model.term_span[e + 1] > model.term_span[e]:
        return model.term_of[model.term_span[e] + int(agreed)]
    a, b = max(agreed, 0.0) + model.beta[0], max(violated, 0.0) + model.beta[1]
    return lgamma(a) + lgamma(b) + log_above(a, b, model.chance[e])


@inlined
def x_log_x(table, x):
    """X log x, with 0 log 0 = 0 (and what rounding leaves below 0 is 0)."""
    if table.shape[0] > 0:
        return table[int(x)]
    return x * np.log(x) if x > 1e-12 else 0.0


@part
def layer_posterior(edges, counts, total, odds, table):
    """One block model with its prior at the best densities (the paper's Eqs. 17-26, half scale).

    The terms - n_r n_s omega / 2 and - lambda omega add up to - total.
    """
    n_clusters = counts.shape[0]
    inside = 0.0
    rows = 0.0
    for r in range(n_clusters):
        inside += 0.5 * counts[r] * (counts[r] + 1.0)
        rows += counts[r]
    outside = 0.5 * rows * (rows + 1.0) - inside
    f_in = total / (inside + odds * outside)
    rate_in = 1.0 / f_in
    rate_out = 1.0 / (odds * f_in)
    value = -total + n_clusters * np.log(rate_in)
    value += 0.5 * n_clusters * (n_clusters - 1) * np.log(rate_out)
    for r in range(n_clusters):
        n = counts[r]
        if edges[r, r] > 1e-12:
            value += 0.5 * x_log_x(table, edges[r, r])
            value -= 0.5 * edges[r, r] * np.log(n * n + 2.0 * rate_in)
        for s in range(r + 1, n_clusters):
            if edges[r, s] > 1e-12:
                value += x_log_x(table, edges[r, s])
                value -= edges[r, s] * np.log(n * counts[s] + rate_out)
    return value


@part
def layers_value(layers, counts, edges, ends):
    """Both block models at the best densities."""
    value = 0.0
    table = layers.x_log_x_of
    if layers.with_priors:
        for g in range(2):
            total = layers.total[g]
            if total > 0.0:
                value += layer_posterior(edges[g], counts, total, layers.odds[g], table)
        return value
    for r in range(counts.shape[0]):
        if ends[r] > 1e-12:
            value -= ends[r] * np.log(counts[r])
        for s in range(counts.shape[0]):
            for g in range(2):
                value += 0.5 * x_log_x(table, edges[g, r, s])
    return value - layers.total[0] - layers.total[1]


@part
def objective(model, state, layers):
    """The objective of a partition from its state."""
    value = state.extra[0]
    for k in range(state.counts.shape[0]):
        value += state.terms[k]
    for e in range(state.tally.shape[0]):
        agreed, violated = state.tally[e, 0], state.tally[e, 1]
        value += annotator_term(model, e, agreed, violated)
        if not model.given[e]:
            a, b = model.beta[0], model.beta[1]
            value += lgamma(a + b) - lgamma(a) - lgamma(b) - lgamma(agreed + violated + a + b)
            value -= log_above(a, b, model.chance[e])
    if layers is not None:
        value += layers_value(layers, state.counts, layers.edges, layers.ends)
    return value


# The state of a partition


@part
def add_rows(X, labels, reference, counts, sums, squares):
    """Add rows to counts, sums of x - reference[k] and its squares (K, 1 or d): OUT."""
    n_features = X.shape[1]
    for i in range(labels.shape[0]):
        k = labels[i]
        counts[k] += 1.0
        for j in range(n_features):
            away = X[i, j] - reference[k, j]
            sums[k, j] += away
            squares[k, j if squares.shape[1] > 1 else 0] += away * away


@part
def set_clusters(model, reference, sums, squares, state):
    """Means, deviations and terms from sums around a reference; state.counts is set. state: OUT."""
    n_clusters, n_features = reference.shape
    for k in range(n_clusters):
        n = state.counts[k]
        for v in range(squares.shape[1]):
            state.sse[k, v] = squares[k, v]
        for j in range(n_features):
            step = sums[k, j] / n if n > 0.0 else 0.0
            state.means[k, j] = reference[k, j] + step
            state.sse[k, j if squares.shape[1] > 1 else 0] -= n * step * step
        for v in range(squares.shape[1]):
            state.sse[k, v] = max(state.sse[k, v], 0.0)
        state.terms[k] = cluster_term(model, n, state.sse[k], state.sse[k], 0.0)


@part
def add_ends(edges, ends):
    """The row sums of both layers. ends: OUT."""
    for r in range(ends.shape[0]):
        ends[r] = 0.0
        for s in range(ends.shape[0]):
            ends[r] += edges[0, r, s] + edges[1, r, s]


@part
def count_edges(said, labels, layers):
    """The edges between clusters. layers.edges, layers.ends: OUT."""
    edges = layers.edges
    edges[:] = 0.0
    for t in range(said.pair_a.shape[0]):
        a, b = labels[said.pair_a[t]], labels[said.pair_b[t]]
        g = 0 if said.pair_pull[t] > 0.0 else 1
        edges[g, a, b] += abs(said.pair_pull[t])
        edges[g, b, a] += abs(said.pair_pull[t])
    for i in range(labels.shape[0]):
        for g in range(2):
            edges[g, labels[i], labels[i]] += layers.loops[i, g]
    add_ends(edges, layers.ends)


@part
def count_statements(said, cluster_of, state, layers):
    """What the labels agree with: state.tally, state.extra, layers.edges, layers.ends: OUT."""
    labels = state.labels
    for e in range(state.tally.shape[0]):
        state.tally[e, 0] = said.constant[e, 0]
        state.tally[e, 1] = said.constant[e, 1]
    state.extra[0] = 0.0
    for t in range(said.pair_a.shape[0]):
        a, b = labels[said.pair_a[t]], labels[said.pair_b[t]]
        pull, e = said.pair_pull[t], said.pair_who[t]
        if e >= 0:
            state.tally[e, 0 if (a == b) == (pull > 0.0) else 1] += abs(pull)
    for t in range(said.label_row.shape[0]):
        right = labels[said.label_row[t]] == cluster_of[said.label_column[t]]
        pull = said.label_pull[t]
        state.tally[said.label_who[t], 0 if right == (pull > 0.0) else 1] += abs(pull)
        if not right:
            state.extra[0] -= said.label_bonus[t]
    if layers is not None:
        count_edges(said, labels, layers)


@bare
def begin(rows, said, cluster_of, model, state, layers, scratch):
    """The state of a partition of only the annotated rows; state.labels is set. state: OUT.

    Returns the objective.
    """
    # Around the rows' own rough means, in two steps: sums around 0 would lose digits.
    for _ in range(2):
        scratch.counts[:] = 0.0
        scratch.sums[:] = 0.0
        scratch.squares[:] = 0.0
        add_rows(rows.X, state.labels, state.means, scratch.counts, scratch.sums, scratch.squares)
        for k in range(state.counts.shape[0]):
            state.counts[k] = scratch.counts[k]
        set_clusters(model, state.means, scratch.sums, scratch.squares, state)
    count_statements(said, cluster_of, state, layers)
    return objective(model, state, layers)


@bare
def take_rows(X, labels, reference, counts, sums, squares):
    """``add_rows``, called from Python."""
    add_rows(X, labels, reference, counts, sums, squares)


@bare
def take_clusters(model, reference, sums, squares, state, layers):
    """``set_clusters``, called from Python. Returns the objective."""
    set_clusters(model, reference, sums, squares, state)
    return objective(model, state, layers)


@bare
def take_statements(said, cluster_of, model, state, layers):
    """``count_statements``, called from Python. Returns the objective."""
    count_statements(said, cluster_of, state, layers)
    return objective(model, state, layers)


# One row


@inlined
def squared_spread(x, mean, spread):
    """Squared deviations of a row from a mean, in all features or in each. spread: OUT."""
    if spread.shape[0] == 1:
        even = 0.0
        odd = 0.0
        # Two sums, which a processor computes in parallel.
        for j in range(0, x.shape[0] - 1, 2):
            even += (x[j] - mean[j]) * (x[j] - mean[j])
            odd += (x[j + 1] - mean[j + 1]) * (x[j + 1] - mean[j + 1])
        if x.shape[0] % 2:
            even += (x[-1] - mean[-1]) * (x[-1] - mean[-1])
        spread[0] = even + odd
    else:
        for j in range(x.shape[0]):
            away = x[j] - mean[j]
            spread[j] = away * away


@inlined
def cluster_gains(rows, model, state, i, scratch):
    """The gain of the clusters' terms when row i moves. scratch.gain: OUT."""
    own = state.labels[i]
    x = rows.X[i]
    n = state.counts[own]
    squared_spread(x, state.means[own], scratch.spread)
    if n > 1.0:
        left = cluster_term(model, n - 1.0, state.sse[own], scratch.spread, -n / (n - 1.0))
    else:
        left = cluster_term(model, 0.0, state.sse[own], state.sse[own], -1.0)
    release = left - state.terms[own]
    for k in range(state.counts.shape[0]):
        if k == own:
            scratch.gain[k] = 0.0
            continue
        m = state.counts[k]
        squared_spread(x, state.means[k], scratch.spread)
        joined = cluster_term(model, m + 1.0, state.sse[k], scratch.spread, m / (m + 1.0))
        scratch.gain[k] = release + joined - state.terms[k]


@inlined
def statement_gains(rows, cluster_of, model, state, i, layers, scratch):
    """Add the gain of the annotators' terms when row i moves; scratch.gain, layers.links: OUT.

    links (2, K): the weights of the row's edges to each cluster, for the block models.
    """
    n_clusters = state.counts.shape[0]
    own = state.labels[i]
    gain, pull, linear = scratch.gain, scratch.pull, scratch.linear
    if layers is not None:
        layers.links[:] = 0.0
    t = rows.span[i]
    last = rows.span[i + 1]
    while t < last:
        e = rows.who[t]
        for k in range(n_clusters):
            pull[k] = 0.0
            linear[k] = 0.0
        while t < last and rows.who[t] == e:
            j = rows.partner[t]
            k = state.labels[j] if j >= 0 else cluster_of[rows.column[t]]
            if k >= 0:
                if e < 0:
                    if layers is not None:
                        layers.links[0 if rows.pull[t] > 0.0 else 1, k] += abs(rows.pull[t])
                else:
                    pull[k] += rows.pull[t]
                    linear[k] += rows.bonus[t]
            t += 1
        if e < 0:
            continue
        agreed, violated = state.tally[e, 0], state.tally[e, 1]
        now = annotator_term(model, e, agreed, violated)
        for k in range(n_clusters):
            change = pull[k] - pull[own]
            if change != 0.0:
                gain[k] += annotator_term(model, e, agreed + change, violated - change) - now
            gain[k] += linear[k] - linear[own]


@inlined
def layer_gain(table, edges, links, loop, r, s):
    """The gain of sum m log m / 2 of one layer when a row with these links moves from r to s."""
    gain = 0.0
    for k in range(edges.shape[0]):
        if k != r and k != s and links[k] != 0.0:
            gain += x_log_x(table, edges[r, k] - links[k]) - x_log_x(table, edges[r, k])
            gain += x_log_x(table, edges[s, k] + links[k]) - x_log_x(table, edges[s, k])
    gain += x_log_x(table, edges[r, s] - links[s] + links[r]) - x_log_x(table, edges[r, s])
    gain += 0.5 * (
        x_log_x(table, edges[r, r] - 2.0 * links[r] - loop) - x_log_x(table, edges[r, r])
    )
    gain += 0.5 * (
        x_log_x(table, edges[s, s] + 2.0 * links[s] + loop) - x_log_x(table, edges[s, s])
    )
    return gain


@part
def move_edges(layers, loops, r, s):
    """Move a row's edges (layers.links) from cluster r to s. layers.edges, layers.ends: OUT."""
    links, ends = layers.links, layers.ends
    for g in range(2):
        edges = layers.edges[g]
        degree = loops[g]
        for k in range(edges.shape[0]):
            d = links[g, k]
            degree += d
            if d != 0.0:
                edges[r, k] -= d
                edges[k, r] -= d
                edges[s, k] += d
                edges[k, s] += d
        edges[r, r] -= loops[g]
        edges[s, s] += loops[g]
        ends[r] -= degree
        ends[s] += degree


@inlined
def log_count(layers, n):
    """The logarithm of a number of rows."""
    return layers.log_of[int(n)] if layers.log_of.shape[0] > 0 else np.log(n)


@inlined
def edge_gains(state, i, layers, gain):
    """Add the gain of the block models without priors when row i moves. gain: OUT."""
    own = state.labels[i]
    links, ends, loops = layers.links, layers.ends, layers.loops[i]
    degree = loops[0] + loops[1]
    for k in range(links.shape[1]):
        degree += links[0, k] + links[1, k]
    left = ends[own] - degree
    release = ends[own] * log_count(layers, state.counts[own])
    if left > 1e-12:
        release -= left * log_count(layers, state.counts[own] - 1.0)
    for k in range(state.counts.shape[0]):
        if k == own:
            continue
        gain[k] += release
        for g in range(2):
            gain[k] += layer_gain(layers.x_log_x_of, layers.edges[g], links[g], loops[g], own, k)
        if ends[k] > 1e-12:
            gain[k] += ends[k] * log_count(layers, state.counts[k])
        if ends[k] + degree > 1e-12:
            gain[k] -= (ends[k] + degree) * log_count(layers, state.counts[k] + 1.0)


@part
def posterior_gains(state, i, layers, gain):
    """Add the gain of the block models with priors when row i moves. gain: OUT.

    Their priors depend on all sizes, so the whole value has to be recomputed.
    """
    own = state.labels[i]
    counts, edges, ends, loops = state.counts, layers.edges, layers.ends, layers.loops[i]
    now = layers_value(layers, counts, edges, ends)
    counts[own] -= 1.0
    for k in range(counts.shape[0]):
        if k == own:
            continue
        move_edges(layers, loops, own, k)
        counts[k] += 1.0
        gain[k] += layers_value(layers, counts, edges, ends) - now
        counts[k] -= 1.0
        move_edges(layers, loops, k, own)
    counts[own] += 1.0


@inlined
def move_gains(rows, cluster_of, model, state, i, layers, scratch):
    """The exact gain of moving row i to each cluster. scratch.gain: OUT."""
    cluster_gains(rows, model, state, i, scratch)
    statement_gains(rows, cluster_of, model, state, i, layers, scratch)
    if layers is not None:
        if layers.with_priors:
            posterior_gains(state, i, layers, scratch.gain)
        else:
            edge_gains(state, i, layers, scratch.gain)


@part
def move_row(rows, cluster_of, model, state, i, to, layers):
    """Move row i; all of state, and of layers: OUT."""
    own = state.labels[i]
    x = rows.X[i]
    for joins in range(2):
        k = to if joins else own
        step = 1.0 if joins else -1.0
        n = state.counts[k]
        after = n + step
        state.counts[k] = after
        spread = state.sse.shape[1] > 1
        if after > 0.0:
            for j in range(x.shape[0]):
                away = x[j] - state.means[k, j]
                state.sse[k, j if spread else 0] += step * n / after * away * away
                state.means[k, j] += step * away / after
        for v in range(state.sse.shape[1]):
            state.sse[k, v] = max(state.sse[k, v], 0.0) if after > 0.0 else 0.0
        state.terms[k] = cluster_term(model, after, state.sse[k], state.sse[k], 0.0)
    if layers is not None:
        layers.links[:] = 0.0
    for t in range(rows.span[i], rows.span[i + 1]):
        j = rows.partner[t]
        k = state.labels[j] if j >= 0 else cluster_of[rows.column[t]]
        e = rows.who[t]
        if e < 0:
            if layers is not None:
                layers.links[0 if rows.pull[t] > 0.0 else 1, k] += abs(rows.pull[t])
        elif k in (own, to):
            change = rows.pull[t] if k == to else -rows.pull[t]
            state.tally[e, 0] += change
            state.tally[e, 1] -= change
            state.extra[0] += rows.bonus[t] if k == to else -rows.bonus[t]
    if layers is not None:
        move_edges(layers, layers.loops[i], own, to)
    state.labels[i] = to


# Rows without annotations


@bare
def likelihood_parameters(model, state, layers, centers, scale, constant):
    """The Gaussians as ``hard_gaussian.tile_costs`` takes them: OUT.

    In the block models a further row in cluster k costs what its size adds to the expected edges.
    Without priors that is ends / n, the tangent of a convex function, so that the objective rises
    by at least what the rows gain. An empty cluster without a variance takes no rows.
    """
    n_clusters, n_features = state.means.shape
    for k in range(n_clusters):
        weight = state.counts[k] * model.width + model.prior
        constant[k] = 0.0 if weight > 0.0 else np.inf
        for j in range(n_features):
            centers[k, j] = state.means[k, j]
        for v in range(state.sse.shape[1]):
            s = state.sse[k, v] + model.prior * model.variance[v]
            s = max(s / weight, model.floor) if weight > 0.0 else 1.0
            scale[k, v] = 0.5 / s
            constant[k] += 0.5 * model.width * np.log(s)
    if layers is not None:
        add_expected_edges(state.counts, layers, constant)


@part
def add_expected_edges(counts, layers, constant):
    """The cost of a further row in each cluster by the block models. constant: OUT."""
    edges, ends = layers.edges, layers.ends
    now = layers_value(layers, counts, edges, ends) if layers.with_priors else 0.0
    for k in range(counts.shape[0]):
        if layers.with_priors:
            counts[k] += 1.0
            constant[k] -= layers_value(layers, counts, edges, ends) - now
            counts[k] -= 1.0
        elif counts[k] > 0.0:
            constant[k] += ends[k] / counts[k]
