"""The energy of a partition into Gaussians with classes, and its descent row by row."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight._kernels import cross_entropy as kernels
from sidelight._work import count_work
from sidelight.models._fitting import never
from sidelight.models._mixtures.family import Theta
from sidelight.models._mixtures.floor import Floor
from sidelight.models._mixtures.gaussian import Components, Gaussians
from sidelight.side import LABEL, SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LIFT = 1e-12
# From this number of rows on, sweeps are shortened; below, every sweep is over all rows.
_MANY_ROWS = 2_000
# Then moments are recomputed after moves of this share of the rows: late sweeps move only a few
# rows, whose rounding is negligible.
_STALE = 0.01
# After a sweep over all rows, up to three sweeps visit only rows whose second best cluster costs
# less than two nats more: these are few, and most moves are theirs.
_NEAR, _SWEEPS_OF_NEAR = 2.0, 3


class Said(NamedTuple):
    """Labels of row i: column[span[i]:span[i + 1]], with weights; group: the vocabulary of each."""

    span: Ints
    column: Ints
    weight: Floats
    group: Ints

    @classmethod
    def of(cls, side: SideInformation) -> "Said":
        """The labels of all vocabularies."""
        said = side.canonical
        said = said.take(said.kind == LABEL)
        order = np.argsort(said.i, kind="stable")
        columns = side.class_columns
        column = columns.find(said.vocabulary, said.class_code)[order].astype(np.int64)
        span = np.searchsorted(said.i[order], np.arange(side.n_samples + 1))
        return cls(span.astype(np.int64), column, said.weight[order].copy(), columns.group.copy())


class Task(NamedTuple):
    """All that is fixed: rows in their coordinates, labels, the floor, beta.

    A cluster with fewer rows than ``smallest`` dissolves, and with ``merges`` two are joined where
    that lowers E; 0 and False where the number of clusters is given. A cluster of ``least`` rows
    gives none away.
    """

    Z: Floats
    said: Said
    floor: Floor
    beta: float
    smallest: float
    least: float
    merges: bool = False


class Clusters:
    """The clusters of a partition: moments, labels, and which of them are alive."""

    def __init__(self, task: Task, labels: Ints, n_clusters: int) -> None:
        self.task, self.labels = task, labels
        self.margin = np.zeros(len(labels))
        self.alive = np.bincount(labels, minlength=n_clusters) > 0
        self.refresh()

    def refresh(self) -> None:
        """Everything from its definition: rounding of many small changes does not add up."""
        self.n_stale = 0
        Z, said, floor, beta = self.task[:4]
        n_clusters, d = len(self.alive), Z.shape[1]
        count = np.zeros(n_clusters)
        mean, inverse = np.zeros((n_clusters, d)), np.zeros((n_clusters, d, d))
        log_det, self.square = np.zeros(n_clusters), np.zeros((n_clusters, d, d))
        order = np.argsort(self.labels, kind="stable")
        bounds = np.searchsorted(self.labels[order], np.arange(n_clusters + 1))
        for k in np.flatnonzero(self.alive):
            rows = Z[order[bounds[k] : bounds[k + 1]]]
            if len(rows):
                count[k], mean[k] = len(rows), rows.mean(axis=0)
            away = rows - mean[k]
            A = away.T @ away + floor.strength * floor.scale
            self.square[k] = A
            inverse[k], log_det[k] = inverted(A)
        row_of = np.repeat(np.arange(len(self.labels)), np.diff(said.span))
        self.table = np.zeros((n_clusters, max(len(said.group), 1)))
        np.add.at(self.table, (self.labels[row_of], said.column), said.weight)
        self.state = (count, mean, inverse, log_det)
        self.entropy = entropies(self.table, said.group)
        sign, log_psi = np.linalg.slogdet(floor.scale) if d else (1.0, 0.0)
        self.constants = (float(len(Z)), float(d), floor.strength, float(log_psi * sign), beta)

    @property
    def energy(self) -> float:
        """E, in the coordinates of Z."""
        n, d, strength, log_psi, beta = self.constants
        count, _, _, log_det = self.state
        parts = [
            kernels.energy(count[k], log_det[k], self.entropy[k], n, d, strength, log_psi, beta)
            for k in np.flatnonzero(self.alive)
        ]
        return float(sum(parts) / n)

    def sweep(self, rows: Ints) -> int:
        """Every row in turn to its best cluster; the number of moves."""
        task = self.task
        count_work("relocation tests", len(rows) * int(self.alive.sum()))
        # Decreases within the rounding of E would make rows move for ever.
        tolerance = 1e-10 * len(task.Z)
        moved = kernels.move_rows(
            task.Z, rows, task.said, self.alive, self.constants, task.least, tolerance,
            self.labels, self.state, self.entropy, self.table, self.margin,
        )  # fmt: skip
        self.n_stale += int(moved)
        return int(moved)

    def settle(self, share: float = 0.0) -> None:
        """Renew the moments if more than a share of the rows have moved since."""
        if self.n_stale > share * len(self.labels):
            self.refresh()

    def dissolve(self) -> bool:
        """The smallest cluster that is too small goes, its rows to the others; never the last."""
        count = np.where(self.alive, self.state[0], np.inf)
        k = int(count.argmin())
        if self.alive.sum() == 1 or count[k] >= self.task.smallest:
            return False
        rows = np.flatnonzero(self.labels == k)
        self.alive[k] = False
        self.labels[rows] = -1
        self.sweep(rows)
        return True

    def merge(self) -> bool:
        """Join the two clusters for which E falls most, if it falls for any."""
        n, d, strength, log_psi, beta = self.constants
        count, mean, _, log_det = self.state
        alive = np.flatnonzero(self.alive)
        if len(alive) < 2:
            return False
        fixed = (n, d, strength, log_psi, beta)
        own = [kernels.energy(count[k], log_det[k], self.entropy[k], *fixed) for k in alive]
        best, pair = -1e-10 * n, None
        for p, a in enumerate(alive):
            for q in range(p):
                b = alive[q]
                away = mean[a] - mean[b]
                both = count[a] + count[b]
                A = self.square[a] + self.square[b] - strength * self.task.floor.scale
                A = A + count[a] * count[b] / both * np.outer(away, away)
                entropy = entropies((self.table[a] + self.table[b])[None], self.task.said.group)[0]
                joint = kernels.energy(both, inverted(A)[1], entropy, *fixed)
                if joint - own[p] - own[q] < best:
                    best, pair = joint - own[p] - own[q], (a, b)
        if pair is None:
            return False
        self.labels[self.labels == pair[0]] = pair[1]
        self.alive[pair[0]] = False
        self.refresh()
        return True

    def theta(self, emission: Gaussians) -> Theta:
        """The mixture of these clusters; those that are gone have weight 0."""
        d = self.task.Z.shape[1]
        count, mean, _, _ = self.state
        strength, scale = self.task.floor
        covariance = np.tile(np.eye(d), (len(count), 1, 1))
        for k in np.flatnonzero(self.alive):
            away = self.task.Z[self.labels == k] - mean[k]
            covariance[k] = lifted(away.T @ away + strength * scale) / (count[k] + strength)
        whiten, log_det = emission.whitened(covariance)
        with np.errstate(divide="ignore"):
            log_weights = np.log(count / count.sum())
        return Theta(Components(mean, covariance, whiten, log_det), log_weights)


def lifted(A: Floats) -> Floats:
    """A matrix that can be inverted: a singular one, possible without a floor, is lifted."""
    if not len(A):
        return A
    values, vectors = np.linalg.eigh(A)
    least = _LIFT * max(float(values.mean()), 1e-280)
    return A if values[0] > least else np.asarray((vectors * np.maximum(values, least)) @ vectors.T)


def inverted(A: Floats) -> tuple[Floats, float]:
    """A^-1 and log |A|; a singular A, possible without a floor, is lifted by its last digits."""
    if not len(A):
        return A, 0.0
    values, vectors = np.linalg.eigh(A)
    values = np.maximum(values, _LIFT * max(float(values.mean()), 1e-280))
    return (vectors / values) @ vectors.T, float(np.log(values).sum())


def entropies(table: Floats, group: Ints) -> Floats:
    """The entropy of the classes of each cluster, summed over vocabularies."""
    found = np.zeros(len(table))
    for v in np.unique(group):
        here = table[:, : len(group)][:, group == v]
        total = here.sum(axis=1, keepdims=True)
        share = here / np.where(total > 0, total, 1.0)
        found -= (share * np.log(np.where(share > 0, share, 1.0))).sum(axis=1)
    return found


class Descent(NamedTuple):
    """Where a start led to; labels are numbers of ``clusters``."""

    clusters: Clusters
    history: list[float]
    n_iter: int
    converged: bool


def descend(
    task: Task,
    labels: Ints,
    n_clusters: int,
    max_iter: int,
    each_iteration: Callable[[], bool] = never,
) -> Descent:
    """Sweep until no row moves and no cluster is too small.

    Energies before and after a cluster dissolves cannot be compared: it goes because it is small,
    whatever that costs. So ``history`` begins after the last one.
    """
    clusters = Clusters(task, labels.copy(), n_clusters)
    rows = np.arange(len(task.Z))
    history: list[float] = [clusters.energy]
    n_iter, n_moves = 0, -1
    is_long = len(rows) >= _MANY_ROWS
    while n_moves and n_iter < max_iter:
        gone = False
        while clusters.dissolve():
            gone = True
        if gone:
            clusters.refresh()
            history = [clusters.energy]
        n_moves = clusters.sweep(rows)
        for _ in range(_SWEEPS_OF_NEAR if is_long and n_moves else 0):
            if not clusters.sweep(np.flatnonzero(clusters.margin < _NEAR)):
                break
        clusters.settle(_STALE if is_long and n_moves else 0.0)
        history.append(min(clusters.energy, history[-1]))
        n_iter += 1
        if each_iteration():
            break
        if not n_moves and clusters.dissolve():
            clusters.refresh()
            history, n_moves = [clusters.energy], -1
        elif not n_moves and task.merges and clusters.merge():
            n_moves = -1
    clusters.settle()
    return Descent(clusters, history, max(n_iter, 1), not n_moves)
