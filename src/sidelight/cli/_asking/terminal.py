"""Questions on a terminal: two rows side by side, one key per answer, progress below."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from sidelight._wording import counted
from sidelight.cli._asking.interview import Interview, Progress
from sidelight.cli._asking.rows import Rows, written
from sidelight.query import QuestionError
from sidelight.side import from_cell

_PAIR = {"s": "must", "d": "cannot", "c": "cannot_tell"}
_NARROW = 56  # columns of a terminal; with fewer, rows stand below each other
_SHORT = 20  # lines of a terminal; with fewer, rows are worth more than sentences
_FAR = 1.0  # standard deviations from which two numbers are called different
_TALLEST = 8  # lines of one cell

Record = Callable[[Any, Any, float | None], None]


class Keys(NamedTuple):
    """Source of keys and names; tests use their own."""

    key: Callable[[], str]
    line: Callable[[str], str]


def converse(
    interview: Interview,
    rows: Rows,
    record: Record,
    take_back: Callable[[], Any],
    *,
    console: Console,
    keys: Keys | None = None,
    budget: int | None = None,
) -> str:
    """Ask until the person stops; returns the reason in words."""
    keys = keyboard(console) if keys is None else keys
    note, page, again = "", 0, None
    while budget is None or interview.n_answers < budget:
        question = interview.question() if again is None else again
        if question is None:
            return "nothing is left to ask"
        console.clear()
        console.print(screen(rows, question, interview.progress, console, note=note, page=page))
        note, again, shown_at = "", question, time.monotonic()
        key = keys.key()
        if key in ("q", "\x04"):  # also Ctrl-D
            return "stopped"
        if key == "m":
            page += 1
            continue
        page = 0
        try:
            if key == "u":
                if not interview.n_answers:
                    note = "Nothing to undo: there is no answer in this session yet."
                else:
                    again = take_back()
                    note = "Your last answer is taken back; here is its question again."
                continue
            value = _value(key, question, keys)
            if value is None:
                note = f"{_shown(key)} is not one of the keys below."
                continue
            record(question, value, time.monotonic() - shown_at)
            again = None
        except QuestionError as error:
            note = str(error)
        except _NoName:
            note = ""
    return f"{counted(budget or 0, 'answer', 'was')} asked for"


class _NoName(Exception):
    """The person changed their mind."""


def _value(key: str, question: Any, keys: Keys) -> Any:
    """The answer of a key, or None."""
    if question.kind == "pair":
        return _PAIR.get(key)
    if key == "c":
        return "cannot_tell"
    if key.isdecimal() and 1 <= int(key) <= min(9, len(question.classes)):
        return question.classes[int(key) - 1]
    if key not in ("n", "\r", "\n"):
        return None
    try:
        text = keys.line("Its class, a name or a number of the list (Enter: back): ").strip()
    except (EOFError, KeyboardInterrupt):
        raise _NoName from None
    if not text:
        raise _NoName
    if text.isdecimal() and 1 <= int(text) <= len(question.classes):
        return question.classes[int(text) - 1]
    known = {str(name): name for name in question.classes}
    return known.get(text, from_cell(text))


def _shown(key: str) -> str:
    return repr(key) if key.isprintable() and key.strip() else "That key"


def keyboard(console: Console) -> Keys:
    """The keyboard of the terminal; keys pressed before the question was shown do not count."""
    import typer

    def key() -> str:
        _forget_typed()
        try:
            typed = typer.getchar()
        except EOFError:
            return "\x04"
        # A key such as an arrow is several characters, and none of them is meant.
        return typed if typed.startswith("\x1b") else typed[:1].lower()

    return Keys(key, lambda prompt: console.input(Text(prompt)))


def _forget_typed() -> None:
    import sys

    try:
        import termios

        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    except (ModuleNotFoundError, OSError, ValueError):  # Windows; no terminal
        return


# The screen


def screen(
    rows: Rows,
    question: Any,
    progress: Progress,
    console: Console,
    *,
    note: str = "",
    page: int = 0,
) -> RenderableType:
    """One question as shown on the screen."""
    title = "Do these two belong together?" if question.kind == "pair" else "What is this?"
    head = Text.assemble((title, "bold"), ("   ", ""), (written(note), "yellow"))
    foot = _foot(question, progress, small=console.height < _SHORT)
    taken = sum(len(part.wrap(console, console.width)) for part in (head, *foot)) + 4
    parts: list[RenderableType] = [head, Text("")]
    parts += _cells(rows, question, console, max(console.height - taken - 1, 3), page)
    used = len(console.render_lines(Group(*parts, *foot)))
    # The keys are at the bottom of the screen, always in the same place.
    return Group(*parts, *[Text("")] * max(console.height - used - 1, 1), *foot)


def _foot(question: Any, progress: Progress, *, small: bool) -> list[Text]:
    told = f"{progress.answers:,} answer{'s' * (progress.answers != 1)} now, "
    told += f"{progress.statements:,} in all"
    told += f" · {progress.clusters:,} cluster{'s' * (progress.clusters != 1)}"
    counted = Text(told, style="dim")
    if progress.may_stop:
        counted = Text.assemble((told + " · ", "dim"), ("you may stop", "bold green"))
    lines = [counted] if small else [counted, Text(progress.sentence, style="dim")]
    if question.kind == "label" and question.classes:
        lines.append(_choices(question.classes))
    return [*lines, _keys(question)]


def _choices(classes: Any) -> Text:
    found = Text()
    for number, name in enumerate(classes, 1):
        key = str(number) if number <= 9 else f"n {number}"
        found.append(f" {key} ", style="reverse").append(f" {written(name)[:40]}   ")
    return found


def _keys(question: Any) -> Text:
    keys = {"s": "same", "d": "different"} if question.kind == "pair" else {"n": "name its class"}
    keys |= {"c": "can't tell", "u": "undo", "m": "more columns", "q": "stop"}
    found = Text()
    for key, what in keys.items():
        found.append(f" {key} ", style="reverse").append(f" {what}   ")
    return found


def _cells(
    rows: Rows, question: Any, console: Console, height: int, page: int
) -> list[RenderableType]:
    cells = [{n: written(v) for n, v in rows.cells(row).items()} for row in question.rows]
    far = rows.distances(*question.rows) if len(cells) == 2 else dict.fromkeys(rows.columns, 0.0)
    names = [f"row {written(rows.name(row))}" for row in question.rows]
    narrow = console.width < _NARROW
    width = max((console.width - 4) if narrow else (console.width - 26) // len(cells), 8)
    # Names of the rows, and a line about other pages.
    pages = _pages(cells, far, width, height - 1 - (len(cells) if narrow else 1), narrow)
    chosen, n_pages = pages[page % len(pages)], len(pages)
    stand = _stacked if narrow else _side_by_side
    found: list[RenderableType] = [stand(chosen, cells, far, names, width)]
    if n_pages > 1:
        hidden = len(rows.columns) - len(chosen)
        told = f"m: {hidden:,} more columns" if narrow else f"m shows {hidden:,} more columns"
        found.append(Text(f"{told} (page {page % n_pages + 1} of {n_pages})", style="dim"))
    return found


def _pages(
    cells: list[dict[str, str]], far: dict[str, float], width: int, height: int, narrow: bool
) -> list[list[str]]:
    """The columns page by page: those that differ most first, on each page in their own order."""
    order = list(far)
    pages: list[list[str]] = [[]]
    used = 0
    for name in sorted(order, key=lambda name: -far[name]):
        lines = [_lines(row[name], width) for row in cells]
        need = 1 + sum(lines) if narrow else max(lines)
        if pages[-1] and used + need > height:
            pages.append([])
            used = 0
        pages[-1].append(name)
        used += need
    return [sorted(page, key=order.index) for page in pages]


def _lines(text: str, width: int) -> int:
    return min(-(-Text(text).cell_len // width), _TALLEST) or 1


def _cut(text: str, width: int) -> str:
    limit = _TALLEST * width - 1
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _style(distance: float) -> tuple[str, str]:
    """A mark and a style for cells that differ."""
    return ("≠", "bold yellow") if distance > _FAR else (" ", "")


def _side_by_side(
    chosen: list[str], cells: list[dict[str, str]], far: dict[str, float], names: list[str],
    width: int,
) -> Table:  # fmt: skip
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    table.add_column("", width=1)
    table.add_column("", max_width=20, overflow="fold", style="dim")
    for name in names:
        table.add_column(Text(name), max_width=width, overflow="fold")
    for name in chosen:
        mark, style = _style(far[name])
        texts = [Text(_cut(row[name], width), style=style) for row in cells]
        table.add_row(Text(mark, style=style), Text(written(name)), *texts)
    return table


def _stacked(
    chosen: list[str], cells: list[dict[str, str]], far: dict[str, float], names: list[str],
    width: int,
) -> Group:  # fmt: skip
    signs = "AB" if len(names) > 1 else " "
    lines = [Text(f"{sign} {name}".strip()) for sign, name in zip(signs, names, strict=True)]
    for name in chosen:
        mark, style = _style(far[name])
        lines.append(Text(f"{mark} {written(name)}", style=style or "dim"))
        for sign, row in zip(signs, cells, strict=True):
            lines.append(Text(f"  {sign} {_cut(row[name], width)}", style=style))
    return Group(*lines)
