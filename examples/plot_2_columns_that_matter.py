"""
Columns that matter
===================

Three classes in two columns of small variance, beside six wide columns of noise. The distances that
k-means sees are noise. `DiscriminativeClustering` learns from 45 labels which directions matter.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from sidelight import DiscriminativeClustering, PartitionLevelKMeans, StatementMetric

rng = np.random.default_rng(0)
truth = rng.integers(3, size=300)
corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
X = np.hstack([corners[truth] + 0.15 * rng.normal(size=(300, 2)), 2 * rng.normal(size=(300, 6))])
known = np.where(np.arange(300) < 45, truth, -1)

models = {
    "PartitionLevelKMeans": PartitionLevelKMeans(3, random_state=0),
    "DiscriminativeClustering": DiscriminativeClustering(3, random_state=0),
}
for name, model in models.items():
    rest = adjusted_rand_score(truth[45:], model.fit(X, known).labels_[45:])
    print(f"{name}: ARI {rest:.2f} on the rows without labels")

# %%
# The map that it learns first can be used alone, before any other model.

Z = StatementMetric().fit_transform(X, known)
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, rows, title in zip(axes, (X, Z), ("as it is", "in the learned metric"), strict=True):
    ax.scatter(rows[:, 0], rows[:, 2], c=models["DiscriminativeClustering"].labels_, s=12)
    ax.set(title=title, xlabel="a column with classes", ylabel="a column of noise")
    ax.set_aspect("equal")
plt.show()
