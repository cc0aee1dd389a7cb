"""Text tables as people have them: separators, decimal signs, headers; Excel sheets."""

import subprocess
import sys

import numpy as np
import pytest

from sidelight.exceptions import DataError, UnusableColumnsError
from sidelight.tables import prepare, read_table

COMMA, SEMI, TAB, BAR = ",", ";", "\t", "|"


def write(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("sep", [COMMA, SEMI, TAB, BAR])
def test_the_separator_is_found_by_looking(tmp_path, sep):
    lines = ["id,size,note", 'a,1.5,"x; y | z"', "b,2.5,w"]
    path = write(tmp_path, "\n".join(line.replace(",", sep) for line in lines) + "\n")
    table = read_table(path)
    assert list(table.columns) == ["id", "size", "note"]
    np.testing.assert_array_equal(table.columns["size"], [1.5, 2.5])
    assert bool(table.notes) == (sep != COMMA)


def test_decimal_commas_and_points_for_thousands(tmp_path):
    table = read_table(write(tmp_path, "id;a;b\nx;1,5;1.234,5\ny;-2,25;2.000.000,0\nz;;3,0\n"))
    np.testing.assert_array_equal(table.columns["a"], [1.5, -2.25, np.nan])
    np.testing.assert_array_equal(table.columns["b"], [1234.5, 2e6, 3.0])
    assert any("decimal commas" in note for note in table.notes)
    assert any("points" in note for note in table.notes)


def test_many_lines_with_two_decimal_commas_are_not_separated_by_them(tmp_path):
    lines = [f'k{k};"Meier, {k}";{k},25;{2 * k},5;Bonn' for k in range(40)]
    table = read_table(write(tmp_path, "\n".join(["id;name;a;b;town", *lines]) + "\n"))
    assert list(table.columns) == ["id", "name", "a", "b", "town"]
    assert table.columns["a"][:2].tolist() == [0.25, 1.25]
    assert table.columns["name"][1] == "Meier, 1"


def test_commas_for_thousands(tmp_path):
    table = read_table(write(tmp_path, 'a,b\n"1,234.5",1\n"2,000,000",2\n17.5,3\n'))
    np.testing.assert_array_equal(table.columns["a"], [1234.5, 2e6, 17.5])
    assert table.columns["b"].tolist() == [1, 2, 3]


def test_what_looking_finds_can_be_overruled(tmp_path):
    path = write(tmp_path, "a;b\n1,5;2\n2,5;3\n")
    table = read_table(path, sep=";", decimal=".")
    assert table.columns["a"] == ["1,5", "2,5"]
    with pytest.raises(DataError, match="known: , ; tab"):
        read_table(path, sep="#")
    with pytest.raises(DataError, match="a point or a comma"):
        read_table(path, decimal="x")


def test_texts_with_commas_stay_texts(tmp_path):
    table = read_table(write(tmp_path, 'id;place\n1;"Bonn, Rhein"\n2;"Rome, Tiber"\n'))
    assert table.columns["place"] == ["Bonn, Rhein", "Rome, Tiber"]


def test_a_file_without_a_header_is_recognised(tmp_path):
    table = read_table(write(tmp_path, "1.5,2\n3.5,4\n5.5,6\n"))
    assert list(table.columns) == ["x0", "x1"]
    assert table.n_rows == 3
    assert any("x0, x1" in note for note in table.notes)


def test_an_answer_is_written_as_the_table_was(tmp_path):
    path = write(tmp_path, "id;a\nx;1,5\ny;2,5\n")
    read_table(path).write(tmp_path / "out.csv", {"cluster": [0, 1]})
    assert (tmp_path / "out.csv").read_text() == "id;a;cluster\nx;1,5;0\ny;2,5;1\n"
    np.testing.assert_array_equal(read_table(tmp_path / "out.csv").columns["a"], [1.5, 2.5])


def test_excel_sheets_are_read(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    import datetime

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "people"
    for row in (
        ["name", "height", "born", None],
        ["ann", 1.7, datetime.datetime(1990, 5, 1), None],
        ["bob", None, datetime.datetime(1980, 1, 2), None],
        [None, None, None, None],
    ):
        sheet.append(row)
    book.create_sheet("more").append(["x"])
    path = tmp_path / "people.xlsx"
    book.save(path)
    table = read_table(path)
    assert table.n_rows == 2
    np.testing.assert_array_equal(table.columns["height"], [1.7, np.nan])
    assert table.columns["born"] == ["1990-05-01", "1980-01-02"]
    assert "'people'" in table.notes[0]
    with pytest.raises(DataError, match="no sheet 'peeple'; its sheets are people, more"):
        read_table(path, sheet="peeple")
    (tmp_path / "bad.xlsx").write_text("no")
    with pytest.raises(DataError, match="cannot be read as Excel"):
        read_table(tmp_path / "bad.xlsx")


def problems(tmp_path, text, **how):
    with pytest.raises(UnusableColumnsError) as found:
        prepare(read_table(write(tmp_path, text), text=["id"]), aside=["id"], **how)
    return found.value


def test_one_typing_error_is_named_with_its_row_and_is_no_reason_for_one_hot(tmp_path):
    cells = [f"v{k},{100 + k}" for k in range(1, 60)]
    cells[16] = "v17,1O5"
    ids = [f"v{k}" for k in range(1, 60)]
    error = problems(tmp_path, "id,height\n" + "\n".join(cells) + "\n", ids=ids)
    assert "'height' is not a number in row v17 ('1O5')" in str(error)
    assert "one_hot" not in str(error)
    assert error.problems["typo"] == ["height"]


def test_dates_are_named_as_dates(tmp_path):
    error = problems(tmp_path, "id,x,born\na,1,2001-02-03\nb,2,2002-03-04\n")
    assert "'born' holds dates" in str(error)
    assert "one_hot" not in str(error)


def test_many_columns_with_gaps_are_a_list(tmp_path):
    names = [f"c{k}" for k in range(18)]
    text = ",".join(["id", *names]) + "\n" + "a" + ",1" * 18 + "\nb" + "," * 18 + "\n"
    lines = str(problems(tmp_path, text)).splitlines()
    assert sum("missing value" in line for line in lines) == 18


def test_constant_columns_are_left_out_and_named(tmp_path):
    table = read_table(write(tmp_path, "a,b,c\n1,7,2\n2,7,3\n"))
    found = prepare(table)
    assert found.names == ["a", "c"]
    assert any("one value throughout: b" in note for note in found.notes)
    assert prepare(table, columns=["a", "b"]).names == ["a", "b"]  # asked for by name


@pytest.mark.parametrize(
    ("name", "told"),
    [("ID", "Did you mean 'id'"), (" id ", "Did you mean 'id'"), ("a,b", "on its own: a, b")],
)
def test_a_wrong_name_suggests_the_right_one(tmp_path, name, told):
    table = read_table(write(tmp_path, "id,a,b\n1,2,3\n"))
    with pytest.raises(DataError, match=told):
        table.check_names([name])


def test_a_missing_file_is_refused_before_anything_is_imported(tmp_path):
    code = (
        "import sys\nfrom sidelight.cli import main\n"
        "sys.argv = ['sidelight', 'fit', 'nowhere.csv', '--out', 'o.csv']\n"
        "try:\n    main()\nexcept SystemExit as end:\n"
        "    print(end.code, sorted({'sklearn', 'numba', 'scipy'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.strip() == "2 []"
    assert "no such file" in done.stderr


def test_decimal_commas_in_every_column_are_not_taken_for_separators(tmp_path):
    lines = ["name;length;width", *(f"v{k};{k},25;{k},5" for k in range(9))]
    table = read_table(write(tmp_path, "\n".join(lines) + "\n"))
    assert list(table.columns) == ["name", "length", "width"]
    np.testing.assert_array_equal(table.columns["length"], np.arange(9) + 0.25)


def test_a_file_of_decimal_commas_without_a_header(tmp_path):
    table = read_table(write(tmp_path, "\n".join(f"{k},5;{k + 1},25" for k in range(9)) + "\n"))
    np.testing.assert_array_equal(table.columns["x0"], np.arange(9) + 0.5)
    np.testing.assert_array_equal(table.columns["x1"], np.arange(9) + 1.25)
