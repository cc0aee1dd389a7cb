"""Pieces of HTML in which every text is escaped.

`tag` builds a piece from texts and escapes them. Only an `Html` is inserted unescaped.
"""

from collections.abc import Iterable
from html import escape
from typing import Any

_LONG = 2_000  # characters of one text that a page shows


class Html(str):
    """A text that is HTML already."""


def safe(content: Any) -> str:
    """A text escaped and cut to a length that can be read; HTML as it is."""
    if isinstance(content, Html):
        return content
    text = str(content)
    return escape(text if len(text) <= _LONG else text[: _LONG - 1] + "…")


def whole(text: Any) -> Html:
    """A text of any length."""
    return Html(escape(str(text)))


def tag(name: str, *content: Any, **attributes: Any) -> Html:
    """An element; ``class_`` is the attribute class, ``data_x`` data-x, and None leaves one out."""
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{safe(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{told}>{''.join(map(safe, content))}</{name}>")


def table(header: Iterable[Any], rows: Iterable[Iterable[Any]]) -> Html:
    """A plain table, which reads well without styles."""
    head = tag("tr", *(tag("th", cell) for cell in header))
    body = [tag("tr", *(tag("td", cell) for cell in row)) for row in rows]
    return tag("table", tag("thead", head), tag("tbody", *body))


def join(parts: Iterable[Any], between: str = "\n") -> Html:
    """Pieces one after the other."""
    return Html(between.join(map(safe, parts)))
