"""The kinds of statement and what each one means, in one table.

Code asks a statement for its traits (`Statements.is_pair`, `is_class`, `sign`) and not for the
number of its kind: so a new kind is a line in the table.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np


class Kind(NamedTuple):
    """What one kind of statement means.

    Attributes
    ----------
    name : str
        As users write it, in files and in ``accepts`` of models.
    about : {"pair", "class", "nothing"}
        A pair of rows, a row and a class, or nothing that could be kept or broken.
    sign : {1, -1, 0}
        1: they belong together; -1: they do not; 0: neither.
    words : str
        The words between the row and the other row or the class, in a sentence.

    Examples
    --------
    >>> from sidelight.side import Kind
    >>> Kind.of("cannot")
    Kind(name='cannot', about='pair', sign=-1, words='apart from')
    """

    name: str
    about: Literal["pair", "class", "nothing"]
    sign: Literal[1, -1, 0]
    words: str

    @classmethod
    def of(cls, name: str) -> "Kind":
        """The kind of that name."""
        return TABLE[KINDS.index(name)]

    @property
    def binds(self) -> bool:
        """Whether a partition can keep or break it."""
        return self.sign != 0


TABLE = (
    Kind("must", "pair", 1, "with"),
    Kind("cannot", "pair", -1, "apart from"),
    Kind("unsure", "nothing", 0, "perhaps with"),
    Kind("label", "class", 1, "is"),
    Kind("not_label", "class", -1, "is not"),
)
KINDS = tuple(kind.name for kind in TABLE)
MUST, CANNOT, UNSURE, LABEL, NOT_LABEL = range(len(TABLE))

# The traits as columns, to be indexed by arrays of kinds
IS_PAIR = np.array([kind.about == "pair" for kind in TABLE])
IS_CLASS = np.array([kind.about == "class" for kind in TABLE])
SIGN = np.array([kind.sign for kind in TABLE], dtype=np.int8)


def usable_kinds(accepts: Iterable[str]) -> list[str]:
    """The kinds that a model can be given: those it accepts, and those without effect.

    Parameters
    ----------
    accepts : sequence of str
        The ``accepts`` of a model.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from sidelight import PartitionLevelKMeans
    >>> from sidelight.side import usable_kinds
    >>> usable_kinds(PartitionLevelKMeans.accepts)
    ['cannot', 'unsure', 'label', 'not_label']
    """
    accepts = tuple(accepts)
    return [kind.name for kind in TABLE if kind.name in accepts or not kind.binds]
