"""
Which question next?
====================

Forty questions, drawn at random or chosen by the asker. Chosen questions give better clusters for
the same number of answers.
"""

# %%
# Three overlapping clouds. The answers come from the truth, and one in ten is wrong.

import matplotlib.pyplot as plt

from sidelight.datasets import make_gaussian_mixture
from sidelight.query import Asker, RandomAsker, simulate

sample = make_gaussian_mixture(3, 200, 4, max_variance=0.3, random_state=0)
budgets = (0, 5, 10, 20, 30, 40)

# %%
# Both askers have the same model; only the choice of questions differs.

askers = {
    "chosen": Asker(sample.X, kinds=("pair",), audit=0.0, refit=None, random_state=0),
    "at random": RandomAsker(sample.X, refit=None, random_state=0),
}
curves = {
    name: simulate(asker, sample.y, budgets=budgets, wrong=0.1, random_state=0)
    for name, asker in askers.items()
}

# %%
# The adjusted Rand index of all rows against the number of answers.

fig, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
for name, curve in curves.items():
    ax.plot(curve.n_answers, curve.ari, marker="o", label=f"pairs {name}")
ax.set(xlabel="answers", ylabel="adjusted Rand index", ylim=(0, 1.02))
ax.legend(loc="lower right")
plt.show()

# %%
# The asker also estimates the accuracy of the person who answered.

value, low, high = curves["chosen"].asker.accuracies[None]
print(f"right in {value:.0%} of cases ({low:.0%} to {high:.0%})")
