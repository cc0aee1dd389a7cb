"""ClusterResult: what one fit found, and everything needed to know where it came from."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight.side import SideInformation

__all__ = ["ClusterResult"]


@dataclass(frozen=True, eq=False, repr=False)
class ClusterResult:
    """What one fit found: a partition, how it came about, and which statements it breaks.

    Models leave one in ``result_``. It holds no data matrix and no model, so it can be kept.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Cluster of each row, 0 … n_clusters − 1.
    cluster_names : ndarray of shape (n_clusters,)
        Name of each cluster: ``cluster_names[labels]`` are the rows' names.
    objective : float
        The objective, from its definition.
    history : ndarray
        The objective after each iteration of the best run.
    violated : ndarray of bool
        For each statement of ``side`` whether the partition breaks it.
    side : SideInformation
        All statements that the fit was given, labels in ``y`` included.
    provenance : dict
        Model, parameters, seed, versions, threads.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import PartitionLevelKMeans
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> result = PartitionLevelKMeans().fit(X, ["low", None, "high", None]).result_
    >>> result
    ClusterResult(4 rows in 2 clusters; 0 of 2 statements broken)
    >>> result.names.tolist()
    ['low', 'low', 'high', 'high']
    """

    labels: NDArray[np.int64]
    cluster_names: NDArray[Any]
    objective: float
    history: NDArray[np.float64]
    violated: NDArray[np.bool_]
    side: SideInformation
    provenance: dict[str, Any]

    @property
    def names(self) -> NDArray[Any]:
        """For each row the name of its cluster."""
        return self.cluster_names[self.labels]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """For each cluster the number of its rows."""
        return np.bincount(self.labels, minlength=len(self.cluster_names))

    def broken(self) -> list[str]:
        """The broken statements in words, with the user's own row ids.

        Examples
        --------
        >>> import numpy as np
        >>> from sidelight import PartitionLevelKMeans, SideInformation
        >>> side = SideInformation.from_labels(["a", "b", "b", "a"])
        >>> model = PartitionLevelKMeans(side_weight=0.01, random_state=0)
        >>> model.fit(np.array([[0.0], [9.0], [9.1], [9.2]]), side=side).result_.broken()
        ["3 is 'a' (label)"]
        """
        return [self.side.describe(int(k)) for k in np.flatnonzero(self.violated)]

    def __repr__(self) -> str:
        return (
            f"ClusterResult({len(self.labels):,} rows in {len(self.cluster_names):,} clusters; "
            f"{int(self.violated.sum()):,} of {len(self.violated):,} statements broken)"
        )
