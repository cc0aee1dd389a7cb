"""Models that predict each row on its own: the same code for arrays and Dask arrays."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sidelight._validation import check_new_x
from sidelight.blocks import Blocks, as_blocks, is_dask
from sidelight.models._base import SideClusterer
from sidelight.models._centers import cluster_sizes
from sidelight.models._naming import Naming, name_clusters
from sidelight.side import SideInformation


def named(rows: Blocks, labels: Any, n_clusters: int, side: SideInformation) -> tuple[Naming, Any]:
    """Names for the clusters of a partition that have rows, and labels in their order: a column."""
    present = np.flatnonzero(cluster_sizes(rows, labels, n_clusters))
    naming = name_clusters(side, labels, n_clusters, len(present))
    number = np.full(n_clusters, -1, dtype=np.int32)
    number[naming.order] = np.arange(len(naming.order))
    return naming, rows.relabelled(labels, number)


class RowModel(SideClusterer, ABC):
    """A model that assigns new rows one by one, also where they are: on Dask."""

    on_dask = True
    _label_type: ClassVar[Any] = np.int32

    def predict(self, X: Any) -> Any:
        """The cluster of each row of X, by the data alone.

        Parameters
        ----------
        X : array, data frame or Dask array of shape (n_samples, n_features)
            New data; a CSR matrix where ``fit`` takes one.

        Returns
        -------
        ndarray of shape (n_samples,), or a Dask array
        """
        if is_dask(X):
            return self._lazily("predict", X, self._label_type)
        return self._predict(self._new_rows(X))

    def _new_rows(self, X: Any) -> Blocks:
        """New data, checked."""
        check_is_fitted(self)
        return as_blocks(check_new_x(self, X))

    @abstractmethod
    def _predict(self, rows: Blocks) -> NDArray[Any]:
        """The cluster of each row; a model has to write it."""


class ProbableRowModel(RowModel):
    """A row model with the probability of each cluster."""

    gives_probabilities = True

    def predict_proba(self, X: Any) -> Any:
        """The probability of each cluster for each row of X, by the data alone.

        Parameters
        ----------
        X : array, data frame or Dask array of shape (n_samples, n_features)
            New data; a CSR matrix where ``fit`` takes one.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters_), or a Dask array
        """
        if is_dask(X):
            return self._lazily("predict_proba", X, np.float64, by_cluster=True)
        return self._predict_proba(self._new_rows(X))

    @abstractmethod
    def _predict_proba(self, rows: Blocks) -> NDArray[np.float64]:
        """The probability of each cluster, (n, K); a model has to write it."""


class RowMixture(ProbableRowModel):
    """A row model with the probability of each cluster, and the density of each row."""

    def score_samples(self, X: Any) -> Any:
        """The log-density of each row of X under the mixture.

        Parameters
        ----------
        X : array, data frame or Dask array of shape (n_samples, n_features)
            New data; a CSR matrix where ``fit`` takes one.

        Returns
        -------
        ndarray of shape (n_samples,), or a Dask array
        """
        if is_dask(X):
            return self._lazily("score_samples", X, np.float64)
        return self._score_samples(self._new_rows(X)) + self._log_stretch()

    @abstractmethod
    def _score_samples(self, rows: Blocks) -> NDArray[np.float64]:
        """The log-density of each row; a model has to write it."""
