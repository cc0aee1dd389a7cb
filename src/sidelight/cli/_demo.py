"""``sidelight demo``: the main job once, on real data that comes with scikit-learn."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sidelight import SideInformation

# Two people label handwritten digits; these are simulated, so that the demo knows the truth.
_PEOPLE = {"ann": 0.97, "bob": 0.75}


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the statements and the pictures.")] = Path(
        "demo-output"
    ),
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
) -> None:
    """Cluster handwritten digits with the help of two people, one of whom is often wrong."""
    from sidelight import PartitionLevelKMeans, SideInformation
    from sidelight.datasets import load

    digits = load("digits")
    X, y = digits.X, digits.y
    side = statements_about(y, seed)
    out.mkdir(parents=True, exist_ok=True)
    side.write(out / "statements.csv", overwrite=True)
    typer.echo(f"1. The data: {len(y):,} images of handwritten digits, 8 x 8 pixels.\n")

    typer.echo(f"2. What people said about them (simulated) is in {out / 'statements.csv'}:")
    said = SideInformation.read(out / "statements.csv", n_samples=len(y))
    typer.echo(indented(str(said)))
    conflicts = said.conflicts(limit=3)
    typer.echo(indented(str(conflicts)))

    typer.echo("\n3. Clustering without and with what they said:")
    usable = said.only(kind=["label", "cannot"])
    before = PartitionLevelKMeans(n_clusters=10, random_state=seed).fit(X)
    after = PartitionLevelKMeans(n_clusters=10, random_state=seed).fit(X, side=usable)
    partitions = {"k-means": before.labels_, "with what they said": after.labels_}
    typer.echo(indented(score_table(y, said, partitions)))
    typer.echo(indented(f"clusters are called {', '.join(map(str, after.cluster_names_))}"))

    picture = out / "demo.png"
    draw(picture, X, said, before.labels_, after)
    typer.echo(f"\n4. The picture is {picture}.")


def statements_about(
    y: "NDArray[Any]", seed: int, *, share: float = 0.1, n_pairs: int = 60
) -> "SideInformation":
    """Two people of different accuracy look at a share of the rows: labels, and pairs of them."""
    import numpy as np

    from sidelight.side import sample_labels, sample_pairs

    shown = sample_labels(y, share, random_state=seed).statements.i
    seen = np.full(len(y), None if y.dtype == object else -1, dtype=y.dtype)  # nobody saw it
    seen[shown] = y[shown]
    labels = sample_labels(seen, 0.7, annotators=_PEOPLE, random_state=seed)
    pairs = sample_pairs(
        seen, n_must=n_pairs, n_cannot=n_pairs, annotators=_PEOPLE, random_state=seed
    )
    return labels + pairs


def score_table(
    y: "NDArray[Any]", side: "SideInformation", partitions: "dict[str, NDArray[Any]]"
) -> str:
    """Scores on the rows that nobody annotated, and on all rows."""
    from sidelight.metrics import score

    scores = {name: score(y, labels, side=side) for name, labels in partitions.items()}
    n_rows, n_free = next((s.n_rows, s.n_unannotated) for s in scores.values())
    lines = [
        f"{'':24s}{f'the {n_free:,} rows nobody spoke of':>32s}{f'all {n_rows:,} rows':>24s}",
        f"{'':24s}" + f"{'NMI':>20s}{'accuracy':>12s}" + f"{'NMI':>12s}{'accuracy':>12s}",
    ]
    for name, found in scores.items():
        cells = [found.unannotated["nmi"], found.unannotated["accuracy"]]
        cells += [found.all_rows["nmi"], found.all_rows["accuracy"]]
        lines.append(f"{name:24s}{cells[0]:20.3f}" + "".join(f"{c:12.3f}" for c in cells[1:]))
    return "\n".join(lines)


def draw(
    path: Path, X: "NDArray[Any]", side: "SideInformation", before: "NDArray[Any]", after: Any
) -> None:
    """What was said, and the clusters without and with it, side by side."""
    from sidelight.report import new_figure, plot_clusters, project

    plane = project(X)
    figure = new_figure(3)
    said, without, with_it = figure.axes
    plot_clusters(plane, side=side, title="what people said (red: contradicted)", ax=said)
    plot_clusters(plane, before, title="without it", ax=without)
    plot_clusters(plane, after.labels_, names=after.cluster_names_, title="with it", ax=with_it)
    figure.savefig(path, dpi=70)


def indented(text: str) -> str:
    """Three spaces before each line."""
    return "\n".join(f"   {line}" for line in text.splitlines())
