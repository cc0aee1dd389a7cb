"""
The letters of a text
=====================

A. A. Markov counted vowels and consonants in a poem. Here the only input is how often one letter
follows another. `MarkovAggregation` finds two groups of letters whose alternation is most
predictable.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from sidelight import MarkovAggregation, SideInformation

TEXT = """
A walk over the rows of a table goes from each row to one that is near it, again and again. Where
the rows fall into groups, the walk remains inside one group for a long time before it finds a way
out, and then it remains in another. So a partition of the rows is a good one when the group of
the next row can be told from the group of this row. The same idea works for every walk that
somebody has seen: the pages that a visitor opens one after another, the moods of a patient from
day to day, the places of a delivery van, or the letters of a sentence. All that has to be known
is how often one state follows another.
"""

letters = [c for c in TEXT.lower() if c.isalpha()]
names = sorted(set(letters))
number = {name: i for i, name in enumerate(names)}
counts = np.zeros((len(names), len(names)))
for one, next_one in pairwise(letters):
    counts[number[one], number[next_one]] += 1


def groups(model):
    """The letters of each cluster."""
    return ["".join(np.array(names)[model.labels_ == k]) for k in range(2)]


model = MarkovAggregation(2, chain="transition", random_state=0).fit(counts)
print(groups(model))

# %%
# How predictable is the next group from this one?

print(model.aggregated_chain_.round(2))

# %%
# A statement corrects one letter, which is rare here.

side = SideInformation.from_pairs(cannot=[("e", "k")], index=names)
told = MarkovAggregation(2, chain="transition", random_state=0).fit(counts, side=side)
print(groups(told), told.result_.broken())

# %%
# The counts, with the letters in the order of their groups.

order = np.argsort(told.labels_, kind="stable")
figure, ax = plt.subplots(figsize=(5.2, 4.6), layout="constrained")
picture = ax.imshow(counts[np.ix_(order, order)], cmap="Blues")
ax.set_xticks(range(len(names)), [names[k] for k in order])
ax.set_yticks(range(len(names)), [names[k] for k in order])
ax.set(xlabel="next letter", ylabel="letter")
figure.colorbar(picture, label="how often")
plt.show()
