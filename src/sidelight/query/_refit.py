"""Two ways in which a model helps the committee: a learned metric, and a second partition."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import bdtr

from sidelight.metrics import adjusted_rand
from sidelight.models import StatementMetric, find_model
from sidelight.query._committee import Committee, Facts, weigh_items
from sidelight.query._display import Shown, smallest
from sidelight.query._structure import Ints, metric_leaves
from sidelight.side import SideInformation

EVERY = 25  # answers between two fits
# When the refit is shown. The first two were chosen on one seed each of twelve tables with right
# answers and four with wrong ones; the level is the usual one.
AGREE = 0.8  # with a larger ARI between the two partitions the asker's own is shown
MEMORY = 1 / 3  # share of annotated rows from which the asker's own is shown
LEVEL = 0.05  # of the test that the refit breaks more answers than the asker's own
ENOUGH_FREEDOM = 12.0


def learn_graph(committee: Committee, shown: Shown) -> Committee:
    """Build the second graph again, in a metric learned from the shown clusters of annotated rows.

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

    The number of clusters is that of shown clusters that are not small (see `smallest`), or that of
    the classes that were named if there are more of them: fewer clusters would have to break names.
    """
    size = np.bincount(own)
    n_named = len(side.labelled_classes)
    n_clusters = max(int((size >= smallest(size)).sum()), n_named, 2)
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
        size = np.bincount(init)
        small = size < smallest(size)
        fresh.set_params(init=np.where(small[init], -1, init))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about convergence: the next answers fit again
        return fresh.fit(X, side=side)


def few_annotated(committee: Committee) -> bool:
    """Whether so few rows have answers that a model of all rows may know more than the chains.

    Chains keep the answers about annotated rows, and a model may overrule them. If a third of the
    rows is annotated, that loses more than the model gains on the others.
    """
    used = committee.fact_weight > 0
    rows = np.concatenate([committee.facts.i[used], committee.facts.j[used]])
    return len(np.unique(rows[rows >= 0])) < MEMORY * committee.structure.n_rows


def is_better(committee: Committee, own: Ints, other: Ints) -> bool:
    """Whether the refit is shown: it differs much, and does not clearly break more answers.

    Some more broken answers are no objection, because chains can set any annotated row apart. How
    many are too many follows from their number, by the exact sign test on the answers that one
    partition keeps and the other breaks.
    """
    if adjusted_rand(own, other) >= AGREE:
        return False
    kept, kept_by_other = keeps(committee, own), keeps(committee, other)
    lost, won = int((kept & ~kept_by_other).sum()), int((kept_by_other & ~kept).sum())
    return lost <= won or 2 * float(bdtr(won, lost + won, 0.5)) >= LEVEL


def keeps(committee: Committee, labels: Ints) -> NDArray[np.bool_]:
    """Which answers a partition of rows agrees with, pairs and then names.

    The cluster of a class is that of the one-to-one matching that agrees with most names.
    """
    used = committee.fact_weight > 0
    facts = Facts._make(column[used] for column in committee.facts)
    pair = facts.is_pair
    right = (labels[facts.i[pair]] == labels[facts.j[pair]]) == (facts.sign[pair] > 0)
    named = ~pair & (facts.sign > 0)
    if not named.any():
        return right
    classes, clusters = facts.class_[named], labels[facts.i[named]]
    table = np.zeros((int(classes.max()) + 1, int(labels.max()) + 1))
    np.add.at(table, (classes, clusters), 1.0)
    cluster_of = np.full(len(table), -1)
    matched, to = linear_sum_assignment(table, maximize=True)
    cluster_of[matched] = to
    return np.concatenate([right, cluster_of[classes] == clusters])
