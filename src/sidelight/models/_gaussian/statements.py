"""Statements of people who may be wrong, as the kernels of AnnotatedGaussianMixture take them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csgraph
from scipy.special import betaln, gammaln, logsumexp, xlogy

from sidelight._kernels import annotated as kernels
from sidelight._kernels.beta import all_log_above
from sidelight.side import ClassColumns, SideInformation, Statements

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The prior of an unknown accuracy, cut off at the accuracy of guessing: as strong as three
# statements, and never worse than chance. Otherwise a wrong map from classes to clusters could be
# explained by an annotator who is always wrong.
BETA = (2.0, 1.0)
# Two rows are in one cluster or not; a label is one of several classes.
CHANCE_OF_A_PAIR = 0.5
# With an accuracy of 1 a single mistake would have probability 0, whatever the other data.
SUREST = 1e-6
# Moves of longer chunklets and chains are expensive and seldom accepted.
LONGEST_CHAIN = 256
# Size limit of the tables of terms, in entries per statement; larger whole weights are computed
# directly.
_TABLE_ENTRIES = 8
# The number of annotators whose labels are tried, one at a time, to match classes to clusters.
_BELIEFS = 8
# Statements are processed in portions, to limit the memory.
_PORTION = 65_536


class Annotations(NamedTuple):
    """All statements, about only the annotated rows (ascending) or about every row.

    ``rows`` has no data yet. ``lead`` is, for each column (a class of one vocabulary), its cluster:
    class c is cluster c in the leading vocabulary, and -1 (to be matched) in the others.
    """

    annotated: Ints
    rows: Any
    said: Any
    layers: Any  # kernels.Layers without edges, or None
    given: NDArray[np.bool_]
    log_p: Floats
    chance: Floats
    term_span: Ints
    term_of: Floats
    lead: Ints
    column_vocabulary: Ints
    column_class: Ints
    lead_vocabulary: int
    chunk_span: Ints
    chunk_rows: Ints

    @classmethod
    def of(
        cls,
        side: SideInformation,
        n_clusters: int,
        annotation_model: str,
        accuracy: float | Mapping[Any, float] | None,
        *,
        every_row_up_to: int = 0,
    ) -> "Annotations":
        """Sort the binding statements, whatever their order was, into arrays.

        Up to this number of rows, every row counts as annotated.
        """
        said, columns = side.canonical, side.class_columns
        who = said.annotator % (len(side.annotators) + 1)  # code -1, not told, comes last
        is_pair = said.is_pair
        blocks = annotation_model == "sbm"
        loop = is_pair & (said.i == said.j)
        pair, label = is_pair & ~loop, ~is_pair
        tied = pair | label | (loop & blocks)
        annotated = said.take(tied).rows
        if side.n_samples <= every_row_up_to:
            annotated = np.arange(side.n_samples)
        alternatives = _alternatives(side, n_clusters)[columns.vocabulary]
        pairs = _Pairs.of(said.take(pair), annotated, np.where(blocks, -1, who[pair]))
        labels = _Labels.of(said.take(label), annotated, columns, who[label], alternatives)
        constant, loops, layer_total = _self_pairs(said, loop, pair, who, annotated, side, blocks)
        given, log_p = _accuracies(side, accuracy)
        tallied = label if blocks else label | is_pair
        chance = _chances(said.weight[pair], who[pair], labels, alternatives, len(given))
        # Below 0.5 a must keeps rows apart, and at 0.5 it ties nothing.
        honest = np.where(given, np.sign(log_p[:, 0] - log_p[:, 1]), 1.0)
        tie = (np.sign(pairs.pull) * honest[who[pair]]).astype(np.int64)
        chunk_span, chunk_rows = _chunklets(pairs, tie, len(annotated))
        layers = None
        if blocks and layer_total.any():
            p = None if accuracy is None else float(np.exp(log_p[-1, 0]))
            table = _x_log_x_table(said.take(is_pair))
            layers = _block_models(p, layer_total, loops, table, side.n_samples)
        return cls(
            annotated,
            _entries(pairs, labels, tie, len(annotated)),
            kernels.Said(*pairs, *labels, constant),
            layers,
            given,
            log_p,
            chance,
            *_annotator_tables(said.weight[tallied], who[tallied], given, chance),
            _clusters_of_columns(side, labels, n_clusters),
            columns.vocabulary,
            columns.class_code,
            side.leading_vocabulary,
            chunk_span,
            chunk_rows,
        )

    @property
    def is_silent(self) -> bool:
        """Whether there is no statement that a partition could agree with."""
        return self.layers is None and not len(self.said.pair_a) + len(self.said.label_row)

    def accuracies(self, tally: Floats) -> Floats:
        """The accuracy of each annotator, "not told" last: as given, or the posterior mean."""
        estimated = mean_accuracy(tally[:, 0], tally[:, 1], self.chance)
        return np.where(self.given, np.exp(self.log_p[:, 0]), estimated)

    def beliefs(self, tally: Floats) -> list[Floats]:
        """Accuracies by which classes may be matched: as estimated, all equal, or one annotator's.

        The others are then as good as guessing. Of many annotators those with the most labels.
        """
        known = np.exp(self.log_p[:, 0])
        beliefs = [self.accuracies(tally)]
        spoke = np.bincount(self.said.label_who, np.abs(self.said.label_pull), len(self.given))
        people = np.flatnonzero((spoke > 0) & ~self.given)
        if np.count_nonzero(spoke) < 2 or not len(people):
            return beliefs
        nothing = np.zeros(len(spoke))
        alike = mean_accuracy(nothing, nothing, self.chance)
        beliefs.append(np.where(self.given, known, alike))
        for e in people[np.argsort(-spoke[people], kind="stable")][:_BELIEFS]:
            alone = np.clip(self.chance, SUREST, 1 - SUREST)
            alone[e] = alike[e]
            beliefs.append(np.where(self.given, known, alone))
        return beliefs

    def matched(self, labels: Ints, n_clusters: int, accuracy: Floats) -> Ints:
        """The cluster of each column, the best for a partition and annotators of this accuracy.

        labels : of the annotated rows. A class of the leading vocabulary that has no cluster (there
        are more classes than clusters) has none here either.
        """
        said = self.said
        log_odds = np.log(accuracy / (1 - accuracy))[said.label_who]
        gain = said.label_pull * log_odds + said.label_bonus
        votes = np.zeros((len(self.lead), n_clusters))
        np.add.at(votes, (said.label_column, labels[said.label_row]), gain)
        cluster_of = np.full(len(self.lead), -1, dtype=np.int64)
        with_cluster = (self.column_vocabulary != self.lead_vocabulary) | (self.lead >= 0)
        for code in np.unique(self.column_vocabulary):
            columns = np.flatnonzero((self.column_vocabulary == code) & with_cluster)
            found, clusters = linear_sum_assignment(votes[columns], maximize=True)
            cluster_of[columns[found]] = clusters
        return cluster_of

    def first_match(self, labels: Ints, n_clusters: int) -> Ints:
        """The clusters of a start: class c is cluster c, as seeded; others are matched."""
        accuracy = self.accuracies(np.zeros_like(self.said.constant))
        of_lead = self.column_vocabulary == self.lead_vocabulary
        return np.where(of_lead, self.lead, self.matched(labels, n_clusters, accuracy))

    def numbering(self, cluster_of: Ints, n_clusters: int) -> tuple[Ints, NDArray[np.int32]]:
        """New numbers for clusters, by which class c is cluster c again: old of new, new of old.

        The last entry of the second serves the code -1.
        """
        number = np.full(n_clusters + 1, -1, dtype=np.int32)
        has = self.lead >= 0
        number[cluster_of[has]] = self.lead[has]
        others = np.flatnonzero(number[:-1] < 0)
        number[others] = np.setdiff1d(np.arange(n_clusters), self.lead[has])
        return np.argsort(number[:-1], kind="stable"), number


class _Pairs(NamedTuple):
    a: Ints
    b: Ints
    pull: Floats
    who: Ints

    @classmethod
    def of(cls, said: Statements, annotated: Ints, who: Ints) -> "_Pairs":
        a, b = np.searchsorted(annotated, said.i), np.searchsorted(annotated, said.j)
        return cls(a, b, said.signed_weight, who)


class _Labels(NamedTuple):
    row: Ints
    column: Ints
    pull: Floats
    bonus: Floats
    who: Ints

    @classmethod
    def of(
        cls, said: Statements, annotated: Ints, columns: ClassColumns, who: Ints, alternatives: Ints
    ) -> "_Labels":
        column = columns.find(said.vocabulary, said.class_code)
        bonus = said.weight * np.log(alternatives[column]) * (said.sign > 0)
        row = np.searchsorted(annotated, said.i)
        return cls(row, column, said.signed_weight, bonus, who)


def _alternatives(side: SideInformation, n_clusters: int) -> Ints:
    """For each vocabulary, shared last, how many wrong labels there are beside a right one."""
    n_vocabularies = len(side.vocabularies) + 1
    code = side.class_columns.vocabulary % n_vocabularies  # code -1, shared, comes last
    sizes = np.bincount(code, minlength=n_vocabularies)
    return np.maximum(np.maximum(sizes, n_clusters) - 1, 1)


def _clusters_of_columns(side: SideInformation, labels: _Labels, n_clusters: int) -> Ints:
    """In the leading vocabulary the heaviest classes have clusters, in their sorted order."""
    vocabulary = side.class_columns.vocabulary
    mass = np.bincount(labels.column, np.maximum(labels.pull, 0.0), minlength=len(vocabulary))
    of_lead = np.flatnonzero(vocabulary == side.leading_vocabulary)
    heaviest = of_lead[np.argsort(-mass[of_lead], kind="stable")][:n_clusters]
    # Classes with labels come first, since starts are seeded from these.
    heaviest = heaviest[np.lexsort((heaviest, mass[heaviest] == 0))]
    lead = np.full(len(vocabulary), -1, dtype=np.int64)
    lead[heaviest] = np.arange(len(heaviest))
    return lead


def _entries(pairs: _Pairs, labels: _Labels, tie: Ints, n_rows: int) -> Any:
    """Both ends of the pairs, and the labels, row by row and sorted by annotator."""
    n_pairs, n_labels = len(pairs.a), len(labels.row)
    row = np.concatenate([pairs.a, pairs.b, labels.row])
    none = np.full(n_labels, -1, dtype=np.int64)
    who = np.concatenate([pairs.who, pairs.who, labels.who])
    order = np.lexsort((who, row))
    partner = np.concatenate([pairs.b, pairs.a, none])
    column = np.concatenate([np.full(2 * n_pairs, -1, dtype=np.int64), labels.column])
    pull = np.concatenate([pairs.pull, pairs.pull, labels.pull])
    bonus = np.concatenate([np.zeros(2 * n_pairs), labels.bonus])
    return kernels.Rows(
        np.empty((0, 0)),
        np.searchsorted(row[order], np.arange(n_rows + 1)),
        partner[order],
        column[order],
        pull[order],
        bonus[order],
        who[order],
        np.concatenate([tie, tie, 0 * none])[order],
    )


def _self_pairs(
    said: Statements,
    loop: NDArray[np.bool_],
    pair: NDArray[np.bool_],
    who: Ints,
    annotated: Ints,
    side: SideInformation,
    blocks: bool,
) -> tuple[Floats, Floats, Floats]:
    """Pairs of a row with itself: a must is right and a cannot is wrong whatever the partition.

    Returns the annotators' constant tally, the loops of the block models (a self pair of weight w
    stands as 2 w on the diagonal), and the weight of the statements in each layer.
    """
    constant = np.zeros((len(side.annotators) + 1, 2))
    loops = np.zeros((len(annotated), 2))
    cannot = (said.sign < 0).astype(np.int64)
    layer_total = np.zeros(2)
    if blocks:
        position = np.searchsorted(annotated, said.i[loop])
        np.add.at(loops, (position, cannot[loop]), 2.0 * said.weight[loop])
        layer_total = np.bincount(
            cannot[loop | pair], said.weight[loop | pair], minlength=2
        ).astype(np.float64)
    else:
        np.add.at(constant, (who[loop], cannot[loop]), said.weight[loop])
    return constant, loops, layer_total


def _accuracies(
    side: SideInformation, accuracy: float | Mapping[Any, float] | None
) -> tuple[NDArray[np.bool_], Floats]:
    """Whose accuracy is given, and log p and log(1 - p); the last annotator is "not told"."""
    names = (*side.annotators, None)
    p = np.full(len(names), np.nan)
    for e, name in enumerate(names):
        if isinstance(accuracy, Mapping):
            p[e] = accuracy.get(name, np.nan)
        elif accuracy is not None:
            p[e] = accuracy
    given = ~np.isnan(p)
    p = np.clip(np.where(given, p, 0.5), SUREST, 1 - SUREST)
    return given, np.log(np.stack([p, 1 - p], axis=1))


def _chances(
    pair_weight: Floats, pair_who: Ints, labels: _Labels, alternatives: Ints, n: int
) -> Floats:
    """How often each of n annotators would be right by guessing, the mean over their statements.

    A label is one of as many classes as its vocabulary has (of clusters, if these are more).
    """
    n_choices = 1.0 + alternatives
    of_label = np.where(labels.pull > 0, 1.0 / n_choices[labels.column], CHANCE_OF_A_PAIR)
    chance = np.concatenate([np.full(len(pair_who), CHANCE_OF_A_PAIR), of_label])
    who = np.concatenate([pair_who, labels.who])
    weight = np.concatenate([pair_weight, np.abs(labels.pull)])
    total = np.bincount(who, weight, minlength=n)
    right = np.bincount(who, weight * chance, minlength=n)
    return np.divide(right, total, out=np.zeros(n), where=total > 0)


def log_above(a: Floats, b: Floats, x: Floats) -> Floats:
    """The logarithm of P(p > x) for p ~ Beta(a, b)."""
    out = np.empty(len(a))
    all_log_above(a, b, x, out)
    return out


def _annotator_tables(
    weight: Floats, who: Ints, given: NDArray[np.bool_], chance: Floats
) -> tuple[Ints, Floats]:
    """The term for each number of agreeing statements, annotator by annotator: spans, values.

    For those whose accuracy is estimated and whose weights are whole numbers; others have none.
    """
    total = np.bincount(who, weight, minlength=len(given))
    number = np.bincount(who, minlength=len(given))
    broken = np.bincount(who, weight % 1.0, minlength=len(given)) > 0
    wanted = ~given & ~broken & (total <= _TABLE_ENTRIES * number)
    sizes = np.where(wanted, total + 1, 0).astype(np.int64)
    span = np.append(0, np.cumsum(sizes))
    e = np.repeat(np.arange(len(given)), sizes)
    agreed = np.arange(span[-1]) - span[e]
    a, b = agreed + BETA[0], total[e] - agreed + BETA[1]
    return span, gammaln(a) + gammaln(b) + log_above(a, b, chance[e])


def _block_models(
    p: float | None, total: Floats, loops: Floats, x_log_x_of: Floats, n_samples: int
) -> Any:
    """The paper's model of the pairs, with priors if the accuracy p is given."""
    odds = np.ones(2) if p is None else np.array([(1 - p) / p, p / (1 - p)])
    # The logarithm of 0 is never asked for, and priors ask for those of other numbers.
    log_of = np.log(np.maximum(np.arange(n_samples + 1), 1)) if p is None else np.zeros(0)
    nothing = np.zeros((0, 0, 0)), np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0, 0)), np.zeros(0)
    return kernels.Layers(p is not None, total, odds, loops, x_log_x_of, log_of, *nothing)


