"""Name → class of every model, and its tags; a family is imported when a model of it is asked for.

A new model is one line here, and one for editors and type checkers, which do not run code.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from sidelight.exceptions import SidelightError

if TYPE_CHECKING:
    from sidelight.models._base import SideClusterer
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

# In the order in which lists show them: by name.
HOMES = {
    "AnnotatedGaussianMixture": "_gaussian.annotated",
    "BayesianMixture": "_bayesian.mixture",
    "COPKMeans": "_kmeans.cop",
    "CVQE": "_kmeans.vqe",
    "ConsensusKMeans": "_kmeans.consensus",
    "ConstrainedKMeans": "_kmeans.seeded",
    "ConstrainedMeanShift": "_shift.constrained",
    "ConstrainedSpectral": "_graph.constrained",
    "ConstraintPropagation": "_graph.propagation",
    "CrossEntropyClustering": "_mixtures.cross_entropy",
    "DiscriminativeClustering": "_discriminative.clustering",
    "EquivalenceGaussianMixture": "_mixtures.equivalence",
    "HGMeans": "_kmeans.hg",
    "HMRFKMeans": "_kmeans.hmrf",
    "LCVQE": "_kmeans.vqe",
    "LabelPropagationNMF": "_factorisation.label_propagation",
    "MPCKMeans": "_kmeans.mpck",
    "MarkovAggregation": "_markov.aggregation",
    "PCKMeans": "_kmeans.pck",
    "PartialLabelFuzzyCMeans": "_mixtures.fuzzy",
    "PartialLabelGaussianMixture": "_mixtures.partial_label",
    "PartitionLevelKMeans": "_kmeans.partition_level",
    "PropagatedSymmetricNMF": "_factorisation.propagated",
    "RelationSpectral": "_graph.relation",
    "SeededKMeans": "_kmeans.seeded",
    "SelfSupervisedNMF": "_factorisation.self_supervised",
    "SemiMultiCons": "_consensus.multi",
    "SparsestCutTree": "_graph.cut_tree",
    "StructuralEntropyClustering": "_entropy.clustering",
    "StructuralEntropyTree": "_entropy.tree",
}


class Tags(NamedTuple):
    """What a model says about itself, as data. `SideClusterer` declares each as a class attribute.

    Attributes
    ----------
    accepts : tuple of str
        The kinds of statement that it can use; ``unsure`` binds nothing and is always welcome.
    refuses : dict
        Why it cannot use others, in a sentence for the error message.
    finds_k : bool
        Whether it finds the number of clusters itself, without labels.
    finds_errors : bool
        Whether it estimates how accurate annotators are and which statements are probably wrong.
    gives_probabilities : bool
        Whether it has ``predict_proba``.
    weight_unit : str
        The unit in which statements are weighed against the data; "" where they are not weighed.
    takes_similarities : dict
        The parameters with which X is a matrix of similarities; empty where there are none.
    takes_sparse : bool
        Whether X may be a sparse matrix.
    on_dask : bool
        Whether X may be a Dask array.
    scales : str
        How time and memory grow, in a sentence (n rows, d columns, K clusters).
    repetition : {"adds", "ignored"}
        Whether repeating a statement makes it count more.
    contradictions : {"tolerated", "raises"}
        Whether statements may contradict each other.
    objective_sense : {"min", "max"}
        The direction in which ``history_`` runs.

    Examples
    --------
    >>> from sidelight.models import model_tags
    >>> tags = model_tags("BayesianMixture")
    >>> tags.finds_k, tags.gives_probabilities, tags.finds_errors
    (True, True, False)
    """

    accepts: tuple[str, ...]
    refuses: Mapping[str, str]
    finds_k: bool
    finds_errors: bool
    gives_probabilities: bool
    weight_unit: str
    takes_similarities: Mapping[str, Any]
    takes_sparse: bool
    on_dask: bool
    scales: str
    repetition: Literal["adds", "ignored"]
    contradictions: Literal["tolerated", "raises"]
    objective_sense: Literal["min", "max"]


def model_names(*, accepts: str | Sequence[str] = (), **tags: Any) -> list[str]:
    """The names of all models, or of those with certain tags, in alphabetical order.

    Parameters
    ----------
    accepts : str or sequence of str
        A kind of statement, or several, all of which the models have to take.
    **tags
        Values of other tags (see `Tags`). True and False also ask whether a tag that is a text or
        a dict is empty: ``takes_similarities=True``.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from sidelight.models import model_names
    >>> model_names(accepts="must", finds_k=True, on_dask=True)
    ['BayesianMixture', 'DiscriminativeClustering']
    """
    unknown = [name for name in tags if name not in Tags._fields]
    if unknown:
        raise SidelightError(f"unknown tag {unknown[0]!r}; known: {', '.join(Tags._fields)}.")
    kinds = {accepts} if isinstance(accepts, str) else set(accepts)
    if not kinds and not tags:
        return list(HOMES)  # without importing any family

    def fits(model: type) -> bool:
        own = model_tags(model)
        return kinds <= set(own.accepts) and all(
            (bool(getattr(own, name)) if isinstance(value, bool) else getattr(own, name)) == value
            for name, value in tags.items()
        )

    return [name for name in HOMES if fits(find_model(name))]


def find_model(name: str) -> "type[SideClusterer]":
    """The class of a model by its name; upper case, dashes and underscores do not matter.

    Parameters
    ----------
    name : str
        Such as "PartitionLevelKMeans" or "partition-level-kmeans".

    Returns
    -------
    class

    Examples
    --------
    >>> from sidelight.models import find_model
    >>> find_model("markov-aggregation")
    <class 'sidelight.models._markov.aggregation.MarkovAggregation'>
    >>> find_model("BayesianMix")
    Traceback (most recent call last):
        ...
    sidelight.exceptions.SidelightError: unknown model 'BayesianMix'. Did you mean ...?...
    """
    known = {_plain(key): key for key in HOMES}
    found = known.get(_plain(name))
    if found is None:
        near = get_close_matches(_plain(name), known, n=1, cutoff=0.5)
        hint = f" Did you mean {known[near[0]]}?" if near else ""
        raise SidelightError(
            f"unknown model {name!r}.{hint} Known: {', '.join(HOMES)}; 'sidelight models' says "
            "what each one takes."
        )
    module = import_module(f"sidelight.models.{HOMES[found]}")
    return cast("type[SideClusterer]", getattr(module, found))


def model_tags(model: Any) -> Tags:
    """The tags of a model.

    Parameters
    ----------
    model : str, class or model
        A name of `model_names`, or any class or model that has tags as attributes.

    Returns
    -------
    Tags

    Examples
    --------
    >>> from sidelight.models import model_tags
    >>> model_tags("PartitionLevelKMeans").accepts
    ('cannot', 'label', 'not_label')
    """
    model = find_model(model) if isinstance(model, str) else model
    missing = [name for name in Tags._fields if not hasattr(model, name)]
    if missing:
        kind = model if isinstance(model, type) else type(model)
        raise SidelightError(
            f"{kind.__name__} has no tag {missing[0]!r}; declare it as a class attribute, or "
            "derive the class from sidelight.models.SideClusterer, which has defaults."
        )
    return Tags(*(getattr(model, name) for name in Tags._fields))


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()
