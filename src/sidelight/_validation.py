"""Steps before every fit: X, y and side become checked data and one seed.

scikit-learn's private or moving parts are imported here and nowhere else.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, Options, RealNotInt, StrOptions
from sklearn.utils.validation import _check_feature_names, _check_n_features, validate_data

from sidelight._random import draw_seed
from sidelight._wording import counted
from sidelight.blocks import Block, CSRRows, as_blocks, check_dask, check_sizes, is_dask
from sidelight.exceptions import DataError, SideInformationError, UnsupportedStatementError
from sidelight.models import model_names
from sidelight.results import data_key
from sidelight.side import KINDS, SideInformation, usable_kinds

__all__ = [
    "HasMethods",
    "Integral",
    "Interval",
    "Options",
    "Prepared",
    "Real",
    "RealNotInt",
    "StrOptions",
    "asks_for_number",
    "check_lazy_x",
    "check_new_x",
    "check_weight",
    "check_x",
    "name_rows",
    "prepare",
    "with_number_of_clusters",
]


# Squared distances of a million rows and columns, times the weights of all statements, stay below
# 1e308: (1e130)² · 1e12 · 1e30.
LARGEST = 1e130
LARGEST_WEIGHT = 1e30


class Prepared(NamedTuple):
    """Checked data, all statements about it, and the seed of all random numbers."""

    X: Any
    side: SideInformation
    seed: int


def prepare(
    model: Any, X: Any, y: Any, side: SideInformation | None, *, reset: bool = True
) -> Prepared:
    """Check parameters and data, and join ``y`` and ``side``; reset: X decides on the features.

    The rows come back in the metric that the model's parameter ``metric`` asks for.
    """
    model._validate_params()
    index = side.index if isinstance(side, SideInformation) else None
    name = data_key(X) if is_dask(X) else None
    X = check_x(model, X, reset=reset, index=index)
    model._data_key = data_key(X) if name is None else name
    side = check_side(X, y, side)
    check_kinds(model, side)
    _check_weights(model, side)
    # None is numpy's global generator, as in all of scikit-learn.
    random_state = model.random_state
    seed = draw_seed(check_random_state(None) if random_state is None else random_state)
    if reset:
        model._learn_metric(X, side)
    return Prepared(model._to_metric(X), side, seed)


HELD_OUT = "held-out"


def with_number_of_clusters(fit: Callable[..., Any]) -> Callable[..., Any]:
    """A ``fit`` that takes ``n_clusters="held-out"``: held-out statements choose the number."""

    @wraps(fit)
    def fit_with_number(
        self: Any, X: Any, y: Any = None, *, side: SideInformation | None = None, **more: Any
    ) -> Any:
        if not asks_for_number(self):  # a model from elsewhere may take no statements
            return fit(self, X, y, **more) if side is None else fit(self, X, y, side=side, **more)
        from sidelight.select import held_out_number

        number, doubt = held_out_number(self, X, y, side=side)
        self.n_clusters = number
        try:
            fit(self, X, y, side=side, **more)
        finally:
            self.n_clusters = HELD_OUT
        if doubt:
            told = self.result_.provenance
            told["advice"] = [*told.get("advice", ()), doubt]
        return self

    return fit_with_number


def asks_for_number(model: Any) -> bool:
    """Whether held-out statements are to choose the number of clusters."""
    asked = getattr(model, "n_clusters", None)
    return isinstance(asked, str) and asked == HELD_OUT


def check_x(model: Any, X: Any, *, reset: bool, index: NDArray[Any] | None = None) -> Any:
    """X as a float array or CSR matrix, finite; float32 and memory maps are kept as they are.

    A Dask array is returned as `Blocks`: its rows are checked where they are.
    """
    if is_dask(X):
        X = check_lazy_x(model, X, reset=reset)
        check_sizes(X)
        rows = as_blocks(X)
        n_bad, first, values = rows.sum(_out_of_range, None)
        if n_bad:
            chunk = int(np.searchsorted(np.cumsum(X.chunks[0]), first[0], side="right"))
            where = f"{name_rows(first, index, n_bad)} (first in chunk {chunk} of X)"
            _refuse_rows(where, values[0])
        return rows
    try:
        X = validate_data(
            model,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,  # ours names the rows, and never copies
        )
    except ValueError:
        text = _first_text(X)
        if text is None:
            raise
        raise DataError(
            f"X has text ({text!r}), and models read numbers. Turn the categories of a column into "
            "numbers, the same ones for all rows to come: "
            "sklearn.preprocessing.OrdinalEncoder().fit_transform(X[[column]]); "
            'BayesianMixture(emission="categorical") takes them for categories.'
        ) from None
    if not _in_range(X):
        bad = np.concatenate([_bad_rows(block) for block in _blocks(X)])
        first = X[bad[:1]].toarray() if sparse.issparse(X) else X[bad[0]]
        _refuse_rows(name_rows(bad, index), _worst(first))
    return X


def check_new_x(model: Any, X: Any) -> Any:
    """New rows for a fitted model, checked, in the metric of its fit."""
    return model._to_metric(check_x(model, X, reset=False))


def _first_text(X: Any) -> str | None:
    """The first text in X that is not a number; None if there is none."""
    if sparse.issparse(X):
        return None
    for value in np.asarray(X, dtype=object).ravel():
        if isinstance(value, str):
            try:
                float(value)
            except ValueError:
                return value
    return None


def name_rows(
    rows: Sequence[int] | NDArray[Any], index: NDArray[Any] | None, n_rows: int | None = None
) -> str:
    """The first few rows by the user's own ids, and how many more there are (of n_rows in all)."""
    named = ", ".join(str(row if index is None else index[row]) for row in rows[:5])
    n_more = (len(rows) if n_rows is None else n_rows) - 5
    return f"{named} and {n_more:,} more" if n_more > 0 else named


