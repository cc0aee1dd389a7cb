"""SideInformation: as many statements as rows, built, closed, checked, written and read.

Nine in ten statements are pairs of random rows, one in ten is a label, over ten classes; a tenth
of all is wrong. The base line is numpy reading the same table from text: `np.loadtxt` of the
columns kind, i, j, class, weight as plain numbers. Our text files say the same and more, so text
is the fair comparison; `np.load` of the binary array reads no text and checks nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import Case
from sidelight.side import CANNOT, LABEL, MUST, SideInformation

K = 10
SIZES = (10_000, 100_000, 1_000_000)


class Columns(NamedTuple):
    """The statements as columns, and a folder with the same table as text."""

    n: int
    kind: np.ndarray
    i: np.ndarray
    j: np.ndarray
    class_: np.ndarray
    weight: np.ndarray
    folder: Any

    @property
    def path(self) -> Path:
        return Path(self.folder.name)


class Built(NamedTuple):
    """A fresh object, which has computed nothing yet, beside its columns."""

    columns: Columns
    side: SideInformation


def statements(n: int) -> Columns:
    rng = np.random.default_rng(n)
    truth = rng.integers(K, size=n)
    i = rng.integers(n, size=n)
    j = (i + rng.integers(1, n, size=n)) % n
    wrong = rng.random(n) < 0.1
    kind = np.where((truth[i] == truth[j]) ^ wrong, MUST, CANNOT)
    labels = rng.random(n) < 0.1
    kind[labels], j[labels] = LABEL, -1
    class_ = np.where(labels, np.where(wrong, rng.integers(K, size=n), truth[i]), -1)
    columns = Columns(n, kind, i, j, class_, np.ones(n), tempfile.TemporaryDirectory())
    table = np.column_stack([kind, i, j, class_, columns.weight])
    np.savetxt(columns.path / "numbers.csv", table, fmt="%g", delimiter=",")
    side = build(columns, 0)
    for ending in ("csv", "jsonl", "parquet"):
        side.write(columns.path / f"there.{ending}")
    return columns


def fresh(columns: Columns) -> Built:
    return Built(columns, build(columns, 0))


def numpy_reads(data: Columns | Built, seed: int) -> np.ndarray:
    columns = data.columns if isinstance(data, Built) else data
    return np.loadtxt(columns.path / "numbers.csv", delimiter=",")


def build(data: Columns, seed: int) -> SideInformation:
    classes = np.where(data.class_ < 0, None, data.class_)
    return SideInformation.from_columns(
        data.kind, data.i, data.j, class_=classes, weight=data.weight, n_samples=data.n
    )


def close(data: Built, seed: int) -> Any:
    return data.side.closure()


def find_conflicts(data: Built, seed: int) -> Any:
    return data.side.conflicts()


def write_as(ending: str) -> Callable[[Built, int], None]:
    def write(data: Built, seed: int) -> None:
        data.side.write(data.columns.path / f"written.{ending}", overwrite=True)

    return write


def read_as(ending: str) -> Callable[[Columns, int], Any]:
    def read(data: Columns, seed: int) -> Any:
        options = {"n_samples": data.n} if ending == "csv" else {}
        return SideInformation.read(data.path / f"there.{ending}", **options)

    return read


def case(name: str, run: Callable[..., Any], prepare: Callable[..., Any] | None = None) -> Case:
    more = {} if prepare is None else {"prepare": prepare}
    return Case(name, statements, run, numpy_reads, SIZES, threads=("one",), **more)


CASES = [
    case("build", build),
    case("close", close, fresh),
    case("find conflicts, 10 % wrong", find_conflicts, fresh),
    *(case(f"write {ending}", write_as(ending), fresh) for ending in ("csv", "jsonl", "parquet")),
    *(case(f"read {ending}", read_as(ending)) for ending in ("csv", "jsonl", "parquet")),
]
