"""Where mixtures begin: means of the labelled classes, and k-means for the other clusters."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight.blocks import Block, Blocks, RowEntries, as_blocks
from sidelight.models._centers import class_centers, plus_plus
from sidelight.models._em import Start, hold
from sidelight.models._lloyd import Problem, Theta, iterate
from sidelight.models._mixtures.gaussian import Gaussians

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# K-means only gives the start; the first iterations of EM move its centres further than more rows
# would.
SAMPLE = 20_000


def start_centers(
    rows: Blocks,
    emission: Gaussians,
    seeds: tuple[Ints, Ints, Floats],
    n_clusters: int,
    rng: np.random.Generator,
) -> Floats:
    """Centres in the coordinates of the emission: class means first, then k-means++.

    Where every cluster has a class these are the means; else k-means settles them on a sample.
    """
    given = in_coordinates(class_centers(rows, *seeds, None), emission)
    if len(given) == n_clusters:
        return given
    sample = as_blocks(sampled_coordinates(rows, emission, rng))
    centers = plus_plus(sample, None, given, n_clusters, rng)
    return iterate(Problem(sample), Theta(centers), 100).theta.centers


def sample_rows(n_samples: int, rng: np.random.Generator) -> Ints:
    """All rows, or 20,000 of them at random."""
    if n_samples <= SAMPLE:
        return np.arange(n_samples)
    return np.sort(rng.choice(n_samples, SAMPLE, replace=False))


def sampled_coordinates(rows: Blocks, emission: Gaussians, rng: np.random.Generator) -> Any:
    """All rows, or 20,000 of them, as the emission sees them."""
    some = as_blocks(rows.take(sample_rows(rows.n_samples, rng)))
    return stacked([emission.coordinates(some.block(number).X) for number in range(len(some))])


def stacked(parts: list[Any]) -> Any:
    """Coordinates of several blocks as one array or CSR array."""
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)


def in_coordinates(centers: Floats, emission: Gaussians) -> Floats:
    """Centres, given as rows, as the emission sees them."""
    return (centers[:, emission.columns] - emission.shift) / emission.scale


def squared_distances(Z: Any, centers: Floats) -> Floats:
    """From each centre to each row, (T, n), less the squared length of the row."""
    products = Z @ centers.T
    return np.asarray((centers**2).sum(axis=1)[:, None] - 2.0 * products.T)


def nearest_center(emission: Gaussians, centers: Floats, held: RowEntries | None) -> Start:
    """Each row in the component of its nearest centre, of those that it may have."""

    def scores(block: Block, held: RowEntries | None) -> Floats:
        near = -squared_distances(emission.coordinates(block.X), centers)
        if held is not None:
            hold(near, held)
        all_scores = np.full(near.shape, -np.inf)
        all_scores[near.argmax(axis=0), np.arange(near.shape[1])] = 0.0
        return all_scores

    return Start(scores, held)
