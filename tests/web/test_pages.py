"""The plain page: a form for a question, without any script."""

import re

import pytest
from starlette.testclient import TestClient

from sidelight.web._work import run_job

BASE = "http://127.0.0.1:8765"


@pytest.fixture
def browser(app, bench):
    person = bench.store.people.add("bob", "annotator")
    link = bench.store.people.new_token("login", person=person.id, lasts=60)
    http = TestClient(app, base_url=BASE, headers={"accept": "text/html", "origin": BASE})
    assert http.get("/login", params={"token": link}).status_code == 200
    return http


def fields(text):
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', text))


def test_a_question_is_answered_by_a_form_and_taken_back(browser, project, bench):
    page = browser.get(f"/plain/{project}")
    assert "<script" not in page.text
    assert page.text.count("<button") >= 2
    assert "≠" in page.text  # what differs is marked, and not by colour alone
    given = fields(page.text)
    value = "must" if "belong together" in page.text else "cannot_tell"
    after = browser.post(f"/plain/{project}", data={**given, "value": value})
    assert after.status_code == 200
    assert "1 statement by bob" in after.text
    undo = fields(after.text)
    assert bench.store.count_statements(project)
    browser.post(f"/plain/{project}", data={"form": undo["form"], "undo": undo["undo"]})
    assert bench.store.count_statements(project) == {}


def test_an_answer_without_a_choice_is_a_sentence(browser, project):
    given = fields(browser.get(f"/plain/{project}").text)
    answer = browser.post(f"/plain/{project}", data=given)
    assert answer.status_code == 422
    assert "Choose an answer" in answer.text


def test_an_unknown_project_is_a_page(browser):
    answer = browser.get("/plain/99")
    assert answer.status_code == 404
    assert "There is no project 99" in answer.text


def test_runs_are_not_for_annotators(browser, project):
    assert browser.get(f"/plain/{project}/runs").status_code == 403


def test_fits_maps_reports_and_comparisons_need_no_script(app, bench, project):
    person = bench.store.people.add("eve", "editor")
    link = bench.store.people.new_token("login", person=person.id, lasts=60)
    http = TestClient(app, base_url=BASE, headers={"accept": "text/html", "origin": BASE})
    http.get("/login", params={"token": link})
    said = {"statements": {"kind": "label", "i": [0, 1, 2, 3], "class": ["b", "c", "b", "c"]}}
    bench.store.append(project, "bulk", said)

    def start(**what):
        form = fields(http.get(f"/plain/{project}/runs").text)["form"]
        page = http.post(f"/plain/{project}/jobs", data={"form": form, **what})
        job = bench.store.jobs.claim("here")
        if job is not None:
            made = run_job(bench.store, bench.folder, job._asdict(), lambda progress, message: None)
            told = ", ".join(f"{name} {value}" for name, value in made.items())
            bench.store.jobs.end(job.id, "done", message=told)
        return page

    assert start(kind="fit", model="ConstrainedKMeans", n_clusters="2").status_code == 200
    assert "Compare run" not in http.get(f"/plain/{project}/runs").text
    start(kind="fit", model="ConstrainedKMeans", n_clusters="3")
    start(kind="layout", method="pca")
    start(kind="report", run=1)
    assert start(kind="report").status_code == 422
    page = http.get(f"/plain/{project}/runs").text
    assert "<script" not in page
    assert 'export/report.html?run=1">Report' in page
    assert [job.kind for job in bench.store.jobs.all(project)] == ["report", "layout", "fit", "fit"]
    assert start(kind="layout", method="magic").status_code == 422
    compared = http.get(f"/plain/{project}/compare", params={"first": 1, "second": 2}).text
    table = bench.compare(project, 1, 2)
    assert f"{table['n_moved']} of 40 rows moved" in compared
    cells = [int(n) for n in re.findall(r"<td>(\d+)</td>", compared)]
    assert cells == [n for row in table["counts"] for n in row if n]
    assert sum(cells) == 40


def test_jobs_are_not_for_annotators_and_not_for_other_forms(browser, project, app, bench):
    form = fields(browser.get(f"/plain/{project}").text)["form"]
    given = {"form": form, "kind": "fit"}
    assert browser.post(f"/plain/{project}/jobs", data=given).status_code == 403
    address = f"/plain/{project}/compare"
    assert browser.get(address, params={"first": 1, "second": 1}).status_code == 403
    person = bench.store.people.add("eve", "editor")
    link = bench.store.people.new_token("login", person=person.id, lasts=60)
    http = TestClient(app, base_url=BASE, headers={"accept": "text/html", "origin": BASE})
    http.get("/login", params={"token": link})
    assert http.post(f"/plain/{project}/jobs", data=given).status_code == 403  # bob's form
    assert bench.store.jobs.all(project) == []
