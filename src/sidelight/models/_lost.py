"""Labelled classes without a cluster: which, why, and what to do."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight.models._naming import Naming
from sidelight.side import SideInformation, brief

_SHOWN = 5  # classes that one sentence names, and clusters of one class


class Lost(NamedTuple):
    """Labelled classes without a cluster: (vocabulary, class), and sentences about them."""

    classes: list[tuple[Any, Any]]
    sentences: list[str]


def find_lost(
    side: SideInformation, labels: NDArray[Any], naming: Naming, *, more_clusters: bool
) -> Lost:
    """The labelled classes without a cluster, by vocabulary, and why they have none.

    labels : the clusters of the rows of ``side``, by their final numbers; −1 is noise.
    more_clusters : whether the user can ask for more clusters than these.
    """
    said = side.canonical
    said = said.take(said.is_class & (said.sign > 0))
    lost = Lost([], [])
    more = ", or ask for more clusters" if more_clusters else ""
    for vocabulary in [*range(len(side.vocabularies)), -1]:
        here = said.take(said.vocabulary == vocabulary)
        used = np.unique(here.class_code)
        gone = used[naming.clusters[vocabulary, used] < 0]
        if not len(gone):
            continue
        whose = (*side.vocabularies, None)[vocabulary]
        of = "" if whose is None else f" of vocabulary {_named(whose)}"
        lost.classes.extend((whose, side.classes[c]) for c in gone)
        if len(used) > len(naming.names):
            names = _listed([side.classes[c] for c in gone])
            lost.sentences.append(_too_few(names, of, len(gone), len(used), naming, more_clusters))
            continue
        for code in gone[:_SHOWN]:
            where = labels[np.unique(here.i[here.class_code == code])]
            lost.sentences.append(
                f"Class {_named(side.classes[code])}{of} has no cluster: {_where(where, naming)}. "
                f"Give more labels of it, or labels of more weight{more}."
            )
        if len(gone) > _SHOWN:
            names = _listed([side.classes[c] for c in gone[_SHOWN:]])
            lost.sentences.append(f"The same holds for {names}{of}.")
    return lost


def _too_few(
    names: str, of: str, n_gone: int, n_classes: int, naming: Naming, more_clusters: bool
) -> str:
    n_clusters = len(naming.names)
    subject = f"Class {names}{of} has" if n_gone == 1 else f"Classes {names}{of} have"
    there = "there is 1 cluster" if n_clusters == 1 else f"there are {n_clusters:,} clusters"
    what = f"Ask for at least {n_classes:,} clusters" if more_clusters else "Give more labels"
    return (
        f"{subject} no cluster: {there} for {n_classes:,} labelled classes. "
        f"{what}, or give classes that belong together one name."
    )


def _where(clusters: NDArray[Any], naming: Naming) -> str:
    """In which clusters the labelled rows of a class are, the one with the most rows first."""
    found, n_rows = np.unique(clusters, return_counts=True)
    order = np.argsort(-n_rows, kind="stable")
    if len(clusters) == 1:
        rows = "its labelled row is"
    else:
        rows = f"its {len(clusters):,} labelled rows are"
    places = [
        "no cluster" if found[k] < 0 else f"cluster {_named(naming.names[found[k]])}" for k in order
    ]
    if len(places) > 1:
        places = [f"{p} ({n:,})" for p, n in zip(places, n_rows[order].tolist(), strict=True)]
    return f"{rows} in {_joined(places)}"


def _named(name: Any) -> str:
    return brief(repr(name.item() if isinstance(name, np.generic) else name))


def _listed(names: list[Any]) -> str:
    return _joined([_named(name) for name in names])


def _joined(parts: list[str]) -> str:
    """Parts in one sentence: a, b and c; what is more than a few is counted."""
    if len(parts) > _SHOWN:
        parts = [*parts[:_SHOWN], f"{len(parts) - _SHOWN:,} more"]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
