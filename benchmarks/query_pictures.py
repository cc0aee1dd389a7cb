"""Tables and a picture from the curves that `python -m benchmarks.queries` measured."""

import argparse
import csv
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.queries import BUDGETS, HARD, SIX, STRATEGIES

OURS = "asker"
SHARES = {"0.0": "right answers", "0.1": "one answer in ten wrong"}
KINDS = {"pair": "pairs only", "pair+label": "labels allowed"}
COLUMNS = ("ari", "untouched", "own", "n_clusters", "expected_error", "true_error", "ms", "ms_p95")
CLEARLY = 0.01  # differences in the mean of a table below this are not listed
SHORT = {"Explore-Consolidate": "Explore-Consolidate*", "MinMax": "MinMax*", "NPU": "NPU*"}


class Key(NamedTuple):
    strategy: str
    kinds: str
    wrong: str


Curves = dict[Key, dict[str, dict[str, NDArray[np.float64]]]]  # set → column → (seeds, budgets)


def read(paths: list[Path]) -> Curves:
    """The curves by strategy, kinds and share of wrong answers."""
    found: dict[Key, Any] = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                key = Key(row["strategy"], row["kinds"], row["wrong"])
                for column in COLUMNS:
                    curve = found[key][row["set"]][column].setdefault(int(row["seed"]), {})
                    curve[int(row["n_answers"])] = float(row[column])
    return {
        key: {
            name: {
                column: np.array([[curves[seed][b] for b in BUDGETS] for seed in sorted(curves)])
                for column, curves in columns.items()
            }
            for name, columns in sets.items()
        }
        for key, sets in found.items()
    }


def without_refit(found: Curves) -> Curves:
    """The asker's own partition as a strategy of its own: the refit changes no question."""
    extra = {}
    for key, sets in found.items():
        if key.strategy == OURS:
            own = {name: {**some, "ari": some["own"]} for name, some in sets.items()}
            for some in own.values():
                some["untouched"] = np.full_like(some["own"], np.nan)
            extra[key._replace(strategy="asker, no refit")] = own
    return {**extra, **found}


