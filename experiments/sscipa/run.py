"""Gribel, Gendreau & Vidal, "Semi-Supervised Clustering with Inaccurate Pairwise Annotations".

Tables 1 to 3 and Figures 3 to 9. See README.md for budgets and for what the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.comparison import COLUMNS, KMEANS, PLAIN, Method, fit, rows_of, scores, tables_of
from experiments.comparison import uses as model_of
from experiments.figures import panels
from experiments.runner import Cell, Experiment, Outcome, Table, seed_of
from experiments.tables import markdown, read_csv, shown, signed, summarise
from sidelight.blocks import threads
from sidelight.datasets import Dataset, make_gaussian_mixture
from sidelight.datasets import load as load_dataset
from sidelight.exceptions import DatasetNotFoundError
from sidelight.metrics import centroid_index, mixture_divergence, normalized_mutual_info
from sidelight.models import AnnotatedGaussianMixture
from sidelight.side import sample_pairs

CLUSTERS = (2, 4, 6)
ACCURACIES = (0.8, 0.9, 1.0)
ANNOTATIONS = tuple(range(0, 801, 100))
FEW_ANNOTATIONS = (0, 100, 200, 400, 800)
UCI = ("diabetes", "iris", "wine", "thyroid", "vertebral", "ecoli", "breast", "pendigits")
MULTIPLES = (0.5, 1.0, 1.5)
MIXTURES = 20  # of the paper's 50
UCI_DRAWS = 5  # of its 10
PUBLISHED = read_csv(Path(__file__).with_name("published.csv"))

BLOCKS, PRIORS, OURS = "block models", "block models, priors", "our defaults"
# The paper's model with the search of our defaults: what compound moves bring.
SEARCHED = "block models, priors, compound moves"
METHODS = (BLOCKS, PRIORS, SEARCHED, OURS)
# Without annotations: the search that the paper adapts, and plain K-means.
ALONE = {"HG-means": Method("HGMeans", ()), KMEANS: PLAIN}
# On real data also with a variance for each column, which the paper does not have.
DIAGONAL = "our defaults, diagonal"
UCI_METHODS = (*METHODS, DIAGONAL)


# One cell


def run(cell: Cell) -> Mapping[str, float]:
    """Draw the mixture and the annotations of this cell, fit its method, score the partition."""
    with threads(1):
        return _run_uci(cell) if "dataset" in cell else _run_mixture(cell)


def _run_mixture(cell: Cell) -> Mapping[str, float]:
    of_mixture = {name: cell[name] for name in ("clusters", "draw")}
    sample = make_gaussian_mixture(cell["clusters"], random_state=seed_of(**of_mixture))
    side = _side(cell, sample.y, cell["annotations"])
    if cell["method"] in ALONE:
        alone = fit(ALONE[cell["method"]], sample.X, cell["clusters"], None, seed_of(**cell))
        return scores(sample.y, alone.labels_, None, _METRICS, factor=1.0)
    model = _model(cell, cell["clusters"]).fit(sample.X, side=side)
    found = (_equal(model.n_clusters_), model.means_, model.variances_)
    share = 1.0 - model.result_.violated.mean() if side.n_statements else 1.0
    return {
        **scores(sample.y, model.labels_, side, _METRICS, factor=1.0),
        "kl": mixture_divergence(_of_partition(sample.X, sample.y), found),
        "ci": centroid_index(sample.means, model.means_),
        "correct": share,
        "objective": model.objective_,
    }


def _equal(n_clusters: int) -> Any:
    return np.full(n_clusters, 1.0 / n_clusters)  # as in the model


def _of_partition(X: Any, y: Any) -> tuple[Any, Any, Any]:
    """The mixture that the true partition gives: the printed KL is 0 where NMI is 1."""
    parts = [X[y == c] for c in np.unique(y) if np.sum(y == c) > 1]
    means = np.array([part.mean(axis=0) for part in parts])
    return _equal(len(parts)), means, np.array([part.var(axis=0).mean() for part in parts])


def _run_uci(cell: Cell) -> Mapping[str, float]:
    data = _data(cell["dataset"])
    side = _side(cell, data.y, round(cell["annotations"] * len(data.y)))
    if cell["method"] in ALONE:
        n_classes = len(data.class_names)
        model = fit(ALONE[cell["method"]], data.X, n_classes, None, seed_of(**cell))
    else:
        model = _model(cell, len(data.class_names)).fit(data.X, side=side)
    return scores(data.y, model.labels_, side, _METRICS, factor=1.0)


_METRICS = {"nmi": normalized_mutual_info}


def uses(cell: Cell) -> tuple[str, ...]:
    """The model of ours that this cell fits."""
    name = cell["method"]
    return model_of(ALONE[name]) if name in ALONE else ("AnnotatedGaussianMixture",)


def missing(cell: Cell) -> str | None:
    """Why this cell cannot run here: its data set is not on this machine."""
    try:
        if "dataset" in cell:
            _data(cell["dataset"])
    except DatasetNotFoundError as error:
        return str(error)
    return None


@cache
def _data(name: str) -> Dataset:
    return load_dataset(name, "sscipa")


def _side(cell: Cell, y: Any, n_pairs: int) -> Any:
    """The annotations of this draw: the same for every method, so that differences are paired."""
    names = ("dataset", "clusters", "accuracy", "annotations", "draw")
    draw = {name: cell[name] for name in names if name in cell}
    return sample_pairs(y, n_pairs, accuracy=cell["accuracy"], random_state=seed_of(**draw))


def _model(cell: Cell, n_clusters: int) -> AnnotatedGaussianMixture:
    settings: dict[str, Any] = {
        "n_clusters": n_clusters,
        "n_init": cell["starts"],
        "n_generations": cell["generations"],
        "population_size": 2 * cell["starts"],
        "random_state": seed_of(**cell),
    }
    if cell["method"] == OURS:
        return AnnotatedGaussianMixture(**settings, covariance_type="spherical")
    if cell["method"] == DIAGONAL:
        return AnnotatedGaussianMixture(**settings, covariance_type="diag")
    accuracy = None if cell["method"] == BLOCKS else cell["accuracy"]
    if cell["method"] == SEARCHED:
        settings["compound_moves"] = True
    return AnnotatedGaussianMixture.as_published(accuracy=accuracy, **settings)


# Which cells


def _budget(repeats: int | None) -> dict[str, int]:
    """The paper's 10 starts, 5 of its 50 generations; one draw is a smoke test."""
    if repeats == 1:
        return {"starts": 2, "generations": 0}
    return {"starts": 10, "generations": 5}


