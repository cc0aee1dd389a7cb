"""The command line as a user meets it."""

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from sidelight import SideInformation, __version__
from sidelight.cli._app import app

COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands]


def run(*arguments):
    """What ``sidelight`` prints and how it ends."""
    return CliRunner().invoke(app, [str(a) for a in arguments])


def shell(*arguments):
    code = "from sidelight.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert len(result.output) > 100
    assert command in run("--help").output


def test_version_and_help_answer():
    assert run("--version").output.strip() == f"sidelight {__version__}"
    assert "Exit codes" in run("--help").output


def test_a_typo_is_met_with_a_suggestion():
    result = shell("chek")
    assert result.returncode == 2
    assert "check" in result.stderr


def test_check_finds_no_fault_with_consistent_statements(tmp_path):
    side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(1, 2)], n_samples=3)
    side.write(tmp_path / "side.csv")
    result = run("check", tmp_path / "side.csv", "--rows", 3, "--clusters", 2)
    assert result.exit_code == 0
    assert "no conflicts" in result.output
    assert "2 clusters can keep every statement: yes" in result.output


def test_check_explains_conflicts_with_the_users_ids_and_counts_annotators(tmp_path):
    path = tmp_path / "side.csv"
    path.write_text(
        "kind,i,j,annotator\nmust,a1,b2,ann\nmust,b2,c3,bob\ncannot,a1,c3,\n", encoding="utf-8"
    )
    result = run("check", path)
    assert result.exit_code == 1
    assert "a1 and c3 are kept apart, yet a1 with b2 (must, ann), b2 with c3 (must, bob)" in (
        result.output
    )
    assert re.search(r"ann +1 +0 +0 +0 +0", result.output)
    assert re.search(r"\(not told\) +0 +1", result.output)


def test_a_missing_file_is_one_sentence_and_no_traceback(tmp_path):
    result = shell("check", tmp_path / "nothing.csv")
    assert result.returncode == 2
    assert result.stderr.startswith("sidelight: ")
    assert "nothing.csv" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_wrong_file_names_the_line(tmp_path):
    path = tmp_path / "side.csv"
    path.write_text("kind,i,j\nmust,0,1\nmsut,1,2\n", encoding="utf-8")
    result = shell("check", path)
    assert result.returncode == 2
    assert "msut" in result.stderr
    assert "line 3" in result.stderr


def test_the_demo_clusters_real_data_and_writes_what_it_names(tmp_path):
    result = run("demo", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "with what they said" in result.output
    for name in ("statements.csv", "demo.png"):
        assert str(tmp_path / "out" / name) in result.output.replace("\n", "")
        assert (tmp_path / "out" / name).stat().st_size > 1000
