"""Cells of text files that a spreadsheet would execute: quoted when written, unquoted when read."""

import json

BEGINNINGS = tuple("=+-@\t\r")
_QUOTED = tuple(f'"{mark}' for mark in (*"=+-@", "\\t", "\\r"))  # as JSON writes them


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would execute a cell: it begins like a formula and is not a number."""
    if not text.startswith(BEGINNINGS) or len(text.strip()) < 2:  # a lone "-" is a gap
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def quoted(text: str) -> str:
    """The cell, in a pair of quotes of its own if a spreadsheet would execute it."""
    return json.dumps(text, ensure_ascii=False) if is_formula(text) else text


def unquoted(text: str) -> str:
    """The text of a cell that `quoted` wrote; any other cell unchanged."""
    if not text.startswith(_QUOTED):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str) else text
