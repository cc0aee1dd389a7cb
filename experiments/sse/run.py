"""Zeng et al., "Semi-Supervised Clustering via Structural Entropy with Different Constraints".

SDM 2024; its experiments on partitions, Tables 1 and 2 and Figure 2, and on trees, Table 3 and
Figure 3. See README.md for what the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from experiments.figures import Lines, panels
from experiments.runner import Cell, Experiment, Outcome, Table, seed_of
from experiments.sse import rivals
from experiments.tables import compare, markdown, read_csv, shown, signed, summarise
from sidelight.datasets import Dataset
from sidelight.datasets import load as load_dataset
from sidelight.exceptions import DatasetNotFoundError
from sidelight.metrics import adjusted_rand, dendrogram_purity, normalized_mutual_info
from sidelight.models import StructuralEntropyClustering, StructuralEntropyTree
from sidelight.side import SideInformation, sample_labels, sample_pairs

IMAGES = ("yale", "orl", "coil20", "isolet1", "optdigits")
CELLS = ("pbmc_10x", "mouse_bladder", "worm_neuron", "human_kidney")
TREES = ("wine", "heart", "breast_libsvm", "australian")
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
DRAWS = 10
PUBLISHED = {
    (row["dataset"], row["constraints"], row["metric"]): row
    for row in read_csv(Path(__file__).with_name("published.csv"))
}
SHOWN_AS = {"none": "SE", "pairwise": "SSE, pairs", "label": "SSE, labels"}

PAPER, REFINED, OURS, OURS_K = (
    "paper mode",
    "paper mode, our search",
    "our defaults",
    "our defaults, K given",
)
TREE, TREE_CUT, TREE_OURS, TREE_K = (
    "tree, paper mode",
    "tree, the paper's stretching, our cut",
    "tree, our defaults",
    "tree, our defaults, K given",
)


# One cell


def run(cell: Cell) -> Mapping[str, float]:
    """Draw the statements of this cell, fit its method, score the partition."""
    data = _data(cell["dataset"])
    if cell["method"].startswith("tree"):
        return _run_tree(cell, data)
    if cell["method"] in rivals.ALL:
        side = _side(cell, data)
        assert side is not None
        fitted = rivals.fit(cell, data.X, len(data.class_names), side, seed_of(**cell))
        return {
            "ari": 100 * adjusted_rand(data.y, fitted.labels_),
            "nmi": 100 * normalized_mutual_info(data.y, fitted.labels_),
            "clusters": fitted.n_clusters_,
        }
    model = _model(cell, data).fit(data.X, side=_side(cell, data))
    return {
        "ari": 100 * adjusted_rand(data.y, model.labels_),
        "nmi": 100 * normalized_mutual_info(data.y, model.labels_),
        "clusters": model.n_clusters_,
        "objective": model.objective_,
    }


def _run_tree(cell: Cell, data: Dataset) -> Mapping[str, float]:
    """The same for a tree; its purity, and how many clusters are single rows, too."""
    settings: dict[str, Any] = {"random_state": seed_of(**cell)}
    if cell["dataset"] in CELLS:
        settings["scaling"] = None  # counts, whose zeros have a meaning
    if cell["method"] == TREE_CUT:
        settings["stretching"] = "published"
    if cell["method"] == TREE_K:
        settings["n_clusters"] = len(data.class_names)
    published = cell["method"] == TREE
    model = (StructuralEntropyTree.as_published if published else StructuralEntropyTree)(**settings)
    model.fit(data.X, side=_side(cell, data))
    return {
        "dp": 100 * dendrogram_purity(model.binary_tree_, data.y),
        "ari": 100 * adjusted_rand(data.y, model.labels_),
        "nmi": 100 * normalized_mutual_info(data.y, model.labels_),
        "clusters": model.n_clusters_,
        "single": int((model.result_.sizes == 1).sum()),
        "objective": model.objective_,
        "binary objective": model.binary_objective_,
    }


def missing(cell: Cell) -> str | None:
    """Why this cell cannot run here: its data set is not on this machine."""
    try:
        _data(cell["dataset"])
    except DatasetNotFoundError as error:
        return str(error)
    return None


@cache
def _data(name: str) -> Dataset:
    return load_dataset(name, None if name == "breast_libsvm" else "sse")


def _side(cell: Cell, data: Dataset) -> SideInformation | None:
    """The statements of this draw: the same for every method, so that differences are paired."""
    if cell["constraints"] == "none":
        return None
    draw = {name: cell[name] for name in ("dataset", "constraints", "share", "draw")}
    seed, share = seed_of(**draw), cell["share"]
    if cell["constraints"] == "pairwise":
        return sample_pairs(
            data.y, n_must=share, n_cannot=share, rounding="floor", random_state=seed
        )
    return sample_labels(
        data.y, share, n_negative=share, promote=True, rounding="floor", random_state=seed
    )


def _model(cell: Cell, data: Dataset) -> StructuralEntropyClustering:
    k = len(data.class_names)
    is_rna = cell["dataset"] in CELLS
    settings: dict[str, Any] = {"random_state": seed_of(**cell)}
    if is_rna:
        settings["affinity"] = "cosine"
    if cell["method"] in (OURS, OURS_K):
        if cell["method"] == OURS_K:
            settings["n_clusters"] = k
        return StructuralEntropyClustering(scaling="min-max", **settings)
    settings["n_neighbors"] = StructuralEntropyClustering.published_n_neighbors(len(data.y), k)
    settings["must_first"] = is_rna
    if cell["method"] == REFINED:
        settings["refine"] = True
    elif cell["constraints"] == "none":
        settings["refine"] = False
    return StructuralEntropyClustering.as_published(**settings)


# Which cells


def _cells(
    datasets: Iterable[str],
    methods: Iterable[str],
    repeats: int | None,
    kinds: Iterable[str] = ("pairwise", "label"),
    shares: Iterable[float] | None = None,
) -> list[Cell]:
    draws = range(DRAWS if repeats is None else repeats)
    cells = []
    for name, kind, method in product(datasets, kinds, methods):
        for share in shares or (0.2 if kind == "pairwise" else 0.1,):
            cell = {"dataset": name, "constraints": kind, "share": share, "method": method}
            cells += [cell | {"draw": draw} for draw in draws]
    return cells


def _base_cells(datasets: Iterable[str], methods: Iterable[str]) -> list[Cell]:
    """Without statements: one run, for merging alone is not random."""
    return [
        {"dataset": name, "constraints": "none", "share": 0.0, "method": method, "draw": 0}
        for name, method in product(datasets, methods)
    ]


def _table_cells(datasets: Sequence[str], repeats: int | None) -> list[Cell]:
    methods = (PAPER, REFINED, OURS, OURS_K)
    return _base_cells(datasets, methods) + _cells(datasets, methods, repeats)


def _tree_cells(datasets: Sequence[str], repeats: int | None) -> list[Cell]:
    methods = (TREE, TREE_CUT, TREE_OURS, TREE_K)
    return _base_cells(datasets, methods) + _cells(datasets, methods, repeats, ("pairwise",))


def _fig3_cells(repeats: int | None) -> list[Cell]:
    return _cells(TREES, (TREE, TREE_OURS, TREE_K), repeats, ("pairwise",), SHARES)


def _fig2_cells(repeats: int | None) -> list[Cell]:
    # wine, of the paper's Table 3, comes with scikit-learn: something can be shown anywhere
    return _cells((*IMAGES, "wine"), (PAPER, OURS, OURS_K), repeats, ("pairwise",), SHARES)


# How they are shown


PARTITIONS = ("ari", "nmi", "clusters", "objective")


def _summary(
    outcomes: Iterable[Outcome], measures: Sequence[str] = PARTITIONS
) -> list[dict[str, Any]]:
    """Means by setting and measure, beside the printed ones where the share is the paper's."""
    outcomes = list(outcomes)
    by = ("dataset", "constraints", "share", "method")
    rows = []
    for measure in measures:
        for row in summarise(outcomes, by, measure):
            printed = PUBLISHED.get((row["dataset"], row["constraints"], measure))
            usable = printed and row["share"] in (0.0, 0.1, 0.2)
            value = float(printed["printed"]) if printed and usable else None
            row = compare(row, value, None, runs=DRAWS, unit=0.01)
            program = printed["program"] if printed and usable else ""
            rows.append({"measure": measure} | row | {"program": program})
    return rows


