"""Estimators: one family, one file."""

from sidelight.models._annotated_gaussian_mixture import AnnotatedGaussianMixture
from sidelight.models._base import SideClusterer
from sidelight.models._bayesian_mixture import BayesianMixture
from sidelight.models._emissions import Emission
from sidelight.models._markov_aggregation import MarkovAggregation
from sidelight.models._partition_level_kmeans import PartitionLevelKMeans
from sidelight.models._structural_entropy import StructuralEntropyClustering
from sidelight.models._structural_entropy_tree import StructuralEntropyTree

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
