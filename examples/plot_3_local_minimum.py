"""
Out of a local minimum
======================

Figure 1 of the paper behind `AnnotatedGaussianMixture`: 200 rows of a mixture of Gaussians, and 600
random pairs that a person compared. Without the pairs, the search ends in another partition than
the true one; the pairs lead it out, although every tenth is wrong.
"""

import matplotlib.pyplot as plt

from sidelight import AnnotatedGaussianMixture
from sidelight.datasets import make_gaussian_mixture
from sidelight.metrics import normalized_mutual_info
from sidelight.report import align_clusters, plot_clusters
from sidelight.side import sample_pairs

sample = make_gaussian_mixture(4, 200, 2, max_variance=0.25, random_state=0)
side = sample_pairs(sample.y, 600, accuracy=0.9, random_state=0)

alone = AnnotatedGaussianMixture(4, random_state=0).fit(sample.X)
helped = AnnotatedGaussianMixture(4, random_state=0).fit(sample.X, side=side)

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
partitions = {"truth": sample.y, "data alone": alone.labels_, "600 pairs": helped.labels_}
for axis, (title, labels) in zip(axes, partitions.items(), strict=True):
    agreement = normalized_mutual_info(sample.y, labels)
    labels = align_clusters(labels, sample.y)  # one colour per cluster in all pictures
    plot_clusters(sample.X, labels, title=f"{title}, NMI {agreement:.2f}", ax=axis)
plt.show()

# %%
# The model also estimates the accuracy of the pairs:

print(f"{helped.annotator_accuracy_[None]:.0%} of the pairs are right")
