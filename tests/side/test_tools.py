"""Statements in the files of other tools, and files with more in them than statements."""

import json

import pytest

from sidelight import SideInformation
from sidelight.exceptions import SelfPairsError, SideInformationError, UnknownRowsError
from sidelight.side import alike, held_by, nearest, read, read_all

IDS = ["v1", "v2", "v3", "v4"]


def write(path, contents):
    path.write_text(contents if isinstance(contents, str) else json.dumps(contents))
    return path


def said(side):
    return [side.describe(k) for k in range(side.n_statements)]


# Label Studio


def task(number, data, *results, who=3, **more):
    annotation = {"id": 1000 + number, "completed_by": who, "result": list(results), **more}
    return {"id": number, "data": data, "annotations": [annotation], "predictions": []}


def choice(*words, name="kind"):
    value = {"choices": list(words)}
    return {"id": "x", "from_name": name, "to_name": "t", "type": "choices", "value": value}


def test_choices_of_label_studio_are_labels(tmp_path):
    tasks = [
        task(1, {"id": "v1", "text": "a bus"}, choice("bus")),
        task(2, {"id": "v2", "text": "a car"}, choice("car"), who={"id": 4, "email": "bo@x.org"}),
        task(3, {"id": "v3"}, choice("bus"), was_cancelled=True),
        task(4, {"id": "v4"}, {"type": "textarea", "value": {"text": ["hm"]}}),
    ]
    found = read_all(write(tmp_path / "export.json", tasks), index=IDS)
    assert said(found.side) == ["v1 is 'bus' (label, 3)", "v2 is 'car' (label, bo@x.org)"]
    assert [note.split(": ")[1] for note in found.notes] == [
        "1 cancelled annotations were passed over.",
        "1 results of the type textarea were passed over.",
    ]


def test_choices_about_two_rows_of_label_studio_are_pairs(tmp_path):
    tasks = [
        task(1, {"id1": "v1", "id2": "v2"}, choice("Same")),
        task(2, {"id1": "v1", "id2": "v3"}, choice("different")),
        task(3, {"id1": "v2", "id2": "v3"}, choice("can't tell")),
        task(4, {"id1": "v3", "id2": "v4"}, {"type": "pairwise", "value": {"selected": "same"}}),
    ]
    side = read(write(tmp_path / "export.json", tasks), index=IDS)
    assert [s.split(" (")[0] for s in said(side)] == [
        "v1 with v2", "v1 apart from v3", "v2 perhaps with v3", "v3 with v4",
    ]  # fmt: skip


def test_a_preference_is_not_taken_for_a_pair(tmp_path):
    result = {"type": "pairwise", "from_name": "pw", "value": {"selected": "left"}}
    path = write(tmp_path / "e.json", [task(7, {"id1": "v1", "id2": "v2"}, result)])
    with pytest.raises(SideInformationError, match=r"task 1: a Pairwise tag.*leftClass"):
        read(path, index=IDS)


def test_two_questions_of_label_studio_are_two_vocabularies(tmp_path):
    results = choice("bus"), choice("red", name="colour")
    side = read(write(tmp_path / "e.json", [task(1, {"id": "v1"}, *results)]), index=IDS)
    assert side.vocabularies == ("colour", "kind")
    with pytest.raises(SideInformationError, match="2 choices for one row"):
        read(write(tmp_path / "f.json", [task(1, {"id": "v1"}, choice("a", "b"))]), index=IDS)


def test_the_field_with_the_ids_can_be_named(tmp_path):
    path = write(tmp_path / "e.json", [task(1, {"plate": "v1", "text": "x"}, choice("bus"))])
    with pytest.raises(SideInformationError, match=r"it has plate, text.*row_field="):
        read(path, index=IDS)
    assert said(read(path, index=IDS, row_field="plate")) == ["v1 is 'bus' (label, 3)"]
    path = write(tmp_path / "p.json", [task(1, {"one": "v1", "two": "v2"}, choice("same"))])
    assert said(read(path, index=IDS, row_field="one,two")) == ["v1 with v2 (must, 3)"]


