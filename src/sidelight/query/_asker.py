"""Asker: which question next, for whom, and when to stop.

The state is the log of answers and the seed. Everything else follows from them: an asker is
immutable, `answer` returns another one, a replay gives the same bits, and a retracted answer leaves
no trace. It has no interface of its own: a terminal, a notebook, a web page and a simulation use
the same methods.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sidelight._random import draw_seed
from sidelight._wording import counted
from sidelight.models import find_model
from sidelight.query._choose import expected_error
from sidelight.query._committee import Committee, Facts, bare, start, told, whole
from sidelight.query._display import Shown, show
from sidelight.query._log import Names, facts_of_answer, facts_of_side, key_of_side, side_of
from sidelight.query._people import accuracy_interval, check_annotators
from sidelight.query._pick import Picker
from sidelight.query._questions import Answer, Question, QuestionError, answer_to, question_id
from sidelight.query._refit import EVERY, few_annotated, is_better, learn_graph, refit
from sidelight.query._stopping import Interval, Stopping, audit_accuracy, in_words
from sidelight.query._structure import Ints, Structure, build_structure
from sidelight.query._witness import Witness, spoken_pairs
from sidelight.results import data_key
from sidelight.side import SideInformation

KINDS = ("pair", "label")
DEFAULT_REFIT = "DiscriminativeClustering"
# True error over the chains' own estimate: see `expected_error`.
TOO_SURE = (3.0, 1.5, 6.0)
FORMAT = 1


class Asker:
    """Chooses questions for people, and clusters rows by their answers.

    Parameters
    ----------
    data : array of shape (n_samples, n_features), or sparse matrix of shape (n_samples, n_samples)
        The rows, or a graph of similarities: a square sparse matrix is a graph. Columns keep their
        relative scale: standardise them first if their units are not comparable.
    side : SideInformation, optional
        What is known before the first question. It may contradict itself.
    annotators : list of str, or dict from str to float, optional
        Who can be asked, and what an answer of each costs (1).
    kinds : tuple of {"pair", "label"}, default=("pair", "label")
        The kinds of question: whether two rows belong together, and which class a row has.
    audit : float, default=0.1
        The share of questions that are pairs drawn at random. Their answers measure the result and
        never change it.
    refit : str, model or None, default="default"
        A model that is fitted to the answers after every 25 of them; its partition is shown if it
        differs clearly from the asker's own, does not break significantly more answers, and less
        than a third of the rows have answers. "default" is DiscriminativeClustering.
    random_state : int, Generator or RandomState, optional
        Source of the seed.

    Attributes
    ----------
    answers : tuple of Answer
        The log.
    seed : int
        The seed.

    See Also
    --------
    RandomAsker : The same, with pairs drawn at random.
    CobrasAsker : Super-instances are split and merged; every answer is taken as the truth.
    NeighborhoodAsker : Explore-Consolidate, MinMax and NPU; the number of clusters is given.

    Notes
    -----
    48 chains sample partitions of *items*, pieces of the rows that get smaller where chains
    differ. The next question is the one whose answer is expected to bring the chains together
    most. How often each annotator is right is estimated.

    Examples
    --------
    >>> from sidelight.datasets import make_blobs
    >>> from sidelight.query import Asker
    >>> sample = make_blobs(90, 2, 3, separation=8.0, random_state=0)
    >>> asker = Asker(sample.X, kinds=("pair",), random_state=0)
    >>> for _ in range(10):
    ...     question = asker.ask()[0]
    ...     i, j = question.rows
    ...     asker = asker.answer(question, "must" if sample.y[i] == sample.y[j] else "cannot")
    >>> asker.n_clusters
    3
    >>> asker.side
    SideInformation(90 rows; ...)
    """

    def __init__(
        self,
        data: Any,
        *,
        side: SideInformation | None = None,
        annotators: Sequence[str] | Mapping[str, float] | None = None,
        kinds: Sequence[str] = KINDS,
        audit: float = 0.1,
        refit: Any = "default",
        random_state: Any = None,
    ) -> None:
        self._people = check_annotators(annotators)
        self._kinds = check_kinds(kinds)
        if not (isinstance(audit, int | float) and 0 <= audit < 1):
            raise QuestionError(f"audit is {audit!r}; give a share of questions, 0 to below 1.")
        self._audit = float(audit)
        self._refit = check_refit(refit)
        self.seed = draw_seed(random_state)
        is_graph = sparse.issparse(data) and data.shape[0] == data.shape[1]
        structure = build_structure(_values(data), is_graph=is_graph, seed=self.seed)
        self._key = data_key(data if is_graph else structure.X)
        self._given = _check_given(side, structure.n_rows)
        self.answers: tuple[Answer, ...] = ()
        self._states: tuple[_State, ...] = ()
        self._state = _first_state(structure, self._given, self._people, self.seed)
        self._origin = _Origin(self._state)

    _saved: tuple[str, ...] = ("annotators", "kinds", "audit", "refit")

    # Asking and answering

    def ask(
        self,
        n: int = 1,
        annotator: str | None = None,
        *,
        kinds: Sequence[str] | None = None,
        open: Iterable[Question] = (),
    ) -> list[Question]:
        """The next questions, the most valuable first; asking changes nothing.

        Parameters
        ----------
        n : int, default=1
            How many. No two of them are about the same item, so several people can answer at once.
        annotator : str, optional
            Who is asked; by default the asker chooses among its annotators, by value per cost.
        kinds : tuple of {"pair", "label"}, optional
            Other kinds than those of the asker.
        open : iterable of Question, optional
            Questions that others are answering now: no question shares an item with them.

        Returns
        -------
        list of Question
            Fewer than ``n``, or none, when nothing is left to ask.
        """
        if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
            raise QuestionError(f"n is {n!r}; give the number of questions, 1 or more.")
        picker = Picker(
            self._state.committee,
            self._state.names,
            self.answers,
            self.seed,
            audit=self._audit,
            kinds=self._kinds if kinds is None else check_kinds(kinds),
            people=self._people if annotator is None else check_annotators([annotator]),
            given=self._given,
            witness=self._state.witness,
        )
        return picker.questions(int(n), tuple(open))

    def answer(
        self,
        question: Question | Mapping[str, Any],
        value: Any,
        *,
        annotator: str | None = None,
        seconds: float | None = None,
    ) -> "Asker":
        """A new asker with one more answer.

        Parameters
        ----------
        question : Question or dict
            From `ask`, or its dict.
        value : object
            "must" or "cannot" for a pair; a class or "not:<class>" for a row; "cannot_tell".
        annotator : str, optional
            Who answered; by default the one that the question names.
        seconds : float, optional
            How long it took; kept in the log.

        Returns
        -------
        Asker
        """
        asked = question if isinstance(question, Question) else Question.from_dict(question)
        if asked.id != question_id(self.seed, asked):
            raise QuestionError(
                f"question {asked.id!r} was not asked by this asker (or was changed); take one "
                "from ask(). Other statements go into side=."
            )
        answer = answer_to(asked, value, annotator, seconds)
        known = next((a for a in self.answers if a.id == answer.id), None)
        if known is not None:
            raise QuestionError(
                f"question {asked.id!r} has the answer {known.value!r} already; "
                f"retract({known.id!r}) first to change it."
            )
        return self._with(answer)

    def retract(self, answer_id: str) -> "Asker":
        """The asker without one answer; the others stay.

        Parameters
        ----------
        answer_id : str
            The id of an answer in `answers`.

        Returns
        -------
        Asker
        """
        at = next((k for k, a in enumerate(self.answers) if a.id == answer_id), None)
        if at is None:
            raise QuestionError(
                f"no answer has the id {answer_id!r}; the log has {len(self.answers)} answers, "
                "see [a.id for a in asker.answers]."
            )
        kept = at // EVERY  # checkpoints lie before answers 25, 50, ...
        asker = self._copy(self.answers[: kept * EVERY], self._states[:kept])
        state = self._states[kept - 1] if kept else self._origin.state
        asker._state = state._replace(committee=whole(state.committee)) if kept else state
        rest = (*self.answers[kept * EVERY : at], *self.answers[at + 1 :])
        for answer in rest:
            asker = asker._with(answer)
        return asker

    def with_side(self, side: SideInformation) -> "Asker":
        """The asker with other statements at the start, and without answers.

        The same as a new asker of the same data and seed, but the neighbours are not searched
        again.

        Parameters
        ----------
        side : SideInformation
            What is known before the first question.

        Returns
        -------
        Asker
        """
        asker = self._copy((), ())
        asker._given = _check_given(side, self.n_samples)
        structure = self._origin.state.committee.structure
        asker._state = _first_state(structure, asker._given, self._people, self.seed)
        asker._origin = _Origin(asker._state)
        return asker

    def audit_pair(self, i: int, j: int) -> Question:
        """An audit question about two rows that the caller has drawn.

        For a client that needs a question at once: the answer measures the result, as those to
        other audits do.

        Parameters
        ----------
        i, j : int
            Two rows, drawn uniformly from all pairs.

        Returns
        -------
        Question
        """
        n = self.n_samples
        if not (0 <= i < n and 0 <= j < n and i != j):
            raise QuestionError(f"the rows are {i} and {j}; give two of the {n} rows.")
        reason = "drawn at random, to measure the result"
        probability = 2.0 / (n * (n - 1.0))
        drawn = Question("", "pair", (i, j), audit=True, probability=probability, reason=reason)
        return replace(drawn, id=question_id(self.seed, drawn))

    # What is known

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return self._state.committee.structure.n_rows

    @cached_property
    def labels(self) -> Ints:
        """The cluster of each row; that of the start while answers are not `trusted`."""
        if not self.trusted:
            return self._first_labels
        own = self.own_labels
        fit = self._state.fit
        if fit is None or not few_annotated(self._state.committee):
            return own
        return fit.labels if is_better(self._state.committee, own, fit.labels) else own

    @cached_property
    def own_labels(self) -> Ints:
        """The cluster of each row by the asker's chains, without the refit."""
        return rows_of(self._state.committee, self._shown.clusters)

    @cached_property
    def trusted(self) -> bool:
        """Whether some annotator's answers are taken to be better than guesses.

        The chains predict every answer before they hear it. From 40 answers on, an annotator is
        believed while the answers fit these predictions better than guesses would; one whose
        answers contradict the chains from before the first answer is never believed. If no
        annotator is believed, `labels` is the partition from before the first answer; otherwise
        only the believed ones count. Without audits only annotators who say the opposite are found.
        """
        heard = np.flatnonzero(self._state.witness.n)
        return not len(heard) or any(self._is_credible(int(k)) for k in heard)

    def _is_credible(self, annotator: int, witness: Witness | None = None) -> bool:
        witness = self._state.witness if witness is None else witness
        known = self._state.committee.accuracy
        accuracy = float(known[annotator]) if annotator < len(known) else 0.9
        return witness.is_credible(annotator, accuracy, is_audited=self._audit > 0)

    @property
    def _first_labels(self) -> Ints:
        """The partition from before the first answer."""
        return self._origin.own_labels

    @cached_property
    def undecided(self) -> NDArray[np.bool_]:
        """Rows that no cluster of sufficient size holds by a majority.

        A cluster needs 2 % of the rows; where there are more than 25 clusters, half of their mean.
        """
        return rows_of(self._state.committee, self._shown.undecided)

    @property
    def n_clusters(self) -> int:
        """The number of clusters that have decided rows."""
        decided = ~self.undecided
        return len(np.unique(self.labels[decided] if decided.any() else self.labels))

    @cached_property
    def names(self) -> dict[int, Any]:
        """The class of each cluster in which most labelled rows have one name."""
        facts, names = self._state.committee.facts, self._state.names
        told = ~facts.is_pair & (facts.sign > 0)
        votes: dict[tuple[int, int], float] = {}
        weights = self._state.committee.fact_weight[told]
        for row, c, weight in zip(facts.i[told], facts.class_[told], weights, strict=True):
            key = int(self.labels[row]), int(c)
            votes[key] = votes.get(key, 0.0) + float(weight)
        found: dict[int, Any] = {}
        for (k, c), _ in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0])):
            name = names.classes[c][1]
            if k not in found and name not in found.values():
                found[k] = name
        return found

    @cached_property
    def expected_error(self) -> Interval:
        """Expected share of pairs of rows that the asker's own partition misjudges.

        Chains are overconfident: on average over six tables the true error was 2.3 to 3.9 times
        their estimate. So their estimate is multiplied by 3, and the interval is 1.5 to 6 times the
        estimate. It is a rule of thumb: single runs may lie outside. Use it to see progress;
        `stopping` has the quality measured by the audit.
        """
        mean, _ = expected_error(self._state.committee, self._shown.clusters)
        value, low, high = (min(mean * factor, 1.0) for factor in TOO_SURE)
        return Interval(value, low, high)

    @property
    def accuracies(self) -> dict[str | None, Interval]:
        """How often each annotator is right, with an interval of 90 %."""
        committee = self._state.committee
        heard = np.unique(committee.facts.annotator)
        names = self._state.names.annotators
        return {names[k]: accuracy_interval(committee, int(k)) for k in heard}

    @property
    def graph_reliability(self) -> float:
        """Probability that the neighbours of an annotated row are right about it."""
        return 1.0 - self._state.committee.doubt

    @cached_property
    def stopping(self) -> Stopping:
        """The value of the next ten questions, and the quality by audit answers."""
        pairs = self.n_samples * (self.n_samples - 1) / 2
        questions = self.ask(10)
        some = [q.value for q in questions if not q.audit]
        worth = float(np.mean(some) * 10) if some else 0.0
        accuracy, n_audit = audit_accuracy(self.answers, self.labels)
        share = worth / pairs
        words = in_words(
            worth, share, accuracy, n_audit, trusted=self.trusted, is_done=not questions
        )
        return Stopping(worth, share, accuracy, n_audit, words)

    @cached_property
    def side(self) -> SideInformation:
        """All statements, those of the start and every answer, for any model."""
        return self._given + self._statements(self.answers)

    @cached_property
    def held_out(self) -> SideInformation:
        """The audit answers: statements that no result here was made from."""
        return self._statements([a for a in self.answers if a.question.audit])

    # Files

    def to_json(self) -> str:
        """The log, the seed and the settings; not the data, and no model object.

        Returns
        -------
        str
        """
        if self._refit is not None and not isinstance(self._refit, str):
            raise QuestionError(
                f"refit is a {type(self._refit).__name__} object, which a log cannot hold; use "
                "the name of a model, or None."
            )
        book = {
            "format": FORMAT,
            "asker": type(self).__name__,
            "seed": self.seed,
            "data": self._key,
            "side": key_of_side(self._given),
            "annotators": None
            if self._people[0].name is None
            else {person.name: person.cost for person in self._people},
            "kinds": list(self._kinds),
            "audit": self._audit,
            "refit": self._refit,
            "answers": [answer.to_dict() for answer in self.answers],
        }
        return json.dumps(book, indent=1)

    @classmethod
    def from_json(cls, text: str, data: Any, *, side: SideInformation | None = None) -> "Asker":
        """Replay a log: the asker that wrote it, equal in every bit.

        Parameters
        ----------
        text : str
            From `to_json`.
        data : array or sparse matrix
            The same data.
        side : SideInformation, optional
            The same statements of the start.

        Returns
        -------
        Asker
        """
        book = read_book(text, cls.__name__)
        settings = {key: book[key] for key in cls._saved}
        asker = cls(data, side=side, random_state=book["seed"], **settings)
        given = key_of_side(asker._given)
        if book.get("side", given) != given:  # older logs do not say
            raise QuestionError(
                "the log was written with other statements at the start; give the same side=."
            )
        return replay(asker, book, asker._key)

    def __repr__(self) -> str:
        return (
            f"Asker({self.n_samples} rows; {counted(len(self.answers), 'answer')}, "
            f"{counted(int(self._state.committee.items.is_anchor.sum()), 'class')} named)"
        )

    # Steps

    @cached_property
    def _shown(self) -> Shown:
        now, first = self._state.committee, self._origin.state.committee
        return show(now, None if now is first else first)

    def _statements(self, answers: Sequence[Answer]) -> SideInformation:
        return side_of(answers, self.n_samples, self._given.index, self._state.names)

    def _copy(self, answers: tuple[Answer, ...], states: tuple["_State", ...]) -> "Asker":
        """The same asker with another log, without the cached values."""
        other = object.__new__(type(self))
        for key in ("_people", "_kinds", "_audit", "_refit", "seed", "_key", "_given", "_origin"):
            setattr(other, key, getattr(self, key))
        other.answers, other._states, other._state = answers, states, self._state
        return other

    def _with(self, answer: Answer) -> "Asker":
        committee, names, fit, witness = self._state
        facts, names = facts_of_answer(answer, names)
        answers = (*self.answers, answer)
        if len(facts.i):
            witness = self._heard(facts, len(names.annotators))
        if len(facts.i) and not answer.question.audit:
            ignored = self._ignored(witness)
            committee = told(committee, facts, names.books, len(names.annotators), ignored)
            if committee.step % EVERY == 0:
                shown = show(committee)
                committee = learn_graph(committee, shown)
                fit = self._fit_of(answers, names, committee, rows_of(committee, shown.clusters))
        state = _State(committee, names, fit, witness)
        states = self._states
        if len(answers) % EVERY == 0:
            states = (*states, state._replace(committee=bare(committee)))
        other = self._copy(answers, states)
        other._state = state
        return other

    def _heard(self, facts: Facts, n_annotators: int) -> Witness:
        """The evidence about annotators after one more answer, which the chains do not know yet."""
        first, now = self._origin.state.committee, self._state.committee
        i, j, together = spoken_pairs(facts, now.facts, first)
        chances = np.stack([first.together(i, j), now.together(i, j)])
        witness = self._state.witness.widened(n_annotators)
        return witness.heard(int(facts.annotator[0]), chances, together > 0)

    def _ignored(self, witness: Witness) -> tuple[int, ...]:
        """Annotators who are not believed, if there are others who are."""
        heard = [int(k) for k in np.flatnonzero(witness.n)]
        doubted = tuple(k for k in heard if not self._is_credible(k, witness))
        return doubted if len(doubted) < len(heard) else ()

    def _fit_of(
        self, answers: Sequence[Answer], names: Names, committee: Committee, own: Ints
    ) -> "_Fit | None":
        X = self._state.committee.structure.X
        if self._refit is None or X is None:
            return None
        ignored = [names.annotators[k] for k in committee.ignored]
        used = [a for a in answers if not a.question.audit and a.annotator not in ignored]
        side = self._given + side_of(used, self.n_samples, self._given.index, names)
        return _Fit(self._refit, X, side, own, self.seed)


