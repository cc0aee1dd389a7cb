"""The runner: seeds by identity, a cache that survives a kill, errors that stay in their cell."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments import stamps
from experiments.__main__ import main
from experiments.runner import HERE, load, papers, run_cells, seed_of
from experiments.stamps import code_version, sources_hash
from experiments.tables import compare, read_csv, shown, summarise, write_csv

ROOT = HERE.parent
TOY = """
import time
from pathlib import Path

import numpy as np

from experiments.runner import Experiment, Table, seed_of
from experiments.tables import markdown, summarise

LOG = Path(__file__).with_name("log")

def cells(repeats):
    return [
        {"dataset": name, "draw": draw}
        for name in ("one", "two", "absent", "broken")
        for draw in range(repeats or 4)
    ]

def run(cell):
    with LOG.open("a") as log:
        log.write(f"{cell['dataset']} {cell['draw']}\\n")
    time.sleep(PAUSE)
    if cell["dataset"] == "broken" and cell["draw"] > 0:
        raise ValueError("this cell is broken | on purpose")
    return {"score": np.random.default_rng(seed_of(**cell)).random()}

def missing(cell):
    return "absent is not on this machine" if cell["dataset"] == "absent" else None

def render(outcomes):
    rows = summarise(outcomes, ["dataset"], "score")
    return rows, markdown(["data", "mean"], [[r["dataset"], str(r["mean"])] for r in rows])

TABLES = {"1": Table("Table 1", ("two draws",), cells, render)}
EXPERIMENT = Experiment("A toy", run, TABLES, missing)
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    return make_toy(tmp_path / "experiments", pause=0.0)


def make_toy(folder: Path, pause: float) -> Path:
    (folder / "toy").mkdir(parents=True)
    (folder / "toy" / "run.py").write_text(f"PAUSE = {pause}\n{TOY}")
    return folder


def calls(folder: Path) -> list[str]:
    log = folder / "toy" / "log"
    return log.read_text().splitlines() if log.exists() else []


def run_toy(folder: Path, out: Path, *more: str) -> list[dict[str, str]]:
    places = ["--folder", str(folder), "--results", str(out), "--cache", str(out / "cache")]
    assert main([*places, "--paper", "toy", "--jobs", "1", *more]) == 0
    return read_csv(out / "toy" / "table1.csv")


def test_a_cell_alone_gives_the_number_that_it_gives_among_others(toy, tmp_path):
    cells = load(toy, "toy").tables["1"].cells(3)[:6]
    together = run_cells("toy", cells, folder=toy, cache_folder=tmp_path / "a", jobs=1)
    (alone,) = run_cells("toy", cells[4:5], folder=toy, cache_folder=tmp_path / "b", jobs=1)
    assert alone == together[4]


def test_workers_do_not_change_the_numbers(toy, tmp_path):
    cells = load(toy, "toy").tables["1"].cells(2)[:4]
    one = run_cells("toy", cells, folder=toy, cache_folder=tmp_path / "a", jobs=1)
    two = run_cells("toy", cells, folder=toy, cache_folder=tmp_path / "b", jobs=2)
    assert one == two


def test_a_seed_depends_on_the_identity_and_not_on_its_order():
    assert seed_of(dataset="iris", draw=1) == seed_of(draw=1, dataset="iris")
    assert seed_of(dataset="iris", draw=1) != seed_of(dataset="iris", draw=2)


def test_a_failing_cell_leaves_its_error_in_the_table_and_the_rest_goes_on(toy, tmp_path):
    one, two, broken = run_toy(toy, tmp_path, "--repeats", "3")
    assert (one["dataset"], one["runs"], one["failed"]) == ("one", "3", "")
    assert two["runs"] == "3"
    assert broken["runs"] == "1"
    assert broken["failed"] == "2 failed: ValueError: this cell is broken | on purpose"


def test_a_missing_data_set_is_skipped_with_a_line_that_says_so(toy, tmp_path, capsys):
    rows = run_toy(toy, tmp_path, "--repeats", "1")
    assert "absent" not in {row["dataset"] for row in rows}
    assert "toy: skipped. absent is not on this machine" in capsys.readouterr().err


def test_a_part_of_the_data_sets_is_run_and_named(toy, tmp_path):
    rows = run_toy(toy, tmp_path, "--repeats", "2", "--datasets", "one,two")
    assert [row["dataset"] for row in rows] == ["one", "two"]
    page = (tmp_path / "toy" / "tables.md").read_text()
    assert "--paper toy --repeats 2 --datasets one,two`" in page
    assert "Budget: 4 of 16 cells" in page


def test_the_second_run_reads_the_cache_and_tries_failed_cells_again(toy, tmp_path):
    first = run_toy(toy, tmp_path, "--repeats", "2")
    assert len(calls(toy)) == 6
    assert run_toy(toy, tmp_path, "--repeats", "2") == first
    assert calls(toy)[6:] == ["broken 1"]


