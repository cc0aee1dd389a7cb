"""
Groups that share a cluster
===========================

You know which bottles came out of one case, but not which of three wines it was. In
`EquivalenceGaussianMixture` such rows share a component, and cases of different wines are kept
apart. If you know the wine of some bottles, use `PartialLabelGaussianMixture`.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight import EquivalenceGaussianMixture, PartialLabelGaussianMixture, SideInformation
from sidelight.datasets import load
from sidelight.metrics import normalized_mutual_info
from sidelight.report import align_clusters, plot_clusters
from sidelight.side import sample_labels

data = load("wine")
rng = np.random.default_rng(0)

# %%
# Ten groups of six rows of one class each; the class is not given.

rows = [rng.choice(np.flatnonzero(data.y == k % 3), 6, replace=False) for k in range(10)]
must = np.concatenate([np.column_stack([group[:-1], group[1:]]) for group in rows])
cannot = [(rows[k][0], rows[k + 1][0]) for k in range(9)]
side = SideInformation.from_pairs(must=must, cannot=cannot, n_samples=len(data.y))
labels = sample_labels(data.y, n_labels=18, random_state=0)

alone = EquivalenceGaussianMixture(3, n_init=3, random_state=0).fit(data.X)
groups = EquivalenceGaussianMixture(3, n_init=3, random_state=0).fit(data.X, side=side)
known = PartialLabelGaussianMixture(3, random_state=0).fit(data.X, side=labels)

# %%
# Only rows without statements are judged.

for name, model, said in (
    ("data alone", alone, side),
    (f"with {len(rows)} groups", groups, side),
    ("with 18 labels", known, labels),
):
    unseen = np.setdiff1d(np.arange(len(data.y)), said.annotated_rows)
    agreement = normalized_mutual_info(data.y[unseen], model.labels_[unseen])
    print(f"{name}: NMI {agreement:.2f}")
print(f"cannot-links were summed: {groups.inference_}")

# %%
# With the number of clusters left open, BIC decides.

found = PartialLabelGaussianMixture(
    "bic", covariance_type="bic", max_clusters=5, n_init=2, random_state=0
).fit(data.X, side=labels)
print(f"BIC: {found.n_clusters_} clusters, covariances {found.covariance_type_}")

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for axis, (title, found_labels) in zip(
    axes, {"truth": data.y, "with groups": groups.labels_}.items(), strict=True
):
    plot_clusters(data.X[:, [6, 12]], align_clusters(found_labels, data.y), title=title, ax=axis)
plt.show()