class _Origin:
    """The state before the first answer, and its partition, computed on demand."""

    def __init__(self, state: "_State") -> None:
        self.state = state

    @cached_property
    def own_labels(self) -> Ints:
        committee = self.state.committee
        return np.asarray(rows_of(committee, show(committee).clusters))


class _Fit:
    """A refit that is computed on demand."""

    def __init__(self, model: Any, X: Any, side: SideInformation, own: Ints, seed: int) -> None:
        self._arguments = (model, X, side, own, seed)

    @cached_property
    def labels(self) -> Ints:
        return refit(*self._arguments)


class _State(NamedTuple):
    committee: Committee
    names: Names
    fit: _Fit | None
    witness: Witness


def _first_state(structure: Structure, side: SideInformation, people: Any, seed: int) -> _State:
    facts, names = facts_of_side(side)
    for person in people:
        names = names.with_annotator(person.name)
    committee = start(
        structure,
        seed,
        facts=facts,
        vocabulary=names.books,
        n_annotators=len(names.annotators),
        with_metric=structure.X is not None,
    )
    return _State(committee, names, None, Witness.of(len(names.annotators)))


def rows_of(committee: Committee, per_item: NDArray[Any]) -> Any:
    """A value of each item, for every row of it."""
    return per_item[committee.items.of_slot[committee.structure.row_leaf]]