def _refuse_rows(named: str, value: float) -> None:
    if not np.isfinite(value):
        raise DataError(
            f"X contains NaN or infinity in row {named}; every value has to be a finite number. "
            "Impute the missing values (sklearn.impute) or leave these rows out."
        )
    raise DataError(
        f"X holds {value:.0e} in row {named}; a value may be at most {LARGEST:.0e} in size, since "
        "squared distances of larger ones overflow. Correct the value, or divide the column by its "
        "largest value."
    )


def check_lazy_x(model: Any, X: Any, *, reset: bool) -> Any:
    """Check that the model can use a Dask array, without reading its values."""
    if not model.on_dask:
        raise DataError(
            f"{type(model).__name__} works on all rows at once, and does not take Dask "
            "arrays. Condense the rows first with a model that does, for example "
            "rows = PartitionLevelKMeans(5000).fit(X); fit this model to rows.cluster_centers_, "
            "with the statements carried over to them; and give each row the label of its centre: "
            "rows.labels_.map_blocks(labels.__getitem__). StructuralEntropyClustering, "
            "MarkovAggregation and ConstraintPropagation do so by themselves: docs/large-data.md."
        )
    X = check_dask(X)
    _check_feature_names(model, X, reset=reset)
    _check_n_features(model, X, reset=reset)
    return X


def _in_range(values: Any) -> bool:
    """Whether all values are finite and at most `LARGEST` in size; makes no copy."""
    values = values.data if isinstance(values, CSRRows) or sparse.issparse(values) else values
    if not values.size:
        return True
    with np.errstate(invalid="ignore"):  # a NaN is the largest and the smallest, and not in range
        return float(values.min()) >= -LARGEST and float(values.max()) <= LARGEST


def _blocks(X: Any) -> Iterator[Block]:
    rows = as_blocks(X)
    return (rows.block(number) for number in range(len(rows)))


def _bad_rows(block: Block) -> NDArray[np.int64]:
    """The rows of a block that have values out of range."""
    if isinstance(block.X, CSRRows):
        data, _, indptr = block.X
        wrong = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))[_too_large(data)]
        return block.start + np.unique(wrong)
    return block.start + np.flatnonzero(_too_large(block.X).any(axis=1))


