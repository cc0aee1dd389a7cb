"""From a table to clusters and a page, as an analyst does it."""

import csv
import re
import shlex

import numpy as np
import pytest

from sidelight.models import find_model


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def failed(shell, *arguments):
    """The one sentence that a failing command prints."""
    result = shell(*arguments)
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith("sidelight: ")
    assert "Traceback" not in result.stderr
    return result.stderr


def test_every_problem_of_a_first_try_is_a_sentence_that_names_the_rows(
    shell, patients, said, tmp_path
):
    """The way of a new user: table, ids, statements, each mended after its message."""
    out = tmp_path / "out.csv"
    begin = ("fit", patients, "--side", said, "--model", "PartitionLevelKMeans", "--out", out)
    message = failed(shell, *begin)
    assert "--id patient" in message
    assert "'town' holds text ('Bonn', 'Rome')" in message
    message = failed(shell, *begin, "--id", "patient", "--drop", "known")
    assert "'crp' has 2 missing values (row p007, p041)" in message
    assert "'pressure' has 1 missing value (row p063)" in message
    ready = (*begin, "--id", "patient", "--drop", "town", "--drop", "known", "--impute", "median")
    message = failed(shell, *ready)
    assert "line 12 (must p090 p999)" in message
    assert "no row p999" in message
    assert not out.exists()


def test_classes_without_a_cluster_are_told(run, patients, tmp_path, short_enough):
    out = tmp_path / "out.csv"
    how = ("--labels", "known", "--clusters", "2", *short_enough)
    result = run("fit", patients, "--out", out, *how)
    assert result.exit_code == 0, result.output
    told = " ".join(result.output.split())
    assert re.search("Class '(mild|severe|stable)' has no cluster: there are 2 clusters for", told)
    assert "Ask for at least 3 clusters" in told


def test_the_output_is_the_input_with_four_more_columns_at_most(
    run, patients, mended, tmp_path, short_enough
):
    out = tmp_path / "out.csv"
    result = run("fit", patients, "--side", mended, "--out", out, *short_enough)
    assert result.exit_code == 0, result.output
    before, after = rows_of(patients), rows_of(out)
    added = {"cluster", "cluster_name", "suspect"}
    assert set(after[0]) - set(before[0]) == added  # this model gives no probabilities
    assert [{k: v for k, v in row.items() if k not in added} for row in after] == before
    assert {row["cluster_name"] for row in after} == {"mild", "severe", "stable"}
    assert after[1]["cluster_name"] == "stable"
    assert {row["cluster"] for row in after} == {"0", "1", "2"}
    for told in ("standardised", "3 missing values", "(must) left out", str(out)):
        assert told in result.output.replace("\n", " ")


def test_memberships_and_suspects_come_from_models_that_have_them(run, patients, said, tmp_path):
    path = tmp_path / "wrong.csv"
    lines = [line for line in said.read_text().splitlines() if "p999" not in line]
    path.write_text("\n".join([*lines, "must,p010,p060,,bob"]) + "\n")
    out = tmp_path / "out.csv"
    result = run(
        *("fit", patients, "--side", path, "--out", out, "--id", "patient", "--drop", "town"),
        *("--drop", "known", "--impute", "mean", "--model", "annotated-gaussian_mixture"),
    )
    assert result.exit_code == 0, result.output
    rows = {row["patient"]: row for row in rows_of(out)}
    assert all(0 <= float(row["membership"]) <= 1 for row in rows.values())
    assert np.mean([float(row["membership"]) for row in rows.values()]) > 0.8
    assert rows["p010"]["suspect"] == rows["p060"]["suspect"] == "1"
    assert rows["p100"]["suspect"] == "0"
    assert "p010 with p060 (must, bob)" in result.output
    assert "contradicted by others" in result.output


def test_labels_of_a_column_join_the_statements(run, patients, tmp_path):
    out = tmp_path / "out.tsv"
    result = run(
        *("fit", patients, "--labels", "known", "--drop", "town", "--drop", "patient"),
        *("--impute", "median", "--model", "partitionlevelkmeans", "--out", out),
    )
    assert result.exit_code == 0, result.output
    header, first, *_ = out.read_text().splitlines()
    assert header.split("\t")[-2:] == ["cluster_name", "suspect"]
    assert first.split("\t")[-2:] == ["stable", "0"]


