"""From the log of answers to facts for the committee and statements for models."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sidelight.query._committee import Facts
from sidelight.query._questions import CANNOT_TELL, NOT, Answer
from sidelight.side import SideInformation


class Names(NamedTuple):
    """Classes and annotators in the answers, in the order of their first appearance."""

    classes: tuple[tuple[Any, Any], ...] = ()  # (vocabulary, name)
    annotators: tuple[Any, ...] = (None,)

    def with_class(self, key: tuple[Any, Any]) -> "Names":
        return self if key in self.classes else self._replace(classes=(*self.classes, key))

    def with_annotator(self, name: Any) -> "Names":
        if name in self.annotators:
            return self
        return self._replace(annotators=(*self.annotators, name))

    @property
    def books(self) -> tuple[int, ...]:
        """A number for the vocabulary of each class."""
        books = list(dict.fromkeys(book for book, _ in self.classes))
        return tuple(books.index(book) for book, _ in self.classes)


Fact = tuple[int, int, int, int, int, float]


def facts_of_answer(answer: Answer, names: Names) -> tuple[Facts, Names]:
    """The facts that an answer states; none for "can't tell"."""
    names = names.with_annotator(answer.annotator)
    who = names.annotators.index(answer.annotator)
    rows: list[Fact] = []
    if answer.value == CANNOT_TELL:
        pass
    elif answer.question.kind == "pair":
        i, j = answer.question.rows
        rows = [(i, j, -1, 1 if answer.value == "must" else -1, who, 1.0)]
    else:
        name, sign = read_class(answer.value, names)
        names = names.with_class((None, name))
        c = names.classes.index((None, name))
        rows = [(answer.question.rows[0], -1, c, sign, who, 1.0)]
    return Facts.of(rows), names


def read_class(value: Any, names: Names) -> tuple[Any, int]:
    """The class that an answer is about, and whether it is or is not."""
    if not (isinstance(value, str) and value.startswith(NOT)):
        return value, 1
    name: Any = value.removeprefix(NOT)
    known = [key for _, key in names.classes]
    if name not in known:  # a class may be a number, and text comes from forms
        name = next((key for key in known if str(key) == name), name)
    return name, -1


def facts_of_side(side: SideInformation) -> tuple[Facts, Names]:
    """The statements given at the start, contradictory or not, as facts."""
    said = side.statements
    names = Names()
    rows: list[Fact] = []
    for k in np.flatnonzero(said.binding & (said.weight > 0)):
        who = None if said.annotator[k] < 0 else side.annotators[said.annotator[k]]
        names = names.with_annotator(who)
        c = -1
        if said.is_class[k]:
            book = said.vocabulary[k]
            key = (None if book < 0 else side.vocabularies[book], side.classes[said.class_code[k]])
            names = names.with_class(key)
            c = names.classes.index(key)
        elif said.i[k] == said.j[k]:
            continue
        i, j = int(said.i[k]), int(said.j[k]) if c < 0 else -1
        who_at = names.annotators.index(who)
        rows.append((i, j, c, int(said.sign[k]), who_at, float(said.weight[k])))
    return Facts.of(rows), names


def key_of_side(side: SideInformation) -> str | None:
    """A short key of the statements given at the start, in their order; None without any."""
    facts, names = facts_of_side(side)
    if not len(facts.i):
        return None
    text = json.dumps([[column.tolist() for column in facts], names], default=str)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def side_of(answers: Sequence[Answer], n_rows: int, index: Any, names: Names) -> SideInformation:
    """The answers as statements, "can't tell" included."""
    kind, i, j, class_ = [], [], [], []
    for answer in answers:
        rows = answer.question.rows
        i.append(rows[0])
        j.append(rows[1] if len(rows) > 1 else None)
        name, sign = None, 0
        if not answer.binds:
            kind.append("unsure")
        elif answer.question.kind == "pair":
            kind.append(answer.value)
        else:
            name, sign = read_class(answer.value, names)
            kind.append("label" if sign > 0 else "not_label")
        class_.append(name)
    if index is not None:
        i = [index[row] for row in i]
        j = [None if row is None else index[row] for row in j]
    return SideInformation.from_columns(
        kind,
        i,
        j,
        class_=class_,
        annotator=[answer.annotator for answer in answers],
        n_samples=None if index is not None else n_rows,
        index=index,
    )
