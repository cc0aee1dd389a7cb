"""The user's own tables: what is read, what is refused by name, and what is written back."""

import csv
import subprocess
import sys

import numpy as np
import pytest

from sidelight.datasets import load
from sidelight.exceptions import DataError, SidelightError
from sidelight.tables import _text, read_table

MESSY = '''\
patient,age,town,"weight, kg",note
p007,31,Bonn,70.5,
p01,NA,Rome,,"says ""hm"""
p2,58,,81,x
'''


@pytest.fixture
def messy(tmp_path):
    path = tmp_path / "messy.csv"
    path.write_text(MESSY, encoding="utf-8")
    return path


def test_columns_are_numbers_or_texts_with_gaps(messy):
    table = read_table(messy)
    assert table.n_rows == 3
    np.testing.assert_array_equal(table.columns["age"], [31, np.nan, 58])
    np.testing.assert_array_equal(table.columns["weight, kg"], [70.5, np.nan, 81])
    assert table.columns["town"] == ["Bonn", "Rome", None]
    assert table.columns["note"] == [None, 'says "hm"', "x"]


@pytest.mark.parametrize(
    ("cells", "ids"),
    [
        (["007", "8"], np.array(["007", "8"])),
        (["7", "8"], np.array([7, 8])),
        (["123456789012345678", "123456789012345679"], [123456789012345678, 123456789012345679]),
        (["NA", "US"], np.array(["NA", "US"])),
        (["1e3", "2"], np.array(["1e3", "2"])),
    ],
)
def test_ids_are_kept_as_they_are_written(tmp_path, cells, ids):
    path = tmp_path / "ids.csv"
    path.write_text("id\n" + "\n".join(cells) + "\n", encoding="utf-8")
    found = read_table(path, text=["id"]).ids("id")
    assert found.dtype.kind == np.asarray(ids).dtype.kind
    np.testing.assert_array_equal(found, ids)


@pytest.mark.parametrize(("cells", "told"), [("a,b,a", "more than one row: a"), ("a,,c", "row 2")])
def test_ids_that_cannot_tell_rows_apart_are_named(tmp_path, cells, told):
    path = tmp_path / "ids.csv"
    path.write_text("id,x\n" + "".join(f"{c},1\n" for c in cells.split(",")), encoding="utf-8")
    with pytest.raises(DataError, match=told):
        read_table(path, text=["id"]).ids("id")


def test_numbers_that_would_lose_zeros_or_are_pythons_own_are_texts(tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text("zip,odd,fine\n01067,1_000,0.5\n53111,2,-0.25\n", encoding="utf-8")
    table = read_table(path)
    assert table.columns["zip"] == ["01067", "53111"]
    assert table.columns["odd"] == ["1_000", "2"]
    np.testing.assert_array_equal(table.columns["fine"], [0.5, -0.25])


def test_labels_are_read_as_in_files_of_statements(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text('x,y\n1,3\n1,"""3"""\n1,cat\n1,NA\n1,\n', encoding="utf-8")
    assert read_table(path, text=["y"]).labels("y") == [3, "3", "cat", None, None]


def test_a_column_that_turns_to_text_late_is_text_from_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "_PIECE", 2)
    path = tmp_path / "late.csv"
    path.write_text("a,b\n1.50,1\n2,2\n3,3\nx,4\n5,5\n", encoding="utf-8")
    table = read_table(path)
    assert table.columns["a"] == ["1.50", "2", "3", "x", "5"]
    np.testing.assert_array_equal(table.columns["b"], [1, 2, 3, 4, 5])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("a,b\n", "no rows"),
        ("a,a\n1,2\n", "the name 'a' twice"),
        ("a,\n1,2\n", "without a name"),
        ("a,b\n1,2\n1\n", "row 2 .* has 1 cell where there are 2 columns.$"),
        ("a,b\n1,2\n1\n3,4,5\n", "row 2 .* has 1 cell .* wrong number of cells: 3.$"),
        ('a,b\n1,"2\n', "quote"),
    ],
)
def test_a_table_that_is_none_says_why(tmp_path, text, told):
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=told):
        read_table(path)


