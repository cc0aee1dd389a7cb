"""The log of a project and the statements derived from it: pure functions of events.

An event is never changed and never deleted. What holds now is computed from the events in the order
of their numbers; times are shown and never compared, because clocks are set back.

    answer, bulk, import    make statements: an answer, a selection, a file
    retract                 takes back its parent, or some of the parent's statements
    rename                  gives a class another name in all statements before it
    select                  stores a selection of rows under a name; it is not a statement

A retraction can be retracted too: it then takes nothing back.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sidelight.exceptions import SidelightError
from sidelight.side import KINDS, Kind

SAYING = ("answer", "bulk", "import")
EVENT_KINDS = (*SAYING, "retract", "rename", "select")
_COLUMNS = ("kind", "i", "j", "class", "weight", "annotator", "vocabulary")


class Event(NamedTuple):
    """An entry of the log: `body` is plain data, `key` is the sender's own name for it.

    Examples
    --------
    >>> Event(1, 0.0, None, "rename", {"class": "cat", "to": "dog"}).kind
    'rename'
    """

    id: int
    at: float
    person: int | None
    kind: str
    body: Mapping[str, Any]
    parent: int | None = None
    key: str | None = None


class Said(NamedTuple):
    """A statement of the log: the statement at a place of an event.

    `said` is the class as it was given, `class_` its name after all renames, and
    `retracted_by` the retraction in force, if there is one.

    Examples
    --------
    >>> said = {"statements": {"kind": "label", "i": [7], "class": "cat"}}
    >>> [one] = replay([Event(1, 0.0, None, "answer", said)])
    >>> one.kind, one.i, one.class_, one.retracted_by
    ('label', 7, 'cat', None)
    """

    event: int
    position: int
    kind: str
    i: int
    j: int | None
    said: Any
    class_: Any
    weight: float
    annotator: Any
    vocabulary: Any
    seconds: float | None
    question: str | None
    retracted_by: int | None


def check_event(kind: str, body: Mapping[str, Any], n_rows: int) -> None:
    """Refuse an event that could not be replayed."""
    if kind not in EVENT_KINDS:
        raise SidelightError(f"unknown kind of event {kind!r}; known: {', '.join(EVENT_KINDS)}.")
    if kind in SAYING:
        for said in expand(body):
            _check_statement(said, n_rows)
    if kind == "select" and not (body.get("name") and isinstance(body.get("steps"), list)):
        raise SidelightError("a selection needs a name, and the steps that made it.")
    if kind == "rename":
        old, new = body.get("class"), body.get("to")
        if old is None or new is None or new == "" or (type(old) is type(new) and old == new):
            raise SidelightError(
                f"a class is renamed from one name to a different one; got {old!r} and {new!r}."
            )


def _check_statement(said: Mapping[str, Any], n_rows: int) -> None:
    kind, i, j, class_ = said["kind"], said["i"], said["j"], said["class"]
    if kind not in KINDS:
        raise SidelightError(f"unknown kind of statement {kind!r}; known: {', '.join(KINDS)}.")
    for row in (i,) if j is None else (i, j):
        if isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < n_rows:
            raise SidelightError(f"row {row!r}: rows are whole numbers from 0 to {n_rows - 1:,}.")
    about = Kind.of(kind).about
    if about == "pair" and (j is None or i == j):
        raise SidelightError(f"a statement {kind!r} is about two rows; got {i!r} and {j!r}.")
    if about == "class" and (class_ is None or class_ == "" or j is not None):
        raise SidelightError(f"a statement {kind!r} is about one row and a class.")
    if not isinstance(class_, (str, int, float, bool, type(None))):
        raise SidelightError(f"a class is a text or a number; got {type(class_).__name__}.")
    weight = said["weight"]
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight < 1e100:
        raise SidelightError(f"weight {weight!r}: a weight is a number from 0 on.")


def expand(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The statements of an event, one dict each; a column may be one value for all of them."""
    columns = body.get("statements", {})
    unknown = set(columns) - set(_COLUMNS)
    if unknown:
        raise SidelightError(
            f"unknown column {sorted(unknown)[0]!r} of statements; known: {', '.join(_COLUMNS)}."
        )
    lengths = {len(v) for v in columns.values() if _is_list(v)}
    if len(lengths) != 1 or "kind" not in columns or "i" not in columns:
        raise SidelightError("statements are columns of one length, 'kind' and 'i' among them.")
    n = lengths.pop()
    default = {"weight": 1.0}
    full = {
        name: columns.get(name) if _is_list(columns.get(name)) else [columns.get(name)] * n
        for name in _COLUMNS
    }
    rows = [dict(zip(_COLUMNS, values, strict=True)) for values in zip(*full.values(), strict=True)]
    for row in rows:
        for name, value in default.items():
            row[name] = value if row[name] is None else row[name]
    return rows


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def statements_of(event: Event) -> list[Said]:
    """The statements that an event makes, before any retraction or rename."""
    return [
        Said(
            event.id,
            position,
            row["kind"],
            row["i"],
            row["j"],
            row["class"],
            row["class"],
            float(row["weight"]),
            row["annotator"],
            row["vocabulary"],
            event.body.get("seconds"),
            event.body.get("question"),
            None,
        )
        for position, row in enumerate(expand(event.body))
    ]


