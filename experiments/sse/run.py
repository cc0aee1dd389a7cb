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

import numpy as np

from experiments.comparison import COLUMNS, log_components, min_max, rows_of, scores, tables_of
from experiments.figures import Lines, panels
from experiments.runner import Cell, Experiment, Outcome, Table, seed_of
from experiments.sse import rivals
from experiments.tables import compare, markdown, read_csv, shown, summarise
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
DRAWS = 10  # of the paper, and of trees
IMAGE_DRAWS, FIG3_DRAWS, FEW_DRAWS = 5, 5, 3
SLOW = ("PCPSNMF", "CMS")  # seconds per fit where the others take tenths: fewer shares in Figure 2
FEW_SHARES = (0.2, 0.6, 1.0)
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
COMPONENTS = "log1p, 50 components"
TREE, TREE_CUT, TREE_OURS, TREE_K = (
    "tree, paper mode",
    "tree, the paper's stretching, our cut",
    "tree, our defaults",
    "tree, our defaults, K given",
)


# One cell


def run(cell: Cell) -> Mapping[str, float]:
    """Draw the statements of this cell, fit its method, score the partition."""
    data, X = _data(cell["dataset"]), _rows(cell["dataset"], cell.get("scaling"))
    side = _side(cell, data)
    if cell["method"].startswith("tree"):
        return _run_tree(cell, data, side)
    if cell["method"] in rivals.ALL:
        return _run_rival(cell, data, side)
    model = _model(cell, data).fit(X, side=side)
    found = scores(data.y, model.labels_, side, _METRICS)
    return found | {"objective": model.objective_}


def _run_rival(cell: Cell, data: Dataset, side: SideInformation | None) -> Mapping[str, float]:
    """Another method, on columns scaled as for ours; as trees are measured, on z-scores."""
    X = _rows(cell["dataset"], cell.get("scaling"))
    if cell.get("trees"):
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    elif cell.get("scaling") is None:
        X = min_max(X)
    fitted = rivals.fit(cell, X, data.y, len(data.class_names), side, seed_of(**cell))
    found = scores(data.y, fitted.labels, fitted.side, _METRICS)
    if cell.get("trees") and fitted.tree is not None:
        found["dp"] = 100 * dendrogram_purity(fitted.tree, data.y)
    return found


def _run_tree(cell: Cell, data: Dataset, side: SideInformation | None) -> Mapping[str, float]:
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
    model.fit(data.X, side=side)
    return scores(data.y, model.labels_, side, _METRICS) | {
        "dp": 100 * dendrogram_purity(model.binary_tree_, data.y),
        "single": int((model.result_.sizes == 1).sum()),
        "objective": model.objective_,
        "binary objective": model.binary_objective_,
    }


_METRICS = {"ari": adjusted_rand, "nmi": normalized_mutual_info}


def uses(cell: Cell) -> tuple[str, ...]:
    """The model of ours that this cell fits."""
    if cell["method"] in rivals.ALL:
        return rivals.uses(cell)
    is_tree = cell["method"].startswith("tree")
    return ("StructuralEntropyTree" if is_tree else "StructuralEntropyClustering",)


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


@cache
def _rows(name: str, scaling: str | None) -> Any:
    X = _data(name).X
    return log_components(X) if scaling == COMPONENTS else X


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
    on_components = cell.get("scaling") == COMPONENTS
    if cell["method"] in (OURS, OURS_K):
        if cell["method"] == OURS_K:
            settings["n_clusters"] = k
        if on_components:
            return StructuralEntropyClustering(**settings)
        if is_rna:
            settings["affinity"] = "cosine"
        return StructuralEntropyClustering(scaling="min-max", **settings)
    if is_rna:
        settings["affinity"] = "cosine"
    if on_components:
        settings["scaling"] = None
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


_SHARES = {"none": (0.0,), "pairwise": (0.2,), "label": (0.1,)}
KINDS = ("none", "pairwise", "label")


