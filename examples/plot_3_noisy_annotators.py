"""
Annotators who are sometimes wrong
==================================

Three people compare pairs of rows. One is nearly always right, one errs in every fifth case, and
one is hardly better than chance. `AnnotatedGaussianMixture` estimates the accuracy of each, and
finds the statements that are probably wrong.
"""

import matplotlib.pyplot as plt
import numpy as np

from sidelight import AnnotatedGaussianMixture
from sidelight.datasets import make_gaussian_mixture
from sidelight.metrics import normalized_mutual_info
from sidelight.report import plot_clusters
from sidelight.side import sample_pairs

people = {"ann": 0.95, "bob": 0.80, "cy": 0.55}
sample = make_gaussian_mixture(3, 200, 2, max_variance=0.25, random_state=4)
side = sample_pairs(sample.y, 900, annotators=people, random_state=4)

alone = AnnotatedGaussianMixture(3, random_state=0).fit(sample.X)
helped = AnnotatedGaussianMixture(3, random_state=0).fit(sample.X, side=side)
for name, model in (("alone", alone), ("with statements", helped)):
    print(f"NMI {name}: {normalized_mutual_info(sample.y, model.labels_):.2f}")

# %%
# How often is each person right? The model estimates it.

for name, true in people.items():
    print(f"{name}: {true:.0%} true, {helped.annotator_accuracy_[name]:.0%} estimated")

# %%
# Each statement has a probability of being wrong. The true mistakes, which the model has not
# seen, are red.

wrong = side.violated(sample.y)
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
plot_clusters(sample.X, helped.labels_, title="clusters", ax=axes[0])
bins = np.linspace(0, 1, 21)
axes[1].hist(
    [helped.statement_error_[~wrong], helped.statement_error_[wrong]],
    bins=bins,
    stacked=True,
    color=["tab:blue", "tab:red"],
    label=["right", "wrong"],
)
axes[1].set(xlabel="estimated probability of being wrong", ylabel="statements")
axes[1].legend(title="truth")
plt.show()

# %%
# The most suspicious ones in words, to be asked again:

for k in np.argsort(-helped.statement_error_)[:3].tolist():
    print(f"{side.describe(k)}: {helped.statement_error_[k]:.1%}")
