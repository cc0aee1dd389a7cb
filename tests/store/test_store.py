"""Projects, questions, runs, people, jobs, files; several processes; old and new versions."""

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import sqlalchemy as sa

from sidelight.exceptions import SidelightError
from sidelight.store import Folder, Store
from sidelight.store import _schema as schema
from sidelight.store import _store as module
from sidelight.store._engine import open_engine
from sidelight.store._migrations import STEPS, migrate


@pytest.fixture
def project(store):
    return store.create_project("p", n_rows=50).id


def must(i, j):
    return {"statements": {"kind": ["must"], "i": [i], "j": [j]}}


def test_the_steps_make_the_tables_that_queries_expect(store):
    found = sa.MetaData()
    found.reflect(store._engine)
    tables = set(found.tables) - {"sqlite_sequence", "schema_version"}
    assert tables == set(schema.metadata.tables)
    for name, table in schema.metadata.tables.items():
        assert set(found.tables[name].columns.keys()) == set(table.columns.keys())


@pytest.mark.parametrize("version", range(1, len(STEPS)))
def test_a_store_of_a_previous_version_is_brought_up_to_date(tmp_path, version):
    path = tmp_path / "old.db"
    engine = open_engine(path)
    migrate(engine, up_to=version)
    with engine.begin() as c:
        c.execute(
            sa.text(
                "INSERT INTO project (id, name, created, config_json, n_rows, data_hash) "
                "VALUES (7, 'old', 1.0, '{}', 50, 'x')"
            )
        )
        c.execute(
            sa.text(
                "INSERT INTO event (id, project, at, kind, body_json) "
                "VALUES (3, 7, 1.0, 'answer', :body)",
            ),
            {"body": '{"statements": {"kind": ["must"], "i": [0], "j": [1]}}'},
        )
    engine.dispose()
    store = Store(path)
    store.rebuild(7)
    assert [(s.kind, s.i, s.j) for s in store.statements(7)] == [("must", 0, 1)]
    store.append(7, "answer", must(1, 2), key="k")
    assert store.append(7, "answer", must(1, 2), key="k").id == store.last_event(7)
    store.close()


def test_a_store_of_a_newer_version_is_refused(tmp_path):
    path = tmp_path / "new.db"
    Store(path).close()
    with sqlite3.connect(path) as c:
        c.execute("INSERT INTO schema_version VALUES (99)")
    c.close()
    with pytest.raises(SidelightError, match="version 99"):
        Store(path)


def test_a_file_that_is_not_a_store_is_refused(tmp_path):
    path = tmp_path / "table.db"
    path.write_text("a,b\n1,2\n" * 200)
    with pytest.raises(SidelightError, match="cannot be opened as a store"):
        Store(path)
    with pytest.raises(SidelightError, match="a folder that exists"):
        Store(tmp_path / "nowhere" / "x.db")
    with pytest.raises(SidelightError, match="a store is a file"):
        Store("mysql://x/y")


def test_projects_are_listed_changed_and_put_away(store):
    first = store.create_project("one", n_rows=3, config={"scale": "none"}, data_hash="h")
    assert store.project(first.id) == first
    store.update_project(first.id, name="uno", archived=True)
    assert store.projects() == []
    assert [p.name for p in store.projects(archived=True)] == ["uno"]
    with pytest.raises(SidelightError, match="no project 99"):
        store.project(99)


def test_questions_open_are_answered_withdrawn_or_expire(store, project):
    ask = [{"kind": "pair", "i": 0, "j": k, "audit": k == 1, "value": 0.5} for k in (1, 2, 3)]
    a, b, c = store.add_questions(project, ask)
    store.append(project, "answer", must(0, 1) | {"question": a})
    store.set_question_state(project, [b], "withdrawn")
    assert [q["id"] for q in store.questions(project)] == [c]
    assert store.question(project, a)["state"] == "answered"
    assert store.question(project, a)["audit"]
    assert store.expire_questions(project, older_than=-1) == 1
    assert store.questions(project) == []
    store.append(project, "answer", must(0, 3) | {"question": c})  # late, and welcome
    assert store.question(project, c)["state"] == "answered"
    assert store.question(project, "nobody") is None


