"""The index of the results: its tables say what the pages say."""

import pytest

from experiments import index
from experiments.__main__ import main
from experiments.stamps import PAGES
from experiments.tables import write_csv


def row(mean, se=0.0):
    return {"untouched_mean": mean, "untouched_se": se}


def test_the_page_says_what_the_figures_say():
    page = (PAGES / "README.md").read_text("utf-8")
    assert page == index.written(page, index.Index(PAGES)), "run python -m experiments --index"


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        ([row(80.0, 1.0)], [row(70.0, 1.0)], "yes: 80.0 ± 1.0 against 70.0 ± 1.0"),
        ([row(72.0, 1.0)], [row(70.0, 1.0)], "**no**: 72.0 ± 1.0 against 70.0 ± 1.0"),
        ([row(60.0)], [row(70.0)], "**no**: 60.0 ± 0.0 against 70.0 ± 0.0"),
        ([row(None)], [row(70.0)], "**not measured**"),
        ([{}], [{}], "**not measured**"),
    ],
)
def test_a_gain_counts_where_no_statement_touches_a_row(ours, theirs, said):
    assert index.gain(ours, theirs) == said


def test_a_gain_on_some_data_is_said_to_be_one_in_part():
    said = index.gain([row(9.0), row(5.0)], [row(7.0), row(6.0)])
    assert said.startswith("**in part**: above by two standard errors in 1 of 2")
    assert "9.0 / 7.0, 5.0 / 6.0" in said


def test_a_page_that_is_not_there_says_nothing(tmp_path):
    for name, table in index.Index(tmp_path).parts.items():
        assert len(table.splitlines()) == 2, name  # the head alone


def test_tables_are_written_between_their_marks_and_nothing_else_changes(tmp_path):
    names = ("match", "better", "miss")
    marks = "".join(f"<!-- figures: {n} -->\nbefore this run\n<!-- end -->\n\n" for n in names)
    (tmp_path / "README.md").write_text(f"# Results\n\n{marks}words\n")
    (tmp_path / "plsi").mkdir()
    rows = [
        {"dataset": "iris", "method": "paper mode", "published": 80.0, "difference": d}
        for d in (0.5, -3.0)
    ]
    write_csv(rows, tmp_path / "plsi" / "table2.csv")
    assert main(["--index", "--results", str(tmp_path)]) == 0
    page = (tmp_path / "README.md").read_text()
    assert page.startswith("# Results\n")
    assert page.endswith("words\n")
    assert "before this run" not in page
    assert "1 of 2 within 2.0, largest difference 3.0" in page
