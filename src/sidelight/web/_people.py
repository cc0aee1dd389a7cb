"""Figures about people: number, speed and accuracy of their answers, and agreement."""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from sidelight.store import Person, Said

JUDGED = ("must", "cannot", "label")


def described(
    people: Sequence[Person],
    said: Sequence[Said],
    *,
    accuracies: Mapping[str, Sequence[float]],
    fitted: Mapping[str, float],
    kinds: Mapping[str, Sequence[str]],
) -> list[dict[str, Any]]:
    """Each person with what they did in a project.

    accuracies : estimate, lower and upper end by name, of who answers questions.
    fitted : accuracies by the last run, for whom there is no interval.
    kinds : the kinds of questions for each person, by number.
    """
    found = []
    for person in people:
        own = [one for one in said if one.annotator == person.name]
        seconds = [one.seconds for one in own if one.seconds is not None]
        interval = accuracies.get(person.name)
        found.append(
            {
                "id": person.id,
                "name": person.name,
                "role": person.role,
                "disabled": person.disabled,
                "n_statements": len(own),
                "median_seconds": float(np.median(seconds)) if seconds else None,
                "cannot_tell": sum(one.kind == "unsure" for one in own) / max(len(own), 1),
                "accuracy": interval[0] if interval else fitted.get(person.name),
                "accuracy_interval": list(interval[1:]) if interval else None,
                "kinds": list(kinds.get(str(person.id), ("pair", "label"))),
            }
        )
    return found


def agreement(said: Sequence[Said]) -> list[dict[str, Any]]:
    """How often two people gave the same answer about the same rows, for every two people.

    Of a pair of rows: same or different. Of a row: its class, within a vocabulary. If a person gave
    two answers, the last one counts; "can't tell" is not compared.
    """
    last: dict[tuple[Any, ...], tuple[Any, Any]] = {}
    for one in said:
        if one.kind not in JUDGED or one.annotator is None:
            continue
        if one.kind == "label":
            item: tuple[Any, ...] = ("row", one.i, one.vocabulary)
            value = one.class_
        else:
            assert one.j is not None
            item = ("pair", min(one.i, one.j), max(one.i, one.j))
            value = one.kind
        last[(*item, one.annotator)] = (item, value)
    names = sorted({key[-1] for key in last}, key=str)
    if len(names) < 2:
        return []
    who = np.array([names.index(key[-1]) for key in last])
    both = _together([item for item, _ in last.values()], who, len(names))
    same = _together(list(last.values()), who, len(names))
    return [
        {"first": names[a], "second": names[b], "n": int(both[a, b]), "n_same": int(same[a, b])}
        for a, b in zip(*np.nonzero(np.triu(both, 1)), strict=True)
    ]


def _together(items: Sequence[Any], who: Any, n: int) -> Any:
    """How many items each two people have in common: people × people."""
    code: dict[Any, int] = {}
    column = np.array([code.setdefault(item, len(code)) for item in items])
    table = sparse.csr_array(
        (np.ones(len(items), dtype=np.int64), (who, column)), shape=(n, len(code))
    )
    return (table @ table.T).toarray()


class Presence:
    """Who has a page of which project open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: dict[int, Counter[str]] = {}

    @contextmanager
    def here(self, project: int, name: str) -> Iterator[None]:
        """Somebody has a page open for as long as this lasts; two pages are one person."""
        with self._lock:
            self._pages.setdefault(project, Counter())[name] += 1
        try:
            yield
        finally:
            with self._lock:
                self._pages[project][name] -= 1

    def of(self, project: int) -> list[str]:
        """The names of those who are here, in the order of the alphabet."""
        with self._lock:
            return sorted(name for name, n in self._pages.get(project, {}).items() if n > 0)
