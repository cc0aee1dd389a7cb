"""Our models with their defaults, and what people would use instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from experiments.defaults.baselines import kmeans_by_silhouette, seeded_kmeans
from sidelight.models import find_model
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# X, statements of the kinds that the method takes, number of clusters or None, seed -> labels
Fit = Callable[[Floats, SideInformation, int | None, int], Ints]

ANY = ("label", "must", "cannot")


class Method(NamedTuple):
    """How a method is fitted, which statements it takes, and whether it finds K."""

    fit: Fit
    takes: tuple[str, ...]
    finds_k: bool = False
    model: str = ""  # the model of ours that it is; none for what people would use instead
    many_classes: bool = True  # whether it ends in a minute on tables with more than 30 classes
    takes_k: bool = True  # whether it can be told K

    def suits(self, *, labels: bool) -> bool:
        """Whether it can use the statements, or needs none; pairs come in all other settings."""
        return labels or not self.takes or "must" in self.takes


def _classifier(make: Callable[[int], Any]) -> Method:
    """A classifier of the labelled rows; the number of clusters is that of the classes."""

    def fit(X: Floats, side: SideInformation, k: int | None, seed: int) -> Ints:
        y = side.labels
        known = y >= 0
        if len(np.unique(y[known])) < 2:  # scikit-learn refuses a single class
            return np.zeros(len(y), dtype=np.int64)
        found: Ints = make(seed).fit(X[known], y[known]).predict(X)
        return found

    return Method(fit, ("label",))


def _transductive(make: Callable[[int], Any]) -> Method:
    """A classifier that looks at the other rows too."""

    def fit(X: Floats, side: SideInformation, k: int | None, seed: int) -> Ints:
        y = side.labels
        if len(np.unique(y[y >= 0])) < 2:
            return np.zeros(len(y), dtype=np.int64)
        found: Ints = make(seed).fit(X, y).predict(X)
        return found

    return Method(fit, ("label",))


def ours(
    name: str,
    *,
    takes: tuple[str, ...] = ANY,
    finds_k: bool = False,
    k_is: str = "n_clusters",
    many_classes: bool = True,
    takes_k: bool = True,
) -> Method:
    """One of our models by its name, with its defaults."""

    def fit(X: Floats, side: SideInformation, k: int | None, seed: int) -> Ints:
        known = {} if k is None else {k_is: k}
        model = find_model(name)(**known, random_state=seed)
        found: Ints = model.fit(X, side=side).labels_
        return found

    return Method(fit, takes, finds_k, model=name, many_classes=many_classes, takes_k=takes_k)


def _kmeans(X: Floats, side: SideInformation, k: int | None, seed: int) -> Ints:
    found: Ints = KMeans(k, n_init=10, random_state=seed).fit_predict(X)
    return found


def _lda() -> LinearDiscriminantAnalysis:
    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")


METHODS: dict[str, Method] = {
    "KMeans": Method(_kmeans, ()),
    "KMeans, K by silhouette": Method(kmeans_by_silhouette, (), finds_k=True, takes_k=False),
    "seeded k-means": Method(seeded_kmeans, ("label",)),
    "LabelSpreading": _transductive(lambda seed: LabelSpreading(kernel="knn", n_neighbors=7)),
    "SelfTraining(LDA)": _transductive(lambda seed: SelfTrainingClassifier(_lda())),
    "LDA": _classifier(lambda seed: _lda()),
    "LogisticRegression": _classifier(lambda seed: LogisticRegression(max_iter=2000)),
    "SVC": _classifier(lambda seed: SVC(C=10.0)),
    "DiscriminativeClustering": ours("DiscriminativeClustering", finds_k=True),
    "PartitionLevelKMeans": ours("PartitionLevelKMeans", takes=("label", "cannot")),
    "SeededKMeans": ours("SeededKMeans", takes=("label",)),
    "ConstrainedKMeans": ours("ConstrainedKMeans", takes=("label",)),
    "PCKMeans": ours("PCKMeans"),
    "COPKMeans": ours("COPKMeans"),
    "LCVQE": ours("LCVQE"),
    "CVQE": ours("CVQE"),
    "MPCKMeans": ours("MPCKMeans"),
    "HMRFKMeans": ours("HMRFKMeans"),
    "ConsensusKMeans": ours("ConsensusKMeans", takes=("label",)),
    "HGMeans": ours("HGMeans", takes=("label",)),
    "AnnotatedGaussianMixture": ours("AnnotatedGaussianMixture"),
    "PartialLabelGaussianMixture": ours("PartialLabelGaussianMixture", takes=("label",)),
    "EquivalenceGaussianMixture": ours("EquivalenceGaussianMixture"),
    "PartialLabelFuzzyCMeans": ours("PartialLabelFuzzyCMeans", takes=("label",)),
    "CrossEntropyClustering": ours("CrossEntropyClustering", takes=("label",), finds_k=True),
    "BayesianMixture": ours("BayesianMixture", finds_k=True, k_is="n_components"),
    "StructuralEntropyClustering": ours("StructuralEntropyClustering", finds_k=True),
    "StructuralEntropyTree": ours("StructuralEntropyTree", finds_k=True),
    "ConstraintPropagation": ours("ConstraintPropagation", finds_k=True),
    "ConstrainedSpectral": ours("ConstrainedSpectral", finds_k=True),
    "RelationSpectral": ours("RelationSpectral", finds_k=True),
    "SparsestCutTree": ours("SparsestCutTree", takes=("label",)),
    "LabelPropagationNMF": ours("LabelPropagationNMF", takes=("label",)),
    "PropagatedSymmetricNMF": ours("PropagatedSymmetricNMF", takes=("label", "must")),
    "SelfSupervisedNMF": ours("SelfSupervisedNMF"),
    "ConstrainedMeanShift": ours("ConstrainedMeanShift", finds_k=True, takes_k=False),
    "SemiMultiCons": ours("SemiMultiCons", finds_k=True, takes_k=False),
    "MarkovAggregation": ours("MarkovAggregation", many_classes=False),
}