def _too_large(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values are out of range, NaN among them."""
    return ~(np.abs(values) <= np.float64(LARGEST))  # 64 bits: float32 has no such number


def _worst(values: NDArray[Any]) -> float:
    """A value that is not finite, or else the largest in size."""
    values = np.ravel(values)
    return float(values[np.argmax(np.where(np.isfinite(values), np.abs(values), np.inf))])


def _out_of_range(block: Block, _: None) -> tuple[int, list[int], list[float]]:
    """How many rows of a block are bad, a few of them, and the worst value of the first."""
    if _in_range(block.X):
        return 0, [], []
    bad = _bad_rows(block)
    if isinstance(block.X, CSRRows):
        data, _indices, indptr = block.X
        row = bad[0] - block.start
        first = data[indptr[row] : indptr[row + 1]]
    else:
        first = block.X[bad[0] - block.start]
    return len(bad), bad[:5].tolist(), [_worst(first)]


def check_side(X: Any, y: Any, side: Any) -> SideInformation:
    """``y`` (−1 is unknown) and ``side`` as one SideInformation about the rows of X."""
    n_samples = X.shape[0]
    if isinstance(y, SideInformation):
        raise SideInformationError(
            "y is a SideInformation; give it by name, fit(X, side=side). The second argument of "
            "fit is y, partial labels with -1 where they are unknown."
        )
    if side is None:
        side = SideInformation.empty(n_samples)
    elif not isinstance(side, SideInformation):
        raise SideInformationError(
            f"side is a {type(side).__name__}; give a SideInformation, for example from "
            "SideInformation.from_pairs(must=..., cannot=..., n_samples=len(X)), "
            "and partial labels as y."
        )
    if side.n_samples != n_samples:
        raise SideInformationError(
            f"side is about {side.n_samples:,} rows and X has {n_samples:,}; "
            "both must be about the same rows (slice side as you sliced X)."
        )
    if y is None:
        return side
    labels = SideInformation.from_labels(y)
    if labels.n_samples != n_samples:
        raise SideInformationError(
            f"y has {labels.n_samples:,} labels and X has {n_samples:,} rows; "
            "give one label per row, -1 where it is unknown."
        )
    return side + labels


def _check_weights(model: Any, side: SideInformation) -> None:
    """Refuse weights whose sums, times the model's own weight of statements, would overflow."""
    weight = side.statements.weight
    own = {
        name: max(map(float, value.values() if isinstance(value, dict) else [value]), default=0.0)
        for name in ("side_weight", "cannot_weight")
        if (value := getattr(model, name, None)) is not None
    }
    with np.errstate(over="ignore"):
        total = float(weight.sum()) * max(1.0, *own.values()) if own else float(weight.sum())
    if total <= LARGEST_WEIGHT:
        return
    worst = int(np.argmax(weight))
    told = "".join(f", times {name} {value:.0e}" for name, value in own.items() if value > 1)
    raise SideInformationError(
        f"the weights of all statements have a sum of {weight.sum():.0e}{told}; at most "
        f"{LARGEST_WEIGHT:.0e} is possible. The largest is {weight[worst]:.0e} ("
        f"{side.describe(worst)}). Give smaller weights."
    )


def check_kinds(model: Any, side: SideInformation) -> None:
    """Refuse binding statements of kinds that the model cannot use, and name models that can.

    What binds nothing is converted exactly, by leaving it out: ``unsure``, weight 0, and a row that
    must be with itself.
    """
    said = side.statements
    binding = said.binding & ~((said.sign > 0) & (said.i == said.j))
    for code, kind in enumerate(KINDS):
        wrong = np.flatnonzero(binding & (said.kind == code))
        if kind in model.accepts or not len(wrong):
            continue
        others = model_names(accepts=kind)
        instead = f"Models that take it: {', '.join(others)}" if others else "No model here does"
        count = counted(len(wrong), "statement")
        raise UnsupportedStatementError(
            f"{type(model).__name__} cannot use {kind!r} ({count}, first: "
            f"{side.describe(int(wrong[0]))}). {model.refuses.get(kind, '')}{instead}.",
            advice=f"To leave it out: side.only(kind={usable_kinds(model.accepts)}).",
            kind=kind,
            models=others,
        )


def check_weight(weight: Any, n_samples: int) -> NDArray[np.float64] | None:
    """Row weights as floats, or None where all rows weigh 1."""
    if weight is None:
        return None
    weight = np.asarray(weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.shape != (n_samples,):
        raise DataError(
            f"sample_weight has shape {weight.shape}; give one number for each of the "
            f"{n_samples} rows."
        )
    if not (np.isfinite(weight).all() and (weight >= 0).all() and weight.any()):
        raise DataError(
            "every sample_weight has to be finite and zero or more, and at least one above zero; "
            f"they go from {weight.min()} to {weight.max()}."
        )
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if total > LARGEST_WEIGHT:
        raise DataError(
            f"all sample_weight have a sum of {total:.0e}; at most {LARGEST_WEIGHT:.0e} is "
            "possible. Divide them by the largest."
        )
    return weight
