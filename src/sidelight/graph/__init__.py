"""Nearest neighbours, their graphs as symmetric CSR matrices, and eigenvectors."""

from sidelight.graph._graph import (
    check_graph,
    gaussian_weights,
    join_neighbors,
    local_scales,
    local_weights,
    median_bandwidth,
    neighbor_graph,
)
from sidelight.graph._ivf import micro_clusters, nearby_order
from sidelight.graph._representatives import Representatives, representatives
from sidelight.graph._search import (
    EXACT_ROWS,
    Neighbors,
    largest_distance,
    nearest_neighbors,
    pair_distances,
    query_neighbors,
)
from sidelight.graph._spectral import (
    Spectrum,
    largest_eigenvectors,
    leading_eigenvectors,
    normalized_adjacency,
)

__all__ = [
    "EXACT_ROWS",
    "Neighbors",
    "Representatives",
    "Spectrum",
    "check_graph",
    "gaussian_weights",
    "join_neighbors",
    "largest_distance",
    "largest_eigenvectors",
    "leading_eigenvectors",
    "local_scales",
    "local_weights",
    "median_bandwidth",
    "micro_clusters",
    "nearby_order",
    "nearest_neighbors",
    "neighbor_graph",
    "normalized_adjacency",
    "pair_distances",
    "query_neighbors",
    "representatives",
]
