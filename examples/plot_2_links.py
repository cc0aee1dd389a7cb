"""
Pairs: together, apart
======================

Nobody knows a class here, but somebody can compare. Three rings cannot be told apart by distance
alone; a few pairs say which points belong together.
"""

import matplotlib.pyplot as plt

from sidelight import MarkovAggregation
from sidelight.datasets import make_concentric_circles
from sidelight.metrics import adjusted_rand
from sidelight.side import sample_pairs

X, y = make_concentric_circles(100, random_state=3)

# %%
# `MarkovAggregation` follows a walk from neighbour to neighbour, so rings are natural for it.
# Statements about pairs hold: no cost outweighs them.

figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
for ax, n_pairs in zip(axes, (0, 20, 60), strict=True):
    side = sample_pairs(y, n_pairs, random_state=0)
    model = MarkovAggregation(3, random_state=0).fit(X, side=side)
    score = adjusted_rand(y, model.labels_)
    model.result_.plot(X, ax=ax).set_title(f"{n_pairs} pairs: ARI {score:.2f}")
plt.show()

# %%
# What is broken, if anything, is listed in words.

print(model.result_, model.result_.broken())
