"""Consensus on several levels.   T. Yang, N. Pasquier and F. Precioso, "Semi-supervised consensus
clustering based on closed patterns" (SemiMultiCons), Knowledge-Based Systems 2022.

    atoms      rows that all base partitions put together
    patterns   closed intersections of clusters; their size: in how many partitions they are whole
    level DT = V ... 1: the patterns of size DT join the sets of the level above; while two overlap,
               with I = Xi & Xj, Pi = Xi - Xj, Pj = Xj - Xi, R = must - cannot between two sets:
        s = R(Pi, Pj) / (|Pi| + |Pj|),  s_i = -R(I, Pi) / |Xi|,  s_j = -R(I, Pj) / |Xj|
        all R zero: contained -> drop the smaller; |I| >= half of one -> union; else I stays in the
        smaller set;   otherwise: s >= max(s_i, s_j) -> union, else I leaves the set of larger score

Choices of ours: base partitions are k-means with 2 ... 6 clusters (the published ones differ by
version); of equally good levels the finest. The published program always takes the last level.
"""

import warnings
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from sidelight._validation import Integral, Interval, StrOptions, check_new_x, prepare
from sidelight.exceptions import DataError
from sidelight.graph import query_neighbors
from sidelight.models._base import SideClusterer
from sidelight.models._fitting import Task
from sidelight.models._metric import METRIC
from sidelight.models._naming import named_labels
from sidelight.models._registry import find_model
from sidelight.models._relation import relation_of
from sidelight.models._spectral import broken_share
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_PATTERNS = 20_000
_WHOLE = 0.9  # a base partition whose largest cluster has this share of the rows is ignored


