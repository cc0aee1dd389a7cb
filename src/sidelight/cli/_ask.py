"""``sidelight ask``: questions in the terminal, or over a pipe; answers go into a file at once."""

import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sidelight._reading import refuse_missing
from sidelight._wording import counted
from sidelight.cli._options import (
    Columns,
    Data,
    Decimal,
    Drop,
    Id,
    Imputed,
    Labels,
    OneHot,
    Scaled,
    Seed,
    Sep,
    Sheet,
    SkipUnknown,
    Text,
    TextModel,
    UseRep,
    reading,
)
from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    from sidelight.cli._asking import Book, Interview, Rows


class Only(StrEnum):
    """Kinds of question."""

    pairs = "pairs"
    labels = "labels"


def ask(
    data: Data,
    side: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="File of statements: it is read first, and every answer is added. "
            ".csv, .tsv or .jsonl; created if it does not exist.",
        ),
    ],
    known: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="File of more statements, only read (may be repeated)."),
    ] = None,
    annotator: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the person who answers.")
    ] = None,
    only: Annotated[
        Only | None, typer.Option(help="Ask about pairs of rows only, or about classes only.")
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column to show (may be repeated); by default all."),
    ] = None,
    hide: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column not to show (may be repeated)."),
    ] = None,
    budget: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Stop after this number of answers.")
    ] = None,
    labels: Labels = None,
    id: Id = None,
    use_rep: UseRep = None,
    columns: Columns = None,
    drop: Drop = None,
    one_hot: OneHot = None,
    text: Text = None,
    text_model: TextModel = "auto",
    impute: Imputed = None,
    scale: Scaled = None,
    sep: Sep = None,
    decimal: Decimal = None,
    sheet: Sheet = None,
    skip_unknown: SkipUnknown = False,
    seed: Seed = 0,
) -> None:
    """Answer the questions that help most: do these two rows belong together, what is this one?

    One key is one answer. Every answer is saved before the next question; run the command again to
    continue. If input or output is not a terminal, questions
    and answers are JSON lines (see "asking people" in the documentation): a program, or a language
    model, can answer.
    """
    for path in (data, *(known or ())):  # before anything heavy is imported
        refuse_missing(path, SidelightError)
    if side.resolve() in (path.resolve() for path in (data, *(known or ()))):
        raise SidelightError(f"--side {side} is used by another option too; give another file.")
    if annotator is not None and not annotator.strip():
        raise SidelightError("--annotator is empty; give a name, or leave it out.")
    kinds = {None: ("pair", "label"), Only.pairs: ("pair",), Only.labels: ("label",)}[only]
    from sidelight.cli._asking import Book, Interview, Rows

    needs = ["kind", "i", *(["annotator"] if annotator else [])]
    needs += [{"pair": "j", "label": "class"}[kind] for kind in kinds]
    with Book(side, needs) as book:
        from sidelight.cli._progress import Stages
        from sidelight.study import open_study

        is_alone = sys.stdin.isatty() and sys.stdout.isatty()
        with Stages() as stages:
            opened = open_study(
                data,
                [side, *(known or ())],
                stages,
                labels=labels,
                id=id,
                columns=columns or (),
                drop=drop or (),
                one_hot=one_hot or (),
                text=text or (),
                text_model=text_model,
                impute=impute and impute.value,
                scale=scale and scale.value,
                use_rep=use_rep,
                skip_unknown=skip_unknown,
                reading=reading(sep, decimal, sheet),
            )
        rows = Rows(opened.table, opened.ids, id=id, show=show or (), hide=hide or ())
        told = opened.known
        interview = Interview(
            _asker(opened.prepared.X, told, annotator, kinds, seed),
            n_known=told.n_statements,
            annotator=annotator,
            patience=_patience(is_alone),
        )
        with interview:
            with Stages() as stages, stages.stage("thinking of the first questions"):
                interview.wait()
            for note in opened.prepared.notes:
                typer.echo(note, err=True)
            if opened.ids is None and told.n_statements:
                typer.echo(
                    f"{side} names rows by their number: {data} must not have changed since.",
                    err=True,
                )
            _hold(interview, rows, book, annotator, budget, is_alone=is_alone)


def _patience(is_alone: bool) -> float | None:
    """People do not have to wait; programs do, and get the same questions for the same answers."""
    from sidelight.cli._asking import PATIENCE

    return PATIENCE if is_alone else None


def _asker(X: Any, told: Any, annotator: str | None, kinds: Any, seed: int) -> Callable[[], Any]:
    def build() -> Any:
        from sidelight.query import Asker

        people = None if annotator is None else [annotator]
        # Without a refit: the next question comes at once, and 'sidelight fit' fits at the end.
        return Asker(X, side=told, annotators=people, kinds=kinds, refit=None, random_state=seed)

    return build


def _hold(
    interview: "Interview",
    rows: "Rows",
    book: "Book",
    annotator: str | None,
    budget: int | None,
    *,
    is_alone: bool,
) -> None:
    """Ask, by keys or by lines, and print the closing notes."""
    from sidelight.cli._asking import converse, statement, talk

    def record(question: Any, value: Any, seconds: float | None) -> None:
        said = question.check(value, seconds=seconds)
        names = [rows.name(row) for row in question.rows]
        book.add(statement(question, said, names, annotator))
        interview.answer(question, said, seconds)

    def take_back() -> Any:
        if interview.n_answers:  # else the interview says so
            book.take_back()
        return interview.undo()

    if not is_alone:
        talk(interview, rows, record, take_back, source=sys.stdin, target=sys.stdout, budget=budget)
        return
    from rich.console import Console

    console = Console(highlight=False)
    why = "interrupted"  # by Ctrl-C, or by a disk that is full
    try:
        why = converse(interview, rows, record, take_back, console=console, budget=budget)
    finally:
        console.clear()
        typer.echo(f"{why[:1].upper()}{why[1:]}. {_count(book.n_added)} in {book.path}.")
        typer.echo(interview.progress.sentence)


def _count(n: int) -> str:
    return counted(n, "new answer", "is")
