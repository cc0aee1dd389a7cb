"""``sidelight compare``: which model, and how many clusters, by statements that are held back."""

from typing import Annotated

import typer

from sidelight._reading import refuse_missing
from sidelight.cli._options import (
    Columns,
    Data,
    Decimal,
    Drop,
    Id,
    Imputed,
    Labels,
    OneHot,
    OwnPairs,
    PairsKey,
    Scaled,
    Seed,
    SelfPairs,
    Sep,
    Sheet,
    Side,
    SkipUnknown,
    Text,
    TextModel,
    TimeLimit,
    UseRep,
    reading,
)
from sidelight.exceptions import SidelightError


def compare(
    data: Data,
    side: Side = None,
    labels: Labels = None,
    id: Id = None,
    use_rep: UseRep = None,
    pairs_key: PairsKey = None,
    skip_unknown: SkipUnknown = False,
    self_pairs: OwnPairs = SelfPairs.stop,
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
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Model to compare (may be repeated); by default all that can use the "
            "statements, clusterings without them, and classifiers.",
        ),
    ] = None,
    clusters: Annotated[
        str | None,
        typer.Option(
            metavar="K", help="The number of clusters, or those to try: 3, or 2-8, or 3,5,7."
        ),
    ] = None,
    folds: Annotated[
        int,
        typer.Option(metavar="N", min=2, help="Number of fits, each without some statements."),
    ] = 5,
    time_limit: TimeLimit = None,
    jobs: Annotated[int, typer.Option(metavar="N", help="Fits at a time; -1: one per core.")] = 1,
    seed: Seed = 0,
) -> None:
    """Compare models by held-out statements, and choose one.

    The score is the mean of two F-scores over pairs of rows. A difference below one standard error
    is a tie. The last figure is the quality of the choice, by statements that neither the fits nor
    the choice have seen.
    """
    for path in (data, *(side or ())):  # before anything heavy is imported
        refuse_missing(path, SidelightError)
    from sidelight.cli._progress import Stages
    from sidelight.study import compare as study

    with Stages() as stages:
        found = study(
            data,
            model or "default",
            side=side or (),
            labels=labels,
            id=id,
            columns=columns or (),
            drop=drop or (),
            one_hot=one_hot or (),
            text=text or (),
            text_model=text_model,
            impute=impute and impute.value,
            scale=scale and scale.value,
            n_clusters=numbers(clusters),
            n_splits=folds,
            time_limit=time_limit,
            n_jobs=jobs,
            seed=seed,
            use_rep=use_rep,
            pairs_key=pairs_key,
            skip_unknown=skip_unknown,
            self_pairs=self_pairs.value,
            reading=reading(sep, decimal, sheet),
            progress=stages,
        )
    typer.echo(found.in_words())


def numbers(text: str | None) -> int | list[int] | None:
    """3, 2-8 or 3,5,7 as numbers of clusters."""
    if text is None:
        return None
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise SidelightError(f"--clusters {text!r}: write 3, or 2-8, or 3,5,7.")
        found += range(int(first), int(last if dash else first) + 1)
    return found[0] if len(found) == 1 else found