class SemiMultiCons(SideClusterer):
    """Consensus of several partitions, guided by statements, on several levels.

    On the finest level, rows are together if all base partitions put them together; coarser levels
    require the agreement of fewer partitions. If sets overlap, statements decide which set gets the
    common rows.

    Parameters
    ----------
    partitions : array of shape (n_samples, n_partitions), optional
        Base partitions: a cluster number for each row in each of them. By default k-means with
        ``fewest`` to ``most`` clusters.
    fewest : int, default=2
        The smallest number of clusters of a base partition.
    most : int, default=6
        The largest number.
    level : {"auto", "jaccard"} or int, default="auto"
        Which level is the answer. "auto": the level that keeps the most statements; among equal
        ones, the most similar to the base partitions. "jaccard": the level most similar to the base
        partitions. A number: the number of partitions that have to agree.
    metric : {"statements"} or StatementMetric, optional
        Learn a `StatementMetric` from labels and must-links, and cluster the rows in that metric.
        Too few statements leave the rows unchanged. "statements": with its defaults.
    random_state : int, Generator or RandomState, optional
        Source of the base partitions.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row.
    cluster_names_ : ndarray of shape (n_clusters_,)
        Names of the clusters: the given classes first, in sorted order, then new names.
    n_clusters_ : int
        The number of clusters.
    level_ : int
        The level of the answer: the number of base partitions that agree.
    level_labels_ : dict
        The cluster of each row, for each level.
    partitions_ : ndarray of shape (n_samples, n_used)
        The base partitions that were used: without duplicates, and without those in which one
        cluster has 90 % of the rows.
    objective_ : float
        The mean Jaccard index of the answer and the base partitions, over pairs of rows.
    history_ : ndarray of shape (1,)
        The same.
    n_iter_ : int
        The number of levels.
    result_ : ClusterResult
        Labels, names, broken statements and the origin of the result.

    See Also
    --------
    ConsensusKMeans : One partition from several, by k-means.
    SelfSupervisedNMF : An ensemble of factorisations of a graph.

    Notes
    -----
    The work is done on sets of rows that all partitions keep together. Levels need not
    be nested. Our implementation; the base partitions behind the published figures are not known.

    References
    ----------
    T. Yang, N. Pasquier and F. Precioso. Semi-supervised consensus clustering based on closed
    patterns. Knowledge-Based Systems 235, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import SemiMultiCons, SideInformation
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0], [9.1], [9.2]])
    >>> side = SideInformation.from_pairs(must=[(3, 6)], cannot=[(0, 3)], n_samples=9)
    >>> SemiMultiCons(most=3, random_state=0).fit_predict(X, side=side).tolist()
    [0, 0, 0, 1, 1, 1, 1, 1, 1]
    """

    accepts = ("must", "cannot", "label", "not_label")
    finds_k = True
    takes_sparse = True
    weight_unit = "rows: statements between two sets, divided by the sizes of the sets"
    scales = "The base partitions take n d K; all else depends on the atoms."
    repetition = "ignored"
    contradictions = "tolerated"
    objective_sense = "max"
    _published: ClassVar[dict[str, Any]] = {}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "partitions": ["array-like", None],
        "fewest": [Interval(Integral, 1, None, closed="left")],
        "most": [Interval(Integral, 1, None, closed="left")],
        "level": [StrOptions({"auto", "jaccard"}), Interval(Integral, 1, None, closed="left")],
        "metric": METRIC,
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        *,
        partitions: Any = None,
        fewest: int = 2,
        most: int = 6,
        level: str | int = "auto",
        metric: Any = None,
        random_state: Any = None,
    ) -> None:
        self.partitions = partitions
        self.fewest = fewest
        self.most = most
        self.level = level
        self.metric = metric
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, side: SideInformation | None = None) -> Self:
        """Cluster X with the help of partial labels ``y`` and statements ``side``.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            The data.
        y : array of shape (n_samples,), optional
            Partial labels, −1 (or None, NaN) where unknown; joined to ``side``.
        side : SideInformation, optional
            Statements of all kinds.

        Returns
        -------
        self
        """
        X, side, seed = prepare(self, X, y, side)
        with Task.of_fit(self, 2) as fit:
            with fit.part("partitions") as task:
                self.partitions_ = useful(self._base(X, seed, task))
            with fit.part("levels") as task:
                atoms = Atoms.of(self.partitions_, side)
                levels = consensus_levels(atoms)
        self.level_labels_ = {dt: labels[atoms.of_row] for dt, labels in levels.items()}
        likeness = {dt: mean_jaccard(atoms, labels) for dt, labels in levels.items()}
        self.level_ = self._chosen(side, likeness)
        self._rows = X
        labels, naming = named_labels(side, self.level_labels_[self.level_])
        value = likeness[self.level_]
        return self._publish(labels, naming, _Found(value, [value], len(levels)), side, seed)

    def predict(self, X: Any) -> Ints:
        """The cluster of each row of X: that of the nearest row of the fit.

        Parameters
        ----------
        X : array, CSR matrix or data frame of shape (n_samples, n_features)
            New data.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return np.asarray(
            self.labels_[query_neighbors(check_new_x(self, X), self._rows, 1).indices]
        )

    def _base(self, X: Any, seed: int, task: Task) -> Ints:
        """The base partitions, (n, V)."""
        n = X.shape[0]
        if self.partitions is not None:
            given = np.asarray(self.partitions)
            if given.ndim != 2 or len(given) != n or given.dtype.kind not in "iu":
                raise DataError(
                    f"partitions has shape {given.shape} and type {given.dtype}; give a whole "
                    f"number for each of the {n} rows in each partition."
                )
            return given.astype(np.int64)
        found = []
        for k in range(self.fewest, max(self.fewest, self.most) + 1):
            if k <= n:
                model = find_model("PartitionLevelKMeans")(k, n_init=3, random_state=seed)
                found.append(np.asarray(_quietly(model, X).labels_, dtype=np.int64))
                task.step()
        return np.column_stack(found) if found else np.zeros((n, 1), dtype=np.int64)

    def _chosen(self, side: SideInformation, likeness: dict[int, float]) -> int:
        """The level that is the answer."""
        if isinstance(self.level, (int, np.integer)):
            if self.level not in likeness:
                raise DataError(
                    f"level={self.level}; there are {max(likeness)} different base partitions, so "
                    f"give a level from 1 to {max(likeness)}."
                )
            return int(self.level)
        broken = dict.fromkeys(likeness, 0.0)
        if self.level == "auto":
            broken = {dt: broken_share(side, self.level_labels_[dt]) for dt in likeness}
        return min(likeness, key=lambda dt: (broken[dt], -likeness[dt], -dt))


class _Found(NamedTuple):
    objective: float
    history: list[float]
    n_iter: int


def _quietly(model: Any, X: Any) -> Any:
    """Fit a base partition, which may have fewer clusters than asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X)


def useful(partitions: Ints) -> Ints:
    """Different partitions, without those that have a cluster of 90 % of the rows, if any is left.

    Clusters are numbered by their first row.
    """
    n = len(partitions)
    plain = []
    for column in partitions.T:
        _, first, place = np.unique(column, return_index=True, return_inverse=True)
        plain.append(np.argsort(np.argsort(first))[place])
    kept = [c for c in plain if np.bincount(c).max() < _WHOLE * n] or plain[:1]
    different = {c.tobytes(): c for c in kept}
    return np.column_stack(list(different.values()))


# Levels


