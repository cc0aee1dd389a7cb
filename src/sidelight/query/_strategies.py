"""Published strategies with the methods of an asker, for comparison and for use."""

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from sidelight._random import draw_seed
from sidelight._wording import counted
from sidelight.models import find_model
from sidelight.query._asker import FORMAT, Asker, check_kinds, read_book, replay
from sidelight.query._log import Names, side_of
from sidelight.query._machines import (
    Board,
    Steps,
    cobra,
    cobras,
    explore_consolidate,
    k_means,
    min_max,
    npu,
)
from sidelight.query._people import check_annotators
from sidelight.query._questions import Answer, Question, QuestionError, answer_to, question_id
from sidelight.query._structure import Ints, as_rows
from sidelight.results import data_key
from sidelight.side import SideInformation


class SequentialAsker(ABC):
    """A strategy that asks one pair at a time and takes every answer as the truth.

    Examples
    --------
    >>> from sidelight.query import CobraAsker, SequentialAsker
    >>> issubclass(CobraAsker, SequentialAsker)
    True
    """

    def __init__(self, data: Any, *, random_state: Any = None, **settings: Any) -> None:
        self._X = as_rows(data)
        self._settings = settings
        self.seed = draw_seed(random_state)
        self.answers: tuple[Answer, ...] = ()
        self._machine: _Machine | None = None

    @abstractmethod
    def _steps(self, board: Board) -> Steps:
        """The strategy."""

    def _clusters(self, board: Board) -> Ints:
        """The partition that a board stands for."""
        return board.labels

    @property
    def n_samples(self) -> int:
        """The number of rows."""
        return len(self._X)

    def ask(
        self,
        n: int = 1,
        annotator: str | None = None,
        *,
        kinds: Sequence[str] | None = None,
        open: Iterable[Question] = (),
    ) -> list[Question]:
        """The next question: one at a time, since each depends on the last answer.

        Parameters
        ----------
        n : int, default=1
            1 or more; there is one question at a time.
        annotator : str, optional
            Who is asked.
        kinds : tuple, optional
            Nothing is asked unless "pair" is among them.
        open : iterable of Question, optional
            Nothing is asked while a question is open.

        Returns
        -------
        list of Question
            One, or none when the strategy is done.
        """
        _count("n", n)
        pair = self._here().pair
        if pair is None or tuple(open) or (kinds is not None and "pair" not in kinds):
            return []
        question = Question(
            "", "pair", pair, annotator=annotator, slot=len(self.answers),
            reason=f"the next step of {type(self).__name__}",
        )  # fmt: skip
        return [replace(question, id=question_id(self.seed, question))]

    def answer(
        self,
        question: Question | Mapping[str, Any],
        value: Any,
        *,
        annotator: str | None = None,
        seconds: float | None = None,
    ) -> Self:
        """A new asker with one more answer.

        Parameters
        ----------
        question : Question or dict
            From `ask`.
        value : {"must", "cannot", "cannot_tell"}
            The answer.
        annotator : str, optional
            Who answered.
        seconds : float, optional
            How long it took.

        Returns
        -------
        SequentialAsker
        """
        asked = question if isinstance(question, Question) else Question.from_dict(question)
        machine = self._here()
        if asked.id != question_id(self.seed, asked) or asked.rows != machine.pair:
            raise QuestionError(f"question {asked.id!r} is not the one that ask() gives now.")
        answer = answer_to(asked, value, annotator, seconds)
        other = object.__new__(type(self))
        vars(other).update(
            {key: vars(self)[key] for key in ("_X", "_settings", "seed", "_machine")}
        )
        other.answers = (*self.answers, answer)
        return other

    def retract(self, answer_id: str) -> Self:
        """The asker before one answer: later answers were to questions that depended on it.

        Parameters
        ----------
        answer_id : str
            The id of an answer in the log.

        Returns
        -------
        SequentialAsker
        """
        at = next((k for k, a in enumerate(self.answers) if a.id == answer_id), None)
        if at is None:
            raise QuestionError(f"no answer has the id {answer_id!r}.")
        other = type(self)(self._X, random_state=self.seed, **self._settings)
        other.answers = self.answers[:at]
        return other

    @cached_property
    def labels(self) -> Ints:
        """The cluster of each row."""
        return np.asarray(self._clusters(self._here().board)).copy()

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """No row: these strategies have no uncertainty."""
        return np.zeros(self.n_samples, dtype=bool)

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return len(np.unique(self.labels))

    @property
    def side(self) -> SideInformation:
        """The answers as statements."""
        return side_of(self.answers, self.n_samples, None, Names())

    def to_json(self) -> str:
        """The log, the seed and the settings.

        Returns
        -------
        str
        """
        book = {
            "format": FORMAT,
            "asker": type(self).__name__,
            "seed": self.seed,
            "data": data_key(self._X),
            "settings": self._settings,
            "answers": [answer.to_dict() for answer in self.answers],
        }
        return json.dumps(book, indent=1)

    @classmethod
    def from_json(cls, text: str, data: Any) -> Self:
        """The asker that wrote a log.

        Parameters
        ----------
        text : str
            From `to_json`.
        data : array
            The same data.

        Returns
        -------
        SequentialAsker
        """
        book = read_book(text, cls.__name__)
        asker = cls(data, random_state=book["seed"], **book["settings"])
        found: Self = replay(asker, book, data_key(asker._X))
        return found

    def __repr__(self) -> str:
        answers = counted(len(self.answers), "answer")
        return f"{type(self).__name__}({self.n_samples} rows; {answers})"

    def _here(self) -> "_Machine":
        """The machine after this log: the predecessor's, if it stands one answer behind."""
        machine = self._machine
        if machine is None or machine.log != self.answers[: len(machine.log)]:
            board = Board(self._X, self.seed)
            machine = _Machine(board, self._steps(board))
        for answer in self.answers[len(machine.log) :]:
            machine.send(answer)
        self._machine = machine
        return machine


