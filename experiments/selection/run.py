"""How good are choices by held-out statements, and the figure that is shown for them?

See README.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import silhouette_score
from sklearn.mixture import GaussianMixture

from experiments.defaults.development import TABLES, Development, development_table
from experiments.runner import Cell, Experiment, Outcome, Table, seed_of
from experiments.tables import markdown
from sidelight import DiscriminativeClustering, PCKMeans, StructuralEntropyTree
from sidelight.exceptions import DatasetNotFoundError
from sidelight.graph import leading_eigenvectors, neighbor_graph
from sidelight.metrics import adjusted_rand
from sidelight.select import Compared, compare, cross_validate_statements
from sidelight.side import Agreement, SideInformation, dyadic_error, sample_pairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Of the 26 development tables those with at most twenty classes.
CHOSEN = tuple(name for name in TABLES if name not in ("orl", "bank77", "isolet1"))
SIX = ("iris", "wine", "ecoli", "segmentation", "optdigits", "mouse_bladder")
LEAK = ("iris", "ecoli", "optdigits")
NUMBERS = (25, 100, 200)
MOST_ROWS = 400  # of a choice
FEW_ROWS = 200  # where there are many fits
ANNOTATED = 0.6  # of the rows are those that statements may name
# Those of our models whose fits take a tenth of a second at most.
MODELS = (*("StructuralEntropyClustering", "StructuralEntropyTree", "PCKMeans", "BayesianMixture"),)
GRID = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20)
RULES = ("choice", "best score", "one-error rule", "most satisfied", "silhouette")
DRAWS = 1
RULE_DRAWS = 10


@cache
def _table(name: str, draw: int) -> Development:
    """Cells come in any order, and some tables are slow to prepare; all of them are 10 MB."""
    return development_table(name, draw)


def _data(cell: Cell, most: int = FEW_ROWS) -> tuple[Floats, Ints]:
    data = _table(cell["dataset"], cell["draw"])
    # At random: files that are sorted by class would lose classes.
    rng = np.random.default_rng(seed_of(dataset=cell["dataset"], draw=cell["draw"], rows=most))
    rows = np.sort(rng.permutation(len(data.y))[:most])
    return data.X[rows], np.unique(data.y[rows], return_inverse=True)[1]


def _pairs(y: Ints, n: int, accuracy: float, seed: int) -> SideInformation:
    """Random pairs among some of the rows; the others stay untouched."""
    rng = np.random.default_rng(seed)
    some = np.full(len(y), -1)
    rows = rng.permutation(len(y))[: round(ANNOTATED * len(y))]
    some[rows] = y[rows]
    return sample_pairs(some, n, accuracy=accuracy, exact=True, random_state=rng)


def run(cell: Cell) -> Mapping[str, float]:
    """One cell of whichever table it belongs to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tables = {"choice": _choice, "rules": _rules, "leak": _leak, "k": _number}
        return tables[cell["what"]](cell)


# Choices


