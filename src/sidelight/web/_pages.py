"""Plain pages, made on the server: they need no script, and every step works by keyboard."""

from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, select_autoescape

from sidelight.exceptions import SidelightError
from sidelight.store import Person
from sidelight.web._api import the_bench
from sidelight.web._security import (
    COOKIE,
    ROLE_MAY,
    check_form,
    form_token,
    may,
    person_of,
)

pages = APIRouter(include_in_schema=False)
SESSION_DAYS = 30
SHOWN = 50  # rows that moved between two runs, on the page
CLIENT = Path(__file__).parent / "static" / "client" / "index.html"  # built from client/
_templates = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=select_autoescape(default=True),
    trim_blocks=True,
    lstrip_blocks=True,
)


def page(name: str, status: int = 200, **values: Any) -> HTMLResponse:
    """One of the templates, filled in; everything is escaped."""
    return HTMLResponse(_templates.get_template(name).render(**values), status_code=status)


def _logged_in(request: Request, person: Person, to: str) -> Response:
    bench = the_bench(request)
    token = bench.store.people.new_token("session", person=person.id, lasts=SESSION_DAYS * 86400.0)
    response = RedirectResponse(to, status_code=303)
    response.set_cookie(
        COOKIE,
        token,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        max_age=SESSION_DAYS * 86400,
    )
    return response


@pages.get("/login")
def login(request: Request, token: str) -> Response:
    """Use the link that the server has printed; it works once."""
    person = the_bench(request).store.people.use_link(token)
    if person is None:
        return page("message.html", 403, title="This link does not work", text=(
            "It works once and for a day. Start the server again, or ask the owner for another."
        ))  # fmt: skip
    return _logged_in(request, person, "/")


@pages.get("/join", name="join")
def join(request: Request, token: str) -> Response:
    """An invitation: choose a name."""
    if not the_bench(request).store.people.is_open(token, "invitation"):
        return page("message.html", 403, title="This invitation does not work", text=(
            "It works once and for three days. Ask the owner for another."
        ))  # fmt: skip
    return page("join.html", token=token, problem=None)


@pages.post("/join")
def joined(
    request: Request, token: Annotated[str, Form()], name: Annotated[str, Form(max_length=200)]
) -> Response:
    """Take part under a name."""
    try:
        person = the_bench(request).store.people.use_invitation(token, name)
    except SidelightError as error:
        return page("join.html", 422, token=token, problem=str(error))
    if person is None:
        raise HTTPException(403, "this invitation does not work any more.")
    return _logged_in(request, person, "/")


@pages.get("/")
@pages.get("/import")
@pages.get("/p/{project}")
@pages.get("/p/{project}/{screen}")
def index(request: Request, person: Annotated[Person, Depends(person_of)]) -> Response:
    """The page, whatever screen its address names; the plain projects if it was not built."""
    return FileResponse(CLIENT) if CLIENT.exists() else plain_index(request, person)


@pages.get("/plain")
def plain_index(request: Request, person: Annotated[Person, Depends(person_of)]) -> Response:
    """The projects, without a script."""
    bench = the_bench(request)
    shown = [bench.overview(project) for project in bench.store.projects()]
    return page("projects.html", projects=shown, person=person, built=CLIENT.exists())


@pages.get("/plain/{project}")
def ask(
    request: Request,
    project: int,
    person: Annotated[Person, Depends(may("answer"))],
    said: int | None = None,
) -> Response:
    """One question, as a form."""
    bench = the_bench(request)
    found = bench.store.project(project)
    question = next(iter(bench.ask(project, person)), None)
    if question is None:
        return page("message.html", title="Nothing left to ask", text=(
            "All questions about this table have been answered."
        ))  # fmt: skip
    rows = bench.rows(project).shown(question["rows"])
    return page(
        "question.html",
        project=found,
        person=person,
        question=question,
        rows=rows,
        columns=list(bench.rows(project).differ(rows).items()),
        images=bench.rows(project).images,
        words=found.config["words"],
        classes=bench.store.classes(project),
        state=bench.asking.state(project),
        n_said=sum(bench.store.count_statements(project, annotator=person.name).values()),
        said=said,
        form=form_token(request),
    )


@pages.post("/plain/{project}")
def answer(
    request: Request,
    project: int,
    person: Annotated[Person, Depends(may("answer"))],
    form: Annotated[str, Form()],
    question: Annotated[str, Form(max_length=200)] = "",
    value: Annotated[str, Form(max_length=500)] = "",
    new_class: Annotated[str, Form(max_length=500)] = "",
    undo: Annotated[int | None, Form()] = None,
) -> Response:
    """Take an answer or an undo, and go on to the next question."""
    check_form(request, form)
    bench = the_bench(request)
    if undo is not None:
        bench.retract(project, person, event=undo)
        return RedirectResponse(f"/plain/{project}", status_code=303)
    value = new_class.strip() if value == "new" else value
    if not value:
        raise HTTPException(422, "choose an answer, or write the name of a new class.")
    events = bench.answer(project, person, [{"question": question, "value": value}])
    return RedirectResponse(f"/plain/{project}?said={events[0].id}", status_code=303)


@pages.get("/plain/{project}/runs")
def runs(
    request: Request, project: int, person: Annotated[Person, Depends(may("look"))]
) -> Response:
    """What the fits have found, and forms that start jobs and compare runs."""
    from sidelight.models import model_names

    bench = the_bench(request)
    return page(
        "runs.html",
        project=bench.store.project(project),
        runs=bench.store.runs(project)[::-1],
        jobs=bench.store.jobs.all(project, limit=5),
        models=["DiscriminativeClustering", *model_names()],
        compared=bench.models_compared(project),
        may_edit="edit" in ROLE_MAY[person.role],
        form=form_token(request),
    )


@pages.post("/plain/{project}/jobs")
def start(
    request: Request,
    project: int,
    person: Annotated[Person, Depends(may("edit"))],
    form: Annotated[str, Form()],
    kind: Annotated[Literal["fit", "layout", "report", "compare"], Form()],
    model: Annotated[str, Form(max_length=200)] = "",
    n_clusters: Annotated[str, Form(pattern="[0-9]{0,4}")] = "",
    method: Annotated[str, Form(max_length=20)] = "",
    run: Annotated[int | None, Form()] = None,
) -> Response:
    """Start a fit, a map, a report or a comparison, and go back to the runs."""
    check_form(request, form)
    given = {"model": model, "n_clusters": int(n_clusters or 0), "method": method, "run": run}
    body = {name: value for name, value in given.items() if value}
    the_bench(request).start_job(project, kind, body, person)
    return RedirectResponse(f"/plain/{project}/runs", status_code=303)


@pages.get("/plain/{project}/compare")
def compare(
    request: Request,
    project: int,
    person: Annotated[Person, Depends(may("look"))],
    first: int,
    second: int,
) -> Response:
    """Two runs side by side: where the rows went, and which ones moved."""
    bench = the_bench(request)
    found = bench.compare(project, first, second)
    return page(
        "compare.html",
        project=bench.store.project(project),
        first=first,
        second=second,
        found=found,
        moved=bench.rows(project).shown(found["moved"][:SHOWN]),
    )
