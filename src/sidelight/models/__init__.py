"""Estimators: one family, one file."""

from sidelight.models._base import SideClusterer
from sidelight.models._bayesian.mixture import BayesianMixture
from sidelight.models._emissions import Emission
from sidelight.models._entropy.clustering import StructuralEntropyClustering
from sidelight.models._entropy.tree import StructuralEntropyTree
from sidelight.models._gaussian.annotated import AnnotatedGaussianMixture
from sidelight.models._kmeans.partition_level import PartitionLevelKMeans
from sidelight.models._markov.aggregation import MarkovAggregation

__all__ = [
    "AnnotatedGaussianMixture",
    "BayesianMixture",
    "Emission",
    "MarkovAggregation",
    "PartitionLevelKMeans",
    "SideClusterer",
    "StructuralEntropyClustering",
    "StructuralEntropyTree",
]
