"""Partitions and probabilities to judge, from our models, clusterers and classifiers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from sidelight.exceptions import SideInformationError, SidelightError
from sidelight.results import ClusterResult
from sidelight.side import SideInformation, match_classes, usable_kinds

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Partition(NamedTuple):
    """Clusters of all rows, and what is needed to judge statements by them.

    ``clusters`` is the cluster of each class of ``known`` in each vocabulary, the shared one last
    (−1: none); ``named`` are all clusters that carry a name. ``probabilities`` gives those of the
    clusters for some rows, and ``accuracy`` how often annotators are right; None where unknown.
    """

    labels: Ints
    n_clusters: int
    clusters: Ints
    known: SideInformation
    probabilities: Callable[[Ints], Floats] | None = None
    accuracy: dict[Any, float] | None = None

    @classmethod
    def of_result(cls, result: ClusterResult, X: Any = None) -> "Partition":
        """What one of our models found; with X, its probabilities too."""
        result = result.gathered()
        membership = result.verdict.membership
        ask = None
        if membership is not None and X is not None:
            ask = _on_rows(membership.probabilities, X)
        return cls(
            np.asarray(result.labels),
            len(result.cluster_names),
            result.verdict.clusters,
            result.side,
            ask,
            result.verdict.accuracy,
        )

    @classmethod
    def of_labels(cls, labels: Any, known: SideInformation) -> "Partition":
        """Clusters without names: classes are matched to them by the labels of ``known``."""
        labels = np.asarray(labels)
        n_clusters = int(labels.max(initial=-1)) + 1
        return cls(labels, n_clusters, match_classes(known, labels, n_clusters), known)

    def clusters_of(self, held: SideInformation) -> Ints:
        """The cluster of each class of ``held`` in each vocabulary, −1 where the fit knows none."""
        clusters = np.full((len(held.vocabularies) + 1, len(held.classes) + 1), -1, dtype=np.int64)
        if not self.known.classes:
            return clusters
        # Names are compared with their types: class 3 is not class "3".
        class_code = {(type(name), name): c for c, name in enumerate(self.known.classes)}
        vocabulary = {(type(name), name): v for v, name in enumerate(self.known.vocabularies)}
        found = [class_code.get((type(name), name), -1) for name in held.classes]
        codes = np.array(found, dtype=np.int64)
        has = np.flatnonzero(codes >= 0)
        told = [vocabulary.get((type(name), name)) for name in held.vocabularies]
        for v, there in enumerate([*told, -1]):
            if there is not None:
                clusters[v, has] = self.clusters[there, codes[has]]
        return clusters


def takes_statements(estimator: Any) -> bool:
    """Whether a fit depends on statements, so that it has to be judged by those held back."""
    return hasattr(_last(estimator), "accepts") or is_classifier(estimator)


def fit_partition(
    estimator: Any, X: Any, kept: SideInformation, side: SideInformation
) -> Partition:
    """Fit a copy of any estimator without the statements that are held back.

    estimator : one of our models (alone, or at the end of a pipeline), a classifier, which sees the
        labelled rows only, or a clusterer, which sees no statement.
    side : all statements, which decide on the number of clusters.
    """
    estimator = clone(estimator)
    last = _last(estimator)
    if hasattr(last, "accepts"):
        last.set_params(**number_of_clusters(last, side))
        given = kept.only(kind=usable_kinds(last.accepts))
        estimator.fit(X, **_as_parameter(estimator, given))
        return Partition.of_result(last.result_)._replace(probabilities=_of_model(estimator, X))
    if is_classifier(estimator):
        return _classified(estimator, X, kept)
    if hasattr(estimator, "fit_predict"):
        labels = np.asarray(estimator.fit_predict(X)).astype(np.int64)
        return Partition.of_labels(labels, kept)
    raise SidelightError(
        f"{type(estimator).__name__} is neither a clusterer nor a classifier: it has no "
        "fit_predict. Give models, clusterers, classifiers, or pipelines that end with one."
    )


def number_of_clusters(model: Any, side: SideInformation) -> dict[str, int]:
    """The number that the whole fit would have: a fold may lack a class."""
    asked = model.get_params(deep=False).get("n_clusters", 0)
    n_classes = len(side.labelled_classes)
    return {"n_clusters": n_classes} if asked is None and not model.finds_k and n_classes else {}


def take(X: Any, rows: Ints) -> Any:
    """Some rows of an array, a sparse matrix, a list or a data frame."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return (np.asarray(X) if isinstance(X, list) else X)[rows]


def _last(estimator: Any) -> Any:
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def _as_parameter(estimator: Any, side: SideInformation) -> dict[str, SideInformation]:
    if not isinstance(estimator, Pipeline):
        return {"side": side}
    from sklearn import get_config

    name = estimator.steps[-1][0]
    if get_config()["enable_metadata_routing"]:
        _last(estimator).set_fit_request(side=True)
        return {"side": side}
    return {f"{name}__side": side}


def _of_model(fitted: Any, X: Any) -> Callable[[Ints], Floats] | None:
    return _on_rows(fitted.predict_proba, X) if _last(fitted).gives_probabilities else None


def _on_rows(probabilities: Callable[[Any], Any], X: Any) -> Callable[[Ints], Floats]:
    return lambda rows: np.asarray(probabilities(take(X, rows)))


def _classified(estimator: Any, X: Any, kept: SideInformation) -> Partition:
    """What a classifier of the labelled rows says about all rows; a cluster is a class."""
    y = kept.leading_labels
    rows = np.flatnonzero(y >= 0)
    classes = np.unique(y[rows])
    if len(classes) < 2:
        raise SideInformationError(
            f"{type(estimator).__name__} is a classifier, and the labels that are not held back "
            f"name {len(classes)} classes; it needs two at least."
        )
    estimator.fit(take(X, rows), np.searchsorted(classes, y[rows]))
    labels = np.asarray(estimator.predict(X)).astype(np.int64)
    clusters = np.full((len(kept.vocabularies) + 1, len(kept.classes)), -1, dtype=np.int64)
    clusters[kept.leading_vocabulary, classes] = np.arange(len(classes))
    ask = _on_rows(estimator.predict_proba, X) if hasattr(estimator, "predict_proba") else None
    return Partition(labels, len(classes), clusters, kept, ask)