def _choice(cell: Cell) -> dict[str, float]:
    """ARI on untouched rows of what each rule chooses, and of the best candidate."""
    X, y = _data(cell, MOST_ROWS)
    seed = seed_of(**cell)
    side = _pairs(y, cell["statements"], cell["accuracy"], seed)
    models = [*_without_statements(cell["dataset"], cell["draw"]), *MODELS]
    found = compare(X, side=side, models=models, random_state=seed)
    free = np.setdiff1d(np.arange(len(y)), side.annotated_rows)
    labels = [_fitted(model, X, side) for model in found.models]
    rows = found.rows
    ari = np.array([adjusted_rand(y[free], each[free]) for each in labels])
    shapes = [_silhouette(X, each) for each in labels]
    kept = [1.0 - side.violated(each).mean() for each in labels]
    chosen = {
        "choice": rows.index(found.choice),
        "best score": 0,  # rows are sorted by it
        "one-error rule": _one_error(rows),
        "most satisfied": int(np.argmax(kept)),
        "silhouette": int(np.argmax(shapes)),
    }
    values = {rule: float(ari[place]) for rule, place in chosen.items()}
    # So that the first of some of them has their best score.
    free_of_statements = [place for place, row in enumerate(rows) if not row.n_statements]
    first, best = chosen["choice"], int(np.argmax(ari))
    right = _share_right(y, labels[first], free)
    wrong = float(side.violated(y).mean())  # 2 of 25, where a tenth was asked for
    return values | {
        "best": float(ari[best]),
        "clusterings": float(ari[free_of_statements[0]]),
        "best clustering": float(ari[free_of_statements].max()),
        "tied best": float(max(ari[k] for k, row in enumerate(rows) if row.behind < 1.0)),
        "k of choice": float(rows[first].n_clusters or 0),
        "k of best": float(rows[best].n_clusters or 0),
        "choice uses statements": float(rows[first].n_statements > 0),
        "best uses statements": float(rows[best].n_statements > 0),
        "judged": float(found.estimate.n_statements),
        "classes": float(len(np.unique(y))),
        "candidates": float(len(rows)),
        "ties": float(sum(row.behind < 1.0 for row in rows) - 1),
        "nested": found.estimate.share_right,
        "truth": right * (1 - wrong) + (1 - right) * wrong,  # as the annotators would put it
        "untouched": float(len(free)),
    }


class Given(ClusterMixin, BaseEstimator):
    """A partition that is there already: clusterings without statements are the same each time."""

    def __init__(self, name: str, labels: Ints) -> None:
        self.name = name
        self.labels = labels

    def fit(self, X: Any, y: Any = None) -> Given:
        """Nothing to do."""
        self.labels_ = self.labels
        return self


@cache
def _without_statements(dataset: str, draw: int) -> list[Given]:
    """K-means, Ward and diagonal mixtures for every number of clusters."""
    X, _ = _data({"dataset": dataset, "draw": draw}, MOST_ROWS)
    found = []
    for k in GRID:
        mixture = GaussianMixture(
            k, covariance_type="diag", reg_covar=1e-3, n_init=2, random_state=0
        )
        clusterings = {
            "KMeans": KMeans(k, n_init=5, random_state=0),
            "Ward": AgglomerativeClustering(k),
            "GaussianMixture": mixture,
        }
        found += [Given(name, each.fit_predict(X)) for name, each in clusterings.items()]
    return found


def _fitted(model: Any, X: Floats, side: SideInformation) -> Ints:
    found: Ints = (
        model.fit_predict(X, side=side) if hasattr(model, "accepts") else model.fit_predict(X)
    )
    return found


def _one_error(rows: Sequence[Compared]) -> int:
    """Of those within one standard error of the best the one with the fewest clusters."""
    tied = [place for place, row in enumerate(rows) if row.behind < 1.0]
    return min(tied, key=lambda place: (rows[place].n_clusters, rows[place].seconds))


def _silhouette(X: Floats, labels: Ints) -> float:
    n = len(np.unique(labels))
    return float(silhouette_score(X, labels)) if 1 < n < len(X) else -1.0


def _share_right(y: Ints, labels: Ints, rows: Ints) -> float:
    """The share of all pairs of some rows of which a partition says the truth."""
    i, j = np.triu_indices(len(rows), 1)
    i, j = rows[i], rows[j]
    return float(((y[i] == y[j]) == (labels[i] == labels[j])).mean())


# Other rules, among clusterings that use no statements: they cost no fits, so there are many draws


