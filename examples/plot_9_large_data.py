"""
Few passes over many rows: batches
==================================

With ``batch_size`` the posteriors of a BayesianMixture move after every batch, not after every pass
over all rows. With time for a few passes only, batches are much better; in the end both reach
nearly the same bound.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sidelight import BayesianMixture
from sidelight.datasets import make_blobs

warnings.simplefilter("ignore", ConvergenceWarning)  # a few passes are meant to be few
sample = make_blobs(20_000, 8, 12, separation=5.0, random_state=0)
y = np.where(np.arange(20_000) % 100 == 0, sample.y, -1)
PASSES = (3, 4, 6, 10, 20)


def bound(passes, batch_size=None):
    """The bound per row after some passes; the ordinary iteration that ends a run counts two."""
    epochs = passes if batch_size is None else passes - 2
    options = {"n_init": 1, "max_iter": epochs, "tol": 0.0, "random_state": 0}
    model = BayesianMixture(16, batch_size=batch_size, **options).fit(sample.X, y)
    return model.objective_ / len(y)


curves = {
    name: [bound(passes, size) for passes in PASSES]
    for name, size in (("all rows", None), ("batches of 2,000", 2000), ("batches of 500", 500))
}
for name, values in curves.items():
    print(f"{name:18s}", "  ".join(f"{value:.4f}" for value in values))

# %%

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, values in curves.items():
    ax.plot(PASSES, values, marker="o", label=name)
ax.set(xscale="log", xticks=PASSES, xticklabels=PASSES)
ax.set(xlabel="passes over the rows", ylabel="bound per row, nats")
ax.legend()
plt.show()
