"""Collect statements about the rows of a table: from files, a column, or an .h5ad file."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import add
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sidelight._reading import refuse_missing
from sidelight._wording import counted
from sidelight.exceptions import SidelightError, UnknownNumberOfRowsError
from sidelight.side import KINDS, Reading, SideInformation, read_all, usable_kinds
from sidelight.tables import Table, as_table, open_h5ad


def gather(
    side: Any,
    data: Any = None,
    *,
    id: str | None = None,
    labels: str | None = None,
    pairs_key: str | None = None,
    n_rows: int | None = None,
    **how: Any,
) -> SideInformation:
    """Collect statements: about the rows of a table, or about the rows that they name.

    Parameters
    ----------
    side : path, SideInformation, or several of them
        The statements.
    data : path, data frame or Table, optional
        The table that they are about.
    id : str, optional
        Column of the table with the row ids that the statements use; cells (.h5ad) have names.
    labels : str, optional
        Column of the table with the classes that are known.
    pairs_key : str, optional
        Key of ``uns`` with statements that an .h5ad file holds.
    n_rows : int, optional
        The number of rows, if there is no table; by default those that one file names.
    **how
        How files are read: see `sidelight.side.read_all`.

    Returns
    -------
    SideInformation

    Examples
    --------
    >>> import pandas as pd
    >>> from sidelight import SideInformation, study
    >>> people = pd.DataFrame({"who": ["ann", "bob", "cy"], "known": ["young", None, "old"]})
    >>> said = SideInformation.from_pairs(must=[("ann", "bob")], index=people["who"])
    >>> study.gather(said, people, id="who", labels="known")
    SideInformation(3 rows; 1 must, 2 label; 2 classes)
    """
    found = collect(side, data, id=id, labels=labels, pairs_key=pairs_key, n_rows=n_rows, **how)
    for note in found.notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return found.side


def collect(
    side: Any,
    data: Any = None,
    *,
    id: str | None = None,
    labels: str | None = None,
    pairs_key: str | None = None,
    n_rows: int | None = None,
    **how: Any,
) -> Reading:
    r"""Collect statements as `gather` does, with notes about what was left out of the files.

    Parameters
    ----------
    side, data, id, labels, pairs_key, n_rows, **how
        See `gather`.

    Returns
    -------
    sidelight.side.Reading
        The statements, the other columns of the file where there is one and nothing else, and
        notes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sidelight import study
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "said.csv"
    >>> _ = path.write_text("kind,i,class,mood\nlabel,0,cat,good\nlabel,1,dog,bad\n")
    >>> found = study.collect(path)
    >>> found.side, list(found.extra)
    (SideInformation(2 rows; 2 label; 2 classes), ['mood'])
    """
    sources = list(sources_of(side))
    if data is not None:
        if n_rows is not None:
            raise SidelightError(
                f"{n_rows:,} rows and a table are given; a table has its own rows, leave one out."
            )
        named = [name for name in (id, labels) if name is not None]
        table = as_table(data, text=named)
        return about(table, table.ids(id), sources, labels=labels, pairs_key=pairs_key, **how)
    for name in (id, labels, pairs_key):
        if name is not None:
            raise SidelightError(f"{name!r} is a part of the table, and no table is given.")
    if len(sources) != 1 and n_rows is None:
        problem = "several files may number rows differently" if sources else "no file is given"
        raise UnknownNumberOfRowsError(f"{problem}.", advice="Give data (and id), or n_rows.")
    if n_rows is None:
        return read_one(sources[0], n_samples="infer", **how)
    found = [read_one(source, n_samples=n_rows, **how) for source in sources]
    return joined(SideInformation.empty(n_rows), found)


def sources_of(side: Any) -> Iterator[Any]:
    """Files that are there, and SideInformation."""
    several = isinstance(side, Sequence) and not isinstance(side, str)
    for source in side if several else [side]:
        if isinstance(source, SideInformation):
            yield source
            continue
        if not isinstance(source, (str, PathLike)):
            raise SidelightError(
                f"side is a {type(source).__name__}; give files of statements or SideInformation."
            )
        refuse_missing(Path(source), SidelightError)
        yield Path(source)


def read_one(source: Any, **how: Any) -> Reading:
    return read_all(source, **how) if isinstance(source, Path) else Reading(source, {}, [])


def joined(
    empty: SideInformation, found: Sequence[Reading], more: Iterable[SideInformation] = ()
) -> Reading:
    """All of them together; the other columns of a file are kept where it is the only source."""
    more = list(more)
    extra = found[0].extra if len(found) == 1 and not more else {}
    side = reduce(add, [empty, *(part.side for part in found), *more])
    return Reading(side, extra, [note for part in found for note in part.notes])


def about(
    table: Table,
    ids: NDArray[Any] | None,
    sources: Iterable[Any],
    *,
    labels: str | None,
    pairs_key: str | None,
    **how: Any,
) -> Reading:
    """All statements about the rows of a table: files, a column of labels, those inside .h5ad."""
    found = [read_one(source, n_samples=table.n_rows, index=ids, **how) for source in sources]
    more = []
    if labels is not None:
        more.append(SideInformation.from_labels(table.labels(labels), index=ids))
    if pairs_key is not None:
        more.append(statements_inside(table.path, pairs_key))
    return joined(SideInformation.empty(table.n_rows, index=ids), found, more)


def statements_inside(path: Path, pairs_key: str) -> SideInformation:
    """The statements that an .h5ad file keeps about its cells."""
    from sidelight.bio import get_statements

    if not is_cells(path):
        raise SidelightError(
            f"statements inside the data ({pairs_key!r}) are for .h5ad files; give statements "
            f"about {path} as files."
        )
    adata = open_h5ad(path, backed="r")
    try:
        return get_statements(adata, pairs_key=pairs_key)
    finally:
        adata.file.close()


def is_cells(path: Path) -> bool:
    return path.suffix.lower() == ".h5ad"


def usable_by(known: SideInformation, model: Any) -> tuple[SideInformation, list[str]]:
    """The statements that a model can use, and a sentence about those that are left out."""
    fits = usable_kinds(model.accepts)
    usable = known.only(kind=fits)
    n_left = known.n_statements - usable.n_statements
    if not n_left:
        return known, []
    left = sorted({KINDS[code] for code in known.statements.kind}.difference(fits))
    return usable, [
        f"{counted(n_left, 'statement')} ({', '.join(left)}) left out: "
        f"{type(model).__name__} cannot use them."
    ]
