"""
A table of measurements, categories and counts
==============================================

Six hundred patients of three kinds. Two measurements separate the first kind from the others, a
category the second, and a count the third. Only all columns together separate all three. Five in a
hundred are labelled, and one in ten of these labels is wrong.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from sidelight import BayesianMixture
from sidelight.side import sample_labels

DRAWS = int(os.environ.get("DRAWS", "2"))
EMISSION = [("gaussian", [0, 1]), ("categorical", [2]), ("poisson", [3])]


def patients(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=600)
    measured = rng.normal(size=(600, 2)) + 2.2 * (truth == 0)[:, None]
    usual = rng.integers(1, 5, size=600)
    kind = np.where((truth == 1) & (rng.random(600) < 0.8), 0, usual)
    visits = rng.poisson(np.where(truth == 2, 8.0, 3.0))
    return np.column_stack([measured, kind, visits]), truth


def scores(draw):
    """Share of right kinds among the patients without a label, by method."""
    X, truth = patients(draw)
    side = sample_labels(truth, 0.05, accuracy=0.9, random_state=draw)
    y = np.append(side.classes, -1)[side.labels].astype(int)
    hidden = y < 0
    prepared = make_column_transformer(
        (StandardScaler(), [0, 1, 3]), (OneHotEncoder(sparse_output=False), [2])
    ).fit_transform(X)
    found = {}
    for name, emission, columns in (
        ("BayesianMixture, mixed", EMISSION, [0, 1, 2, 3]),
        ("BayesianMixture, measurements alone", "gaussian", [0, 1]),
    ):
        model = BayesianMixture(3, emission=emission, random_state=0).fit(X[:, columns], y)
        found[name] = model.cluster_names_[model.labels_]
    spreading = LabelSpreading(kernel="knn", n_neighbors=15).fit(prepared, y)
    training = SelfTrainingClassifier(LogisticRegression()).fit(prepared, y)
    found["LabelSpreading"] = spreading.transduction_
    found["SelfTraining, logistic regression"] = training.predict(prepared)
    return {name: np.mean(labels[hidden] == truth[hidden]) for name, labels in found.items()}


table = [scores(draw) for draw in range(DRAWS)]
for name in table[0]:
    values = [row[name] for row in table]
    print(f"{name:36s} {np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}")

# %%
# ``parts_`` has the parameters of the clusters, one dict for each entry of the list.

X, truth = patients(0)
model = BayesianMixture(3, emission=EMISSION, random_state=0)
model.fit(X, side=sample_labels(truth, 0.05, random_state=0))
gaussian, categorical, poisson = model.parts_

figure, axes = plt.subplots(1, 3, figsize=(9, 2.6), layout="constrained", sharey=True)
shown = (gaussian["means"], categorical["probabilities"][0], poisson["rates"])
for ax, values, title in zip(axes, shown, ("means", "probabilities", "rates"), strict=True):
    ax.imshow(values, aspect="auto")
    ax.set(title=title, yticks=range(3))
axes[0].set_ylabel("cluster")
plt.show()
