"""
Types and subtypes
==================

Two types, one with two and one with three parts. `StructuralEntropyTree` finds the
hierarchy: one fit gives the types, the parts, and the whole dendrogram.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight import StructuralEntropyTree
from sidelight.report import plot_clusters

rng = np.random.default_rng(0)
centers = np.array([[0, 0], [2, 0], [10, 0], [10, 2.5], [12.5, 1]])
X = np.repeat(centers, 30, axis=0) + rng.normal(scale=0.4, size=(150, 2))

# %%
# The types of two rows are known, which names the clusters.

known = np.full(150, None, dtype=object)
known[[0, 65]] = "plant", "animal"
model = StructuralEntropyTree(2, affinity="gaussian", n_neighbors=10, random_state=0)
model.fit(X, known)
print(model.result_, model.cluster_names_)

# %%
# ``cut`` takes other numbers of clusters from the same tree.

figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained", sharey=True)
model.result_.plot(X, ax=axes[0]).set_title("types")
plot_clusters(X, model.cut(5), title="parts: model.cut(5)", ax=axes[1])
plt.show()

# %%
# The dendrogram: heights are bits.

figure, ax = plt.subplots(figsize=(9.5, 4), layout="constrained")
model.binary_tree_.plot(model.labels_, ax=ax)
plt.show()
