"""The other methods of Tables 1 to 3, as our models, beside what the paper prints for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from experiments.comparison import KMEANS, PLAIN, Method
from experiments.comparison import fit as fit_method
from experiments.comparison import uses as model_of
from experiments.runner import Cell
from experiments.tables import read_csv
from sidelight.query import CobraAsker, simulate
from sidelight.side import SideInformation

PRINTED = {
    (row["dataset"], row["constraints"], row["method"], row["metric"]): float(row["printed"])
    for row in read_csv(Path(__file__).with_name("rivals.csv"))
}

_PAIRS = {"pairwise": ("must", "cannot")}
_LABELS = {"label": ("label", "not_label")}
_LABEL_ONLY = {"label": ("label",)}


class Rival(NamedTuple):
    """A method, and of each kind of draw the statements that it takes."""

    method: Method
    kinds: Mapping[str, tuple[str, ...]]


# By the names of the paper; which program of SC-MPI it used is not known, and ours is another.
PARTITIONS: dict[str, Rival] = {
    "PCPSNMF": Rival(
        Method("PropagatedSymmetricNMF"), {"pairwise": ("must",), "label": ("label",)}
    ),
    "OneStepPCP": Rival(Method("ConstraintPropagation"), _PAIRS | _LABELS),
    "CMS": Rival(Method("ConstrainedMeanShift", number=None), _PAIRS),
    "SC-MPI": Rival(Method("RelationSpectral"), _PAIRS | _LABELS),
    "Seeded-KMeans": Rival(Method("SeededKMeans"), _LABEL_ONLY),
    "S4NMF": Rival(Method("SelfSupervisedNMF"), _LABELS),
    "LpCNMF": Rival(Method("LabelPropagationNMF"), _LABEL_ONLY),
    # Not in the paper: it keeps every label.
    "Constrained K-means": Rival(Method("ConstrainedKMeans"), _LABEL_ONLY),
    KMEANS: Rival(PLAIN, {"none": ()}),
}
COBRA = "COBRA"
TREES: dict[str, Rival] = {
    COBRA: Rival(Method(COBRA, number=None), _PAIRS),
    "SemiMulticons": Rival(Method("SemiMultiCons", number=None), _PAIRS),
    "SpecWRSC": Rival(Method("SparsestCutTree"), {"none": ()}),
    "SpecWRSC, as published": Rival(Method("SparsestCutTree", as_published=True), {"none": ()}),
    KMEANS: Rival(PLAIN, {"none": ()}),
}
# Those whose publication differs from our defaults, on data where a fit ends in ten seconds: the
# nuclear norm of OneStepPCP takes minutes of 1,400 rows, and S4NMF has 20 members and 10 rounds.
AS_PUBLISHED: dict[str, tuple[Rival, tuple[str, ...]]] = {
    f"{name}, as published": (
        PARTITIONS[name]._replace(method=PARTITIONS[name].method._replace(as_published=True)),
        datasets,
    )
    for name, datasets in {
        "PCPSNMF": ("yale", "orl", "coil20", "isolet1", "optdigits"),
        "OneStepPCP": ("yale", "orl"),
        "S4NMF": ("yale",),
        "LpCNMF": ("yale", "orl", "coil20", "isolet1", "optdigits"),
    }.items()
}
# The other methods of the paper, and of ours what it does not have, on the sets of Table 1.
ALSO: dict[str, Rival] = {
    "Constrained spectral": Rival(Method("ConstrainedSpectral"), _PAIRS | _LABELS),
    "LpCNMF, largest membership": Rival(
        Method("LabelPropagationNMF", parameters={"assign": "argmax"}), _LABEL_ONLY
    ),
    **{name: TREES[name] for name in ("SemiMulticons", "SpecWRSC")},
}
ALL = PARTITIONS | TREES | ALSO | {name: rival for name, (rival, _) in AS_PUBLISHED.items()}
# The nine models of graphs, factorisations and ensembles.
NINE = {
    name: ALL[name]
    for name in (
        *("OneStepPCP", "SC-MPI", "Constrained spectral", "SpecWRSC", "PCPSNMF", "S4NMF", "LpCNMF"),
        *("LpCNMF, largest membership", "CMS", "SemiMulticons"),
    )
}


class Fitted(NamedTuple):
    """Clusters, the statements behind them, and the tree where there is one."""

    labels: Any
    side: SideInformation | None
    tree: Any = None


def fit(
    cell: Cell, X: Any, y: Any, n_classes: int, side: SideInformation | None, seed: int
) -> Fitted:
    """The rival of a cell, fitted to scaled data with its defaults."""
    if cell["method"] == COBRA:
        assert side is not None
        asker = CobraAsker(X, random_state=seed)
        # It asks its own pairs: as many as the others are given.
        asker = simulate(asker, y, budgets=(side.n_statements,), random_state=seed).asker
        return Fitted(asker.labels, asker.side)
    rival = ALL[cell["method"]]
    method = rival.method._replace(told=rival.kinds[cell["constraints"]])
    # PLAIN is known by what it is, not by its name.
    found = fit_method(PLAIN if rival.method is PLAIN else method, X, n_classes, side, seed)
    told = side.only(kind=list(method.told or ())) if side is not None and method.told else None
    return Fitted(found.labels_, told, getattr(found, "tree_", None))


def uses(cell: Cell) -> tuple[str, ...]:
    """What the rival of a cell takes of ours."""
    if cell["method"] == COBRA:
        return ("CobraAsker", "simulate")
    return model_of(ALL[cell["method"]].method)


def cells(
    some: Mapping[str, Rival],
    datasets: Iterable[str],
    kinds: Iterable[str],
    shares: Mapping[str, Iterable[float]],
    repeats: int,
    **more: Any,
) -> list[Cell]:
    """All data sets, kinds of statement, shares and draws that the rivals can use."""
    kinds, datasets = list(kinds), list(datasets)
    return [
        {"dataset": name, "constraints": kind, "share": share, "method": method, "draw": draw}
        | more
        for method, rival in some.items()
        for name in datasets
        for kind in kinds
        if kind in rival.kinds
        for share in shares[kind]
        for draw in range(repeats)
    ]


def printed(row: Mapping[str, Any], measure: str) -> float | None:
    """What the paper prints for a rival, where the share is its own."""
    if row["share"] not in (0.0, 0.1, 0.2):
        return None
    name = row["method"].partition(",")[0]  # of several ways to fit, the same printed one
    return PRINTED.get((row["dataset"], row["constraints"], name, measure))
