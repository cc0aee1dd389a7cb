"""The figures of the page about questions: read from curves, and honest about losses."""

import csv
import sys

import pytest

from benchmarks import query_pictures
from benchmarks.queries import BUDGETS, COLUMNS


def curve(name, strategy, kinds, ari):
    """The rows of one curve of one seed, as `benchmarks.queries` writes them."""
    rest = [None, 2, 0.1, 0.1, 5.0, 6.0]
    return [
        [name, strategy, kinds, 0.0, 0, budget, value, value, value, *rest[1:]]
        for budget, value in zip(BUDGETS, ari, strict=True)
    ]


@pytest.fixture
def curves(tmp_path):
    path = tmp_path / "curves.csv"
    rows = [
        *curve("iris", "asker", "pair", [0.5, 0.6, 0.7, 0.8, 0.9, 0.9]),
        *curve("wine", "asker", "pair", [0.7, 0.8, 0.6, 0.9, 0.9, 0.9]),
        *curve("iris", "COBRA", "pair", [0.2, 0.9, 0.7, 0.8, 0.905, 0.8]),
    ]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    return path


def test_where_we_lose_is_printed_and_written(curves, monkeypatch, capsys):
    out = curves.parent / "page"
    given = ["--csv", str(curves), "--out", str(out), "--sets", "iris,wine"]
    monkeypatch.setattr(sys, "argv", ["query_pictures", *given])
    query_pictures.main()
    said = capsys.readouterr().out
    assert said.strip() in (out / "tables.md").read_text()
    assert (out / "curves.png").stat().st_size > 0
    assert "## Where we lose: pairs only, right answers" in said
    lines = [line for line in said.splitlines() if line.startswith("| iris")]
    assert lines == ["| iris | COBRA | 10 | .900 | .600 |"]  # by .005 is no loss
    assert "| wine | 10 to 25 | untouched rows | .800 | .600 |" in said
    assert "| wine | 0 to 25 | all rows, below the start | .700 | .600 |" in said
