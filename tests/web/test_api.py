"""From a table to an export over HTTP, one step after the other."""

import csv
import io
import json
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from sidelight import SideInformation
from sidelight.exceptions import SidelightError
from sidelight.web._advice import _COLUMNS
from sidelight.web._export import import_project
from sidelight.web._pool import told
from sidelight.web._work import run_job


def fit(bench, project, **body):
    """What a worker does, in this process."""
    number = bench.start_job(project, "fit", body, None)
    job = bench.store.jobs.claim("test")
    assert job.id == number
    made = run_job(bench.store, bench.folder, job._asdict(), lambda progress, message: None)
    bench.store.jobs.end(number, "done", message=told(made))
    return made["run"]


def test_an_upload_is_looked_at_before_anything_is_written(owner, table, bench):
    found = owner.upload(table)
    preview = found["preview"]
    assert preview["n_rows"] == 40
    assert [c["name"] for c in preview["columns"]] == ["id", "height", "weight", "town"]
    assert [c["type"] for c in preview["columns"]] == ["text", "number", "number", "text"]
    assert preview["rows"][0]["id"] == "r0"
    assert "town" in json.dumps(preview["problems"])  # a text is no number, and says so
    again = owner.post(f"uploads/{found['upload']}/preview", {"id": "id", "drop": ["town"]})
    assert again["problems"] == []
    assert bench.store.projects() == []


def test_a_problem_is_named_by_row_and_leaves_nothing(owner, tmp_path, bench):
    path = tmp_path / "gaps.csv"
    path.write_text("id,x\na,1\nb,\nc,3\n")
    with pytest.raises(SidelightError, match=r"422.*'x'.*b"):
        owner.create_project(path, "gaps", id="id")
    assert bench.store.projects() == []
    assert owner.create_project(path, "gaps", id="id", impute="median")["n_rows"] == 3


def test_a_separator_and_a_decimal_sign_can_be_chosen(owner, tmp_path, bench):
    path = tmp_path / "odd.csv"
    lines = [f"r{k};{k},5;a,b|c" for k in range(6)]
    path.write_text("\n".join(["id;x;note", *lines]) + "\n")
    found = owner.upload(path)
    assert (found["preview"]["separator"], found["preview"]["decimal"]) == (";", ",")
    at = f"uploads/{found['upload']}/preview"
    assert len(owner.post(at, {"sep": ","})["columns"]) != 3
    told = owner.post(at, {"decimal": ".", "id": "id"})
    assert {c["name"]: c["type"] for c in told["columns"]}["x"] == "text"
    broken = tmp_path / "broken.csv"
    broken.write_text("id;x\na;1\nb;2;3;4\n")
    preview = owner.upload(broken)["preview"]
    assert preview["columns"] == []
    assert "the table" in preview["problems"][0]["message"]
    how = {"id": "id", "drop": ["note"], "sep": ";", "decimal": ","}
    project = owner.create_project(path, "odd", **how)["id"]
    assert bench.store.project(project).config["reading"] == {"sep": ";", "decimal": ","}
    owner.post(f"projects/{project}/say", {"kind": "label", "rows": [0], "class": "low"})
    owner.post(f"projects/{project}/say", {"kind": "label", "rows": [5], "class": "high"})
    fit(bench, project, model="ConstrainedKMeans", parameters={"n_init": 2})
    # The script and the command line repeat the run from the files beside them.
    expected = [row["cluster_name"] for row in rows_of(owner.export(project, "clusters.csv"))]
    for name in ("script.py", "command.txt"):
        place = tmp_path / name.split(".")[0]
        place.mkdir()
        source = bench.store.project(project).config["source"]
        (place / source).write_bytes(path.read_bytes())
        (place / "statements.jsonl").write_bytes(owner.export(project, "statements.jsonl"))
        text = owner.export(project, name).decode()
        words = ["-c", text] if name == "script.py" else ["-m", *shlex.split(text)]
        subprocess.run([sys.executable, *words], cwd=place, check=True, capture_output=True)
        written = rows_of((place / "clusters.csv").read_bytes(), ";")
        assert [row["cluster_name"] for row in written] == expected


