"""``sidelight demo``: the main job once, on real data that comes with scikit-learn."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sidelight.cli._options import Seed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sidelight import SideInformation

# The people are simulated, so that the demo can tell how well their mistakes are found.
_PEOPLE = {"ann": 0.95, "bob": 0.65}
_CULTIVARS = ("barolo", "grignolino", "barbera")


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the statements, the picture and the report.")
    ] = Path("demo-output"),
    seed: Seed = 0,
) -> None:
    """Cluster wines with the help of two people, and find the statements that are wrong."""
    import numpy as np
    from sklearn.preprocessing import StandardScaler

    from sidelight import AnnotatedGaussianMixture, PartitionLevelKMeans, SideInformation
    from sidelight.datasets import load
    from sidelight.report import Evidence

    wine = load("wine")
    X, y = StandardScaler().fit_transform(wine.X), np.array(_CULTIVARS)[wine.y]
    typer.echo(f"1. The data: {len(y)} wines, {X.shape[1]} chemical measurements, standardised.\n")

    out.mkdir(parents=True, exist_ok=True)
    statements_about(y, seed, share=0.3).write(out / "statements.csv", overwrite=True)
    side = SideInformation.read(out / "statements.csv", n_samples=len(y))
    typer.echo(f"2. The statements of two (simulated) people are in {out / 'statements.csv'}:")
    typer.echo(indented(f"{side}\n{side.conflicts(limit=3)}"))

    typer.echo("\n3. Clusters without statements, with all taken as true, and with each weighed:")
    alone = PartitionLevelKMeans(n_clusters=3, random_state=seed).fit(X)
    usable = side.only(kind=["label", "cannot"])  # this model takes no must-links
    believing = PartitionLevelKMeans(n_clusters=3, random_state=seed).fit(X, side=usable)
    weighing = AnnotatedGaussianMixture(n_clusters=3, random_state=seed).fit(X, side=side)
    partitions = {
        "k-means": alone.labels_,
        "PartitionLevelKMeans": believing.labels_,
        "AnnotatedGaussianMixture": weighing.labels_,
    }
    typer.echo(indented(score_table(y, side, partitions)))

    typer.echo("\n4. The accuracy of each person, estimated by AnnotatedGaussianMixture:")
    typer.echo(indented(verdict(y, side, weighing)))

    draw(out / "demo.png", X, side, alone.labels_, weighing)
    notes = ["13 measurements of 178 wines, standardised. Without statements: k-means."]
    evidence = Evidence.of(weighing, X, notes=notes, before=alone.labels_)
    weighing.result_.report(
        out / "report.html", X, feature_names=wine.feature_names, evidence=evidence, overwrite=True
    )
    typer.echo(f"\n5. A picture is in {out / 'demo.png'}, a report in {out / 'report.html'}.")


def statements_about(
    y: "NDArray[Any]", seed: int, *, share: float, n_pairs: int = 60
) -> "SideInformation":
    """Two people of different accuracy look at a share of the rows: labels, and pairs of them."""
    import numpy as np

    from sidelight.side import sample_labels, sample_pairs

    shown = sample_labels(y, share, random_state=seed).statements.i
    seen = np.full(len(y), None, dtype=object)  # None: not shown to anyone
    seen[shown] = y[shown]
    labels = sample_labels(seen, 0.5, annotators=_PEOPLE, random_state=seed)
    pairs = sample_pairs(
        seen, n_must=n_pairs, n_cannot=n_pairs, annotators=_PEOPLE, random_state=seed
    )
    return labels + pairs


def score_table(
    y: "NDArray[Any]", side: "SideInformation", partitions: "dict[str, NDArray[Any]]"
) -> str:
    """Scores on rows without statements, and on all rows."""
    from sidelight.metrics import score

    scores = {name: score(y, labels, side=side) for name, labels in partitions.items()}
    n_rows, n_free = next((s.n_rows, s.n_unannotated) for s in scores.values())
    lines = [
        f"{'':24s}{f'{n_free:,} rows without statements':>32s}{f'all {n_rows:,} rows':>24s}",
        f"{'':24s}" + f"{'NMI':>20s}{'accuracy':>12s}" + f"{'NMI':>12s}{'accuracy':>12s}",
    ]
    for name, found in scores.items():
        cells = [found.unannotated["nmi"], found.unannotated["accuracy"]]
        cells += [found.all_rows["nmi"], found.all_rows["accuracy"]]
        lines.append(f"{name:24s}{cells[0]:20.3f}" + "".join(f"{c:12.3f}" for c in cells[1:]))
    return "\n".join(lines)


def verdict(y: "NDArray[Any]", side: "SideInformation", model: Any) -> str:
    """Estimated accuracies and doubtful statements, with the truth."""
    import numpy as np

    wrong = side.violated(np.unique(y, return_inverse=True)[1])
    suspect = np.flatnonzero(model.statement_error_ > 0.5)
    lines = []
    for code, name in enumerate(side.annotators):
        own = side.statements.annotator == code
        lines.append(
            f"{name} is right in {model.annotator_accuracy_[name]:.0%} of the statements "
            f"(true value: {1 - wrong[own].mean():.0%} of {own.sum()})"
        )
    found = int(wrong[suspect].sum())
    lines.append(
        f"{len(suspect)} statements are probably wrong, and {found} of them are; "
        f"{int(wrong.sum())} are wrong in all. The most doubtful ones:"
    )
    most = suspect[np.argsort(-model.statement_error_[suspect], kind="stable")][:5]
    lines += [f"  {side.describe(k)}: {model.statement_error_[k]:.1%}" for k in most.tolist()]
    return "\n".join(lines)


def draw(
    path: Path, X: "NDArray[Any]", side: "SideInformation", before: "NDArray[Any]", after: Any
) -> None:
    """Statements, and clusters without and with them, side by side."""
    import numpy as np

    from sidelight.report import align_clusters, new_figure, plot_clusters, project

    plane = project(X)
    figure = new_figure(3)
    said, without, with_it = figure.axes
    suspect = np.flatnonzero(after.statement_error_ > 0.5)
    plot_clusters(
        plane, side=side, broken=suspect, title="statements (red: probably wrong)", ax=said
    )
    aligned = align_clusters(before, after.labels_)  # one colour for a cluster in both pictures
    plot_clusters(plane, aligned, title="k-means", ax=without)
    names = after.cluster_names_
    plot_clusters(plane, after.labels_, names=names, title="with the statements", ax=with_it)
    figure.savefig(path, dpi=75)


def indented(text: str) -> str:
    """Three spaces before each line."""
    return "\n".join(f"   {line}" for line in text.splitlines())
