"""Every model, one line each: the registry reads where it lives, type checkers what it is."""

from sidelight.models._bayesian.mixture import BayesianMixture as BayesianMixture
from sidelight.models._consensus.multi import SemiMultiCons as SemiMultiCons
from sidelight.models._discriminative.clustering import (
    DiscriminativeClustering as DiscriminativeClustering,
)
from sidelight.models._entropy.clustering import (
    StructuralEntropyClustering as StructuralEntropyClustering,
)
from sidelight.models._entropy.tree import StructuralEntropyTree as StructuralEntropyTree
from sidelight.models._factorisation.label_propagation import (
    LabelPropagationNMF as LabelPropagationNMF,
)
from sidelight.models._factorisation.propagated import (
    PropagatedSymmetricNMF as PropagatedSymmetricNMF,
)
from sidelight.models._factorisation.self_supervised import (
    SelfSupervisedNMF as SelfSupervisedNMF,
)
from sidelight.models._gaussian.annotated import (
    AnnotatedGaussianMixture as AnnotatedGaussianMixture,
)
from sidelight.models._graph.constrained import ConstrainedSpectral as ConstrainedSpectral
from sidelight.models._graph.cut_tree import SparsestCutTree as SparsestCutTree
from sidelight.models._graph.propagation import ConstraintPropagation as ConstraintPropagation
from sidelight.models._graph.relation import RelationSpectral as RelationSpectral
from sidelight.models._kmeans.consensus import ConsensusKMeans as ConsensusKMeans
from sidelight.models._kmeans.cop import COPKMeans as COPKMeans
from sidelight.models._kmeans.hg import HGMeans as HGMeans
from sidelight.models._kmeans.hmrf import HMRFKMeans as HMRFKMeans
from sidelight.models._kmeans.mpck import MPCKMeans as MPCKMeans
from sidelight.models._kmeans.partition_level import (
    PartitionLevelKMeans as PartitionLevelKMeans,
)
from sidelight.models._kmeans.pck import PCKMeans as PCKMeans
from sidelight.models._kmeans.seeded import ConstrainedKMeans as ConstrainedKMeans
from sidelight.models._kmeans.seeded import SeededKMeans as SeededKMeans
from sidelight.models._kmeans.vqe import CVQE as CVQE
from sidelight.models._kmeans.vqe import LCVQE as LCVQE
from sidelight.models._markov.aggregation import MarkovAggregation as MarkovAggregation
from sidelight.models._mixtures.cross_entropy import (
    CrossEntropyClustering as CrossEntropyClustering,
)
from sidelight.models._mixtures.equivalence import (
    EquivalenceGaussianMixture as EquivalenceGaussianMixture,
)
from sidelight.models._mixtures.fuzzy import (
    PartialLabelFuzzyCMeans as PartialLabelFuzzyCMeans,
)
from sidelight.models._mixtures.partial_label import (
    PartialLabelGaussianMixture as PartialLabelGaussianMixture,
)
from sidelight.models._shift.constrained import ConstrainedMeanShift as ConstrainedMeanShift
