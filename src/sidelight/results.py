"""ClusterResult: partition, verdict on the statements, and provenance of one fit."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import blake2b
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._html import table, tag
from sidelight._wording import counted
from sidelight.exceptions import DataError
from sidelight.side import SideInformation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ClusterResult", "Membership", "Verdict", "data_key"]

# Rows whose probabilities are held at a time; a multiple of the blocks in which models work.
_PORTION = 65_536
# Clusters that a notebook shows.
_SHOWN = 12


def data_key(X: Any) -> str | None:
    """A short key of a data matrix: its shape and a hash of its first rows.

    Parameters
    ----------
    X : array, sparse matrix, data frame or Dask array of shape (n_samples, n_features)
        The data; a Dask array is known by its name, and nothing is computed.

    Returns
    -------
    str or None
        None for what is not a matrix of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.eye(3)
    >>> data_key(X) == data_key(X.copy()), data_key(X) == data_key(2 * X)
    (True, False)
    """
    if hasattr(X, "dask"):
        return str(X.name)
    if sparse.issparse(X):
        head = sparse.coo_array(X.tocsr()[:64])
        head.sum_duplicates()
        parts = [*(c.astype(np.int64) for c in head.coords), head.data.astype(np.float64)]
        shape = X.shape
    else:
        try:
            rows = np.asarray(X[:64])
            parts = [rows.astype(np.float64)] if rows.dtype.kind in "biufO" else []
            shape = (len(X), *rows.shape[1:])
        except (TypeError, ValueError, LookupError):
            parts = []
    if not parts:
        return None
    digest = blake2b(b"".join(part.tobytes() for part in parts), digest_size=16)
    return f"{shape} {digest.hexdigest()}"


@dataclass(frozen=True, eq=False)
class Membership:
    """Membership probabilities of rows, computed by the model when they are asked for.

    A table of all rows and clusters would be larger than the data, so none is kept. It takes the
    parameters of the model along, and nothing as long as the data.

    Parameters
    ----------
    probabilities : callable
        From rows, as the model saw them, to an array (n_rows, n_clusters).
    key : str or None
        `data_key` of the data of the fit.

    Examples
    --------
    >>> from sidelight import BayesianMixture
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> membership = BayesianMixture(2, random_state=0).fit(X).result_.verdict.membership
    >>> membership.is_about(X), membership.is_about([[0.0], [10.0], [500.0], [510.0]])
    (True, False)
    >>> membership.probabilities(X).shape[0]
    4
    """

    probabilities: Callable[[Any], NDArray[np.float64]]
    key: str | None

    def is_about(self, X: Any) -> bool:
        """Whether X is the data of the fit, not a scaled copy of it or other rows."""
        return self.key is not None and self.key == data_key(X)

    def of_rows(
        self, X: Any, labels: NDArray[Any], rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For each row the probability of its own cluster; for some ``rows`` those of all.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Dask array of shape (n_samples, n_features)
            The data of the fit; others raise a DataError.
        labels : ndarray of shape (n_samples,)
            The cluster of each row.
        rows : ndarray of int
            Ascending.

        Returns
        -------
        ndarray of shape (n_samples,), ndarray of shape (len(rows), n_clusters)
        """
        if not self.is_about(X):
            raise DataError(
                "X is not the data that the model was fitted to; give those, scaled as they were."
            )
        X = np.asarray(X) if isinstance(X, list) else X
        X = X.tocsr() if sparse.issparse(X) else X
        own = np.empty(len(labels))
        some = []
        for start in range(0, len(labels), _PORTION):
            here = labels[start : start + _PORTION]
            shares = np.asarray(self.probabilities(X[start : start + len(here)]))
            own[start : start + len(here)] = shares[np.arange(len(here)), here]
            first, last = np.searchsorted(rows, [start, start + len(here)])
            some.append(shares[rows[first:last] - start])
        return own, np.concatenate(some)


@dataclass(frozen=True, eq=False, repr=False)
class Verdict:
    """The result of a fit about the statements: clusters of classes, kept statements, errors.

    Parameters
    ----------
    clusters : ndarray of shape (n_vocabularies + 1, n_classes)
        The cluster of each class in each vocabulary, the shared one last; −1 where it has none.
        Clusters carry the names of the classes of the vocabulary with the most labels.
    kept : ndarray of bool
        For each statement whether the partition keeps it: a label is kept exactly when its row
        lies in the cluster of its class. What binds nothing ("unsure") counts as kept.
    error : ndarray of float, optional
        For each statement the probability that it is wrong, 0 for "unsure"; None where the model
        does not estimate it.
    accuracy : dict, optional
        How often each annotator is right; the key None stands for statements without annotator.
        None where the model does not estimate it.
    membership : Membership, optional
        The probabilities of the clusters of each row, when asked for; None where there are none.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> from sidelight.results import Verdict
    >>> side = SideInformation.from_labels(["a", "b", "b"])
    >>> verdict = Verdict.of(side, [0, 1, 0], clusters=[[0, 1]])
    >>> verdict, verdict.kept.tolist()
    (Verdict(2 of 3 statements kept), [True, True, False])
    """

    clusters: NDArray[np.int64]
    kept: NDArray[np.bool_]
    error: NDArray[np.float64] | None = None
    accuracy: dict[Any, float] | None = None
    membership: Membership | None = None

    @classmethod
    def of(cls, side: SideInformation, labels: Any, *, clusters: Any, **more: Any) -> "Verdict":
        """The verdict of a partition in which classes have certain clusters.

        Parameters
        ----------
        side : SideInformation
            The statements.
        labels : array of shape (n_samples,)
            The cluster of each row.
        clusters : array of shape (n_vocabularies + 1, n_classes)
            The cluster of each class.
        **more
            ``error``, ``accuracy`` and ``membership``.

        Returns
        -------
        Verdict
        """
        clusters = np.asarray(clusters, dtype=np.int64)
        return cls(clusters, ~side.violated(labels, clusters=clusters), **more)

    def __repr__(self) -> str:
        return f"Verdict({int(self.kept.sum()):,} of {counted(len(self.kept), 'statement')} kept)"