def rows_of(contents, delimiter=","):
    return list(csv.DictReader(io.StringIO(contents.decode()), delimiter=delimiter))


def test_clusters_leave_as_cells(owner, project, bench, tmp_path):
    anndata = pytest.importorskip("anndata")
    owner.post(f"projects/{project}/say", {"kind": "label", "rows": [0], "class": "b"})
    owner.post(f"projects/{project}/say", {"kind": "label", "rows": [1], "class": "c"})
    fit(bench, project, model="ConstrainedKMeans")
    path = tmp_path / "clusters.h5ad"
    path.write_bytes(owner.export(project, "clusters.h5ad"))
    cells = anndata.read_h5ad(path)
    table = rows_of(owner.export(project, "clusters.csv"))
    assert cells.obs_names.tolist() == [row["id"] for row in table]
    assert cells.obs["cluster_name"].tolist() == [row["cluster_name"] for row in table]
    assert cells.obs["town"].tolist() == [row["town"] for row in table]
    assert cells.var_names.tolist() == ["height", "weight"]
    np.testing.assert_array_equal(cells.X, bench.rows(project).X)
    assert cells.obsm["X_sidelight_map"].shape == (40, 2)


def test_questions_come_with_rows_and_without_predictions(owner, project):
    questions = owner.ask(project, 3)
    assert len(questions) == 3
    for question in questions:
        assert set(question) == {"id", "kind", "rows", "classes", "differs"}
        assert set(question["differs"]) <= {"height", "weight", "town"}
        assert all(set(row["cells"]) == {"height", "weight", "town"} for row in question["rows"])
    assert [q["id"] for q in owner.ask(project, 3)] == [q["id"] for q in questions]


def test_a_repeated_answer_changes_nothing(owner, project, bench):
    question = owner.ask(project)[0]
    answer = [{"question": question["id"], "value": "must", "key": "mine", "seconds": 1.5}]
    first = owner.answer(project, answer)
    assert [owner.answer(project, answer) for _ in range(3)] == [first] * 3
    said = bench.store.statements(project)
    assert [(s.kind, s.annotator, s.seconds) for s in said] == [("must", "ann", 1.5)]
    assert owner.ask(project)[0]["id"] != question["id"]


def test_a_list_of_answers_is_taken_whole_or_not_at_all(owner, project, bench):
    a, b = owner.ask(project, 2)
    wrong = [{"question": a["id"], "value": "must"}, {"question": b["id"], "value": "perhaps"}]
    with pytest.raises(SidelightError, match="'perhaps'"):
        owner.answer(project, wrong)
    with pytest.raises(SidelightError, match="was not asked"):
        owner.answer(project, [{"question": "no such", "value": "must"}])
    assert bench.store.events(project) == []


def test_nobody_is_asked_what_another_person_has_before_them(as_person, owner, project):
    bob = as_person("bob", "annotator")[0]
    mine = {row["row"] for q in owner.ask(project, 5) for row in q["rows"]}
    for _ in range(4):
        questions = bob.ask(project, 2)
        for question in questions:
            rows = {row["row"] for row in question["rows"]}
            assert question["kind"] == "label" or len(rows) == 2
        bob.answer(project, [{"question": q["id"], "value": "cannot_tell"} for q in questions])
    assert mine


def test_two_tabs_of_one_person_are_not_asked_the_same(owner, project):
    tabs = [owner.get(f"projects/{project}/ask", n=4, tab=tab) for tab in ("one", "two")]
    rows = [{row["row"] for q in questions for row in q["rows"]} for questions in tabs]
    pairs = [{tuple(row["row"] for row in q["rows"]) for q in questions} for questions in tabs]
    assert not pairs[0] & pairs[1]
    assert all(rows)
    again = owner.get(f"projects/{project}/ask", n=4, tab="one")
    assert [q["id"] for q in again] == [q["id"] for q in tabs[0]]