def test_other_encodings_and_formats_are_told(tmp_path):
    (tmp_path / "latin.csv").write_bytes("n\xe4me\n1\n".encode("latin-1"))
    with pytest.raises(DataError, match="UTF-8"):
        read_table(tmp_path / "latin.csv")
    (tmp_path / "table.ods").write_bytes(b"PK")
    with pytest.raises(DataError, match="no suffix"):
        read_table(tmp_path / "table.ods")
    with pytest.raises(DataError, match="no such file"):
        read_table(tmp_path / "nothing.csv")
    (tmp_path / "no.parquet").write_text("no")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        read_table(tmp_path / "no.parquet")
    (tmp_path / "no.npz").write_text("no")
    with pytest.raises(DataError, match="not a file of plain numpy arrays"):
        read_table(tmp_path / "no.npz")


def test_written_cells_are_those_that_were_read(messy, tmp_path):
    out = tmp_path / "out.csv"
    read_table(messy).write(out, {"cluster": [0, 1, 0]})
    with open(messy, newline="", encoding="utf-8") as before, open(out, newline="") as after:
        old, new = list(csv.reader(before)), list(csv.reader(after))
    assert [row[:-1] for row in new] == old
    assert [row[-1] for row in new] == ["cluster", "0", "1", "0"]


def test_nothing_is_overwritten_unless_asked_and_nothing_is_left_on_failure(messy, tmp_path):
    table, out = read_table(messy), tmp_path / "out.csv"
    out.write_text("mine")
    with pytest.raises(SidelightError, match="--overwrite"):
        table.write(out, {"cluster": [0, 1, 0]})
    with pytest.raises(ValueError, match="zip"):
        table.write(out, {"cluster": [0, 1, 0], "short": [1]}, overwrite=True)
    assert out.read_text() == "mine"
    table.write(out, {"cluster": [0, 1, 0]}, overwrite=True)
    assert out.read_text() != "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["messy.csv", "out.csv"]
    with pytest.raises(DataError, match="written as one of"):
        table.write(tmp_path / "out.xlsx", {})
    with pytest.raises(DataError, match="'age' already"):
        table.write(tmp_path / "more.csv", {"age": [0, 1, 0]})


def test_parquet_keeps_its_types(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {
        "id": arrow.array([2**60, 2**60 + 1]),
        "x": arrow.array([1, None]),
        "flag": arrow.array([True, False]),
        "town": arrow.array(["Bonn", None]).dictionary_encode(),
        "day": arrow.array([0, 1], arrow.date32()),
    }
    source = arrow.table(columns)
    parquet.write_table(source, tmp_path / "in.parquet")
    table = read_table(tmp_path / "in.parquet")
    np.testing.assert_array_equal(table.ids("id"), [2**60, 2**60 + 1])
    np.testing.assert_array_equal(table.columns["x"], [1, np.nan])
    np.testing.assert_array_equal(table.columns["flag"], [1, 0])
    assert table.columns["town"] == ["Bonn", None]
    assert table.columns["day"] == ["1970-01-01", "1970-01-02"]
    table.write(tmp_path / "out.parquet", {"cluster": [1, 0]})
    written = parquet.read_table(tmp_path / "out.parquet")
    assert written.drop_columns(["cluster"]).equals(source)
    table.write(tmp_path / "out.csv", {"cluster": [1, 0]})
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[1] == "1152921504606846976,1,1,Bonn,1970-01-01,1"
    assert lines[2] == "1152921504606846977,,0,,1970-01-02,0"


def test_arrays_have_numbered_columns_and_a_truth_that_is_no_data(tmp_path):
    X = np.arange(6.0).reshape(3, 2) + 0.5
    np.save(tmp_path / "plain.npy", X)
    table = read_table(tmp_path / "plain.npy")
    assert list(table.columns) == ["x0", "x1"]
    np.testing.assert_array_equal(table.columns["x1"], X[:, 1])
    wine = load("wine")
    np.savez(
        tmp_path / "wine.npz",
        X=wine.X,
        y=wine.y,
        class_names=wine.class_names,
        feature_names=wine.feature_names,
    )
    table = read_table(tmp_path / "wine.npz")
    assert table.aside == ("y",)
    assert table.labels("y")[:1] == ["cultivar_1"]
    np.savez(tmp_path / "thin.npz", data=[1.0], indices=[0], indptr=[0, 1], shape=[1, 1])
    with pytest.raises(DataError, match="sparse matrix"):
        read_table(tmp_path / "thin.npz")
    np.save(tmp_path / "flat.npy", np.arange(3))
    with pytest.raises(DataError, match="rows and columns"):
        read_table(tmp_path / "flat.npy")


def test_csv_needs_no_data_frame_library(messy):
    code = (
        "import sys; from sidelight.tables import read_table; "
        f"read_table({str(messy)!r}); "
        "print([m for m in ('pandas', 'polars', 'pyarrow', 'sklearn') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
