"""What is stated in each setting, and how an answer is scored: by rows without statements alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sidelight.metrics import adjusted_rand, normalized_mutual_info
from sidelight.side import SideInformation, sample_labels, sample_pairs


class Setting(NamedTuple):
    """Shares of labelled rows and multiples of n pairs, and how many of them are right."""

    labels: float = 0.0
    pairs: float = 0.0
    accuracy: float = 1.0
    half: bool = False


SETTINGS = {
    "labels 2 %": Setting(labels=0.02),
    "labels 5 %": Setting(labels=0.05),
    "labels 10 %": Setting(labels=0.1),
    "labels 20 %": Setting(labels=0.2),
    "labels 10 %, 10 % wrong": Setting(labels=0.1, accuracy=0.9),
    "labels 20 %, 10 % wrong": Setting(labels=0.2, accuracy=0.9),
    "half of the classes, 10 %": Setting(labels=0.1, half=True),
    "n/10 pairs": Setting(pairs=0.1),
    "n/5 pairs": Setting(pairs=0.2),
    "n pairs": Setting(pairs=1.0),
    "n/5 pairs, 10 % wrong": Setting(pairs=0.2, accuracy=0.9),
    "n pairs, 10 % wrong": Setting(pairs=1.0, accuracy=0.9),
    "labels 5 %, n/5 pairs": Setting(labels=0.05, pairs=0.2),
}
LABELS = tuple(name for name, s in SETTINGS.items() if s.labels and not s.pairs)
PAIRS = tuple(name for name, s in SETTINGS.items() if s.pairs and not s.labels)


def statements(y: NDArray[np.int64], setting: Setting, seed: int) -> SideInformation:
    """The statements of a draw; the share that is wrong is exact."""
    rng = np.random.default_rng(seed)
    side = SideInformation.empty(len(y))
    if setting.labels:
        n_classes = int(y.max()) + 1
        some = np.sort(rng.choice(n_classes, (n_classes + 1) // 2, replace=False))
        side += sample_labels(
            y,
            setting.labels,
            classes=some.tolist() if setting.half else None,
            accuracy=setting.accuracy,
            exact=True,
            random_state=rng,
        )
    if setting.pairs:
        side += sample_pairs(
            y, setting.pairs, accuracy=setting.accuracy, exact=True, random_state=rng
        )
    return side


def untouched_rows(side: SideInformation) -> NDArray[np.int64]:
    """Rows without statements."""
    said = side.statements
    touched = np.zeros(side.shape[0], dtype=bool)
    touched[said.i] = True
    touched[said.j[said.j >= 0]] = True
    return np.flatnonzero(~touched)


def score(y: NDArray[np.int64], labels: ArrayLike, side: SideInformation) -> dict[str, float]:
    """ARI and NMI on the rows without statements; clusters are counted on all rows."""
    found = np.asarray(labels)
    rows = untouched_rows(side)
    return {
        "ari": adjusted_rand(y[rows], found[rows]),
        "nmi": normalized_mutual_info(y[rows], found[rows]),
        "clusters": float(len(np.unique(found))),
        "classes": float(len(np.unique(y))),
    }
