"""Files that are damaged, missing, or written to harm: an error that names the file, or no harm."""

import csv
import os
import secrets
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odd_names import assert_identical
from sidelight._writing import replacing
from sidelight.exceptions import SideInformationError
from sidelight.side import SideInformation

FORMATS = ("csv", "tsv", "jsonl", "parquet")
LONG = "5" * 5_000


def write_text(path, text):
    path.write_text(text, encoding="utf-8")
    return path


# Damage


@pytest.fixture
def odd_side():
    """Pairs, classes of several types, annotators and ids: every column of a file is in use."""
    rows = range(60)
    return SideInformation.from_columns(
        [("must", "label", "not_label")[k % 3] for k in rows],
        [f"r{k}" for k in rows],
        ["r60" if k % 3 == 0 else None for k in rows],
        class_=[None if k % 3 == 0 else ("a", 3, "ü")[k // 3 % 3] for k in rows],
        annotator=[("ann", "bob")[k % 2] for k in rows],
        index=[f"r{k}" for k in range(61)],
    )


def damaged(whole, rng):
    """One bit turned, the end cut off, a stretch of noise, or twenty bytes here and there."""
    broken = bytearray(whole)
    how = rng.integers(4)
    if how == 0:
        broken[rng.integers(len(broken))] ^= 1 << int(rng.integers(8))
    elif how == 1:
        del broken[rng.integers(len(broken)) :]
    elif how == 2:
        start = int(rng.integers(len(broken)))
        stretch = broken[start : start + int(rng.integers(1, 40))]
        broken[start : start + len(stretch)] = rng.bytes(len(stretch))
    else:
        for place in rng.integers(len(broken), size=20):
            broken[place] = rng.integers(256)
    return bytes(broken)


@pytest.mark.filterwarnings("ignore:.*not used:UserWarning")  # damage in the name of a column
@pytest.mark.parametrize("format", FORMATS)
def test_a_damaged_file_is_an_error_that_names_it_and_never_another_one(tmp_path, odd_side, format):
    odd_side.write(tmp_path / f"good.{format}")
    whole = (tmp_path / f"good.{format}").read_bytes()
    rng = np.random.default_rng(0)
    path = tmp_path / f"broken.{format}"
    messages = []
    for _ in range(200):
        path.write_bytes(damaged(whole, rng))
        try:
            SideInformation.read(path, index=odd_side.index)
        except SideInformationError as error:
            messages.append(str(error))
    assert len(messages) > 50
    for word in ("thrift", "snappy", "Buffer", "flatbuffers", "codec"):
        assert word not in "".join(messages)
    assert all(path.name in message for message in messages)


def test_a_turned_bit_in_the_cells_of_our_own_parquet_is_noticed(tmp_path, odd_side):
    odd_side.write(tmp_path / "good.parquet")
    whole = bytearray((tmp_path / "good.parquet").read_bytes())
    place = whole.index(b"not_label")  # in the page that holds the kinds
    whole[place] ^= 1
    (tmp_path / "broken.parquet").write_bytes(bytes(whole))
    with pytest.raises(SideInformationError, match=r"broken\.parquet .*damaged"):
        SideInformation.read(tmp_path / "broken.parquet")


def test_encoded_classes_that_are_no_json_name_the_file(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    table = SideInformation.from_labels([3, "3"]).to_frame("pyarrow")
    spoilt = table.set_column(3, "class", pyarrow.array(["3", "{"]))
    pyarrow.parquet.write_table(spoilt, tmp_path / "a.parquet")
    with pytest.raises(SideInformationError, match=r"a\.parquet: column class.*'\{'.*JSON"):
        SideInformation.read(tmp_path / "a.parquet", n_samples=2)
    with pytest.raises(SideInformationError, match=r"the frame: column class.*JSON"):
        SideInformation.from_frame(spoilt, n_samples=2)


@pytest.mark.parametrize("noted", ['["colour"]', '"class"', "[3]", "[[]]"])
def test_a_list_of_encoded_columns_that_sidelight_has_not_written_is_refused(tmp_path, noted):
    pytest.importorskip("pyarrow")
    table = SideInformation.from_labels(["a"]).to_frame("pyarrow")
    table = table.replace_schema_metadata({"sidelight": f'{{"encoded": {noted}}}'})
    with pytest.raises(SideInformationError, match="the frame has metadata"):
        SideInformation.from_frame(table, n_samples=1)


def test_text_in_parquet_that_is_not_utf8_names_the_file(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    label = pyarrow.array([b"caf\xe9"]).view(pyarrow.string())
    table = pyarrow.table({"kind": ["label"], "i": [0], "class": label})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(SideInformationError, match=r"a\.parquet .*UTF-8"):
        SideInformation.read(tmp_path / "a.parquet", n_samples=1)


# No such file


@pytest.mark.parametrize("format", [*FORMATS, "pairs", "graph"])
def test_reading_a_folder_or_a_missing_file_says_so(tmp_path, format):
    told = {"format": format, "n_samples": 3, **({"kind": "must"} if format == "graph" else {})}
    with pytest.raises(SideInformationError, match="is a folder; give the name of a file"):
        SideInformation.read(tmp_path, **told)
    with pytest.raises(SideInformationError, match=r"nothing\.txt: there is no such file"):
        SideInformation.read(tmp_path / "nothing.txt", **told)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_a_file_that_may_not_be_read_says_so(tmp_path):
    path = write_text(tmp_path / "a.csv", "kind,i,j\n")
    path.chmod(0)
    with pytest.raises(SideInformationError, match=r"a\.csv may not be read"):
        SideInformation.read(path, n_samples=3)


# Sizes


@pytest.mark.parametrize("format", FORMATS)
def test_a_name_of_any_length_is_read_back(tmp_path, format):
    side = SideInformation.from_labels(["x" * 200_000, None, "b,\n" * 100_000])
    before = csv.field_size_limit()
    side.write(tmp_path / f"a.{format}")
    told = {"n_samples": 3} if format in ("csv", "tsv") else {}
    assert_identical(SideInformation.read(tmp_path / f"a.{format}", **told), side)
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", f"kind,i,j\nmust,0,{LONG}\n", r"line 2: column j is '555.*not a row number"),
        ("a.csv", f"kind,i,class\nlabel,{LONG},a\n", r"line 2: column i is '555.*not a row number"),
        ("a.jsonl", f'{{"kind":"must","i":0,"j":{LONG}}}', r"line 1: a number of more than 4,300"),
        ("a.jsonl", f'{{"sidelight":1,"n_samples":{LONG}}}', r"line 1: a number of more than"),
        ("a.txt", f"0 {LONG} must\n", r"line 1: column j is '555.*not a row number"),
    ],
)
def test_a_number_of_5000_digits_is_a_short_sentence(tmp_path, name, text, message):
    format = "pairs" if name == "a.txt" else None
    with pytest.raises(SideInformationError, match=message) as caught:
        SideInformation.read(write_text(tmp_path / name, text), n_samples=3, format=format)
    assert len(str(caught.value)) < 500


def test_an_id_of_5000_digits_is_an_unknown_id(tmp_path):
    path = write_text(tmp_path / "a.csv", f"kind,i,j\nmust,{LONG},1\n")
    with pytest.raises(SideInformationError, match="rows that are not in the index") as caught:
        SideInformation.read(path, index=[1, 2])
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("name", [10**5_000, -(10**4_300)], ids=["positive", "negative"])
def test_a_class_that_no_file_could_hold_is_refused(name):
    with pytest.raises(SideInformationError, match=r"whole number of more than 4,300 digits"):
        SideInformation.from_labels([name])


@pytest.mark.parametrize("n_samples", [10**14, 10**30])
def test_more_rows_than_any_table_has_are_refused_with_a_sentence(tmp_path, n_samples):
    message = r"n_samples is 1[0,]+.*at most 1,000,000,000,000"
    header = f'{{"sidelight":1,"n_samples":{n_samples},"index":null}}\n'
    with pytest.raises(SideInformationError, match=rf"a\.jsonl: {message}"):
        SideInformation.read(write_text(tmp_path / "a.jsonl", header))
    with pytest.raises(SideInformationError, match=message):
        SideInformation.empty(n_samples)
    path = write_text(tmp_path / "a.csv", f"kind,i,j\nmust,0,{10**14}\n")
    with pytest.raises(SideInformationError, match=rf"a\.csv: {message}"):
        SideInformation.read(path, n_samples="infer")


# Cells that a spreadsheet would execute

FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "=cmd|' /C calc'!A0", "-", "=", "+"]


def first_characters(path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="," if path.suffix == ".csv" else "\t")
        return {cell[:1] for row in rows for cell in row}


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_no_cell_that_is_written_begins_a_formula_and_all_are_read_back(tmp_path, format):
    side = SideInformation.from_columns(
        "label",
        FORMULAS,
        class_=FORMULAS[::-1],
        annotator=FORMULAS,
        vocabulary=FORMULAS,
        index=FORMULAS,
    )
    path = tmp_path / f"a.{format}"
    side.write(path)
    assert not first_characters(path) & set("=+-@\t\r")
    assert_identical(SideInformation.read(path, index=FORMULAS), side)


def test_formulas_are_kept_on_request_and_read_back_too(tmp_path):
    side = SideInformation.from_labels(["=1+1", "CD4-", "-x", -5])
    side.write(tmp_path / "a.csv", keep_formulas=True)
    assert "label,0,,=1+1,1.0,,\n" in (tmp_path / "a.csv").read_text()
    assert "label,2,,-x,1.0,,\n" in (tmp_path / "a.csv").read_text()
    assert_identical(SideInformation.read(tmp_path / "a.csv", n_samples=4), side)


def test_negative_numbers_are_no_formulas(tmp_path):
    side = SideInformation.from_labels([-5, -2.5, None])
    side.write(tmp_path / "a.csv")
    assert "label,0,,-5,1.0,,\n" in (tmp_path / "a.csv").read_text()


@given(name=st.text(alphabet="=+-@\t\r\n '\"a1.,;", min_size=1, max_size=5))
def test_every_text_that_could_be_a_formula_survives_a_csv_file(name, tmp_path_factory):
    path = tmp_path_factory.mktemp("formulas") / "a.csv"
    side = SideInformation.from_labels([name, None])
    side.write(path)
    assert not first_characters(path) & set("=+-@\t\r")
    assert_identical(SideInformation.read(path, n_samples=2), side)


# What a killed process leaves behind

KILLED = """
import os, signal, sys
from pathlib import Path
from sidelight._writing import replacing
with replacing(Path(sys.argv[1]), overwrite=True) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="a dead process is told by its number on POSIX only")
def test_the_next_write_removes_what_a_killed_process_left(tmp_path):
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "a.csv")], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 1
    SideInformation.from_labels(["a"]).write(tmp_path / "b.csv")
    assert os.listdir(tmp_path) == ["b.csv"]


def test_a_file_that_is_being_written_is_left_alone(tmp_path):
    with replacing(tmp_path / "a.csv", overwrite=False) as temporary:
        temporary.write_text("half")
        SideInformation.from_labels(["a"]).write(tmp_path / "b.csv")
        assert temporary.read_text() == "half"
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "b.csv"]


def test_temporary_files_of_others_are_left_alone(tmp_path):
    other = f".sidelight-0123abcd-{2**22}-{secrets.token_hex(8)}.tmp"  # of another machine
    for name in (other, ".sidelight-notes.tmp", f".sidelight-{secrets.token_hex(8)}.tmp"):
        write_text(tmp_path / name, "x")
    SideInformation.from_labels(["a"]).write(tmp_path / "b.csv")
    assert len(os.listdir(tmp_path)) == 4