def test_a_question_that_is_put_off_is_not_asked_again_at_once(owner, as_person, project):
    question = owner.ask(project)[0]
    bob = as_person("bob", "annotator")[0]
    with pytest.raises(SidelightError, match="was not asked of bob"):
        bob.post(f"projects/{project}/questions/{question['id']}/later")
    owner._http.post(f"/api/projects/{project}/questions/{question['id']}/later", json={})
    asked = [tuple(row["row"] for row in q["rows"]) for q in owner.ask(project, 20)]
    assert tuple(row["row"] for row in question["rows"]) not in asked


def test_a_selection_is_one_event_and_one_undo(owner, project, bench):
    rows = list(range(0, 20, 2))
    body = {"kind": "label", "rows": rows, "class": "tall", "key": "once"}
    (event,) = owner.post(f"projects/{project}/say", body)["events"]
    assert owner.post(f"projects/{project}/say", body)["events"] == [event]
    assert len(bench.store.side(project).labels) == 40
    assert bench.store.count_statements(project) == {"label": 10}
    owner.post(f"projects/{project}/retract", {"event": event})
    assert bench.store.count_statements(project) == {}
    group = {"kind": "must", "rows": [1, 3, 5, 7]}
    owner.post(f"projects/{project}/say", group)
    assert bench.store.side(project).groups()[[1, 3, 5, 7]].tolist() == [1] * 4


def test_conflicts_come_as_chains_and_can_be_resolved(owner, project):
    owner.post(f"projects/{project}/say", {"kind": "must", "rows": [0, 2, 4]})
    (event,) = owner.post(f"projects/{project}/say", {"kind": "cannot", "rows": [0, 4]})["events"]
    (conflict,) = owner.get(f"projects/{project}/conflicts")
    assert "r0" in conflict["sentence"]
    assert conflict["statement"] == {"event": event, "position": 0}
    assert len(conflict["chain"]) == 2
    owner.post(f"projects/{project}/retract", conflict["statement"] | {"positions": [0]})
    assert owner.get(f"projects/{project}/conflicts") == []


def test_a_run_knows_what_it_knew_and_keeps_colours(owner, project, bench):
    owner.post(f"projects/{project}/say", {"kind": "label", "rows": [0, 2], "class": "b"})
    owner.post(f"projects/{project}/say", {"kind": "label", "rows": [1, 3], "class": "c"})
    first = fit(bench, project, model="ConstrainedKMeans")
    owner.post(f"projects/{project}/say", {"kind": "label", "rows": [5], "class": "a"})
    second = fit(bench, project, model="ConstrainedKMeans")
    runs = owner.get(f"projects/{project}/runs")
    colours = [{c["name"]: c["colour"] for c in run["scores"]["clusters"]} for run in runs]
    assert set(colours[1]) == {"a", "b", "c"}
    assert {name: colours[1][name] for name in "bc"} == colours[0]
    assert colours[1]["a"] not in colours[0].values()
    compared = owner.get(f"projects/{project}/compare", first=first, second=second)
    assert np.sum(compared["counts"]) == 40
    labels = owner._http.get(f"/api/projects/{project}/runs/{first}/labels.bin")
    assert np.frombuffer(labels.content, dtype=np.int32).shape == (40,)
    unchanged = owner._http.get(
        f"/api/projects/{project}/runs/{first}/labels.bin",
        headers={"If-None-Match": labels.headers["etag"]},
    )
    assert unchanged.status_code == 304
    again = fit(bench, project, model="ConstrainedKMeans", at_event=runs[0]["at_event"])
    assert bench.store.run(project, again)["labels_file"] == runs[0]["labels_file"]