def _x_log_x_table(pairs: Statements) -> Floats:
    """X log x for all that an entry of the edge matrices can be, if weights are whole numbers."""
    total = pairs.weight.sum()
    if (pairs.weight % 1.0).any() or total > _TABLE_ENTRIES * len(pairs.weight):
        return np.zeros(0)
    x = np.arange(2 * int(total) + 1, dtype=np.float64)
    return xlogy(x, x)


def _chunklets(pairs: _Pairs, tie: Ints, n_rows: int) -> tuple[Ints, Ints]:
    """Rows tied by chains of must-links, two rows and more: spans, and positions of the rows."""
    a, b = pairs.a[tie > 0], pairs.b[tie > 0]
    graph = sparse.coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(n_rows, n_rows))
    group = np.zeros(0, dtype=np.int64)
    if n_rows:
        group = csgraph.connected_components(graph, directed=False)[1].astype(np.int64)
    sizes = np.bincount(group)
    wanted = (sizes > 1) & (sizes <= LONGEST_CHAIN)
    rows = np.flatnonzero(wanted[group])
    rows = rows[np.argsort(group[rows], kind="stable")]
    return np.append(0, np.cumsum(sizes[wanted])).astype(np.int64), rows


# Annotators, given a partition


def mean_accuracy(agreed: Floats, violated: Floats, chance: Floats) -> Floats:
    """The mean of an accuracy above chance, given the weights that agree and that do not."""
    a, b = agreed + BETA[0], violated + BETA[1]
    inside = log_above(a + 1, b, chance) - log_above(a, b, chance)
    mean: Floats = np.exp(betaln(a + 1, b) - betaln(a, b) + inside)
    return np.clip(mean, SUREST, 1 - SUREST)


