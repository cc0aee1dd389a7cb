"""What all models share. Think twice before adding anything here: a model is its own file."""

import platform
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.utils.validation import check_is_fitted

from sidelight._validation import check_lazy_x
from sidelight.blocks import is_dask, lazily, n_threads
from sidelight.exceptions import DataError, SideInformationError
from sidelight.results import ClusterResult
from sidelight.side import LABEL, SideInformation, match_classes


class SideClusterer(CallbackSupportMixin, ClusterMixin, BaseEstimator):
    """The base of all models: what they say about themselves, and what they leave after ``fit``.

    Attributes
    ----------
    accepts : tuple of str
        The kinds of statement that the model can use (``unsure`` binds nothing and is always
        welcome).
    refuses : dict
        Why it cannot use others, in a sentence for the error message.
    repetition : {"adds", "ignored"}
        Whether repeating a statement makes it count more.
    contradictions : {"tolerated", "raises"}
        Whether statements may contradict each other.
    objective_sense : {"min", "max"}
        The direction in which ``history_`` runs.
    scales : str
        How time and memory grow, in a sentence (n rows, d columns, K clusters).
    on_dask : bool
        Whether ``fit`` takes Dask arrays; then ``labels_`` and what methods return for them is
        lazy.

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> from sidelight.models import SideClusterer
    >>> issubclass(PartitionLevelKMeans, SideClusterer), PartitionLevelKMeans.accepts
    (True, ('cannot', 'label', 'not_label'))
    """

    accepts: ClassVar[tuple[str, ...]]
    refuses: ClassVar[dict[str, str]] = {}
    repetition: ClassVar[Literal["adds", "ignored"]]
    contradictions: ClassVar[Literal["tolerated", "raises"]]
    objective_sense: ClassVar[Literal["min", "max"]]
    scales: ClassVar[str]
    on_dask: ClassVar[bool] = False
    _published: ClassVar[dict[str, Any]]

    @classmethod
    def as_published(cls, **changes: Any) -> Self:
        """The model set up as in its paper, for experiments; ``changes`` are parameters."""
        return cls(**{**cls._published, **changes})

    def fit_predict(
        self, X: Any, y: Any = None, *, side: SideInformation | None = None, **fit_params: Any
    ) -> NDArray[Any]:
        """Fit and return ``labels_``; unlike scikit-learn's own, it hands ``y`` on."""
        return self.fit(X, y, side=side, **fit_params).labels_

    def __getstate__(self) -> dict[str, Any]:
        """A model that is stored takes its labels along, from the workers that hold them."""
        state = dict(super().__getstate__())
        if is_dask(state.get("labels_")):
            state["labels_"] = np.asarray(state["labels_"])
            state["result_"] = replace(state["result_"], labels=state["labels_"])
        return state

    def _lazily(self, method: str, X: Any, dtype: Any, *, by_cluster: bool = False) -> Any:
        """What a method gives for every chunk of a Dask array; nothing is computed yet."""
        check_is_fitted(self)
        bare = object.__new__(type(self))  # without what is as long as the data
        bare.__dict__ = {k: v for k, v in vars(self).items() if k not in ("labels_", "result_")}
        n_columns = self.n_clusters_ if by_cluster else None
        X = check_lazy_x(self, X, reset=False)
        return lazily(getattr(bare, method), X, dtype=dtype, n_columns=n_columns)

    def _publish(
        self, labels: Any, names: NDArray[Any], run: Any, side: SideInformation, seed: int
    ) -> Self:
        """Leave the attributes that every model has. run: objective, history, n_iter.

        labels : an array, or a column of rows on Dask.
        """
        about, known = about_spoken_of(side, labels)
        labels = labels if isinstance(labels, np.ndarray) else labels.lazy()
        self.labels_ = labels
        self.cluster_names_ = names
        self.n_clusters_ = len(names)
        self.objective_ = float(run.objective)
        self.history_ = np.asarray(run.history)
        self.n_iter_ = run.n_iter
        self.result_ = ClusterResult(
            labels=labels,
            cluster_names=names,
            objective=self.objective_,
            history=self.history_,
            violated=about.violated(known),
            side=side,
            provenance={
                "model": type(self).__name__,
                "parameters": {k: _short(v) for k, v in self.get_params(deep=False).items()},
                "seed": seed,
                "threads": n_threads(),
                "versions": {
                    "python": platform.python_version(),
                    **_versions(),
                },
            },
        )
        return self


@cache
def _versions() -> dict[str, str]:
    """Looked up once: that reads files, and takes milliseconds."""
    return {p: version(p) for p in ("sidelight", "numpy", "scipy", "scikit-learn")}


