"""The work of jobs, in a worker process: plain functions of a store, a folder and a job."""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight.exceptions import SidelightError
from sidelight.store import Folder, Project, Store, as_side, replay
from sidelight.web._rows import Rows, plane

Tell = Callable[[float, str], None]
DEFAULT = "DiscriminativeClustering"
COMPARE_SECONDS = 300.0  # after which a comparison begins no further fit, unless told otherwise


class Progress:
    """Progress of a fit, as `sidelight.study` and scikit-learn's callbacks report it."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._parts = self._done = 0
        self._stage = ""

    @contextmanager
    def _staged(self, description: str) -> Any:
        self._stage, self._parts, self._done = description, 0, 0
        self._tell(0.0, description)
        yield

    def stage(self, description: str) -> AbstractContextManager[None]:
        """Say which step has begun."""
        staged: AbstractContextManager[None] = self._staged(description)
        return staged

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing to prepare."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """A model begins its work."""
        if context.parent is None and context.max_subtasks:
            self._parts = context.max_subtasks

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """A part of it is done."""
        if context.parent is not None and context.parent.parent is None and self._parts:
            self._done += 1
            self._tell(min(self._done / self._parts, 1.0), self._stage)
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing to put away."""


def run_job(store: Store, folder: Folder, job: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """Do one job; returns what it made, as plain data."""
    kinds = {
        "fit": _fit,
        "layout": _layout,
        "report": _report,
        "judge": _judge,
        "compare": _compare,
        "nothing": _nothing,
    }
    if job["kind"] not in kinds:
        raise SidelightError(f"unknown kind of job {job['kind']!r}; known: {', '.join(kinds)}.")
    project = store.project(job["project"])
    return kinds[job["kind"]](store, folder, project, job, tell)


def _nothing(
    store: Store, folder: Folder, project: Project, job: Mapping[str, Any], tell: Tell
) -> dict[str, Any]:
    """Wait, for tests of the pool: ``body["seconds"]``, or die if ``body["die"]``."""
    import time

    if job["body"].get("die"):
        os._exit(1)
    for k in range(int(job["body"].get("seconds", 0) * 20)):
        time.sleep(0.05)
        tell(k / 100, "waiting")
    return {}


def _fit(
    store: Store, folder: Folder, project: Project, job: Mapping[str, Any], tell: Tell
) -> dict[str, Any]:
    body = job["body"]
    at_event = body.get("at_event") or store.last_event(project.id)
    answer, side = _answer(store, folder, project, {**body, "at_event": at_event}, tell)
    result = answer.result
    labels = np.asarray(result.labels, dtype=np.int32)
    membership = answer.membership
    made = {"labels": folder.put_array(labels)}
    if membership is not None:
        own = np.asarray(membership)[np.arange(len(labels)), labels]
        made["membership"] = folder.put_array(own.astype(np.float32))
    previous = store.last_run(project.id)
    names = [str(name) for name in result.cluster_names]
    scores = {
        "clusters": [
            {"number": k, "name": name, "size": int(size), "colour": colour}
            for k, (name, size, colour) in enumerate(
                zip(names, result.sizes, _colours(folder, previous, labels, names), strict=True)
            )
        ],
        "objective": float(result.objective),
        "n_statements": int(side.n_statements),
        "n_broken": int(result.violated.sum()),
        **_held_out(answer),
        "notes": answer.notes,
        "verdict": folder.put(
            json.dumps(_verdict(store, project.id, at_event, answer)).encode(), ".json"
        ),
        "accuracy": _accuracies(answer),
        "membership": made.get("membership"),
        "automatic": bool(body.get("automatic")),
    }
    number = store.add_run(
        project.id,
        job=job["id"],
        model=type(answer.model).__name__,
        parameters=_plain(body.get("parameters") or {}) | {"n_clusters": body.get("n_clusters")},
        seed=body.get("seed", 0),
        at_event=at_event,
        labels_file=made["labels"],
        scores=scores,
        versions=_plain(result.provenance.get("versions", {})),
    )
    return {"run": number}


def _answer(
    store: Store, folder: Folder, project: Project, body: Mapping[str, Any], tell: Tell
) -> tuple[Any, Any]:
    """Fit a model to the project as it was after an event; the same way as the command line."""
    from sidelight import study

    rows = Rows(project, folder)
    side = store.side(project.id, at_event=body["at_event"], index=rows.ids)
    config = project.config
    answer = study.fit(
        rows.table_path,
        body.get("model") or DEFAULT,
        side=side,
        id=config["id"],
        n_clusters=body.get("n_clusters"),
        parameters=body.get("parameters"),
        seed=body.get("seed", 0),
        use_what_fits=True,
        folds=0 if body.get("automatic") else "auto",
        progress=Progress(tell),
        **config["how"],
    )
    return answer, side


def _colours(
    folder: Folder, before: Mapping[str, Any] | None, labels: NDArray[Any], names: list[str]
) -> list[int]:
    """A colour for each cluster: that of the cluster of the run before with most of its rows.

    A colour that a class of the same name had stays with the name.
    """
    from scipy.optimize import linear_sum_assignment

    if before is None:
        return list(range(len(names)))
    old = before["scores"]["clusters"]
    common = np.zeros((len(names), len(old)), dtype=np.int64)
    np.add.at(common, (labels, np.asarray(folder.array(before["labels_file"]))), 1)
    same = np.array([[name == cluster["name"] for cluster in old] for name in names])
    common[same] += len(labels) + 1
    mine, theirs = linear_sum_assignment(-common)
    colours = {k: old[h]["colour"] for k, h in zip(mine, theirs, strict=True) if common[k, h] > 0}
    free = iter(c for c in range(len(names) + len(old)) if c not in set(colours.values()))
    return [colours[k] if k in colours else next(free) for k in range(len(names))]


def _verdict(store: Store, project: int, at_event: int, answer: Any) -> list[dict[str, Any]]:
    """The verdict of the fit on each statement of the log, by event and position."""
    said = [
        one
        for one in replay(e for e in store.events(project) if e.id <= at_event)
        if one.retracted_by is None
    ]
    verdict, used = answer.verdict, answer.result.side
    if used.n_statements != len(said):  # statements that the model cannot use were left out
        fits = set(_used_kinds(answer))
        said = [one for one in said if one.kind in fits]
    error = verdict.error
    return [
        {
            "event": one.event,
            "position": one.position,
            "kept": bool(kept),
            "error": None if error is None else float(error[k]),
        }
        for k, (one, kept) in enumerate(zip(said, verdict.kept, strict=True))
    ]


def _used_kinds(answer: Any) -> list[str]:
    from sidelight.side import usable_kinds

    return usable_kinds(answer.model.accepts)


def _accuracies(answer: Any) -> dict[str, float] | None:
    found = answer.verdict.accuracy
    if found is None:
        return None
    return {"" if who is None else str(who): float(value) for who, value in found.items()}


def _layout(
    store: Store, folder: Folder, project: Project, job: Mapping[str, Any], tell: Tell
) -> dict[str, Any]:
    """Rows in a plane by t-SNE or UMAP; the map shows it when it is there."""
    method = job["body"].get("method", "tsne")
    tell(0.0, f"computing the map ({method})")
    name = folder.put_array(plane(np.asarray(Rows(project, folder).X), method))
    store.update_project(project.id, config={"files": {"layout": name}, "layout": method})
    return {"layout": name}


def _held_out(answer: Any) -> dict[str, Any]:
    """How well statements that were held back are kept: a sentence, and its figures."""
    found = answer.held_out
    if found is None:
        return {"held_out": None, "held_out_scores": None}
    names = ("n_statements", "share_right", "standard_error", "chance", "ceiling", "n_folds")
    figures = {name: _number(getattr(found, name)) for name in names}
    return {"held_out": found.in_words(), "held_out_scores": figures}


def _number(value: Any) -> float | None:
    """A number that JSON can hold; None for what is not known."""
    return None if value is None or not np.isfinite(value) else float(value)


def _again(
    store: Store, folder: Folder, project: Project, number: int, tell: Tell
) -> tuple[Any, Any]:
    """The same fit again: its statements and its seed are on record."""
    run = store.run(project.id, number)
    parameters = dict(run["parameters"])
    body = {
        "model": run["model"],
        "n_clusters": parameters.pop("n_clusters", None),
        "parameters": parameters,
        "seed": run["seed"],
        "at_event": run["at_event"],
    }
    return _answer(store, folder, project, body, tell)


def _judge(
    store: Store, folder: Folder, project: Project, job: Mapping[str, Any], tell: Tell
) -> dict[str, Any]:
    """The held-out scores of a run that was made without them."""
    number = job["body"]["run"]
    answer, _side = _again(store, folder, project, number, tell)
    if answer.held_out is None:
        raise SidelightError(
            answer.notes[0] if answer.notes else "there are no statements to hold back."
        )
    store.add_scores(project.id, number, _held_out(answer))
    return {"judged": number}


def _compare(
    store: Store, folder: Folder, project: Project, job: Mapping[str, Any], tell: Tell
) -> dict[str, Any]:
    """Models beside each other by statements held back; with enough audit answers by these."""
    from sidelight.select import compare

    body = job["body"]
    at_event = store.last_event(project.id)
    said = [
        one
        for one in replay(e for e in store.events(project.id) if e.id <= at_event)
        if one.retracted_by is None
    ]
    audits = store.audits(project.id)
    rows = Rows(project, folder)
    found = compare(
        np.asarray(rows.X),
        side=as_side(said, project.n_rows, rows.ids),
        models=body.get("models") or "default",
        n_clusters=body.get("n_clusters"),
        time_limit=body.get("time_limit", COMPARE_SECONDS),
        random_state=body.get("seed", 0),
        progress=lambda done, n, name: tell(min(done / max(n, 1), 1.0), f"comparing: {name}"),
        audit=np.array([one.question in audits for one in said], dtype=bool),
    )
    choice = next(k for k, row in enumerate(found.rows) if row is found.choice)
    table = {
        "at_event": at_event,
        "n_statements": len(said),
        "rows": [
            {
                **row._asdict(),
                "score": _number(row.score),
                "standard_error": _number(row.standard_error),
                "behind": _number(row.behind),
                "ours": hasattr(model, "accepts"),
            }
            for row, model in zip(found.rows, found.models, strict=True)
        ],
        "choice": choice,
        "reason": found.reason,
        "estimate": found.estimate.in_words(),
        "notes": found.notes,
    }
    return {"comparison": folder.put(json.dumps(table).encode(), ".json")}


def _report(
    store: Store, folder: Folder, project: Project, job: Mapping[str, Any], tell: Tell
) -> dict[str, Any]:
    """The report of a run, from the same fit."""
    answer, _side = _again(store, folder, project, job["body"]["run"], tell)
    with TemporaryDirectory(dir=folder.root) as place:
        path = Path(place) / "report.html"
        answer.write_page(path, title=f"Clusters in {project.name}")
        return {"report": folder.put(path.read_bytes(), ".html")}


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))
