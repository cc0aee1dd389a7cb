"""The quality of a model by held-out statements, alone and compared with others."""

import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sidelight._wording import counted
from sidelight.exceptions import SidelightError
from sidelight.side import SideInformation
from sidelight.study._open import Progress

if TYPE_CHECKING:
    from sidelight.select import Compared, Comparison, HeldOut

# Standard errors by which another model is called better.
CLEARLY = 2.0


def compared(
    X: NDArray[Any], known: SideInformation, progress: Progress, **how: Any
) -> "Comparison":
    from sidelight.select import compare as compare_models

    with progress.stage("comparing models"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compare_models(X, side=known, progress=getattr(progress, "count", None), **how)


def best_of_ours(comparison: "Comparison") -> tuple[Any, list[str]]:
    """The best model of sidelight, the reason, and a note if another estimator does better."""
    ours = [k for k, model in enumerate(comparison.models) if hasattr(model, "accepts")]
    if not ours or np.isnan(comparison.rows[ours[0]].score):
        raise SidelightError(
            f"{comparison.reason} None of our models could be judged; name one, or give more time."
        )
    chosen = comparison.rows.index(comparison.choice)
    if chosen in ours:
        return comparison.models[chosen], [comparison.reason]
    row, other = comparison.rows[ours[0]], comparison.choice
    told = "does as well" if other.score <= row.score else f"reaches {other.score:.2f}"
    return comparison.models[ours[0]], [
        f"{row.model} with {_clusters(row)} is the best model of sidelight by statements held back "
        f"({row.score:.2f} ± {row.standard_error:.2f}); {other.model} of scikit-learn {told}."
    ]


def _clusters(row: "Compared") -> str:
    assert row.n_clusters is not None  # of every candidate that was judged
    return counted(row.n_clusters, "cluster")


def beside(comparison: "Comparison", name: str) -> list[str]:
    """A note if another model is clearly better."""
    own = next((row for row in comparison.rows if row.model == name), None)
    first = comparison.rows[0]
    if own is None or not own.behind > CLEARLY:
        return []
    return [
        f"{first.model} with {_clusters(first)} does better by the statements "
        f"held back: {first.score:.2f} beside {own.score:.2f}, a difference of "
        f"{own.behind:.1f} standard errors."
    ]


def hold_out(
    model: Any, X: NDArray[Any], known: SideInformation, folds: int | Literal["auto"]
) -> tuple["HeldOut | None", list[str]]:
    """How good the answer is by statements that were held back, and a sentence about it."""
    from sidelight.select import ENOUGH, cross_validate_statements

    n_rows, n_statements = X.shape[0], int(known.statements.binding.sum())
    if folds == "auto":
        folds = 5 if n_rows <= 10_000 else 3 if n_rows <= 100_000 else 0
        if 0 < n_statements < ENOUGH:
            folds = 0
            return None, [
                f"{counted(n_statements, 'statement', 'is')} too few to hold some back, so the "
                f"quality of the answer is unknown. Ask for {ENOUGH - n_statements} more."
            ]
    if not (folds and n_statements):
        return None, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit with all statements has said it
        try:
            found = cross_validate_statements(model, X, side=known, n_splits=folds)
        except SidelightError as error:
            return None, [f"No statements could be held back to judge by: {error}"]
    return found, [found.in_words()]
