"""The functions behind the routes, over a store, a folder, a pool and an asker."""

import json
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sidelight.exceptions import SidelightError
from sidelight.store import EXPIRES, Entry, Event, Folder, Person, Project, Store, as_side
from sidelight.web._asking import Asking, random_pairs, statements_of_answer
from sidelight.web._people import Presence, agreement, described
from sidelight.web._pool import Pool, Runner
from sidelight.web._rows import Rows, import_table
from sidelight.web._settings import Settings

KINDS = ("pair", "label")
MAX_ASKED = 50
MAX_ANSWERS = 500
RECENT = 500  # answered questions among which some are chosen for a second person


class Bench:
    """The workbench behind its routes.

    Parameters
    ----------
    settings : Settings
        Where the data lies, and limits.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        settings.root.mkdir(parents=True, exist_ok=True)
        (settings.root / "uploads").mkdir(exist_ok=True)
        self.store = Store(settings.store_address)
        self.folder = Folder(settings.root / "bulk")
        self.runner: Runner = _runner(self.store, settings, str(self.folder.root))
        self.asking = Asking(self.store, settings.store_address, str(self.folder.root))
        self._rows = lru_cache(maxsize=32)(self._rows_of)
        self.presence = Presence()
        self._asked = threading.Lock()
        self._stopping = threading.Event()
        self._unfitted: dict[int, float] = {}  # since when answers wait for a fit, by project
        self._thread = threading.Thread(target=self._refit_now_and_then, daemon=True)

    def start(self) -> None:
        """Start workers, the asker and the refits."""
        self.asking.start()
        if self.settings.workers or self.settings.dask:
            self.runner.start()
            self._thread.start()

    def stop(self) -> None:
        """End everything that was started."""
        self._stopping.set()
        self.asking.stop()
        self.runner.stop()
        self.store.close()

    # Projects

    def create_project(self, path: Path, *, name: str, **how: Any) -> Project:
        """Import a table as a project."""
        if not 1 <= len(name.strip()) <= 200:
            raise SidelightError("a project has a name of 1 to 200 characters.")
        config = import_table(self.folder, path, **how)
        n_rows = config.pop("n_rows")
        project = self.store.create_project(
            name.strip(), n_rows=n_rows, data_hash=config["files"]["X"], config=config
        )
        self.asking.refresh(project.id)
        return project

    def rows(self, project: int) -> Rows:
        """The rows of a project."""
        found = self.store.project(project)
        return self._rows(project, json.dumps(found.config["files"], sort_keys=True))

    def _rows_of(self, project: int, _files: str) -> Rows:
        return Rows(self.store.project(project), self.folder)

    def overview(self, project: Project) -> dict[str, Any]:
        """A project in a list: rows, answers, people, the last run."""
        last = self.store.last_run(project.id)
        return {
            "id": project.id,
            "name": project.name,
            "n_rows": project.n_rows,
            "created": project.created,
            "archived": project.archived,
            "n_statements": sum(self.store.count_statements(project.id).values()),
            "n_people": len(self.store.annotators(project.id)),
            "expected_error": self.asking.state(project.id).get("expected_error"),
            "last_run": None if last is None else last["id"],
        }

    # Asking and answering

    def ask(
        self,
        project: int,
        person: Person,
        *,
        n: int = 1,
        kinds: Sequence[str] = KINDS,
        tab: str | None = None,
    ) -> list[dict[str, Any]]:
        """The next questions for a person: those still open for them, then new ones.

        Nobody is asked what they have answered or postponed, what another person has open, or what
        another browser tab of the same person has open.
        """
        if not 1 <= n <= MAX_ASKED:
            raise SidelightError(f"n is {n}; ask for 1 to {MAX_ASKED} questions at a time.")
        with self._asked:
            return self._next(project, person, n, kinds, tab)

    def _next(
        self, project: int, person: Person, n: int, kinds: Sequence[str], tab: str | None
    ) -> list[dict[str, Any]]:
        n_rows = self.store.project(project).n_rows
        rules = self.asking_rules(project)
        allowed = rules["kinds"].get(str(person.id), KINDS)
        kinds = [kind for kind in kinds if kind in allowed]
        self.store.expire_questions(project)
        before_people = self.store.questions(project)
        found = [
            q["body"]
            for q in before_people
            if q["asked_of"] == person.id and q["kind"] in kinds and q["body"].get("tab") == tab
        ][:n]
        busy = {row for q in before_people for row in _rows_asked(q)}
        if len(found) < n:
            # A question that was put off expires early.
            n_asked, seen = self.store.asked(
                project, person.id, expired_after=time.time() - EXPIRES
            )
            waiting = self._again(project, person, before_people, seen)
            new = [question for question in waiting if question["kind"] in kinds][: n - len(found)]
            more = n - len(found) - len(new)
            n_second = _n_drawn(rules["second"], more, seed=[project, person.id, n_asked, 1])
            new += self._second(project, person, n_second, kinds, busy, seen)
            more = n - len(found) - len(new)
            new += self.asking.take(project, more, kinds=kinds, busy=busy, seen=seen)
            missing = n - len(found) - len(new)
            if missing and "pair" in kinds:
                seed = [project, person.id, n_asked]
                new += random_pairs(n_rows, missing, seed=seed, seen=seen)
            new = [
                _named(question, project, person, n_asked + k, tab)
                for k, question in enumerate(new)
            ]
            self.store.add_questions(project, [_stored(q) for q in new], asked_of=person.id)
            found += new
        return found

    def _second(
        self,
        project: int,
        person: Person,
        n: int,
        kinds: Sequence[str],
        busy: set[int],
        seen: set[tuple[int, ...]],
    ) -> list[dict[str, Any]]:
        """Up to n questions that another person has answered, to see whether the two agree.

        Newest first, and each is asked of two people, not of three.
        """
        found: list[dict[str, Any]] = []
        if not n:
            return found
        for number, rows in self.store.answered_once(project, not_of=person.id, limit=RECENT):
            if ("pair" if len(rows) > 1 else "label") not in kinds:
                continue
            if rows in seen or busy & set(rows) or len(found) == n:
                continue
            busy = busy | set(rows)
            question = self.store.question(project, number)
            assert question is not None
            found.append(
                {
                    "kind": question["kind"],
                    "rows": [row for row in (question["i"], question["j"]) if row is not None],
                    "classes": question["offered"],
                    "reason": "two people are asked this, to see whether they agree",
                    "second": True,
                    "asked": question["body"].get("asked", {}),
                }
            )
        return found

    def _again(
        self,
        project: int,
        person: Person,
        before_people: Sequence[Mapping[str, Any]],
        seen: set[tuple[int, ...]],
    ) -> list[dict[str, Any]]:
        """Questions that wait to be asked once more, of those who may be asked."""
        held = {question["body"].get("again") for question in before_people}
        return [
            {**waiting["body"], "again": waiting["id"]}
            for waiting in self.store.questions(project, state="waiting")
            if waiting["id"] not in held
            and (
                waiting["body"]["not_of"] is None
                or (waiting["body"]["not_of"] != person.name and _rows_asked(waiting) not in seen)
            )
        ]

    def ask_again(self, project: int, *, event: int, position: int, other: bool) -> None:
        """Ask about the rows of a statement once more, of other people if requested."""
        said = [
            one
            for one in self.store.statements(project)
            if (one.event, one.position) == (event, position)
        ]
        if not said:
            raise SidelightError(f"event {event} has no statement {position}.")
        one = said[0]
        question = {
            "kind": "label" if one.j is None else "pair",
            "rows": [one.i] if one.j is None else [one.i, one.j],
            "classes": [] if one.j is not None else self.store.classes(project),
            "reason": "a second opinion was requested",
            "not_of": one.annotator if other else None,
            "id": f"again-{event}-{position}",
        }
        known = {waiting["id"] for waiting in self.store.questions(project, state=None)}
        if question["id"] not in known:
            self.store.add_questions(project, [{**_stored(question), "state": "waiting"}])

    def add_statements(self, project: int, person: Person, path: Path, name: str) -> Event:
        """Append the statements of a file as one event."""
        from sidelight import study

        rows = self.rows(project)
        said = study.gather([path], rows.table_path, id=rows.project.config["id"])
        event = self.store.say(project, said, person=person.id, source=name)
        if event is None:
            raise SidelightError(f"{name} has no statements.")
        self._said(project)
        return event

    def put_off(self, project: int, person: Person, question: str) -> None:
        """Ask another person, or the same person after ten minutes."""
        found = self.store.question(project, question)
        if found is None or found["asked_of"] != person.id:
            raise SidelightError(f"question {question!r} was not asked of {person.name}.")
        if found["state"] == "open":
            self.store.set_question_state(project, [question], "expired")

    def answer(
        self, project: int, person: Person, answers: Iterable[Mapping[str, Any]]
    ) -> list[Event]:
        """Append answers to the log: all of them or none; a repeated one changes nothing."""
        answers = list(answers)
        if len(answers) > MAX_ANSWERS:
            raise SidelightError(f"{len(answers)} answers at once; send at most {MAX_ANSWERS}.")
        entries = [self._entry(project, person, answer) for answer in answers]
        events = self.store.append_all(project, entries, person=person.id)
        again = [entry.body["again"] for entry in entries if "again" in entry.body]
        self.store.set_question_state(project, again, "answered")
        self._said(project)
        return events

    def _entry(self, project: int, person: Person, answer: Mapping[str, Any]) -> Entry:
        asked = self.store.question(project, str(answer.get("question")))
        if asked is None or asked["asked_of"] != person.id:
            raise SidelightError(
                f"question {answer.get('question')!r} was not asked of {person.name}."
            )
        question, value = asked["body"], answer.get("value")
        body = {
            "statements": statements_of_answer(question, value, person.name),
            "question": asked["id"],
            "asked": question.get("asked", {}),
            "value": value,
            "annotator": person.name,
            "seconds": answer.get("seconds"),
        }
        if question.get("again"):
            body["again"] = question["again"]
        if answer.get("comment"):
            body["comment"] = str(answer["comment"])[:2000]
        return Entry("answer", body, key=answer.get("key") or f"answer:{asked['id']}")

    def say(
        self,
        project: int,
        person: Person,
        *,
        kind: str,
        rows: Sequence[int],
        class_: Any = None,
        key: str | None = None,
        how: Any = None,
    ) -> Event:
        """A statement about a selection as one event: a label, "not this", or a must-group."""
        rows = list(dict.fromkeys(int(row) for row in rows))
        said: dict[str, Any] = {"kind": kind, "annotator": person.name}
        if kind in ("label", "not_label"):
            said |= {"i": rows, "class": class_}
        elif kind == "must" and len(rows) > 1:
            said |= {"i": rows[:-1], "j": rows[1:]}
        elif kind == "cannot" and len(rows) == 2:
            said |= {"i": rows[:1], "j": rows[1:]}
        else:
            raise SidelightError(
                "say 'label' or 'not_label' of rows and a class, 'must' of two rows or more, "
                "or 'cannot' of two."
            )
        body = {"statements": said, "how": how}
        event = self.store.append(project, "bulk", body, key=key, person=person.id)
        self._said(project)
        return event

    def retract(
        self,
        project: int,
        person: Person,
        *,
        event: int,
        positions: Sequence[int] | None = None,
        key: str | None = None,
    ) -> Event:
        """Take back an event or some of its statements; an annotator only what is their own."""
        if person.role == "annotator":
            target = self.store.event(project, event)
            if target is None or target.person != person.id:
                raise PermissionError("annotators can take back only their own statements.")
        body = {} if positions is None else {"positions": list(positions)}
        done = self.store.append(project, "retract", body, parent=event, key=key, person=person.id)
        self._said(project)
        return done

    def rename(self, project: int, person: Person, old: Any, new: Any) -> Event:
        """Give a class another name."""
        body = {"class": old, "to": new}
        event = self.store.append(project, "rename", body, person=person.id)
        self._said(project)
        return event

    def keep_selection(
        self, project: int, person: Person, name: str, steps: Sequence[Mapping[str, Any]]
    ) -> Event:
        """Keep a selection under a name: how it was made, not its rows."""
        body = {"name": name.strip(), "steps": list(steps)}
        return self.store.append(project, "select", body, person=person.id)

    def _said(self, project: int) -> None:
        self._unfitted.setdefault(project, time.monotonic())
        self.asking.refresh(project)

    def statements(self, project: int, person: Person) -> list[dict[str, Any]]:
        """Statements with the verdict of the last run; annotators see only their own."""
        rows = self.rows(project)
        verdict = {} if person.role == "annotator" else self._last_verdict(project)
        found = []
        for one in self.store.statements(project):
            if person.role == "annotator" and one.annotator != person.name:
                continue
            found.append(
                {
                    "event": one.event,
                    "position": one.position,
                    "kind": one.kind,
                    "i": one.i,
                    "j": one.j,
                    "ids": [
                        rows.ids[r] if rows.ids else r for r in (one.i, one.j) if r is not None
                    ],
                    "class": one.class_,
                    "weight": one.weight,
                    "annotator": one.annotator,
                    "seconds": one.seconds,
                    "retracted_by": one.retracted_by,
                    **verdict.get((one.event, one.position), {"kept": None, "error": None}),
                }
            )
        return found

    def _last_verdict(self, project: int) -> dict[tuple[int, int], dict[str, Any]]:
        last = self.store.last_run(project)
        if last is None:
            return {}
        told = json.loads(self.folder.path(last["scores"]["verdict"]).read_bytes())
        return {
            (one["event"], one["position"]): {"kept": one["kept"], "error": one["error"]}
            for one in told
        }

    def conflicts(self, project: int, limit: int = 100) -> list[dict[str, Any]]:
        """Statements that contradict others, each with the shortest chain that shows it."""
        ids = self.rows(project).ids
        in_force = self.store.statements(project, retracted=False)
        # Only the annotated rows: the ids of a million rows would take seconds to check.
        annotated = sorted({row for one in in_force for row in (one.i, one.j) if row is not None})
        place = {row: k for k, row in enumerate(annotated)}
        said = [
            one._replace(i=place[one.i], j=None if one.j is None else place[one.j])
            for one in in_force
        ]
        index = annotated if ids is None else [ids[row] for row in annotated]
        found = as_side(said, len(annotated), index).conflicts(limit=limit)
        return [
            {
                "sentence": str(conflict),
                "statement": _place(in_force[conflict.statement]),
                "chain": [_place(in_force[k]) for k in conflict.chain],
            }
            for conflict in found
        ]

    def people(self, project: int) -> dict[str, Any]:
        """For each person the number, speed and accuracy of answers; agreement; kinds asked."""
        last = self.store.last_run(project)
        said = self.store.statements(project, retracted=False)
        asking = self.asking_rules(project)
        return {
            "people": described(
                self.store.people.all(),
                said,
                accuracies=self.asking.state(project).get("accuracies") or {},
                fitted=(last["scores"]["accuracy"] if last else None) or {},
                kinds=asking["kinds"],
            ),
            "agreement": agreement(said),
            "second": asking["second"],
        }

    def asking_rules(self, project: int) -> dict[str, Any]:
        """Who gets which questions: kinds by person, and the share that a second person gets."""
        told = self.store.project(project).config.get("asking", {})
        return {"kinds": {}, "second": 0.0, **told}

    def change_asking(
        self, project: int, *, kinds: Mapping[str, Sequence[str]] | None, second: float | None
    ) -> None:
        """Change who gets which questions; people who are not named stay as they are."""
        rules: dict[str, Any] = {}
        if kinds is not None:
            known = {str(person.id) for person in self.store.people.all()}
            for person, wanted in kinds.items():
                if person not in known:
                    raise SidelightError(f"there is no person {person}.")
                if not wanted or set(wanted) - set(KINDS):
                    raise SidelightError(
                        f"kinds of questions are {list(wanted)!r}; give one or both of "
                        f"{', '.join(KINDS)}."
                    )
            rules["kinds"] = {person: list(wanted) for person, wanted in kinds.items()}
        if second is not None:
            rules["second"] = second
        self.store.update_project(project, config={"asking": rules})

    # Runs and jobs

    def start_job(
        self, project: int, kind: str, body: Mapping[str, Any], person: Person | None
    ) -> int:
        """Queue a job; invalid jobs are refused now, not when they run."""
        self.store.project(project)
        if kind == "fit":
            from sidelight import study

            study.build(
                body.get("model") or "DiscriminativeClustering",
                n_clusters=body.get("n_clusters"),
                parameters=body.get("parameters"),
            )
        if kind == "layout" and body.get("method", "tsne") not in ("pca", "tsne", "umap"):
            raise SidelightError(f"unknown map {body['method']!r}; known: pca, tsne, umap.")
        if kind in ("report", "judge"):
            if body.get("run") is None:
                raise SidelightError(f"a job of the kind {kind!r} needs a run; give its number.")
            self.store.run(project, body["run"])
        if kind == "compare" and not self.store.count_statements(project):
            raise SidelightError("models are compared by statements; answer some questions first.")
        number = self.store.jobs.add(
            project, kind, body, person=None if person is None else person.id
        )
        self.runner.wake()
        return number

    def made_by(self, project: int, kind: str, run: int | None = None) -> str | None:
        """The file that the latest job of a kind has made, about a run if it is named; or None."""
        for job in self.store.jobs.all(project, states=("done",), kind=kind):
            if run is None or job.body.get("run") == run:
                return job.message.rpartition(" ")[2]
        return None

    def models_compared(self, project: int) -> dict[str, Any] | None:
        """The latest table of models by statements held back, or None."""
        name = self.made_by(project, "compare")
        if name is None:
            return None
        found: dict[str, Any] = json.loads(self.folder.path(name).read_bytes())
        return found

    def compare(self, project: int, first: int, second: int) -> dict[str, Any]:
        """Two runs side by side: how many rows went from which cluster to which, and which rows."""
        runs = [self.store.run(project, number) for number in (first, second)]
        labels = [np.asarray(self.folder.array(run["labels_file"])) for run in runs]
        names = [[c["name"] for c in run["scores"]["clusters"]] for run in runs]
        colours = [np.array([c["colour"] for c in run["scores"]["clusters"]]) for run in runs]
        table = np.zeros((len(names[0]), len(names[1])), dtype=np.int64)
        np.add.at(table, tuple(labels), 1)
        moved = np.flatnonzero(colours[0][labels[0]] != colours[1][labels[1]])
        return {
            "rows": names[0],
            "columns": names[1],
            "counts": table.tolist(),
            "n_moved": len(moved),
            "moved": moved[:1000].tolist(),
        }

    def _refit_now_and_then(self) -> None:
        """Fit the default model again after some answers or some time; never two at once."""
        while not self._stopping.wait(1.0):
            for project, since in list(self._unfitted.items()):
                try:
                    if self._is_due(project, since):
                        self._unfitted.pop(project, None)
                        self.start_job(project, "fit", {"automatic": True}, None)
                except SidelightError:
                    self._unfitted.pop(project, None)

    def _is_due(self, project: int, since: float) -> bool:
        waiting = self.store.jobs.all(project, states=("queued", "running"))
        if any(job.kind == "fit" for job in waiting):
            return False
        last = self.store.last_run(project)
        after = last["at_event"] if last else 0
        n_new = len(self.store.events(project, after=after, limit=self.settings.refit_after))
        late = time.monotonic() - since > self.settings.refit_seconds
        return n_new >= self.settings.refit_after or (late and n_new > 0)


def _runner(store: Store, settings: Settings, bulk: str) -> Runner:
    if settings.dask is None:
        return Pool(store, settings, bulk)
    from sidelight.web._dask import DaskRunner

    return DaskRunner(store, settings, bulk)


def _rows_asked(question: Mapping[str, Any]) -> tuple[int, ...]:
    rows = [question["i"]] if question["j"] is None else [question["i"], question["j"]]
    return tuple(sorted(rows))


def _n_drawn(share: float, n: int, *, seed: Sequence[int]) -> int:
    """How many of n questions are drawn with a probability; the same for the same seed."""
    if not share or n < 1:
        return 0
    return int((np.random.default_rng(seed).random(n) < share).sum())


def _named(
    question: Mapping[str, Any], project: int, person: Person, k: int, tab: str | None
) -> dict[str, Any]:
    """A question with an id of the workbench, and as the asker knows it."""
    return {
        "asked": _as_asked(question),  # a second opinion brings its own
        **question,
        "id": f"{project}-{person.id}-{k}",
        "tab": tab,
    }


def _as_asked(question: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a question that the asker gets with the answer; empty if it did not ask it."""
    if "slot" in question:
        return question
    return {"drawn": question["rows"]} if question.get("audit") else {}


def _stored(question: Mapping[str, Any]) -> dict[str, Any]:
    rows = list(question["rows"])
    return {
        "id": question["id"],
        "kind": question["kind"],
        "i": rows[0],
        "j": rows[1] if len(rows) > 1 else None,
        "offered": list(question.get("classes", [])),
        "p_must": question.get("prediction", {}).get("must"),
        "value": question.get("value"),
        "probability_asked": question.get("probability"),
        "audit": question.get("audit", False),
        "body": dict(question),
    }


def _place(said: Any) -> dict[str, int]:
    return {"event": said.event, "position": said.position}