class Corrections(NamedTuple):
    """The effect of retractions and renames.

    whole : dict
        For each event that is taken back, the retraction that does it.
    parts : dict
        The same for single statements, by (event, position).
    renames : list
        The renames in force: (event, old class, new class), in the order of the log.
    """

    whole: dict[int, int]
    parts: dict[tuple[int, int], int]
    renames: list[tuple[int, Any, Any]]

    def retracted_by(self, event: int, position: int) -> int | None:
        """The retraction in force that takes a statement back; the first one, if there are more."""
        found = [
            taker
            for taker in (self.whole.get(event), self.parts.get((event, position)))
            if taker is not None
        ]
        return min(found, default=None)

    def name_now(self, event: int, said: Any) -> Any:
        """The name of a class of an event after all renames."""
        name = said
        for at, old, new in self.renames:
            if at > event and type(name) is type(old) and name == old:
                name = new
        return name


def corrections(events: Iterable[Event]) -> Corrections:
    """Collect the retractions and renames among events, in the order of the log."""
    events = [event for event in events if event.kind in ("retract", "rename")]
    whole: dict[int, int] = {}
    parts: dict[tuple[int, int], int] = {}
    # A retraction comes after what it takes back, so from the end on everything is decided.
    for event in reversed(events):
        if event.kind != "retract" or event.id in whole or event.parent is None:
            continue
        positions = event.body.get("positions")
        if positions is None:
            whole[event.parent] = event.id  # an earlier one, found later, replaces it
        else:
            parts.update({(event.parent, position): event.id for position in positions})
    renames = [
        (event.id, event.body["class"], event.body["to"])
        for event in events
        if event.kind == "rename" and event.id not in whole
    ]
    return Corrections(whole, parts, renames)


def corrected(said: Said, by: Corrections) -> Said:
    """A statement after corrections."""
    return said._replace(
        class_=by.name_now(said.event, said.said),
        retracted_by=by.retracted_by(said.event, said.position),
    )


def replay(events: Iterable[Event]) -> list[Said]:
    """All statements of a log, after retractions and renames.

    Parameters
    ----------
    events : iterable of Event
        The log, in its order.

    Returns
    -------
    list of Said

    Examples
    --------
    >>> said = {"statements": {"kind": "label", "i": [7, 8], "class": "cat"}}
    >>> log = [Event(1, 0.0, None, "bulk", said), Event(2, 0.0, None, "retract", {}, parent=1)]
    >>> [one.retracted_by for one in replay(log)]
    [2, 2]
    """
    events = list(events)
    by = corrections(events)
    return [
        corrected(said, by)
        for event in events
        if event.kind in SAYING
        for said in statements_of(event)
    ]
