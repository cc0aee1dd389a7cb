"""
K-means with pairs, one by one
==============================

Three overlapping groups and 60 pairs, of which a few are wrong. Models that hold every statement
follow the wrong ones too; models that give statements a cost can overrule them. Scores are of the
rows without statements.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight import LCVQE, COPKMeans, PCKMeans, SeededKMeans
from sidelight.datasets import make_blobs
from sidelight.metrics import adjusted_rand
from sidelight.report import align_clusters, plot_clusters
from sidelight.side import sample_pairs

sample = make_blobs(300, 2, 3, separation=4.0, random_state=1)
side = sample_pairs(sample.y, 60, accuracy=0.9, random_state=0)
untouched = np.ones(300, dtype=bool)
untouched[side.annotated_rows] = False

# %%
# Without statements, `SeededKMeans` is k-means.

models = [PCKMeans(3, random_state=0), LCVQE(3, random_state=0), COPKMeans(3, random_state=0)]
plain = SeededKMeans(3, random_state=0).fit(sample.X)
print(f"no pairs: {adjusted_rand(sample.y[untouched], plain.labels_[untouched]):.2f}")
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, model in zip(axes, models, strict=True):
    name = type(model).__name__
    try:
        model.fit(sample.X, side=side)
    except ValueError as error:
        ax.set(title=f"{name}: cannot keep all", xticks=[], yticks=[])
        print(f"{name}: {error}")
        continue
    score = adjusted_rand(sample.y[untouched], model.labels_[untouched])
    print(f"{name}: {score:.2f}, {model.result_.violated.sum()} of 60 pairs broken")
    broken = np.flatnonzero(model.result_.violated)
    labels = align_clusters(model.labels_, sample.y)  # one colour per cluster in all pictures
    plot_clusters(sample.X, labels, side=side, broken=broken, title=name, ax=ax)
plt.show()

# %%
# Clusters of equal sizes, with the same pairs: every size is kept.

model = PCKMeans(3, min_size=100, max_size=100, random_state=0).fit(sample.X, side=side)
print(np.bincount(model.labels_))
