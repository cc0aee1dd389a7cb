"""Server-sent events, and fits that begin by themselves."""

import asyncio
import json
import time

import pytest

from sidelight.web import Settings
from sidelight.web._asking import withdraw_implied
from sidelight.web._bench import Bench
from sidelight.web._stream import snapshot, stream


class Browser:
    """A request that stays open for some looks."""

    def __init__(self, looks):
        self.looks = looks

    async def is_disconnected(self):
        self.looks -= 1
        return self.looks < 0


def told(bench, project, person, looks, between=lambda look: None):
    """What a browser is told during some looks; something may happen between them."""

    async def follow():
        lines = []
        browser = Browser(looks)
        async for line in stream(browser, bench, project, person, interval=0):
            lines.append(line)
            between(looks - browser.looks)
        return lines

    return asyncio.run(follow())


def test_changes_are_told_once_and_in_order(as_person, owner, project, bench):
    person = as_person("ed", "editor")[1]

    def act(look):
        if look == 1 and not bench.store.events(project):
            owner.post(f"projects/{project}/say", {"kind": "label", "rows": [0], "class": "a"})

    lines = told(bench, project, person, 4, act)
    names = [line.split("\n")[0] for line in lines]
    assert names.count("event: log") == 2  # at the start, and after the statement
    assert names.count("event: jobs") == names.count("event: run") == 1
    data = [json.loads(line.split("data: ")[1]) for line in lines if "event: log" in line]
    assert data[0]["last"] < data[1]["last"]


def test_annotators_learn_that_something_happened_and_not_what(as_person, project, bench):
    bob = as_person("bob", "annotator")[1]
    assert set(snapshot(bench, project, bob)) == {"log", "withdrawn"}


def test_who_is_here_is_told_for_as_long_as_a_page_is_open(as_person, project, bench):
    ed, bob = as_person("ed", "editor")[1], as_person("bob", "annotator")[1]
    seen = []

    def look(_look):
        seen.append(snapshot(bench, project, ed)["here"])

    with bench.presence.here(project, bob.name):
        lines = told(bench, project, ed, 2, look)
    assert seen[0] == ["bob", "ed"]
    assert 'event: here\ndata: ["bob", "ed"]\n\n' in lines
    assert snapshot(bench, project, ed)["here"] == []


def test_questions_that_answers_imply_are_withdrawn_and_told_of(as_person, owner, project, bench):
    bob = as_person("bob", "annotator")[1]
    rows = {"must": (0, 2), "cannot": (2, 1), "open": (2, 5), "against": (6, 8)}
    questions = [
        {"id": name, "kind": "pair", "i": i, "j": j, "body": {"kind": "pair", "rows": [i, j]}}
        for name, (i, j) in rows.items()
    ]
    questions += [
        {"id": "audit", "kind": "pair", "i": 0, "j": 2, "audit": True, "body": {}},
        {"id": "second", "kind": "pair", "i": 0, "j": 2, "body": {"second": True}},
        {"id": "named", "kind": "label", "i": 4, "j": None, "body": {}},
        {"id": "unnamed", "kind": "label", "i": 7, "j": None, "body": {}},
    ]
    bench.store.add_questions(project, questions, asked_of=bob.id)
    assert withdraw_implied(bench.store, project) == []
    at = f"projects/{project}/say"
    owner.post(at, {"kind": "must", "rows": [0, 4, 2]})
    owner.post(at, {"kind": "label", "rows": [4], "class": "b"})
    owner.post(at, {"kind": "label", "rows": [1], "class": "c"})
    owner.post(at, {"kind": "must", "rows": [6, 8]})
    owner.post(at, {"kind": "cannot", "rows": [6, 8]})  # contradicted: one more answer is welcome
    assert sorted(withdraw_implied(bench.store, project)) == ["cannot", "must", "named"]
    assert snapshot(bench, project, bob)["withdrawn"] == ["cannot", "must", "named"]
    assert {q["id"] for q in bench.store.questions(project)} == {
        "open",
        "against",
        "audit",
        "second",
        "unnamed",
    }
    # Who was looking at one may still answer it.
    bench.answer(project, bob, [{"question": "must", "value": "must"}])
    assert bench.store.question(project, "must")["state"] == "answered"


@pytest.fixture
def patient(tmp_path):
    """A bench that would fit after three events or one second; nothing is started."""
    bench = Bench(Settings(tmp_path / "d", workers=0, refit_after=3, refit_seconds=0.2))
    yield bench
    bench.stop()


def test_a_fit_is_due_after_some_answers_or_some_time_and_never_twice(patient):
    project = patient.store.create_project("p", n_rows=9).id

    def say(k):
        said = {"statements": {"kind": "label", "i": [k], "class": "a"}}
        patient.store.append(project, "bulk", said)

    now = time.monotonic()
    say(0)
    assert not patient._is_due(project, now)
    assert patient._is_due(project, now - 1)  # long enough ago
    say(1)
    say(2)
    assert patient._is_due(project, now)  # enough of them
    job = patient.start_job(project, "fit", {"automatic": True}, None)
    assert not patient._is_due(project, now - 1)  # one waits already
    patient.store.jobs.end(job, "done")
    patient.store.add_run(
        project, model="M", parameters={}, seed=0, at_event=patient.store.last_event(project),
        labels_file="x", scores={}, versions={},
    )  # fmt: skip
    assert not patient._is_due(project, now - 1)  # it knows everything
