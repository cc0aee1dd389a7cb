"""The harness tells the truth about what it measures, and survives what it measures."""

import csv
import io
import textwrap
from pathlib import Path

import pytest

from benchmarks.__main__ import run
from benchmarks.harness import (
    COLUMNS,
    Case,
    Target,
    add_growth,
    as_csv,
    as_markdown,
    from_csv,
    judge,
    load,
    measure,
)

TOY = """
import time
from types import SimpleNamespace
import numpy as np
from benchmarks.harness import Case

def spin(seconds):
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass

def base(data, seed, max_iter=None):
    spin(0.02 if max_iter is None else 0.01 * max_iter)
    return SimpleNamespace(n_iter_=max_iter or 5)

def triple(data, seed, max_iter=None):
    spin(0.06 if max_iter is None else 0.1 + 0.02 * max_iter)
    return SimpleNamespace(n_iter_=max_iter or 10)

def hungry(data, seed):
    np.ones(4_000_000).sum()

def sleepy(data, seed):
    time.sleep(60)

def broken(data, seed):
    raise KeyError("no such thing")

def case(name, **changes):
    return Case(name, **({"data": lambda n: np.ones(n), "run": triple, "baseline": base,
                          "sizes": (1_000,), "threads": ("one",), "memory": False} | changes))
"""


def rows_of(tmp_path: Path, cases: str, **options: object) -> list[list[dict]]:
    path = tmp_path / "bench_toy.py"
    path.write_text(TOY + f"\nCASES = [{textwrap.dedent(cases)}]\n")
    return list(measure(path, load(path).CASES, **options))


def test_the_ratio_is_cpu_time_over_the_base_line(tmp_path):
    ((row,),) = rows_of(tmp_path, "case('three times')", repeats=3)
    assert row["status"] == "ok"
    # Loose: the toy spins until its CPU clock says so, and only overshoots.
    assert 2 < row["ratio"] < 4
    assert row["ratio_low"] <= row["ratio"] <= row["ratio_high"]
    assert row["ratio_per_iteration"] == pytest.approx(row["ratio"] / 2)


def test_sleeping_is_not_counted(tmp_path):
    toy = "case('idle', run=lambda data, seed: time.sleep(0.3))"
    ((row,),) = rows_of(tmp_path, toy, repeats=1)
    assert row["cpu_seconds"] < 0.15


def test_the_cost_of_an_iteration_leaves_out_what_is_done_once(tmp_path):
    ((row,),) = rows_of(tmp_path, "case('slope', iterations=(1, 4))", repeats=3)
    assert 1.5 < row["ratio"] < 2.5
    assert row["iterations"] == 4


def test_peak_memory_is_what_the_call_adds_to_the_data(tmp_path):
    toy = """case('hungry', run=hungry, memory=True, data=lambda n: np.ones(n * 1_000))"""
    ((row,),) = rows_of(tmp_path, toy, repeats=1)
    # The toy holds 32 MB for a moment, and has held them in the warm-up; the data are 8 MB.
    assert 28 < row["extra_mb"] < 40


def test_a_case_that_fails_or_hangs_is_a_row_that_says_so_and_the_rest_goes_on(tmp_path):
    toy = """
    case("broken", run=broken), case("sleepy", run=sleepy, time_limit=3.0), case("fine"),
    """
    broken, sleepy, fine = (rows[0] for rows in rows_of(tmp_path, toy, repeats=1))
    assert broken["status"] == "failed: KeyError: 'no such thing'"
    assert sleepy["status"] == "timed out after 3 s"
    assert fine["status"] == "ok"


def test_what_is_out_of_time_is_not_tried_with_more_rows(tmp_path):
    toy = "case('sleepy', run=sleepy, time_limit=3.0, sizes=(1_000, 2_000, 3_000))"
    (rows,) = rows_of(tmp_path, toy, repeats=1)
    assert rows[0]["status"] == "timed out after 3 s"
    said = "not tried: timed out after 3 s with 1,000 rows"
    assert [row["status"] for row in rows[1:]] == [said, said]


def test_turns_end_when_half_of_the_time_is_gone(tmp_path):
    toy = "case('slow', run=lambda data, seed: time.sleep(2), time_limit=10.0)"
    ((row,),) = rows_of(tmp_path, toy, repeats=100)
    assert row["status"] == "ok"


