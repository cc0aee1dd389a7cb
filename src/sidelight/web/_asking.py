"""Questions for people: an asker per project in a warm process, and questions kept ready.

People never wait for the asker. It computes the next questions in the background after every
answer; if it is busy or down, questions that were computed before are served, then random pairs.
"""

import multiprocessing as mp
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from sidelight.exceptions import SidelightError
from sidelight.store import Event, Folder, Store, as_side, replay
from sidelight.web._pool import step_back
from sidelight.web._rows import Rows

READY = 12  # questions that are kept ready for a project
_PATIENCE = 120.0  # seconds until a silent asker counts as down


class Brain(NamedTuple):
    """What the asker's process knows of a project: the asker, and up to which event."""

    asker: Any
    event: int


def _think(pipe: Connection, store_address: str, bulk: str) -> None:
    """The loop of the asker's process: (project, n, open rows) in, questions out."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    step_back()
    store, folder = Store(store_address), Folder(bulk)
    brains: dict[int, Brain] = {}
    checked: dict[int, int] = {}
    while True:
        try:
            wanted = pipe.recv()
        except EOFError:
            return
        if wanted is None:
            return
        project, n = wanted
        try:
            last = store.last_event(project)
            if checked.get(project) != last:  # nothing new, nothing new implied
                withdraw_implied(store, project)
                checked[project] = last
            brains[project] = follow(brains.get(project), store, folder, project)
            pipe.send(("questions", describe(brains[project].asker, n)))
        except Exception as error:
            brains.pop(project, None)
            pipe.send(("failed", f"{type(error).__name__}: {error}"))


def follow(brain: Brain | None, store: Store, folder: Folder, project: int) -> Brain:
    """The asker after all that has happened; built anew when more than its questions were answered.

    State is the log: what was said without being asked is given at the start, answers to the
    asker's own questions are told in their order, and what was taken back never happened.
    """
    news = store.events(project, after=0 if brain is None else brain.event)
    last = news[-1].id if news else (0 if brain is None else brain.event)
    news = [event for event in news if event.kind != "select"]  # says nothing of the rows
    if brain is not None and all(_is_reply(event) for event in news):
        return Brain(_told(brain.asker, news), last)
    from sidelight.query import Asker

    found = store.project(project)
    log = store.events(project)
    in_force = [one for one in replay(log) if one.retracted_by is None]
    replies = {event.id: event for event in log if _is_reply(event)}
    given = [one for one in in_force if one.event not in replies]
    kept = [replies[one.event] for one in in_force if one.event in replies]
    # The pool fits models; the asker's own chains are what moves within a second.
    asker = Asker(
        np.asarray(Rows(found, folder).X),
        side=as_side(given, found.n_rows),
        refit=None,
        random_state=0,
    )
    return Brain(_told(asker, kept), log[-1].id if log else 0)


def withdraw_implied(store: Store, project: int) -> list[str]:
    """Withdraw open questions whose answers follow from what was said; returns their ids.

    Questions that measure something stay open: those drawn at random, and those that are asked of
    a second person.
    """
    open_ones = [
        question
        for question in store.questions(project)
        if not (question["audit"] or {"again", "second"} & set(question["body"]))
    ]
    if not open_ones:
        return []
    side = store.side(project)
    if not side.n_statements:
        return []
    closed = side.closure()
    i, j = np.array([(q["i"], q["i"] if q["j"] is None else q["j"]) for q in open_ones]).T
    # Where both hold, people contradict each other, and one more answer is welcome.
    decided = closed.together(i, j) != closed.apart(i, j)
    named = np.isin(closed.groups[i], closed.labels[:, 0])
    implied = np.where([q["kind"] == "pair" for q in open_ones], decided, named)
    gone = [open_ones[k]["id"] for k in np.flatnonzero(implied)]
    store.set_question_state(project, gone, "withdrawn")
    return gone


def _is_reply(event: Event) -> bool:
    """Whether an event answers a question of the asker, rather than a random pair."""
    return event.kind == "answer" and "slot" in event.body.get("asked", {})


def _told(asker: Any, events: Sequence[Event]) -> Any:
    """The asker after replies to its questions."""
    from sidelight.query import Question, QuestionError

    for event in events:
        body = event.body
        try:
            asker = asker.answer(
                Question.from_dict(body["asked"]),
                body["value"],
                annotator=body["annotator"],
                seconds=body.get("seconds"),
            )
        except QuestionError:  # answered twice, or by an asker of another version
            continue
    return asker


def describe(asker: Any, n: int) -> dict[str, Any]:
    """The next questions and how far it is, as plain data."""
    stopping = asker.stopping
    return {
        "questions": [question.to_dict() for question in asker.ask(n)],
        "expected_error": _interval(asker.expected_error),
        "n_clusters": int(asker.n_clusters),
        "undecided": int(np.sum(asker.undecided)),
        "stopping": _plain(stopping),
        "accuracies": {
            name: _interval(found) for name, found in asker.accuracies.items() if name is not None
        },
        "labels": np.asarray(asker.labels, dtype=np.int32).tobytes(),
    }


def _interval(interval: Any) -> list[float]:
    return [float(value) for value in interval]


def _plain(record: Any) -> dict[str, Any]:
    """A record of numbers, texts and intervals as a dict."""
    return {
        name: _interval(value) if isinstance(value, tuple) else value
        for name, value in record._asdict().items()
    }


class Asking:
    """Questions kept ready, and the process that thinks of them."""

    def __init__(self, store: Store, store_address: str, bulk: str) -> None:
        self._store, self._address, self._bulk = store, store_address, bulk
        self._lock = threading.Lock()
        self._news = threading.Condition()
        self._wanted: set[int] = set()
        self._ready: dict[int, list[dict[str, Any]]] = {}
        self._state: dict[int, dict[str, Any]] = {}
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the process; it imports in the background."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the process."""
        self._stopping.set()
        with self._news:
            self._news.notify_all()
        if self._thread is not None:
            self._thread.join(10)

    def refresh(self, project: int) -> None:
        """Something was said: think of the next questions."""
        with self._news:
            self._wanted.add(project)
            self._news.notify_all()

    def state(self, project: int) -> dict[str, Any]:
        """How far the asking is: expected error, when to stop; empty before the first thought."""
        with self._lock:
            return dict(self._state.get(project, {}))

    def take(
        self,
        project: int,
        n: int,
        *,
        kinds: Sequence[str],
        busy: set[int],
        seen: set[tuple[int, ...]],
    ) -> list[dict[str, Any]]:
        """Up to n questions about rows that are not open elsewhere and new to this person."""
        with self._lock:
            found: list[dict[str, Any]] = []
            rest: list[dict[str, Any]] = []
            for question in self._ready.get(project, []):
                rows = tuple(sorted(question["rows"]))
                if question["kind"] not in kinds or rows in seen or busy & set(rows):
                    rest.append(question)
                elif len(found) < n:
                    found.append(question)
                    busy = busy | set(rows)
                else:
                    rest.append(question)
            self._ready[project] = rest
        if len(found) < n or not rest:
            self.refresh(project)
        return found

    def _run(self) -> None:
        process: Any = None
        pipe: Any = None
        while not self._stopping.is_set():
            with self._news:
                if not self._wanted:
                    self._news.wait(0.5)
                project = self._wanted.pop() if self._wanted else None
            if project is None:
                continue
            if process is None or not process.is_alive():
                context = mp.get_context("spawn")
                pipe, theirs = context.Pipe()
                process = context.Process(
                    target=_think, args=(theirs, self._address, self._bulk), daemon=True
                )
                process.start()
                theirs.close()
            if not self._thought(pipe, project):
                process.kill()
                process.join(5)
                pipe.close()
                process = None
        if process is not None:
            process.kill()
            process.join(5)

    def _thought(self, pipe: Any, project: int) -> bool:
        """Ask the process for questions of a project; False if it is down."""
        try:
            pipe.send((project, READY))
            waited = 0.0
            while not pipe.poll(0.2):
                waited += 0.2
                if self._stopping.is_set() or waited > _PATIENCE:
                    return False
            kind, what = pipe.recv()
        except (EOFError, OSError):
            return False
        with self._lock:
            if kind == "questions":
                self._ready[project] = what.pop("questions")
                self._state[project] = what
            else:
                self._state[project] = {"failed": what}
        return True