class Evidence(NamedTuple):
    """Posteriors of the annotated rows given a partition, with everything else fixed.

    support (n_annotated, K) is the log posterior of each row's cluster from its own data and all
    statements about it, each annotator as accurate as estimated. odds (per statement) is
    weight * log(p / (1 - p)), the pull of a statement on its partner's cluster.
    """

    annotated: Ints
    labels: Any
    support: Floats
    odds: Floats
    accuracy: Floats
    tally: Floats
    given: NDArray[np.bool_]
    chance: Floats
    cluster_of: NDArray[Any]
    alternatives: NDArray[Any]


def weigh(
    side: SideInformation,
    labels: Any,
    cluster_of: NDArray[Any],
    annotated: Ints,
    log_density: Floats,
    annotations: Annotations,
) -> Evidence:
    """Sum the evidence of the data and the statements for each annotated row."""
    said = side.statements
    n_clusters = log_density.shape[1]
    given, chance = annotations.given, annotations.chance
    agrees = ~side.violated(labels, clusters=cluster_of)
    who = said.annotator % len(given)
    binding = said.binding
    tally = np.zeros((len(given), 2))
    np.add.at(tally, (who[binding], (~agrees[binding]).astype(int)), said.weight[binding])
    accuracy = annotations.accuracies(tally)
    odds = said.weight * np.log(accuracy / (1 - accuracy))[who]
    alternatives = _alternatives(side, n_clusters)
    support = log_density.copy()
    is_pair = binding & said.is_pair & (said.i != said.j)
    signed = said.sign * odds
    for near, far in ((said.i, said.j), (said.j, said.i)):
        row = np.searchsorted(annotated, near[is_pair])
        np.add.at(support, (row, labels[far[is_pair]]), signed[is_pair])
    is_label = binding & said.is_class
    if is_label.any():
        home = cluster_of[said.vocabulary, said.class_code]
        known = is_label & (home >= 0)
        bonus = said.weight * np.log(alternatives[said.vocabulary]) * (said.sign > 0)
        np.add.at(
            support,
            (np.searchsorted(annotated, said.i[known]), home[known]),
            (signed + bonus)[known],
        )
    return Evidence(
        annotated, labels, support, odds, accuracy, tally, given, chance, cluster_of, alternatives
    )


