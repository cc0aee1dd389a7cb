"""Grammar of counts in messages: "1 statement", "1,204 statements"."""


def counted(n: int, noun: str, verb: str = "") -> str:
    """A number and its noun, with a verb if one is given.

    Examples
    --------
    >>> counted(1, "statement"), counted(1204, "class"), counted(1, "row", "is")
    ('1 statement', '1,204 classes', '1 row is')
    >>> counted(2, "row", "is"), counted(2, "answer", "was")
    ('2 rows are', '2 answers were')
    """
    if n != 1:
        noun += "es" if noun.endswith(("s", "sh", "ch", "x")) else "s"
        verb = {"is": "are", "was": "were", "has": "have"}.get(verb, verb)
    return f"{n:,} {noun} {verb}".rstrip()