# Prodigy


def test_tasks_of_prodigy_are_labels_and_pairs(tmp_path):
    more = {"_input_hash": 17, "_task_hash": -3, "_view_id": "classification"}
    options = [{"id": "bus", "text": "a bus"}, {"id": "car", "text": "a car"}]
    tasks = [
        {"text": "…", "meta": {"id": "v1"}, "label": "bus", "answer": "accept", **more,
         "_annotator_id": "db-ann"},
        {"text": "…", "id": "v2", "label": "bus", "answer": "reject", "_session_id": "db-bob"},
        {"text": "…", "id": "v3", "options": options, "accept": ["car"], "answer": "accept"},
        {"text": "…", "id": "v4", "options": options, "accept": [], "answer": "ignore"},
        {"id1": "v1", "id2": "v2", "answer": "accept"},
        {"id1": "v1", "id2": "v3", "answer": "reject"},
        {"id1": "v1", "id2": "v4", "answer": "ignore"},
    ]  # fmt: skip
    lines = "\n".join(map(json.dumps, tasks)) + "\n"
    found = read_all(write(tmp_path / "out.jsonl", lines), index=IDS)
    assert said(found.side) == [
        "v1 is 'bus' (label, db-ann)", "v2 is not 'bus' (not_label, db-bob)", "v3 is 'car' (label)",
        "v1 with v2 (must)", "v1 apart from v3 (cannot)", "v1 perhaps with v4 (unsure)",
    ]  # fmt: skip
    assert found.notes[0].endswith("1 tasks without an answer were passed over.")


def test_our_own_json_lines_are_not_taken_for_prodigys(tmp_path):
    line = '{"kind": "must", "i": 0, "j": 1, "answer": "yes"}\n'
    found = read_all(write(tmp_path / "said.jsonl", line), n_samples=2)
    assert found.side.n_statements == 1
    assert found.extra == {"answer": ["yes"]}


# dedupe


def test_a_training_file_of_dedupe_is_pairs(tmp_path):
    def pair(one, two):
        records = [{"id": one, "name": "x"}, {"id": two, "name": "y"}]
        return {"__class__": "tuple", "__value__": records}

    training = {"distinct": [pair("v1", "v3")], "match": [pair("v1", "v2"), pair("v3", "v4")]}
    side = read(write(tmp_path / "training.json", training), index=IDS)
    assert said(side) == ["v1 with v2 (must)", "v3 with v4 (must)", "v1 apart from v3 (cannot)"]
    training = {"match": [[{"name": "x"}, {"name": "y"}]], "distinct": []}
    with pytest.raises(SideInformationError, match="pair 1: no field says which row"):
        read(write(tmp_path / "t.json", training), index=IDS)


@pytest.mark.parametrize("text", ["{", "[1, 2]", '{"a": 1}', '[{"data": {}}]'])
def test_other_json_is_refused_with_the_formats(tmp_path, text):
    with pytest.raises(SideInformationError, match="not JSON|label-studio, prodigy, dedupe"):
        read(write(tmp_path / "x.json", text), index=IDS)


@pytest.mark.parametrize("tool", ["label-studio", "prodigy", "dedupe", "pairs"])
def test_what_a_tool_holds_comes_back_from_its_file(tool, tmp_path):
    kinds = ["must", "cannot", "unsure", "label", "not_label"]
    side = SideInformation.from_columns(
        kinds, ["v1", "v1", "v2", "v3", "v4"], ["v2", "v 3", "v3", None, None],
        class_=[None, None, None, "bus", "bus"], annotator="ann", index=[*IDS, "v 3"],
    )  # fmt: skip
    path = tmp_path / "out.json"
    if tool != "prodigy":
        with pytest.raises(SideInformationError, match=f"a {tool} file has no place for"):
            side.write(path, format=tool)
    held = side.only(kind=held_by(path, tool))
    held.write(path, format=tool, overwrite=True)
    back = read(path, format=tool, index=[*IDS, "v 3"])
    has_people = tool in ("label-studio", "prodigy")
    told = [sorted(s if has_people else s.split(" (")[0] for s in said(x)) for x in (back, held)]
    assert told[0] == told[1]


