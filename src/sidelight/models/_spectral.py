"""Spectral clustering: eigenvectors of a graph, how many clusters, and k-means of their rows.

For all models that end with it. The eigenvectors themselves are in `sidelight.graph`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight.blocks import as_blocks
from sidelight.graph import Spectrum, query_neighbors
from sidelight.models import _lloyd
from sidelight.models._centers import plus_plus
from sidelight.models._fitting import never, warn
from sidelight.models._graph_base import RowGraph
from sidelight.models._naming import named_labels
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_ITER = 300  # of k-means
_MOST_FOUND = 30  # clusters, where their number is found and statements do not ask for more
_SAMPLE_ROWS = 10_000  # with more rows, starts are compared on a sample of this size
_TRIES = 5  # starts of k-means for each number of clusters that is tried
_GAP_WEIGHT = 0.05  # of the eigengap, against the share of broken statements
_FLOOR = 1e-3  # below this, 1 less an eigenvalue is taken as zero


class Clusters(NamedTuple):
    """A partition of vectors by k-means; history: its cost after each iteration."""

    labels: Ints
    objective: float
    history: list[float]
    n_iter: int


class Number(NamedTuple):
    """How many clusters, and what decided it: "given", "eigengap", or "statements"."""

    n_clusters: int
    rule: str


def unit_rows(vectors: Floats) -> Floats:
    """Rows of length 1; rows of zeros stay as they are."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)


def cluster_vectors(
    vectors: Floats,
    n_clusters: int,
    n_init: int,
    rng: np.random.Generator,
    *,
    start: Ints | None = None,
    each_iteration: Callable[[], bool] = never,
) -> Clusters:
    """K-means, the best of ``n_init`` starts by k-means++, or from the clusters of ``start``.

    Of more than 10,000 rows the starts are compared on 10,000 drawn ones.
    """
    vectors = np.ascontiguousarray(vectors)
    some = vectors
    if start is None and len(vectors) > _SAMPLE_ROWS:
        some = vectors[np.sort(rng.choice(len(vectors), _SAMPLE_ROWS, replace=False))]
    problem = _lloyd.Problem(as_blocks(some))
    # Rows of length 1 that differ by rounding are one.
    smallest = 1e-20 * len(some)
    best: Any = None
    given = np.empty((0, vectors.shape[1])) if start is None else _means(vectors, start)
    for _ in range(n_init if start is None else 1):
        centers = plus_plus(problem.rows, None, given, n_clusters, rng)
        found = _lloyd.iterate(problem, _lloyd.Theta(centers), MAX_ITER, smallest, each_iteration)
        best = found if best is None or found.objective < best.objective else best
    if some is not vectors:
        problem = _lloyd.Problem(as_blocks(vectors))
        best = _lloyd.iterate(problem, best.theta, MAX_ITER, smallest, each_iteration)
    labels = np.asarray(best.labels, dtype=np.int64)
    return Clusters(labels, best.objective, best.history, best.n_iter)


def _means(vectors: Floats, labels: Ints) -> Floats:
    """The mean vector of each cluster that has rows; rows of -1 belong to none."""
    known = np.flatnonzero(labels >= 0)
    number = np.unique(labels[known], return_inverse=True)[1]
    shape = (int(number.max(initial=-1)) + 1, len(labels))
    pick = sparse.csr_array((np.ones(len(known)), (number, known)), shape)
    sums: Floats = pick @ vectors
    return sums / np.bincount(number)[:, None]


def fewest_clusters(side: SideInformation) -> int:
    """A number of clusters that statements need: classes, or groups that are all apart.

    The second is a clique, found greedily: there may be a larger one.
    """
    closure = side.closure()
    labelled = max((len(groups) for groups in closure.labelled_groups()), default=1)
    apart = closure.apart_graph()
    apart.setdiag(0)
    apart.eliminate_zeros()
    degree = np.diff(apart.indptr)
    rest = np.argsort(-degree, kind="stable")[: int((degree > 0).sum())]
    size = 0
    while len(rest):
        near = apart.indices[apart.indptr[rest[0]] : apart.indptr[rest[0] + 1]]
        rest = rest[np.isin(rest, near)]
        size += 1
    return max(1, labelled, size)


