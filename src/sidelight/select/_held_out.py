"""Fits without some statements, judged by these."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidelight.exceptions import SideInformationError
from sidelight.select._calibration import Calibration, fit_temperature
from sidelight.select._fits import fit_partition, takes_statements
from sidelight.select._folds import SideKFold, held_out_masks
from sidelight.select._scores import (
    Judgement,
    StatementScores,
    judge,
    judging_weight,
    summarize,
)
from sidelight.side import SideInformation

Masks = tuple[NDArray[np.bool_], NDArray[np.bool_]]


@dataclass(frozen=True)
class HeldOut(StatementScores):
    """Result of fits without some of the statements, judged by these statements.

    It has the attributes of `StatementScores`, over all folds, and two more.

    Parameters
    ----------
    n_statements, share_right, standard_error, chance, score, score_error, log_loss, ceiling, \
by_kind_and_annotator
        See `StatementScores`.
    calibration : Calibration or None
        A temperature for the model's probabilities; None where it has none, or for fewer than 20
        held-out statements.
    n_folds : int
        The fits.

    Examples
    --------
    >>> from sidelight.select import HeldOut
    >>> HeldOut(120, 0.91, 0.03, 0.55, n_folds=5).in_words()
    'Of 120 statements held back, 91% ± 3% were right (chance 55%).'
    """

    calibration: Calibration | None = None
    n_folds: int = 0

    @classmethod
    def of(
        cls, found: list[Judgement], side: SideInformation, *, accuracy: Any = None
    ) -> "HeldOut":
        """All folds together; side: all statements."""
        scores = summarize(found, side, accuracy=accuracy)
        judged = [fold.judged for fold in found if fold.judged is not None]
        told = {name: getattr(scores, name) for name in asdict(scores)}
        return cls(**told, calibration=fit_temperature(judged), n_folds=len(found))


def cross_validate_statements(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    side: SideInformation | None = None,
    n_splits: int = 5,
    random_state: Any = 0,
    asked: Any = None,
    audit: Any = None,
    accuracy: Any = None,
) -> HeldOut:
    """Hold out statements fold by fold, fit without them, and count those that are right.

    Every fit sees all rows of X: only statements are held back. Folds are those of `SideKFold`.

    Parameters
    ----------
    model : estimator
        A model of sidelight, a pipeline that ends with one, a classifier (it sees the labelled
        rows only), or a clusterer, which needs one fit and no folds. It is cloned, not changed.
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
        The data.
    y : array of shape (n_samples,), optional
        Partial labels, joined to ``side``.
    side : SideInformation, optional
        The statements.
    n_splits : int, default=5
        The number of folds, and of fits.
    random_state : int, Generator or RandomState, default=0
        Source of the folds.
    asked : array of float, optional
        For each statement the probability with which it was asked. Questions that were chosen
        are a biased test; they count 1 / probability.
    audit : array of bool, optional
        Which statements were asked at random; with 30 of them only these are judged.
    accuracy : float or dict, optional
        How often annotators are right, for the ceiling; see `statement_scores`.

    Returns
    -------
    HeldOut

    Examples
    --------
    >>> import numpy as np
    >>> from sidelight import PartitionLevelKMeans
    >>> from sidelight.select import cross_validate_statements
    >>> X = np.repeat([[0.0], [5.0]], 20, axis=0) + np.linspace(0, 1, 40)[:, None]
    >>> y = np.repeat(["low", "high"], 20)
    >>> model = PartitionLevelKMeans(2, random_state=0)
    >>> cross_validate_statements(model, X, y, n_splits=4).in_words()
    'Of 40 statements held back, 100% ± 0% were right (chance 50%).'
    """
    side = all_statements(y, side)
    weight = judging_weight(side, asked, audit)
    found: list[Judgement] = []
    if not takes_statements(model):
        everything = np.ones(side.n_statements, dtype=bool)
        partition = fit_partition(model, X, side, side)
        found.append(judge(partition, side, everything, weight=weight))
    else:
        for kept, held in fold_masks(side, n_splits, random_state):
            partition = fit_partition(model, X, side.where(kept), side)
            found.append(judge(partition, side, held, weight=weight))
    return HeldOut.of(found, side, accuracy=accuracy)


def all_statements(y: Any, side: SideInformation | None) -> SideInformation:
    """Labels in y and statements as one; an error where there are none."""
    if y is not None:
        labels = SideInformation.from_labels(y)
        side = labels if side is None else side + labels
    if side is None or not side.statements.binding.any():
        raise SideInformationError("there are no statements to hold back; give side, or y.")
    return side


def fold_masks(side: SideInformation, n_splits: int, random_state: Any) -> list[Masks]:
    """For each fold which statements stay and which are held out."""
    rows, fold = SideKFold(n_splits, random_state=random_state).folds(side)
    return [held_out_masks(side, rows[fold == k]) for k in range(int(fold.max()) + 1)]
