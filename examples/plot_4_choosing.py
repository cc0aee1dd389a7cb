"""
Which model, and how many clusters?
===================================

A hundred pairs, held back in turn, show how good each number of clusters is.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from sidelight.select import compare
from sidelight.side import sample_pairs

X, truth = scale(load_wine().data), load_wine().target
side = sample_pairs(truth, 100, random_state=0)  # people would say these

# %%
# Every candidate is fitted without a part of the pairs, and judged by these.

models = ["PCKMeans", "StructuralEntropyTree", KMeans(n_init=5)]
found = compare(X, side=side, models=models, n_clusters=range(2, 8), random_state=0)
print(found.in_words())

# %%
# The score with one standard error. Where bars overlap, a hundred pairs hardly decide.

figure, axis = plt.subplots(figsize=(6, 3.5), layout="constrained")
for name in ("PCKMeans", "KMeans"):
    rows = sorted((row for row in found.rows if row.model == name), key=lambda r: r.n_clusters)
    axis.errorbar(
        [row.n_clusters for row in rows],
        [row.score for row in rows],
        yerr=[row.standard_error for row in rows],
        marker="o",
        capsize=3,
        label=name,
    )
axis.set(xlabel="number of clusters", ylabel="score by statements held back")
axis.legend()
plt.show()