def test_the_verdict_of_a_run_is_about_the_statements_of_the_log(owner, project, bench):
    owner.post(f"projects/{project}/say", {"kind": "label", "rows": [0, 2, 4], "class": "b"})
    owner.post(f"projects/{project}/say", {"kind": "label", "rows": [1, 3, 5], "class": "c"})
    (wrong,) = owner.post(f"projects/{project}/say", {"kind": "cannot", "rows": [6, 8]})["events"]
    taken = owner.post(f"projects/{project}/say", {"kind": "must", "rows": [7, 8]})["events"][0]
    owner.post(f"projects/{project}/retract", {"event": taken})
    fit(bench, project, model="PCKMeans", parameters={"side_weight": 0.001})
    broken = [s for s in owner.get(f"projects/{project}/statements") if s["kept"] is False]
    assert [s["event"] for s in broken] == [wrong]
    assert owner.get(f"projects/{project}/doubtful")[0]["event"] == wrong


def work(bench, project, kind, **body):
    """What a worker does with a job, in this process."""
    number = bench.start_job(project, kind, body, None)
    job = bench.store.jobs.claim("test")
    assert job.id == number
    progress = []
    made = run_job(bench.store, bench.folder, job._asdict(), lambda *step: progress.append(step))
    bench.store.jobs.end(number, "done", message=told(made))
    return progress


def test_models_are_compared_by_statements_held_back(owner, project, bench):
    at = f"projects/{project}"
    assert owner.get(f"{at}/models-compared") is None
    owner.post(f"{at}/say", {"kind": "label", "rows": list(range(0, 24, 2)), "class": "b"})
    owner.post(f"{at}/say", {"kind": "label", "rows": list(range(1, 24, 2)), "class": "c"})
    progress = work(bench, project, "compare", models=["PCKMeans", "KMeans"], n_clusters=2)
    assert progress[-1][0] == 1.0
    found = owner.get(f"{at}/models-compared")
    assert {row["model"]: row["ours"] for row in found["rows"]} == {
        "PCKMeans": True,
        "KMeans": False,
    }
    assert found["n_statements"] == 24
    assert found["at_event"] == bench.store.last_event(project)
    assert found["rows"][found["choice"]]["remark"] == "chosen"
    assert all(row["standard_error"] >= 0 for row in found["rows"])
    from sidelight.select import compare

    expected = compare(
        np.asarray(bench.rows(project).X),
        side=bench.store.side(project),
        models=["PCKMeans", "KMeans"],
        n_clusters=2,
        random_state=0,
    )
    assert [row["score"] for row in found["rows"]] == [row.score for row in expected.rows]
    assert found["reason"] == expected.reason


def test_with_enough_audits_models_are_judged_by_these_alone(owner, project, bench):
    at = f"projects/{project}"
    for k in range(0, 30, 2):  # wrong, and not asked at random
        owner.post(f"{at}/say", {"kind": "must", "rows": [k, k + 1]})
    answers = []
    for question in owner.ask(project, 40):
        first, second = (row["row"] for row in question["rows"])
        value = "must" if (first - second) % 2 == 0 else "cannot"
        answers.append({"question": question["id"], "value": value})
    owner.answer(project, answers)
    assert bench.store.audits(project) == {answer["question"] for answer in answers}
    work(bench, project, "compare", models=["KMeans"], n_clusters=2)
    (row,) = owner.get(f"{at}/models-compared")["rows"]
    assert row["score"] == 1.0


