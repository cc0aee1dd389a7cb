"""Names that look alike: ids that were probably meant, classes that are probably one."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import combinations
from typing import Any

_MANY = 5_000  # ids that are compared letter by letter; of more, those that begin or end alike
_TOGETHER = 50  # names with a letter in common place that are compared with each other
_SHORT = 4  # letters of the longer name, below which one letter is another name


def nearest(name: Any, known: Sequence[Any], *, limit: int = 3) -> list[str]:
    """The known names most similar to an unknown one, the most similar first.

    Parameters
    ----------
    name : object
        The unknown name.
    known : sequence
        Those that are known.
    limit : int
        How many to give at most.

    Returns
    -------
    list of str

    Examples
    --------
    >>> nearest("P17 ", ["p16", "p17", "q3"])
    ['p17', 'p16']
    """
    wanted = _folded(name)
    texts = {str(each): _folded(each) for each in known}
    if len(texts) > _MANY:
        near = {
            text: folded
            for text, folded in texts.items()
            if folded[:2] == wanted[:2] or folded[-2:] == wanted[-2:]
        }
        texts = dict(list(near.items())[:_MANY])
    back: dict[str, str] = {}
    for text, folded in texts.items():
        back.setdefault(folded, text)
    return [back[folded] for folded in get_close_matches(wanted, back, n=limit)]


def alike(names: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Groups of similar names: they differ by case, blanks, or a single letter.

    Digits are not letters: class1 and class2 are two names, and so are short ones such as cat and
    car.

    Parameters
    ----------
    names : iterable
        The names, each once.

    Returns
    -------
    list of tuple
        Groups of two and more, in the order in which they were given.

    Examples
    --------
    >>> alike(["Bus", "bus", "buss", "car", "cat", "type 1", "type 2"])
    [('Bus', 'bus', 'buss')]
    """
    names = list(names)
    parent = list(range(len(names)))

    def root(k: int) -> int:
        while parent[k] != k:
            k = parent[k]
        return k

    places: dict[str, list[int]] = defaultdict(list)
    for k, name in enumerate(names):
        folded = _folded(name)
        # Two names one letter apart share the name itself, or what is left without one letter.
        for form in {folded, *(folded[:c] + "\0" + folded[c + 1 :] for c in range(len(folded)))}:
            places[form].append(k)
        for c in range(len(folded)):
            places[folded[:c] + folded[c + 1 :]].append(k)
    for found in places.values():
        for a, b in combinations(found[:_TOGETHER], 2):
            if _is_slip(_folded(names[a]), _folded(names[b])):
                parent[root(b)] = root(a)
    groups: dict[int, list[Any]] = defaultdict(list)
    for k, name in enumerate(names):
        groups[root(k)].append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def _folded(name: Any) -> str:
    return "".join(str(name).casefold().split())


def _is_slip(one: str, two: str) -> bool:
    """Whether two folded names are the same, or one letter apart and not short."""
    if one == two:
        return True
    if abs(len(one) - len(two)) > 1 or max(len(one), len(two)) < _SHORT:
        return False
    start = next((k for k, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), None)
    start = min(len(one), len(two)) if start is None else start
    rest, other = one[start:], two[start:]
    if len(rest) == len(other):
        letters, same = rest[:1] + other[:1], rest[1:] == other[1:]
    elif len(rest) > len(other):
        letters, same = rest[:1], rest[1:] == other
    else:
        letters, same = other[:1], other[1:] == rest
    return same and letters.isalpha()
