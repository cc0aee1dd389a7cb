"""Whoever is not meant to, may not: the table of the design, line by line."""

import io
import zipfile

import numpy as np
import pytest
from starlette.testclient import TestClient

from sidelight.exceptions import SidelightError
from sidelight.web._security import COOKIE, HEADERS

BASE = "http://127.0.0.1:8765"
EVIL = "<script>alert(1)</script>'; DROP TABLE event; --"


@pytest.fixture
def browser(app, bench):
    """A browser that has logged in as the owner by the printed link."""
    person = bench.store.people.add("olga", "owner")
    link = bench.store.people.new_token("login", person=person.id, lasts=60)
    http = TestClient(app, base_url=BASE)
    answer = http.get("/login", params={"token": link}, follow_redirects=False)
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    return http


def test_another_host_name_is_not_answered(app):
    for host in ("evil.example", "127.0.0.1.evil.example:8765"):
        http = TestClient(app, base_url=f"http://{host}")
        assert http.get("/api/me").status_code == 421


def test_strangers_see_nothing(app, project):
    http = TestClient(app, base_url=BASE)
    for path in ("me", "projects", f"projects/{project}", f"projects/{project}/rows?ids=0",
                 f"projects/{project}/ask", f"projects/{project}/events",
                 f"projects/{project}/export/project.zip"):  # fmt: skip
        assert http.get(f"/api/{path}").status_code == 401, path
    http.cookies.set(COOKIE, "forged")
    assert http.get("/api/me").status_code == 401
    assert http.get("/", headers={"accept": "text/html"}).status_code == 401


def test_a_link_works_once(app, browser, bench):
    person = bench.store.people.all()[-1]
    link = bench.store.people.new_token("login", person=person.id, lasts=60)
    assert TestClient(app, base_url=BASE).get("/login", params={"token": link}).status_code == 200
    assert TestClient(app, base_url=BASE).get("/login", params={"token": link}).status_code == 403


def test_another_page_cannot_write_in_a_browsers_name(browser, project):
    path, body = f"/api/projects/{project}/say", {"kind": "label", "rows": [0], "class": "a"}
    assert browser.post(path, json=body).status_code == 403  # no origin, no header
    evil = {"origin": "http://evil.example", "x-sidelight": "1"}
    assert browser.post(path, json=body, headers=evil).status_code == 403
    assert browser.post(path, json=body, headers={"origin": BASE}).status_code == 403
    good = {"origin": BASE, "x-sidelight": "1"}
    assert browser.post(path, json=body, headers=good).status_code == 200


def test_a_form_needs_the_secret_of_its_session(browser, project):
    page = browser.get(f"/plain/{project}")
    assert page.status_code == 200
    data = {"form": "wrong", "question": "x", "value": "must"}
    answer = browser.post(f"/plain/{project}", data=data, headers={"origin": BASE})
    assert answer.status_code == 403


def test_annotators_are_blind_in_the_api_too(as_person, owner, project, bench):
    bob = as_person("bob", "annotator")[0]
    owner.post(f"projects/{project}/say", {"kind": "label", "rows": [0], "class": "secret"})
    question = bob.ask(project)[0]
    assert "secret" not in str({k: v for k, v in question.items() if k != "classes"})
    (event,) = bob.answer(project, [{"question": question["id"], "value": "cannot_tell"}])
    assert [e["id"] for e in bob.get(f"projects/{project}/events")] == [event]
    assert [s["annotator"] for s in bob.get(f"projects/{project}/statements")] == ["bob"]
    for path in ("runs", "jobs", "conflicts", "doubtful", "people", "layout.bin", "search?text=a",
                 "export/statements.csv", "runs/1/labels.bin"):  # fmt: skip
        with pytest.raises(SidelightError, match="403"):
            bob.get(f"projects/{project}/{path}")
    mine = owner.get(f"projects/{project}/events")[0]["id"]
    with pytest.raises(SidelightError, match=r"403.*only their own statements"):
        bob.post(f"projects/{project}/retract", {"event": mine})
    bob.post(f"projects/{project}/retract", {"event": event})


def test_roles_may_do_what_they_may(as_person, project):
    viewer, editor = as_person("vic", "viewer")[0], as_person("ed", "editor")[0]
    assert viewer.get(f"projects/{project}/runs") == []
    for verb in (
        lambda: viewer.ask(project),
        lambda: viewer.post(f"projects/{project}/jobs", {"kind": "fit"}),
        lambda: editor.post("people/invitations", {"role": "viewer"}),
    ):
        with pytest.raises(SidelightError, match="may not do this"):
            verb()


def test_why_a_question_was_asked_is_told_after_the_answer(as_person, project):
    bob = as_person("bob", "annotator")[0]
    question = bob.ask(project)[0]["id"]
    with pytest.raises(SidelightError, match="answer it first"):
        bob.get(f"projects/{project}/questions/{question}")
    bob.answer(project, [{"question": question, "value": "cannot_tell"}])
    assert bob.get(f"projects/{project}/questions/{question}")["reason"]


