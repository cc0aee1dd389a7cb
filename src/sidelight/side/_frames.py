"""Side information as a data frame: pandas, polars and Arrow through one path."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sidelight.exceptions import SideInformationError
from sidelight.side._cells import map_distinct
from sidelight.side._kinds import KINDS
from sidelight.side._names import brief
from sidelight.side._sources import COLUMNS, check_columns

if TYPE_CHECKING:
    from sidelight.side._information import SideInformation

BACKENDS = ("pandas", "polars", "pyarrow")
_NAMED = ("class", "annotator", "vocabulary")  # the columns that hold names, of any type


def columns_of(frame: Any, name: str = "the frame") -> dict[str, Any]:
    """The columns of a data frame as arguments for ``SideInformation.from_columns``.

    Missing values (None, NaN, pandas' NA and NaT) become None. The one exception is a NaN among
    the weights: a NaN from a failed computation is not a missing value, and is refused.
    """
    import narwhals as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise SideInformationError(
            f"from_frame takes a pandas or polars DataFrame or a pyarrow Table, not "
            f"{type(frame).__name__}; collect a lazy frame first."
        ) from None
    except nw.exceptions.DuplicateError as error:
        came = " ".join(str(error).split())
        raise SideInformationError(f"{name} has a column twice ({came}); drop one.") from None
    check_columns(name, [str(column) for column in table.columns])
    columns: dict[str, Any] = {each: _values(table.get_column(each)) for each in table.columns}
    if "weight" in columns:
        columns["weight"] = _weights(table.get_column("weight"))
    for column in metadata(frame, name).get("encoded", ()):
        columns[column] = _decode(columns[column], name, column)
    columns["class_"] = columns.pop("class", None)
    return columns


def to_frame(side: "SideInformation", *, backend: str = "pandas") -> Any:
    """The statements as a data frame, one per line, rows by the user's ids where there are any.

    Classes of several types become a column of Python objects in pandas and polars, and of JSON
    texts in Arrow (noted in the schema's metadata): `columns_of` restores them all exactly.
    """
    if backend not in BACKENDS:
        raise SideInformationError(f"backend is one of {', '.join(BACKENDS)}, not {backend!r}.")
    if backend == "pyarrow":
        return arrow_table(side, {})
    import narwhals as nw

    columns = _objects(side)
    if backend == "pandas":
        frame = nw.from_dict(columns, backend="pandas").to_native()
        # Whole numbers with gaps: pandas would otherwise keep objects, or make floats of them.
        return frame.astype({"j": "Int64"}) if columns["i"].dtype.kind in "iu" else frame
    types = {bool: nw.Boolean, int: nw.Int64, float: nw.Float64, str: nw.String}
    schema: dict[str, Any] = dict.fromkeys(COLUMNS, nw.String) | {"weight": nw.Float64}
    if columns["i"].dtype.kind in "iu":
        schema |= {"i": nw.Int64, "j": nw.Int64}
    for name, names in _named(side).items():
        schema[name] = types.get(common_type(names), nw.Object)
    lists = {name: column.tolist() for name, column in columns.items()}
    return nw.from_dict(lists, schema=schema, backend="polars").to_native()


# Out


def _named(side: "SideInformation") -> dict[str, Sequence[Any]]:
    """The names behind the codes of each column that holds names."""
    return dict(zip(_NAMED, (side.classes, side.annotators, side.vocabularies), strict=True))


def common_type(names: Sequence[Any]) -> type:
    """The one type of all names; object when there are several, or a number above 64 bits."""
    types = set(map(type, names)) or {str}
    if len(types) > 1:
        return object
    (one,) = types
    if one is int and not all(-(2**63) <= name < 2**63 for name in names):
        return object
    return one


def _codes(side: "SideInformation") -> dict[str, NDArray[np.int64]]:
    said = side.statements
    return dict(zip(_NAMED, (said.class_code, said.annotator, said.vocabulary), strict=True))


def _objects(side: "SideInformation") -> dict[str, NDArray[Any]]:
    """The columns as arrays of values, None where there is none, plain numbers where possible."""
    said = side.statements
    ids = np.arange(0) if side.index is None else side.index
    if side.index is None:
        i, j = said.i, said.j.astype(object)
        j[said.j < 0] = None
    elif ids.dtype.kind == "U":
        i, j = _take(ids.tolist(), said.i), _take(ids.tolist(), said.j)
    else:
        i, j = ids[said.i], _take(ids.tolist(), said.j)
    columns = {"kind": _take(KINDS, said.kind), "i": i, "j": j, "weight": said.weight}
    codes = _codes(side)
    columns |= {name: _take(names, codes[name]) for name, names in _named(side).items()}
    return {name: columns[name] for name in COLUMNS}


def _take(names: Sequence[Any], codes: NDArray[Any]) -> NDArray[Any]:
    """Names by their codes; code −1 finds None."""
    table: NDArray[Any] = np.fromiter([*names, None], dtype=object, count=len(names) + 1)
    taken: NDArray[Any] = table[codes]
    return taken


def arrow_table(side: "SideInformation", header: Mapping[str, Any]) -> Any:
    """The statements as an Arrow table; the header goes to the metadata of its schema."""
    arrow = _import_arrow()
    said = side.statements

    def rows(codes: NDArray[np.int64]) -> Any:
        positions = arrow.array(codes, mask=codes < 0)
        return positions if side.index is None else _arrow_index(side.index).take(positions)

    columns = {
        "kind": arrow.array(KINDS).take(arrow.array(said.kind)),
        "i": rows(said.i),
        "j": rows(said.j),
        "weight": arrow.array(said.weight),
    }
    encoded = []
    types = {bool: arrow.bool_(), int: arrow.int64(), float: arrow.float64(), str: arrow.string()}
    codes = _codes(side)
    for name, names in _named(side).items():
        one = common_type(names)
        if one is object:
            encoded.append(name)
        texts = list(map(json.dumps, names)) if one is object else list(names)
        values = arrow.array(texts, type=types.get(one, arrow.string()))
        columns[name] = values.take(arrow.array(codes[name], mask=codes[name] < 0))
    table = arrow.table({name: columns[name] for name in COLUMNS})
    metadata = dict(header) | ({"encoded": encoded} if encoded else {})
    return table.replace_schema_metadata({"sidelight": json.dumps(metadata)} if metadata else None)


def with_columns(table: Any, extra: Mapping[str, Sequence[Any]]) -> Any:
    """An Arrow table with further columns; what Arrow has no type for becomes JSON texts."""
    arrow = _import_arrow()
    for name, cells in extra.items():
        try:
            column = arrow.array(cells)
        except (arrow.ArrowException, TypeError):
            column = arrow.array([None if cell is None else json.dumps(cell) for cell in cells])
        table = table.append_column(name, column)
    return table


def _arrow_index(index: NDArray[Any]) -> Any:
    arrow = _import_arrow()
    return (
        arrow.array(index.tolist(), type=arrow.string())
        if index.dtype.kind == "U"
        else (arrow.array(index))
    )


def _import_arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise SideInformationError(
            'Arrow tables and Parquet files need pyarrow: pip install "sidelight[parquet]"'
        ) from None
    return pyarrow


def import_parquet() -> Any:
    """The Parquet module of pyarrow, or an error that says how to install it."""
    _import_arrow()
    import pyarrow.parquet

    return pyarrow.parquet


# In


def arrow_columns(table: Any, name: str) -> dict[str, list[Any]]:
    """The columns of an Arrow table as lists, by their names in files."""
    columns = columns_of(table, name)
    columns["class"] = columns.pop("class_")
    return {key: list(column.tolist()) for key, column in columns.items() if column is not None}


def _values(series: Any) -> NDArray[Any]:
    """One column as an array, None where a value is missing."""
    if series.dtype.is_float() and series.implementation.is_pandas_like():
        # NaN stands for a missing value here, and whole numbers with gaps have become floats: the
        # gate knows both. Elsewhere a column of floats is meant as one.
        return np.asarray(series.to_numpy(), dtype=np.float64)
    missing = series.is_null().to_numpy().astype(bool)
    if series.dtype.is_integer() and not missing.any():
        return np.asarray(series.to_numpy())
    values = np.fromiter(series.to_list(), dtype=object, count=len(series))
    values[missing] = None
    return values


def _weights(series: Any) -> NDArray[Any]:
    """Weights as they are, None where there is none; pandas calls a NaN missing, the gate not."""
    return np.fromiter(series.to_list(), dtype=object, count=len(series))


def metadata(frame: Any, name: str) -> Mapping[str, Any]:
    """What sidelight has noted in the schema of an Arrow table: a header, what is encoded."""
    noted = getattr(getattr(frame, "schema", None), "metadata", None) or {}
    try:
        said: Any = json.loads(noted.get(b"sidelight", b"{}"))
    except (ValueError, RecursionError):
        said = None
    encoded = said.get("encoded", []) if isinstance(said, dict) else None
    if not (isinstance(encoded, list) and all(column in _NAMED for column in encoded)):
        raise SideInformationError(
            f'{name} has metadata "sidelight" that sidelight has not written; remove it from the '
            "schema, and give n_samples= or index=."
        )
    return said


def _decode(texts: NDArray[Any], name: str, column: str) -> NDArray[Any]:
    """The values of a column of JSON texts."""

    def value(text: Any) -> Any:
        try:
            return None if text is None else json.loads(text)
        except (TypeError, ValueError, RecursionError):
            raise SideInformationError(
                f"{name}: column {column} holds {brief(repr(text))}, which is not JSON, although "
                "the metadata says that it is; the table is damaged. Write it again."
            ) from None

    values = map_distinct(value, texts.tolist())
    return np.fromiter(values, dtype=object, count=len(values))
