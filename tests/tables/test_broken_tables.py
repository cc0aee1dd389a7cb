"""Tables that are damaged, larger than memory, or would harm a spreadsheet."""

import csv
import io
import zipfile

import numpy as np
import pytest

from sidelight import _memory
from sidelight.exceptions import DataError
from sidelight.tables import _arrays, read_table


def with_header(shape, data=b"", dtype="<f8"):
    """An .npy file that claims a shape, and the bytes that it really has."""
    header = io.BytesIO()
    claim = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, claim)
    return header.getvalue() + data


def zipped(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, member in members.items():
            archive.writestr(f"{name}.npy", member)
    return path


# Arrays


@pytest.mark.parametrize("shape", [(10**12, 4), (10**30, 4), (2**62, 2**62)])
def test_a_header_that_claims_more_than_the_file_holds_is_refused_before_reading(tmp_path, shape):
    short = with_header(shape, bytes(320))
    zipped(tmp_path / "a.npz", X=short)
    (tmp_path / "a.npy").write_bytes(short)
    for name in ("a.npz", "a.npy"):
        with pytest.raises(DataError, match=rf"{name}.* claims .*damaged"):
            read_table(tmp_path / name)


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_arrays_larger_than_memory_are_refused_before_reading(tmp_path, monkeypatch, name):
    X = np.ones((2_000, 50))
    np.save(tmp_path / "a.npy", X)
    np.savez_compressed(tmp_path / "a.npz", X=X)
    monkeypatch.setattr(_memory, "available", lambda: 700_000)
    with pytest.raises(DataError, match=rf"{name} needs 0\.8 MB of memory.*0\.7 MB.*Dask"):
        read_table(tmp_path / name)
    monkeypatch.setattr(_memory, "available", lambda: 900_000)
    assert read_table(tmp_path / name).n_rows == 2_000


def test_a_limit_that_nobody_could_know_of_is_not_called_damage(tmp_path, monkeypatch):
    np.savez(tmp_path / "a.npz", X=np.ones((20, 2)))

    def refuse(*_args, **_more):
        raise MemoryError("Unable to allocate 1.49 GiB")

    monkeypatch.setattr(_arrays, "_read_members", refuse)
    with pytest.raises(DataError, match=r"a\.npz does not fit into memory .*1\.49 GiB.*Dask"):
        read_table(tmp_path / "a.npz")


def test_only_the_members_that_are_needed_are_read(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, X=np.ones((3, 2)), y=[0, 1, 0], images=np.ones((1_000, 1_000)))
    monkeypatch.setattr(_memory, "available", lambda: 10_000)
    table = read_table(path)
    assert list(table.columns) == ["x0", "x1", "y"]
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("notes.npy", b"no array at all")
    assert read_table(path).n_rows == 3


def test_a_sparse_matrix_is_refused_before_it_is_read(tmp_path):
    junk = b"no array at all"
    path = zipped(tmp_path / "a.npz", data=junk, indices=junk, indptr=junk)
    with pytest.raises(DataError, match="sparse matrix"):
        read_table(path)


def test_arrays_of_objects_are_refused_without_unpickling(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.array([[1, "a"]], dtype=object))
    with pytest.raises(DataError, match=r"a\.npz.* X .*objects"):
        read_table(tmp_path / "a.npz")


def test_damaged_arrays_are_an_error_that_names_the_file(tmp_path):
    np.savez_compressed(tmp_path / "good.npz", X=np.random.default_rng(0).random((20, 3)))
    whole = (tmp_path / "good.npz").read_bytes()
    rng = np.random.default_rng(0)
    refused = []
    for k in range(150):
        broken = bytearray(whole[: rng.integers(1, len(whole))] if k % 2 else whole)
        for place in rng.integers(len(broken), size=3):
            broken[place] = rng.integers(256)
        (tmp_path / "broken.npz").write_bytes(bytes(broken))
        try:
            read_table(tmp_path / "broken.npz")
        except DataError as error:
            refused.append(str(error))
    assert len(refused) > 100
    assert all("broken.npz" in message for message in refused)


# Parquet and text


def test_damaged_parquet_is_an_error_that_names_the_file(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    columns = {"x": np.arange(30.0), "who": [f"é{k}" for k in range(30)]}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "good.parquet")
    whole = (tmp_path / "good.parquet").read_bytes()
    rng = np.random.default_rng(0)
    refused = []
    for k in range(200):
        broken = bytearray(whole[: rng.integers(1, len(whole))] if k % 4 == 0 else whole)
        for place in rng.integers(len(broken), size=3):
            broken[place] = rng.integers(256)
        (tmp_path / "broken.parquet").write_bytes(bytes(broken))
        try:
            read_table(tmp_path / "broken.parquet")
        except DataError as error:
            refused.append(str(error))
    assert len(refused) > 100
    assert all("broken.parquet" in message for message in refused)
    for word in ("thrift", "snappy", "Buffer", "codec"):
        assert word not in "".join(refused)


def test_a_turned_bit_in_the_parquet_that_we_write_is_noticed(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.csv").write_text("x,who\n1,annabel\n2,barbara\n")
    read_table(tmp_path / "a.csv").write(tmp_path / "b.parquet", {})
    whole = bytearray((tmp_path / "b.parquet").read_bytes())
    whole[whole.index(b"annabel")] ^= 1
    (tmp_path / "b.parquet").write_bytes(bytes(whole))
    with pytest.raises(DataError, match=r"b\.parquet .*damaged"):
        read_table(tmp_path / "b.parquet")


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".npy", ".npz", ".h5ad"])
def test_reading_a_folder_or_a_missing_file_says_so(tmp_path, suffix):
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(DataError, match="is a folder; give the name of a file"):
        read_table(tmp_path / f"folder{suffix}")
    with pytest.raises(DataError, match="there is no such file"):
        read_table(tmp_path / f"nothing{suffix}")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("tabel.csv", "table.csv"),
        ("TABLE.CSV", "table.csv"),
        ("table", "table.csv"),
        ("table.tvs", "table.csv"),
        ("tabel.tsv", "table.tsv"),
        ("b.csv", None),
        ("no/table.csv", None),
    ],
)
def test_a_mistyped_file_is_found_by_its_name_and_not_by_its_ending(tmp_path, typed, meant):
    for name in ("table.csv", "a.csv", *(["table.tsv"] if meant == "table.tsv" else [])):
        (tmp_path / name).write_text("x\n1\n", encoding="utf-8")
    path = tmp_path / typed
    if path.exists():
        pytest.skip("this file system does not tell capitals apart")
    with pytest.raises(DataError) as caught:
        read_table(path)
    told = f"there is no such file; did you mean {tmp_path / meant}?" if meant else "such file."
    assert str(caught.value).endswith(told)


