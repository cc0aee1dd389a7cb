"""How often names of clusters are right, by membership and by calibrated confidence.

See README.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.defaults.development import development_table
from experiments.defaults.settings import untouched_rows
from experiments.runner import Cell, Experiment, Outcome, Table, seed_of
from experiments.tables import markdown
from sidelight import models
from sidelight.exceptions import DatasetNotFoundError
from sidelight.select import cross_validate_statements
from sidelight.side import sample_labels

TABLES = (
    *("iris", "wine", "glass", "heart", "vertebral", "ecoli", "ionosphere", "australian"),
    *("yeast", "satimage", "pendigits", "optdigits"),
)
MODELS = ("DiscriminativeClustering", "BayesianMixture", "AnnotatedGaussianMixture")
DRAWS = 3
SHARE, FEWEST = 0.1, 24  # of the rows labelled; a calibration takes 20 at least
EDGES = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0)
BINS = tuple(pairwise(EDGES))
WHAT = ("membership", "confidence")


def run(cell: Cell) -> Mapping[str, float]:
    """For each bin how many rows without statements are in it, and how many names are right."""
    data = development_table(cell["dataset"], cell["draw"])
    n_labels = max(FEWEST, round(SHARE * len(data.y)))
    side = sample_labels(data.y, n_labels, random_state=seed_of(**cell))
    how = {"random_state": seed_of(**cell)}
    if cell["method"] != "BayesianMixture":
        how["n_clusters"] = data.n_classes
    model = getattr(models, cell["method"])(**how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held_out = cross_validate_statements(model, data.X, side=side)
        model.fit(data.X, side=side)
    rows = untouched_rows(side)
    rows = rows[np.isin(model.labels_[rows], model.result_.verdict.clusters)]  # in named clusters
    labels, shares = model.labels_[rows], model.predict_proba(data.X[rows])
    right = model.cluster_names_[labels] == data.y[rows]
    values = {"right": float(right.sum()), "n": float(len(rows))}
    values["held_out"] = held_out.share_right
    own = shares[np.arange(len(rows)), labels]
    for what, told in (
        ("membership", own),
        ("confidence", held_out.calibration.confidence(shares, labels)),
    ):
        values |= _counted(what, told, right)
    return values


def _counted(what: str, told: NDArray[np.float64], right: NDArray[np.bool_]) -> dict[str, float]:
    place = np.clip(np.searchsorted(EDGES, told, side="right") - 1, 0, len(BINS) - 1)
    n, hits = (np.bincount(place, weight, minlength=len(BINS)) for weight in (None, right))
    values = {f"{what} n {b}": float(n[b]) for b in range(len(BINS))}
    values |= {f"{what} right {b}": float(hits[b]) for b in range(len(BINS))}
    return values | {f"{what} told": float(told.sum())}


def missing(cell: Cell) -> str | None:
    """Why this cell cannot run here: its table is not on this machine."""
    try:
        development_table(cell["dataset"], cell["draw"])
    except DatasetNotFoundError as error:
        return str(error)
    return None


def _cells(repeats: int | None) -> list[Cell]:
    draws = range(DRAWS if repeats is None else repeats)
    return [
        {"dataset": name, "method": method, "draw": draw}
        for name, method, draw in product(TABLES, MODELS, draws)
    ]


def _render(outcomes: Sequence[Outcome]) -> tuple[list[dict[str, Any]], str]:
    rows: list[dict[str, Any]] = []
    for method, what in product(MODELS, WHAT):
        mine = [o.values for o in outcomes if o.cell["method"] == method and o.error is None]
        for b, (low, high) in enumerate(BINS):
            n = sum(values[f"{what} n {b}"] for values in mine)
            hits = sum(values[f"{what} right {b}"] for values in mine)
            share = hits / n if n else float("nan")
            rows.append({
                "method": method, "what": what, "low": low, "high": high, "rows": int(n),
                "right": share,
            })  # fmt: skip
    names = [f"{low:.0%} to {high:.0%}" for low, high in BINS]
    text = f"Tables: {', '.join(dict.fromkeys(o.cell['dataset'] for o in outcomes))}.\n"
    for what in WHAT:
        lines = []
        for method in MODELS:
            mine = [row for row in rows if row["method"] == method and row["what"] == what]
            told = [f"{r['right']:.0%} of {r['rows']:,}" if r["rows"] else "–" for r in mine]
            lines.append([method, *told])
        text += f"\nShare of right names, by {what}\n\n" + markdown(["model", *names], lines)
    return rows, text + _render_held_out(outcomes)


def _render_held_out(outcomes: Sequence[Outcome]) -> str:
    lines = []
    for method in MODELS:
        mine = [o.values for o in outcomes if o.cell["method"] == method and o.error is None]
        if mine:
            gaps = np.array([v["held_out"] - v["right"] / max(v["n"], 1.0) for v in mine])
            lines.append([method, f"{gaps.mean():+.3f}", f"{np.abs(gaps).mean():.3f}"])
    header = ["model", "mean", "mean distance"]
    return (
        "\nShare of held-out labels that are right, less the share of right names\n\n"
        + markdown(header, lines)
    )


def _draw(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(3.6 * len(MODELS), 3.6), layout="constrained")
    axes: Any = canvas.subplots(1, len(MODELS), squeeze=False, sharey=True)[0]
    for axis, method in zip(axes, MODELS, strict=True):
        axis.plot([0, 1], [0, 1], color="grey", lw=1, ls=":")
        for what, mark in zip(WHAT, ("s--", "o-"), strict=True):
            mine = [r for r in rows if r["method"] == method and r["what"] == what]
            mine = [r for r in mine if int(r["rows"]) >= 20]
            middle = [(float(r["low"]) + float(r["high"])) / 2 for r in mine]
            axis.plot(middle, [float(r["right"]) for r in mine], mark, ms=4, label=what)
        axis.set(title=method, xlabel="said", xlim=(0, 1), ylim=(0, 1))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("right")
    axes[0].legend(fontsize="small")
    canvas.savefig(path, dpi=110)


EXPERIMENT = Experiment(
    title="Is a confidence of 85 % right in 85 % of cases?",
    run=run,
    missing=missing,
    recorded=({"dataset": "wine", "method": "BayesianMixture", "draw": 0},),
    tables={
        "reliability": Table(
            "How often names are right, by membership and by confidence",
            (
                "Labels: 10 % of at most 800 rows, 24 at least, all right. Rows without "
                "statements, in clusters that carry the name of a class.",
                "Membership: the model's own probability. Confidence: calibrated by five folds of "
                "the labels.",
            ),
            _cells,
            _render,
            _draw,
        )
    },
)