def _rules(cell: Cell) -> dict[str, float]:
    """ARI on untouched rows of what each rule chooses among clusterings without statements."""
    X, y = _data({"dataset": cell["dataset"], "draw": 0}, MOST_ROWS)
    side = _pairs(y, cell["statements"], cell["accuracy"], seed_of(**cell))
    alike = _alike(cell["dataset"])
    labels = np.array([given.labels for given in _without_statements(cell["dataset"], 0)])
    free = np.setdiff1d(np.arange(len(y)), side.annotated_rows)
    ari = np.array([adjusted_rand(y[free], each[free]) for each in labels])
    found = [Agreement.of(side, each) for each in labels]
    table = np.array([each.total for each in found])
    default = DiscriminativeClustering(random_state=0).fit(X, side=side).labels_
    scores = _scores_of(table) | {
        "ties by the default model": _ties(found, [adjusted_rand(default, e) for e in labels]),
        "consensus of ties": _consensus(found, alike, 1.0),
        "consensus within half an error": _consensus(found, alike, 0.5),
        "smoothed over alike partitions": _smoothed(found, alike),
    }
    chosen = {rule: float(ari[int(np.argmax(score))]) for rule, score in scores.items()}
    return chosen | {"best": float(ari.max())}


def _scores_of(table: Floats) -> dict[str, Floats]:
    """Scores by musts kept and broken, cannots broken and kept, a row for each candidate."""
    a, b, c, d = table.T
    n = table.sum(axis=1)
    back = np.stack([0.9 * a - 0.1 * c, 0.9 * b - 0.1 * d, 0.9 * c - 0.1 * a, 0.9 * d - 0.1 * b])
    return {
        "best score": _two_f(a, b, c, d),
        "kappa of pairs": 2 * (a * d - b * c) / ((a + b) * (b + d) + (a + c) * (c + d)),
        "mutual information": _information(a + 0.5, b + 0.5, c + 0.5, d + 0.5),
        "balanced": a / np.maximum(a + b, 1e-9) + d / np.maximum(c + d, 1e-9),
        "share satisfied": (a + d) / n,
        "best score, a tenth wrong taken back": _two_f(*np.maximum(back, 0.0)),
    }