def test_parquet_and_arrays_come_in_and_go_out(run, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    X = np.repeat([[0.0, 1.0], [9.0, 5.0]], 10, axis=0) + np.arange(20)[:, None] / 100
    np.save(tmp_path / "x.npy", X)
    common = ("--model", "PartitionLevelKMeans", "--clusters", 2)
    assert run("fit", tmp_path / "x.npy", *common, "--out", tmp_path / "y.parquet").exit_code == 0
    table = parquet.read_table(tmp_path / "y.parquet")
    assert table.column_names == ["x0", "x1", "cluster", "cluster_name", "suspect"]
    np.testing.assert_array_equal(table["x0"], X[:, 0])
    again = ("fit", tmp_path / "y.parquet", *common, "--columns", "x1")
    result = run(*again, "--prefix", "second_", "--out", tmp_path / "z.parquet")
    assert result.exit_code == 0, result.output
    assert "second_cluster" in parquet.read_table(tmp_path / "z.parquet").column_names


def test_nothing_is_overwritten_unless_asked_and_it_is_said_before_the_work(
    shell, run, patients, mended, tmp_path, short_enough
):
    out, page = tmp_path / "out.csv", tmp_path / "page.html"
    out.write_text("mine")
    begin = ("fit", patients, "--side", mended, *short_enough)
    assert "--overwrite" in failed(shell, *begin, "--out", out)
    assert "data itself" in failed(shell, *begin, "--out", patients, "--overwrite")
    assert "folder that does not exist" in failed(shell, *begin, "--out", tmp_path / "no" / "o.csv")
    named = ("--out", tmp_path / "o.csv", "--report", tmp_path / "page.pdf")
    assert "name it .html" in failed(shell, *begin, *named)
    assert out.read_text() == "mine"
    done = run(*begin, "--out", out, "--report", page, "--no-pictures", "--overwrite")
    assert done.exit_code == 0, done.output
    assert out.read_text() != "mine"


def test_the_report_names_clusters_columns_and_the_command_that_repeats_it(
    run, patients, mended, tmp_path, short_enough
):
    out, page = tmp_path / "out.csv", tmp_path / "page.html"
    result = run(
        *("fit", patients, "--side", mended, "--out", out, "--report", page, *short_enough),
        *("--stability", 2, "--truth", "town", "--title", "A <b>bold</b> title"),
    )
    assert result.exit_code == 0, result.output
    html = page.read_text(encoding="utf-8")
    for told in ("severe", "crp", "Stability over seeds", "Against the given classes", "p999"):
        assert (told in html) == (told != "p999")
    assert "A &lt;b&gt;bold&lt;/b&gt; title" in html
    assert "sidelight fit" in html
    command = html.split("<pre>")[1].split("</pre>")[0].replace("&#x27;", "'").replace("&lt;", "<")
    words = shlex.split(command.replace("&gt;", ">"))
    first = out.read_bytes()
    again = run(*words[1:], "--overwrite")
    assert again.exit_code == 0, again.output
    assert out.read_bytes() == first


def test_kinds_that_a_model_cannot_use_are_refused_with_the_models_that_can(
    shell, patients, mended, tmp_path, short_enough
):
    strict = [word for word in short_enough if word != "--use-what-fits"]
    out = ("--out", tmp_path / "o.csv")
    message = failed(shell, "fit", patients, "--side", mended, *strict, *out)
    assert "AnnotatedGaussianMixture" in message
    assert "p002 with p003 (must, ann)" in message
    assert "--use-what-fits" in message


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--model", "PartitionLevelKMean"], "Did you mean PartitionLevelKMeans?"),
        (["--set", "n_int=3"], "Did you mean 'n_init'? It has n_clusters, side_weight"),
        (["--set", "n_init"], "parameter=value"),
        (["--set", "n_init=0"], "'n_init' parameter of PartitionLevelKMeans must be a str among"),
        (["--set", "n_clusters=3"], "given twice: 3, and n_clusters=3"),
        (["--columns", "agee"], "Did you mean 'age'?"),
        (["--drop", "agee"], "Did you mean 'age'?"),
        (["--id", "town"], "more than one row: Bonn, Rome"),
        (["--side", "nowhere.csv"], "nowhere.csv: there is no such file"),
        (["--out", "out.xlsx"], "out.xlsx: a table is written as one of .csv, .tsv, .parquet"),
    ],
)
def test_mistakes_are_met_with_what_is_allowed(shell, patients, tmp_path, arguments, told):
    usual = ["--model", "PartitionLevelKMeans", "--clusters", "3", "--out", tmp_path / "o.csv"]
    assert told in failed(shell, "fit", patients, *usual, *arguments)


def test_without_a_number_of_clusters_the_option_is_named(shell, patients, tmp_path):
    usual = ["--model", "PartitionLevelKMeans", "--out", tmp_path / "o.csv", "--columns", "age"]
    assert "--clusters" in failed(shell, "fit", patients, *usual)


