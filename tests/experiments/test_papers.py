"""A small version of every experiment: tables are made, recorded cells give their values."""

import random
from pathlib import Path

import pytest

from experiments import expected
from experiments.__main__ import main, write
from experiments.runner import HERE, Outcome, load, papers
from experiments.tables import read_csv

TABLES = [(paper, name) for paper in papers() for name in load(HERE, paper).tables]
RECORDED = [
    (paper, outcome)
    for paper in papers()
    if (HERE / paper / "expected.csv").is_file()  # test_runner says so where it is missing
    for outcome in expected.read(HERE, paper)
]


# The rest of it takes hours, also on the tables that come with scikit-learn.
SHORT = {"defaults": "short", "selection": "leak"}


class AnyValue(dict):
    """Stands for whatever a cell of some experiment measures."""

    def __missing__(self, name: str) -> float:
        return random.Random(name).random()

    def __contains__(self, name: object) -> bool:
        return True


@pytest.mark.parametrize(("paper", "name"), TABLES)
@pytest.mark.parametrize("one_fails", [False, True])
def test_every_table_can_be_shown(paper, name, one_fails, tmp_path, capsys):
    from rich.console import Console

    table = load(HERE, paper).tables[name]
    outcomes = [Outcome(cell, AnyValue()) for cell in table.cells(2)]
    if one_fails:
        outcomes[0] = Outcome(outcomes[0].cell, {}, "ValueError: on purpose")
    text = write(name, table, outcomes, tmp_path, Console(stderr=True))
    assert table.title in text
    assert all(line in text for line in table.protocol)
    (table_file,) = tmp_path.glob("*.csv")
    assert len(read_csv(table_file)) > 1
    assert ("cells failed" in capsys.readouterr().err) is one_fails
    for picture in tmp_path.glob("*.png"):
        assert 5_000 < picture.stat().st_size < 200_000
    assert len(list(tmp_path.glob("*.png"))) == (table.draw is not None)


def marked_slow(names, slow):
    """These names as parameters; some take a minute."""
    return [pytest.param(n, marks=pytest.mark.slow if n in slow else ()) for n in names]


@pytest.mark.parametrize("paper", marked_slow(papers(), {"comac", "defaults"}))
def test_without_the_data_sets_the_rest_is_run(paper, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SIDELIGHT_DATA", str(tmp_path / "nothing here"))
    load.cache_clear()
    places = ["--results", str(tmp_path), "--cache", str(tmp_path / "cache")]
    part = ["--table", SHORT[paper]] if paper in SHORT else []
    assert main(["--paper", paper, "--repeats", "1", "--jobs", "1", *part, *places]) == 0
    page = (tmp_path / paper / f"{SHORT.get(paper, 'tables')}.md").read_text()
    assert "failed" not in page
    assert "iris" in page or "wine" in page  # these come with scikit-learn
    assert f"{paper}: skipped." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("paper", "recorded"),
    RECORDED,
    ids=lambda v: "-".join(map(str, v.cell.values())) if isinstance(v, Outcome) else v,
)
@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")  # as a run does
def test_recorded_cells_give_their_values(paper, recorded, monkeypatch):
    shared = Path(__file__).resolve().parents[3] / "shared" / "data"
    monkeypatch.setenv("SIDELIGHT_DATA", str(shared))
    experiment = load(HERE, paper)
    if reason := experiment.missing(recorded.cell):
        pytest.skip(reason)
    assert dict(experiment.run(recorded.cell)) == pytest.approx(recorded.values, abs=1e-6)


@pytest.mark.parametrize("paper", papers())
def test_what_is_recorded_is_what_the_experiment_names(paper):
    assert [o.cell for o in expected.read(HERE, paper)] == list(load(HERE, paper).recorded)
