"""
A first result
==============

569 tumours with thirty measurements each. A doctor compares sixty pairs of them: "same kind" or
"different kind". The answers more than halve the number of other tumours in the wrong cluster.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from sidelight import DiscriminativeClustering
from sidelight.report import align_clusters, plot_clusters, project
from sidelight.side import sample_pairs

tumours = load_breast_cancer()
X, truth = scale(tumours.data), tumours.target

# %%
# Here the statements are drawn from the truth; your own come from a file, a list of pairs or the
# workbench.

side = sample_pairs(truth, 60, random_state=0)
print(side)

# %%
# K-means without statements, and the default model with them.

alone = KMeans(2, n_init=10, random_state=0).fit(X)
helped = DiscriminativeClustering(2, random_state=0).fit(X, side=side)

# %%
# Only rows without statements are judged. `align_clusters` gives the clusters of both pictures the
# numbers of the truth, and so the same colours.

free = ~np.isin(np.arange(len(X)), side.annotated_rows)
plane = project(X)
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, name, model in zip(axes, ("k-means", "with 60 answers"), (alone, helped), strict=True):
    labels = align_clusters(model.labels_, truth)
    wrong = np.flatnonzero(free & (labels != truth))
    title = f"{name}: {len(wrong)} of {free.sum()} wrong"
    print(title)
    plot_clusters(plane, labels, names=tumours.target_names, title=title, ax=ax)
    ax.scatter(*plane[wrong].T, s=70, facecolors="none", edgecolors="#c00", linewidths=1.2)
plt.show()