def _draws(repeats: int | None, draws: int) -> range:
    return range(draws if repeats is None else repeats)


def _mixture_cells(
    repeats: int | None,
    accuracies: Iterable[float],
    clusters: Iterable[int] = CLUSTERS,
    annotations: Sequence[int] | None = None,
) -> list[Cell]:
    counts = annotations or (FEW_ANNOTATIONS if repeats == 1 else ANNOTATIONS)
    grid = product(clusters, accuracies, counts, METHODS, _draws(repeats, MIXTURES))
    names = ("clusters", "accuracy", "annotations", "method", "draw")
    cells = [dict(zip(names, values, strict=True)) | _budget(repeats) for values in grid]
    # Without annotations the accuracy and the priors are nothing.
    cells = [
        cell | ({"accuracy": 1.0} if cell["annotations"] == 0 else {})
        for cell in cells
        if cell["annotations"] or cell["method"] not in (PRIORS, SEARCHED)
    ]
    if 0 in counts:
        grid = product(clusters, (1.0,), (0,), ALONE, _draws(repeats, MIXTURES))
        cells += [dict(zip(names, values, strict=True)) for values in grid]
    return cells


def _uci_cells(repeats: int | None, accuracy: float) -> list[Cell]:
    draws, budget = _draws(repeats, UCI_DRAWS), _budget(repeats)
    names = ("dataset", "accuracy", "annotations", "method", "draw")
    grid = product(UCI, (accuracy,), MULTIPLES, UCI_METHODS, draws)
    base = product(UCI, (1.0,), (0.0,), (BLOCKS, OURS, DIAGONAL), draws)
    alone = product(UCI, (1.0,), (0.0,), ALONE, draws)
    cells = [dict(zip(names, v, strict=True)) | budget for v in (*grid, *base)]
    return cells + [dict(zip(names, v, strict=True)) for v in alone]


