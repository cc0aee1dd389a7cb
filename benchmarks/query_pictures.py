"""Tables and a picture from the curves that `python -m benchmarks.queries` measured."""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks.queries import BUDGETS, STRATEGIES

Key = tuple[str, str, str]  # strategy, kinds, wrong


def read(path: Path) -> dict[Key, dict[str, dict[str, list[list[float]]]]]:
    """By strategy, kinds and share of wrong answers: set → column → a curve for each seed."""
    found: dict = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = (row["strategy"], row["kinds"], row["wrong"])
            for column in ("ari", "untouched", "own", "n_clusters", "ms", "ms_p95"):
                curve = found[key][row["set"]][column].setdefault(row["seed"], {})
                curve[int(row["n_answers"])] = float(row[column])
    return {
        key: {
            name: {
                column: [[curve[b] for b in BUDGETS] for curve in seeds.values()]
                for column, seeds in columns.items()
            }
            for name, columns in sets.items()
        }
        for key, sets in found.items()
    }


def mean(curves: list[list[float]]) -> np.ndarray:
    """Over seeds; NaN only where no seed has a value (no row is untouched)."""
    stack = np.array(curves)
    known = np.isfinite(stack)
    total = np.where(known, stack, 0.0).sum(axis=0)
    return np.divide(
        total, known.sum(axis=0), out=np.full(len(BUDGETS), np.nan), where=known.any(axis=0)
    )


def as_table(found: dict, kinds: str, wrong: str, names: list[str]) -> str:
    """ARI of all rows, in brackets of untouched rows, by strategy and set."""
    heads = " | ".join(str(b) for b in BUDGETS)
    lines = [f"| set | strategy | seeds | {heads} |", "|" + "---|" * (3 + len(BUDGETS))]
    for name in [*names, "**mean**"]:
        for strategy in STRATEGIES:
            sets = found.get((strategy, kinds, wrong), {})
            chosen = names if name == "**mean**" else [name]
            if any(one not in sets for one in chosen):
                continue
            all_ = np.mean([mean(sets[one]["ari"]) for one in chosen], axis=0)
            rest = mean([list(mean(sets[one]["untouched"])) for one in chosen])
            seeds = min(len(sets[one]["ari"]) for one in chosen)
            cells = " | ".join(f"{a:.3f} ({b:.2f})" for a, b in zip(all_, rest, strict=True))
            lines.append(f"| {name} | {strategy} | {seeds} | {cells} |")
    return "\n".join(lines)


def draw(found: dict, names: list[str], path: Path) -> None:
    """The mean curve of every strategy, clean and with wrong answers."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for ax, wrong in zip(axes, ("0.0", "0.1"), strict=True):
        for (strategy, kinds, share), sets in found.items():
            if share == wrong and all(name in sets for name in names):
                curve = np.mean([mean(sets[name]["ari"]) for name in names], axis=0)
                label = strategy + (", labels allowed" if "label" in kinds else "")
                ax.plot(BUDGETS, curve, marker="o", markersize=3, label=label)
        ax.set(xlabel="answers", title="right answers" if wrong == "0.0" else "one in ten wrong")
    axes[0].set(ylabel=f"ARI, mean of {len(names)} tables")
    axes[1].legend(fontsize=7, loc="lower right")
    fig.savefig(path, dpi=120)


def main() -> None:
    """Write curves.png and tables.md beside each other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--csv", type=Path, default=Path("results/queries/curves.csv"))
    parser.add_argument("--out", type=Path, default=Path("results/queries"))
    parser.add_argument("--sets", default="iris,wine,ecoli,glass,digits,kidney")
    given = parser.parse_args()
    found = read(given.csv)
    names = given.sets.split(",")
    parts = []
    for kinds, title in (("pair", "Pairs only"), ("pair+label", "Labels allowed")):
        for wrong, words in (("0.0", "right answers"), ("0.1", "one answer in ten wrong")):
            parts.append(f"## {title}, {words}\n\n{as_table(found, kinds, wrong, names)}\n")
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "tables.md").write_text("# Curves\n\n" + "\n".join(parts), encoding="utf-8")
    draw(found, names, given.out / "curves.png")


if __name__ == "__main__":
    main()
