"""
Topics of texts, with a few of them named
=========================================

A thousand texts, as counts of words, from eight topics; three in a hundred are labelled. The
emission "multinomial" takes the sparse counts as they are. Beside it, on the same rows, what
scikit-learn has for partial labels: LabelSpreading and self-training on 50 components of TF-IDF
weights, and self-training around naive Bayes on the counts. Scores are on the rows without a label.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from sidelight import BayesianMixture
from sidelight.datasets import make_documents
from sidelight.side import sample_labels

DRAWS = int(os.environ.get("DRAWS", "2"))
N_TOPICS = 8


def scores(draw):
    """Share of right topics among the texts without a label, by method."""
    texts = make_documents(1000, 2000, N_TOPICS, background=0.55, random_state=draw)
    side = sample_labels(texts.y, 0.03, random_state=draw)
    y = np.append(side.classes, -1)[side.labels].astype(int)
    hidden = y < 0
    X = texts.X
    svd = make_pipeline(TfidfTransformer(), TruncatedSVD(50, random_state=0), Normalizer())
    dense = svd.fit_transform(X)
    ours = BayesianMixture(N_TOPICS, emission="multinomial", random_state=0).fit(X, y)
    spreading = LabelSpreading(kernel="knn", n_neighbors=15).fit(dense, y)
    training = SelfTrainingClassifier(LogisticRegression()).fit(dense, y)
    bayes = SelfTrainingClassifier(MultinomialNB()).fit(X, y)
    found = {
        "BayesianMixture, multinomial": ours.cluster_names_[ours.labels_],
        "LabelSpreading": spreading.transduction_,
        "SelfTraining, logistic regression": training.predict(dense),
        "SelfTraining, naive Bayes": bayes.predict(X),
    }
    return {name: np.mean(labels[hidden] == texts.y[hidden]) for name, labels in found.items()}


table = [scores(draw) for draw in range(DRAWS)]
for name in table[0]:
    values = [row[name] for row in table]
    print(f"{name:34s} {np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}")

# %%
# The words of a topic are those that are more frequent in it than in the mean of all topics. With
# more components than topics, some stay empty, or find unnamed topics.

texts = make_documents(1000, 2000, N_TOPICS, background=0.55, random_state=0)
side = sample_labels(texts.y, 0.03, random_state=0)
model = BayesianMixture(N_TOPICS, emission="multinomial", random_state=0).fit(texts.X, side=side)
lift = np.log(model.probabilities_[:, :200] / model.probabilities_[:, :200].mean(axis=0))

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.imshow(lift, aspect="auto", cmap="RdBu_r", vmin=-2, vmax=2)
ax.set(xlabel="word, from the most frequent one", ylabel="topic")
plt.show()