def test_statements_by_id_need_the_id_column(shell, patients, mended, tmp_path):
    usual = ["--model", "PartitionLevelKMeans", "--out", tmp_path / "o.csv", "--columns", "age"]
    assert "--id COLUMN" in failed(shell, "fit", patients, *usual, "--side", mended)


def test_advice_names_options_and_no_parameters_of_python(shell, patients, said, tmp_path):
    usual = ["--model", "PartitionLevelKMeans", "--out", tmp_path / "o.csv"]
    ready = [*usual, "--columns", "age", "--clusters", 3]
    (tmp_path / "far.csv").write_text("kind,i,j\nmust,0,500\n")
    for arguments in (
        usual,
        [*usual, "--columns", "age"],
        [*ready, "--side", said],
        [*ready, "--side", said, "--id", "patient"],
        [*ready, "--side", tmp_path / "far.csv"],
        [*usual, "--columns", "patient", "--one-hot", "patient", "--columns", "crp"],
    ):
        message = failed(shell, "fit", patients, *arguments)
        assert not re.findall(r"\b(?!n_clusters)[a-z_]+=", message), message


@pytest.mark.parametrize(("scale", "told"), [("minmax", "from 0 to 1"), ("none", "own units")])
def test_the_scaling_is_said(run, patients, tmp_path, scale, told):
    usual = ["--model", "PartitionLevelKMeans", "--out", tmp_path / "o.csv", "--columns", "age"]
    result = run("fit", patients, *usual, "--clusters", 2, "--scale", scale)
    assert result.exit_code == 0, result.output
    assert told in result.output


def test_one_hot_columns_join_the_numbers(run, patients, tmp_path):
    usual = ["--model", "PartitionLevelKMeans", "--out", tmp_path / "o.csv", "--columns", "age"]
    result = run("fit", patients, *usual, "--clusters", 2, "--one-hot", "town")
    assert result.exit_code == 0, result.output
    assert "clustered by 3 columns" in result.output


def test_what_a_model_warns_of_is_a_sentence(run, tmp_path):
    (tmp_path / "same.csv").write_text("x\n1\n1\n1\n2\n")
    usual = ["--model", "PartitionLevelKMeans", "--out", tmp_path / "o.csv"]
    result = run("fit", tmp_path / "same.csv", *usual, "--clusters", 3)
    assert result.exit_code == 0, result.output
    assert "Found 2 clusters where 3 were asked for" in result.output


@pytest.mark.parametrize(
    "name", ["partitionlevelkmeans", "partition-level-kmeans", "Partition_Level_KMeans"]
)
def test_names_of_models_are_forgiving(name):
    assert find_model(name).__name__ == "PartitionLevelKMeans"


def test_settings_are_python_values_or_texts(run, patients, tmp_path):
    page = tmp_path / "page.html"
    result = run(
        *("fit", patients, "--columns", "age", "--model", "PartitionLevelKMeans", "--clusters", 2),
        *("--set", "side_weight=0.5", "--set", "init=k-means++", "--out", tmp_path / "o.csv"),
        *("--report", page, "--no-pictures"),
    )
    assert result.exit_code == 0, result.output
    assert "init=&#x27;k-means++&#x27;" in page.read_text()
    assert "side_weight=0.5" in page.read_text()


