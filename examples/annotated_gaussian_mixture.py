"""Annotators who are sometimes wrong: three examples for AnnotatedGaussianMixture.

    python examples/annotated_gaussian_mixture.py [FOLDER FOR THE PICTURES]

1. A mixture that the data alone do not reveal, and 600 annotations, a tenth of them wrong.
2. Three annotators who are right in 95, 80 and 55 % of their statements: who is who?
3. Vertebral columns: two classes overlap, and 310 annotations tell them apart. Needs the data set.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from sidelight import AnnotatedGaussianMixture
from sidelight.datasets import load, make_gaussian_mixture
from sidelight.exceptions import DatasetNotFoundError
from sidelight.metrics import centroid_index, normalized_mutual_info
from sidelight.side import sample_pairs


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    overlapping_mixture(folder)
    three_annotators()
    try:
        vertebral_columns(folder)
    except DatasetNotFoundError as error:
        print(f"\n3. Vertebral columns are left out. {error}")


def overlapping_mixture(folder: Path) -> None:
    print("1. 200 rows in 2 dimensions, 600 annotations of accuracy 0.9")
    sample = make_gaussian_mixture(3, 200, 2, max_variance=0.25, random_state=4)
    side = sample_pairs(sample.y, 600, accuracy=0.9, random_state=4)
    alone = AnnotatedGaussianMixture(3, random_state=0).fit(sample.X)
    helped = AnnotatedGaussianMixture(3, random_state=0).fit(sample.X, side=side)
    for name, model in (("without annotations", alone), ("with annotations", helped)):
        print(f"   NMI {name}: {normalized_mutual_info(sample.y, model.labels_):.3f}")
    said = side.statements
    wrong = (sample.y[said.i] == sample.y[said.j]) != (said.kind == 0)
    suspicious = helped.statement_error_ > 0.5
    print(
        f"   {suspicious.sum()} annotations are probably wrong, and {(wrong & suspicious).sum()} "
        f"of these are; {wrong.sum()} are wrong in all. The most suspicious:"
    )
    for t in np.argsort(-helped.statement_error_)[:3]:
        print(f"   {side.describe(int(t))}: {helped.statement_error_[t]:.3f}")
    parts = {"alone": alone.labels_, "with annotations": helped.labels_, "truth": sample.y}
    draw(sample.X[:, :2], parts, folder / "mixture.png")


def three_annotators() -> None:
    print("\n2. Three annotators, 1,500 annotations, four clusters")
    people = {"ann": 0.95, "bob": 0.80, "cy": 0.55}
    sample = make_gaussian_mixture(4, random_state=1)
    side = sample_pairs(sample.y, 1500, annotators=people, random_state=1)
    model = AnnotatedGaussianMixture(4, random_state=0).fit(sample.X, side=side)
    for name, true in people.items():
        print(f"   {name}: right in {true:.0%}, estimated {model.annotator_accuracy_[name]:.1%}")
    print(f"   NMI: {normalized_mutual_info(sample.y, model.labels_):.3f}")


def vertebral_columns(folder: Path) -> None:
    data = load("vertebral", "sscipa")
    print(f"\n3. {len(data.y)} vertebral columns, {len(data.y)} annotations without mistakes")
    side = sample_pairs(data.y, len(data.y), random_state=0)
    true_means = np.array([data.X[data.y == c].mean(axis=0) for c in np.unique(data.y)])
    parts = {}
    for name, said in (("alone", None), ("with annotations", side)):
        # Told that nobody errs: left to itself the model finds the data more credible than people.
        model = AnnotatedGaussianMixture(3, accuracy=1.0, random_state=0).fit(data.X, side=said)
        parts[name] = model.labels_
        print(
            f"   {name}: NMI {normalized_mutual_info(data.y, model.labels_):.3f}, "
            f"centroid index {centroid_index(true_means, model.means_)}"
        )
    draw(data.X[:, [0, 5]], parts | {"truth": data.y}, folder / "vertebral.png")


def draw(X: Any, partitions: dict[str, Any], path: Path) -> None:
    """One panel per partition."""
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(9, 3), layout="constrained")
    axes: Any = canvas.subplots(1, len(partitions), sharex=True, sharey=True)
    for axis, (name, labels) in zip(axes, partitions.items(), strict=True):
        axis.scatter(*X.T, c=labels, s=8, cmap="viridis")
        axis.set_title(name)
    canvas.savefig(path, dpi=100)
    print(f"   picture: {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output"))