def random_pairs(
    n_rows: int, n: int, *, seed: Any, seen: set[tuple[int, ...]]
) -> list[dict[str, Any]]:
    """Pairs of rows drawn at random, for when the asker has nothing ready: audit questions."""
    rng = np.random.default_rng(seed)
    if n_rows < 2:
        raise SidelightError("there is nothing to ask about a table of one row.")
    found: list[dict[str, Any]] = []
    for _ in range(50 * n):
        i, j = sorted(rng.choice(n_rows, 2, replace=False).tolist())
        if (i, j) not in seen:
            seen = seen | {(i, j)}
            found.append(
                {"kind": "pair", "rows": [i, j], "audit": True, "reason": "drawn at random"}
            )
        if len(found) == n:
            break
    return found


def statements_of_answer(question: Mapping[str, Any], value: Any, annotator: str) -> dict[str, Any]:
    """What an answer says, as the columns of an event."""
    i, *others = question["rows"]
    said: dict[str, Any] = {"i": [i], "annotator": annotator}
    if question["kind"] == "pair":
        kinds = {"must": "must", "cannot": "cannot", "cannot_tell": "unsure"}
        if not isinstance(value, str) or value not in kinds:
            raise SidelightError(
                f"the answer is {value!r}; about a pair it is 'must', 'cannot' or 'cannot_tell'."
            )
        return said | {"kind": kinds[value], "j": [others[0]]}
    if value == "cannot_tell":
        return said | {"kind": "unsure"}
    if isinstance(value, str) and value.startswith("not:") and len(value) > 4:
        return said | {"kind": "not_label", "class": value[4:]}
    return said | {"kind": "label", "class": value}
