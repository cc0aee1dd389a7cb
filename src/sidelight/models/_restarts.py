"""Restarts on the workers of a cluster, where there is one and the data are in memory here."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, parallel_config

from sidelight.blocks import Blocks, active_client, as_blocks

T = TypeVar("T")

NO_ROWS = as_blocks(np.empty((0, 0)))  # in the place of the data while a problem travels


def elsewhere(
    work: Callable[[Any, Any], T], rows: Blocks, jobs: Sequence[Any]
) -> Sequence[T] | None:
    """``work(X, job)`` of every job, in their order, by joblib's Dask backend; None to do it here.

    The data travel to the workers once. Rows that are on Dask themselves stay where they are: their
    restarts follow one another, each with the whole cluster.
    """
    if rows.data is None or len(jobs) < 2 or active_client() is None:
        return None
    with parallel_config(backend="dask"):
        return list(Parallel()(delayed(work)(rows.data, job) for job in jobs))