def _short(value: Any) -> Any:
    """A parameter as it can be written down: arrays and models by their kind and size."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    shape = getattr(value, "shape", None)
    return type(value).__name__ if shape is None else f"{type(value).__name__} of shape {shape}"


def leading_vocabulary(side: SideInformation) -> int:
    """The vocabulary that names the clusters: the one with the most label weight, -1 for shared.

    Ties go to the shared one, then to the first by name.
    """
    said = side.statements
    weight = np.where(said.kind == LABEL, said.weight, 0.0)
    totals = np.bincount(said.vocabulary + 1, weight, minlength=len(side.vocabularies) + 1)
    return int(totals.argmax()) - 1


def labelled_classes(side: SideInformation) -> NDArray[np.int64]:
    """The classes with a label in the leading vocabulary, as codes."""
    said = side.statements
    here = (said.kind == LABEL) & said.binding & (said.vocabulary == leading_vocabulary(side))
    return np.unique(said.class_code[here])


def number_of_clusters(asked: int | None, n_samples: int, side: SideInformation) -> int:
    """As many clusters as asked for, or as there are labelled classes; no more than rows."""
    n_clusters = len(labelled_classes(side)) if asked is None else asked
    if n_clusters == 0:
        raise SideInformationError(
            "n_clusters is None, which means the number of labelled classes, and no row is "
            "labelled; give n_clusters, or labels as y or in side."
        )
    if n_samples < n_clusters:
        raise DataError(
            f"X has n_samples={n_samples}, fewer than n_clusters={n_clusters}; "
            "ask for fewer clusters or give more rows."
        )
    return n_clusters


def about_spoken_of(side: SideInformation, labels: Any) -> tuple[SideInformation, NDArray[Any]]:
    """The statements, and labels for them: on Dask of the rows alone that somebody spoke of."""
    if isinstance(labels, np.ndarray):
        return side, labels
    rows, condensed = side.condensed()
    return condensed, labels[rows]


def name_clusters(
    side: SideInformation, labels: Any, n_clusters: int, n_present: int | None = None
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The order in which clusters are numbered, and their names; labels: an array or a column.

    Given classes come first, sorted, each the cluster that `match_classes` gives it; then the other
    clusters by their first row. These get new names: whole numbers above all given ones where the
    classes are whole numbers (or none were given), else "new 1", "new 2", … . Clusters without rows
    are left out; ``n_present``, if fewer have rows, spares a search for the others.

    Returns
    -------
    order : ndarray of shape (n_present,)
        ``order[k]`` is the present number of the cluster that becomes k.
    names : ndarray of shape (n_present,)
    """
    order: list[int] = []
    names: list[Any] = []
    if side.classes:
        about, known = about_spoken_of(side, labels)
        cluster_of = match_classes(about, known, n_clusters)[leading_vocabulary(side)]
        named = np.flatnonzero(cluster_of >= 0)
        order = cluster_of[named].tolist()
        names = [side.classes[c] for c in named]
    first_row = first_rows(labels, n_clusters, n_clusters if n_present is None else n_present)
    by_first_row = np.argsort(first_row, kind="stable")[: int((first_row < len(labels)).sum())]
    order += [int(k) for k in by_first_row if k not in set(order)]
    names += _new_names(side.classes, len(order) - len(names))
    return np.array(order, dtype=np.int64), _as_array(names)


def first_rows(labels: Any, n_clusters: int, n_present: int) -> NDArray[np.int64]:
    """The first row of each cluster; usually the first few thousand rows tell them all."""
    if not isinstance(labels, np.ndarray):
        of_column: NDArray[np.int64] = labels.first_rows(n_clusters, n_present)
        return of_column
    first = np.full(n_clusters, len(labels))
    for start in range(0, len(labels), 16_384):
        present, place = np.unique(labels[start : start + 16_384], return_index=True)
        fresh = first[present] == len(labels)
        first[present[fresh]] = start + place[fresh]
        if (first < len(labels)).sum() == n_present:
            break
    return first


def _new_names(given: tuple[Any, ...], n_new: int) -> list[Any]:
    if all(type(name) is int for name in given):
        start = max(given, default=-1) + 1
        return list(range(start, start + n_new))
    fresh = (f"new {k}" for k in range(1, n_new + len(given) + 1))
    return [name for name in fresh if name not in given][:n_new]


def _as_array(names: list[Any]) -> NDArray[Any]:
    if len({type(name) for name in names}) == 1 and not isinstance(names[0], str):
        return np.array(names)
    array = np.empty(len(names), dtype=object)  # 3 stays 3 beside "3"
    array[:] = names
    return array