# How they are shown


def published(accuracy: float, clusters: int, annotations: int, priors: str, metric: str) -> Any:
    """The printed mean."""
    key = (str(accuracy), str(clusters), str(annotations), priors, metric)
    names = ("annotator_accuracy", "n_clusters", "n_annotations", "priors", "metric")
    for row in PUBLISHED:
        if tuple(row[name] for name in names) == key:
            return float(row["mean"])
    return None


_BY = ("clusters", "accuracy", "annotations", "method")


def _summary(outcomes: Sequence[Outcome], metric: str) -> list[dict[str, Any]]:
    return [{"metric": metric} | row for row in summarise(outcomes, _BY, metric)]


def _paired(outcomes: Sequence[Outcome], one: str, two: str) -> dict[tuple[Any, ...], Any]:
    """Mean and standard error of NMI(one) - NMI(two) on the same mixtures, by setting."""
    values: dict[tuple[Any, ...], dict[str, float]] = {}
    for o in outcomes:
        if o.error is None:
            key = tuple(o.cell[n] for n in ("clusters", "accuracy", "annotations", "draw"))
            values.setdefault(key, {})[o.cell["method"]] = o.values["nmi"]
    groups: dict[tuple[Any, ...], list[float]] = {}
    for key, found in values.items():
        if one in found and two in found:
            groups.setdefault(key[:3], []).append(found[one] - found[two])
    return {
        key: (np.mean(d), np.std(d, ddof=1) / np.sqrt(len(d)) if len(d) > 1 else None)
        for key, d in groups.items()
    }


def _difference(pair: Any) -> str:
    if pair is None:
        return ""
    mean, error = pair
    return signed(float(mean), 3) + ("" if error is None else f" ± {error:.3f}")