def statement_errors(side: SideInformation, known: Evidence) -> Floats:
    """For each statement the probability that it is wrong; 0 for "unsure".

    With the statement removed and everything else fixed, P(agree) comes from the posterior of the
    rows' clusters; then (1-p)^w P(disagree) / [(1-p)^w P(disagree) + p^w P(agree)].
    """
    said = side.statements
    errors = np.zeros(len(said.kind))
    loop = said.is_pair & (said.i == said.j)
    errors[loop] = said.sign[loop] < 0
    pairs = np.flatnonzero(said.is_pair & ~loop)
    between = _odds_between(side, pairs, known.odds)
    for start in range(0, len(pairs), _PORTION):
        here = pairs[start : start + _PORTION]
        errors[here] = _pair_errors(side, here, between[start : start + _PORTION], known)
    labels = np.flatnonzero(said.is_class)
    for start in range(0, len(labels), _PORTION):
        here = labels[start : start + _PORTION]
        errors[here] = _label_errors(side, here, known)
    return errors


def _odds_between(side: SideInformation, pairs: Ints, odds: Floats) -> Floats:
    """For each pair statement the summed pull of all statements about the same two rows."""
    said = side.statements
    if not len(pairs):
        return np.zeros(0)
    signed = (said.sign * odds)[pairs]
    _, group = np.unique(said.i[pairs] * side.n_samples + said.j[pairs], return_inverse=True)
    return np.bincount(group, weights=signed).astype(np.float64)[group]


