"""What the tables of all papers have in common: how a method is fitted, scored and shown.

Every table has the comparison methods of its paper, a line without statements (KMeans and the
model itself), scores on all rows and on the rows that no statement touches, standard errors over
draws of statements, and the number of clusters found.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from experiments.runner import Outcome
from experiments.tables import Row, compare, markdown, shown, summarise
from sidelight.metrics import score
from sidelight.models import find_model
from sidelight.side import SideInformation

KMEANS = "KMeans, no statements"
UNTOUCHED = "untouched"

Printed = Callable[[Row], tuple[float | None, float | None]]


# One cell


class Method(NamedTuple):
    """A model of ours, what it is told, and the name that a paper prints for it."""

    model: str
    told: tuple[str, ...] | None = None  # the kinds of statement that it takes; None: all kinds
    parameters: Mapping[str, Any] = {}
    as_published: bool = False
    number: str | None = "n_clusters"  # the parameter for the number of clusters; None: it finds it
    printed: str = ""


# Ten starts, as k-means is used by people.
PLAIN = Method("KMeans", ())


def uses(method: Method) -> tuple[str, ...]:
    """The model of ours that a method fits; K-means is scikit-learn's."""
    return () if method is PLAIN else (method.model,)


def fit(
    method: Method, X: Any, n_clusters: int, side: SideInformation | None, seed: int, **more: Any
) -> Any:
    """The fitted model of a method."""
    settings = {**method.parameters, "random_state": seed, **more}
    if method.number is not None:
        settings[method.number] = n_clusters
    if method is PLAIN:
        return KMeans(n_init=10, **settings).fit(X)
    model = find_model(method.model)
    made = model.as_published(**settings) if method.as_published else model(**settings)
    if side is not None and method.told is not None:
        side = side.only(kind=list(method.told)) if method.told else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the papers name no limits
        return made.fit(X, side=side)


def scores(
    truth: Any,
    labels: Any,
    side: SideInformation | None,
    metrics: Mapping[str, Callable[[Any, Any], float]],
    *,
    factor: float = 100.0,
) -> dict[str, float]:
    """Each measure on all rows and on those that no statement touches; clusters found."""
    found = score(truth, labels, side=side, metrics=metrics)
    values = {name: factor * value for name, value in found.all_rows.items()}
    if found.n_unannotated:
        for name, value in found.unannotated.items():
            values[f"{name}_{UNTOUCHED}"] = factor * value
    return values | {"clusters": float(len(np.unique(np.asarray(labels))))}


# Scalings that more than one method is given


def min_max(X: Any) -> Any:
    """Columns from 0 to 1; sparse ones stay sparse, and begin at 0 already."""
    if issparse(X):
        assert X.min() == 0
        high = X.max(axis=0).toarray().ravel()
        return X.multiply(1.0 / (high + (high == 0))).tocsr()
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / (high - low + (high == low))


def log_components(X: Any, n_components: int = 50) -> Any:
    """Counts as is usual for them: equal depth, log(1 + x), principal components."""
    X = csr_array(X)
    depth = X.sum(axis=1)
    factors = np.median(depth) / np.where(depth > 0, depth, 1.0)
    scaled = X.multiply(factors[:, None]).tocsr().log1p()
    n_components = min(n_components, min(X.shape) - 1)
    return PCA(n_components, svd_solver="arpack", random_state=0).fit_transform(scaled)


# How they are shown


def rows_of(
    outcomes: Iterable[Outcome],
    by: Sequence[str],
    measure: str,
    *,
    printed: Printed = lambda row: (None, None),
    runs: int,
    unit: float,
) -> list[Row]:
    """One row per setting and method: the measure on all rows beside the print, and the rest."""
    outcomes = list(outcomes)
    names = (*by, "method")
    rows = []
    for row, untouched, clusters in zip(
        summarise(outcomes, names, measure),
        summarise(outcomes, names, f"{measure}_{UNTOUCHED}"),
        summarise(outcomes, names, "clusters"),
        strict=True,
    ):
        row = {"measure": measure} | compare(row, *printed(row), runs=runs, unit=unit)
        row |= {f"{UNTOUCHED}_{name}": untouched[name] for name in ("mean", "std", "se", "runs")}
        row |= {"clusters": clusters["mean"], "clusters_se": clusters["se"]}
        rows.append(row)
    return rows


def tables_of(
    rows: Sequence[Row], by: Sequence[str], title: str, *, digits: int = 2, rest: bool = True
) -> str:
    """A line per setting and a column per method: all rows, untouched rows, clusters found."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    settings: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        settings.setdefault(tuple(row[name] for name in by), {})[row["method"]] = row
    parts = [(f"{title}, all rows; in brackets the printed value", _whole)]
    if rest:
        parts += [(f"{title}, rows that no statement touches", _untouched)]
        parts += [("Clusters found", _clusters)]
    text = ""
    for heading, show in parts:
        lines = []
        for key, found in settings.items():
            runs = sorted({row["runs"] for row in found.values()})
            spread = str(runs[0]) if len(runs) == 1 else f"{runs[0]}-{runs[-1]}"
            cells = [show(found[m], digits) if m in found else "" for m in methods]
            lines.append([*map(_plain, key), spread, *cells])
        text += f"\n{heading}:\n\n" + markdown([*by, "runs", *methods], lines)
    return text


def _plain(value: Any) -> str:
    return "" if value is None else str(value)


def _whole(row: Row, digits: int) -> str:
    printed = "" if row["published"] is None else f" ({row['published']:.{digits}f})"
    return shown(row, digits) + printed


def _untouched(row: Row, digits: int) -> str:
    found = {name: row[f"{UNTOUCHED}_{name}"] for name in ("mean", "se")}
    return "" if found["mean"] is None else shown(found | {"failed": ""}, digits)


def _clusters(row: Row, digits: int) -> str:
    return "" if row["clusters"] is None else f"{row['clusters']:.1f}"


COLUMNS = (
    "Scores: mean ± standard error over draws of statements, on all rows as in the paper, and on "
    "the rows that no statement touches. Where the line has no statements, both are the same."
)
