"""Words and typical sentences of the texts of a cluster."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight.tables import Prepared, Table, as_texts

_WORDS = 8
_SENTENCES = 3
_LONG = 200  # characters of a sentence that is shown


def texts_of_clusters(
    table: Table, prepared: Prepared, labels: NDArray[Any], n_clusters: int
) -> list[list[dict[str, Any]]]:
    """For each cluster and each column of texts: column, words, sentences.

    Words are those whose mean weight (TF-IDF) in the cluster is furthest above that elsewhere.
    Sentences are those nearest to the mean of the cluster.
    """
    found: list[list[dict[str, Any]]] = [[] for _ in range(n_clusters)]
    start = 0
    for column in prepared.preparation.columns:
        here = slice(start, start + len(column.names))
        start = here.stop
        if column.text is None:
            continue
        texts = as_texts(table.columns[column.name])
        words = _words(texts, labels, n_clusters)
        sentences = _sentences(texts, prepared.X[:, here], labels, n_clusters)
        for k in range(n_clusters):
            told = {"column": column.name, "words": words[k], "sentences": sentences[k]}
            found[k].append(told)
    return found


def _members(labels: NDArray[Any], n_clusters: int) -> Any:
    """Clusters by rows, ones."""
    place = (labels, np.arange(len(labels)))
    return sparse.coo_array((np.ones(len(labels)), place), (n_clusters, len(labels))).tocsr()


def _words(texts: Sequence[str | None], labels: NDArray[Any], n_clusters: int) -> list[list[str]]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    counted = TfidfVectorizer(sublinear_tf=True, max_features=10_000)
    try:
        weights = counted.fit_transform([text or "" for text in texts])
    except ValueError:  # no word at all
        return [[] for _ in range(n_clusters)]
    names = counted.get_feature_names_out()
    sums = (_members(labels, n_clusters) @ weights).toarray()
    sizes = np.bincount(labels, minlength=n_clusters)[:, None]
    others = (sums.sum(axis=0) - sums) / np.maximum(len(labels) - sizes, 1)
    above = sums / np.maximum(sizes, 1) - others
    first = np.argsort(-above, axis=1, kind="stable")[:, :_WORDS]
    return [[str(names[w]) for w in first[k] if above[k, w] > 0] for k in range(n_clusters)]


def _sentences(
    texts: Sequence[str | None], X: NDArray[Any], labels: NDArray[Any], n_clusters: int
) -> list[list[str]]:
    centers = _members(labels, n_clusters) @ X
    near = np.einsum("nd,nd->n", X, centers[labels])
    order = np.lexsort((np.arange(len(labels)), -near, labels))
    bounds = np.searchsorted(labels[order], np.arange(n_clusters + 1))
    return [
        _first_texts(texts, order[bounds[k] : bounds[k + 1]].tolist()) for k in range(n_clusters)
    ]


def _first_texts(texts: Sequence[str | None], rows: list[int]) -> list[str]:
    """The first different texts of some rows, cut short where they are long."""
    shown: dict[str, None] = {}
    for row in rows:
        text = " ".join((texts[row] or "").split())
        if text:
            shown[text if len(text) <= _LONG else f"{text[:_LONG]}…"] = None
        if len(shown) == _SENTENCES:
            break
    return list(shown)
