"""Files of side information: exact round trips, and errors that name the line."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings

from odd_names import assert_identical, names, odd_sides
from sidelight.exceptions import SideInformationError
from sidelight.side import SideInformation
from sidelight.side._cells import from_cell, text_from_cell, to_cell

FORMATS = ("csv", "tsv", "jsonl", "parquet")


def read_back(side, path):
    told = {"n_samples": side.n_samples, "index": side.index} if path.suffix[2:] == "sv" else {}
    return SideInformation.read(path, self_pairs="keep", **told)


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=40)
@given(side=odd_sides())
def test_files_give_back_exactly_what_was_written(format, side, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / f"side.{format}"
    side.write(path)
    assert_identical(read_back(side, path), side)


@given(name=names)
def test_a_cell_gives_back_its_value_and_type(name):
    cell = to_cell(name)
    assert repr(from_cell(cell)) == repr(name)
    assert "\n" not in cell
    assert "\r" not in cell
    if isinstance(name, str):
        assert text_from_cell(cell) == name


def test_a_cell_is_plain_text_unless_that_is_a_json_literal():
    assert [to_cell(name) for name in ("B-cell", "007", "3", 3, 3.0, True, None, "")] == [
        "B-cell",
        "007",
        '"3"',
        "3",
        "3.0",
        "true",
        "",
        '""',
    ]


def test_csv_is_a_plain_table(tmp_path):
    side = SideInformation.from_columns(
        ["must", "label"], [0, 2], [1, None], class_=[None, "a,b"], annotator="ann", n_samples=3
    )
    side.write(tmp_path / "side.csv")
    assert (tmp_path / "side.csv").read_text() == (
        'kind,i,j,class,weight,annotator,vocabulary\nmust,0,1,,1.0,ann,\nlabel,2,,"a,b",1.0,ann,\n'
    )


def write_text(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def test_a_hand_written_csv_is_read_with_defaults(tmp_path):
    text = "\ufeffi, kind, j, class\r\n0, must, 2.0,\r\n\r\n1, label, , cat\r\n,,,\r\n"
    side = SideInformation.read(write_text(tmp_path / "a.csv", text), n_samples=3)
    assert side.must.tolist() == [[0, 2]]
    assert side.classes == ("cat",)
    assert side.statements.weight.tolist() == [1.0, 1.0]
    assert side.annotators == ()


def test_an_empty_weight_is_one(tmp_path):
    path = write_text(tmp_path / "a.csv", "kind,i,j,weight\nmust,0,1,\nmust,1,2,0.25\n")
    assert SideInformation.read(path, n_samples=3).statements.weight.tolist() == [1.0, 0.25]
    path = write_text(tmp_path / "a.jsonl", '{"kind":"must","i":0,"j":1}\n')
    assert SideInformation.read(path, n_samples=3).statements.weight.tolist() == [1.0]


@pytest.mark.parametrize(
    ("index", "cells"),
    [
        (["123", "1e3", "007", "x"], ["123", "1e3", "007", "x"]),
        ([123, 5, 7, 8], ["123.0", '"""5"""', "007", "8"]),
    ],
)
def test_ids_take_the_type_of_the_index(tmp_path, index, cells):
    lines = [f"label,{cell},a\n" for cell in cells]
    path = write_text(tmp_path / "a.csv", "kind,i,class\n" + "".join(lines))
    assert SideInformation.read(path, index=index).statements.i.tolist() == [0, 1, 2, 3]


def test_numbers_in_json_lines_find_ids_that_are_texts(tmp_path):
    path = write_text(tmp_path / "a.jsonl", '{"kind": "label", "i": 12, "class": "a"}\n')
    assert SideInformation.read(path, index=["7", "12"]).statements.i.tolist() == [1]


@pytest.mark.parametrize(
    ("class_type", "classes"),
    [(None, (3.0, 3, "3", "x3")), (str, ("3", "3.0", "x3"))],
)
def test_class_type_overrides_what_the_file_says(tmp_path, class_type, classes):
    path = write_text(
        tmp_path / "a.csv", 'kind,i,class\nlabel,0,3\nlabel,1,"""3"""\nlabel,2,3.0\nlabel,3,x3\n'
    )
    assert SideInformation.read(path, n_samples=4, class_type=class_type).classes == classes


def test_class_type_number_refuses_other_classes_by_line(tmp_path):
    path = write_text(tmp_path / "a.csv", "kind,i,class\nlabel,0,3.0\nlabel,1,x\nlabel,2,007\n")
    with pytest.raises(SideInformationError, match=r"a\.csv, line 3: the class is no int"):
        SideInformation.read(path, n_samples=3, class_type=int)
    path = write_text(tmp_path / "b.csv", "kind,i,class\nlabel,0,3.0\nlabel,1,007\n")
    side = SideInformation.read(path, n_samples=3, class_type=int)
    assert list(map(repr, side.classes)) == ["3", "7"]
    side = SideInformation.read(path, n_samples=3, class_type=float)
    assert list(map(repr, side.classes)) == ["3.0", "7.0"]


def test_infer_counts_the_rows_that_the_file_mentions(tmp_path):
    path = write_text(tmp_path / "a.csv", "kind,i,j,class\nmust,3,7,\nlabel,1,,a\n")
    side = SideInformation.read(path, n_samples="infer")
    assert (side.n_samples, side.index) == (8, None)
    assert SideInformation.read(path, n_samples="infer", first_row=1).n_samples == 7
    path = write_text(tmp_path / "b.csv", "kind,i,j,class\nmust,b,17,\nlabel,a,,x\nmust,c,b,\n")
    side = SideInformation.read(path, n_samples="infer")
    assert side.index.tolist() == ["b", "17", "a", "c"]
    with pytest.raises(SideInformationError, match=r"lines 2, 3, 4: column i is 'b', 'a', 'c'"):
        SideInformation.read(path, n_samples="infer", first_row=1)
    path = write_text(tmp_path / "c.csv", "kind,i,j\n")
    assert SideInformation.read(path, n_samples="infer").n_samples == 0


def test_csv_without_the_number_of_rows_says_what_to_pass(tmp_path):
    path = write_text(tmp_path / "a.csv", "kind,i,j\nmust,0,1\n")
    with pytest.raises(SideInformationError, match=r"n_samples=.*index=.*infer"):
        SideInformation.read(path)


def test_a_file_by_position_is_read_for_data_with_ids(tmp_path):
    side = SideInformation.from_columns(
        ["must", "label"], [0, 2], [1, None], class_=[None, "a"], n_samples=3
    )
    side.write(tmp_path / "a.jsonl")
    again = SideInformation.read(tmp_path / "a.jsonl", index=["x", "y", "z"])
    assert again.index.tolist() == ["x", "y", "z"]
    assert again.statements.i.tolist() == [0, 2]
    with pytest.raises(SideInformationError, match=r"3 rows by position.*2 ids"):
        SideInformation.read(tmp_path / "a.jsonl", index=["x", "y"])
    with pytest.raises(SideInformationError, match=r"about 3 rows, not about n_samples=4"):
        SideInformation.read(tmp_path / "a.jsonl", n_samples=4)


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_ids_find_their_rows_in_reordered_data(tmp_path, format):
    side = SideInformation.from_pairs(must=[("a", "c")], index=["a", "b", "c"])
    side.write(tmp_path / f"a.{format}")
    again = SideInformation.read(tmp_path / f"a.{format}", index=["c", "b", "a"])
    assert again.must.tolist() == [[0, 2]]
    assert again.index.tolist() == ["c", "b", "a"]


# Pair and graph files


def test_pair_files_take_many_spellings(tmp_path):
    lines = "# two annotators\n\n1 2 must\n2 3 CANNOT-link\n  3 4 -1\n4\t5\tml\n5 6 1\n6 1 cl\n"
    side = SideInformation.read(
        write_text(tmp_path / "a.txt", lines), format="pairs", n_samples=6, first_row=1
    )
    assert side.must.tolist() == [[0, 1], [3, 4], [4, 5]]
    assert side.cannot.tolist() == [[1, 2], [2, 3], [0, 5]]


def test_pair_files_with_commas_a_header_and_ids(tmp_path):
    path = write_text(tmp_path / "a.txt", 'i,j,kind\nAnn Lee, Bob,must\n"x,y",Bob,cannot\n')
    side = SideInformation.read(path, format="pairs", index=["Bob", "Ann Lee", "x,y"])
    assert side.must.tolist() == [[0, 1]]
    assert side.cannot.tolist() == [[0, 2]]


def test_pair_files_of_one_kind_have_two_columns(tmp_path):
    path = write_text(tmp_path / "a.txt", "0 1\n1 2\n")
    side = SideInformation.read(path, format="pairs", kind="cannot", n_samples=3)
    assert side.cannot.tolist() == [[0, 1], [1, 2]]


def test_a_line_of_empty_cells_is_passed_over(tmp_path):
    path = write_text(tmp_path / "a.txt", "0,1\n,\n1,2\n")
    side = SideInformation.read(path, format="pairs", kind="must", n_samples=3)
    assert side.must.tolist() == [[0, 1], [1, 2]]


def test_graph_files_hold_twice_the_weight_of_a_self_pair(tmp_path):
    path = write_text(tmp_path / "a.link", "1 2 1\n2\t2 3.0\n1.0000000e+00 3 0.5\n")
    side = SideInformation.read(path, kind="must", n_samples=3, first_row=1, self_pairs="keep")
    assert side.must.tolist() == [[0, 1], [1, 1], [0, 2]]
    assert side.statements.weight.tolist() == [1.0, 1.5, 0.5]
    must, _ = side.graphs()
    assert must.toarray()[1, 1] == 3.0
    dropped = SideInformation.read(path, kind="must", n_samples=3, first_row=1, self_pairs="drop")
    assert dropped.statements.weight.tolist() == [1.0, 0.5]
    with pytest.raises(SideInformationError, match=r"a\.link: .*itself.*line 2 \("):
        SideInformation.read(path, kind="must", n_samples=3, first_row=1)
    with pytest.raises(SideInformationError, match='kind="must"'):
        SideInformation.read(path, n_samples=3, first_row=1)
    with pytest.raises(SideInformationError, match=r"line 3.*numbered 0 … 2"):
        SideInformation.read(path, kind="must", n_samples=3, self_pairs="keep")


# Errors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "kind,i,j\nmust,0,1\nperhaps,0,1\n",
            r"a\.csv, line 3: the kind is 'perhaps'.*must, cannot",
        ),
        ("kind,i,j\nmust,0,1\n\nmust,0\n", r"a\.csv, line 4: not 3 cells, as there are columns"),
        ("kind,i\nmust,0\n", r"neither column 'j'"),
        ("i,j\n0,1\n", r"missing column 'kind'"),
        ("kind,row,j\nmust,0,1\n", r"missing column 'i'.*kind, i, j, class"),
        ("kind,i,j,j\nmust,0,1,1\n", r"repeated column 'j'"),
        ("kind;i;j\nmust;0;1\n", r"separated by ';'"),
        ("", r"is empty"),
        (
            "kind,i,j\nmust,0,9\n",
            r"line 2: column j names row 9, and the 3 rows are numbered 0 … 2",
        ),
        ("kind,i,j\nmust,,1\n", r"line 2: column i is empty"),
        ("kind,i,j\nmust,0,1\nmust,a,1\n", r"line 3: column i is 'a', which is not a row number"),
        ("kind,i,j\nmust,0,\n", r"only one row.*line 2 \("),
        ("kind,i,j\nmust,0,1\n\ncannot,1,1\n", r"line 4 \(cannot 1"),
        ("kind,i,j,weight\nmust,0,1,1\nmust,0,1,nan\n", r"line 3 .*nan"),
        ("kind,i,j,weight\nmust,0,1,-2\n", r"line 2 .*-2"),
        ("kind,i,j,weight\nmust,0,1,inf\n", r"line 2 .*inf"),
        ('kind,i,j,weight\nmust,0,1,"0,5"\n', r"line 2: the weight is not a number"),
        ('kind,i,j\nmust,0,"1\n', r"a\.csv: unexpected end of data"),
        ("kind,i,j\n" + "no,0,1\n" * 7, r"lines 2, 3, 4, 5, 6 and 2 more"),
        ('kind,i,j,annotator\nmust,0,1,"a\nb"\nmust,1,5,\n', r"line 4: column j names row 5"),
    ],
)
def test_a_wrong_csv_names_file_and_line(tmp_path, text, message):
    path = write_text(tmp_path / "a.csv", text)
    with pytest.raises(SideInformationError, match=message):
        SideInformation.read(path, n_samples=3)


def test_an_unknown_id_is_named_with_its_line(tmp_path):
    path = write_text(tmp_path / "a.csv", "kind,i,j\nmust,a,b\nmust,a,zoe\n")
    with pytest.raises(SideInformationError, match=r"line 3 \(must a zoe\)"):
        SideInformation.read(path, index=["a", "b"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"kind":"must","i":0,"j":1}\n{"kind":\n', r"a\.jsonl, line 2: not one JSON object"),
        ('{"kind":"must","i":0,"j":1},{"kind":"must","i":0,"j":1}\n', r"line 1: not one JSON"),
        ("\n[1, 2]\n", r"line 2: not one JSON object"),
        ('{"kind":"must","i":0,"j":1}\n' + "[" * 100_000, r"line 2: not one JSON object"),
        ('{"kind":"must","i":0,"j":1}\n{"kind":"must","i":0}\n', r"line 2"),
        ('{"i":0,"j":1}\n', r"line 1: the kind is None"),
        ('{"kind":"must","i":0,"j":5}\n', r"line 1: column j names row 5"),
        ('{"kind":"must","i":true,"j":1}\n', r"line 1: column i is True"),
        ('{"kind":"must","i":0,"j":1,"weight":"heavy"}\n', r"line 1: the weight is not a number"),
        ('{"kind":["must"],"i":0,"j":1}\n', r"line 1: kind is a list or an object"),
        ('{"kind":"must","i":{"a":0},"j":1}\n', r"line 1: i is a list or an object"),
        ('{"sidelight":2}\n', r"version 2.*newer sidelight"),
        ('{"sidelight":1,"n_samples":"3"}\n', r"n_samples '3'"),
        ('{"sidelight":1,"n_samples":3,"index":["a"]}\n', r"1 ids for 3 rows"),
    ],
)
def test_wrong_json_lines_name_file_and_line(tmp_path, text, message):
    path = write_text(tmp_path / "a.jsonl", text)
    with pytest.raises(SideInformationError, match=message):
        SideInformation.read(path, n_samples=3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1 must\n1 2\n", r"line 2: not 3 cells"),
        ("0 1 must\n# no\n1 2 maybe\n", r"line 3: the kind is 'maybe'.*must-link.*-1"),
        ("0,1,must\n,,\n1,9,must\n", r"line 3: column j names row 9"),
        ('0,1,must\n"' + "1" * 200_000, r"line 2: not 3 cells"),
    ],
)
def test_wrong_pair_files_name_file_and_line(tmp_path, text, message):
    path = write_text(tmp_path / "a.txt", text)
    with pytest.raises(SideInformationError, match=message):
        SideInformation.read(path, format="pairs", n_samples=3)


def test_text_that_is_not_utf8_is_refused(tmp_path):
    path = write_text(tmp_path / "a.csv", "kind,i,j\nmüst,0,1\n", encoding="latin-1")
    with pytest.raises(SideInformationError, match="UTF-8"):
        SideInformation.read(path, n_samples=3)


def test_what_is_no_parquet_is_refused(tmp_path):
    with pytest.raises(SideInformationError, match="cannot be read as Parquet"):
        SideInformation.read(write_text(tmp_path / "a.parquet", "kind,i,j\n"), n_samples=3)


def test_an_arrow_table_that_somebody_else_wrote_to_parquet_is_read(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    for k, side in enumerate(
        (SideInformation.from_labels([3, "3", None]), SideInformation.from_labels(["a", None, "b"]))
    ):
        parquet.write_table(side.to_frame("pyarrow"), tmp_path / f"{k}.parquet")
        assert_identical(SideInformation.read(tmp_path / f"{k}.parquet", n_samples=3), side)


@pytest.mark.parametrize("noted", ["junk", "[1]"])
def test_metadata_that_sidelight_has_not_written_is_refused(tmp_path, noted):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = SideInformation.from_labels(["a"]).to_frame("pyarrow")
    table = table.replace_schema_metadata({"sidelight": noted})
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(SideInformationError, match=r"a\.parquet has metadata"):
        SideInformation.read(tmp_path / "a.parquet", n_samples=1)
    with pytest.raises(SideInformationError, match="the frame has metadata"):
        SideInformation.from_frame(table, n_samples=1)


def test_parquet_without_header_counts_its_rows_in_errors(tmp_path):
    pd = pytest.importorskip("pandas")
    pd.DataFrame({"kind": ["must", "must"], "i": [0, 1], "j": [1.0, 7.0]}).to_parquet(
        tmp_path / "a.parquet"
    )
    with pytest.raises(SideInformationError, match=r"row 1: column j names row 7"):
        SideInformation.read(tmp_path / "a.parquet", n_samples=3)
    assert SideInformation.read(tmp_path / "a.parquet", n_samples=8).must.tolist() == [
        [0, 1],
        [1, 7],
    ]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"format": "xml"}, r"format='xml'.*csv, tsv, jsonl, parquet"),
        ({"kind": "must"}, r"kind= is for pairs and graph"),
        ({"format": "graph", "kind": "label"}, r"kind is"),
        ({"class_type": bool}, r"class_type is str, int, float"),
        ({"n_samples": "guess"}, r'number of rows.* or "infer", not .guess'),
        ({"n_samples": 3.0}, r"number of rows.*not 3\.0"),
        ({"n_samples": -1}, r"number of rows, 0 or more.*not -1"),
        ({"n_samples": True}, r"number of rows.*not True"),
        ({"index": ["0", "1"], "n_samples": np.int64(3)}, r"2 ids for 3 rows"),
        ({"index": ["0", "1"], "first_row": 1}, r"first_row"),
    ],
)
def test_impossible_options_are_refused(tmp_path, how, message):
    path = write_text(tmp_path / "a.csv", "kind,i,j,class\nmust,0,1,\n")
    with pytest.raises(SideInformationError, match=message):
        SideInformation.read(path, **{"n_samples": 3, **how} if "index" not in how else how)


# Writing


def test_writing_replaces_nothing_unless_told(tmp_path):
    path = write_text(tmp_path / "a.csv", "precious")
    side = SideInformation.from_pairs(must=[(0, 1)], n_samples=3)
    with pytest.raises(SideInformationError, match="overwrite=True"):
        side.write(path)
    assert path.read_text() == "precious"
    side.write(path, overwrite=True)
    assert SideInformation.read(path, n_samples=3) == side
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, format, monkeypatch):
    path = write_text(tmp_path / f"a.{format}", "precious")

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", broken)
    side = SideInformation.from_pairs(must=[(0, 1)], n_samples=3)
    with pytest.raises(OSError, match="disk full"):
        side.write(path, overwrite=True)
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_text() == "precious"


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "real").mkdir()
    real = write_text(tmp_path / "real" / "a.csv", "old")
    (tmp_path / "link.csv").symlink_to(real)
    SideInformation.from_pairs(must=[(0, 1)], n_samples=3).write(
        tmp_path / "link.csv", overwrite=True
    )
    assert (tmp_path / "link.csv").is_symlink()
    assert real.read_text().startswith("kind,")


@pytest.mark.parametrize(
    ("name", "message"),
    [("a.link", "read and not written"), ("a.doc", "names no format"), ("", "is a folder")],
)
def test_only_known_formats_are_written(tmp_path, name, message):
    side = SideInformation.from_pairs(must=[(0, 1)], n_samples=3)
    with pytest.raises(SideInformationError, match=message):
        side.write(tmp_path / name, format=None if name else "csv")
    assert os.listdir(tmp_path) == []


def test_a_lone_surrogate_survives_where_it_can(tmp_path):
    side = SideInformation.from_labels(["\ud800", None])
    for format in ("csv", "jsonl"):
        side.write(tmp_path / f"a.{format}")
        assert_identical(read_back(side, tmp_path / f"a.{format}"), side)
    with pytest.raises(SideInformationError, match="Unicode"):
        side.write(tmp_path / "a.parquet")


def test_without_pyarrow_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    side = SideInformation.from_pairs(must=[(0, 1)], n_samples=3)
    with pytest.raises(SideInformationError, match=r'pip install "sidelight\[parquet\]"'):
        side.write(tmp_path / "a.parquet")
    assert os.listdir(tmp_path) == []


def test_csv_and_json_lines_need_no_frame_library(tmp_path):
    program = (
        "import sys\n"
        "from sidelight.side import SideInformation\n"
        "side = SideInformation.from_labels(['a', None])\n"
        "for name in ('a.csv', 'a.jsonl'):\n"
        f"    path = {str(tmp_path)!r} + '/' + name\n"
        "    side.write(path)\n"
        "    SideInformation.read(path, n_samples=2)\n"
        "assert not {'narwhals', 'pandas', 'polars', 'pyarrow', 'sklearn'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
