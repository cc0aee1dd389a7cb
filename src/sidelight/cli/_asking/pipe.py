"""Questions as JSON lines: one goes out, its answer comes in. Any program can be an annotator."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import IO, Any

from sidelight.cli._asking.interview import Interview
from sidelight.cli._asking.rows import Rows, described
from sidelight.query import QuestionError

Record = Callable[[Any, Any, float | None], None]


def talk(
    interview: Interview,
    rows: Rows,
    record: Record,
    take_back: Callable[[], Any],
    *,
    source: IO[str],
    target: IO[str],
    budget: int | None = None,
) -> str:
    """Ask until the other side stops; returns the reason in a word.

    Out: a question with ``id``, ``kind``, ``rows``, ``names``, ``cells``, ``classes`` and
    ``progress``; after an answer that cannot be taken ``{"error": …}`` and the question again; at
    the end ``{"done": …}``. In: ``{"id": …, "value": …}``, ``{"undo": true}``, ``{"stop": true}``.
    """

    def say(message: Any) -> None:
        target.write(json.dumps(message, ensure_ascii=False, default=str) + "\n")
        target.flush()

    reason = "budget"
    again: Any = None
    while budget is None or interview.n_answers < budget:
        question = interview.question() if again is None else again
        again = None
        if question is None:
            reason = "nothing left to ask"
            break
        try:
            say({**described(rows, question), "progress": asdict(interview.progress)})
            line = source.readline()
        except BrokenPipeError:  # the reader is gone
            line = ""
        while line and not line.strip():
            line = source.readline()
        if not line:
            reason = "end of input"
            break
        try:
            told = _read(line)
            if told.get("stop"):
                reason = "stopped"
                break
            if told.get("undo"):
                again = take_back()
                continue
            if told.get("id") != question.id:
                raise QuestionError(f"the question has the id {question.id!r}: {told.get('id')!r}.")
            record(question, told.get("value"), told.get("seconds"))
        except QuestionError as error:
            with suppress(BrokenPipeError):
                say({"error": str(error)})
            again = question
    with suppress(BrokenPipeError):  # the reader has gone
        say({"done": reason, "answers": interview.n_answers})
    return reason


def _read(line: str) -> dict[str, Any]:
    try:
        told = json.loads(line)
    except ValueError:
        told = None
    if not isinstance(told, dict) or not {"value", "undo", "stop"} & set(told):
        raise QuestionError(
            f"not an answer: {line.strip()[:80]}; write a JSON object in one line, such as "
            '{"id": "...", "value": "must"}, {"undo": true} or {"stop": true}.'
        )
    return told
