"""Statements that cannot all be kept, or that say odd things, in every k-means model with pairs."""

import numpy as np
import pytest

from sidelight import (
    CVQE,
    LCVQE,
    COPKMeans,
    HMRFKMeans,
    MPCKMeans,
    PCKMeans,
    SideInformation,
)
from sidelight.exceptions import SideInformationError

SOFT = [PCKMeans, LCVQE, CVQE, MPCKMeans, HMRFKMeans]
IDS = ["ann", "bob", "cy", "dee", "eve", "fay", "gus", "hal"]
X = np.array(
    [[0.0, 0.1], [0.2, 0.0], [0.1, 0.3], [3.0, 3.1], [3.2, 3.0], [3.1, 3.3], [6, 0], [6, 1]]
)


def pairs(must=(), cannot=()):
    return SideInformation.from_pairs(must=must, cannot=cannot, index=IDS)


def labels(**classes):
    return SideInformation.from_columns(
        "label", list(classes), class_=list(classes.values()), index=IDS
    )


CONTRADICTION = pairs(must=[("ann", "bob"), ("bob", "cy")], cannot=[("ann", "cy")])
TWO_CLASSES = labels(ann="x", dee="y") + pairs(must=[("ann", "dee")])


@pytest.mark.parametrize("side", [CONTRADICTION, TWO_CLASSES], ids=["pairs", "classes"])
def test_a_hard_model_names_the_chain_by_the_users_ids(side):
    with pytest.raises(SideInformationError, match=r"ann.*(cy|dee)|(cy|dee).*ann"):
        COPKMeans(3).fit(X, side=side)


@pytest.mark.parametrize("model", SOFT)
@pytest.mark.parametrize("side", [CONTRADICTION, TWO_CLASSES], ids=["pairs", "classes"])
def test_a_soft_model_lists_what_it_breaks(model, side):
    found = model(3, random_state=0).fit(X, side=side)
    assert found.result_.violated.sum() >= 1
    assert any("ann" in str(line) or "cy" in str(line) for line in found.result_.broken())


def test_too_few_clusters_are_refused_with_the_clique():
    side = pairs(cannot=[("ann", "bob"), ("bob", "cy"), ("ann", "cy")])
    with pytest.raises(SideInformationError, match=r"3 rows are all kept apart.*ann, bob, cy"):
        COPKMeans(2).fit(X, side=side)


@pytest.mark.parametrize("model", [COPKMeans, *SOFT])
def test_a_group_of_more_than_half_of_the_rows_is_one_cluster(model):
    side = pairs(must=[(IDS[0], name) for name in IDS[1:6]])
    options = {"side_weight": 100.0} if model in (PCKMeans, MPCKMeans, HMRFKMeans) else {}
    found = model(2, random_state=0, **options).fit(X, side=side)
    if model not in (LCVQE, CVQE):  # these have no weight that would make them
        assert len(set(found.labels_[:6].tolist())) == 1
    assert found.n_clusters_ == 2


def test_more_clusters_than_groups_are_refused_or_told():
    side = pairs(must=[(a, b) for a, b in zip(IDS, IDS[1:4] + IDS[5:], strict=False)])
    with pytest.warns(Warning, match=r"where 6 were asked for: must-links .* to \d groups"):
        COPKMeans(6, random_state=0).fit(X, side=side)