def test_invitations_work_once_and_names_are_not_taken_twice(app, owner):
    link = owner.post("people/invitations", {"role": "annotator"})["link"]
    token = link.split("token=")[1]
    http = TestClient(app, base_url=BASE)
    assert "Your name" in http.get("/join", params={"token": token}).text
    taken = http.post("/join", data={"token": token, "name": "ann"})
    assert taken.status_code == 422
    assert "taken" in taken.text
    assert http.post("/join", data={"token": token, "name": "bob"}).status_code == 200
    assert http.get("/api/me").json()["role"] == "annotator"
    again = TestClient(app, base_url=BASE).post("/join", data={"token": token, "name": "eve"})
    assert again.status_code == 403


def test_files_are_known_by_their_contents(owner, tmp_path):
    for name, contents in {
        "evil.csv": b"<svg onload=alert(1)>",
        "page.csv": b"<!doctype html><script>",
        "data.csv": b"a,b\n1,\0\n",
        "empty.csv": b"",
    }.items():
        (tmp_path / name).write_bytes(contents)
        with pytest.raises(SidelightError, match="not a table|empty"):
            owner.upload(tmp_path / name)
    evil = tmp_path / "objects.npy"
    np.save(evil, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(SidelightError, match="422"):
        owner.upload(evil)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", b"\x93NUMPY\x01\x00" + b"\0" * 30_000_000)
    (tmp_path / "bomb.npz").write_bytes(bomb.getvalue())
    with pytest.raises(SidelightError, match="422"):
        owner.upload(tmp_path / "bomb.npz")


def test_a_path_in_a_file_name_leads_nowhere(owner, table, app, bench):
    http = owner._http
    answer = http.post(
        "/api/uploads", params={"name": "../../../etc/x.csv"}, content=table.read_bytes()
    )
    assert answer.status_code == 200
    files = sorted(p.name for p in bench.settings.root.rglob("*.csv"))
    assert files == [answer.json()["upload"]]
    for key in ("../workbench.db", "..%2Fworkbench.db", "0" * 32 + ".csv"):
        assert http.post(f"/api/uploads/{key}/preview", json={}).status_code in (404, 405)


def test_large_bodies_are_refused(owner, project, bench):
    http = owner._http
    body = b"x" * (bench.settings.max_body + 1)
    answer = http.post(f"/api/projects/{project}/say", content=body)
    assert answer.status_code == 413
    chunks = (b"x" * 10 for _ in range(3))  # of unknown length
    assert http.post(f"/api/projects/{project}/say", content=chunks).status_code == 411


def test_html_and_sql_in_every_text_are_texts(owner, browser, tmp_path, bench):
    path = tmp_path / "evil.csv"
    path.write_text(f'id,x,note\n"{EVIL}",1,"{EVIL}"\nb,2,=1+1\n', encoding="utf-8")
    project = owner.create_project(path, EVIL, id="id", drop=["note"])["id"]
    owner.post(f"projects/{project}/say", {"kind": "label", "rows": [0], "class": EVIL})
    question = owner.ask(project)[0]
    comment = {"question": question["id"], "value": "cannot_tell", "comment": EVIL}
    owner.answer(project, [comment])
    for page in (browser.get("/plain"), browser.get(f"/plain/{project}")):
        assert page.status_code == 200
        assert "<script>" not in page.text
        assert "&lt;script&gt;" in page.text
    assert owner.get(f"projects/{project}")["name"] == EVIL
    assert owner.get(f"projects/{project}/statements")[0]["class"] == EVIL
    assert len(bench.store.events(project)) == 2


def test_html_and_sql_in_names_and_words_are_texts(app, owner, browser, project, bench):
    store = bench.store
    token = store.people.new_token("invitation", role="annotator", lasts=60)
    newcomer = TestClient(app, base_url=BASE)
    form = {"token": token, "name": EVIL}
    sent = newcomer.post("/join", data=form, headers={"origin": BASE}, follow_redirects=False)
    assert sent.status_code == 303
    assert EVIL in [person.name for person in store.people.all()]
    words = {"must": EVIL, "cannot": EVIL, "unsure": EVIL}
    store.update_project(project, config={"words": words})
    owner.post(f"projects/{project}/say", {"kind": "label", "rows": [0], "class": "a"})
    owner.post(f"projects/{project}/rename", {"class": "a", "to": EVIL})
    step = {"by": "rows", "rows": [0, 1]}
    owner.post(f"projects/{project}/selections", {"name": EVIL, "steps": [step]})
    for http in (newcomer, browser):
        page = http.get(f"/plain/{project}")
        assert page.status_code == 200
        assert "<script>" not in page.text
        assert page.text.count("&lt;script&gt;") >= 3
    assert owner.get(f"projects/{project}")["words"] == words
    assert owner.get(f"projects/{project}")["classes"] == [EVIL]
    assert [one["name"] for one in owner.get(f"projects/{project}/selections")] == [EVIL]
    assert len(store.events(project)) == 3


def test_every_answer_has_the_headers(browser, app):
    for answer in (browser.get("/"), browser.get("/api/me"), browser.get("/static/plain.css"),
                   TestClient(app, base_url="http://evil").get("/")):  # fmt: skip
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert "access-control-allow-origin" not in answer.headers
    assert "'unsafe" not in HEADERS["Content-Security-Policy"]


def test_exports_leave_nothing_behind(owner, project, bench):
    owner.export(project, "statements.csv")
    assert list((bench.settings.root / "uploads").iterdir()) == []
