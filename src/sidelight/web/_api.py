"""The HTTP API: each route checks the role, calls the bench and returns plain data."""

import secrets
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from fastapi.responses import FileResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool

from sidelight.exceptions import SidelightError
from sidelight.store import Job, Person
from sidelight.web import _shapes as s
from sidelight.web._bench import KINDS, Bench
from sidelight.web._export import EXPORTS, export, import_project
from sidelight.web._map import density, described, points, selected
from sidelight.web._pictures import LARGEST, SMALL, PictureError, check_archive, encoded
from sidelight.web._rows import Rows, preview
from sidelight.web._security import may, person_of
from sidelight.web._stream import stream
from sidelight.web._uploads import receive, shown_as, upload_path

api = APIRouter(prefix="/api")
INVITATION_HOURS = 72.0

Anyone = Annotated[Person, Depends(person_of)]
Looker = Annotated[Person, Depends(may("look"))]
Answerer = Annotated[Person, Depends(may("answer"))]
Editor = Annotated[Person, Depends(may("edit"))]
Owner = Annotated[Person, Depends(may("own"))]


def the_bench(request: Request) -> Bench:
    """The bench of this server."""
    bench: Bench = request.app.state.bench
    return bench


TheBench = Annotated[Bench, Depends(the_bench)]


@api.get("/me", response_model=s.Me)
def me(person: Anyone) -> Any:
    """Who is asking."""
    return person._asdict()


# Projects


@api.get("/projects", response_model=list[s.ProjectShape])
def projects(bench: TheBench, person: Anyone, archived: bool = False) -> Any:
    """All projects."""
    return [bench.overview(project) for project in bench.store.projects(archived=archived)]


@api.post("/uploads", response_model=s.Upload)
async def upload(request: Request, bench: TheBench, person: Editor, name: str) -> Any:
    """Send a table as the body of the request; it is checked, and not imported yet."""
    key = await receive(request, bench.settings, name)
    return {"upload": key, "name": name, "preview": preview(upload_path(bench.settings, key))}


@api.post("/uploads/pictures", response_model=s.Pictures)
async def upload_pictures(request: Request, bench: TheBench, person: Editor) -> Any:
    """Send the pictures of a table as one zip archive, as the body of the request."""
    key = await receive(request, bench.settings, "pictures.zip")
    path = upload_path(bench.settings, key)
    try:
        n_files = await run_in_threadpool(check_archive, path, bench.settings.max_upload)
    except SidelightError:
        path.unlink()
        raise
    return {"upload": key, "n_files": n_files}


@api.post("/uploads/{key}/preview", response_model=s.Preview)
def preview_again(bench: TheBench, person: Editor, key: str, how: s.Preparing) -> dict[str, Any]:
    """What an upload looks like with other choices; problems are named by row."""
    return preview(
        upload_path(bench.settings, key),
        id=how.id,
        images=how.images,
        root=bench.settings.root,
        archive=_archive(bench, how),
        **_how(how),
    )


def _archive(bench: Bench, how: s.Preparing) -> Path | None:
    return None if how.pictures is None else upload_path(bench.settings, how.pictures)


@api.post("/projects", response_model=s.ProjectShape, status_code=201)
def create(bench: TheBench, person: Editor, new: s.NewProject) -> Any:
    """Import an upload as a project."""
    path, archive = upload_path(bench.settings, new.upload), _archive(bench, new)
    if archive is not None:  # it may be an upload of another kind
        check_archive(archive, bench.settings.max_upload)
    source = Path(new.source or path.name).name
    with shown_as(path, source):
        project = bench.create_project(
            path,
            name=new.name,
            id=new.id,
            show=new.show,
            images=new.images,
            archive=archive,
            source=source,
            **_how(new),
        )
    path.unlink()
    if archive is not None:
        archive.unlink(missing_ok=True)
    return bench.overview(project)


@api.post("/projects/file", response_model=s.ProjectShape, status_code=201)
async def open_project_file(request: Request, bench: TheBench, person: Editor) -> Any:
    """Add a project from a project file, sent as the body of the request."""
    key = await receive(request, bench.settings, "project.zip")
    path = upload_path(bench.settings, key)
    try:
        with shown_as(path, "the project file"):
            return bench.overview(await run_in_threadpool(import_project, bench, path))
    finally:
        path.unlink()