def test_a_run_that_was_made_without_held_out_scores_gets_them_later(owner, project, bench):
    at = f"projects/{project}"
    owner.post(f"{at}/say", {"kind": "label", "rows": list(range(0, 20, 2)), "class": "b"})
    run = fit(bench, project, model="ConstrainedKMeans")
    with pytest.raises(SidelightError, match="too few to hold some back"):
        work(bench, project, "judge", run=run)
    bench.store.jobs.end(bench.store.jobs.all(project)[0].id, "failed")
    owner.post(f"{at}/say", {"kind": "label", "rows": list(range(1, 20, 2)), "class": "c"})
    run = fit(bench, project, model="ConstrainedKMeans", automatic=True)
    assert owner.get(f"{at}/runs")[-1]["scores"]["held_out_scores"] is None
    work(bench, project, "judge", run=run)
    scores = owner.get(f"{at}/runs")[-1]["scores"]
    assert scores["held_out_scores"]["n_statements"] == 20
    assert scores["held_out_scores"]["share_right"] == 1.0
    assert "20 statements held back" in scores["held_out"]
    assert scores["clusters"]  # nothing else was lost


def test_what_can_be_refused_is_refused_before_a_job_starts(owner, project):
    for body, message in [
        ({"kind": "fit", "model": "KMeens"}, "unknown model 'KMeens'"),
        ({"kind": "fit", "parameters": {"colour": 1}}, "no parameter 'colour'"),
        ({"kind": "layout", "method": "magic"}, "unknown map 'magic'"),
        ({"kind": "report", "run": 99}, "no run 99"),
        ({"kind": "judge"}, "needs a run"),
        ({"kind": "compare"}, "answer some questions first"),
    ]:
        with pytest.raises(SidelightError, match=message):
            owner.post(f"projects/{project}/jobs", body)
    assert owner.get(f"projects/{project}/jobs") == []


def test_exports_can_be_read_again(owner, project, bench, tmp_path, table):
    owner.post(f"projects/{project}/say", {"kind": "label", "rows": [0, 2], "class": "b"})
    owner.post(f"projects/{project}/say", {"kind": "label", "rows": [1, 3], "class": "=c()"})
    with pytest.raises(SidelightError, match="no run yet"):
        owner.export(project, "clusters.csv")
    fit(bench, project, model="ConstrainedKMeans")
    text = owner.export(project, "clusters.csv").decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["id"] for row in rows] == [f"r{k}" for k in range(40)]
    assert {row["cluster_name"] for row in rows} == {"b", '"=c()"'}  # quoted for spreadsheets
    (tmp_path / "said.csv").write_bytes(owner.export(project, "statements.csv"))
    ids = [f"r{k}" for k in range(40)]
    side = SideInformation.read(tmp_path / "said.csv", index=ids)
    assert side == bench.store.side(project, index=np.array(ids))
    script = owner.export(project, "script.py").decode()
    compile(script, "script.py", "exec")
    assert "'ConstrainedKMeans'" in script
    with pytest.raises(SidelightError, match="no report yet"):
        owner.export(project, "report.html")


def test_a_project_file_brings_everything_along(owner, project, bench, tmp_path):
    (event,) = owner.post(
        f"projects/{project}/say", {"kind": "label", "rows": [0, 2], "class": "b"}
    )["events"]
    owner.post(f"projects/{project}/retract", {"event": event, "positions": [1]})
    owner.post(f"projects/{project}/say", {"kind": "label", "rows": [1], "class": "c"})
    fit(bench, project, model="ConstrainedKMeans")
    path = tmp_path / "p.zip"
    path.write_bytes(owner.export(project, "project.zip"))
    copy = import_project(bench, path)
    assert bench.store.side(copy.id) == bench.store.side(project)
    assert copy.config == bench.store.project(project).config
    old, new = bench.store.runs(project), bench.store.runs(copy.id)
    assert [r["labels_file"] for r in new] == [r["labels_file"] for r in old]
    again = bench.store.side(copy.id, at_event=new[0]["at_event"])
    assert again == bench.store.side(project, at_event=old[0]["at_event"])


def test_a_project_file_is_opened_over_http(owner, project, bench):
    owner.post(f"projects/{project}/say", {"kind": "must", "rows": [0, 1]})
    contents = owner.export(project, "project.zip")
    made = owner._http.post("/api/projects/file", content=contents).json()
    assert made["id"] != project
    assert (made["n_rows"], made["n_statements"]) == (40, 1)
    assert list((bench.settings.root / "uploads").iterdir()) == []


