"""What files of statements say, and where they contradict themselves."""

import re

from sidelight import SideInformation


def test_check_finds_no_fault_with_consistent_statements(run, tmp_path):
    side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(1, 2)], n_samples=3)
    side.write(tmp_path / "side.csv")
    result = run("check", tmp_path / "side.csv", "--rows", 3, "--clusters", 2)
    assert result.exit_code == 0
    assert "no conflicts" in result.output
    assert "2 clusters can keep every statement: yes" in result.output


def test_check_explains_conflicts_with_the_users_ids_and_counts_annotators(run, tmp_path):
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
    assert re.search(r"all +2 +1", result.output)


def test_check_says_which_ids_the_data_does_not_have(shell, patients, said):
    result = shell("check", said, "--data", patients, "--id", "patient")
    assert result.returncode == 2
    assert "line 12 (must p090 p999)" in result.stderr
    assert "The data has no row p999." in result.stderr


def test_check_says_which_numbers_the_data_does_not_have(shell, tmp_path):
    (tmp_path / "data.csv").write_text("id,x\n10,1\n20,2\n")
    (tmp_path / "side.csv").write_text("kind,i,j\nmust,10,20\nmust,10,30\n")
    result = shell("check", tmp_path / "side.csv", "--data", tmp_path / "data.csv", "--id", "id")
    assert result.returncode == 2
    assert "The data has no row 30." in result.stderr


def test_check_explains_both_chains_of_the_file(run, said):
    result = run("check", said)
    assert result.exit_code == 1
    for chain in (
        "p002 and p004 are kept apart, yet p002 with p003 (must, ann), p003 with p004 (must, bob)",
        "p050 and p053 are kept apart, yet p050 with p051 (must, ann), p051 with p052 (must, ann)",
    ):
        assert chain in result.output


def test_the_mended_file_passes_against_its_data(run, patients, mended):
    result = run("check", mended, "--data", patients, "--id", "patient", "--clusters", 3)
    assert result.exit_code == 0, result.output
    assert "9 statements about 12 of 120 rows" in result.output


def test_too_few_clusters_are_a_finding(run, mended):
    result = run("check", mended, "--clusters", 2)
    assert result.exit_code == 1
    assert "no: 3 rows are all kept apart" in result.output


def test_annotators_who_differ_are_named_with_an_example(run, tmp_path):
    ann = SideInformation.from_labels(["x", "y", "y"], annotator="ann")
    bob = SideInformation.from_labels(["x", "x", None], annotator="bob")
    (ann + bob).write(tmp_path / "side.jsonl")
    result = run("check", tmp_path / "side.jsonl")
    assert "ann and bob judged 2 things both, and differ on 1" in result.output
    assert "1 is 'y' (label, ann); 1 is 'x' (label, bob)" in result.output


def test_several_files_are_checked_together(run, shell, tmp_path):
    SideInformation.from_pairs(must=[(0, 1)], n_samples=3).write(tmp_path / "a.csv")
    SideInformation.from_pairs(cannot=[(0, 1)], n_samples=3).write(tmp_path / "b.csv")
    result = run("check", tmp_path / "a.csv", tmp_path / "b.csv", "--rows", 3)
    assert result.exit_code == 1
    assert "0 and 1 are kept apart, yet 0 with 1 (must)" in result.output
    assert "--data" in shell("check", tmp_path / "a.csv", tmp_path / "b.csv").stderr


def test_a_missing_file_is_one_sentence_and_no_traceback(shell, tmp_path):
    result = shell("check", tmp_path / "nothing.csv")
    assert result.returncode == 2
    assert result.stderr.startswith("sidelight: ")
    assert "nothing.csv" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_wrong_file_names_the_line(shell, tmp_path):
    path = tmp_path / "side.csv"
    path.write_text("kind,i,j\nmust,0,1\nmsut,1,2\n", encoding="utf-8")
    result = shell("check", path)
    assert result.returncode == 2
    assert "msut" in result.stderr
    assert "line 3" in result.stderr
