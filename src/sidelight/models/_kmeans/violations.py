"""The cost of violated pairs in CVQE and LCVQE, and their effect on centres.

The symbols and the objectives J are those of vqe.py.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from sidelight._kernels.vqe import cvqe_sweep, lcvqe_sweep
from sidelight._work import count_work
from sidelight.blocks import RowEntries
from sidelight.models._centers import group_sums
from sidelight.models._kmeans.family import Given
from sidelight.models._kmeans.statements import closure_pairs, given_pairs
from sidelight.models._lloyd import Held, Penalty, Problem, State, Tally, Theta, nothing

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Violations(Penalty, ABC):
    """Pairs whose rows are held; the tables of a tally are what violated pairs add to each centre.

    These are sums (K, d) and weights (K); the last table is what the pairs cost, in terms of 2 J.
    """

    def __init__(self, given: Given, pairs: str) -> None:
        said = given_pairs(given.side) if pairs == "given" else closure_pairs(given.side)
        self.held = np.unique(np.concatenate([said.i, said.j]))
        self.data = Held.of(given.rows, self.held, given.weight)
        order = np.random.default_rng(given.seed).permutation(len(said.i))
        self.one = np.searchsorted(self.held, said.i)[order]
        self.two = np.searchsorted(self.held, said.j)[order]
        self.is_must, self.weight = said.is_must[order], said.weight[order]
        self.n_features = given.rows.n_features

    def tables(self, mass: Floats) -> tuple[Floats, ...]:
        """Passes over the data do not change the part of the pairs."""
        n_clusters = mass.shape[1]
        return np.zeros((n_clusters, self.n_features)), np.zeros(n_clusters), np.zeros(())

    def update(self, tally: Tally, theta: Theta) -> Theta:
        """Means of the rows and of what violated pairs add; an empty cluster stays."""
        extra, extra_weight, _ = tally.side
        weight = tally.counts + extra_weight
        centers = theta.centers.copy()
        filled = (tally.counts > nothing(tally.counts)) & (weight > 0)
        centers[filled] = (tally.sums + extra)[filled] / weight[filled, None]
        return Theta(centers)

    def sweep(
        self, problem: Problem, theta: Theta, tally: Tally, state: State
    ) -> tuple[int, Tally]:
        """Held rows to their nearest centres, then one pass over the pairs."""
        if not len(self.held):
            return 0, tally
        distances = self.data.squared(theta.centers)
        before = state.labels[self.held].astype(np.int64)
        after = distances.argmin(axis=1)
        count_work("relocation tests", len(self.one))
        self._place(distances, theta, after)
        state.labels[self.held] = after
        tally = self.data.moved(tally, before, after, theta.centers)
        price = np.asarray(self._price(distances, theta, after))
        tally = tally._replace(side=(*self._drawn(distances, theta, after), price))
        return int((before != after).sum()), tally

    def cost(self, tally: Tally, theta: Theta, labels: Any) -> float:
        """The cost of the violated pairs after the last sweep."""
        return float(tally.side[2])

    def _violated(self, labels: Ints) -> tuple[Ints, Ints]:
        """Violated must-links, and violated cannot-links."""
        together = labels[self.one] == labels[self.two]
        return np.flatnonzero(self.is_must & ~together), np.flatnonzero(~self.is_must & together)

    @abstractmethod
    def _place(self, distances: Floats, theta: Theta, labels: Ints) -> None:
        """One pass over the pairs. labels: IN the nearest centres, OUT."""

    @abstractmethod
    def _drawn(self, distances: Floats, theta: Theta, labels: Ints) -> tuple[Floats, Floats]:
        """The contributions of violated pairs to each centre: sums (K, d) and weights (K)."""

    @abstractmethod
    def _price(self, distances: Floats, theta: Theta, labels: Ints) -> float:
        """The cost of violated pairs."""


class CenterViolations(Violations):
    """CVQE: violated pairs cost distances between centres, and draw centres to centres."""

    def _place(self, distances: Floats, theta: Theta, labels: Ints) -> None:
        between = _between(theta.centers)
        pairs = (self.one, self.two, self.is_must, self.weight)
        cvqe_sweep(distances, self.data.weight, between, *pairs, labels)

    def _drawn(self, distances: Floats, theta: Theta, labels: Ints) -> tuple[Floats, Floats]:
        centers = theta.centers
        must, cannot = self._violated(labels)
        near = _between(centers, np.inf).argmin(axis=1)
        here = np.concatenate([labels[self.one[must]], labels[self.one[cannot]]])
        there = np.concatenate([labels[self.two[must]], near[labels[self.one[cannot]]]])
        weight = np.zeros((len(centers), len(centers)))
        np.add.at(weight, (here, there), self.weight[np.concatenate([must, cannot])])
        return weight @ centers, weight.sum(axis=1)

    def _price(self, distances: Floats, theta: Theta, labels: Ints) -> float:
        violated = np.concatenate(self._violated(labels))
        one, two = labels[self.one[violated]], labels[self.two[violated]]
        return float(self.weight[violated] @ _between(theta.centers)[one, two])


def _between(centers: Floats, diagonal: float | None = None) -> Floats:
    """Squared distances of centres; on the diagonal that to the nearest other one, or a number."""
    apart: Floats = euclidean_distances(centers, squared=True)
    np.fill_diagonal(apart, np.inf)
    own = apart.min(axis=1) if len(centers) > 1 else np.zeros(1)
    np.fill_diagonal(apart, own if diagonal is None else diagonal)
    return apart


class RowViolations(Violations):
    """LCVQE: violated pairs cost distances of rows to centres, and draw centres to rows."""

    def __init__(self, given: Given, pairs: str, slip: bool) -> None:
        super().__init__(given, pairs)
        self.slip = slip

    def _place(self, distances: Floats, theta: Theta, labels: Ints) -> None:
        pairs = (self.one, self.two, self.is_must, self.weight)
        lcvqe_sweep(distances, self.data.weight, *pairs, self.slip, labels)

    def _terms(self, distances: Floats, labels: Ints) -> tuple[Ints, Ints, Floats]:
        """The rows that violated pairs add, the clusters that they are added to, and weights."""
        must, cannot = self._violated(labels)
        one, two = self.one[must], self.two[must]
        a, b = self.one[cannot], self.two[cannot]
        common = labels[a]
        far = np.where(distances[a, common] >= distances[b, common], a, b)
        others = distances[far].copy()
        others[np.arange(len(far)), common] = np.inf
        near = others.argmin(axis=1) if distances.shape[1] > 1 else common
        return (
            np.concatenate([one, two, far]),
            np.concatenate([labels[two], labels[one], near]),
            np.concatenate([np.tile(0.5 * self.weight[must], 2), self.weight[cannot]]),
        )

    def _drawn(self, distances: Floats, theta: Theta, labels: Ints) -> tuple[Floats, Floats]:
        row, cluster, weight = self._terms(distances, labels)
        order = np.argsort(row, kind="stable")
        entries = RowEntries(row[order], (cluster[order], weight[order]))
        return group_sums(self.data.data, entries, len(theta.centers))

    def _price(self, distances: Floats, theta: Theta, labels: Ints) -> float:
        row, cluster, weight = self._terms(distances, labels)
        return float(weight @ distances[row, cluster])
