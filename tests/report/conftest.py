"""One result with statements that it keeps and breaks."""

from types import SimpleNamespace

import numpy as np
import pytest

from sidelight import PartitionLevelKMeans, SideInformation


@pytest.fixture
def told():
    """Three groups of ten rows; bob is wrong once, and says so himself of two rows kept apart."""
    centers = np.repeat([[0.0, 5.0, 1.0], [9.0, 5.0, 1.0], [0.0, -5.0, 1.0]], 10, axis=0)
    X = centers + np.random.default_rng(0).normal(size=(30, 3)) * [0.5, 0.5, 0.0]
    ids = [f"r{k:02d}" for k in range(30)]
    side = SideInformation.from_columns(
        ["label", "label", "label", "label", "cannot", "cannot"],
        ["r00", "r10", "r20", "r11", "r01", "r02"],
        [None, None, None, None, "r12", "r03"],
        class_=["a", "b", "c", "a", None, None],
        annotator=["ann", "ann", None, "bob", "ann", "bob"],
        weight=[1.0, 1.0, 1.0, 0.5, 1.0, 0.5],
        index=ids,
    )
    model = PartitionLevelKMeans(3, side_weight=0.05, random_state=0).fit(X, side=side)
    return SimpleNamespace(X=X, side=side, model=model, result=model.result_)
