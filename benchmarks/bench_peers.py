"""sidelight beside what people use today: time, quality, and what becomes of wrong statements.

Ten overlapping Gaussians in 16 dimensions and n/10 statements, all of them right or a tenth wrong:
labels of a tenth of the rows, or as many pairs of rows. A tool gets the statements that it takes;
what takes none is there to show what the statements are worth. Our models have their defaults, the
number of clusters apart (BayesianMixture finds it), and so have the peers. Time is a ratio to
KMeans(n_init=1), on one thread. Scores are of the first fit, on all rows and on those that no
statement is about; `kept` is the share of the statements that the clusters agree with, wrong ones
included. A tool that fails, or takes more than a minute with the making of the data, is a row that
says so. hdbscan's noise counts as a cluster.

The first rows are floors: nobody clusters faster than one reads the data once, or multiplies them
with the centres once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.harness import Case, Row
from sidelight.datasets import make_blobs
from sidelight.metrics import adjusted_rand, normalized_mutual_info
from sidelight.side import SideInformation, sample_labels, sample_pairs

K, D, STATED = 10, 16, 0.1
SIZES = (1_000, 10_000, 100_000, 1_000_000)
# Root mean squared distance of two centres, in standard deviations: enough to find the clusters,
# too little to be right about every row.
SEPARATION = 4.0
PATIENCE = 60.0  # seconds for one measurement; there are many


class Task(NamedTuple):
    """Data, the truth, and what people say about it."""

    X: np.ndarray
    truth: np.ndarray
    side: SideInformation


Fit = Callable[[Task, int], Any]


def task(kind: str, accuracy: float) -> Callable[[int], Task]:
    def make(n: int) -> Task:
        sample = make_blobs(n, D, K, separation=SEPARATION, random_state=0)
        draw = sample_labels if kind == "labels" else sample_pairs
        amount = int(STATED * n)
        side = draw(sample.y, amount, accuracy=accuracy, random_state=1)
        return Task(sample.X, sample.y, side)

    return make


def score(task: Task, fitted: Any) -> Mapping[str, float]:
    labels = np.asarray(fitted.labels_)
    said = task.side.statements
    quiet = np.ones(len(labels), dtype=bool)
    quiet[said.i] = False
    quiet[said.j[said.j >= 0]] = False
    return {
        "nmi": normalized_mutual_info(task.truth, labels),
        "ari": adjusted_rand(task.truth, labels),
        "nmi_unannotated": normalized_mutual_info(task.truth[quiet], labels[quiet]),
        "ari_unannotated": adjusted_rand(task.truth[quiet], labels[quiet]),
        "kept": float(1 - task.side.violated(labels).mean()),
    }


def kmeans(task: Task, seed: int) -> Any:
    return KMeans(K, n_init=1, random_state=seed).fit(task.X)


# Ours


def ours(name: str, **options: Any) -> Fit:
    def fit(task: Task, seed: int) -> Any:
        import sidelight

        return getattr(sidelight, name)(random_state=seed, **options).fit(task.X, side=task.side)

    return fit


OURS = {
    "PartitionLevelKMeans": ours("PartitionLevelKMeans", n_clusters=K),
    "BayesianMixture": ours("BayesianMixture"),
    "AnnotatedGaussianMixture": ours("AnnotatedGaussianMixture", n_clusters=K),
    "AnnotatedGaussianMixture, one local search": ours(
        "AnnotatedGaussianMixture", n_clusters=K, n_init=1, n_generations=0
    ),
    "StructuralEntropyClustering": ours("StructuralEntropyClustering", n_clusters=K),
    "StructuralEntropyTree": ours("StructuralEntropyTree", n_clusters=K),
    "MarkovAggregation": ours("MarkovAggregation", n_clusters=K),
}


# Peers


def minibatch(task: Task, seed: int) -> Any:
    from sklearn.cluster import MiniBatchKMeans

    return MiniBatchKMeans(K, random_state=seed).fit(task.X)


def mixture(name: str, components: int) -> Fit:
    def fit(task: Task, seed: int) -> Any:
        import sklearn.mixture

        model = getattr(sklearn.mixture, name)(n_components=components, random_state=seed).fit(
            task.X
        )
        return SimpleNamespace(labels_=model.predict(task.X), n_iter_=model.n_iter_)

    return fit


def faiss_kmeans(task: Task, seed: int) -> Any:
    import faiss

    X = np.ascontiguousarray(task.X, dtype=np.float32)
    model = faiss.Kmeans(D, K, seed=seed)
    model.train(X)
    return SimpleNamespace(labels_=model.index.search(X, 1)[1][:, 0])


def hdbscan(task: Task, seed: int) -> Any:
    import hdbscan

    return hdbscan.HDBSCAN(core_dist_n_jobs=1).fit(task.X)  # else in processes, whatever is set


def label_spreading(task: Task, seed: int) -> Any:
    from sklearn.semi_supervised import LabelSpreading

    fitted = LabelSpreading(kernel="knn").fit(task.X, task.side.to_labels())
    return SimpleNamespace(labels_=fitted.transduction_, n_iter_=fitted.n_iter_)


def self_training(task: Task, seed: int) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.semi_supervised import SelfTrainingClassifier

    model = SelfTrainingClassifier(LinearDiscriminantAnalysis())
    return SimpleNamespace(labels_=model.fit(task.X, task.side.to_labels()).predict(task.X))


def active(name: str, kind: str) -> Fit:
    def fit(task: Task, seed: int) -> Any:
        import active_semi_clustering

        np.random.seed(seed)  # noqa: NPY002 (the package draws from numpy's global state alone)
        model = getattr(active_semi_clustering, name)(n_clusters=K)
        if kind == "labels":
            return model.fit(task.X, y=task.side.to_labels())
        pairs = [list(map(tuple, pairs.tolist())) for pairs in (task.side.must, task.side.cannot)]
        return model.fit(task.X, ml=pairs[0], cl=pairs[1])

    return fit


WITHOUT_STATEMENTS = {
    "KMeans": kmeans,
    "MiniBatchKMeans": minibatch,
    "faiss K-means": faiss_kmeans,
    "GaussianMixture": mixture("GaussianMixture", K),
    "BayesianGaussianMixture(20)": mixture("BayesianGaussianMixture", 2 * K),
    "hdbscan": hdbscan,
}
WITH_LABELS = {
    "LabelSpreading(knn)": label_spreading,
    "SelfTraining(LDA)": self_training,
    "SeededKMeans": active("SeededKMeans", "labels"),
    "ConstrainedKMeans": active("ConstrainedKMeans", "labels"),
}
WITH_PAIRS = {name: active(name, "pairs") for name in ("COPKMeans", "PCKMeans", "MPCKMeans")}


def contest(name: str, run: Fit, kind: str = "labels", accuracy: float = 1.0) -> Case:
    return Case(
        name,
        data=task(kind, accuracy),
        run=run,
        baseline=kmeans,
        sizes=SIZES,
        score=score,
        warm_up_rows=300,
        threads=("one",),
        time_limit=PATIENCE,
    )


def floor(name: str, run: Fit) -> Case:
    return Case(
        f"floor: {name}",
        data=task("labels", 1.0),
        run=run,
        baseline=kmeans,
        sizes=SIZES,
        memory=False,
        threads=("one",),
    )


CASES = [
    floor("one read of X", lambda task, seed: task.X.sum()),
    floor("X times the centres", lambda task, seed: task.X @ task.X[:K].T),
    *(contest(f"{name}, no statements", run) for name, run in WITHOUT_STATEMENTS.items()),
    *(
        contest(f"{name}, {kind}, {wrong:.0%} wrong", run, kind, 1 - wrong)
        for wrong in (0.0, 0.1)
        for kind, peers in (("labels", WITH_LABELS), ("pairs", WITH_PAIRS))
        for name, run in (OURS | peers).items()
    ),
]


def picture(rows: Sequence[Row], path: Path) -> None:
    """Time over rows, both logarithmic: ours in colour, peers in grey, floors dotted."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(12, 6), sharey=True, layout="constrained")
    for panel, kind in zip(panels, ("labels", "pairs"), strict=True):
        lines = _lines(rows, kind)
        for name, points in lines.items():
            panel.loglog(*zip(*points, strict=True), marker="o", markersize=3, **_style(name))
        panel.set(title=f"n/10 {kind}, all right", xlabel="rows")
        panel.margins(x=0.02)
        panel.spines[["top", "right"]].set_visible(False)
        _name(panel, {name: points[-1] for name, points in lines.items()})
    panels[0].set_ylabel("seconds of CPU, one thread")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _name(panel: Any, ends: Mapping[str, tuple[int, float]]) -> None:
    """Write the names beside the panel, as near to the ends of their lines as leaves a gap."""
    from sklearn.isotonic import isotonic_regression

    names = sorted(ends, key=lambda name: ends[name][1])
    low, high = np.log(panel.get_ylim())
    height = (np.log([ends[name][1] for name in names]) - low) / (high - low)
    steps = 0.034 * np.arange(len(names))
    for name, at in zip(names, isotonic_regression(height - steps) + steps, strict=True):
        color = _style(name)["color"]
        panel.annotate(
            name.removeprefix("floor: "),
            ends[name],
            xytext=(1.06, at),
            textcoords="axes fraction",
            fontsize=7,
            va="center",
            color=color,
            arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": color, "shrinkB": 2},
        )


def _lines(rows: Sequence[Row], kind: str) -> dict[str, list[tuple[int, float]]]:
    """(rows, seconds) of everything that fits a panel: `kind`, no statements, and the floors."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        name, _, rest = row["case"].rpartition(", ")
        if rest == "0% wrong":
            name, _, rest = name.rpartition(", ")
        elif row["case"].startswith("floor"):
            name, rest = row["case"], kind
        if rest in (kind, "no statements") and row["cpu_seconds"]:
            lines.setdefault(name, []).append((row["rows"], row["cpu_seconds"]))
    return lines


def _style(name: str) -> dict[str, Any]:
    if name in OURS:
        return {"color": f"C{list(OURS).index(name)}", "linewidth": 1.8}
    return {"color": "0.45", "linewidth": 0.9, "linestyle": ":" if "floor" in name else "-"}
