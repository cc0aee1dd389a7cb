"""
An unknown number of clusters
=============================

Four groups, and people who have named two of them on a few rows. `BayesianMixture` finds how many
clusters there are, keeps the names that are given, and makes new ones for the rest.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight import BayesianMixture
from sidelight.datasets import make_merged_gaussians

sample = make_merged_gaussians(random_state=0)
names = np.array(["bottom", "left", "right", "top"], dtype=object)[sample.components]
told = (np.arange(400) % 20 == 0) & np.isin(names, ["bottom", "left"])
known = np.where(told, names, None)

model = BayesianMixture(n_components=10, random_state=0).fit(sample.X, known)
print(f"{told.sum()} rows named; {model.n_clusters_} clusters: {', '.join(model.cluster_names_)}")

# %%
# The limit of ten was not reached: components that are not needed stay empty.
# ``predict_proba`` also takes new rows; here every point of the plane.

across, up = np.meshgrid(np.linspace(-6, 6, 121), np.linspace(-9, 9, 181))
sure = model.predict_proba(np.c_[across.ravel(), up.ravel()]).max(axis=1).reshape(up.shape)

figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained", sharey=True)
model.result_.plot(sample.X, ax=axes[0]).set_title(f"{told.sum()} of 400 rows named")
shade = axes[1].contourf(across, up, sure, levels=np.linspace(0.4, 1, 13), cmap="viridis")
figure.colorbar(shade, label="probability of the most probable cluster")
axes[1].set_title("membership")
plt.show()

# %%
# A name on the wrong rows is evidence like any other, worth ``side_weight`` nats (3 by default:
# wrong in one of twenty cases), and the data may overrule it.

misled = known.copy()
misled[(names == "top").nonzero()[0][0]] = "bottom"
again = BayesianMixture(n_components=10, random_state=0).fit(sample.X, misled)
print(again.result_.broken())