def _table_cells(datasets: Sequence[str], repeats: int | None, **more: Any) -> list[Cell]:
    methods = (PAPER, REFINED, OURS, OURS_K)
    draws = IMAGE_DRAWS if repeats is None else repeats
    cells = _base_cells(datasets, methods) + _cells(datasets, methods, draws)
    cells += rivals.cells(rivals.PARTITIONS, datasets, KINDS, _SHARES, draws)
    for name, (rival, of) in rivals.AS_PUBLISHED.items():
        some = [dataset for dataset in datasets if dataset in of]
        cells += rivals.cells({name: rival}, some, KINDS, _SHARES, draws)
    return [cell | more for cell in cells]


def _rna_cells(repeats: int | None) -> list[Cell]:
    """Counts as in the paper, and again with the scaling that is usual for them."""
    draws = FEW_DRAWS if repeats is None else repeats
    counts = [cell for cell in _table_cells(CELLS, draws) if cell["method"] != "CMS"]
    return counts + _table_cells(CELLS, draws, scaling=COMPONENTS)


def _tree_cells(datasets: Sequence[str], repeats: int | None, others: bool = True) -> list[Cell]:
    methods = (TREE, TREE_CUT, TREE_OURS, TREE_K)
    cells = _base_cells(datasets, methods) + _cells(datasets, methods, repeats, ("pairwise",))
    draws = DRAWS if repeats is None else repeats
    if others:
        cells += rivals.cells(rivals.TREES, datasets, KINDS, _SHARES, draws, trees=True)
    return cells


def _fig3_cells(repeats: int | None) -> list[Cell]:
    draws, shares = FIG3_DRAWS if repeats is None else repeats, _shares(SHARES)
    cells = _cells(TREES, (TREE, TREE_OURS, TREE_K), draws, ("pairwise",), SHARES)
    cells += _base_cells(TREES, (TREE, TREE_OURS, TREE_K))
    kinds = ("none", "pairwise")
    return cells + rivals.cells(rivals.TREES, TREES, kinds, shares, draws, trees=True)


def _fig2_cells(repeats: int | None) -> list[Cell]:
    # wine, of the paper's Table 3, comes with scikit-learn: something can be shown anywhere
    datasets, methods = (*IMAGES, "wine"), (PAPER, OURS, OURS_K)
    draws = FEW_DRAWS if repeats is None else repeats
    cells = _cells(datasets, methods, draws, ("pairwise",), SHARES)
    cells += _base_cells(datasets, methods)
    kinds = ("none", "pairwise")
    for slow, shares in ((False, SHARES), (True, FEW_SHARES)):
        some = {m: rival for m, rival in rivals.PARTITIONS.items() if (m in SLOW) is slow}
        cells += rivals.cells(some, datasets, kinds, _shares(shares), draws)
    return cells


def _shares(of_pairs: Sequence[float]) -> dict[str, Sequence[float]]:
    return {"none": (0.0,), "pairwise": of_pairs}


def _nine_cells(repeats: int | None) -> list[Cell]:
    # wine again: something can be shown anywhere
    datasets = (*(name for name in IMAGES if name != "isolet1"), "wine")
    draws = DRAWS if repeats is None else repeats
    return rivals.cells(rivals.NINE, datasets, KINDS, _SHARES, draws)


# How they are shown


_BY = ("dataset", "scaling", "constraints", "share")


def _ours_printed(row: Mapping[str, Any], measure: str) -> float | None:
    """The printed value of partitions beside partitions, and of trees beside trees."""
    printed = PUBLISHED.get((row["dataset"], row["constraints"], measure))
    mine = row["method"] == (TREE if row["dataset"] in TREES else PAPER)
    mine = mine and row["share"] in (0.0, 0.1, 0.2) and row["scaling"] is None
    return float(printed["printed"]) if printed and mine else None


def _rows_by(outcomes: Iterable[Outcome], measure: str) -> list[dict[str, Any]]:
    """Means by setting and method beside the printed ones, of the paper's method or a rival."""

    def printed(row: Mapping[str, Any]) -> tuple[float | None, None]:
        if row["method"] in rivals.ALL:
            return (rivals.printed(row, measure) if row["scaling"] is None else None), None
        return _ours_printed(row, measure), None

    rows = rows_of(outcomes, _BY, measure, printed=printed, runs=DRAWS, unit=0.01)
    for row in rows:
        row["statements"] = SHOWN_AS[row["constraints"]]
    return rows


SHOWN_BY = ("dataset", "scaling", "statements", "share")


