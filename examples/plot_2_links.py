"""
Pairs: together, apart
======================

Four groups, to be divided into two. Left and right, or top and bottom? The data fit both. Fifteen
pairs decide.
"""

import matplotlib.pyplot as plt

from sidelight import AnnotatedGaussianMixture
from sidelight.datasets import make_two_views
from sidelight.metrics import adjusted_rand
from sidelight.side import sample_pairs

sample = make_two_views(random_state=0)

# %%
# Two people look at fifteen pairs each. One has left and right in mind, the other top and bottom.

views = {"left and right": sample.horizontal, "top and bottom": sample.vertical}
settings = {"accuracy": 0.99, "covariance_type": "diag", "random_state": 0}
figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
for ax, (name, meant) in zip(axes, views.items(), strict=True):
    side = sample_pairs(meant, 15, random_state=0)
    model = AnnotatedGaussianMixture(2, **settings).fit(sample.X, side=side)
    print(f"{name}: {side}, ARI {adjusted_rand(meant, model.labels_):.2f}")
    model.result_.plot(sample.X, ax=ax).set_title(f"{name} is meant")
plt.show()

# %%
# ``accuracy=0.99`` says that these people are right; by default the model estimates the accuracy.
# ``covariance_type="diag"`` allows for long clusters. Broken statements are listed in words.

print(model.result_, model.result_.broken())
