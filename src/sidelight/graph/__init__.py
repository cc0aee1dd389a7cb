"""What the data suggests: nearest neighbours, and neighbour graphs as symmetric CSR."""

from sidelight.graph._graph import (
    check_graph,
    gaussian_weights,
    join_neighbors,
    median_bandwidth,
    neighbor_graph,
)
from sidelight.graph._search import (
    EXACT_ROWS,
    Neighbors,
    largest_distance,
    nearest_neighbors,
    pair_distances,
    query_neighbors,
)

__all__ = [
    "EXACT_ROWS",
    "Neighbors",
    "check_graph",
    "gaussian_weights",
    "join_neighbors",
    "largest_distance",
    "median_bandwidth",
    "nearest_neighbors",
    "neighbor_graph",
    "pair_distances",
    "query_neighbors",
]
