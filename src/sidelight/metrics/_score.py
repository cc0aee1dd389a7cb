"""The usual scores at once, on all rows and on rows without statements."""

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sidelight.exceptions import DataError
from sidelight.metrics._labels import as_codes, as_values, is_missing, missing_values
from sidelight.metrics._partition import (
    accuracy,
    adjusted_rand,
    normalized_mutual_info,
    pairwise_scores,
    purity,
)
from sidelight.side import SideInformation

Bools = npt.NDArray[np.bool_]
Metric = Callable[[npt.ArrayLike, npt.ArrayLike], float]

DEFAULT_METRICS: Mapping[str, Metric] = {
    "nmi": normalized_mutual_info,
    "ari": adjusted_rand,
    "accuracy": accuracy,
    "purity": purity,
    "pairwise_f": lambda labels_true, labels_pred: pairwise_scores(labels_true, labels_pred).f,
}


class Scores(NamedTuple):
    """Scores by name, on all rows and on rows without statements.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> side = SideInformation.from_labels([0, -1, -1, 1])
    >>> found = score([0, 0, 1, 1], [0, 0, 1, 1], side=side)
    >>> found.n_rows, found.n_unannotated, found.unannotated["accuracy"]
    (4, 2, 1.0)
    """

    all_rows: dict[str, float]
    unannotated: dict[str, float]
    n_rows: int
    n_unannotated: int
    n_unknown: int

    def __str__(self) -> str:
        width = max((len(name) for name in self.all_rows), default=0)
        lines = [
            f"{'':{width}}  {'all rows':>12}  {'unannotated':>12}",
            f"{'rows':{width}}  {self.n_rows:>12}  {self.n_unannotated:>12}",
        ]
        lines += [
            f"{name:{width}}  {value:>12.4f}  {self.unannotated[name]:>12.4f}"
            for name, value in self.all_rows.items()
        ]
        if self.n_unknown:
            lines.append(f"({self.n_unknown} rows of unknown truth are in neither)")
        return "\n".join(lines)


def score(
    labels_true: npt.ArrayLike,
    labels_pred: npt.ArrayLike,
    *,
    side: SideInformation | None = None,
    metrics: Mapping[str, Metric] | None = None,
    unknown: Any = -1,
) -> Scores:
    """Score a partition on all rows, and on rows without statements.

    A score that includes annotated rows is too optimistic: part of the answer was given. Most
    papers print that score, so both are returned.

    Parameters
    ----------
    labels_true : array-like of shape (n_samples,)
        Numbers or names. Rows of unknown truth (``unknown``, None, NaN, pandas' NA) are left out
        of both sets.
    labels_pred : array-like of shape (n_samples,)
        Numbers or names. -1 (noise) is a cluster like any other.
    side : SideInformation, optional
        What the model was told. A row is annotated if any binding statement names it: a label, a
        negative label or either end of a pair. "Unsure" and weight 0 bind nothing.
    metrics : mapping of str to callable, optional
        Functions (labels_true, labels_pred) -> float by name; they are given numbers in place of
        names. By default nmi (arithmetic), ari, accuracy, purity and pairwise_f.
    unknown : object, default=-1
        The value of ``labels_true`` that means "not known"; None if every value is a class.

    Returns
    -------
    Scores
        ``all_rows`` and ``unannotated`` map names to scores, ``n_rows`` and ``n_unannotated`` say
        on how many rows, ``n_unknown`` how many were left out. Each set is scored as a partition
        of its own, so accuracy matches clusters and classes again. Scores of no rows are NaN.

    Examples
    --------
    >>> from sidelight import SideInformation
    >>> from sidelight.metrics import score
    >>> side = SideInformation.from_labels(["a", "b", None, None, None, None])
    >>> scores = score(["a", "b", "a", "a", "b", "b"], [0, 1, 0, 0, 0, 1], side=side)
    >>> round(scores.all_rows["accuracy"], 3), scores.unannotated["accuracy"]
    (0.833, 0.75)
    """
    true = as_values(labels_true)
    pred = as_codes(labels_pred, "labels_pred")
    if true.shape != pred.shape:
        raise DataError(
            f"labels_true has shape {true.shape} and labels_pred has {len(pred)} rows; "
            "give both for the same rows, in the same order."
        )
    if side is not None and side.n_samples != len(pred):
        raise DataError(
            f"side is about {side.n_samples} rows and the partitions have {len(pred)}; "
            "give side information about the same rows."
        )
    known = _known(true, unknown)
    chosen = DEFAULT_METRICS if metrics is None else metrics
    free = known.copy()
    if side is not None:
        free[side.annotated_rows] = False
    return Scores(
        all_rows=_evaluate(chosen, true, pred, known),
        unannotated=_evaluate(chosen, true, pred, free),
        n_rows=int(known.sum()),
        n_unannotated=int(free.sum()),
        n_unknown=int((~known).sum()),
    )


def _evaluate(
    metrics: Mapping[str, Metric],
    true: npt.NDArray[Any],
    pred: npt.NDArray[np.int64],
    rows: Bools,
) -> dict[str, float]:
    if not rows.any():
        return dict.fromkeys(metrics, float("nan"))
    # Numbered once for all metrics: sorting a million names five times is most of the work.
    codes, clusters = as_codes(true[rows], "labels_true"), pred[rows]
    return {name: float(metric(codes, clusters)) for name, metric in metrics.items()}


def _known(true: npt.NDArray[Any], unknown: Any) -> Bools:
    """The rows whose truth is known."""
    marked = _equal(true, unknown)
    known = ~(marked | missing_values(true))
    if not known.any():
        raise DataError("labels_true is unknown in every row; there is nothing to score against.")
    left = true[known]
    # The classes of many two-class sets are -1 and 1: better to stop than to drop one of them.
    if marked.any() and (left == left[0]).all():
        raise DataError(
            f"labels_true holds one class ({left[0]}) besides {unknown!r}, which is taken for "
            f"unknown; give unknown=None if {unknown!r} is a class."
        )
    return known


def _equal(values: npt.NDArray[Any], unknown: Any) -> Bools:
    """Equality that keeps texts and numbers apart."""
    if values.dtype.kind in "OT":
        text = isinstance(unknown, str)
        same = [not is_missing(v) and isinstance(v, str) == text and v == unknown for v in values]
        return np.array(same, dtype=bool)
    text, number = isinstance(unknown, str), isinstance(unknown, Real)
    if (text and values.dtype.kind == "U") or (number and values.dtype.kind in "biuf"):
        return np.asarray(values == unknown)
    return np.zeros(len(values), dtype=bool)
