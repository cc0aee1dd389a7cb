"""The command line as a user meets it."""

import csv
import io
import re
import shlex
import time
from pathlib import Path

import pytest
import typer
from rich.console import Console

from sidelight import PartitionLevelKMeans, SideInformation, __version__
from sidelight.cli._app import app
from sidelight.cli._progress import Stages
from sidelight.models import find_model, model_names

# typer's names: warm_up is called warm-up
COMMANDS = sorted(typer.main.get_command(app).commands)
README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert len(result.output) > 100
    assert command in run("--help").output


def test_version_and_help_answer(run):
    assert run("--version").output.strip() == f"sidelight {__version__}"
    assert "Exit codes: 0 done; 1 done, and a check found conflicts; 2 failed" in " ".join(
        run("--help").output.split()
    )


def test_every_option_has_a_help_text(run):
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{name}: {parameter.name}"


def test_options_named_in_the_readme_exist():
    commands = typer.main.get_command(app).commands.values()
    known = {option for command in commands for p in command.params for option in p.opts}
    told = set(re.findall(r"--[a-z][a-z-]+", README.read_text(encoding="utf-8")))
    assert {"--id", "--side", "--report"} <= told <= known


def test_a_typo_is_met_with_a_suggestion(shell):
    result = shell("chek")
    assert result.returncode == 2
    assert "check" in result.stderr


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (OSError("no room"), 2, "sidelight: no room"),
        (MemoryError("80 GB"), 2, "sidelight: there is not enough memory (80 GB)"),
        (KeyboardInterrupt(), 130, ""),
        (ZeroDivisionError("oops"), 3, "Traceback"),
    ],
)
def test_exit_codes_are_those_of_the_help(shell, said, monkeypatch, error, code, told):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("sidelight.report.summarize_side", fail)
    result = shell("check", said)
    assert result.returncode == code
    assert told in result.stderr
    assert ("Traceback" in result.stderr) == (code == 3)


def commands_of_the_readme():
    """Every command in a console block of the README, with its continued lines joined."""
    blocks = re.findall(r"```console\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [
        shlex.split(line[2:], comments=True) for line in lines if line.startswith("$ sidelight")
    ]


