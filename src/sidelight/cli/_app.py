"""The ``sidelight`` program: its commands, and how it fails."""

import sys
from typing import Annotated

import typer

from sidelight import __version__
from sidelight.cli._check import check
from sidelight.cli._demo import demo
from sidelight.exceptions import SidelightError

# Exit codes, as --help tells them.
OK, FOUND, FAILED = 0, 1, 2

app = typer.Typer(
    name="sidelight",
    help="Group data with the help of people who know a little about it, and are sometimes wrong.",
    epilog="Exit codes: 0 done; 1 done, and a check found conflicts; 2 failed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(check)
app.command()(demo)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"sidelight {__version__}")
        raise typer.Exit(OK)


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Version.")
    ] = False,
) -> None:
    """Options of the program itself."""


def main() -> None:
    """Run the program; what sidelight complains about is one sentence, not a traceback."""
    try:
        app()
    except (SidelightError, FileNotFoundError, FileExistsError) as error:
        typer.echo(f"sidelight: {error}", err=True)
        sys.exit(FAILED)
