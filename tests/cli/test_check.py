"""What files of statements say, and where they contradict themselves."""

import re

from sidelight import SideInformation


def test_check_finds_no_fault_with_consistent_statements(run, tmp_path):
    side = SideInformation.from_pairs(must=[(0, 1)], cannot=[(1, 2)], n_samples=3)
    side.write(tmp_path / "side.csv")
    result = run("check", tmp_path / "side.csv", "--rows", 3, "--clusters", 2)
    assert result.exit_code == 0
    assert "conflicts: none" in result.output
    assert "Can 2 clusters keep every statement? yes" in result.output


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
    assert "ann and bob both judged 2 rows or pairs, and differ on 1" in result.output
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


def test_check_lists_classes_and_those_that_look_alike(run, tmp_path):
    path = tmp_path / "side.csv"
    names = ["Bus", "bus", "bus", "buss", "car", "car", "car"]
    lines = [f"label,{k},{name},12" for k, name in enumerate(names)]
    path.write_text("\n".join(["kind,i,class,seconds", *lines]) + "\n", encoding="utf-8")
    result = run("check", path)
    assert "the column seconds is not used" in " ".join(result.output.split())
    assert "car 3, bus 2, Bus 1, buss 1" in result.output
    assert "are 'Bus', 'bus', 'buss' one class?" in result.output


def test_unknown_rows_come_with_the_nearest_ids_or_are_skipped(shell, run, patients, said):
    about = ("check", said, "--data", patients, "--id", "patient")
    message = shell(*about).stderr
    assert "for p999: p099" in message
    assert "--skip-unknown" in message
    result = run(*about, "--skip-unknown")
    assert result.exit_code == 1  # the contradictions are still there
    told = " ".join(result.output.split())
    assert "1 statement was left out, about rows that the data does not have (p999)." in told


def test_the_advice_about_self_pairs_is_the_option_of_the_command(shell, run, patients, tmp_path):
    path = tmp_path / "side.csv"
    path.write_text("kind,i,j\nmust,p001,p001\nmust,p001,p002\n", encoding="utf-8")
    about = ("--data", patients, "--id", "patient")
    assert "Leave them out: --self-pairs drop." in shell("check", path, *about).stderr
    result = run("check", path, *about, "--self-pairs", "drop")
    assert "1 statement about 2 of 120 rows" in result.output


def test_conversion_keeps_columns_and_knows_other_tools(run, tmp_path):
    path = tmp_path / "side.csv"
    path.write_text("kind,i,j,class,mood\nmust,a,b,,good\nlabel,a,,bus,bad\n", encoding="utf-8")
    result = run("convert", path, tmp_path / "out.jsonl")
    assert result.exit_code == 0, result.output
    assert "Other columns were kept: mood." in result.output
    assert '"mood": "good"' in (tmp_path / "out.jsonl").read_text()
    result = run("convert", tmp_path / "out.jsonl", tmp_path / "training.json", "--to", "dedupe")
    assert result.exit_code == 0, result.output
    assert "1 statement was left out: the format holds must, cannot." in result.output
    result = run("convert", tmp_path / "training.json", tmp_path / "again.csv")
    assert result.exit_code == 0, result.output
    assert "must,a,b" in (tmp_path / "again.csv").read_text()
