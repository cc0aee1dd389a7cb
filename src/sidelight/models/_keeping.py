"""Statements that must hold: whether K clusters can keep them, and a placement that does."""

from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from sidelight._kernels.colour import colour_by_cost, improve_colours
from sidelight._work import count_work
from sidelight.blocks import RowEntries
from sidelight.exceptions import SideInformationError
from sidelight.side import LABEL, Feasibility, SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# A chain of more groups hardly ever pays, and looking for it would cost the size of a component.
_LONGEST_CHAIN = 64


def check_keepable(side: SideInformation, n_clusters: int) -> None:
    """Refuse statements of the classes that `check_classes` has counted, if nothing keeps them."""
    said = side.once
    if (said.kind == LABEL).all() and (np.diff(said.i) > 0).all():
        return  # one label for each row: there is nothing to search for
    found = side.feasible(n_clusters)
    if found.colouring is None:
        refuse_unkeepable(found, n_clusters)


def refuse_unkeepable(found: Feasibility, n_clusters: int) -> NoReturn:
    """An error that names the rows that show why, and says whether that is proven."""
    proof = "This is proven" if found.answer == "no" else "This is not proven"
    raise SideInformationError(
        f"n_clusters={n_clusters} clusters that keep every statement: {found.reason}. {proof}.",
        advice="Correct the statements (side.conflicts() lists contradictions), or give them to a "
        'model that weighs them: sidelight.models.model_names(contradictions="tolerated").',
    )


def check_classes(side: SideInformation, n_clusters: int) -> None:
    """Refuse several vocabularies, and more labelled classes than clusters."""
    n_vocabularies = len(np.unique(side.class_columns.vocabulary))
    if n_vocabularies > 1:
        raise SideInformationError(
            f"the labels belong to {n_vocabularies} vocabularies, and a row cannot be held in the "
            "clusters of two classes.",
            advice="Choose the labels of one vocabulary, or give all of them to COPKMeans, which "
            "keeps them together and apart, or to PartitionLevelKMeans, which weighs them.",
        )
    n_classes = len(side.labelled_classes)
    if n_classes > n_clusters:
        raise SideInformationError(
            f"{n_classes} classes are labelled and n_clusters={n_clusters}; a class that holds its "
            "rows needs a cluster of its own.",
            advice="Ask for more clusters, or use SeededKMeans, in which labels are only a start.",
        )


def held_rows(side: SideInformation) -> RowEntries:
    """Class statements by row: the cluster, and whether the row is held in it or kept out of it.

    Class k, of those with a label, is cluster k; "not c" says nothing where no row is c.
    """
    classes = side.labelled_classes
    cluster = np.full(len(side.classes), -1)
    cluster[classes] = np.arange(len(classes))
    said = side.once
    said = said.take(said.is_class & (cluster[said.class_code] >= 0))
    said = said.take(np.lexsort((said.kind, said.class_code, said.i)))
    return RowEntries(said.i, (cluster[said.class_code], said.sign > 0))


class Apart(NamedTuple):
    """Groups that may not share a cluster, and a known way to keep them apart, -1 for none."""

    span: Ints
    near: Ints
    colours: Ints

    @classmethod
    def of(cls, graph: sparse.csr_array, colours: Ints) -> "Apart":
        """From a symmetric matrix of groups by groups."""
        return cls(graph.indptr.astype(np.int64), graph.indices.astype(np.int64), colours)

    def placed(self, cost: Floats) -> Ints:
        """A cluster for each group: by cost (G, K) if that succeeds, else from the known way."""
        labels = np.full(len(cost), -1, dtype=np.int64)
        taken = np.zeros(cost.shape, dtype=np.int32)
        if colour_by_cost(cost, self.span, self.near, labels, taken) >= 0:
            # Colours are as good in any order; the cheapest one.
            by_colour = np.zeros((cost.shape[1], cost.shape[1]))
            np.add.at(by_colour, self.colours, cost)
            labels = linear_sum_assignment(by_colour)[1][self.colours]
        return labels

    def improved(self, cost: Floats, labels: Ints) -> tuple[int, Ints]:
        """Groups to cheaper clusters, alone or along chains, while that gains: (moves, labels).

        Decreases within the rounding of the cost would make groups move for ever.
        """
        labels, (n_groups, n_clusters) = labels.copy(), cost.shape
        taken = np.zeros(cost.shape, dtype=np.int32)
        one = np.repeat(np.arange(n_groups), np.diff(self.span))
        np.add.at(taken, (one, labels[self.near]), 1)
        tolerance = 1e-13 * float(cost.max(initial=0.0))
        queue, inside = np.empty(_LONGEST_CHAIN, dtype=np.int64), np.zeros(n_groups, dtype=bool)
        lowest = cost.min(axis=1)
        n_moved, n_all = -1, 0
        while n_moved:
            # The others are where they cost least already.
            groups = np.flatnonzero(cost[np.arange(n_groups), labels] > lowest)
            count_work("relocation tests", len(groups) * n_clusters)
            _, n_moved = improve_colours(
                cost, self.span, self.near, groups, tolerance, labels, taken, queue, inside
            )
            n_all += n_moved
        return n_all, labels


class TiedGroups(NamedTuple):
    """Groups of rows that belong together, or that are apart from others, with a way to keep all.

    ``rows`` are theirs, ``group`` the group of each, ``first`` a place in each group, and
    ``members`` the groups by rows matrix of ones.
    """

    rows: Ints
    group: Ints
    first: Ints
    members: sparse.csr_array
    apart: Apart

    @classmethod
    def of(cls, side: SideInformation, n_clusters: int) -> "TiedGroups":
        """From statements that K clusters can keep; others are refused."""
        found = side.feasible(n_clusters)
        if found.answer == "no":
            refuse_unkeepable(found, n_clusters)
        closure = side.closure()
        graph = closure.apart_graph()
        bound = (closure.sizes > 1) | (np.diff(graph.indptr) > 0)
        rows = np.flatnonzero(bound[closure.groups])
        group = (np.cumsum(bound) - 1)[closure.groups[rows]]
        _, first = np.unique(group, return_index=True)
        ones = (np.ones(len(rows)), (group, np.arange(len(rows))))
        members = sparse.coo_array(ones, shape=(len(first), len(rows))).tocsr()
        among = sparse.csr_array(graph[bound][:, bound])
        if found.colouring is not None:
            apart = Apart.of(among, found.colouring[rows[first]].astype(np.int64))
        else:  # ejection chains find a way where plain DSATUR does not
            apart = Apart.of(among, np.full(len(first), -1, dtype=np.int64))
            free = np.zeros((len(first), n_clusters))
            taken = np.zeros(free.shape, dtype=np.int32)
            if colour_by_cost(free, apart.span, apart.near, apart.colours, taken) >= 0:
                refuse_unkeepable(found, n_clusters)
        return cls(rows, group, first, members, apart)