def candidate_numbers(asked: int | None, side: SideInformation, n_samples: int) -> tuple[int, int]:
    """The fewest and the most clusters that come into question."""
    if asked is not None:
        return asked, asked
    low = min(max(fewest_clusters(side), 2), n_samples)
    return low, min(max(low, min(_MOST_FOUND, int(np.sqrt(n_samples)))), n_samples)


def choose_number(
    asked: int | None,
    side: SideInformation,
    spectrum: Spectrum,
    candidates: tuple[int, int],
    rng: np.random.Generator,
) -> Number:
    """How many clusters: as given, or by the eigengap beside the statements.

    For each candidate k the rows are divided by k eigenvectors. It costs the share of the
    statements' weight that is broken then, less 0.05 times log((1 - l_(k+1)) / (1 - l_k)), where
    the largest of these is taken as 1 and l are eigenvalues. Without statements the gap decides.
    The 0.05 was chosen on 16 tables; 0.02 and 0.1 do about as well.
    """
    low, high = candidates
    if asked is not None:
        return Number(asked, "given")
    rest = 1.0 - np.append(spectrum.values, np.zeros(max(high + 1 - len(spectrum.values), 0)))
    gap = np.log(
        np.maximum(rest[low : high + 1], _FLOOR) / np.maximum(rest[low - 1 : high], _FLOOR)
    )
    by_gap = low + int(np.argmax(gap))
    if low == high:
        return Number(low, "statements" if low > 2 else "eigengap")
    if not len(side.annotated_rows):
        return Number(by_gap, "eigengap")
    rows, about = _some_rows(side, rng)
    broken = [
        broken_share(
            about,
            cluster_vectors(unit_rows(spectrum.vectors[rows, :k]), k, _TRIES, rng).labels,
        )
        for k in range(low, high + 1)
    ]
    cost = np.array(broken) - _GAP_WEIGHT * gap / max(float(gap.max()), _FLOOR)
    best = low + int(np.argmin(cost))
    return Number(best, "eigengap" if best == by_gap else "statements")


def _some_rows(side: SideInformation, rng: np.random.Generator) -> tuple[Ints, SideInformation]:
    """All annotated rows and others, up to 10,000 if there are, with their statements."""
    n, annotated = side.n_samples, side.annotated_rows
    if n <= _SAMPLE_ROWS:
        return np.arange(n), side
    n_more = max(_SAMPLE_ROWS - len(annotated), 0)
    others = np.setdiff1d(np.arange(n), annotated)
    drawn = rng.choice(others, min(n_more, len(others)), replace=False)
    rows = np.sort(np.concatenate([annotated, drawn]))
    return rows, side[rows]


def broken_share(side: SideInformation, labels: Ints) -> float:
    """The share of the weight of all statements that a partition breaks."""
    own, naming = named_labels(side, labels)
    weight = np.where(side.statements.binding, side.statements.weight, 0.0)
    broken = side.violated(own, clusters=naming.clusters)
    total = float(weight.sum())
    return float(weight[broken].sum()) / total if total > 0 else 0.0


def place_rest(
    rows: RowGraph, labels: Ints, has_vector: NDArray[np.bool_], n_clusters: int
) -> Ints:
    """Labels in which rows that no eigenvector reaches are where their nearest other row is.

    Those of given similarities, which have no nearest row then, join the largest cluster.
    """
    rest, known = np.flatnonzero(~has_vector), np.flatnonzero(has_vector)
    if not len(rest) or not len(known):
        return labels
    labels = labels.copy()
    labels[rest] = int(np.bincount(labels[known]).argmax())
    if rows.X is not None:
        found = query_neighbors(rows.X[rest], rows.X[known], 1, metric=rows.metric)
        some = np.diff(found.indptr) > 0
        labels[rest[some]] = labels[known[found.indices]]
    warn(
        f"the graph falls into more parts than the {n_clusters} clusters; the {len(rest):,} rows "
        "of the smallest parts, or without neighbours, go to the clusters of their nearest rows. "
        "Raise n_neighbors to join parts."
    )
    return labels