def test_rows_that_a_person_was_asked_about_are_those_of_the_questions(store, project):
    ann, bob = (store.people.add(name, "annotator").id for name in ("ann", "bob"))
    ask = [
        {"kind": "pair", "i": 5, "j": 2},
        {"kind": "label", "i": 7},
        {"kind": "pair", "i": 1, "j": 9},
    ]
    ids = store.add_questions(project, ask, asked_of=ann)
    store.add_questions(project, ask[:1], asked_of=bob)
    store.add_questions(store.create_project("q", n_rows=9).id, ask[:2], asked_of=ann)
    assert store.asked(project, ann, expired_after=0.0) == (3, {(2, 5), (7,), (1, 9)})
    store.set_question_state(project, ids[:1], "expired")
    assert store.asked(project, ann, expired_after=0.0)[1] == {(2, 5), (7,), (1, 9)}
    assert store.asked(project, ann, expired_after=time.time() + 1) == (3, {(7,), (1, 9)})
    assert store.asked(project, bob, expired_after=0.0) == (1, {(2, 5)})


def test_runs_are_kept_and_one_is_pinned(store, project):
    def add():
        return store.add_run(
            project, model="M", parameters={"n_clusters": 2}, seed=0, at_event=0,
            labels_file="x.npy", scores={"a": 1.5}, versions={},
        )  # fmt: skip

    one, two = add(), add()
    store.pin(project, two)
    store.pin(project, one)
    assert [run["pinned"] for run in store.runs(project)] == [True, False]
    assert store.run(project, one)["parameters"] == {"n_clusters": 2}
    with pytest.raises(SidelightError, match="no run 99"):
        store.pin(project, 99)


def test_links_and_invitations_work_once_and_sessions_until_they_end(store):
    owner = store.people.add("ann", "owner")
    link = store.people.new_token("login", person=owner.id, lasts=60)
    assert store.people.use_link(link) == owner
    assert store.people.use_link(link) is None
    session = store.people.new_token("session", person=owner.id)
    assert store.people.of_session(session) == owner
    assert store.people.of_session(link) is None
    invitation = store.people.new_token("invitation", role="annotator", lasts=60)
    assert store.people.use_invitation(invitation, "bob").role == "annotator"
    assert store.people.use_invitation(invitation, "eve") is None
    late = store.people.new_token("invitation", role="owner", lasts=-1)
    assert store.people.use_invitation(late, "eve") is None
    store.people.end_session(session)
    assert store.people.of_session(session) is None


def test_a_taken_name_leaves_the_invitation_usable(store):
    store.people.add("ann", "owner")
    invitation = store.people.new_token("invitation", role="viewer", lasts=60)
    with pytest.raises(SidelightError, match="'ann' is taken"):
        store.people.use_invitation(invitation, " ann ")
    assert store.people.use_invitation(invitation, "bob") is not None


def test_who_is_shut_out_has_no_session_and_the_last_owner_stays(store):
    ann, bob = store.people.add("ann", "owner"), store.people.add("bob", "viewer")
    session = store.people.new_token("session", person=bob.id)
    store.people.change(bob.id, disabled=True)
    assert store.people.of_session(session) is None
    with pytest.raises(SidelightError, match="a project needs an owner"):
        store.people.change(ann.id, role="viewer")
    assert store.people.get(ann.id).role == "owner"


def test_no_secret_is_stored(store, tmp_path):
    token = store.people.new_token("session", person=store.people.add("ann", "owner").id)
    store.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert token.encode() not in stored


def test_jobs_one_at_a_time_per_person_with_one_retry(store, project):
    other = store.create_project("q", n_rows=5).id
    a = store.jobs.add(project, "fit", {"model": "M"}, person=None)
    b = store.jobs.add(project, "fit", {})
    c = store.jobs.add(other, "fit", {})
    assert store.jobs.claim("w1").id == a
    assert store.jobs.claim("w2").id == c  # b waits: its project has one running
    assert store.jobs.claim("w3") is None
    assert store.jobs.pulse(a, 0.5, "half")
    assert store.jobs.get(a).progress == 0.5
    assert store.jobs.crashed(a, "killed") == "queued"
    assert store.jobs.claim("w1").id == a
    assert store.jobs.crashed(a, "killed again") == "failed"
    assert store.jobs.claim("w1").id == b
    assert store.jobs.end(b, "cancelled")
    assert not store.jobs.pulse(b)  # nobody wants it any more
    assert not store.jobs.end(b, "done")
    assert store.jobs.interrupt(["w2"], "restart") == 1
    assert [job.state for job in store.jobs.all()] == ["interrupted", "cancelled", "failed"]


def test_a_clock_that_is_set_back_changes_no_order(store, project, monkeypatch):
    store.append(project, "bulk", {"statements": {"kind": "label", "i": [0], "class": "cat"}})
    monkeypatch.setattr(module.time, "time", lambda: 1.0)
    store.append(project, "rename", {"class": "cat", "to": "dog"})
    assert store.statements(project)[0].class_ == "dog"
    assert [e.kind for e in store.events(project)] == ["bulk", "rename"]


