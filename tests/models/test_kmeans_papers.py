"""Cells of printed tables that k-means with statements should give; a few draws each."""

import numpy as np
import pytest

from sidelight import LCVQE, ConsensusKMeans, SeededKMeans
from sidelight.datasets import load
from sidelight.metrics import adjusted_rand, normalized_mutual_info
from sidelight.side import sample_labels

DRAWS = 6
# Liu & Fu, ICDM 2015, Table II: NMI of data in their own units.
TABLE_2 = [
    (LCVQE, "iris", 10, 76.0),
    (LCVQE, "iris", 30, 81.0),
    (LCVQE, "iris", 50, 85.0),
    (LCVQE, "breast", 10, 75.9),
    (LCVQE, "breast", 30, 80.6),
    (ConsensusKMeans, "breast", 10, 75.7),
    (ConsensusKMeans, "breast", 30, 80.0),
]
# The one partition of KCC starts at random rows, and on iris it often ends elsewhere: standard
# deviations are 6 to 10 points, so that the mean takes more draws.
KCC_IRIS = [(10, 72.6), (30, 76.4), (50, 81.8)]
# Zeng et al., SDM 2024, Table 1: ARI and NMI of columns scaled to 0 … 1, a tenth labelled.
SEEDED = [("isolet1", 66.5, 81.1), ("optdigits", 73.5, 77.9)]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "name", "percent", "printed"), TABLE_2)
def test_cells_of_plsi_table_2(model, name, percent, printed, shared_data):
    # Standard deviations are 2 to 3 points, of theirs and of ours.
    found = _mean_nmi(model, name, percent, DRAWS, shared_data)
    assert found == pytest.approx(printed, abs=2.5)


@pytest.mark.slow
@pytest.mark.parametrize(("percent", "printed"), KCC_IRIS)
def test_kcc_on_iris_from_partitions_that_start_at_random_rows(percent, printed, shared_data):
    found = _mean_nmi(ConsensusKMeans, "iris", percent, 60, shared_data)
    assert found == pytest.approx(printed, abs=2.5)


def _mean_nmi(model, name, percent, n_draws, shared_data):
    data = load(name, "plsi", data_home=shared_data)
    found = []
    for seed in range(n_draws):
        side = sample_labels(data.y, percent / 100, random_state=seed)
        fitted = model.as_published(n_clusters=len(data.class_names), random_state=seed)
        labels = fitted.fit(data.X, side=side).labels_
        found.append(100 * normalized_mutual_info(data.y, labels, average="geometric"))
    return np.mean(found)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "ari", "nmi"), SEEDED)
def test_seeded_rows_of_sse_table_1(name, ari, nmi, shared_data):
    data = load(name, "sse", data_home=shared_data)
    low, high = data.X.min(axis=0), data.X.max(axis=0)
    X = (data.X - low) / np.where(high > low, high - low, 1.0)
    found = []
    for seed in range(4):
        side = sample_labels(data.y, 0.1, random_state=seed)
        model = SeededKMeans(len(data.class_names), random_state=seed).fit(X, side=side)
        scores = adjusted_rand(data.y, model.labels_), normalized_mutual_info(data.y, model.labels_)
        found.append(100 * np.array(scores))
    # A prototype gave 64.2/80.1 and 72.4/77.1: one to two points below the print.
    assert np.mean(found, axis=0) == pytest.approx([ari, nmi], abs=3.0)
