"""Files of other tools: Label Studio's JSON, Prodigy's JSON lines, dedupe's training file.

In: a record that names one row and a class is a label; one that names two rows is a pair, and the
answer says whether they belong together. Out: what each of them can hold.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sidelight.exceptions import SideInformationError
from sidelight.side._kinds import KINDS
from sidelight.side._names import brief
from sidelight.side._sources import COLUMNS, Source

if TYPE_CHECKING:
    from sidelight.side._information import SideInformation

# The kinds of statement that each tool has a place for.
HOLDS = {
    "label-studio": ("must", "cannot", "unsure", "label"),
    "prodigy": ("must", "cannot", "unsure", "label", "not_label"),
    "dedupe": ("must", "cannot"),
    "pairs": ("must", "cannot"),
}
# The fields that hold the id of a row, or of both rows of a pair, unless one is named.
_ROW = ("row", "row_id", "id", "ID", "Id", "record_id", "unique_id", "i")
_PAIRS = (
    *(("i", "j"), ("id1", "id2"), ("id_1", "id_2"), ("row1", "row2"), ("row_1", "row_2")),
    *(("left_id", "right_id"), ("id_left", "id_right"), ("id_a", "id_b")),
)
_ANSWERS = {
    **dict.fromkeys(("same", "must", "yes", "match", "similar", "together", "duplicate"), "must"),
    **dict.fromkeys(("samekind", "mustlink", "accept"), "must"),
    **dict.fromkeys(("different", "cannot", "no", "distinct", "apart", "notsimilar"), "cannot"),
    **dict.fromkeys(("differentkind", "dissimilar", "nomatch", "cannotlink", "reject"), "cannot"),
    **dict.fromkeys(("unsure", "can'ttell", "cannottell", "maybe", "unknown", "ignore"), "unsure"),
}
Row = dict[str, Any]
Fields = tuple[str, ...]


class _Records:
    """Collects the statements of a file, with the number of the record that each comes from."""

    def __init__(self, path: Path, unit: str, fields: Fields) -> None:
        self.path, self.unit, self.fields = path, unit, fields
        self.said: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        self.numbers: list[int] = []
        self.skipped: Counter[str] = Counter()

    def add(self, number: int, **statement: Any) -> None:
        for name, column in self.said.items():
            column.append(statement.get(name))
        self.numbers.append(number)

    def fail(self, number: int, problem: str, remedy: str) -> SideInformationError:
        return SideInformationError(
            f"{self.path}, {self.unit} {number}: {problem}.", advice=f"What to do: {remedy}"
        )

    def row(self, number: int, *places: Mapping[str, Any]) -> Any:
        """The id of the row that a record is about."""
        if len(self.fields) == 1:
            return self._named(number, self.fields[0], places)
        for place in places:
            for name in _ROW:
                if place.get(name) is not None:
                    return place[name]
        raise self._lost(number, places)

    def pair(self, number: int, *places: Mapping[str, Any]) -> tuple[Any, Any] | None:
        """The ids of both rows, if a record is about two."""
        if len(self.fields) == 2:
            one, two = (self._named(number, name, places) for name in self.fields)
            return one, two
        if self.fields:
            return None
        for place in places:
            for one, two in _PAIRS:
                if _is_id(place.get(one)) and _is_id(place.get(two)):
                    return place[one], place[two]
        return None

    def _named(self, number: int, field: str, places: Sequence[Mapping[str, Any]]) -> Any:
        found = next((p[field] for p in places if p.get(field) is not None), None)
        if found is None:
            raise self._lost(number, places)
        return found

    def _lost(self, number: int, places: Sequence[Mapping[str, Any]]) -> SideInformationError:
        has = ", ".join(dict.fromkeys(str(key) for place in places for key in place)) or "nothing"
        return self.fail(
            number,
            f"no field says which row it is about; it has {brief(has)}",
            "name the field with the ids of rows: row_field= (--row-field on the command line), "
            "two of them with a comma for pairs.",
        )

    def answer(self, number: int, word: Any) -> str:
        """Must, cannot or unsure, for what people answered about two rows."""
        kind = _ANSWERS.get("".join(str(word).casefold().replace("-", "").split()))
        if kind is None:
            raise self.fail(
                number,
                f"the answer about two rows is {brief(repr(word))}",
                f"say whether they belong together, by one of {', '.join(_ANSWERS)}.",
            )
        return kind

    def source(self) -> Source:
        notes = tuple(
            f"{self.path}: {n:,} {why} were passed over." for why, n in self.skipped.items()
        )
        numbers = self.numbers
        return Source(
            str(self.path),
            self.said,
            text=False,
            lines=lambda: numbers,
            unit=self.unit,
            notes=notes,
        )


def _is_id(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def recognise(path: Path, text: str) -> str | None:
    """The tool that wrote a JSON file, recognised by its contents; None if none of these did."""
    start = text.lstrip()[:1]
    if start == "[" or (start == "{" and path.suffix.lower() == ".json"):
        found = _parsed(path, text)
        if isinstance(found, dict) and {"match", "distinct"} & set(found):
            return "dedupe"
        tasks = found if isinstance(found, list) else []
        if tasks and isinstance(tasks[0], dict) and "annotations" in tasks[0]:
            return "label-studio"
        return None
    try:
        first = json.loads(next((line for line in text.split("\n") if line.strip()), "null"))
    except ValueError:
        return None
    is_prodigy = isinstance(first, dict) and "answer" in first and "kind" not in first
    return "prodigy" if is_prodigy else None


def read_tool(path: Path, text: str, tool: str, row_field: str | None) -> Source:
    """The statements of a file of another tool."""
    fields = tuple(name.strip() for name in (row_field or "").split(",") if name.strip())
    if len(fields) > 2:
        raise SideInformationError(f"row_field names {len(fields)} fields; a pair has two rows.")
    readers: dict[str, Callable[[Path, str, Fields], _Records]] = {
        "label-studio": _label_studio,
        "prodigy": _prodigy,
        "dedupe": _dedupe,
    }
    return readers[tool](path, text, fields).source()


def _parsed(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SideInformationError(
            f"{path} is not JSON ({brief(str(error))}); export it again."
        ) from None


def _part(record: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A part of a record that is a mapping; empty if it is anything else."""
    part = record.get(key)
    return part if isinstance(part, dict) else {}


