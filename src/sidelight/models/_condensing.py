"""Models that need all rows at once, and on Dask use representatives instead.

In memory such a model sees the rows. On Dask a tree of halvings condenses them where they are
(`sidelight.graph.representatives`); the model is fitted here, to the representatives and to the
annotated rows, and the labels of the rows are predicted where the rows are, on request. Up to
50,000 rows, or as many as ``sidelight.representatives`` says in Dask's configuration, the
representatives are the rows, and the answer is that of memory.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sidelight._validation import check_new_x
from sidelight.blocks import Blocks, RowEntries, is_dask, setting
from sidelight.exceptions import DataError
from sidelight.graph import representatives
from sidelight.models._base import SideClusterer
from sidelight.models._fitting import is_model
from sidelight.models._naming import Naming
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_POINTS = 50_000


class Points(NamedTuple):
    """The points that a model is fitted to: rows, or representatives with their numbers of rows."""

    X: Any
    side: SideInformation
    mass: Floats | None = None  # None: the rows themselves

    @property
    def n_rows(self) -> int:
        """How many rows they stand for."""
        return int(self.X.shape[0] if self.mass is None else self.mass.sum())


class _There(NamedTuple):
    """The rows on Dask that a fit is about, and where the annotated ones are among the points."""

    rows: Blocks
    side: SideInformation
    annotated: Ints
    place: Ints


class CondensingModel(SideClusterer, ABC):
    """A model whose fit asks for `_points`, and works on these. It writes `_predict_rows`."""

    # Attributes with an entry per point that `predict` does not need.
    _not_for_prediction: ClassVar[tuple[str, ...]] = ()
    _carries_rows = True
    _there: _There | None = None
    _point_labels: Ints | None = None  # of a fit on Dask

    def predict(self, X: Any) -> Any:
        """The cluster of each row of X.

        Parameters
        ----------
        X : array, CSR matrix, data frame or Dask array of shape (n_samples, n_features)
            New data.

        Returns
        -------
        ndarray of shape (n_samples,), or a Dask array
        """
        if is_dask(X):
            return self._lazily("predict", X, np.int64)
        check_is_fitted(self)
        return self._predict_rows(check_new_x(self, X))

    def _points(self, X: Any, side: SideInformation, seed: int) -> Points:
        """The points to fit: the rows, or their representatives."""
        self._there, self._point_labels = None, None
        if not isinstance(X, Blocks):
            return Points(X, side)
        n = X.n_samples
        if n <= most_points():
            self._there = _There(X, side, np.arange(n), np.arange(n))
            return Points(X.take(np.arange(n)), side)
        init = getattr(self, "init", None)
        if init is not None and not isinstance(init, str) and not is_model(init):
            raise DataError(
                f"init has a label for each row, and the {n:,} rows of X are condensed; give a "
                "fitted model as init."
            )
        found = representatives(X, side, most_points(), seed=seed)
        self._there = _There(X, side, found.annotated, found.place)
        return Points(found.X, found.side, found.mass)

    def _flows_to(self, rows: Blocks) -> None:
        """Predict the labels for these rows, where others were condensed in their place."""
        assert self._there is not None
        self._there = self._there._replace(rows=rows)

    def _known_labels(self) -> Ints:
        """The clusters of the points that the model was fitted to."""
        labels: Ints = self.labels_ if self._point_labels is None else self._point_labels
        return labels

    @abstractmethod
    def _predict_rows(self, X: Any) -> Ints:
        """The clusters of rows that are checked and in the metric."""

    def _bare(self) -> Self:
        bare = super()._bare()
        bare.labels_ = self._known_labels()
        bare._there = bare._point_labels = None
        for name in self._not_for_prediction:
            bare.__dict__.pop(name, None)
        return bare

    def _to_metric(self, X: Any) -> Any:
        # A memory map is read whole, as it is without a metric.
        return super()._to_metric(np.asarray(X) if isinstance(X, np.memmap) else X)

    def _publish(
        self, labels: Any, naming: Naming, run: Any, side: SideInformation, seed: int, **more: Any
    ) -> Self:
        there, self._there = self._there, None
        if there is None:
            return super()._publish(labels, naming, run, side, seed, **more)
        self._point_labels = labels
        self.n_clusters_ = len(naming.names)  # to predict with
        known = RowEntries(there.annotated, (labels[there.place],))
        flowing = _Flowing(there.rows, self._bare()._predict_rows, known)
        super()._publish(flowing, naming, run, there.side, seed, **more)
        self.result_.provenance["representatives"] = len(labels)
        return self


class _Flowing:
    """The labels of rows on Dask, as `_publish` takes them: known ones here, the others there."""

    def __init__(self, rows: Blocks, predict: Any, known: RowEntries) -> None:
        self._rows, self._predict, self._known = rows, predict, known

    def __len__(self) -> int:
        return self._rows.n_samples

    def __getitem__(self, annotated: Ints) -> Ints:
        labels: Ints = self._known.values[0][np.searchsorted(self._known.row, annotated)]
        return labels

    def lazy(self) -> Any:
        """A Dask array of labels."""
        if len(self._known.row) == len(self):
            return self._rows.given(self._known.values[0]).lazy()
        return self._rows.lazily(self._predict, self._known, np.int64)


def most_points() -> int:
    """To how many points the rows are condensed, beside the annotated ones."""
    return int(setting("sidelight.representatives", MOST_POINTS))