def _render_table(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    rows = _summary(outcomes, "nmi") + _summary(outcomes, "kl")
    found = {(r["metric"], *(r[n] for n in _BY)): r for r in rows}
    settings = sorted({(r["clusters"], r["annotations"], r["accuracy"]) for r in rows})
    accuracy = min(r["accuracy"] for r in rows)  # that of the table: m = 0 is filed under 1
    against = {two: _paired(outcomes, OURS, two) for two in (BLOCKS, PRIORS)}
    text = ""
    for metric, name in (("nmi", "NMI"), ("kl", "KL divergence")):
        header = ["K", "m", "runs"]
        header += [f"{m}: published" for m in (BLOCKS, PRIORS)] + list(METHODS)
        header += [f"ours − {m}" for m in (BLOCKS, PRIORS)] if metric == "nmi" else []
        lines = []
        for k, m, p in settings:
            ours = [found.get((metric, k, p, m, method)) for method in METHODS]
            printed = [
                published(accuracy, k, m, "none" if m == 0 else which, metric)
                for which in ("no", "yes")
            ]
            line = [str(k), str(m), str(max(r["runs"] for r in ours if r))]
            line += ["" if v is None else f"{v:.3f}" for v in printed]
            line += [shown(row, 3) for row in ours]
            if metric == "nmi":
                line += [_difference(against[two].get((k, p, m))) for two in (BLOCKS, PRIORS)]
            lines.append(line)
        text += f"{name}:\n\n{markdown(header, lines)}\n"
    # "clusters" of a row are those found.
    named = [Outcome(o.cell | {"K": o.cell["clusters"]}, o.values, o.error) for o in outcomes]
    others = rows_of(named, ("K", "accuracy", "annotations"), "nmi", runs=50, unit=1e-4)
    others.sort(key=lambda r: (r["K"], r["annotations"]))
    rest = {(r["K"], r["accuracy"], r["annotations"], r["method"]): r for r in others}
    for row in rows:
        m, which = row["annotations"], {BLOCKS: "no", PRIORS: "yes"}.get(row["method"])
        which = "none" if m == 0 and row["method"] == BLOCKS else which
        row["published"] = published(accuracy, row["clusters"], m, str(which), row["metric"])
        if row["metric"] == "nmi":
            more = rest[tuple(row[n] for n in _BY)]
            row |= {n: more[n] for n in more if n.startswith("untouched_")}
            row["clusters_found"] = more["clusters"]
    return rows, text + tables_of(others, ("K", "annotations"), "NMI", digits=3)


def _render_fig3(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    rows = [r for r in _summary(outcomes, "correct") if r["annotations"]]
    found = {tuple(r[n] for n in _BY): r for r in rows}
    settings = sorted({(r["accuracy"], r["clusters"], r["annotations"]) for r in rows})
    lines = [
        [f"{p:g}", str(k), str(m), *(shown(found.get((k, p, m, method)), 3) for method in METHODS)]
        for p, k, m in settings
    ]
    return rows, markdown(["true accuracy", "K", "m", *METHODS], lines)


def _draw_fig3(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    figure: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
    for row in rows:
        if row["mean"] is None or row["clusters"] == 2:
            continue
        lines = figure.setdefault(f"K = {row['clusters']}, p = {row['accuracy']:g}", {})
        point = (row["annotations"], row["mean"], row["se"] or 0.0)
        lines.setdefault(row["method"], []).append(point)
    for title, lines in figure.items():
        p = float(title.rsplit(" ", 1)[1])
        xs = [x for x, _, _ in next(iter(lines.values()))]
        lines["true"] = [(x, p, 0.0) for x in xs]
    panels(figure, path, x="annotations", y="annotations that agree")


def _render_ci(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    rows = []
    outcomes = [o for o in outcomes if o.cell["method"] not in ALONE]
    settings = list(dict.fromkeys((o.cell["annotations"], o.cell["method"]) for o in outcomes))
    for m, method in settings:
        values = [
            round(o.values["ci"])
            for o in outcomes
            if o.error is None and (o.cell["annotations"], o.cell["method"]) == (m, method)
        ]
        counts = {f"CI = {c}": sum(v == c for v in values) for c in range(3)}
        counts["CI > 2"] = sum(v > 2 for v in values)
        rows.append({"m": m, "method": method, "runs": len(values)} | counts)
    names = list(rows[0])
    return rows, markdown(names, [[str(r[n]) for n in names] for r in rows])


def _relative(outcomes: Sequence[Outcome]) -> dict[tuple[str, float, str], list[float]]:
    """NMI above that of the same model without annotations, by data set, m / N and method."""
    base = {}
    for o in outcomes:
        if o.error is None and o.cell["annotations"] == 0:
            base[o.cell["dataset"], o.cell["method"], o.cell["draw"]] = o.values["nmi"]
    groups: dict[tuple[str, float, str], list[float]] = {}
    for o in outcomes:
        cell = o.cell
        without = BLOCKS if cell["method"] == PRIORS else cell["method"]
        start = base.get((cell["dataset"], without, cell["draw"]))
        if o.error is None and cell["annotations"] and start is not None:
            key = (cell["dataset"], cell["annotations"], cell["method"])
            groups.setdefault(key, []).append(o.values["nmi"] - start)
    return groups


def _render_uci(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    absolute = {
        (r["dataset"], r["annotations"], r["method"]): r
        for r in summarise(outcomes, ("dataset", "annotations", "method"), "nmi")
    }
    rows = []
    for (name, m, method), values in _relative(outcomes).items():
        quartiles = np.percentile(values, [0, 25, 50, 75, 100])
        row: dict[str, Any] = {"dataset": name, "m / N": m, "method": method, "runs": len(values)}
        labels = ("least", "lower quartile", "median", "upper quartile", "most")
        row |= dict(zip(labels, map(float, quartiles), strict=True))
        rows.append(row | {"nmi": absolute[name, m, method]["mean"]})
    header = ["data", "m / N", "method", "runs", "NMI", "above unsupervised: median", "quartiles"]
    lines = [
        [
            r["dataset"],
            f"{r['m / N']:g}",
            r["method"],
            str(r["runs"]),
            f"{r['nmi']:.3f}",
            signed(r["median"], 3),
            f"{signed(r['lower quartile'], 3)} … {signed(r['upper quartile'], 3)}",
        ]
        for r in rows
    ]
    others = rows_of(outcomes, ("dataset", "annotations"), "nmi", runs=10, unit=1e-4)
    others.sort(key=lambda r: (UCI.index(r["dataset"]), r["annotations"]))
    text = markdown(header, lines)
    return rows, text + tables_of(others, ("dataset", "annotations"), "NMI", digits=3)


def _draw_uci(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    from matplotlib.figure import Figure

    datasets = list(dict.fromkeys(r["dataset"] for r in rows))
    canvas = Figure(figsize=(2.4 * len(datasets) + 1, 3.2), layout="constrained")
    axes: Any = canvas.subplots(1, len(datasets), squeeze=False, sharey=True)[0]
    for axis, name in zip(axes, datasets, strict=True):
        boxes = [
            {
                "whislo": r["least"],
                "q1": r["lower quartile"],
                "med": r["median"],
                "q3": r["upper quartile"],
                "whishi": r["most"],
                "fliers": [],
                "label": f"{UCI_METHODS.index(r['method']) + 1}:{r['m / N']:g}",
            }
            for r in rows
            if r["dataset"] == name
        ]
        axis.bxp(boxes, showfliers=False)
        axis.axhline(0.0, lw=0.5)
        axis.set_title(name)
        axis.tick_params(axis="x", rotation=90, labelsize="x-small")
    axes[0].set_ylabel("NMI above unsupervised")
    canvas.savefig(path, dpi=90)


_MIXTURES = (
    "Mixtures: N = 200, D = 10, means uniform on [-1, 1], variances on (0, 5]; m pairs uniform "
    "with replacement, each marked right with probability p; the same for all methods.",
    "Search: 10 starts and 5 generations of 10 children, 60 local searches; the paper has 510, and "
    "the best of 50 repetitions of them (what 510 bring: the page `full`). 20 mixtures unless the "
    "command above says otherwise; the paper has 50. Scaling: none.",
    "Block models: paper mode, without and with priors (p is told), annotated rows moved one by "
    "one as printed; compound moves: the same with the search of our defaults. Our defaults: one "
    "accuracy, estimated, and a weak prior on the variances.",
    "HG-means (HGMeans) and KMeans with ten starts have no annotations: the lines of m = 0.",
    COLUMNS,
    "NMI (arithmetic); KL of the true partition's mixture from the found one. Mean ± "
    "standard error over mixtures; differences are of the same mixtures.",
)


def _table(number: int, p: float) -> Table:
    return Table(
        f"Table {number}: NMI and KL divergence, p = {p:g}",
        _MIXTURES,
        lambda repeats: _mixture_cells(repeats, (p,)),
        _render_table,
    )


def _full_cells(repeats: int | None) -> list[Cell]:
    """A few settings of Tables 2 and 3, searched with 60 local searches and with all of them."""
    cells = _mixture_cells(repeats, (0.9, 1.0), (4, 6), (400,))
    if repeats == 1:
        return cells
    return [cell | {"generations": g} for g in (5, 50) for cell in cells]


def _render_full(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    by = ("clusters", "accuracy", "generations")
    settings = sorted({tuple(o.cell[n] for n in by) for o in outcomes})
    rows, lines = [], []
    for setting in settings:
        here = [o for o in outcomes if tuple(o.cell[n] for n in by) == setting]
        found = {r["method"]: r for r in _summary(here, "nmi")}
        k, p, generations = setting
        searches = here[0].cell["starts"] * (1 + generations)
        rows += [{"local searches": searches} | row for row in found.values()]
        printed = (published(p, k, 400, which, "nmi") for which in ("no", "yes"))
        line = [str(k), f"{p:g}", str(searches), str(max(r["runs"] for r in found.values()))]
        line += ["" if v is None else f"{v:.3f}" for v in printed]
        line += [shown(found.get(method), 3) for method in METHODS]
        pairs = (_paired(here, OURS, two).get((k, p, 400)) for two in (BLOCKS, PRIORS))
        lines.append(line + [_difference(pair) for pair in pairs])
    header = ["K", "p", "local searches", "runs"]
    header += [f"{m}: published" for m in (BLOCKS, PRIORS)] + list(METHODS)
    return rows, markdown(header + [f"ours − {m}" for m in (BLOCKS, PRIORS)], lines)


def _ci_figure(number: int, p: float) -> Table:
    return Table(
        f"Figure {number}: centroid index for K = 6, p = {p:g}",
        ("Number of mixtures by centroid index; otherwise as Table 1. The paper has no numbers.",),
        lambda repeats: _mixture_cells(
            repeats, (p,), (6,), (0, 200, 400) if repeats == 1 else (0, 200, 400, 600)
        ),
        _render_ci,
    )


def _uci_figure(number: int, p: float) -> Table:
    return Table(
        f"Figure {number}: UCI data, NMI relative to the unsupervised model, p = {p:g}",
        (
            "m = N/2, N, 1.5 N pairs, five draws unless the command above says otherwise (the "
            "paper: ten); the same model without annotations is the base. Scaling: none, as in the "
            "paper, which prints no numbers.",
            "Search as in the tables. Boxes: quartiles; whiskers: extremes; 1 to 5 on the axis "
            "are block models, block models with priors, the same with compound moves, our "
            "defaults (the four with one variance per cluster) and our defaults with one per "
            "column, then m / N.",
            COLUMNS,
        ),
        lambda repeats: _uci_cells(repeats, p),
        _render_uci,
        _draw_uci,
    )


_ONE = {"starts": 10, "generations": 1, "draw": 0}

EXPERIMENT = Experiment(
    title="Semi-supervised clustering with inaccurate pairwise annotations (Gribel et al.)",
    run=run,
    missing=missing,
    uses=uses,
    recorded=(
        *(
            {"clusters": 4, "accuracy": 0.9, "annotations": m, "method": method} | _ONE
            for m, method in product((0, 200), (BLOCKS, OURS))
        ),
        {"clusters": 2, "accuracy": 1.0, "annotations": 200, "method": PRIORS} | _ONE,
        {"dataset": "iris", "accuracy": 0.9, "annotations": 0.5, "method": OURS} | _ONE,
    ),
    tables={
        "1": _table(1, 0.8),
        "2": _table(2, 0.9),
        "3": _table(3, 1.0),
        "full": Table(
            "What the full search budget brings: NMI at m = 400",
            (
                _MIXTURES[0],
                "Search: 10 starts and 5 generations (60 local searches) or 50 (510, the paper's) "
                "of 10 children, on the same mixtures and annotations.",
                *_MIXTURES[2:],
            ),
            _full_cells,
            _render_full,
        ),
        "fig3": Table(
            "Figure 3: share of annotations that agree with the partition",
            ("As Tables 1 to 3. The paper prints no numbers.",),
            lambda repeats: _mixture_cells(repeats, ACCURACIES, (4, 6)),
            _render_fig3,
            _draw_fig3,
        ),
        "fig4": _ci_figure(4, 0.8),
        "fig5": _ci_figure(5, 0.9),
        "fig6": _ci_figure(6, 1.0),
        "fig7": _uci_figure(7, 0.8),
        "fig8": _uci_figure(8, 0.9),
        "fig9": _uci_figure(9, 1.0),
    },
)
