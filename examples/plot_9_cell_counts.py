"""
Counts of cells, or their principal components?
===============================================

Cells of eight types (10X PBMC, if the data set is there, else simulated ones), of which two in a
hundred have a name. Gaussians need principal components of logarithms; "multinomial" and "poisson"
use the sparse counts directly. The sequencing depth of a cell says nothing about its type:
"multinomial" ignores it, "poisson" does not.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from sidelight import BayesianMixture
from sidelight.datasets import load
from sidelight.exceptions import DatasetNotFoundError
from sidelight.side import sample_labels

DRAWS = int(os.environ.get("DRAWS", "2"))


def cells():
    """Counts and types."""
    try:
        data = load("pbmc_10x")
        return sparse.csr_array(data.X), data.y, "10X PBMC"
    except DatasetNotFoundError:
        rng = np.random.default_rng(0)
        y = rng.integers(8, size=1500)
        profile = rng.gamma(0.3, 1.0, size=(8, 400))
        depth = rng.gamma(3.0, 0.3, size=1500)
        return sparse.csr_array(rng.poisson(depth[:, None] * profile[y]).astype(float)), y, "made"


counts, y_true, source = cells()
depth = np.asarray(counts.sum(axis=1)).ravel()
logged = np.log1p(1e4 * counts.toarray() / np.maximum(depth, 1)[:, None])
components = PCA(15, random_state=0).fit_transform(logged)
n_types = len(np.unique(y_true))


def scores(draw):
    """Right names, and adjusted Rand index, of the cells without a name, by method."""
    side = sample_labels(y_true, 0.02, random_state=draw)
    y = np.append(side.classes, -1)[side.labels].astype(int)
    hidden = y < 0
    found = {}
    for emission, X in (
        ("multinomial", counts),
        ("poisson", counts),
        ("gaussian", components),
        ("gaussian_diag", components),
    ):
        model = BayesianMixture(n_types, emission=emission, random_state=0).fit(X, y)
        found[f"BayesianMixture, {emission}"] = model.cluster_names_[model.labels_]
    spreading = LabelSpreading(kernel="knn", n_neighbors=15).fit(components, y)
    training = SelfTrainingClassifier(LogisticRegression(max_iter=1000)).fit(components, y)
    found["LabelSpreading"] = spreading.transduction_
    found["SelfTraining, logistic regression"] = training.predict(components)
    return {
        name: (
            np.mean(labels[hidden] == y_true[hidden]),
            adjusted_rand_score(y_true[hidden], labels[hidden]),
        )
        for name, labels in found.items()
    }


table = [scores(draw) for draw in range(DRAWS)]
print(f"{counts.shape[0]} cells, {source}: right names, adjusted Rand index")
means = {name: np.mean([row[name] for row in table], axis=0) for name in table[0]}
for name, (right, rand) in means.items():
    spread = np.std([row[name] for row in table], axis=0, ddof=1)
    print(f"{name:34s} {right:.3f} ± {spread[0]:.3f}   {rand:.3f} ± {spread[1]:.3f}")

# %%

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.barh(list(means)[::-1], [right for right, _ in means.values()][::-1])
ax.set(xlabel="right names among cells without one", xlim=(0, 1))
plt.show()
