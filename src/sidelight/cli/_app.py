"""The ``sidelight`` program: its commands, and how it fails."""

import sys
import traceback
from typing import Annotated

import typer

from sidelight import __version__
from sidelight.cli._advice import in_options
from sidelight.cli._ask import ask
from sidelight.cli._check import check
from sidelight.cli._compare import compare
from sidelight.cli._convert import convert
from sidelight.cli._data import data
from sidelight.cli._demo import demo
from sidelight.cli._fit import fit
from sidelight.cli._models import models
from sidelight.cli._predict import predict
from sidelight.cli._serve import serve
from sidelight.cli._warm_up import warm_up
from sidelight.exceptions import SidelightError

# Exit codes, as --help tells them. 1 is given by commands themselves, 130 by typer.
OK, FAILED, DEFECT = 0, 2, 3
_EXIT_CODES = (
    "Exit codes: 0 done; 1 done, and a check found conflicts; 2 failed, and a sentence says "
    "why; 3 a bug in sidelight, please report the traceback; 130 interrupted."
)

app = typer.Typer(
    name="sidelight",
    help="Group data with the help of people who know a little about it, and are sometimes wrong.",
    epilog=_EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (fit, predict, compare, ask, check, models, data, convert, serve, demo, warm_up):
    app.command(epilog=_EXIT_CODES)(command)


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


def _options_of(words: list[str]) -> set[str]:
    """The options of the command that was called."""
    commands = getattr(typer.main.get_command(app), "commands", {})
    command = next((commands[word] for word in words[1:2] if word in commands), None)
    return set() if command is None else {name for p in command.params for name in p.opts}


def main() -> None:
    """Run the program; errors of sidelight are shown as one sentence, not as a traceback."""
    try:
        app()
    except (SidelightError, OSError) as error:
        told = (
            in_options(error, _options_of(sys.argv)) if isinstance(error, SidelightError) else error
        )
        typer.echo(f"sidelight: {told}", err=True)
        sys.exit(FAILED)
    except MemoryError as error:
        reason = f" ({error})" if str(error) else ""
        typer.echo(
            f"sidelight: there is not enough memory{reason}. Take fewer rows or columns, or a "
            "larger machine.",
            err=True,
        )
        sys.exit(FAILED)
    except Exception:
        traceback.print_exc()
        sys.exit(DEFECT)
