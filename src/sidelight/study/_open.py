"""The table, its matrix and the statements about its rows, read together."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, NamedTuple, Protocol

from numpy.typing import NDArray

from sidelight.side import SideInformation
from sidelight.study._gather import about, is_cells, sources_of
from sidelight.tables import Prepared, Table, as_table, prepare


class Progress(Protocol):
    """Who wants to know how far a study is; also a callback of scikit-learn for the fit."""

    def stage(self, description: str) -> AbstractContextManager[None]:
        """Show one step while it lasts."""


class Nobody:
    """Nobody wants to know."""

    def stage(self, description: str) -> AbstractContextManager[None]:
        return nullcontext()


class Opened(NamedTuple):
    table: Table
    ids: NDArray[Any] | None
    prepared: Prepared
    known: SideInformation


def open_study(
    data: Any,
    side: Any,
    progress: Progress,
    *,
    labels: str | None,
    id: str | None,
    truth: str | None = None,
    text: str | Sequence[str],
    scale: str | None,
    use_rep: str | None,
    pairs_key: str | None,
    skip_unknown: bool = False,
    self_pairs: Literal["raise", "drop", "keep"] = "raise",
    reading: Mapping[str, Any] | None,
    **how: Any,
) -> Opened:
    """Read a table, make a matrix of it, and collect the statements about its rows."""
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
