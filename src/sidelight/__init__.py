"""sidelight: semi-supervised clustering with people who know a little, and are sometimes wrong.

The package is imported lazily: ``import sidelight`` costs a few milliseconds, and a name such as
``sidelight.SideInformation`` loads its module when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sidelight.models import (
        AnnotatedGaussianMixture,
        BayesianMixture,
        MarkovAggregation,
        PartitionLevelKMeans,
        StructuralEntropyClustering,
        StructuralEntropyTree,
    )
    from sidelight.results import ClusterResult
    from sidelight.side import SideInformation

__version__ = "0.1.0"

__all__ = [
    "AnnotatedGaussianMixture",
    "BayesianMixture",
    "ClusterResult",
    "MarkovAggregation",
    "PartitionLevelKMeans",
    "SideInformation",
    "StructuralEntropyClustering",
    "StructuralEntropyTree",
    "__version__",
]

_HOME = {
    "AnnotatedGaussianMixture": "sidelight.models",
    "BayesianMixture": "sidelight.models",
    "ClusterResult": "sidelight.results",
    "MarkovAggregation": "sidelight.models",
    "PartitionLevelKMeans": "sidelight.models",
    "SideInformation": "sidelight.side",
    "StructuralEntropyClustering": "sidelight.models",
    "StructuralEntropyTree": "sidelight.models",
}


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'sidelight' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
