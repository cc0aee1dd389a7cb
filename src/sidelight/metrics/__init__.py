"""Scores of partitions against a truth and against statements."""

from sidelight.metrics._mixture import centroid_index, mixture_divergence
from sidelight.metrics._partition import (
    PairwiseScores,
    accuracy,
    adjusted_rand,
    class_size_variation,
    normalized_mutual_info,
    pairwise_scores,
    purity,
)
from sidelight.metrics._score import Scores, score
from sidelight.metrics._statements import (
    Coherence,
    StatementScore,
    coherence,
    informativeness,
    statement_scores,
)
from sidelight.metrics._tree import dendrogram_purity

__all__ = [
    "Coherence",
    "PairwiseScores",
    "Scores",
    "StatementScore",
    "accuracy",
    "adjusted_rand",
    "centroid_index",
    "class_size_variation",
    "coherence",
    "dendrogram_purity",
    "informativeness",
    "mixture_divergence",
    "normalized_mutual_info",
    "pairwise_scores",
    "purity",
    "score",
    "statement_scores",
]