def _without(side: SideInformation, known: Evidence, here: Ints, agree: Any) -> Floats:
    """log(p / (1 - p)) times the weight, with p estimated without the statement itself."""
    said = side.statements
    who, weight = said.annotator[here] % len(known.given), said.weight[here]
    rest = known.tally[who].copy()
    rest[np.arange(len(here)), np.where(agree, 0, 1)] -= weight * said.binding[here]
    rest = np.maximum(rest, 0.0)
    p = mean_accuracy(rest[:, 0], rest[:, 1], known.chance[who])
    p = np.where(known.given[who], known.accuracy[who], p)
    return weight * np.log(p / (1 - p))


def _pair_errors(side: SideInformation, here: Ints, between: Floats, known: Evidence) -> Floats:
    said = side.statements
    i, j, must = said.i[here], said.j[here], said.sign[here] > 0
    number = np.arange(len(here))
    sides = []
    for near, far in ((i, j), (j, i)):
        support = _support(known, near)
        support[number, known.labels[far]] -= between
        sides.append(support - logsumexp(support, axis=1, keepdims=True))
    together = logsumexp(sides[0] + sides[1], axis=1)
    apart = np.log(-np.expm1(np.minimum(together, -1e-15)))
    # The evidence of the other statements about the same two rows.
    own = np.where(must, known.odds[here], -known.odds[here]) * said.binding[here]
    together = together + between - own
    agree, disagree = np.where(must, together, apart), np.where(must, apart, together)
    agrees = (known.labels[i] == known.labels[j]) == must
    return _sigmoid(disagree - agree - _without(side, known, here, agrees))


def _label_errors(side: SideInformation, here: Ints, known: Evidence) -> Floats:
    said = side.statements
    vocabulary, positive = said.vocabulary[here], said.sign[here] > 0
    home = known.cluster_of[vocabulary, said.class_code[here]]
    number = np.arange(len(here))
    support = _support(known, said.i[here])
    alternatives = np.log(known.alternatives[vocabulary]) * said.weight[here] * positive
    own = np.where(positive, known.odds[here], -known.odds[here]) + alternatives
    support[number, home] -= np.where((home >= 0) & said.binding[here], own, 0.0)
    support -= logsumexp(support, axis=1, keepdims=True)
    inside = np.where(home >= 0, support[number, home], -np.inf)
    with np.errstate(divide="ignore"):
        outside = np.log(-np.expm1(np.minimum(inside, -1e-15)))
    agree, disagree = np.where(positive, inside, outside), np.where(positive, outside, inside)
    agrees = (known.labels[said.i[here]] == home) == positive
    return _sigmoid(disagree - agree - _without(side, known, here, agrees) - alternatives)


def _support(known: Evidence, rows: Ints) -> Floats:
    return known.support[np.searchsorted(known.annotated, rows)]


def _sigmoid(x: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-np.clip(x, -700, 700)))
