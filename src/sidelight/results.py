"""ClusterResult: what one fit found, and everything needed to know where it came from."""

from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sidelight.side import SideInformation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ClusterResult"]


@dataclass(frozen=True, eq=False, repr=False)
class ClusterResult:
    """What one fit found: a partition, how it came about, and which statements it breaks.

    Models leave one in ``result_``. It holds no data matrix and no model, so it can be kept.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Cluster of each row, 0 … n_clusters − 1; a Dask array after a fit on Dask.
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

    labels: Any  # an array, or lazy after a fit on Dask
    cluster_names: NDArray[Any]
    objective: float
    history: NDArray[np.float64]
    violated: NDArray[np.bool_]
    side: SideInformation
    provenance: dict[str, Any]

    @property
    def names(self) -> NDArray[Any]:
        """For each row the name of its cluster."""
        if isinstance(self.labels, np.ndarray):
            return self.cluster_names[self.labels]
        named: NDArray[Any] = self.labels.map_blocks(  # as lazy as the labels are
            self.cluster_names.__getitem__, dtype=self.cluster_names.dtype
        )
        return named

    @property
    def sizes(self) -> NDArray[np.int64]:
        """For each cluster the number of its rows."""
        sizes = np.bincount(self.labels, minlength=len(self.cluster_names))
        return np.asarray(sizes)  # of labels on Dask it would be lazy, for no more than a few

    def gathered(self) -> "ClusterResult":
        """The same with labels in the memory of this machine; itself, if they are there already."""
        if isinstance(self.labels, np.ndarray):
            return self
        return replace(self, labels=np.asarray(self.labels))

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

    def plot(
        self, X: Any, *, method: str = "pca", statements: bool = True, ax: "Axes | None" = None
    ) -> "Axes":
        """Draw the rows in a plane, with clusters and statements (needs the extra ``plots``).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data, scaled as for the fit.
        method : {"pca", "tsne", "umap"}
            How rows come into the plane: see `sidelight.report.project`.
        statements : bool
            Whether to draw what people said: must-links as solid lines, cannot-links as dashed
            ones, rings for labels, and in red and thicker what the partition breaks.
        ax : matplotlib axes, optional
            Where to draw; a new figure by default (``ax.figure.savefig(...)`` writes it).

        Returns
        -------
        matplotlib axes

        Examples
        --------
        >>> import numpy as np
        >>> from sidelight import PartitionLevelKMeans
        >>> X = np.array([[0.0, 1.0], [0.1, 1.0], [5.0, 1.1], [5.1, 1.0]])
        >>> ax = PartitionLevelKMeans().fit(X, ["low", None, "high", None]).result_.plot(X)
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['high', 'low', 'label']
        """
        from sidelight.report import plot_clusters, project

        return plot_clusters(
            project(X, method=method),
            self.gathered().labels,
            side=self.side if statements else None,
            names=self.cluster_names,
            ax=ax,
        )

    def report(self, path: str | PathLike[str], X: Any = None, **how: Any) -> dict[str, Any]:
        """Write one HTML page about the result; see `sidelight.report.write_report`.

        Parameters
        ----------
        path : str or path
            The file.
        X : array or sparse matrix of shape (n_samples, n_features), optional
            The data, for profiles and the picture.
        **how
            The options of `sidelight.report.write_report`: ``feature_names``, ``evidence``,
            ``plane``, ``title``, ``pictures``, ``limit``, ``overwrite``.

        Returns
        -------
        dict
            The summary that the page shows.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> from sidelight import PartitionLevelKMeans
        >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
        >>> result = PartitionLevelKMeans().fit(X, ["low", None, "high", None]).result_
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
        >>> result.report(path, X, pictures=False)["n_clusters"]
        2
        """
        from sidelight.report import write_report

        return write_report(self.gathered(), path, X, **how)

    def __repr__(self) -> str:
        return (
            f"ClusterResult({len(self.labels):,} rows in {len(self.cluster_names):,} clusters; "
            f"{int(self.violated.sum()):,} of {len(self.violated):,} statements broken)"
        )