def check_kinds(kinds: Any) -> tuple[str, ...]:
    """Kinds of question, known and at least one."""
    chosen = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if not chosen or not set(chosen) <= set(KINDS):
        raise QuestionError(f"kinds is {kinds!r}; give some of 'pair' and 'label'.")
    return chosen


def check_refit(refit: Any) -> Any:
    """The name of a model that exists, a model object, or None."""
    if not isinstance(refit, str):
        return refit
    if refit == "default":
        return DEFAULT_REFIT
    find_model(refit)  # an unknown name is an error now, not after 25 answers
    return refit


def read_book(text: str, name: str) -> dict[str, Any]:
    """The parts of a log, if it is one of ours."""
    try:
        book = json.loads(text)
        is_ours = isinstance(book, dict) and book.get("format") == FORMAT
    except (TypeError, ValueError) as error:
        raise QuestionError(f"this is not a log of an asker: {error}.") from error
    if not is_ours or book.get("asker") != name:
        raise QuestionError(
            f"this is not a log that {name}.to_json wrote; it has "
            f"{sorted(book) if isinstance(book, dict) else type(book).__name__}."
        )
    return dict(book)


def replay(asker: Any, book: Mapping[str, Any], key: str | None) -> Any:
    """Give an asker the answers of a log, in their order."""
    if book["data"] != key:
        raise QuestionError(
            f"the log is about other data: it was written for {book['data']!r}, and this is "
            f"{key!r}."
        )
    for entry in book["answers"]:
        asker = asker.answer(
            entry["question"], entry["value"], annotator=entry["annotator"],
            seconds=entry["seconds"],
        )  # fmt: skip
    return asker


def _values(data: Any) -> Any:
    return data.to_numpy() if hasattr(data, "to_numpy") else data


def _check_given(side: SideInformation | None, n_rows: int) -> SideInformation:
    if side is None:
        return SideInformation.empty(n_rows)
    if not isinstance(side, SideInformation):
        raise QuestionError(f"side is a {type(side).__name__}; give a SideInformation or None.")
    if side.n_samples != n_rows:
        raise QuestionError(f"side is about {side.n_samples} rows, and the data has {n_rows}.")
    return side