def _render_table(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    rows, text = [], ""
    for measure, title in (("ari", "ARI, %"), ("nmi", "NMI, %")):
        of = _rows_by(outcomes, measure)
        text += tables_of(of, SHOWN_BY, title)
        rows += of
    program = [
        [r["dataset"], r["statements"], r["measure"], found["program"], shown(r)]
        for r in rows
        if r["method"] == PAPER and r["scaling"] is None
        for found in [PUBLISHED.get((r["dataset"], r["constraints"], r["measure"]))]
        if found and found["program"]
    ]
    if program:
        text += "\nThe published program, run with the same protocol, beside paper mode:\n\n"
        text += markdown(["data", "", "measure", "published program", PAPER], program)
    text += "\nThe objective L (lower is better; comparable within a line):\n\n"
    lines, found = [], {}
    for row in summarise(outcomes, (*_BY, "method"), "objective"):
        found[tuple(row[n] for n in (*_BY, "method"))] = row
    for key in dict.fromkeys(k[:-1] for k in found if k[-1] in (PAPER, REFINED)):
        of = [found.get((*key, m)) for m in (PAPER, REFINED)]
        cells = ["" if value is None else str(value) for value in key]
        lines.append([*cells, *(shown(r, 4) for r in of)])
    return rows, text + markdown([*_BY, PAPER, REFINED], lines)


def _render_nine(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    """A line per method, statements and data: both scores beside the printed ones."""
    rows = [row for measure in _METRICS for row in _rows_by(outcomes, measure)]
    lines: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        rival, name = rivals.NINE[row["method"]], row["method"]
        model = rival.method.model + name[len(name.partition(",")[0]) :]
        line = lines.setdefault(
            (model, _TOLD[row["constraints"]], row["dataset"]),
            [name.partition(",")[0], str(row["runs"]), _number(row["clusters"])],
        )
        if row["dataset"] not in IMAGES:
            row["published"] = row["difference"] = None  # printed for trees, on other columns
        line += [shown(row, 1), _number(row["untouched_mean"]), _number(row["published"])]
    header = ["model", "statements", "data", "printed as", "draws", "clusters"]
    header += ["ARI, %", "untouched", "printed", "NMI, %", "untouched", "printed"]
    return rows, markdown(header, [[*key, *line] for key, line in lines.items()])


_TOLD = {"none": "none", "pairwise": "pairs", "label": "labels"}


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _summary(outcomes: Iterable[Outcome], measures: Sequence[str]) -> list[dict[str, Any]]:
    """Means by setting and measure, beside the printed ones where the share is the paper's."""
    outcomes = list(outcomes)
    rows = []
    for measure in measures:
        for row in summarise(outcomes, (*_BY, "method"), measure):
            other = row["method"] in rivals.ALL
            value = rivals.printed(row, measure) if other else _ours_printed(row, measure)
            row = compare(row, value, None, runs=DRAWS, unit=0.01)
            rows.append({"measure": measure} | row)
    return rows


def _found(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[Any, ...], Any]:
    names = ("measure", "dataset", "constraints", "share", "method")
    return {tuple(row[name] for name in names): row for row in rows}


def _spread(row: Mapping[str, Any] | None, digits: int = 1) -> str:
    """`mean (standard deviation)`: for trees the spread is what there is to see."""
    if row is None or row["mean"] is None:
        return "" if row is None or not row["failed"] else shown(row, digits)
    deviation = "" if row["std"] is None else f" ({row['std']:.{digits}f})"
    return f"{row['mean']:.{digits}f}{deviation}"


def _render_trees(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    rows, text = [], ""
    for measure, title in (("ari", "ARI, %"), ("nmi", "NMI, %")):
        of = _rows_by(outcomes, measure)
        text += tables_of(of, ("dataset", "statements", "share"), title)
        rows += of
    more = _summary(outcomes, ("dp", "single", "binary objective"))
    rows += more
    found = _found(more)
    settings = dict.fromkeys((r["dataset"], r["constraints"], r["share"]) for r in more)
    for measure, title, digits in (
        ("dp", "Dendrogram purity, %; mean (standard deviation), in brackets the printed value", 1),
        ("single", "Clusters that are single rows", 1),
        (
            "binary objective",
            "L of the binary tree (another quantity in paper mode: self-loops)",
            3,
        ),
    ):
        methods = [
            m
            for m in dict.fromkeys(r["method"] for r in more)
            if any(
                r["mean"] is not None for r in more if (r["method"], r["measure"]) == (m, measure)
            )
        ]
        lines = []
        for name, kind, share in settings:
            of = [found.get((measure, name, kind, share, m)) for m in methods]
            cells = [_spread(r, digits) + _bracket(r) for r in of]
            lines.append([name, SHOWN_AS[kind], f"{share} n", *cells])
        text += f"\n{title}:\n\n" + markdown(["data", "", "pairs", *methods], lines)
    return rows, text


def _bracket(row: Mapping[str, Any] | None) -> str:
    return "" if row is None or row["published"] is None else f" ({row['published']:.2f})"


def _draw_fig3(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    _draw_lines(rows, path, (TREE, TREE_OURS, TREE_K, rivals.COBRA, "SemiMulticons"))


def _render_fig2(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    rows, text = [], ""
    for measure, title in (("ari", "ARI, %"), ("nmi", "NMI, %")):
        of = _rows_by(outcomes, measure)
        text += tables_of(of, ("dataset", "share"), title, digits=1, rest=measure == "ari")
        rows += of
    return rows, text


def _draw_fig2(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    others = [name for name, rival in rivals.PARTITIONS.items() if "pairwise" in rival.kinds]
    _draw_lines(rows, path, (PAPER, OURS, OURS_K, *others))


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
    "Paper mode: σ = 10 or the cosine (RNA-seq, must-links first), neighbours by "
    "the paper's formula with the true number of classes, merging and (with statements) moving.",
    "Our search: refine=True, all else as in paper mode, so that the objectives can be compared.",
    "Our defaults: these columns (counts: the cosine), everything else left alone; the number of "
    "clusters is found, or given.",
    COLUMNS,
)

_OTHERS = (
    "The other methods, with our defaults and the number of classes, on the same columns: PCPSNMF "
    "is PropagatedSymmetricNMF (must-links or labels only), OneStepPCP ConstraintPropagation, CMS "
    "ConstrainedMeanShift (finds the number), SC-MPI RelationSpectral (the paper's program is not "
    "known, ours is another), S4NMF SelfSupervisedNMF, LpCNMF LabelPropagationNMF. Constrained "
    "K-means is not in the paper. KMeans: ten starts, no statements.",
)

_TREE_OTHERS = (
    "The other methods on the same z-scores: COBRA asks as many pairs as the others are given, "
    "SemiMulticons is SemiMultiCons, SpecWRSC SparsestCutTree, which takes no statements; as "
    "published it has the graph of the paper's trees. KMeans: ten starts, no statements.",
)

_TREE_ROWS = (
    "Pairs: int(0.2 n) of each kind, with replacement; the same draws for every method.",
    "Scaling: z-scores for every method, RNA-seq none.",
    "Paper mode: the cosine, 5 neighbours with ties, self-loops, stretching, and "
    "compressing to height 2. Our defaults: StructuralEntropyTree(). Our "
    "cut with the paper's stretching: stretching='published'.",
    "breast_libsvm is the paper's breast cancer: LIBSVM's file, whose first column is an id.",
    "Purity of the binary tree. ARI and NMI of the children of the root. Single rows: clusters of "
    "one row.",
    COLUMNS,
)

_RECORDED = (
    *_base_cells(("optdigits",), (PAPER, REFINED, OURS, OURS_K)),
    *_base_cells(("yale", "orl"), (PAPER,)),
    *_cells(("optdigits", "yale"), (PAPER, OURS, OURS_K), 1),
    *_cells(("optdigits",), (OURS_K,), 1, ("pairwise",), (0.6,)),
    *_base_cells(("wine",), (TREE, TREE_CUT, TREE_OURS, TREE_K)),
    *_cells(("wine",), (TREE, TREE_OURS, TREE_K), 1, ("pairwise",), (0.2, 0.6, 1.0)),
    *_cells(("heart", "yale"), (TREE_OURS, TREE_K), 1, ("pairwise",), (0.2,)),
    *rivals.cells(rivals.TREES, ("wine",), KINDS, _SHARES, 1, trees=True),
    *rivals.cells(rivals.PARTITIONS, ("wine",), KINDS, _SHARES, 1),
)

EXPERIMENT = Experiment(
    title="Semi-supervised clustering via structural entropy (Zeng et al. 2024)",
    run=run,
    missing=missing,
    uses=uses,
    recorded=_RECORDED,
    tables={
        "1": Table(
            "Table 1: images, letters and digits",
            (
                "Draws: 5 per setting unless the command above says otherwise; the paper has 10.",
                "Scaling: min-max columns, for every method.",
                *_ROWS,
                *_OTHERS,
                "As published, where that differs from our defaults and a fit ends in ten seconds: "
                "PCPSNMF and LpCNMF, OneStepPCP (with the nuclear norm) on yale and orl, S4NMF (20 "
                "members, 10 rounds) on yale.",
            ),
            lambda repeats: _table_cells(IMAGES, repeats),
            _render_table,
        ),
        "rivals": Table(
            "The other methods of Tables 1 and 3 on the sets of Table 1",
            (
                "Our implementations, settings of the paper unknown: our defaults, the number of "
                "clusters given (ConstrainedMeanShift and SemiMultiCons find it). Nothing was "
                "tuned towards a printed number.",
                "Draws: 10 per setting unless said otherwise above, those of Table 1: 0.2 n pairs "
                "of each kind or 0.1 n labels; SparsestCutTree takes no statements.",
                "Scaling: min-max columns. Scores: mean ± standard error, on all rows; untouched: "
                "the mean on rows that no statement touches.",
                "Printed as SC-MPI is another program than RelationSpectral. wine is not in the "
                "paper's table.",
            ),
            _nine_cells,
            _render_nine,
        ),
        "2": Table(
            "Table 2: single-cell RNA-seq",
            (
                "Draws: 3 per setting unless the command above says otherwise; the paper has 10.",
                "Scaling, for every method of a line: min-max columns of the counts, as paper mode "
                "has them; and equal depth, log(1 + x), 50 principal components, as is usual for "
                "counts. CMS, which takes no sparse data, on the components only.",
                *_ROWS,
                *_OTHERS,
                "human_kidney without statements: the printed NMI, 72.86, is a misprint for 72.09.",
            ),
            _rna_cells,
            _render_table,
        ),
        "fig2": Table(
            "Figure 2: more and more pairs",
            (
                "0.2 n to n must-links and as many cannot-links; otherwise as Table 1. The paper "
                "draws this without printing numbers. Its text: more pairs help, but on "
                "OpticalDigits the search stops early and makes too many clusters from 0.6 n on. "
                "wine is not in its figure.",
                "Draws: 3 per setting unless the command above says otherwise; the paper has 10. "
                "PCPSNMF and CMS at 0.2 n, 0.6 n and n only. Scaling: min-max columns, for every "
                "method.",
                *_OTHERS,
                COLUMNS,
            ),
            _fig2_cells,
            _render_fig2,
            _draw_fig2,
        ),
        "3": Table(
            "Table 3: trees",
            (
                "Draws: 10 per setting, as in the paper, unless the command above says otherwise.",
                *_TREE_ROWS,
                *_TREE_OTHERS,
            ),
            lambda repeats: _tree_cells(TREES, repeats),
            _render_trees,
        ),
        "3b": Table(
            "Trees of the data of Tables 1 and 2",
            (
                "Not in the paper: how the cuts do where there are many classes. Draws: 3 per "
                "setting unless the command above says otherwise.",
                *_TREE_ROWS,
            ),
            # wine again, which comes with scikit-learn: something can be shown anywhere
            lambda repeats: _tree_cells(
                (*IMAGES, *CELLS, "wine"),
                FEW_DRAWS if repeats is None else repeats,
                others=False,
            ),
            _render_trees,
        ),
        "fig3": Table(
            "Figure 3: trees with more and more pairs",
            (
                "0.2 n to n must-links and as many cannot-links; otherwise as Table 3. The paper "
                "draws this without printing numbers.",
                "Draws: 5 per setting unless the command above says otherwise; the paper has 10.",
                *_TREE_ROWS,
                *_TREE_OTHERS,
            ),
            _fig3_cells,
            _render_trees,
            _draw_fig3,
        ),
    },
)