def test_the_commands_of_the_readme_run_in_their_order(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands = commands_of_the_readme()
    assert {words[1] for words in commands} >= {"data", "check", "fit"}
    for words in commands:
        result = run(*words[1:])
        # A check may find conflicts; that is what it is for.
        assert result.exit_code in ((0, 1) if words[1] == "check" else (0,)), result.output
    html = next(tmp_path.glob("*.html")).read_text(encoding="utf-8")
    assert "<svg" in html


# models, data, convert, demo


def test_models_lists_what_every_class_says_of_itself(run):
    result = run("models")
    assert result.exit_code == 0
    for name in model_names():
        model = find_model(name)
        line = next(line for line in result.output.splitlines() if line.startswith(name + " "))
        told = line.split()
        assert told[1:5] == [
            "yes" if kind in model.accepts else "-"
            for kind in ("must", "cannot", "label", "not_label")
        ]
        assert (told[5] == "given") == (not model.finds_k)
        assert (told[6] == "yes") == hasattr(model, "predict_proba")
        assert told[7] == ("found" if model.finds_errors else model.contradictions)
    assert "SideClusterer" not in result.output
    assert max(map(len, result.output.splitlines())) <= 100


def test_one_model_is_told_with_its_parameters(run):
    result = run("models", "partition-level-kmeans")
    assert "not must: Its objective punishes clusters that mix classes" in result.output
    assert "n_clusters: The number of clusters; by default the number of labelled" in result.output
    assert "scales:                 An iteration takes n d K" in result.output
    for name, value in PartitionLevelKMeans().get_params().items():
        assert f"{name}={value!r}" in result.output


def test_data_lists_the_data_sets_and_writes_one_with_statements(run, shell, tmp_path):
    listed = run("data")
    assert listed.exit_code == 0
    assert "wine" in listed.output
    table, side = tmp_path / "iris.csv", tmp_path / "said.csv"
    assert run("data", "iris", "--out", table, "--side", side).exit_code == 0
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 150
    assert rows[149]["row"] == "149"
    assert {row["class"] for row in rows} == {"setosa", "versicolor", "virginica"}
    said = SideInformation.read(side, n_samples=150)
    assert said.annotators == ("ann", "bob")
    assert set(said.classes) <= {row["class"] for row in rows}
    assert "--overwrite" in shell("data", "iris", "--out", table).stderr
    assert "--out" in shell("data", "iris").stderr
    assert "iris" in shell("data", "irsi", "--out", table).stderr


def test_convert_keeps_every_statement(run, shell, tmp_path):
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("1 2 ml\n2 3 cl\n")
    target = tmp_path / "side.jsonl"
    result = run("convert", pairs, target, "--from", "pairs", "--first-row", 1, "--rows", 4)
    assert result.exit_code == 0, result.output
    expected = SideInformation.from_pairs(must=[(0, 1)], cannot=[(1, 2)], n_samples=4)
    assert SideInformation.read(target) == expected
    assert run("convert", target, tmp_path / "side.csv").exit_code == 0
    assert SideInformation.read(tmp_path / "side.csv", n_samples=4) == expected
    assert "--overwrite" in shell("convert", target, tmp_path / "side.csv").stderr


def test_convert_quotes_formulas_unless_told(run, tmp_path):
    source = tmp_path / "side.jsonl"
    SideInformation.from_labels(["=1+1"]).write(source)
    for options, cell in (((), '""=1+1""'), (("--keep-formulas",), "label,0,,=1+1,")):
        assert run("convert", source, tmp_path / "a.csv", "--overwrite", *options).exit_code == 0
        assert cell in (tmp_path / "a.csv").read_text()


def test_convert_finds_rows_by_the_ids_of_the_data(run, patients, mended, tmp_path):
    target = tmp_path / "side.jsonl"
    result = run("convert", mended, target, "--data", patients, "--id", "patient")
    assert result.exit_code == 0, result.output
    assert SideInformation.read(target).n_samples == 120


def test_the_demo_clusters_real_data_and_writes_what_it_names(run, tmp_path):
    result = run("demo", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    for path in (tmp_path / "out").iterdir():
        assert str(path) in result.output.replace("\n", "")
        assert path.stat().st_size > 1000
    assert {"statements.csv", "demo.png"} <= {path.name for path in (tmp_path / "out").iterdir()}


# Progress


def console_of(terminal):
    return Console(file=io.StringIO(), force_terminal=terminal, width=80)


def fit_in_stages(console, patience):
    with Stages(patience=patience, console=console) as stages, stages.stage("fitting a model"):
        model = PartitionLevelKMeans(2, n_init=3, random_state=0).set_callbacks(stages)
        model.fit([[0.0], [0.1], [5.0], [5.1]])
        deadline = time.monotonic() + 10
        while patience == 0 and not console.file.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    return console.file.getvalue()


def test_progress_is_shown_when_it_takes_long_and_somebody_looks():
    assert "fitting a model" in fit_in_stages(console_of(True), patience=0)


def test_progress_is_silent_in_the_first_seconds_and_without_a_terminal():
    assert fit_in_stages(console_of(True), patience=1000) == ""
    assert fit_in_stages(console_of(False), patience=1e-9) == ""


def test_the_bar_follows_the_starts_of_the_model(monkeypatch):
    stages = Stages(console=console_of(True))
    seen = []
    monkeypatch.setattr(stages._bars, "update", lambda task, **what: seen.append(what))
    with stages.stage("fitting"):
        PartitionLevelKMeans(2, n_init=3, random_state=0).set_callbacks(stages).fit(
            [[0.0], [0.1], [5.0], [5.1]]
        )
    assert seen[0] == {"total": 3}
    assert seen.count({"advance": 1}) == 3


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "{}", "--clusters", "3"),
        ("compare", "{}", "--side", "side.csv"),
        ("ask", "{}", "--side", "side.csv"),
        ("check", "{}", "--rows", "5"),
        ("check", "side.csv", "--data", "{}"),
        ("convert", "{}", "side.jsonl"),
        ("predict", "{}", "patients.csv"),
        ("serve", "{}"),
        ("serve", "patients.csv", "--side", "{}"),
    ],
    ids=lambda words: " ".join(words),
)
def test_a_mistyped_file_is_found_by_its_neighbours(shell, patients, monkeypatch, words):
    monkeypatch.chdir(patients.parent)
    Path("side.csv").write_text("must,0,1\n", encoding="utf-8")
    result = shell(*(word.format("Patinets.csv") for word in words))
    assert result.returncode == 2
    told = "Patinets.csv: there is no such file; did you mean patients.csv?"
    assert told in " ".join(result.stderr.split())
