"""Centres: as kernels take them, and drawn from the rows. For all models that have centres."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._kernels import assign as kernels
from sidelight.blocks import BLOCK_ROWS, Block, Blocks, CSRRows, RowEntries
from sidelight.exceptions import DataError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ONES = np.ones(BLOCK_ROWS)


class Centers(NamedTuple):
    """Centres as the kernels take them: padded for dense rows, transposed for sparse ones."""

    padded: Floats
    transposed: Floats
    norms: Floats

    @classmethod
    def of(cls, centers: Floats) -> "Centers":
        """Prepare centres of shape (K, d)."""
        n_clusters, n_features = centers.shape
        padded = np.zeros((n_clusters + n_clusters % 2, n_features + -n_features % 4))
        padded[:n_clusters, :n_features] = centers
        return cls(padded, np.ascontiguousarray(centers.T), (centers**2).sum(axis=1))


def block_weight(weight: Floats | None, block: Block) -> Floats:
    """A block's part of the weights; None stands for ones, without an array of them."""
    return _ONES[: block.stop - block.start] if weight is None else weight


def as_matrix(X: NDArray[Any] | CSRRows, n_features: int) -> Any:
    """The rows of a block as something that can be multiplied."""
    if isinstance(X, CSRRows):
        return sparse.csr_array(tuple(X), shape=(len(X.indptr) - 1, n_features))
    return X


