"""The fourth view of the data: a mixture of Gaussians, which complements the classifiers.

Densities, unlike margins, separate overlapping classes of different covariance, and rows far from
all others. So `BayesianMixture` has a quarter of the weight in the committee, as much as each block
of features. It uses the statements in its own way, with its own start and prior, and X as given.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidelight.models._discriminative.committee import matched
from sidelight.models._discriminative.starts import fitted
from sidelight.models._registry import find_model
from sidelight.models._sample import fitted_rows, has_pairs
from sidelight.side import SideInformation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHARE = 0.25  # of the answer
# Measured up to 64 columns; a covariance of more is mostly its prior, and takes long.
_MOST_COLUMNS = 100
_ANNOTATED, _OTHERS = 2_500, 2_500  # rows that it is fitted to, if there are more
# Its tolerance above 6,000 rows. ARI was within .002 of that with 3e-5, which took four times as
# long with pairs (three draws of four data sets).
_LOOSE = 2e-4


class Mixture(NamedTuple):
    """A fitted mixture, and which of its clusters is which column of the committee."""

    model: Any
    order: Ints

    def join(self, X: NDArray[Any], P: Floats) -> Floats:
        """The committee's memberships P of rows, and a quarter of the mixture's."""
        return (1.0 - SHARE) * P + SHARE * _padded(self.model, X, P.shape[1])[:, self.order]


def fit_mixture(
    X: NDArray[Any],
    side: SideInformation,
    P: Floats,
    seed: int,
    *,
    warm: bool = False,
    of_small: bool = True,
) -> Mixture | None:
    """A mixture whose clusters are matched to the columns of P; None if it cannot be fitted.

    P : memberships by the committee; warm : start from them; of_small : whether the data are small,
    and not a sample. With pairs about a sample the start is P too, in the place of three starts.
    """
    n_clusters = P.shape[1]
    if n_clusters < 2 or X.shape[1] > _MOST_COLUMNS or len(X) <= 2 * n_clusters:
        return None
    chosen = fitted_rows(side, len(X), np.random.default_rng(seed), _ANNOTATED, _OTHERS)
    if chosen is not None:
        X, side, P = X[chosen], side[chosen], P[chosen]
    settings: dict[str, Any] = {"random_state": seed % 2**32}  # a number can be saved
    if not of_small:
        settings["tol"] = _LOOSE
        # A sample is small for the mixture itself, which would try all of its starts.
        settings["n_init"] = 1
    if warm or (not of_small and has_pairs(side)):
        settings["init"] = P.argmax(axis=1)
    model = fitted(find_model("BayesianMixture")(n_clusters, **settings), X, side)._bare()
    model.init = "seeded"  # its parameters are saved with it, and a start is as long as the data
    return Mixture(model, matched(P, _padded(model, X, n_clusters)))


def _padded(model: Any, X: NDArray[Any], n_clusters: int) -> Floats:
    """Memberships by the mixture; clusters that it does not have are empty."""
    found = model.predict_proba(X)
    P = np.zeros((len(X), n_clusters))
    P[:, : found.shape[1]] = found
    return P
