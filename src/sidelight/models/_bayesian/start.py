"""Where a run of BayesianMixture begins: K-means, a partition, or a fitted model."""

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from sidelight._kernels import bayesian_mixture as kernels
from sidelight._validation import name_rows
from sidelight.blocks import Block, Blocks, as_blocks
from sidelight.exceptions import DataError
from sidelight.models._em import Start
from sidelight.models._emissions import Emission, check_sparse
from sidelight.models._fitting import given_labels, is_model
from sidelight.models._registry import find_model
from sidelight.side import LABEL, SideInformation

Floats = NDArray[np.float64]

# K-means only gives the start; with more rows than this its centres hardly change, compared with
# the first iteration of the mixture.
SAMPLE = 20_000
# The number of clusters is found in a smaller sample: a graph costs more than K-means.
FEW = 4_000
# Components without statements: a high limit, since only the data can find the number.
ROOM = 10
# Numbers of clusters that are compared by pairs, as multiples of the number suggested by the data,
# and the starts of k-means for each.
_FACTORS = (1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
_WITNESSES = 3
_SURE = 3.0  # standard errors


def check_readable(rows: Blocks, emission: Emission, index: NDArray[Any] | None) -> None:
    """Refuse rows that the emission cannot read, by the user's own ids."""
    check_sparse(rows, type(emission))

    def wrong(block: Block, _: None) -> tuple[list[int]]:
        return ((block.start + np.flatnonzero(emission.unreadable(block.X))).tolist(),)

    bad = rows.sum(wrong, None)[0]
    if bad:
        first = as_blocks(rows.take(np.array(bad[:1]))).block(0).X
        named = name_rows(bad, index)
        raise DataError(f"X cannot be read in row {named}: the first {emission.complaint(first)}.")


def start_centers(
    rows: Blocks,
    side: SideInformation,
    emission: Emission,
    n_components: int,
    rng: np.random.Generator,
) -> Floats:
    """Centres by K-means on a sample of the rows, begun at the labelled classes of ``side``.

    There may be fewer than ``n_components`` of them, where rows are few or alike.
    """
    chosen = _sample(rows.n_samples, side, rng, SAMPLE)
    X = _coordinates(as_blocks(rows.take(chosen)), emission)
    if X.shape[1] == 0:  # no column varies
        return np.zeros((1, 0))
    labels = side.only(kind="label")[chosen]
    kmeans = find_model("PartitionLevelKMeans")(
        min(n_components, len(chosen)), side_weight=0.0, n_init=1, random_state=rng
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a start; does not concern the user
        centers: Floats = kmeans.fit(X, side=labels).cluster_centers_
    return centers


def number_found(rows: Blocks, side: SideInformation, emission: Emission, seed: int) -> int:
    """The default limit: by the labelled classes and `StructuralEntropyTree`.

    Ten components are too many for most tables and too few for some, and the bound does not correct
    that: it uses further components for whatever is not Gaussian. The rule was chosen on draw 0 of
    the 26 development tables, see docs/decisions. Pairs alone may ask for more
    (`number_kept`): where clusters overlap, the tree joins them.
    """
    if not len(side.annotated_rows):
        return ROOM
    n_classes = len(side.labelled_classes)
    chosen = _sample(rows.n_samples, side, np.random.default_rng(seed), FEW, pairs=True)
    X = _coordinates(as_blocks(rows.take(chosen)), emission)
    if X.shape[1] == 0 or len(chosen) < 3:
        return max(n_classes, 1)
    tree = find_model("StructuralEntropyTree")(
        affinity="cosine" if X.shape[1] > 2 else "local",  # one column has two directions only
        n_neighbors=5,
        scaling=None if sparse.issparse(X) else "z-score",
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a number; does not concern the user
        found = tree.fit(X, side=side[chosen]).n_clusters_
    if n_classes:
        return max(min(found, 2 * n_classes), n_classes, 2)
    return number_kept(X, side[chosen], max(found, 2), seed)


def number_kept(X: Any, side: SideInformation, lowest: int, seed: int) -> int:
    """A larger number of clusters than ``lowest`` if the pairs require it, otherwise ``lowest``.

    K-means without statements is compared with them. With too few clusters it joins rows with
    cannot-links, with too many it separates rows with must-links. Agreement is measured by Cohen's
    kappa, which is the adjusted Rand index if all pairs are stated. A number has to be better than
    ``lowest`` by three standard errors, since there are up to nine to choose from. Among several,
    the smallest one within one standard error of the best is taken.
    """
    pairs = side.canonical
    pairs = pairs.take(pairs.is_pair)
    together = pairs.sign > 0

    def joined(n_clusters: int) -> NDArray[np.bool_]:
        kmeans = find_model("PartitionLevelKMeans")(
            n_clusters, side_weight=0.0, n_init=_WITNESSES, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the inner model's number of clusters
            labels = np.asarray(kmeans.fit(X).labels_)
        return np.asarray(labels[pairs.i] == labels[pairs.j])

    tried = [lowest, *(math.ceil(lowest * factor) for factor in _FACTORS)]
    tried = [k for k in dict.fromkeys(tried) if k <= X.shape[0] // 2]
    if together.all() or not together.any() or len(tried) < 2:
        return lowest
    found = [joined(k) for k in tried]
    best = max(found, key=lambda one: ahead(one, found[0], together)[0])
    if ahead(best, found[0], together)[1] <= _SURE:
        return lowest
    near = (ahead(best, one, together)[1] <= 1.0 for one in found)
    return tried[list(near).index(True)]


def ahead(
    one: NDArray[np.bool_], other: NDArray[np.bool_], truth: NDArray[np.bool_]
) -> tuple[float, float]:
    """The difference of two kappas, and the same in standard errors.

    The error is the jackknife's: pairs that are alike in all three answers count once.
    """
    kind, n = np.unique(4 * truth + 2 * one + other, return_counts=True)
    counts = np.zeros(8)
    counts[kind] = n
    all_in, total = _difference(counts), len(truth)
    without = np.array([_difference(counts - (np.arange(8) == k)) for k in kind])
    error = math.sqrt((total - 1) / total * float(n @ (without - all_in) ** 2))
    return all_in, all_in / max(error, 1e-12)


def _difference(counts: Floats) -> float:
    """Kappa of one less that of the other, from how often (truth, one, other) have each answer."""
    table = counts.reshape(2, 2, 2)
    return _kappa(table.sum(axis=2)) - _kappa(table.sum(axis=1))


def _kappa(table: Floats) -> float:
    """Agreement of two answers beyond chance, from how often each two occur."""
    shares = table / max(table.sum(), 1.0)
    chance = float(shares.sum(axis=0) @ shares.sum(axis=1))
    return (float(np.trace(shares)) - chance) / (1.0 - chance) if chance < 1.0 else 0.0


def number_in(init: Any, n_samples: int) -> int:
    """The number of components in a start that the user gives."""
    if is_model(init):
        return len(init._theta.weights.log) if hasattr(init, "_theta") else 1
    return int(given_labels(init, n_samples).max(initial=0)) + 1


def _coordinates(rows: Blocks, emission: Emission) -> Any:
    """All rows as K-means sees them."""
    parts = [emission.coordinates(rows.block(number).X) for number in range(len(rows))]
    if len(parts) == 1:
        return parts[0]
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)


def from_centers(centers: Floats, emission: Emission, n_components: int) -> Start:
    """Memberships in proportion to exp(-|x - center|² / 2), as printed, in the coordinates."""
    nowhere, constant = np.zeros(centers.shape[1]), np.zeros(len(centers))
    ones = np.ones_like(centers)
    tile = (centers.shape[1], kernels.TILE)

    def scores(block: Block, _: None) -> Floats:
        X = emission.coordinates(block.X)
        all_scores = np.full((n_components, X.shape[0]), -np.inf)
        if sparse.issparse(X):  # |x|² is the same for all centres
            norms = 0.5 * (centers**2).sum(axis=1)
            all_scores[: len(centers)] = (X @ centers.T - norms).T
        else:
            X = np.ascontiguousarray(X, dtype=np.float64)
            out = np.empty((len(centers), len(X)))
            kernels.log_density_diag(X, nowhere, centers, ones, constant, out, np.zeros(tile))
            all_scores[: len(centers)] = out
        return all_scores

    return Start(scores)


def from_labels(labels: Any, rows: Blocks, n_components: int) -> Start:
    """A partition; rows that it leaves out belong equally to all components."""
    given = given_labels(labels, rows.n_samples, n_components, limit="n_components")

    def scores(block: Block, here: NDArray[Any]) -> Floats:
        known = np.flatnonzero(here >= 0)
        all_scores = np.zeros((n_components, len(here)))
        all_scores[:, known] = -np.inf
        all_scores[here[known], known] = 0.0
        return all_scores

    return Start(scores, rows.given(given))


def from_model(model: Any, n_components: int) -> Start:
    """The memberships that a fitted BayesianMixture gives."""
    check_is_fitted(model, "weights_")
    if not hasattr(model, "_theta"):
        raise DataError(
            f"init is a fitted {type(model).__name__}; give a fitted BayesianMixture, or the "
            "labels_ of another model."
        )
    theta, emission = model._theta, model._emission
    if len(theta.weights.log) > n_components:
        raise DataError(
            f"init has {len(theta.weights.log)} components and n_components is {n_components}; "
            "give at least as many."
        )

    def scores(block: Block, _: None) -> Floats:
        all_scores = np.full((n_components, block.stop - block.start), -np.inf)
        found = emission.log_density(block.X, theta.components) + theta.weights.log[:, None]
        all_scores[: len(found)] = found
        return all_scores

    return Start(scores)


def _sample(
    n_samples: int,
    side: SideInformation,
    rng: np.random.Generator,
    size: int,
    *,
    pairs: bool = False,
) -> NDArray[np.int64]:
    """All rows if they are few; else labelled ones, up to a half, and others at random.

    pairs: whole pairs count among that half too; at random hardly one would have both its rows.
    """
    if n_samples <= size:
        return np.arange(n_samples)
    said = side.statements
    known = np.unique(said.i[(said.kind == LABEL) & said.binding])
    if len(known) > size // 2:
        known = rng.choice(known, size // 2, replace=False)
    if pairs:
        whole = np.flatnonzero(said.is_pair & said.binding)
        n_pairs = (size // 2 - len(known)) // 2
        if len(whole) > n_pairs:
            whole = rng.choice(whole, n_pairs, replace=False)
        known = np.unique(np.concatenate([known, said.i[whole], said.j[whole]]))
    # Drawn among all rows, so that it costs no array of the rest.
    others = rng.choice(n_samples, size - len(known), replace=False)
    return np.union1d(known, others)
