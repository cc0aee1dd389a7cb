"""The tables of the guide that cite the page of defaults, from its means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from experiments.defaults.scores import GIVEN, OURS
from experiments.tables import markdown

Row = Mapping[str, Any]

DEFAULT = "DiscriminativeClustering"
CHOSEN = {
    "2 % of the rows labelled": "labels 2 %",
    "10 %, a tenth of the labels wrong": "labels 10 %, 10 % wrong",
    "10 % of half of the classes": "half of the classes, 10 %",
    "one pair for five rows": "n/5 pairs",
    "as many pairs as rows": "n pairs",
}
CLASSIFIED = {
    "2 % labels": "labels 2 %",
    "20 % labels": "labels 20 %",
    "20 % labels, a tenth wrong": "labels 20 %, 10 % wrong",
    "10 % labels of half of the classes": "half of the classes, 10 %",
}
CLASSIFIERS = ("LDA", "LogisticRegression", "SVC", "LabelSpreading", "SelfTraining(LDA)")
CLUSTERINGS = (
    "ConstrainedKMeans",
    "MPCKMeans",
    "BayesianMixture",
    "StructuralEntropyClustering",
    "StructuralEntropyTree",
)
SHOWN_AS = {
    "seeded k-means": "k-means, labels as the start",
    "KMeans": "k-means, no statements",
    "SelfTraining(LDA)": "self-training (LDA)",
    "LogisticRegression": "logistic regression",
}


def which_model(rows: Sequence[Row]) -> str:
    """Every model and base line, those that take labels and pairs first, the best first."""
    scores = _scores(rows)
    known = {
        method: [of.get(setting) for setting in CHOSEN.values()] for method, of in scores.items()
    }
    lines = {method: line for method, line in known.items() if any(v is not None for v in line)}

    def place(method: str) -> tuple[bool, int, float]:
        told = [v for v in lines[method] if v is not None]
        return method not in OURS, -len(told), -fmean(told)

    return _table(list(CHOSEN), {method: lines[method] for method in sorted(lines, key=place)})


def classifiers(rows: Sequence[Row]) -> str:
    """KMeans, classifiers, some models of ours, and the default."""
    scores = _scores(rows)
    shown = [m for m in ("KMeans", *CLASSIFIERS, *CLUSTERINGS, DEFAULT) if m in scores]
    settings = CLASSIFIED.values()
    return _table(list(CLASSIFIED), {m: [scores[m].get(s) for s in settings] for m in shown})


def _scores(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Mean ARI by method and setting, number of clusters given, of methods run on all tables."""
    given = [row for row in rows if row["clusters"] == GIVEN]
    most = max((row["tables"] for row in given), default=0)
    found: dict[str, dict[str, float]] = {}
    for row in given:
        if row["tables"] == most:
            found.setdefault(row["method"], {})[row["setting"]] = row["ari"]
    return found


def _table(header: list[str], lines: Mapping[str, Sequence[float | None]]) -> str:
    """Two digits, the best of a column in bold."""
    columns = list(zip(*lines.values(), strict=True))
    best = [max((v for v in column if v is not None), default=None) for column in columns]

    def shown(value: float | None, top: float | None) -> str:
        if value is None:
            return "–"
        text = f"{value:.2f}".replace("0.", ".", 1)
        return f"**{text}**" if value == top else text

    return markdown(
        ["", *header],
        [
            [_name(method), *(shown(v, top) for v, top in zip(line, best, strict=True))]
            for method, line in lines.items()
        ],
    )


def _name(method: str) -> str:
    if method in OURS:
        return f"**`{method}`**" if method == DEFAULT else f"`{method}`"
    return SHOWN_AS.get(method, method)
