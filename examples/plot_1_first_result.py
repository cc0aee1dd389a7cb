"""
A first result
==============

178 wines of three growers, thirteen measurements of each. Somebody knows the grower of nine of
them, and that is enough to name all clusters.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from sidelight import PartitionLevelKMeans
from sidelight.metrics import accuracy
from sidelight.side import sample_labels

wine = load_wine()
X = scale(wine.data)
growers = np.array(["barolo", "grignolino", "barbera"])[wine.target]

# %%
# What is known goes in beside the data. Here it is drawn from the truth; a column with gaps would
# do as well: ``fit(X, y)`` with None, NaN or −1 where nobody knows.

side = sample_labels(growers, 9, random_state=1)
print(side)

# %%
# Without help there are three clusters without names; with help they have those that people gave.

alone = PartitionLevelKMeans(3, random_state=0).fit(X)
helped = PartitionLevelKMeans(3, random_state=0).fit(X, side=side)
print(alone.cluster_names_, helped.cluster_names_)
print(f"wines in the right cluster: {accuracy(growers, helped.labels_):.0%}")

# %%
# The picture has rings around the wines that somebody knew.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
alone.result_.plot(X, ax=axes[0]).set_title("nobody asked")
helped.result_.plot(X, ax=axes[1]).set_title("nine wines known")
plt.show()
