"""The base of all models. Think twice before adding anything here: a model is its own file."""

import platform
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from sidelight._validation import (
    HELD_OUT,
    asks_for_number,
    check_lazy_x,
    check_side,
    with_number_of_clusters,
)
from sidelight.blocks import Blocks, as_blocks, is_dask, lazily, n_threads, one_blas_thread
from sidelight.exceptions import DataError, LostClassWarning, SideInformationError
from sidelight.models._fitting import given_labels, is_model, warn
from sidelight.models._lost import find_lost
from sidelight.models._metric import SPARSE, Learned, metric_of
from sidelight.models._naming import Naming, about_annotated_rows
from sidelight.results import ClusterResult, Membership, Verdict
from sidelight.side import Agreement, SideInformation

# ``init`` may be labels or another model.
_AS_LONG_AS_THE_DATA = {
    *("labels_", "result_", "statement_error_", "init"),
    *("_skl_callbacks", "_skl_callbacks_to_teardown", "_callback_fit_ctx"),
}


class SideClusterer(CallbackSupportMixin, ClusterMixin, BaseEstimator):
    """Base of all models: their traits, and the attributes after ``fit``.

    Attributes
    ----------
    accepts, refuses, finds_k, finds_errors, gives_probabilities, weight_unit, takes_similarities, \
takes_sparse, on_dask, scales, repetition, contradictions, objective_sense
        The tags: see `Tags`.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> from sidelight.models import SideClusterer
    >>> issubclass(PartitionLevelKMeans, SideClusterer), PartitionLevelKMeans.accepts
    (True, ('cannot', 'label', 'not_label'))
    """

    accepts: ClassVar[tuple[str, ...]]
    refuses: ClassVar[dict[str, str]] = {}
    finds_k: ClassVar[bool] = False
    finds_errors: ClassVar[bool] = False
    gives_probabilities: ClassVar[bool] = False
    weight_unit: ClassVar[str] = ""
    takes_similarities: ClassVar[dict[str, Any]] = {}
    takes_sparse: ClassVar[bool] = False
    on_dask: ClassVar[bool] = False
    scales: ClassVar[str]
    repetition: ClassVar[Literal["adds", "ignored"]]
    contradictions: ClassVar[Literal["tolerated", "raises"]]
    objective_sense: ClassVar[Literal["min", "max"]]
    metric: Any = None  # the parameter; models that always learn a metric do not have it
    _map: Learned | None = None
    _carries_rows: ClassVar[bool] = False  # whether it predicts by the rows that it has seen
    _published: ClassVar[dict[str, Any]]
    # n_init="auto": starts on small data, and the fewest on large data
    _auto_starts: ClassVar[tuple[int, int]] = (10, 3)

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "fit" in vars(cls):
            cls.fit = with_number_of_clusters(cls.fit)

    def _validate_params(self) -> None:
        """Check parameters; ``n_clusters="held-out"`` is allowed in every model that has it."""
        if not asks_for_number(self):
            return super()._validate_params()
        self.__dict__["n_clusters"] = None
        try:
            return super()._validate_params()
        finally:
            self.__dict__["n_clusters"] = HELD_OUT

    def _html_repr(self) -> str:
        """The model for a notebook: scikit-learn's diagram and, after a fit, the clusters."""
        diagram = estimator_html_repr(self)
        result = getattr(self, "result_", None)
        return diagram if result is None else f"{diagram}{result._repr_html_()}"

    @classmethod
    def as_published(cls, **changes: Any) -> Self:
        """The model set up as in its paper, for experiments; ``changes`` are parameters."""
        follows_size = cls().get_params().get("n_init") == "auto"
        starts = {"n_init": cls._auto_starts[0]} if follows_size else {}
        return cls(**{**starts, **cls._published, **changes})

    def fit_predict(
        self, X: Any, y: Any = None, *, side: SideInformation | None = None, **fit_params: Any
    ) -> NDArray[Any]:
        """Fit and return ``labels_``; unlike scikit-learn's own, it passes ``y`` on."""
        return self.fit(X, y, side=side, **fit_params).labels_

    def score(self, X: Any, y: Any = None, *, side: SideInformation | None = None) -> float:
        """How well statements about some rows, held back from the fit, agree with ``predict``.

        With it, `GridSearchCV` and `cross_validate` need no ``scoring`` under metadata routing.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_samples, n_features)
            Rows, new ones or those of the fit.
        y : array of shape (n_samples,), optional
            Labels of these rows, −1 where unknown; joined to ``side``.
        side : SideInformation, optional
            Statements about these rows.

        Returns
        -------
        float
            From 0 to 1: the mean of two F-scores over pairs of rows, with "together" and with
            "apart" as the positive answer. Labels count by the pairs that they imply, so that
            clusters need no names.

        Examples
        --------
        >>> from sidelight import PartitionLevelKMeans, SideInformation
        >>> model = PartitionLevelKMeans(2, random_state=0).fit([[0.0], [0.1], [5.0], [5.1]])
        >>> held = SideInformation.from_pairs(must=[(0, 1)], cannot=[(1, 2)], n_samples=3)
        >>> model.score([[0.2], [0.3], [4.9]], side=held)
        1.0
        """
        labels = np.asarray(self.predict(X))
        known = check_side(labels, y, side)  # as many rows as X
        score = Agreement.of(known, labels).score
        if np.isnan(score):
            raise SideInformationError(
                f"no statement is about a pair of these {len(labels):,} rows, so that there "
                "is nothing to score by.",
                advice="Give statements about these rows; in a search, folds that hold statements: "
                "cv=SideKFold().",
            )
        return score

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.takes_sparse
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the model with its labels, fetched from the workers that hold them."""
        state = dict(super().__getstate__())
        if is_dask(state.get("labels_")):
            state["labels_"] = np.asarray(state["labels_"])
            state["result_"] = replace(state["result_"], labels=state["labels_"])
        return state

    def _lazily(self, method: str, X: Any, dtype: Any, *, by_cluster: bool = False) -> Any:
        """A method applied to every chunk of a Dask array; nothing is computed yet."""
        check_is_fitted(self)
        n_columns = self.n_clusters_ if by_cluster else None
        X = check_lazy_x(self, X, reset=False)
        function = getattr(self._bare(), method)
        large = self._carries_rows
        return lazily(function, X, dtype=dtype, n_columns=n_columns, is_large=large)

    def _bare(self) -> Self:
        """The fitted model without what is as long as the data, to predict with."""
        bare = object.__new__(type(self))
        bare.__dict__ = {k: v for k, v in vars(self).items() if k not in _AS_LONG_AS_THE_DATA}
        return bare

    # The parameter ``metric``: `prepare` and `check_new_x` give rows in the metric

    def _excludes_metric(self) -> str:
        """Why the other parameters cannot be combined with a metric; empty if they can."""
        return ""

    def _learn_metric(self, X: Any, side: SideInformation) -> None:
        """Set ``metric_`` if the parameter asks for one; it is not used if inert."""
        self._map = None
        self.__dict__.pop("metric_", None)
        if self.metric is not None:
            self.metric_ = metric_of(self, X, side)
            self._map = self.metric_._map if self.metric_.learned_ else None

    def _to_metric(self, X: Any) -> Any:
        """Rows or centres in the metric of the fit; memory maps and Dask block by block."""
        if self._map is None:
            return X
        if issparse(X):
            name = type(self).__name__
            raise DataError(f"{name}: metric={self.metric!r} cannot be used: {SPARSE}.")
        if isinstance(X, np.memmap) and self.on_dask:
            X = as_blocks(X)
        if isinstance(X, Blocks):
            return X.mapped(self._map.rows)
        with one_blas_thread():
            return self._map.rows(X)

    def _from_metric(self, X: NDArray[Any]) -> NDArray[Any]:
        """Rows or centres in the columns that the user gave."""
        return X if self._map is None else self._map.back(X)

    def _init_for(self, rows: Blocks) -> Any:
        """``init`` for rows in the metric; a model has seen the columns that the user gave."""
        init: Any = getattr(self, "init", None)
        if self._map is None or not is_model(init):
            return init
        X = None if rows.data is None else self._from_metric(rows.data)
        return given_labels(init, rows.n_samples, X=X)

    def _log_stretch(self) -> float:
        """The constant between log-densities in the metric and in the user's columns."""
        return 0.0 if self._map is None else self._map.log_stretch

    def _publish(
        self,
        labels: Any,
        naming: Naming,
        run: Any,
        side: SideInformation,
        seed: int,
        *,
        error: NDArray[np.float64] | None = None,
        accuracy: dict[Any, float] | None = None,
    ) -> Self:
        """Set the attributes that every model has. run: objective, history, n_iter.

        labels : an array, or a column of rows on Dask.
        naming : names of clusters and clusters of classes, which decide what is kept.
        error, accuracy : of statements and annotators, from models that estimate them.
        """
        about, known = about_annotated_rows(side, labels)
        asked = self.get_params(deep=False)
        lost = find_lost(about, known, naming, more_clusters=_can_have_more(asked, naming))
        labels = labels if isinstance(labels, np.ndarray) else labels.lazy()
        self.labels_ = labels
        self.cluster_names_ = naming.names
        self.n_clusters_ = len(naming.names)
        self.objective_ = float(run.objective)
        self.history_ = np.asarray(run.history)
        self.n_iter_ = run.n_iter
        membership = None
        if hasattr(self, "predict_proba"):
            membership = Membership(self._bare().predict_proba, getattr(self, "_data_key", None))
        if error is not None:
            self.statement_error_ = error
        if accuracy is not None:
            self.annotator_accuracy_ = accuracy
        self.result_ = ClusterResult(
            labels=labels,
            cluster_names=naming.names,
            objective=self.objective_,
            history=self.history_,
            verdict=Verdict.of(
                about,
                known,
                clusters=naming.clusters,
                error=error,
                accuracy=accuracy,
                membership=membership,
            ),
            side=side,
            provenance={
                "model": type(self).__name__,
                "parameters": {k: _short(v) for k, v in asked.items()},
                "seed": seed,
                "threads": n_threads(),
                "versions": {
                    "python": platform.python_version(),
                    **_versions(),
                },
                "advice": lost.sentences,
            },
        )
        if lost.classes:
            warn(LostClassWarning(" ".join(lost.sentences), classes=lost.classes))
        return self


def _can_have_more(asked: dict[str, Any], naming: Naming) -> bool:
    """Whether a user can ask for more clusters than these; a limit has to be reached."""
    limit = asked.get("n_components")
    return "n_clusters" in asked if limit is None else limit <= len(naming.names)


@cache
def _versions() -> dict[str, str]:
    """Looked up once: that reads files, and takes milliseconds."""
    return {p: version(p) for p in ("sidelight", "numpy", "scipy", "scikit-learn")}


def _short(value: Any) -> Any:
    """A parameter for the provenance: arrays and models by their kind and size."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    shape = getattr(value, "shape", None)
    return type(value).__name__ if shape is None else f"{type(value).__name__} of shape {shape}"
