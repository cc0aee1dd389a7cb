"""The plain page: a form for a question, without any script."""

import re

import pytest
from starlette.testclient import TestClient

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
    assert "choose an answer" in answer.text


def test_an_unknown_project_is_a_page(browser):
    answer = browser.get("/plain/99")
    assert answer.status_code == 404
    assert "there is no project 99" in answer.text


def test_runs_are_not_for_annotators(browser, project):
    assert browser.get(f"/plain/{project}/runs").status_code == 403
