"""Advice on estimated accuracies that say little about annotators.

An estimated accuracy compares people with clusters. If the clusters do not follow the classes, it
says little about people; then agreement between people who labelled the same rows is the better
evidence.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight.side import LABEL, SideInformation

_COMMON = 5  # rows that two annotators have to share before their agreement counts
_AGREED = 0.7  # of them with the same label


def doubts(
    side: SideInformation,
    violated: NDArray[np.bool_],
    accuracy: dict[Any, float],
    chance: dict[Any, float],
) -> list[str]:
    """Sentences about annotators whose estimated accuracy says little about them; often none.

    Parameters
    ----------
    side : SideInformation
        The statements.
    violated : ndarray of shape (n_statements,)
        Which of them the clusters contradict.
    accuracy, chance : dict
        Of each annotator whose accuracy was estimated: that, and what guessing would get right.
    """
    names = (*side.annotators, None)
    common, same, kept = _shared_labels(side, violated)
    agreed = (common >= _COMMON) & (same >= _AGREED * common)
    contradicted = agreed & (kept < 0.5 * same) & ~np.eye(len(names), dtype=bool)
    told = []
    if contradicted.any():
        e, f = divmod(int(np.where(contradicted, same, -1).argmax()), len(names))
        told.append(
            f"{names[e]!r} and {names[f]!r} gave the same label to {same[e, f]} of the "
            f"{common[e, f]} rows that both labelled, and the clusters contradict them in "
            f"{same[e, f] - kept[e, f]}: the clusters do not follow these classes, so accuracies "
            "and doubtful statements here are no judgement of the annotators. Try "
            'DiscriminativeClustering, or metric="statements".'
        )
    spoke = np.flatnonzero(common.diagonal())
    unknown = [
        e
        for e in spoke
        if names[e] in accuracy
        and 2 * accuracy[names[e]] < 1 + chance[names[e]]
        and not (np.delete(common[e], e) >= _COMMON).any()
    ]
    if unknown:
        who = ", ".join(f"{names[e]!r} ({accuracy[names[e]]:.0%})" for e in unknown[:5])
        told.append(
            f"labels of {who} fit the clusters little better than guesses would. Nobody else "
            f"labelled {_COMMON} of the same rows, so this may be the clusters' fault or theirs: "
            "have two people label the same rows before you blame anybody."
        )
    return told


def _shared_labels(side: SideInformation, violated: NDArray[np.bool_]) -> tuple[Any, Any, Any]:
    """Rows that two annotators labelled, with the same class, and in a cluster of that class.

    Arrays (annotators, annotators), "not told" last. Vocabularies are not compared.
    """
    said = side.statements
    n_people = len(side.annotators) + 1
    label = np.flatnonzero((said.kind == LABEL) & said.binding)
    who = said.annotator[label] % n_people
    place = said.vocabulary[label] * np.int64(side.n_samples) + said.i[label]
    _, row = np.unique(place, return_inverse=True)
    _, row_class = np.unique([row, said.class_code[label]], axis=1, return_inverse=True)

    def shared(number: Any, chosen: Any) -> Any:
        number, people = number[chosen], who[chosen]
        said_it = sparse.csr_array(
            (np.ones(len(number), dtype=np.int64), (people, number)),
            shape=(n_people, int(number.max(initial=-1)) + 1),
        )
        said_it.data[:] = 1  # a repeated label counts once
        return (said_it @ said_it.T).toarray()

    everything = np.ones(len(label), dtype=bool)
    common, same = shared(row, everything), shared(row_class, everything)
    return common, np.minimum(same, common), shared(row_class, ~violated[label])