@dataclass(frozen=True, eq=False, repr=False)
class ClusterResult:
    """Result of one fit: partition, names, broken statements and provenance.

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
    verdict : Verdict
        What the fit says about the statements of ``side``.
    side : SideInformation
        All statements that the fit was given, labels in ``y`` included.
    provenance : dict
        Model, parameters, seed, versions, threads; and ``advice``: a list of sentences.

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
    verdict: Verdict
    side: SideInformation
    provenance: dict[str, Any]

    @property
    def violated(self) -> NDArray[np.bool_]:
        """For each statement whether the partition breaks it."""
        return ~self.verdict.kept

    @property
    def advice(self) -> list[str]:
        """Advice of the model after this fit, in sentences; mostly none."""
        return list(self.provenance.get("advice", ()))

    @property
    def lost_classes(self) -> list[tuple[Any, Any]]:
        """Vocabulary (None: the shared one) and class of labels whose class has no cluster."""
        said = self.side.statements
        here = said.is_class & (said.sign > 0) & said.binding
        used = np.zeros(self.verdict.clusters.shape, dtype=bool)
        used[said.vocabulary[here], said.class_code[here]] = True
        lost = np.argwhere(used & (self.verdict.clusters < 0)).tolist()
        vocabularies = (*self.side.vocabularies, None)
        return [(vocabularies[v], self.side.classes[c]) for v, c in lost]

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
        """Draw the rows in a plane, with clusters and statements.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data, scaled as for the fit.
        method : {"pca", "tsne", "umap"}
            The projection to the plane: see `sidelight.report.project`.
        statements : bool
            Whether to draw the statements: must-links as solid lines, cannot-links as dashed lines,
            labels as rings, and broken statements in red and thicker.
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
            broken=np.flatnonzero(self.violated),
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

    def to_frame(
        self, ids: Any = None, *, backend: Literal["pandas", "polars", "pyarrow"] = "pandas"
    ) -> Any:
        """The rows with their clusters, as a data frame.

        Parameters
        ----------
        ids : sequence, optional
            What to call the rows; by default the ids of the statements, or their numbers.
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            The library of the frame.

        Returns
        -------
        data frame
            ``row``, ``cluster`` (a number), ``cluster_name`` and ``suspect``: whether a statement
            about the row is broken or probably wrong.

        Examples
        --------
        >>> from sidelight import PartitionLevelKMeans
        >>> model = PartitionLevelKMeans().fit([[0.0], [0.1], [5.0]], ["low", None, "high"])
        >>> model.result_.to_frame(["ann", "bob", "cy"])
           row  cluster cluster_name  suspect
        0  ann        1          low    False
        1  bob        1          low    False
        2   cy        0         high    False
        """
        import narwhals as nw

        from sidelight.report import suspect_rows

        known = ("pandas", "polars", "pyarrow")
        if backend not in known:
            raise DataError(f"unknown backend {backend!r}; known: {', '.join(known)}.")
        here = self.gathered()
        ids = self.side.index if ids is None else ids
        names = list(range(len(here.labels)) if ids is None else ids)
        if len(names) != len(here.labels):
            raise DataError(f"{len(names):,} ids for {len(here.labels):,} rows; give one each.")
        plain = [name.item() if isinstance(name, np.generic) else name for name in names]
        columns = {
            "row": plain,
            "cluster": here.labels.tolist(),
            "cluster_name": [str(name) for name in here.names.tolist()],
            "suspect": suspect_rows(here).tolist(),
        }
        return nw.from_dict(columns, backend=backend).to_native()

    def _repr_html_(self) -> str:
        """The result for a notebook: what was found, and the clusters."""
        come = [tag("b", self.provenance.get("model", "ClusterResult")), ": ", self._told()]
        parts = [tag("p", *come)]
        if isinstance(self.labels, np.ndarray):  # lazy labels are not computed for display
            sizes, n_rows = self.sizes.tolist(), max(len(self.labels), 1)
            order = np.argsort(-self.sizes, kind="stable")[:_SHOWN].tolist()
            rows = [
                [str(self.cluster_names[k]), f"{sizes[k]:,}", f"{sizes[k] / n_rows:.1%}"]
                for k in sorted(order)
            ]
            parts.append(table(["cluster", "rows", "share"], rows))
            if len(sizes) > _SHOWN:
                parts.append(tag("p", f"and {counted(len(sizes) - _SHOWN, 'smaller cluster')}"))
        parts += [tag("p", sentence) for sentence in self.advice]
        return tag("div", *parts)

    def _told(self) -> str:
        return (
            f"{counted(len(self.labels), 'row')} in {counted(len(self.cluster_names), 'cluster')}; "
            f"{int(self.violated.sum()):,} of {counted(len(self.violated), 'statement')} broken"
        )

    def __repr__(self) -> str:
        return f"ClusterResult({self._told()})"
