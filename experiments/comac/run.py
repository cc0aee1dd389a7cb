"""Steger, Geiger & Smieja, "Semi-supervised clustering via Markov chain aggregation": its figures.

The paper prints plots only. See README.md for what it leaves open, and where reference.csv is from.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from experiments.comparison import COLUMNS, KMEANS, PLAIN, Method, fit, rows_of, scores, tables_of
from experiments.comparison import uses as model_of
from experiments.figures import Lines, panels
from experiments.runner import Cell, Experiment, Outcome, Table, seed_of
from experiments.tables import markdown, read_csv, signed, summarise
from sidelight.datasets import load as load_dataset
from sidelight.datasets import make_concentric_circles
from sidelight.exceptions import DatasetNotFoundError
from sidelight.metrics import normalized_mutual_info
from sidelight.models import MarkovAggregation
from sidelight.side import SideInformation, sample_labels, sample_pairs

DATASETS = ("iris", "wine", "glass", "ecoli", "segmentation", "user", "vertebral", "circles")
PAIR_DATASETS = ("ionosphere", "iris", "user", "wine")
PERCENTS = (0, 10, 20, 30)
NOISES = (0, 10, 20, 30, 40, 50)
PAIR_PERCENTS = (0, 20, 50, 100, 150)
NEIGHBORS = (5, 10, 20, 50, 100)
BETAS = (0.0, 0.25, 0.5, 0.75, 1.0)
DRAWS = 10
REFERENCE = {
    (r["dataset"], r["method"], int(r["percent"])): float(r["nmi"])
    for r in read_csv(Path(__file__).with_name("reference.csv"))
}

LARGER_DATASETS = ("optdigits", "pendigits", "satimage", "circles")
LARGER_SIZES = (1_000, 2_000)

SEQ, ANN = "CoMaC-seq", "CoMaC-ann"
DEFAULTS, DENSE, SPARSE, SOFT = "our defaults", "dense", "sparse", "soft"
NO_CANNOT = "CoMaC-seq, no cannot-links"
# The variable of Figure 6: must-links hold through chains, or between the rows that they name.
DIRECT, DIRECT_NO_CANNOT = f"{SEQ}, not propagated", f"{NO_CANNOT}, not propagated"

_LABEL, _PAIR = ("label",), ("must", "cannot")
# By the names of the paper, whose k-means has partition level side information.
LABEL_RIVALS = {
    "mixmod": Method("PartialLabelGaussianMixture", _LABEL),
    "c-GMM": Method("EquivalenceGaussianMixture"),
    "fc-means": Method("PartialLabelFuzzyCMeans", _LABEL),
    "CEC-IB": Method("CrossEntropyClustering", _LABEL, number=None),
    "spec": Method("ConstrainedSpectral"),
    "k-means": Method("PartitionLevelKMeans", _LABEL),
}
PAIR_RIVALS = ("c-GMM", "spec")  # the others take labels only
# The same as their own papers have them, in Figure 4a.
PUBLISHED_RIVALS = {
    f"{name}, as published": method._replace(as_published=True)
    for name, method in LABEL_RIVALS.items()
}
RIVALS = LABEL_RIVALS | PUBLISHED_RIVALS | {KMEANS: PLAIN}


# One cell


def run(cell: Cell) -> Mapping[str, float]:
    """Draw the statements of this cell, fit its method, score the partition."""
    X, y = _data(cell["dataset"], cell["what"], cell["draw"])
    side, n_classes = _side(cell, y), len(set(y.tolist()))
    if cell["method"] in RIVALS:
        method, more = RIVALS[cell["method"]], {}
        if method.model == "CrossEntropyClustering":
            more["max_clusters"] = 2 * n_classes
        found = fit(method, X, n_classes, side, seed_of(**cell), **more)
        return scores(y, found.labels_, side, _METRICS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = _model(cell, n_classes).fit(X, side=side)
    return {
        **scores(y, model.labels_, side, _METRICS),
        "cost": model.cost_,
        "broken": int(model.result_.violated.sum()),
    }


def _nmi(truth: Any, labels: Any) -> float:
    return normalized_mutual_info(truth, labels, average="arithmetic")


_METRICS = {"nmi": _nmi}


def uses(cell: Cell) -> tuple[str, ...]:
    """The model of ours that this cell fits."""
    name = cell["method"]
    return model_of(RIVALS[name]) if name in RIVALS else ("MarkovAggregation",)


def missing(cell: Cell) -> str | None:
    """Why this cell cannot run here: its data set is not on this machine."""
    try:
        _data(cell["dataset"], cell["what"], 0)
    except DatasetNotFoundError as error:
        return str(error)
    return None


@cache
def _data(name: str, what: str, draw: int) -> tuple[Any, Any]:
    seed = seed_of(dataset=name, draw=draw)
    if what.endswith(" rows"):
        return _some_rows(name, int(what.removesuffix(" rows")), seed)
    if name == "circles":  # drawn anew each time; all others are always the same
        return make_concentric_circles(random_state=seed)
    data = load_dataset(name, "comac_scaled" if what == "pairs" else "comac")
    return data.X, data.y


def _some_rows(name: str, n: int, seed: int) -> tuple[Any, Any]:
    """Other rows in every draw."""
    if name == "circles":
        return make_concentric_circles(n // 3, random_state=seed)
    data = load_dataset(name)
    chosen = np.random.default_rng(seed).choice(len(data.y), n, replace=False)
    return data.X[chosen], data.y[chosen]


def _side(cell: Cell, y: Any) -> SideInformation:
    """The statements of this draw: the same for every method, so that differences are paired."""
    names = ("dataset", "what", "percent", "noise", "draw")
    seed = seed_of(**{name: cell[name] for name in names})
    share = cell["percent"] / 100
    if cell["percent"] == 0:
        return SideInformation.empty(len(y))
    if cell["what"] == "pairs":
        side = sample_pairs(y, share, ordered=True, replace=False, random_state=seed)
        return side.only(kind="must") if cell["method"].startswith(NO_CANNOT) else side
    if cell["what"] == "two classes":
        n_labels = round(share * len(y))
        share = 0.3
        if cell["dataset"] == "segmentation":  # two of its seven equal classes hold 60 rows, 29 %
            share, n_labels = 0.28, min(n_labels, 60)
        return sample_labels(y, n_labels, classes=2, min_share=share, random_state=seed)
    right = 1 - cell["noise"] / 100
    return sample_labels(y, share, rounding="ceil", accuracy=right, exact=True, random_state=seed)


def _model(cell: Cell, n_clusters: int) -> MarkovAggregation:
    settings = {
        "n_clusters": n_clusters,
        "beta": cell["beta"],
        "n_neighbors": cell["k"],
        "random_state": seed_of(**cell),
    }
    if cell["method"] in (SEQ, NO_CANNOT):
        return MarkovAggregation.as_published(**settings)
    if cell["method"] in (DIRECT, DIRECT_NO_CANNOT):
        return MarkovAggregation.as_published(propagate=False, **settings)
    if cell["method"] == ANN:
        return MarkovAggregation.as_published(annealing_step=0.1, **settings)
    ours = {DENSE: {"chain": "dense"}, SPARSE: {"chain": "sparse"}, SOFT: {"constraints": "soft"}}
    return MarkovAggregation(**settings, **ours.get(cell["method"], {}))


# Which cells


def _cells(
    datasets: Iterable[str],
    methods: Iterable[str],
    repeats: int | None,
    *,
    percents: Iterable[int] = PERCENTS,
    noises: Iterable[int] = (0,),
    neighbors: Iterable[int] = (20,),
    betas: Iterable[float] = (0.5,),
    what: str = "labels",
) -> list[Cell]:
    names = ("dataset", "what", "percent", "noise", "k", "beta", "method", "draw")
    draws = range(DRAWS if repeats is None else repeats)
    grid = product(datasets, (what,), percents, noises, neighbors, betas, methods, draws)
    return [dict(zip(names, values, strict=True)) for values in grid]


def _rival_cells(
    datasets: Iterable[str],
    rivals: Iterable[str],
    repeats: int | None,
    *,
    percents: Sequence[int] = PERCENTS,
    noises: Iterable[int] = (0,),
    what: str = "labels",
) -> list[Cell]:
    """The other methods, which have neither k nor β, and K-means without statements."""
    names = ("dataset", "what", "percent", "noise", "method", "draw")
    draws = range(DRAWS if repeats is None else repeats)
    grid = product(datasets, (what,), percents, noises, rivals, draws)
    alone = product(datasets, (what,), (0,), (0,), (KMEANS,), draws)
    return [dict(zip(names, values, strict=True)) for values in (*grid, *alone)]


def _plain_cells(datasets: Iterable[str], repeats: int | None, what: str = "labels") -> list[Cell]:
    """K-means without statements."""
    return _rival_cells(datasets, (), repeats, what=what)


def _fig1_cells(repeats: int | None) -> list[Cell]:
    # 30 constraints for 180 rows
    cells = _cells(("circles",), (SEQ, ANN, DEFAULTS), repeats, percents=(0, 17), what="pairs")
    return cells + _plain_cells(("circles",), repeats, "pairs")


def _fig2_cells(repeats: int | None) -> list[Cell]:
    cells = _cells(
        ("circles", "iris"),
        (SEQ, ANN, DEFAULTS),
        repeats,
        neighbors=NEIGHBORS,
        betas=(0.0, 0.5, 1.0),
    )
    return cells + _plain_cells(("circles", "iris"), repeats)


def _fig3_cells(repeats: int | None) -> list[Cell]:
    cells = _cells(DATASETS, (SEQ, ANN, DEFAULTS), repeats, percents=(0, 20), betas=BETAS)
    return cells + _plain_cells(DATASETS, repeats)


def _fig4a_cells(repeats: int | None) -> list[Cell]:
    cells = _cells(DATASETS, (SEQ, ANN, DEFAULTS, SPARSE), repeats)
    cells += _rival_cells(DATASETS, LABEL_RIVALS, repeats)
    return cells + _rival_cells(DATASETS, PUBLISHED_RIVALS, repeats, percents=(10, 30))


def _fig4b_cells(repeats: int | None) -> list[Cell]:
    methods = (SEQ, ANN, DEFAULTS)
    shares = (10, 20, 30)
    cells = _cells(DATASETS, methods, repeats, percents=(0, *shares), what="two classes")
    return cells + _rival_cells(
        DATASETS, LABEL_RIVALS, repeats, percents=shares, what="two classes"
    )


def _fig5_cells(repeats: int | None) -> list[Cell]:
    datasets = [name for name in DATASETS if name != "circles"]
    cells = _cells(datasets, (SEQ, DEFAULTS, SOFT), repeats, percents=(30,), noises=NOISES)
    cells += _cells(datasets, (SEQ, DEFAULTS), repeats, percents=(0,))
    return cells + _rival_cells(datasets, LABEL_RIVALS, repeats, percents=(30,), noises=NOISES)


def _fig6_cells(repeats: int | None) -> list[Cell]:
    methods = (SEQ, DIRECT, NO_CANNOT, DIRECT_NO_CANNOT, DEFAULTS)
    cells = _cells(PAIR_DATASETS, methods, repeats, percents=PAIR_PERCENTS, what="pairs")
    return cells + _rival_cells(
        PAIR_DATASETS, PAIR_RIVALS, repeats, percents=PAIR_PERCENTS, what="pairs"
    )


def _sparse_cells(repeats: int | None) -> list[Cell]:
    cells = []
    for what in (f"{n} rows" for n in LARGER_SIZES):
        cells += _cells(LARGER_DATASETS, (DENSE, SPARSE), repeats, percents=(0, 10), what=what)
        cells += _plain_cells(LARGER_DATASETS, repeats, what)
    return cells


# How they are shown

_BY = ("dataset", "what", "percent", "noise", "k", "beta", "method")


def _render(
    *columns: str, reference: bool = False
) -> Callable[[Sequence[Outcome]], tuple[list[dict[str, Any]], str]]:
    """A table with a line per setting, by these columns, and a column per method."""

    def render(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
        rows = rows_of(outcomes, _BY[:-1], "nmi", runs=DRAWS, unit=0.1)
        for more in ("cost", "broken"):
            for row, other in zip(rows, summarise(outcomes, _BY, more), strict=True):
                row[more] = other["mean"]
        text = tables_of(rows, columns, "NMI, %", digits=1)
        if not reference:
            return rows, text
        lines = []
        for row in rows:
            row["reference"] = REFERENCE.get((row["dataset"], row["method"], row["percent"]))
            if found := _against(row):
                lines.append([row["dataset"], str(row["percent"]), row["method"], found])
        text += "\nThe figures of the prototype, and ours less theirs:\n\n"
        return rows, text + markdown(["data", "percent", "method", "prototype, Δ"], lines)

    return render


def _against(row: Mapping[str, Any] | None) -> str:
    if row is None or row["reference"] is None or row["mean"] is None:
        return ""
    return f"{row['reference']:.1f}, {signed(row['mean'] - row['reference'], 1)}"


def _draw(
    x: str, title: str, only: Mapping[str, Any] | None = None
) -> Callable[[Sequence[Mapping[str, Any]], Path], None]:
    def draw(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
        figure: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
        for row in rows:
            if row["mean"] is None or any(row[k] != v for k, v in (only or {}).items()):
                continue
            if row["dataset"] not in _DRAWN or row["method"] == KMEANS:
                continue
            point = (row[x], row["mean"], row["se"] or 0.0)
            figure.setdefault(row["dataset"], {}).setdefault(row["method"], []).append(point)
        shown_lines: Mapping[str, Lines] = figure
        panels(shown_lines, path, x=title, y="NMI, %")

    return draw


# More panels do not fit into one picture; the tables have them all.
_DRAWN = ("iris", "wine", "glass", "user", "vertebral", "circles", "ionosphere")

_COMMON = (
    "Draws: 10 per setting, as in the paper, unless the command above says otherwise; the same "
    "for every method.",
    "CoMaC-seq, CoMaC-ann: paper mode without and with annealing (Δ = 0.1), 5 starts. "
    "Our defaults: 5 starts from coarse to fine, repaired; a row is no neighbour of itself.",
    "NMI with the arithmetic mean. K is the number of classes; β = 0.5 and k = 20 unless varied.",
    "Scaling, the same for every method: columns of wine and of the data of Figure 6 have half a "
    "unit of standard deviation, the others are as they are; ecoli and segmentation on five "
    "principal components. KMeans: ten starts, no statements.",
    COLUMNS,
)

_OTHERS = (
    "The other methods, with our defaults: mixmod is PartialLabelGaussianMixture, c-GMM "
    "EquivalenceGaussianMixture, fc-means PartialLabelFuzzyCMeans, CEC-IB CrossEntropyClustering "
    "(at most 2 K clusters, finds the number), spec ConstrainedSpectral (which program the paper "
    "used is not known), k-means PartitionLevelKMeans.",
)

# iris and wine come with scikit-learn and circles are drawn, so that these run anywhere.
_RECORDED = (
    *_cells(("iris",), (SEQ, ANN, DEFAULTS, SPARSE, SOFT), 1, percents=(20,)),
    *_cells(("iris",), (SEQ, DEFAULTS), 1, percents=(20,), betas=(0.0, 1.0)),
    *_cells(("wine",), (SEQ, DEFAULTS, SOFT), 1, percents=(30,), noises=(20,)),
    *_cells(("circles",), (ANN, DEFAULTS), 1, percents=(0,)),
    *_cells(("ionosphere",), (SEQ, DEFAULTS), 1, percents=(50,), what="pairs"),
    *_rival_cells(("iris",), LABEL_RIVALS, 1, percents=(20,)),
)

EXPERIMENT = Experiment(
    title="Semi-supervised clustering via Markov chain aggregation (Steger, Geiger & Smieja)",
    run=run,
    missing=missing,
    uses=uses,
    recorded=_RECORDED,
    tables={
        "fig1": Table(
            "Figure 1: three circles, without and with 30 constraints",
            ("30 of 180 x 180 ordered pairs.", *_COMMON),
            _fig1_cells,
            _render("dataset", "percent"),
        ),
        "fig2": Table(
            "Figure 2: influence of k",
            _COMMON,
            _fig2_cells,
            _render("dataset", "beta", "percent", "k"),
            _draw("k", "k (β = 0.5, 20 % labelled)", {"beta": 0.5, "percent": 20}),
        ),
        "fig3": Table(
            "Figure 3: influence of β",
            _COMMON,
            _fig3_cells,
            _render("dataset", "percent", "beta"),
            _draw("beta", "β (20 % labelled)", {"percent": 20}),
        ),
        "fig4a": Table(
            "Figure 4a: labels from all classes",
            (
                *_COMMON,
                *_OTHERS,
                "As published: the same models set up as in their own papers (`as_published`).",
                "Sparse: our defaults on the neighbour graph instead of all pairs.",
                "The paper draws this without printing numbers; beside ours stand the figures of "
                "an earlier prototype (5 starts, 10 draws of its own, standard errors 0-4).",
            ),
            _fig4a_cells,
            _render("dataset", "percent", reference=True),
            _draw("percent", "labelled rows, %"),
        ),
        "fig4b": Table(
            "Figure 4b: labels from two classes",
            (
                "Two classes drawn at random that hold 30 % of the rows (28 % in segmentation).",
                *_COMMON,
                *_OTHERS,
            ),
            _fig4b_cells,
            _render("dataset", "percent"),
            _draw("percent", "labelled rows, %, from two classes"),
        ),
        "fig5": Table(
            "Figure 5: wrong labels",
            (
                "30 % of the rows labelled, a share of which gets another class. 0 percent: "
                "without labels.",
                *_COMMON,
                *_OTHERS,
            ),
            _fig5_cells,
            _render("dataset", "percent", "noise"),
            _draw("noise", "wrong labels, %", {"percent": 30}),
        ),
        "fig6": Table(
            "Figure 6: pairs, and the harm of a few cannot-links",
            (
                "Pairs: so many per 100 rows, ordered, without replacement. Scaled data. Not "
                "propagated: propagate=False, a row takes along only the rows that a pair names.",
                *_COMMON,
                *_OTHERS,
            ),
            _fig6_cells,
            _render("dataset", "percent"),
            _draw("percent", "pairs per 100 rows"),
        ),
        "sparse": Table(
            "Sparse chains beside dense ones, with more rows than the paper has",
            (
                "Other rows of the data set in every draw (circles: drawn anew), not scaled; none "
                "or a tenth of them labelled.",
                "Our defaults with chain=dense and chain=sparse, the same rows and labels.",
                *_COMMON[:1],
                *_COMMON[2:],
            ),
            _sparse_cells,
            _render("dataset", "what", "percent"),
        ),
    },
)