def _two_f(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    must, cannot = 2 * a / np.maximum(2 * a + b + c, 1e-9), 2 * d / np.maximum(2 * d + b + c, 1e-9)
    return np.asarray((must + cannot) / 2)


def _information(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    n = a + b + c + d
    parts = ((a, a + b, a + c), (b, a + b, b + d), (c, c + d, a + c), (d, c + d, b + d))
    return np.asarray(sum(x / n * np.log(x * n / (row * column)) for x, row, column in parts))


@cache
def _alike(dataset: str) -> Floats:
    """ARI of every two clusterings without statements."""
    labels = [given.labels for given in _without_statements(dataset, 0)]
    return np.array([[adjusted_rand(one, other) for other in labels] for one in labels])


def _tied(found: Sequence[Agreement], errors: float = 1.0) -> NDArray[np.bool_]:
    """Which candidates are within so many standard errors of the best score."""
    score = np.array([each.score for each in found])
    best = found[int(score.argmax())]
    gap = [dyadic_error(best.moves() - each.moves(), best.i, best.j) for each in found]
    return np.asarray(score.max() - score <= errors * np.array(gap) + 1e-12)


def _ties(found: Sequence[Agreement], alike: Sequence[float]) -> Floats:
    """Among ties the one most like another partition: what `compare` does, without folds."""
    return np.where(_tied(found), alike, -np.inf)


def _consensus(found: Sequence[Agreement], alike: Floats, errors: float) -> Floats:
    """Among candidates within so many standard errors the one most like the others."""
    tied = _tied(found, errors)
    return np.where(tied, alike[:, tied].mean(axis=1), -np.inf)


def _smoothed(found: Sequence[Agreement], alike: Floats) -> Floats:
    """Kriging: the true scores of partitions are as alike as these, with a variance of .03."""
    score, moves = np.array([e.score for e in found]), np.array([e.moves() for e in found])
    values, vectors = np.linalg.eigh(alike)
    prior = 0.03 * (vectors * np.maximum(values, 1e-6)) @ vectors.T
    noise = moves @ moves.T + 1e-6 * np.eye(len(score))
    away = np.linalg.solve(prior + noise, score - score.mean())
    return np.asarray(score.mean() + prior @ away)


# Leaks


def _leak(cell: Cell) -> dict[str, float]:
    """200 pairs among 40 rows: naive folds of pairs, ours, and the truth on untouched rows."""
    X, y = _data(cell)
    rng = np.random.default_rng(seed_of(**cell))
    rows = rng.permutation(len(y))
    some = np.full(len(y), -1)
    some[rows[:40]] = y[rows[:40]]
    side = sample_pairs(some, 200, random_state=rng)
    model = PCKMeans(len(np.unique(y)), n_init=2, random_state=0)
    held = cross_validate_statements(model, X, side=side, random_state=0)
    fold = rng.permutation(side.n_statements) % 5
    right = 0
    for k in range(5):
        labels = model.fit(X, side=side.where(fold != k)).labels_
        right += int((~side.where(fold == k).violated(labels)).sum())
    labels = model.fit(X, side=side).labels_
    return {
        "naive": right / side.n_statements,
        "ours": held.share_right,
        "truth": _share_right(y, labels, rows[40:]),
    }


# Numbers of clusters


def _number(cell: Cell) -> dict[str, float]:
    """How many clusters each rule finds."""
    X, y = _data(cell)
    seed = seed_of(**cell)
    values = {"classes": float(len(np.unique(y)))}
    numbers = [k for k in range(2, 16) if k < len(y)]
    if cell["statements"] == 0:
        mixtures = [
            GaussianMixture(k, covariance_type="diag", reg_covar=1e-3, random_state=seed).fit(X)
            for k in numbers
        ]
        bic = [mixture.bic(X) for mixture in mixtures]
        gaps = -np.diff(leading_eigenvectors(neighbor_graph(X, 10), 16).values)
        return values | {
            "bic": float(numbers[int(np.argmin(bic))]),
            "eigengap": float(np.argmax(gaps[1:15]) + 2),
            "tree": float(StructuralEntropyTree(random_state=seed).fit(X).n_clusters_),
        }
    side = _pairs(y, cell["statements"], 1.0, seed)
    tree = StructuralEntropyTree(random_state=seed).fit(X, side=side).n_clusters_
    model = PCKMeans(n_init=3, random_state=seed)
    found = compare(X, side=side, models=[model], n_clusters=numbers, random_state=seed)
    return values | {"tree": float(tree), "held-out": float(found.choice.n_clusters or 0)}


# Tables


def missing(cell: Cell) -> str | None:
    """Why this cell cannot run here: its table is not on this machine."""
    try:
        _table(cell["dataset"], cell["draw"])
    except DatasetNotFoundError as error:
        return str(error)
    return None


def _choice_cells(repeats: int | None) -> list[Cell]:
    draws = range(DRAWS if repeats is None else repeats)
    return [
        {"what": "choice", "dataset": d, "statements": m, "accuracy": a, "draw": draw}
        for d, m, a, draw in product(CHOSEN, NUMBERS, (1.0, 0.9), draws)
    ]


def _rules_cells(repeats: int | None) -> list[Cell]:
    draws = range(RULE_DRAWS if repeats is None else repeats)
    return [
        {"what": "rules", "dataset": d, "statements": m, "accuracy": a, "draw": draw}
        for d, m, a, draw in product(CHOSEN, NUMBERS, (1.0, 0.9), draws)
    ]


def _leak_cells(repeats: int | None) -> list[Cell]:
    draws = range(30 if repeats is None else repeats)
    return [{"what": "leak", "dataset": d, "draw": draw} for d, draw in product(LEAK, draws)]


def _number_cells(repeats: int | None) -> list[Cell]:
    draws = range(3 if repeats is None else repeats)
    return [
        {"what": "k", "dataset": d, "statements": m, "draw": draw}
        for d, m, draw in product(SIX, (0, *NUMBERS), draws)
    ]


_CHOICE = (
    *(*RULES, "best", "clusterings", "best clustering", "tied best"),
    *("k of choice", "k of best", "choice uses statements", "best uses statements"),
    *("classes", "candidates", "ties", "judged", "nested", "truth", "untouched"),
)


def _flat(outcomes: Sequence[Outcome], names: Sequence[str]) -> list[dict[str, Any]]:
    """The cells that did not fail, with some of their values."""
    return [o.cell | {name: o.values[name] for name in names} for o in outcomes if o.error is None]


def _mean(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error."""
    array = np.asarray(values, dtype=np.float64)
    if not len(array):
        return float("nan"), float("nan")
    error = array.std(ddof=1) / np.sqrt(len(array)) if len(array) > 1 else float("nan")
    return float(array.mean()), float(error)


def _told(values: Sequence[float], digits: int = 2) -> str:
    mean, error = _mean(values)
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def _render_choice(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    rows = _flat(outcomes, _CHOICE)
    shares, losses, figures = [], [], []
    for m, accuracy in product(NUMBERS, (1.0, 0.9)):
        # A table where no candidate finds anything says nothing about choices.
        mine = [
            r for r in rows
            if r["statements"] == m and r["accuracy"] == accuracy and r["best"] >= 0.1
        ]  # fmt: skip
        if not mine:
            continue
        what = f"{m}, {'clean' if accuracy == 1.0 else '10 % wrong'}"
        told = [_share(mine, rule, "best") for rule in RULES]
        shares.append([what, str(len(mine)), *told])
        n_ties, n_judged = (f"{_mean([r[w] for r in mine])[0]:.1f}" for w in ("ties", "judged"))
        losses.append([
            what, _share(mine, "clusterings", "best clustering"),
            _share(mine, "best clustering", "best"), _share(mine, "tied best", "best"), n_ties,
            n_judged,
        ])  # fmt: skip
        gaps = [r["nested"] - r["truth"] for r in mine]
        figures.append([what, _told([r["nested"] for r in mine], 3),
                        _told([r["truth"] for r in mine], 3), _told(gaps, 3)])  # fmt: skip
    text = "Share of the best candidate's ARI on untouched rows, mean over tables ± standard error "
    text += "(in brackets: sum of ARI over sum of the best)\n\n"
    text += markdown(["statements", "cells", *RULES], shares)
    text += "\nWhere the loss is, likewise\n\n"
    header = ["statements", "choice among clusterings without statements, of the best of these"]
    header += ["best of these, of the best candidate", "best of the ties", "ties", "inside folds"]
    text += markdown(header, losses)
    text += "\nThe figure that is shown (nested share of statements right) beside the truth\n\n"
    text += markdown(["statements", "nested", "truth, untouched rows", "difference"], figures)
    return rows, text


def _render_rules(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    """A line per rule: means over tables of the means over draws."""
    names = [name for name in outcomes[0].values if name != "best"]
    rows, lines = _flat(outcomes, (*names, "best")), []
    settings = list(product(NUMBERS, (1.0, 0.9)))
    for rule in names:
        told = [rule]
        for m, accuracy in settings:
            mine = [r for r in rows if r["statements"] == m and r["accuracy"] == accuracy]
            means = [
                np.mean([r[rule] / r["best"] for r in mine if r["dataset"] == d])
                for d in dict.fromkeys(r["dataset"] for r in mine)
            ]
            told.append(_told(means, 3) if means else "")
        lines.append(told)
    header = [f"{m}, {'clean' if a == 1.0 else '10 % wrong'}" for m, a in settings]
    return rows, markdown(["score", *header], lines)


def _share(rows: Sequence[Mapping[str, Any]], part: str, whole: str) -> str:
    """Mean of ratios with its standard error, and the ratio of sums."""
    ratio = sum(r[part] for r in rows) / sum(r[whole] for r in rows)
    return f"{_told([r[part] / r[whole] for r in rows], 3)} ({ratio:.3f})"


def _render_leak(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    rows, lines = _flat(outcomes, ("naive", "ours", "truth")), []
    for name in (*LEAK, "all"):
        mine = [row for row in rows if name in ("all", row["dataset"])]
        told = [_told([row[what] for row in mine], 3) for what in ("naive", "ours", "truth")]
        gap = _told([row["ours"] - row["truth"] for row in mine], 3)
        lines.append([name, str(len(mine)), *told, gap])
    header = ["table", "draws", "naive folds of pairs", "SideKFold", "truth", "less truth"]
    return rows, markdown(header, lines)


def _render_number(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    free = [o for o in outcomes if not o.cell["statements"]]
    rows = _flat(free, ("classes", "bic", "eigengap", "tree"))
    rows += _flat([o for o in outcomes if o.cell["statements"]], ("classes", "tree", "held-out"))
    lines = []
    for name in dict.fromkeys(row["dataset"] for row in rows):
        mine = [row for row in rows if row["dataset"] == name]
        cells = [_numbers(mine, m, rule) for m, rule in _COLUMNS]
        lines.append([name, f"{mine[0]['classes']:.0f}", *cells])
    right = ["right, within one", ""]
    for m, rule in _COLUMNS:
        gap = [abs(row[rule] - row["classes"]) for row in rows if row["statements"] == m]
        told = f"{np.mean(np.equal(gap, 0)):.0%}, {np.mean(np.less_equal(gap, 1)):.0%}"
        right.append(told if gap else "")
    header = ["table", "classes", *(f"{rule}, {m}" if m else rule for m, rule in _COLUMNS)]
    return rows, markdown(header, [*lines, right])


_COLUMNS = (
    (0, "eigengap"),
    (0, "bic"),
    (0, "tree"),
    *((m, rule) for m in NUMBERS for rule in ("tree", "held-out")),
)


def _numbers(rows: Sequence[Mapping[str, Any]], m: int, rule: str) -> str:
    found = sorted(round(row[rule]) for row in rows if row["statements"] == m)
    return ", ".join(map(str, found))


EXPERIMENT = Experiment(
    title="Choosing a model and K by statements held back",
    run=run,
    missing=missing,
    recorded=({"what": "leak", "dataset": "iris", "draw": 0},),
    tables={
        "choice": Table(
            "Share of the best candidate's ARI",
            (
                f"At most {MOST_ROWS} random rows of a table; statements are random pairs among "
                f"{ANNOTATED:.0%} of them; scores are of rows without statements.",
                "Candidates: KMeans, Ward and diagonal mixtures with 2 to 20 clusters, and "
                f"{', '.join(MODELS)}, those that need K with three numbers.",
                "choice: what compare chooses, by the best score, ties by the default model. "
                "one-error rule: the fewest clusters within one standard error of the best score. "
                "most satisfied: by the statements that the fit has seen. "
                "silhouette: without statements. inside folds: statements about rows of one fold.",
            ),
            _choice_cells,
            _render_choice,
        ),
        "rules": Table(
            "Other rules, among clusterings without statements",
            (
                "Share of the best candidate's ARI on untouched rows, among KMeans, Ward and "
                f"diagonal mixtures with 2 to 20 clusters; {RULE_DRAWS} draws of pairs on the rows "
                "of the table above; mean over tables ± standard error over tables.",
            ),
            _rules_cells,
            _render_rules,
        ),
        "leak": Table(
            "200 pairs among 40 rows",
            (f"Share of held-out pairs that PCKMeans keeps; at most {FEW_ROWS} rows.",),
            _leak_cells,
            _render_leak,
        ),
        "k": Table(
            "Numbers of clusters",
            (
                f"What each draw finds, in order; at most {FEW_ROWS} random rows and random pairs. "
                "held-out: PCKMeans with 2 to 15 "
                "clusters by compare. tree: StructuralEntropyTree. bic: diagonal mixtures. "
                "eigengap: of the graph of 10 neighbours.",
            ),
            _number_cells,
            _render_number,
        ),
    },
)
