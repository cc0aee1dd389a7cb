"""
Classes that overlap
====================

Figure 10 of the paper behind `AnnotatedGaussianMixture`: orthopaedic patients, two of whose three
classes overlap. A mixture without statements puts one of its centres in the wrong place. With as
many correct pairs as patients, it finds the right place.

The data set *vertebral* does not come with the package. Without its file, the example uses iris,
in which two classes overlap too.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight import AnnotatedGaussianMixture
from sidelight.datasets import load
from sidelight.exceptions import DatasetNotFoundError
from sidelight.metrics import centroid_index, normalized_mutual_info
from sidelight.report import align_clusters, plot_clusters
from sidelight.side import sample_pairs

try:
    data = load("vertebral")
except DatasetNotFoundError:
    data = load("iris")
side = sample_pairs(data.y, len(data.y), random_state=0)

# All answers are right, and ``accuracy=1.0`` says so.
alone = AnnotatedGaussianMixture(3, random_state=0).fit(data.X)
helped = AnnotatedGaussianMixture(3, accuracy=1.0, random_state=0).fit(data.X, side=side)

# %%
# The centroid index counts the centres that are in the wrong place.

true_means = np.array([data.X[data.y == k].mean(axis=0) for k in range(3)])
for name, model in (("data alone", alone), (f"with {len(data.y)} pairs", helped)):
    misplaced = centroid_index(true_means, model.means_)
    agreement = normalized_mutual_info(data.y, model.labels_)
    print(f"{name}: centroid index {misplaced}, NMI {agreement:.2f}")

# %%
# Two of the measurements:

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
partitions = {"truth": data.y, "data alone": alone.labels_, "with pairs": helped.labels_}
for axis, (title, labels) in zip(axes, partitions.items(), strict=True):
    labels = align_clusters(labels, data.y)  # one colour per cluster in all pictures
    plot_clusters(data.X[:, [1, 3]], labels, title=title, ax=axis)
    axis.set(xlabel=data.feature_names[1], ylabel=data.feature_names[3])
plt.show()
