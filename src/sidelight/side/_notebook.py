"""Statements as a notebook shows them."""

from typing import TYPE_CHECKING

import numpy as np

from sidelight._html import Html, table, tag
from sidelight.side._kinds import KINDS

if TYPE_CHECKING:
    from sidelight.side._information import SideInformation

_SHOWN = 12  # annotators and classes


def as_html(side: "SideInformation") -> Html:
    """How many statements of which kind, and by whom; plain HTML that needs no styles."""
    said = side.statements
    n_people = len(side.annotators) + 1  # those without annotator come last
    who = np.where(said.annotator < 0, n_people - 1, said.annotator)
    counts = np.bincount(who * len(KINDS) + said.kind, minlength=n_people * len(KINDS))
    counts = counts.reshape(n_people, len(KINDS))
    used = np.flatnonzero(counts.any(axis=0)).tolist()
    order = np.argsort(-counts.sum(axis=1), kind="stable").tolist()
    people = [k for k in order if counts[k].any()]
    names = [*map(str, side.annotators), "not told"]
    rows = [[names[k], *(f"{counts[k, kind]:,}" for kind in used)] for k in people[:_SHOWN]]
    told = repr(side).removeprefix("SideInformation(").removesuffix(")")
    parts = [tag("p", tag("b", "SideInformation"), ": ", told)]
    if rows:
        parts.append(table(["annotator", *(KINDS[kind] for kind in used)], rows))
    if len(people) > _SHOWN:
        parts.append(tag("p", f"and {len(people) - _SHOWN:,} more annotators"))
    if side.classes:
        more = f" and {len(side.classes) - _SHOWN:,} more" if len(side.classes) > _SHOWN else ""
        parts.append(tag("p", f"classes: {', '.join(map(str, side.classes[:_SHOWN]))}{more}"))
    return tag("div", *parts)