def test_several_cases_at_once_come_in_their_order(tmp_path):
    toy = """
    case("slow", run=lambda data, seed: time.sleep(2)), case("quick"),
    """
    slow, quick = (rows[0] for rows in rows_of(tmp_path, toy, repeats=1, jobs=2))
    assert (slow["case"], quick["case"]) == ("slow", "quick")
    assert slow["status"] == quick["status"] == "ok"


def test_what_was_returned_is_scored(tmp_path):
    toy = """
    case("scored", run=lambda data, seed: seed, score=lambda data, fitted: {"nmi": 0.5 - fitted})
    """
    ((row,),) = rows_of(tmp_path, toy, repeats=2)
    assert row["nmi"] == 0.5
    assert row["ari"] is None


def test_columns_without_a_figure_are_not_shown():
    assert "ari" not in as_markdown([row(case="x", nmi=0.5)])
    assert "nmi" in as_markdown([row(case="x", nmi=0.5)])


def test_growth_is_the_exponent_between_sizes(tmp_path):
    toy = """
    case("square", sizes=(1_000, 2_000), run=lambda data, seed: spin(0.05 * (len(data)/1_000)**2))
    """
    ((small, large),) = rows_of(tmp_path, toy, repeats=1)
    assert small["growth"] is None
    assert large["growth"] == pytest.approx(2, abs=0.5)


def test_growth_starts_at_the_smallest_size_that_was_measured():
    cpu = {10: None, 100: 1.0, 1_000: 10.0}
    rows = [row(rows=n, threads="one", cpu_seconds=seconds) for n, seconds in cpu.items()]
    add_growth(rows)
    assert [r["growth"] for r in rows] == [None, None, pytest.approx(1)]


def test_cold_rows_are_first_calls(tmp_path):
    toy = """
    case("lazy", cold=True, run=lambda data, seed: (spin(0 if done else 0.2), done.append(1)))
    """
    path = tmp_path / "bench_toy.py"
    path.write_text(TOY + f"\ndone = []\nCASES = [{textwrap.dedent(toy)}]\n")
    ((warm, cold, first),) = measure(path, load(path).CASES, repeats=1)
    assert [r["state"] for r in (warm, cold, first)] == ["warm", "cold", "first"]
    assert warm["cpu_seconds"] < 0.1 < cold["cpu_seconds"]
    assert first["cpu_seconds"] > 0.1


def test_only_the_states_that_a_case_names_are_measured(tmp_path):
    (found,) = rows_of(tmp_path, "case('x', warm=False, cold=True, states=('first',))", repeats=1)
    assert [row["state"] for row in found] == ["first"]


def test_cases_are_asked_for_by_parts_of_their_names(tmp_path):
    path = tmp_path / "bench_toy.py"
    path.write_text(TOY + "\nCASES = [case('one'), case('two'), case('three')]\n")
    run(path, tmp_path / "out", None, 1, "Made by hand.", part_of_name="ree,one")
    found = csv.DictReader(io.StringIO((tmp_path / "out" / "toy.csv").read_text()))
    assert [row["case"] for row in found] == ["one", "three"]


def test_one_thread_means_one_thread(tmp_path):
    toy = """
    case("threads", run=lambda data, seed: None if os.environ.get("OMP_NUM_THREADS") == "1"
         else sys.exit("several"), threads=("one", "all")),
    """
    path = tmp_path / "bench_toy.py"
    path.write_text(TOY + f"\nimport os, sys\nCASES = [{textwrap.dedent(toy)}]\n")
    ((one, everything),) = measure(path, load(path).CASES, repeats=1)
    assert one["status"] == "ok"
    assert everything["status"] == "failed: several"


def row(**values: object) -> dict:
    return dict.fromkeys(COLUMNS) | values


def test_a_target_is_met_missed_or_not_measured():
    targets = (Target("ratio", 0.5, 10), Target("ratio", 0.5, 20), Target("ratio", 0.5, 30))
    case = Case("x", data=len, run=len, baseline=len, sizes=(), targets=targets)
    rows = [
        row(rows=10, threads="one", state="warm", ratio=0.4),
        row(rows=20, threads="one", state="warm", ratio=0.6),
    ]
    assert [t["met"] for t in judge(case, rows)] == [True, False, None]