# Pairs, columns, ids


def test_two_columns_are_pairs_of_one_kind(tmp_path):
    path = write(tmp_path / "pairs.csv", "id1,id2\nv1,v2\nv3,v4\n")
    side = read(path, format="pairs", kind="must", index=IDS)
    assert said(side) == ["v1 with v2 (must)", "v3 with v4 (must)"]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_other_columns_are_named_and_kept(tmp_path, suffix):
    path = write(tmp_path / "said.csv", "kind,i,j,anotator,seconds\nmust,0,1,ann,7\ncannot,1,2,,\n")
    found = read_all(path, n_samples=3)
    assert found.notes == [
        f"{path}: the columns anotator (did you mean annotator?), seconds are not used."
    ]
    assert found.extra == {"anotator": ["ann", ""], "seconds": ["7", ""]}
    with pytest.warns(UserWarning, match="did you mean annotator"):
        read(path, n_samples=3)
    out = tmp_path / f"out{suffix}"
    found.side.write(out, extra=found.extra)
    again = read_all(out, n_samples=3)
    assert again.side == found.side
    assert again.extra == found.extra


def test_other_columns_follow_statements_that_are_left_out(tmp_path):
    text = "kind,i,j,mood\nmust,v1,v2,a\nmust,v1,v1,b\nmust,v1,v9,c\nlabel,v3,,d\nmust,v3,v4,e\n"
    path = write(tmp_path / "said.csv", text.replace("label,v3,,d\n", ""))
    found = read_all(path, index=IDS, self_pairs="drop", skip_unknown=True)
    assert found.extra == {"mood": ["a", "e"]}
    assert "1 statement was left out, about rows that the data does not have (v9)" in str(
        found.notes
    )


def test_unknown_rows_can_be_skipped_by_number_too(tmp_path):
    path = write(tmp_path / "said.csv", "kind,i,j\nmust,0,1\nmust,1,7\nmust,8,9\n")
    found = read_all(path, n_samples=3, skip_unknown=True)
    assert found.side.n_statements == 1
    assert (
        "2 statements were left out, about rows that the data does not have (8, 7, 9)"
        in (found.notes[0])
    )


def test_unknown_ids_come_with_the_nearest_ones(tmp_path):
    path = write(tmp_path / "said.csv", "kind,i,j\nmust,V1,v2\n")
    with pytest.raises(UnknownRowsError, match=r"for V1: v1\?") as caught:
        read(path, index=IDS)
    assert caught.value.nearest["V1"][0] == "v1"


def test_self_pairs_have_a_type(tmp_path):
    with pytest.raises(SelfPairsError, match="line 2"):
        read(write(tmp_path / "said.csv", "kind,i,j\nmust,v1,v1\n"), index=IDS)


# Spelling


@pytest.mark.parametrize(
    ("names", "groups"),
    [
        (["Bus", "bus", "buss"], [("Bus", "bus", "buss")]),
        (["light bus", "lightbus", "car"], [("light bus", "lightbus")]),
        (["hernia", "hernla", "normal"], [("hernia", "hernla")]),
        (["class1", "class2", "C3", "C4", "cat", "car", 1, 2], []),
        (["3", 3], [("3", 3)]),
        ([], []),
    ],
)
def test_classes_that_look_alike_are_found(names, groups):
    assert alike(names) == groups


def test_the_nearest_of_many_ids_is_found_without_comparing_all():
    many = [f"row-{k:06d}" for k in range(50_000)]
    assert nearest("row-49999", many)[0] in many
    assert nearest("ROW-000123 ", many)[0] == "row-000123"
    assert nearest("row-0499999x", ["entirely", "other"]) == []