class _Machine:
    """A running strategy, and the answers that it was sent."""

    def __init__(self, board: Board, steps: Steps) -> None:
        self.board, self.steps = board, steps
        self.log: tuple[Answer, ...] = ()
        self.pair = next(steps, None)

    def send(self, answer: Answer) -> None:
        said = {"must": True, "cannot": False}.get(answer.value)
        self.log = (*self.log, answer)
        try:
            self.pair = self.steps.send(said)
        except StopIteration:
            self.pair = None


class CobraAsker(SequentialAsker):
    """COBRA: k-means into super-instances, then answers merge them.

    Parameters
    ----------
    data : array of shape (n_samples, n_features)
        The rows.
    n_super : int, default=25
        The number of super-instances.
    random_state : int, Generator or RandomState, optional
        Source of the k-means starts.

    See Also
    --------
    CobrasAsker : Chooses the super-instances by the answers.
    Asker : Tolerates wrong answers, and asks about classes too.

    References
    ----------
    T. Van Craenendonck, S. Dumančić and H. Blockeel. COBRA: a fast and simple method for active
    clustering with pairwise constraints. IJCAI 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.query import CobraAsker, simulate
    >>> X = np.repeat([[0.0], [5.0], [9.0]], 10, axis=0) + np.linspace(0, 1, 30)[:, None]
    >>> asker = CobraAsker(X, n_super=6, random_state=0)
    >>> float(simulate(asker, np.repeat([0, 1, 1], 10), budgets=(15,)).ari[-1])
    1.0
    """

    def __init__(self, data: Any, *, n_super: int = 25, random_state: Any = None) -> None:
        super().__init__(data, random_state=random_state, n_super=_count("n_super", n_super))

    def _steps(self, board: Board) -> Steps:
        return cobra(board, self._settings["n_super"])


class CobrasAsker(SequentialAsker):
    """COBRAS: super-instances are split as the answers require, then merged.

    Parameters
    ----------
    data : array of shape (n_samples, n_features)
        The rows.
    random_state : int, Generator or RandomState, optional
        Source of the k-means starts.

    See Also
    --------
    CobraAsker : A fixed number of super-instances.
    Asker : Tolerates wrong answers, and asks about classes too.

    References
    ----------
    T. Van Craenendonck et al. COBRAS: interactive clustering with pairwise queries. IDA 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.query import CobrasAsker, simulate
    >>> X = np.repeat([[0.0], [5.0], [9.0]], 10, axis=0) + np.linspace(0, 1, 30)[:, None]
    >>> curve = simulate(CobrasAsker(X, random_state=0), np.repeat([0, 1, 1], 10), budgets=(30,))
    >>> float(curve.ari[-1])
    1.0
    """

    def __init__(self, data: Any, *, random_state: Any = None) -> None:
        super().__init__(data, random_state=random_state)

    def _steps(self, board: Board) -> Steps:
        return cobras(board)