def test_the_folder_keeps_contents_once_and_gives_out_nothing_else(tmp_path):
    folder = Folder(tmp_path / "bulk")
    name = folder.put_array(np.arange(6).reshape(2, 3))
    assert folder.put_array(np.arange(6).reshape(2, 3)) == name
    assert folder.array(name).tolist() == [[0, 1, 2], [3, 4, 5]]
    for wrong in ("../answers.db", "/etc/passwd", "x.npy", name.replace(".npy", "/../x.npy")):
        with pytest.raises(SidelightError, match="not the name of a file"):
            folder.path(wrong)
    with pytest.raises(SidelightError, match="no such file"):
        folder.path("0" * 64 + ".npy")
    objects = folder.put(b"\x93NUMPY not an array", ".npy")
    with pytest.raises(ValueError, match=r"."):
        folder.array(objects)


@pytest.mark.skipif("SIDELIGHT_POSTGRES" in os.environ, reason="PostgreSQL has pg_dump")
def test_a_backup_while_somebody_writes_is_one_moment(store, project, tmp_path):
    stop = threading.Event()
    done = []

    def write():
        while not stop.is_set() and len(done) < 3000:
            done.append(store.append(project, "answer", must(0, 1 + len(done) % 40)).id)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        while len(done) < 20:
            time.sleep(0.01)
        store.backup(tmp_path / "copy.db")
    finally:
        stop.set()
        thread.join()
    copy = Store(tmp_path / "copy.db")
    events = [e.id for e in copy.events(project)]
    assert len(events) >= 20
    assert events == [e.id for e in store.events(project)][: len(events)]
    assert copy.statements(project) == store.statements(project)[: len(events)]
    copy.close()
    with pytest.raises(SidelightError, match="exists already"):
        store.backup(tmp_path / "copy.db")


def _write_many(path, project, who, n):
    store = Store(path)
    for k in range(n):
        store.append(project, "answer", must(k % 49, 49), key=f"{who}-{k}")
    store.close()


def test_several_processes_write_beside_a_reader_and_nothing_is_lost(store, project, address):
    context = multiprocessing.get_context("spawn")
    n, many = 25, 4
    writers = [
        context.Process(target=_write_many, args=(address, project, who, n)) for who in range(many)
    ]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        store.statements(project)
        time.sleep(0.05)
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert len(store.events(project)) == many * n
    assert store.statements(project) == module.replay(store.events(project))


WRITER = """
import sys
from sidelight.store import Store
store = Store(sys.argv[1])
k = 0
while True:
    body = {"statements": {"kind": ["must"], "i": [k % 49], "j": [49]}}
    event = store.append(int(sys.argv[2]), "answer", body)
    print(event.id, flush=True)  # acknowledged
    k += 1
"""


def test_what_was_acknowledged_survives_a_kill(store, project, address):
    for _ in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, address, str(project)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ,
        )
        acknowledged = [int(child.stdout.readline()) for _ in range(30)]
        child.send_signal(signal.SIGKILL)
        acknowledged += [int(line) for line in child.stdout.read().split("\n")[:-1]]
        child.wait()
        child.stdout.close()
        assert set(acknowledged) <= {e.id for e in store.events(project)}
    assert store.statements(project) == module.replay(store.events(project))


def test_plain_annotation_needs_neither_scikit_learn_nor_numba():
    code = (
        "import sys, sidelight.store\n"
        "heavy = {'sklearn', 'numba', 'pandas', 'dask', 'matplotlib', 'fastapi'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_changes_of_the_config_at_once_are_all_kept(store, project):
    """Each of four writers changes keys of its own, some of them inside one dict."""
    begin = threading.Barrier(4)

    def change(k):
        begin.wait()
        for n in range(10):
            store.update_project(project, config={f"k{k}": n, "words": {f"{k}-{n}": "x"}})

    threads = [threading.Thread(target=change, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    config = store.project(project).config
    assert {name: config[name] for name in config if name != "words"} == {
        f"k{k}": 9 for k in range(4)
    }
    assert len(config["words"]) == 40


def test_scores_that_are_added_at_once_are_all_kept(store, project):
    run = store.add_run(
        project, model="M", parameters={}, seed=0, at_event=0, labels_file="x", scores={"a": 1},
        versions={},
    )  # fmt: skip
    threads = [
        threading.Thread(target=store.add_scores, args=(project, run, {f"s{k}": k}))
        for k in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.run(project, run)["scores"] == {"a": 1, **{f"s{k}": k for k in range(8)}}
    with pytest.raises(SidelightError, match="has no run 99"):
        store.add_scores(project, 99, {})
