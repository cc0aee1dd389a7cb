"""``sidelight warm-up``: compile in advance."""

import time
from typing import Annotated

import typer

from sidelight.exceptions import SidelightError


def warm_up(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL]...", help="Models to compile; 'all' for every one of them."
        ),
    ] = None,
) -> None:
    """Compile the inner loops of models, once per installation.

    The first fit of a model compiles its inner loops, which takes some seconds. This command does
    it beforehand; without a name, for the default model.
    """
    from sidelight.models import find_model, model_names
    from sidelight.models import warm_up as compile_model

    names = names or ["DiscriminativeClustering"]
    if "all" in names:
        if len(names) > 1:
            raise SidelightError("'all' already names every model; give it alone.")
        names = list(model_names())
    for name in names:  # a mistyped name is reported before anything is compiled
        find_model(name)
    for name in names:
        start = time.monotonic()
        n_compiled = compile_model(name)
        done = f"{n_compiled} compiled in {time.monotonic() - start:.1f} s" if n_compiled else ""
        typer.echo(f"{name}: {done or 'ready, nothing to compile'}")