def _how(how: s.Preparing) -> dict[str, Any]:
    told = how.model_dump(include={"columns", "drop", "one_hot", "text", "impute", "scale"})
    reading = how.model_dump(include={"sep", "decimal"}, exclude_none=True)
    return {name: value for name, value in {**told, "reading": reading}.items() if value}


@api.get("/projects/{project}", response_model=s.ProjectDetails)
def details(bench: TheBench, person: Anyone, project: int) -> Any:
    """One project."""
    found = bench.store.project(project)
    config = found.config
    is_blind = person.role == "annotator"
    return {
        **bench.overview(found),
        "features": config["features"],
        "show": config["show"],
        "images": config.get("images", []),
        "layout": config["layout"],
        "layout_file": config["files"]["layout"],
        "words": config["words"],
        "notes": config["notes"],
        "role": person.role,
        "source": config["source"],
        "classes": [] if is_blind else bench.store.classes(project),
        "annotators": [] if is_blind else bench.store.annotators(project),
    }


@api.patch("/projects/{project}", response_model=s.ProjectShape)
def change(bench: TheBench, person: Editor, project: int, what: s.Change) -> Any:
    """Rename a project, put it away, or choose the words on the buttons."""
    config = None if what.words is None else {"words": what.words}
    found = bench.store.update_project(
        project, name=what.name, archived=what.archived, config=config
    )
    return bench.overview(found)


@api.get("/projects/{project}/rows", response_model=list[s.RowShape])
def rows(
    bench: TheBench, person: Anyone, project: int, ids: Annotated[str, Query(max_length=20_000)]
) -> Any:
    """Rows by their positions, separated by commas; at most 1,000."""
    try:
        wanted = [int(part) for part in ids.split(",") if part]
    except ValueError:
        raise HTTPException(422, "ids are whole numbers separated by commas.") from None
    if len(wanted) > 1000:
        raise HTTPException(422, "at most 1,000 rows at a time.")
    return bench.rows(project).shown(wanted)


@api.get("/projects/{project}/rows/{row}/picture")
def picture(
    bench: TheBench,
    person: Anyone,
    project: int,
    row: int,
    column: Annotated[str, Query(max_length=1000)],
    small: bool = False,
) -> Response:
    """The picture of a row, encoded again."""
    try:
        contents = bench.rows(project).picture(row, column, bench.settings.root)
        pixels, kind = encoded(contents, largest=SMALL if small else LARGEST)
    except PictureError as error:
        raise HTTPException(404, str(error)) from None
    headers = {"Cache-Control": "private, max-age=3600"}
    return Response(pixels, media_type=kind, headers=headers)


@api.get("/projects/{project}/search", response_model=list[s.RowShape])
def search(
    bench: TheBench, person: Looker, project: int, text: Annotated[str, Query(max_length=200)]
) -> Any:
    """The first fifty rows that contain a text."""
    found = bench.rows(project)
    return found.shown(found.search(text))


@api.get("/projects/{project}/layout.bin")
def layout(request: Request, bench: TheBench, person: Looker, project: int) -> Response:
    """Rows in a plane: float32, two for each row."""
    name = bench.store.project(project).config["files"]["layout"]
    return _array(request, bench, name)