def test_a_damaged_or_evil_project_file_is_refused(bench, tmp_path):
    path = tmp_path / "p.zip"
    path.write_bytes(b"not a zip")
    with pytest.raises(SidelightError, match="not a project file"):
        import_project(bench, path)
    about = {"format": 1, "name": "x", "n_rows": 1, "config": {"files": {"X": "x"}}}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("project.json", json.dumps(about))
        archive.writestr("events.jsonl", "")
        archive.writestr("runs.json", "[]")
        archive.writestr("files/../../evil.npy", b"x")
    with pytest.raises(SidelightError, match=r"does not hold what its name says"):
        import_project(bench, path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("project.json", json.dumps(about))
        archive.writestr("files/bomb.npy", b"\0" * 5_000_000)
    with pytest.raises(SidelightError, match="would expand"):
        import_project(bench, path, max_bytes=1_000_000)
    assert bench.store.projects() == []


def test_the_log_is_paged_by_key(owner, project):
    for k in range(5):
        owner.post(f"projects/{project}/say", {"kind": "label", "rows": [k], "class": "a"})
    first = owner.get(f"projects/{project}/events", limit=3)
    rest = owner.get(f"projects/{project}/events", after=first[-1]["id"])
    assert len(first) == 3
    assert len(rest) == 2
    assert first[-1]["id"] < rest[0]["id"]


def test_openapi_describes_every_route(owner):
    paths = owner.get("openapi.json")["paths"]
    for name in ("ask", "answers", "retract", "conflicts", "jobs", "runs", "events", "people"):
        assert any(path.endswith(f"/{name}") for path in paths), name
    for path, verbs in paths.items():
        for verb, route in verbs.items():
            assert route.get("description"), f"{verb} {path}"


def test_rows_are_shown_by_the_users_ids_and_can_be_searched(owner, project):
    assert [row["id"] for row in owner.get(f"projects/{project}/rows", ids="3,1")] == ["r3", "r1"]
    assert [row["id"] for row in owner.get(f"projects/{project}/search", text="R39")] == ["r39"]
    with pytest.raises(SidelightError, match="rows 0 to 39"):
        owner.get(f"projects/{project}/rows", ids="40")


def test_rows_differ_in_texts_and_in_numbers_that_are_far_apart(owner, project, bench):
    rows = bench.rows(project)
    near, far = rows.differ(rows.shown([0, 2])), rows.differ(rows.shown([0, 1]))
    assert far == {"height": True, "weight": True, "town": True}
    assert near == {"height": False, "weight": False, "town": False}


def test_a_program_is_an_annotator_like_any_other(as_person, owner, project, bench):
    robot = as_person("robot", "annotator")[0]

    def decide(question):
        towns = {row["cells"]["town"] for row in question["rows"]}
        if question["kind"] == "label":
            return towns.pop()
        return "must" if len(towns) == 1 else "cannot"

    asked = list(robot.answer_all(project, decide, n=12))
    assert len(asked) == 12
    assert {s.annotator for s in bench.store.statements(project)} == {"robot"}
    truth = np.arange(40) % 2
    assert not bench.store.side(project).only(kind=["must", "cannot"]).violated(truth).any()


def test_a_doubtful_statement_is_asked_of_another_person(owner, as_person, project, bench):
    said = owner.post(f"projects/{project}/say", {"kind": "must", "rows": [3, 8]})["events"][0]
    place = {"event": said, "position": 0}
    for _ in range(2):  # twice is once
        owner._http.post(f"/api/projects/{project}/ask-again", json=place)
    bob, cy = as_person("bob", "annotator")[0], as_person("cy", "annotator")[0]

    def asked(client):
        return [[row["row"] for row in q["rows"]] for q in client.ask(project, 3)]

    assert [3, 8] not in asked(owner)
    assert asked(bob)[0] == [3, 8]
    assert [3, 8] not in asked(cy)  # bob has it before him
    question = bob.ask(project)[0]
    bob.answer(project, [{"question": question["id"], "value": "cannot"}])
    assert [3, 8] not in asked(cy)
    assert bench.store.count_statements(project) == {"must": 1, "cannot": 1}
    bench.store.expire_questions(project, older_than=-1)
    owner._http.post(f"/api/projects/{project}/ask-again", json={**place, "other": False})
    assert [3, 8] not in asked(cy)  # it was answered
    with pytest.raises(SidelightError, match="has no statement 7"):
        owner.post(f"projects/{project}/ask-again", {"event": said, "position": 7})


def test_a_question_that_was_taken_and_left_is_asked_again(owner, as_person, project, bench):
    said = owner.post(f"projects/{project}/say", {"kind": "must", "rows": [3, 8]})["events"][0]
    owner._http.post(
        f"/api/projects/{project}/ask-again", json={"event": said, "position": 0, "other": False}
    )
    assert [row["row"] for row in owner.ask(project)[0]["rows"]] == [3, 8]
    bench.store.expire_questions(project, older_than=-1)
    bob = as_person("bob", "annotator")[0]
    assert [row["row"] for row in bob.ask(project)[0]["rows"]] == [3, 8]


def test_statements_come_from_a_file_as_one_event(owner, project, bench, tmp_path):
    lines = '{"kind": "must", "i": "r0", "j": "r2"}\n{"kind": "cannot", "i": "r0", "j": "r2"}\n'
    answer = owner._http.post(
        f"/api/projects/{project}/statements", params={"name": "said.jsonl"}, content=lines
    )
    assert answer.status_code == 201, answer.text
    assert bench.store.count_statements(project) == {"cannot": 1, "must": 1}
    assert len(owner.get(f"projects/{project}/conflicts")) == 1
    owner.post(f"projects/{project}/retract", {"event": answer.json()["events"][0]})
    assert bench.store.count_statements(project) == {}
    wrong = owner._http.post(
        f"/api/projects/{project}/statements", params={"name": "said.csv"}, content="a,b\n1,2\n"
    )
    assert wrong.status_code == 422
    assert list((bench.settings.root / "uploads").iterdir()) == []


def test_an_excel_file_is_known_by_its_contents(owner, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["id", "x", "y"], *([f"r{k}", k, k % 3] for k in range(6))):
        book.active.append(row)
    book.save(tmp_path / "table.xlsx")
    found = owner.upload(tmp_path / "table.xlsx")
    assert found["upload"].endswith(".xlsx")
    assert found["preview"]["n_rows"] == 6


def test_words_that_change_while_a_map_is_computed_stay(owner, project, bench, monkeypatch):
    from sidelight.web import _work

    once = _work.plane

    def meanwhile(X, method):
        owner._http.patch(f"/api/projects/{project}", json={"words": {"must": "same person"}})
        return once(X, "pca")

    monkeypatch.setattr(_work, "plane", meanwhile)
    job = {"project": project, "kind": "layout", "body": {"method": "tsne"}, "id": 1}
    _work.run_job(bench.store, bench.folder, job, lambda progress, message: None)
    config = bench.store.project(project).config
    assert (config["layout"], config["words"]["must"]) == ("tsne", "same person")
    assert config["words"]["cannot"] == "different kind"
    assert owner._http.patch(f"/api/projects/{project}", json={}).status_code == 200


def test_a_full_disk_is_a_sentence_and_the_answer_can_be_sent_again(owner, project, bench):
    """The database may grow no further; the page keeps answers that get a 503."""
    if bench.store._engine.dialect.name != "sqlite":
        pytest.skip("the limit is one of SQLite")
    question = owner.ask(project)[0]["id"]
    body = [{"question": question, "value": "cannot_tell", "comment": "x" * 2000}]
    import sqlalchemy as sa

    def full(connection, _record, _proxy):
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")

    sa.event.listen(bench.store._engine, "checkout", full)
    many = [{"kind": "label", "rows": list(range(40)), "class": "c" * 100} for _ in range(40)]
    statuses = [
        owner._http.post(f"/api/projects/{project}/say", json=one).status_code for one in many
    ]
    assert statuses[-1] == 503

    def answer_on():
        for k in range(40):
            owner.answer(project, [body[0] | {"key": f"k{k}"}])

    with pytest.raises(SidelightError, match=r"503: the workbench cannot save.*full.*nothing"):
        answer_on()
    sa.event.remove(bench.store._engine, "checkout", full)
    with bench.store._engine.connect() as c:
        c.exec_driver_sql("PRAGMA max_page_count = 1000000")
        c.rollback()
    n = len(bench.store.events(project))
    owner.answer(project, [body[0] | {"key": "after"}])
    assert len(bench.store.events(project)) == n + 1


def test_no_space_for_an_upload_is_a_sentence(owner, table, bench, monkeypatch):
    import errno

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    key = owner.upload(table)["upload"]
    monkeypatch.setattr(bench.folder, "put", full)
    with pytest.raises(SidelightError, match="503.*No space left"):
        owner.post("projects", {"upload": key, "name": "x", "id": "id", "drop": ["town"]})
    assert bench.store.projects() == []


def test_problems_of_a_table_are_told_in_the_words_of_the_page(owner, tmp_path):
    table = tmp_path / "some.csv"
    lines = ["id,size,town", "a,1.5,Bonn", "b,x,Rome", *(f"r{k},{k},Bonn" for k in range(30))]
    table.write_text("\n".join(lines) + "\nz,,Bonn\n", encoding="utf-8")
    told = owner.upload(table)["preview"]["problems"][0]["message"]
    empty = tmp_path / "empty.csv"
    empty.write_bytes(b"")
    with pytest.raises(SidelightError, match=r"empty\.csv is empty"):
        owner.upload(empty)
    assert '"a feature (categories)"' in told  # of town
    assert "'x'" in told  # of size
    assert not re.search(r"\w+=", told)  # no parameter of Python
    page = Path(__file__).resolve().parents[2] / "client" / "src" / "screens" / "Import.tsx"
    purposes = page.read_text(encoding="utf-8")
    for words in re.findall(r'"([^"]+)"', " ".join(_COLUMNS.values())):
        assert words.strip(".") in purposes


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("kind,i,j\nmust,r0,r99\n", "said.csv: .* line 2 .*The table has no row r99"),
        ("must,r0,r1\n", "said.csv: missing column 'kind'"),
    ],
)
def test_wrong_statements_are_told_in_the_words_of_the_page(owner, project, text, told):
    response = owner._http.post(
        f"/api/projects/{project}/statements", params={"name": "said.csv"}, content=text
    )
    with pytest.raises(SidelightError, match=told) as caught:
        owner._checked(response)
    assert not re.search(r"\w=|uploads|bulk", str(caught.value))


def test_contradictions_are_those_of_all_rows(owner, project, bench):
    assert owner.get(f"projects/{project}/conflicts") == []
    (person,) = bench.store.people.all()
    for kind, *pair in (("must", 30, 2), ("must", 2, 17), ("cannot", 30, 17), ("cannot", 5, 6)):
        bench.say(project, person, kind=kind, rows=pair)
    (found,) = owner.get(f"projects/{project}/conflicts")
    ids = bench.rows(project).ids
    (all_rows,) = bench.store.side(project, index=ids).conflicts()
    said = bench.store.statements(project, retracted=False)
    assert found["sentence"] == str(all_rows)
    assert found["statement"]["event"] == said[all_rows.statement].event
    assert [one["event"] for one in found["chain"]] == [said[k].event for k in all_rows.chain]
