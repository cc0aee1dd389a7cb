"""Where a run of BayesianMixture begins: K-means, a partition, or a fitted model."""

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

# K-means only has to say where to begin; more rows than this do not move its centres by anything
# that the first iteration of the mixture would notice.
SAMPLE = 20_000
# The number of clusters is looked for in fewer: a graph costs more than K-means.
FEW = 4_000
# Components where nothing is said: roomy, as the data have to find the number alone.
ROOM = 10


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
    if X.shape[1] == 0:  # no column says anything
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

    Ten components for every table are too many for most and too few for some, and the bound does
    not mend it: it takes another component for whatever is not Gaussian. The rule was chosen on
    draw 0 of the 26 development tables, see docs/results/defaults.
    """
    if not len(side.annotated_rows):
        return ROOM
    n_classes = len(side.labelled_classes)
    chosen = _sample(rows.n_samples, side, np.random.default_rng(seed), FEW)
    X = _coordinates(as_blocks(rows.take(chosen)), emission)
    if X.shape[1] == 0 or len(chosen) < 3:
        return max(n_classes, 1)
    tree = find_model("StructuralEntropyTree")(
        affinity="cosine" if X.shape[1] > 2 else "local",  # one column has two directions only
        scaling=None if sparse.issparse(X) else "z-score",
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a number; does not concern the user
        found = tree.fit(X, side=side[chosen]).n_clusters_
    if n_classes:
        found = min(found, 2 * n_classes)
    return max(found, n_classes, 2)


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
    """A partition; rows of which it says nothing belong to all components alike."""
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
    n_samples: int, side: SideInformation, rng: np.random.Generator, size: int
) -> NDArray[np.int64]:
    """All rows if they are few; else labelled ones, up to a half, and others at random."""
    if n_samples <= size:
        return np.arange(n_samples)
    said = side.statements
    labelled = np.unique(said.i[(said.kind == LABEL) & said.binding])
    if len(labelled) > size // 2:
        labelled = rng.choice(labelled, size // 2, replace=False)
    # Drawn among all rows, so that it costs no array of the rest.
    others = rng.choice(n_samples, size - len(labelled), replace=False)
    return np.union1d(labelled, others)