class Atoms(NamedTuple):
    """Rows that all base partitions put together, as one."""

    of_row: Ints
    size: Ints
    members: Ints  # (atoms, V), the cluster of each atom in each partition
    relation: Floats  # (atoms, atoms), what is stated between them

    @classmethod
    def of(cls, partitions: Ints, side: SideInformation) -> "Atoms":
        """From base partitions and statements."""
        members, of_row, size = np.unique(
            partitions, axis=0, return_inverse=True, return_counts=True
        )
        of_row, relation = of_row.ravel(), relation_of(side)
        n, m = len(of_row), len(members)
        pick = sparse.csr_array((np.ones(n), (of_row, np.arange(n))), shape=(m, n))
        by_atom = sparse.csr_array(pick @ relation.members)
        between = (by_atom @ relation.between @ by_atom.T).toarray()
        return cls(of_row, size, members, between)


Sets = list[NDArray[np.bool_]]  # of atoms


def closed_patterns(members: Ints) -> dict[int, Sets]:
    """All intersections of clusters, by the number of partitions that they are inside of."""
    base = [members[:, v] == c for v in range(members.shape[1]) for c in np.unique(members[:, v])]
    found = {s.tobytes(): s for s in base}
    waiting = list(found.values())
    while waiting:
        one = waiting.pop()
        for other in base:
            both = one & other
            if both.any() and both.tobytes() not in found:
                found[both.tobytes()] = both
                waiting.append(both)
        if len(found) > MOST_PATTERNS:
            raise DataError(
                f"the base partitions have more than {MOST_PATTERNS:,} different intersections; "
                "give fewer of them, or such with fewer clusters."
            )
    by_size: dict[int, Sets] = {}
    for s in sorted(found.values(), key=lambda s: s.tobytes(), reverse=True):
        size = int((members[s].min(axis=0) == members[s].max(axis=0)).sum())
        by_size.setdefault(size, []).append(s)
    return by_size


def consensus_levels(atoms: Atoms) -> dict[int, Ints]:
    """For each level, from all partitions down to one, the cluster of each atom."""
    patterns = closed_patterns(atoms.members)
    levels: dict[int, Ints] = {}
    sets: Sets = []
    for dt in range(atoms.members.shape[1], 0, -1):
        sets = without_overlaps([*sets, *patterns.get(dt, [])], atoms)
        labels = np.full(len(atoms.size), -1, dtype=np.int64)
        for number, s in enumerate(sets):
            labels[s] = number
        alone = np.flatnonzero(labels < 0)  # no pattern of this level yet
        labels[alone] = len(sets) + np.arange(len(alone))
        levels[dt] = labels
    return levels


def without_overlaps(sets: Sets, atoms: Atoms) -> Sets:
    """Sets of atoms that share none, by the rules of the method."""
    done: Sets = []
    waiting = list(sets)
    while waiting:
        new = waiting.pop(0)
        for place, old in enumerate(done):
            if (old & new).any():
                # The result of the two is compared with all others again.
                done.pop(place)
                waiting = [s for s in settled(old, new, atoms) if s.any()] + waiting
                break
        else:
            done.append(new)
    return done


def settled(one: NDArray[np.bool_], other: NDArray[np.bool_], atoms: Atoms) -> Sets:
    """Two sets that overlap, as two that do not, or as one."""
    shared, left, right = one & other, one & ~other, other & ~one

    def stated(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float:
        return float(atoms.relation[np.ix_(a, b)].sum())

    def size(s: NDArray[np.bool_]) -> int:
        return int(atoms.size[s].sum())

    raw = stated(left, right), stated(shared, left), stated(shared, right)
    if not any(raw):
        if not left.any() or not right.any():
            return [one | other]
        if 2 * size(shared) >= min(size(one), size(other)):
            return [one | other]
        return [left, other] if size(one) > size(other) else [one, right]
    apart = max(size(left) + size(right), 1)
    s, s_one, s_other = raw[0] / apart, -raw[1] / size(one), -raw[2] / size(other)
    if s >= max(s_one, s_other):
        return [one | other]
    return [left, other] if s_one >= s_other else [one, right]


def mean_jaccard(atoms: Atoms, labels: Ints) -> float:
    """The mean over base partitions: pairs that both put together, over those that either does."""
    values = []
    for column in atoms.members.T:
        table = sparse.coo_array((atoms.size.astype(np.float64), (labels, column))).toarray()
        both = (table * (table - 1)).sum()
        rows, columns = table.sum(axis=1), table.sum(axis=0)
        either = (rows * (rows - 1)).sum() + (columns * (columns - 1)).sum() - both
        values.append(both / either if either > 0 else 1.0)
    return float(np.mean(values))