def _found(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[Any, ...], Any]:
    names = ("measure", "dataset", "constraints", "share", "method")
    return {tuple(row[name] for name in names): row for row in rows}


def _render_table(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    rows = _summary(outcomes)
    found = _found(rows)
    settings = dict.fromkeys((r["dataset"], r["constraints"], r["share"]) for r in rows)
    text = ""
    for measure, title in (("ari", "ARI"), ("nmi", "NMI")):
        header = ["data", "", "runs", "printed", "published program", PAPER, "Δ"]
        lines = []
        for name, kind, share in settings:
            paper, *others = (
                found.get((measure, name, kind, share, m)) for m in (PAPER, REFINED, OURS, OURS_K)
            )
            printed = "" if paper["published"] is None else f"{paper['published']:.2f}"
            line = [name, SHOWN_AS[kind], str(paper["runs"]), printed, paper["program"]]
            line += [shown(paper), signed(paper["difference"]), *map(shown, others)]
            lines.append(line)
        text += f"\n{title}, %:\n\n" + markdown([*header, REFINED, OURS, OURS_K], lines)
    text += "\nThe objective L (lower is better; comparable within a line), and clusters found:\n\n"
    header = ["data", "", f"L, {PAPER}", f"L, {REFINED}", f"clusters, {PAPER}"]
    header += [f"clusters, {m}" for m in (REFINED, OURS)]
    lines = []
    for name, kind, share in settings:
        of = [found.get(("objective", name, kind, share, m)) for m in (PAPER, REFINED)]
        count = [found.get(("clusters", name, kind, share, m)) for m in (PAPER, REFINED, OURS)]
        lines.append(
            [name, SHOWN_AS[kind], *(shown(r, 4) for r in of), *(shown(r, 1) for r in count)]
        )
    return rows, text + markdown(header, lines)


def _spread(row: Mapping[str, Any] | None, digits: int = 1) -> str:
    """`mean (standard deviation)`: for trees the spread is what there is to see."""
    if row is None or row["mean"] is None:
        return shown(row, digits)
    deviation = "" if row["std"] is None else f" ({row['std']:.{digits}f})"
    return f"{row['mean']:.{digits}f}{deviation}"


def _render_trees(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    measures = ("dp", "ari", "nmi", "clusters", "single", "objective", "binary objective")
    rows = _summary(outcomes, measures)
    found = _found(rows)
    settings = dict.fromkeys((r["dataset"], r["constraints"], r["share"]) for r in rows)
    methods = tuple(dict.fromkeys(r["method"] for r in rows))
    text = ""
    for measure, title in (("dp", "Dendrogram purity, %"), ("ari", "ARI, %"), ("nmi", "NMI, %")):
        lines = []
        for name, kind, share in settings:
            of = [found.get((measure, name, kind, share, m)) for m in methods]
            printed = "" if of[0]["published"] is None else f"{of[0]['published']:.2f}"
            line = [name, SHOWN_AS[kind], f"{share} n", str(of[0]["runs"]), printed]
            exact = kind == "none"  # one run: all digits of the print
            cells = [
                f"{r['mean']:.2f}" if exact and r["mean"] is not None else _spread(r) for r in of
            ]
            lines.append([*line, of[0]["program"], *cells])
        header = ["data", "", "pairs", "runs", "printed", "published program", *methods]
        text += f"\n{title}; mean (standard deviation):\n\n" + markdown(header, lines)
    lines = []
    for name, kind, share in settings:
        of = [
            _spread(found.get((measure, name, kind, share, m)))
            for m in methods
            for measure in ("clusters", "single")
        ]
        lines.append([name, SHOWN_AS[kind], f"{share} n", *of])
    header = [f"{what}, {m}" for m in methods for what in ("clusters", "single rows")]
    text += "\nClusters, and how many of them are single rows:\n\n"
    text += markdown(["data", "", "pairs", *header], lines)
    lines = []
    for name, kind, share in settings:
        of = [
            _spread(found.get(("binary objective", name, kind, share, m)), 3)
            for m in (TREE_CUT, TREE_OURS)
            if m in methods
        ]
        lines.append([name, SHOWN_AS[kind], f"{share} n", *of])
    header = [m for m in (TREE_CUT, TREE_OURS) if m in methods]
    text += "\nL of the binary tree (in paper mode, with self-loops, it is another quantity):\n\n"
    return rows, text + markdown(["data", "", "pairs", *header], lines)


def _draw_fig3(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    _draw_lines(rows, path, (TREE, TREE_OURS, TREE_K))


def _render_fig2(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    rows = _summary(outcomes)
    found = _found(rows)
    methods = (PAPER, OURS, OURS_K)
    measures = (("ari", "ARI"), ("nmi", "NMI"), ("clusters", "clusters"))
    header = ["data", "pairs of each kind", "runs"]
    header += [f"{title}, {m}" for m in methods for _, title in measures]
    lines = []
    for name, share in dict.fromkeys((r["dataset"], r["share"]) for r in rows):
        ours = [
            found.get((measure, name, "pairwise", share, m))
            for m in methods
            for measure, _ in measures
        ]
        lines.append([name, f"{share} n", str(ours[0]["runs"]), *(shown(r, 1) for r in ours)])
    return rows, markdown(header, lines)


def _draw_fig2(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    _draw_lines(rows, path, (PAPER, OURS, OURS_K))


def _draw_lines(rows: Sequence[Mapping[str, Any]], path: Path, methods: Sequence[str]) -> None:
    """The ARI of each method at each number of pairs, one panel for each data set."""
    found = _found(rows)
    figure: dict[str, Lines] = {}
    for name in dict.fromkeys(row["dataset"] for row in rows):
        lines = {}
        for method in methods:
            points = [(s, found.get(("ari", name, "pairwise", s, method))) for s in SHARES]
            lines[method] = [
                (s, r["mean"], r["se"] or 0.0) for s, r in points if r and r["mean"] is not None
            ]
        figure[name] = lines
    panels(figure, path, x="pairs of each kind / n", y="ARI, %")


_ROWS = (
    "Pairs: int(0.2 n) of each kind, with replacement. Labels: int(0.1 n) rows with their label, "
    "int(0.1 n) negative labels on other rows; the same draws for every method.",
    "Paper mode: min-max columns, σ = 10 or the cosine (RNA-seq, must-links first), neighbours by "
    "the paper's formula with the true number of classes, merging and (with statements) moving.",
    "Our search: refine=True, all else as in paper mode, so that the objectives can be compared.",
    "Our defaults: min-max columns (the cosine for RNA-seq), everything else left alone; the "
    "number of clusters is found, or given.",
    "Scores on all rows, constrained ones included, as in the paper. Ours: mean ± standard error; "
    "printed: the paper's tables; published program: its code, run with the same protocol.",
)

_TREE_ROWS = (
    "Pairs: int(0.2 n) of each kind, with replacement; the same draws for every method.",
    "Paper mode: z-scores, the cosine, 5 neighbours with ties, self-loops, stretching, and "
    "compressing to height 2. Our defaults: StructuralEntropyTree() (RNA-seq: scaling=None). Our "
    "cut with the paper's stretching: stretching='published'.",
    "breast_libsvm is the paper's breast cancer: LIBSVM's file, whose first column is an id.",
    "Purity of the binary tree. ARI and NMI of the children of the root; all rows count. "
    "Single rows: clusters of one row.",
)

_RECORDED = (
    *_base_cells(("optdigits",), (PAPER, REFINED, OURS, OURS_K)),
    *_base_cells(("yale", "orl"), (PAPER,)),
    *_cells(("optdigits", "yale"), (PAPER, OURS, OURS_K), 1),
    *_cells(("optdigits",), (OURS_K,), 1, ("pairwise",), (0.6,)),
    *_base_cells(("wine",), (TREE, TREE_CUT, TREE_OURS, TREE_K)),
    *_cells(("wine",), (TREE, TREE_OURS, TREE_K), 1, ("pairwise",), (0.2, 0.6, 1.0)),
    *_cells(("heart", "yale"), (TREE_OURS, TREE_K), 1, ("pairwise",), (0.2,)),
)

EXPERIMENT = Experiment(
    title="Semi-supervised clustering via structural entropy (Zeng et al. 2024)",
    run=run,
    missing=missing,
    recorded=_RECORDED,
    tables={
        "1": Table(
            "Table 1: images, letters and digits",
            ("Draws: 10 per setting unless said otherwise above.", *_ROWS),
            lambda repeats: _table_cells(IMAGES, repeats),
            _render_table,
        ),
        "2": Table(
            "Table 2: single-cell RNA-seq",
            (
                "Draws: 10 per setting unless said otherwise above.",
                *_ROWS,
                "human_kidney without statements: the printed NMI, 72.86, is a misprint for 72.09.",
            ),
            lambda repeats: _table_cells(CELLS, repeats),
            _render_table,
        ),
        "fig2": Table(
            "Figure 2: more and more pairs",
            (
                "0.2 n to n must-links and as many cannot-links; otherwise as Table 1. The paper "
                "draws this without printing numbers. Its text: more pairs help, but on "
                "OpticalDigits the search stops early and makes too many clusters from 0.6 n on. "
                "wine is not in its figure.",
            ),
            _fig2_cells,
            _render_fig2,
            _draw_fig2,
        ),
        "3": Table(
            "Table 3: trees",
            ("Draws: 10 per setting unless said otherwise above.", *_TREE_ROWS),
            lambda repeats: _tree_cells(TREES, repeats),
            _render_trees,
        ),
        "3b": Table(
            "Trees of the data of Tables 1 and 2",
            (
                "Not in the paper: how the cuts do where there are many classes. Draws: 10 per "
                "setting unless said otherwise above.",
                *_TREE_ROWS,
            ),
            # wine again, which comes with scikit-learn: something can be shown anywhere
            lambda repeats: _tree_cells((*IMAGES, *CELLS, "wine"), repeats),
            _render_trees,
        ),
        "rivals": Table(
            "The other methods of Table 1",
            (
                "Our implementations, settings of the paper unknown: defaults, min-max columns, "
                "number of clusters given (ConstrainedMeanShift finds it). Draws: 10 per "
                "setting unless said otherwise above.",
                "Pairs: int(0.2 n) of each kind, with replacement (PropagatedSymmetricNMF: "
                "must-links only). Labels: int(0.1 n) rows with their label and int(0.1 n) "
                "negative labels, where a model takes these.",
                "optdigits: the 1,797 rows of the test set. Scores on all rows. Ours: mean ± "
                "standard error; Δ: ours less printed.",
            ),
            lambda repeats: rivals.cells(DRAWS if repeats is None else repeats),
            rivals.render,
        ),
        "seeded": Table(
            "Seeded k-means of Tables 1 and 2",
            (
                "Draws: 10 per setting unless said otherwise above; int(0.1 n) rows with their "
                "label, no negative ones, all rows scored. Ours: mean ± standard error; Δ: ours "
                "less printed.",
                "Scaling: min-max columns; RNA-seq, for which the paper gives none: log(1 + x), "
                "then rows of length 1.",
                "Clusters without a label start by k-means++ (our default) or at random rows. "
                "ConstrainedKMeans, which the paper does not have, keeps every label.",
            ),
            lambda repeats: rivals.cells(DRAWS if repeats is None else repeats, rivals.SEEDED),
            rivals.render,
        ),
        "fig3": Table(
            "Figure 3: trees with more and more pairs",
            (
                "0.2 n to n must-links and as many cannot-links; otherwise as Table 3. The paper "
                "draws this without printing numbers.",
                *_TREE_ROWS,
            ),
            _fig3_cells,
            _render_trees,
            _draw_fig3,
        ),
    },
)
