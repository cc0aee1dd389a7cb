"""Statements as plain data: counts, groups, contradictions, disagreements, feasibility."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight.side import KINDS, SideInformation, alike

NOT_TOLD = "(not told)"


def summarize_side(
    side: SideInformation, *, clusters: int | None = None, limit: int = 10
) -> dict[str, Any]:
    """Counts, groups and contradictions of statements, as plain data.

    Parameters
    ----------
    side : SideInformation
        The statements.
    clusters : int, optional
        Number of clusters: check whether they can keep every statement.
    limit : int
        How many conflicts to explain.

    Returns
    -------
    dict
        ``n_rows``, ``n_statements``, ``n_rows_in_statements``; ``kinds`` (counts by kind);
        ``annotators`` (for each its counts by kind); ``classes``, ``class_counts`` (``class`` and
        ``n``, statements that name it, the most frequent first) and ``alike`` (classes that differ
        by case, blanks or one letter); ``groups`` (number of groups of
        more than one row, and the size of the largest); ``conflicts`` (``n_broken`` and ``chains``
        in words); ``disagreements`` (for each two annotators who judged the same rows or pairs:
        how many, and on how many they differ, with examples); ``feasible`` (``answer`` and
        ``reason``, or None if not asked). Texts, numbers, lists and dicts only.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> side = SideInformation.from_pairs(must=[(0, 1), (1, 2)], cannot=[(0, 2)], n_samples=4)
    >>> said = summarize_side(side, clusters=2)
    >>> said["kinds"]
    {'must': 2, 'cannot': 1}
    >>> said["conflicts"]["chains"]
    ['0 and 2 are kept apart, yet 0 with 1 (must), 1 with 2 (must)']
    """
    said = side.statements
    sizes = side.closure().sizes
    conflicts = side.conflicts(limit=limit)
    feasible = None if clusters is None else side.feasible(clusters)
    return {
        "n_rows": side.n_samples,
        "n_statements": side.n_statements,
        "n_rows_in_statements": len(said.rows),
        "kinds": _count_kinds(said.kind),
        "annotators": [
            {"annotator": str(name), "kinds": _count_kinds(said.kind[said.annotator == code])}
            for code, name in [*enumerate(side.annotators), (-1, NOT_TOLD)]
            if (said.annotator == code).any()
        ],
        "classes": list(side.classes),
        "class_counts": _count_classes(side),
        "alike": [list(group) for group in alike(side.classes)],
        "groups": {"n": int((sizes > 1).sum()), "largest": int(sizes.max(initial=0))},
        "conflicts": {"n_broken": len(conflicts.broken), "chains": list(map(str, conflicts))},
        "disagreements": disagreements(side),
        "feasible": feasible
        and {"clusters": clusters, "answer": feasible.answer, "reason": feasible.reason},
    }


def _count_kinds(kinds: NDArray[Any]) -> dict[str, int]:
    counts = np.bincount(kinds, minlength=len(KINDS)).tolist()
    return {kind: count for kind, count in zip(KINDS, counts, strict=True) if count}


def _count_classes(side: SideInformation) -> list[dict[str, Any]]:
    codes = side.statements.class_code
    counts = np.bincount(codes[codes >= 0], minlength=len(side.classes)).tolist()
    order = sorted(range(len(counts)), key=lambda k: -counts[k])
    return [{"class": side.classes[k], "n": counts[k]} for k in order]


def disagreements(side: SideInformation, *, limit: int = 20) -> list[dict[str, Any]]:
    """Annotators who judged the same row or pair: how often, and how often they differ.

    Two people judged the same thing if both labelled a row in one vocabulary, or both said must or
    cannot of a pair; of several answers of one person the last one counts.

    Parameters
    ----------
    side : SideInformation
        The statements.
    limit : int
        How many pairs of annotators to list, those with the most differences first.

    Returns
    -------
    list of dict
        ``annotators`` (two names), ``n_both`` (things that both judged), ``n_differ``, and
        ``examples``: up to three things on which they differ, in words.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> ann = SideInformation.from_labels(["a", "b", "b"], annotator="ann")
    >>> bob = SideInformation.from_labels(["a", "a", None], annotator="bob")
    >>> disagreements(ann + bob)[0]["examples"]
    ["1 is 'b' (label, ann); 1 is 'a' (label, bob)"]
    """
    statement, target, answer, annotator = _judgements(side)
    n_annotators = len(side.annotators)
    if n_annotators < 2 or not len(statement):
        return []
    judged = _incidence(target, annotator, n_annotators)
    agreed = _incidence(np.stack([target, answer]), annotator, n_annotators)
    both, same = (sparse.triu(m.T @ m, k=1).tocoo() for m in (judged, agreed))
    key, key_same = (m.row.astype(np.int64) * n_annotators + m.col for m in (both, same))
    n_same = np.zeros(len(key))
    place = np.argsort(key)
    n_same[place[np.searchsorted(key[place], key_same)]] = same.data
    differ = (both.data - n_same).astype(np.int64)
    order = np.lexsort((both.col, both.row, -both.data, -differ))[:limit]
    found = []
    for k in order.tolist():
        pair = (int(both.row[k]), int(both.col[k]))
        found.append(
            {
                "annotators": [str(side.annotators[code]) for code in pair],
                "n_both": int(both.data[k]),
                "n_differ": int(differ[k]),
                "examples": _examples(side, (statement, target, answer, annotator), pair),
            }
        )
    return found


def _judgements(side: SideInformation) -> tuple[NDArray[Any], ...]:
    """One entry per person and thing judged: statement, thing, answer, person."""
    said = side.statements
    judges = said.is_pair | (said.is_class & (said.sign > 0))
    chosen = np.flatnonzero(said.binding & (said.annotator >= 0) & judges)
    said = said.take(chosen)
    things = np.stack([said.i, said.j, said.vocabulary])
    target = np.unique(things, axis=1, return_inverse=True)[1].ravel()
    answer = np.where(said.is_class, said.class_code, said.sign)
    key = np.stack([target, said.annotator])[:, ::-1]
    last = len(chosen) - 1 - np.unique(key, axis=1, return_index=True)[1]
    return chosen[last], target[last], answer[last], said.annotator[last]


def _incidence(key: NDArray[Any], annotator: NDArray[Any], n_annotators: int) -> Any:
    """Who judged what: things by annotators, ones."""
    rows = np.unique(np.atleast_2d(key), axis=1, return_inverse=True)[1].ravel()
    shape = (int(rows.max(initial=-1)) + 1, n_annotators)
    return sparse.coo_array((np.ones(len(rows)), (rows, annotator)), shape=shape).tocsr()


def _examples(
    side: SideInformation, judged: tuple[NDArray[Any], ...], pair: tuple[int, int]
) -> list[str]:
    statement, target, answer, annotator = judged
    first, second = (np.flatnonzero(annotator == code) for code in pair)
    _, a, b = np.intersect1d(target[first], target[second], return_indices=True)
    differ = np.flatnonzero(answer[first[a]] != answer[second[b]])[:3]
    return [
        f"{side.describe(int(statement[first[a[k]]]))}; "
        f"{side.describe(int(statement[second[b[k]]]))}"
        for k in differ
    ]
