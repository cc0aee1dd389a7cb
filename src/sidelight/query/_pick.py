"""From a committee to questions: pairs and labels by value, audits at random."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sidelight.query._choose import (
    label_to_ask,
    pair_keys,
    pair_values,
    rank_pairs,
    speakers,
)
from sidelight.query._committee import Committee
from sidelight.query._display import consensus, shares
from sidelight.query._log import Names
from sidelight.query._people import Person, drawn_accuracy
from sidelight.query._questions import Answer, Question, question_id
from sidelight.query._structure import Floats, Ints
from sidelight.query._witness import Witness
from sidelight.side import SideInformation

FIRST_PAIRS = 10  # answers about pairs before the first label is asked for
_MOST_BRANCHES = 8  # sets of answers to open questions that a batch considers
_RECKONED = 200  # best pairs whose value is recomputed for each of them
_TRIES = 200
_UNCHECKED = 10  # answers before audits become more frequent
_ALL_PAIRS = 2_000  # rows up to which an unasked pair is found by looking at all of them


class Draft(NamedTuple):
    """A question before it has an id."""

    kind: str
    rows: tuple[int, ...]
    value: float
    reason: str
    prediction: dict[str, float]


@dataclass
class Picker:
    """Picks questions for one state of the asker."""

    committee: Committee
    names: Names
    answers: tuple[Answer, ...]
    seed: int
    audit: float
    kinds: tuple[str, ...]
    people: tuple[Person, ...]
    given: SideInformation
    witness: Witness

    def questions(self, n: int, open_: Sequence[Question]) -> list[Question]:
        """Up to n questions that share no item with each other or with open ones."""
        rows = [row for question in open_ for row in question.rows]
        self.taken = {self.committee.item_of(row) for row in rows}
        self.out = {question_key(q.rows, self.n_rows) for q in open_}
        self.branches: list[tuple[float, Floats]] = [(1.0, self.committee.weights)]
        first = len(self.answers) + len(open_)
        found: list[Question] = []
        for slot in range(first, first + n):
            question = self._next(slot)
            if question is None:
                break
            found.append(question)
            self.taken |= {self.committee.item_of(row) for row in question.rows}
            self.out.add(question_key(question.rows, self.n_rows))
            self._branch(question)
        return found

    @property
    def n_rows(self) -> int:
        return self.committee.structure.n_rows

    def _next(self, slot: int) -> Question | None:
        rng = np.random.default_rng([self.seed, slot, 2])
        if "pair" in self.kinds and rng.random() < self._audit_share:
            question = self._audit_question(slot, rng)
            if question is not None:
                return question
        best: tuple[float, Draft, Person] | None = None
        for person in self.people:
            accuracy = self._accuracy(person, rng)
            draft = self._draft(person, accuracy, rng)
            if draft is None:
                continue
            worth = draft.value / person.cost
            if best is None or worth > best[0]:
                best = worth, draft, person
        return None if best is None else self._named(best[1], best[2].name, slot)

    @cached_property
    def _audit_share(self) -> float:
        """Three times as many audits until they show that some answers carry information."""
        n = self.witness.n
        is_proven = any(self.witness.is_proven(int(k)) for k in np.flatnonzero(n))
        if not self.audit or is_proven or n.sum() < _UNCHECKED:
            return self.audit
        return min(3.0 * self.audit, max(self.audit, 0.5))

    def _accuracy(self, person: Person, rng: np.random.Generator) -> float:
        """As estimated for the only annotator; drawn where there is a choice of people."""
        known = self.names.annotators
        at = known.index(person.name) if person.name in known else None
        if at is not None and at in self.committee.ignored:
            return 0.5
        if len(self.people) > 1:
            return drawn_accuracy(self.committee, at, rng)
        everyone = self.committee.accuracy
        return float(everyone[at]) if at is not None and at < len(everyone) else 0.9

    def _named(self, draft: Draft, annotator: str | None, slot: int, **more: Any) -> Question:
        classes = tuple(name for _, name in self.names.classes) if draft.kind == "label" else ()
        question = Question(
            "", draft.kind, draft.rows, classes, annotator, value=draft.value,
            reason=draft.reason, prediction=draft.prediction, slot=slot, **more,
        )  # fmt: skip
        return replace(question, id=question_id(self.seed, question))

    # Questions by value

    def _draft(self, person: Person, accuracy: float, rng: np.random.Generator) -> Draft | None:
        n_told = len(self.committee.facts.i)
        if "label" in self.kinds and ("pair" not in self.kinds or n_told >= FIRST_PAIRS):
            draft = self._label(person, accuracy)
            if draft is not None or "pair" not in self.kinds:
                return draft
        draft = self._pair(person, accuracy)
        return draft if draft is not None else self._any_pair(person, rng)

    @cached_property
    def asked_rows(self) -> Ints:
        """The rows of all answers, and of the statements of the start."""
        rows = [row for a in self.answers if not a.question.audit for row in a.question.rows]
        said = self.given.statements
        start = np.concatenate([said.i, said.j[said.j >= 0]])
        return np.concatenate([start, np.array(rows, dtype=np.int64)]).astype(np.int64)

    @cached_property
    def speaker(self) -> Ints:
        return speakers(self.committee, self.asked_rows)

    def _asked_pairs(self, person: Person) -> Ints:
        """Pairs that this person was asked; those of others may be asked again if that pays."""
        mine = [
            a.question.rows
            for a in self.answers
            if a.question.kind == "pair" and a.annotator == person.name
        ]
        keys = [question_key(rows, self.n_rows) for rows in mine]
        said = self.given.statements
        pairs = said.j >= 0
        start = pair_keys(said.i[pairs], said.j[pairs], self.n_rows)
        both = [start, np.array([*keys, *self.out], dtype=np.int64)]
        return np.concatenate(both).astype(np.int64)

    def _pair(self, person: Person, accuracy: float) -> Draft | None:
        asked = self._asked_pairs(person)
        pairs = rank_pairs(self.committee, self.asked_rows, self.speaker, asked, accuracy)
        if self.taken:
            busy = np.array(sorted(self.taken))
            free = ~(np.isin(pairs.first, busy) | np.isin(pairs.second, busy))
            pairs = pairs.take(np.flatnonzero(free))
        if not len(pairs.first):
            return None
        value = pairs.value
        if len(self.branches) > 1:
            pairs = pairs.take(np.arange(min(_RECKONED, len(pairs.first))))
            first, second = pairs.first, pairs.second
            value = np.zeros(len(first))
            for chance, weights in self.branches:
                value += chance * pair_values(self.committee, first, second, accuracy, weights)
        best = int(np.argmax(value))
        s, t = int(pairs.first[best]), int(pairs.second[best])
        rows = (int(self.speaker[s]), int(self.speaker[t]))
        again = any(question_key(a.question.rows, self.n_rows) == question_key(rows, self.n_rows)
                    for a in self.answers if a.question.kind == "pair")  # fmt: skip
        reason = (
            "a second opinion on a doubtful answer"
            if again
            else "the answer settles most pairs of rows"
        )
        p = float(pairs.p[best])
        return Draft("pair", rows, float(max(value[best], 0.0)), reason, {"must": p})

    def _any_pair(self, person: Person, rng: np.random.Generator) -> Draft | None:
        """Nothing is in doubt: a pair at random that was not asked yet, if there is one."""
        asked = set(self._asked_pairs(person).tolist())
        n = self.n_rows
        pair: tuple[int, int] | None = None
        for _ in range(_TRIES):
            i, j = (int(row) for row in rng.choice(n, size=2, replace=False))
            items = {self.committee.item_of(i), self.committee.item_of(j)}
            if question_key((i, j), n) not in asked and not items & self.taken:
                pair = i, j
                break
        if pair is None and n <= _ALL_PAIRS and not self.taken:
            low, high = np.triu_indices(n, 1)
            left = np.flatnonzero(~np.isin(pair_keys(low, high, n), list(asked)))
            pair = (int(low[left[0]]), int(high[left[0]])) if len(left) else None
        if pair is None:
            return None
        s, t = (self.committee.item_of(row) for row in pair)
        reason = "nothing is in doubt; a pair at random"
        return Draft("pair", pair, 0.0, reason, {"must": self._share(s, t)})

    def _share(self, s: int, t: int) -> float:
        """Weighted share of chains that put two items together."""
        return float(self.committee.weights @ (self.committee.z[:, s] == self.committee.z[:, t]))

    def _label(self, person: Person, accuracy: float) -> Draft | None:
        facts = self.committee.facts
        mine = [
            a.question.rows[0]
            for a in self.answers
            if a.question.kind == "label" and a.annotator == person.name
        ]
        known = facts.i[~facts.is_pair & (facts.sign > 0)]
        busy = [row for row in self.speaker[sorted(self.taken)] if row >= 0]
        labelled = np.unique(np.concatenate([known, np.array([*mine, *busy], dtype=np.int64)]))
        shown = consensus(self.committee, self._shares)
        found = label_to_ask(self.committee, shown, labelled, self.speaker, accuracy)
        if found is None or found[0] in self.taken:
            return None
        s, row, value, reason = found
        return Draft("label", (row,), value, reason, self._class_shares(s))

    @cached_property
    def _shares(self) -> Any:
        return shares(self.committee)

    def _class_shares(self, s: int) -> dict[str, float]:
        """Weighted share of chains that put an item with each class."""
        anchors = self.committee.items.anchors(len(self.names.classes))
        z, weights = self.committee.z, self.committee.weights
        return {
            str(name): float(weights @ (z[:, s] == z[:, anchor]))
            for (_, name), anchor in zip(self.names.classes, anchors, strict=True)
        }

    def _branch(self, question: Question) -> None:
        """Consider both answers to a question of the batch that is still open."""
        if question.kind != "pair" or question.audit:
            return
        s, t = (self.committee.item_of(row) for row in question.rows)
        together = self.committee.z[:, s] == self.committee.z[:, t]
        grown = []
        for chance, weights in self.branches:
            for right in (together, ~together):
                posterior = weights * np.where(right, 0.9, 0.1)
                p = float(posterior.sum())
                grown.append((chance * p, posterior / p))
        grown.sort(key=lambda branch: -branch[0])
        kept = grown[:_MOST_BRANCHES]
        total = sum(chance for chance, _ in kept)
        self.branches = [(chance / total, weights) for chance, weights in kept]

    # Random questions

    def _audit_question(self, slot: int, rng: np.random.Generator) -> Question | None:
        """A pair drawn at random: half of them together by the present result, half apart."""
        committee = self.committee
        of_item = consensus(committee, self._shares)
        clusters = of_item[committee.items.of_slot[committee.structure.row_leaf]]
        size = np.bincount(clusters).astype(float)
        inside = size * (size - 1) / 2
        n_together = inside.sum()
        n_apart = self.n_rows * (self.n_rows - 1) / 2 - n_together
        person = self.people[int(rng.integers(len(self.people)))]
        asked = set(self._asked_pairs(person).tolist())
        for _ in range(_TRIES):
            together = n_apart == 0 or (n_together > 0 and rng.random() < 0.5)
            i, j = _draw_pair(clusters, inside if together else None, rng)
            items = {committee.item_of(i), committee.item_of(j)}
            if question_key((i, j), self.n_rows) not in asked and not items & self.taken:
                break
        else:
            return None
        share = 0.5 if n_apart and n_together else 1.0
        probability = share / (n_together if together else n_apart)
        s, t = committee.item_of(i), committee.item_of(j)
        reason = "drawn at random, to measure the result"
        draft = Draft("pair", (i, j), 0.0, reason, {"must": self._share(s, t)})
        return self._named(draft, person.name, slot, audit=True, probability=float(probability))


def _draw_pair(clusters: Ints, inside: Floats | None, rng: np.random.Generator) -> tuple[int, int]:
    """Two rows of one cluster, uniform over such pairs; without ``inside`` of two clusters."""
    if inside is not None:
        k = int(rng.choice(len(inside), p=inside / inside.sum()))
        i, j = rng.choice(np.flatnonzero(clusters == k), size=2, replace=False)
        return int(i), int(j)
    while True:
        i, j = rng.integers(len(clusters), size=2)
        if clusters[i] != clusters[j]:
            return int(i), int(j)


def question_key(rows: Sequence[int], n_rows: int) -> int:
    """One number for the rows of a question."""
    if len(rows) == 1:
        return -1 - rows[0]
    return min(rows) * n_rows + max(rows)