def test_tables_survive_commas_bars_and_missing_values():
    rows = [row(case="a, b", rows=1_000, ratio=0.123456, status="failed: x | y")]
    (read,) = csv.DictReader(io.StringIO(as_csv(rows)))
    assert read["case"] == "a, b"
    assert float(read["ratio"]) == 0.123456
    assert "x \\| y" in as_markdown(rows)
    assert "1,000" in as_markdown(rows)


def test_the_page_has_the_rows_and_the_targets(tmp_path, capsys):
    path = tmp_path / "bench_toy.py"
    target = "targets=(Target('ratio', 0.5, 1_000),)"
    path.write_text(
        TOY + f"\nfrom benchmarks.harness import Target\nCASES = [case('x', {target})]\n"
    )
    run(path, tmp_path / "out", None, 1, "Made by hand.")
    page = (tmp_path / "out" / "toy.md").read_text()
    assert "Made by hand." in page
    assert "| x | 1,000 | one | warm |" in page
    assert "**no**" in page.split("## Targets")[1]
    assert "toy: x" in capsys.readouterr().out
    (row,) = csv.DictReader(io.StringIO((tmp_path / "out" / "toy.csv").read_text()))
    assert float(row["ratio"]) > 2


def test_a_run_that_is_broken_off_leaves_the_cases_before(tmp_path, monkeypatch):
    path = tmp_path / "bench_toy.py"
    path.write_text(TOY + "\nCASES = [case('x'), case('y')]\n")

    def broken_off(*args, **options):
        yield next(measure(*args, **options))
        raise KeyboardInterrupt

    monkeypatch.setattr("benchmarks.__main__.measure", broken_off)
    with pytest.raises(KeyboardInterrupt):
        run(path, tmp_path / "out", None, 1, "Made by hand.")
    assert "| x | 1,000 |" in (tmp_path / "out" / "toy.md").read_text()
    (row,) = csv.DictReader(io.StringIO((tmp_path / "out" / "toy.csv").read_text()))
    assert row["case"] == "x"


def test_sizes_that_no_case_has_leave_no_page(tmp_path, capsys):
    path = tmp_path / "bench_toy.py"
    path.write_text(TOY + "\nCASES = [case('x')]\n")
    run(path, tmp_path / "out", [7], 1, "Made by hand.")
    assert "toy: none of its cases and sizes is asked for" in capsys.readouterr().out
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    "path",
    sorted((Path(__file__).parents[2] / "benchmarks").glob("bench_*.py")),
    ids=lambda p: p.stem,
)
def test_every_benchmark_declares_cases_with_names_of_their_own(path):
    names = [case.name for case in load(path).CASES]
    assert names
    assert len(names) == len(set(names))
    for case in load(path).CASES:
        for target in case.targets:
            assert target.rows in case.sizes
            assert target.measure in COLUMNS


def test_rows_of_earlier_runs_are_kept_if_asked_for_and_measured_ones_replaced(tmp_path, capsys):
    path, out = tmp_path / "bench_toy.py", tmp_path / "out"
    path.write_text(TOY + "\nCASES = [case('x'), case('y'), case('z', sizes=(1_000, 10))]\n")
    before = [
        row(case="x", rows=1_000, threads="one", state="warm", ratio=7.5, status="ok"),
        row(case="y", rows=1_000, threads="one", state="warm", ratio=0.01, status="ok"),
        row(case="gone", rows=1_000, threads="one", state="warm", ratio=1.0, status="ok"),
    ]
    out.mkdir()
    (out / "toy.csv").write_text(as_csv(before))
    run(path, out, None, 1, "Made by hand.", part_of_name="y;z", keep=True)
    found = from_csv((out / "toy.csv").read_text())
    assert [(r["case"], r["rows"]) for r in found] == [
        ("x", 1_000), ("y", 1_000), ("z", 10), ("z", 1_000),
    ]  # fmt: skip
    assert found[0] == before[0]
    assert found[1]["ratio"] > 2
    assert "earlier runs" in (out / "toy.md").read_text()
    run(path, out, None, 1, "Made by hand.", part_of_name="y")
    assert [r["case"] for r in from_csv((out / "toy.csv").read_text())] == ["y"]


def test_a_case_out_of_cpu_time_says_so_and_larger_sizes_are_not_tried(tmp_path):
    cases = "case('slow', run=lambda data, seed: spin(99), sizes=(1_000, 2_000), cpu_limit=3)"
    ((small, large),) = rows_of(tmp_path, cases)
    assert small["status"] == "out of CPU time after 3 s"
    assert large["status"].startswith("not tried: out of CPU time")
