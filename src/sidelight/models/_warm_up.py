"""Compile the kernels of a model before the first fit."""

import warnings
from typing import Any

import numpy as np

from sidelight._kernels.compiling import when_compiling
from sidelight.models._registry import find_model
from sidelight.side import SideInformation

_ROWS, _CLASSES, _COLUMNS = 300, 3, 4


def warm_up(name: str) -> int:
    """Compile the kernels of a model, so that its first fit does not have to.

    Compiled kernels stay on disk, for every later process. The model is fitted to 300 rows of its
    own, with each kind of statement that it takes. Kernels for other data (float32, sparse
    matrices, neighbours above 20,000 rows) are compiled when they are first used.

    Parameters
    ----------
    name : str
        The model, as `model_names` spells it.

    Returns
    -------
    int
        How many kernels were compiled; 0 if all were on disk.

    Examples
    --------
    >>> from sidelight.models import warm_up
    >>> _ = warm_up("SeededKMeans")
    >>> warm_up("SeededKMeans")
    0
    """
    model_class = find_model(name)
    truth = np.arange(_ROWS) % _CLASSES
    rng = np.random.default_rng(0)
    X = 4.0 * rng.normal(size=(_CLASSES, _COLUMNS))[truth] + rng.normal(size=(_ROWS, _COLUMNS))
    with when_compiling() as compiled, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the answer is not used
        for side in _statements(truth):
            _fitted(model_class, X, side.only(kind=list(model_class.accepts))).predict(X[:10])
    return compiled.n_compiled


def _fitted(model_class: Any, X: Any, side: SideInformation) -> Any:
    needs_k = "n_clusters" in model_class().get_params()
    model = model_class(**({"n_clusters": _CLASSES} if needs_k else {}), random_state=0)
    return model.fit(X, side=side)


def _statements(truth: Any) -> list[SideInformation]:
    """Labels of a tenth of the rows; pairs; nothing."""
    labels = SideInformation.from_labels(np.where(np.arange(_ROWS) % 10 == 0, truth, -1))
    i = np.arange(0, _ROWS - 4, 10)
    pairs = SideInformation.from_pairs(
        must=np.column_stack([i, i + _CLASSES]), cannot=np.column_stack([i, i + 1]),
        n_samples=_ROWS,
    )  # fmt: skip
    return [labels, pairs, SideInformation.from_labels(np.full(_ROWS, -1))]