# Label Studio: tasks with annotations, each a list of results


def _label_studio(path: Path, text: str, fields: Fields) -> _Records:
    tasks = _parsed(path, text)
    found = _Records(path, "task", fields)
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise SideInformationError(
            f"{path} is not a list of tasks; export from Label Studio as JSON (not JSON-MIN)."
        )
    controls = {
        str(result.get("from_name"))
        for task in tasks
        for _, result in _results(task, Counter())
        if "choices" in _part(result, "value")
    }
    for number, task in enumerate(tasks, start=1):
        for annotator, result in _results(task, found.skipped):
            _label_studio_result(found, number, task, annotator, result, len(controls) > 1)
    return found


def _results(task: Mapping[str, Any], skipped: Counter[str]) -> Iterator[tuple[Any, Row]]:
    """The annotator and each result of a task; cancelled annotations are skipped."""
    for annotation in task.get("annotations") or task.get("completions") or []:
        if not isinstance(annotation, dict):
            continue
        if annotation.get("was_cancelled"):
            skipped["cancelled annotations"] += 1
            continue
        who = annotation.get("completed_by")
        who = (who.get("email") or who.get("id")) if isinstance(who, dict) else who
        for result in annotation.get("result") or []:
            if isinstance(result, dict):
                yield who, result


def _label_studio_result(
    found: _Records, number: int, task: Row, who: Any, result: Row, several: bool
) -> None:
    data, value = _part(task, "data"), _part(result, "value")
    chosen, selected = value.get("choices"), value.get("selected")
    if selected is not None and str(selected) in ("left", "right"):
        raise found.fail(
            number,
            "a Pairwise tag says which of two is better, not whether they belong together",
            'ask by a Choices tag with "same" and "different", or give the Pairwise tag '
            'leftClass="same" and rightClass="different".',
        )
    if not chosen and selected is None:
        found.skipped[f"results of the type {result.get('type')}"] += 1
        return
    words = chosen if isinstance(chosen, list) and chosen else [selected or chosen]
    if len(words) != 1:
        raise found.fail(
            number, f"{len(words)} choices for one row", 'ask for one: choice="single".'
        )
    rows = found.pair(number, data)
    if rows is not None:
        kind = found.answer(number, words[0])
        found.add(number, kind=kind, i=rows[0], j=rows[1], annotator=who)
        return
    vocabulary = str(result.get("from_name")) if several else None
    row = found.row(number, data, _part(task, "meta"))
    found.add(
        number, kind="label", i=row, **{"class": words[0]}, annotator=who, vocabulary=vocabulary
    )


# Prodigy: a task per line, with an answer


def _prodigy(path: Path, text: str, fields: Fields) -> _Records:
    found = _Records(path, "line", fields)
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        task = _parsed(path, line)
        if not isinstance(task, dict) or "answer" not in task:
            raise found.fail(number, "not a task with an answer", "export by prodigy db-out.")
        _prodigy_task(found, number, task)
    return found