@api.get("/projects/{project}/points.bin")
def drawn(
    bench: TheBench,
    person: Looker,
    project: int,
    box: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """The rows to draw, all or a fixed sample: their numbers (int32), then their places (float32).

    A box (left, bottom, right, top, separated by commas) gives the rows of that view.
    """
    layout = bench.folder.array(bench.store.project(project).config["files"]["layout"])
    rows = points(layout, None if box is None else _box(box))
    return Response(rows.tobytes() + layout[rows].tobytes(), media_type="application/octet-stream")


def _box(text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if len(found) != 4:
        raise HTTPException(422, "a box is four numbers separated by commas.")
    return found


@api.get("/projects/{project}/density.bin")
def densities(bench: TheBench, person: Looker, project: int) -> Response:
    """How many rows lie in each cell of a grid over the map: float32, row by row from below."""
    layout = bench.folder.array(bench.store.project(project).config["files"]["layout"])
    return Response(density(layout).tobytes(), media_type="application/octet-stream")


@api.post("/projects/{project}/selected", response_model=s.Selected)
def look_at_selection(bench: TheBench, person: Looker, project: int, what: s.Selecting) -> Any:
    """The rows of a selection, and what they have in common."""
    return described(bench, project, _steps(what.steps), what.run)


@api.get("/projects/{project}/selections", response_model=list[s.NamedSelection])
def selections(bench: TheBench, person: Looker, project: int) -> Any:
    """The selections that were kept under a name."""
    return bench.store.selections(project)


@api.post("/projects/{project}/selections", response_model=s.Appended, status_code=201)
def keep_selection(bench: TheBench, person: Editor, project: int, what: s.NewSelection) -> Any:
    """Keep a selection under a name, with how it was made."""
    event = bench.keep_selection(project, person, what.name, _steps(what.steps))
    return {"events": [event.id]}


def _steps(steps: list[s.Step]) -> list[dict[str, Any]]:
    return [step.model_dump(by_alias=True, exclude_none=True) for step in steps]


# Asking and answering


@api.get("/projects/{project}/ask", response_model=list[s.QuestionShape])
def ask(
    bench: TheBench,
    person: Answerer,
    project: int,
    n: int = 1,
    kinds: Annotated[str, Query(pattern="^(pair|label)(,(pair|label))?$")] = ",".join(KINDS),
    tab: Annotated[str | None, Query(max_length=40)] = None,
) -> Any:
    """The next questions, without predictions and answers of other people."""
    shown = bench.rows(project)
    asked = bench.ask(project, person, n=n, kinds=kinds.split(","), tab=tab)
    return [_question(shown, question) for question in asked]


def _question(shown: Rows, question: dict[str, Any]) -> dict[str, Any]:
    rows = shown.shown(question["rows"])
    differs = [name for name, far in shown.differ(rows).items() if far]
    return {
        "id": question["id"],
        "kind": question["kind"],
        "rows": rows,
        "classes": question.get("classes", []),
        "differs": differs,
    }


@api.post("/projects/{project}/questions/{question}/later", status_code=204)
def later(bench: TheBench, person: Answerer, project: int, question: str) -> None:
    """Postpone a question: this person is not asked it again for a while."""
    bench.put_off(project, person, question)


@api.get("/projects/{project}/questions/{question}", response_model=s.Why)
def why(bench: TheBench, person: Answerer, project: int, question: str) -> dict[str, Any]:
    """Why a question was asked; only after it was answered."""
    found = bench.store.question(project, question)
    if found is None or (person.role == "annotator" and found["asked_of"] != person.id):
        raise HTTPException(404, "there is no such question.")
    if found["state"] != "answered":
        raise HTTPException(403, "answer it first: the reason could give the answer away.")
    return {"reason": found["body"].get("reason", ""), "audit": found["audit"]}


@api.post("/projects/{project}/answers", response_model=s.Appended)
def answers(bench: TheBench, person: Answerer, project: int, given: list[s.AnswerShape]) -> Any:
    """Answers, all of them or none; a repeated request changes nothing."""
    events = bench.answer(project, person, [one.model_dump() for one in given])
    return {"events": [event.id for event in events]}


@api.post("/projects/{project}/say", response_model=s.Appended)
def say(bench: TheBench, person: Editor, project: int, what: s.Saying) -> Any:
    """A statement about a selection: one event, one undo."""
    steps = _steps(what.steps)
    rows = np.flatnonzero(selected(bench, project, steps)).tolist() if steps else what.rows
    if not rows:
        raise HTTPException(422, "nothing is selected.")
    event = bench.say(
        project,
        person,
        kind=what.kind,
        rows=rows,
        class_=what.class_,
        key=what.key,
        how={"steps": steps} if steps else what.how,
    )
    return {"events": [event.id]}


@api.post("/projects/{project}/retract", response_model=s.Appended)
def retract(bench: TheBench, person: Answerer, project: int, what: s.Retraction) -> Any:
    """Take back an event, some of its statements, or a retraction."""
    event = bench.retract(project, person, event=what.event, positions=what.positions, key=what.key)
    return {"events": [event.id]}


@api.post("/projects/{project}/rename", response_model=s.Appended)
def rename(bench: TheBench, person: Editor, project: int, what: s.Renaming) -> Any:
    """Give a class another name."""
    return {"events": [bench.rename(project, person, what.class_, what.to).id]}


@api.get("/projects/{project}/events", response_model=list[s.EventShape])
def events(
    bench: TheBench,
    person: Anyone,
    project: int,
    after: int = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Any:
    """The log from after an event on; annotators see what they said themselves."""
    found = bench.store.events(project, after=after, limit=limit)
    mine = person.role == "annotator"
    return [
        {
            **event._asdict(),
            "body": {k: v for k, v in event.body.items() if k != "asked"},
        }
        for event in found
        if not mine or event.person == person.id
    ]


@api.get("/projects/{project}/statements", response_model=list[s.StatementShape])
def statements(bench: TheBench, person: Anyone, project: int) -> Any:
    """All statements; annotators see their own."""
    return bench.statements(project, person)


@api.post("/projects/{project}/statements", response_model=s.Appended, status_code=201)
async def add_statements(
    request: Request, bench: TheBench, person: Editor, project: int, name: str
) -> Any:
    """Add the statements of a file, sent as the body of the request: one event, one undo."""
    key = await receive(request, bench.settings, name)
    path = upload_path(bench.settings, key)
    try:
        with shown_as(path, name):
            event = await run_in_threadpool(bench.add_statements, project, person, path, name)
    finally:
        path.unlink()
    return {"events": [event.id]}


@api.post("/projects/{project}/ask-again", status_code=204)
def ask_again(bench: TheBench, person: Editor, project: int, what: s.AskAgain) -> None:
    """Ask about the rows of a statement once more, before anything else."""
    bench.ask_again(project, event=what.event, position=what.position, other=what.other)


@api.get("/projects/{project}/doubtful", response_model=list[s.StatementShape])
def doubtful(
    bench: TheBench,
    person: Looker,
    project: int,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> Any:
    """The statements that are most probably wrong, by the last run."""
    found = [
        one
        for one in bench.statements(project, person)
        if one["retracted_by"] is None and (one["error"] is not None or one["kept"] is False)
    ]
    found.sort(key=lambda one: -(one["error"] if one["error"] is not None else 1.0))
    return found[:limit]


@api.get("/projects/{project}/conflicts", response_model=list[s.ConflictShape])
def conflicts(bench: TheBench, person: Looker, project: int) -> Any:
    """Statements that contradict others, with the shortest chains."""
    return bench.conflicts(project)


@api.get("/projects/{project}/progress", response_model=s.Progress)
def progress(bench: TheBench, person: Answerer, project: int) -> dict[str, Any]:
    """How many answers there are and whether one may stop."""
    mine = person.name if person.role == "annotator" else None
    counts = bench.store.count_statements(project, annotator=mine)
    state = bench.asking.state(project)
    aside = ("labels", "accuracies")  # not for annotators
    return {"counts": counts, **{k: v for k, v in state.items() if k not in aside}}


# Jobs and runs


@api.get("/models", response_model=list[str])
def models(person: Looker) -> Any:
    """The names of the models that can be fitted."""
    from sidelight.models import model_names

    return model_names()


@api.get("/projects/{project}/jobs", response_model=list[s.JobShape])
def jobs(bench: TheBench, person: Looker, project: int) -> Any:
    """The latest jobs, newest first."""
    return [_job(job) for job in bench.store.jobs.all(project)]


def _job(job: Job) -> dict[str, Any]:
    return {**job._asdict(), "run": job.body.get("run")}


@api.post("/projects/{project}/jobs", response_model=s.JobShape, status_code=202)
def start_job(bench: TheBench, person: Editor, project: int, new: s.NewJob) -> Any:
    """Start a fit, a map, a report, the held-out scores of a run, or a comparison of models."""
    body = new.model_dump(exclude={"kind"}, exclude_none=True)
    number = bench.start_job(project, new.kind, body, person)
    job = bench.store.jobs.get(number)
    assert job is not None
    return _job(job)


@api.delete("/projects/{project}/jobs/{job}", response_model=s.JobShape)
def cancel(bench: TheBench, person: Editor, project: int, job: int) -> Any:
    """Cancel a job; one that has ended stays as it ended."""
    found = bench.store.jobs.get(job)
    if found is None or found.project != project:
        raise HTTPException(404, f"project {project} has no job {job}.")
    bench.store.jobs.end(job, "cancelled")
    bench.runner.wake()
    ended = bench.store.jobs.get(job)
    assert ended is not None
    return _job(ended)


@api.get("/projects/{project}/runs", response_model=list[s.RunShape])
def runs(bench: TheBench, person: Looker, project: int) -> Any:
    """All fits, oldest first."""
    return bench.store.runs(project)


@api.get("/projects/{project}/runs/{run}/labels.bin")
def labels(request: Request, bench: TheBench, person: Looker, project: int, run: int) -> Response:
    """The cluster of each row: int32."""
    return _array(request, bench, bench.store.run(project, run)["labels_file"])


@api.get("/projects/{project}/runs/{run}/membership.bin")
def membership(
    request: Request, bench: TheBench, person: Looker, project: int, run: int
) -> Response:
    """How sure the model is of the cluster of each row: float32."""
    name = bench.store.run(project, run)["scores"].get("membership")
    if name is None:
        raise HTTPException(404, "the model of this run gives no confidence.")
    return _array(request, bench, name)


@api.post("/projects/{project}/runs/{run}/pin", response_model=list[s.RunShape])
def pin(bench: TheBench, person: Editor, project: int, run: int) -> Any:
    """Make a run the answer of the project."""
    bench.store.pin(project, run)
    return bench.store.runs(project)


@api.get("/projects/{project}/compare", response_model=s.Comparison)
def compare(
    bench: TheBench, person: Looker, project: int, first: int, second: int
) -> dict[str, Any]:
    """Two runs: the contingency table, and the rows that moved."""
    return bench.compare(project, first, second)


@api.get("/projects/{project}/models-compared", response_model=s.ModelsCompared | None)
def models_compared(bench: TheBench, person: Looker, project: int) -> Any:
    """The latest comparison of models by statements held back; null before the first."""
    return bench.models_compared(project)


@api.get("/projects/{project}/stream")
async def events_stream(
    request: Request, bench: TheBench, person: Anyone, project: int
) -> StreamingResponse:
    """Server-sent events: answers, jobs, runs; annotators get only counts."""
    bench.store.project(project)
    return StreamingResponse(
        stream(request, bench, project, person), media_type="text/event-stream"
    )


# People


@api.get("/projects/{project}/people", response_model=s.PeopleShape)
def people(bench: TheBench, person: Looker, project: int) -> Any:
    """Everybody, what they did in this project, how far they agree, and who is asked what."""
    return bench.people(project)


@api.patch("/projects/{project}/asking", response_model=s.PeopleShape)
def change_asking(bench: TheBench, person: Owner, project: int, what: s.Asking) -> Any:
    """Change who gets which kinds of questions, and how many a second person gets too."""
    bench.change_asking(project, kinds=what.kinds, second=what.second)
    return bench.people(project)


@api.post("/people/invitations", response_model=s.Invitation, status_code=201)
def invite(request: Request, bench: TheBench, person: Owner, role: s.Role) -> Any:
    """A link for one new person; it works once."""
    if role.role is None:
        raise HTTPException(422, "an invitation needs a role.")
    token = bench.store.people.new_token(
        "invitation", role=role.role, lasts=INVITATION_HOURS * 3600
    )
    link = str(request.url_for("join")) + f"?token={token}"
    return {"link": link, "expires_in_hours": INVITATION_HOURS}


@api.patch("/people/{number}", response_model=s.Me)
def change_person(bench: TheBench, person: Owner, number: int, what: s.Role) -> Any:
    """Change the role of a person, or remove the access."""
    if bench.store.people.get(number) is None:
        raise HTTPException(404, "there is no such person.")
    bench.store.people.change(number, role=what.role, disabled=what.disabled)
    found = bench.store.people.get(number)
    assert found is not None
    return found._asdict()


@api.post("/people/token")
def token(bench: TheBench, person: Anyone) -> dict[str, str]:
    """A token for a program that answers in this person's name."""
    return {"token": bench.store.people.new_token("session", person=person.id)}


# Export


@api.get("/projects/{project}/export/{what}")
def exported(
    bench: TheBench, person: Looker, project: int, what: str, run: int | None = None
) -> FileResponse:
    """The table with clusters, statements, a script, a report or the whole project."""
    if what not in EXPORTS:
        raise HTTPException(404, f"unknown export {what!r}; known: {', '.join(EXPORTS)}.")
    place = bench.settings.root / "uploads" / f"export-{secrets.token_hex(8)}"
    place.mkdir()
    path = export(bench, project, what, place, run=run)
    return FileResponse(
        path,
        filename=path.name,
        media_type="application/octet-stream",
        background=_removal(place),
    )


def _removal(place: Path) -> Any:
    from shutil import rmtree

    from starlette.background import BackgroundTask

    return BackgroundTask(rmtree, place, ignore_errors=True)


def _array(request: Request, bench: Bench, name: str) -> Response:
    """The numbers of an array as bytes; its name is the hash of its contents, so it is the ETag."""
    tag = f'"{name}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    try:
        contents = bench.folder.array(name).tobytes()
    except SidelightError as error:
        raise HTTPException(404, str(error)) from None
    return Response(contents, media_type="application/octet-stream", headers=headers)
