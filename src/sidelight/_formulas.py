"""Cells of text files that a spreadsheet would execute: put in quotes, and taken out again."""

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
    """A cell that is shown and not executed: the text in quotes of its own if it is a formula."""
    return json.dumps(text, ensure_ascii=False) if is_formula(text) else text


def unquoted(text: str) -> str:
    """The text of a cell that `quoted` has written; any other cell as it is."""
    if not text.startswith(_QUOTED):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str) else text
