"""Two ways in which a model helps the committee: a learned metric, and a second partition."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from sidelight.metrics import adjusted_rand
from sidelight.models import StatementMetric, find_model
from sidelight.query._committee import Committee, Facts, weigh_items
from sidelight.query._display import SMALL, Shown
from sidelight.query._structure import Ints, metric_leaves
from sidelight.side import SideInformation

EVERY = 25  # answers between two fits
# When the refit is shown. Chosen on one seed each of twelve tables with right answers and four with
# wrong ones: the three limits together are within .01 of always choosing the better partition.
AGREE = 0.8  # with a larger ARI between the two partitions the asker's own is shown
MEMORY = 1 / 3  # share of annotated rows from which the asker's own is shown
MARGIN = 0.2  # share of answers that a refit may break beyond those that the asker's own breaks
ENOUGH_FREEDOM = 12.0


def learn_graph(committee: Committee, shown: Shown) -> Committee:
    """The second graph anew, by neighbours in the metric of the annotated rows' shown clusters.

    Tree, items and volumes stay. Chains on either graph compete by how well they predict answers.
    """
    structure, items, facts = committee.structure, committee.items, committee.facts
    if structure.X is None or len(committee.graphs) < 2:
        return committee
    rows = np.unique(np.concatenate([facts.i, facts.j[facts.j >= 0]]))
    y = np.full(structure.n_rows, -1)
    y[rows] = shown.clusters[items.of_slot[structure.row_leaf[rows]]]
    metric = StatementMetric(min_freedom=ENOUGH_FREEDOM)
    metric.fit(structure.X, side=SideInformation.from_labels(y))
    if metric.freedom_ < ENOUGH_FREEDOM:
        return committee
    graph = metric_leaves(structure, np.ascontiguousarray(metric.transform(structure.points)))
    graphs = (structure.leaves, graph)
    items = weigh_items(structure, graphs, items, np.arange(len(items.node)))
    return replace(committee, graphs=graphs, items=items)


def refit(model: Any, X: Any, side: SideInformation, own: Ints, seed: int) -> Ints:
    """Labels by a model that is given the answers, from its own starts and from the asker's.

    The number of clusters is that of shown clusters of at least 2 % of the rows.
    """
    size = np.bincount(own)
    n_clusters = max(int((size >= SMALL * len(own)).sum()), 2)
    best: Any = None
    for init in (None, own):
        fitted = _fit(model, X, side, n_clusters, init, seed)
        if best is None or fitted.objective_ < best.objective_:
            best = fitted
    return np.asarray(best.labels_)


def _fit(model: Any, X: Any, side: SideInformation, n_clusters: int, init: Any, seed: int) -> Any:
    settings = {"n_clusters": n_clusters, "random_state": seed % 2**31}
    if isinstance(model, str):
        fresh = find_model(model)(**settings)
    else:
        from sklearn.base import clone

        fresh = clone(model)
        allowed = fresh.get_params()
        fresh.set_params(**{key: value for key, value in settings.items() if key in allowed})
    if init is not None and "init" in fresh.get_params():
        small = np.bincount(init) < SMALL * len(init)
        fresh.set_params(init=np.where(small[init], -1, init))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about convergence: the next answers fit again
        return fresh.fit(X, side=side)


def few_annotated(committee: Committee) -> bool:
    """Whether so few rows have answers that a model of all rows may know more than the chains.

    Chains remember annotated rows, and a model may overrule them: where a third of the rows is
    annotated, that counts for more than what a model learns about the others.
    """
    used = committee.fact_weight > 0
    rows = np.concatenate([committee.facts.i[used], committee.facts.j[used]])
    return len(np.unique(rows[rows >= 0])) < MEMORY * committee.structure.n_rows


def is_better(committee: Committee, own: Ints, other: Ints) -> bool:
    """Whether the refit is shown: it differs much, and agrees with nearly as many answers.

    Fewer answers are no objection by themselves, because chains can set any annotated row apart.
    """
    if adjusted_rand(own, other) >= AGREE:
        return False
    return agreement(committee, other) > agreement(committee, own) - MARGIN


def agreement(committee: Committee, labels: Ints) -> float:
    """Share of answers that a partition of rows agrees with; a class is where most of it lies."""
    used = committee.fact_weight > 0
    facts = Facts._make(column[used] for column in committee.facts)
    pair = facts.is_pair
    right = (labels[facts.i[pair]] == labels[facts.j[pair]]) == (facts.sign[pair] > 0)
    n_right, n = int(right.sum()), len(right)
    named = ~pair & (facts.sign > 0)
    if named.any():
        table = np.zeros((int(facts.class_.max()) + 1, int(labels.max()) + 1))
        np.add.at(table, (facts.class_[named], labels[facts.i[named]]), 1.0)
        matched = linear_sum_assignment(table, maximize=True)
        n_right, n = n_right + int(table[matched].sum()), n + int(named.sum())
    return n_right / n if n else 1.0