def as_dense(X: Any) -> Floats:
    """A few rows as a dense array in double precision."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def draw(mass: Floats, uniform: Floats) -> Ints:
    """Positions drawn in proportion to mass: the inverse of its running sum, block by block."""
    starts = np.arange(0, len(mass), BLOCK_ROWS)
    ends = np.cumsum(np.add.reduceat(mass, starts))
    drawn = []
    for target in uniform * ends[-1]:
        block = min(int(np.searchsorted(ends, target, side="right")), len(ends) - 1)
        here = mass[starts[block] : starts[block] + BLOCK_ROWS]
        before = ends[block - 1] if block else 0.0
        inside = int(np.searchsorted(np.cumsum(here), target - before, side="right"))
        # Rounding may point past the last row that has any mass.
        drawn.append(starts[block] + min(inside, int(np.flatnonzero(here)[-1])))
    return np.array(drawn, dtype=np.int64)


def draw_rows(rows: Blocks, mass: Any, weight: Any, uniform: Floats) -> Ints:
    """Rows drawn in proportion to mass times weight; both columns, or None for ones.

    As `draw`, where the rows are: one pass for the sums of the blocks, and a visit to those blocks
    that a draw falls into. Empty if there is no mass at all.
    """
    ends = np.cumsum(rows.sum(_mass_of_block, None, mass, weight)[0])
    if ends[-1] == 0.0:
        return np.empty(0, dtype=np.int64)
    targets = uniform * ends[-1]
    numbers = np.minimum(np.searchsorted(ends, targets, side="right"), len(ends) - 1)
    inside = targets - np.append(0.0, ends)[numbers]
    drawn = np.empty(len(uniform), dtype=np.int64)
    chosen = np.unique(numbers)
    running = rows.visit(chosen, _running_mass, None, mass, weight)
    for number, (start, sums) in zip(chosen, running, strict=True):
        here = numbers == number
        place = np.searchsorted(sums, inside[here], side="right")
        # Rounding may point past the last row that has any mass.
        drawn[here] = start + np.minimum(place, np.searchsorted(sums, sums[-1]))
    return drawn


def _mass(block: Block, mass: Floats | None, weight: Floats | None) -> Floats:
    mass = block_weight(mass, block)
    return mass if weight is None else mass * weight


def _mass_of_block(
    block: Block, _: None, mass: Floats | None, weight: Floats | None
) -> tuple[list[float]]:
    return ([float(_mass(block, mass, weight).sum())],)


def _running_mass(
    block: Block, _: None, mass: Floats | None, weight: Floats | None
) -> tuple[int, Floats]:
    return block.start, np.cumsum(_mass(block, mass, weight))


def random_rows(rows: Blocks, weight: Any, n_clusters: int, rng: np.random.Generator) -> Floats:
    """Centres at different rows, drawn by their weights: as many as there are, if these are few."""
    left = rows.column(1.0)
    drawn: list[int] = []
    while len(drawn) < n_clusters:
        row = draw_rows(rows, left, weight, rng.random(1))
        if not len(row):
            break
        drawn.append(int(row[0]))
        left[row] = 0.0
    return as_dense(rows.take(np.array(drawn)))


def class_centers(
    rows: Blocks, row: Ints, of_class: Ints, weight: Floats, rng: np.random.Generator | None
) -> Floats:
    """A centre per class: the weighted mean of its rows or, with rng, one of them.

    One entry per label, sorted by row; classes are 0, 1, … and each has a label of weight above 0.
    """
    if not len(row):
        return np.empty((0, rows.n_features))
    n_classes = int(of_class.max()) + 1
    if rng is None:
        sums, counts = group_sums(rows, RowEntries(row, (of_class, weight)), n_classes)
        return sums / counts[:, None]
    drawn = [draw(weight * (of_class == k), rng.random(1))[0] for k in range(n_classes)]
    return as_dense(rows.take(row[drawn]))


def plus_plus(
    rows: Blocks, weight: Any, given: Floats, n_clusters: int, rng: np.random.Generator
) -> Floats:
    """Centres by k-means++ until there are ``n_clusters``, the given ones first.

    Each new centre is the best of a few draws, as in scikit-learn: 2 + log(n_clusters) of them.
    """
    n_given = len(given)
    centers = np.zeros((n_clusters, rows.n_features))
    centers[:n_given] = given
    if n_given == n_clusters:
        return centers
    closest = rows.column(np.inf)
    for k in range(n_given):
        _closest(rows, weight, centers[k : k + 1], closest, keep=True)
    n_trials = 2 + int(np.log(n_clusters))
    for k in range(n_given, n_clusters):
        uniform = rng.random(n_trials if k else 1)
        drawn = draw_rows(rows, closest if k else None, weight, uniform)
        if not len(drawn):  # every row is a centre already: any row will do
            drawn = draw_rows(rows, None, weight, uniform)
        candidates = as_dense(rows.take(drawn))
        best = _closest(rows, weight, candidates, closest, keep=False).argmin() if k else 0
        centers[k] = candidates[best]
        _closest(rows, weight, centers[k : k + 1], closest, keep=True)
    return centers


def _closest(rows: Blocks, weight: Any, centers: Floats, closest: Any, *, keep: bool) -> Floats:
    """For each centre the sum of min(closest, squared distance); keep lowers closest to it."""
    return rows.sum(_potential, (Centers.of(centers), keep), weight, closest)[0]


def _potential(
    block: Block, how: tuple[Centers, bool], weight: Floats | None, closest: Floats
) -> tuple[Floats]:
    centers, keep = how
    out = np.zeros(len(centers.norms))
    w = block_weight(weight, block)
    if isinstance(block.X, CSRRows):
        kernels.closest_csr(*block.X, w, centers.transposed, centers.norms, keep, closest, out)
    else:
        kernels.closest_dense(block.X, w, centers.padded, keep, closest, out)
    return (out,)


def costliest(rows: Blocks, cost: Any, n: int) -> tuple[Ints, Floats]:
    """The ``n`` rows of highest cost, from the highest down, the first of equals first."""
    few = rows.sum(_costliest_in_block, n, cost)
    row, value = np.concatenate(few[0]), np.concatenate(few[1])
    order = np.argsort(-value, kind="stable")[:n]
    return row[order], value[order]


def _costliest_in_block(block: Block, n: int, cost: Floats) -> tuple[list[Ints], list[Floats]]:
    order = np.sort(np.argsort(-cost, kind="stable")[:n])  # in the order of the rows, for ties
    return [block.start + order], [cost[order]]


def cluster_sizes(rows: Blocks, labels: Any, n_clusters: int, weight: Any = None) -> Floats:
    """How many rows each cluster has; with weights, those of weight 0 are left out."""
    return rows.sum(_sizes_in_block, n_clusters, labels, weight)[0]


def _sizes_in_block(
    block: Block, n_clusters: int, labels: NDArray[Any], weight: Floats | None
) -> tuple[Floats]:
    counted = labels if weight is None else labels[weight > 0]
    return (np.bincount(counted, minlength=n_clusters).astype(np.float64),)


# Sums over rows


def group_sums(rows: Blocks, groups: RowEntries, n_groups: int) -> tuple[Floats, Floats]:
    """Weighted sums and counts of groups of rows; groups: of each entry its group and weight."""
    return rows.sum(_group_sums, (n_groups, rows.n_features), groups)


def _group_sums(block: Block, shape: tuple[int, int], groups: RowEntries) -> tuple[Floats, Floats]:
    n_groups, n_features = shape
    group, weight = groups.values
    pick = sparse.csr_array(
        (weight, (group, groups.row)), shape=(n_groups, block.stop - block.start)
    )
    counts: Floats = np.bincount(group, weight, minlength=n_groups).astype(np.float64)
    return as_dense(pick @ as_matrix(block.X, n_features)), counts


def sums_by_label(
    rows: Blocks, labels: Any, n_clusters: int, weight: Any = None
) -> tuple[Floats, Floats]:
    """Weighted sums and counts of the clusters; rows of label -1 are left out."""
    return rows.sum(_sums_by_label, (n_clusters, rows.n_features), labels, weight)


def _sums_by_label(
    block: Block, shape: tuple[int, int], labels: NDArray[Any], weight: Floats | None
) -> tuple[Floats, Floats]:
    row = np.flatnonzero(labels >= 0)
    weight = block_weight(weight, block)
    return _group_sums(block, shape, RowEntries(row, (labels[row], weight[row])))


def spread(rows: Blocks, weight: Any) -> tuple[Floats, float]:
    """The mean row, and the mean squared deviation from it (0 for rows that are all alike)."""
    first = rows.block(0).X
    # Moments about a point among the rows: about the origin they would lose digits.
    about = (
        np.zeros(rows.n_features)
        if isinstance(first, CSRRows)
        else first.mean(axis=0, dtype=np.float64)
    )
    with np.errstate(over="ignore", invalid="ignore"):
        total, sums, squares = rows.sum(_moments, about, weight)
        step = sums / total
        mean = about + step
        deviation = float(squares / total - step @ step)
        rounding = 1e-28 * float(mean @ mean)  # of a mean of equal rows, squared
    if not np.isfinite(deviation + rounding):
        raise DataError(
            "the values in X are too large: their squares overflow. Scale the data, for example "
            "with sklearn.preprocessing.StandardScaler."
        )
    return mean, deviation if deviation > rounding else 0.0


def _moments(block: Block, about: Floats, weight: Floats | None) -> tuple[Any, Floats, Any]:
    w = block_weight(weight, block)
    with np.errstate(over="ignore", invalid="ignore"):  # a worker has settings of its own
        if isinstance(block.X, CSRRows):
            data = block.X.data.astype(np.float64)
            row_of = np.repeat(np.arange(len(w)), np.diff(block.X.indptr))
            return w.sum(), w @ as_matrix(block.X, len(about)), w[row_of] @ data**2
        away = block.X - about
        return w.sum(), w @ away, w @ np.einsum("ij,ij->i", away, away)
