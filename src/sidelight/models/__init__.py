"""Estimators: one family, one file."""

from sidelight.models._base import SideClusterer
from sidelight.models._bayesian_mixture import BayesianMixture
from sidelight.models._partition_level_kmeans import PartitionLevelKMeans

__all__ = ["BayesianMixture", "PartitionLevelKMeans", "SideClusterer"]
