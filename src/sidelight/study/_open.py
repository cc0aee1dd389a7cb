"""The table, its matrix and the statements about its rows, read together."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, NamedTuple, Protocol

from numpy.typing import NDArray

from sidelight.side import SideInformation
from sidelight.study._gather import about, is_cells, sources_of
from sidelight.tables import Prepared, Table, as_table, prepare


class Progress(Protocol):
    """A receiver of progress of a study; also a callback of scikit-learn for the fit."""

    def stage(self, description: str) -> AbstractContextManager[None]:
        """Show one step while it lasts."""


class Nobody:
    """Progress that is not shown."""

    def stage(self, description: str) -> AbstractContextManager[None]:
        return nullcontext()


class Opened(NamedTuple):
    """A table that was read, with its row ids, its matrix and the statements.

    Examples
    --------
    >>> import pandas as pd
    >>> from sidelight import study
    >>> study.open_study(pd.DataFrame({"x": [0.0, 1.0]})).table.n_rows
    2
    """

    table: Table
    ids: NDArray[Any] | None
    prepared: Prepared
    known: SideInformation


def open_study(
    data: Any,
    side: Any = (),
    progress: Progress | None = None,
    *,
    labels: str | None = None,
    id: str | None = None,
    truth: str | None = None,
    text: str | Sequence[str] = (),
    scale: str | None = None,
    use_rep: str | None = None,
    pairs_key: str | None = None,
    skip_unknown: bool = False,
    self_pairs: Literal["raise", "drop", "keep"] = "raise",
    reading: Mapping[str, Any] | None = None,
    **how: Any,
) -> Opened:
    """Read a table, make a matrix of it, and collect the statements about its rows.

    Parameters
    ----------
    data, side, progress, labels, id, truth, text, scale, use_rep, pairs_key, skip_unknown, \
self_pairs, reading
        See `fit`.
    **how
        The other options of `prepare`.

    Returns
    -------
    Opened

    Examples
    --------
    >>> import pandas as pd
    >>> from sidelight import study
    >>> people = pd.DataFrame({"who": ["ann", "bob"], "age": [31, 68], "known": ["young", None]})
    >>> study.open_study(people, id="who", labels="known").known
    SideInformation(2 rows; 1 label; 1 class)
    """
    progress = Nobody() if progress is None else progress
    sources = list(sources_of(side))
    with progress.stage("reading the table"):
        named = [name for name in (id, labels, truth) if name is not None]
        texts = [text] if isinstance(text, str) else list(text)
        table = as_table(data, text=[*named, *texts], use_rep=use_rep, **(reading or {}))
        table.check_names(named)
        ids = table.ids(id)
        scale = scale or ("none" if is_cells(table.path) else "standard")
        prepared = prepare(table, aside=named, text=texts, scale=scale, ids=ids, **how)
        how_read = {"skip_unknown": skip_unknown, "self_pairs": self_pairs}
        known = about(table, ids, sources, labels=labels, pairs_key=pairs_key, **how_read)
        prepared = prepared._replace(notes=[*prepared.notes, *known.notes])
    return Opened(table, ids, prepared, known.side)
