"""Emissions: the distribution of rows in one component of a mixture, with a conjugate prior.

An emission is a subclass of `Emission`; one file each, named in `EMISSIONS`. It is made once per
fit, by `of`, with all that it needs to know about the data and the prior. The mixture treats rows,
statistics and posteriors as opaque: it passes them from one method to the next, adds up statistics,
and stores posteriors.
"""

from typing import Any

from sidelight.blocks import Blocks
from sidelight.exceptions import DataError
from sidelight.models._emissions.categorical import Categorical
from sidelight.models._emissions.emission import (
    Emission,
    Posterior,
    Rows,
    Statistics,
    check_sparse,
    of_components,
)
from sidelight.models._emissions.gaussian import Gaussian
from sidelight.models._emissions.gaussian_diag import GaussianDiag
from sidelight.models._emissions.mixed import Mixed, check_columns, read_columns
from sidelight.models._emissions.multinomial import Multinomial
from sidelight.models._emissions.poisson import Poisson

EMISSIONS: dict[str, type[Emission]] = {
    "categorical": Categorical,
    "gaussian": Gaussian,
    "gaussian_diag": GaussianDiag,
    "multinomial": Multinomial,
    "poisson": Poisson,
}

__all__ = [
    "EMISSIONS",
    "Emission",
    "Posterior",
    "Rows",
    "Statistics",
    "check_sparse",
    "make",
    "of_components",
]


def make(given: Any, rows: Blocks, prior: Any, n_components: int, names: Any) -> Emission:
    """The emission that a user asks for: a name, a class, or a list of those with columns."""
    if not isinstance(given, list):
        kind = _kind(given)
        check_sparse(rows, kind)
        return kind.of(rows, prior, n_components)
    pairs = []
    for entry in given:
        if not isinstance(entry, (tuple, list)) or len(entry) != 2:
            raise DataError(
                f"the list of emissions has the entry {entry!r}; give pairs of an emission and "
                'columns, as in [("gaussian", [0, 1]), ("categorical", ["colour"])].'
            )
        pairs.append((_kind(entry[0]), read_columns(entry[1], names, rows.n_features)))
    if not pairs:
        raise DataError("the list of emissions is empty; name an emission for each column.")
    check_columns([columns for _, columns in pairs], names)
    return Mixed.of_parts(rows, pairs, prior, n_components)


def _kind(given: Any) -> type[Emission]:
    if isinstance(given, str) and given in EMISSIONS:
        return EMISSIONS[given]
    if isinstance(given, type) and issubclass(given, Emission):
        return given
    raise DataError(
        f"emission is {given!r}; give one of {list(EMISSIONS)}, a class derived from "
        "sidelight.models.Emission, or a list of pairs (emission, columns)."
    )
