"""No model works harder than it did: counts for fixed seeds beside those that were recorded.

A count is the algorithm's and not the machine's, so it can be held to a number where a time cannot.
Rounding differs a little between machines, and once in a while a row decides otherwise for it: a
few per cent are left for that. Where a change of the algorithm is meant, record the new counts
with ``python tests/test_work.py`` and let the commit say why they are what they are.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import sidelight
from sidelight._work import count_work, counted
from sidelight.datasets import make_blobs
from sidelight.models import model_names
from sidelight.side import sample_labels, sample_pairs

RECORD = Path(__file__).with_suffix(".json")
MOST = 1.05

K = 5
MODELS = {
    "PartitionLevelKMeans": {"n_clusters": K},
    "SeededKMeans": {"n_clusters": K},
    "ConstrainedKMeans": {"n_clusters": K},
    "PCKMeans": {"n_clusters": K},
    "COPKMeans": {"n_clusters": K},
    "LCVQE": {"n_clusters": K},
    "CVQE": {"n_clusters": K},
    "MPCKMeans": {"n_clusters": K},
    "HMRFKMeans": {"n_clusters": K},
    "ConsensusKMeans": {"n_clusters": K},
    "HGMeans": {"n_clusters": K},
    "ConstraintPropagation": {"n_clusters": K},
    "BayesianMixture": {},
    "DiscriminativeClustering": {},
    "AnnotatedGaussianMixture": {"n_clusters": K},
    "PartialLabelGaussianMixture": {"n_clusters": K + 1, "n_init": 2},
    "PartialLabelFuzzyCMeans": {"n_clusters": K + 1, "n_init": 2},
    "CrossEntropyClustering": {"n_init": 2},
    "EquivalenceGaussianMixture": {"n_clusters": K, "n_init": 2},
    "StructuralEntropyClustering": {},
    "StructuralEntropyTree": {},
    "RelationSpectral": {"n_clusters": K},
    "ConstrainedSpectral": {"n_clusters": K},
    "SparsestCutTree": {"n_clusters": K},
    "PropagatedSymmetricNMF": {"n_clusters": K, "n_init": 1},
    "SelfSupervisedNMF": {"n_clusters": K, "n_rounds": 1},
    "LabelPropagationNMF": {"n_clusters": K, "n_init": 1},
    "ConstrainedMeanShift": {},
    "SemiMultiCons": {},
    "MarkovAggregation": {"n_clusters": K, "n_init": 1},
}
DRAWS = {"labels": sample_labels, "pairs": sample_pairs, "cannot-links": sample_pairs}
# 20,000 rows are more than one block; 500 are enough for what is slow by nature.
SIZES = {
    **dict.fromkeys(["PartitionLevelKMeans", "SeededKMeans", "ConstrainedKMeans"], 20_000),
    **dict.fromkeys(["PCKMeans", "COPKMeans", "LCVQE", "CVQE"], 20_000),
    **dict.fromkeys(["BayesianMixture", "MarkovAggregation"], 500),
    "ConstrainedMeanShift": 100,
}
SAID = {
    "PartitionLevelKMeans": ("labels", "cannot-links"),
    "SeededKMeans": ("labels",),
    "SparsestCutTree": ("labels",),
    "LabelPropagationNMF": ("labels",),
    "PropagatedSymmetricNMF": ("labels",),
    "ConstrainedKMeans": ("labels",),
    "ConsensusKMeans": ("labels",),
    "HGMeans": ("labels",),
    "PartialLabelGaussianMixture": ("labels",),
    "PartialLabelFuzzyCMeans": ("labels",),
    "CrossEntropyClustering": ("labels",),
}
CASES = [(model, kind) for model in MODELS for kind in SAID.get(model, ("labels", "pairs"))]


def work_of(model, kind):
    """What one fit has to do, and for how many rows."""
    n = SIZES.get(model, 2_000)
    sample = make_blobs(n, 8, K, random_state=0)
    amount = {"n_cannot": n // 10} if kind == "cannot-links" else {}
    side = DRAWS[kind](sample.y, **(amount or {f"n_{kind}": n // 10}), random_state=1)
    estimator = getattr(sidelight, model)(random_state=0, **MODELS[model])
    with counted() as work:
        estimator.fit(sample.X, side=side)
    return {"rows": n, "iterations": int(np.sum(estimator.n_iter_)), **dict(sorted(work.items()))}


@pytest.mark.parametrize(("model", "kind"), CASES)
@pytest.mark.filterwarnings("ignore::sidelight.exceptions.LostClassWarning")
def test_a_fit_takes_no_more_work_than_was_recorded(model, kind):
    recorded = json.loads(RECORD.read_text())[f"{model}, {kind}"]
    work = work_of(model, kind)
    assert work.keys() == recorded.keys()
    for what, before in recorded.items():
        assert before / MOST <= work[what] <= before * MOST, (
            f"{what}: {work[what]:,} and not {before:,} as recorded; if that is meant, "
            "run `python tests/test_work.py` and say why"
        )


def test_every_model_is_watched():
    assert set(model_names()) == set(MODELS)


def test_nothing_is_counted_outside_and_inner_counts_stay_inside():
    count_work("x")
    with counted() as outer:
        count_work("x", 2)
        with counted() as inner:
            count_work("x", 3)
    count_work("x")
    assert (outer["x"], inner["x"]) == (2, 3)


if __name__ == "__main__":
    record = {f"{model}, {kind}": work_of(model, kind) for model, kind in CASES}
    RECORD.write_text(json.dumps(record, indent=2) + "\n")