def test_changed_code_is_run_again_and_changed_comments_are_not(toy, tmp_path):
    before = code_version(toy, "toy")
    first = run_toy(toy, tmp_path, "--repeats", "1")
    path = toy / "toy" / "run.py"
    path.write_text(path.read_text() + "\n# changed\n")
    assert code_version(toy, "toy") == before
    assert run_toy(toy, tmp_path, "--repeats", "1") == first
    assert len(calls(toy)) == 3
    path.write_text(path.read_text().replace("PAUSE = 0.0", "PAUSE = 0.001"))
    forget()
    assert code_version(toy, "toy") != before
    run_toy(toy, tmp_path, "--repeats", "1")
    assert len(calls(toy)) == 6


def forget() -> None:
    """A later run is another process, which reads the files anew."""
    load.cache_clear()
    stamps.forget()


def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    folder = make_toy(tmp_path / "experiments", pause=0.1)
    command = [sys.executable, "-m", "experiments", "--paper", "toy", "--repeats", "12"]
    command += ["--folder", str(folder), "--results", str(tmp_path), "--jobs", "2"]
    command += ["--cache", str(tmp_path / "cache")]
    run = subprocess.Popen(command, cwd=ROOT, start_new_session=True, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(stored(tmp_path)) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(run.pid, signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    survived = stored(tmp_path)
    assert 3 <= len(survived) < 25
    assert not (tmp_path / "toy").exists()
    started = len(calls(folder))

    rows = run_toy(folder, tmp_path, "--repeats", "12")
    # 36 cells; what was stored is not run again, what was under way at the kill is.
    assert len(calls(folder)) - started == 36 - len(survived)
    assert rows == run_toy(
        make_toy(tmp_path / "again", pause=0.0), tmp_path / "b", "--repeats", "12"
    )


def stored(folder: Path) -> list[Path]:
    return list(folder.glob("cache/toy/*/*.json"))


def test_a_half_written_result_is_never_read(toy, tmp_path):
    cells = load(toy, "toy").tables["1"].cells(1)[:1]
    (expected,) = run_cells("toy", cells, folder=toy, cache_folder=tmp_path, jobs=1)
    (path,) = tmp_path.glob("toy/*/*.json")
    assert json.loads(path.read_text())["cell"] == cells[0]
    path.rename(path.with_suffix(".123.tmp"))
    assert run_cells("toy", cells, folder=toy, cache_folder=tmp_path, jobs=1) == [expected]
    assert len(calls(toy)) == 2


def test_an_unknown_paper_or_table_is_named_with_those_there_are(toy, capsys):
    with pytest.raises(SystemExit):
        main(["--folder", str(toy), "--paper", "nobody"])
    assert "there are ['toy']" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--folder", str(toy), "--paper", "toy", "--table", "9"])
    assert "it has ['1']" in capsys.readouterr().err


def test_the_protocol_and_the_command_stand_on_the_page(toy, tmp_path):
    run_toy(toy, tmp_path, "--repeats", "1")
    page = (tmp_path / "toy" / "tables.md").read_text()
    assert "- two draws" in page
    assert "- Budget: 3 of 16 cells, 0.0 CPU minutes; 1 draw per setting at most." in page
    assert "Made by `python -m experiments --paper toy --repeats 1`" in page
    assert f"sources {sources_hash(toy, 'toy')})" in page


def outcomes_of(*values: float) -> list:
    from experiments.runner import Outcome

    return [Outcome({"dataset": "a", "draw": i}, {"nmi": v}) for i, v in enumerate(values)]


def test_means_and_standard_errors():
    (row,) = summarise(outcomes_of(1.0, 2.0, 3.0, 6.0), ["dataset"], "nmi")
    assert row["mean"] == 3
    assert row["std"] == pytest.approx((14 / 3) ** 0.5)
    assert row["se"] == pytest.approx((14 / 12) ** 0.5)
    assert row["runs"] == 4
    assert shown(row) == "3.00 ± 1.08"


def test_one_run_has_no_standard_error():
    (row,) = summarise(outcomes_of(1.0), ["dataset"], "nmi")
    assert row["se"] is None
    assert compare(row, 2.0, 1.0, runs=50, unit=0.01)["difference_in_se"] is None


def test_the_difference_is_in_errors_of_both_means_and_of_the_print():
    (row,) = summarise(outcomes_of(1.0, 3.0), ["dataset"], "nmi")
    compared = compare(row, 4.0, 2.0, runs=4, unit=0.0)
    assert compared["difference"] == -2
    assert compared["difference_in_se"] == pytest.approx(-2 / 2**0.5)
    (constant,) = summarise(outcomes_of(1.004, 1.004), ["dataset"], "nmi")
    assert abs(compare(constant, 1.0, 0.0, runs=50, unit=0.01)["difference_in_se"]) < 2


def test_rows_with_different_columns_make_one_file(tmp_path):
    write_csv([{"a": 1}, {"a": 2, "b": "x, y"}], tmp_path / "t.csv")
    assert read_csv(tmp_path / "t.csv") == [{"a": "1", "b": ""}, {"a": "2", "b": "x, y"}]


@pytest.mark.parametrize("paper", papers())
def test_every_paper_has_its_files(paper):
    for name in ("README.md", "run.py", "expected.csv"):
        assert (HERE / paper / name).is_file()
    # What is not a paper, or prints plots only, has no figures to keep, and its README says so.
    told = (HERE / paper / "README.md").read_text("utf-8")
    without_figures = "prints plots only" in told or "Not a paper" in told
    assert (HERE / paper / "published.csv").is_file() != without_figures
