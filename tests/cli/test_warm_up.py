"""``sidelight warm-up`` and what a terminal is told about compiling."""

import io

import numba
import pytest
from rich.console import Console
from typer.testing import CliRunner

from sidelight.cli import app
from sidelight.cli._progress import COMPILING, Stages
from sidelight.exceptions import SidelightError
from sidelight.models import warm_up


def run(*words):
    return CliRunner().invoke(app, ["warm-up", *words])


def test_a_model_that_was_warmed_up_has_nothing_left_to_compile():
    warm_up("SeededKMeans")
    assert run("SeededKMeans").output == "SeededKMeans: ready, nothing to compile\n"


def test_a_misspelt_model_is_told_before_anything_is_compiled():
    result = run("SeededKMeans", "PCKMean")
    assert isinstance(result.exception, SidelightError)
    assert "PCKMeans" in str(result.exception)
    assert result.output == ""


def test_all_stands_alone():
    with pytest.raises(SidelightError, match="give it alone"):
        CliRunner().invoke(app, ["warm-up", "all", "PCKMeans"], catch_exceptions=False)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_is_told_that_kernels_are_compiled(terminal):
    kernel = numba.njit(lambda x: x + 2)
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=terminal, width=120)
    with Stages(console=console) as stages, stages.stage("fitting"):
        assert kernel(1) == 3
    assert (COMPILING in screen.getvalue()) == terminal
