"""The other methods of Tables 1 to 3, as our models, beside what the paper prints for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import normalize

from experiments.runner import Cell, Outcome
from experiments.tables import compare, markdown, read_csv, shown, signed, summarise
from sidelight import models
from sidelight.side import SideInformation

DATASETS = ("yale", "orl", "coil20", "optdigits")
RNA = ("pbmc_10x", "mouse_bladder", "worm_neuron", "human_kidney")
PRINTED = {
    (row["dataset"], row["constraints"], row["method"], row["metric"]): float(row["printed"])
    for row in read_csv(Path(__file__).with_name("rivals.csv"))
}


class Rival(NamedTuple):
    """One of our models: what it is given, and the name that the paper prints."""

    model: str
    kinds: Mapping[str, tuple[str, ...]]  # of each kind of draw, the statements that it takes
    printed: str = ""
    parameters: Mapping[str, Any] = {}
    finds_k: bool = False
    same: bool = True  # whether it is the method of the paper, as far as that is known
    datasets: tuple[str, ...] = DATASETS


_PAIRS = {"pairwise": ("must", "cannot")}
_LABELS = {"label": ("label", "not_label")}
RIVALS: dict[str, Rival] = {
    "ConstraintPropagation": Rival("ConstraintPropagation", _PAIRS | _LABELS, "OneStepPCP"),
    "RelationSpectral": Rival("RelationSpectral", _PAIRS | _LABELS, "SC-MPI", same=False),
    "ConstrainedSpectral": Rival("ConstrainedSpectral", _PAIRS | _LABELS),
    "PropagatedSymmetricNMF": Rival(
        "PropagatedSymmetricNMF", {"pairwise": ("must",), "label": ("label",)}, "PCPSNMF"
    ),
    "SelfSupervisedNMF": Rival("SelfSupervisedNMF", _LABELS, "S4NMF"),
    "LabelPropagationNMF": Rival("LabelPropagationNMF", {"label": ("label",)}, "LpCNMF"),
    "LabelPropagationNMF, argmax": Rival(
        "LabelPropagationNMF", {"label": ("label",)}, "LpCNMF", {"assign": "argmax"}
    ),
    "ConstrainedMeanShift": Rival("ConstrainedMeanShift", _PAIRS, "CMS", finds_k=True),
}
SEEDED: dict[str, Rival] = {
    "SeededKMeans": Rival(
        "SeededKMeans",
        {"label": ("label",)},
        "Seeded-KMeans",
        datasets=(*DATASETS, "isolet1", *RNA),
    ),
    "SeededKMeans, random rows": Rival(
        "SeededKMeans", {"label": ("label",)}, "Seeded-KMeans", datasets=("yale", "orl")
    ),
    "ConstrainedKMeans": Rival(
        "ConstrainedKMeans", {"label": ("label",)}, datasets=(*DATASETS, "isolet1", *RNA)
    ),
}


ALL = RIVALS | SEEDED


def fit(cell: Cell, X: Any, n_classes: int, side: SideInformation, seed: int) -> Any:
    """The rival of a cell, fitted to scaled data with its defaults."""
    rival = ALL[cell["method"]]
    known = side.only(kind=list(rival.kinds[cell["constraints"]]))
    parameters: dict[str, Any] = {"random_state": seed, **rival.parameters}
    if not rival.finds_k:
        parameters["n_clusters"] = n_classes
    X = _log_unit(X) if cell["dataset"] in RNA else _min_max(X)
    if cell["method"].endswith("random rows"):
        parameters["init"] = _random_rows(X, known, n_classes, seed)
    model = getattr(models, rival.model)(**parameters)
    return model.fit(X, side=known)


def _min_max(X: Any) -> Any:
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / (high - low + (high == low))


def _log_unit(X: Any) -> Any:
    """Counts as is usual for them: log(1 + x), then rows of length 1."""
    return normalize(np.log1p(X))


def _random_rows(X: Any, side: SideInformation, n_classes: int, seed: int) -> Any:
    """Means of the labelled classes, and random rows for the classes that have no label."""
    y = side.to_labels()
    means = [X[y == c].mean(axis=0) for c in np.unique(y[y >= 0])]
    rows = np.random.default_rng(seed).choice(len(X), n_classes - len(means), replace=False)
    return np.vstack([means, X[rows]])


def cells(repeats: int, some: Mapping[str, Rival] = RIVALS) -> list[Cell]:
    """All data sets, draws, and the rivals that can use them."""
    return [
        {
            "dataset": name,
            "constraints": kind,
            "share": 0.2 if kind == "pairwise" else 0.1,
            "method": method,
            "draw": draw,
        }
        for method, rival in some.items()
        for name in rival.datasets
        for kind in rival.kinds
        for draw in range(repeats)
    ]


def render(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    """Ours beside the print, one line for each method and kind of statement."""
    rows = list(_rows(outcomes))
    found = {(r["measure"], r["dataset"], r["constraints"], r["method"]): r for r in rows}
    text = ""
    for measure, title in (("ari", "ARI"), ("nmi", "NMI")):
        lines = []
        for name, kind, method in dict.fromkeys(
            (r["dataset"], r["constraints"], r["method"]) for r in rows
        ):
            row, rival = found[measure, name, kind, method], ALL[method]
            printed = "" if row["published"] is None else f"{row['published']:.2f}"
            other = rival.printed if printed else ""
            other = other if rival.same or not other else f"{other} (not the same method)"
            clusters = shown(found["clusters", name, kind, method], 1) if rival.finds_k else "given"
            line = [name, kind, method, str(row["runs"]), shown(row), other, printed]
            lines.append([*line, signed(row["difference"]) if rival.same else "", clusters])
        header = ["data", "", "ours", "runs", title, "printed as", "printed", "Δ", "clusters"]
        text += f"\n{title}, %:\n\n" + markdown(header, lines)
    return rows, text


def _rows(outcomes: Iterable[Outcome]) -> Iterable[dict[str, Any]]:
    outcomes = list(outcomes)
    for measure in ("ari", "nmi", "clusters"):
        for row in summarise(outcomes, ("dataset", "constraints", "method"), measure):
            key = (row["dataset"], row["constraints"], ALL[row["method"]].printed, measure)
            yield {"measure": measure} | compare(row, PRINTED.get(key), None, runs=10, unit=0.01)