class NeighborhoodAsker(SequentialAsker):
    """Groups of rows that belong together, grown one row at a time; PCKMeans clusters the rest.

    Parameters
    ----------
    data : array of shape (n_samples, n_features)
        The rows.
    n_clusters : int
        The number of clusters, which these strategies have to know.
    rule : {"consolidate", "min-max", "npu"}, default="min-max"
        The next row: at random (Explore and Consolidate), the one least like all asked rows
        (MinMax), or the one whose group is most uncertain per expected question (NPU).
    random_state : int, Generator or RandomState, optional
        Seed or source of random numbers.

    See Also
    --------
    CobrasAsker : Needs no number of clusters.
    Asker : Tolerates wrong answers, and asks about classes too.

    References
    ----------
    S. Basu, A. Banerjee and R. Mooney. Active semi-supervision for pairwise constrained
    clustering. SDM 2004. P. Mallapragada, R. Jin and A. Jain. Active query selection for
    semi-supervised clustering. ICPR 2008. S. Xiong, J. Azimi and X. Fern. Active learning of
    constraints for semi-supervised clustering. TKDE 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.query import NeighborhoodAsker, simulate
    >>> X = np.repeat([[0.0], [5.0], [9.0]], 10, axis=0) + np.linspace(0, 1, 30)[:, None]
    >>> asker = NeighborhoodAsker(X, n_clusters=3, rule="min-max", random_state=0)
    >>> float(simulate(asker, np.repeat([0, 1, 2], 10), budgets=(8,)).ari[-1])
    1.0
    """

    def __init__(
        self, data: Any, *, n_clusters: int, rule: str = "min-max", random_state: Any = None
    ) -> None:
        if rule not in ("consolidate", "min-max", "npu"):
            raise QuestionError(f"rule is {rule!r}; give 'consolidate', 'min-max' or 'npu'.")
        n_clusters = _count("n_clusters", n_clusters)
        super().__init__(data, random_state=random_state, n_clusters=n_clusters, rule=rule)

    def _steps(self, board: Board) -> Steps:
        n_clusters, rule = self._settings["n_clusters"], self._settings["rule"]
        if rule == "npu":
            return npu(board, n_clusters, self._clusters)
        return (explore_consolidate if rule == "consolidate" else min_max)(board, n_clusters)

    def _clusters(self, board: Board) -> Ints:
        if board.fitted is None or board.fitted[0] != len(board.known):
            board.fitted = len(board.known), self._fit(board)
        return board.fitted[1]

    def _fit(self, board: Board) -> Ints:
        n_clusters = min(self._settings["n_clusters"], len(board.X))
        pairs: dict[bool, list[tuple[int, int]]] = {True: [], False: []}
        for pair, said in board.known.items():
            if said is not None:
                pairs[said].append(pair)
        if not board.known:
            return k_means(board.X, n_clusters, board.seed)
        side = SideInformation.from_pairs(
            must=pairs[True], cannot=pairs[False], n_samples=len(board.X)
        )
        model = find_model("PCKMeans")(n_clusters, random_state=board.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # equal rows leave fewer clusters
            return np.asarray(model.fit(board.X, side=side).labels_)


def _count(name: str, value: Any) -> int:
    """A setting that is a number of something, as plain data."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise QuestionError(f"{name} is {value!r}; give a whole number, 1 or more.")
    return int(value)


class RandomAsker(Asker):
    """The asker with pairs drawn at random, as a baseline for chosen questions.

    Parameters
    ----------
    data, side, annotators, refit, random_state
        As for `Asker`.

    See Also
    --------
    Asker : The same, with chosen questions.

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight.query import RandomAsker
    >>> RandomAsker(np.arange(12.0).reshape(6, 2), random_state=0).ask()[0].reason
    'drawn at random'
    """

    def __init__(
        self,
        data: Any,
        *,
        side: SideInformation | None = None,
        annotators: Any = None,
        refit: Any = "default",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            data, side=side, annotators=annotators, kinds=("pair",), audit=0.0, refit=refit,
            random_state=random_state,
        )  # fmt: skip

    _saved = ("annotators", "refit")

    def ask(
        self,
        n: int = 1,
        annotator: str | None = None,
        *,
        kinds: Sequence[str] | None = None,
        open: Iterable[Question] = (),
    ) -> list[Question]:
        """Pairs drawn at random, none of them twice; who is asked is drawn too.

        Parameters
        ----------
        n, annotator, kinds, open
            As for `Asker`.

        Returns
        -------
        list of Question
        """
        n, waiting = _count("n", n), tuple(open)
        if kinds is not None and "pair" not in check_kinds(kinds):
            return []
        people = self._people if annotator is None else check_annotators([annotator])
        asked = {tuple(sorted(a.question.rows)) for a in self.answers}
        asked |= {tuple(sorted(question.rows)) for question in waiting}
        total = self.n_samples * (self.n_samples - 1) // 2
        found: list[Question] = []
        slot = len(self.answers) + len(waiting)
        while len(found) < n and len(asked) < total:
            rng = np.random.default_rng([self.seed, slot, 3])
            pair = tuple(sorted(rng.choice(self.n_samples, size=2, replace=False).tolist()))
            while pair in asked:
                pair = tuple(sorted(rng.choice(self.n_samples, size=2, replace=False).tolist()))
            asked.add(pair)
            who = people[int(rng.integers(len(people)))].name
            question = Question(
                "", "pair", pair, annotator=who, slot=slot, reason="drawn at random"
            )
            found.append(replace(question, id=question_id(self.seed, question)))
            slot += 1
        return found
