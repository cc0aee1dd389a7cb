"""Questions for people: an asker per project in a warm process, and questions kept ready.

People never wait for the asker. It computes the next questions in the background after every
answer; if it is busy or down, questions that were computed before are served, then random pairs.
"""

import multiprocessing as mp
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from sidelight.exceptions import SidelightError
from sidelight.side import SideInformation
from sidelight.store import Event, Folder, Store, as_side, replay
from sidelight.web._pool import step_back
from sidelight.web._rows import Rows

READY = 12  # questions that are kept ready for a project
MOST_OPEN = 20  # open questions that new ones keep away from: 40 of the asker's 80 items or more
MOST_TOLD = 500  # answers replayed one by one (20 ms each) after a start
_PATIENCE = 120.0  # seconds until a silent asker counts as down
_REST = 4.0  # pause between two builds of an asker, as a multiple of the time of the last one


class Brain(NamedTuple):
    """The state of a project in the asker's process.

    asker, event
        The asker, and up to which event it has followed the log.
    blank
        The asker without statements: it has the neighbours, which take longest to find.
    side
        The statements in force.
    stale
        Whether there are statements that the asker can only be given at its start.
    rested
        When it may be built again, by the monotonic clock.
    """

    asker: Any
    event: int
    blank: Any
    side: SideInformation
    stale: bool = False
    rested: float = 0.0


def _think(pipe: Connection, store_address: str, bulk: str) -> None:
    """The loop of the asker's process: takes a project and a number, returns questions."""
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
            brain = brains[project] = follow(brains.get(project), store, folder, project)
            if checked.get(project) != brain.event:  # nothing new, nothing new implied
                withdraw_implied(store, project, brain.side)
                checked[project] = brain.event
            thought = describe(brain.asker, n, open_rows(store, project))
            pipe.send(("questions", thought | {"again_in": _again_in(brain)}))
        except Exception as error:
            brains.pop(project, None)
            pipe.send(("failed", f"{type(error).__name__}: {error}"))


def _again_in(brain: Brain) -> float | None:
    """Seconds until a stale asker may be built again; None if it is not stale."""
    return max(brain.rested - time.monotonic(), 0.0) if brain.stale else None


def follow(brain: Brain | None, store: Store, folder: Folder, project: int) -> Brain:
    """The asker after all events.

    The log is the state. Answers to questions, and their retractions, are passed on as they come.
    Other statements can only be given at the start, so they need a new asker: the neighbours are
    kept, and builds are spaced out, so that a person who labels one selection after the other does
    not keep others waiting for questions.
    """
    if brain is None:
        from sidelight.query import Asker

        found = store.project(project)
        # The pool fits models; the asker's own chains are what moves within a second.
        X = np.asarray(Rows(found, folder).X)
        return _built(Asker(X, refit=None, random_state=0), store, project)
    news = store.events(project, after=brain.event)
    if not news:
        followed = brain
    else:
        asker, is_whole = _told(brain.asker, news, of=lambda number: store.event(project, number))
        followed = brain._replace(
            asker=asker,
            event=news[-1].id,
            side=_grown(brain.side, store, project, news),
            stale=brain.stale or not is_whole,
        )
    if followed.stale and time.monotonic() >= followed.rested:
        return _built(followed.blank, store, project)
    return followed


def _built(blank: Any, store: Store, project: int) -> Brain:
    """A new asker with the statements that were not answers, after all answers."""
    begun = time.monotonic()
    log = store.events(project)
    in_force = [one for one in replay(log) if one.retracted_by is None]
    replies = {event.id: event for event in log if _is_reply(event)}
    kept = [replies[one.event] for one in in_force if one.event in replies]
    old = {event.id for event in kept[:-MOST_TOLD] if not _is_audit(event)}
    given = [one for one in in_force if one.event not in replies or one.event in old]
    asker = blank.with_side(as_side(given, blank.n_samples))
    asker, _ = _told(asker, [event for event in kept if event.id not in old])
    ended = time.monotonic()
    return Brain(
        asker,
        log[-1].id if log else 0,
        blank,
        as_side(in_force, blank.n_samples),
        rested=ended + _REST * (ended - begun),
    )


def _grown(
    side: SideInformation, store: Store, project: int, news: Sequence[Event]
) -> SideInformation:
    """The statements in force after some more events."""
    if any(event.kind in ("retract", "rename") for event in news):
        return store.side(project)
    said = replay(news)
    return side + as_side(said, side.n_samples) if said else side