def mean(curves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Over seeds; NaN only where no seed has a value (no row is untouched)."""
    known = np.isfinite(curves)
    total = np.where(known, curves, 0.0).sum(axis=0)
    return np.divide(
        total, known.sum(axis=0), out=np.full(curves.shape[1:], np.nan), where=known.any(axis=0)
    )


def _row(cells: list[Any]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _figure(value: float, n_digits: int = 3) -> str:
    return "-" if np.isnan(value) else f"{value:.{n_digits}f}".removeprefix("0")


def _both(all_rows: float, untouched: float) -> str:
    rest = "" if np.isnan(untouched) else f" ({_figure(untouched, 2)})"
    return _figure(all_rows) + rest


def sets_table(found: Curves, key: Key, names: list[str]) -> list[str]:
    """A line for every table and one for their mean: all rows, in brackets untouched ones."""
    sets = found.get(key, {})
    known = [name for name in names if name in sets]
    lines = []
    for name in known:
        one = sets[name]
        cells = [_both(a, b) for a, b in zip(mean(one["ari"]), mean(one["untouched"]), strict=True)]
        deviation = one["ari"].std(axis=0, ddof=1) if len(one["ari"]) > 1 else np.array([np.nan])
        error = np.max(deviation / np.sqrt(len(one["ari"])))
        ms = one["ms"][:, -1].mean()
        lines.append(_row([name, len(one["ari"]), *cells, _figure(error), f"{ms:.0f}"]))
    if known == names:
        seeds = sorted({len(sets[name]["ari"]) for name in names})
        all_ = np.mean([mean(sets[name]["ari"]) for name in names], axis=0)
        rest = mean(np.array([mean(sets[name]["untouched"]) for name in names]))
        cells = [_both(a, b) for a, b in zip(all_, rest, strict=True)]
        ms = np.mean([sets[name]["ms"][:, -1].mean() for name in names])
        span = " to ".join(str(n) for n in ({seeds[0], seeds[-1]} if len(seeds) > 1 else seeds))
        lines.append(_row(["**mean**", span, *(f"**{cell}**" for cell in cells), "", f"{ms:.0f}"]))
    return lines


def means_table(found: Curves, kinds: str, wrong: str, names: list[str]) -> list[str]:
    """The mean over tables for every strategy that was measured on all of them."""
    lines = []
    for strategy in STRATEGIES:
        sets = found.get(Key(strategy, kinds, wrong), {})
        if any(name not in sets for name in names):
            continue
        all_ = np.mean([mean(sets[name]["ari"]) for name in names], axis=0)
        rest = mean(np.array([mean(sets[name]["untouched"]) for name in names]))
        seeds = min(len(sets[name]["ari"]) for name in names)
        ms = np.mean([sets[name]["ms"][:, -1].mean() for name in names])
        cells = [_both(a, b) for a, b in zip(all_, rest, strict=True)]
        lines.append(_row([SHORT.get(strategy, strategy), seeds, *cells, f"{ms:.0f}"]))
    return lines


def losses(found: Curves, kinds: str, wrong: str, names: list[str]) -> list[str]:
    """Where another strategy has more than the asker, in the mean of a table."""
    lines = []
    ours = found.get(Key(OURS, kinds, wrong), {})
    for name in names:
        for strategy in STRATEGIES:
            theirs = found.get(Key(strategy, kinds, wrong), {})
            if strategy.startswith("asker") or name not in theirs or name not in ours:
                continue
            mine, other = mean(ours[name]["ari"]), mean(theirs[name]["ari"])
            for k in np.flatnonzero(other > mine + CLEARLY):
                lines.append(
                    _row([name, SHORT.get(strategy, strategy), BUDGETS[k], _figure(other[k]),
                          _figure(mine[k])])
                )  # fmt: skip
    return lines


def falls(found: Curves, kinds: str, wrong: str, names: list[str]) -> list[str]:
    """Where asking made it worse, in the mean of a table."""
    lines = []
    ours = found.get(Key(OURS, kinds, wrong), {})
    for name in (name for name in names if name in ours):
        rest, all_ = mean(ours[name]["untouched"]), mean(ours[name]["ari"])
        for k in range(1, len(BUDGETS)):
            if rest[k] < rest[k - 1] - CLEARLY:
                span = f"{BUDGETS[k - 1]} to {BUDGETS[k]}"
                cells = ["untouched rows", _figure(rest[k - 1]), _figure(rest[k])]
                lines.append(_row([name, span, *cells]))
            if all_[k] < all_[0] - 2 * CLEARLY:
                cells = ["all rows, below the start", _figure(all_[0]), _figure(all_[k])]
                lines.append(_row([name, f"0 to {BUDGETS[k]}", *cells]))
    return lines


def write_tables(found: Curves, names: list[str]) -> str:
    """Everything of the page that is a figure, as Markdown."""
    budgets = [str(b) for b in BUDGETS]
    parts = ["# Curves"]
    for kinds, what in KINDS.items():
        for wrong, share in SHARES.items():
            title = f"{what}, {share}"
            heads = ["strategy", "seeds", *budgets, "ms"]
            lines = means_table(found, kinds, wrong, names)
            parts += [f"## Means: {title}", _table(heads, lines)]
            for strategy in STRATEGIES:
                heads = ["set", "seeds", *budgets, "largest s.e.", "ms"]
                lines = sets_table(found, Key(strategy, kinds, wrong), [*names])
                parts += [f"## {strategy}: {title}", _table(heads, lines)] if lines else []
            lines = sets_table(found, Key(OURS, kinds, wrong), [*HARD])
            parts += [f"## Hard tables: {title}", _table(heads, lines)] if lines else []
    return "\n\n".join([*parts, where_we_lose(found, names)]) + "\n"


def where_we_lose(found: Curves, names: list[str]) -> str:
    """Where another strategy has more than the asker, and where asking made it worse."""
    every = list(dict.fromkeys([*names, *HARD, "bank77"]))
    parts = []
    for kinds, what in KINDS.items():
        for wrong, share in SHARES.items():
            title = f"{what}, {share}"
            heads = ["set", "strategy", "answers", "theirs", "ours"]
            lines = losses(found, kinds, wrong, every)
            parts += [f"## Where we lose: {title}", _table(heads, lines)] if lines else []
            heads = ["set", "answers", "what", "before", "after"]
            lines = falls(found, kinds, wrong, every)
            parts += [f"## Where asking costs: {title}", _table(heads, lines)] if lines else []
    return "\n\n".join(parts)


def _table(heads: list[str], lines: list[str]) -> str:
    return "\n".join([_row(heads), "|" + "---|" * len(heads), *lines])


def draw(found: Curves, names: list[str], path: Path) -> None:
    """The mean curve of every strategy, clean and with wrong answers."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    shown = [(strategy, kinds) for strategy in STRATEGIES for kinds in KINDS]
    for ax, (wrong, title) in zip(axes, SHARES.items(), strict=True):
        for strategy, kinds in shown:
            sets = found.get(Key(strategy, kinds, wrong), {})
            if strategy == "asker, no refit" or any(name not in sets for name in names):
                continue
            curve = np.mean([mean(sets[name]["ari"]) for name in names], axis=0)
            label = SHORT.get(strategy, strategy) + (", labels" if "label" in kinds else "")
            is_ours = strategy.startswith("asker")
            ax.plot(
                BUDGETS, curve, marker="o", markersize=3, label=label,
                linewidth=2.0 if is_ours else 1.0, linestyle="-" if is_ours else "--",
            )  # fmt: skip
        ax.set(xlabel="answers", title=title)
    axes[0].set(ylabel=f"adjusted Rand index, mean of {len(names)} tables")
    axes[0].legend(fontsize=7, loc="lower right")
    fig.savefig(path, dpi=120)


def main() -> None:
    """Write curves.png and tables.md beside each other, and print where we lose."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = [Path("results/queries/curves.csv")]
    parser.add_argument("--csv", type=Path, nargs="+", default=default)
    parser.add_argument("--out", type=Path, default=Path("results/queries"))
    parser.add_argument("--sets", default=",".join(SIX))
    given = parser.parse_args()
    found = without_refit(read(given.csv))
    names = given.sets.split(",")
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "tables.md").write_text(write_tables(found, names), encoding="utf-8")
    draw(found, names, given.out / "curves.png")
    print(where_we_lose(found, names))


if __name__ == "__main__":
    main()