def test_a_cell_of_any_length_is_read_and_written_back(tmp_path):
    (tmp_path / "a.csv").write_text(f"x,note\n1,{'n' * 200_000}\n")
    table = read_table(tmp_path / "a.csv")
    table.write(tmp_path / "b.csv", {"more": ["y" * 150_000]})
    again = read_table(tmp_path / "b.csv")
    assert again.columns["note"] == ["n" * 200_000]
    assert again.columns["more"] == ["y" * 150_000]


# Cells that a spreadsheet would execute

FORMULAS = ["=1+1", "+x", "-x", "@a", "=cmd|' /C calc'!A0", '="a"']


def cells_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="," if path.suffix == ".csv" else "\t"))


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize("source", ["a.csv", "a.parquet"])
def test_no_cell_of_a_table_that_is_written_begins_a_formula(tmp_path, suffix, source):
    if source == "a.csv":
        with open(tmp_path / source, "w", encoding="utf-8", newline="") as file:
            rows = zip(range(-3, 3), FORMULAS, strict=True)
            csv.writer(file).writerows([["x", "=note"], *rows])
    else:
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet")
        columns = {"x": np.arange(-3, 3), "=note": FORMULAS}
        pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / source)
    table = read_table(tmp_path / source)
    path = tmp_path / f"b{suffix}"
    table.write(path, {"cluster_name": FORMULAS[::-1]})
    rows = cells_of(path)
    numbers = {row[0] for row in rows[1:]}
    assert numbers == {"-3", "-2", "-1", "0", "1", "2"}
    others = [cell for row in rows for cell in row if cell not in numbers]
    assert not {cell[:1] for cell in others} & set("=+-@\t\r")
    again = read_table(path)
    assert again.columns["=note"] == FORMULAS
    assert again.columns["cluster_name"] == FORMULAS[::-1]
    assert again.labels("cluster_name") == FORMULAS[::-1]
    kept = tmp_path / f"c{suffix}"
    table.write(kept, {"cluster_name": FORMULAS[::-1]}, keep_formulas=True)
    assert [row[2] for row in cells_of(kept)[1:]] == FORMULAS[::-1]
    assert [row[1] for row in cells_of(kept)] == ["=note", *FORMULAS]


def test_numbers_and_marks_of_missing_values_are_no_formulas(tmp_path):
    (tmp_path / "a.csv").write_text("x,who\n-1.5,-3\n-,-\n+2e3,+4\n")
    table = read_table(tmp_path / "a.csv", text=["who"])
    table.write(tmp_path / "b.csv", {"cluster": [0, 1, -1]})
    assert cells_of(tmp_path / "b.csv")[1:] == [
        ["-1.5", "-3", "0"],
        ["-", "-", "1"],
        ["+2e3", "+4", "-1"],
    ]
