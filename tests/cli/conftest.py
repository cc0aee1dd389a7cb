"""A small table with everything that goes wrong, and how commands are called."""

import csv
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from sidelight.cli._app import app, main


@pytest.fixture
def run():
    """What ``sidelight`` prints and how it ends, without a new process."""

    def call(*arguments):
        return CliRunner().invoke(app, [str(a) for a in arguments])

    return call


@pytest.fixture
def shell(monkeypatch, capsys):
    """The program as the shell starts it, with its exit code and what it writes where."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["sidelight", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        captured = capsys.readouterr()
        code = caught.value.code or 0
        return SimpleNamespace(returncode=code, stdout=captured.out, stderr=captured.err)

    return call


@pytest.fixture
def patients(tmp_path):
    """A table with string ids, a text column and missing values; groups of forty rows."""
    rng = np.random.default_rng(3)
    centers = np.array([[60, 1.2, 140], [35, 3.0, 118], [72, 4.5, 155]])
    X = np.repeat(centers, 40, axis=0) + rng.normal(size=(120, 3)) * [6, 0.5, 7]
    path = tmp_path / "patients.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["patient", "age", "crp", "pressure", "town", "known"])
        for k, (age, crp, pressure) in enumerate(X):
            cells = [f"p{k:03d}", f"{age:.0f}", f"{crp:.2f}", f"{pressure:.0f}"]
            cells[2] = "" if k in (7, 41) else cells[2]
            cells[3] = "NA" if k == 63 else cells[3]
            known = {0: "stable", 40: "mild", 80: "severe"}.get(k, "")
            writer.writerow([*cells, ("Bonn", "Rome")[k % 2], known])
    return path


@pytest.fixture
def said(tmp_path):
    """Statements with two contradictory chains and one unknown id."""
    lines = [
        "kind,i,j,class,annotator",
        "label,p001,,stable,ann",
        "label,p042,,mild,bob",
        "label,p081,,severe,ann",
        "must,p002,p003,,ann",
        "must,p003,p004,,bob",
        "cannot,p002,p004,,cy",
        "must,p050,p051,,ann",
        "must,p051,p052,,ann",
        "must,p052,p053,,bob",
        "cannot,p050,p053,,cy",
        "must,p090,p999,,bob",
        "cannot,p005,p095,,bob",
    ]
    path = tmp_path / "said.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def mended(said, tmp_path):
    """The same without what is wrong."""
    lines = said.read_text(encoding="utf-8").splitlines()
    path = tmp_path / "mended.csv"
    kept = [line for line in lines if "p999" not in line and ",cy" not in line]
    path.write_text("\n".join(kept) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def short_enough():
    """Options that make the small table usable, for the quickest model."""
    return [
        *("--id", "patient", "--drop", "town", "--drop", "known", "--impute", "median"),
        *("--model", "PartitionLevelKMeans", "--use-what-fits", "--set", "n_init=2"),
    ]