def _prodigy_task(found: _Records, number: int, task: Row) -> None:
    answer, who = str(task["answer"]), task.get("_annotator_id") or task.get("_session_id")
    places = (task, _part(task, "meta"))
    rows = found.pair(number, *places)
    if rows is not None:
        kind = found.answer(number, answer)
        found.add(number, kind=kind, i=rows[0], j=rows[1], annotator=who)
        return
    chosen = task.get("accept")
    if answer == "ignore" or (isinstance(chosen, list) and (answer != "accept" or not chosen)):
        found.skipped["tasks without an answer"] += 1
        return
    if isinstance(chosen, list):
        if len(chosen) > 1:
            raise found.fail(number, f"{len(chosen)} choices for one row", "ask for one.")
        label, kind = chosen[0], "label"
    elif task.get("label") is not None:
        label, kind = task["label"], "label" if answer == "accept" else "not_label"
    else:
        raise found.fail(number, "neither a label nor a choice", "export tasks with labels.")
    found.add(number, kind=kind, i=found.row(number, *places), **{"class": label}, annotator=who)


# dedupe: pairs of records that match or are distinct


def _dedupe(path: Path, text: str, fields: Fields) -> _Records:
    training = _parsed(path, text)
    found = _Records(path, "pair", fields)
    if not isinstance(training, dict):
        raise SideInformationError(f"{path} is not a training file of dedupe: match and distinct.")
    number = 0
    for key, kind in (("match", "must"), ("distinct", "cannot"), ("uncertain", "unsure")):
        for pair in training.get(key) or []:
            number += 1
            records: Any = pair.get("__value__") if isinstance(pair, dict) else pair
            two = isinstance(records, list) and len(records) == 2
            if not two or not all(isinstance(record, dict) for record in records):
                raise found.fail(number, "not a pair of records", "write the file by dedupe.")
            one, other = (found.row(number, record) for record in records)
            found.add(number, kind=kind, i=one, j=other)
    return found


# Out


def write_tool(side: "SideInformation", path: Path, tool: str) -> None:
    """Write statements as another tool reads them."""
    rows = list(_statements(side))
    if tool == "pairs":
        cells = (f"{_cell(r['i'])},{_cell(r['j'])},{r['kind']}\n" for r in rows)
        text = "".join(["i,j,kind\n", *cells])
    elif tool == "prodigy":
        text = "".join(json.dumps(_as_prodigy(row)) + "\n" for row in rows)
    elif tool == "dedupe":
        text = json.dumps(_as_training(rows), indent=1)
    else:
        text = json.dumps([_as_task(k, row) for k, row in enumerate(rows, start=1)], indent=1)
    path.write_text(text, encoding="utf-8", newline="")


def check_held(side: "SideInformation", tool: str) -> None:
    """Refuse statements that a tool has no place for."""
    kinds = {KINDS[code] for code in side.statements.kind.tolist()}
    others = sorted(kinds.difference(HOLDS[tool]))
    if others:
        raise SideInformationError(
            f"a {tool} file has no place for {', '.join(others)}; it holds "
            f"{', '.join(HOLDS[tool])}.",
            advice=f"Write side.only(kind={list(HOLDS[tool])!r}), or another format.",
        )


def _statements(side: "SideInformation") -> Iterator[Row]:
    """One dict per statement, with the names behind its codes."""
    said = side.statements
    classes, people = (*side.classes, None), (*side.annotators, None)
    columns = zip(*(column.tolist() for column in said), strict=True)
    for kind, i, j, class_code, _, annotator, _ in columns:
        yield {
            "kind": KINDS[kind],
            "i": _id(side, i),
            "j": None if j < 0 else _id(side, j),
            "class": classes[class_code],
            "annotator": people[annotator],
        }


def _id(side: "SideInformation", row: int) -> Any:
    return row if side.index is None else side.index[row].item()


def _cell(value: Any) -> str:
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n\r# ') else text


def _as_prodigy(row: Row) -> Row:
    who = {} if row["annotator"] is None else {"_annotator_id": row["annotator"]}
    if row["j"] is not None:
        answer = {"must": "accept", "cannot": "reject", "unsure": "ignore"}[row["kind"]]
        return {"id1": row["i"], "id2": row["j"], "answer": answer, **who}
    answer = "accept" if row["kind"] == "label" else "reject"
    return {"id": row["i"], "label": row["class"], "answer": answer, **who}


def _as_training(rows: Iterable[Row]) -> dict[str, list[Any]]:
    training: dict[str, list[Any]] = {"distinct": [], "match": []}
    for row in rows:
        pair = [{"id": row["i"]}, {"id": row["j"]}]
        key = "match" if row["kind"] == "must" else "distinct"
        training[key].append({"__class__": "tuple", "__value__": pair})
    return training


def _as_task(number: int, row: Row) -> Row:
    words = {"must": "same", "cannot": "different", "unsure": "unsure"}
    is_pair = row["j"] is not None
    data = {"id1": row["i"], "id2": row["j"]} if is_pair else {"id": row["i"]}
    result = {
        "from_name": "answer",
        "to_name": "row",
        "type": "choices",
        "value": {"choices": [words[row["kind"]] if is_pair else row["class"]]},
    }
    who = {} if row["annotator"] is None else {"completed_by": row["annotator"]}
    return {"id": number, "data": data, "annotations": [{"result": [result], **who}]}
