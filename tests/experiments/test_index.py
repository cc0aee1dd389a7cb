"""The index of the results: its tables say what the pages say."""

import pytest

from experiments import index
from experiments.__main__ import main
from experiments.defaults import cited
from experiments.stamps import PAGES
from experiments.tables import write_csv


def row(mean, se=0.0):
    return {"untouched_mean": mean, "untouched_se": se}


def test_the_pages_say_what_the_figures_say():
    pages = index.parts_of_pages(PAGES)
    assert {path.name for path in pages} == {
        "README.md",
        "which-model.md",
        "classifier-instead.md",
    }
    for path, parts in pages.items():
        page = path.read_text("utf-8")
        assert page == index.written(page, parts), f"{path}: run python -m experiments --index"


def mean_of(method, setting, ari, tables=3, clusters="given"):
    return {
        "method": method, "setting": setting, "ari": ari, "tables": tables, "clusters": clusters,
    }  # fmt: skip


def test_a_table_of_the_guide_has_the_best_in_bold_and_what_was_run_on_all_tables():
    rows = [
        mean_of("KMeans", "labels 2 %", 0.50),
        mean_of("KMeans", "n pairs", 0.5),
        mean_of("LCVQE", "labels 2 %", 0.75),
        mean_of("LCVQE", "n pairs", 0.6),
        mean_of("SeededKMeans", "labels 2 %", 0.9),
        mean_of("PCKMeans", "labels 2 %", 0.99, tables=2),
        mean_of("BayesianMixture", "labels 2 %", 0.99, clusters="found"),
    ]
    table = cited.which_model(rows).splitlines()[2:]
    assert table == [
        "| `LCVQE` | .75 | – | – | – | **.60** |",
        "| `SeededKMeans` | **.90** | – | – | – | – |",
        "| k-means, no statements | .50 | – | – | – | .50 |",
    ]
    assert "| KMeans" not in cited.classifiers(rows)
    assert "| k-means, no statements | **.50** | – | – | – |" in cited.classifiers(rows)


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