def test_what_a_model_advises_is_on_the_screen(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) + np.repeat([0.0, 30.0], 100)[:, None]
    path, out = tmp_path / "data.csv", tmp_path / "out.csv"
    known = ["ab"[k // 100] if k % 50 == 0 else "" for k in range(200)]
    lines = [f"{a},{b},{c}" for (a, b), c in zip(X.tolist(), known, strict=True)]
    path.write_text("\n".join(["x,y,known", *lines]) + "\n")
    model = ("--model", "StructuralEntropyClustering", "--set", "n_neighbors=5")
    result = run("fit", path, "--labels", "known", "--out", out, *model)
    assert result.exit_code == 0, result.output
    assert "clusters for 2 labelled classes. If these are all there are" in result.output


def test_a_class_that_a_spreadsheet_would_execute_is_written_in_quotes(
    run, patients, tmp_path, short_enough
):
    known = tmp_path / "known.csv"
    known.write_text("kind,i,class\nlabel,p000,=1+1\nlabel,p040,-x\nlabel,p080,mild\n")
    for options, names in (
        ((), {'"=1+1"', '"-x"', "mild"}),
        (("--keep-formulas",), {"=1+1", "-x", "mild"}),
    ):
        out = tmp_path / "out.csv"
        told = ("fit", patients, "--side", known, "--out", out, "--overwrite", *short_enough)
        assert run(*told, *options).exit_code == 0
        assert {row["cluster_name"] for row in rows_of(out)} == names


def test_a_file_of_arrays_that_cannot_fit_is_a_sentence(shell, tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "big.npz", X=np.zeros((100_000, 20)))
    monkeypatch.setattr("sidelight._memory.available", lambda: 10**7)
    told = ("--model", "BayesianMixture", "--out", tmp_path / "out.csv")
    message = failed(shell, "fit", tmp_path / "big.npz", *told)
    assert "big.npz needs 16.0 MB of memory, and 10.0 MB are free" in message


def test_models_are_compared_by_statements_held_back(run, patients, tmp_path):
    """The table, the choice and how good it is; numbers of clusters as people write them."""
    said = tmp_path / "labels.csv"
    rows = [(k, ("stable", "mild", "severe")[k // 40]) for k in range(0, 120, 4)]
    lines = ["kind,i,class", *(f"label,p{k:03d},{name}" for k, name in rows)]
    said.write_text("\n".join(lines) + "\n", encoding="utf-8")
    about = (patients, "--id", "patient", "--side", said, "--drop", "town", "--drop", "known")
    result = run(
        *("compare", *about, "--impute", "median", "--model", "SeededKMeans"),
        *("--model", "ConstrainedKMeans", "--clusters", "2-4", "--folds", 3),
    )
    assert result.exit_code == 0, result.output
    assert re.search(r"^SeededKMeans +3 +[01]\.\d+ ± ", result.output, re.M)
    assert "chosen" in result.output
    assert "held back" in result.output
    assert result.output.count("ConstrainedKMeans") >= 3


def test_numbers_of_clusters_are_read(shell, patients, said):
    from sidelight.cli._compare import numbers

    assert (numbers(None), numbers("3"), numbers("2-4"), numbers("3, 5")) == (
        None,
        3,
        [2, 3, 4],
        [3, 5],
    )
    assert "write 3, or 2-8" in failed(shell, "compare", patients, "--clusters", "many")


def test_the_answer_lies_beside_the_table_unless_told_otherwise(
    run, patients, tmp_path, short_enough, shell
):
    how = ("--labels", "known", "--truth", "town", "--stability", "1", *short_enough)
    result = run("fit", patients, *how)
    assert result.exit_code == 0, result.output
    assert len(rows_of(patients.parent / "answer.csv")) == 120
    assert "Against the true classes" in result.output
    assert "index with 1 fit with other seeds" in result.output
    assert "--overwrite" in failed(shell, "fit", patients, *how)


# Saved models


def test_a_saved_model_takes_new_rows(run, shell, patients, tmp_path, short_enough):
    model = tmp_path / "model.sidelight"
    result = run("fit", patients, "--labels", "known", "--save", model, *short_enough)
    assert result.exit_code == 0, result.output
    assert f"the model in {model}" in " ".join(result.output.split())
    lines = patients.read_text(encoding="utf-8").splitlines()
    gap = next(k for k, line in enumerate(lines) if ",," in line)
    new = tmp_path / "new.csv"
    turned = [",".join(reversed(line.split(","))) for line in (lines[0], *lines[gap : gap + 3])]
    new.write_text("\n".join(turned) + "\n", encoding="utf-8")
    result = run("predict", model, new)
    assert result.exit_code == 0, result.output
    assert "saved by sidelight" in result.output
    told = rows_of(tmp_path / "predicted.csv")
    before = rows_of(patients.parent / "answer.csv")[gap - 1 : gap + 2]
    assert [row["cluster_name"] for row in told] == [row["cluster_name"] for row in before]
    assert "--overwrite" in failed(shell, "predict", model, new)
    new.write_text("patient,age\np1,33\n", encoding="utf-8")
    message = failed(shell, "predict", model, new, "--overwrite")
    assert "has no column 'crp', 'pressure'" in message
    model.write_bytes(model.read_bytes()[:1000])
    assert "damaged" in failed(shell, "predict", model, new, "--overwrite")
    assert "no such file" in failed(shell, "predict", tmp_path / "none", new)


def test_a_fit_goes_on_without_unknown_rows_and_counts_them(
    run, patients, said, tmp_path, short_enough
):
    how = ("--skip-unknown", "--clusters", "3", *short_enough)
    result = run("fit", patients, "--side", said, "--out", tmp_path / "out.csv", *how)
    assert result.exit_code == 0, result.output
    assert "1 statement was left out, about rows that the data does not have (p999)" in " ".join(
        result.output.split()
    )