def withdraw_implied(store: Store, project: int, side: SideInformation | None = None) -> list[str]:
    """Withdraw open questions whose answers follow from the statements; returns their ids.

    Questions that measure something stay open: those drawn at random, and those that are asked of
    a second person. ``side`` has the statements, if they were read already: reading 100,000 takes
    two seconds, their closure .04.
    """
    open_ones = [
        question
        for question in store.questions(project)
        if not (question["audit"] or {"again", "second"} & set(question["body"]))
    ]
    if not open_ones:
        return []
    side = store.side(project) if side is None else side
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


def open_rows(store: Store, project: int) -> list[tuple[int, ...]]:
    """The rows of the latest open questions of the asker."""
    return [
        tuple(question["body"]["rows"])
        for question in store.questions(project)
        if "slot" in question["body"]
    ][-MOST_OPEN:]


def _is_reply(event: Event) -> bool:
    """Whether an event answers a question of the asker, or a pair that was drawn in its place."""
    asked = event.body.get("asked", {}) if event.kind == "answer" else {}
    return "slot" in asked or "drawn" in asked


def _is_audit(event: Event) -> bool:
    asked = event.body["asked"]
    return "drawn" in asked or bool(asked.get("audit"))


def _asked(asker: Any, event: Event) -> Any:
    """The question that an event answers, as the asker knows it."""
    from sidelight.query import Question

    asked = event.body["asked"]
    return asker.audit_pair(*asked["drawn"]) if "drawn" in asked else Question.from_dict(asked)


def _told(
    asker: Any, events: Sequence[Event], *, of: Callable[[int], Event | None] = lambda _: None
) -> tuple[Any, bool]:
    """The asker after replies and retractions of replies; False if there was something else.

    ``of`` finds the event that a retraction takes back.
    """
    from sidelight.query import QuestionError

    is_whole = True
    for event in events:
        body = event.body
        try:
            if _is_reply(event):
                asker = asker.answer(
                    _asked(asker, event),
                    body["value"],
                    annotator=body["annotator"],
                    seconds=body.get("seconds"),
                )
            elif event.kind == "retract" and event.parent is not None:
                parent = of(event.parent)
                if parent is None or not _is_reply(parent):
                    is_whole = False
                else:
                    asker = asker.retract(f"{_asked(asker, parent).id}:{parent.body['annotator']}")
            elif event.kind != "select":  # not a statement
                is_whole = False
        except QuestionError:  # answered twice, by an asker of another version, or given
            is_whole = is_whole and event.kind != "retract"
    return asker, is_whole


def describe(asker: Any, n: int, open_rows: Sequence[tuple[int, ...]] = ()) -> dict[str, Any]:
    """The next questions and the progress, as plain data."""
    from sidelight.query import Question

    stopping = asker.stopping
    others = [Question("", "pair" if len(rows) > 1 else "label", rows) for rows in open_rows]
    return {
        "questions": [question.to_dict() for question in asker.ask(n, open=others)],
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
    """Questions kept ready, and the process that computes them."""

    def __init__(self, store: Store, store_address: str, bulk: str) -> None:
        self._store, self._address, self._bulk = store, store_address, bulk
        self._lock = threading.Lock()
        self._news = threading.Condition()
        self._wanted: set[int] = set()
        self._later: dict[int, float] = {}  # when to compute again with statements that had to wait
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
        """Compute the next questions after a new statement."""
        with self._news:
            self._wanted.add(project)
            self._news.notify_all()

    def state(self, project: int) -> dict[str, Any]:
        """Progress of the asking: expected error, when to stop; empty before the first result."""
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
                due = [p for p, at in self._later.items() if at <= time.monotonic()]
                self._wanted.update(due)
                for waiting in due:
                    del self._later[waiting]
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
                again_in = what.pop("again_in")
                if again_in is not None:
                    self._later[project] = time.monotonic() + again_in
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
                {
                    "kind": "pair",
                    "rows": [i, j],
                    "audit": True,
                    "probability": 2.0 / (n_rows * (n_rows - 1.0)),
                    "reason": "drawn at random",
                }
            )
        if len(found) == n:
            break
    return found


def statements_of_answer(question: Mapping[str, Any], value: Any, annotator: str) -> dict[str, Any]:
    """An answer as the columns of an event."""
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
